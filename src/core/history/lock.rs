//! The locks of the stores: whoever changes a store holds its lock.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::History;
use crate::core::memory::Revision;
use crate::core::{Error, Result};

/// The locks of the stores that a change is about; dropped, they are free.
#[derive(Debug)]
pub struct Lock {
    _files: Vec<File>,
}

impl History {
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
}

pub(super) fn lock_file(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|e| Error::io(path, e))
}
