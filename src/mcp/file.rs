//! Tools that change a memory file: memory_write, memory_update, memory_patch, memory_append and
//! memory_delete.

use serde_json::{Map, Value, json};

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::{Call, required};
use super::table::{EXPECTED, Field, FieldType, Tool, ToolEffect};
use crate::core::change::ChangeRequest;
use crate::core::memory::layout::{Fields, Layout, Matching, Patch};
use crate::core::text::header::frontmatter::Frontmatter;

const FILE: Field = Field::file("");

pub(super) const WRITE: Tool = Tool {
    name: "memory_write",
    about: "Creates or replaces a memory file, and its line in the index.",
    effect: ToolEffect::Replaces,
    layouts: &[Layout::Index, Layout::Facts],
    fields: &[
        Field::file("In a facts store facts/user.md, episodes/2026-02.md")
            .explained_for(Layout::Facts),
        Field::must("name", FieldType::Text, "").only(Layout::Index),
        Field::must(
            "description",
            FieldType::Text,
            "When this memory matters",
        )
        .only(Layout::Index),
        Field::must(
            "memory_type",
            FieldType::OneOf(&["user", "feedback", "project", "reference"]),
            "user: who they are; feedback: how to work; project: goals, decisions; reference: where things are",
        )
        .only(Layout::Index),
        Field::must(
            "content",
            FieldType::Text,
            "In a facts store heading, `> Summary: …`, body",
        )
        .explained_for(Layout::Facts),
        EXPECTED,
    ],
    run: write,
};

pub(super) const UPDATE: Tool = Tool {
    name: "memory_update",
    about: "Replaces the first occurrence of a text.",
    effect: ToolEffect::Replaces,
    layouts: &[Layout::Index],
    fields: &[
        FILE,
        Field::must("old_text", FieldType::Text, ""),
        Field::must("new_text", FieldType::Text, ""),
    ],
    run: update,
};

pub(super) const PATCH: Tool = Tool {
    name: "memory_patch",
    about: "Replaces texts in order, all or none; each must occur exactly once.",
    effect: ToolEffect::Replaces,
    layouts: &[Layout::Facts],
    fields: &[
        FILE,
        // A single old_str and new_str are accepted, too.
        Field::must("patches", FieldType::Patches, ""),
    ],
    run: patch,
};

pub(super) const APPEND: Tool = Tool {
    name: "memory_append",
    about: "Adds an entry to the end of a memory file, created if missing.",
    effect: ToolEffect::Adds,
    layouts: &[Layout::Facts],
    fields: &[
        FILE,
        Field::must("entry", FieldType::Text, ""),
        Field::may("summary", FieldType::Text, "").only(Layout::Facts),
    ],
    run: append,
};

pub(super) const DELETE: Tool = Tool {
    name: "memory_delete",
    about: "Deletes a memory file and its line in the index; not in a facts store.",
    effect: ToolEffect::Replaces,
    layouts: &[Layout::Index],
    fields: &[FILE, EXPECTED],
    run: delete,
};

fn write(call: &Call<'_>) -> ToolResult {
    let (store, path) = call.target()?;
    let content = call.text("content")?.to_owned();
    let fields = match store.layout() {
        Layout::Index => header(call, &content, store.holds(&path))?,
        _ => Fields::default(),
    };
    let answer = call.change(
        store,
        &ChangeRequest::Write {
            path,
            content,
            fields,
        },
    )?;
    Ok(in_form_of(store.layout(), answer))
}

/// Returns the answer as the layout documents it: in a facts store an object.
fn in_form_of(layout: Layout, answer: ToolAnswer) -> ToolAnswer {
    match layout {
        Layout::Facts => answer.object(done()),
        _ => answer,
    }
}

fn done() -> Map<String, Value> {
    Map::from_iter([("success".to_owned(), Value::Bool(true))])
}

/// The fields of a memory's header that the arguments give. What neither they nor the content have
/// is named all at once, unless the file exists, whose header stays.
fn header(call: &Call<'_>, content: &str, exists: bool) -> Result<Fields, Failure> {
    const EXAMPLE: &str = r#"{"filename": "user_prefs.md", "name": "Preferences", "description": "How the user wants answers", "memory_type": "user", "content": "Short answers."}"#;
    let fields = Fields {
        name: call.optional_text("name")?.map(str::to_owned),
        description: call.optional_text("description")?.map(str::to_owned),
        category: call.optional_text("memory_type")?.map(str::to_owned),
        ..Fields::default()
    };
    let own = Frontmatter::parse(content);
    let has = |key: &str| {
        own.as_ref()
            .is_some_and(|own| own.get_anywhere(key).is_some())
    };
    let needed = [
        ("name", &fields.name, "name"),
        ("description", &fields.description, "description"),
        ("memory_type", &fields.category, "type"),
    ];
    let missing: Vec<&str> = needed
        .iter()
        .filter(|(_, given, key)| given.is_none() && !has(key))
        .map(|(argument, ..)| *argument)
        .collect();
    if missing.is_empty() || exists {
        return Ok(fields);
    }
    Err(Failure::Message(format!(
        "{}; a memory of this store has a header, which can also begin content. Example: {EXAMPLE}",
        required(&missing)
    )))
}

fn update(call: &Call<'_>) -> ToolResult {
    let (store, path) = call.target()?;
    let patch = Patch {
        old: call.text("old_text")?.to_owned(),
        new: call.text("new_text")?.to_owned(),
    };
    call.change(
        store,
        &ChangeRequest::Patch {
            path,
            patches: vec![patch],
            matching: Matching::First,
        },
    )
}

fn patch(call: &Call<'_>) -> ToolResult {
    let (store, path) = call.target()?;
    let patches = patches(call)?;
    let count = patches.len();
    let answer = call.change(
        store,
        &ChangeRequest::Patch {
            path,
            patches,
            matching: Matching::Unique,
        },
    )?;
    let mut done = done();
    done.insert("appliedCount".to_owned(), json!(count));
    Ok(answer.object(done))
}

fn patches(call: &Call<'_>) -> Result<Vec<Patch>, Failure> {
    let unclear = || {
        Failure::Message(
            "patches must be a list of {oldText, newText}; or give old_str and new_str".to_owned(),
        )
    };
    match call.arguments.get("patches") {
        None | Some(Value::Null) => {
            let old = call.optional_text("old_str")?.ok_or_else(unclear)?;
            let new = call.optional_text("new_str")?.ok_or_else(unclear)?;
            Ok(vec![Patch {
                old: old.to_owned(),
                new: new.to_owned(),
            }])
        }
        Some(list) => {
            let patches: Vec<Patch> =
                serde_json::from_value(list.clone()).map_err(|_| unclear())?;
            if patches.is_empty() {
                Err(unclear())
            } else {
                Ok(patches)
            }
        }
    }
}

fn append(call: &Call<'_>) -> ToolResult {
    let (store, path) = call.target()?;
    let summary = call.optional_text("summary")?;
    // A new memory with a header needs a type.
    let begins = store.layout() == Layout::Index && !store.holds(&path);
    let answer = call.change(
        store,
        &ChangeRequest::Append {
            path,
            entry: call.text("entry")?.to_owned(),
            fields: Fields {
                description: summary.map(str::to_owned),
                category: begins.then(|| "project".to_owned()),
                ..Fields::default()
            },
        },
    )?;
    Ok(in_form_of(store.layout(), answer))
}

fn delete(call: &Call<'_>) -> ToolResult {
    let (store, path) = call.target()?;
    refuse_deleting(store.layout())?;
    call.change(store, &ChangeRequest::Delete { paths: vec![path] })
}

/// Returns an error for a layout in which agents delete nothing.
pub(super) fn refuse_deleting(layout: Layout) -> Result<(), Failure> {
    match layout {
        Layout::Facts => Err(Failure::Message(
            "In a facts store only the user deletes files; correct the content instead.".to_owned(),
        )),
        _ => Ok(()),
    }
}
