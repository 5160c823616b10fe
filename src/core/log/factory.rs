//! Factory's droid: a `session_start` line, then messages.

use std::path::PathBuf;

use super::content::{self, Speaker};
use super::decode::{Decode, Seen, Sink, Stamp};
use super::json::Object;
use super::{Agent, Format, Head, LogFile, Naming, Places, Resume, place};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Factory,
    name: "factory",
    locate,
    decode: Decode::Records(record),
    resume,
};

fn locate(places: &Places) -> Vec<LogFile> {
    let roots = places.factory.iter().map(|root| root.join("sessions"));
    roots
        .flat_map(|root| place::files_under(&root))
        .filter_map(|path| {
            let id = place::stem(&path, ".jsonl")?;
            place::found(Agent::Factory, path, id)
        })
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    Some(Resume {
        program: "droid",
        args: vec!["--resume".to_owned(), log.id.clone()],
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Seen {
    sink.stamp = Stamp {
        time: record.time("timestamp"),
        id: record.text("id"),
        ..Stamp::default()
    };
    match record.word("type") {
        Some("session_start") => {
            let head = sink.head();
            head.session = record.text("id");
            head.cwd = record.text("cwd");
            head.entitle(Naming::Summary, record.text("title").unwrap_or_default());
            let title = record.text("sessionTitle").unwrap_or_default();
            head.entitle(Naming::Ai, title);
        }
        Some("message") => message(record, sink),
        Some("compaction_state") => sink.notice(record.text("summaryText").unwrap_or_default()),
        Some("todo_state" | "session_end") => {}
        _ => return Seen::Unknown,
    }
    Seen::Known
}

fn message(record: &Object<'_>, sink: &mut Sink<'_>) {
    let body = record.object("message").unwrap_or_default();
    let Some(content) = body.get("content") else {
        return;
    };
    let speaker = match body.word("role") {
        Some("assistant") => Speaker::Model,
        Some("user") => Speaker::Person,
        _ => Speaker::Program,
    };
    content::take(content, speaker, sink);
}
