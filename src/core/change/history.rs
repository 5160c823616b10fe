//! The history: a journal of changes, every version of every file that they touched, and the
//! changes that were in progress when a process died.
//!
//! It is stored in tome's data directory: `journal.jsonl` has a line for each committed change;
//! `versions.bin` has the versions, found by their hashes; `pending/` has the intents of changes in
//! progress; `locks/` has the lock files of the stores and of the history itself; `review/` has what
//! waits for review.

mod health;
mod journal;
mod lock;
mod pending;
mod position;
mod prune;
mod record;
mod versions;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::core::disk::private;
use crate::core::{Error, Result};
use lock::LockPolicy;
use versions::VersionTable;

pub use health::{Damage, Health};
pub use lock::{Holder, Lock, Wait, WaitObserver};
pub use pending::Unfinished;
pub use prune::{PruneOptions, Pruned, RunMode};
pub use record::{
    Author, ChangeVerb, DeletedMemory, Direction, FileChange, Origin, Record, SERVER, Tombstone,
};
pub(in crate::core) use record::{INCOMING, is_incoming};

#[cfg(test)]
pub(in crate::core::change) use journal::tests::record as test_record;
pub(in crate::core) use position::FilePosition;

/// The history in tome's data directory. Clones share the table of its versions.
#[derive(Clone)]
pub struct History {
    dir: PathBuf,
    observer: Option<Observer>,
    locking: LockPolicy,
    versions: Arc<Mutex<VersionTable>>,
}

/// Called with the name of each step of a commit or of pruning; an error that it returns makes the
/// step fail.
pub type Observer = Arc<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl History {
    /// The history in `dir`, which is created by the first change.
    pub fn open(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            observer: None,
            locking: LockPolicy::default(),
            versions: Arc::default(),
        }
    }

    /// As [`History::open`], calling `observer` at every step.
    pub fn with_observer(dir: &Path, observer: Observer) -> Self {
        Self {
            observer: Some(observer),
            ..Self::open(dir)
        }
    }

    /// Tells the observer of a step.
    pub(in crate::core) fn step(&self, what: &str) -> io::Result<()> {
        self.observer
            .as_ref()
            .map_or(Ok(()), |observer| observer(what))
    }

    /// The directory of the history.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory of tome's drafts for the store at this root, which is beside the history. A
    /// change of the store may reach it.
    pub(in crate::core) fn drafts_of(&self, root: &Path) -> PathBuf {
        let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        self.dir.with_file_name("drafts").join(&name[..16])
    }

    /// Returns a folder of the history, and creates it if it is missing.
    pub(in crate::core) fn folder(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        // The folders are private because versions of private memories are stored in them.
        for path in [&self.dir, &dir] {
            private::create_dir(path).map_err(|e| Error::io(path, e))?;
        }
        Ok(dir)
    }
}
