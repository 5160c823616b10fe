//! The queries of the timeline as servers answer them: over the logs of a catalog, within a time limit,
//! in pages, with short texts.

use super::json::{EventRow, EventRows, GripRows};
use super::node::NodeId;
use super::{
    Grip, Node, Records, Teleport, Timeline, VersionedNode, directory, events_between, expand,
    sessions_of, summarizer,
};
use crate::core::Result;
use crate::core::insight::semantic::Semantic;
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::layout::events::TimeSpan;
use crate::core::search::index::{Corpus, Deadline, Progress as _, ReadResults};
use crate::core::search::{ScopedCorpus, read_corpus};

/// How many things a query returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    usual: usize,
    most: usize,
}

/// The nodes of a page.
pub const NODES: Limit = Limit {
    usual: 20,
    most: 100,
};

/// The events of a span.
pub const EVENTS: Limit = Limit {
    usual: 50,
    most: 100,
};

/// The events on each side of a grip.
pub const AROUND: Limit = Limit { usual: 3, most: 20 };

/// The places that a question leads to.
pub const PLACES: Limit = Limit {
    usual: 10,
    most: 50,
};

impl Limit {
    /// Returns what is asked for, at most what is allowed.
    pub fn of(self, asked: Option<usize>) -> usize {
        asked.unwrap_or(self.usual).min(self.most)
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    /// The answer.
    pub value: T,
    /// The number of logs that could not be read or summarized in time; the next query goes on with
    /// them.
    pub left: usize,
}

/// A page of the parts of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePage {
    /// The parts.
    pub nodes: Vec<Node>,
    /// Where the next page begins, if there is one.
    pub next: Option<usize>,
}

/// Answers queries about the logs of a catalog.
#[derive(Debug)]
pub struct TimelineQueries<'a> {
    /// The logs.
    pub catalog: &'a LogCatalog,
    /// When to stop reading them.
    pub deadline: &'a Deadline<'a>,
}

/// The logs that are summarized between two looks at the clock.
const AT_ONCE: usize = 16;

impl TimelineQueries<'_> {
    /// Returns the years, newest first.
    pub fn root(&self) -> Result<Found<Vec<Node>>> {
        self.read(|_, timeline| timeline.root())
    }

    /// Returns the newest version of a node; `None` if nothing happened in it.
    pub fn node(&self, id: &NodeId) -> Result<Found<Option<VersionedNode>>> {
        self.read(|_, timeline| {
            let node = timeline.node(id)?;
            timeline.versions(vec![node]).pop()
        })
    }

    /// Returns so many parts of a node, from this one on; `None` if nothing happened in it.
    pub fn browse(
        &self,
        parent: &NodeId,
        from: usize,
        limit: usize,
    ) -> Result<Found<Option<NodePage>>> {
        self.read(|_, timeline| {
            let children = timeline.node(parent)?.children;
            let page = children.iter().skip(from).take(limit);
            let page: Vec<NodeId> = page.filter_map(|child| child.id.parse().ok()).collect();
            let next = from.saturating_add(limit);
            Some(NodePage {
                nodes: timeline.nodes_of(&page),
                next: Some(next).filter(|next| *next < children.len()),
            })
        })
    }

    /// Returns a grip with so many events before and behind it: the one that the caller found in a
    /// memory, or else the one with this id; `None` if it is not known.
    pub fn grip(
        &self,
        id: &str,
        in_memories: Option<&Grip>,
        (before, after): (usize, usize),
    ) -> Result<Found<Option<GripRows>>> {
        let id = self.catalog.marked(id)?;
        self.read(|corpus, timeline| {
            let grip = in_memories.cloned();
            let grip = grip.or_else(|| timeline.grip(corpus, &id))?;
            let expanded = expand(corpus, &grip, before, after);
            Some(GripRows::new(corpus, &grip, &expanded).shortened())
        })
    }

    /// Returns the events of a span, and whether there are more.
    pub fn events(&self, span: TimeSpan) -> Result<Found<(Vec<EventRow>, bool)>> {
        self.read_logs(|corpus| {
            let sessions = sessions_of(corpus);
            let (events, has_more) = events_between(corpus, |log| sessions[log], span);
            let rows = EventRows::new(corpus);
            let events = events.iter().map(|found| {
                let row = rows.row(found.agent, &found.log, &found.event);
                row.shortened()
            });
            ((events.collect(), has_more), 0)
        })
    }

    /// Returns the nodes that a question is about, the best first, and what is wrong with the model
    /// that finds by meaning.
    pub fn teleport(
        &self,
        query: &str,
        limit: usize,
    ) -> Result<Found<(Vec<Teleport>, Option<String>)>> {
        let semantic = Semantic::open(&self.catalog.timeline.model, &self.catalog.cache);
        self.read(|corpus, timeline| {
            let places = timeline.teleport(corpus, query, limit, semantic.as_ref().ok());
            let note = match &semantic {
                Ok(semantic) => semantic.note(),
                Err(none) => none.note(),
            };
            (places, note)
        })
    }

    /// Reads something of the timeline. What cannot be summarized in time is left for the next query.
    fn read<T>(&self, look: impl Fn(&Corpus, &Timeline) -> T) -> Result<Found<T>> {
        let summarizer = summarizer(&self.catalog.timeline);
        let none = Timeline::empty(&directory(&self.catalog.cache), summarizer);
        let none = none.of_scope(self.catalog.scope_name(), &self.catalog.timeline.zone);
        self.read_logs(|corpus| {
            let sessions = sessions_of(corpus);
            let (mut timeline, outdated) = none.cached(corpus, |log| sessions[log]);
            let before = timeline.clone();
            let mut rest = outdated.chunks(AT_ONCE);
            while !self.deadline.is_cancelled()
                && let Some(next) = rest.next()
            {
                timeline.update(corpus, next);
            }
            timeline.keep_versions(&before);
            timeline.roll_up(Records::Use, || self.deadline.is_cancelled());
            let left = rest.map(<[usize]>::len).sum::<usize>();
            (look(corpus, &timeline), left)
        })
    }

    /// Reads something of the logs in scope; `look` also returns how many it left out.
    fn read_logs<T>(&self, look: impl Fn(&Corpus) -> (T, usize)) -> Result<Found<T>> {
        let files = self.catalog.files();
        let open = || {
            let results = ReadResults::Now;
            self.catalog.scoped_corpus(&files, results, self.deadline)
        };
        let read = |ScopedCorpus { corpus, left, .. }: &ScopedCorpus| (look(corpus), *left);
        let (_, ((value, unmade), unread)) = read_corpus(open, read)?;
        Ok(Found {
            value,
            left: unmade + unread,
        })
    }
}
