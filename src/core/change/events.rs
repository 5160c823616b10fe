//! Appends captured events to a store of events, under its lock.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::history::{History, Lock};
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;
use crate::core::disk::sandbox::LARGEST_MEMORY;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::events::{CapturedEvent, EVENTS};
use crate::core::memory::store::Store;
use crate::core::{Error, Result};

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

/// Opens a store for captured events. They are private, so the folders are created private before any
/// file in them.
pub fn open_captured(root: &Path) -> Result<Store> {
    for folder in [root.parent().unwrap_or(root), root] {
        private::create_dir(folder).map_err(|e| Error::io(folder, e))?;
    }
    Store::open("events", root, Some(Layout::Events))
}

/// Appends a captured event and a few of those that were set aside, for a caller that holds the
/// store's lock.
pub fn capture_locked(
    store: &Store,
    lock: &Lock,
    event: &CapturedEvent,
    identity: Identity,
) -> Result<AppendOutcome> {
    const FEW: usize = 8;
    let file = store.root().absolute(EVENTS);
    private::open_append(&file).map_err(|e| Error::io(&file, e))?;
    let outcome = append_locked(store, lock, event, identity)?;
    collect_locked(store, lock, FEW)?;
    Ok(outcome)
}

/// Appends an event that somebody gave, under the store's lock, and flushes it. One whose id, type or
/// role is none of the layout's is refused.
pub fn append(
    store: &Store,
    history: &History,
    event: &CapturedEvent,
    identity: Identity,
) -> Result<AppendOutcome> {
    let refused = |error| Error::refused(EVENTS, format!("{error}"));
    event.check_names().map_err(refused)?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::core::memory::layout::events::{TimeSpan, events_between};

    #[test]
    fn a_given_id_is_appended_once_and_a_fresh_one_is_not_looked_for() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join("events");
        let store = Store::open(
            "e",
            &root,
            Some(crate::core::memory::layout::Layout::Events),
        );
        let store = store.expect("a store");
        let history = History::open(&home.path().join("history"));
        let event: CapturedEvent =
            serde_json::from_str("{\"event_id\":\"01J00000000000000000000000\",\"timestamp\":1,\"event_type\":\"user_message\",\"role\":\"user\"}")
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
    fn what_was_set_aside_is_appended_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join("events");
        let store = Store::open(
            "events",
            &root,
            Some(crate::core::memory::layout::Layout::Events),
        );
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
        let lock = history.lock(&[store.root().path()]).expect("free");
        append_locked(&store, &lock, &event("B"), Identity::Fresh).expect("appended");
        drop(lock);
        set_aside(&store, &event("B")).expect("written");
        collect(&store, &history).expect("collected");
        collect(&store, &history).expect("nothing to do");
        assert_eq!(count(), 2);
        let lines = fs::read_to_string(root.join(EVENTS)).expect("text");
        assert_eq!(lines.lines().count(), 2);
        assert_eq!(fs::read_dir(root.join(WAITING)).expect("there").count(), 0);
    }
}
