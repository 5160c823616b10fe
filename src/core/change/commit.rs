//! Carrying a change out so that an error or a crash at any point leaves every file old or new, and
//! nothing is lost.
//!
//! The journal's line is what makes a change: before it is written everything can be taken back
//! (see [`super::recover`]), after it only temporary files are left to be removed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::recover::{abandon, recover_interrupted_locked, supersede};
use super::{Author, Change, ChangeVerb, Edit, Moment};
use crate::core::diff;
use crate::core::error::Conflict;
use crate::core::history::{FileChange, History, Record, Tombstone};
use crate::core::memory::Revision;
use crate::core::sandbox::{Attributes, Displaced, Root};
use crate::core::{Error, Result};

/// Carries `change` out: under the stores' locks, against the revisions that the plan saw.
pub fn commit(
    history: &History,
    change: &Change,
    author: &Author,
    moment: &Moment,
) -> Result<Record> {
    let roots: Vec<&Path> = change.roots();
    let _lock = history.lock(&roots)?;
    history.step("locked").map_err(|e| at(history.dir(), e))?;
    // What cannot be settled is reported by `doctor` and when the store is listed.
    drop(recover_interrupted_locked(history, &roots));
    commit_locked(history, change, author, moment)
}

/// As [`commit`], for a caller that holds the locks.
pub(super) fn commit_locked(
    history: &History,
    change: &Change,
    author: &Author,
    moment: &Moment,
) -> Result<Record> {
    let roots = open_roots(&change.roots())?;
    for edit in &change.edits {
        check(&roots[&edit.root], edit)?;
    }
    supersede(history, change)?;
    let record = describe(history, change, (author, moment), &roots)?;
    let mut commit = CommitInProgress {
        history,
        record,
        roots: &roots,
    };
    commit.in_history("intend", || history.record_intent(&commit.record))?;
    let committed = commit
        .replace_files(change)
        .and_then(|()| commit.write_journal());
    let late = match committed {
        Ok(late) => late,
        Err(error) => {
            abandon(&commit);
            return Err(error);
        }
    };
    commit.clean_up();
    commit.merge_late(&late, moment);
    Ok(commit.record)
}

/// Opens each directory once.
pub(super) fn open_roots(roots: &[&Path]) -> Result<HashMap<PathBuf, Root>> {
    let mut opened = HashMap::new();
    for root in roots {
        if !opened.contains_key(*root) {
            opened.insert((*root).to_owned(), Root::open(root)?);
        }
    }
    Ok(opened)
}

/// Makes sure that the file is what the plan saw, where the plan saw it, and can be replaced.
fn check(root: &Root, edit: &Edit) -> Result<()> {
    if root.resolve(&edit.path)? != edit.path {
        return Err(Error::Escapes {
            path: edit.reference(),
        });
    }
    root.writable(&edit.path)?;
    root.folder_writable(&edit.path)?;
    let theirs = root.read(&edit.path)?;
    if theirs == edit.before {
        return Ok(());
    }
    Err(conflict(edit, theirs))
}

fn conflict(edit: &Edit, theirs: Option<Vec<u8>>) -> Error {
    Error::Conflict(Box::new(Conflict {
        path: edit.reference(),
        base: edit.before.clone(),
        mine: edit.after.clone(),
        theirs,
    }))
}

/// Keeps both sides of every edit.
fn keep_versions(history: &History, change: &Change) -> Result<()> {
    let before: Vec<Option<Revision>> = change
        .edits
        .iter()
        .map(|edit| edit.before.as_deref().map(Revision::of))
        .collect();
    let mut versions: Vec<(&[u8], Option<&Revision>)> = Vec::new();
    for (edit, before) in change.edits.iter().zip(&before) {
        versions.extend(edit.before.as_deref().map(|bytes| (bytes, None)));
        versions.extend(edit.after.as_deref().map(|bytes| (bytes, before.as_ref())));
    }
    let step = |what: &str| history.step(what).map_err(|e| at(history.dir(), e));
    step("keep the versions")?;
    history.keep_all(&versions)?;
    step("keep the versions: done")
}

/// Keeps every version and describes the change.
fn describe(
    history: &History,
    change: &Change,
    (author, moment): (&Author, &Moment),
    roots: &HashMap<PathBuf, Root>,
) -> Result<Record> {
    keep_versions(history, change)?;
    let mut files = Vec::new();
    for edit in &change.edits {
        let root = &roots[&edit.root];
        let (added, removed) = diff::counts(
            edit.before.as_deref().unwrap_or_default(),
            edit.after.as_deref().unwrap_or_default(),
        );
        let present = root.attributes(&edit.path);
        files.push(FileChange {
            root: edit.root.clone(),
            layout: edit.layout,
            path: edit.path.clone(),
            before: edit.before.as_deref().map(Revision::of),
            after: edit.after.as_deref().map(Revision::of),
            derived: edit.derived,
            folders: match edit.after {
                Some(_) => root.missing_folders(&edit.path),
                None => Vec::new(),
            },
            emptied: edit.emptied.clone(),
            mode: present.mode.or(edit.attributes.mode),
            modified: present.modified,
            added,
            removed,
        });
    }
    Ok(Record {
        id: ulid::Ulid::from_datetime(moment.time.into()).to_string(),
        time: moment.time.as_millisecond(),
        author: author.clone(),
        verb: change.verb,
        message: change.message.clone(),
        of: change.of.clone(),
        files,
        tombstones: tombstones(change),
    })
}

fn tombstones(change: &Change) -> Vec<Tombstone> {
    if change.verb != ChangeVerb::Delete {
        return Vec::new();
    }
    let gone = change.edits.iter().filter(|edit| !edit.derived);
    gone.filter_map(|edit| {
        let bytes = edit.before.as_ref().filter(|_| edit.after.is_none())?;
        let text = String::from_utf8_lossy(bytes);
        let memory = edit.layout.rules().read(&edit.path, &text);
        Some(Tombstone {
            path: memory.path,
            name: memory.title,
            revision: Revision::of(bytes),
            words: frequent_words(&text),
        })
    })
    .collect()
}

/// The words that tell a text apart: its most frequent ones of four letters and more.
fn frequent_words(text: &str) -> Vec<String> {
    const MOST: usize = 40;
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.chars().count() >= 4 {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words.into_iter().take(MOST).map(|(word, _)| word).collect()
}

/// The error for a step at `path` that failed.
pub(super) fn at(path: &Path, error: std::io::Error) -> Error {
    Error::io(path, error)
}

/// What another program wrote into a file while the change replaced it.
struct LateWrite {
    /// Which file of the change.
    number: usize,
    /// The version that both sides began with.
    base: Revision,
    /// What the program left.
    theirs: Vec<u8>,
}

/// A change on its way to the disk.
pub(super) struct CommitInProgress<'a> {
    pub(super) history: &'a History,
    pub(super) record: Record,
    pub(super) roots: &'a HashMap<PathBuf, Root>,
}

impl CommitInProgress<'_> {
    /// Does something to a file of the change; the observer hears of it before and after.
    pub(super) fn to_file<T>(
        &self,
        file_change: &FileChange,
        what: &str,
        act: impl FnOnce(&Root) -> Result<T>,
    ) -> Result<T> {
        let root = &self.roots[&file_change.root];
        let step = |what: &str| {
            let done = self.history.step(what);
            done.map_err(|e| at(&root.absolute(&file_change.path), e))
        };
        step(&format!("{what} {}", file_change.path))?;
        let done = act(root)?;
        step(&format!("{what} {}: done", file_change.path))?;
        Ok(done)
    }

    /// Does something to the history; the observer hears of it before and after.
    pub(super) fn in_history<T>(&self, what: &str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let step = |what: &str| {
            let done = self.history.step(what);
            done.map_err(|e| at(self.history.dir(), e))
        };
        step(what)?;
        let done = act()?;
        step(&format!("{what}: done"))?;
        Ok(done)
    }

    /// The name of the temporary file beside file `number`: the same whatever other files the
    /// change has.
    pub(super) fn temp(&self, number: usize) -> String {
        let path = &self.record.files[number].path;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let slash = if folder.is_empty() { "" } else { "/" };
        let mark = Revision::of(path.as_bytes()).to_string();
        format!("{folder}{slash}.tome-{}-{}.tmp", self.record.id, &mark[..8])
    }

    /// Puts every file into its new state, all new texts staged before the first one is replaced: a
    /// disk that is full is found out while nothing has changed.
    fn replace_files(&self, change: &Change) -> Result<()> {
        let changed = || {
            let edits = change.edits.iter().enumerate();
            edits.filter(|(_, edit)| edit.before != edit.after)
        };
        for (number, edit) in changed() {
            if let Some(bytes) = &edit.after {
                let attributes = Attributes {
                    mode: self.record.files[number].mode,
                    modified: edit.attributes.modified,
                };
                self.stage(number, bytes, &attributes)?;
            }
        }
        // An agent that knows no lock may have written meanwhile; from here on it takes microseconds.
        for edit in &change.edits {
            check(&self.roots[&edit.root], edit)?;
        }
        for (number, edit) in changed() {
            self.replace(number, edit)?;
        }
        for (number, _) in changed() {
            let file_change = &self.record.files[number];
            self.to_file(file_change, "flush", |root| {
                root.flush_folder(&file_change.path)
            })?;
        }
        Ok(())
    }

    pub(super) fn stage(&self, number: usize, bytes: &[u8], attributes: &Attributes) -> Result<()> {
        let file_change = &self.record.files[number];
        let temp = self.temp(number);
        self.to_file(file_change, "stage", |root| {
            root.make_folders(&file_change.path)?;
            root.stage(&temp, bytes, attributes)
                .map_err(|error| match error {
                    // The user knows the file by its own name.
                    Error::Io { source, .. } => Error::io(root.absolute(&file_change.path), source),
                    other => other,
                })
        })
    }

    /// Gives file `number` its new state. What it displaces is looked at: where somebody was
    /// quicker, theirs is put back by the caller's taking back and the change is a conflict.
    fn replace(&self, number: usize, edit: &Edit) -> Result<()> {
        let file_change = &self.record.files[number];
        let temp = self.temp(number);
        let displaced = match (&edit.before, &edit.after) {
            (Some(_), Some(_)) => self.to_file(file_change, "exchange", |root| {
                root.exchange(&temp, &file_change.path)
            })?,
            (None, _) => {
                let placed = self.to_file(file_change, "place", |root| {
                    root.place(&temp, &file_change.path)
                });
                return placed.map_err(|error| match error {
                    Error::Io { source, .. }
                        if source.kind() == std::io::ErrorKind::AlreadyExists =>
                    {
                        conflict(
                            edit,
                            self.roots[&file_change.root]
                                .read(&file_change.path)
                                .ok()
                                .flatten(),
                        )
                    }
                    other => other,
                });
            }
            (Some(_), None) => {
                self.to_file(file_change, "set aside", |root| {
                    root.set_aside(&file_change.path, &temp)
                })?;
                Displaced::Kept
            }
        };
        if displaced == Displaced::Kept {
            let theirs = self.roots[&file_change.root].read(&temp)?;
            if theirs != edit.before {
                return Err(conflict(edit, theirs));
            }
        }
        Ok(())
    }

    /// Writes the journal's line; answers what other programs wrote into the displaced files since
    /// they were displaced, each of which has become a version of its own.
    fn write_journal(&mut self) -> Result<Vec<LateWrite>> {
        let late = self.late_writes();
        for LateWrite { number, theirs, .. } in &late {
            let revision = self.history.keep(theirs)?;
            let outside = self.outside_record(*number, revision);
            self.in_history("record outside", || self.history.record(&outside))?;
            self.record.files[*number].before = Some(revision);
        }
        match self.in_history("record", || self.history.record(&self.record)) {
            // A flush that failed after the line was written leaves a change that is made.
            Err(_) if self.is_recorded() => Ok(late),
            Err(error) => Err(error),
            Ok(()) => Ok(late),
        }
    }

    /// Whether the journal has the change.
    pub(super) fn is_recorded(&self) -> bool {
        let records = self.history.records();
        records.is_ok_and(|records| {
            records
                .iter()
                .any(|committed| committed.id == self.record.id)
        })
    }

    /// What is under the temporary names, where all files are replaced, and is not the old text.
    fn late_writes(&self) -> Vec<LateWrite> {
        let files = self.record.files.iter().enumerate();
        files
            .filter_map(|(number, file_change)| {
                let base = file_change.before?;
                let theirs = self.roots[&file_change.root]
                    .read(&self.temp(number))
                    .ok()??;
                (Revision::of(&theirs) != base).then_some(LateWrite {
                    number,
                    base,
                    theirs,
                })
            })
            .collect()
    }

    /// Whether bytes found under a file's temporary name are somebody else's.
    pub(super) fn is_foreign(&self, file_change: &FileChange, bytes: &[u8]) -> bool {
        let revision = Some(Revision::of(bytes));
        if revision == file_change.before || revision == file_change.after {
            return false;
        }
        // A process that died while it staged left a part of the new text.
        let staged = file_change
            .after
            .and_then(|after| self.history.version(&after).ok());
        !staged.is_some_and(|staged| staged.starts_with(bytes))
    }

    /// An id for another record of the same moment.
    pub(super) fn new_id(&self) -> String {
        let time = u64::try_from(self.record.time).unwrap_or_default();
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(time);
        ulid::Ulid::from_datetime(time).to_string()
    }

    /// The record of what another program did to a file between the plan and the change.
    pub(super) fn outside_record(&self, number: usize, theirs: Revision) -> Record {
        let file_change = &self.record.files[number];
        Record {
            id: self.new_id(),
            time: self.record.time,
            author: Author::outside(),
            verb: ChangeVerb::Edit,
            message: format!(
                "Written meanwhile by another program: {}",
                file_change.reference()
            ),
            of: None,
            files: vec![FileChange {
                after: Some(theirs),
                folders: Vec::new(),
                emptied: Vec::new(),
                ..file_change.clone()
            }],
            tombstones: Vec::new(),
        }
    }

    /// Removes what a change that was made leaves behind. The change stands whatever fails here:
    /// the next one that opens the store tries again.
    pub(super) fn clean_up(&self) {
        for number in 0..self.record.files.len() {
            let file_change = &self.record.files[number];
            let root = &self.roots[&file_change.root];
            let temp = self.temp(number);
            let removed = self.to_file(file_change, "remove displaced", |root| root.remove(&temp));
            if removed.is_err() {
                return;
            }
            if file_change.after.is_none() {
                for folder in file_change.emptied.iter().rev() {
                    root.remove_folder(folder);
                }
            }
        }
        drop(self.in_history("forget", || self.history.forget(&self.record.id)));
    }

    /// Merges what other programs wrote meanwhile into the files, where that fits. Where it does
    /// not, their version stays in the history as the one before this change.
    fn merge_late(&self, late: &[LateWrite], moment: &Moment) {
        for change in late.iter().filter_map(|late| self.merged_late(late)) {
            let merged = commit_locked(self.history, &change, &Author::outside(), moment);
            // Their version is in the history whether or not it could be merged.
            drop(merged);
        }
    }

    fn merged_late(&self, late: &LateWrite) -> Option<Change> {
        let file_change = &self.record.files[late.number];
        let base = self.history.version(&late.base).ok()?;
        let mine = self.history.version(&file_change.after?).ok()?;
        let merged = diff::merge(&base, &mine, &late.theirs)?;
        Some(Change {
            verb: ChangeVerb::Edit,
            message: format!(
                "Merged what another program wrote: {}",
                file_change.reference()
            ),
            edits: vec![Edit {
                root: file_change.root.clone(),
                layout: file_change.layout,
                path: file_change.path.clone(),
                before: Some(mine),
                after: Some(merged),
                derived: file_change.derived,
                emptied: Vec::new(),
                attributes: Attributes::default(),
            }],
            of: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_words_of_four_letters_and_more_tell_a_text_apart() {
        assert_eq!(
            frequent_words("Tea, the Beta and alpha; ALPHA beta alpha über abc four"),
            ["alpha", "beta", "four", "über"]
        );
        let many: Vec<String> = (100..200).map(|number| format!("word{number}")).collect();
        let words = frequent_words(&many.join(" "));
        assert_eq!(words, many[..40]);
    }
}
