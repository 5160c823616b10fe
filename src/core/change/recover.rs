//! What becomes of a change that a process left behind which died in the middle of it.

use std::path::Path;

use super::commit::{Making, open, temp};
use crate::core::Result;
use crate::core::history::{History, Record, Touch};
use crate::core::memory::Revision;

/// Finishes or takes back what a process left behind that died while changing one of the
/// stores at `roots`. Stores that somebody is changing right now are left to them.
pub fn settle(history: &History, roots: &[&Path]) -> Result<()> {
    for record in history.pending(roots) {
        if let Some(_lock) = history.try_lock(&record.roots())? {
            // Whoever held the lock a moment ago may have finished it.
            if history.pending_path(&record.id).exists() {
                recover(history, &record)?;
            }
        }
    }
    Ok(())
}

/// As [`settle`], for a caller that holds the locks of `roots` already.
pub(super) fn settle_locked(history: &History, roots: &[&Path]) -> Result<()> {
    for record in history.pending(roots) {
        let mut others = record.roots();
        others.retain(|root| !roots.contains(root));
        if let Some(_lock) = history.try_lock(&others)? {
            recover(history, &record)?;
        }
    }
    Ok(())
}

/// The changes that a process left behind which is gone, of whatever store, oldest first. The
/// next one that opens their stores finishes them or takes them back.
pub fn interrupted(history: &History) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    for record in history.intents() {
        let is_free = history.try_lock(&record.roots())?.is_some();
        if is_free && history.pending_path(&record.id).exists() {
            found.push(record);
        }
    }
    Ok(found)
}

/// Finishes a change that was interrupted, or takes it back if no file was replaced yet. A
/// file that somebody has changed since keeps what they wrote.
pub(in crate::core) fn recover(history: &History, record: &Record) -> Result<()> {
    let roots: Vec<&Path> = record
        .files
        .iter()
        .map(|file| file.root.as_path())
        .collect();
    let opened = open(&roots)?;
    let making = Making {
        history,
        record,
        roots: &opened,
    };
    if history.records()?.iter().any(|made| made.id == record.id) {
        making.clear();
        return history.forget(&record.id);
    }
    // A file that cannot be looked at is no longer the one that the change was about.
    let now = |touch: &Touch| {
        let bytes = opened[&touch.root].read(&touch.path).ok()?;
        Some(bytes.as_deref().map(Revision::of))
    };
    let is_new = |touch: &&Touch| now(touch) == Some(touch.after);
    let mut made = record.clone();
    if record.files.iter().any(|touch| is_new(&touch)) {
        made.files.clear();
        for (number, touch) in record.files.iter().enumerate() {
            if now(touch) == Some(touch.before) {
                making.redo(number)?;
                history.step("finished a file");
            } else if !is_new(&touch) {
                continue;
            }
            made.files.push(touch.clone());
        }
        history.record(&made)?;
        history.step("recorded what was finished");
    }
    making.clear();
    history.step("cleared");
    history.forget(&record.id)
}

impl Making<'_> {
    /// Makes one file of an interrupted change what it was to become.
    fn redo(&self, number: usize) -> Result<()> {
        let touch = &self.record.files[number];
        let root = &self.roots[&touch.root];
        let temp = temp(&touch.path, &self.record.id, number);
        match &touch.after {
            None => {
                root.remove(&touch.path)?;
                root.flush_folder(&touch.path)
            }
            Some(revision) => {
                root.remove(&temp)?;
                self.stage_one(number, &self.history.version(revision)?)?;
                root.rename(&temp, &touch.path)?;
                root.flush_folder(&touch.path)
            }
        }
    }
}
