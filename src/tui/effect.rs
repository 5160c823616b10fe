//! The effects that the app requests, as data. Each worker has its own job type, so the compiler
//! reports a job that is not handled. [`super::worker::Workers`] and the loop carry them out.

use std::path::PathBuf;
use std::sync::Arc;

use super::Exit;
use crate::core::change::{BrokenLinks, Change, ChangeRequest};
use crate::core::insight::context::{AgentContext, Draft};
use crate::core::insight::curate::Finding;
use crate::core::insight::review::Resolution;
use crate::core::log::{Agent, LogFile, Resume};
use crate::core::memory::catalog::LogScope;
use crate::core::memory::discover::DiscoveryScope;
use crate::core::memory::store::StoreId;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::model::MergedAway;

/// Something to do outside of the app, by the worker that does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// For the worker that reads the stores.
    Library(LibraryJob),
    /// For the worker that changes the stores.
    Write(WriteJob),
    /// For the worker that keeps unsaved texts.
    Unsaved(UnsavedJob),
    /// For the worker that keeps the corpus up to date.
    Logs(LogsJob),
    /// For the worker that searches.
    Search(SearchJob),
    /// For the worker that reads transcripts.
    Transcript(TranscriptJob),
    /// For the worker that finds out who wrote what.
    Why(WhyJob),
    /// For the worker that checks the memories.
    Curate(CurateJob),
    /// For the worker that makes the timeline.
    Timeline(TimelineJob),
    /// For the loop, which owns the terminal.
    Terminal(TerminalJob),
}

/// Reads of the stores and their history; none waits for a store's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LibraryJob {
    /// Find the stores and read them all.
    Load,
    /// Find the stores and logs of another scope.
    Scope(DiscoveryScope),
    /// Read the changed paths again.
    Refresh(Vec<PathBuf>),
    /// Read a text for a preview; a newer request of the same requester supersedes it.
    Read {
        generation: u64,
        requester: Requester,
        target: Target,
    },
    /// Read a file to be edited from this line on, counted from 0.
    Fetch {
        store: StoreId,
        path: String,
        line: usize,
    },
    /// Plan a change without writing it.
    Plan {
        generation: u64,
        request: Box<Request>,
    },
    /// Compose the text of a new memory.
    Compose(NewMemory),
    /// Read the history.
    Records,
    /// Read the edits of a recorded change.
    Compare { id: String },
    /// Read what waits for review.
    Queue,
    /// Find the memories that the project has below other paths.
    FormerHomes,
    /// Read memories that are to become one; the first one stays.
    Gather(Vec<(StoreId, String)>),
    /// Read what an agent loads; with a draft, what it would load.
    Context { agent: Agent, draft: Option<Draft> },
    /// Read the file of a piece, to be edited.
    EditPiece {
        context: Arc<AgentContext>,
        at: usize,
    },
}

/// Writes to the stores, under their locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteJob {
    /// Make a reviewed change.
    Commit {
        request: Box<Request>,
        change: Box<Change>,
    },
    /// Plan a change and make it without review: it can be undone at once.
    Do(Box<Request>),
    /// Decide about what waits for review.
    Review(ReviewJob),
    /// Keep findings as they are, or take that back.
    Waive(WaiveJob),
    /// Share a store with other machines, or no longer.
    Share(StoreId),
}

/// A decision to keep findings. It is recorded beside the history and changes no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaiveJob {
    pub(crate) findings: Vec<Finding>,
    /// Why; `None` to take it back.
    pub(crate) words: Option<String>,
}

/// A decision about what waits for review. It changes the state of the review, no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReviewJob {
    /// Accept the items and hunks with these ids, store by store.
    Accept(Vec<(StoreId, Vec<String>)>),
    /// Accept the files that were there before tome.
    AcceptBefore,
    /// Take that back.
    TakeBackBefore,
    /// Write what was made of both texts of a conflict.
    Resolve {
        store: StoreId,
        resolution: Resolution,
    },
    /// Note something about the file of the items and hunks with these ids.
    Note {
        store: StoreId,
        ids: Vec<String>,
        text: String,
    },
}

/// Work on unsaved texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnsavedJob {
    /// Write a text to the directory of unsaved texts.
    Keep(Unsaved),
    /// Remove a text from it.
    Forget(Unsaved),
    /// Keep all open texts after a failure, then report the failure and the result.
    Secure {
        texts: Vec<Unsaved>,
        /// The description of the failure.
        report: String,
    },
    /// Offer the texts that a crashed process left.
    Offer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogsJob {
    /// Look for logs, including those in these stores.
    Discover(Vec<PathBuf>),
    /// The scope of the logs that are looked for next.
    Scope(LogScope),
    /// Copy a session to where its agent does not delete it.
    Keep(LogFile),
    /// Refresh the corpus: logs changed, or the cache was damaged.
    Refresh,
}

/// A check of all memories; a newer one supersedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurateJob {
    pub(crate) generation: u64,
}

/// A search; a newer one supersedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchJob {
    pub(crate) generation: u64,
    pub(crate) text: String,
    /// Whether text is left out that programs put into conversations.
    pub(crate) says_only: bool,
    /// How many rows are visible; these are sent first.
    pub(crate) rows: usize,
}

/// Reads a transcript; a newer request of the same requester supersedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TranscriptJob {
    pub(crate) file: LogFile,
    pub(crate) requester: Requester,
}

/// Finds out what brought each line of a file in; a newer request supersedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WhyJob {
    pub(crate) store: StoreId,
    /// The reference of the file.
    pub(crate) path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimelineJob {
    /// Send the nodes, and again whenever they change.
    Show,
    /// Stop sending the nodes.
    Hide,
    /// Send the node of a session.
    Session { agent: Agent, id: String },
    /// Propose a memory for these grips and lines of logs.
    Propose(Vec<String>),
    /// Send the lines of the grips with these ids.
    Expand(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TerminalJob {
    /// Copy a text to the clipboard.
    Copy(String),
    /// Copy a text through the terminal: no program can.
    CopyByTerminal(String),
    /// Draw the whole screen again.
    Repaint,
    /// Open a text in `$EDITOR`.
    EditOutside(Unsaved),
    /// Run the agent that goes on with a session.
    Resume(Resume),
    /// Suspend the process, as Ctrl-Z does.
    Suspend,
    /// End the UI.
    Leave(Exit),
}

/// The pane that requests a text. Requests of different panes do not supersede each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Requester {
    /// The preview beside the tree.
    #[default]
    Tree,
    /// The preview beside the hits.
    Find,
    /// The editor, to see what was changed outside.
    Editor,
    /// The log pane.
    Reader,
}

/// A text that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    File {
        store: StoreId,
        path: String,
    },
    /// The context that a store's agent loads at its start.
    Context {
        store: StoreId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// A change to one store.
    Change {
        store: StoreId,
        change_request: ChangeRequest,
    },
    /// Save an edited text; a new file if its `base` is `None`.
    Save(Unsaved),
    /// Delete memories of several stores in one change.
    Delete(Vec<(StoreId, Vec<String>)>),
    /// Move memories to another store in one change.
    Move {
        memories: Vec<(StoreId, String)>,
        to: StoreId,
        links: BrokenLinks,
    },
    /// Move every memory of one directory to another, where the project's are read.
    Rehome { from: PathBuf, to: PathBuf },
    /// Undo a recorded change.
    Undo(String),
    /// Make a recorded change again that was undone.
    Redo(String),
    /// Restore the versions of a recorded change, or only that of one file: root and path.
    Restore {
        id: String,
        only: Option<(PathBuf, String)>,
    },
    /// Undo the latest change, or redo the latest undone one.
    Latest(UndoDirection),
    /// Revert the items and hunks with these ids that wait for review, store by store.
    Revert(Vec<(StoreId, Vec<String>)>),
    /// Save an edited text and remove the memories that were merged into it.
    Merge {
        text: Unsaved,
        others: Vec<MergedAway>,
    },
    /// Save an edited text as a principle that comes from these lessons of its store.
    Generalize { text: Unsaved, from: Vec<String> },
    /// Make the fixes of these findings, store by store, in one change.
    Fix(Vec<(StoreId, Vec<Finding>)>),
}

/// What saving an edited text does to other memories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum SaveKind {
    /// Nothing.
    #[default]
    Alone,
    /// These were merged into it and go.
    Merge(Vec<MergedAway>),
    /// These lessons and it link to each other.
    Generalize(Vec<String>),
}

/// A new memory of a kind that the store's layout supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewMemory {
    pub(crate) store: StoreId,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// What it is about, for its description; may be empty.
    pub(crate) about: String,
    /// The lessons that it is derived from; none for a memory of its own.
    pub(crate) lessons: Vec<String>,
    pub(crate) text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoDirection {
    Undo,
    Redo,
}
