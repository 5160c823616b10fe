//! Plain values: a memory, its entries, the revision of a file.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The hash of a file's content: identifies the content that a caller read or a change expects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision([u8; 32]);

impl Revision {
    /// The revision of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The hash itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The revision with this hash.
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Revision({self})")
    }
}

impl FromStr for Revision {
    type Err = NotARevision;

    fn from_str(text: &str) -> Result<Self, NotARevision> {
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| NotARevision)
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a revision is 64 hexadecimal digits, as `tome read --json` prints it")]
pub struct NotARevision;

impl Serialize for Revision {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The role of a file in its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A curated memory.
    Memory,
    /// The note that is always in the agent's context.
    Overview,
    /// A list of the memories, which tome keeps up to date.
    Index,
    /// Instructions for agents that come with the layout.
    Guide,
    /// A raw conversation; never written.
    Log,
    /// A file of standing instructions, such as `CLAUDE.md`.
    Instructions,
}

/// One memory, parsed for display; it is never written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The reference inside its store, such as `detail/auth.md`.
    pub path: String,
    /// The role of the file in its layout.
    pub kind: FileKind,
    /// The name, or the file's stem if it has none.
    pub title: String,
    /// The description or summary on one line; may be empty.
    pub summary: String,
    /// The type as written, such as `feedback`.
    pub category: Option<String>,
    /// Keywords or tags, without `#`.
    pub tags: Vec<String>,
    /// When it was created, as written in the file.
    pub created: Option<String>,
    /// When it was last changed, as written in the file.
    pub updated: Option<String>,
    /// The range of the body in the text.
    pub body: Range<usize>,
    /// The size of the file in bytes.
    pub size: u64,
    /// When the file was last changed, in milliseconds since 1970; 0 when unknown.
    pub modified: i64,
    /// The entries, if the file contains several.
    pub entries: Vec<Entry>,
    /// Why the file could not be read or parsed, if so.
    pub problem: Option<String>,
}

impl Memory {
    /// A memory of which only the path and size are known.
    pub fn bare(path: &str, size: u64) -> Self {
        Self {
            path: path.to_owned(),
            kind: FileKind::Memory,
            title: stem(path).to_owned(),
            summary: String::new(),
            category: None,
            tags: Vec::new(),
            created: None,
            updated: None,
            body: 0..usize::try_from(size).unwrap_or(0),
            size,
            modified: 0,
            entries: Vec::new(),
            problem: None,
        }
    }
}

/// One of several entries in a file: an episode or a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The title as written.
    pub title: String,
    /// The one-line summary or description.
    pub summary: String,
    /// The first text of the body, if the format separates it.
    pub content: String,
    /// The date as written.
    pub date: Option<String>,
    /// Tags without `#`.
    pub tags: Vec<String>,
    /// The line of the title, from 1.
    pub line: usize,
    /// The range of the whole entry in the file's text.
    pub span: Range<usize>,
}

impl Entry {
    /// The fragment after `#` in a reference to this entry.
    pub fn slug(&self) -> String {
        slug(&self.title)
    }
}

/// A title as used in a reference: lower case, words joined by `-`.
pub fn slug(title: &str) -> String {
    let mut slug = String::with_capacity(title.len());
    for c in title.chars() {
        if c.is_alphanumeric() {
            slug.extend(c.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// The name of a file without folders and without its last extension.
pub fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// The text on one line: newlines and tabs become spaces, both ends are trimmed.
pub fn one_line(text: &str) -> String {
    text.split(['\n', '\r', '\t'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_keeps_letters_and_digits_of_any_script() {
        for (title, expected) in [
            ("Logger stdout leak fix", "logger-stdout-leak-fix"),
            ("  C++ / Rust: FFI!  ", "c-rust-ffi"),
            ("버전 형식 2", "버전-형식-2"),
            ("***", ""),
        ] {
            assert_eq!(slug(title), expected);
        }
    }

    #[test]
    fn a_revision_reads_back_what_it_writes() {
        let revision = Revision::of(b"abc");
        assert_eq!(revision.to_string().parse(), Ok(revision));
        assert_eq!("zz".parse::<Revision>(), Err(NotARevision));
    }

    #[test]
    fn the_stem_of_a_dot_file_is_its_name() {
        assert_eq!(stem("a/b.c.md"), "b.c");
        assert_eq!(stem(".hidden"), ".hidden");
        assert_eq!(stem("plain"), "plain");
    }
}
