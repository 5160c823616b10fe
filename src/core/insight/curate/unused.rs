//! Memories that no session has read for a long time although sessions ran.
//!
//! Only memories that agents read one by one are judged, and only where the logs show that agents
//! read memories of the store at all. A call that names the file of a memory counts as reading.

use super::logs::SessionLog;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::has_header;

pub(super) const RULE: Rule = Rule {
    id: "unused",
    severity: Severity::Note,
    about: "a memory that no session has read for a long time although sessions ran",
    check,
};

/// Fewer sessions say nothing about a memory.
const FEWEST_SESSIONS: usize = 10;

const DAY: i64 = 24 * 60 * 60 * 1000;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let Some(logs) = &collection.logs else {
        return;
    };
    let days = collection.settings.unused_days;
    let today = midnight(collection.today);
    let since = today - days * DAY;
    for (number, store) in collection.stores.iter().enumerate() {
        let (Some(project), Layout::Index) = (&store.project_root, store.store.layout()) else {
            continue;
        };
        let mut ran: Vec<&SessionLog> = logs.of_project(project).collect();
        ran.retain(|log| log.last >= since);
        let read = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            logs.named.get(name).copied()
        };
        let is_read = |time: i64| time >= since;
        let any_is_read = || {
            let mut memories = store.memories();
            memories.any(|document| read(&document.memory.path).is_some_and(is_read))
        };
        if ran.len() < FEWEST_SESSIONS || !any_is_read() {
            continue;
        }
        ran.sort_by_key(|log| log.last);
        let (first, last) = (ran[0], ran[ran.len() - 1]);
        for document in store.memories() {
            let memory = &document.memory;
            let last_read = read(&memory.path);
            let is_new = memory.modified >= since;
            if is_new || last_read.is_some_and(is_read) || !has_header(memory) {
                continue;
            }
            let before = match last_read {
                Some(time) => format!("a call named it last on {}", date(time)),
                None => "no call in any log names it".to_owned(),
            };
            // The words stay the same while more sessions run, so that a waiver holds.
            let of_session = |log: &SessionLog, text: &str| Evidence {
                text: text.to_owned(),
                citation: Some(log.citation()),
                ..Evidence::default()
            };
            let found = Found {
                line: None,
                subject: memory.path.clone(),
                message: format!(
                    "none of the {} sessions since {} has read it",
                    ran.len(),
                    date(first.last)
                ),
                evidence: vec![
                    Evidence::words(before),
                    of_session(first, "the first of these sessions"),
                    of_session(last, "the last of these sessions"),
                ],
                fix: None,
            };
            report.add(number, &memory.path, found);
        }
    }
}

/// The start of a day, in milliseconds since 1970.
pub(super) fn midnight(day: jiff::civil::Date) -> i64 {
    let zoned = day.to_zoned(jiff::tz::TimeZone::UTC);
    zoned.map_or(0, |zoned| zoned.timestamp().as_millisecond())
}

/// The day of a time in milliseconds since 1970.
pub(super) fn date(time: i64) -> String {
    jiff::Timestamp::from_millisecond(time)
        .map(|time| time.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}
