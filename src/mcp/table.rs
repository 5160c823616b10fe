//! Every tool, once: its name, what it takes, what it does to the store.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::ToolResult;
use super::call::Call;
use super::{Access, ServerSetup, coder, events, facts, general, index, memory, recall};
use crate::core::layout::Layout;

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) effect: ToolEffect,
    pub(super) fields: &'static [Field],
    pub(super) run: fn(&Call<'_>) -> ToolResult,
}

/// What a tool does to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// Nothing.
    Reads,
    /// Something new is there afterwards, and nothing else is different.
    Adds,
    /// What was there may be different or gone; it can be undone.
    Replaces,
}

/// A thing that a tool takes.
pub(super) struct Field {
    name: &'static str,
    form: FieldType,
    need: Requirement,
    about: &'static str,
}

/// What a field looks like.
pub(super) enum FieldType {
    Text,
    Number,
    OneOf(&'static [&'static str]),
    Texts,
    Patches,
    Lines,
}

/// Whether a field must be there.
#[derive(PartialEq, Eq)]
enum Requirement {
    Must,
    May,
}

impl Field {
    /// A field that must be there.
    pub(super) const fn must(name: &'static str, form: FieldType, about: &'static str) -> Self {
        Self {
            name,
            form,
            need: Requirement::Must,
            about,
        }
    }

    /// A field that may be there.
    pub(super) const fn may(name: &'static str, form: FieldType, about: &'static str) -> Self {
        Self {
            name,
            form,
            need: Requirement::May,
            about,
        }
    }

    fn schema(&self) -> Value {
        let mut schema = match &self.form {
            FieldType::Text => json!({ "type": "string" }),
            FieldType::Number => json!({ "type": "integer" }),
            FieldType::OneOf(words) => json!({ "type": "string", "enum": words }),
            FieldType::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            FieldType::Lines => json!({
                "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2,
            }),
            FieldType::Patches => json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "oldText": { "type": "string" },
                        "newText": { "type": "string" },
                    },
                    "required": ["oldText", "newText"],
                },
            }),
        };
        schema["description"] = json!(self.about);
        schema
    }
}

/// The field by which a change is made only on what the client has seen.
pub(super) const EXPECTED: Field = Field::may(
    "expected_revision",
    FieldType::Text,
    "Change the file only if this is still its revision, as a read with revision: \"show\" gave it",
);

/// The field by which a reading tool shows the revision.
pub(super) const REVISION: Field = Field::may(
    "revision",
    FieldType::OneOf(&["show", "hide"]),
    "Show the file's revision after its content, to give as expected_revision; default hide",
);

/// The field by which a long answer is read on.
pub(super) const OFFSET: Field = Field::may(
    "offset",
    FieldType::Number,
    "Where to read on, as a cut answer said; default 0",
);

impl Tool {
    /// What it takes, as JSON Schema.
    pub(super) fn schema(&self) -> Arc<Map<String, Value>> {
        let properties: Map<String, Value> = self
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), field.schema()))
            .collect();
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.need == Requirement::Must)
            .map(|field| field.name)
            .collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        Arc::new(schema)
    }
}

/// A tool as it is offered: under its own name, or with its store's name before it.
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) tool: &'static Tool,
    /// The store it belongs to; `None` for all of them.
    pub(super) at: Option<usize>,
}

/// The tools that a layout has of its own.
fn layout_tools(layout: Layout) -> &'static [Tool] {
    match layout {
        Layout::Index => index::TOOLS,
        Layout::Facts => facts::TOOLS,
        Layout::Coder => coder::TOOLS,
        Layout::Events => events::TOOLS,
        // The agent of a session edits its notes as files; here the memory tool does.
        Layout::Session | Layout::Instructions => &[],
    }
}

/// The tools that are offered. Names do not depend on stores that are not there yet: theirs are
/// offered as those of a single store.
pub(super) fn offers(setup: &ServerSetup) -> Vec<OfferedTool> {
    let several = setup.there() > 1;
    let mut offers: Vec<OfferedTool> = Vec::new();
    let mut offer = |name: String, tool: &'static Tool, at: Option<usize>| {
        let allowed = setup.access == Access::Full || tool.effect == ToolEffect::Reads;
        if allowed && !offers.iter().any(|known| known.name == name) {
            offers.push(OfferedTool { name, tool, at });
        }
    };
    offer(recall::TOOL.name.to_owned(), &recall::TOOL, None);
    if several {
        for tool in general::TOOLS {
            offer(tool.name.to_owned(), tool, None);
        }
    }
    let prefixes = prefixes(setup);
    for (at, store) in setup.stores.iter().enumerate() {
        let command = match setup.access {
            Access::Full => &memory::TOOL,
            Access::ReadOnly => &memory::VIEWER,
        };
        let own = layout_tools(store.layout()).iter().chain([command]);
        for tool in own {
            let name = match several && at < setup.there() {
                true => format!("{}_{}", prefixes[at], tool.name),
                false => tool.name.to_owned(),
            };
            offer(name, tool, Some(at));
        }
    }
    // A layout that has no way to list and read of its own gets the general one.
    if let [store] = &setup.stores[..setup.there()]
        && store.layout() != Layout::Index
    {
        for tool in general::TOOLS {
            offer(tool.name.to_owned(), tool, Some(0));
        }
    }
    offers
}

/// What stands before the tools of each store: its name, as far as clients take it.
fn prefixes(setup: &ServerSetup) -> Vec<String> {
    const LONGEST: usize = 32;
    let mut taken: Vec<String> = Vec::new();
    for store in &setup.stores {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = store.name().chars().map(plain).take(LONGEST).collect();
        let name = match name.trim_matches('_') {
            "" => "store",
            name => name,
        };
        let mut prefix = name.to_owned();
        let mut number = 2;
        while taken.contains(&prefix) {
            prefix = format!("{name}{number}");
            number += 1;
        }
        taken.push(prefix);
    }
    taken
}
