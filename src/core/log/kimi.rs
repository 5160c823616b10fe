//! Kimi: a log of events per session and per subagent, by Kimi Code or by the older Kimi CLI.
//!
//! Kimi Code: `~/.kimi-code/sessions/<project>/<session>/agents/<agent>/wire.jsonl`, with the
//! session's title and directory in `state.json`. Known from sessions that version 2.1 wrote. A
//! prompt stands in `turn.prompt` and in `context.append_message`; whichever comes first is used.
//!
//! Kimi CLI: `~/.kimi/sessions/<hash>/<session>/wire.jsonl`, or `context.jsonl` alone in its first
//! versions; `~/.kimi/kimi.json` lists the projects. Known from the source of version 1.52.

use std::path::Path;

use super::decode::{Decode, Recognized};
use super::json::{JsonItem, Object, Raw};
use super::sink::{RecordStamp, Sink, TextSource, ToolUse};
use super::{Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, content, location};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Kimi,
    name: "kimi",
    locate,
    decode: Decode::Described(describe, record),
    resume: |log, head| Resume::by_id("kimi", "--session", log, head),
};

/// The agent of a session that is not a subagent.
const MAIN: &str = "main";

/// Families of records and events that hold no text, or only repeat that of others.
const WORDLESS: &[&str] = &[
    "agent.",
    "approval.",
    "background.",
    "compaction.",
    "config.",
    "context.",
    "cron.",
    "goal.",
    "hook.",
    "interaction.",
    "llm.",
    "mcp.",
    "notify.",
    "permission.",
    "plan.",
    "plugin.",
    "profile.",
    "prompt.",
    "runtime.",
    "session.",
    "skill.",
    "swarm.",
    "task.",
    "todo.",
    "token_counting.",
    "tools.",
    "turn.",
    "usage.",
];

/// Events of Kimi CLI that hold no text of the session itself; a subagent has a log of its own.
const WORDLESS_EVENTS: &[&str] = &[
    "ApprovalRequest",
    "CompactionBegin",
    "HookRequest",
    "HookResolved",
    "HookTriggered",
    "MCPLoadingBegin",
    "MCPLoadingEnd",
    "QuestionRequest",
    "QuestionResponse",
    "StatusUpdate",
    "StepBegin",
    "StepInterrupted",
    "StepRetry",
    "SubagentEvent",
    "ToolCallPart",
    "ToolCallRequest",
    "TurnEnd",
];

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.kimi.iter().map(|root| root.join("sessions"));
    roots
        .flat_map(|root| location::entries(&root))
        .flat_map(|project| location::entries(&project))
        .flat_map(|session| logs_of(&session))
        .collect()
}

/// Returns the log of the session in a directory, and those of its subagents.
fn logs_of(session: &Path) -> Vec<LogFile> {
    let id = location::name(session);
    let mut logs = Vec::new();
    let main = [
        session.join("agents").join(MAIN).join("wire.jsonl"),
        session.join("wire.jsonl"),
        session.join("context.jsonl"),
    ];
    let main = main
        .into_iter()
        .find_map(|path| location::found(Agent::Kimi, path, id.clone()));
    if let Some(mut log) = main {
        log.title = title(session);
        logs.push(log);
    }
    for folder in ["agents", "subagents"] {
        for agent in location::entries(&session.join(folder)) {
            let name = location::name(&agent);
            if name == MAIN {
                continue;
            }
            let found = location::found(
                Agent::Kimi,
                agent.join("wire.jsonl"),
                format!("{id}.{name}"),
            );
            logs.extend(found.map(|log| LogFile {
                parent: Some(id.clone()),
                ..log
            }));
        }
    }
    logs
}

fn title(session: &Path) -> Option<String> {
    let keys = ["title", "customTitle", "custom_title"];
    let title = |state: &Object<'_>| state.first_text(&keys);
    let title = location::with_object(&session.join("state.json"), title)??;
    (!title.trim().is_empty()).then_some(title)
}

/// Sets the session's directory, from `state.json` or from the list of projects.
fn describe(log: &LogFile, head: &mut Head) {
    // `<session>/wire.jsonl`, or `<session>/<folder>/<agent>/wire.jsonl`.
    let mut above = log.path.ancestors().skip(1);
    let first = above.next();
    let is_folder = |path: &&Path| matches!(location::name(path).as_str(), "agents" | "subagents");
    let session = match above.next().filter(is_folder) {
        Some(_) => above.next(),
        None => first,
    };
    let Some(session) = session else { return };
    head.session = Some(location::name(session));
    let cwd = location::with_object(&session.join("state.json"), |state| state.text("cwd"));
    head.cwd = cwd.flatten().or_else(|| listed_project(session));
}

/// Looks up the project of `<root>/sessions/<project>/<session>` in `<root>/kimi.json`: the one
/// whose last session is in the same directory.
fn listed_project(session: &Path) -> Option<String> {
    let project = session.parent()?;
    let root = project.parent()?.parent()?;
    location::with_object(&root.join("kimi.json"), |list| {
        list.objects("work_dirs").find_map(|listed| {
            let last = listed.text("last_session_id")?;
            let is_plain = Path::new(&last).components().count() == 1;
            (is_plain && project.join(last).exists()).then(|| listed.text("path"))?
        })
    })?
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let time = record.time("time").or_else(|| record.time("timestamp"));
    sink.stamp = RecordStamp::new(time, None);
    let Some(kind) = record.word("type") else {
        return without_type(record, sink);
    };
    match kind {
        "metadata" => sink.head().extend_span(record.time("created_at")),
        "turn.prompt" | "turn.steer" => {
            let text = parts_text(record.get("input"));
            ask(text, TextSource::Account, record, sink);
        }
        "context.append_message" => {
            let message = record.object("message").unwrap_or_default();
            context(&message, sink);
        }
        "context.append_loop_event" => {
            let event = record.object("event").unwrap_or_default();
            return step(&event, sink);
        }
        "context.apply_compaction" => sink.notice(record.text("summary").unwrap_or_default()),
        "config.update" => {
            let head = sink.head();
            head.cwd = record.text("cwd").or(head.cwd.take());
            head.note_model(record.text("modelAlias"));
        }
        "llm.request" => {
            sink.head().note_model(record.text("model"));
        }
        kind if WORDLESS.iter().any(|family| kind.starts_with(family)) => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Adds a prompt by its origin, unless the other source has given it.
fn ask(text: String, source: TextSource, holder: &Object<'_>, sink: &mut Sink<'_>) {
    if sink.is_duplicate(source, Role::User, &text) {
        return;
    }
    let origin = holder.object("origin").unwrap_or_default();
    match origin.word("kind") {
        None | Some("user") => sink.prompt(text),
        Some(_) => sink.say(Role::System, Origin::Injected, text),
    }
}

/// Adds a message of the conversation as sent to the model.
fn context(message: &Object<'_>, sink: &mut Sink<'_>) {
    sink.stamp.id = message.text("id");
    match message.word("role") {
        Some("user") => {
            let text = parts_text(message.get("content"));
            ask(text, TextSource::Conversation, message, sink);
        }
        Some("assistant") => {
            for part in parts(message.get("content")) {
                take_part(&part, sink);
            }
            let calls = message
                .items("toolCalls")
                .chain(message.items("tool_calls"));
            for call in calls.filter_map(Raw::object) {
                sink.call_tool(ToolUse::of_function(&call));
            }
        }
        Some("tool") => {
            let id = message
                .text("toolCallId")
                .or_else(|| message.text("tool_call_id"));
            let output = content::flat(message.get("content"));
            sink.tool_result(ToolUse::new(id, None, output));
        }
        _ => {
            let text = parts_text(message.get("content"));
            sink.say(Role::System, Origin::Injected, text);
        }
    }
}

fn step(event: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp.reply = event.text("stepUuid");
    sink.stamp.id = event.text("uuid");
    let id = event.text("toolCallId");
    match event.word("type") {
        Some("content.part") => take_part(&event.object("part").unwrap_or_default(), sink),
        Some("tool.call") => {
            let input = content::outline(event.get("args"));
            sink.call_tool(ToolUse::new(id, event.text("name"), input));
        }
        Some("tool.result") => {
            let result = event.object("result").unwrap_or_default();
            let has_failed = result.is_true("isError") || result.is_true("is_error");
            sink.tool_result(ToolUse::new(id, None, output(&result)).failing(has_failed));
        }
        Some("step.begin" | "step.end") => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Decodes an event of Kimi CLI, or a message of its `context.jsonl`.
fn without_type(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let Some(message) = record.object("message") else {
        return match record.word("role") {
            // Checkpoints, usage and the system's prompt.
            Some(role) if role.starts_with('_') => Recognized::Known,
            Some(_) => {
                context(record, sink);
                Recognized::Known
            }
            None => Recognized::Unknown,
        };
    };
    let payload = message.object("payload").unwrap_or_default();
    let text = |key| payload.text(key).unwrap_or_default();
    match message.word("type") {
        Some("TurnBegin" | "SteerInput") => sink.prompt(parts_text(payload.get("user_input"))),
        Some("ContentPart") => take_part(&payload, sink),
        Some("ToolCall") => sink.call_tool(ToolUse::of_function(&payload)),
        Some("ToolResult") => {
            let value = payload.object("return_value").unwrap_or_default();
            let id = payload.text("tool_call_id");
            let has_failed = value.is_true("is_error");
            sink.tool_result(ToolUse::new(id, None, output(&value)).failing(has_failed));
        }
        Some("BtwBegin") => sink.prompt(text("question")),
        Some("BtwEnd") => {
            let answer = payload.text("response").or_else(|| payload.text("error"));
            sink.say(Role::Assistant, Origin::Written, answer.unwrap_or_default());
        }
        Some("ApprovalResponse") => sink.say(Role::User, Origin::Written, text("feedback")),
        Some("PlanDisplay") => sink.say(Role::Assistant, Origin::Written, text("content")),
        Some("Notification") => {
            let told = format!("{}\n{}", text("title"), text("body"));
            sink.say(Role::System, Origin::Injected, told.trim().to_owned());
        }
        Some("CompactionEnd") => sink.notice("Conversation compacted".to_owned()),
        Some(kind) if WORDLESS_EVENTS.contains(&kind) => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Returns what a tool gave back, or else the program's message about it.
fn output(result: &Object<'_>) -> String {
    let output = content::flat(result.get("output"));
    if output.trim().is_empty() {
        result.text("message").unwrap_or_default()
    } else {
        output
    }
}

fn take_part(part: &Object<'_>, sink: &mut Sink<'_>) {
    match part.word("type") {
        Some("text") => {
            let text = part.text("text").unwrap_or_default();
            sink.say(Role::Assistant, Origin::Written, text);
        }
        Some("think") => {
            let text = part.text("think").or_else(|| part.text("text"));
            sink.think(text.unwrap_or_default());
        }
        Some("image_url" | "audio_url" | "video_url") => {
            sink.show(Role::Assistant, content::IMAGE);
        }
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Returns the parts of a content; a string is a part of text.
fn parts(content: Option<Raw<'_>>) -> Vec<Object<'_>> {
    let items = content
        .into_iter()
        .flat_map(|content| content.items().opened());
    items
        .filter_map(|item| match item {
            JsonItem::Object(part) => Some(part),
            JsonItem::Other(_) => None,
        })
        .collect()
}

/// Returns the text of a content: a string, or the parts that are text.
fn parts_text(content: Option<Raw<'_>>) -> String {
    if let Some(text) = content.and_then(Raw::text) {
        return text;
    }
    let texts: Vec<String> = parts(content)
        .iter()
        .filter_map(|part| part.text("text"))
        .collect();
    texts.join("\n")
}
