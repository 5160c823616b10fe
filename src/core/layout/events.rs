//! events: what happened in agents' sessions, one JSON object per line, append-only.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{IndexUpdate, Operation, Rules, View, WriteInput};
use crate::core::change::PlannedFiles;
use crate::core::foreign::read_text;
use crate::core::history::{History, Lock};
use crate::core::memory::{FileKind, Memory};
use crate::core::sandbox::{FoundFile, LARGEST_MEMORY, Root};
use crate::core::store::Store;
use crate::core::{Error, Result, private};

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

/// Whether an appended event was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// It was written and flushed.
    New,
    /// An event with that id already exists.
    Known,
}

/// Where the id of an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// It was generated for this event, so it is unique.
    Fresh,
    /// The caller gave it, possibly again.
    Given,
}

/// Appends `event` under the store's lock, and flushes it.
pub fn append(
    store: &Store,
    history: &History,
    event: &CapturedEvent,
    identity: Identity,
) -> Result<AppendOutcome> {
    let lock = history.lock(&[store.root().path()])?;
    append_locked(store, &lock, event, identity)
}

/// As [`append`], for a caller that already holds the store's lock.
pub fn append_locked(
    store: &Store,
    _lock: &Lock,
    event: &CapturedEvent,
    identity: Identity,
) -> Result<AppendOutcome> {
    let file = store.root().absolute(EVENTS);
    let line = serde_json::to_string(event).map_err(|e| Error::io(&file, e.into()))?;
    let is_it = |line: &str| id_of(line).is_some_and(|id| id == event.event_id);
    if identity == Identity::Given && store.root().any_line(EVENTS, is_it)? {
        return Ok(AppendOutcome::Known);
    }
    store.root().append_line(EVENTS, &line)?;
    Ok(AppendOutcome::New)
}

/// The id of the event on a line.
fn id_of(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Id {
        event_id: String,
    }
    let id: Id = serde_json::from_str(line).ok()?;
    Some(id.event_id)
}

/// The folder of events that wait for the lock.
const WAITING: &str = "waiting";

/// Writes an event beside the store, without its lock, for [`collect`] to append.
pub fn set_aside(store: &Store, event: &CapturedEvent) -> Result<()> {
    let folder = store.root().absolute(WAITING);
    private::create_dir(&folder).map_err(|e| Error::io(&folder, e))?;
    let whole = folder.join(format!("{}.json", event.event_id));
    let text = serde_json::to_string(event).map_err(|e| Error::io(&whole, e.into()))?;
    let written = private::replace_unflushed(&whole, |file| file.write_all(text.as_bytes()));
    written.map_err(|e| Error::io(&whole, e))
}

/// Appends the events that were set aside, unless another process holds the lock.
pub fn collect(store: &Store, history: &History) -> Result<()> {
    if !store.root().absolute(WAITING).is_dir() {
        return Ok(());
    }
    match history.try_lock(&[store.root().path()])? {
        Some(lock) => collect_locked(store, &lock, usize::MAX),
        None => Ok(()),
    }
}

/// As [`collect`], for a caller that already holds the store's lock; appends at most `most`.
pub fn collect_locked(store: &Store, lock: &Lock, most: usize) -> Result<()> {
    if store.root().is_link(WAITING) {
        // Hooks create a folder; a link was put there by something else.
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(store.root().absolute(WAITING)) else {
        return Ok(());
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    files.truncate(most);
    let mut waiting: Vec<(PathBuf, CapturedEvent)> = Vec::new();
    for file in files {
        let Ok(Some(text)) = read_text(&file, LARGEST_MEMORY) else {
            continue;
        };
        // A file that is not a valid event stays for inspection.
        waiting.extend(serde_json::from_str(&text).ok().map(|event| (file, event)));
    }
    if waiting.is_empty() {
        return Ok(());
    }
    // A process may have died after appending an event and before removing its file.
    let mut known = HashSet::new();
    store.root().each_line(EVENTS, &mut |line| {
        known.extend(id_of(line));
    })?;
    for (file, event) in &waiting {
        if !known.contains(&event.event_id) {
            append_locked(store, lock, event, Identity::Fresh)?;
        }
        fs::remove_file(file).map_err(|e| Error::io(file, e))?;
    }
    Ok(())
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

    fn compose(&self, _planned: &PlannedFiles<'_>, input: &WriteInput<'_>) -> Result<String> {
        Err(Error::refused(input.file, "events are appended one by one"))
    }

    fn rebuild_index(&self, _planned: &mut PlannedFiles<'_>, _how: IndexUpdate) -> Result<()> {
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
    use super::*;

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
    fn a_given_id_is_appended_once_and_a_fresh_one_is_not_looked_for() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join("events");
        let store = Store::open("e", &root, Some(crate::core::layout::Layout::Events));
        let store = store.expect("a store");
        let history = History::open(&home.path().join("history"));
        let event: CapturedEvent =
            serde_json::from_str("{\"event_id\":\"A\",\"timestamp\":1,\"event_type\":\"t\"}")
                .expect("reads");
        for (identity, appended, lines) in [
            (Identity::Given, AppendOutcome::New, 1),
            (Identity::Given, AppendOutcome::Known, 1),
            (Identity::Fresh, AppendOutcome::New, 2),
        ] {
            let done = append(&store, &history, &event, identity).expect("appended");
            assert_eq!(done, appended);
            let text = fs::read_to_string(root.join(EVENTS)).expect("text");
            assert_eq!(text.lines().count(), lines);
        }
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
        let store = Store::open("e", home.path(), Some(crate::core::layout::Layout::Events));
        let store = store.expect("a store");
        let moment = crate::core::change::Moment {
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

    #[test]
    fn what_was_set_aside_is_appended_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join("events");
        let store = Store::open("events", &root, Some(crate::core::layout::Layout::Events));
        let store = store.expect("a store");
        let history = History::open(&home.path().join("history"));
        let event = |id: &str| CapturedEvent {
            event_id: id.to_owned(),
            session_id: String::new(),
            timestamp: 1,
            event_type: "user_message".to_owned(),
            role: "user".to_owned(),
            text: "said".to_owned(),
            metadata: BTreeMap::new(),
            agent: String::new(),
            more: serde_json::Map::new(),
        };
        let all = TimeSpan {
            from: 0,
            to: 9,
            limit: 9,
        };
        let count = || events_between(&store, all).expect("readable").0.len();
        let lock = history.lock(&[store.root().path()]).expect("free");
        set_aside(&store, &event("A")).expect("written");
        collect(&store, &history).expect("left to the holder");
        assert_eq!(count(), 0);
        drop(lock);
        // An event that was appended before a crash, and whose file is still there.
        append(&store, &history, &event("B"), Identity::Fresh).expect("appended");
        set_aside(&store, &event("B")).expect("written");
        collect(&store, &history).expect("collected");
        collect(&store, &history).expect("nothing to do");
        assert_eq!(count(), 2);
        let lines = fs::read_to_string(root.join(EVENTS)).expect("text");
        assert_eq!(lines.lines().count(), 2);
        assert_eq!(fs::read_dir(root.join(WAITING)).expect("there").count(), 0);
    }
}
