//! Undo, redo and restore: which change is next, and the new change that is planned from versions
//! in the history.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Change, ChangeVerb, Direction, Edit, PlannedFiles};
use crate::core::change::history::{FileChange, History, Record};
use crate::core::disk::error::Conflict;
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::Root;
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::memory::layout::listing::{Bullet, is_about, with_lines_of};
use crate::core::memory::layout::{FileView as _, TouchedFile};
use crate::core::memory::store::Store;
use crate::core::text::diff;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

impl History {
    /// How to undo `record`: the original change and a direction. Undoing an undo is a redo.
    pub fn reversal(&self, record: Record) -> Result<(Record, Direction)> {
        let (mut record, mut direction) = (record, Direction::Back);
        if record.of.is_none() {
            return Ok((record, direction));
        }
        let all = self.records()?;
        let mut seen = HashSet::from([record.id.clone()]);
        while let (ChangeVerb::Undo | ChangeVerb::Redo, Some(of)) =
            (record.verb, record.of.as_deref())
        {
            if record.verb == ChangeVerb::Undo {
                direction = direction.opposite();
            }
            if !seen.insert(of.to_owned()) {
                return Err(Error::refused(
                    self.journal_path().display().to_string(),
                    format!(
                        "change {of} takes itself back, so nobody knows what it did; restore a version with `tome restore`"
                    ),
                ));
            }
            let original = all.iter().find(|record| record.id == of);
            let original = original.cloned();
            record = original.ok_or_else(|| Error::not_found(format!("change {of}")))?;
        }
        Ok((record, direction))
    }

    /// The last change of `roots` that was not undone.
    pub fn undoable(&self, roots: &[&Path]) -> Result<Option<Record>> {
        Ok(self.stacks(roots)?.0.pop())
    }

    /// The last change of `roots` that was undone, unless other changes were made since.
    pub fn redoable(&self, roots: &[&Path]) -> Result<Option<Record>> {
        Ok(self.stacks(roots)?.1.pop())
    }

    /// The changes of `roots` that are in effect, and those that were undone.
    fn stacks(&self, roots: &[&Path]) -> Result<(Vec<Record>, Vec<Record>)> {
        let (mut done, mut undone): (Vec<Record>, Vec<Record>) = (Vec::new(), Vec::new());
        let take = |list: &mut Vec<Record>, id: Option<&str>| {
            let at = list
                .iter()
                .position(|record| Some(record.id.as_str()) == id)?;
            Some(list.remove(at))
        };
        let all = self.records()?;
        let drafts: Vec<PathBuf> = roots.iter().map(|root| self.drafts_of(root)).collect();
        let drafts = drafts.iter().map(PathBuf::as_path);
        let roots: Vec<&Path> = roots.iter().copied().chain(drafts).collect();
        for record in all.iter().filter(|record| record.touches(&roots)) {
            let of = record.of.as_deref();
            match record.verb {
                ChangeVerb::Undo => undone.extend(take(&mut done, of)),
                ChangeVerb::Redo => {
                    // After other changes it is no longer in `undone`, but can be redone by its id.
                    drop(take(&mut undone, of));
                    let original = all.iter().find(|record| Some(record.id.as_str()) == of);
                    if done.iter().all(|record| Some(record.id.as_str()) != of) {
                        done.extend(original.cloned());
                    }
                }
                // What another program wrote directly is undone only by its id: without one, undo
                // is about the last thing that was done with tome.
                _ if record.author.is_outside() => {}
                _ => {
                    undone.clear();
                    done.push(record.clone());
                }
            }
        }
        Ok((done, undone))
    }
}

/// Plans undoing or redoing `record`. A file that is as the change left it gets its other version
/// byte for byte; into a file that was edited since, the difference is merged.
pub fn replay(
    history: &History,
    record: &Record,
    direction: Direction,
    moment: &Moment,
) -> Result<Change> {
    let mut edits = Vec::new();
    let mut outdated: Vec<&FileChange> = Vec::new();
    let is_acceptance = record.verb == ChangeVerb::Accept;
    for file_change in &record.files {
        if is_acceptance || file_change.before == file_change.after {
            // It left the file as it was, and so does its replay.
            let now = Root::open(&file_change.root)?.read_whole(&file_change.path)?;
            edits.push(edit(file_change, now.clone(), now));
            continue;
        }
        match replay_file(history, file_change, direction)? {
            Some(edit) => edits.push(edit),
            None => outdated.push(file_change),
        }
    }
    for root in distinct_roots(&outdated) {
        let here = outdated
            .iter()
            .filter(|file_change| file_change.root == root);
        let here = here.copied().collect();
        update_indexes(history, here, direction, moment, &mut edits)?;
    }
    // A file that already has the target content stays in the change, so that it counts as undone.
    edits.retain(|edit| !edit.derived || edit.before != edit.after);
    edits.sort_by_key(|edit| edit.derived);
    let (verb, word) = match direction {
        Direction::Back => (ChangeVerb::Undo, "Undone"),
        Direction::Forward => (ChangeVerb::Redo, "Redone"),
    };
    let is_different = is_acceptance || edits.iter().any(|edit| edit.before != edit.after);
    let note = if is_different {
        ""
    } else {
        " (nothing was different)"
    };
    Ok(Change {
        verb,
        message: format!("{word}: {}{note}", record.message),
        edits,
        of: Some(record.id.clone()),
        rejected: Vec::new(),
    })
}

/// Replays one file; `None` for an index that was changed since.
fn replay_file(
    history: &History,
    file_change: &FileChange,
    direction: Direction,
) -> Result<Option<Edit>> {
    let now = Root::open(&file_change.root)?.read_whole(&file_change.path)?;
    let (from, to) = sides(file_change, direction);
    let target = version(history, to)?;
    let as_left = now.as_deref().map(Revision::of) == from;
    let after = if as_left || now == target {
        target
    } else if file_change.derived {
        return Ok(None);
    } else {
        merge_since(history, file_change, direction, &now)?
    };
    Ok(Some(edit(file_change, now, after)))
}

/// The versions that a replay goes from and to.
fn sides(file_change: &FileChange, direction: Direction) -> (Option<Revision>, Option<Revision>) {
    match direction {
        Direction::Back => (file_change.after, file_change.before),
        Direction::Forward => (file_change.before, file_change.after),
    }
}

/// A version that may be that of a missing file.
pub(super) fn version(history: &History, revision: Option<Revision>) -> Result<Option<Vec<u8>>> {
    revision
        .map(|revision| history.version(&revision))
        .transpose()
}

fn edit(file_change: &FileChange, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Edit {
    let mut attributes = file_change.attributes();
    if after.as_deref().map(Revision::of) != file_change.before {
        // The recorded time belongs to the version before.
        attributes.modified = None;
    }
    Edit {
        root: file_change.root.clone(),
        layout: file_change.layout,
        path: file_change.path.clone(),
        before,
        after,
        derived: file_change.derived,
        emptied: file_change.folders.clone(),
        attributes,
    }
}

/// Merges a replay into a file that was edited since; a conflict where that fails.
fn merge_since(
    history: &History,
    file_change: &FileChange,
    direction: Direction,
    now: &Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let (from, to) = sides(file_change, direction);
    let (base, mine) = (version(history, from)?, version(history, to)?);
    if let (Some(base), Some(mine), Some(theirs)) = (&base, &mine, now)
        && let Some(merged) = diff::merge(base, mine, theirs)
    {
        return Ok(Some(merged));
    }
    Err(Error::Conflict(Box::new(Conflict {
        path: file_change.reference(),
        base,
        mine,
        theirs: now.clone(),
    })))
}

fn distinct_roots<'a>(touches: &[&'a FileChange]) -> Vec<&'a Path> {
    let mut roots: Vec<&Path> = touches
        .iter()
        .map(|file_change| file_change.root.as_path())
        .collect();
    roots.sort();
    roots.dedup();
    roots
}

/// Updates the indexes of one store that were changed since the record. A generated index is
/// generated again; into an edited one the difference is merged, or else only its lines follow.
fn update_indexes(
    history: &History,
    outdated: Vec<&FileChange>,
    direction: Direction,
    moment: &Moment,
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let Some(first) = outdated.first() else {
        return Ok(());
    };
    let store = Store::open("", &first.root, Some(first.layout))?;
    let mut planned = PlannedFiles::new(&store, moment);
    if !store.rules().is_index_generated(&planned)? {
        let mut fitting = Vec::new();
        for file_change in &outdated {
            let now = store.root().read(&file_change.path)?;
            let Ok(after) = merge_since(history, file_change, direction, &now) else {
                break;
            };
            fitting.push(edit(file_change, now, after));
        }
        if fitting.len() == outdated.len() {
            edits.extend(fitting);
            return Ok(());
        }
    }
    for edit in edits.iter().filter(|edit| edit.root == first.root) {
        planned.set(&edit.path, edit.after.clone())?;
    }
    planned.update_index()?;
    edits.extend(planned.into_edits().into_iter().filter(|edit| edit.derived));
    Ok(())
}

/// One file of a recorded change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoredFile<'a> {
    /// The store's root; `None` for any store.
    pub root: Option<&'a Path>,
    /// The file or its reference.
    pub path: &'a str,
}

impl<'a> From<&'a str> for RestoredFile<'a> {
    fn from(path: &'a str) -> Self {
        Self { root: None, path }
    }
}

impl RestoredFile<'_> {
    fn is(&self, file_change: &FileChange) -> bool {
        self.root.is_none_or(|root| root == file_change.root)
            && (file_change.reference() == self.path || file_change.path == self.path)
    }
}

/// Plans restoring the files of `record` to the version that it wrote, or, for a file that it
/// deleted, to the version that it deleted. With `only`, just that file.
pub fn restore(
    history: &History,
    record: &Record,
    only: Option<RestoredFile<'_>>,
    moment: &Moment,
) -> Result<Change> {
    let wanted: Vec<&FileChange> = record
        .files
        .iter()
        .filter(|file_change| match only {
            Some(only) => only.is(file_change),
            None => !file_change.derived,
        })
        // The old name of a renamed or moved file is not a deleted file.
        .filter(|file_change| file_change.after.is_some() || record.verb == ChangeVerb::Delete)
        .collect();
    if wanted.is_empty() {
        let what = only.map_or("a file", |only| only.path);
        return Err(Error::not_found(format!("{what} in change {}", record.id)));
    }
    let mut edits = Vec::new();
    for root in distinct_roots(&wanted) {
        let here: Vec<&&FileChange> = wanted
            .iter()
            .filter(|file_change| file_change.root == root)
            .collect();
        let store = Store::open("", root, here.first().map(|file_change| file_change.layout))?;
        let mut planned = PlannedFiles::new(&store, moment);
        for file_change in here {
            if let Some(revision) = file_change.after.or(file_change.before) {
                planned.set(&file_change.path, Some(history.version(&revision)?))?;
                let mut attributes = file_change.attributes();
                if file_change.after.is_some() {
                    attributes.modified = None;
                }
                planned.keep_attributes(&file_change.path, attributes);
            }
        }
        let index = record.files.iter().find(|file_change| {
            file_change.derived && file_change.root == root && file_change.path == INDEX
        });
        if let Some(revision) = index.and_then(|index| index.before) {
            let former = history.version(&revision)?;
            put_lines_back(&mut planned, &String::from_utf8_lossy(&former))?;
        }
        planned.update_index()?;
        edits.extend(planned.into_edits());
    }
    let names: Vec<String> = wanted
        .iter()
        .map(|file_change| file_change.reference())
        .collect();
    Ok(Change {
        verb: ChangeVerb::Restore,
        message: format!("Restored: {}", names.join(", ")),
        edits,
        of: Some(record.id.clone()),
        rejected: Vec::new(),
    })
}

/// Gives a hand-written index the lines again that it had in a former version for the memories that
/// come back.
pub(in crate::core) fn put_lines_back(planned: &mut PlannedFiles<'_>, former: &str) -> Result<()> {
    let Some(text) = planned.text(INDEX)?.filter(|text| !is_generated(text)) else {
        return Ok(());
    };
    let mut back = Vec::new();
    for touched in planned.touched() {
        if let TouchedFile::Added(file) = touched {
            back.push((planned.memory_after(&file)?.title, file));
        }
    }
    let is_back = |bullet: &Bullet| {
        let mut back = back.iter();
        back.any(|(title, file)| is_about(bullet, file, title))
    };
    let with = with_lines_of(&text, former, is_back);
    if with != text {
        planned.set_derived(INDEX, with)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::change::history::test_record as record;

    #[test]
    fn undo_and_redo_walk_the_stack() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        let roots = [Path::new("/r")];
        let top = |history: &History| {
            let id = |r: Option<Record>| r.map(|r| r.id).unwrap_or_default();
            (
                id(history.undoable(&roots).expect("reads")),
                id(history.redoable(&roots).expect("reads")),
            )
        };
        let steps: &[(&str, ChangeVerb, Option<&str>, &str, &str)] = &[
            ("AAA1", ChangeVerb::Write, None, "AAA1", ""),
            ("BBB1", ChangeVerb::Patch, None, "BBB1", ""),
            ("CCC1", ChangeVerb::Undo, Some("BBB1"), "AAA1", "BBB1"),
            ("DDD1", ChangeVerb::Undo, Some("AAA1"), "", "AAA1"),
            ("EEE1", ChangeVerb::Redo, Some("AAA1"), "AAA1", "BBB1"),
            ("FFF1", ChangeVerb::Write, None, "FFF1", ""),
        ];
        for (id, verb, of, undo, redo) in steps {
            history.record(&record(id, *verb, *of)).expect("records");
            assert_eq!(
                top(&history),
                ((*undo).to_owned(), (*redo).to_owned()),
                "{id}"
            );
        }
        assert_eq!(
            history.undoable(&[Path::new("/other")]).expect("reads"),
            None
        );
    }

    #[test]
    fn changes_that_take_each_other_back_are_told_and_not_followed_for_ever() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        for (id, of) in [("AAA1", "BBB1"), ("BBB1", "AAA1"), ("CCC1", "CCC1")] {
            history
                .record(&record(id, ChangeVerb::Undo, Some(of)))
                .expect("records");
        }
        for id in ["AAA1", "BBB1", "CCC1"] {
            let start = history.find(id).expect("found");
            let error = history.reversal(start).expect_err("a loop");
            assert!(error.to_string().contains("takes itself back"), "{error}");
        }
        let roots = [Path::new("/r")];
        assert_eq!(history.undoable(&roots).expect("reads"), None);
        assert_eq!(history.redoable(&roots).expect("reads"), None);
    }
}
