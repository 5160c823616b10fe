//! The tools of the timeline, over all logs in scope: get_toc_root, get_node, browse_toc,
//! expand_grip, teleport_query.

use std::time::Instant;

use serde_json::{Value, json};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::Call;
use super::events::truncate_text;
use super::recall::{Deadline, READING_LIMIT};
use super::table::{Field, FieldType, Tool, ToolEffect};
use crate::core::insight::promote::grip_in_memories;
use crate::core::insight::timeline::json::{
    EventRows, grip_json, node_json, teleport_json, unknown_grip_json,
};
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::{
    Node, Timeline, directory, events_between, expand, sessions_of, summarizer,
};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::events::TimeSpan;
use crate::core::search::MemoryTexts;
use crate::core::search::catalog::{ScopedCorpus, read_corpus};
use crate::core::search::index::{Corpus, Progress as _, ReadResults};
use crate::core::search::semantic::Semantic;

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
        Field::may("limit", FieldType::Number, ""),
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

/// The logs that are summarized between two looks at the clock.
const AT_ONCE: usize = 16;

/// Reads something of the timeline. What cannot be summarized in time is left for the next call.
fn read<T>(call: &Call<'_>, look: impl Fn(&Corpus, &Timeline) -> T) -> Result<(T, usize), Failure> {
    read_logs(call, |corpus, (none, patience)| {
        let sessions = sessions_of(corpus);
        let (mut timeline, outdated) = none.cached(corpus, |log| sessions[log]);
        let mut rest = outdated.chunks(AT_ONCE);
        while !patience.is_cancelled()
            && let Some(next) = rest.next()
        {
            timeline.update(corpus, next);
        }
        let left = rest.map(<[usize]>::len).sum::<usize>();
        (look(corpus, &timeline), left)
    })
    .map(|((found, unmade), unread)| (found, unmade + unread))
}

/// Reads something of the logs in scope; also returns how many of them could not be read in time.
fn read_logs<T>(
    call: &Call<'_>,
    look: impl Fn(&Corpus, (&Timeline, &Deadline<'_>)) -> T,
) -> Result<(T, usize), Failure> {
    let catalog = call.setup.logs.log_catalog()?;
    let files = catalog.files();
    let patience = Deadline {
        until: Instant::now() + READING_LIMIT,
        is_dropped: call.is_dropped,
    };
    let summarizer = summarizer(&catalog.timeline);
    let none = Timeline::empty(&directory(&catalog.cache), summarizer);
    let (_, answer) = read_corpus(
        || catalog.scoped_corpus(&files, ReadResults::Now, &patience),
        |ScopedCorpus { corpus, left, .. }| (look(corpus, (&none, &patience)), *left),
    )?;
    Ok(answer)
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
    let (nodes, left) = read(call, |_, timeline| timeline.root())?;
    let nodes: Vec<Value> = nodes.iter().map(short).collect();
    Ok(answer(&json!({ "nodes": nodes }), left))
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
    let (node, left) = read(call, |_, timeline| timeline.node(&id))?;
    let node = match &node {
        Some(node) => json!({ "node": node_json(node) }),
        None => json!({ "node": null, "message": format!("Nothing happened in {id}.") }),
    };
    Ok(answer(&node, left))
}

fn browse(call: &Call<'_>) -> ToolResult {
    const USUAL: usize = 20;
    const MOST: usize = 100;
    let id = node_id(call, "parent")?;
    let limit = number(call, "limit", USUAL)?.clamp(1, MOST);
    let wrong = || Failure::Message("token must be one that browse_toc returned".to_owned());
    let from = call
        .optional_text("token")?
        .filter(|token| !token.is_empty());
    let from: usize = match from {
        Some(token) => token.parse().map_err(|_| wrong())?,
        None => 0,
    };
    let (found, left) = read(call, |_, timeline| {
        let children = timeline.node(&id).map(|node| node.children);
        let children = children.unwrap_or_default();
        let page: Vec<NodeId> = children
            .iter()
            .skip(from)
            .take(limit)
            .filter_map(|(id, _)| id.parse().ok())
            .collect();
        let next = Some(from.saturating_add(limit)).filter(|next| *next < children.len());
        let nodes: Vec<Value> = timeline.nodes_of(&page).iter().map(short).collect();
        let token = next.map(|next| next.to_string());
        json!({ "nodes": nodes, "token": token })
    })?;
    Ok(answer(&found, left))
}

fn number(call: &Call<'_>, name: &str, usual: usize) -> Result<usize, Failure> {
    let wrong = |_| Failure::Message(format!("{name} must be 0 or more"));
    let given = call.number(name)?.map(usize::try_from).transpose();
    Ok(given.map_err(wrong)?.unwrap_or(usual))
}

fn expand_grip(call: &Call<'_>) -> ToolResult {
    const USUAL: usize = 3;
    const MOST: usize = 20;
    let id = call.text("grip_id")?;
    let before = number(call, "before", USUAL)?.min(MOST);
    let after = number(call, "after", USUAL)?.min(MOST);
    let in_memories = MemoryTexts::read(call.searched())
        .ok()
        .and_then(|memories| grip_in_memories(&memories, id));
    let (mut found, left) = read(call, |corpus, timeline| {
        let grip = in_memories.clone().or_else(|| timeline.grip(corpus, id));
        match grip {
            Some(grip) => grip_json(corpus, &grip, &expand(corpus, &grip, before, after)),
            None => unknown_grip_json(),
        }
    })?;
    for part in ["before", "excerpt", "after"] {
        let rows = found[part].as_array_mut().into_iter().flatten();
        for row in rows {
            row["text"] = json!(truncate_text(row["text"].as_str().unwrap_or_default()));
        }
    }
    match found["state"].as_str() {
        Some("unknown") => found["message"] = json!("No grip with this id is known."),
        Some("gone") => {
            found["message"] = json!("The log is gone; the excerpt is what was kept of it.");
        }
        _ => {}
    }
    Ok(answer(&found, left))
}

/// Returns what was said and done in the logs in a span of time.
pub(super) fn events(call: &Call<'_>, span: TimeSpan) -> ToolResult {
    let (found, left) = read_logs(call, |corpus, _| {
        let sessions = sessions_of(corpus);
        let (events, has_more) = events_between(corpus, |log| sessions[log], span);
        let format = EventRows::new(corpus);
        let rows: Vec<Value> = events
            .iter()
            .map(|found| {
                let mut row = format.row(found.agent, &found.log, &found.event);
                row["text"] = json!(truncate_text(&found.event.text));
                row
            })
            .collect();
        json!({ "events": rows, "has_more": has_more })
    })?;
    Ok(answer(&found, left))
}

fn teleport(call: &Call<'_>) -> ToolResult {
    const MOST: usize = 10;
    let query = call.optional_text("query")?.unwrap_or_default().trim();
    if query.is_empty() {
        return Err(Failure::Message("query parameter is required".to_owned()));
    }
    let catalog = call.setup.logs.log_catalog()?;
    let semantic = Semantic::open(&catalog.timeline.model, &catalog.cache);
    let (found, left) = read(call, |_, timeline| {
        timeline.teleport(query, MOST, semantic.as_ref().ok())
    })?;
    let results: Vec<Value> = found.iter().map(teleport_json).collect();
    let answer = answer(&json!({ "results": results }), left);
    let note = match &semantic {
        Ok(semantic) => semantic.note(),
        Err(none) => none.note(),
    };
    Ok(match note {
        Some(note) => answer.with(note),
        None => answer,
    })
}
