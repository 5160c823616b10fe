//! Goose: sessions in the database `sessions/sessions.db` of its data directory.
//!
//! Known from sessions that version 1 of the program wrote (tables `sessions` and `messages`, a
//! message's content as an array of JSON). Sessions of the files of lines before it are imported
//! into the database by Goose itself.

use rusqlite::Row;

use super::database::{self, text, time, value};
use super::decode::Decode;
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, TitleSource, content,
};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Goose,
    name: "goose",
    locate,
    decode: Decode::Into(read),
    resume: |log, head| {
        Some(Resume::by(
            "goose",
            ["session", "--resume", "--session-id", &log.id],
            head,
        ))
    },
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.goose.iter();
    let databases = roots.map(|root| root.join("sessions/sessions.db"));
    databases
        .flat_map(|path| {
            // Columns differ between versions, so the title is set by those that exist.
            let sessions = "SELECT *, strftime('%s', updated_at) + 0 AS modified FROM sessions";
            database::sessions(Agent::Goose, &path, sessions)
        })
        .collect()
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let queries = [
        "SELECT * FROM sessions WHERE id = ?1",
        "SELECT * FROM messages WHERE session_id = ?1 ORDER BY id",
    ];
    database::read_session(log, sink, queries, describe, message)
}

fn describe(row: &Row<'_>, head: &mut Head) {
    head.session = text(row, "id");
    head.cwd = text(row, "working_dir");
    let naming = match value(row, "user_set_name") {
        Some(true) => TitleSource::Custom,
        _ => TitleSource::Ai,
    };
    head.set_title(
        TitleSource::Ai,
        text(row, "description").unwrap_or_default(),
    );
    head.set_title(naming, text(row, "name").unwrap_or_default());
    let model = text(row, "model_config_json").unwrap_or_default();
    if let Ok((model, _)) = json::object(model.as_bytes()) {
        head.model = model.text("model_name");
    }
}

fn message(row: &Row<'_>, sink: &mut Sink<'_>) {
    let id = text(row, "message_id");
    sink.stamp = RecordStamp::of_reply(time(row, "created_timestamp"), id);
    let content = database::bytes(row, "content_json").unwrap_or_default();
    let Ok((content, _)) = json::value(content.trim_ascii()) else {
        sink.carry.skipped.broken += 1;
        return;
    };
    let metadata = text(row, "metadata_json").unwrap_or_default();
    let is_hidden = json::object(metadata.as_bytes()).is_ok_and(|(metadata, _)| {
        metadata
            .get("userVisible")
            .is_some_and(|seen| seen.bytes() == b"false")
    });
    let speaker = match text(row, "role").as_deref() {
        Some("assistant") => Role::Assistant,
        // What the user does not see was not said by the user.
        Some("user") if !is_hidden => Role::User,
        _ => Role::System,
    };
    for part in content.items().filter_map(Raw::object) {
        take_part(&part, speaker, sink);
    }
}

fn take_part(part: &Object<'_>, speaker: Role, sink: &mut Sink<'_>) {
    match part.word("type") {
        Some("text") => {
            let text = part.text("text").unwrap_or_default();
            match speaker {
                Role::User => sink.prompt(text),
                Role::Assistant => sink.say(Role::Assistant, Origin::Written, text),
                _ => sink.say(Role::System, Origin::Injected, text),
            }
        }
        Some("thinking" | "reasoning") => {
            let text = part.text("thinking").or_else(|| part.text("text"));
            sink.think(text.unwrap_or_default());
        }
        Some("toolRequest" | "frontendToolRequest") => {
            let call = part.object("toolCall").unwrap_or_default();
            let call = call.object("value").unwrap_or(call);
            let input = call.get("arguments").or_else(|| call.get("error"));
            sink.call_tool(ToolUse::new(
                part.text("id"),
                call.text("name"),
                content::outline(input),
            ));
        }
        Some("toolResponse") => {
            let result = part.object("toolResult").unwrap_or_default();
            let value = result.get("value").or_else(|| result.get("error"));
            // Older versions have the content itself as the value.
            let inside = value.and_then(Raw::object);
            let inside_failed = inside
                .as_ref()
                .is_some_and(|value| value.is_true("isError"));
            let output = inside.and_then(|value| value.get("content")).or(value);
            sink.tool_result(
                ToolUse::new(part.text("id"), None, content::flat(output))
                    .failing(result.is("status", "error") || inside_failed),
            );
        }
        Some("image") => sink.show(speaker, content::IMAGE),
        Some("systemNotification" | "contextLengthExceeded" | "conversationCompacted") => {
            sink.notice(part.text("msg").unwrap_or_default());
        }
        Some("redactedThinking" | "toolConfirmationRequest" | "actionRequired") => {}
        _ => sink.carry.skipped.unknown += 1,
    }
}
