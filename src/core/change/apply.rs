//! Planning a change and carrying it out under one lock, for every door.
//!
//! The plan is made while the stores' locks are held: what it saw is what the commit finds, index
//! included, unless a program that knows no locks writes in between.

use std::path::Path;

use super::commit::commit_locked;
use super::recover::recover_interrupted_locked;
use super::{Author, Change, Edit, Moment};
use crate::core::history::{History, Lock, Record};
use crate::core::{Error, Result};

/// How often a change is planned anew when another program was quicker.
const TRIES: usize = 20;

/// A change that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChange {
    /// What was done.
    pub change: Change,
    /// How the history has it; `None` when nothing was different.
    pub record: Option<Record>,
}

impl CommittedChange {
    /// The directory that was made for a store that was not there yet.
    pub fn new_root(&self) -> Option<&Path> {
        let mut files = self.record.as_ref()?.files.iter();
        // The root itself is the folder without a name.
        let file_change =
            files.find(|file_change| file_change.folders.iter().any(String::is_empty))?;
        Some(&file_change.root)
    }
}

/// What became of a change that somebody had looked at before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewed {
    /// It was carried out as they saw it; only derived files may differ.
    Made(CommittedChange),
    /// It would now be another change: this one.
    Outdated(Change),
}

/// Plans a change of the stores at `roots` and carries it out. A plan that met another program's
/// write is made again on what is there now; `plan` fails if the caller's own condition no longer
/// holds.
pub fn plan_and_commit<E: From<Error>>(
    history: &History,
    roots: &[&Path],
    (author, moment): (&Author, &Moment),
    mut plan: impl FnMut() -> Result<Change, E>,
) -> Result<CommittedChange, E> {
    let _lock = lock_and_recover(history, roots)?;
    let mut tries = 1;
    loop {
        let change = plan()?;
        match carry_out(history, roots, change, (author, moment)) {
            Err(Error::Conflict(_)) if tries < TRIES => tries += 1,
            committed => return Ok(committed?),
        }
    }
}

/// As [`plan_and_commit`], of a change that somebody has reviewed: what they did not see is not done.
pub fn commit_reviewed(
    history: &History,
    reviewed: &Change,
    (author, moment): (&Author, &Moment),
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
        match carry_out(history, &roots, change, (author, moment)) {
            Err(Error::Conflict(_)) if tries < TRIES => tries += 1,
            committed => return Ok(Reviewed::Made(committed?)),
        }
    }
}

/// The edits that do not follow from others.
fn requested_edits(change: &Change) -> impl Iterator<Item = &Edit> {
    change.edits.iter().filter(|edit| !edit.derived)
}

fn lock_and_recover(history: &History, roots: &[&Path]) -> Result<Lock> {
    let lock = history.lock(roots)?;
    // What cannot be settled is reported by `doctor` and when the store is listed.
    drop(recover_interrupted_locked(history, roots));
    Ok(lock)
}

fn carry_out(
    history: &History,
    roots: &[&Path],
    change: Change,
    (author, moment): (&Author, &Moment),
) -> Result<CommittedChange> {
    if change.is_empty() {
        let record = None;
        return Ok(CommittedChange { change, record });
    }
    if let Some(other) = change.roots().iter().find(|root| !roots.contains(root)) {
        return Err(Error::refused(
            other.display().to_string(),
            "the change would reach a store that it was not about; nothing was changed",
        ));
    }
    let record = Some(commit_locked(history, &change, author, moment)?);
    Ok(CommittedChange { change, record })
}
