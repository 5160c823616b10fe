//! What is read of the clone: the contents of blobs, and who sent a file.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::repo::{Repo, Told};
use crate::core::disk::revision::Revision;
use crate::core::insight::review::Sent;

/// What is read of the clone for all stores.
pub(super) struct Blobs<'a> {
    pub(super) repo: &'a Repo<'a>,
    /// What the blobs contain, as far as it is known.
    pub(super) revisions: HashMap<String, Revision>,
    /// The contents of the blobs that were read.
    pub(super) bytes: RefCell<HashMap<String, Vec<u8>>>,
    /// Who sent a file of the repository.
    pub(super) sender: &'a dyn Fn(&str) -> (Sent, i64),
}

impl Blobs<'_> {
    /// Reads these blobs, in one call.
    pub(super) fn load<'b>(&self, ids: impl Iterator<Item = &'b String>) -> Told<()> {
        let missing: BTreeSet<&str> = ids
            .map(String::as_str)
            .filter(|id| !self.bytes.borrow().contains_key(*id))
            .collect();
        let missing: Vec<&str> = missing.into_iter().collect();
        let found = self.repo.contents(&missing)?;
        self.bytes.borrow_mut().extend(found);
        Ok(())
    }

    /// The content of a blob.
    pub(super) fn read(&self, id: &str) -> Told<Vec<u8>> {
        self.load(std::iter::once(&id.to_owned()))?;
        let bytes = self.bytes.borrow().get(id).cloned();
        bytes.ok_or_else(|| "a blob is too large".to_owned())
    }

    pub(super) fn text(&self, id: &str) -> Told<String> {
        let bytes = self.read(id)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
