//! What the timeline keeps of each log: its segments and the session as a whole, summarized.
//!
//! A record is a file of its own in the cache, replaced whole, so that an interrupted build goes on
//! with the next log. It is derived from the log and the same whenever it is made. The segments of a
//! log that has grown are kept as they are, except those whose events have changed.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::event::{Event, stable_id};
use super::grip::Grip;
use super::node::NodeId;
use super::segment::{Segment, segments};
use super::summarize::{Point, SegmentWords, Summarizer, Summary, SummaryInput};
use crate::core::foreign::read_text;
use crate::core::log::Agent;
use crate::core::private;

/// The form of the records and the rules by which they are made; others are not read.
const FORMAT: u32 = 1;

/// The largest record that is read, in bytes.
const LARGEST: u64 = 256 << 20;

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

/// The size of a log and of its text, and its modification time.
pub type Stamp = (u64, Option<i64>, u64, u64);

/// The summary of a segment, or of a session as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The ULID of a segment.
    pub id: String,
    /// The hash of its events.
    digest: String,
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
        let text = read_text(path, LARGEST).ok()??;
        let record: Self = serde_json::from_str(&text).ok()?;
        (record.format == FORMAT).then_some(record)
    }

    /// Whether it was made from the log in this state, by this summarizer.
    pub fn is_current(&self, stamp: Stamp, summarizer: &str) -> bool {
        self.stamp == stamp && self.summarizer == summarizer
    }

    /// Writes it. A record that cannot be written is made again the next time.
    pub fn save(&self, path: &Path) {
        use std::io::Write as _;
        let Ok(text) = serde_json::to_string(self) else {
            return;
        };
        drop(private::replace_unflushed(path, |file| {
            file.write_all(text.as_bytes())
        }));
    }

    /// Summarizes a log. What `before` has of the same events is taken from it.
    pub fn make(source: Source<'_>, events: &[Event<'_>], before: Option<&Self>) -> Self {
        let summarizer = source.summarizer.name();
        let before = before.filter(|before| before.summarizer == summarizer);
        let mut found: Vec<Record> = Vec::new();
        for session in by_session(source.agent, events) {
            let known = before.map_or(&[][..], |before| &before.segments);
            found.extend(session_segments(source, &session, known));
        }
        // Two segments have one id only if a log has the same record twice.
        let mut seen = std::collections::HashSet::new();
        found.retain(|segment| seen.insert(segment.id.clone()));
        let whole = (!events.is_empty()).then(|| {
            let digest = digest(events);
            let known = before.and_then(|before| before.whole.as_ref());
            match known.filter(|known| known.digest == digest) {
                Some(known) => known.clone(),
                None => {
                    let mut words = SegmentWords::default();
                    for segment in segments(events) {
                        words.add(&events[segment.events]);
                    }
                    let summary = source.summarizer.summarize(SummaryInput {
                        events,
                        own: 0,
                        seen: &words,
                        cwd: source.cwd,
                    });
                    Record::new(source, (events, events), digest, summary)
                }
            }
        });
        Self {
            format: FORMAT,
            agent: source.agent,
            id: source.id.to_owned(),
            cwd: source.cwd.map(str::to_owned),
            stamp: source.stamp,
            summarizer,
            whole,
            segments: found,
        }
    }
}

/// Returns the events of each session of a log. Only an events store has several.
fn by_session<'a>(agent: Agent, events: &[Event<'a>]) -> Vec<Vec<Event<'a>>> {
    if agent != Agent::Events {
        return vec![events.to_vec()];
    }
    let mut names: Vec<Option<&str>> = Vec::new();
    let mut sessions: Vec<Vec<Event<'a>>> = Vec::new();
    for event in events {
        let at = names.iter().position(|name| *name == event.session);
        let at = at.unwrap_or_else(|| {
            names.push(event.session);
            sessions.push(Vec::new());
            names.len() - 1
        });
        sessions[at].push(event.clone());
    }
    sessions
}

fn session_segments(source: Source<'_>, events: &[Event<'_>], known: &[Record]) -> Vec<Record> {
    let mut words = SegmentWords::default();
    let mut found = Vec::new();
    for Segment {
        events: own,
        overlap,
    } in segments(events)
    {
        let own_events = &events[own.clone()];
        words.add(own_events);
        let digest = digest(&events[overlap.start..own.end]);
        let id = segment_id(source, own_events);
        let same = known.iter().find(|known| known.id == id);
        found.push(match same.filter(|same| same.digest == digest) {
            Some(same) => same.clone(),
            None => {
                let with_overlap = &events[overlap.start..own.end];
                let summary = source.summarizer.summarize(SummaryInput {
                    events: with_overlap,
                    own: own.start - overlap.start,
                    seen: &words,
                    cwd: source.cwd,
                });
                Record::new(source, (with_overlap, own_events), digest, summary)
            }
        });
    }
    found
}

fn segment_id(source: Source<'_>, events: &[Event<'_>]) -> String {
    let first = events.first();
    let (line, time) = first.map_or((0, 0), |first| (first.line, first.time));
    let name = format!("{}:{}#{line}", source.agent.name(), source.id);
    stable_id(time, &name).to_string()
}

fn digest(events: &[Event<'_>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for event in events {
        hasher.update(&event.line.to_le_bytes());
        hasher.update(&event.time.to_le_bytes());
        hasher.update(&event.text.len().to_le_bytes());
        hasher.update(event.text.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

impl Record {
    fn new(
        source: Source<'_>,
        (events, own): (&[Event<'_>], &[Event<'_>]),
        digest: String,
        summary: Summary,
    ) -> Self {
        let points = summary.points.into_iter().filter_map(|(point, at)| {
            let grip = Grip::new(source.agent, source.id, events.get(at)?, &point.text);
            Some((point, grip))
        });
        let times = own.iter().map(|event| event.time);
        let lines = own.iter().map(|event| event.line);
        Self {
            id: segment_id(source, own),
            digest,
            from: times.clone().min().unwrap_or(0),
            to: times.max().unwrap_or(0),
            first_line: lines.clone().min().unwrap_or(0),
            last_line: lines.max().unwrap_or(0),
            title: summary.title,
            points: points.collect(),
            keywords: summary.keywords,
            files: summary.files,
            note: summary.note,
        }
    }

    /// Returns the id of a segment's node.
    pub fn node(&self) -> NodeId {
        let id = self.id.clone();
        // A segment belongs to the day of its first event, which its id has.
        let time = ulid::Ulid::from_string(&id).map_or(0, |id| id.timestamp_ms());
        match NodeId::day_of(i64::try_from(time).unwrap_or(0)) {
            NodeId::Day(day) => NodeId::Segment(day, id),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::Role;
    use crate::core::timeline::summarize::Offline;

    const SOURCE: Source<'_> = Source {
        agent: Agent::Codex,
        id: "abc",
        cwd: Some("/w"),
        stamp: (1, None, 1, 0),
        summarizer: &Offline,
    };

    fn talk(lines: u64) -> Vec<Event<'static>> {
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
        let made = LogRecord::make(SOURCE, &events, None);
        assert_eq!(made, LogRecord::make(SOURCE, &events, None));
        assert_eq!(made, LogRecord::make(SOURCE, &events, Some(&made)));
        assert_eq!(made.segments.len(), 6);
        let text = serde_json::to_string(&made).expect("JSON");
        assert_eq!(
            serde_json::from_str::<LogRecord>(&text).expect("reads"),
            made
        );
        assert!(LogRecord::make(SOURCE, &[], None).whole.is_none());
    }

    #[test]
    fn a_log_that_grows_changes_only_its_last_segment() {
        let before = LogRecord::make(SOURCE, &talk(24), None);
        let after = LogRecord::make(SOURCE, &talk(40), Some(&before));
        let kept = before.segments.len() - 1;
        assert!(kept > 1);
        assert_eq!(before.segments[..kept], after.segments[..kept]);
        assert_eq!(before.segments[kept].id, after.segments[kept].id);
        assert_eq!(after, LogRecord::make(SOURCE, &talk(40), None));
    }

    #[test]
    fn every_point_has_a_grip_inside_its_segment() {
        let made = LogRecord::make(SOURCE, &talk(40), None);
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
            event.session = Some(["one", "two"][at % 2]);
        }
        let source = Source {
            agent: Agent::Events,
            ..SOURCE
        };
        assert_eq!(LogRecord::make(source, &events, None).segments.len(), 2);
        assert_eq!(LogRecord::make(SOURCE, &events, None).segments.len(), 1);
    }
}
