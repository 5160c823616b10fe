//! The domain: stores, layouts, changes, history.
//!
//! Knows no door. Everything of the outside world that it needs (where the data
//! directory is, what day it is, who asks) comes in as a value.

pub mod corpus;
pub mod error;
pub mod log;
pub mod text;

pub use error::{Error, Result};
