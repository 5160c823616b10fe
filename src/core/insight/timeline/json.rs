//! Nodes, events and grips as rows and as JSON, as the command line and the servers return them.

use std::cell::RefCell;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::event::Event;
use super::grip::{Expanded, Grip, GripState, Shown, event_id};
use super::log_named_by;
use super::project::plural;
use crate::core::insight::sessions::captured_events;
use crate::core::log::{Agent, MessageKind, Role};
use crate::core::memory::citation::text_mark;
use crate::core::memory::layout::events::CapturedEvent;
use crate::core::search::index::Corpus;
use crate::core::text::display::safe;

/// A time in milliseconds since 1970 UTC, in RFC 3339; null for one that no calendar has.
pub(super) mod json_time {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(in super::super) fn serialize<S: Serializer>(time: &i64, to: S) -> Result<S::Ok, S::Error> {
        let time = Timestamp::from_millisecond(*time).ok();
        time.map(|time| time.to_string()).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<i64, D::Error> {
        let text: Option<String> = Option::deserialize(from)?;
        let time = text.and_then(|text| text.parse::<Timestamp>().ok());
        Ok(time.map_or(0, Timestamp::as_millisecond))
    }
}

/// Says how many tools were called; `None` for none.
pub fn told_calls(calls: usize) -> Option<String> {
    (calls > 0).then(|| plural(calls, "call"))
}

/// The most characters of the event of a grip, and of the answer behind it.
pub const LONGEST_OF_GRIP: usize = 3_000;

/// An event as the events layout has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// Its id.
    pub event_id: String,
    /// The agent's session.
    pub session_id: String,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// What happened.
    pub event_type: String,
    /// The speaker.
    pub role: String,
    /// The text, without secrets and control characters.
    pub text: String,
    /// The agent or layout.
    pub agent: String,
    /// Where it is, if it was found in a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citation: Option<String>,
    /// Around a grip: how many tools were called between it and what was said next.
    #[serde(skip_serializing_if = "is_zero")]
    pub calls: usize,
    /// Around a grip: whether it is the last that an agent said in its turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_answer: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl EventRow {
    /// Shortens the text, so that a long one leaves space for the others.
    pub fn shortened(self) -> Self {
        const LONGEST: usize = 1_000;
        let longest = if self.is_answer {
            LONGEST_OF_GRIP
        } else {
            LONGEST
        };
        self.cut(longest)
    }

    fn cut(mut self, longest: usize) -> Self {
        if let Some((end, _)) = self.text.char_indices().nth(longest) {
            self.text.truncate(end);
            self.text.push_str("...");
        }
        self
    }
}

impl From<&CapturedEvent> for EventRow {
    fn from(event: &CapturedEvent) -> Self {
        Self {
            event_id: event.event_id.clone(),
            session_id: event.session_id.clone(),
            timestamp: event.timestamp,
            event_type: event.event_type.clone(),
            role: event.role.clone(),
            text: safe(&event.text),
            agent: event.agent.clone(),
            citation: None,
            calls: 0,
            is_answer: false,
        }
    }
}

/// Makes rows of events; those of a store have the ids, types and agents that are stored.
pub struct EventRows<'a> {
    corpus: &'a Corpus,
    /// The events of the stores that were asked for, by their lines.
    stored: RefCell<HashMap<String, HashMap<u64, CapturedEvent>>>,
}

impl<'a> EventRows<'a> {
    /// Makes rows of events of this corpus.
    pub fn new(corpus: &'a Corpus) -> Self {
        Self {
            corpus,
            stored: RefCell::default(),
        }
    }

    /// Makes the row of an event.
    pub fn row(&self, agent: Agent, log: &str, event: &Event) -> EventRow {
        let kind = match (event.kind, event.role) {
            (MessageKind::ToolCall, _) => "tool_call",
            (MessageKind::ToolResult, _) => "tool_result",
            (_, Role::User) => "user_message",
            (_, Role::Assistant) => "assistant_message",
            (_, Role::Tool) => "tool_result",
            (_, Role::System) => "notice",
        };
        // What was not read has no mark.
        let mark = Some(&event.text).filter(|text| text.len() == event.length());
        let mark = mark.map(|text| format!("@{}", text_mark(text)));
        let place = format!("{}:{log}#L{}", agent.name(), event.line);
        let mut row = EventRow {
            event_id: event_id(agent, log, event),
            session_id: event.session.as_deref().unwrap_or(log).to_owned(),
            timestamp: event.time,
            event_type: kind.to_owned(),
            role: event.role.name().to_owned(),
            text: safe(&event.text),
            agent: agent.name().to_owned(),
            citation: Some(place + &mark.unwrap_or_default()),
            calls: 0,
            is_answer: false,
        };
        if agent == Agent::Events {
            let mut stored = self.stored.borrow_mut();
            let stored = stored.entry(log.to_owned());
            let stored = stored.or_insert_with(|| stored_events(self.corpus, log));
            if let Some(stored) = stored.get(&event.line) {
                row.event_id.clone_from(&stored.event_id);
                row.event_type.clone_from(&stored.event_type);
                row.agent.clone_from(&stored.agent);
            }
        }
        row
    }
}

/// The events of a store, by their lines; none if it cannot be read.
fn stored_events(corpus: &Corpus, log: &str) -> HashMap<u64, CapturedEvent> {
    let number = log_named_by(corpus, Agent::Events, log);
    let path = number.and_then(|number| Some(corpus.log(number)?.path()));
    let events = path.iter().flat_map(|path| captured_events(path));
    events.collect()
}

/// The answer about a grip that is not known.
pub fn unknown_grip_json() -> Value {
    let none: [Value; 0] = [];
    json!({
        "grip": null, "state": "unknown", "before": none, "excerpt": none, "after": none,
    })
}

/// A grip with the events around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GripRows {
    /// The grip; its events have the ids of their rows.
    pub grip: Grip,
    /// The state of its log.
    pub state: GripState,
    /// What was said before, in order.
    pub before: Vec<EventRow>,
    /// The event of the grip.
    pub excerpt: Vec<EventRow>,
    /// What was said behind it.
    pub after: Vec<EventRow>,
}

impl GripRows {
    /// Makes the rows of a grip.
    pub fn new(corpus: &Corpus, grip: &Grip, expanded: &Expanded) -> Self {
        let events = EventRows::new(corpus);
        let rows = |found: &[Shown]| -> Vec<EventRow> {
            let rows = found.iter().map(|shown| EventRow {
                calls: shown.calls,
                is_answer: shown.is_answer,
                ..events.row(grip.agent, &grip.log, &shown.event)
            });
            rows.collect()
        };
        let excerpt = rows(&expanded.excerpt);
        let mut grip = grip.clone();
        if let Some(row) = excerpt.first() {
            grip.event_id_start.clone_from(&row.event_id);
            grip.event_id_end.clone_from(&row.event_id);
        }
        Self {
            state: expanded.state,
            before: rows(&expanded.before),
            after: rows(&expanded.after),
            excerpt,
            grip,
        }
    }

    /// Shortens the texts of the events; a long one of the grip begins with its line.
    pub fn shortened(mut self) -> Self {
        let short = |rows: Vec<EventRow>| rows.into_iter().map(EventRow::shortened).collect();
        for row in &mut self.excerpt {
            row.text = self.grip.shown(&row.text, LONGEST_OF_GRIP).to_owned();
        }
        let excerpt = self.excerpt.into_iter();
        let excerpt = excerpt.map(|row| row.cut(LONGEST_OF_GRIP));
        Self {
            before: short(self.before),
            excerpt: excerpt.collect(),
            after: short(self.after),
            ..self
        }
    }

    /// Formats it.
    pub fn json(&self) -> Value {
        let mut shown = json!(self.grip);
        shown["citation"] = json!(self.grip.citation());
        shown["text_line"] = json!(self.grip.text_line);
        shown["source"] = json!(self.grip.agent.name());
        json!({
            "grip": shown,
            "state": self.state.name(),
            "before": self.before,
            "excerpt": self.excerpt,
            "after": self.after,
        })
    }
}
