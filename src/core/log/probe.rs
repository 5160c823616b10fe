//! Finds logs and databases that are there and not understood, so that they can be reported.
//!
//! A record of an unknown type is normal: agents add types all the time. A log is not understood if
//! it has records and none of the first ones gives a message, or if it cannot be read.

use std::io::Read as _;
use std::path::PathBuf;

use super::decode::Decoder;
use super::{Agent, Carry, LogFile, LogLocations, Skipped, location, opencode, read_each};
use crate::core::Result;
use crate::core::disk::foreign::{LONGEST_RECORD, Line, next_line};

/// A log or a database that is there and not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUnderstood {
    /// The agent that wrote it.
    pub agent: Agent,
    /// The file.
    pub path: PathBuf,
    /// Why it is not understood.
    pub why: String,
}

/// The number of bytes that are read at most until a log is understood.
const PROBED: u64 = 1 << 20;

/// Returns those of the logs, and of the databases in these locations, that are not understood.
pub fn not_understood<'a>(
    locations: &LogLocations,
    logs: impl IntoIterator<Item = &'a LogFile>,
) -> Vec<NotUnderstood> {
    let probed = logs.into_iter().filter_map(|log| {
        Some(NotUnderstood {
            agent: log.agent,
            path: log.path.clone(),
            why: probe(log)?,
        })
    });
    let databases = opencode::unreadable(locations).into_iter();
    let databases = databases.map(|(path, why)| NotUnderstood {
        agent: Agent::Opencode,
        path,
        why,
    });
    probed.chain(databases).collect()
}

/// Returns why a log is not understood; `None` if it is, or if it is empty.
fn probe(log: &LogFile) -> Option<String> {
    let found = if log.agent.format().decode.is_by_records(&log.path) {
        first_records(log).map(|(has_message, carry)| (has_message, carry.skipped))
    } else {
        let mut has_message = false;
        let read = read_each(log, &mut |_| has_message = true);
        read.map(|(_, skipped)| (has_message, skipped))
    };
    match found {
        Ok((true, _)) => None,
        Ok((false, skipped)) => why(&skipped),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the session that started that of a log as a subagent, if its place or its first records
/// tell it.
pub(super) fn parent(log: &LogFile) -> Option<String> {
    let first = || {
        let is_by_records = log.agent.format().decode.is_by_records(&log.path);
        let first = is_by_records.then(|| first_records(log))?;
        first.ok()?.1.head.parent
    };
    log.parent.clone().or_else(first)
}

/// Reads records until one gives a message; returns whether one did, and what was read so far.
fn first_records(log: &LogFile) -> Result<(bool, Carry)> {
    let mut reader = location::open(&log.path)?.take(PROBED);
    let mut decoder = Decoder::new(log);
    let mut messages = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        match next_line(&mut reader, &mut line, LONGEST_RECORD) {
            Ok(Line::Whole) if line.ends_with(b"\n") => decoder.line(number, &line, &mut messages),
            Ok(Line::Whole) => decoder.tail(number, &line, &mut messages),
            Ok(Line::TooLong) => decoder.skip_too_long(),
            // What cannot be read to the end is reported where all of it is read.
            Ok(Line::None) | Err(_) => break,
        }
        if !messages.is_empty() {
            break;
        }
    }
    Ok((!messages.is_empty(), decoder.carry().clone()))
}

fn why(skipped: &Skipped) -> Option<String> {
    let unknown = skipped.unknown + skipped.not_object;
    match (unknown, skipped.broken) {
        (0, 0) => None,
        (0, _) => Some("its records are broken, or it has another format".to_owned()),
        _ => Some(
            "its records are of no kind that is known: it may be of a newer version".to_owned(),
        ),
    }
}
