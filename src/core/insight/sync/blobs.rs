//! What is read of the clone: the contents of blobs, and who sent a file.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::repo::{Repo, Told};
use super::state::KnownBlobs;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::Sent;

/// What is read of the clone for all stores.
pub(super) struct Blobs<'a> {
    pub(super) repo: &'a Repo<'a>,
    /// What blobs contain, as it was known.
    pub(super) known: &'a KnownBlobs,
    /// What blobs contain that were read or written since.
    pub(super) found: RefCell<HashMap<String, Revision>>,
    /// The contents of the blobs that were read.
    pub(super) bytes: RefCell<HashMap<String, Vec<u8>>>,
    /// Who sent a file of the repository.
    pub(super) sender: &'a dyn Fn(&str) -> (Sent, i64),
}

impl Blobs<'_> {
    /// What a blob contains; `None` if it is too large.
    pub(super) fn revision(&self, id: &str) -> Option<Revision> {
        let known = self.known.revisions.get(id).copied();
        known.or_else(|| self.found.borrow().get(id).copied())
    }

    /// Reads these blobs, in one call.
    pub(super) fn load<'b>(&self, ids: impl Iterator<Item = &'b String>) -> Told<()> {
        let missing: BTreeSet<&str> = ids
            .map(String::as_str)
            .filter(|id| !self.bytes.borrow().contains_key(*id))
            .collect();
        let missing: Vec<&str> = missing.into_iter().collect();
        let read = self.repo.contents(&missing)?;
        let revisions = read
            .iter()
            .map(|(id, bytes)| (id.clone(), Revision::of(bytes)));
        self.found.borrow_mut().extend(revisions);
        self.bytes.borrow_mut().extend(read);
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
