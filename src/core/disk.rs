//! Files and threads: reads files that others wrote, confines access to a store, writes tome's own
//! files, watches for changes, and defines the errors.

pub(crate) mod allocator;
pub mod error;
pub mod fault;
pub mod foreign;
pub(crate) mod mapped;
pub(crate) mod parallel;
pub mod private;
pub(crate) mod process;
pub mod revision;
pub mod sandbox;
pub mod trust;
pub mod watch;
