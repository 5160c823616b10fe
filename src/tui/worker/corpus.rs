//! The corpus worker: finds the logs, keeps the corpus up to date, and watches for new messages.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::thread::{JobSender, Worker};
use super::{curate, search, timeline, why};
use crate::core::disk::watch::{DirectoryWatcher, WatchDepth};
use crate::core::insight::sessions::log_summaries;
use crate::core::log::LogFile;
use crate::core::log::keep::keep_session;
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::library::{Library, LogGroup};
use crate::core::search::index::{BuildProgress, Progress, ReadResults};
use crate::core::search::{ScopedCorpus, read_corpus};
use crate::core::{Error, Result};
use crate::tui::effect::LogsJob;
use crate::tui::event::{Event, EventSender};

/// Finds and reads the logs.
pub(crate) struct CorpusWorker {
    pub(crate) catalog: LogCatalog,
    pub(crate) watch: Option<DirectoryWatcher>,
    /// Whether the directories of the logs are watched.
    pub(crate) is_watching: bool,
    pub(crate) search_worker: JobSender<search::Job>,
    pub(super) why_worker: JobSender<why::Message>,
    /// `None` where no numbers of memories are shown.
    pub(super) curate_worker: Option<JobSender<curate::Message>>,
    /// `None` where no timeline is shown.
    pub(crate) timeline_worker: Option<JobSender<timeline::Job>>,
    pub(crate) events: EventSender,
    /// Set when the program is about to end.
    pub(crate) leaving: Arc<AtomicBool>,
    /// The errors of the last refresh, which have been reported.
    pub(crate) reported: Vec<String>,
    /// The directories that cannot be watched, which have been reported.
    pub(crate) unwatched: Vec<String>,
    /// How many refreshes in a row another process has held up.
    pub(crate) held_up: u8,
}

/// How many refreshes in a row may be held up: each waits for a while.
const MOST_HELD_UP: u8 = 10;

impl CorpusWorker {
    fn refresh(&mut self) {
        let mut files = self.catalog.files();
        // Before they are read: what is written meanwhile is read again. What came into a folder
        // before that was watched is not told.
        if self.is_watching && self.watch_logs(&files) {
            files = self.catalog.files();
        }
        let meter = ProgressReporter {
            events: self.events.clone(),
            leaving: Arc::clone(&self.leaving),
            last: Mutex::new(Instant::now()),
            whole: AtomicU64::new(0),
            is_half_done: AtomicBool::new(false),
        };
        // What has been read so far is shown and found meanwhile, the newest logs first. Each slice
        // is twice as long, so that to begin again costs little.
        let mut slice = FIRST_SLICE;
        let without_results = loop {
            let until = Instant::now() + slice;
            let sliced = TimeSlice {
                meter: &meter,
                until,
            };
            let read = self.read_logs(&files, ReadResults::Later, &sliced);
            let is_whole = !matches!(&read, Ok((scoped, _)) if scoped.left > 0);
            if meter.is_cancelled() || is_whole && self.is_watching {
                break read;
            }
            if let Ok((scoped, logs)) = read {
                self.events.send(Event::LogsListed(Arc::new(logs)));
                let corpus = Arc::new(scoped.corpus);
                self.search_worker.send(search::Job::Logs(corpus));
            }
            slice *= 2;
            if !self.is_watching {
                // This takes a while, so that the first logs are shown before it. What was written
                // before it begins is seen by listing them again.
                self.watch_logs(&files);
                self.is_watching = true;
                files = self.catalog.files();
            }
        };
        let read = match without_results {
            // What was said can be found while the results, which are most of the text, are read.
            Ok((scoped, logs)) if scoped.corpus.logs_without_results() > 0 => {
                self.events.send(Event::LogsListed(Arc::new(logs)));
                let corpus = Arc::new(scoped.corpus);
                if let Some(worker) = &self.timeline_worker {
                    worker.send(timeline::Job::Conversations(Arc::clone(&corpus)));
                }
                self.search_worker.send(search::Job::Logs(corpus));
                meter.is_half_done.store(true, Ordering::Relaxed);
                self.read_logs(&files, ReadResults::Now, &meter)
            }
            all => all,
        };
        self.events.send(Event::Reading(None));
        let mut is_held_up = false;
        match read {
            Ok((ScopedCorpus { corpus, unread, .. }, logs)) => {
                is_held_up = corpus.is_held_up();
                // The same errors are reported once, however often the logs are read.
                if self.reported != unread {
                    unread.first().into_iter().for_each(|error| {
                        self.events.send(Event::Failed(error.clone()));
                    });
                    self.reported = unread;
                }
                self.events.send(Event::LogsListed(Arc::new(logs)));
                let corpus = Arc::new(corpus);
                let logs = why::Message::Logs(Arc::clone(&corpus));
                self.why_worker.send(logs);
                if let Some(worker) = &self.curate_worker {
                    worker.send(curate::Message::Logs);
                }
                if let Some(worker) = &self.timeline_worker {
                    worker.send(timeline::Job::Logs(Arc::clone(&corpus)));
                }
                self.search_worker.send(search::Job::Logs(corpus));
            }
            Err(error) => self.events.fail(&error),
        }
        // Nothing tells when another process has read them.
        self.held_up = if is_held_up { self.held_up + 1 } else { 0 };
        if (1..MOST_HELD_UP).contains(&self.held_up) && !self.leaving.load(Ordering::Relaxed) {
            self.refresh();
        }
    }

    /// Reads the logs as far as `progress` allows, and lists those that were read.
    fn read_logs(
        &self,
        files: &[LogFile],
        results: ReadResults,
        progress: &dyn Progress,
    ) -> Result<(ScopedCorpus, Vec<LogGroup>)> {
        read_corpus(
            || self.catalog.scoped_corpus(files, results, progress),
            |scoped| Library::group_logs(log_summaries(&scoped.corpus, files)),
        )
    }

    /// Copies a session to the folder of kept logs. Returns whether it was not there.
    fn keep(&self, log: &LogFile) -> Result<bool> {
        let Some(kept) = &self.catalog.kept else {
            let why = "logs are not kept while only the stores that were named are shown";
            return Err(Error::refused(&log.id, why));
        };
        let mut copies = Vec::new();
        keep_session(kept, log, &self.catalog.files(), &mut copies)?;
        Ok(!copies.is_empty())
    }

    /// Watches the directories of the logs, where new ones may appear; returns whether there are
    /// others than before.
    fn watch_logs(&mut self, files: &[LogFile]) -> bool {
        let Some(watch) = &mut self.watch else {
            return false;
        };
        let mut folders: Vec<(PathBuf, WatchDepth)> = self
            .catalog
            .locations
            .roots()
            .into_iter()
            .map(|root| (root, WatchDepth::All))
            .collect();
        // Reading a database writes files beside it, which would trigger another read.
        let files = files.iter().filter(|file| !file.is_in_database());
        for file in files {
            let known = |folder: &&(PathBuf, WatchDepth)| match folder.1 {
                WatchDepth::All => file.path.starts_with(&folder.0),
                WatchDepth::Surface => file.path.parent() == Some(&folder.0),
            };
            if !folders.iter().any(|folder| known(&folder))
                && let Some(parent) = file.path.parent()
            {
                folders.push((parent.to_owned(), WatchDepth::Surface));
            }
        }
        let before = watch.watched();
        // An agent that is new here makes its folder with its first log.
        let failed = watch.await_targets(folders);
        let is_new = watch.watched() != before;
        self.events.tell_unwatched(&failed, &mut self.unwatched);
        is_new
    }
}

impl Worker for CorpusWorker {
    type Job = LogsJob;

    fn perform(&mut self, job: LogsJob) {
        if self.leaving.load(Ordering::Relaxed) {
            return;
        }
        match job {
            LogsJob::Discover(stores) => self.catalog.locations.stores = stores,
            LogsJob::Scope(scope) => {
                self.catalog.scope = scope;
                return;
            }
            LogsJob::Keep(log) => return self.events.send(Event::Kept(self.keep(&log))),
            LogsJob::Refresh => {}
        }
        self.refresh();
    }

    fn supersedes(newer: &LogsJob, older: &LogsJob) -> bool {
        matches!(
            (newer, older),
            (
                LogsJob::Discover(_),
                LogsJob::Discover(_) | LogsJob::Refresh
            ) | (LogsJob::Refresh, LogsJob::Refresh)
        )
    }
}

/// How long logs are read before the first of them are shown.
const FIRST_SLICE: Duration = Duration::from_millis(25);

/// Reports the progress of the reading to the app.
struct ProgressReporter {
    events: EventSender,
    leaving: Arc<AtomicBool>,
    /// The time of the last report, at first that of the start: short work is not reported.
    last: Mutex<Instant>,
    /// The bytes that were to be read at first.
    whole: AtomicU64,
    /// Whether what was said has been read; the results are the other half.
    is_half_done: AtomicBool,
}

impl Progress for ProgressReporter {
    fn advance(&self, mut tally: BuildProgress) {
        const EVERY: Duration = Duration::from_millis(100);
        let whole = self.whole.fetch_max(tally.bytes, Ordering::Relaxed);
        tally.bytes_done += whole.saturating_sub(tally.bytes);
        tally.bytes = tally.bytes.max(whole);
        if self.is_half_done.load(Ordering::Relaxed) {
            tally.bytes_done += tally.bytes;
        }
        tally.bytes *= 2;
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            self.events.send(Event::Reading(Some(tally)));
        }
    }

    fn is_cancelled(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }
}

/// The reading until a time, after which it is cancelled.
struct TimeSlice<'a> {
    meter: &'a ProgressReporter,
    until: Instant,
}

impl Progress for TimeSlice<'_> {
    fn advance(&self, tally: BuildProgress) {
        self.meter.advance(tally);
    }

    fn is_cancelled(&self) -> bool {
        self.meter.is_cancelled() || Instant::now() >= self.until
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::thread::Queue;
    use super::*;
    use crate::core::log::LogLocations;
    use crate::core::memory::catalog::LogScope;
    use crate::core::memory::config::TimelineSettings;

    #[test]
    fn what_was_said_and_the_results_are_one_progress() {
        let (events, received) = EventSender::new();
        let reporter = ProgressReporter {
            events,
            leaving: Arc::default(),
            last: Mutex::new(Instant::now()),
            whole: AtomicU64::new(0),
            is_half_done: AtomicBool::new(false),
        };
        let percent = |bytes: u64, bytes_done: u64| {
            *reporter.last.lock().expect("a time") -= Duration::from_secs(1);
            reporter.advance(BuildProgress {
                bytes,
                bytes_done,
                ..BuildProgress::default()
            });
            match received.try_recv() {
                Ok(Event::Reading(Some(tally))) => tally.bytes_done * 100 / tally.bytes,
                _ => panic!("it is reported"),
            }
        };
        assert_eq!((percent(100, 10), percent(60, 50)), (5, 45));
        reporter.is_half_done.store(true, Ordering::Relaxed);
        assert_eq!((percent(80, 10), percent(80, 80)), (65, 100));
    }

    #[test]
    fn a_log_that_another_process_kept_from_being_read_is_read_once_that_is_done() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let folder = home.path().join(".claude/projects/-p");
        fs::create_dir_all(&folder).expect("folders");
        let write = |id: &str| {
            let record = serde_json::json!({
                "type": "user", "uuid": id, "cwd": "/p", "sessionId": id,
                "message": { "role": "user", "content": "hello there" },
            });
            let log = folder.join(format!("{id}.jsonl"));
            fs::write(log, format!("{record}\n")).expect("a log");
        };
        let cache = home.path().join("cache");
        let (events, received) = EventSender::new();
        let mut worker = CorpusWorker {
            catalog: LogCatalog {
                locations: LogLocations::of_home(home.path()),
                kept: None,
                cache: cache.clone(),
                scope: LogScope::All,
                timeline: TimelineSettings::default(),
            },
            watch: None,
            is_watching: true,
            search_worker: Queue::new().sender(),
            why_worker: Queue::new().sender(),
            curate_worker: None,
            timeline_worker: None,
            events,
            leaving: Arc::default(),
            reported: Vec::new(),
            unwatched: Vec::new(),
            held_up: 0,
        };
        let mut listed = || {
            worker.perform(LogsJob::Refresh);
            let logs = received.try_iter().filter_map(|event| match event {
                Event::LogsListed(logs) => Some(logs.iter().map(|group| group.logs.len()).sum()),
                _ => None,
            });
            logs.last()
        };
        write("11111111-1111-1111-1111-111111111111");
        assert_eq!(listed(), Some(1_usize));
        write("22222222-2222-2222-2222-222222222222");
        let lock = fs::File::open(cache.join("lock")).expect("there");
        lock.lock().expect("locked");
        let other = std::thread::spawn(move || {
            // Longer than a refresh waits.
            std::thread::sleep(Duration::from_millis(800));
            drop(lock);
        });
        assert_eq!(listed(), Some(2));
        other.join().expect("ends");
    }
}
