//! Files and threads: how files of others are read and files of tome are written safely, what is
//! noticed of changes, and the errors of all that.

pub(crate) mod allocator;
pub mod error;
pub mod fault;
pub mod foreign;
pub(crate) mod parallel;
pub mod private;
pub mod revision;
pub mod sandbox;
pub mod trust;
pub mod watch;
