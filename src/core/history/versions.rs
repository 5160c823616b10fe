//! Every version of every file that a change touched, found by its revision.

use std::fs;
use std::path::PathBuf;

use super::{History, write_whole};
use crate::core::memory::Revision;
use crate::core::{Error, Result};

impl History {
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

    fn blob_path(&self, revision: &Revision) -> PathBuf {
        let name = revision.to_string();
        self.dir.join("blobs").join(&name[..2]).join(&name[2..])
    }
}
