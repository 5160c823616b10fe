//! The tools of the events layout: get_events.

use serde_json::{Value, json};

use super::answer::{Answer, Failure, QUOTED, Told};
use super::call::Call;
use super::table::{Effect, Field, Form, Tool};
use crate::core::layout::events::{Span, within};
use crate::core::log::{clean, mask};

pub(super) const TOOLS: &[Tool] = &[Tool {
    name: "get_events",
    about: "What happened in agents' sessions between two times, oldest first, both ends included.",
    effect: Effect::Reads,
    fields: &[
        Field::may(
            "from",
            Form::Text,
            "The earliest: 2026-01-31, 2026-01-31T10:00:00Z or milliseconds since 1970",
        ),
        Field::may(
            "to",
            Form::Text,
            "The latest, likewise; a day counts to its end",
        ),
        Field::may(
            "limit",
            Form::Number,
            "At most so many; default 50, 100 at most. Where has_more is true, go on from the last timestamp",
        ),
    ],
    run: get_events,
}];

const DAY: i64 = 24 * 60 * 60 * 1000;

fn get_events(call: &Call<'_>) -> Told {
    const MOST_EVENTS: usize = 100;
    let limit = call.number("limit")?.unwrap_or(50);
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let limit = limit.ok_or_else(|| Failure::Said("limit must be 1 or more".to_owned()))?;
    let span = Span {
        from: time(call, "from", 0)?.unwrap_or(i64::MIN),
        to: time(call, "to", DAY - 1)?.unwrap_or(i64::MAX),
        limit: limit.min(MOST_EVENTS),
    };
    let (events, has_more) = within(call.store()?, span)?;
    let rows: Vec<Value> = events
        .iter()
        .map(|event| {
            json!({
                "event_id": event.event_id,
                "session_id": event.session_id,
                "timestamp": event.timestamp,
                "event_type": event.event_type,
                "role": event.role,
                "text": shown(&event.text),
                "agent": event.agent,
            })
        })
        .collect();
    let answer = json!({ "events": rows, "has_more": has_more });
    Ok(Answer::text(answer.to_string()).with(QUOTED))
}

/// What an answer has of a text, so that a long one does not crowd out the others.
fn shown(text: &str) -> String {
    const LONGEST: usize = 1_000;
    let text = mask(&clean(text));
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

/// A time in milliseconds since 1970; a day means its beginning and so much more.
fn time(call: &Call<'_>, name: &str, into_day: i64) -> Result<Option<i64>, Failure> {
    let text = match call.arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let day = || {
        let day: jiff::civil::Date = text.parse().ok()?;
        let start = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(start.timestamp().as_millisecond() + into_day)
    };
    let instant = || {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(instant.as_millisecond())
    };
    let number = text.parse::<i64>().ok();
    match number.or_else(instant).or_else(day) {
        Some(time) => Ok(Some(time)),
        None => Err(Failure::Said(format!(
            "{name}: '{text}' is no time; give 2026-01-31, 2026-01-31T10:00:00Z or milliseconds since 1970"
        ))),
    }
}
