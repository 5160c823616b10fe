//! The one way to change a memory: plan → diff → commit → undo.
//!
//! A [`ChangeRequest`] says what somebody wants. [`plan()`] turns it into a [`Change`]: the bytes of every
//! file before and after, the index among them. Nothing is written until
//! [`commit()`] is called, which checks that the files still are what the plan saw.

mod apply;
mod commit;
mod lesson;
mod orphan;
mod plan;
mod planned;
mod recover;
mod replay;
mod transfer;

use std::path::{Path, PathBuf};

use super::Result;
use super::diff;
use super::history::{FileChange, History, Record};
use super::layout::Layout;
use super::memory::Revision;
use super::sandbox::Attributes;

pub use super::history::{Author, ChangeVerb, Direction};

pub use apply::{CommittedChange, Reviewed, commit_reviewed, plan_and_commit};
pub use commit::commit;
pub use orphan::{DeadLinks, dead_links, memories_linking_to};
pub use plan::{ChangeContext, ChangeRequest, plan};
pub use planned::PlannedFiles;
pub use recover::{interrupted, recover_interrupted};
pub use replay::{replay, restore};
pub use transfer::plan_move;

/// The time at which something is done, handed in by a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub time: jiff::Timestamp,
    /// The day where the user is.
    pub today: jiff::civil::Date,
}

/// A planned change: every file with its bytes before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What kind it is.
    pub verb: ChangeVerb,
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

    /// The roots of the stores that it touches, one for each file.
    pub fn roots(&self) -> Vec<&Path> {
        self.edits.iter().map(|edit| edit.root.as_path()).collect()
    }

    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        self.edits.iter().map(Edit::diff).collect()
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
    /// The mode and time of a file that comes back.
    pub attributes: Attributes,
}

impl Edit {
    /// The edit as a unified diff with the file's reference in its head.
    pub fn diff(&self) -> String {
        let name = self.reference();
        let side = |mark: &str, bytes: &Option<Vec<u8>>| match bytes {
            Some(_) => format!("{mark}/{name}"),
            None => "/dev/null".to_owned(),
        };
        diff::unified(
            (&side("a", &self.before), &side("b", &self.after)),
            self.before.as_deref().unwrap_or_default(),
            self.after.as_deref().unwrap_or_default(),
        )
    }

    /// The reference of the file inside its store.
    pub fn reference(&self) -> String {
        self.layout.rules().reference_of(&self.path)
    }
}

/// What a recorded change did, file by file.
pub fn recorded_edits(history: &History, record: &Record) -> Result<Vec<Edit>> {
    let version = |revision: Option<Revision>| {
        revision
            .map(|revision| history.version(&revision))
            .transpose()
    };
    let edit = |file_change: &FileChange| {
        Ok(Edit {
            root: file_change.root.clone(),
            layout: file_change.layout,
            path: file_change.path.clone(),
            before: version(file_change.before)?,
            after: version(file_change.after)?,
            derived: file_change.derived,
            emptied: Vec::new(),
            attributes: Attributes::default(),
        })
    };
    record.files.iter().map(edit).collect()
}
