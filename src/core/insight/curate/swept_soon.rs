//! Sessions that their agent deletes soon although a memory cites them.

use aho_corasick::AhoCorasick;

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::log::Agent;

pub(super) const RULE: Rule = Rule {
    id: "swept-soon",
    severity: Severity::Warning,
    about: "a session that a memory cites and that its agent deletes soon",
    check,
};

/// How many days before the deletion it is told.
const AHEAD: i64 = 10;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// A shorter id may stand in a text by chance.
const SHORTEST_ID: usize = 8;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let Some(logs) = &collection.logs else {
        return;
    };
    let Some(keeps) = logs.claude_keeps else {
        return;
    };
    let today = midnight(collection.today);
    let doomed: Vec<_> = logs
        .all
        .iter()
        .filter(|log| log.agent == Agent::ClaudeCode && log.id.len() >= SHORTEST_ID)
        .filter(|log| !logs.kept.contains(&log.id))
        .filter_map(|log| Some((log, log.modified? + keeps * DAY)))
        .filter(|(_, end)| *end <= today + AHEAD * DAY)
        .collect();
    let ids = doomed.iter().map(|(log, _)| &log.id);
    let Ok(ids) = AhoCorasick::new(ids) else {
        return;
    };
    if doomed.is_empty() {
        return;
    }
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            for id in ids.find_iter(&document.text) {
                let (log, end) = doomed[id.pattern().as_usize()];
                let line = document.line_at(id.start());
                let when = if end < today {
                    "when it next starts".to_owned()
                } else {
                    format!("on {}", date(end))
                };
                let found = Found {
                    line: Some(line),
                    subject: log.citation(),
                    message: format!(
                        "cites the session {0}, which Claude Code deletes after {keeps} days, \
                         {when}; tome keep {0} keeps it",
                        log.id
                    ),
                    evidence: vec![
                        Evidence::line(store, document, line),
                        Evidence {
                            text: format!("last changed on {}", date(end - keeps * DAY)),
                            citation: Some(log.citation()),
                            ..Evidence::default()
                        },
                    ],
                    fix: None,
                };
                report.add(number, &document.memory.path, found);
            }
        }
    }
}

/// The start of a day, in milliseconds since 1970.
fn midnight(day: jiff::civil::Date) -> i64 {
    let zoned = day.to_zoned(jiff::tz::TimeZone::UTC);
    zoned.map_or(0, |zoned| zoned.timestamp().as_millisecond())
}

/// The day of a time in milliseconds since 1970.
fn date(time: i64) -> String {
    jiff::Timestamp::from_millisecond(time)
        .map(|time| time.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}
