//! Grok Build: one file of messages per session.
//!
//! `~/.grok/sessions/<project>/<session>/chat_history.jsonl`, with title, directory and times in
//! `summary.json`; `<project>` is the directory, encoded as in a URL. Known from public readers and their
//! tests. Its messages have no times.

use super::asked::take_asked;
use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, Head, LogFile, LogLocations, Origin, Role, location, no_resume};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Grok,
    name: "grok",
    locate,
    decode: Decode::Described(describe, record),
    resume: no_resume,
};

/// The name of a log.
const FILE: &str = "chat_history.jsonl";
/// The tag around what the user wrote.
const ASKED: &[&str] = &["user_query"];

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.grok.iter().map(|root| root.join("sessions"));
    let projects = roots.flat_map(|root| location::entries(&root));
    let sessions = projects.flat_map(|project| location::entries(&project));
    sessions
        .filter_map(|session| {
            let id = location::name(&session);
            let log = location::found(Agent::Grok, session.join(FILE), id)?;
            let summary = Summary::beside(&log);
            Some(LogFile {
                parent: summary.parent,
                title: summary.title,
                ..log
            })
        })
        .collect()
}

/// What the file beside the messages tells.
#[derive(Default)]
struct Summary {
    title: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    parent: Option<String>,
    times: [Option<i64>; 2],
}

impl Summary {
    fn beside(log: &LogFile) -> Self {
        let bytes = location::bytes(&log.path.with_file_name("summary.json")).unwrap_or_default();
        let Ok((summary, _)) = json::object(bytes.trim_ascii()) else {
            return Self::default();
        };
        let first = |keys: &[&str]| keys.iter().find_map(|key| summary.text(key));
        let info = summary.object("info").unwrap_or_default();
        let kind = summary.text("session_kind").unwrap_or_default();
        let parent = first(&["parent_session_id", "parent_id"]).unwrap_or_default();
        Self {
            title: first(&["session_summary", "generated_title"]),
            cwd: info.text("cwd"),
            model: summary.text("current_model_id"),
            parent: kind.starts_with("subagent").then_some(parent),
            times: ["created_at", "updated_at"].map(|key| summary.time(key)),
        }
    }
}

fn describe(log: &LogFile, head: &mut Head) {
    let summary = Summary::beside(log);
    head.session = Some(log.id.clone());
    let folder = log.path.ancestors().nth(2).map(location::name);
    let folder = folder.and_then(|name| location::path_of_uri(&format!("file://{name}")));
    head.cwd = summary.cwd.or(folder);
    head.model = summary.model;
    let times = summary.times.into_iter();
    times.for_each(|time| head.extend_span(time));
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp {
        time: record.time("timestamp"),
        id: record.text("id"),
        ..RecordStamp::default()
    };
    let content = record.get("content");
    let text = || content::flat(content);
    match record.word("type") {
        Some("user") if record.get("synthetic_reason").is_some() => {
            sink.say(Role::System, Origin::Injected, text());
        }
        Some("user") => {
            if let Some(content) = content.filter(|_| !take_asked(&text(), ASKED, sink)) {
                content::take(content, Speaker::Person, sink);
            }
        }
        Some("assistant") => {
            let model = record.text("model_id");
            let head = sink.head();
            head.model = model.or(head.model.take());
            sink.say(Role::Assistant, Origin::Written, text());
            let calls = record.items("tool_calls").filter_map(Raw::object);
            calls.for_each(|call| sink.call_tool(ToolUse::of_function(&call)));
        }
        Some("tool_result") => {
            let result = ToolUse::new(record.text("tool_call_id"), None, text());
            sink.tool_result(result.failing(record.is_true("is_error")));
        }
        Some("reasoning") => {
            let summary = record.get("summary");
            sink.think(content::flat(summary));
        }
        Some("system") => sink.say(Role::System, Origin::Injected, text()),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}
