//! What is read of the clone: the contents of blobs, and who sent a file.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

use super::repo::{Authored, MOST_CONTENT, Repo, Told};
use super::state::KnownBlobs;
use super::tree::SharedStore;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::Sent;
use crate::core::text::display::visible_line;
use crate::core::text::time::Moment;

/// What is read of the clone for all stores.
pub(super) struct Blobs<'a> {
    repo: &'a Repo<'a>,
    /// What blobs contain, as it was known.
    known: &'a KnownBlobs,
    /// What blobs contain that were read or written since.
    pub(super) found: RefCell<HashMap<String, Revision>>,
    /// The contents of the blobs that were read.
    pub(super) bytes: RefCell<HashMap<String, Vec<u8>>>,
    /// Whether the last error is about the size of one store.
    pub(super) is_too_much: Cell<bool>,
    pub(super) senders: Senders<'a>,
}

impl<'a> Blobs<'a> {
    pub(super) fn of(repo: &'a Repo<'a>, known: &'a KnownBlobs, senders: Senders<'a>) -> Self {
        Self {
            repo,
            known,
            found: RefCell::default(),
            bytes: RefCell::default(),
            is_too_much: Cell::default(),
            senders,
        }
    }

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

/// Who sent the files of the repository.
pub(super) struct Senders<'a> {
    pub(super) repo: &'a Repo<'a>,
    /// The last commit of the remote.
    pub(super) tip: &'a str,
    pub(super) now: &'a Moment,
    /// What was found, once somebody asked.
    pub(super) found: OnceCell<HashMap<String, Authored>>,
}

impl Senders<'_> {
    /// Who sent a file, and when, in milliseconds since 1970.
    pub(super) fn of(&self, path: &str) -> (Sent, i64) {
        let found = self.found.get_or_init(|| self.repo.authors(self.tip));
        let found = found.get(path).cloned().unwrap_or_else(|| Authored {
            machine: "another machine".to_owned(),
            commit: self.tip.to_owned(),
            time: self.now.time.as_millisecond(),
        });
        let sent = Sent {
            machine: found.machine,
            commit: found.commit,
            is_conflict: false,
        };
        (sent, found.time)
    }
}
