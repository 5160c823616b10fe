//! Values of the core as messages, and messages as values.

use super::message as m;
use crate::core::insight::timeline::json::{EventRow, GripRows};
use crate::core::insight::timeline::{Bullet, Child, Node, Teleport};
use crate::core::memory::layout::events::{CapturedEvent, usual_role};

impl From<m::Event> for CapturedEvent {
    fn from(event: m::Event) -> Self {
        let usual = usual_role(&event.event_type).unwrap_or_default();
        Self {
            event_id: event.event_id,
            session_id: event.session_id,
            timestamp: event.timestamp_ms,
            role: match event.role.as_str() {
                "" => usual.to_owned(),
                _ => event.role,
            },
            event_type: event.event_type,
            text: event.text,
            metadata: event.metadata,
            agent: event.agent,
            more: serde_json::Map::new(),
        }
    }
}

impl From<EventRow> for m::Event {
    fn from(row: EventRow) -> Self {
        Self {
            event_id: row.event_id,
            session_id: row.session_id,
            timestamp_ms: row.timestamp,
            event_type: row.event_type,
            role: row.role,
            text: row.text,
            metadata: Default::default(),
            agent: row.agent,
            citation: row.citation.unwrap_or_default(),
            calls: u32::try_from(row.calls).unwrap_or(u32::MAX),
        }
    }
}

pub(super) fn events(rows: Vec<EventRow>) -> Vec<m::Event> {
    rows.into_iter().map(m::Event::from).collect()
}

impl From<Bullet> for m::Bullet {
    fn from(bullet: Bullet) -> Self {
        Self {
            text: bullet.text,
            grip_ids: bullet.grips,
            citations: bullet.citations,
        }
    }
}

impl From<Node> for m::Node {
    fn from(node: Node) -> Self {
        let children = node.children.into_iter();
        Self {
            node_id: node.id,
            level: node.level.to_string(),
            title: node.title,
            from_ms: node.from,
            to_ms: node.to,
            version: node.revision,
            bullets: node.bullets.into_iter().map(m::Bullet::from).collect(),
            keywords: node.keywords,
            files: node.files,
            children: children
                .map(|Child { id, title }| m::Child { node_id: id, title })
                .collect(),
            log: node.log.unwrap_or_default(),
            first_line: node.first_line.unwrap_or_default(),
            last_line: node.last_line.unwrap_or_default(),
            note: node.note.unwrap_or_default(),
        }
    }
}

/// The nodes of a list, without their parts.
pub(super) fn listed(nodes: Vec<Node>) -> Vec<m::Node> {
    let nodes = nodes.into_iter().map(m::Node::from);
    nodes
        .map(|node| m::Node {
            children: Vec::new(),
            ..node
        })
        .collect()
}

/// The answer about a grip, without how many logs are left.
pub(super) fn expanded(found: GripRows) -> m::ExpandGripResponse {
    let grip = found.grip;
    let citation = grip.citation();
    m::ExpandGripResponse {
        grip: Some(m::Grip {
            grip_id: grip.id,
            excerpt: grip.excerpt,
            event_id_start: grip.event_id_start,
            event_id_end: grip.event_id_end,
            timestamp_ms: grip.timestamp,
            source: grip.agent.name().to_owned(),
            citation,
        }),
        state: found.state.name().to_owned(),
        before: events(found.before),
        excerpt: events(found.excerpt),
        after: events(found.after),
        logs_left: 0,
    }
}

impl From<Teleport> for m::Destination {
    fn from(found: Teleport) -> Self {
        Self {
            node_id: found.node,
            title: found.title,
            from_ms: found.from,
            project: found.project.unwrap_or_default(),
            line: found.line.unwrap_or_default(),
            grip_ids: found.grips,
            score: found.score,
        }
    }
}
