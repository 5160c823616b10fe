//! Cursor: transcripts of its agent, which have no times, working directory or ids, the sessions of its
//! editor, and the chats of its command line.

mod chat;
mod editor;

use std::collections::HashSet;
use std::path::Path;

use super::asked::take_asked;
use super::content::{self, Speaker};
use super::decode::{Decode, Recognized, nothing_beside};
use super::json::{Object, Raw};
use super::sink::Sink;
use super::{Agent, Format, Head, LogFile, LogLocations, Resume, location};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Cursor,
    name: "cursor",
    locate,
    decode: Decode::Mixed(nothing_beside, record, read_database),
    resume,
};

/// The tag around the text that the user wrote.
const QUERY: &[&str] = &["user_query"];

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for root in &locations.cursor {
        for project in location::entries(&root.join("projects")) {
            let transcripts = project.join("agent-transcripts");
            let id = |name: &str| name.strip_suffix(".jsonl").map(str::to_owned);
            for log in location::logs_under(Agent::Cursor, transcripts, &id) {
                let parent = parent(&log.path);
                logs.push(LogFile { parent, ..log });
            }
        }
    }
    // A session of the editor or of the command line may have a transcript too, which says less.
    let sessions = editor::locate(locations);
    let known: HashSet<&str> = sessions.iter().map(|log| log.id.as_str()).collect();
    logs.retain(|log| !known.contains(log.id.as_str()));
    logs.extend(sessions);
    let known: HashSet<String> = logs.iter().map(|log| log.id.clone()).collect();
    let chats = locations.cursor.iter().flat_map(|root| chat::locate(root));
    logs.extend(chats.filter(|chat| !known.contains(&chat.id)));
    logs
}

fn read_database(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    if is_editors(log) {
        editor::read(log, sink)
    } else {
        chat::read(log, sink)
    }
}

/// Whether a session is in the database of the editor, which also holds credentials.
pub(super) fn is_editors(log: &LogFile) -> bool {
    location::name(&log.path) == editor::FILE
}

/// Copies a session out of the database of the editor.
pub(super) fn copy(log: &LogFile, to: &Path) -> Result<()> {
    editor::copy(log, to)
}

/// Only chats of the command line can be continued by it.
fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if location::name(&log.path) != "store.db" {
        return None;
    }
    Some(Resume::by(
        "cursor-agent",
        super::option("--resume", &log.id),
        head,
    ))
}

/// Returns the session of `…/<session>/subagents/<log>`.
fn parent(path: &Path) -> Option<String> {
    let directory = path.parent()?;
    if location::name(directory) != "subagents" {
        return None;
    }
    directory.parent().map(location::name)
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let message = record.object("message");
    let content = message.as_ref().unwrap_or(record).get("content");
    let Some(content) = content else {
        return Recognized::Unknown;
    };
    match record.word("role") {
        Some("assistant") => content::take(content, Speaker::Model, sink),
        Some("user") => take_prompt(content, sink),
        Some("tool") => sink.result(None, content::flat(content)),
        Some("system") => sink.notice(content::flat(content)),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Adds a prompt, split into the query and the injected text around it.
fn take_prompt(content: Raw<'_>, sink: &mut Sink<'_>) {
    if !take_asked(&content::flat(content), QUERY, sink) {
        content::take(content, Speaker::Person, sink);
    }
}
