//! The widgets that panes are made of. Each is a plain value: a key returns an outcome, and
//! drawing changes nothing.

pub mod conversation;
pub mod diff;
pub mod editor;
pub mod emphasis;
pub mod filter;
pub mod input;
pub mod list;
pub mod markdown;
pub mod merge;
pub mod meter;
pub mod readline;
