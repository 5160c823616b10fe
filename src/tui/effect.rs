//! What the app wants of the world, as data: the worker or the loop carries it out.

use std::path::PathBuf;

use crate::core::change::{Change, Wish};
use crate::core::log::LogFile;
use crate::core::unsaved::Unsaved;

/// Something to be done outside of the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Find the stores and read everything.
    Load,
    /// Look again at what changed.
    Refresh(Vec<PathBuf>),
    /// Read a text; a newer reading makes an older one pointless.
    Read {
        generation: u64,
        asker: Asker,
        target: Target,
    },
    /// Find something; a newer request makes an older one pointless.
    Find { generation: u64, text: String },
    /// Read a conversation; a newer wish of the same asker makes an older one pointless.
    Open { file: LogFile, asker: Asker },
    /// Look at the logs again.
    Relook,
    /// Read a text that is not for the preview.
    Fetch(Target),
    /// Plan a change.
    Plan {
        generation: u64,
        request: Box<Request>,
    },
    /// Make a planned change.
    Commit {
        request: Box<Request>,
        change: Box<Change>,
    },
    /// Plan a change and make it at once: it can be taken back as fast.
    Do(Box<Request>),
    /// Compose the text of a new memory.
    Compose(Box<Request>),
    /// Read the journal.
    Recall,
    /// Show what a recorded change did.
    Compare { id: String },
    /// Keep an unsaved text.
    Keep(Unsaved),
    /// Forget an unsaved text.
    Forget(Unsaved),
    /// Put a text on the clipboard.
    Copy(String),
    /// Lend the terminal to `$EDITOR` for a text.
    Lend(Unsaved),
    /// Stop, as Ctrl-Z does elsewhere.
    Suspend,
    /// End, and open the sample instead.
    Demo,
    /// End, having picked these lines.
    Pick(Vec<String>),
    /// End.
    Quit,
}

/// Who wants to read something: what one wants does not make pointless what another does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
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
    File { store: String, path: String },
    /// What the agent of a store gets to see at the start.
    Context { store: String },
}

/// A way to a planned change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// A wish of one store.
    Wish { store: String, wish: Wish },
    /// An edited text, which was begun on `base`; `None` for a new file.
    Save(Unsaved),
    /// Memories of several stores, by store, to be removed in one change.
    Delete(Vec<(String, Vec<String>)>),
    /// A memory to be taken to another store.
    Move {
        store: String,
        path: String,
        to: String,
    },
    /// A recorded change to be taken back.
    Undo(String),
    /// A recorded change whose versions are to come back.
    Restore(String),
    /// The last change that stands, to be taken back; or the last that was, to be made again.
    Again(Which),
    /// A new memory of a kind that the store's layout has.
    New {
        store: String,
        kind: String,
        name: String,
    },
}

/// Which way the history is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Undo,
    Redo,
}
