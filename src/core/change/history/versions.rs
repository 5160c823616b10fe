//! Every version of every file that a change touched, found by its revision.
//!
//! Versions are stored compressed in packs, most of them as a difference from the previous one.
//! Old histories store each version as a plain file in `blobs/`; those are read as well.

mod chain;
mod delta;
mod pack;
mod packs;

use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

pub(super) use chain::{encode, place_after};
pub(super) use pack::{Header, Key, MAGIC, key};
pub(super) use packs::Packs;

use super::History;
use crate::core::disk::foreign::{LARGEST_WHOLE, read_capped};
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};
use packs::Lookup;

impl History {
    /// Stores a version of a file and flushes it, unless it is already stored.
    pub(in crate::core) fn keep(&self, bytes: &[u8]) -> Result<Revision> {
        self.keep_after(bytes, None)
    }

    /// Stores a version of a file as a difference from `base`, an earlier version, and flushes it.
    pub(in crate::core) fn keep_after(
        &self,
        bytes: &[u8],
        base: Option<&Revision>,
    ) -> Result<Revision> {
        self.keep_all(&[(bytes, base)])?;
        Ok(Revision::of(bytes))
    }

    /// Stores versions, each with the previous version if known, and flushes them together. A
    /// previous version may be part of the same call.
    ///
    /// A version that is already stored is read back. If that does not return the same bytes, it is
    /// stored again, which also repairs the versions that depend on it.
    pub(in crate::core) fn keep_all(
        &self,
        versions: &[(&[u8], Option<&Revision>)],
    ) -> Result<Vec<Revision>> {
        self.check_schema()?;
        let _lock = self.lock_own("versions")?;
        let mut packs = self.packs();
        packs.refresh(&self.dir)?;
        let mut kept = Vec::with_capacity(versions.len());
        for (bytes, base) in versions {
            let revision = Revision::of(bytes);
            self.prepare(&mut packs, (bytes, revision), *base)?;
            packs.set_recent(revision, bytes);
            kept.push(revision);
        }
        packs.append(&self.dir)?;
        Ok(kept)
    }

    /// Encodes a version to be added, unless it is stored and sound.
    fn prepare(
        &self,
        packs: &mut Packs,
        (bytes, revision): (&[u8], Revision),
        base: Option<&Revision>,
    ) -> Result<()> {
        if packs.is_pending(&revision) {
            return Ok(());
        }
        let base = match packs.read(&revision) {
            Lookup::Bytes(_) => return Ok(()),
            Lookup::Absent if self.blob(&revision).is_ok_and(|blob| blob.is_some()) => {
                return Ok(());
            }
            Lookup::Absent => base.copied().or_else(|| packs.resembling(bytes)),
            // A repaired version is stored whole, because its old base may depend on it.
            Lookup::Damaged(_) => None,
        };
        let prepared = packs.prepare(bytes, base.as_ref());
        prepared.map_err(|e| Error::io(self.dir.join(packs::FOLDER), e))
    }

    /// A version of a file, checked against its hash.
    pub fn version(&self, revision: &Revision) -> Result<Vec<u8>> {
        let mut packs = self.packs();
        packs.refresh(&self.dir)?;
        let mut found = packs.read(revision);
        if matches!(found, Lookup::Damaged(_)) {
            // Another process may have replaced the packs since they were read.
            packs.forget();
            packs.refresh(&self.dir)?;
            found = packs.read(revision);
        }
        let damaged = match found {
            Lookup::Bytes(bytes) => return Ok(bytes),
            Lookup::Absent => None,
            Lookup::Damaged(path) => Some(path),
        };
        match (self.blob(revision), damaged) {
            (Ok(Some(bytes)), _) => Ok(bytes),
            (_, Some(path)) => Err(damage(path, revision, "is damaged")),
            (Err(e), None) => Err(e),
            (Ok(None), None) => {
                let folder = self.dir.join(packs::FOLDER);
                Err(damage(folder, revision, "is missing"))
            }
        }
    }

    pub(super) fn packs(&self) -> MutexGuard<'_, Packs> {
        // The packs are only a cache of the files, so a poisoned lock is safe to use.
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A version stored as a plain file; `None` if there is none.
    pub(super) fn blob(&self, revision: &Revision) -> Result<Option<Vec<u8>>> {
        let path = self.blob_path(revision);
        match read_capped(&path, LARGEST_WHOLE) {
            Ok(bytes) if Revision::of(&bytes) == *revision => Ok(Some(bytes)),
            Ok(_) => Err(damage(path, revision, "is damaged")),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn blob_path(&self, revision: &Revision) -> PathBuf {
        let name = revision.to_string();
        self.dir.join("blobs").join(&name[..2]).join(&name[2..])
    }

    pub(super) fn pack_folder(&self) -> PathBuf {
        self.dir.join(packs::FOLDER)
    }
}

/// The path of a pack in the folder of packs.
pub(super) fn pack_path(folder: &Path, number: u32) -> PathBuf {
    packs::pack_path(folder, number)
}

fn damage(path: PathBuf, revision: &Revision, state: &'static str) -> Error {
    Error::Damaged {
        path,
        revision: *revision,
        state,
    }
}

#[cfg(test)]
mod tests;
