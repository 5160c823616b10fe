//! Plans a change and commits it under one lock.
//!
//! The plan is made while the stores' locks are held, so the commit finds the files as the plan
//! read them, index included, unless a program that takes no locks writes in between.

use std::path::Path;

use super::commit::{commit_locked, lock_and_recover};
use super::{Author, Change, Edit};
use crate::core::change::history::{History, Record};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// How often a change is planned when other programs' writes conflict with it.
const TRIES: usize = 20;

/// A change that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChange {
    /// The change.
    pub change: Change,
    /// The record in the history; `None` if the change was empty.
    pub record: Option<Record>,
}

impl CommittedChange {
    /// The root directory, if the change created it.
    pub fn new_root(&self) -> Option<&Path> {
        let mut files = self.record.as_ref()?.files.iter();
        // The root is recorded as the folder with the empty name.
        let file_change =
            files.find(|file_change| file_change.folders.iter().any(String::is_empty))?;
        Some(&file_change.root)
    }
}

/// The result of committing a reviewed change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewed {
    /// It was committed as reviewed; only generated files may differ.
    Made(Box<CommittedChange>),
    /// The plan would now be this other change; nothing was written.
    Outdated(Change),
}

/// Plans a change of the stores at `roots` and commits it. After a conflict with another program's
/// write it is planned again on the new content; `plan` fails if the caller's own condition no
/// longer holds.
pub fn plan_and_commit<E: From<Error>>(
    history: &History,
    roots: &[&Path],
    author: &Author,
    moment: &Moment,
    mut plan: impl FnMut() -> Result<Change, E>,
) -> Result<CommittedChange, E> {
    let _lock = lock_and_recover(history, roots)?;
    let mut tries = 1;
    loop {
        let change = plan()?;
        match carry_out(history, roots, change, author, moment) {
            Err(Error::Conflict(_)) if tries < TRIES => tries += 1,
            committed => return Ok(committed?),
        }
    }
}

/// As [`plan_and_commit`], for a reviewed change: nothing but what was reviewed is committed.
pub fn commit_reviewed(
    history: &History,
    reviewed: &Change,
    author: &Author,
    moment: &Moment,
    mut plan: impl FnMut() -> Result<Change>,
) -> Result<Reviewed> {
    let roots = reviewed.roots();
    let _lock = lock_and_recover(history, &roots)?;
    let mut tries = 1;
    loop {
        let change = plan()?;
        if !requested_edits(&change).eq(requested_edits(reviewed)) {
            return Ok(Reviewed::Outdated(change));
        }
        match carry_out(history, &roots, change, author, moment) {
            Err(Error::Conflict(_)) if tries < TRIES => tries += 1,
            committed => return Ok(Reviewed::Made(Box::new(committed?))),
        }
    }
}

/// The edits of files that are not generated.
fn requested_edits(change: &Change) -> impl Iterator<Item = &Edit> {
    change.edits.iter().filter(|edit| !edit.derived)
}

fn carry_out(
    history: &History,
    roots: &[&Path],
    change: Change,
    author: &Author,
    moment: &Moment,
) -> Result<CommittedChange> {
    if change.is_empty() {
        let record = None;
        return Ok(CommittedChange { change, record });
    }
    let is_known = |root: &Path| {
        let mut known = roots.iter();
        known.any(|known| *known == root || history.drafts_of(known) == root)
    };
    if let Some(other) = change.roots().iter().find(|root| !is_known(root)) {
        return Err(Error::refused(
            other.display().to_string(),
            "the change would reach a store that it was not about; nothing was changed",
        ));
    }
    let record = Some(commit_locked(history, &change, author, moment)?);
    Ok(CommittedChange { change, record })
}
