//! Carrying a plan out, again and again while other processes are quicker.

use std::path::Path;

use super::{Author, Change, Moment, commit};
use crate::core::history::{History, Record};
use crate::core::{Error, Result};

/// How often a change is planned anew when another process was quicker.
const TRIES: usize = 20;

/// A change that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What was done.
    pub change: Change,
    /// How the history has it; `None` when nothing was different.
    pub record: Option<Record>,
}

impl Made {
    /// The directory that was made for a store that was not there yet.
    pub fn new_root(&self) -> Option<&Path> {
        let mut files = self.record.as_ref()?.files.iter();
        // The root itself is the folder without a name.
        let touch = files.find(|touch| touch.folders.iter().any(String::is_empty))?;
        Some(&touch.root)
    }
}

/// Plans a change and carries it out. A plan that met another process's change is made again on
/// what is there now; `plan` fails if the caller's own condition no longer holds.
pub fn make(
    history: &History,
    author: &Author,
    moment: &Moment,
    plan: impl Fn() -> Result<Change>,
) -> Result<Made> {
    let mut tries = 1;
    loop {
        let change = plan()?;
        if change.is_empty() {
            let record = None;
            return Ok(Made { change, record });
        }
        match commit(history, &change, author, moment) {
            Err(Error::Conflict(_)) if tries < TRIES => tries += 1,
            made => {
                let record = Some(made?);
                return Ok(Made { change, record });
            }
        }
    }
}
