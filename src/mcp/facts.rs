//! The tools of the facts layout: memory_list, memory_read, memory_write, memory_patch, memory_append.

use serde_json::{Value, json};

use super::answer::{Failure, ToolResult};
use super::call::Call;
use super::general;
use super::table::{EXPECTED, Field, FieldType, OFFSET, REVISION, Tool, ToolEffect};
use crate::core::change::ChangeRequest;
use crate::core::layout::{Fields, Matching, Patch};

const PATH: Field = Field::must(
    "path",
    FieldType::Text,
    "The file, such as facts/user.md or episodes/2026-02.md",
);

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "memory_list",
        about: "Lists the memory files: path, summary and size in bytes of each.",
        effect: ToolEffect::Reads,
        fields: &[OFFSET],
        run: general::list,
    },
    Tool {
        name: "memory_read",
        about: "Reads a memory file.",
        effect: ToolEffect::Reads,
        fields: &[PATH, OFFSET, REVISION],
        run: general::read,
    },
    Tool {
        name: "memory_write",
        about: "Writes a memory file as given, replacing its content.",
        effect: ToolEffect::Replaces,
        fields: &[
            PATH,
            Field::must(
                "content",
                FieldType::Text,
                "All of the file: a heading, `> Summary: …`, the body",
            ),
            EXPECTED,
        ],
        run: write,
    },
    Tool {
        name: "memory_patch",
        about: "Replaces texts in a memory file in order, all or none; each must occur exactly once.",
        effect: ToolEffect::Replaces,
        fields: &[
            PATH,
            Field::may("patches", FieldType::Patches, "What to replace, in order"),
            Field::may(
                "old_str",
                FieldType::Text,
                "Instead of patches: the text to replace",
            ),
            Field::may(
                "new_str",
                FieldType::Text,
                "Instead of patches: the replacement",
            ),
            EXPECTED,
        ],
        run: patch,
    },
    Tool {
        name: "memory_append",
        about: "Adds an entry to the end of a memory file, which is created if missing.",
        effect: ToolEffect::Adds,
        fields: &[
            PATH,
            Field::must("entry", FieldType::Text, "What to add"),
            Field::may(
                "summary",
                FieldType::Text,
                "The new summary of the whole file",
            ),
            EXPECTED,
        ],
        run: append,
    },
];

fn write(call: &Call<'_>) -> ToolResult {
    call.change(&ChangeRequest::Write {
        path: call.text("path")?.to_owned(),
        content: call.text("content")?.to_owned(),
        fields: Fields::default(),
    })
}

fn patch(call: &Call<'_>) -> ToolResult {
    let patches = patches(call)?;
    let count = patches.len();
    let mut answer = call.change(&ChangeRequest::Patch {
        path: call.text("path")?.to_owned(),
        patches,
        matching: Matching::Unique,
    })?;
    answer.texts = vec![json!({ "success": true, "appliedCount": count }).to_string()];
    Ok(answer)
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
            match patches.is_empty() {
                true => Err(unclear()),
                false => Ok(patches),
            }
        }
    }
}

fn append(call: &Call<'_>) -> ToolResult {
    let summary = call.optional_text("summary")?;
    call.change(&ChangeRequest::Append {
        path: call.text("path")?.to_owned(),
        entry: call.text("entry")?.to_owned(),
        fields: Fields {
            description: summary.map(str::to_owned),
            ..Fields::default()
        },
    })
}
