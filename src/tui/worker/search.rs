//! The search worker: searches memories and logs while the user types. If there is an embedding model,
//! what is near the query by its meaning is merged into the results when the search is over.
//!
//! It keeps the texts of the memories and the corpus as last sent to it. A newer request
//! cancels the running one, so that typing never waits for an old search.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;

use super::meaning::Meaning;
use super::thread::Worker;
use crate::core::disk::parallel::with_on_all_cores;
use crate::core::insight::curate::git::Git;
use crate::core::insight::ledger::{Ledger, date_by_git};
use crate::core::insight::semantic::{NearHit, fuse, home};
use crate::core::log::Role;
use crate::core::memory::library::Library;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::find::{
    Closeness, FindRequest, Marker, Match, MatchGroup, MatchSpot, Matches, SearchState,
    SearchWatcher, find,
};
use crate::core::search::index::Corpus;
use crate::core::search::query::Query;
use crate::core::search::{Hit, HitSource, Recent, Sources, recent};
use crate::tui::Clock;
use crate::tui::effect::SearchJob;
use crate::tui::event::{Changes, Event, EventSender};
use crate::tui::model::{FindResults, HitRow};
use crate::tui::widget::markdown::plain_line;

/// The maximum number of rows in a result, and of further lines of one row.
pub(crate) const MOST: usize = 300;
const MOST_OTHERS: usize = 20;
/// The maximum number of further lines of all rows together.
const MOST_OTHERS_IN_ALL: usize = 600;
/// The maximum number of lines that are grouped into rows.
pub(crate) const MOST_LINES: usize = 2000;
/// How long a search rests when it has sent rows before it is over: without a processor of its own,
/// the thread that draws them would wait for some milliseconds.
const REST: Duration = Duration::from_millis(2);

/// A message to the worker.
#[derive(Debug)]
pub(crate) enum Job {
    /// The current stores.
    Stores(Arc<Library>),
    /// The current corpus.
    Logs(Arc<Corpus>),
    /// What is known about the memories beyond their files.
    Ledger(Arc<Ledger>),
    /// Run a search.
    Find(SearchJob),
}

pub(crate) struct SearchWorker {
    pub(crate) events: EventSender,
    pub(crate) clock: Clock,
    pub(crate) zone: TimeZone,
    /// The generation of the newest request; older searches are cancelled.
    pub(crate) newest: Arc<AtomicU64>,
    pub(crate) library: Arc<Library>,
    pub(crate) memories: MemoryTexts,
    pub(crate) ledger: Arc<Ledger>,
    /// What tells the age of memories where no ledger is read, and where it keeps that.
    pub(crate) git: Option<(Git, PathBuf)>,
    pub(crate) corpus: Option<Arc<Corpus>>,
    /// The embedding model, if there is one.
    pub(crate) meaning: Option<Meaning>,
    /// The last results that were sent. They are freed here: that takes as long as drawing, and
    /// the thread that draws is waited for.
    pub(crate) sent: Mutex<VecDeque<Arc<FindResults>>>,
}

impl SearchWorker {
    /// Creates a worker with nothing to search yet.
    pub(crate) fn new(
        events: EventSender,
        clock: Clock,
        zone: TimeZone,
        newest: Arc<AtomicU64>,
    ) -> Self {
        Self {
            events,
            clock,
            zone,
            newest,
            library: Arc::default(),
            memories: MemoryTexts::default(),
            ledger: Arc::default(),
            git: None,
            corpus: None,
            meaning: None,
            sent: Mutex::default(),
        }
    }

    /// Reads the memories that have changed.
    fn refresh_memories(&mut self, library: Arc<Library>) {
        let stores = library.stores.iter().map(|memories| &*memories.store);
        match self.memories.refresh(stores) {
            Ok(memories) => self.memories = memories,
            // A store that cannot be listed is also reported in the tree.
            Err(error) => self.events.fail(&error),
        }
        self.library = library;
        self.date_memories();
    }

    /// Dates the memories as the tree does.
    fn date_memories(&mut self) {
        for text in &mut self.memories.texts {
            if let Some(snapshot) = self.library.store(&text.store) {
                let time = self.ledger.last_change(snapshot.store.id(), &text.memory);
                text.time = Some(time).filter(|time| *time != 0);
            }
        }
        if let Some((git, cache)) = &self.git {
            date_by_git(&mut self.memories, git, cache);
        }
        self.events.send(Event::SearchSourcesChanged);
    }

    fn find(&mut self, job: &SearchJob) {
        let generation = job.generation;
        if self.newest.load(Ordering::Relaxed) != generation {
            return;
        }
        let sources = Sources {
            memories: &self.memories,
            corpus: self.corpus.as_deref(),
        };
        let reporter = ResultReporter {
            library: &self.library,
            sources,
            generation,
            first: job.rows,
            newest: &self.newest,
            events: &self.events,
            sent: &self.sent,
            near: Vec::new(),
            without: Vec::new(),
        };
        let now = (self.clock)().time.to_zoned(self.zone.clone());
        let mut query = match Query::parse_unfinished(&job.text, &now) {
            Ok(query) => query,
            Err(wrong) => {
                return reporter.deliver(FindResults {
                    wrong: Some(wrong),
                    ..FindResults::default()
                });
            }
        };
        if query.atoms.is_empty() {
            let Recent { hits, total } = recent(sources, &query.filters, MOST);
            let rows = hits.into_iter().map(|hit| reporter.plain_row(hit));
            return reporter.deliver(FindResults {
                rows: rows.collect(),
                total,
                is_newest_first: true,
                ..FindResults::default()
            });
        }
        query.filters.says_only = job.says_only;
        let request = FindRequest {
            query: &query,
            limit: MOST_LINES,
        };
        let mut found = find(sources, request, &reporter);
        if found.progress != SearchState::Stale {
            let near = self.meaning.as_mut().map(|own| own.near(sources, &query));
            let (near, note) = near.unwrap_or_default();
            if let Some(note) = note {
                self.events.send(Event::Failed(note));
            }
            let closest = |found: &Matches| {
                let first = found.matches.first();
                first.map_or(KINDS.len(), |first| first.closeness as usize)
            };
            let closeness = closest(&found);
            // Scattered letters are worth less than the words that a filter leaves out.
            let is_weak = closeness >= Closeness::Letters as usize && near.is_empty();
            let without = Query::without_each_filter(&job.text).into_iter();
            let without = without.filter(|_| is_weak).filter_map(|(filter, rest)| {
                let mut query = Query::parse_unfinished(&rest, &now).ok()?;
                query.filters.says_only = job.says_only;
                let request = FindRequest {
                    query: &query,
                    limit: MOST_LINES,
                };
                let found = find(sources, request, &Counter(&reporter));
                (closest(&found) < closeness).then_some((filter, found.total))
            });
            let without: Vec<_> = without.collect();
            if !without.is_empty() {
                found.matches.clear();
                found.total = 0;
            }
            let reporter = ResultReporter {
                near,
                without,
                ..reporter
            };
            reporter.send(&found);
        }
        let is_damaged = self.corpus.as_ref().is_some_and(|c| c.is_damaged());
        if is_damaged {
            self.corpus = None;
            self.events.send(Event::LogsChanged(Changes::Anywhere));
        }
    }
}

impl Worker for SearchWorker {
    type Job = Job;

    fn perform(&mut self, job: Job) {
        match job {
            Job::Stores(library) => self.refresh_memories(library),
            Job::Logs(corpus) => {
                self.corpus = Some(corpus);
                if let Some(meaning) = &mut self.meaning {
                    meaning.forget();
                }
                self.events.send(Event::SearchSourcesChanged);
            }
            Job::Ledger(ledger) => {
                self.ledger = ledger;
                self.date_memories();
            }
            Job::Find(job) => self.find(&job),
        }
    }
}

/// Sends partial results while the search runs.
struct ResultReporter<'a> {
    library: &'a Library,
    sources: Sources<'a>,
    generation: u64,
    /// How many rows are sent first.
    first: usize,
    newest: &'a AtomicU64,
    events: &'a EventSender,
    sent: &'a Mutex<VecDeque<Arc<FindResults>>>,
    /// What is near the query by its meaning.
    near: Vec<NearHit>,
    /// The filters without each of which something would be found, and how much.
    without: Vec<(String, usize)>,
}

/// Watches a search of which only the number of hits is told.
struct Counter<'a>(&'a ResultReporter<'a>);

impl SearchWatcher for Counter<'_> {
    fn is_stale(&self) -> bool {
        self.0.is_stale()
    }
}

/// The matches, and for one thread what reads them and the markers of each closeness in the order
/// of their declaration.
struct MarkedMatches<'a> {
    found: &'a Matches,
    sources: Sources<'a>,
    markers: [Marker<'a>; KINDS.len()],
}

const KINDS: [Closeness; 5] = [
    Closeness::Words,
    Closeness::Most,
    Closeness::Apart,
    Closeness::Slips,
    Closeness::Letters,
];

impl ResultReporter<'_> {
    /// Returns the row of a hit that no text of the query matches.
    fn plain_row(&self, mut hit: Hit) -> HitRow {
        hit.title = plain_line(&hit.title);
        // The store names in the hits are those of the searched library.
        let store = match hit.source {
            HitSource::Detail => self.library.store(&hit.store),
            HitSource::Messages => None,
        };
        let text = match hit.role {
            Some(Role::Tool) => hit.text.clone(),
            Some(_) => plain_line(&hit.text),
            // The description in a header is shown as what it says.
            None => plain_line(hit.text.strip_prefix("description: ").unwrap_or(&hit.text)),
        };
        HitRow {
            store: store.map(|memories| memories.store.id().clone()),
            text,
            closeness: Closeness::Words,
            others: Vec::new(),
            more: 0,
            copies: 0,
            title_letters: Vec::new(),
            letters: Vec::new(),
            hit,
        }
    }

    fn row(&self, matches: &MarkedMatches<'_>, one: &Match) -> Option<HitRow> {
        let mut hit = matches.found.hit(matches.sources, one)?;
        if let MatchSpot::Title(at) = one.spot {
            // The title is always displayed, so the row shows the summary below it.
            hit.text
                .clone_from(&self.sources.memories.texts[at].memory.summary);
        }
        let row = self.plain_row(hit);
        let marker = &matches.markers[one.closeness as usize];
        Some(HitRow {
            closeness: one.closeness,
            letters: marker.indices(&row.text),
            title_letters: marker.indices(&row.hit.title),
            ..row
        })
    }

    /// Returns the row of a group, with at most `room` of its other lines.
    fn group_row(
        &self,
        matches: &MarkedMatches<'_>,
        group: &MatchGroup,
        room: usize,
    ) -> Option<HitRow> {
        let row = self.row(matches, &group.best)?;
        let shown = other_lines(group).take(room);
        Some(HitRow {
            others: shown.filter_map(|one| self.row(matches, one)).collect(),
            more: other_lines(group).count(),
            copies: group.copies,
            ..row
        })
    }

    /// Sends the rows of a search: those that are visible at once, the others if it is over.
    fn send(&self, found: &Matches) {
        let groups = found.groups();
        let is_over = found.progress == SearchState::Complete;
        let has_more =
            groups.len() > self.first || groups.iter().any(|group| !group.others.is_empty());
        if !is_over || has_more {
            let progress = if is_over {
                SearchState::Widening
            } else {
                found.progress
            };
            let first = groups.iter().take(self.first).map(|group| (group, 0));
            self.send_rows(found, first.collect(), progress);
        }
        if is_over {
            let mut room = MOST_OTHERS_IN_ALL;
            let rows = groups.iter().take(MOST).map(|group| {
                let shown = other_lines(group).count().min(MOST_OTHERS).min(room);
                room -= shown;
                (group, shown)
            });
            self.send_rows(found, rows.collect(), found.progress);
        }
    }

    /// Sends the rows of these groups, each with at most so many of its other lines, unless the
    /// search is cancelled.
    fn send_rows(&self, found: &Matches, groups: Vec<(&MatchGroup, usize)>, progress: SearchState) {
        /// How many of the first rows a thread makes before it takes the next ones.
        const TOGETHER: usize = 4;
        // The rest is made by one thread, so that it does not delay the drawing of the first ones.
        let together = match progress {
            SearchState::Complete => groups.len().max(1),
            _ => TOGETHER,
        };
        let chunks: Vec<&[(&MatchGroup, usize)]> = groups.chunks(together).collect();
        let own = || MarkedMatches {
            found,
            sources: self.sources,
            markers: KINDS.map(|kind| found.marker(kind)),
        };
        let rows = with_on_all_cores(chunks.len(), own, |matches, at| {
            let groups = chunks[at].iter().take_while(|_| !self.is_stale());
            let rows = groups.filter_map(|(group, room)| self.group_row(matches, group, *room));
            rows.collect::<Vec<HitRow>>()
        });
        if self.is_stale() {
            return;
        }
        let rows: Vec<HitRow> = rows.into_iter().flatten().collect();
        let found_rows = rows.len();
        let rows = match progress {
            SearchState::Complete => self.with_near(rows),
            _ => rows,
        };
        self.deliver(FindResults {
            total: found.total + (rows.len() - found_rows),
            rows,
            progress,
            without: self.without.clone(),
            terms: KINDS.map(|kind| (kind, found.terms(kind).to_vec())).into(),
            ..FindResults::default()
        });
    }

    /// Merges the rows with those of what is near the query: of each memory or session one row.
    fn with_near(&self, rows: Vec<HitRow>) -> Vec<HitRow> {
        let first: Vec<_> = rows.iter().map(|row| home(&row.hit)).collect();
        let second: Vec<_> = self.near.iter().map(|near| home(&near.hit)).collect();
        let mut rows: Vec<Option<HitRow>> = rows.into_iter().map(Some).collect();
        let mut seen: HashSet<_> = first.iter().collect();
        let fused = fuse(&first, &second).into_iter();
        let merged = fused.filter_map(|one| match one.is_second {
            false => rows[one.at].take(),
            true => seen
                .insert(&second[one.at])
                .then(|| self.plain_row(self.near[one.at].hit.clone())),
        });
        merged.take(MOST).collect()
    }

    /// Sends results, and keeps them until they have been replaced.
    fn deliver(&self, results: FindResults) {
        /// The last results are shown until the new ones have arrived.
        const KEPT: usize = 2;
        let found = Arc::new(results);
        let event = Event::Found {
            generation: self.generation,
            found: Arc::clone(&found),
        };
        self.events.send(event);
        if found.progress != SearchState::Complete {
            std::thread::sleep(REST);
        }
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push_front(found);
        sent.truncate(KEPT);
    }
}

/// Returns the lines of a group that are listed below its best one.
fn other_lines(group: &MatchGroup) -> impl Iterator<Item = &Match> {
    let has_title = matches!(group.best.spot, MatchSpot::Title(_));
    let others = group.others.iter();
    // The line that repeats the title says nothing more.
    others.filter(move |one| !(has_title && matches!(one.spot, MatchSpot::Line(_, 1))))
}

impl SearchWatcher for ResultReporter<'_> {
    fn is_stale(&self) -> bool {
        self.newest.load(Ordering::Relaxed) != self.generation
    }

    fn partial(&self, found: &Matches) {
        self.send(found);
    }
}
