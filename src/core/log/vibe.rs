//! Mistral's Vibe: one file of messages per session.
//!
//! `~/.vibe/logs/session/<session>/messages.jsonl`, with title, id and directory in `meta.json`;
//! subagents' sessions in `agents/` below. Known from the source of version 3.0. Its messages have no
//! times.

use super::decode::{Decode, Recognized};
use super::json::Object;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, content, location};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Vibe,
    name: "vibe",
    locate,
    decode: Decode::Described(describe, record),
    resume: |log, head| Resume::by_id("vibe", "--resume", log, head),
};

/// The name of the file beside the messages that tells about the session.
const META: &str = "meta.json";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.vibe.iter().map(|root| root.join("logs/session"));
    let id = |name: &str| (name == "messages.jsonl").then(String::new);
    let logs = roots.flat_map(|root| location::logs_under(Agent::Vibe, root, &id));
    logs.map(|mut log| {
        log.id = log.path.parent().map(location::name).unwrap_or_default();
        location::with_object(&log.path.with_file_name(META), |meta| {
            if let Some(id) = meta.text("session_id") {
                log.id = id;
            }
            log.parent = meta.text("parent_session_id");
            log.title = meta.text("title").filter(|title| !title.trim().is_empty());
        });
        log
    })
    .collect()
}

fn describe(log: &LogFile, head: &mut Head) {
    head.session = Some(log.id.clone());
    location::with_object(&log.path.with_file_name(META), |meta| {
        let environment = meta.object("environment").unwrap_or_default();
        head.cwd = environment.text("working_directory");
        head.branch = meta.text("git_branch");
        head.extend_span(meta.time("start_time"));
        head.extend_span(meta.time("end_time"));
    });
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let id = record.text("message_id");
    sink.stamp = RecordStamp::of_reply(None, id);
    let text = content::flat(record.get("content"));
    match record.word("role") {
        Some("user") if record.is_true("injected") => {
            sink.say(Role::System, Origin::Injected, text);
        }
        Some("user") => sink.prompt(text),
        Some("assistant") => {
            sink.think(record.text("reasoning_content").unwrap_or_default());
            sink.say(Role::Assistant, Origin::Written, text);
            let calls = record.objects("tool_calls");
            calls.for_each(|call| sink.call_tool(ToolUse::of_function(&call)));
        }
        Some("tool") => {
            let id = record.text("tool_call_id");
            let has_failed = text.starts_with("<tool_error>");
            let result = ToolUse::new(id, record.text("name"), text);
            sink.tool_result(result.failing(has_failed));
        }
        Some("system") => sink.say(Role::System, Origin::Injected, text),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}
