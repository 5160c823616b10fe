//! Every tool, defined once: its name, its fields, the layouts it is for, its effect on a store.
//!
//! Which tools are served depends on the layouts that can be used, and what their schemas tell on the
//! layouts in use; neither on the number of stores: a tool takes the store as an argument.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::ToolResult;
use super::call::Call;
use super::{Access, coder, events, file, read, recall, timeline};
use crate::core::memory::layout::Layout;

/// The definition of a tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) effect: ToolEffect,
    /// The layouts it is served for; the first that has a store is its default.
    pub(super) layouts: &'static [Layout],
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

/// The tools, in the order in which they are listed.
const TOOLS: [&Tool; 17] = [
    &recall::TOOL,
    &read::VIEW,
    &read::LIST,
    &read::READ,
    &file::WRITE,
    &file::UPDATE,
    &file::PATCH,
    &file::APPEND,
    &file::DELETE,
    &coder::RECALL,
    &coder::STORE,
    &timeline::ROOT,
    &timeline::NODE,
    &timeline::BROWSE,
    &timeline::GRIP,
    &timeline::TELEPORT,
    &events::TOOL,
];

/// Every layout that holds memories, in the order in which the default store is chosen.
pub(super) const ALL_LAYOUTS: &[Layout] = &[
    Layout::Index,
    Layout::Facts,
    Layout::Coder,
    Layout::Session,
    Layout::Events,
    Layout::Entries,
    Layout::Instructions,
];

/// What is served: the layouts that can be used, those of them that have a store, and whether a store
/// can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) layouts: Vec<Layout>,
    pub(super) in_use: Vec<Layout>,
    pub(super) access: Access,
    /// Whether one store is served and no other can be.
    pub(super) is_single: bool,
}

impl Served {
    /// Returns the tools to offer.
    pub(super) fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.into_iter().filter(|tool| {
            let is_allowed = self.access == Access::Full || tool.effect == ToolEffect::Reads;
            // There are logs even where no store holds events.
            let is_of_logs = !self.is_single && is_about_logs(tool);
            let mut layouts = tool.layouts.iter();
            is_allowed && (is_of_logs || layouts.any(|layout| self.layouts.contains(layout)))
        })
    }

    /// Whether a layout has a store. A memory in a place without one makes an index.
    fn uses(&self, layout: Layout) -> bool {
        let files = [Layout::Index, Layout::Facts];
        let is_first = layout == Layout::Index && self.layouts.contains(&layout);
        let has_none = || !self.in_use.iter().any(|used| files.contains(used));
        self.in_use.contains(&layout) || is_first && has_none()
    }

    /// Returns the name of the argument for a file, which the layouts name differently. Either is
    /// accepted everywhere.
    pub(super) fn file_argument(&self) -> &'static str {
        if self.uses(Layout::Index) {
            FILE_ARGUMENTS[0]
        } else {
            FILE_ARGUMENTS[1]
        }
    }

    /// Whether the store is a field. The name of an existing file has it before a colon.
    fn names_store(&self, tool: &Tool) -> bool {
        let files = [Layout::Index, Layout::Facts];
        let is_used = |layout: &Layout| files.contains(layout) || self.uses(*layout);
        let is_of_file = tool.fields.iter().any(|field| field.name == FILE);
        let is_new = tool.name == file::WRITE.name || tool.name == file::APPEND.name;
        let is_about_stores = !is_about_logs(tool) && tool.name != recall::TOOL.name;
        !self.is_single
            && is_about_stores
            && (!is_of_file || is_new)
            && tool.layouts.iter().any(is_used)
    }

    fn shown_name(&self, field: &Field) -> &'static str {
        match field.name {
            FILE => self.file_argument(),
            name => name,
        }
    }

    /// Returns the arguments that every call of a tool needs, whatever the layout.
    pub(super) fn required(&self, tool: &Tool) -> Vec<&'static str> {
        // Patches have a second form, which their tool knows.
        let is_checked = |field: &&Field| {
            let is_plain = !matches!(field.form, FieldType::Patches);
            field.is_required && field.only.is_none() && is_plain
        };
        let fields = tool.fields.iter().filter(is_checked);
        fields.map(|field| self.shown_name(field)).collect()
    }

    /// Returns a tool's fields as JSON Schema.
    pub(super) fn schema(&self, tool: &Tool) -> Arc<Map<String, Value>> {
        let fields = tool.fields.iter();
        let fields = fields.filter(|field| field.only.is_none_or(|layout| self.uses(layout)));
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in fields {
            let name = self.shown_name(field);
            properties.insert(name.to_owned(), field.schema(self));
            // A field of one layout is required as soon as that layout is used; the others ignore it.
            if field.is_required {
                required.push(name);
            }
        }
        if self.names_store(tool) {
            properties.insert(STORE.to_owned(), json!({ "type": "string" }));
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        Arc::new(schema)
    }
}

/// Whether a tool is about all logs, so that no store can be named.
fn is_about_logs(tool: &Tool) -> bool {
    timeline::NAMES.contains(&tool.name)
}

/// The name of a field that is shown as the layouts name it.
const FILE: &str = "";

/// The arguments that name a file: of the index layout, and of the others.
pub(super) const FILE_ARGUMENTS: [&str; 2] = ["filename", "path"];

/// The argument that names the store.
pub(super) const STORE: &str = "store";

/// A parameter of a tool.
pub(super) struct Field {
    name: &'static str,
    form: FieldType,
    is_required: bool,
    about: &'static str,
    /// The only layout that has this field.
    only: Option<Layout>,
    /// The only layout for which it is explained.
    explained_for: Option<Layout>,
}

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum FieldType {
    Text,
    Number,
    OneOf(&'static [&'static str]),
    Texts,
    Patches,
}

impl Field {
    /// Returns a required field.
    pub(super) const fn must(name: &'static str, form: FieldType, about: &'static str) -> Self {
        Self {
            name,
            form,
            is_required: true,
            about,
            only: None,
            explained_for: None,
        }
    }

    /// Returns an optional field.
    pub(super) const fn may(name: &'static str, form: FieldType, about: &'static str) -> Self {
        Self {
            is_required: false,
            ..Self::must(name, form, about)
        }
    }

    /// Returns the required field for a file.
    pub(super) const fn file(about: &'static str) -> Self {
        Self::must(FILE, FieldType::Text, about)
    }

    /// Returns the field for one layout only.
    pub(super) const fn only(self, layout: Layout) -> Self {
        Self {
            only: Some(layout),
            ..self
        }
    }

    /// Returns the field explained for one layout only.
    pub(super) const fn explained_for(self, layout: Layout) -> Self {
        Self {
            explained_for: Some(layout),
            ..self
        }
    }

    fn schema(&self, served: &Served) -> Value {
        let mut schema = match self.form {
            FieldType::Text => json!({ "type": "string" }),
            FieldType::Number => json!({ "type": "integer" }),
            FieldType::OneOf(words) => json!({ "type": "string", "enum": words }),
            FieldType::Texts => json!({ "type": "array", "items": { "type": "string" } }),
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
        let is_explained = self.explained_for.is_none_or(|layout| served.uses(layout));
        if is_explained && !self.about.is_empty() {
            schema["description"] = json!(self.about);
        }
        schema
    }
}

/// The field that makes a change conditional on the revision that the client read.
pub(super) const EXPECTED: Field = Field::may("expected_revision", FieldType::Text, "");

/// The field that makes a reading tool show the revision.
pub(super) const REVISION: Field = Field::may("revision", FieldType::OneOf(&["show"]), "");

/// The field that continues a truncated answer; the answer says which value to give.
pub(super) const OFFSET: Field = Field::may("offset", FieldType::Number, "");

#[cfg(test)]
mod tests {
    use super::*;

    fn served(in_use: &[Layout]) -> Served {
        Served {
            layouts: ALL_LAYOUTS.to_vec(),
            in_use: in_use.to_vec(),
            access: Access::Full,
            is_single: false,
        }
    }

    #[test]
    fn a_field_of_one_layout_is_required_where_that_is_used() {
        let required =
            |layouts: &[Layout]| served(layouts).schema(&file::WRITE)["required"].clone();
        let with_header = json!(["filename", "name", "description", "memory_type", "content"]);
        assert_eq!(required(&[Layout::Index]), with_header);
        assert_eq!(required(&[]), with_header);
        assert_eq!(required(&[Layout::Facts]), json!(["path", "content"]));
        assert_eq!(required(&[Layout::Facts, Layout::Index]), with_header);
    }
}
