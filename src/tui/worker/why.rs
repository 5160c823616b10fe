//! The why worker finds the sessions that wrote memories. It goes through the calls of all logs,
//! which takes long, so it has a thread of its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::thread::Worker;
use crate::core::Result;
use crate::core::change::history::History;
use crate::core::insight::review::{
    Attributions, Item, attributed, attributions, line_sources, words_before_message,
};
use crate::core::memory::store::{Store, StoreId};
use crate::core::search::index::Corpus;
use crate::tui::Clock;
use crate::tui::effect::WhyJob;
use crate::tui::event::{Event, EventSender, ExplainedText};

/// An item that is younger than this many milliseconds may have been written by a call that is
/// not in the corpus yet.
const RECENT: i64 = 10 * 60 * 1000;

#[derive(Debug)]
pub(super) enum Message {
    /// The current corpus.
    Logs(Arc<Corpus>),
    /// What waits for review.
    Queue(Vec<(StoreId, Vec<Item>)>),
    /// A job of the app.
    Job(WhyJob),
}

/// The worker that finds which session wrote what.
pub(super) struct WhyWorker {
    pub(super) history: History,
    pub(super) clock: Clock,
    pub(super) events: EventSender,
    pub(super) corpus: Option<Arc<Corpus>>,
    /// The items of which no message is known.
    pub(super) unknown: Vec<(StoreId, Vec<Item>)>,
    /// The citations of messages whose words before them are not told yet.
    pub(super) cited: HashSet<String>,
    /// The request that was answered without the logs.
    pub(super) unfinished: Option<WhyJob>,
}

impl Worker for WhyWorker {
    type Job = Message;

    fn perform(&mut self, message: Message) {
        match message {
            Message::Logs(corpus) => {
                let is_first = self.corpus.replace(corpus).is_none();
                if !is_first {
                    self.keep_recent();
                }
                self.attribute();
                if let Some(job) = self.unfinished.take() {
                    self.explain(job);
                }
            }
            Message::Queue(waiting) => {
                let items = waiting.iter().flat_map(|(_, items)| items);
                let origins = items.filter_map(|item| item.origin.as_ref());
                self.cited = origins.filter_map(|one| one.citation.clone()).collect();
                self.unknown = waiting;
                self.attribute();
            }
            Message::Job(job) => self.explain(job),
        }
    }
}

impl WhyWorker {
    /// Forgets the items whose writer the logs would have named by now.
    fn keep_recent(&mut self) {
        let since = (self.clock)().time.as_millisecond() - RECENT;
        for (_, items) in &mut self.unknown {
            items.retain(|item| item.time > since);
        }
        self.unknown.retain(|(_, items)| !items.is_empty());
    }

    /// Reports the messages that wrote the items of which none was known.
    fn attribute(&mut self) {
        let Some(corpus) = &self.corpus else { return };
        let mut found = Attributions::new();
        for (store, items) in &mut self.unknown {
            items.retain(|item| !item.has_message());
            found.extend(attributions(corpus, &self.history, store.root(), items));
            items.retain(|item| {
                let parts = attributed(vec![item.clone()], &found);
                !parts.iter().all(Item::has_message)
            });
        }
        let writers = found.values().flatten().filter_map(|part| part.by.as_ref());
        let cited = writers.filter_map(|(_, origin)| origin.citation.clone());
        self.cited.extend(cited);
        let mut words = HashMap::new();
        self.cited.retain(|citation| {
            let said = words_before_message(corpus, citation);
            let is_told = said.is_some();
            words.extend(said.map(|said| (citation.clone(), said)));
            !is_told
        });
        if !found.is_empty() || !words.is_empty() {
            self.events.send(Event::Attributed { found, words });
        }
    }

    fn explain(&mut self, job: WhyJob) {
        let result = self.explained(&job);
        if self.corpus.is_none() {
            self.unfinished = Some(job.clone());
        }
        self.events.send(Event::Explained { job, result });
    }

    fn explained(&self, WhyJob { store, path }: &WhyJob) -> Result<ExplainedText> {
        let store = Store::open("", store.root(), Some(store.layout()))?;
        let document = store.read(path)?;
        let text = document.lossy();
        let lines: Vec<&str> = text.lines().collect();
        let file = store.rules().file_of(&document.path);
        let corpus = self.corpus.as_deref();
        let sources = line_sources(corpus, &self.history, &store, &file, &lines)?;
        let lines = lines.into_iter().map(str::to_owned).zip(sources);
        Ok(ExplainedText {
            lines: lines.collect(),
            has_logs: self.corpus.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::mpsc::Receiver;

    use super::*;
    use crate::core::insight::review::{LineSource, observe_store, queue};
    use crate::core::log::LogLocations;
    use crate::core::memory::catalog::{LogCatalog, LogScope};
    use crate::core::memory::layout::Layout;
    use crate::core::text::time::Moment;

    fn moment() -> Moment {
        Moment {
            time: jiff::Timestamp::now(),
            today: jiff::civil::date(2026, 11, 1),
        }
    }

    /// A store into which a session of an agent wrote, and the session's log.
    struct Bench {
        temp: tempfile::TempDir,
        worker: WhyWorker,
        events: Receiver<Event>,
        store: Store,
    }

    impl Bench {
        fn new() -> Self {
            let temp = tempfile::tempdir().expect("a temporary directory");
            let root = temp.path().join("memory");
            fs::create_dir(&root).expect("creates");
            fs::write(root.join("a.md"), "there before\n").expect("writes");
            let store = Store::open("s", &root, Some(Layout::Index)).expect("opens");
            let history = History::open(&temp.path().join("history"));
            observe_store(&history, &store, &moment()).expect("observes");
            let (sender, events) = EventSender::new();
            let worker = WhyWorker {
                history,
                clock: moment,
                events: sender,
                corpus: None,
                unknown: Vec::new(),
                cited: HashSet::new(),
                unfinished: None,
            };
            Self {
                temp,
                worker,
                events,
                store,
            }
        }

        /// The session writes a line, directly.
        fn write(&self, line: &str) {
            let file = self.store.root().path().join("a.md");
            fs::write(&file, format!("there before\n{line}\n")).expect("writes");
            let log = self.temp.path().join(".claude/projects/-p/s1.jsonl");
            fs::create_dir_all(log.parent().expect("a folder")).expect("creates");
            let said = serde_json::json!({"type":"user","uuid":"u","sessionId":"s1","cwd":"/p","timestamp":"2026-11-01T10:00:00Z",
                "message":{"role":"user","content":"Remember the port"}});
            let call = serde_json::json!({"type":"assistant","uuid":"v","sessionId":"s1","cwd":"/p","timestamp":"2026-11-01T10:00:01Z",
                "message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Edit","input":{
                    "file_path": file, "old_string": "there before", "new_string": format!("there before\n{line}")}}]}});
            fs::write(log, format!("{said}\n{call}\n")).expect("writes");
        }

        fn corpus(&self) -> Arc<Corpus> {
            let catalog = LogCatalog {
                locations: LogLocations::of_home(self.temp.path()),
                kept: None,
                cache: self.temp.path().join("cache"),
                timeline: crate::core::memory::config::TimelineSettings::default(),
                scope: LogScope::All,
            };
            Arc::new(catalog.corpus(&catalog.files(), &()).expect("reads"))
        }

        fn explain(&mut self) -> ExplainedText {
            let job = WhyJob {
                store: self.store.id().clone(),
                path: "a.md".to_owned(),
            };
            self.worker.perform(Message::Job(job));
            self.answer()
        }

        fn answer(&self) -> ExplainedText {
            match self.events.try_recv() {
                Ok(Event::Explained { result, .. }) => result.expect("explains"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_item_is_joined_to_its_session_once_the_logs_are_read() {
        let mut bench = Bench::new();
        bench.write("the port is 8443");
        let root: &Path = bench.store.root().path();
        assert!(root.exists());
        observe_store(&bench.worker.history, &bench.store, &moment()).expect("observes");
        let items = queue(&bench.worker.history, &bench.store).expect("a queue");
        let waiting = vec![(bench.store.id().clone(), items.clone())];
        bench.worker.perform(Message::Queue(waiting));
        assert!(bench.events.try_recv().is_err());
        bench.worker.perform(Message::Logs(bench.corpus()));
        let Ok(Event::Attributed { found, words }) = bench.events.try_recv() else {
            panic!("nothing was attributed");
        };
        let items = attributed(items, &found);
        assert_eq!(items[0].author.who, "claude-code");
        let origin = items[0].origin.as_ref().expect("an origin");
        assert_eq!(origin.session, "s1");
        let cited = origin.citation.as_ref().expect("a message");
        assert_eq!(
            words.get(cited).map(String::as_str),
            Some("Remember the port")
        );
        // What is known is not looked for again.
        bench.worker.perform(Message::Logs(bench.corpus()));
        assert!(bench.events.try_recv().is_err());
    }

    #[test]
    fn each_line_is_explained_by_a_call_or_by_a_change() {
        let mut bench = Bench::new();
        bench.write("the port is 8443");
        observe_store(&bench.worker.history, &bench.store, &moment()).expect("observes");
        // Before the logs are read, the history tells what it can.
        let early = bench.explain();
        assert!(!early.has_logs);
        let source = |text: &ExplainedText, at: usize| text.lines[at].1.clone();
        assert!(source(&early, 0).is_none());
        assert!(matches!(
            source(&early, 1).as_deref(),
            Some(LineSource::Change(_))
        ));
        bench.worker.perform(Message::Logs(bench.corpus()));
        let late = bench.answer();
        assert!(late.has_logs);
        let Some(LineSource::Call(reason)) = source(&late, 1).as_deref().cloned() else {
            panic!("no call: {late:?}");
        };
        assert_eq!((reason.line, reason.tool.as_str()), (2, "Edit"));
        let said = reason.words.expect("words");
        assert_eq!(said.text, "Remember the port");
        assert!(said.citation.ends_with("#L1"), "{}", said.citation);
    }
}
