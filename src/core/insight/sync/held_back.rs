//! What is held back until a person says otherwise: secrets, texts that read like orders, and
//! deletes of most of a store.

use std::collections::{BTreeSet, HashMap};

use super::repo::LARGEST_FILE;
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::revision::Revision;
use crate::core::insight::curate::held_text;
use crate::core::memory::store::Store;

/// A file that is held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// The id with which it is allowed.
    pub id: String,
    /// The file, by its reference.
    pub path: String,
    /// Why.
    pub why: String,
    /// Whether it is on the way out of this machine.
    pub is_outgoing: bool,
}

/// What of one store may pass.
pub(super) struct Border<'a> {
    pub(super) store: &'a Store,
    pub(super) key: &'a str,
    /// The ids that the person allowed before.
    pub(super) allowed: &'a BTreeSet<String>,
    /// What the person allows by this call.
    pub(super) named: &'a [String],
    /// Why contents may not pass, as far as they were looked at.
    pub(super) checked: HashMap<Revision, Option<&'static str>>,
    pub(super) held_back: Vec<HeldBack>,
}

impl Border<'_> {
    /// Looks for secrets and orders in many contents, on all cores.
    pub(super) fn check_ahead<T: AsRef<[u8]>>(
        &mut self,
        count: usize,
        content: impl Fn(usize) -> Option<T> + Sync,
    ) {
        let checked = on_all_cores(count, |at| {
            let content = content(at)?;
            let bytes = content.as_ref();
            Some((Revision::of(bytes), reason(bytes)))
        });
        self.checked.extend(checked.into_iter().flatten());
    }

    /// Whether a content may not pass.
    pub(super) fn stops(&mut self, path: &str, bytes: &[u8], is_outgoing: bool) -> bool {
        let known = self.checked.get(&Revision::of(bytes));
        let why = known.copied().unwrap_or_else(|| reason(bytes));
        why.is_some_and(|why| {
            let id = id_of(self.key, path, bytes);
            self.hold_back(id, path, why.to_owned(), is_outgoing)
        })
    }

    /// Whether so many deletes in a store of so many files may not pass: they are an accident until a
    /// person says otherwise.
    pub(super) fn stops_deletes(&mut self, count: usize, files: usize, is_outgoing: bool) -> bool {
        let whole = files.max(count);
        let is_many = count >= 5 && count * 2 > whole || count >= 2 && count == whole;
        let content = format!("{count} {is_outgoing}");
        let id = id_of(self.key, "deletes", content.as_bytes());
        let why = format!("{count} of {whole} files would be deleted");
        is_many && self.hold_back(id, "deletes", why, is_outgoing)
    }

    fn hold_back(&mut self, id: String, path: &str, why: String, is_outgoing: bool) -> bool {
        let path = self.store.rules().reference_of(path);
        let full = format!("{}:{path}", self.store.name());
        let is_named = |name: &String| *name == id || *name == path || *name == full;
        if self.allowed.contains(&id) || self.named.iter().any(is_named) {
            return false;
        }
        self.held_back.push(HeldBack {
            id,
            path,
            why,
            is_outgoing,
        });
        true
    }
}

/// Why a text is held back; `None` if it is not.
pub(super) fn reason(bytes: &[u8]) -> Option<&'static str> {
    if bytes.len() > LARGEST_FILE {
        return Some("it is larger than 1 MB, and others would leave it alone");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => held_text(text),
        Err(_) => Some("it is not text"),
    }
}

/// The id of a file that is held back. Another content has another one.
fn id_of(key: &str, path: &str, content: &[u8]) -> String {
    let whole = [
        key.as_bytes(),
        path.as_bytes(),
        Revision::of(content).as_bytes(),
    ]
    .join(&0);
    blake3::hash(&whole).to_hex()[..10].to_owned()
}
