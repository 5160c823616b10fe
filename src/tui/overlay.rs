//! Dialogs: panes drawn over the others until they are closed.

pub(crate) mod chooser;
pub(crate) mod combine;
pub(crate) mod form;
pub(crate) mod help;
pub(crate) mod merge;
pub(crate) mod note;
pub(crate) mod palette;
pub(crate) mod prompt;
pub(crate) mod reader;
pub(crate) mod recover;
pub(crate) mod review;
