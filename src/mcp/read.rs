//! Tools that show memories: memory_view, memory_list and memory_read.

use serde_json::{Value, json};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::{Call, names};
use super::table::{ALL_LAYOUTS, Field, FieldType, OFFSET, REVISION, Tool, ToolEffect};
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{observe, observe_store};
use crate::core::log::Agent;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::{Layout, View};
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::search::format;
use crate::core::text::display::safe;

/// The maximum number of memories of one answer.
const MOST_LISTED: usize = 200;

pub(super) const VIEW: Tool = Tool {
    name: "memory_view",
    about: "Shows the memory index, or a line for each memory file.",
    effect: ToolEffect::Reads,
    layouts: &[Layout::Index],
    fields: &[
        Field::must("target", FieldType::OneOf(&["index", "files"]), ""),
        OFFSET,
    ],
    run: view,
};

pub(super) const LIST: Tool = Tool {
    name: "memory_list",
    about: "Lists memories.",
    effect: ToolEffect::Reads,
    layouts: &[
        Layout::Facts,
        Layout::Coder,
        Layout::Session,
        Layout::Events,
        Layout::Entries,
        Layout::Instructions,
    ],
    fields: &[OFFSET],
    run: list,
};

pub(super) const READ: Tool = Tool {
    name: "memory_read",
    about: "Reads a memory, a part of it, or what a citation leads to.",
    effect: ToolEffect::Reads,
    layouts: ALL_LAYOUTS,
    fields: &[
        Field::file("[STORE:]FILE, for a part with #L10-20 or #entry; or AGENT:ID#L10"),
        OFFSET,
        REVISION,
    ],
    run: read,
};

fn view(call: &Call<'_>) -> ToolResult {
    let view = match call.optional_text("target")?.unwrap_or("index") {
        "index" => View::Index,
        "files" => View::Files,
        other => {
            return Err(Failure::Message(format!(
                "Error: Invalid target '{other}'. Must be one of: index, files"
            )));
        }
    };
    let store = call.store()?;
    let listed = call.listed();
    if call.named_store()?.is_none()
        && let [_, ..] = listed.as_slice()
        && listed.iter().all(|listed| listed.id() != store.id())
    {
        return Ok(ToolAnswer::text(format!(
            "There is no memory index here yet. memory_list lists the memories of {}.",
            names(&listed)
        )));
    }
    let text = store.rules().view(store, view);
    let text = text.map_err(|error| Failure::Core(error, Some(store.layout())))?;
    // What cannot be recorded must not keep the client from its memory.
    drop(observe_store(
        &call.setup.history,
        store,
        &(call.setup.clock)(),
    ));
    Ok(ToolAnswer::page(&text, call.offset()?))
}

fn list(call: &Call<'_>) -> ToolResult {
    let named = call.named_store()?;
    let stores: Vec<&Store> = match named {
        Some(store) => vec![store],
        None => call.listed(),
    };
    let moment = (call.setup.clock)();
    let mut rows: Vec<Value> = Vec::new();
    for store in &stores {
        let memories = store.described();
        let memories = memories.map_err(|error| Failure::Core(error, Some(store.layout())))?;
        // What cannot be recorded must not keep the client from its memories.
        drop(observe(&call.setup.history, store, &memories, &moment));
        let index = store.index_memory();
        let row = |memory: &Memory| row(store, memory, stores.len());
        rows.extend(index.iter().chain(&memories).map(row));
    }
    let offset = call.offset()?;
    let total = rows.len();
    let rows: Vec<Value> = rows.into_iter().skip(offset).take(MOST_LISTED).collect();
    let end = offset + rows.len();
    let answer = ToolAnswer::text(Value::Array(rows).to_string());
    let sessions = match named {
        Some(_) => 0,
        None => call.searched().len() - stores.len(),
    };
    let answer = match total.saturating_sub(end) {
        0 => answer,
        left => answer.with(format!(
            "{left} of {total} memories are left; continue with offset: {end}"
        )),
    };
    Ok(match sessions {
        0 => answer,
        count => answer.with(format!(
            "{count} more store(s), of past sessions and clients, are not listed; recall_memory searches them."
        )),
    })
}

fn row(store: &Store, memory: &Memory, stores: usize) -> Value {
    let path = match stores {
        1 => memory.path.clone(),
        _ => format!("{}:{}", store.name(), memory.path),
    };
    let mut row = json!({ "path": path, "summary": memory.summary, "size": memory.size });
    // The rows of facts are of a known form, and their summaries name the entries.
    let entries = store.shown_entries(memory).iter();
    let entries: Vec<String> = entries.map(|entry| format!("#{}", entry.slug)).collect();
    if !entries.is_empty() && store.layout() != Layout::Facts {
        row["entries"] = json!(entries);
    }
    row
}

fn read(call: &Call<'_>) -> ToolResult {
    let reference = call.file()?;
    if let Some(answer) = cited_messages(call, reference)? {
        return Ok(answer);
    }
    let (store, citation) = call.find(reference)?;
    let worded = |error| Failure::Core(error, Some(store.layout()));
    // A name that looks like a citation of a part is that of a file, if there is one.
    let citation = if store.holds(reference) {
        Citation {
            store: None,
            path: reference.to_owned(),
            part: CitedPart::Whole,
            mark: None,
        }
    } else {
        citation
    };
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
fn cited_messages(call: &Call<'_>, reference: &str) -> Result<Option<ToolAnswer>, Failure> {
    let Ok(citation) = reference.parse::<Citation>();
    let is_agent = citation.store.as_deref().and_then(Agent::named).is_some();
    let named = |store: &&Store| citation.store.as_deref() == Some(store.name());
    if !is_agent || call.searched().iter().any(named) {
        return Ok(None);
    }
    let Some(messages) = call.setup.logs.log_catalog()?.cited_messages(&citation)? else {
        return Ok(None);
    };
    let text = format::format_messages(&messages);
    Ok(Some(ToolAnswer::page(&text, call.offset()?).quoted(0)))
}

/// Adds the revision of the file to the answer, as text too if the client asked for it.
fn with_revision(call: &Call<'_>, mut answer: ToolAnswer, revision: Revision) -> ToolResult {
    if call.optional_text("revision")? == Some("show") {
        answer = answer.with(format!("revision: {revision}"));
    }
    answer.revision = Some(revision);
    Ok(answer)
}
