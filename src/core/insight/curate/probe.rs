//! The files of a project that the rules looked at, with their state: findings hold as long as
//! it is the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// The size and the time of a file; a folder has the size 0 and no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    size: u64,
    /// Nanoseconds since 1970.
    modified: u64,
}

impl Stamp {
    /// The state of a file; `None` if it does not exist.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        if found.is_dir() {
            return Some(Self {
                size: 0,
                modified: 0,
            });
        }
        let modified = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            size: found.len(),
            modified: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
        })
    }

    /// When the file was last changed, in milliseconds since 1970.
    pub(super) fn time(self) -> i64 {
        i64::try_from(self.modified / 1_000_000).unwrap_or(i64::MAX)
    }
}

/// What was looked at.
#[derive(Debug, Default)]
pub(super) struct Probes(Mutex<BTreeMap<PathBuf, Option<Stamp>>>);

impl Probes {
    /// Whether a file or folder exists.
    pub(super) fn exists(&self, path: &Path) -> bool {
        if let Some(stamp) = self.known().get(path) {
            return stamp.is_some();
        }
        let stamp = Stamp::of(path);
        self.known().insert(path.to_owned(), stamp);
        stamp.is_some()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<Stamp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was looked at.
    pub(super) fn all(&self) -> BTreeMap<PathBuf, Option<Stamp>> {
        self.known().clone()
    }
}
