//! Carrying a change out so that a crash at any point leaves every file old or new, and
//! nothing is lost.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::recover::{recover, settle_locked};
use super::{Author, Change, Edit, Moment, Verb, diff};
use crate::core::error::Conflict;
use crate::core::history::{History, Record, Tombstone, Touch};
use crate::core::memory::Revision;
use crate::core::sandbox::Root;
use crate::core::{Error, Result};

/// Carries `change` out: under the stores' locks, against the revisions that the plan saw.
pub fn commit(
    history: &History,
    change: &Change,
    author: &Author,
    moment: &Moment,
) -> Result<Record> {
    let roots: Vec<&Path> = change
        .edits
        .iter()
        .map(|edit| edit.root.as_path())
        .collect();
    let _lock = history.lock(&roots)?;
    history.step("locked");
    settle_locked(history, &roots)?;
    let opened = open(&roots)?;
    for edit in &change.edits {
        check(&opened[&edit.root], edit)?;
    }
    history.step("checked");
    let record = record(history, change, (author, moment), &opened)?;
    history.intend(&record)?;
    history.step("intended");
    let making = Making {
        history,
        record: &record,
        roots: &opened,
    };
    if let Err(error) = making.stage(change) {
        making.clear();
        history.forget(&record.id)?;
        return Err(error);
    }
    // An agent that knows no lock may have written meanwhile; from here on it takes microseconds.
    if let Some(error) = change
        .edits
        .iter()
        .find_map(|edit| check(&opened[&edit.root], edit).err())
    {
        making.clear();
        history.forget(&record.id)?;
        return Err(error);
    }
    for (number, edit) in change.edits.iter().enumerate() {
        if let Err(error) = making.put(number, edit) {
            // What is in place already is finished or taken back by the rules of recovery.
            recover(history, &record)?;
            return Err(error);
        }
        history.step("replaced");
    }
    for edit in &change.edits {
        opened[&edit.root].flush_folder(&edit.path)?;
    }
    history.record(&record)?;
    history.step("recorded");
    history.forget(&record.id)?;
    history.step("done");
    Ok(record)
}

pub(super) fn open(roots: &[&Path]) -> Result<HashMap<PathBuf, Root>> {
    let mut opened = HashMap::new();
    for root in roots {
        if !opened.contains_key(*root) {
            opened.insert((*root).to_owned(), Root::open(root)?);
        }
    }
    Ok(opened)
}

/// Makes sure that the file is what the plan saw, and where the plan saw it.
fn check(root: &Root, edit: &Edit) -> Result<()> {
    if root.resolve(&edit.path)? != edit.path {
        return Err(Error::Escapes {
            path: edit.reference(),
        });
    }
    root.writable(&edit.path)?;
    let theirs = root.read(&edit.path)?;
    if theirs == edit.before {
        return Ok(());
    }
    Err(Error::Conflict(Box::new(Conflict {
        path: edit.reference(),
        base: edit.before.clone(),
        mine: edit.after.clone(),
        theirs,
    })))
}

/// Keeps every version and describes the change.
fn record(
    history: &History,
    change: &Change,
    (author, moment): (&Author, &Moment),
    roots: &HashMap<PathBuf, Root>,
) -> Result<Record> {
    let mut files = Vec::new();
    for edit in &change.edits {
        let root = &roots[&edit.root];
        let keep = |side: &Option<Vec<u8>>| {
            let kept = side.as_ref().map(|bytes| history.keep(bytes)).transpose();
            history.step("kept");
            kept
        };
        let (before, after) = (keep(&edit.before)?, keep(&edit.after)?);
        let (added, removed) = diff::counts(
            edit.before.as_deref().unwrap_or_default(),
            edit.after.as_deref().unwrap_or_default(),
        );
        files.push(Touch {
            root: edit.root.clone(),
            layout: edit.layout,
            path: edit.path.clone(),
            before,
            after,
            derived: edit.derived,
            folders: match edit.after {
                Some(_) => root.missing_folders(&edit.path),
                None => Vec::new(),
            },
            mode: root.mode(&edit.path).or(edit.mode),
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
    if change.verb != Verb::Delete {
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
            words: words(&text),
        })
    })
    .collect()
}

/// The words that tell a text apart: its most frequent ones of four letters and more.
fn words(text: &str) -> Vec<String> {
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

/// A change on its way to the disk.
pub(super) struct Making<'a> {
    pub(super) history: &'a History,
    pub(super) record: &'a Record,
    pub(super) roots: &'a HashMap<PathBuf, Root>,
}

impl Making<'_> {
    /// Writes every new content beside its file, before the first file is replaced: a disk that
    /// is full is found out while nothing has changed.
    fn stage(&self, change: &Change) -> Result<()> {
        for (number, edit) in change.edits.iter().enumerate() {
            if let Some(bytes) = edit.after.as_ref().filter(|_| edit.before != edit.after) {
                self.stage_one(number, bytes)?;
                self.history.step("staged");
            }
        }
        Ok(())
    }

    pub(super) fn stage_one(&self, number: usize, bytes: &[u8]) -> Result<()> {
        let touch = &self.record.files[number];
        let root = &self.roots[&touch.root];
        root.make_folders(&touch.path)?;
        let temp = temp(&touch.path, &self.record.id, number);
        root.stage(&temp, bytes, touch.mode)
            .map_err(|error| match error {
                // The user knows the file by its own name.
                Error::Io { source, .. } => Error::io(root.absolute(&touch.path), source),
                other => other,
            })
    }

    fn put(&self, number: usize, edit: &Edit) -> Result<()> {
        let touch = &self.record.files[number];
        let root = &self.roots[&touch.root];
        if edit.before == edit.after {
            return Ok(());
        }
        if edit.after.is_some() {
            return root.rename(&temp(&touch.path, &self.record.id, number), &touch.path);
        }
        root.remove(&touch.path)?;
        for folder in edit.emptied.iter().rev() {
            root.remove_folder(folder);
        }
        Ok(())
    }

    /// Takes away what was staged and the folders that were made for it.
    pub(super) fn clear(&self) {
        for (number, touch) in self.record.files.iter().enumerate() {
            let root = &self.roots[&touch.root];
            // What cannot be removed now is met again by the next recovery.
            drop(root.remove(&temp(&touch.path, &self.record.id, number)));
            if !root.has(&touch.path) {
                for folder in touch.folders.iter().rev() {
                    root.remove_folder(folder);
                }
            }
        }
    }
}

/// The name of the temporary file beside `path`.
pub(super) fn temp(path: &str, id: &str, number: usize) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{slash}.tome-{id}-{number}.tmp")
}
