//! The worker threads.
//!
//! Each has a queue of jobs of its own type. The library worker reads and plans, the writer
//! changes stores and may wait for their locks, the unsaved worker keeps unsaved texts, the
//! corpus worker keeps the corpus of the logs up to date, the search worker searches, the
//! transcript worker reads transcripts, the why worker finds the sessions that wrote memories, the
//! curate worker checks the memories, and the timeline worker makes the timeline. Their results are
//! sent to the app as events. A panic in a worker is reported as [`Event::Panicked`]; the program
//! continues.

pub(crate) mod context;
pub(crate) mod corpus;
mod curate;
mod library;
pub(crate) mod meaning;
mod plan;
mod review;
pub(crate) mod search;
pub(crate) mod thread;
mod timeline;
mod unsaved;
mod why;
mod writer;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corpus::CorpusWorker;
use curate::CurateWorker;
use library::LibraryWorker;
use meaning::Meaning;
use search::SearchWorker;
use thread::{Queue, Worker, WorkerThread};
use timeline::TimelineWorker;
use unsaved::UnsavedWorker;
use why::WhyWorker;
use writer::{LockWait, Writer};

use super::effect::{Effect, LibraryJob, LogsJob, TranscriptJob, UnsavedJob};
use super::event::{Changes, Event, EventSender, ReviewCounts};
use super::{Clock, ContextSource, CurateSetup, StoreSource};
use crate::core::change::Author;
use crate::core::change::history::History;
use crate::core::disk::watch::{DirectoryWatcher, WatchEvent};
use crate::core::insight::ledger;
use crate::core::insight::timeline::{Timeline, directory, summarizer};
use crate::core::log::read;
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::config::Settings;
use crate::core::memory::library::Library;
use crate::core::memory::unsaved::UnsavedStore;

pub(crate) use unsaved::THREAD as UNSAVED_THREAD;

/// What the workers need from the caller.
pub(crate) struct WorkerContext<'a> {
    pub(crate) source: StoreSource,
    pub(crate) contexts: Arc<dyn ContextSource>,
    pub(crate) catalog: LogCatalog,
    pub(crate) curate: CurateSetup,
    pub(crate) history: History,
    pub(crate) unsaved: &'a Path,
    pub(crate) author: Author,
    pub(crate) clock: Clock,
    pub(crate) zone: jiff::tz::TimeZone,
    /// Whether unsaved texts of crashed processes are offered.
    pub(crate) offers: bool,
}

/// The handles of the workers, and flags shared with them.
pub(crate) struct Workers {
    library: WorkerThread<writer::LibraryMessage>,
    writer: WorkerThread<writer::Message>,
    unsaved: WorkerThread<UnsavedJob>,
    logs: WorkerThread<LogsJob>,
    search: WorkerThread<search::Job>,
    transcripts: WorkerThread<TranscriptJob>,
    why: WorkerThread<why::Message>,
    curate: WorkerThread<curate::Message>,
    timeline: WorkerThread<timeline::Job>,
    /// The generation of the newest search.
    newest: Arc<AtomicU64>,
    /// The generation of the newest check of the memories.
    newest_check: Arc<AtomicU64>,
    /// Whether the program is about to end.
    leaving: Arc<AtomicBool>,
    /// Whether the writer waits for a lock.
    waiting: Arc<AtomicBool>,
    /// How many jobs for the writer are not finished.
    unfinished: Arc<AtomicUsize>,
}

impl Workers {
    pub(crate) fn start(outside: WorkerContext<'_>, events: &EventSender) -> io::Result<Self> {
        let newest = Arc::new(AtomicU64::new(0));
        let newest_check = Arc::new(AtomicU64::new(0));
        let leaving = Arc::new(AtomicBool::new(false));
        let waiting = Arc::new(AtomicBool::new(false));
        let unfinished = Arc::new(AtomicUsize::new(0));
        let libraries = Queue::new();
        let writers = Queue::new();
        let unsaved = Queue::new();
        let logs = Queue::new();
        let searches = Queue::new();
        let whys = Queue::new();
        let checks = Queue::new();
        let timelines = Queue::new();
        let summarizer = summarizer(&outside.catalog.timeline);
        let empty_timeline = Timeline::empty(&directory(&outside.catalog.cache), summarizer)
            .of_scope(outside.catalog.scope_name(), &outside.catalog.timeline.zone);
        let model = &outside.catalog.timeline.model;
        let meaning = Meaning::new(model, &outside.catalog.cache, empty_timeline.clone());
        let watch = watch(events, Event::Changed);
        let curated_logs = outside.catalog.clone();
        let corpus_worker = CorpusWorker {
            catalog: outside.catalog,
            watch: self::watch(events, Event::LogsChanged),
            is_watching: false,
            search_worker: searches.sender(),
            why_worker: whys.sender(),
            // A pick shows no numbers of memories.
            curate_worker: outside.offers.then(|| checks.sender()),
            // A pick shows no tree, which needs the titles.
            timeline_worker: outside.offers.then(|| timelines.sender()),
            events: events.clone(),
            leaving: Arc::clone(&leaving),
            reported: Vec::new(),
            unwatched: Vec::new(),
            held_up: 0,
        };
        let lock_wait = LockWait {
            events: events.clone(),
            leaving: Arc::clone(&leaving),
            waiting: Arc::clone(&waiting),
        };
        let writer = Writer {
            history: lock_wait.observe(outside.history.clone()),
            author: outside.author,
            clock: outside.clock,
            library: Arc::default(),
            expected: watch.as_ref().map(DirectoryWatcher::expected),
            library_worker: libraries.sender(),
            events: events.clone(),
            lock_wait,
            review_counts: ReviewCounts::new(),
            changed_roots: Vec::new(),
            known_before: Vec::new(),
            unfinished: Arc::clone(&unfinished),
            data: outside.curate.environment.data.clone(),
            settings: match &outside.source {
                StoreSource::Discover { settings, .. } => (**settings).clone(),
                StoreSource::Named(_) => Settings::default(),
            },
            shared: HashMap::new(),
        };
        let git = outside.curate.git.clone();
        // A pick reads no ledger.
        let dating =
            (!outside.offers).then(|| (git.clone(), ledger::directory(&curated_logs.cache)));
        let curate_worker = CurateWorker {
            setup: outside.curate,
            catalog: curated_logs,
            history: outside.history.clone(),
            clock: outside.clock,
            library: Arc::default(),
            newest: Arc::clone(&newest_check),
            search_worker: searches.sender(),
            events: events.clone(),
            known_logs: None,
            contexts: Arc::clone(&outside.contexts),
            has_logs: false,
            counted: None,
        };
        let why_worker = WhyWorker {
            history: outside.history.clone(),
            clock: outside.clock,
            events: events.clone(),
            corpus: None,
            unknown: Vec::new(),
            cited: HashSet::new(),
            unfinished: None,
        };
        let worker = LibraryWorker {
            source: outside.source,
            contexts: outside.contexts,
            history: outside.history,
            git,
            clock: outside.clock,
            library: Arc::new(Library::default()),
            watch,
            unwatched: Vec::new(),
            events: events.clone(),
            writer: writers.sender(),
            unsaved: unsaved.sender(),
            corpus_worker: logs.sender(),
            search_worker: searches.sender(),
            why_worker: whys.sender(),
            curate_worker: checks.sender(),
            offers: outside.offers,
        };
        let keeper = UnsavedWorker {
            unsaved_store: UnsavedStore::open(outside.unsaved),
            events: events.clone(),
        };
        let (clock, zone) = (outside.clock, outside.zone);
        let mut search_worker = SearchWorker::new(events.clone(), clock, zone, Arc::clone(&newest));
        search_worker.meaning = Some(meaning);
        search_worker.git = dating;
        let transcript_worker = TranscriptWorker {
            events: events.clone(),
        };
        let timeline_worker = TimelineWorker::new(
            events.clone(),
            timelines.sender(),
            Arc::clone(&leaving),
            empty_timeline,
        );
        Ok(Self {
            library: libraries.start("library", worker)?,
            writer: writers.start("writer", writer)?,
            unsaved: unsaved.start(UNSAVED_THREAD, keeper)?,
            logs: logs.start("logs", corpus_worker)?,
            search: searches.start("search", search_worker)?,
            transcripts: Queue::new().start("transcripts", transcript_worker)?,
            why: whys.start("why", why_worker)?,
            curate: checks.start("curate", curate_worker)?,
            timeline: timelines.start("timeline", timeline_worker)?,
            newest,
            newest_check,
            leaving,
            waiting,
            unfinished,
        })
    }

    /// Gives the job of an effect to its worker. What is to be done at the terminal is the loop's.
    pub(crate) fn start_job(&self, effect: Effect) {
        match effect {
            Effect::Library(job) => self.read(job),
            Effect::Write(job) => {
                self.unfinished.fetch_add(1, Ordering::Relaxed);
                self.writer.send(writer::Message::Job(job));
            }
            Effect::Unsaved(job) => self.unsaved.send(job),
            Effect::Logs(job) => self.logs.send(job),
            Effect::Search(job) => {
                self.newest.store(job.generation, Ordering::Relaxed);
                self.search.send(search::Job::Find(job));
            }
            Effect::Transcript(job) => self.read_transcript(job),
            Effect::Why(job) => self.why.send(why::Message::Job(job)),
            Effect::Curate(job) => {
                self.newest_check.store(job.generation, Ordering::Relaxed);
                self.curate.send(curate::Message::Check(job));
            }
            Effect::Timeline(job) => self.timeline.send(timeline::Job::Asked(job)),
            Effect::Terminal(_) => {}
        }
    }

    pub(crate) fn read(&self, job: LibraryJob) {
        self.library.send(writer::LibraryMessage::Job(job));
    }

    pub(crate) fn read_transcript(&self, job: TranscriptJob) {
        self.transcripts.send(job);
    }

    /// Stops the workers. Returns whether every requested change was made or refused.
    pub(crate) fn finish(self) -> bool {
        self.leaving.store(true, Ordering::Relaxed);
        self.newest.store(u64::MAX, Ordering::Relaxed);
        self.newest_check.store(u64::MAX, Ordering::Relaxed);
        // Unsaved texts exist nowhere else, and no lock of this worker is held for long.
        self.unsaved.finish();
        // A change in progress is finished. One that waits for a lock has not begun.
        const A_CHANGE: Duration = Duration::from_secs(10);
        let until = Instant::now() + A_CHANGE;
        let is_waiting = || self.waiting.load(Ordering::Relaxed);
        // What it does without being asked, such as observing a large store, is done again later.
        let is_done = || self.unfinished.load(Ordering::Relaxed) == 0;
        let is_written = self.writer.stop(until, || is_waiting() || is_done()) || is_done();
        // The others leave no partial writes, and may be reading a long log: do not wait for it.
        const PATIENCE: Duration = Duration::from_millis(300);
        let until = Instant::now() + PATIENCE;
        self.library.stop(until, || false);
        self.logs.stop(until, || false);
        self.search.stop(until, || false);
        self.transcripts.stop(until, || false);
        self.why.stop(until, || false);
        self.curate.stop(until, || false);
        self.timeline.stop(until, || false);
        is_written
    }
}

/// Reads whole logs, so that a long one does not delay other work.
struct TranscriptWorker {
    events: EventSender,
}

impl Worker for TranscriptWorker {
    type Job = TranscriptJob;

    fn perform(&mut self, TranscriptJob { file, .. }: TranscriptJob) {
        let result = read(&file).map(Arc::new);
        self.events.send(Event::Opened { file, result });
    }

    fn supersedes(newer: &TranscriptJob, older: &TranscriptJob) -> bool {
        newer.requester == older.requester
    }
}

/// Starts a watcher without targets; `event` makes an event of the changed paths.
fn watch(events: &EventSender, event: fn(Changes) -> Event) -> Option<DirectoryWatcher> {
    let told = events.clone();
    let started = DirectoryWatcher::start(move |seen| {
        let event = match seen {
            WatchEvent::Changed(paths) => event(Changes::At(paths)),
            WatchEvent::Missed => event(Changes::Anywhere),
            WatchEvent::Failed(error) => Event::unwatched(&error),
        };
        told.send(event);
    });
    match started {
        Ok(watch) => Some(watch),
        Err(error) => {
            events.send(Event::unwatched(&error));
            None
        }
    }
}
