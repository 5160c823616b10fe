//! Factory's droid: a `session_start` line, then messages.

use std::path::PathBuf;

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::Object;
use super::sink::{RecordStamp, Sink};
use super::{Agent, Format, Head, LogFile, LogLocations, Resume, TitleSource, location, option};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Factory,
    name: "factory",
    locate,
    decode: Decode::Records(record),
    resume,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.factory.iter().map(|root| root.join("sessions"));
    let id = |name: &str| name.strip_suffix(".jsonl").map(str::to_owned);
    roots
        .flat_map(|root| location::logs_under(Agent::Factory, root, &id))
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    Some(Resume {
        program: "droid",
        args: option("--resume", &log.id),
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp {
        time: record.time("timestamp"),
        id: record.text("id"),
        ..RecordStamp::default()
    };
    match record.word("type") {
        Some("session_start") => {
            let head = sink.head();
            head.session = record.text("id");
            head.cwd = record.text("cwd");
            head.set_title(
                TitleSource::Summary,
                record.text("title").unwrap_or_default(),
            );
            let title = record.text("sessionTitle").unwrap_or_default();
            head.set_title(TitleSource::Ai, title);
        }
        Some("message") => message(record, sink),
        Some("compaction_state") => sink.notice(record.text("summaryText").unwrap_or_default()),
        Some("todo_state" | "session_end") => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

fn message(record: &Object<'_>, sink: &mut Sink<'_>) {
    let body = record.object("message").unwrap_or_default();
    let Some(content) = body.get("content") else {
        return;
    };
    let speaker = match body.word("role") {
        // Errors that are shown in the user's place, and what only the model is to read.
        _ if body.is("visibility", "user_only") || body.is("visibility", "llm_only") => {
            Speaker::Program
        }
        Some("assistant") => Speaker::Model,
        Some("user") => Speaker::Person,
        _ => Speaker::Program,
    };
    content::take(content, speaker, sink);
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};

    #[test]
    fn every_kind_of_record_gives_what_it_holds() {
        let home = Home::new();
        home.write(
            ".factory/sessions/-repo/f1.jsonl",
            [
                r#"{"type":"session_start","id":"f1","title":"first words","sessionTitle":"Fix it","version":2,"cwd":"/repo"}"#,
                r#"{"type":"message","id":"1","timestamp":"2026-08-01T10:00:00Z","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>r</system-reminder>"},{"type":"text","text":"hello"}]}}"#,
                r#"{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","name":"LS","input":{"path":"."}}]}}"#,
                r#"{"type":"message","id":"3","message":{"role":"user","content":[{"type":"tool_result","content":"files"}]}}"#,
                r#"{"type":"message","id":"4","message":{"role":"user","visibility":"user_only","content":[{"type":"text","text":"Error: Connection error."}]}}"#,
                r#"{"type":"todo_state","todos":[]}"#,
                r#"{"type":"novel"}"#,
            ]
            .join("\n"),
        );
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "2 system text*: <system-reminder>r</system-reminder>",
                "2 user text: hello",
                "3 assistant thinking: hm",
                "3 assistant tool-call LS: path: .",
                "4 tool tool-result: files",
                "5 system text*: Error: Connection error.",
            ]
        );
        assert_eq!(transcript.head.title.as_deref(), Some("Fix it"));
        assert_eq!(transcript.head.turns, 1);
        assert_eq!(transcript.skipped.unknown, 1);
        home.write(
            ".factory/sessions/-repo/f1.jsonl",
            r#"{"type":"session_start","id":"f1","title":"first words","sessionTitle":"New Session"}"#,
        );
        assert_eq!(home.read().head.title.as_deref(), Some("first words"));
        let resume = home.locate()[0]
            .resume(&transcript.head)
            .expect("it can be continued");
        assert_eq!((resume.program, resume.args[1].as_str()), ("droid", "f1"));
    }
}
