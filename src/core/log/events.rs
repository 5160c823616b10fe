//! `events.jsonl` of the events layout: many sessions in one log.

use super::decode::{Decode, Seen};
use super::json::Object;
use super::sink::{Sink, Stamp};
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

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, told};
    use super::super::{locate, read};
    use super::*;

    #[test]
    fn events_of_many_sessions_are_read_and_a_repeated_one_once() {
        let home = Home::new();
        let event = |id: &str, kind: &str, role: &str, text: &str| {
            format!(
                r#"{{"event_id":"{id}","session_id":"s{id}","timestamp":1785578400000,"event_type":"{kind}","role":"{role}","text":"{text}","metadata":{{"tool_name":"Bash"}}}}"#
            )
        };
        let lines = [
            event("1", "session_start", "system", ""),
            event("2", "user_message", "user", "hello"),
            event("3", "assistant_message", "assistant", "hi"),
            event("4", "tool_result", "tool", "out"),
            event("2", "user_message", "user", "hello"),
            event("5", "Novel", "system", "something"),
            r#"{"text":"no type"}"#.to_owned(),
        ];
        home.write("store/events.jsonl", lines.join("\n"));
        let places = Places {
            stores: vec![home.path().join("store"), home.path().join("missing")],
            ..Places::default()
        };
        let logs = locate(&places);
        assert_eq!(logs.len(), 1);
        let transcript = read(&logs[0]).expect("it is there");
        assert_eq!(
            told(&transcript.messages),
            [
                "2 user text: hello",
                "3 assistant text: hi",
                "4 tool tool-result Bash: out",
                "6 system notice*: something",
            ]
        );
        assert_eq!(transcript.messages[0].session.as_deref(), Some("s2"));
        assert_eq!(transcript.messages[0].time, Some(1_785_578_400_000));
        assert_eq!(transcript.skipped.unknown, 1);
    }
}
