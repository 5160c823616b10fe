//! What follows from memories, changes and logs: findings, decisions, the timeline, and what an agent
//! is told.

pub mod act;
pub mod checkup;
pub mod context;
pub mod curate;
pub mod guard;
pub mod moment;
pub mod promote;
pub mod rehome;
pub mod review;
pub mod timeline;
