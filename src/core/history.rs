//! What changes did: a journal of them, every version of every file they touched, and what
//! was in progress when a process died.
//!
//! All of it is in tome's own data directory:
//! `journal.jsonl`, a line for each change that was made; `versions/`, the versions in packs, found
//! by their hashes; `pending/`, the intents of changes that are under way; `locks/`, a
//! lock file for each store. The first tome kept each version as a plain file in `blobs/`.

mod health;
mod journal;
mod lock;
mod pending;
mod prune;
mod record;
mod versions;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Error, Result, private};
use lock::LockPolicy;
use versions::Packs;

pub use health::{Damage, Health};
pub use lock::{Holder, Lock, Wait, WaitObserver};
pub use pending::Unfinished;
pub use prune::{PruneOptions, Pruned, RunMode};
pub use record::{Author, ChangeVerb, Direction, FileChange, PrunedTombstone, Record, Tombstone};

pub(in crate::core) use super::private::write_whole;

/// The history in tome's data directory. Clones share what they know of it.
#[derive(Clone)]
pub struct History {
    dir: PathBuf,
    observer: Option<Observer>,
    patience: LockPolicy,
    packs: Arc<Mutex<Packs>>,
}

/// Hears of each step of a commit before the next one is taken; its error makes the step fail.
pub type Observer = Arc<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl History {
    /// The history in `dir`, which is made at the first change.
    pub fn open(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            observer: None,
            patience: LockPolicy::default(),
            packs: Arc::default(),
        }
    }

    /// The same, telling `observer` of every step.
    pub fn with_observer(dir: &Path, observer: Observer) -> Self {
        Self {
            observer: Some(observer),
            ..Self::open(dir)
        }
    }

    pub(in crate::core) fn step(&self, what: &str) -> io::Result<()> {
        self.observer
            .as_ref()
            .map_or(Ok(()), |observer| observer(what))
    }

    /// The directory it is in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A folder of the history, which is made where it is missing.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        // The versions of a private memory are as private as the memory.
        for path in [&self.dir, &dir] {
            private::create_dir(path).map_err(|e| Error::io(path, e))?;
        }
        Ok(dir)
    }
}
