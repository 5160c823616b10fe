//! What follows from memories, changes and logs: findings, decisions, the timeline, and what an agent
//! is told.

pub mod act;
pub mod checkup;
pub mod context;
pub mod correction;
pub mod curate;
pub mod guard;
pub mod ledger;
pub mod promote;
pub mod rehome;
pub mod review;
pub mod semantic;
pub mod sessions;
pub mod sync;
pub mod timeline;
