//! Rolls back a change that was not recorded: after an error, or after its process died.
//!
//! How far the change came is derived from the files alone: the content under the file's own name
//! and under its temporary name. So rolling back works the same after an error and after a crash,
//! and also when a step succeeded although it reported an error.

use std::path::Path;

use super::Change;
use super::in_progress::{CommitInProgress, open_roots};
use crate::core::Result;
use crate::core::change::history::{FileChange, History, Record, Unfinished};
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::Attributes;

/// Rolls back or cleans up after processes that died while changing one of the stores at `roots`.
/// Stores whose lock is held are skipped. Every change is tried; the error is that of the first
/// one that failed.
pub fn recover_interrupted(history: &History, roots: &[&Path]) -> Result<()> {
    recover_pending(history, roots, &[])
}

/// As [`recover_interrupted`], for a caller that already holds the locks of `roots`.
pub(super) fn recover_interrupted_locked(history: &History, roots: &[&Path]) -> Result<()> {
    recover_pending(history, roots, roots)
}

fn recover_pending(history: &History, roots: &[&Path], locked: &[&Path]) -> Result<()> {
    let mut failed = None;
    for record in history.pending(roots) {
        let mut others = record.roots();
        others.retain(|root| !locked.contains(root));
        match history.try_lock(&others) {
            Ok(Some(_lock)) => {
                // The previous holder of the lock may have finished it.
                if history.pending_path(&record.id).exists() {
                    failed = failed.or(recover(history, record).err());
                }
            }
            Ok(None) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The changes of all stores whose process died, oldest first. The next process that opens their
/// stores rolls them back.
pub fn interrupted(history: &History) -> Result<Vec<Unfinished>> {
    let mut found = Vec::new();
    for intent in history.intents() {
        let is_free = history.try_lock(&intent.record.roots())?.is_some();
        if is_free && history.pending_path(&intent.record.id).exists() {
            found.push(intent);
        }
    }
    Ok(found)
}

/// Cleans up after a recorded change, or rolls back an unrecorded one.
fn recover(history: &History, record: Record) -> Result<()> {
    let roots = open_roots(&record.roots())?;
    let commit = CommitInProgress {
        history,
        record,
        roots: &roots,
    };
    if commit.is_recorded() {
        commit.keep_foreign();
        commit.clean_up();
        return Ok(());
    }
    commit.roll_back().map(drop)
}

/// Stops rolling back the files that `change` is about to edit. Those that already have their new
/// content are recorded, so that the unfinished change can be undone like any other.
pub(super) fn supersede(history: &History, change: &Change) -> Result<()> {
    let is_touched = |file_change: &FileChange| {
        let mut edits = change.edits.iter();
        edits.any(|edit| edit.root == file_change.root && edit.path == file_change.path)
    };
    for Unfinished { record, problems } in history.intents() {
        if problems.is_empty() || !record.files.iter().any(is_touched) {
            continue;
        }
        let roots = open_roots(&record.roots())?;
        let commit = CommitInProgress {
            history,
            record,
            roots: &roots,
        };
        let (touched, rest): (Vec<FileChange>, Vec<FileChange>) =
            commit.record.files.iter().cloned().partition(is_touched);
        let standing = touched
            .iter()
            .filter(|file_change| commit.is_new(file_change));
        commit.record_part(standing.cloned().collect())?;
        commit.keep_intent(rest, problems)?;
    }
    Ok(())
}

/// Rolls back a change that failed. Files that cannot be rolled back stay listed as an unfinished
/// change. Returns the record of what stands if that is all that was asked for: every file was
/// edited by another program after the change had replaced it.
pub(super) fn abandon(commit: &CommitInProgress<'_>) -> Option<Record> {
    // The caller reports the error that made the change fail.
    let standing = commit.roll_back().ok()??;
    let mut requested = commit.record.files.iter().filter(|file| !file.derived);
    requested
        .all(|file| standing.files.contains(file))
        .then_some(standing)
}

/// The state of a file after rolling back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It is as before the change, or as another program left it that never saw the change.
    Old,
    /// It was edited after the change had replaced it, and stays as edited.
    Edited,
}

impl CommitInProgress<'_> {
    /// Rolls back every file. A file that cannot be rolled back stays in the intent with the
    /// reason, and the next process that opens the store tries again. Returns the record of the
    /// files that stay changed.
    fn roll_back(&self) -> Result<Option<Record>> {
        let mut edited = Vec::new();
        let mut unsettled = Vec::new();
        let mut problems = Vec::new();
        let mut failed = None;
        for number in (0..self.record.files.len()).rev() {
            let file_change = &self.record.files[number];
            match self.roll_back_file(number) {
                Ok(Outcome::Old) => {}
                Ok(Outcome::Edited) => edited.insert(0, file_change.clone()),
                Err(error) => {
                    problems.push(format!("{}: {error}", file_change.reference()));
                    unsettled.insert(0, file_change.clone());
                    failed = failed.or(Some(error));
                }
            }
        }
        let standing = self.record_part(edited)?;
        self.keep_intent(unsettled, problems)?;
        failed.map_or(Ok(standing), Err)
    }

    /// Records some files of a change that is otherwise rolled back.
    fn record_part(&self, files: Vec<FileChange>) -> Result<Option<Record>> {
        if files.is_empty() {
            return Ok(None);
        }
        let part = Record {
            id: self.new_id(),
            message: self.message_for(&files),
            files,
            ..self.record.clone()
        };
        self.in_history("record the part that stands", || self.history.record(&part))?;
        Ok(Some(part))
    }

    /// The message of the change, which says so if these files are only a part of it.
    fn message_for(&self, files: &[FileChange]) -> String {
        const IN_PART: &str = " (in part: the rest was taken back)";
        let message = &self.record.message;
        let is_whole = files.len() == self.record.files.len();
        let suffix = if is_whole || message.ends_with(IN_PART) {
            ""
        } else {
            IN_PART
        };
        format!("{message}{suffix}")
    }

    /// Reduces the intent to the unsettled files, or removes it if there are none.
    fn keep_intent(&self, unsettled: Vec<FileChange>, problems: Vec<String>) -> Result<()> {
        if unsettled.is_empty() {
            return self.in_history("forget", || self.history.forget(&self.record.id));
        }
        let rest = Unfinished {
            record: Record {
                message: self.message_for(&unsettled),
                files: unsettled,
                ..self.record.clone()
            },
            problems,
        };
        self.in_history("keep the intent", || self.history.keep_unfinished(&rest))
    }

    /// Whether the file has the content that the change wrote.
    fn is_new(&self, file_change: &FileChange) -> bool {
        let now = self.roots[&file_change.root].read_whole(&file_change.path);
        now.is_ok_and(|now| now.as_deref().map(Revision::of) == file_change.after)
    }

    fn roll_back_file(&self, number: usize) -> Result<Outcome> {
        let file_change = &self.record.files[number];
        let root = &self.roots[&file_change.root];
        if !root.exists() {
            return Ok(Outcome::Old);
        }
        let now = root.read_whole(&file_change.path)?;
        let temp = root.read_whole(&self.temp(number))?;
        let outcome = match (file_change.before, file_change.after) {
            (Some(before), Some(after)) if before == after => Outcome::Old,
            (Some(_), Some(_)) => self.roll_back_replacement(number, now, temp)?,
            (None, _) => self.roll_back_creation(number, now, temp.is_some())?,
            (Some(_), None) => self.roll_back_removal(number, now.is_some(), temp.is_some())?,
        };
        self.clear(number)?;
        Ok(outcome)
    }

    fn roll_back_replacement(
        &self,
        number: usize,
        now: Option<Vec<u8>>,
        temp: Option<Vec<u8>>,
    ) -> Result<Outcome> {
        let file_change = &self.record.files[number];
        let now = now.as_deref().map(Revision::of);
        let temp_revision = temp.as_deref().map(Revision::of);
        if now == file_change.after {
            // A file system without exchange and links keeps nothing under the temporary name.
            if temp.is_none() || temp_revision == file_change.after {
                self.stage_old(number)?;
            }
            let temp = self.temp(number);
            self.to_file(file_change, "exchange back", |root| {
                root.exchange(&temp, &file_change.path)
            })?;
            return Ok(Outcome::Old);
        }
        let was_displaced = temp_revision == file_change.before
            || temp.is_some_and(|bytes| self.is_foreign(file_change, &bytes));
        if now != file_change.before && was_displaced {
            return Ok(Outcome::Edited);
        }
        Ok(Outcome::Old)
    }

    fn roll_back_creation(
        &self,
        number: usize,
        now: Option<Vec<u8>>,
        is_staged: bool,
    ) -> Result<Outcome> {
        let file_change = &self.record.files[number];
        if is_staged || now.is_none() {
            return Ok(Outcome::Old);
        }
        if now.as_deref().map(Revision::of) != file_change.after {
            return Ok(Outcome::Edited);
        }
        let temp = self.temp(number);
        self.to_file(file_change, "take the new file away", |root| {
            root.set_aside(&file_change.path, &temp)
        })?;
        Ok(Outcome::Old)
    }

    fn roll_back_removal(&self, number: usize, is_there: bool, is_aside: bool) -> Result<Outcome> {
        let file_change = &self.record.files[number];
        if is_there && is_aside {
            // A file of that name was created after the change had removed it.
            return Ok(Outcome::Edited);
        }
        if is_there {
            return Ok(Outcome::Old);
        }
        if !is_aside {
            self.stage_old(number)?;
        }
        let temp = self.temp(number);
        self.to_file(file_change, "put back", |root| {
            root.place(&temp, &file_change.path)
        })?;
        Ok(Outcome::Old)
    }

    /// Writes the version before the change to the temporary file.
    fn stage_old(&self, number: usize) -> Result<()> {
        let file_change = &self.record.files[number];
        let Some(before) = &file_change.before else {
            return Ok(());
        };
        let bytes = self.history.version(before)?;
        let temp = self.temp(number);
        self.roots[&file_change.root].remove(&temp)?;
        self.stage(number, &bytes, &file_change.attributes())?;
        self.flush_staged([number].into_iter())
    }

    /// Removes the temporary file and the folders created for the file. What another program wrote
    /// into the temporary file is stored as a version first.
    fn clear(&self, number: usize) -> Result<()> {
        let file_change = &self.record.files[number];
        let temp = self.temp(number);
        self.keep_foreign_file(number);
        self.to_file(file_change, "clear", |root| {
            root.remove(&temp)?;
            if !root.has(&file_change.path) {
                for folder in file_change.folders.iter().rev() {
                    root.remove_folder(folder);
                }
            }
            root.flush_folder(&file_change.path)
        })
    }

    /// Stores what other programs wrote into displaced files as versions.
    fn keep_foreign(&self) {
        for number in 0..self.record.files.len() {
            self.keep_foreign_file(number);
        }
    }

    fn keep_foreign_file(&self, number: usize) {
        let file_change = &self.record.files[number];
        let found = self.roots[&file_change.root].read_displaced(&self.temp(number));
        let Ok(Some(bytes)) = found else { return };
        if !self.is_foreign(file_change, &bytes) {
            return;
        }
        if let Ok(revision) = self.history.keep(&bytes) {
            // If the record cannot be written, the bytes are kept all the same.
            drop(self.history.record(&self.outside_record(number, revision)));
        }
    }
}

impl FileChange {
    /// The file's mode and modification time before the change.
    pub(super) fn attributes(&self) -> Attributes {
        Attributes {
            mode: self.mode,
            modified: self.modified,
        }
    }
}
