//! The timeline: what happened in the logs, from years down to segments and the lines that support
//! each bullet.
//!
//! A log is divided into segments ([`segment`]); the summarizer ([`summarize`]) chooses points of
//! each, every one with a [`grip`] on its lines. Days, ISO weeks, months and years choose among the
//! points of their children. Beside them, a log has a node for the session as a whole.
//!
//! Everything here is derived from the corpus and can be made again: the records in the cache
//! directory ([`mod@record`]) only save time. A grip of a log that is gone is found in them as long as
//! the cache exists.

pub mod comment;
pub mod event;
pub mod files;
pub mod grip;
pub mod json;
mod near;
pub mod node;
pub mod outline;
mod paragraph;
mod project;
pub mod query;
pub mod record;
mod rollup;
pub mod segment;
mod session;
mod status;
pub mod summarize;
mod teleport;
mod topics;
mod tree;
mod version;

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::core::disk::foreign::{LARGEST_LOG, read_text};
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::private;
use crate::core::insight::semantic::Semantic;
use crate::core::insight::sessions::listings;
use crate::core::log::Agent;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::config::TimelineSettings;
use crate::core::memory::layout::events::TimeSpan;
use crate::core::search::index::{Corpus, Log, Part};

use event::{Event, LogEvents, Place, Texts};
use grip::{Expanded, Grip, GripState};
use node::{Level, NodeId};
use record::{LogRecord, Source, Stamp};
use rollup::RollUps;
use summarize::command::CommandSummarizer;
use summarize::{Offline, Summarizer};

pub use near::near;
pub use status::Status;
pub use teleport::Teleport;
pub use topics::Topic;
pub use tree::{Bullet, Child, Node};
pub use version::VersionedNode;

/// The timeline of some logs.
#[derive(Debug, Clone)]
pub struct Timeline {
    cache: PathBuf,
    summarizer: Arc<dyn Summarizer>,
    /// The logs, in the order of the corpus.
    logs: Vec<LogSlot>,
    /// What the summarizer said about days, weeks, months and years.
    rollups: Arc<RollUps>,
    /// What tells its logs from those of other timelines, for the former versions of nodes.
    scope: String,
    /// The zone in which days begin.
    zone: TimeZone,
}

/// A log of the timeline.
#[derive(Debug, Clone)]
struct LogSlot {
    /// Its index in the corpus.
    number: usize,
    /// The name of its record in the cache.
    name: String,
    /// Its record, which may be that of an earlier state; `None` if there is none yet.
    record: Option<Arc<LogRecord>>,
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
pub struct LogEvent {
    /// The agent or layout.
    pub agent: Agent,
    /// The log's id.
    pub log: String,
    /// The event.
    pub event: Event,
}

impl Timeline {
    /// Returns the timeline of those logs of the corpus that `is_wanted` selects by their indices.
    pub fn refresh(
        &self,
        corpus: &Corpus,
        is_wanted: impl Fn(usize) -> bool,
        records: Records,
    ) -> Self {
        let (mut timeline, mut outdated) = self.cached(corpus, is_wanted);
        let old = timeline.clone();
        if records == Records::Rebuild {
            outdated = timeline.logs.iter().map(|log| log.number).collect();
        }
        timeline.make(corpus, &outdated, records);
        timeline.keep_versions(&old);
        timeline
    }

    /// Returns a timeline without logs. `cache` is its own directory; if that cannot be written,
    /// every build starts anew.
    pub fn empty(cache: &Path, summarizer: Arc<dyn Summarizer>) -> Self {
        Self {
            cache: cache.to_owned(),
            summarizer,
            logs: Vec::new(),
            rollups: Arc::default(),
            scope: String::new(),
            zone: TimeZone::UTC,
        }
    }

    /// Returns it for the logs of a scope with this name, with days of a zone.
    pub fn of_scope(self, scope: String, zone: &TimeZone) -> Self {
        let zone = zone.clone();
        Self {
            scope,
            zone,
            ..self
        }
    }

    /// Returns the timeline of those logs of the corpus that `is_wanted` selects, as far as records
    /// of them are known here or in the cache; and the logs whose records are missing or out of
    /// date, the newest first.
    pub fn cached(&self, corpus: &Corpus, is_wanted: impl Fn(usize) -> bool) -> (Self, Vec<usize>) {
        let known: HashMap<&str, &Arc<LogRecord>> = self
            .logs
            .iter()
            .filter_map(|log| Some((log.name.as_str(), log.record.as_ref()?)))
            .collect();
        let summarizer = self.summarizer.name();
        // Copies of a log have the same segments.
        let mut seen = HashSet::new();
        let wanted: Vec<usize> = corpus
            .logs()
            .enumerate()
            .filter(|(number, log)| {
                let is_new = |agent| seen.insert((agent, log.id().to_owned()));
                is_wanted(*number) && log.agent().is_some_and(is_new)
            })
            .map(|(number, _)| number)
            .collect();
        let found = on_all_cores(wanted.len(), |at| {
            let number = wanted[at];
            let log = corpus.log(number)?;
            let name = record_name(&log);
            let record = match known.get(name.as_str()) {
                Some(record) => Some(Arc::clone(record)),
                None => LogRecord::load(&self.cache.join(&name)).map(Arc::new),
            };
            let is_current = record
                .as_ref()
                .is_some_and(|record| record.is_current(stamp(&log), &summarizer));
            let last = log.last_activity();
            let outdated = (!is_current).then_some((std::cmp::Reverse(last), number));
            let slot = LogSlot {
                number,
                name,
                record,
            };
            Some((slot, outdated))
        });
        let (logs, outdated): (Vec<LogSlot>, Vec<_>) = found.into_iter().flatten().unzip();
        let mut outdated: Vec<_> = outdated.into_iter().flatten().collect();
        outdated.sort_unstable();
        let outdated = outdated.into_iter().map(|(_, number)| number).collect();
        let rollups = if self.rollups.summarizer == summarizer {
            Arc::clone(&self.rollups)
        } else {
            Arc::new(RollUps::load(&self.cache, &summarizer))
        };
        let timeline = Self {
            logs,
            rollups,
            scope: self.scope.clone(),
            zone: self.zone.clone(),
            ..Self::empty(&self.cache, Arc::clone(&self.summarizer))
        };
        (timeline, outdated)
    }

    /// Makes the records of these logs, which are indices of the corpus.
    pub fn update(&mut self, corpus: &Corpus, outdated: &[usize]) {
        self.make(corpus, outdated, Records::Use);
    }

    fn make(&mut self, corpus: &Corpus, outdated: &[usize], records: Records) {
        if outdated.is_empty() {
            return;
        }
        // Without the directory, no record is written.
        drop(private::create_dir(&self.cache));
        let logs = &self.logs;
        let made = on_all_cores(outdated.len(), |at| {
            let number = outdated[at];
            let slot = logs.binary_search_by_key(&number, |log| log.number).ok()?;
            let before = logs[slot].record.as_deref();
            let summarizer = self.summarizer.as_ref();
            let known = before.filter(|_| records == Records::Use);
            let record = record(corpus, number, summarizer, known)?;
            record.save(&self.cache.join(&logs[slot].name));
            let former = before.map(|before| replaced(before, &record));
            // A copy has no spare capacity: with it, the records of all logs take twice the memory.
            Some((slot, Arc::new(record.clone()), former.unwrap_or_default()))
        });
        let mut former = Vec::new();
        for (slot, record, replaced) in made.into_iter().flatten() {
            self.logs[slot].record = Some(record);
            former.extend(replaced);
        }
        self.keep_former(&former);
    }

    /// The lines of the file of grips that no record has.
    fn former(&self) -> String {
        let text = read_text(&self.cache.join(FORMER), LARGEST_LOG);
        text.ok().flatten().unwrap_or_default()
    }

    /// Keeps grips that no record has, or has any more, for the time when their logs are gone. Where they
    /// cannot be written, nothing is kept.
    fn keep_former(&self, grips: &[Grip]) {
        let path = self.cache.join(FORMER);
        if grips.is_empty() {
            return;
        }
        let known = self.former();
        let known = known.lines().filter_map(private::of_cache_line::<Grip>);
        let mut known: HashSet<String> = known.map(|grip| grip.id).collect();
        let new = grips.iter().filter(|grip| known.insert(grip.id.clone()));
        let lines: Vec<String> = new.filter_map(private::to_cache_line).collect();
        if lines.is_empty() {
            return;
        }
        let written = private::open_append(&path)
            .and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes()));
        drop(written);
    }

    /// The records that there are, in the order of the logs.
    fn records(&self) -> impl Iterator<Item = &Arc<LogRecord>> {
        self.logs.iter().filter_map(|log| log.record.as_ref())
    }

    fn tree(&self) -> tree::Tree<'_> {
        tree::Tree::of(self.records().map(Arc::as_ref), &self.rollups, &self.zone)
    }

    /// Returns the years, newest first.
    pub fn root(&self) -> Vec<Node> {
        self.nodes(Level::Year)
    }

    /// Returns the nodes of a level, newest first.
    pub fn nodes(&self, level: Level) -> Vec<Node> {
        let tree = self.tree();
        let ids = tree.ids(level);
        let found = ids.iter().rev().filter_map(|id| tree.node(id));
        found.collect()
    }

    /// Returns a node; `None` if nothing happened in it. A segment is found whatever the scope: its session
    /// may be another project's, or a subagent's.
    pub fn node(&self, id: &NodeId) -> Option<Node> {
        let known = |log: LogRecord| {
            let segment = log.segment(id)?;
            Some(tree::of_record(&log, segment, id.to_string(), "segment"))
        };
        let here = self.tree().node(id);
        here.or_else(|| match id {
            NodeId::Segment(..) => self.kept_records().find_map(known),
            _ => None,
        })
    }

    /// Returns those of some nodes in which something happened.
    pub fn nodes_of(&self, ids: &[NodeId]) -> Vec<Node> {
        let tree = self.tree();
        ids.iter().filter_map(|id| tree.node(id)).collect()
    }

    /// Returns the nodes that a query is about, the best first: their ids and those of their grips.
    /// With a model, also those that say it in other words. The corpus is that of its logs.
    pub fn teleport(
        &self,
        corpus: &Corpus,
        query: &str,
        limit: usize,
        semantic: Option<&Semantic>,
    ) -> Vec<Teleport> {
        let logs = self.logs.iter();
        let logs = logs.filter_map(|log| Some((log.number, log.record.as_deref()?)));
        let places = teleport::Places {
            corpus,
            logs: logs.collect(),
            zone: &self.zone,
        };
        let (found, grips) = teleport::teleport(&places, query, limit, semantic);
        self.keep_former(&grips);
        found
    }

    /// Returns what the sessions were about, the most frequent first.
    pub fn topics(&self, semantic: &Semantic) -> Vec<Topic> {
        topics::topics(self.records().map(Arc::as_ref), semantic, &self.zone)
    }

    /// Returns a grip: one of the timeline, one that was replaced when its log grew, or one of a log
    /// that is gone if the cache still has it.
    pub fn grip(&self, corpus: &Corpus, id: &str) -> Option<Grip> {
        let here = self.records().find_map(|log| grip_in(log, id));
        let here = here.or_else(|| Grip::find(corpus, id));
        let here = here.or_else(|| {
            let former = self.former();
            let lines = former.lines().filter(|line| line.contains(id));
            let mut grips = lines.filter_map(private::of_cache_line::<Grip>);
            grips.find(|grip| grip.id == id)
        });
        here.or_else(|| self.kept_records().find_map(|log| grip_in(&log, id)))
    }

    /// The records of all logs in the cache.
    fn kept_records(&self) -> impl Iterator<Item = LogRecord> {
        let files = std::fs::read_dir(&self.cache).into_iter().flatten();
        let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        paths.sort();
        paths.into_iter().filter_map(|path| LogRecord::load(&path))
    }
}

/// The file of the cache with grips that records had once, or that only a query showed.
const FORMER: &str = "grips.jsonl";

fn grips_of(log: &LogRecord) -> impl Iterator<Item = &Grip> {
    let records = log.segments.iter().chain(&log.whole);
    let points = records.flat_map(|record| &record.points);
    points.map(|(_, grip)| grip)
}

fn grip_in(log: &LogRecord, id: &str) -> Option<Grip> {
    grips_of(log).find(|grip| grip.id == id).cloned()
}

/// The grips of a record that the one in its place does not have.
fn replaced(before: &LogRecord, after: &LogRecord) -> Vec<Grip> {
    let left: HashSet<&str> = grips_of(after).map(|grip| grip.id.as_str()).collect();
    let gone = grips_of(before).filter(|grip| !left.contains(grip.id.as_str()));
    gone.cloned().collect()
}

/// Returns a grip's event with so much of what was said before and behind it, from the corpus.
pub fn expand(corpus: &Corpus, grip: &Grip, before: usize, after: usize) -> Expanded {
    let logs = corpus.logs().enumerate();
    let named = logs.filter(|(_, log)| log.agent() == Some(grip.agent) && log.is_named(&grip.log));
    let expand = |(log, _)| grip.expand(&LogEvents::of(corpus, log), before, after);
    let mut expanded = named.map(expand);
    let Some(first) = expanded.next() else {
        return Expanded::nothing(GripState::Gone);
    };
    // Another log may have the same id.
    let is_current = |one: &Expanded| one.state == GripState::Current;
    if is_current(&first) {
        return first;
    }
    expanded.find(is_current).unwrap_or(first)
}

/// Returns the events of a span, sorted by time, of those logs that `is_wanted` selects; and whether
/// there are more.
pub fn events_between(
    corpus: &Corpus,
    is_wanted: impl Fn(usize) -> bool,
    TimeSpan { from, to, limit }: TimeSpan,
) -> (Vec<LogEvent>, bool) {
    // The earliest ones, by time and then in the order of the logs; the latest of them on top.
    let mut earliest: BinaryHeap<(i64, usize, usize, Place)> = BinaryHeap::new();
    let mut has_more = false;
    for (number, log) in corpus.logs().enumerate() {
        let overlaps = log
            .span()
            .is_none_or(|(first, last)| first <= to && last >= from);
        if !overlaps || log.agent().is_none() || !is_wanted(number) {
            continue;
        }
        let events = LogEvents::of(corpus, number);
        for (at, time) in events.times().enumerate() {
            if !(from..=to).contains(&time) {
                continue;
            }
            let is_room = earliest.len() < limit;
            let is_earlier =
                |last: &(i64, usize, usize, Place)| (time, number, at) < (last.0, last.1, last.2);
            if !is_room {
                has_more = true;
                if !earliest.peek().is_some_and(is_earlier) {
                    continue;
                }
                earliest.pop();
            }
            earliest.push((time, number, at, events.place(at)));
        }
    }
    let found = earliest.into_sorted_vec().into_iter();
    let found = found.filter_map(|(_, number, _, place)| {
        let log = corpus.log(number)?;
        Some(LogEvent {
            agent: log.agent()?,
            log: log.id().to_owned(),
            event: place.read(corpus, Texts::All)?,
        })
    });
    (found.collect(), has_more)
}

/// Makes the record of a log; what `before` has of the same events is taken from it.
fn record(
    corpus: &Corpus,
    number: usize,
    summarizer: &dyn Summarizer,
    before: Option<&LogRecord>,
) -> Option<LogRecord> {
    let log = corpus.log(number)?;
    let source = Source {
        agent: log.agent()?,
        id: log.id(),
        cwd: log.cwd(),
        stamp: stamp(&log),
        summarizer,
    };
    let events = LogEvents::of(corpus, number);
    Some(LogRecord::make(source, &events, before))
}

/// Returns the state of a log, by which a record of it is known to be current.
pub(in crate::core::insight) fn stamp(log: &Log<'_>) -> Stamp {
    // A session in a database has no size of its own.
    let text = |part| log.text_bytes(part);
    (
        log.listed(),
        text(Part::Words),
        text(Part::Calls) + text(Part::Results),
    )
}

/// Returns the name of a log's record in a cache.
pub(in crate::core::insight) fn record_name(log: &Log<'_>) -> String {
    let path = log.path();
    let name = format!("{}\n{}", path.display(), log.id());
    format!("{}.json", &blake3::hash(name.as_bytes()).to_hex()[..32])
}

/// Finds the log of an agent with this id.
pub fn log_named_by(corpus: &Corpus, agent: Agent, id: &str) -> Option<usize> {
    let is_it = |log: Log<'_>| log.agent() == Some(agent) && log.is_named(id);
    corpus.logs().position(is_it)
}

/// Finds the log and its line that a citation such as `codex:ID#L12` names.
pub fn cited_line(corpus: &Corpus, citation: &str) -> Option<(usize, u64)> {
    let Ok(citation) = citation.parse::<Citation>();
    let CitedPart::Lines(lines) = &citation.part else {
        return None;
    };
    let agent = Agent::named(citation.store.as_deref()?)?;
    let log = log_named_by(corpus, agent, &citation.path)?;
    Some((log, u64::try_from(*lines.start()).ok()?))
}

/// Returns for each log of a corpus whether it is a session: no subagent's, no older copy, not
/// empty.
pub fn sessions_of(corpus: &Corpus) -> Vec<bool> {
    let listings = listings(corpus).into_iter();
    listings.map(|listing| listing.unlisted.is_none()).collect()
}

/// Returns the timeline's directory, which is beside that of the corpus.
pub fn directory(corpus_cache: &Path) -> PathBuf {
    corpus_cache.with_file_name("timeline")
}

/// Returns the summarizer of the settings: a program, or the offline one.
pub fn summarizer(settings: &TimelineSettings) -> Arc<dyn Summarizer> {
    if settings.command.is_empty() {
        Arc::new(Offline)
    } else {
        let timeout = Duration::from_secs(settings.timeout);
        Arc::new(CommandSummarizer::new(settings.command.clone(), timeout))
    }
}

#[cfg(test)]
impl Timeline {
    /// Returns the timeline of these records, in their order.
    pub(crate) fn of_records(records: impl IntoIterator<Item = LogRecord>) -> Self {
        let logs = records
            .into_iter()
            .enumerate()
            .map(|(number, record)| LogSlot {
                number,
                name: record.id.clone(),
                record: Some(Arc::new(record)),
            });
        Self {
            logs: logs.collect(),
            ..Self::empty(Path::new(""), Arc::new(Offline))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::event::EventList as _;
    use super::*;
    use crate::core::search::fixture::TestHome;

    /// The minute of a message of a test log.
    const fn minute(number: i64) -> i64 {
        1_700_000_000_000 + 60_000 * number
    }

    #[test]
    fn the_earliest_events_of_all_logs_are_given_and_whether_there_are_more() {
        let said = |log: &str, count: usize| -> Vec<String> {
            (0..count).map(|at| format!("{log} says {at}")).collect()
        };
        let home = TestHome::new(&[], &[said("one", 3), said("two", 5)]);
        let corpus = home.corpus();
        let texts = |span: TimeSpan| {
            let (found, has_more) = events_between(&corpus, |_| true, span);
            let texts = found.iter().map(|found| found.event.text.to_string());
            (texts.collect::<Vec<String>>(), has_more)
        };
        let all = |limit: usize| TimeSpan {
            from: i64::MIN,
            to: i64::MAX,
            limit,
        };
        let (everything, has_more) = texts(all(100));
        assert_eq!(everything.len(), 8);
        assert!(!has_more);
        for limit in 0..=8 {
            let expected = everything[..limit].to_vec();
            assert_eq!(texts(all(limit)), (expected, limit < 8), "{limit}");
        }
        assert_eq!(
            everything[..3],
            ["one says 0", "two says 0", "one says 1"].map(str::to_owned)
        );
        let (found, has_more) = texts(TimeSpan {
            from: minute(2),
            to: minute(3),
            limit: 10,
        });
        assert_eq!(found, ["one says 2", "two says 2", "two says 3"]);
        assert!(!has_more);
        let (none, _) = events_between(&corpus, |_| false, all(10));
        assert!(none.is_empty());
    }

    #[test]
    fn an_event_whose_text_is_not_read_has_its_size() {
        let home = TestHome::new(&[], &[]);
        let text = "€".repeat(400);
        let line = |content: serde_json::Value| {
            let message = serde_json::json!({"role": "user", "content": [content]});
            serde_json::json!({"type": "message", "timestamp": minute(0), "message": message})
        };
        let said = line(serde_json::json!({"type": "text", "text": "run it"}));
        let result =
            serde_json::json!({"type": "tool_result", "tool_use_id": "a", "content": text});
        let log = format!("{said}\n{}\n", line(result));
        home.write("s0/messages.jsonl", &log);
        let corpus = home.corpus();
        let events = LogEvents::of(&corpus, 0);
        let read = |texts| -> Vec<(String, usize)> {
            let events = events.read(0..events.count(), texts);
            let read = events.map(|event| (event.text.to_string(), event.length()));
            read.collect()
        };
        let said = ("run it".to_owned(), 6);
        assert_eq!(read(Texts::All), [said.clone(), (text.clone(), 1_200)]);
        assert_eq!(read(Texts::ButResults), [said, (String::new(), 1_200)]);
    }

    #[test]
    fn any_of_the_events_of_a_log_can_be_read_without_the_rest() {
        let said: Vec<String> = (0..40).map(|at| format!("message {at}")).collect();
        let home = TestHome::new(&[], std::slice::from_ref(&said));
        let corpus = home.corpus();
        let events = LogEvents::of(&corpus, 0);
        assert_eq!(events.count(), said.len());
        for range in [0..0, 0..40, 7..9, 39..40] {
            let read: Vec<String> = events
                .read(range.clone(), Texts::All)
                .map(|event| event.text.to_string())
                .collect();
            assert_eq!(read, said[range]);
        }
        assert_eq!(events.line(7), 8);
        let times: Vec<i64> = events.times().collect();
        assert_eq!(times[..2], [minute(0), minute(1)]);
    }
}
