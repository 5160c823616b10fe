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
    let text = || content.map_or_else(String::new, content::flat);
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
            for call in record.items("tool_calls").filter_map(Raw::object) {
                let function = call.object("function");
                let function = function.as_ref().unwrap_or(&call);
                let input = function.get("arguments");
                let input = input.map_or_else(String::new, content::outline);
                sink.call_tool(ToolUse::new(call.text("id"), function.text("name"), input));
            }
        }
        Some("tool_result") => {
            let result = ToolUse::new(record.text("tool_call_id"), None, text());
            sink.tool_result(result.failing(record.is_true("is_error")));
        }
        Some("reasoning") => {
            let summary = record.get("summary");
            sink.think(summary.map_or_else(String::new, content::flat));
        }
        Some("system") => sink.say(Role::System, Origin::Injected, text()),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};

    #[test]
    fn a_session_is_read_with_the_file_beside_it() {
        let home = Home::new();
        let folder = ".grok/sessions/%2Frepo/g1";
        home.write(
            &format!("{folder}/chat_history.jsonl"),
            [
                r#"{"type":"system","content":"You are"}"#,
                r#"{"type":"user","synthetic_reason":"context","content":[{"type":"text","text":"Today is"}]}"#,
                r#"{"type":"user","content":[{"type":"text","text":"<user_query>find it</user_query>"}]}"#,
                r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}"#,
                r#"{"type":"assistant","content":"Let me look.","model_id":"grok-4","tool_calls":[{"id":"c1","name":"bash","arguments":"{\"command\":\"ls\"}"}]}"#,
                r#"{"type":"tool_result","tool_call_id":"c1","content":"files"}"#,
                r#"{"type":"user","content":"plain"}"#,
                r#"{"type":"novel"}"#,
            ]
            .join("\n"),
        );
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 system text*: You are",
                "2 system text*: Today is",
                "3 user text: find it",
                "4 assistant thinking: hm",
                "5 assistant text: Let me look.",
                "5 assistant tool-call bash: command: ls",
                "6 tool tool-result bash: files",
                "7 user text: plain",
            ]
        );
        assert_eq!(transcript.head.cwd.as_deref(), Some("/repo"));
        assert_eq!(transcript.skipped.unknown, 1);
        home.write(
            &format!("{folder}/summary.json"),
            r#"{"session_summary":"Find it","info":{"cwd":"/other"},"created_at":"2026-08-01T10:00:00Z","session_kind":"subagent","parent_session_id":"g0"}"#,
        );
        let log = &home.locate()[0];
        assert_eq!(
            (log.title.as_deref(), log.parent.as_deref()),
            (Some("Find it"), Some("g0"))
        );
        let head = home.read().head;
        assert_eq!(head.cwd.as_deref(), Some("/other"));
        assert_eq!((head.first, head.turns), (Some(1_785_578_400_000), 0));
    }
}
