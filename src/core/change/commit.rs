//! Commits a change so that an error or a crash at any point leaves every file either old or new,
//! and no content is lost.
//!
//! The line in the journal commits the change: until it is written everything can be rolled back
//! (see [`super::recover`]); after it, only temporary files remain to be removed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::in_progress::{CommitInProgress, open_roots};
use super::recover::{abandon, recover_interrupted_locked, supersede};
use super::{Author, Change, ChangeVerb, Edit};
use crate::core::change::history::{FileChange, History, Lock, Record, Tombstone};
use crate::core::disk::error::Conflict;
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::{Attributes, Displaced, Root};
use crate::core::text::diff;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// Commits `change` under the stores' locks, if the files still have the revisions that it expects.
pub fn commit(
    history: &History,
    change: &Change,
    author: &Author,
    moment: &Moment,
) -> Result<Record> {
    let _lock = lock_and_recover(history, &change.roots())?;
    commit_locked(history, change, author, moment)
}

/// Locks the stores at `roots` and rolls back what a dead process left there.
pub(super) fn lock_and_recover(history: &History, roots: &[&Path]) -> Result<Lock> {
    if let Some(root) = roots.iter().find(|root| root.to_str().is_none()) {
        return Err(Error::refused(
            root.display().to_string(),
            "the path is not UTF-8, so that the history could not name it; rename the folder to \
             change what is in it",
        ));
    }
    let lock = history.lock(roots)?;
    history
        .step("locked")
        .map_err(|e| Error::io(history.dir(), e))?;
    // A change that cannot be recovered is reported by `doctor` and when the store is listed.
    drop(recover_interrupted_locked(history, roots));
    Ok(lock)
}

/// As [`commit`], for a caller that holds the locks.
pub(super) fn commit_locked(
    history: &History,
    change: &Change,
    author: &Author,
    moment: &Moment,
) -> Result<Record> {
    let roots = open_roots(&change.roots())?;
    let mut files = HashSet::new();
    for edit in &change.edits {
        if !files.insert(edit.root.join(&edit.path)) {
            return Err(Error::refused(
                edit.reference(),
                "the change names this file twice, in two stores; nothing was changed",
            ));
        }
        check(&roots[&edit.root], edit)?;
    }
    supersede(history, change)?;
    let record = describe(history, change, author, moment, &roots)?;
    let mut commit = CommitInProgress {
        history,
        record,
        roots: &roots,
    };
    let committed = commit
        .in_history("intend", || history.record_intent(&commit.record))
        .and_then(|()| commit.replace_files(change))
        .and_then(|()| commit.write_journal());
    let late = match committed {
        Ok(late) => late,
        Err(error) => {
            let standing = abandon(&commit);
            let is_conflict = matches!(error, Error::Conflict(_));
            // Planned again, a change that stands would be made twice or not be found.
            return standing.filter(|_| is_conflict).ok_or(error);
        }
    };
    commit.clean_up();
    commit.merge_late(&late, moment);
    Ok(commit.record)
}

/// Checks that the file has not moved, is writable if it is written, and has the content that the
/// plan read.
fn check(root: &Root, edit: &Edit) -> Result<()> {
    if root.resolve(&edit.path)? != edit.path {
        return Err(Error::Escapes {
            path: edit.reference(),
        });
    }
    if edit.before != edit.after {
        root.writable(&edit.path)?;
        root.folder_writable(&edit.path)?;
    }
    let theirs = root.read_whole(&edit.path)?;
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

/// Stores the content before and after every edit in the history.
fn keep_versions(history: &History, change: &Change) -> Result<()> {
    let edits = change.edits.iter();
    let contents = edits.flat_map(|edit| [edit.before.as_deref(), edit.after.as_deref()]);
    let versions: Vec<&[u8]> = contents.flatten().collect();
    let step = |what: &str| history.step(what).map_err(|e| Error::io(history.dir(), e));
    step("keep the versions")?;
    history.keep_all(&versions)?;
    step("keep the versions: done")
}

/// Stores all versions and builds the record of the change.
fn describe(
    history: &History,
    change: &Change,
    author: &Author,
    moment: &Moment,
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
        origin: None,
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

/// The most frequent words of a text that have four letters or more.
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

/// What another program wrote into a file while the change replaced it.
struct LateWrite {
    /// The index of the file in the change.
    number: usize,
    /// The version that both sides started from.
    base: Revision,
    /// The content that the other program wrote.
    theirs: Vec<u8>,
}

impl CommitInProgress<'_> {
    /// Replaces every file. All new contents are staged before the first file is replaced, so that
    /// a full disk is noticed before anything has changed.
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
        let staged = changed().filter(|(_, edit)| edit.after.is_some());
        self.flush_staged(staged.map(|(number, _)| number))?;
        // An agent that takes no lock may have written meanwhile; the rest takes microseconds.
        for edit in &change.edits {
            check(&self.roots[&edit.root], edit)?;
        }
        for (number, edit) in changed() {
            self.replace(number, edit)?;
        }
        let mut flushed = HashSet::new();
        for (number, _) in changed() {
            let file_change = &self.record.files[number];
            let folder = file_change.path.rsplit_once('/').map(|(folder, _)| folder);
            if flushed.insert((&file_change.root, folder)) {
                self.to_file(file_change, "flush", |root| {
                    root.flush_folder(&file_change.path)
                })?;
            }
        }
        Ok(())
    }

    /// Replaces file `number` and compares what it displaced with what the plan read. A difference
    /// is a conflict: the caller then rolls back, which restores the other program's content.
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
                                .read_whole(&file_change.path)
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
            let theirs = self.roots[&file_change.root].read_whole(&temp)?;
            if theirs != edit.before {
                return Err(conflict(edit, theirs));
            }
        }
        Ok(())
    }

    /// Writes the journal's line. Returns what other programs wrote into the displaced files in the
    /// meantime; each such content is stored as a version of its own.
    fn write_journal(&mut self) -> Result<Vec<LateWrite>> {
        let late = self.late_writes();
        for LateWrite { number, theirs, .. } in &late {
            let revision = self.history.keep(theirs)?;
            let outside = self.outside_record(*number, revision);
            self.in_history("record outside", || self.history.record(&outside))?;
            self.record.files[*number].before = Some(revision);
        }
        match self.in_history("record", || self.history.record(&self.record)) {
            // The line was written and only the flush failed: the change is committed.
            Err(_) if self.is_recorded() => Ok(late),
            Err(error) => Err(error),
            Ok(()) => Ok(late),
        }
    }

    /// The displaced contents, under the temporary names, that differ from the old ones.
    fn late_writes(&self) -> Vec<LateWrite> {
        let files = self.record.files.iter().enumerate();
        files
            .filter_map(|(number, file_change)| {
                let base = file_change.before?;
                let theirs = self.roots[&file_change.root]
                    .read_displaced(&self.temp(number))
                    .ok()??;
                (Revision::of(&theirs) != base).then_some(LateWrite {
                    number,
                    base,
                    theirs,
                })
            })
            .collect()
    }

    /// Merges late writes of other programs into the files where they do not conflict. Otherwise
    /// the other version stays in the history, as the one before this change.
    fn merge_late(&self, late: &[LateWrite], moment: &Moment) {
        for change in late.iter().filter_map(|late| self.merged_late(late)) {
            let merged = commit_locked(self.history, &change, &Author::outside(), moment);
            // The other version is in the history whether or not it could be merged.
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
            rejected: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::layout::Layout;

    #[test]
    fn a_file_that_a_change_names_in_two_stores_is_refused_and_nothing_is_recorded() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("canonical");
        let file = root.join(".claude/CLAUDE.md");
        std::fs::create_dir(root.join(".claude")).expect("a folder");
        std::fs::write(&file, "# Mine\n").expect("writes");
        let edit = |root: PathBuf, path: &str| Edit {
            root,
            layout: Layout::Instructions,
            path: path.to_owned(),
            before: Some(b"# Mine\n".to_vec()),
            after: None,
            derived: false,
            emptied: Vec::new(),
            attributes: Attributes::default(),
        };
        let change = Change {
            verb: ChangeVerb::Delete,
            message: "x".to_owned(),
            edits: vec![
                edit(root.clone(), ".claude/CLAUDE.md"),
                edit(root.join(".claude"), "CLAUDE.md"),
            ],
            of: None,
            rejected: Vec::new(),
        };
        let history = History::open(&root.join("history"));
        let error = commit(&history, &change, &Author::test(), &Moment::test());
        let error = error.expect_err("refused");
        assert!(error.to_string().contains("twice"), "{error}");
        assert!(file.exists());
        assert_eq!(history.records().expect("reads"), []);
    }

    #[test]
    fn the_most_frequent_words_of_four_letters_and_more_tell_a_text_apart() {
        assert_eq!(
            frequent_words("Tea, the Beta and zeta; ZETA beta zeta über abc four"),
            ["zeta", "beta", "four", "über"]
        );
        let many: Vec<String> = (100..200).map(|number| format!("word{number}")).collect();
        let words = frequent_words(&many.join(" "));
        assert_eq!(words, many[..40]);
    }
}
