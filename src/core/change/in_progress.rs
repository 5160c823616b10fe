//! A change that is being written to the disk: the names of its temporary files, and the steps that
//! committing and rolling back share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Author, ChangeVerb};
use crate::core::change::history::{FileChange, History, Record};
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::{Attributes, Root};
use crate::core::{Error, Result};

/// A change that is being committed.
pub(super) struct CommitInProgress<'a> {
    pub(super) history: &'a History,
    pub(super) record: Record,
    pub(super) roots: &'a HashMap<PathBuf, Root>,
}

/// Opens each directory once.
pub(super) fn open_roots(roots: &[&Path]) -> Result<HashMap<PathBuf, Root>> {
    let mut opened = HashMap::new();
    for root in roots {
        if !opened.contains_key(*root) {
            opened.insert((*root).to_owned(), Root::open(root)?.holding());
        }
    }
    Ok(opened)
}

impl CommitInProgress<'_> {
    /// Runs a step on a file of the change; the observer is called before and after it.
    pub(super) fn to_file<T>(
        &self,
        file_change: &FileChange,
        what: &str,
        act: impl FnOnce(&Root) -> Result<T>,
    ) -> Result<T> {
        let root = &self.roots[&file_change.root];
        let step = |what: &str| {
            let done = self.history.step(what);
            done.map_err(|e| Error::io(root.absolute(&file_change.path), e))
        };
        step(&format!("{what} {}", file_change.path))?;
        let done = act(root)?;
        step(&format!("{what} {}: done", file_change.path))?;
        Ok(done)
    }

    /// Runs a step on the history; the observer is called before and after it.
    pub(super) fn in_history<T>(&self, what: &str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let step = |what: &str| {
            let done = self.history.step(what);
            done.map_err(|e| Error::io(self.history.dir(), e))
        };
        step(what)?;
        let done = act()?;
        step(&format!("{what}: done"))?;
        Ok(done)
    }

    /// The name of the temporary file beside file `number`. It depends only on the change's id and
    /// the file's path.
    pub(super) fn temp(&self, number: usize) -> String {
        let path = &self.record.files[number].path;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let slash = if folder.is_empty() { "" } else { "/" };
        let mark = Revision::of(path.as_bytes()).to_string();
        format!("{folder}{slash}.tome-{}-{}.tmp", self.record.id, &mark[..8])
    }

    pub(super) fn stage(&self, number: usize, bytes: &[u8], attributes: &Attributes) -> Result<()> {
        let file_change = &self.record.files[number];
        let temp = self.temp(number);
        self.to_file(file_change, "stage", |root| {
            root.make_folders(&file_change.path)?;
            root.stage(&temp, bytes, attributes)
                .map_err(|error| match error {
                    // Report the file, not its temporary name.
                    Error::Io { source, .. } => Error::io(root.absolute(&file_change.path), source),
                    other => other,
                })
        })
    }

    /// Flushes the temporary files of these files.
    pub(super) fn flush_staged(&self, numbers: impl Iterator<Item = usize>) -> Result<()> {
        let mut staged: HashMap<&Path, Vec<String>> = HashMap::new();
        for number in numbers {
            let of_root = staged.entry(&self.record.files[number].root);
            of_root.or_default().push(self.temp(number));
        }
        self.in_history("sync the new files", || {
            let mut staged = staged.iter();
            staged.try_for_each(|(root, temps)| self.roots[*root].flush_files(temps))
        })
    }

    /// Whether the journal contains the change.
    pub(super) fn is_recorded(&self) -> bool {
        let records = self.history.records();
        records.is_ok_and(|records| {
            records
                .iter()
                .any(|committed| committed.id == self.record.id)
        })
    }

    /// Whether bytes under a file's temporary name were written by another program.
    pub(super) fn is_foreign(&self, file_change: &FileChange, bytes: &[u8]) -> bool {
        let revision = Some(Revision::of(bytes));
        if revision == file_change.before || revision == file_change.after {
            return false;
        }
        // A process that died while staging leaves a prefix of the new text.
        let staged = file_change
            .after
            .and_then(|after| self.history.version(&after).ok());
        !staged.is_some_and(|staged| staged.starts_with(bytes))
    }

    /// A new id with the time of this change.
    pub(super) fn new_id(&self) -> String {
        let time = u64::try_from(self.record.time).unwrap_or_default();
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(time);
        ulid::Ulid::from_datetime(time).to_string()
    }

    /// The record of another program's write to a file between the plan and the commit.
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
            origin: None,
            tombstones: Vec::new(),
        }
    }

    /// Removes the temporary files of a committed change. Failures are ignored: the next process
    /// that opens the store tries again.
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
}
