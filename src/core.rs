//! The domain: stores, layouts, changes, history; logs and their text.
//!
//! The core does not depend on the command line, the UI or a protocol. What it needs from the
//! outside, such as the data directory, the date or the author of a change, is passed in as a
//! value.

pub(crate) mod allocator;
pub mod catalog;
pub mod change;
pub mod checkup;
pub mod citation;
pub mod combine;
pub mod config;
pub mod context;
pub mod corpus;
pub mod curate;
pub mod demo;
pub mod diff;
pub mod discover;
pub mod display;
pub mod error;
pub mod fault;
pub mod foreign;
pub mod format;
pub mod grip_comment;
pub mod header;
pub mod hidden;
pub mod history;
pub mod keep;
pub mod layout;
pub mod library;
pub mod link;
pub mod log;
pub mod memory;
pub(crate) mod parallel;
pub mod private;
pub mod promote;
pub mod query;
pub mod rehome;
pub mod review;
pub mod sandbox;
pub mod search;
pub mod secret;
pub mod store;
pub mod template;
pub mod text;
pub mod time;
pub mod timeline;
pub mod toml_text;
pub mod trust;
pub mod unsaved;
pub mod watch;
pub(crate) mod work;

pub use error::{Error, Result};
