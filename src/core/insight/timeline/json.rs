//! Nodes, events and grips as JSON, as the command line and the MCP server return them.

use serde_json::{Value, json};

use super::Node;
use super::event::Event;
use super::grip::{Expanded, Grip, event_id};
use crate::core::log::{Agent, MessageKind, Role};
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
    if let Some(note) = &node.note {
        shown["note"] = json!(note);
    }
    shown
}

/// Formats a time as RFC 3339.
fn stamp(time: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time).ok()?;
    Some(time.to_string())
}

/// Formats an event as the events layout has it.
pub fn event_json(agent: Agent, log: &str, event: &Event) -> Value {
    let kind = match (event.kind, event.role) {
        (MessageKind::ToolCall, _) => "tool_call",
        (MessageKind::ToolResult, _) => "tool_result",
        (_, Role::User) => "user_message",
        (_, Role::Assistant) => "assistant_message",
        (_, Role::Tool) => "tool_result",
        (_, Role::System) => "notice",
    };
    json!({
        "event_id": event_id(agent, log, event),
        "session_id": event.session.as_deref().unwrap_or(log),
        "timestamp": event.time,
        "event_type": kind,
        "role": event.role,
        "text": safe(&event.text),
        "agent": agent.name(),
        "citation": format!("{}:{log}#L{}", agent.name(), event.line),
    })
}

/// Formats a grip with the events around it; `None` is an unknown one.
pub fn grip_json(found: Option<(&Grip, &Expanded)>) -> Value {
    let Some((grip, expanded)) = found else {
        let none: [Value; 0] = [];
        return json!({
            "grip": null, "state": "unknown", "before": none, "excerpt": none, "after": none,
        });
    };
    let rows = |events: &[Event]| -> Vec<Value> {
        let rows = events.iter();
        rows.map(|event| event_json(grip.agent, &grip.log, event))
            .collect()
    };
    let mut shown = json!(grip);
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
