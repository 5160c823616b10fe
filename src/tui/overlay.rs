//! Dialogs: panes that lie over the others until they are answered.

pub(crate) mod chooser;
pub(crate) mod form;
pub(crate) mod merge;
pub(crate) mod palette;
pub(crate) mod prompt;
pub(crate) mod reader;
pub(crate) mod recover;
pub(crate) mod review;
