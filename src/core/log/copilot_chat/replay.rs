//! A session of Copilot Chat as a file of changes: each line sets, appends or removes a part.

use std::io::BufRead;

use serde_json::Value;

use super::super::json::{self, Raw};
use super::super::sink::Sink;
use super::super::{LogFile, location};
use crate::core::{Error, Result};

/// A step on the way to a part of a session.
enum Step {
    Field(String),
    Element(usize),
}

/// Returns the session that all changes together give, as JSON; empty if there is none.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<Vec<u8>> {
    let mut reader = location::open(&log.path)?;
    let mut session = Value::Null;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        if read.map_err(|error| Error::io(&log.path, error))? == 0 {
            break;
        }
        apply(line.trim_ascii(), &mut session, sink);
    }
    if session.is_null() {
        return Ok(Vec::new());
    }
    serde_json::to_vec(&session).map_err(|error| Error::io(&log.path, error.into()))
}

fn apply(line: &[u8], session: &mut Value, sink: &mut Sink<'_>) {
    let skipped = &mut sink.carry.skipped;
    let Ok((change, _)) = json::object(line) else {
        match line {
            [] => skipped.blank += 1,
            _ => skipped.broken += 1,
        }
        return;
    };
    let value = change
        .get("v")
        .map(|value| serde_json::from_slice(value.bytes()));
    let Ok(value) = value.transpose() else {
        skipped.broken += 1;
        return;
    };
    let value: Value = value.unwrap_or_default();
    let path: Vec<Step> = change.items("k").filter_map(step).collect();
    let index = change.get("i").and_then(Raw::int);
    let index = index.and_then(|index| usize::try_from(index).ok());
    match change.get("kind").and_then(Raw::int) {
        Some(0) => *session = value,
        Some(1) => set(session, &path, value),
        Some(2) => {
            // The first elements of an array that is not there yet create it.
            if !matches!(find(session, &path), Some(Value::Array(_))) {
                set(session, &path, Value::Array(Vec::new()));
            }
            if let Some(Value::Array(items)) = find(session, &path) {
                items.truncate(index.unwrap_or(items.len()));
                match value {
                    Value::Array(values) => items.extend(values),
                    Value::Null => {}
                    one => items.push(one),
                }
            }
        }
        Some(3) => remove(session, &path),
        _ => skipped.unknown += 1,
    }
}

fn step(key: Raw<'_>) -> Option<Step> {
    match key.text() {
        Some(name) => Some(Step::Field(name)),
        None => usize::try_from(key.int()?).ok().map(Step::Element),
    }
}

/// Returns the part of `value` at `path`.
fn find<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Field(name) => value.get_mut(name),
        Step::Element(at) => value.get_mut(at),
    })
}

fn set(session: &mut Value, path: &[Step], new: Value) {
    let Some((last, before)) = path.split_last() else {
        return;
    };
    match (find(session, before), last) {
        (Some(Value::Object(fields)), Step::Field(name)) => {
            fields.insert(name.clone(), new);
        }
        (Some(Value::Array(items)), Step::Element(at)) => {
            if *at == items.len() {
                items.push(new);
            } else if let Some(item) = items.get_mut(*at) {
                *item = new;
            }
        }
        _ => {}
    }
}

fn remove(session: &mut Value, path: &[Step]) {
    let Some((last, before)) = path.split_last() else {
        return;
    };
    match (find(session, before), last) {
        (Some(Value::Object(fields)), Step::Field(name)) => {
            fields.remove(name);
        }
        (Some(Value::Array(items)), Step::Element(at)) if *at < items.len() => {
            items.remove(*at);
        }
        _ => {}
    }
}
