//! What the timeline keeps of each log: its segments and the session as a whole, summarized.
//!
//! A record is a file of its own in the cache, replaced whole, so that an interrupted build goes on
//! with the next log. It is derived from the log and the same whenever it is made. The segments of a
//! log that has grown are kept as they are, except those whose events have changed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::event::{Event, EventList, is_interruption, stable_id};
use super::grip::Grip;
use super::node::NodeId;
use super::segment::{Divider, overlap};
use super::summarize::{
    Point, PointKind, SegmentWords, Summarizer, Summary, SummaryInput, TextAnalysis,
};
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;
use crate::core::log::{Agent, MessageKind};
use crate::core::text::display::safe_line;

/// The form of the records and the rules by which they are made; others are not read.
const FORMAT: u32 = 8;

/// The largest record that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The most events of which the summary of a whole log is made.
const MOST_EVENTS: usize = 20_000;

/// The record of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    format: u32,
    /// The agent or layout.
    pub agent: Agent,
    /// The log's id.
    pub id: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// The state of the log from which it was made.
    stamp: Stamp,
    /// The name of the summarizer that made it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    summarizer: String,
    /// The session as a whole; `None` if nothing happened in it.
    pub whole: Option<Record>,
    /// Its segments, in order.
    pub segments: Vec<Record>,
}

/// By what a change of a log is noticed, and the size of its text.
pub type Stamp = ((u64, Option<i64>, Option<i64>), u64, u64);

/// The summary of a segment, or of a session as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The ULID of a segment.
    pub id: String,
    /// The hash of its events.
    digest: String,
    /// The hash of the text of its first event, which copies of it in other logs share.
    pub start: String,
    /// The time of the first event, in milliseconds since 1970 UTC.
    pub from: i64,
    /// The time of the last event.
    pub to: i64,
    /// The first line in the log.
    pub first_line: u64,
    /// The last line in the log.
    pub last_line: u64,
    /// What happened, in a few words.
    pub title: String,
    /// What happened, each with the lines that support it.
    pub points: Vec<(Point, Grip)>,
    /// Words that tell it from others.
    pub keywords: Vec<String>,
    /// The files that were changed.
    pub files: Vec<String>,
    /// The lines of the calls that made the commits that stand in the end.
    pub commits: Vec<u64>,
    /// Why it is not the summary that was wanted, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The log of which a record is made.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The agent or layout.
    pub agent: Agent,
    /// The log's id.
    pub id: &'a str,
    /// The working directory.
    pub cwd: Option<&'a str>,
    /// Its state.
    pub stamp: Stamp,
    /// What summarizes it.
    pub summarizer: &'a dyn Summarizer,
}

impl LogRecord {
    /// Reads a record; `None` if there is none of this form.
    pub fn load(path: &Path) -> Option<Self> {
        load::<Self>(path).filter(|record| record.format == FORMAT)
    }

    /// Whether it was made from the log in this state, by this summarizer.
    pub fn is_current(&self, stamp: Stamp, summarizer: &str) -> bool {
        self.stamp == stamp && self.summarizer == summarizer
    }

    /// Writes it. A record that cannot be written is made again the next time.
    pub fn save(&self, path: &Path) {
        save(path, self);
    }

    /// Summarizes a log. What `before` has of the same events is taken from it.
    pub fn make(
        source: Source<'_>,
        events: &(impl EventList + ?Sized),
        before: Option<&Self>,
    ) -> Self {
        let summarizer = source.summarizer.name();
        let before = before.filter(|before| before.summarizer == summarizer);
        let known = before.map_or(&[][..], |before| &before.segments);
        let known: HashMap<&str, &Record> = known
            .iter()
            .map(|known| (known.id.as_str(), known))
            .collect();
        let mut whole = WholeLog::new(events.count());
        let mut sessions: Vec<Session<'_>> = Vec::new();
        let mut named: HashMap<Option<String>, usize> = HashMap::new();
        for event in events.read(0..events.count(), source.summarizer.texts()) {
            whole.add(&event);
            // Only an events store has several sessions.
            let name = event.session.clone();
            let name = name.filter(|_| source.agent == Agent::Events);
            let at = *named.entry(name).or_insert_with(|| {
                sessions.push(Session::new(source, &known));
                sessions.len() - 1
            });
            sessions[at].add(event, &mut whole);
        }
        let mut found: Vec<Record> = Vec::new();
        let is_one = sessions.len() == 1;
        for mut session in sessions {
            session.end_segment(&mut whole);
            found.append(&mut session.found);
            if is_one {
                whole.words = Some(session.words);
            }
        }
        // Two segments have one id only if a log has the same record twice.
        let mut seen = HashSet::new();
        found.retain(|segment| seen.insert(segment.id.clone()));
        let known = before.and_then(|before| before.whole.as_ref());
        Self {
            format: FORMAT,
            agent: source.agent,
            id: source.id.to_owned(),
            cwd: source.cwd.map(str::to_owned),
            stamp: source.stamp,
            summarizer,
            whole: whole.summarize(source, known),
            segments: found,
        }
    }

    /// Returns a segment by the id of its node, whatever the day in it.
    pub(super) fn segment(&self, id: &NodeId) -> Option<&Record> {
        let NodeId::Segment(_, id) = id else {
            return None;
        };
        self.segments.iter().find(|segment| segment.id == *id)
    }

    /// The id of the session of a segment: a store of events has several.
    pub(super) fn session_of<'a>(&'a self, segment: &'a Record) -> &'a str {
        let first = segment.points.first();
        let session = first.and_then(|(_, grip)| grip.session.as_deref());
        let session = session.filter(|_| self.agent == Agent::Events);
        session.unwrap_or(&self.id)
    }

    /// The lines of these segments whose calls made commits that stand at the end of the session.
    pub(super) fn commits(&self, segments: &[&Record]) -> Vec<u64> {
        let whole = self.whole.iter().flat_map(|whole| &whole.commits);
        let is_here = |line: &u64| {
            let holds = |one: &&Record| (one.first_line..=one.last_line).contains(line);
            segments.iter().any(holds)
        };
        whole.copied().filter(is_here).collect()
    }
}

/// Reads what was kept of a log; `None` if there is nothing whole.
pub(in crate::core::insight) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = read_text(path, LARGEST).ok()??;
    private::of_cache_line(&text)
}

/// Keeps something of a log. What cannot be written is made again the next time.
pub(in crate::core::insight) fn save(path: &Path, kept: &impl Serialize) {
    if let Some(line) = private::to_cache_line(kept) {
        private::replace_cache(path, &line);
    }
}

/// Summarizes the segments of a session, whose events it gets in their order. It holds those of a
/// segment with its context.
struct Session<'s> {
    source: Source<'s>,
    known: &'s HashMap<&'s str, &'s Record>,
    divider: Divider,
    words: SegmentWords,
    /// The context of the segment, and then its own events.
    held: Vec<Event>,
    /// The first of its own events.
    own: usize,
    found: Vec<Record>,
}

impl<'s> Session<'s> {
    fn new(source: Source<'s>, known: &'s HashMap<&'s str, &'s Record>) -> Self {
        Self {
            source,
            known,
            divider: Divider::default(),
            words: SegmentWords::default(),
            held: Vec::new(),
            own: 0,
            found: Vec::new(),
        }
    }

    fn add(&mut self, event: Event, whole: &mut WholeLog) {
        if self.divider.is_first(&event) {
            self.end_segment(whole);
            let context = overlap(&self.held[self.own..], event.time);
            self.held.drain(..self.held.len() - context);
            self.own = context;
        }
        self.held.push(event);
    }

    fn end_segment(&mut self, whole: &mut WholeLog) {
        let own = &self.held[self.own..];
        let Some(bounds) = Bounds::of(own) else {
            return;
        };
        self.words.add(own);
        let digest = digest(&self.held);
        let id = bounds.id(self.source);
        let same = self.known.get(id.as_str()).copied();
        let record = match same.filter(|same| same.digest == digest) {
            Some(same) => same.clone(),
            None => {
                let summary = self.source.summarizer.summarize(SummaryInput {
                    level: "segment",
                    events: &self.held,
                    own: self.own,
                    seen: &self.words,
                    cwd: self.source.cwd,
                });
                Record::new(self.source, &self.held, bounds, digest, summary)
            }
        };
        whole.add_segment(&record, own);
        self.found.push(record);
    }
}

/// What the summary of a whole log is made of: all its events, or, if they are very many, the first
/// of those that the points of its segments are about.
struct WholeLog {
    is_large: bool,
    events: Vec<Event>,
    bounds: Option<Bounds>,
    /// The hash of the segments.
    digest: blake3::Hasher,
    /// The words of the segments, if all of them are of one session.
    words: Option<SegmentWords>,
    /// The lines of the calls of its segments that made commits.
    commits: Vec<u64>,
}

impl WholeLog {
    fn new(events: usize) -> Self {
        Self {
            is_large: events > MOST_EVENTS,
            events: Vec::new(),
            bounds: None,
            digest: blake3::Hasher::new(),
            words: None,
            commits: Vec::new(),
        }
    }

    fn add(&mut self, event: &Event) {
        self.bounds = Some(match self.bounds {
            Some(bounds) => bounds.with(event),
            None => Bounds::at(event),
        });
        if !self.is_large {
            self.events.push(event.clone());
        }
    }

    fn add_segment(&mut self, segment: &Record, events: &[Event]) {
        self.digest.update(segment.digest.as_bytes());
        self.commits.extend(&segment.commits);
        if !self.is_large {
            return;
        }
        let is_cited = |event: &&Event| {
            let mut grips = segment.points.iter().map(|(_, grip)| grip);
            grips.any(|grip| grip.first_line == event.line)
        };
        let room = MOST_EVENTS - self.events.len();
        let cited = events.iter().filter(is_cited).take(room);
        // What is known about their texts is not held.
        self.events.extend(cited.map(|event| Event {
            analysis: TextAnalysis::default(),
            ..event.clone()
        }));
    }

    fn summarize(self, source: Source<'_>, known: Option<&Record>) -> Option<Record> {
        let bounds = self.bounds?;
        let digest = shortened(&self.digest);
        if let Some(known) = known.filter(|known| known.digest == digest) {
            return Some(known.clone());
        }
        let events = self.events;
        let words = self.words.unwrap_or_else(|| segment_words(&events));
        let summary = source.summarizer.summarize(SummaryInput {
            level: "session",
            events: &events,
            own: 0,
            seen: &words,
            cwd: source.cwd,
        });
        let mut record = Record::new(source, &events, bounds, digest, summary);
        if self.is_large {
            // Not all of its events were looked at.
            record.commits = self.commits;
        }
        Some(record)
    }
}

/// The first event of a segment or a log, and the first and last time and line of all of them.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    start: (u64, i64),
    times: (i64, i64),
    lines: (u64, u64),
}

impl Bounds {
    fn at(event: &Event) -> Self {
        Self {
            start: (event.line, event.time),
            times: (event.time, event.time),
            lines: (event.line, event.line),
        }
    }

    fn with(self, event: &Event) -> Self {
        let ((from, to), (first, last)) = (self.times, self.lines);
        Self {
            start: self.start,
            times: (from.min(event.time), to.max(event.time)),
            lines: (first.min(event.line), last.max(event.line)),
        }
    }

    fn of(events: &[Event]) -> Option<Self> {
        let (first, rest) = events.split_first()?;
        Some(rest.iter().fold(Self::at(first), Self::with))
    }

    /// The id of what begins here.
    fn id(&self, source: Source<'_>) -> String {
        let (line, time) = self.start;
        let name = format!("{}:{}#{line}", source.agent.name(), source.id);
        stable_id(time, &name).to_string()
    }
}

/// The words of the segments of events that are divided as if they were of one session.
fn segment_words(events: &[Event]) -> SegmentWords {
    let mut words = SegmentWords::default();
    let mut divider = Divider::default();
    if let Some(first) = events.first() {
        divider.is_first(first);
    }
    for segment in events.chunk_by(|_, event| !divider.is_first(event)) {
        words.add(segment);
    }
    words
}

/// The hash of events, as far as they were read: of what a summary is made of.
fn digest(events: &[Event]) -> String {
    let mut hasher = blake3::Hasher::new();
    for event in events {
        hasher.update(&event.line.to_le_bytes());
        hasher.update(&event.time.to_le_bytes());
        hasher.update(&event.length().to_le_bytes());
        hasher.update(event.text.as_bytes());
    }
    shortened(&hasher)
}

fn shortened(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..32].to_owned()
}

impl Record {
    fn new(
        source: Source<'_>,
        events: &[Event],
        bounds: Bounds,
        digest: String,
        summary: Summary,
    ) -> Self {
        let points = summary.points.into_iter().filter_map(|(point, at)| {
            let grip = Grip::new(source.agent, source.id, events.get(at)?, point.line);
            Some((point, grip))
        });
        let end = events.last().filter(|end| is_interruption(&end.text));
        let end = end.map(|end| {
            let point = Point {
                kind: PointKind::Open,
                speaker: None,
                text: "the person interrupted the agent, and the session ends.".to_owned(),
                line: 1,
            };
            (point, Grip::new(source.agent, source.id, end, 1))
        });
        let commits = summary.commits.iter();
        let commits = commits.filter_map(|at| Some(events.get(*at)?.line));
        let ((from, to), (first_line, last_line)) = (bounds.times, bounds.lines);
        let first = events.iter().find(|event| event.line == bounds.start.0);
        // The texts of results are mostly not read.
        let first = first.map_or_else(String::new, |event| match event.kind {
            MessageKind::ToolResult => event.length().to_string(),
            _ => event.text.to_string(),
        });
        let start = blake3::hash(first.as_bytes()).to_hex()[..16].to_owned();
        Self {
            id: bounds.id(source),
            digest,
            start,
            from,
            to,
            first_line,
            last_line,
            // It may have names of files and tools, which may be anything.
            title: safe_line(&summary.title),
            points: points.chain(end).collect(),
            keywords: summary.keywords,
            files: summary.files.iter().map(|file| safe_line(file)).collect(),
            commits: commits.collect(),
            note: summary.note,
        }
    }

    /// Returns the id of a segment's node in a zone.
    pub fn node(&self, zone: &TimeZone) -> NodeId {
        let id = self.id.clone();
        // A segment belongs to the day of its first event, which its id has.
        let time = ulid::Ulid::from_string(&id).map_or(0, |id| id.timestamp_ms());
        match NodeId::day_of(i64::try_from(time).unwrap_or(0), zone) {
            NodeId::Day(day) => NodeId::Segment(day, id),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::insight::timeline::summarize::Offline;
    use crate::core::log::Role;

    const SOURCE: Source<'_> = Source {
        agent: Agent::Codex,
        id: "abc",
        cwd: Some("/w"),
        stamp: ((1, None, None), 1, 0),
        summarizer: &Offline,
    };

    fn talk(lines: u64) -> Vec<Event> {
        (1..=lines)
            .map(|line| {
                let text = match line % 3 {
                    0 => "Added a retry to the client; the parser waits.",
                    1 => "please fix the stale lock of the client",
                    _ => "The root cause is a lock that nobody removes.",
                };
                let role = if line % 3 == 1 {
                    Role::User
                } else {
                    Role::Assistant
                };
                Event {
                    // A pause after every seven messages.
                    time: (line as i64 + 40 * (line as i64 / 7)) * 60_000,
                    ..Event::test(line, role, text)
                }
            })
            .collect()
    }

    #[test]
    fn a_record_is_the_same_whenever_it_is_made() {
        let events = talk(40);
        let made = LogRecord::make(SOURCE, &events[..], None);
        assert_eq!(made, LogRecord::make(SOURCE, &events[..], None));
        assert_eq!(made, LogRecord::make(SOURCE, &events[..], Some(&made)));
        assert_eq!(made.segments.len(), 6);
        let text = serde_json::to_string(&made).expect("JSON");
        assert_eq!(
            serde_json::from_str::<LogRecord>(&text).expect("reads"),
            made
        );
        assert!(LogRecord::make(SOURCE, &[][..], None).whole.is_none());
    }

    #[test]
    fn a_log_that_grows_changes_only_its_last_segment() {
        let before = LogRecord::make(SOURCE, &talk(24)[..], None);
        let after = LogRecord::make(SOURCE, &talk(40)[..], Some(&before));
        let kept = before.segments.len() - 1;
        assert!(kept > 1);
        assert_eq!(before.segments[..kept], after.segments[..kept]);
        assert_eq!(before.segments[kept].id, after.segments[kept].id);
        assert_eq!(after, LogRecord::make(SOURCE, &talk(40)[..], None));
    }

    #[test]
    fn results_need_not_be_read_for_a_summary() {
        let made = |is_read: bool| {
            let mut events = talk(40);
            for event in events.iter_mut().step_by(5) {
                let text = "error: €".repeat(20 * event.line as usize);
                event.kind = MessageKind::ToolResult;
                event.role = Role::Tool;
                (event.text, event.unread) = if is_read {
                    (text.into(), 0)
                } else {
                    ("".into(), text.len())
                };
            }
            let mut made = LogRecord::make(SOURCE, &events[..], None);
            // The hashes are of what was read.
            for record in made.segments.iter_mut().chain(&mut made.whole) {
                record.digest.clear();
            }
            made
        };
        assert_eq!(made(true).segments.len(), 6);
        assert_eq!(made(true), made(false));
    }

    #[test]
    fn every_point_has_a_grip_inside_its_segment() {
        let made = LogRecord::make(SOURCE, &talk(40)[..], None);
        let records = made.segments.iter().chain(&made.whole);
        for record in records {
            assert!(!record.points.is_empty(), "{}", record.title);
            for (_, grip) in &record.points {
                assert!(grip.first_line >= record.first_line, "{grip:?}");
                assert!(grip.last_line <= record.last_line, "{grip:?}");
            }
        }
    }

    #[test]
    fn sessions_of_an_events_store_are_divided_apart() {
        let mut events = talk(6);
        for (at, event) in events.iter_mut().enumerate() {
            event.session = Some(["one", "two"][at % 2].to_owned());
        }
        let source = Source {
            agent: Agent::Events,
            ..SOURCE
        };
        assert_eq!(LogRecord::make(source, &events[..], None).segments.len(), 2);
        assert_eq!(LogRecord::make(SOURCE, &events[..], None).segments.len(), 1);
    }

    #[test]
    fn a_log_of_very_many_events_is_summarized_by_the_points_of_its_segments() {
        let count = MOST_EVENTS as u64 + 400;
        let events = talk(count);
        let made = LogRecord::make(SOURCE, &events[..], None);
        let whole = made.whole.as_ref().expect("a summary");
        assert_eq!((whole.first_line, whole.last_line), (1, count));
        assert!(!whole.points.is_empty());
        assert!(!whole.title.is_empty());
        assert_eq!(made, LogRecord::make(SOURCE, &events[..], Some(&made)));
        assert_eq!(made, LogRecord::make(SOURCE, &events[..], None));
        let less = talk(count - 7);
        let before = LogRecord::make(SOURCE, &less[..], None);
        assert_eq!(made, LogRecord::make(SOURCE, &events[..], Some(&before)));
    }

    #[test]
    fn secrets_in_names_of_tools_and_files_are_masked() {
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let path = format!("file_path: /w/{token}.txt");
        for events in [
            vec![Event::call(1, token, "x: 1")],
            vec![Event::call(1, "Edit", &path)],
        ] {
            let made = LogRecord::make(SOURCE, &events[..], None);
            let text = serde_json::to_string(&made).expect("JSON");
            assert!(!made.segments[0].title.is_empty(), "{text}");
            assert!(!text.contains("16C7e42F292c6912"), "{text}");
        }
    }

    #[test]
    fn of_a_log_of_very_many_events_no_more_are_held_than_are_summarized() {
        let segment = talk(6);
        let made = LogRecord::make(SOURCE, &segment[..], None);
        let record = &made.segments[0];
        let mut whole = WholeLog::new(MOST_EVENTS + 1);
        for number in 0..30_000 {
            for event in &segment {
                whole.add(event);
            }
            whole.add_segment(record, &segment);
            assert!(whole.events.len() <= MOST_EVENTS, "{number}");
        }
    }
}
