//! The one way to change a memory: plan → diff → commit → undo.
//!
//! [`plan()`] turns a [`ChangeRequest`] into a [`Change`]: the bytes of every file before and
//! after, the index included. Nothing is written until [`commit()`], which first checks that the
//! files are still as the plan read them.

mod apply;
pub mod combine;
mod commit;
mod entry;
pub mod events;
pub mod history;
mod in_progress;
mod lesson;
mod merge;
mod orphan;
mod plan;
mod planned;
mod recover;
mod transfer;
mod undo;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::core::Result;
use crate::core::change::history::{FileChange, History, Record, is_incoming};
use crate::core::disk::sandbox::Attributes;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index;
use crate::core::memory::library::Budget;
use crate::core::text::diff;

pub use crate::core::change::history::{Author, ChangeVerb, Direction};

pub use apply::{CommittedChange, Reviewed, commit_reviewed, plan_and_commit};
pub use commit::commit;
pub use merge::{MemoryAt, MergeTexts, plan_merge};
pub use orphan::memories_linking_to;
pub use plan::{ChangeContext, ChangeRequest, plan};
pub use planned::PlannedFiles;
pub use recover::{interrupted, recover_interrupted};
pub use transfer::{BrokenLinks, Transfer, plan_moves};
pub(in crate::core) use undo::put_lines_back;
use undo::version;
pub use undo::{RestoredFile, replay, restore};

/// A planned change: every file with its bytes before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The kind of change.
    pub verb: ChangeVerb,
    /// The message to print once the change is made.
    pub message: String,
    /// The edits: requested files first, generated ones such as an index last.
    pub edits: Vec<Edit>,
    /// The id of the change that this one undoes or redoes.
    pub of: Option<String>,
    /// What it keeps from being made: the files as they would have been, and as they stay.
    pub rejected: Vec<Edit>,
}

impl Change {
    /// The edits of indexes of which an agent reads only so much.
    fn indexes(&self) -> impl Iterator<Item = &Edit> {
        let edits = self.edits.iter();
        edits
            .filter(|edit| edit.layout == Layout::Index && edit.path == index::INDEX)
            .filter(|edit| index::is_read_in_part(&edit.root))
    }

    /// A warning, if an index grows beyond what an agent reads of it.
    pub fn index_warning(&self) -> Option<String> {
        self.indexes()
            .find_map(|edit| index::growth_warning(&edit.text_before(), &edit.text_after()))
    }

    /// The memories whose lines move beyond what an agent reads of an index.
    pub fn newly_unseen(&self) -> Vec<String> {
        self.indexes()
            .flat_map(|edit| index::newly_unseen(&edit.text_before(), &edit.text_after()))
            .collect()
    }

    /// A sentence for each index, with the root of its store: its size before and after, and its share
    /// of what an agent reads.
    pub fn index_sizes(&self) -> Vec<(&Path, String)> {
        let indexes = self.indexes().filter(|edit| edit.after.is_some());
        let sizes = indexes.map(|edit| {
            let before = Budget::of(&edit.text_before());
            let after = Budget::of(&edit.text_after());
            let both = |before: usize, after: usize| {
                if before == after {
                    after.to_string()
                } else {
                    format!("{before} → {after}")
                }
            };
            let (used, most, unit) = after.measured_as(after);
            let size = format!(
                "{}: {} of {most} {unit}, {} % of the limit",
                index::INDEX,
                both(before.measured_as(after).0, used),
                both(before.percent(), after.percent())
            );
            (edit.root.as_path(), size)
        });
        sizes.collect()
    }

    /// Whether no file would change.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The store root of each edit, with repetitions.
    pub fn roots(&self) -> Vec<&Path> {
        self.edits.iter().map(|edit| edit.root.as_path()).collect()
    }

    /// What is shown of it: the files that change, and what is rejected.
    pub fn shown(&self) -> impl Iterator<Item = &Edit> {
        let is_rejected = |edit: &&Edit| {
            let mut rejected = self.rejected.iter();
            rejected.any(|one| one.root == edit.root && one.path == edit.path)
        };
        let edits = self.edits.iter().filter(|edit| !edit.is_own_note());
        self.rejected
            .iter()
            .chain(edits.filter(move |edit| edit.before != edit.after || !is_rejected(edit)))
    }

    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        self.shown().map(Edit::diff).collect()
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
    /// The content that the plan read; `None` if the file did not exist.
    pub before: Option<Vec<u8>>,
    /// The new content; `None` if the file is to be deleted.
    pub after: Option<Vec<u8>>,
    /// Whether the file is generated from others, such as an index.
    pub derived: bool,
    /// Folders to remove after the file is deleted, if they are empty.
    pub emptied: Vec<String>,
    /// The mode and modification time to restore with the file.
    pub attributes: Attributes,
}

impl Edit {
    /// The edit as a unified diff, with the file's reference in the header.
    pub fn diff(&self) -> String {
        let name = self.reference();
        let side = |mark: &str, bytes: &Option<Vec<u8>>| match bytes {
            Some(_) => format!("{mark}/{name}"),
            None => "/dev/null".to_owned(),
        };
        diff::unified(
            &side("a", &self.before),
            &side("b", &self.after),
            self.before.as_deref().unwrap_or_default(),
            self.after.as_deref().unwrap_or_default(),
        )
    }

    /// Whether it is of tome's own note about what another machine sent.
    fn is_own_note(&self) -> bool {
        self.derived && is_incoming(&self.root)
    }

    fn text_before(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.before.as_deref().unwrap_or_default())
    }

    fn text_after(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.after.as_deref().unwrap_or_default())
    }

    /// The reference of the file inside its store.
    pub fn reference(&self) -> String {
        self.layout.rules().reference_of(&self.path)
    }
}

/// The edits of a recorded change, one for each file but tome's own notes.
pub fn recorded_edits(history: &History, record: &Record) -> Result<Vec<Edit>> {
    let edit = |file_change: &FileChange| {
        Ok(Edit {
            root: file_change.root.clone(),
            layout: file_change.layout,
            path: file_change.path.clone(),
            before: version(history, file_change.before)?,
            after: version(history, file_change.after)?,
            derived: file_change.derived,
            emptied: Vec::new(),
            attributes: Attributes::default(),
        })
    };
    let files = record.files.iter().filter(|file| !file.is_own_note());
    files.map(edit).collect()
}
