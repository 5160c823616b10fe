//! What is held back until a person says otherwise: secrets, and texts that read like orders.

use super::repo::LARGEST_FILE;
use crate::core::disk::revision::Revision;
use crate::core::insight::curate::held_text;

/// A file that is held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The id with which it is allowed.
    pub id: String,
    /// The file, by its reference.
    pub path: String,
    /// Why.
    pub why: String,
    /// Whether it is on the way out of this machine.
    pub is_outgoing: bool,
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
pub(super) fn id(key: &str, path: &str, content: &[u8]) -> String {
    let whole = [
        key.as_bytes(),
        path.as_bytes(),
        Revision::of(content).as_bytes(),
    ]
    .join(&0);
    blake3::hash(&whole).to_hex()[..10].to_owned()
}
