//! Nodes, events and grips as JSON, as the command line and the MCP server return them.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::event::Event;
use super::grip::{Expanded, Grip, event_id};
use super::{Node, Teleport, Topic, log_named_by};
use crate::core::disk::foreign::{LARGEST_LOG, read_capped};
use crate::core::log::{Agent, MessageKind, Role};
use crate::core::memory::layout::events::CapturedEvent;
use crate::core::search::index::Corpus;
use crate::core::text::display::safe;

/// Formats a node.
pub fn node_json(node: &Node) -> Value {
    let bullets: Vec<Value> = node
        .bullets
        .iter()
        .map(|bullet| {
            json!({
                "text": bullet.text,
                "grips": bullet.grips,
                "citations": bullet.citations,
            })
        })
        .collect();
    let children: Vec<Value> = node
        .children
        .iter()
        .map(|(id, title)| json!({ "id": id, "title": title }))
        .collect();
    let mut shown = json!({
        "id": node.id,
        "level": node.level,
        "version": node.version,
        "title": node.title,
        "from": stamp(node.from),
        "to": stamp(node.to),
        "log": node.log,
        "first_line": node.lines.map(|(first, _)| first),
        "last_line": node.lines.map(|(_, last)| last),
        "bullets": bullets,
        "keywords": node.keywords,
        "files": node.files,
        "children": children,
    });
    if !node.projects.is_empty() {
        shown["projects"] = json!(node.projects);
    }
    if let Some(note) = &node.note {
        shown["note"] = json!(note);
    }
    shown
}

/// Formats where a query leads.
pub fn teleport_json(found: &Teleport) -> Value {
    json!({
        "node": found.node,
        "title": found.title,
        "from": stamp(found.from),
        "project": found.project,
        "line": found.line,
        "grips": found.grips,
        "score": found.score,
    })
}

/// Formats a topic.
pub fn topic_json(topic: &Topic) -> Value {
    let months: serde_json::Map<String, Value> = topic
        .months
        .iter()
        .map(|(month, count)| (month.clone(), json!(count)))
        .collect();
    json!({
        "name": topic.name,
        "line": topic.line,
        "first": stamp(topic.first),
        "last": stamp(topic.last),
        "count": topic.count,
        "months": months,
        "nodes": topic.nodes,
    })
}

/// Formats a time as RFC 3339.
fn stamp(time: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time).ok()?;
    Some(time.to_string())
}

/// Formats events as the events layout has them; those of a store have the ids, types and agents
/// that are stored.
pub struct EventRows<'a> {
    corpus: &'a Corpus,
    /// The events of the stores that were asked for, by their lines.
    stored: RefCell<HashMap<String, HashMap<u64, CapturedEvent>>>,
}

impl<'a> EventRows<'a> {
    /// Formats events of this corpus.
    pub fn new(corpus: &'a Corpus) -> Self {
        Self {
            corpus,
            stored: RefCell::default(),
        }
    }

    /// Formats an event.
    pub fn row(&self, agent: Agent, log: &str, event: &Event) -> Value {
        let kind = match (event.kind, event.role) {
            (MessageKind::ToolCall, _) => "tool_call",
            (MessageKind::ToolResult, _) => "tool_result",
            (_, Role::User) => "user_message",
            (_, Role::Assistant) => "assistant_message",
            (_, Role::Tool) => "tool_result",
            (_, Role::System) => "notice",
        };
        let mut row = json!({
            "event_id": event_id(agent, log, event),
            "session_id": event.session.as_deref().unwrap_or(log),
            "timestamp": event.time,
            "event_type": kind,
            "role": event.role,
            "text": safe(&event.text),
            "agent": agent.name(),
            "citation": format!("{}:{log}#L{}", agent.name(), event.line),
        });
        if agent == Agent::Events {
            let mut stored = self.stored.borrow_mut();
            let stored = stored.entry(log.to_owned());
            let stored = stored.or_insert_with(|| stored_events(self.corpus, log));
            if let Some(stored) = stored.get(&event.line) {
                row["event_id"] = json!(stored.event_id);
                row["event_type"] = json!(stored.event_type);
                row["agent"] = json!(stored.agent);
            }
        }
        row
    }
}

/// The events of a store, by their lines; none if it cannot be read.
fn stored_events(corpus: &Corpus, log: &str) -> HashMap<u64, CapturedEvent> {
    let number = log_named_by(corpus, Agent::Events, log);
    let path = number.and_then(|number| Some(corpus.log(number)?.path()));
    let text = path.and_then(|path| read_capped(&path, LARGEST_LOG).ok());
    let text = text.unwrap_or_default();
    let lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let events = lines.filter_map(|(line, text)| Some((line, serde_json::from_slice(text).ok()?)));
    events.collect()
}

/// The answer about a grip that is not known.
pub fn unknown_grip_json() -> Value {
    let none: [Value; 0] = [];
    json!({
        "grip": null, "state": "unknown", "before": none, "excerpt": none, "after": none,
    })
}

/// Formats a grip with the events around it.
pub fn grip_json(corpus: &Corpus, grip: &Grip, expanded: &Expanded) -> Value {
    let events = EventRows::new(corpus);
    let rows = |found: &[Event]| -> Vec<Value> {
        let rows = found.iter();
        rows.map(|event| events.row(grip.agent, &grip.log, event))
            .collect()
    };
    let mut shown = json!(grip);
    if let Some(event) = expanded.excerpt.first() {
        let row = events.row(grip.agent, &grip.log, event);
        for end in ["event_id_start", "event_id_end"] {
            shown[end] = row["event_id"].clone();
        }
    }
    shown["citation"] = json!(grip.citation());
    shown["source"] = json!(grip.agent.name());
    json!({
        "grip": shown,
        "state": expanded.state.name(),
        "before": rows(&expanded.before),
        "excerpt": rows(&expanded.excerpt),
        "after": rows(&expanded.after),
    })
}
