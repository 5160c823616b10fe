//! `messages.jsonl` of the session layout, whose records pi writes too.
//!
//! A log without a header line holds bare `{"role","content"}` messages.

use super::content::{self, Speaker};
use super::decode::{Decode, Seen, Sink, Stamp};
use super::json::Object;
use super::{Agent, Format, LogFile, Naming, Origin, Places, Role, no_resume, place};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Session,
    name: "session",
    locate,
    decode: Decode::Records(record),
    resume: no_resume,
};

/// The log's name in a session's directory.
const FILE: &str = "messages.jsonl";

fn locate(places: &Places) -> Vec<LogFile> {
    let projects = places.sessions.iter().flat_map(|root| place::entries(root));
    let sessions = projects.flat_map(|project| place::entries(&project));
    sessions
        .chain(places.stores.iter().cloned())
        .filter_map(|session| {
            let id = place::name(&session);
            place::found(Agent::Session, session.join(FILE), id)
        })
        .collect()
}

/// Takes a record of the session layout or of pi.
pub(super) fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Seen {
    sink.stamp = Stamp {
        time: record.time("timestamp"),
        id: record.text("id"),
        ..Stamp::default()
    };
    match record.word("type") {
        Some("session") => header(record, sink),
        Some("message") => {
            if let Some(body) = record.object("message") {
                return message(&body, sink);
            }
        }
        Some("compaction" | "branch_summary") => {
            sink.notice(record.text("summary").unwrap_or_default());
        }
        Some("custom_message") => {
            let text = record
                .get("content")
                .map_or_else(String::new, content::flat);
            sink.say(Role::User, Origin::Injected, text);
        }
        Some("session_info") => {
            let name = record.text("name").unwrap_or_default();
            sink.head().entitle(Naming::Custom, name);
        }
        Some("model_change") => {
            sink.head().model = record.text("modelId").or_else(|| record.text("model"));
        }
        Some("thinking_level_change" | "custom" | "label") => {}
        _ if record.get("role").is_some() => return message(record, sink),
        _ => return Seen::Unknown,
    }
    Seen::Known
}

fn header(record: &Object<'_>, sink: &mut Sink<'_>) {
    let head = sink.head();
    head.session = record.text("id");
    head.cwd = record.text("cwd");
    head.fork_of = record.text("parentSession");
    head.reach(record.time("timestamp"));
    let title = record.text("title").or_else(|| record.text("name"));
    head.entitle(Naming::Custom, title.unwrap_or_default());
}

fn message(body: &Object<'_>, sink: &mut Sink<'_>) -> Seen {
    sink.stamp.time = sink.stamp.time.or_else(|| body.time("timestamp"));
    let text = || body.get("content").map_or_else(String::new, content::flat);
    match body.word("role") {
        Some("user") => {
            if let Some(content) = body.get("content") {
                content::take(content, Speaker::Person, sink);
            }
        }
        Some("assistant") => {
            let model = body.text("model");
            let head = sink.head();
            head.model = model.or(head.model.take());
            if let Some(content) = body.get("content") {
                content::take(content, Speaker::Model, sink);
            }
        }
        Some("toolResult" | "tool") => {
            let tool = body.text("toolName").or_else(|| body.text("name"));
            sink.result(tool, text());
        }
        Some("bashExecution") => {
            sink.call(
                Some("bash".to_owned()),
                body.text("command").unwrap_or_default(),
            );
            sink.result(
                Some("bash".to_owned()),
                body.text("output").unwrap_or_default(),
            );
        }
        Some("custom" | "hookMessage") => sink.say(Role::User, Origin::Injected, text()),
        Some("system" | "developer") => sink.say(Role::System, Origin::Injected, text()),
        Some("compactionSummary" | "branchSummary") => {
            sink.notice(body.text("summary").unwrap_or_default());
        }
        _ => return Seen::Unknown,
    }
    Seen::Known
}
