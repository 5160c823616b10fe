//! The one way to change a memory: plan → diff → commit → undo.
//!
//! A [`Wish`] says what somebody wants. [`plan()`] turns it into a [`Change`]: the bytes of every
//! file before and after, the index among them. Nothing is written until
//! [`commit()`] is called, which checks that the files still are what the plan saw.

mod commit;
pub mod diff;
mod draft;
mod make;
mod orphan;
mod plan;
mod replay;
mod teach;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::layout::Layout;

pub use commit::commit;
pub(in crate::core) use commit::recover;
pub use draft::Draft;
pub use make::{Made, make};
pub use orphan::linking;
pub use plan::{Asking, Wish, plan, plan_move};
pub use replay::{Direction, replay, restore};

/// The time at which something is done, handed in by a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub time: jiff::Timestamp,
    /// The day where the user is.
    pub today: jiff::civil::Date,
}

/// Who does something, and through which door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// A person or an agent, such as `you` or `claude-code`.
    pub who: String,
    /// The door, such as `cli`.
    pub door: String,
}

/// What kind of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
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

impl Verb {
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

/// A planned change: every file with its bytes before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What kind it is.
    pub verb: Verb,
    /// What to tell when it is done.
    pub message: String,
    /// The files, what was asked for first and what follows from it last.
    pub edits: Vec<Edit>,
    /// The change that this one takes back or repeats.
    pub of: Option<String>,
}

impl Change {
    /// Whether nothing would be different.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        self.edits.iter().map(diff::unified).collect()
    }
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The store's root.
    pub root: PathBuf,
    /// The store's layout.
    pub layout: Layout,
    /// The file below the root, links resolved.
    pub path: String,
    /// What the plan saw; `None` for a file that is not there.
    pub before: Option<Vec<u8>>,
    /// What shall be there; `None` for a file that shall go.
    pub after: Option<Vec<u8>>,
    /// Whether the file follows from others, as an index does.
    pub derived: bool,
    /// Folders to take away, once the file is gone, if nothing else is in them.
    pub emptied: Vec<String>,
    /// The mode of a file that comes back.
    pub mode: Option<u32>,
}

impl Edit {
    /// The reference of the file inside its store.
    pub fn reference(&self) -> String {
        self.layout.rules().refer(&self.path)
    }
}
