//! What changes did: a journal of them, every version of every file they touched, and what
//! was in progress when a process died.
//!
//! All of it is in tome's own data directory:
//! `journal.jsonl`, a line for each change that was made; `blobs/`, the versions, each a plain file
//! named by its hash; `pending/`, the intents of changes that are under way; `locks/`, a
//! lock file for each store.

mod health;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::{Author, Direction, Edit, Verb, recover};
use super::layout::Layout;
use super::memory::Revision;
use super::sandbox::missing_newline;
use super::{Error, Result};

/// One change that was made, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// A ULID: it sorts by time.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// By whom and through which door.
    #[serde(flatten)]
    pub author: Author,
    /// What kind of change.
    pub verb: Verb,
    /// What was told when it was done.
    pub message: String,
    /// The change that this one took back or repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The files.
    pub files: Vec<Touch>,
    /// What was deleted, so that it is known again if it comes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tombstones: Vec<Tombstone>,
}

impl Record {
    /// Whether the change touched any of these roots.
    pub fn touches(&self, roots: &[&Path]) -> bool {
        self.files
            .iter()
            .any(|file| roots.contains(&file.root.as_path()))
    }
}

/// What a change did to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// The store's root.
    pub root: PathBuf,
    /// The store's layout.
    pub layout: Layout,
    /// The file below the root.
    pub path: String,
    /// The version before; `None` when there was no file.
    pub before: Option<Revision>,
    /// The version after; `None` when the file was removed.
    pub after: Option<Revision>,
    /// Whether the file followed from others, as an index does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// Folders that were made for it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Unix mode bits of the file that was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
}

impl Touch {
    /// The reference of the file inside its store.
    pub fn reference(&self) -> String {
        self.layout.rules().refer(&self.path)
    }
}

/// What is remembered of a deleted memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The reference it had.
    pub path: String,
    /// Its title.
    pub name: String,
    /// The version that was deleted.
    pub revision: Revision,
    /// The words that tell it apart, most frequent first.
    pub words: Vec<String>,
}

/// The history in tome's data directory.
#[derive(Clone)]
pub struct History {
    dir: PathBuf,
    observer: Option<Observer>,
}

/// Told of each step of a commit before the next one is taken.
pub type Observer = Arc<dyn Fn(&str) + Send + Sync>;

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

/// The locks of the stores that a change is about; dropped, they are free.
#[derive(Debug)]
pub struct Lock {
    _files: Vec<File>,
}

impl History {
    /// The history in `dir`, which is made at the first change.
    pub fn open(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            observer: None,
        }
    }

    /// The same, telling `observer` of every step.
    pub fn observed(dir: &Path, observer: Observer) -> Self {
        Self {
            dir: dir.to_owned(),
            observer: Some(observer),
        }
    }

    pub(in crate::core) fn step(&self, what: &str) {
        if let Some(observer) = &self.observer {
            observer(what);
        }
    }

    /// Waits for the locks of the stores at `roots`.
    pub fn lock(&self, roots: &[&Path]) -> Result<Lock> {
        let mut files = Vec::new();
        for path in self.lock_paths(roots)? {
            let file = lock_file(&path)?;
            file.lock().map_err(|e| Error::io(&path, e))?;
            files.push(file);
        }
        Ok(Lock { _files: files })
    }

    /// The locks of the stores at `roots`, or `None` when somebody holds one of them.
    pub fn try_lock(&self, roots: &[&Path]) -> Result<Option<Lock>> {
        let mut files = Vec::new();
        for path in self.lock_paths(roots)? {
            let file = lock_file(&path)?;
            match file.try_lock() {
                Ok(()) => files.push(file),
                Err(fs::TryLockError::WouldBlock) => return Ok(None),
                Err(fs::TryLockError::Error(e)) => return Err(Error::io(&path, e)),
            }
        }
        Ok(Some(Lock { _files: files }))
    }

    /// The lock files, in the one order in which everybody takes them.
    fn lock_paths(&self, roots: &[&Path]) -> Result<Vec<PathBuf>> {
        let dir = self.folder("locks")?;
        let mut paths: Vec<PathBuf> = roots
            .iter()
            .map(|root| dir.join(Revision::of(root.as_os_str().as_encoded_bytes()).to_string()))
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    fn folder(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            // The versions of a private memory are as private as the memory.
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(&dir).map_err(|e| Error::io(&dir, e))?;
        Ok(dir)
    }

    /// Finishes or takes back what a process left behind that died while changing one of the
    /// stores at `roots`. Stores that somebody is changing right now are left to them.
    pub fn settle(&self, roots: &[&Path]) -> Result<()> {
        for record in self.pending(roots) {
            let roots: Vec<&Path> = record
                .files
                .iter()
                .map(|file| file.root.as_path())
                .collect();
            if let Some(_lock) = self.try_lock(&roots)? {
                // Whoever held the lock a moment ago may have finished it.
                if self.pending_path(&record.id).exists() {
                    recover(self, &record)?;
                }
            }
        }
        Ok(())
    }

    /// As [`History::settle`], for a caller that holds the locks of `roots` already.
    pub(in crate::core) fn settle_locked(&self, roots: &[&Path]) -> Result<()> {
        for record in self.pending(roots) {
            let others: Vec<&Path> = record
                .files
                .iter()
                .map(|file| file.root.as_path())
                .filter(|root| !roots.contains(root))
                .collect();
            if let Some(_lock) = self.try_lock(&others)? {
                recover(self, &record)?;
            }
        }
        Ok(())
    }

    /// The changes that were begun on `roots` and not finished, oldest first.
    fn pending(&self, roots: &[&Path]) -> Vec<Record> {
        let mut found = self.intents();
        found.retain(|record| record.touches(roots));
        found
    }

    /// The changes that were begun and not finished, oldest first.
    fn intents(&self) -> Vec<Record> {
        let Ok(entries) = fs::read_dir(self.dir.join("pending")) else {
            return Vec::new();
        };
        let mut found: Vec<Record> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|e| e == "json"))
            // An intent is put in place whole; what cannot be read was taken away just now.
            .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    fn pending_path(&self, id: &str) -> PathBuf {
        self.dir.join("pending").join(format!("{id}.json"))
    }

    /// Writes down what is about to be done, flushed.
    pub(in crate::core) fn intend(&self, record: &Record) -> Result<()> {
        let dir = self.folder("pending")?;
        let bytes = encoded(record, &self.pending_path(&record.id))?;
        write_whole(&dir, &format!("{}.json", record.id), &bytes)
    }

    /// Forgets an intent: it was carried out or taken back.
    pub(in crate::core) fn forget(&self, id: &str) -> Result<()> {
        let path = self.pending_path(id);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(&path, e)),
            _ => Ok(()),
        }
    }

    /// Adds a change to the journal, flushed.
    pub(in crate::core) fn record(&self, record: &Record) -> Result<()> {
        let path = self.journal_path();
        let lock = lock_file(&self.folder("locks")?.join("journal"))?;
        lock.lock().map_err(|e| Error::io(&path, e))?;
        let mut line = encoded(record, &path)?;
        line.push(b'\n');
        let written = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| {
                // A line that a dying machine broke off must not swallow this one.
                let end = missing_newline(&mut file)?;
                file.write_all(end.as_bytes())?;
                file.write_all(&line)?;
                file.sync_all()
            });
        written.map_err(|e| Error::io(&path, e))
    }

    fn journal_path(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    /// Every change, oldest first; lines that cannot be read are passed over.
    pub fn records(&self) -> Result<Vec<Record>> {
        let path = self.journal_path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io(&path, e)),
        };
        let mut records = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|e| Error::io(&path, e))?;
            records.extend(serde_json::from_slice::<Record>(&line).ok());
        }
        Ok(records)
    }

    /// The directory it is in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The change with this id, or with the only id that starts or ends with it.
    pub fn find(&self, id: &str) -> Result<Record> {
        let wanted = id.to_ascii_uppercase();
        let mut found: Vec<Record> = self
            .records()?
            .into_iter()
            .filter(|r| r.id.starts_with(&wanted) || r.id.ends_with(&wanted))
            .collect();
        match (found.pop(), found.is_empty()) {
            (Some(record), true) if wanted.len() >= 4 => Ok(record),
            (Some(_), _) => Err(Error::refused(
                id,
                "more than one change could be meant; give more of its id",
            )),
            (None, _) => Err(Error::not_found(format!("change {id}"))),
        }
    }

    /// What taking `record` back means: of an undo, making its change again.
    pub fn reversal(&self, record: Record) -> Result<(Record, Direction)> {
        let (mut record, mut way) = (record, Direction::Back);
        while let (Verb::Undo | Verb::Redo, Some(of)) = (record.verb, record.of.clone()) {
            if record.verb == Verb::Undo {
                way = way.opposite();
            }
            record = self.find(&of)?;
        }
        Ok((record, way))
    }

    /// The last change of `roots` that was not taken back.
    pub fn undoable(&self, roots: &[&Path]) -> Result<Option<Record>> {
        Ok(self.stacks(roots)?.0.pop())
    }

    /// The last change of `roots` that was taken back, unless others were made since.
    pub fn redoable(&self, roots: &[&Path]) -> Result<Option<Record>> {
        Ok(self.stacks(roots)?.1.pop())
    }

    /// The changes of `roots` that stand, and those that were taken back.
    fn stacks(&self, roots: &[&Path]) -> Result<(Vec<Record>, Vec<Record>)> {
        let (mut done, mut undone): (Vec<Record>, Vec<Record>) = (Vec::new(), Vec::new());
        let take = |list: &mut Vec<Record>, id: Option<&str>| {
            let at = list
                .iter()
                .position(|record| Some(record.id.as_str()) == id)?;
            Some(list.remove(at))
        };
        let all = self.records()?;
        for record in all.iter().filter(|record| record.touches(roots)) {
            let of = record.of.as_deref();
            match record.verb {
                Verb::Undo => undone.extend(take(&mut done, of)),
                Verb::Redo => {
                    // It may have been taken back before other changes were made.
                    drop(take(&mut undone, of));
                    let original = all.iter().find(|record| Some(record.id.as_str()) == of);
                    if done.iter().all(|record| Some(record.id.as_str()) != of) {
                        done.extend(original.cloned());
                    }
                }
                _ => {
                    undone.clear();
                    done.push(record.clone());
                }
            }
        }
        Ok((done, undone))
    }

    /// Keeps a version of a file, flushed; one that is kept already costs nothing.
    pub(in crate::core) fn keep(&self, bytes: &[u8]) -> Result<Revision> {
        let revision = Revision::of(bytes);
        let path = self.blob_path(&revision);
        if !path.exists() {
            let name = revision.to_string();
            let dir = self.folder(&format!("blobs/{}", &name[..2]))?;
            write_whole(&dir, &name[2..], bytes)?;
        }
        Ok(revision)
    }

    /// A version of a file.
    pub fn version(&self, revision: &Revision) -> Result<Vec<u8>> {
        let path = self.blob_path(revision);
        fs::read(&path).map_err(|e| Error::io(&path, e))
    }

    /// What a recorded change did, file by file.
    pub fn edits(&self, record: &Record) -> Result<Vec<Edit>> {
        let version = |revision: Option<Revision>| {
            revision.map(|revision| self.version(&revision)).transpose()
        };
        let edit = |touch: &Touch| {
            Ok(Edit {
                root: touch.root.clone(),
                layout: touch.layout,
                path: touch.path.clone(),
                before: version(touch.before)?,
                after: version(touch.after)?,
                derived: touch.derived,
                emptied: Vec::new(),
                mode: touch.mode,
            })
        };
        record.files.iter().map(edit).collect()
    }

    fn blob_path(&self, revision: &Revision) -> PathBuf {
        let name = revision.to_string();
        self.dir.join("blobs").join(&name[..2]).join(&name[2..])
    }
}

fn lock_file(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|e| Error::io(path, e))
}

fn encoded(record: &Record, path: &Path) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|e| Error::io(path, e.into()))
}

/// Writes a file so that it is there whole or not at all, flushed.
pub(in crate::core) fn write_whole(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = dir.join(name);
    let temp = dir.join(format!("{name}.{}", std::process::id()));
    let written = File::create(&temp)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temp, &path))
        .and_then(|()| File::open(dir)?.sync_all());
    written.map_err(|e| {
        // Half a temporary file is of no use; the error that matters is `e`.
        drop(fs::remove_file(&temp));
        Error::io(&path, e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, verb: Verb, of: Option<&str>) -> Record {
        Record {
            id: id.to_owned(),
            time: 0,
            author: Author {
                who: "you".to_owned(),
                door: "test".to_owned(),
            },
            verb,
            message: String::new(),
            of: of.map(str::to_owned),
            files: vec![Touch {
                root: PathBuf::from("/r"),
                layout: Layout::Index,
                path: "a.md".to_owned(),
                before: None,
                after: None,
                derived: false,
                folders: Vec::new(),
                mode: None,
                added: 0,
                removed: 0,
            }],
            tombstones: Vec::new(),
        }
    }

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
        let steps: &[(&str, Verb, Option<&str>, &str, &str)] = &[
            ("AAA1", Verb::Write, None, "AAA1", ""),
            ("BBB1", Verb::Patch, None, "BBB1", ""),
            ("CCC1", Verb::Undo, Some("BBB1"), "AAA1", "BBB1"),
            ("DDD1", Verb::Undo, Some("AAA1"), "", "AAA1"),
            ("EEE1", Verb::Redo, Some("AAA1"), "AAA1", "BBB1"),
            ("FFF1", Verb::Write, None, "FFF1", ""),
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
    fn a_broken_line_hides_itself_alone() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        history
            .record(&record("AAA1", Verb::Write, None))
            .expect("records");
        let journal = temp.path().join("journal.jsonl");
        let mut bytes = fs::read(&journal).expect("reads");
        bytes.extend(b"{\"id\":\"torn");
        fs::write(&journal, bytes).expect("writes");
        history
            .record(&record("BBB1", Verb::Write, None))
            .expect("records");
        let ids: Vec<String> = history
            .records()
            .expect("reads")
            .into_iter()
            .map(|r| r.id)
            .collect();
        assert_eq!(ids, ["AAA1", "BBB1"]);
    }

    #[test]
    fn a_change_is_found_by_part_of_its_id() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        for id in ["01AAAA", "01BBBB"] {
            history
                .record(&record(id, Verb::Write, None))
                .expect("records");
        }
        assert_eq!(history.find("aaaa").expect("found").id, "01AAAA");
        assert!(matches!(history.find("01"), Err(Error::Refused { .. })));
        assert!(matches!(history.find("zzzz"), Err(Error::NotFound { .. })));
    }
}
