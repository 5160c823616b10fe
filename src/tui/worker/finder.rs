//! The desk that finds: memories and logs, as fast as one types.
//!
//! It keeps the text of the memories and the corpus as they were last handed to it. A newer
//! request makes the one at work stale at once, so that no letter waits for an older one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use jiff::tz::TimeZone;

use super::desk::Clerk;
use crate::core::corpus::Corpus;
use crate::core::library::Library;
use crate::core::query::{Misunderstood, Query};
use crate::core::search::fuzzy::{self, Ask, Found, Progress, Spot, Watch};
use crate::core::search::{Hit, Shelf, Source, Sources, recent};
use crate::core::store::StoreId;
use crate::tui::Clock;
use crate::tui::effect::SearchJob;
use crate::tui::event::{Changes, Event};

/// The most rows of an answer.
pub(crate) const MOST: usize = 300;

/// What the finder does.
#[derive(Debug)]
pub(crate) enum Job {
    /// The stores are these now.
    Stores(Arc<Library>),
    /// The logs are these now.
    Logs(Arc<Corpus>),
    /// Find something.
    Find(SearchJob),
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Findings {
    pub(crate) rows: Vec<Row>,
    /// How many lines match, shown or not.
    pub(crate) total: usize,
    pub(crate) progress: Progress,
    /// Why the query is not understood, where it is not.
    pub(crate) wrong: Option<Misunderstood>,
}

/// Something that was found, ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) hit: Hit,
    /// The store of a memory, which keeps meaning the same one when stores are named anew; `None`
    /// for what was found in a log.
    pub(crate) store: Option<StoreId>,
    /// How many other lines of the memory match.
    pub(crate) more: usize,
    /// The letters of its title that match.
    pub(crate) title_letters: Vec<u32>,
    /// The letters of the hit's text that match.
    pub(crate) letters: Vec<u32>,
}

/// Who finds.
pub(crate) struct Finder {
    pub(crate) events: Sender<Event>,
    pub(crate) clock: Clock,
    pub(crate) zone: TimeZone,
    /// The newest request; older ones are given up.
    pub(crate) newest: Arc<AtomicU64>,
    pub(crate) library: Arc<Library>,
    pub(crate) shelf: Shelf,
    pub(crate) corpus: Option<Arc<Corpus>>,
    /// The last answer, which the next letter narrows.
    pub(crate) last: Option<Found>,
}

impl Finder {
    /// A finder that knows of nothing yet.
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
            shelf: Shelf::default(),
            corpus: None,
            last: None,
        }
    }

    /// Reads the memories that changed.
    fn stock(&mut self, library: Arc<Library>) {
        let stores = library.shelves.iter().map(|shelf| &*shelf.store);
        match self.shelf.again(stores) {
            Ok(shelf) => self.shelf = shelf,
            // A store that cannot be listed is told of where it is shown.
            Err(error) => self.tell(Event::Failed(error.to_string())),
        }
        self.library = library;
        self.last = None;
        self.tell(Event::Findable);
    }

    fn find(&mut self, generation: u64, text: &str) {
        if self.newest.load(Ordering::Relaxed) != generation {
            return;
        }
        let sources = Sources {
            shelf: &self.shelf,
            corpus: self.corpus.as_deref(),
        };
        let query = match Query::parse(text, &(self.clock)().time.to_zoned(self.zone.clone())) {
            Ok(query) => query,
            Err(wrong) => {
                self.last = None;
                return self.tell(Event::Found {
                    generation,
                    found: Findings {
                        rows: Vec::new(),
                        total: 0,
                        progress: Progress::Complete,
                        wrong: Some(wrong),
                    },
                });
            }
        };
        let telling = Telling {
            library: &self.library,
            sources,
            query: &query,
            generation,
            newest: &self.newest,
            events: &self.events,
        };
        if query.atoms.is_empty() {
            let hits = recent(sources, &query.filters, MOST);
            let rows: Vec<Row> = hits.into_iter().map(|hit| telling.row(hit)).collect();
            let found = Findings {
                total: rows.len(),
                rows,
                progress: Progress::Complete,
                wrong: None,
            };
            self.last = None;
            return self.tell(Event::Found { generation, found });
        }
        let ask = Ask {
            query: &query,
            limit: MOST,
        };
        let found = fuzzy::find(sources, ask, self.last.as_ref(), &telling);
        if found.progress != Progress::Stale {
            telling.tell(&found);
        }
        let is_damaged = self.corpus.as_ref().is_some_and(|c| c.is_damaged());
        self.last = Some(found).filter(|found| found.progress == Progress::Complete);
        if is_damaged {
            self.corpus = None;
            self.tell(Event::Spoken(Changes::Anywhere));
        }
    }

    fn tell(&self, event: Event) {
        // Nobody listens any more when the program is about to end.
        drop(self.events.send(event));
    }
}

impl Clerk for Finder {
    type Job = Job;

    fn perform(&mut self, job: Job) {
        match job {
            Job::Stores(library) => self.stock(library),
            Job::Logs(corpus) => {
                self.corpus = Some(corpus);
                self.last = None;
                self.tell(Event::Findable);
            }
            Job::Find(SearchJob { generation, text }) => self.find(generation, &text),
        }
    }

    fn outdates(newer: &Job, older: &Job) -> bool {
        matches!(
            (newer, older),
            (Job::Stores(_), Job::Stores(_))
                | (Job::Logs(_), Job::Logs(_))
                | (Job::Find(_), Job::Find(_))
        )
    }
}

/// Tells what was found while more is looked for.
struct Telling<'a> {
    library: &'a Library,
    sources: Sources<'a>,
    query: &'a Query,
    generation: u64,
    newest: &'a AtomicU64,
    events: &'a Sender<Event>,
}

impl Telling<'_> {
    fn row(&self, hit: Hit) -> Row {
        // The names of an answer are those of the library that was searched.
        let store = match hit.source {
            Source::Detail => self.library.shelf(&hit.store),
            Source::Messages => None,
        };
        Row {
            more: 0,
            store: store.map(|shelf| shelf.store.id().clone()),
            letters: fuzzy::indices(self.query, &hit.text),
            title_letters: fuzzy::indices(self.query, &hit.title),
            hit,
        }
    }

    fn tell(&self, found: &Found) {
        let mut rows: Vec<Row> = Vec::new();
        let mut memories: HashMap<usize, usize> = HashMap::new();
        for one in &found.matches {
            // One row a memory, its best line; the preview marks the others.
            let sheet = match one.spot {
                Spot::Title(sheet) | Spot::Line(sheet, _) => Some(sheet),
                Spot::Message { .. } => None,
            };
            if let Some(row) = sheet.and_then(|sheet| memories.get(&sheet)) {
                rows[*row].more += 1;
                continue;
            }
            let Some(mut hit) = fuzzy::hit(self.sources, self.query, one) else {
                continue;
            };
            if let Spot::Title(at) = one.spot {
                // The title is shown anyway; below it, what the memory is about.
                hit.text
                    .clone_from(&self.sources.shelf.sheets[at].memory.summary);
            }
            if let Some(sheet) = sheet {
                memories.insert(sheet, rows.len());
            }
            rows.push(self.row(hit));
        }
        let found = Findings {
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

impl Watch for Telling<'_> {
    fn is_stale(&self) -> bool {
        self.newest.load(Ordering::Relaxed) != self.generation
    }

    fn partial(&self, found: &Found) {
        self.tell(found);
    }
}
