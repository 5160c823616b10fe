//! The writer: the worker that changes stores. Only it waits for the locks of stores, so that
//! reading, typing and quitting never do.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::plan::Planner;
use super::thread::{JobSender, Worker};
use crate::core::Result;
use crate::core::change::history::{History, Record, Wait};
use crate::core::change::{
    Author, Change, Reviewed, commit_reviewed, interrupted, plan_and_commit, recover_interrupted,
};
use crate::core::disk::watch::Expected;
use crate::core::insight::curate::waiver::{self, Waiver};
use crate::core::insight::sync::{shared_among, toggle};
use crate::core::memory::config::Settings;
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::tui::Clock;
use crate::tui::effect::{LibraryJob, Request, WaiveJob, WriteJob};
use crate::tui::event::{Event, EventSender, ReviewCounts};

/// How long a lock is waited for. It can be long because only the writer waits.
const LIMIT: Duration = Duration::from_secs(60);

/// Reports the waiting to the app, and ends it when the program ends.
#[derive(Clone)]
pub(super) struct LockWait {
    pub(super) events: EventSender,
    /// Whether the program is about to end.
    pub(super) leaving: Arc<AtomicBool>,
    pub(super) waiting: Arc<AtomicBool>,
}

impl LockWait {
    /// Returns the history with an observer that reports waits and stops at the end of the program.
    pub(super) fn observe(&self, history: History) -> History {
        let own = self.clone();
        history
            .with_limit(LIMIT)
            .with_wait_observer(Arc::new(move |wait| own.report(wait)))
    }

    /// Reports the lock holder and the time waited so far.
    fn report(&self, wait: &Wait) -> ControlFlow<()> {
        if self.leaving.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.waiting.store(true, Ordering::Relaxed);
        let holder = wait.holder.as_ref().map(ToString::to_string);
        self.events.send(Event::Waiting {
            holder: holder.unwrap_or_else(|| "another process".to_owned()),
            seconds: wait.waited.as_secs(),
        });
        ControlFlow::Continue(())
    }

    /// Reports the end of the waiting, if there was any.
    pub(super) fn end(&self) {
        if self.waiting.swap(false, Ordering::Relaxed) {
            self.events.send(Event::WaitingOver);
        }
    }
}

/// The worker that changes stores.
pub(super) struct Writer {
    pub(super) history: History,
    pub(super) author: Author,
    pub(super) clock: Clock,
    pub(super) library: Arc<Library>,
    /// The revisions that tome wrote, which the watcher ignores; `None` without a watcher.
    pub(super) expected: Option<Expected>,
    pub(super) library_worker: JobSender<LibraryMessage>,
    pub(super) events: EventSender,
    pub(super) lock_wait: LockWait,
    /// How many files wait for review, as it was reported last.
    pub(super) review_counts: ReviewCounts,
    /// The directories that were changed in this run, of stores and others.
    pub(super) changed_roots: Vec<PathBuf>,
    /// The stores whose files were accepted as here before tome last, and how many those were.
    pub(super) known_before: Vec<(StoreId, usize)>,
    /// How many jobs of the app are not finished.
    pub(super) unfinished: Arc<AtomicUsize>,
    /// The directory of the waivers and of sync.
    pub(super) data: PathBuf,
    /// Which stores are shared, as far as the settings say.
    pub(super) settings: Settings,
    /// The stores that are shared, and how much is held back, as it was reported last.
    pub(super) shared: HashMap<StoreId, usize>,
}

#[derive(Debug)]
pub(super) enum Message {
    /// A job of the app.
    Job(WriteJob),
    /// The current stores.
    Stores(Arc<Library>),
    /// What other machines sent, and waits, has changed.
    Incoming,
    /// Undo changes to the stores that a crashed process left unfinished.
    Settle,
}

/// A message to the library worker, which reads what was written.
#[derive(Debug)]
pub(super) enum LibraryMessage {
    /// A job of the app.
    Job(LibraryJob),
    /// The writer made a change.
    Written {
        request: Box<Request>,
        record: Box<Record>,
    },
}

/// Counts a job as finished when it is dropped, also by a panic.
struct FinishedJob(Arc<AtomicUsize>);

impl Drop for FinishedJob {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Worker for Writer {
    type Job = Message;

    fn perform(&mut self, message: Message) {
        match message {
            Message::Job(job) => {
                let _finished = FinishedJob(Arc::clone(&self.unfinished));
                self.run_job(job);
            }
            Message::Stores(library) => self.take_stores(library),
            Message::Incoming => self.take_incoming(),
            Message::Settle => {
                self.settle();
                self.lock_wait.end();
            }
        }
    }

    fn supersedes(newer: &Message, older: &Message) -> bool {
        matches!(
            (newer, older),
            (Message::Stores(_), Message::Stores(_)) | (Message::Settle, Message::Settle)
        )
    }

    /// Undoes a change that the panic interrupted.
    fn after_panic(&mut self) {
        self.settle();
        self.lock_wait.end();
    }
}

impl Writer {
    fn run_job(&mut self, job: WriteJob) {
        match job {
            WriteJob::Commit { request, change } => {
                let result = self.write_reviewed(&request, &change);
                self.lock_wait.end();
                match result {
                    Ok(Reviewed::Made(made)) => self.report(request, Ok(made.record)),
                    Ok(Reviewed::Outdated(change)) => self.report_outdated(request, change),
                    Err(error) => self.report(request, Err(error)),
                }
            }
            WriteJob::Do(request) => {
                let result = self.write(&request);
                self.lock_wait.end();
                // Undoing an acceptance changes no file, so nothing else counts again.
                self.count_again();
                self.report(request, result);
            }
            WriteJob::Waive(job) => {
                let result = self.waive(&job);
                self.events.send(Event::Waived { job, result });
            }
            WriteJob::Share(id) => {
                if let Some(snapshot) = self.library.store_by_id(&id) {
                    let store = snapshot.store.name().to_owned();
                    let result = toggle(&self.sync_dir(), &self.settings, &snapshot.store);
                    self.report_shared();
                    self.events.send(Event::Shared { store, result });
                }
            }
            WriteJob::Review(job) => {
                let result = self.review(&job);
                self.lock_wait.end();
                self.events.send(Event::Reviewed { job, result });
            }
        }
    }

    fn sync_dir(&self) -> PathBuf {
        self.data.join("sync")
    }

    /// Reports which stores are shared with other machines, if that has changed.
    pub(super) fn report_shared(&mut self) {
        let stores = self.library.stores.iter().map(|snapshot| &snapshot.store);
        // Which they are only marks their rows; sync tells what is wrong with its state.
        let shared = shared_among(&self.sync_dir(), &self.settings, stores.map(AsRef::as_ref));
        let shared = shared.unwrap_or_default();
        if shared != self.shared {
            self.shared.clone_from(&shared);
            self.events.send(Event::SharedStores(shared));
        }
    }

    /// Waives findings, or takes that back; returns the waiver of each that holds now.
    fn waive(&self, job: &WaiveJob) -> Result<Vec<Option<Waiver>>> {
        let today = (self.clock)().today;
        for finding in &job.findings {
            waiver::record(
                &self.data,
                finding,
                &self.author,
                today,
                job.words.as_deref(),
            )?;
        }
        let mut findings = job.findings.clone();
        waiver::apply(&mut findings, &waiver::read(&self.data)?);
        Ok(findings.into_iter().map(|finding| finding.waived).collect())
    }

    pub(super) fn planner(&self) -> Planner<'_> {
        Planner {
            library: &self.library,
            history: &self.history,
            moment: (self.clock)(),
            changed_roots: &self.changed_roots,
        }
    }

    /// Plans a request and makes the change.
    fn write(&self, request: &Request) -> Result<Option<Record>> {
        let planner = self.planner();
        // The first plan shows which stores to lock.
        let first = planner.plan(request)?;
        let roots = first.roots();
        let (author, moment) = (&self.author, &planner.moment);
        let made = plan_and_commit(&self.history, &roots, author, moment, || {
            planner.plan(request)
        });
        self.lock_wait.end();
        Ok(made?.record)
    }

    fn write_reviewed(&self, request: &Request, reviewed: &Change) -> Result<Reviewed> {
        let planner = self.planner();
        let (author, moment) = (&self.author, &planner.moment);
        let outcome = commit_reviewed(&self.history, reviewed, author, moment, || {
            planner.plan_again(request, reviewed)
        });
        self.lock_wait.end();
        outcome
    }

    /// Reports the result of a request. A committed change goes to the library worker, which reads
    /// the changed files before it reports the commit.
    fn report(&mut self, request: Box<Request>, result: Result<Option<Record>>) {
        match result {
            Ok(Some(record)) => {
                if let Some(expected) = &self.expected {
                    expected.add(record.written());
                }
                for root in record.roots() {
                    if !self.changed_roots.iter().any(|known| known == root) {
                        self.changed_roots.push(root.to_owned());
                    }
                }
                let record = Box::new(record);
                self.library_worker
                    .send(LibraryMessage::Written { request, record });
            }
            result => self.events.send(Event::Committed { request, result }),
        }
    }

    fn report_outdated(&self, request: Box<Request>, change: Change) {
        let notes = self.planner().notes(&request, Some(&change));
        self.events.send(Event::Outdated {
            request,
            change,
            notes,
        });
    }

    /// Undoes changes that a crashed process left unfinished, and reports if that fails.
    fn settle(&self) {
        if let Err(error) = self.settle_stores() {
            self.events.fail(&error);
        }
    }

    /// Undoes changes that a crashed process left unfinished, except in stores that another process
    /// is changing.
    pub(super) fn settle_stores(&self) -> Result<()> {
        let stores = self.library.stores.iter();
        let roots: Vec<&Path> = stores
            .map(|snapshot| snapshot.store.root().path())
            .collect();
        let paths = self.settle_at(&roots)?;
        if !paths.is_empty() {
            let refresh = LibraryJob::Refresh(paths);
            self.library_worker.send(LibraryMessage::Job(refresh));
        }
        Ok(())
    }

    /// Undoes unfinished changes of the stores at `roots`, and returns their files.
    fn settle_at(&self, roots: &[&Path]) -> Result<Vec<PathBuf>> {
        let mut unfinished = interrupted(&self.history)?;
        unfinished.retain(|change| change.record.touches(roots));
        if unfinished.is_empty() {
            return Ok(Vec::new());
        }
        recover_interrupted(&self.history, roots)?;
        let files = unfinished.iter().flat_map(|change| &change.record.files);
        Ok(files
            .map(|file_change| file_change.root.join(&file_change.path))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::{self, Receiver};
    use std::time::Duration;

    use super::*;
    use crate::core::Error;
    use crate::core::change::ChangeVerb;
    use crate::core::insight::curate::{Finding, Severity};
    use crate::core::insight::review::{Item, queue};
    use crate::core::memory::layout::Layout;
    use crate::core::memory::library::StoreSnapshot;
    use crate::core::memory::unsaved::Unsaved;
    use crate::core::text::time::Moment;
    use crate::tui::effect::{ReviewJob, UndoDirection};
    use crate::tui::pane::browse::fixture;
    use crate::tui::worker::thread::Queue;

    /// A writer with a library on disk, and the events that it sends.
    struct Bench {
        home: tempfile::TempDir,
        writer: Writer,
        told: Receiver<Event>,
        readers: mpsc::Receiver<LibraryMessage>,
    }

    /// Forwards the messages for the library worker.
    struct Readers(mpsc::Sender<LibraryMessage>);

    impl Worker for Readers {
        type Job = LibraryMessage;

        fn perform(&mut self, message: LibraryMessage) {
            drop(self.0.send(message));
        }

        fn supersedes(_: &LibraryMessage, _: &LibraryMessage) -> bool {
            false
        }
    }

    fn day(number: i8) -> Moment {
        Moment {
            time: jiff::Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(2026, 2, number),
        }
    }

    impl Bench {
        fn new() -> Self {
            let home = fixture::home();
            let (events, told) = EventSender::new();
            let (messages, readers) = mpsc::channel();
            let queue = Queue::new();
            let library_worker = queue.sender();
            queue.start("readers", Readers(messages)).expect("starts");
            let lock_wait = LockWait {
                events: events.clone(),
                leaving: Arc::new(AtomicBool::new(false)),
                waiting: Arc::new(AtomicBool::new(false)),
            };
            let history = History::open(&home.path().join("history"));
            let writer = Writer {
                history: lock_wait.observe(history),
                author: Author {
                    who: "you".to_owned(),
                    door: "tui".to_owned(),
                },
                clock: || day(20),
                library: Arc::new(fixture::library(home.path())),
                expected: None,
                library_worker,
                events,
                lock_wait,
                review_counts: ReviewCounts::new(),
                changed_roots: Vec::new(),
                known_before: Vec::new(),
                unfinished: Arc::new(AtomicUsize::new(1)),
                data: home.path().join("data"),
                settings: Settings::default(),
                shared: HashMap::new(),
            };
            Self {
                home,
                writer,
                told,
                readers,
            }
        }

        /// Returns a bench whose writer has seen the stores.
        fn observing() -> Self {
            let mut bench = Self::new();
            let library = std::mem::take(&mut bench.writer.library);
            bench.writer.perform(Message::Stores(library));
            bench
        }

        fn undo(&mut self) {
            let undo = Box::new(Request::Latest(UndoDirection::Undo));
            self.writer.perform(Message::Job(WriteJob::Do(undo)));
            assert_eq!(self.made().verb, ChangeVerb::Undo);
        }

        fn delete(&self, path: &str) -> (Box<Request>, Box<Change>) {
            let snapshot = self.writer.library.store("claude").expect("a store");
            let id = snapshot.store.id().clone();
            let request = Request::Delete(vec![(id, vec![path.to_owned()])]);
            let planner = Planner {
                library: &self.writer.library,
                history: &self.writer.history,
                moment: day(1),
                changed_roots: &[],
            };
            let change = planner.plan(&request).expect("plans");
            (Box::new(request), Box::new(change))
        }

        fn commit(&mut self, (request, change): (Box<Request>, Box<Change>)) {
            let job = WriteJob::Commit { request, change };
            self.writer.perform(Message::Job(job));
        }

        fn made(&self) -> Record {
            match self.readers.recv_timeout(Duration::from_secs(10)) {
                Ok(LibraryMessage::Written { record, .. }) => *record,
                other => panic!("{other:?}, {:?}", self.told.try_recv()),
            }
        }

        fn refused(&self) -> Error {
            match self.told.recv_timeout(Duration::from_secs(10)) {
                Ok(Event::Committed { result: Err(e), .. }) => e,
                other => panic!("{other:?}"),
            }
        }

        fn root(&self) -> PathBuf {
            self.home
                .path()
                .canonicalize()
                .expect("there")
                .join("claude")
        }

        /// Writes a file as another program.
        fn write(&self, path: &str, text: &str) {
            fs::write(self.root().join(path), text).expect("writes");
        }

        fn read(&self, path: &str) -> String {
            fs::read_to_string(self.root().join(path)).unwrap_or_default()
        }
    }

    #[test]
    fn a_finding_whose_file_cannot_be_written_holds_no_other_one_up() {
        let bench = Bench::new();
        let snapshot = bench.writer.library.store("claude").expect("a store");
        let finding = |path: &str| {
            let fix = serde_json::json!({ "words": "", "kind": { "Delete": { "path": path } } });
            Finding {
                id: String::new(),
                rule: "empty",
                severity: Severity::Warning,
                store: 0,
                path: path.to_owned(),
                entry: None,
                line: None,
                subject: String::new(),
                message: String::new(),
                evidence: Vec::new(),
                fix: serde_json::from_value(fix).expect("a fix"),
                waived: None,
            }
        };
        let fix = |paths: &[&str]| {
            let findings = paths.iter().map(|path| finding(path)).collect();
            Request::Fix(vec![(snapshot.store.id().clone(), findings)])
        };
        let planner = bench.writer.planner();
        let both = fix(&["auth.md", "two\nlines.md"]);
        let change = planner.plan(&both).expect("plans");
        assert!(change.edits.iter().any(|edit| edit.path == "auth.md"));
        let notes = planner.notes(&both, Some(&change));
        assert!(notes[0].contains("two\\nlines.md"), "{notes:?}");
        assert!(planner.plan(&fix(&["two\nlines.md"])).is_err());
    }

    #[test]
    fn a_file_of_no_store_is_saved_and_undone() {
        let mut bench = Bench::new();
        let folder = bench.home.path().canonicalize().expect("canonical");
        let file = folder.join("CLAUDE.md");
        fs::write(&file, "old\n").expect("writes");
        let save = Request::Save(Unsaved {
            root: folder,
            layout: Layout::Instructions,
            path: "CLAUDE.md".to_owned(),
            base: Some("old\n".to_owned()),
            text: "new\n".to_owned(),
            time: 0,
        });
        bench
            .writer
            .perform(Message::Job(WriteJob::Do(Box::new(save))));
        bench.made();
        assert_eq!(fs::read_to_string(&file).expect("text"), "new\n");
        bench.undo();
        assert_eq!(fs::read_to_string(&file).expect("text"), "old\n");
    }

    #[test]
    fn an_index_that_others_changed_too_is_no_reason_to_ask_again() {
        let mut bench = Bench::new();
        let reviewed = bench.delete("auth.md");
        let theirs = "---\nname: Theirs\ndescription: by hand\ntype: project\n---\n";
        bench.write("theirs.md", theirs);
        let text = bench.read("MEMORY.md") + "- [Theirs](theirs.md) - by hand\n";
        bench.write("MEMORY.md", &text);
        bench.commit(reviewed);
        bench.made();
        let index = bench.read("MEMORY.md");
        assert!(
            index.contains("theirs.md") && !index.contains("auth.md"),
            "{index}"
        );
    }

    #[test]
    fn what_differs_from_the_review_is_shown_again_and_not_written() {
        let mut bench = Bench::new();
        let reviewed = bench.delete("auth.md");
        let theirs = bench.read("auth.md") + "\nTheirs.\n";
        bench.write("auth.md", &theirs);
        bench.commit(reviewed);
        let Ok(Event::Outdated { change, .. }) = bench.told.try_recv() else {
            panic!("it is not shown again");
        };
        let edit = change.edits.iter().find(|edit| !edit.derived);
        let before = edit.and_then(|edit| edit.before.clone());
        assert_eq!(before, Some(theirs.clone().into_bytes()));
        assert_eq!(bench.read("auth.md"), theirs);
    }

    #[test]
    fn a_lock_is_waited_for_with_a_word_and_given_up_when_leaving() {
        let mut bench = Bench::new();
        let other = History::open(bench.writer.history.dir()).named("tome write");
        let root = bench.root();
        let lock = other.lock(&[&root]).expect("locks");
        bench
            .writer
            .lock_wait
            .leaving
            .store(true, Ordering::Relaxed);
        let reviewed = bench.delete("auth.md");
        bench.commit(reviewed.clone());
        let error = bench.refused();
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        assert!(bench.root().join("auth.md").exists());
        bench
            .writer
            .lock_wait
            .leaving
            .store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let bench = &mut bench;
            let (waits, is_waiting) = mpsc::channel();
            let told = std::mem::replace(&mut bench.told, mpsc::channel().1);
            scope.spawn(move || {
                // The lock is released as soon as the wait is reported.
                let first = told.recv();
                drop(lock);
                drop(waits.send((first, told.recv())));
            });
            bench.commit(reviewed);
            let (first, then) = is_waiting.recv().expect("told");
            assert!(
                matches!(&first, Ok(Event::Waiting { holder, seconds: 0 }) if holder.starts_with("tome write (pid ")),
                "{first:?}"
            );
            assert!(matches!(then, Ok(Event::WaitingOver)), "{then:?}");
        });
        bench.made();
    }

    #[test]
    fn what_a_dead_process_left_unfinished_is_taken_back_and_read_again() {
        let mut bench = Bench::new();
        bench.die_deleting("auth.md");
        assert!(!bench.root().join("auth.md").exists());
        bench.writer.perform(Message::Settle);
        let Ok(LibraryMessage::Job(LibraryJob::Refresh(paths))) =
            bench.readers.recv_timeout(Duration::from_secs(10))
        else {
            panic!("nothing is read again");
        };
        assert!(paths.contains(&bench.root().join("auth.md")), "{paths:?}");
        assert!(bench.root().join("auth.md").exists());
    }

    impl Bench {
        /// Deletes a memory in a process that dies before the change is recorded.
        fn die_deleting(&self, path: &str) {
            let dying = History::with_observer(
                self.writer.history.dir(),
                Arc::new(|step| {
                    assert_ne!(step, "record", "it dies here");
                    Ok(())
                }),
            );
            let (_, change) = self.delete(path);
            let (author, moment) = (&self.writer.author, &day(1));
            let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                plan_and_commit(&dying, &change.roots(), author, moment, || {
                    Ok::<_, Error>((*change).clone())
                })
            }));
            assert!(died.is_err());
        }

        /// Reads the store again after another program wrote a file, as the library worker does.
        fn read_again(&mut self, path: &str) {
            let library = self.writer.library.refresh(&[self.root().join(path)]);
            self.writer.perform(Message::Stores(Arc::new(library)));
        }

        fn counts(&self) -> Option<Vec<usize>> {
            match self.told.try_recv() {
                Ok(Event::ReviewCounted(counts)) => {
                    Some(counts.into_values().map(|waiting| waiting.count).collect())
                }
                Err(_) => None,
                other => panic!("{other:?}"),
            }
        }

        fn accept(&mut self, ids: Vec<String>) -> Result<usize> {
            let snapshot = self.writer.library.store("claude").expect("a store");
            let job = ReviewJob::Accept(vec![(snapshot.store.id().clone(), ids)]);
            self.writer
                .perform(Message::Job(WriteJob::Review(job.clone())));
            let last = self.told.try_iter().last();
            match last {
                Some(Event::Reviewed { job: done, result }) if done == job => result,
                other => panic!("{other:?}"),
            }
        }

        fn waiting(&self) -> Vec<Item> {
            let snapshot = self.writer.library.store("claude").expect("a store");
            queue(&self.writer.history, &snapshot.store).expect("a queue")
        }
    }

    #[test]
    fn what_others_write_is_recorded_and_counted_when_the_store_is_read_again() {
        let mut bench = Bench::observing();
        assert_eq!(bench.counts(), None, "the first sight is no news");
        bench.write("auth.md", "theirs\n");
        bench.read_again("auth.md");
        assert_eq!(bench.counts(), Some(vec![1]));
        // The same file once more: the number is the same, but not what waits.
        bench.write("auth.md", "theirs again\n");
        bench.read_again("auth.md");
        assert_eq!(bench.counts(), Some(vec![1]));
        bench.read_again("auth.md");
        assert_eq!(bench.counts(), None, "nothing is new");
        let ids = bench.waiting().into_iter().map(|item| item.id);
        assert_eq!(bench.accept(ids.collect()).expect("accepts"), 1);
        assert!(bench.writer.review_counts.is_empty());
        assert_eq!(bench.waiting(), []);
        assert_eq!(bench.accept(vec!["gone".to_owned()]).expect("nothing"), 0);
        assert_eq!(
            bench.read("auth.md"),
            "theirs again\n",
            "no memory is written"
        );
    }

    #[test]
    fn a_proposal_that_does_not_fit_holds_no_other_one_up() {
        let mut bench = Bench::observing();
        let root = bench.root().to_owned();
        fs::create_dir_all(root.join(".inbox/private")).expect("a folder");
        for (name, line) in [("a", "- nowhere"), ("b", "# New")] {
            let at = root.join(if name == "a" { "auth.md" } else { "new.md" });
            let at = at.display();
            let patch = match name {
                "a" => format!("--- {at}\n+++ {at}\n@@ -1,1 +1,1 @@\n-{line}\n+x\n"),
                _ => format!("--- /dev/null\n+++ {at}\n@@ -0,0 +1,1 @@\n+{line}\n"),
            };
            bench.write(&format!(".inbox/private/{name}.patch"), &patch);
        }
        let ids: Vec<String> = bench.waiting().into_iter().map(|item| item.id).collect();
        assert_eq!(ids.len(), 2);
        let told = bench.accept(ids).expect_err("one waits").to_string();
        assert!(told.starts_with("Not accepted: auth.md: "), "{told}");
        assert!(told.ends_with("; the other file is accepted"), "{told}");
        assert_eq!(bench.read("new.md"), "# New\n");
        assert_eq!(bench.waiting().len(), 1);
    }

    #[test]
    fn the_files_of_a_store_that_cannot_be_read_are_not_gone() {
        let mut bench = Bench::observing();
        let library = Arc::clone(&bench.writer.library);
        let hidden = bench.root().with_extension("hidden");
        fs::rename(bench.root(), &hidden).expect("hides it");
        let mut broken = (*library).clone();
        for snapshot in &mut broken.stores {
            *snapshot = Arc::new(StoreSnapshot {
                store: Arc::clone(&snapshot.store),
                why: String::new(),
                memories: Vec::new(),
                index: None,
                unlisted: Vec::new(),
                failure: Some("it cannot be read".to_owned()),
            });
        }
        bench.writer.perform(Message::Stores(Arc::new(broken)));
        assert_eq!(bench.counts(), None);
        assert_eq!(bench.waiting(), []);
    }

    #[test]
    fn what_a_dead_process_left_unfinished_is_no_write_of_others() {
        let mut bench = Bench::observing();
        bench.die_deleting("auth.md");
        bench.read_again("auth.md");
        assert_eq!(bench.counts(), None);
        assert_eq!(bench.waiting(), []);
        assert!(bench.root().join("auth.md").exists());
    }

    #[test]
    fn what_another_process_is_about_to_record_is_counted_here_too() {
        let mut bench = Bench::observing();
        bench.write("auth.md", "theirs\n");
        let root = bench.root();
        let other = History::open(bench.writer.history.dir()).named("tome hook");
        let lock = other.lock(&[&root]).expect("locks");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(60));
                drop(lock);
            });
            bench.read_again("auth.md");
        });
        assert_eq!(bench.counts(), Some(vec![1]));
    }
}
