//! Copilot CLI: one directory with `events.jsonl` per session.

use std::path::Path;

use super::decode::{Decode, Recognized};
use super::json::Object;
use super::origin::Speaker;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, LogFile, LogLocations, Origin, Resume, Role, TitleSource, content, location,
};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Copilot,
    name: "copilot",
    locate,
    decode: Decode::Records(record),
    resume: |log, head| Resume::by_id("copilot", "--resume", log, head),
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations
        .copilot
        .iter()
        .map(|root| root.join("session-state"));
    roots
        .flat_map(|root| location::entries(&root))
        .filter_map(|path| {
            if let Some(id) = location::stem(&path, ".jsonl") {
                return location::found(Agent::Copilot, path, id);
            }
            let id = location::name(&path);
            let mut log = location::found(Agent::Copilot, path.join("events.jsonl"), id)?;
            log.title = title(&path.join("workspace.yaml"));
            Some(log)
        })
        .collect()
}

/// Returns the session's name, or else its summary, if it is on one line.
fn title(workspace: &Path) -> Option<String> {
    let bytes = location::bytes(workspace).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    ["name:", "summary:"].iter().find_map(|key| {
        let value = text.lines().find_map(|line| line.strip_prefix(key))?;
        let value = value.trim().trim_matches(['"', '\'']);
        let is_block = value.starts_with(['|', '>']);
        (!value.is_empty() && !is_block).then(|| value.to_owned())
    })
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(record.time("timestamp"), record.text("id"));
    let data = record.object("data").unwrap_or_default();
    let text = |key| data.text(key).unwrap_or_default();
    match record.word("type") {
        Some("session.start" | "session.resume") => start(&data, sink),
        Some("session.model_change") => sink.head().model = data.text("newModel"),
        Some("session.title_changed") => sink.head().set_title(TitleSource::Ai, text("title")),
        Some("session.info" | "session.error" | "session.warning") => sink.notice(text("message")),
        Some("session.compaction_complete") => sink.notice(text("summaryContent")),
        Some("system.message") => sink.say(Role::System, Origin::Injected, text("content")),
        Some("system.notification") => sink.say(Role::User, Origin::Injected, text("content")),
        Some("user.message") if is_of_subagent(record, &data) => {
            sink.prompt_by(Speaker::Agent, text("content"));
        }
        Some("user.message") => sink.prompt(text("content")),
        Some("assistant.message") => reply(&data, sink),
        Some("tool.execution_complete") => result(&data, sink),
        Some("abort") => sink.notice(format!("Aborted: {}", text("reason"))),
        Some(other) if is_wordless(other) => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Whether a prompt is the task of a subagent, whose records stand among those of its session.
fn is_of_subagent(record: &Object<'_>, data: &Object<'_>) -> bool {
    let source = data.text("source").unwrap_or_default();
    record.text("agentId").is_some() || source.starts_with("agent-")
}

/// Whether events of this kind hold no text, or only repeat that of another event.
fn is_wordless(kind: &str) -> bool {
    // The start of a tool's execution repeats the reply's request.
    kind == "tool.execution_start"
        || [
            "assistant.",
            "hook.",
            "permission.",
            "session.",
            "subagent.",
        ]
        .iter()
        .any(|family| kind.starts_with(family))
}

fn start(data: &Object<'_>, sink: &mut Sink<'_>) {
    let head = sink.head();
    head.session = data.text("sessionId").or(head.session.take());
    head.version = data.text("copilotVersion").or(head.version.take());
    head.note_model(data.text("selectedModel"));
    let context = data.object("context").unwrap_or_default();
    head.cwd = head.cwd.take().or_else(|| context.text("cwd"));
    head.branch = context.text("branch").or(head.branch.take());
}

fn reply(data: &Object<'_>, sink: &mut Sink<'_>) {
    sink.head().note_model(data.text("model"));
    sink.stamp.reply = data.text("messageId");
    sink.think(data.text("reasoningText").unwrap_or_default());
    let text = data.text("content").unwrap_or_default();
    sink.say(Role::Assistant, Origin::Written, text);
    for request in data.objects("toolRequests") {
        let input = content::outline(request.get("arguments"));
        sink.call_tool(ToolUse::new(
            request.text("toolCallId"),
            request.text("name"),
            input,
        ));
    }
}

fn result(data: &Object<'_>, sink: &mut Sink<'_>) {
    let output = data.get("result").or_else(|| data.get("error"));
    let text = output.map_or_else(String::new, |output| {
        let message = output.object().and_then(|output| output.text("message"));
        message.unwrap_or_else(|| content::flat(output))
    });
    sink.tool_result(
        ToolUse::new(data.text("toolCallId"), data.text("toolName"), text)
            .failing(data.get("success").is_some() && !data.is_true("success")),
    );
}
