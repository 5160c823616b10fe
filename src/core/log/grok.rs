//! Grok Build: one file of messages per session.
//!
//! `~/.grok/sessions/<project>/<session>/chat_history.jsonl`, with title, directory and times in
//! `summary.json`; `<project>` is the directory, encoded as in a URL. Known from public readers and their
//! tests. Its messages have no times.

use super::asked::take_asked;
use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::Object;
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
/// The name of the file beside it that tells about the session.
const SUMMARY: &str = "summary.json";
/// The tag around what the user wrote.
const ASKED: &[&str] = &["user_query"];

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.grok.iter().map(|root| root.join("sessions"));
    let projects = roots.flat_map(|root| location::entries(&root));
    let sessions = projects.flat_map(|project| location::entries(&project));
    sessions
        .filter_map(|session| {
            let id = location::name(&session);
            let mut log = location::found(Agent::Grok, session.join(FILE), id)?;
            location::with_object(&session.join(SUMMARY), |summary| {
                let kind = summary.text("session_kind").unwrap_or_default();
                if kind.starts_with("subagent") {
                    let parent = summary.first_text(&["parent_session_id", "parent_id"]);
                    log.parent = Some(parent.unwrap_or_default());
                }
                log.title = summary.first_text(&["session_summary", "generated_title"]);
            });
            Some(log)
        })
        .collect()
}

fn describe(log: &LogFile, head: &mut Head) {
    head.session = Some(log.id.clone());
    let folder = log.path.ancestors().nth(2).map(location::name);
    let folder = folder.and_then(|name| location::path_of_uri(&format!("file://{name}")));
    head.cwd = folder;
    location::with_object(&log.path.with_file_name(SUMMARY), |summary| {
        let info = summary.object("info").unwrap_or_default();
        head.cwd = info.text("cwd").or(head.cwd.take());
        head.model = summary.text("current_model_id");
        head.extend_span(summary.time("created_at"));
        head.extend_span(summary.time("updated_at"));
    });
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(record.time("timestamp"), record.text("id"));
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
            sink.head().note_model(model);
            sink.say(Role::Assistant, Origin::Written, text());
            let calls = record.objects("tool_calls");
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
