//! The text of an event that is stored: what was said, and what a tool did.
//!
//! Of a changed file the path and the patch are kept, of a file or an image that was read the path:
//! the whole content is on disk, and storing it with every event would grow without limit.

use serde_json::{Map, Value};

use super::payload::{mask_by_key, string_field};
use crate::core::memory::layout::events::LONGEST_TEXT;

/// The maximum length of a stored patch in bytes.
const LONGEST_PATCH: usize = 16 << 10;

/// A text without blanks that is longer than this is data, not words.
const LONGEST_WORD: usize = 4 << 10;

/// The keys of a tool's name.
pub(super) const TOOL: &[&str] = &["tool_name", "toolName"];

/// What a tool does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileUse {
    Reads,
    Changes,
}

/// What a tool of this name does to files; `None` if it is for something else.
pub(super) fn file_use(tool: &str) -> Option<FileUse> {
    match tool.to_ascii_lowercase().as_str() {
        "edit" | "write" | "multiedit" | "notebookedit" | "apply_patch" | "replace"
        | "write_file" | "create" | "str_replace" | "patch" => Some(FileUse::Changes),
        "read" | "read_file" | "read_many_files" | "view" | "view_image" | "notebookread" => {
            Some(FileUse::Reads)
        }
        _ => None,
    }
}

/// The text of an event of this type.
pub(super) fn event_text(event_type: &str, fields: &Map<String, Value>) -> String {
    if let Some(tool) = string_field(fields, TOOL) {
        return cut(tool_text(tool, fields), LONGEST_TEXT);
    }
    let keys: &[&str] = match event_type {
        "user_message" => &["prompt", "message"],
        "assistant_stop" | "subagent_stop" | "assistant_message" => &[
            "last_assistant_message",
            "prompt_response",
            "response",
            "message",
        ],
        _ => &[
            "message",
            "prompt",
            "compact_summary",
            "reason",
            "trigger",
            "source",
            "agent_type",
            "agentName",
            "error",
        ],
    };
    let found = keys
        .iter()
        .find_map(|key| fields.get(*key).filter(|value| !value.is_null()));
    cut(found.map(readable_text).unwrap_or_default(), LONGEST_TEXT)
}

/// What a tool was given, and what it returned.
fn tool_text(tool: &str, fields: &Map<String, Value>) -> String {
    let response = ["tool_response", "toolResult", "tool_result"];
    let response = response.iter().find_map(|key| fields.get(*key));
    let input = input(fields);
    let parts = match (file_use(tool), path(&input)) {
        (Some(FileUse::Changes), Some(path)) => {
            let patch = patch(&input, response.unwrap_or(&Value::Null));
            [path.to_owned(), cut(patch, LONGEST_PATCH)]
        }
        (Some(FileUse::Reads), Some(_)) => [readable_text(&input), String::new()],
        _ => [
            readable_text(&input),
            response.map(readable_text).unwrap_or_default(),
        ],
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// A tool's input, which some agents send as JSON in a string.
pub(super) fn input(fields: &Map<String, Value>) -> Value {
    let given = ["tool_input", "toolArgs", "tool_args"]
        .iter()
        .find_map(|key| fields.get(*key));
    match given {
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(mut fields)) => {
                mask_by_key(&mut fields);
                Value::Object(fields)
            }
            Ok(other) => other,
            Err(_) => Value::from(text.as_str()),
        },
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

/// The file that a tool's input names.
fn path(input: &Value) -> Option<&str> {
    let names = ["file_path", "filePath", "path", "notebook_path"];
    names.iter().find_map(|name| input.get(*name)?.as_str())
}

/// The files that the input of an editing tool names.
pub(super) fn changed_files(input: &Value) -> Vec<String> {
    if let Some(file) = path(input) {
        return vec![file.to_owned()];
    }
    // A Codex patch names each file on a separate line.
    let patch = ["command", "input", "patch", "patchText"];
    let patch = patch.iter().find_map(|name| input.get(*name));
    let text = readable_text(patch.unwrap_or(input));
    let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let named = text.lines().filter_map(|line| {
        let file = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        Some(file.trim().to_owned())
    });
    named.collect()
}

/// What an editing tool changed: the patch that the agent made, or else one of the texts given.
fn patch(input: &Value, response: &Value) -> String {
    let hunks = response.get("structuredPatch").and_then(Value::as_array);
    if let Some(hunks) = hunks.filter(|hunks| !hunks.is_empty()) {
        let lines = hunks.iter().flat_map(|hunk| {
            let number = |key: &str| hunk.get(key).and_then(Value::as_u64).unwrap_or(0);
            let head = format!(
                "@@ -{},{} +{},{} @@",
                number("oldStart"),
                number("oldLines"),
                number("newStart"),
                number("newLines")
            );
            let lines = hunk.get("lines").and_then(Value::as_array);
            let lines = lines.into_iter().flatten().filter_map(Value::as_str);
            [head].into_iter().chain(lines.map(str::to_owned))
        });
        return lines.collect::<Vec<_>>().join("\n");
    }
    let edits = input.get("edits").and_then(Value::as_array);
    match edits {
        Some(edits) => edits.iter().map(replaced).collect::<Vec<_>>().join("\n"),
        None => replaced(input),
    }
}

/// The texts that one edit removed and added, each line marked.
fn replaced(edit: &Value) -> String {
    let given = |keys: &[&str]| keys.iter().find_map(|key| edit.get(*key)?.as_str());
    let removed = given(&["old_string", "oldString", "old_str"]);
    let added = given(&[
        "new_string",
        "newString",
        "new_str",
        "content",
        "file_text",
        "new_source",
    ]);
    let marked = |mark: char, text: Option<&str>| {
        let lines = text.unwrap_or_default().lines();
        lines
            .map(|line| format!("{mark}{line}"))
            .collect::<Vec<_>>()
    };
    let mut lines = marked('-', removed);
    lines.extend(marked('+', added));
    lines.join("\n")
}

/// A value as readable text: the strings in it, or else its JSON.
fn readable_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if is_data(text) => format!("[{} bytes]", text.len()),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .map(readable_text)
                .filter(|text| !text.is_empty())
                .collect();
            texts.join("\n")
        }
        Value::Object(fields) => {
            if let Some(kind) = media(fields) {
                return format!("[{kind}]");
            }
            let known = [
                "stdout",
                "stderr",
                "text",
                "content",
                "output",
                "textResultForLlm",
                "text_result_for_llm",
                "llmContent",
                "message",
            ];
            let texts: Vec<String> = known
                .iter()
                .filter_map(|key| fields.get(*key))
                .map(readable_text)
                .filter(|text| !text.is_empty())
                .collect();
            if texts.is_empty() {
                without_data(value).to_string()
            } else {
                texts.join("\n")
            }
        }
        other => other.to_string(),
    }
}

/// The kind of an image or another thing that is not text.
fn media(fields: &Map<String, Value>) -> Option<&str> {
    const KINDS: [&str; 4] = ["image", "audio", "document", "input_image"];
    let inline = fields.get("inlineData").and_then(Value::as_object);
    if let Some(inline) = inline {
        return Some(string_field(inline, &["mimeType"]).unwrap_or("data"));
    }
    string_field(fields, &["type"]).filter(|kind| KINDS.contains(kind))
}

/// Whether a text is encoded data.
fn is_data(text: &str) -> bool {
    text.len() > LONGEST_WORD
        && !text.as_bytes()[..LONGEST_WORD]
            .iter()
            .any(u8::is_ascii_whitespace)
        && text.as_bytes()[..LONGEST_WORD].is_ascii()
}

/// The value without whole files and encoded data.
fn without_data(value: &Value) -> Value {
    match value {
        Value::String(text) if is_data(text) => Value::from(format!("[{} bytes]", text.len())),
        Value::Array(items) => items.iter().map(without_data).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| {
                !matches!(key.as_str(), "originalFile" | "original_file" | "base64")
            });
            let kept = kept.map(|(key, value)| (key.clone(), without_data(value)));
            Value::Object(kept.collect())
        }
        other => other.clone(),
    }
}

fn cut(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let mut end = longest;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_of(payload: &Value) -> String {
        event_text("tool_result", payload.as_object().expect("an object"))
    }

    #[test]
    fn of_a_changed_file_the_path_and_the_patch_are_kept() {
        let whole = "line\n".repeat(100_000);
        let edit = json!({
            "tool_name": "Edit",
            "tool_input": { "file_path": "/p/a.rs", "old_string": "one", "new_string": "two" },
            "tool_response": {
                "filePath": "/p/a.rs", "originalFile": whole,
                "structuredPatch": [{ "oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-one", "+two"] }],
            },
        });
        assert_eq!(text_of(&edit), "/p/a.rs\n@@ -3,1 +3,1 @@\n-one\n+two");
        for (tool, input, expected) in [
            (
                "Write",
                json!({ "file_path": "/p/b.md", "content": "a\nb\n" }),
                "/p/b.md\n+a\n+b",
            ),
            (
                "create",
                json!({ "path": "/p/b.md", "file_text": "a" }),
                "/p/b.md\n+a",
            ),
            (
                "edit",
                json!({ "filePath": "c", "oldString": "x", "newString": "y" }),
                "c\n-x\n+y",
            ),
            (
                "MultiEdit",
                json!({ "file_path": "d", "edits": [{ "old_string": "1", "new_string": "2" }, { "old_string": "3", "new_string": "" }] }),
                "d\n-1\n+2\n-3",
            ),
        ] {
            let response = input["content"].clone();
            let payload = json!({ "tool_name": tool, "tool_input": input, "tool_response": { "content": response } });
            assert_eq!(text_of(&payload), expected, "{tool}");
        }
        let long =
            json!({ "tool_name": "Write", "tool_input": { "file_path": "e", "content": whole } });
        assert!(text_of(&long).len() < LONGEST_PATCH + 10);
    }

    #[test]
    fn of_what_was_read_the_path_is_kept_and_no_image() {
        let image = "iVBORw0KGgo".repeat(60_000);
        for response in [
            json!({ "type": "image", "file": { "base64": image } }),
            json!([{ "type": "image", "source": { "data": image } }]),
        ] {
            let read = json!({ "tool_name": "Read", "tool_input": { "file_path": "/p/a.png" }, "tool_response": response });
            assert_eq!(text_of(&read), "{\"file_path\":\"/p/a.png\"}");
            let shot = json!({ "tool_name": "screenshot", "tool_input": { "page": 1 }, "tool_response": response });
            assert_eq!(text_of(&shot), "{\"page\":1}\n[image]");
        }
        for response in [json!({ "shot": image }), json!(image)] {
            let shot =
                json!({ "tool_name": "screenshot", "tool_input": {}, "tool_response": response });
            assert!(text_of(&shot).len() < 60, "{}", text_of(&shot));
        }
        let gemini = json!({ "tool_name": "x", "tool_response": { "llmContent": [{ "inlineData": { "mimeType": "image/png", "data": image } }] } });
        assert_eq!(text_of(&gemini), "[image/png]");
    }
}
