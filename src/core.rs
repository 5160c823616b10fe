//! The domain: what agents remember, and how it is searched, changed and judged.
//!
//! The core does not depend on the command line, the UI or a protocol. What it needs from the
//! outside, such as the data directory, the date or the author of a change, is passed in as a
//! value.
//!
//! Each room uses only those above it; blank lines keep this order.

#[cfg(test)]
pub(crate) mod fixture;

pub mod text;

pub mod disk;

pub mod log;

pub mod memory;

pub mod change;

pub mod search;

pub mod insight;

pub use disk::error::{Error, Result};
