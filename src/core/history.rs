//! What changes did: a journal of them, every version of every file they touched, and what
//! was in progress when a process died.
//!
//! All of it is in tome's own data directory:
//! `journal.jsonl`, a line for each change that was made; `blobs/`, the versions, each a plain file
//! named by its hash; `pending/`, the intents of changes that are under way; `locks/`, a
//! lock file for each store.

mod health;
mod journal;
mod lock;
mod pending;
mod record;
mod versions;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Error, Result};

pub use lock::Lock;
pub use pending::Unfinished;
pub use record::{Author, Direction, Record, Tombstone, Touch, Verb};

/// The history in tome's data directory.
#[derive(Clone)]
pub struct History {
    dir: PathBuf,
    observer: Option<Observer>,
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
        }
    }

    /// The same, telling `observer` of every step.
    pub fn observed(dir: &Path, observer: Observer) -> Self {
        Self {
            dir: dir.to_owned(),
            observer: Some(observer),
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
