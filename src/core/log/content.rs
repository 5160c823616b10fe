//! The content of a message as most agents write it: a string, or an array of blocks.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::json::{self, JsonItem, Object, Raw};
pub(super) use super::origin::Speaker;
use super::sink::{Sink, ToolUse};
use super::{Role, codex, origin};

/// The number of bytes in which the beginning of an output is searched.
const BEGINNING: usize = 256;
/// The beginnings of outputs that are always read, because they say more than what a tool wrote.
static TELLING: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [origin::REFUSED, origin::DENIED, codex::SPAWNED].map(Finder::new));

/// Adds the text, reasoning, tool calls and results in `content` to the sink.
pub(super) fn take(content: Raw<'_>, speaker: Speaker, sink: &mut Sink<'_>) {
    if let Some(text) = content.text() {
        say(text, speaker, sink);
    } else if let Some(block) = content.object() {
        take_block(&block, speaker, sink);
    }
    for item in content.items().opened() {
        take_item(&item, speaker, sink);
    }
}

/// As [`take`], for the content of a message, which may have been parsed along with its record.
pub(super) fn take_of(message: &Object<'_>, speaker: Speaker, sink: &mut Sink<'_>) {
    match (message.opened_items("content"), message.get("content")) {
        (Some(items), _) => items.iter().for_each(|item| take_item(item, speaker, sink)),
        (None, Some(content)) => take(content, speaker, sink),
        (None, None) => {}
    }
}

fn take_item(item: &JsonItem<'_>, speaker: Speaker, sink: &mut Sink<'_>) {
    match item {
        JsonItem::Object(block) => take_block(block, speaker, sink),
        JsonItem::Other(value) => say(value.text().unwrap_or_default(), speaker, sink),
    }
}

/// As [`take`], for one block.
pub(super) fn take_block(block: &Object<'_>, speaker: Speaker, sink: &mut Sink<'_>) {
    match block.word("type") {
        Some("tool_use" | "toolCall" | "server_tool_use" | "mcp_tool_use") => {
            let input = block.get("input").or_else(|| block.get("arguments"));
            sink.call_tool(ToolUse::new(
                block.text("id"),
                block.text("name"),
                outline(input),
            ));
        }
        Some("tool_result" | "toolResult") => {
            let id = block.text("tool_use_id");
            let content = block.get("content");
            let has_failed = block.is_true("is_error") || block.is_true("isError");
            let text = |content| {
                if has_failed {
                    flat(content)
                } else {
                    output(content, sink)
                }
            };
            let text = content.map_or_else(String::new, text);
            sink.tool_result(
                ToolUse::new(
                    id.or_else(|| block.text("toolCallId")),
                    block.text("name"),
                    text,
                )
                .failing(has_failed),
            );
        }
        Some("thinking" | "reasoning") => {
            let text = block.text("thinking").or_else(|| block.text("text"));
            sink.think(text.unwrap_or_default());
        }
        Some("redacted_thinking") => {}
        Some(kind @ ("image" | "document")) => match speaker {
            Speaker::Person => sink.show(Role::User, &format!("[{kind}]")),
            Speaker::Model => sink.show(Role::Assistant, &format!("[{kind}]")),
            Speaker::Program | Speaker::Agent => {}
        },
        _ => say(block.text("text").unwrap_or_default(), speaker, sink),
    }
}

fn say(text: String, speaker: Speaker, sink: &mut Sink<'_>) {
    match speaker {
        Speaker::Person => sink.prompt(text),
        Speaker::Agent => sink.prompt_by(speaker, text),
        Speaker::Program | Speaker::Model => sink.add(speaker, text),
    }
}

/// Returns the text of a tool's output; empty if it is not wanted and of the tool alone.
pub(super) fn output(value: Raw<'_>, sink: &Sink<'_>) -> String {
    let bytes = value.bytes();
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    let is_telling = || TELLING.iter().any(|mark| mark.find(beginning).is_some());
    if sink.wants_outputs || is_telling() {
        flat(value)
    } else {
        String::new()
    }
}

/// Returns all text in a tool's output, of any structure; none if there is no output.
pub(super) fn flat<'a>(value: impl Into<Option<Raw<'a>>>) -> String {
    let Some(value) = value.into() else {
        return String::new();
    };
    if let Some(text) = value.text() {
        return text;
    }
    if let Some(object) = value.object() {
        return part(&object).unwrap_or_else(|| value.outline());
    }
    let mut out = String::new();
    for item in value.items().opened() {
        let text = match item {
            JsonItem::Object(object) => part(&object).unwrap_or_default(),
            JsonItem::Other(value) => value.text().unwrap_or_default(),
        };
        if !out.is_empty() && !text.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    }
    out
}

/// The placeholder for an image.
pub(super) const IMAGE: &str = "[image]";

/// Returns the text of one part of a tool's output.
fn part(object: &Object<'_>) -> Option<String> {
    if matches!(
        object.word("type"),
        Some("image" | "input_image" | "image_url")
    ) {
        return Some(IMAGE.to_owned());
    }
    [
        "text",
        "content",
        "output",
        "result",
        "message",
        "tool_name",
    ]
    .iter()
    .find_map(|key| object.text(key))
}

/// Formats a tool's input as lines; a string that contains a JSON object is parsed.
pub(super) fn outline<'a>(input: impl Into<Option<Raw<'a>>>) -> String {
    let Some(input) = input.into() else {
        return String::new();
    };
    let Some(text) = input.text() else {
        return input.outline();
    };
    if text.starts_with('{')
        && let Ok((value, after)) = json::value(text.as_bytes())
        && after.trim_ascii().is_empty()
    {
        return value.outline();
    }
    text
}
