//! The tool of the events layout: get_events.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::Call;
use super::table::{Field, FieldType, Tool, ToolEffect};
use super::timeline;
use crate::core::insight::timeline::json::EventRow;
use crate::core::insight::timeline::query::EVENTS;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::events::{TimeSpan, events_between};
use crate::core::memory::store::Store;
use crate::core::text::time::{self, Edge};

pub(super) const TOOL: Tool = Tool {
    name: "get_events",
    about: "What happened in sessions between two times, oldest first.",
    effect: ToolEffect::Reads,
    layouts: &[Layout::Events],
    fields: &[
        Field::may("from", FieldType::Text, "2026-01-31"),
        Field::may("to", FieldType::Text, ""),
        Field::may("limit", FieldType::Number, ""),
    ],
    run: get_events,
};

fn get_events(call: &Call<'_>) -> ToolResult {
    let wrong = || Failure::Message("limit must be 1 or more".to_owned());
    let limit = call.number("limit")?.map(|limit| match limit {
        1.. => usize::try_from(limit).map_err(|_| wrong()),
        _ => Err(wrong()),
    });
    let limit = EVENTS.of(limit.transpose()?);
    let span = TimeSpan {
        from: time(call, "from", Edge::Start)?.unwrap_or(i64::MIN),
        to: time(call, "to", Edge::End)?.unwrap_or(i64::MAX),
        limit,
    };
    if !has_own_store(call)? {
        return timeline::events(call, span);
    }
    let (events, has_more) = events_between(call.store()?, span)?;
    let rows = events.iter().map(EventRow::from);
    let rows: Vec<EventRow> = rows.map(EventRow::shortened).collect();
    let answer = json!({ "events": rows, "has_more": has_more });
    Ok(ToolAnswer::text(answer.to_string()).quoted(0))
}

/// Whether a store of events is named, or is all that is served. Elsewhere the events are those of
/// all logs, captured ones included.
fn has_own_store(call: &Call<'_>) -> Result<bool, Failure> {
    let is_events = |store: &Store| store.layout() == Layout::Events;
    Ok(call.named_store()?.is_some() || call.only_store().is_some_and(is_events))
}

/// Parses a time argument into milliseconds since 1970; days are in UTC, like the answer's
/// timestamps.
fn time(call: &Call<'_>, name: &str, edge: Edge) -> Result<Option<i64>, Failure> {
    let given = match call.arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(given) => given,
    };
    let now = (call.setup.clock)().time.to_zoned(TimeZone::UTC);
    let time = match given {
        Value::String(text) => text.parse().ok().or_else(|| time::parse(text, &now, edge)),
        other => other.as_i64(),
    };
    time.map(Some).ok_or_else(|| {
        Failure::Message(format!(
            "{name}: {given} is not a time; use {} or milliseconds since 1970",
            time::FORMS
        ))
    })
}
