//! events: what happened in agents' sessions, one JSON object per line, append-only.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{Operation, Rules, WriteInput};
use crate::core::disk::sandbox::{FoundFile, Root};
use crate::core::memory::layout::FileView;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::text::secret::mask;
use crate::core::{Error, Result};

/// The file that contains the events.
pub const EVENTS: &str = "events.jsonl";

/// The types of events, each with its usual role.
const EVENT_TYPES: [(&str, &str); 8] = [
    ("session_start", "system"),
    ("user_message", "user"),
    ("assistant_message", "assistant"),
    ("tool_result", "tool"),
    ("assistant_stop", "assistant"),
    ("subagent_start", "system"),
    ("subagent_stop", "assistant"),
    ("session_end", "system"),
];

const ROLES: [&str; 4] = ["user", "assistant", "system", "tool"];

/// The most bytes of an event's text.
pub const LONGEST_TEXT: usize = 1 << 20;

/// The types of events. Hooks also store what an agent reports under a name of its own.
pub fn event_types() -> impl Iterator<Item = &'static str> {
    EVENT_TYPES.iter().map(|(name, _)| *name)
}

/// Returns the usual role of a type of event; `None` for a type that the layout does not have.
pub fn usual_role(event_type: &str) -> Option<&'static str> {
    let mut types = EVENT_TYPES.iter();
    types
        .find(|(name, _)| *name == event_type)
        .map(|(_, role)| *role)
}

/// Returns whether an event can have happened then, in milliseconds since 1970: not if the clock of
/// whoever reports it is wrong.
pub fn is_possible_time(time: i64, now: i64) -> bool {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    time > 0 && time <= now.saturating_add(DAY)
}

/// Why a reported event is not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}")]
pub struct InvalidEvent {
    /// The name of the field.
    pub field: &'static str,
    /// What is wrong, and what is right.
    pub reason: String,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedEvent {
    /// A ULID; an event with a known id is not added again.
    #[serde(default)]
    pub event_id: String,
    /// The agent's session.
    #[serde(default)]
    pub session_id: String,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// What happened, such as `user_message`.
    pub event_type: String,
    /// The role of the speaker: user, assistant, system or tool.
    #[serde(default)]
    pub role: String,
    /// The text of the event.
    #[serde(default)]
    pub text: String,
    /// Further data.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// The agent that reported it.
    #[serde(default)]
    pub agent: String,
    /// Fields that this version does not know; written back unchanged.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

impl CapturedEvent {
    /// Checks the id, the type and the role of an event that somebody gives. What hooks captured, and
    /// what is in a store, is not checked: agents have more types of events than the layout.
    pub fn check_names(&self) -> Result<(), InvalidEvent> {
        let invalid = |field, reason: String| Err(InvalidEvent { field, reason });
        let id = ulid::Ulid::from_string(&self.event_id);
        if !id.is_ok_and(|id| id.to_string() == self.event_id) {
            let reason = format!(
                "'{}' is not a ULID: 26 digits and capitals, such as 01HM5ZQ8Z0ABCDEFGHJKMNPQRS",
                self.event_id
            );
            return invalid("event_id", reason);
        }
        let types: Vec<&str> = event_types().collect();
        for (field, value, known) in [
            ("event_type", &self.event_type, &types[..]),
            ("role", &self.role, &ROLES[..]),
        ] {
            if !known.contains(&value.as_str()) {
                let reason = format!("'{value}' is not one of: {}", known.join(", "));
                return invalid(field, reason);
            }
        }
        Ok(())
    }

    /// Checks an event that a client reports, its sizes too.
    pub fn check(&self, now: i64) -> Result<(), InvalidEvent> {
        self.check_names()?;
        const MOST_METADATA: usize = 64;
        const LONGEST_KEY: usize = 128;
        const LONGEST_VALUE: usize = 16 << 10;
        let invalid = |field, reason: String| Err(InvalidEvent { field, reason });
        let is_name =
            |text: &str, most: usize| text.len() <= most && !text.contains(char::is_control);
        if self.session_id.is_empty() || !is_name(&self.session_id, 256) {
            let form = "must have 1 to 256 bytes, without control characters";
            return invalid("session_id", form.to_owned());
        }
        if !is_possible_time(self.timestamp, now) {
            let form = "must be milliseconds since 1970, after 0 and not after tomorrow";
            return invalid("timestamp_ms", form.to_owned());
        }
        if self.text.len() > LONGEST_TEXT {
            return invalid("text", format!("must have at most {LONGEST_TEXT} bytes"));
        }
        let fits = |(key, value): (&String, &String)| {
            !key.is_empty() && is_name(key, LONGEST_KEY) && value.len() <= LONGEST_VALUE
        };
        if self.metadata.len() > MOST_METADATA || !self.metadata.iter().all(fits) {
            let form = format!(
                "must have at most {MOST_METADATA} keys, of 1 to {LONGEST_KEY} bytes without control characters, with values of at most {LONGEST_VALUE} bytes"
            );
            return invalid("metadata", form);
        }
        if !is_name(&self.agent, 64) {
            let form = "must have at most 64 bytes, without control characters";
            return invalid("agent", form.to_owned());
        }
        Ok(())
    }

    /// Returns it without secrets, which are not stored a second time.
    pub fn masked(self) -> Self {
        let metadata = self.metadata.into_iter();
        Self {
            session_id: mask(&self.session_id),
            text: mask(&self.text),
            metadata: metadata.map(|(key, value)| (key, mask(&value))).collect(),
            ..self
        }
    }
}

/// Which events are returned; the bounds are inclusive, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan {
    /// The earliest time.
    pub from: i64,
    /// The latest time.
    pub to: i64,
    /// The maximum number of events.
    pub limit: usize,
}

/// The events in a span, sorted by time, and whether there are more.
pub fn events_between(store: &Store, span: TimeSpan) -> Result<(Vec<CapturedEvent>, bool)> {
    let mut found: Vec<CapturedEvent> = Vec::new();
    let mut seen = HashSet::new();
    store.root().each_line(EVENTS, &mut |line| {
        let event = serde_json::from_str::<CapturedEvent>(line).ok();
        let wanted = event.filter(|event| (span.from..=span.to).contains(&event.timestamp));
        // Repeated events are skipped.
        found.extend(
            wanted.filter(|CapturedEvent { event_id: id, .. }| {
                id.is_empty() || seen.insert(id.clone())
            }),
        );
    })?;
    found.sort_by_key(|event| event.timestamp);
    let has_more = found.len() > span.limit;
    found.truncate(span.limit);
    Ok((found, has_more))
}

/// The events layout.
#[derive(Debug)]
pub struct Events;

impl Rules for Events {
    fn allow(&self, operation: Operation, file: &str, _root: &Root) -> Result<()> {
        let reason = match operation {
            Operation::Append if file == EVENTS => return Ok(()),
            Operation::Append => "events are appended to events.jsonl",
            _ => "events are append-only: they are never updated, renamed or deleted",
        };
        Err(Error::refused(file, reason))
    }

    fn files(&self, root: &Root) -> Result<Vec<FoundFile>> {
        Ok(root.find_file(EVENTS).into_iter().collect())
    }

    fn kind(&self, _file: &str) -> FileKind {
        FileKind::Log
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        memory.kind = FileKind::Log;
        let events = text.lines().filter(|line| !line.trim().is_empty()).count();
        memory.summary = format!("{events} event{}", if events == 1 { "" } else { "s" });
        memory
    }

    fn compose(&self, _planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        Err(Error::refused(input.file, "events are appended one by one"))
    }

    fn contents(&self, _store: &Store) -> Result<String> {
        // Events are returned only on request, not as context.
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::View;
    use super::*;
    use crate::core::change::PlannedFiles;

    #[test]
    fn an_event_reads_back_and_tolerates_missing_fields() {
        let bare: CapturedEvent = serde_json::from_str(
            "{\"event_id\":\"1\",\"timestamp\":5,\"event_type\":\"user_message\",\"extra\":1}",
        )
        .expect("reads");
        assert_eq!(bare.role, "");
        let written = serde_json::to_string(&bare).expect("writes");
        assert_eq!(
            serde_json::from_str::<CapturedEvent>(&written).expect("reads"),
            bare
        );
    }

    #[test]
    fn a_reported_event_must_have_the_form_of_the_layout() {
        let now = 1_800_000_000_000;
        let good = CapturedEvent {
            event_id: "01HM5ZQ8Z0ABCDEFGHJKMNPQRS".to_owned(),
            session_id: "s".to_owned(),
            timestamp: now,
            event_type: "user_message".to_owned(),
            role: "user".to_owned(),
            text: String::new(),
            metadata: BTreeMap::new(),
            agent: String::new(),
            more: serde_json::Map::new(),
        };
        assert_eq!(good.check(now), Ok(()));
        type Edit = fn(&mut CapturedEvent);
        let cases: [(&str, Edit); 18] = [
            ("event_id", |event| event.event_id.clear()),
            ("event_id", |event| event.event_id.make_ascii_lowercase()),
            ("event_id", |event| event.event_id.push('A')),
            ("event_id", |event| event.event_id.replace_range(..1, "8")),
            ("event_id", |event| event.event_id.replace_range(..1, "U")),
            ("event_id", |event| event.event_id = "é".repeat(13)),
            ("session_id", |event| event.session_id.clear()),
            ("session_id", |event| event.session_id = "s".repeat(257)),
            ("session_id", |event| event.session_id.push('\n')),
            ("timestamp_ms", |event| event.timestamp = 0),
            ("timestamp_ms", |event| event.timestamp = i64::MAX),
            ("event_type", |event| event.event_type.clear()),
            ("event_type", |event| event.event_type = "notice".to_owned()),
            ("role", |event| event.role.clear()),
            ("text", |event| event.text = "a".repeat(LONGEST_TEXT + 1)),
            ("metadata", |event| {
                event.metadata.insert(String::new(), String::new());
            }),
            ("metadata", |event| {
                let keys = (0..65).map(|at| (at.to_string(), String::new()));
                event.metadata.extend(keys);
            }),
            ("agent", |event| event.agent = "\u{1b}[2J".to_owned()),
        ];
        for (field, edit) in cases {
            let mut event = good.clone();
            edit(&mut event);
            let found = event.check(now).map_err(|invalid| invalid.field);
            assert_eq!(found, Err(field), "{event:?}");
        }
    }

    #[test]
    fn the_events_of_a_span_come_by_time_each_once_and_at_most_so_many() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let line = |id: &str, time: i64| {
            format!("{{\"event_id\":\"{id}\",\"timestamp\":{time},\"event_type\":\"t\"}}\n")
        };
        let text = [
            line("late", 5),
            line("first", 2),
            "no event\n".to_owned(),
            line("first", 3),
            line("before", 1),
            line("after", 6),
            line("middle", 4),
            // Events without an id do not repeat each other.
            line("", 5),
            "{\"timestamp\":5,\"event_type\":\"t\"}\n".to_owned(),
        ];
        fs::write(home.path().join(EVENTS), text.concat()).expect("written");
        let store = Store::open("e", home.path(), None).expect("a store");
        assert_eq!(Events.context(&store).expect("nothing unasked"), "");
        let view = Events.view(&store, View::Files).expect("lists");
        assert!(view.starts_with("events.jsonl  9 events  ("), "{view}");
        let ids = |limit: usize| {
            let span = TimeSpan {
                from: 2,
                to: 5,
                limit,
            };
            let (found, has_more) = events_between(&store, span).expect("reads");
            let ids: Vec<String> = found.into_iter().map(|event| event.event_id).collect();
            (ids.join(" "), has_more)
        };
        assert_eq!(ids(5), ("first middle late  ".to_owned(), false));
        assert_eq!(ids(3), ("first middle late".to_owned(), true));
        assert_eq!(ids(2), ("first middle".to_owned(), true));
    }

    #[test]
    fn a_log_says_how_many_events_it_has_and_takes_nothing_but_events() {
        assert_eq!(Events.read(EVENTS, "{}\n").summary, "1 event");
        assert_eq!(Events.read(EVENTS, "{}\n\n{}\n").summary, "2 events");
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = Root::open(home.path()).expect("opens");
        assert!(Events.allow(Operation::Append, EVENTS, &root).is_ok());
        let other = Events.allow(Operation::Append, "other.jsonl", &root);
        assert!(other.expect_err("refused").to_string().contains(EVENTS));
        for operation in [
            Operation::Write,
            Operation::Patch,
            Operation::Delete,
            Operation::Rename,
        ] {
            assert!(
                Events.allow(operation, EVENTS, &root).is_err(),
                "{operation:?}"
            );
        }
    }

    #[test]
    fn a_whole_log_is_not_written() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(
            "e",
            home.path(),
            Some(crate::core::memory::layout::Layout::Events),
        );
        let store = store.expect("a store");
        let moment = crate::core::text::time::Moment::test();
        let writing = WriteInput {
            file: EVENTS,
            content: "{}\n",
            fields: &Default::default(),
            old: None,
        };
        let composed = Events.compose(&PlannedFiles::new(&store, &moment), &writing);
        assert!(composed.is_err(), "{composed:?}");
    }
}
