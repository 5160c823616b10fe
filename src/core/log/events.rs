//! `events.jsonl` of the events layout: many sessions in one log.

use super::decode::{Decode, Recognized};
use super::json::Object;
use super::origin::Speaker;
use super::sink::{RecordStamp, Sink};
use super::{Agent, Format, LogFile, LogLocations, Origin, Role, location, no_resume};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Events,
    name: "events",
    locate,
    decode: Decode::Records(record),
    resume: no_resume,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    locations
        .stores
        .iter()
        .filter_map(|root| {
            let id = location::name(root);
            location::found(Agent::Events, root.join("events.jsonl"), id)
        })
        .collect()
}

fn record(event: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let Some(kind) = event.word("event_type") else {
        return Recognized::Unknown;
    };
    let id = event.text("event_id").filter(|id| !id.is_empty());
    // Repeated events are ignored.
    if id.as_ref().is_some_and(|id| sink.is_repeated(id)) {
        return Recognized::Known;
    }
    sink.stamp = RecordStamp {
        time: event.time("timestamp"),
        id,
        session: event.text("session_id"),
        ..RecordStamp::default()
    };
    if sink.head().cwd.is_none() {
        // A store has the events of one project.
        sink.head().cwd = event.object("metadata").and_then(|more| more.text("cwd"));
    }
    let text = event.text("text").unwrap_or_default();
    match (kind, event.word("role")) {
        // The task of a subagent.
        ("user_message" | "subagent_start", Some("assistant")) => {
            sink.prompt_by(Speaker::Agent, text);
        }
        ("user_message", _) => sink.prompt(text),
        ("assistant_message" | "assistant_stop", _) => {
            sink.say(Role::Assistant, Origin::Written, text);
        }
        ("tool_result", _) | (_, Some("tool")) => {
            let metadata = event.object("metadata").unwrap_or_default();
            let tool = metadata.text("tool_name").or_else(|| metadata.text("tool"));
            sink.result(tool, text);
        }
        _ => sink.notice(text),
    }
    Recognized::Known
}
