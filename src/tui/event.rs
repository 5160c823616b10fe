//! What happened: everything that can change what is shown.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::crossterm::event::Event as Input;

use super::action::Action;
use super::effect::{Request, Target};
use super::pane::browse::tree::Key;
use super::panics::PanicReport;
use super::worker::search::FindResults;
use crate::core::Error;
use crate::core::change::{Change, Edit};
use crate::core::corpus::BuildProgress;
use crate::core::history::Record;
use crate::core::library::{Library, LogGroup};
use crate::core::log::{LogFile, Transcript};
use crate::core::store::{Document, StoreId};
use crate::core::unsaved::Unsaved;

/// Something that happened, told to [`super::app::App::update`].
#[derive(Debug)]
pub(crate) enum Event {
    /// The loop woke up at this time, in milliseconds since 1970.
    Woke(i64),
    /// Keys, mouse, paste, focus and size, in order.
    Input(Vec<Input>),
    /// Everything was read; or read again, because something changed.
    Indexed(Arc<Library>),
    /// Files of stores changed outside.
    Changed(Changes),
    /// How far the reading of the logs has come; `None` when it is over.
    Reading(Option<BuildProgress>),
    /// The logs are here; or again, because something was said.
    LogsListed(Arc<Vec<LogGroup>>),
    /// Logs have changed, or what is cached of them is damaged.
    LogsChanged(Changes),
    /// What can be found is another than before.
    SearchSourcesChanged,
    /// Something was found; perhaps more is still looked for.
    Found { generation: u64, found: FindResults },
    /// A conversation that was asked for is here.
    Opened {
        file: LogFile,
        result: Result<Arc<Transcript>, Error>,
    },
    /// A text that was asked for is here.
    Read {
        generation: u64,
        target: Target,
        result: Result<Document, Error>,
    },
    /// A text that was fetched for a purpose of its own.
    Fetched {
        target: Target,
        result: Result<Document, Error>,
    },
    /// A change was planned, or cannot be.
    Planned {
        generation: u64,
        request: Box<Request>,
        result: Result<Change, Error>,
        /// What else is worth knowing before it is made.
        notes: Vec<String>,
    },
    /// A change that was reviewed would be another one by now, and was not made.
    Outdated {
        request: Box<Request>,
        change: Change,
        notes: Vec<String>,
    },
    /// A change was made, or not; `None` when nothing was different.
    Committed {
        request: Box<Request>,
        result: Result<Option<Record>, Error>,
    },
    /// A change waits for a store that `holder` is changing.
    Waiting { holder: String, seconds: u64 },
    /// It waits no longer.
    WaitingOver,
    /// The journal, newest first.
    HistoryLoaded(Vec<Record>),
    /// What a recorded change did.
    Compared {
        id: String,
        result: Result<Vec<Edit>, Error>,
    },
    /// The text of a new memory, to be edited before it is one.
    Composed(Result<NewMemoryText, Error>),
    /// Another program gave a text back.
    EditedOutside {
        subject: Unsaved,
        result: Result<String, String>,
    },
    /// A person settled two versions of a text.
    Resolved(Unsaved),
    /// The editor was left with a text that is not saved.
    EditorLeft(Unsaved),
    /// Something wants to be shown in the tree, from this line of its file on; then, if it is
    /// there, something is to be done with it.
    Reveal {
        key: Key,
        line: Option<usize>,
        then: Option<Action>,
    },
    /// Memories were marked elsewhere.
    Marked(Vec<Key>),
    /// Texts that a process left behind which died.
    Abandoned(Vec<Unsaved>),
    /// Something went wrong that no other event tells.
    Failed(String),
    /// A thread of ours panicked.
    Panicked(PanicReport),
    /// A toast has been up long enough.
    ToastExpired,
    /// The system wants the program to stop for a while.
    Stopped,
    /// The terminal is ours again after a stop.
    Resumed,
    /// The system wants the program to end.
    Terminated,
}

/// Where something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changes {
    /// At these paths.
    At(Vec<PathBuf>),
    /// Nobody knows where.
    Anywhere,
}

/// A memory that is not on the disk yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewMemoryText {
    pub(crate) store: StoreId,
    pub(crate) path: String,
    pub(crate) text: String,
}
