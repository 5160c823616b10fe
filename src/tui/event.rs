//! The events: everything that can change the screen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use ratatui::crossterm::event::Event as Input;

use super::action::Action;
use super::effect::{Request, ReviewJob, SaveKind, Target, WaiveJob, WhyJob};
use super::pane::browse::tree::Key;
use super::panics::PanicReport;
use super::widget::editor::EditorState;
use super::widget::emphasis::MarkedWords;
use crate::core::Error;
use crate::core::change::history::Record;
use crate::core::change::{Change, Edit};
use crate::core::insight::context::AgentContext;
use crate::core::insight::curate::Finding;
use crate::core::insight::curate::waiver::Waiver;
use crate::core::insight::ledger::Ledger;
use crate::core::insight::promote::Proposal;
use crate::core::insight::rehome::FormerHome;
use crate::core::insight::review::{Attributions, Item, LineSource};
use crate::core::insight::timeline::Node;
use crate::core::insight::timeline::grip::{Grip, GripState};
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::outline::Outline;
use crate::core::log::{LogFile, Role, Transcript};
use crate::core::memory::library::{Library, LogGroup};
use crate::core::memory::store::{Document, StoreId};
use crate::core::memory::unsaved::Unsaved;
use crate::core::search::index::BuildProgress;
use crate::tui::model::{FindResults, MergeTask};

/// An event, handled by [`super::app::App::update`].
#[derive(Debug)]
pub(crate) enum Event {
    /// The loop woke up at this time, in milliseconds since 1970.
    Woke(i64),
    /// Keys, mouse, paste, focus and size, in order.
    Input(Vec<Input>),
    /// The stores were read, for the first time or again after a change.
    Indexed(Arc<Library>),
    /// Files of stores were changed by another program.
    Changed(Changes),
    /// The progress of reading the logs; `None` when it is finished.
    Reading(Option<BuildProgress>),
    /// The logs were listed, for the first time or again after a change.
    LogsListed(Arc<Vec<LogGroup>>),
    /// Logs have changed, or their cache is damaged.
    LogsChanged(Changes),
    /// The searched memories or logs have changed, so results may be out of date.
    SearchSourcesChanged,
    /// Results of a search, which may still be running.
    Found {
        generation: u64,
        found: Arc<FindResults>,
    },
    /// A requested transcript.
    Opened {
        file: LogFile,
        result: Result<Arc<Transcript>, Error>,
    },
    /// A requested text.
    Read {
        generation: u64,
        target: Target,
        result: Result<Document, Error>,
    },
    /// A file that is to be edited from this line on.
    Fetched {
        store: StoreId,
        line: usize,
        result: Result<Document, Error>,
    },
    /// A change was planned, or planning failed.
    Planned {
        generation: u64,
        request: Box<Request>,
        result: Result<Change, Error>,
        /// Consequences that the diff does not show.
        notes: Vec<String>,
    },
    /// A reviewed change was not made because its files have changed; `change` is the new plan.
    Outdated {
        request: Box<Request>,
        change: Change,
        notes: Vec<String>,
    },
    /// A change was made, or failed; `None` if it would change nothing.
    Committed {
        request: Box<Request>,
        result: Result<Option<Record>, Error>,
    },
    /// A change waits for a lock that `holder` has.
    Waiting {
        holder: String,
        seconds: u64,
    },
    WaitingOver,
    /// The recorded changes, newest first.
    HistoryLoaded(Vec<Record>),
    /// The edits of a recorded change.
    Compared {
        id: String,
        result: Result<Vec<Edit>, Error>,
    },
    /// The number of files that wait for review has changed, or what waits in them.
    ReviewCounted(ReviewCounts),
    /// What waits for review, store by store, how many memories were there before tome, and what
    /// is proposed and left alone, in lines.
    QueueLoaded {
        waiting: Vec<(StoreId, Vec<Item>)>,
        here_before: usize,
        left_alone: Vec<String>,
    },
    /// The sessions that wrote items of the queue, as the logs show them, and the user's words before
    /// the messages, by their citations.
    Attributed {
        found: Attributions,
        words: HashMap<String, String>,
    },
    /// What brought each line of a file in.
    Explained {
        job: WhyJob,
        result: Result<ExplainedText, Error>,
    },
    /// A request to show a message of an open log.
    ShowMessage {
        log: LogFile,
        line: u64,
    },
    /// A decision about what waits for review was carried out for so many files, or failed.
    Reviewed {
        job: ReviewJob,
        result: Result<usize, Error>,
    },
    /// How the memories were used was counted.
    Counted(Arc<Ledger>),
    /// A check of the memories made progress.
    Curated {
        generation: u64,
        step: CurateStep,
    },
    /// Findings were waived, or waivers were taken back, or that failed.
    Waived {
        job: WaiveJob,
        result: Result<Vec<Option<Waiver>>, Error>,
    },
    /// A session was copied to where its agent does not delete it; whether it was not before.
    Kept(Result<bool, Error>),
    /// A store is shared with other machines now, or no longer, or that failed.
    Shared {
        store: String,
        result: Result<bool, Error>,
    },
    /// The stores that are shared with other machines, and how many files of each are held back.
    SharedStores(HashMap<StoreId, usize>),
    /// The memories that the project has below other paths, and the directory where they are read.
    FormerHomes(Option<(PathBuf, Vec<FormerHome>)>),
    /// The texts of memories that are to become one.
    Gathered(Result<MergeTask, Error>),
    /// What an agent loads, or would load with the draft of a file.
    ContextRead {
        draft: Option<PathBuf>,
        result: Result<Arc<AgentContext>, Error>,
    },
    /// The file of a piece, to be edited, or why tome does not edit it.
    PieceRead {
        context: Arc<AgentContext>,
        at: usize,
        result: Result<Unsaved, String>,
    },
    /// The text of a new memory, to be edited before it is saved.
    Composed(Result<NewMemoryText, Error>),
    /// A text was edited in `$EDITOR`.
    EditedOutside {
        subject: Unsaved,
        /// What the editor left in the file; `None` if it did not run.
        written: Option<String>,
        /// Why the editor failed, if it did.
        trouble: Option<String>,
    },
    /// A text was copied to the clipboard through a program or the terminal.
    Copied {
        text: String,
        by: String,
    },
    /// No program could copy a text.
    NotCopied(String),
    /// The agent that went on with a session has ended.
    ResumeEnded {
        program: String,
        /// Why it failed, if it did.
        trouble: Option<String>,
    },
    /// The user resolved a conflict between two versions of a text.
    Resolved(Unsaved),
    /// The editor was closed with an unsaved text.
    EditorLeft(LeftText),
    /// The editor was closed at a line, counted from 0, of a file that is as it showed it.
    EditorClosed {
        target: Target,
        line: usize,
    },
    /// A request to show an entry in the tree, from this line of its file on, and then to run an
    /// action on it if it exists.
    Reveal {
        key: Key,
        line: Option<usize>,
        then: Option<Action>,
    },
    /// A request to read a memory in the tree, from this line of its file on. Leaving it comes back
    /// to the pane that was set aside for it.
    OpenFound {
        key: Key,
        line: Option<usize>,
        /// What was found, to be marked.
        words: MarkedWords,
    },
    /// The timeline was made, or has changed; `left` logs are still to be summarized.
    TimelineMade {
        outline: Arc<Outline>,
        left: usize,
    },
    SessionSummarized(Arc<Node>),
    GripExpanded(Arc<GripText>),
    /// A memory is proposed for lines of logs, or they cannot be read.
    Proposed(Result<Box<Proposal>, Error>),
    /// A request to show a node of the timeline.
    GoTo(NodeId),
    /// A query was used, and is remembered.
    Queried(String),
    /// Memories were marked in another pane.
    Marked(Vec<Key>),
    /// Unsaved texts that a crashed process left.
    Abandoned(Vec<Unsaved>),
    /// An error that no other event reports.
    Failed(String),
    Panicked(PanicReport),
    ToastExpired,
    /// The process is to be suspended.
    Stopped,
    Resumed,
    /// The process is to end.
    Terminated,
}

impl Event {
    pub(crate) fn unwatched(error: &Error) -> Self {
        Self::Failed(format!("changes outside are not seen: {error}"))
    }
}

/// Sends events to the loop.
#[derive(Debug, Clone)]
pub(crate) struct EventSender(Sender<Event>);

impl EventSender {
    /// Returns it with what the loop receives.
    pub(crate) fn new() -> (Self, Receiver<Event>) {
        let (events, inbox) = mpsc::channel();
        (Self(events), inbox)
    }

    /// Sends an event. The receiver is gone when the program is about to end.
    pub(crate) fn send(&self, event: Event) {
        drop(self.0.send(event));
    }

    pub(crate) fn fail(&self, error: &Error) {
        self.send(Event::Failed(error.to_string()));
    }

    /// Reports the directories that cannot be watched, once.
    pub(crate) fn tell_unwatched(&self, errors: &[Error], known: &mut Vec<String>) {
        let failures: Vec<String> = errors.iter().map(ToString::to_string).collect();
        if let Some(first) = errors.first().filter(|_| *known != failures) {
            self.send(Event::unwatched(first));
        }
        *known = failures;
    }
}

/// A part of a check of the memories.
#[derive(Debug)]
pub(crate) enum CurateStep {
    /// What one rule found, and how many of how many rules are done.
    Found {
        findings: Vec<(StoreId, Finding)>,
        done: usize,
        of: usize,
    },
    /// All rules are done, or reading the memories failed.
    Finished(Result<(), Error>),
}

/// What waits for review in each store; stores without anything are left out.
pub(crate) type ReviewCounts = BTreeMap<StoreId, WaitingFiles>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WaitingFiles {
    /// How many there are, proposed ones included.
    pub(crate) count: usize,
    /// Those that are there.
    pub(crate) paths: BTreeSet<String>,
}

/// A text with what brought each of its lines in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExplainedText {
    pub(crate) lines: Vec<(String, Option<Arc<LineSource>>)>,
    /// Whether the logs were read: otherwise another answer follows.
    pub(crate) has_logs: bool,
}

/// A grip with the messages of its log around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GripText {
    pub(crate) grip: Grip,
    pub(crate) state: GripState,
    pub(crate) before: Vec<GripMessage>,
    pub(crate) excerpt: Vec<GripMessage>,
    pub(crate) after: Vec<GripMessage>,
}

/// A message beside a grip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GripMessage {
    pub(crate) line: u64,
    /// In milliseconds since 1970.
    pub(crate) time: i64,
    pub(crate) role: Role,
    pub(crate) tool: Option<String>,
    /// The text, without secrets.
    pub(crate) text: String,
    /// How many tools were called behind it.
    pub(crate) calls: usize,
}

/// An unsaved text whose editor was closed.
#[derive(Debug, Clone)]
pub(crate) struct LeftText {
    pub(crate) text: Unsaved,
    /// Its undo steps and its cursor; `None` if it comes from another process.
    pub(crate) state: Option<EditorState>,
    /// What saving it does to other memories.
    pub(crate) kind: SaveKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changes {
    At(Vec<PathBuf>),
    /// Unknown paths: events were lost.
    Anywhere,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewMemoryText {
    pub(crate) store: StoreId,
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) lessons: Vec<String>,
}
