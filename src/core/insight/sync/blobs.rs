//! What is read of the clone: the contents of blobs, and who sent a file.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use super::repo::{MOST_CONTENT, Repo, Told};
use super::state::{CheckedContents, KnownBlobs};
use super::tree::SharedStore;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::Sent;
use crate::core::text::display::visible_line;

/// What is read of the clone for all stores.
pub(super) struct Blobs<'a> {
    pub(super) repo: &'a Repo<'a>,
    /// What blobs contain, as it was known.
    pub(super) known: &'a KnownBlobs,
    /// What blobs contain that were read or written since.
    pub(super) found: RefCell<HashMap<String, Revision>>,
    /// The contents of the blobs that were read.
    pub(super) bytes: RefCell<HashMap<String, Vec<u8>>>,
    /// Why contents are held back, as far as it is known.
    pub(super) checked: RefCell<CheckedContents>,
    /// Whether the last error is about the size of one store.
    pub(super) is_too_much: Cell<bool>,
    /// Who sent a file of the repository.
    pub(super) sender: &'a dyn Fn(&str) -> (Sent, i64),
}

impl Blobs<'_> {
    /// What a blob contains; `None` if it is too large.
    pub(super) fn revision(&self, id: &str) -> Option<Revision> {
        let known = self.known.revisions.get(id).copied();
        known.or_else(|| self.found.borrow().get(id).copied())
    }

    /// Reads these blobs at once.
    pub(super) fn load<'b>(&self, ids: impl Iterator<Item = &'b String>) -> Told<()> {
        let missing: BTreeSet<&str> = ids
            .map(String::as_str)
            .filter(|id| !self.bytes.borrow().contains_key(*id))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = missing.into_iter().collect();
        let (small, size) = self.repo.small_ones(&missing)?;
        if size > MOST_CONTENT {
            self.is_too_much.set(true);
            let most = MOST_CONTENT >> 20;
            return Err(format!("left alone: more than {most} MB of it are new"));
        }
        let read = self.repo.contents(&small)?;
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

    /// What a store is, in the words of the machine that shared it first, if they were read.
    pub(super) fn about(&self, store: &SharedStore) -> Option<String> {
        const LONGEST: usize = 160;
        let bytes = self.bytes.borrow();
        let text = String::from_utf8_lossy(bytes.get(store.about.as_ref()?)?);
        let short: String = text.lines().next()?.trim().chars().take(LONGEST).collect();
        Some(visible_line(&short)).filter(|line| !line.is_empty())
    }

    pub(super) fn text(&self, id: &str) -> Told<String> {
        let bytes = self.read(id)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
