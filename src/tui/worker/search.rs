//! The search worker: searches memories and logs while the user types.
//!
//! It keeps the texts of the memories and the corpus as last sent to it. A newer request
//! cancels the running one, so that typing never waits for an old search.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use jiff::tz::TimeZone;

use super::thread::Worker;
use crate::core::corpus::Corpus;
use crate::core::library::Library;
use crate::core::query::{Query, QueryError};
use crate::core::search::fuzzy::{
    self, FindRequest, MatchSpot, Matches, SearchState, SearchWatcher,
};
use crate::core::search::{Hit, HitSource, MemoryTexts, Sources, recent};
use crate::core::store::StoreId;
use crate::tui::Clock;
use crate::tui::effect::SearchJob;
use crate::tui::event::{Changes, Event};

/// The maximum number of rows in a result.
pub(crate) const MOST: usize = 300;

/// A message in its queue.
#[derive(Debug)]
pub(crate) enum Job {
    /// The current stores.
    Stores(Arc<Library>),
    /// The current corpus.
    Logs(Arc<Corpus>),
    /// Run a search.
    Find(SearchJob),
}

/// The results of a search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FindResults {
    pub(crate) rows: Vec<HitRow>,
    /// The number of matching lines, including those not in `rows`.
    pub(crate) total: usize,
    pub(crate) progress: SearchState,
    /// The error in the query, if it has one.
    pub(crate) wrong: Option<QueryError>,
}

/// A hit, prepared for display.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HitRow {
    pub(crate) hit: Hit,
    /// The store of a memory, by id because names of stores can change; `None` for a hit in a
    /// log.
    pub(crate) store: Option<StoreId>,
    /// How many other lines of the memory match.
    pub(crate) more: usize,
    /// The indices of the characters of the title that match.
    pub(crate) title_letters: Vec<u32>,
    /// The indices of the characters of the hit's text that match.
    pub(crate) letters: Vec<u32>,
}

/// Searches the memories and the corpus.
pub(crate) struct SearchWorker {
    pub(crate) events: Sender<Event>,
    pub(crate) clock: Clock,
    pub(crate) zone: TimeZone,
    /// The generation of the newest request; older searches are cancelled.
    pub(crate) newest: Arc<AtomicU64>,
    pub(crate) library: Arc<Library>,
    pub(crate) memories: MemoryTexts,
    pub(crate) corpus: Option<Arc<Corpus>>,
    /// The last matches, which a longer query narrows.
    pub(crate) last: Option<Matches>,
}

impl SearchWorker {
    /// Creates a worker with nothing to search yet.
    pub(crate) fn new(
        events: Sender<Event>,
        (clock, zone): (Clock, TimeZone),
        newest: Arc<AtomicU64>,
    ) -> Self {
        Self {
            events,
            clock,
            zone,
            newest,
            library: Arc::default(),
            memories: MemoryTexts::default(),
            corpus: None,
            last: None,
        }
    }

    /// Reads the memories that have changed.
    fn refresh_memories(&mut self, library: Arc<Library>) {
        let stores = library.stores.iter().map(|memories| &*memories.store);
        match self.memories.refresh(stores) {
            Ok(memories) => self.memories = memories,
            // A store that cannot be listed is also reported in the tree.
            Err(error) => self.send(Event::Failed(error.to_string())),
        }
        self.library = library;
        self.last = None;
        self.send(Event::SearchSourcesChanged);
    }

    fn find(&mut self, generation: u64, text: &str) {
        if self.newest.load(Ordering::Relaxed) != generation {
            return;
        }
        let sources = Sources {
            memories: &self.memories,
            corpus: self.corpus.as_deref(),
        };
        let query = match Query::parse(text, &(self.clock)().time.to_zoned(self.zone.clone())) {
            Ok(query) => query,
            Err(wrong) => {
                self.last = None;
                return self.send(Event::Found {
                    generation,
                    found: FindResults {
                        rows: Vec::new(),
                        total: 0,
                        progress: SearchState::Complete,
                        wrong: Some(wrong),
                    },
                });
            }
        };
        let reporter = ResultReporter {
            library: &self.library,
            sources,
            query: &query,
            generation,
            newest: &self.newest,
            events: &self.events,
        };
        if query.atoms.is_empty() {
            let hits = recent(sources, &query.filters, MOST);
            let rows: Vec<HitRow> = hits.into_iter().map(|hit| reporter.row(hit)).collect();
            let found = FindResults {
                total: rows.len(),
                rows,
                progress: SearchState::Complete,
                wrong: None,
            };
            self.last = None;
            return self.send(Event::Found { generation, found });
        }
        let request = FindRequest {
            query: &query,
            limit: MOST,
        };
        let found = fuzzy::find(sources, request, self.last.as_ref(), &reporter);
        if found.progress != SearchState::Stale {
            reporter.send(&found);
        }
        let is_damaged = self.corpus.as_ref().is_some_and(|c| c.is_damaged());
        self.last = Some(found).filter(|found| found.progress == SearchState::Complete);
        if is_damaged {
            self.corpus = None;
            self.send(Event::LogsChanged(Changes::Anywhere));
        }
    }

    fn send(&self, event: Event) {
        // The receiver is gone when the program is about to end.
        drop(self.events.send(event));
    }
}

impl Worker for SearchWorker {
    type Job = Job;

    fn perform(&mut self, job: Job) {
        match job {
            Job::Stores(library) => self.refresh_memories(library),
            Job::Logs(corpus) => {
                self.corpus = Some(corpus);
                self.last = None;
                self.send(Event::SearchSourcesChanged);
            }
            Job::Find(SearchJob { generation, text }) => self.find(generation, &text),
        }
    }

    fn supersedes(newer: &Job, older: &Job) -> bool {
        matches!(
            (newer, older),
            (Job::Stores(_), Job::Stores(_))
                | (Job::Logs(_), Job::Logs(_))
                | (Job::Find(_), Job::Find(_))
        )
    }
}

/// Sends partial results while the search runs.
struct ResultReporter<'a> {
    library: &'a Library,
    sources: Sources<'a>,
    query: &'a Query,
    generation: u64,
    newest: &'a AtomicU64,
    events: &'a Sender<Event>,
}

impl ResultReporter<'_> {
    fn row(&self, hit: Hit) -> HitRow {
        // The store names in the hits are those of the searched library.
        let store = match hit.source {
            HitSource::Detail => self.library.store(&hit.store),
            HitSource::Messages => None,
        };
        HitRow {
            more: 0,
            store: store.map(|memories| memories.store.id().clone()),
            letters: fuzzy::indices(self.query, &hit.text),
            title_letters: fuzzy::indices(self.query, &hit.title),
            hit,
        }
    }

    fn send(&self, found: &Matches) {
        let mut rows: Vec<HitRow> = Vec::new();
        let mut memories: HashMap<usize, usize> = HashMap::new();
        for one in &found.matches {
            // One row per memory, with its best line; the preview marks the other matches.
            let memory_text = match one.spot {
                MatchSpot::Title(memory_text) | MatchSpot::Line(memory_text, _) => {
                    Some(memory_text)
                }
                MatchSpot::Message { .. } => None,
            };
            if let Some(row) = memory_text.and_then(|memory_text| memories.get(&memory_text)) {
                rows[*row].more += 1;
                continue;
            }
            let Some(mut hit) = fuzzy::hit(self.sources, self.query, one) else {
                continue;
            };
            if let MatchSpot::Title(at) = one.spot {
                // The title is always displayed, so the row shows the summary below it.
                hit.text
                    .clone_from(&self.sources.memories.texts[at].memory.summary);
            }
            if let Some(memory_text) = memory_text {
                memories.insert(memory_text, rows.len());
            }
            rows.push(self.row(hit));
        }
        let found = FindResults {
            rows,
            total: found.total,
            progress: found.progress,
            wrong: None,
        };
        drop(self.events.send(Event::Found {
            generation: self.generation,
            found,
        }));
    }
}

impl SearchWatcher for ResultReporter<'_> {
    fn is_stale(&self) -> bool {
        self.newest.load(Ordering::Relaxed) != self.generation
    }

    fn partial(&self, found: &Matches) {
        self.send(found);
    }
}
