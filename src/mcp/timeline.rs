//! The tools of the timeline, over all logs in scope: get_toc_root, get_node, browse_toc,
//! expand_grip, teleport_query.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::Call;
use super::table::{Field, FieldType, Tool, ToolEffect};
use crate::core::Result;
use crate::core::insight::promote::grip_in_memories;
use crate::core::insight::timeline::Node;
use crate::core::insight::timeline::grip::GripState;
use crate::core::insight::timeline::json::unknown_grip_json;
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::query::{AROUND, Found, NODES, PLACES, TimelineQueries};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::events::TimeSpan;
use crate::core::search::index::Deadline;

/// The layout that has these tools where one store is served.
const LAYOUTS: &[Layout] = &[Layout::Events];

pub(super) const ROOT: Tool = Tool {
    name: "get_toc_root",
    about: "The years of the timeline of all sessions, newest first.",
    effect: ToolEffect::Reads,
    layouts: LAYOUTS,
    fields: &[],
    run: root,
};

pub(super) const NODE: Tool = Tool {
    name: "get_node",
    about: "What happened in a span of time: bullets with grips, files, parts.",
    effect: ToolEffect::Reads,
    layouts: LAYOUTS,
    fields: &[Field::must(
        "node_id",
        FieldType::Text,
        "toc:week:2026:W05, toc:day:2026-01-31, …",
    )],
    run: node,
};

pub(super) const BROWSE: Tool = Tool {
    name: "browse_toc",
    about: "The parts of a node, 20 at a time.",
    effect: ToolEffect::Reads,
    layouts: LAYOUTS,
    fields: &[
        Field::must("parent", FieldType::Text, ""),
        Field::may("token", FieldType::Text, ""),
    ],
    run: browse,
};

pub(super) const GRIP: Tool = Tool {
    name: "expand_grip",
    about: "The messages behind a bullet, and 3 around them.",
    effect: ToolEffect::Reads,
    layouts: LAYOUTS,
    fields: &[
        Field::must("grip_id", FieldType::Text, ""),
        Field::may("before", FieldType::Number, ""),
        Field::may("after", FieldType::Number, ""),
    ],
    run: expand_grip,
};

pub(super) const TELEPORT: Tool = Tool {
    name: "teleport_query",
    about: "Ids of the nodes and grips that a query is about.",
    effect: ToolEffect::Reads,
    layouts: LAYOUTS,
    fields: &[Field::must("query", FieldType::Text, "")],
    run: teleport,
};

/// The tools that are about all logs, whatever the stores.
pub(super) const NAMES: [&str; 5] = [ROOT.name, NODE.name, BROWSE.name, GRIP.name, TELEPORT.name];

/// Asks the timeline of the logs in scope.
fn ask<T>(
    call: &Call<'_>,
    query: impl FnOnce(&TimelineQueries<'_>) -> Result<Found<T>>,
) -> Result<Found<T>, Failure> {
    let catalog = call.setup.logs.log_catalog()?;
    let deadline = Deadline::new(call.is_dropped);
    Ok(query(&TimelineQueries {
        catalog: &catalog,
        deadline: &deadline,
    })?)
}

fn answer(value: &Value, left: usize) -> ToolAnswer {
    let answer = ToolAnswer::text(value.to_string()).quoted(0);
    match left {
        0 => answer,
        left => answer.with(format!(
            "{left} log(s) have not been summarized yet; call again for them, too."
        )),
    }
}

fn root(call: &Call<'_>) -> ToolResult {
    let found = ask(call, |timeline| timeline.root())?;
    Ok(answer(&list(&found.value), found.left))
}

/// Nodes without their parts; what their notes say is told once.
fn list(nodes: &[Node]) -> Value {
    let rows: Vec<Value> = nodes.iter().map(short).collect();
    let mut list = json!({ "nodes": rows });
    let notes: BTreeSet<&str> = nodes
        .iter()
        .filter_map(|node| node.note.as_deref())
        .collect();
    if !notes.is_empty() {
        list["notes"] = json!(notes);
    }
    list
}

/// A node in a list: what it says, without its parts.
fn short(node: &Node) -> Value {
    let bullets: Vec<&str> = node.bullets.iter().map(|one| one.text.as_str()).collect();
    json!({ "id": node.id, "title": node.title, "bullets": bullets })
}

fn node_id(call: &Call<'_>, name: &str) -> Result<NodeId, Failure> {
    let text = call.text(name)?;
    text.parse()
        .map_err(|error| Failure::Message(format!("{text}: {error}")))
}

fn node(call: &Call<'_>) -> ToolResult {
    let id = node_id(call, "node_id")?;
    let found = ask(call, |timeline| timeline.node(&id))?;
    let node = match &found.value {
        Some(node) => json!({ "node": node }),
        None => json!({ "node": null, "message": format!("Nothing happened in {id}.") }),
    };
    Ok(answer(&node, found.left))
}

fn browse(call: &Call<'_>) -> ToolResult {
    let id = node_id(call, "parent")?;
    let limit = NODES.of(number(call, "limit")?).max(1);
    let wrong = || Failure::Message("token must be one that browse_toc returned".to_owned());
    let from = call
        .optional_text("token")?
        .filter(|token| !token.is_empty());
    let from: usize = match from {
        Some(token) => token.parse().map_err(|_| wrong())?,
        None => 0,
    };
    let found = ask(call, |timeline| timeline.browse(&id, from, limit))?;
    let page = found.value.as_ref();
    let mut shown = list(page.map_or(&[][..], |page| &page.nodes));
    let token = page.and_then(|page| page.next).map(|next| next.to_string());
    shown["token"] = json!(token);
    Ok(answer(&shown, found.left))
}

fn number(call: &Call<'_>, name: &str) -> Result<Option<usize>, Failure> {
    let wrong = |_| Failure::Message(format!("{name} must be 0 or more"));
    let given = call.number(name)?.map(usize::try_from).transpose();
    given.map_err(wrong)
}

fn expand_grip(call: &Call<'_>) -> ToolResult {
    let id = call.text("grip_id")?;
    let before = AROUND.of(number(call, "before")?);
    let after = AROUND.of(number(call, "after")?);
    let in_memories = grip_in_memories(call.searched(), id);
    let found = ask(call, |timeline| {
        timeline.grip(id, in_memories.as_ref(), (before, after))
    })?;
    let mut shown = match &found.value {
        Some(grip) => grip.json(),
        None => unknown_grip_json(),
    };
    match found.value.map(|grip| grip.state) {
        None => shown["message"] = json!("No grip with this id is known."),
        Some(GripState::Gone) => {
            shown["message"] = json!("The log is gone; the excerpt is what was kept of it.");
        }
        Some(GripState::Current | GripState::Changed) => {}
    }
    Ok(answer(&shown, found.left))
}

/// Returns what was said and done in the logs in a span of time.
pub(super) fn events(call: &Call<'_>, span: TimeSpan) -> ToolResult {
    let found = ask(call, |timeline| timeline.events(span))?;
    let (events, has_more) = found.value;
    let events = json!({ "events": events, "has_more": has_more });
    Ok(answer(&events, found.left))
}

fn teleport(call: &Call<'_>) -> ToolResult {
    let query = call.optional_text("query")?.unwrap_or_default().trim();
    if query.is_empty() {
        return Err(Failure::Message("query parameter is required".to_owned()));
    }
    let found = ask(call, |timeline| timeline.teleport(query, PLACES.of(None)))?;
    let (places, note) = found.value;
    let answer = answer(&json!({ "results": places }), found.left);
    Ok(match note {
        Some(note) => answer.with(note),
        None => answer,
    })
}
