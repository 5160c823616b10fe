//! events: what happened in agents' sessions, one JSON object per line, append-only.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{IndexUpdate, Operation, Rules, View, WriteInput};
use crate::core::disk::sandbox::{FoundFile, Root};
use crate::core::memory::layout::FileView;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::{Error, Result};

/// The file that contains the events.
pub const EVENTS: &str = "events.jsonl";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedEvent {
    /// A ULID; an event with a known id is not added again.
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

/// The types of events. Hooks also store what an agent reports under a name of its own.
pub const TYPES: [&str; 8] = [
    "session_start",
    "user_message",
    "assistant_message",
    "tool_result",
    "assistant_stop",
    "subagent_start",
    "subagent_stop",
    "session_end",
];

/// The roles of events.
const ROLES: [&str; 4] = ["user", "assistant", "system", "tool"];

impl CapturedEvent {
    /// Refuses an event that somebody gave with an id, a type or a role that is none of the layout's.
    pub fn check(&self) -> Result<()> {
        let refused = |reason: String| Err(Error::refused(EVENTS, reason));
        let Self {
            event_id,
            event_type,
            role,
            ..
        } = self;
        if ulid::Ulid::from_string(event_id).is_err() {
            return refused(format!(
                "event_id '{event_id}' is not a ULID; leave it out, and one is made"
            ));
        }
        for (field, value, known) in [
            ("event_type", event_type, &TYPES[..]),
            ("role", role, &ROLES[..]),
        ] {
            if !known.contains(&value.as_str()) {
                let known = known.join(", ");
                return refused(format!("{field} '{value}' is not one of: {known}"));
            }
        }
        Ok(())
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
        found.extend(wanted.filter(|event| seen.insert(event.event_id.clone())));
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

    fn rebuild_index(&self, _planned: &mut dyn FileView, _how: IndexUpdate) -> Result<()> {
        Ok(())
    }

    fn view(&self, store: &Store, _view: View) -> Result<String> {
        super::format_files(store)
    }

    fn context(&self, _store: &Store) -> Result<String> {
        // Events are returned only on request, not as context.
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        ];
        fs::write(home.path().join(EVENTS), text.concat()).expect("written");
        let store = Store::open("e", home.path(), None).expect("a store");
        assert_eq!(Events.context(&store).expect("nothing unasked"), "");
        let view = Events.view(&store, View::Files).expect("lists");
        assert!(view.starts_with("events.jsonl  7 events  ("), "{view}");
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
        assert_eq!(ids(4), ("first middle late".to_owned(), false));
        assert_eq!(ids(3), ("first middle late".to_owned(), false));
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
        let moment = crate::core::text::time::Moment {
            time: jiff::Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(1970, 1, 1),
        };
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
