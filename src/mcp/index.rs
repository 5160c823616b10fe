//! The tools of the index layout: memory_view, memory_read, memory_write, memory_update, memory_delete.

use super::answer::{Answer, Failure, Told};
use super::call::Call;
use super::general::{quoted, with_revision};
use super::table::{EXPECTED, Effect, Field, Form, OFFSET, REVISION, Tool};
use crate::core::change::Wish;
use crate::core::layout::{Fields, Matching, Patch, View};

const FILENAME: Field = Field::must("filename", Form::Text, "The file, such as user_prefs.md");

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "memory_view",
        about: "Shows the memory index (MEMORY.md), or a line for each memory file.",
        effect: Effect::Reads,
        fields: &[
            Field::must("target", Form::OneOf(&["index", "files"]), "Which view"),
            OFFSET,
        ],
        run: view,
    },
    Tool {
        name: "memory_read",
        about: "Reads a memory file with its header; or the messages that a citation means.",
        effect: Effect::Reads,
        fields: &[
            Field::must(
                "filename",
                Form::Text,
                "The file, such as user_prefs.md; or the citation of a message, AGENT:ID#L10",
            ),
            OFFSET,
            REVISION,
        ],
        run: read,
    },
    Tool {
        name: "memory_write",
        about: "Makes a memory file, or replaces all of it; the index follows.",
        effect: Effect::Replaces,
        fields: &[
            FILENAME,
            Field::must("name", Form::Text, "A short name"),
            Field::must(
                "description",
                Form::Text,
                "One line for the index: when this memory matters",
            ),
            Field::must(
                "memory_type",
                Form::OneOf(&["user", "feedback", "project", "reference"]),
                "user: who the user is; feedback: how the work is wanted; project: goals and decisions; reference: where to find things",
            ),
            Field::must("content", Form::Text, "The body, without a header"),
            EXPECTED,
        ],
        run: write,
    },
    Tool {
        name: "memory_update",
        about: "Replaces the first occurrence of a text in a memory file.",
        effect: Effect::Replaces,
        fields: &[
            FILENAME,
            Field::must("old_text", Form::Text, "The text that is there"),
            Field::must("new_text", Form::Text, "The text that shall be there"),
            EXPECTED,
        ],
        run: update,
    },
    Tool {
        name: "memory_delete",
        about: "Deletes a memory file and its line in the index. The user can undo it.",
        effect: Effect::Replaces,
        fields: &[FILENAME, EXPECTED],
        run: delete,
    },
];

fn view(call: &Call<'_>) -> Told {
    let view = match call.optional_text("target")?.unwrap_or("index") {
        "index" => View::Index,
        "files" => View::Files,
        other => {
            return Err(Failure::Said(format!(
                "Error: Invalid target '{other}'. Must be one of: index, files"
            )));
        }
    };
    let store = call.store()?;
    let text = store.rules().view(store, view);
    let text = text.map_err(|error| Failure::Core(error, Some(store.layout())))?;
    Ok(Answer::page(&text, call.offset()?))
}

fn read(call: &Call<'_>) -> Told {
    let filename = call.text("filename")?;
    if let Some(answer) = quoted(call, filename)? {
        return Ok(answer);
    }
    let document = call.read(filename)?;
    let answer = Answer::page(&document.lossy(), call.offset()?);
    with_revision(call, answer, document.revision)
}

fn write(call: &Call<'_>) -> Told {
    call.change(&Wish::Write {
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

fn update(call: &Call<'_>) -> Told {
    call.change(&Wish::Patch {
        path: call.text("filename")?.to_owned(),
        patches: vec![Patch {
            old: call.text("old_text")?.to_owned(),
            new: call.text("new_text")?.to_owned(),
        }],
        matching: Matching::First,
    })
}

fn delete(call: &Call<'_>) -> Told {
    call.change(&Wish::Delete {
        paths: vec![call.text("filename")?.to_owned()],
    })
}
