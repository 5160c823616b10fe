//! `events.jsonl` of the events layout: many sessions in one log.

use super::decode::{Decode, Seen, Sink, Stamp};
use super::json::Object;
use super::{Agent, Format, LogFile, Origin, Places, Role, no_resume, place};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Events,
    name: "events",
    locate,
    decode: Decode::Records(record),
    resume: no_resume,
};

fn locate(places: &Places) -> Vec<LogFile> {
    places
        .stores
        .iter()
        .filter_map(|root| {
            let id = place::name(root);
            place::found(Agent::Events, root.join("events.jsonl"), id)
        })
        .collect()
}

fn record(event: &Object<'_>, sink: &mut Sink<'_>) -> Seen {
    let Some(kind) = event.word("event_type") else {
        return Seen::Unknown;
    };
    let id = event.text("event_id");
    // The same event again changes nothing.
    if id.as_ref().is_some_and(|id| sink.is_repeated(id)) {
        return Seen::Known;
    }
    sink.stamp = Stamp {
        time: event.time("timestamp"),
        id,
        session: event.text("session_id"),
        ..Stamp::default()
    };
    let text = event.text("text").unwrap_or_default();
    match (kind, event.word("role")) {
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
    Seen::Known
}
