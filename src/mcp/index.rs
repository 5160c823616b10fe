//! The tools of the index layout: memory_view, memory_read, memory_write, memory_update, memory_delete.

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::Call;
use super::general::{cited_messages, with_revision};
use super::table::{EXPECTED, Field, FieldType, OFFSET, REVISION, Tool, ToolEffect};
use crate::core::change::ChangeRequest;
use crate::core::layout::{Fields, Matching, Patch, View};

const FILENAME: Field = Field::must(
    "filename",
    FieldType::Text,
    "The file, such as user_prefs.md",
);

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "memory_view",
        about: "Shows the memory index (MEMORY.md), or a line for each memory file.",
        effect: ToolEffect::Reads,
        fields: &[
            Field::must(
                "target",
                FieldType::OneOf(&["index", "files"]),
                "Which view",
            ),
            OFFSET,
        ],
        run: view,
    },
    Tool {
        name: "memory_read",
        about: "Reads a memory file with its header; or the messages that a citation refers to.",
        effect: ToolEffect::Reads,
        fields: &[
            Field::must(
                "filename",
                FieldType::Text,
                "The file, such as user_prefs.md; or the citation of a message, AGENT:ID#L10",
            ),
            OFFSET,
            REVISION,
        ],
        run: read,
    },
    Tool {
        name: "memory_write",
        about: "Creates a memory file, or replaces all of it, and updates the index.",
        effect: ToolEffect::Replaces,
        fields: &[
            FILENAME,
            Field::must("name", FieldType::Text, "A short name"),
            Field::must(
                "description",
                FieldType::Text,
                "One line for the index: when this memory matters",
            ),
            Field::must(
                "memory_type",
                FieldType::OneOf(&["user", "feedback", "project", "reference"]),
                "user: who the user is; feedback: how the work is wanted; project: goals and decisions; reference: where to find things",
            ),
            Field::must("content", FieldType::Text, "The body, without a header"),
            EXPECTED,
        ],
        run: write,
    },
    Tool {
        name: "memory_update",
        about: "Replaces the first occurrence of a text in a memory file.",
        effect: ToolEffect::Replaces,
        fields: &[
            FILENAME,
            Field::must("old_text", FieldType::Text, "The text to replace"),
            Field::must("new_text", FieldType::Text, "The replacement"),
            EXPECTED,
        ],
        run: update,
    },
    Tool {
        name: "memory_delete",
        about: "Deletes a memory file and its line in the index. The user can undo it.",
        effect: ToolEffect::Replaces,
        fields: &[FILENAME, EXPECTED],
        run: delete,
    },
];

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
    let text = store.rules().view(store, view);
    let text = text.map_err(|error| Failure::Core(error, Some(store.layout())))?;
    Ok(ToolAnswer::page(&text, call.offset()?))
}

fn read(call: &Call<'_>) -> ToolResult {
    let filename = call.text("filename")?;
    if let Some(answer) = cited_messages(call, filename)? {
        return Ok(answer);
    }
    let document = call.read(filename)?;
    let answer = ToolAnswer::page(&document.lossy(), call.offset()?);
    with_revision(call, answer, document.revision)
}

fn write(call: &Call<'_>) -> ToolResult {
    call.change(&ChangeRequest::Write {
        path: call.text("filename")?.to_owned(),
        content: call.text("content")?.to_owned(),
        fields: Fields {
            name: Some(call.text("name")?.to_owned()),
            description: Some(call.text("description")?.to_owned()),
            category: Some(call.text("memory_type")?.to_owned()),
            ..Fields::default()
        },
    })
}

fn update(call: &Call<'_>) -> ToolResult {
    call.change(&ChangeRequest::Patch {
        path: call.text("filename")?.to_owned(),
        patches: vec![Patch {
            old: call.text("old_text")?.to_owned(),
            new: call.text("new_text")?.to_owned(),
        }],
        matching: Matching::First,
    })
}

fn delete(call: &Call<'_>) -> ToolResult {
    call.change(&ChangeRequest::Delete {
        paths: vec![call.text("filename")?.to_owned()],
    })
}
