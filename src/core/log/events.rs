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
    let id = event.text("event_id");
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

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};
    use super::super::{locate, read};
    use super::*;

    #[test]
    fn events_of_many_sessions_are_read_and_a_repeated_one_once() {
        let home = Home::new();
        let event = |id: &str, kind: &str, role: &str, text: &str| {
            format!(
                r#"{{"event_id":"{id}","session_id":"s{id}","timestamp":1785578400000,"event_type":"{kind}","role":"{role}","text":"{text}","metadata":{{"tool_name":"Bash","cwd":"/repo"}}}}"#
            )
        };
        let lines = [
            event("1", "session_start", "system", ""),
            event("2", "user_message", "user", "hello"),
            event("3", "assistant_message", "assistant", "hi"),
            event("4", "tool_result", "tool", "out"),
            event("2", "user_message", "user", "hello"),
            event("5", "Novel", "system", "something"),
            event("6", "subagent_start", "assistant", "a task"),
            r#"{"text":"no type"}"#.to_owned(),
        ];
        home.write("store/events.jsonl", lines.join("\n"));
        let locations = LogLocations {
            stores: vec![home.path().join("store"), home.path().join("missing")],
            ..LogLocations::default()
        };
        let logs = locate(&locations);
        assert_eq!(logs.len(), 1);
        let transcript = read(&logs[0]).expect("it is there");
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "2 user text: hello",
                "3 assistant text: hi",
                "4 tool tool-result Bash: out",
                "6 system notice*: something",
                "7 assistant text^: a task",
            ]
        );
        assert_eq!(transcript.messages[0].session.as_deref(), Some("s2"));
        assert_eq!(transcript.messages[0].time, Some(1_785_578_400_000));
        assert_eq!(transcript.skipped.unknown, 1);
        assert_eq!(transcript.head.cwd.as_deref(), Some("/repo"));
    }
}
