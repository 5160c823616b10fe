//! The timeline: what happened in the logs, from years down to segments and the lines that support
//! each bullet.
//!
//! A log is divided into segments ([`segment`]); the summarizer ([`summarize`]) chooses points of
//! each, every one with a [`grip`] on its lines. Days, ISO weeks, months and years choose among the
//! points of their children. Beside them, a log has a node for the session as a whole.
//!
//! Everything here is derived from the corpus and can be made again: the records in the cache
//! directory ([`record`]) only save time. A grip of a log that is gone is found in them as long as
//! the cache exists.

pub mod event;
pub mod files;
pub mod grip;
pub mod node;
pub mod record;
pub mod segment;
pub mod summarize;
mod teleport;
mod tree;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::core::corpus::{Corpus, Log, Part};
use crate::core::log::Agent;
use crate::core::{Error, Result, private};

use event::{Event, LogBlocks};
use grip::{Expanded, Grip, GripState};
use node::{Level, NodeId};
use record::{LogRecord, Source, Stamp};

pub use teleport::Teleport;
pub use tree::{Bullet, Node};

/// The timeline of some logs.
#[derive(Debug)]
pub struct Timeline {
    cache: PathBuf,
    logs: Vec<LogRecord>,
}

/// What a build does with the records of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// Uses those of logs that have not changed.
    Use,
    /// Makes all of them anew.
    Rebuild,
}

/// An event with its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent<'a> {
    /// The agent or layout.
    pub agent: Agent,
    /// The log's id.
    pub log: &'a str,
    /// The event.
    pub event: Event<'a>,
}

impl Timeline {
    /// Returns the timeline of those logs of the corpus that `is_wanted` selects by their indices.
    /// `cache` is the timeline's own directory; if it cannot be written, every build starts anew.
    pub fn refresh(
        cache: &Path,
        corpus: &Corpus,
        is_wanted: impl Fn(usize) -> bool,
        records: Records,
    ) -> Self {
        // Without the directory, no record is read or written.
        drop(private::create_dir(cache));
        let blocks = LogBlocks::of(corpus);
        let wanted: Vec<usize> = (0..corpus.logs().len())
            .filter(|log| is_wanted(*log))
            .collect();
        let made = on_all_cores(wanted.len(), |at| {
            record(cache, corpus, &blocks, wanted[at], records)
        });
        // Copies of a log have the same segments.
        let mut known = HashSet::new();
        let mut logs: Vec<LogRecord> = made.into_iter().flatten().collect();
        logs.retain(|log| known.insert((log.agent, log.id.clone())));
        Self {
            cache: cache.to_owned(),
            logs,
        }
    }

    /// Returns the years, newest first.
    pub fn root(&self) -> Vec<Node> {
        self.nodes(Level::Year)
    }

    /// Returns the nodes of a level, newest first.
    pub fn nodes(&self, level: Level) -> Vec<Node> {
        let tree = tree::Tree::of(&self.logs);
        let ids = tree.ids(level);
        let found = ids.iter().rev().filter_map(|id| tree.node(id));
        found.collect()
    }

    /// Returns a node; `None` if nothing happened in it.
    pub fn node(&self, id: &NodeId) -> Option<Node> {
        tree::Tree::of(&self.logs).node(id)
    }

    /// Returns the nodes of the sessions, in the order of the logs.
    pub fn sessions(&self) -> Vec<Node> {
        self.logs.iter().filter_map(tree::whole).collect()
    }

    /// Returns the nodes that a query is about, the best first: their ids and those of their grips.
    pub fn teleport(&self, query: &str, limit: usize) -> Vec<Teleport> {
        teleport::teleport(&self.logs, query, limit)
    }

    /// Returns a grip, also one of a log that is gone if the cache still has it.
    pub fn grip(&self, id: &str) -> Option<Grip> {
        let here = self.logs.iter().find_map(|log| grip_in(log, id));
        here.or_else(|| {
            let files = std::fs::read_dir(&self.cache).ok()?.flatten();
            let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
            paths.sort();
            paths
                .iter()
                .filter_map(|path| LogRecord::load(path))
                .find_map(|log| grip_in(&log, id))
        })
    }
}

fn grip_in(log: &LogRecord, id: &str) -> Option<Grip> {
    let records = log.segments.iter().chain(&log.whole);
    let mut grips = records.flat_map(|record| &record.points);
    let found = grips.find(|(_, grip)| grip.id == id);
    found.map(|(_, grip)| grip.clone())
}

/// Returns a grip's events with so many before and behind them, from the corpus.
pub fn expand<'a>(corpus: &'a Corpus, grip: &Grip, before: usize, after: usize) -> Expanded<'a> {
    let is_it = |log: &Log<'_>| log.agent() == Some(grip.agent) && log.id() == grip.log;
    match corpus.logs().position(|log| is_it(&log)) {
        Some(log) => {
            let events = LogBlocks::of(corpus).events(corpus, log);
            grip.expand(&events, before, after)
        }
        None => Expanded {
            state: GripState::Gone,
            before: Vec::new(),
            excerpt: Vec::new(),
            after: Vec::new(),
        },
    }
}

/// Returns the events between two times, both included, of those logs that `is_wanted` selects: by
/// time, at most `limit`; and whether there are more.
pub fn events_between(
    corpus: &Corpus,
    is_wanted: impl Fn(usize) -> bool,
    (from, to): (i64, i64),
    limit: usize,
) -> (Vec<LogEvent<'_>>, bool) {
    let blocks = LogBlocks::of(corpus);
    let mut found: Vec<LogEvent<'_>> = Vec::new();
    for (number, log) in corpus.logs().enumerate() {
        let overlaps = log
            .span()
            .is_none_or(|(first, last)| first <= to && last >= from);
        let Some(agent) = log.agent().filter(|_| overlaps && is_wanted(number)) else {
            continue;
        };
        let events = blocks.events(corpus, number).into_iter();
        let inside = events.filter(|event| (from..=to).contains(&event.time));
        found.extend(inside.map(|event| LogEvent {
            agent,
            log: log.id(),
            event,
        }));
    }
    found.sort_by_key(|found| found.event.time);
    let has_more = found.len() > limit;
    found.truncate(limit);
    (found, has_more)
}

/// Returns the record of a log: that of the cache, or a new one.
fn record(
    cache: &Path,
    corpus: &Corpus,
    blocks: &LogBlocks,
    number: usize,
    records: Records,
) -> Option<LogRecord> {
    let log = corpus.log(number)?;
    let source = Source {
        agent: log.agent()?,
        id: log.id(),
        cwd: log.cwd(),
        stamp: stamp(&log),
    };
    let path = cache.join(record_name(&log));
    let known = match records {
        Records::Use => LogRecord::load(&path),
        Records::Rebuild => None,
    };
    if let Some(known) = &known
        && known.is_current(source.stamp)
    {
        return Some(known.clone());
    }
    let events = blocks.events(corpus, number);
    let made = LogRecord::make(source, &events, known.as_ref());
    made.save(&path);
    Some(made)
}

fn stamp(log: &Log<'_>) -> Stamp {
    let (size, modified) = log.stamp();
    // A session in a database has no size of its own.
    let text = |part| log.text_bytes(part);
    (
        size,
        modified,
        text(Part::Words),
        text(Part::Calls) + text(Part::Results),
    )
}

fn record_name(log: &Log<'_>) -> String {
    let path = log.path();
    let name = format!("{}\n{}", path.display(), log.id());
    format!("{}.json", &blake3::hash(name.as_bytes()).to_hex()[..32])
}

/// Finds the log with this id, or the only one whose id starts with it.
pub fn log_named(corpus: &Corpus, id: &str) -> Result<usize> {
    if let Some(exact) = corpus.logs().position(|log| log.id() == id) {
        return Ok(exact);
    }
    let mut found = corpus
        .logs()
        .enumerate()
        .filter(|(_, log)| log.id().starts_with(id));
    match (found.next(), found.next()) {
        (Some((number, _)), None) => Ok(number),
        (Some(_), Some(_)) => Err(Error::refused(
            id,
            "more than one log starts with this; give more of the id",
        )),
        (None, _) => Err(Error::not_found(format!("log {id}"))),
    }
}

/// Runs `work` for every number below `count` on all cores, and returns the results in order.
fn on_all_cores<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let run = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = work(number);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((number, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(count) {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
