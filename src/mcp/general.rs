//! Tools that list and read memories, for every layout and over several stores.

use serde_json::{Value, json};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::Call;
use super::table::{Field, FieldType, OFFSET, REVISION, Tool, ToolEffect};
use crate::core::citation::Citation;
use crate::core::display::safe;
use crate::core::format;
use crate::core::log::Agent;
use crate::core::memory::{FileKind, Memory, Revision};
use crate::core::store::Store;

/// The maximum number of memories of one answer.
const MOST_LISTED: usize = 200;

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "memory_list",
        about: "Lists the memories of every store here: path, summary and size in bytes of each.",
        effect: ToolEffect::Reads,
        fields: &[OFFSET],
        run: list,
    },
    Tool {
        name: "memory_read",
        about: "Reads a memory, or a part of it; or the messages that a citation refers to.",
        effect: ToolEffect::Reads,
        fields: &[
            Field::must(
                "path",
                FieldType::Text,
                "What to read: [STORE:]PATH, with #L10, #L10-20 or #entry-title for a part; or the citation of a message, AGENT:ID#L10",
            ),
            OFFSET,
            REVISION,
        ],
        run: read,
    },
];

pub(super) fn list(call: &Call<'_>) -> ToolResult {
    let one = [call.at].into_iter().flatten();
    let stores: Vec<&Store> = match call.at {
        Some(_) => one.filter_map(|at| call.setup.stores.get(at)).collect(),
        None => call.setup.present(),
    };
    let mut rows: Vec<Value> = Vec::new();
    for store in &stores {
        let memories = store.list();
        let memories = memories.map_err(|error| Failure::Core(error, Some(store.layout())))?;
        let row = |memory: &Memory| row(store, memory, stores.len());
        rows.extend(memories.iter().map(row));
    }
    let offset = call.offset()?;
    let total = rows.len();
    let rows: Vec<Value> = rows.into_iter().skip(offset).take(MOST_LISTED).collect();
    let end = offset + rows.len();
    let answer = ToolAnswer::text(Value::Array(rows).to_string());
    Ok(match total.saturating_sub(end) {
        0 => answer,
        left => answer.with(format!(
            "{left} of {total} memories are left; continue with offset: {end}"
        )),
    })
}

fn row(store: &Store, memory: &Memory, stores: usize) -> Value {
    let path = match stores {
        1 => memory.path.clone(),
        _ => format!("{}:{}", store.name(), memory.path),
    };
    json!({ "path": path, "summary": memory.summary, "size": memory.size })
}

pub(super) fn read(call: &Call<'_>) -> ToolResult {
    let reference = call.text("path")?;
    if let Some(answer) = cited_messages(call, reference)? {
        return Ok(answer);
    }
    let (store, citation) = match call.at {
        Some(_) => {
            let Ok(citation) = reference.parse::<Citation>();
            (call.store()?, citation)
        }
        None => call.resolve(reference)?,
    };
    let worded = |error| Failure::Core(error, Some(store.layout()));
    let document = store.read(&citation.path).map_err(worded)?;
    let file = store.locate(&citation.path).map_err(worded)?;
    let text = document.lossy();
    let memory = store.rules().read(&file, &text);
    let part = citation.part.of(&text, &memory, store.layout());
    let part = part.ok_or_else(|| Failure::Message(format!("{reference} not found")))?;
    if store.rules().kind(&file) == FileKind::Log {
        let shown = safe(part);
        return Ok(ToolAnswer::page(&shown, call.offset()?).quoted(0));
    }
    let answer = ToolAnswer::page(part, call.offset()?);
    with_revision(call, answer, document.revision)
}

/// Returns the messages that a citation refers to, in full; `None` if it does not cite messages.
pub(super) fn cited_messages(
    call: &Call<'_>,
    reference: &str,
) -> Result<Option<ToolAnswer>, Failure> {
    let Ok(citation) = reference.parse::<Citation>();
    let named = |store: &Store| citation.store.as_deref() == Some(store.name());
    let is_agent = citation.store.as_deref().and_then(Agent::named).is_some();
    if !is_agent || call.setup.stores.iter().any(named) {
        return Ok(None);
    }
    let Some(messages) = call.setup.logs.log_catalog()?.cited_messages(&citation)? else {
        return Ok(None);
    };
    let text = format::format_messages(&messages);
    Ok(Some(ToolAnswer::page(&text, call.offset()?).quoted(0)))
}

/// Adds the revision of the file to the answer, as text too if the client asked for it.
pub(super) fn with_revision(
    call: &Call<'_>,
    mut answer: ToolAnswer,
    revision: Revision,
) -> ToolResult {
    if call.optional_text("revision")? == Some("show") {
        answer = answer.with(format!("revision: {revision}"));
    }
    answer.revision = Some(revision);
    Ok(answer)
}
