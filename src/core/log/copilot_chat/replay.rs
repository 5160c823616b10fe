//! A session of Copilot Chat as a file of changes: each line sets, appends or removes a part.

use std::io::BufRead;

use serde_json::Value;

use super::super::json::{self, Raw};
use super::super::sink::Sink;
use super::super::{LogFile, location};
use crate::core::{Error, Result};

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
    let path: Vec<String> = change.items("k").filter_map(step).collect();
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

/// Returns the name of a field or the number of an element on the way to a part of a session.
fn step(key: Raw<'_>) -> Option<String> {
    key.text()
        .or_else(|| key.int().map(|number| number.to_string()))
}

/// Returns the part of `value` at `path`.
fn find<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        value => value.get_mut(step),
    })
}

fn set(session: &mut Value, path: &[String], new: Value) {
    let Some((last, before)) = path.split_last() else {
        return;
    };
    match (find(session, before), last.parse::<usize>()) {
        (Some(Value::Object(fields)), _) => drop(fields.insert(last.clone(), new)),
        (Some(Value::Array(items)), Ok(at)) if at == items.len() => items.push(new),
        (Some(Value::Array(items)), Ok(at)) => {
            if let Some(item) = items.get_mut(at) {
                *item = new;
            }
        }
        _ => {}
    }
}

fn remove(session: &mut Value, path: &[String]) {
    let Some((last, before)) = path.split_last() else {
        return;
    };
    match (find(session, before), last.parse::<usize>()) {
        (Some(Value::Object(fields)), _) => drop(fields.remove(last)),
        (Some(Value::Array(items)), Ok(at)) if at < items.len() => drop(items.remove(at)),
        _ => {}
    }
}
