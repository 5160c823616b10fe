//! The record of a change: its author, its kind, and what it did to each file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::disk::revision::Revision;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::StoreId;

/// Who makes a change, and through which interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// A user or an agent, such as `you` or `claude-code`.
    pub who: String,
    /// The interface, such as `cli`.
    pub door: String,
}

impl Author {
    /// The author of the changes of tests.
    #[cfg(test)]
    pub(crate) fn test() -> Self {
        Self {
            who: "you".to_owned(),
            door: "test".to_owned(),
        }
    }

    /// A program that changed a file without tome.
    pub fn outside() -> Self {
        Self {
            who: "outside".to_owned(),
            door: FILES.to_owned(),
        }
    }

    /// Whether the change was made without tome, directly in the files.
    pub fn is_outside(&self) -> bool {
        self.door == FILES
    }

    /// Whether a person made the change. What agents and other programs wrote waits for review.
    pub fn is_person(&self) -> bool {
        !matches!(self.door.as_str(), FILES | SERVER | "hook")
    }
}

/// The door of changes that were made directly in the files.
const FILES: &str = "files";

/// The door of changes that agents made by calls of tome's server.
pub const SERVER: &str = "mcp";

/// The conversation in which a change was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The id of the session.
    pub session: String,
    /// The message, as a citation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citation: Option<String>,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeVerb {
    /// A file was created or replaced.
    Write,
    /// A part was replaced.
    Patch,
    /// Text was added to the end.
    Append,
    /// A user saved an edited text.
    Edit,
    /// Files were removed.
    Delete,
    /// A file was renamed.
    Rename,
    /// A file was moved to another store.
    Move,
    /// Memories became one.
    Merge,
    /// An index was updated.
    Index,
    /// An earlier change was undone.
    Undo,
    /// An undone change was made again.
    Redo,
    /// Files were restored to an earlier version.
    Restore,
    /// What others wrote was accepted; the files stayed as they were. The versions before and after
    /// are the accepted ones.
    Accept,
}

impl ChangeVerb {
    /// The name of the verb.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Patch => "patch",
            Self::Append => "append",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Move => "move",
            Self::Merge => "merge",
            Self::Index => "index",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Restore => "restore",
            Self::Accept => "accept",
        }
    }
}

/// The direction in which a recorded change is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Undo it.
    Back,
    /// Redo it.
    Forward,
}

impl Direction {
    pub(in crate::core::change) fn opposite(self) -> Self {
        match self {
            Self::Back => Self::Forward,
            Self::Forward => Self::Back,
        }
    }
}

/// A committed change, as stored in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// A ULID: it sorts by time.
    pub id: String,
    /// When it was made, in milliseconds since 1970.
    pub time: i64,
    /// Who made it.
    #[serde(flatten)]
    pub author: Author,
    /// The conversation in which it was made, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The kind of change.
    pub verb: ChangeVerb,
    /// The message that was printed.
    pub message: String,
    /// The id of the change that this one undid or redid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The files.
    pub files: Vec<FileChange>,
    /// The deleted memories, so that they are recognised if they come back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tombstones: Vec<Tombstone>,
}

impl Record {
    /// The store root of each file, with repetitions.
    pub fn roots(&self) -> Vec<&Path> {
        self.files.iter().map(|file| file.root.as_path()).collect()
    }

    /// The files of the change, each with its revision after it; `None` for a removed one.
    pub fn written(&self) -> impl Iterator<Item = (PathBuf, Option<Revision>)> {
        let files = self.files.iter();
        files.map(|file| (file.root.join(&file.path), file.after))
    }

    /// Every version before or after the change.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        let both = |file: &FileChange| [file.before, file.after];
        self.files.iter().flat_map(both).flatten()
    }

    /// The memories that the change deleted.
    pub fn deleted_memories(&self) -> impl Iterator<Item = DeletedMemory> {
        // A change that deletes is about one store.
        let root = self.files.first().map(|file| &file.root);
        self.tombstones.iter().map(move |tombstone| DeletedMemory {
            root: root.cloned().unwrap_or_default(),
            time: self.time,
            tombstone: tombstone.clone(),
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
    /// The version before; `None` if the file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Revision>,
    /// The version after; `None` if the file was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Revision>,
    /// Whether the file is generated from others, such as an index.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// Folders that were created for it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Folders to remove after the file is deleted, if they are empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<String>,
    /// When the old file was last changed, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
    /// Unix mode bits of the old file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// How many lines were added.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: usize,
    /// How many lines were removed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: usize,
}

/// Whether a count is zero; it is then not serialised.
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl FileChange {
    /// A file of a store of which no change is known yet.
    pub fn new(root: &Path, layout: Layout, path: &str) -> Self {
        Self {
            root: root.to_owned(),
            layout,
            path: path.to_owned(),
            before: None,
            after: None,
            derived: false,
            folders: Vec::new(),
            emptied: Vec::new(),
            modified: None,
            mode: None,
            added: 0,
            removed: 0,
        }
    }

    /// Whether this is a file of a store; another one may have the same root.
    pub fn is_of(&self, store: &StoreId) -> bool {
        self.root == store.root() && self.layout == store.layout()
    }

    /// The reference of the file inside its store.
    pub fn reference(&self) -> String {
        self.layout.rules().reference_of(&self.path)
    }

    /// Whether it is tome's own note about what another machine sent, and no memory.
    pub fn is_own_note(&self) -> bool {
        self.derived && is_incoming(&self.root)
    }
}

/// The folder of the history in which the incoming changes of the stores wait.
pub(in crate::core) const INCOMING: &str = "incoming";

/// Whether a root is that of incoming changes.
pub(in crate::core) fn is_incoming(root: &Path) -> bool {
    let above = root.parent().and_then(Path::file_name);
    above.is_some_and(|name| name == INCOMING)
}

/// What is kept about a deleted memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Its reference.
    pub path: String,
    /// Its title.
    pub name: String,
    /// The version that was deleted.
    pub revision: Revision,
    /// Its characteristic words, most frequent first.
    pub words: Vec<String>,
}

/// A tombstone with its store and time. Pruning the change that deleted the memory keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedMemory {
    /// The store's root.
    pub root: PathBuf,
    /// When it was deleted, in milliseconds since 1970.
    pub time: i64,
    /// The tombstone.
    #[serde(flatten)]
    pub tombstone: Tombstone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_did_not_have_takes_no_room_in_the_journal() {
        let file = FileChange {
            after: Some(Revision::of(b"x")),
            added: 1,
            ..FileChange::new(Path::new("/r"), Layout::Index, "a.md")
        };
        let line = serde_json::to_string(&file).expect("serialises");
        let fields = line.matches("\":").count();
        assert_eq!(fields, 5, "{line}");
        assert!(line.contains("\"added\":1"), "{line}");
        let back: FileChange = serde_json::from_str(&line).expect("reads back");
        assert_eq!(back, file);
    }
}
