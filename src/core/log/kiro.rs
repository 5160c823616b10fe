//! Kiro: sessions of its command line, of three generations, and of its editor.
//!
//! - `~/.kiro/sessions/cli/<id>.jsonl`, with title and directory in `<id>.json`.
//! - `~/.kiro/sessions/<workspace>/<id>/messages.jsonl`, with `session.json`, since 2026.
//! - A table of conversations in `data.sqlite3` of its data directory, before both.
//! - The editor's `kiro.kiroagent/workspace-sessions/<folder>/<id>.json`, with `sessions.json`.
//!
//! Known from public readers, their tests and the records that they quote.

mod conversation;

use std::path::{Path, PathBuf};

use super::decode::{Decode, Recognized};
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, content, database, location,
};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Kiro,
    name: "kiro",
    locate,
    decode: Decode::Mixed(describe, record, conversation::read),
    resume,
};

/// The editor's directory of sessions in its global storage.
const EDITOR: &str = "globalStorage/kiro.kiroagent/workspace-sessions";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for root in &locations.kiro {
        for folder in location::entries(&root.join("sessions")) {
            for path in location::entries(&folder) {
                if let Some(id) = location::stem(&path, ".jsonl") {
                    logs.extend(location::found(Agent::Kiro, path, id));
                } else {
                    let id = location::name(&path);
                    logs.extend(location::found(
                        Agent::Kiro,
                        path.join("messages.jsonl"),
                        id,
                    ));
                }
            }
        }
    }
    for log in &mut logs {
        let title = |session: &Object<'_>| session.text("title");
        let title = location::with_object(&beside(log), title).flatten();
        log.title = title.filter(|title| !title.trim().is_empty());
    }
    let conversations =
        "SELECT conversation_id AS id, updated_at AS modified FROM conversations_v2";
    for root in &locations.kiro_data {
        let path = root.join("data.sqlite3");
        logs.extend(database::sessions(Agent::Kiro, &path, conversations));
    }
    let folders = locations.editors.iter().map(|editor| editor.join(EDITOR));
    for folder in folders.flat_map(|root| location::entries(&root)) {
        for path in location::entries(&folder) {
            let id = location::stem(&path, ".json").filter(|id| id != "sessions");
            logs.extend(id.and_then(|id| location::found(Agent::Kiro, path, id)));
        }
    }
    logs
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    // The editor cannot be started with a session.
    if log.path.extension().is_some_and(|ending| ending == "json") {
        return None;
    }
    let args = ["chat", "--resume-id", &log.id];
    Some(Resume::by("kiro-cli", args, head))
}

/// Returns the path of the file that tells about the session of a file of lines.
fn beside(log: &LogFile) -> PathBuf {
    if location::name(&log.path) == "messages.jsonl" {
        log.path.with_file_name("session.json")
    } else {
        log.path.with_extension("json")
    }
}

fn describe(log: &LogFile, head: &mut Head) {
    head.session = Some(log.id.clone());
    location::with_object(&beside(log), |session| {
        let paths = session.items("workspacePaths").find_map(Raw::text);
        let cwd = session.first_text(&["cwd", "workspacePath", "workspaceDirectory"]);
        head.cwd = cwd.or(paths);
        head.model = session.text("modelId");
    });
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    match (record.object("payload"), record.object("data")) {
        (Some(payload), _) => event(record, &payload, sink),
        (None, Some(data)) => message(record, &data, sink),
        (None, None) => Recognized::Unknown,
    }
}

/// Decodes an event of `messages.jsonl`.
fn event(record: &Object<'_>, payload: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(record.time("timestamp"), record.text("id"));
    let text = || content::flat(payload.get("content"));
    let id = payload.text("toolCallId");
    match payload.word("type") {
        Some("user") => sink.prompt(text()),
        Some("assistant") if payload.is("operationType", "Reasoning") => sink.think(text()),
        Some("assistant") => sink.say(Role::Assistant, Origin::Written, text()),
        Some("tool_call") => {
            let input = content::outline(payload.get("args"));
            sink.call_tool(ToolUse::new(id, payload.text("toolName"), input));
        }
        Some("tool_result") => sink.tool_result(ToolUse::new(id, None, text())),
        Some("usage_summary") => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Decodes a message of `<id>.jsonl`: parts of a kind with their data.
fn message(record: &Object<'_>, data: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let meta = data.object("meta").unwrap_or_default();
    let id = data.text("message_id");
    sink.stamp = RecordStamp::of_reply(
        meta.time("timestamp").or_else(|| record.time("timestamp")),
        id,
    );
    let role = match record.word("kind") {
        Some("Prompt") => Role::User,
        Some("AssistantMessage") => Role::Assistant,
        Some("ToolResults") => Role::Tool,
        Some("Compaction") => {
            sink.notice(data.text("summary").unwrap_or_default());
            return Recognized::Known;
        }
        _ => return Recognized::Unknown,
    };
    for part in data.objects("content") {
        take_part(&part, role, sink);
    }
    Recognized::Known
}

fn take_part(part: &Object<'_>, role: Role, sink: &mut Sink<'_>) {
    let text = || part.text("data").unwrap_or_default();
    let data = part.object("data").unwrap_or_default();
    match (part.word("kind"), role) {
        (Some("text"), Role::User) => sink.prompt(text()),
        (Some("text"), Role::Assistant) => sink.say(role, Origin::Written, text()),
        (Some("text"), _) => sink.result(None, text()),
        (Some("thinking" | "reasoning"), _) => {
            sink.think(data.text("text").unwrap_or_else(text));
        }
        (Some("toolUse"), _) => {
            let input = content::outline(data.get("input"));
            sink.call_tool(ToolUse::new(
                data.text("toolUseId"),
                data.text("name"),
                input,
            ));
        }
        (Some("toolResult"), _) => {
            let output = results(data.items("content"));
            let result = ToolUse::new(data.text("toolUseId"), None, output);
            sink.tool_result(result.failing(data.is("status", "error")));
        }
        (Some("image"), _) => sink.show(role, content::IMAGE),
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Joins the parts of a result: `{"kind": "text", "data": …}`, or `{"Text": …}` in the database.
fn results<'a>(parts: impl Iterator<Item = Raw<'a>>) -> String {
    let texts: Vec<String> = parts
        .filter_map(Raw::object)
        .filter_map(|part| {
            let data = ["data", "Text", "Json"]
                .iter()
                .find_map(|key| part.get(key))?;
            Some(content::outline(data))
        })
        .collect();
    texts.join("\n")
}

/// Returns the folder of the editor's session `<folder>/<id>.json`, from `sessions.json`.
fn listed_folder(path: &Path, id: &str) -> Option<String> {
    let bytes = location::bytes(&path.with_file_name("sessions.json")).ok()?;
    let (list, _) = json::value(bytes.trim_ascii()).ok()?;
    let mut sessions = list.items().filter_map(Raw::object);
    let session = sessions.find(|session| session.is("sessionId", id))?;
    session
        .text("workspaceDirectory")
        .or_else(|| session.text("workspacePath"))
}
