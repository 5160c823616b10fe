//! What the journal says of a change: who made it, what kind it was, and what it did to each file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::layout::Layout;
use crate::core::memory::Revision;

/// Who does something, and through which door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// A person or an agent, such as `you` or `claude-code`.
    pub who: String,
    /// The door, such as `cli`.
    pub door: String,
}

impl Author {
    /// A program that changed a file without going through tome.
    pub fn outside() -> Self {
        Self {
            who: "outside".to_owned(),
            door: "files".to_owned(),
        }
    }
}

/// What kind of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeVerb {
    /// A file was made or replaced.
    Write,
    /// A part was replaced.
    Patch,
    /// Something was added to the end.
    Append,
    /// A person saved an edited text.
    Edit,
    /// Files were removed.
    Delete,
    /// A file got another name.
    Rename,
    /// A file went to another store.
    Move,
    /// An index was brought up to date.
    Index,
    /// An earlier change was taken back.
    Undo,
    /// A change that was taken back was made again.
    Redo,
    /// Files were brought back to an earlier version.
    Restore,
}

impl ChangeVerb {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Patch => "patch",
            Self::Append => "append",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Move => "move",
            Self::Index => "index",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Restore => "restore",
        }
    }
}

/// Which way a recorded change is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Take it back.
    Back,
    /// Make it again.
    Forward,
}

impl Direction {
    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Back => Self::Forward,
            Self::Forward => Self::Back,
        }
    }
}

/// One change that was made, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// A ULID: it sorts by time.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// By whom and through which door.
    #[serde(flatten)]
    pub author: Author,
    /// What kind of change.
    pub verb: ChangeVerb,
    /// What was told when it was done.
    pub message: String,
    /// The change that this one took back or repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The files.
    pub files: Vec<FileChange>,
    /// What was deleted, so that it is known again if it comes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tombstones: Vec<Tombstone>,
}

impl Record {
    /// The roots of the stores that the change touched, one for each file.
    pub fn roots(&self) -> Vec<&Path> {
        self.files.iter().map(|file| file.root.as_path()).collect()
    }

    /// Every version that the change went from or to.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        let both = |file: &FileChange| [file.before, file.after];
        self.files.iter().flat_map(both).flatten()
    }

    /// What the change deleted, with the store of each.
    pub fn graves(&self) -> impl Iterator<Item = PrunedTombstone> {
        self.tombstones.iter().map(|tombstone| {
            let own = |file: &&FileChange| file.reference() == tombstone.path;
            let file = self.files.iter().find(own).or(self.files.first());
            PrunedTombstone {
                root: file.map(|file| file.root.clone()).unwrap_or_default(),
                time: self.time,
                tombstone: tombstone.clone(),
            }
        })
    }

    /// Whether the change touched any of these roots.
    pub fn touches(&self, roots: &[&Path]) -> bool {
        self.files
            .iter()
            .any(|file| roots.contains(&file.root.as_path()))
    }
}

/// What a change did to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The store's root.
    pub root: PathBuf,
    /// The store's layout.
    pub layout: Layout,
    /// The file below the root.
    pub path: String,
    /// The version before; `None` when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Revision>,
    /// The version after; `None` when the file was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Revision>,
    /// Whether the file followed from others, as an index does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// Folders that were made for it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Folders to take away once the file is gone, if nothing else is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<String>,
    /// When the file that was there was last changed, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
    /// Unix mode bits of the file that was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// How many lines were added.
    #[serde(default, skip_serializing_if = "is_none")]
    pub added: usize,
    /// How many lines were removed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub removed: usize,
}

/// Whether there are none: such a count is not written.
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl FileChange {
    /// The reference of the file inside its store.
    pub fn reference(&self) -> String {
        self.layout.rules().reference_of(&self.path)
    }
}

/// What is remembered of a deleted memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The reference it had.
    pub path: String,
    /// Its title.
    pub name: String,
    /// The version that was deleted.
    pub revision: Revision,
    /// The words that tell it apart, most frequent first.
    pub words: Vec<String>,
}

/// A tombstone with where and when: what is left of a deletion whose change was pruned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedTombstone {
    /// The store's root.
    pub root: PathBuf,
    /// When it was deleted, in milliseconds since 1970.
    pub time: i64,
    /// What it was.
    #[serde(flatten)]
    pub tombstone: Tombstone,
}
