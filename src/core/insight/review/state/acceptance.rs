//! Acceptances in the journal, and those that were taken back or made again.
//!
//! An acceptance is a change of the accepted versions: its record has, for each file, the version
//! that was accepted before and the one that is accepted now. The files stay as they are.

use std::collections::HashSet;

use super::{OtherWrite, State, Waiting, other_write};
use crate::core::Result;
use crate::core::change::history::{Author, ChangeVerb, FileChange, History, Record};
use crate::core::disk::revision::Revision;
use crate::core::memory::store::StoreId;
use crate::core::text::diff;

impl State {
    /// Applies a change that is an acceptance, takes one back or makes one again; returns false for
    /// any other.
    pub(super) fn apply_acceptance(
        &mut self,
        history: &History,
        store: &StoreId,
        record: &Record,
    ) -> Result<bool> {
        let of_this = |record: &Record| -> Vec<FileChange> {
            let files = record.files.iter().filter(|file| file.is_of(store));
            files.cloned().collect()
        };
        if record.verb == ChangeVerb::Accept {
            for file in of_this(record) {
                self.accept(&record.id, &file);
            }
            return Ok(true);
        }
        let Some(accepted) = replayed_acceptance(history, record)? else {
            return Ok(false);
        };
        for file in of_this(record) {
            self.close_gap(record, &file);
        }
        let files = of_this(&accepted).into_iter();
        match record.verb {
            // The last one is first among what is remembered.
            ChangeVerb::Undo => {
                for file in files.rev() {
                    self.take_back(history, &accepted, &file)?;
                }
            }
            _ => files.for_each(|file| self.accept(&accepted.id, &file)),
        }
        Ok(true)
    }

    fn accept(&mut self, id: &str, file: &FileChange) {
        let Some(waiting) = self.waiting.get(&file.path).cloned() else {
            return;
        };
        self.remember(id, &file.path, waiting);
        if self.revision(&file.path) == file.after {
            self.waiting.remove(&file.path);
        } else if let Some(waiting) = self.waiting.get_mut(&file.path) {
            waiting.accepted = file.after;
        }
    }

    /// What was accepted waits again, besides what was written since.
    fn take_back(&mut self, history: &History, record: &Record, file: &FileChange) -> Result<()> {
        let waited = self.recall(&record.id, &file.path);
        let mut waiting = waited.unwrap_or_else(|| Waiting {
            // What happened since hides who wrote it.
            writes: vec![OtherWrite {
                author: Author::outside(),
                origin: None,
                ..other_write(record, file)
            }],
            ..Waiting::since(file.before)
        });
        let path = self.present_path(&file.path);
        if let Some(now) = self.waiting.remove(&path) {
            waiting.accepted = self.accepted_besides(history, (&waiting, &now), file.after)?;
            waiting.renamed_from = waiting.renamed_from.or(now.renamed_from);
            waiting.notes = [waiting.notes, now.notes].concat();
            waiting.writes.extend(now.writes);
            let (mut notes, mut writes) = (HashSet::new(), HashSet::new());
            waiting.notes.retain(|note| notes.insert(note.clone()));
            let id = |write: &OtherWrite| write.id.clone();
            waiting.writes.retain(|write| writes.insert(id(write)));
        }
        self.waiting.insert(path.clone(), waiting);
        self.settle(&path);
        Ok(())
    }

    /// The present name of a file that was renamed since and waits.
    fn present_path(&self, path: &str) -> String {
        let mut waiting = self.waiting.iter();
        let renamed = waiting.find(|(_, waiting)| waiting.renamed_from.as_deref() == Some(path));
        match renamed {
            Some((new, _)) if !self.files.contains_key(path) => new.clone(),
            _ => path.to_owned(),
        }
    }

    /// The accepted version without one acceptance, if others were made since.
    fn accepted_besides(
        &self,
        history: &History,
        (before, now): (&Waiting, &Waiting),
        taken_back: Option<Revision>,
    ) -> Result<Option<Revision>> {
        let (Some(base), Some(mine), Some(theirs)) = (taken_back, now.accepted, before.accepted)
        else {
            return Ok(before.accepted);
        };
        if base == mine {
            return Ok(Some(theirs));
        }
        let version = |revision: &Revision| history.version(revision);
        let [base, mine, theirs] = [version(&base)?, version(&mine)?, version(&theirs)?];
        let merged = diff::merge_preferring_theirs(&base, &mine, &theirs);
        Ok(Some(history.keep(&merged)?))
    }
}

/// The acceptance that a change took back or made again.
fn replayed_acceptance(history: &History, record: &Record) -> Result<Option<Record>> {
    let is_replay = matches!(record.verb, ChangeVerb::Undo | ChangeVerb::Redo);
    // Neither leaves a file different, so most changes need not be looked up.
    let is_idle = record.files.iter().all(|file| file.before == file.after);
    let Some(of) = record.of.as_ref().filter(|_| is_replay && is_idle) else {
        return Ok(None);
    };
    let mut records = history.records()?.into_iter();
    let found = records.find(|record| record.id == *of);
    Ok(found.filter(|record| record.verb == ChangeVerb::Accept))
}
