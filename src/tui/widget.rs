//! The widgets that panes are made of. Each is a plain value: a key returns an outcome, and
//! drawing changes nothing.

pub(crate) mod conversation;
pub(crate) mod diff;
pub(crate) mod editor;
pub(crate) mod emphasis;
pub(crate) mod filter;
pub(crate) mod input;
pub(crate) mod list;
pub mod markdown;
pub(crate) mod marks;
pub(crate) mod merge;
pub(crate) mod meter;
pub(crate) mod readline;
