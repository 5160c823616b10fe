//! Factory's droid: a `session_start` line, then messages.

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::Object;
use super::sink::{RecordStamp, Sink};
use super::{Agent, Format, LogFile, LogLocations, Resume, TitleSource, location};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Factory,
    name: "factory",
    locate,
    decode: Decode::Records(record),
    resume: |log, head| Resume::by_id("droid", "--resume", log, head),
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.factory.iter().map(|root| root.join("sessions"));
    let id = |name: &str| name.strip_suffix(".jsonl").map(str::to_owned);
    roots
        .flat_map(|root| location::logs_under(Agent::Factory, root, &id))
        .collect()
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(record.time("timestamp"), record.text("id"));
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
