//! Mistral's Vibe: one file of messages per session.
//!
//! `~/.vibe/logs/session/<session>/messages.jsonl`, with title, id and directory in `meta.json`;
//! subagents' sessions in `agents/` below. Known from the source of version 3.0. Its messages have no
//! times.

use super::decode::{Decode, Recognized};
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, content, location};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Vibe,
    name: "vibe",
    locate,
    decode: Decode::Described(describe, record),
    resume,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.vibe.iter().map(|root| root.join("logs/session"));
    let id = |name: &str| (name == "messages.jsonl").then(String::new);
    let logs = roots.flat_map(|root| location::logs_under(Agent::Vibe, root, &id));
    logs.map(|log| {
        let meta = Meta::beside(&log);
        let directory = || log.path.parent().map(location::name).unwrap_or_default();
        LogFile {
            id: meta.id.unwrap_or_else(directory),
            parent: meta.parent,
            title: meta.title,
            ..log
        }
    })
    .collect()
}

/// What the file beside the messages tells.
#[derive(Default)]
struct Meta {
    id: Option<String>,
    parent: Option<String>,
    title: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    times: [Option<i64>; 2],
}

impl Meta {
    fn beside(log: &LogFile) -> Self {
        let bytes = location::bytes(&log.path.with_file_name("meta.json")).unwrap_or_default();
        let Ok((meta, _)) = json::object(bytes.trim_ascii()) else {
            return Self::default();
        };
        let environment = meta.object("environment").unwrap_or_default();
        Self {
            id: meta.text("session_id"),
            parent: meta.text("parent_session_id"),
            title: meta.text("title").filter(|title| !title.trim().is_empty()),
            cwd: environment.text("working_directory"),
            branch: meta.text("git_branch"),
            times: ["start_time", "end_time"].map(|key| meta.time(key)),
        }
    }
}

fn describe(log: &LogFile, head: &mut Head) {
    let meta = Meta::beside(log);
    head.session = Some(log.id.clone());
    head.cwd = meta.cwd;
    head.branch = meta.branch;
    meta.times
        .into_iter()
        .for_each(|time| head.extend_span(time));
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() {
        return None;
    }
    Some(Resume::by("vibe", super::option("--resume", &log.id), head))
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let id = record.text("message_id");
    sink.stamp = RecordStamp {
        reply: id.clone(),
        id,
        ..RecordStamp::default()
    };
    let text = content::flat(record.get("content"));
    match record.word("role") {
        Some("user") if record.is_true("injected") => {
            sink.say(Role::System, Origin::Injected, text);
        }
        Some("user") => sink.prompt(text),
        Some("assistant") => {
            sink.think(record.text("reasoning_content").unwrap_or_default());
            sink.say(Role::Assistant, Origin::Written, text);
            let calls = record.items("tool_calls").filter_map(Raw::object);
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
