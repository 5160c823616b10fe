//! `messages.jsonl` of the session layout, with the records that pi also writes.
//!
//! A log without a header line holds bare `{"role","content"}` messages.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::head::is_placeholder;
use super::json::{self, Object};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Role, TitleSource, location, no_resume,
};
use crate::core::disk::foreign::{LARGEST_LOG, LARGEST_SETTINGS, Line, next_line, open_capped};
use crate::core::disk::sandbox::Root;
use crate::core::text::header::meta::Meta;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Session,
    name: "session",
    locate,
    decode: Decode::Described(describe, record),
    resume: no_resume,
};

/// The log's name in a session's directory.
const FILE: &str = "messages.jsonl";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let projects = locations
        .sessions
        .iter()
        .flat_map(|root| location::entries(root));
    let sessions = projects.flat_map(|project| location::entries(&project));
    sessions
        .chain(locations.stores.iter().cloned())
        .filter_map(|session| {
            let id = location::name(&session);
            let log = location::found(Agent::Session, session.join(FILE), id)?;
            let title = title_beside(&log);
            Some(LogFile { title, ..log })
        })
        .collect()
}

/// Returns the title in the file beside the messages.
fn title_beside(log: &LogFile) -> Option<String> {
    location::with_object(&log.path.with_file_name("meta.json"), title)?
}

/// Returns the title of an object that may have a name as well.
fn title(object: &Object<'_>) -> Option<String> {
    let said = |key| object.text(key).filter(|text| !is_placeholder(text));
    said("title").or_else(|| said("name"))
}

/// Sets the title; what the records say later comes before it.
fn describe(log: &LogFile, head: &mut Head) {
    head.set_title(TitleSource::Ai, title_beside(log).unwrap_or_default());
}

/// Decodes a record of the session layout or of pi.
pub(super) fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(record.time("timestamp"), record.text("id"));
    if let Some(id) = record.text("id")
        && record.word("type") != Some("session")
    {
        sink.go_on(&id, record.text("parentId").as_deref());
    }
    match record.word("type") {
        Some("session") => header(record, sink),
        Some("message") => {
            if let Some(body) = record.object("message") {
                return message(&body, sink);
            }
        }
        Some("compaction" | "branch_summary") => {
            let summary = record.text("summary").filter(|text| !text.is_empty());
            let summary = summary.or_else(|| summary_in_file(record, sink));
            sink.notice(summary.unwrap_or_default());
        }
        Some("custom_message") => {
            let text = content::flat(record.get("content"));
            sink.say(Role::User, Origin::Injected, text);
        }
        Some("session_info") => {
            let title = title(record).unwrap_or_default();
            sink.head().set_title(TitleSource::Custom, title);
        }
        // Written by a fork of pi.
        Some("title") => {
            let title = record.text("title").unwrap_or_default();
            sink.head().set_title(TitleSource::Ai, title);
        }
        Some("model_change") => {
            sink.head().model = record.text("modelId").or_else(|| record.text("model"));
        }
        Some("thinking_level_change" | "custom" | "label") => {}
        _ if record.get("role").is_some() => return message(record, sink),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

fn header(record: &Object<'_>, sink: &mut Sink<'_>) {
    let head = sink.head();
    head.session = record.text("id");
    head.cwd = record.text("cwd");
    head.fork_of = record.text("parentSession");
    head.extend_span(record.time("timestamp"));
    head.set_title(TitleSource::Custom, title(record).unwrap_or_default());
}

/// The field of a compaction that names the note with its summary.
const SUMMARY_FILE: &str = "summaryFile";

/// Returns a summary that is kept in a note of the session, or the note's name if it is gone.
fn summary_in_file(record: &Object<'_>, sink: &Sink<'_>) -> Option<String> {
    let file = record.text(SUMMARY_FILE)?;
    let note = sink.directory.and_then(|directory| note(directory, &file));
    let text = note.and_then(|(_, bytes)| String::from_utf8(bytes).ok());
    Some(match text {
        Some(text) => text[Meta::parse(&text).body..].trim().to_owned(),
        None => format!("Conversation compacted into {file}"),
    })
}

/// Returns a note below the directory of a session: its place there, and what it holds.
fn note(directory: &Path, file: &str) -> Option<(String, Vec<u8>)> {
    let root = Root::open(directory).ok()?;
    let place = root.resolve(file).ok()?;
    let bytes = root.read(&place).ok()??;
    Some((place, bytes))
}

/// Returns the notes that the compactions of a log name: their places beside it, and what they hold.
pub(super) fn notes(log: &LogFile) -> BTreeMap<String, Vec<u8>> {
    let mut notes = BTreeMap::new();
    let (Some(directory), Ok(file)) = (log.path.parent(), open_capped(&log.path, LARGEST_LOG))
    else {
        return notes;
    };
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    while let Ok(read @ (Line::Whole | Line::TooLong)) =
        next_line(&mut reader, &mut line, LARGEST_SETTINGS as usize)
    {
        let named = (read == Line::Whole)
            .then(|| json::object(&line).ok())
            .flatten();
        let named = named.and_then(|(record, _)| record.text(SUMMARY_FILE));
        notes.extend(named.and_then(|named| note(directory, &named)));
    }
    notes
}

fn message(body: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp.time = sink.stamp.time.or_else(|| body.time("timestamp"));
    let text = || content::flat(body.get("content"));
    match body.word("role") {
        Some("user") => {
            if let Some(content) = body.get("content") {
                content::take(content, Speaker::Person, sink);
            }
        }
        Some("assistant") => {
            let model = body.text("model");
            sink.head().note_model(model);
            if let Some(content) = body.get("content") {
                content::take(content, Speaker::Model, sink);
            }
        }
        Some("toolResult" | "tool") => {
            let id = body.text("toolCallId");
            sink.tool_result(
                ToolUse::new(
                    id.or_else(|| body.text("tool_call_id")),
                    body.text("toolName").or_else(|| body.text("name")),
                    text(),
                )
                .failing(body.is_true("isError") || body.is_true("is_error")),
            );
        }
        Some("bashExecution") => {
            // The user typed it, as Claude Code's `<bash-input>`.
            let command = body.text("command").unwrap_or_default();
            sink.say(Role::User, Origin::Written, format!("! {command}"));
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
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}
