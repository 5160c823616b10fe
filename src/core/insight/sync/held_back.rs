//! What is held back until a person says otherwise: secrets, texts that read like orders, and
//! deletes of most of a store.

use std::collections::BTreeSet;

use super::Motion;
use super::plan::{Step, StoreSides};
use super::repo::LARGEST_FILE;
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::revision::Revision;
use crate::core::insight::curate::held_text;

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

impl StoreSides<'_> {
    /// Looks for secrets and orders in everything that may be sent or taken in, on all cores.
    pub(super) fn check_ahead(&mut self, open: &BTreeSet<String>) {
        let root = self.here.store.root();
        let is_new = |(path, revision): &(&String, &Revision)| {
            let id = self.base.files.get(*path);
            id.and_then(|id| self.blobs.revision(id)).as_ref() != Some(*revision)
        };
        let own = open
            .iter()
            .filter_map(|path| Some((path, self.files.get(path)?)));
        let is_known =
            |revision: &Revision| self.blobs.checked.borrow_mut().why(revision).is_some();
        let own: Vec<(&String, &Revision)> = own
            .filter(is_new)
            .filter(|(_, revision)| !is_known(revision))
            .collect();
        let own = on_all_cores(own.len(), |at| {
            let (path, revision) = own[at];
            let bytes = root.read(path).ok()??;
            (Revision::of(&bytes) == *revision).then(|| (*revision, reason(&bytes)))
        });
        let read = self.blobs.bytes.borrow();
        let theirs = open.iter().filter_map(|path| self.there.files.get(path));
        let theirs = theirs.filter_map(|id| Some((self.blobs.revision(id)?, read.get(id)?)));
        let theirs: Vec<(Revision, &Vec<u8>)> =
            theirs.filter(|(revision, _)| !is_known(revision)).collect();
        let theirs = on_all_cores(theirs.len(), |at| (theirs[at].0, reason(theirs[at].1)));
        let mut checked = self.blobs.checked.borrow_mut();
        for (revision, why) in own.into_iter().flatten().chain(theirs) {
            checked.note(revision, why);
        }
    }

    /// Whether a content may not pass.
    pub(super) fn is_held_back(&mut self, path: &str, bytes: &[u8], is_outgoing: bool) -> bool {
        let mut checked = self.blobs.checked.borrow_mut();
        let content = Revision::of(bytes);
        let why = checked.why(&content).unwrap_or_else(|| {
            let why = reason(bytes);
            checked.note(content, why);
            why.map(str::to_owned)
        });
        drop(checked);
        let id = || id_of(&self.key.key, path, bytes);
        why.is_some_and(|why| self.hold_back(id(), path, why, is_outgoing))
    }

    fn hold_back(&mut self, id: String, path: &str, why: String, is_outgoing: bool) -> bool {
        let path = self.here.store.rules().reference_of(path);
        let full = format!("{}:{path}", self.here.store.name());
        let is_allowed = |id: &String| self.state.allowed.contains(id);
        let is_named = self
            .allow
            .iter()
            .any(|name| *name == id || *name == path || *name == full);
        if is_allowed(&id) || is_named {
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

    /// Deletes of most of a store are an accident until a person says otherwise.
    pub(super) fn hold_deletes_back(&mut self, steps: &mut Vec<Step>) {
        for (motion, is_outgoing) in [(Motion::SentDelete, true), (Motion::ReceivedDelete, false)] {
            let count = steps
                .iter()
                .filter(|step| step.motion == Some(motion))
                .count();
            let whole = self.base.files.len().max(count);
            let is_many = count >= 5 && count * 2 > whole || count >= 2 && count == whole;
            if !is_many {
                continue;
            }
            let id = id_of(
                &self.key.key,
                "deletes",
                format!("{count} {is_outgoing}").as_bytes(),
            );
            let why = format!("{count} of {whole} files would be deleted");
            if self.hold_back(id, "deletes", why, is_outgoing) {
                steps.retain(|step| {
                    let is_held = step.motion == Some(motion);
                    if is_held {
                        // The others do not know yet what the person decided about it.
                        self.decided.remove(&step.path);
                    }
                    !is_held
                });
            }
        }
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
