//! What the app wants of the world, as data. Each worker has a job type of its own, so that the
//! compiler sees a job that nobody does; [`super::worker::Workers`] and the loop carry them out.

use std::path::PathBuf;

use super::Exit;
use crate::core::change::{Change, ChangeRequest};
use crate::core::log::LogFile;
use crate::core::store::StoreId;
use crate::core::unsaved::Unsaved;

/// Something to be done outside of the app, by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The worker that reads the stores.
    Library(LibraryJob),
    /// The worker that changes the stores.
    Write(WriteJob),
    /// The worker that keeps unsaved texts.
    Unsaved(UnsavedJob),
    /// The worker that keeps the logs up to date.
    Logs(LogsJob),
    /// The worker that finds.
    Search(SearchJob),
    /// The worker that reads conversations.
    Transcript(TranscriptJob),
    /// The loop, which has the terminal.
    Terminal(TerminalJob),
}

/// What is read of the stores and of their history; none of it waits for a store's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LibraryJob {
    /// Find the stores and read everything.
    Load,
    /// Look again at what changed.
    Refresh(Vec<PathBuf>),
    /// Read a text; a newer reading makes an older one pointless.
    Read {
        generation: u64,
        requester: Requester,
        target: Target,
    },
    /// Read a text that is not for the preview.
    Fetch(Target),
    /// Plan a change; nothing is written.
    Plan {
        generation: u64,
        request: Box<Request>,
    },
    /// Compose the text of a new memory.
    Compose(NewMemory),
    /// Read the journal.
    Records,
    /// Show what a recorded change did.
    Compare { id: String },
}

/// What changes the stores, under their locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteJob {
    /// Make a change that was reviewed.
    Commit {
        request: Box<Request>,
        change: Box<Change>,
    },
    /// Plan a change and make it at once: it can be taken back as fast.
    Do(Box<Request>),
}

/// What is done with texts that are not saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnsavedJob {
    /// Keep a text.
    Keep(Unsaved),
    /// Forget a text.
    Forget(Unsaved),
    /// Keep all that is open, because something went wrong, and then tell of both.
    Secure {
        texts: Vec<Unsaved>,
        /// What went wrong.
        report: String,
    },
    /// Offer the texts that a process left behind which died.
    Offer,
}

/// What is done about the logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogsJob {
    /// Look for logs, in these stores too.
    Discover(Vec<PathBuf>),
    /// Look at what is there again: something was said, or the cache was damaged.
    Refresh,
}

/// Find something; a newer search makes an older one pointless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchJob {
    pub(crate) generation: u64,
    pub(crate) text: String,
}

/// Read a conversation; a newer one of the same asker makes an older one pointless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TranscriptJob {
    pub(crate) file: LogFile,
    pub(crate) requester: Requester,
}

/// What is done with the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TerminalJob {
    /// Put a text on the clipboard.
    Copy(String),
    /// Lend the terminal to `$EDITOR` for a text.
    EditOutside(Unsaved),
    /// Stop, as Ctrl-Z does elsewhere.
    Suspend,
    /// End the program, or this run of it.
    Leave(Exit),
}

/// Who wants to read something: what one wants does not make pointless what another does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requester {
    /// The preview beside the tree.
    Tree,
    /// The preview beside what was found.
    Find,
    /// The reader of a log.
    Reader,
}

/// A text that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// A file of a store.
    File { store: StoreId, path: String },
    /// What the agent of a store gets to see at the start.
    Context { store: StoreId },
}

/// A way to a planned change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// A change of one store.
    Change {
        store: StoreId,
        change_request: ChangeRequest,
    },
    /// An edited text, which was begun on `base`; `None` for a new file.
    Save(Unsaved),
    /// Memories of several stores, by store, to be removed in one change.
    Delete(Vec<(StoreId, Vec<String>)>),
    /// A memory to be taken to another store.
    Move {
        store: StoreId,
        path: String,
        to: StoreId,
    },
    /// A recorded change to be taken back.
    Undo(String),
    /// A recorded change whose versions are to come back.
    Restore(String),
    /// The last change that stands, to be taken back; or the last that was, to be made again.
    Latest(UndoDirection),
}

/// A new memory of a kind that the store's layout has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewMemory {
    pub(crate) store: StoreId,
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// Which way the history is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoDirection {
    Undo,
    Redo,
}
