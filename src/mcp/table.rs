//! Every tool, defined once: its name, its fields, its effect on the store.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::ToolResult;
use super::call::Call;
use super::{Access, ServerSetup, coder, events, facts, general, index, memory, recall};
use crate::core::layout::Layout;

/// The definition of a tool.
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
    /// Adds content and changes nothing else.
    Adds,
    /// Changes or deletes content; this can be undone.
    Replaces,
}

/// A parameter of a tool.
pub(super) struct Field {
    name: &'static str,
    form: FieldType,
    need: Requirement,
    about: &'static str,
}

/// The type of a field.
pub(super) enum FieldType {
    Text,
    Number,
    OneOf(&'static [&'static str]),
    Texts,
    Patches,
    Lines,
}

/// Whether a field is required.
#[derive(PartialEq, Eq)]
enum Requirement {
    Must,
    May,
}

impl Field {
    /// Returns a required field.
    pub(super) const fn must(name: &'static str, form: FieldType, about: &'static str) -> Self {
        Self {
            name,
            form,
            need: Requirement::Must,
            about,
        }
    }

    /// Returns an optional field.
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

/// The field that makes a change conditional on the revision that the client read.
pub(super) const EXPECTED: Field = Field::may(
    "expected_revision",
    FieldType::Text,
    "Change the file only if this is still its revision, as returned by a read with revision: \"show\"",
);

/// The field that makes a reading tool show the revision.
pub(super) const REVISION: Field = Field::may(
    "revision",
    FieldType::OneOf(&["show", "hide"]),
    "Show the file's revision after its content, to give as expected_revision; default hide",
);

/// The field that continues a truncated answer.
pub(super) const OFFSET: Field = Field::may(
    "offset",
    FieldType::Number,
    "Where to continue, as given at the end of a truncated answer; default 0",
);

impl Tool {
    /// Returns the fields as JSON Schema.
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

/// A tool as offered to clients: under its own name, or prefixed with its store's name.
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) tool: &'static Tool,
    /// The index of its store; `None` for all stores.
    pub(super) at: Option<usize>,
}

/// Returns the tools of a layout.
fn layout_tools(layout: Layout) -> &'static [Tool] {
    match layout {
        Layout::Index => index::TOOLS,
        Layout::Facts => facts::TOOLS,
        Layout::Coder => coder::TOOLS,
        Layout::Events => events::TOOLS,
        // An agent edits the notes of a session as files; here, with the memory tool.
        Layout::Session | Layout::Instructions => &[],
    }
}

/// Returns the tools to offer. Stores that do not exist yet do not affect the names: their tools
/// are offered like those of a single store.
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
    // A layout without its own tools to list and read gets the general ones.
    if let [store] = &setup.stores[..setup.there()]
        && store.layout() != Layout::Index
    {
        for tool in general::TOOLS {
            offer(tool.name.to_owned(), tool, Some(0));
        }
    }
    offers
}

/// Returns the prefix of each store's tools: its name, reduced to characters that clients allow.
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
