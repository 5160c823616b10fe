//! Kiro's sessions that are one JSON object: in its database, and of its editor.

use super::super::content::{self, Speaker};
use super::super::json::{self, Object};
use super::super::sink::{RecordStamp, Sink, ToolUse};
use super::super::{LogFile, Origin, Role, TitleSource, database, location};
use crate::core::Result;

/// Reads a session of the database or of the editor.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    sink.head().session = Some(log.id.clone());
    if log.path.extension().is_some_and(|ending| ending == "json") {
        sink.head().cwd = super::listed_folder(&log.path, &log.id);
        take_session(&location::bytes(&log.path)?, sink);
        return Ok(());
    }
    let connection = database::connect(&log.path)?;
    let conversation = "SELECT key, value FROM conversations_v2 WHERE conversation_id = ?1";
    database::rows(&log.path, &connection, conversation, &log.id, &mut |row| {
        sink.head().cwd = database::text(row, "key");
        take_session(&database::bytes(row, "value").unwrap_or_default(), sink);
    })
}

fn take_session(bytes: &[u8], sink: &mut Sink<'_>) {
    let Ok((session, _)) = json::object(bytes.trim_ascii()) else {
        sink.carry.skipped.broken += u64::from(!bytes.trim_ascii().is_empty());
        return;
    };
    let model = session.object("model_info").unwrap_or_default();
    let head = sink.head();
    head.model = model
        .text("model_id")
        .or_else(|| session.text("selectedModel"));
    let folder = session
        .text("workspaceDirectory")
        .or_else(|| session.text("workspacePath"));
    head.cwd = folder.or(head.cwd.take());
    let title = session.text("title").unwrap_or_default();
    head.set_title(TitleSource::Ai, title);
    for (ordinal, item) in (1..).zip(session.items("history")) {
        sink.turn_to(ordinal);
        match item.object() {
            Some(entry) => take_entry(&entry, sink),
            None => sink.carry.skipped.not_object += 1,
        }
    }
}

/// Adds an entry of the history: a prompt and its reply, or a message of the editor.
fn take_entry(entry: &Object<'_>, sink: &mut Sink<'_>) {
    if let Some(message) = entry.object("message") {
        return take_message(entry, &message, sink);
    }
    if entry.get("user").is_none() && entry.get("assistant").is_none() {
        sink.carry.skipped.unknown += 1;
        return;
    }
    let request = entry.object("request_metadata").unwrap_or_default();
    let user = entry.object("user").unwrap_or_default();
    let started = request.time("request_start_timestamp_ms");
    sink.stamp.time = user.time("timestamp").or(started);
    let content = user.object("content").unwrap_or_default();
    if let Some(prompt) = content.object("Prompt") {
        sink.prompt(prompt.text("prompt").unwrap_or_default());
    }
    for key in ["ToolUseResults", "CancelledToolUses"] {
        let given = content.object(key).unwrap_or_default();
        for result in given.objects("tool_use_results") {
            let output = super::results(result.items("content"));
            let id = result.text("tool_use_id");
            sink.tool_result(ToolUse::new(id, None, output));
        }
        sink.prompt(given.text("prompt").unwrap_or_default());
    }
    let ended = request.time("stream_end_timestamp_ms");
    sink.stamp.time = ended.or(sink.stamp.time);
    reply(&entry.object("assistant").unwrap_or_default(), sink);
}

fn reply(assistant: &Object<'_>, sink: &mut Sink<'_>) {
    let said = assistant
        .object("ToolUse")
        .or_else(|| assistant.object("Response"));
    let Some(said) = said else { return };
    sink.stamp.reply = said.text("message_id");
    let text = said.text("content").unwrap_or_default();
    sink.say(Role::Assistant, Origin::Written, text);
    for call in said.objects("tool_uses") {
        let input = content::outline(call.get("args"));
        sink.call_tool(ToolUse::new(call.text("id"), call.text("name"), input));
    }
}

fn take_message(entry: &Object<'_>, message: &Object<'_>, sink: &mut Sink<'_>) {
    let id = message.text("id");
    sink.stamp = RecordStamp::of_reply(
        message
            .time("timestamp")
            .or_else(|| entry.time("timestamp")),
        id,
    );
    let Some(content) = message.get("content") else {
        return;
    };
    match message.word("role") {
        Some("user" | "human") => content::take(content, Speaker::Person, sink),
        Some("assistant" | "bot") => content::take(content, Speaker::Model, sink),
        Some("tool") => sink.result(None, content::flat(content)),
        Some("system") => sink.say(Role::System, Origin::Injected, content::flat(content)),
        _ => sink.carry.skipped.unknown += 1,
    }
}
