//! OpenClaw: one log per session of each agent, with the records that pi also writes.
//!
//! `~/.openclaw/agents/<agent>/sessions/<id>.jsonl` (`~/.clawdbot` and `~/.moltbot` before it was
//! renamed), with titles and parents in `sessions.json`. Known from the program's documentation and
//! from sessions of 2026. Sessions that were reset or deleted keep a copy under another name, which is
//! not read.
//!
//! What the user wrote arrives through a chat, so that it stands between what the program says of the
//! sender, the time and the chat.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::{JsonItem, Object};
use super::sink::{RecordStamp, Sink};
use super::{Agent, Format, LogFile, LogLocations, location, no_resume, session};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Openclaw,
    name: "openclaw",
    locate,
    decode: Decode::Records(record),
    resume: no_resume,
};

/// Beginnings of what the program sends in the user's place; it extends to the end.
const SENT: &[&str] = &[
    "A background task \"",
    "A cron job \"",
    "A new session was started via /new or /reset.",
    "A subagent task \"",
    "Pre-compaction memory flush",
    "Read HEARTBEAT.md if it exists",
    "Wake up, my friend!",
    "[OpenClaw heartbeat poll]",
    "[cron:",
];
/// Beginnings of lines that the program puts around what the user wrote.
const AROUND: &[&str] = &[
    "Queued #",
    "The previous attempt did not produce a user-visible answer.",
    "To send an image back, ",
    "[Queued announce messages while agent was busy]",
    "[Queued messages while agent was busy]",
    "[Replying to ",
    "[/Replying]",
    "[System: ",
    "[from: ",
    "[media attached",
    "[message_id: ",
];
/// What the program puts into a line of the user's: how it begins and ends.
const INSIDE: &[(&str, &str)] = &[("<file ", "</file>"), ("[Replying to ", "[/Replying]")];
/// The beginning of a line about something that happened.
const EVENT: &str = "System: [";
/// The line before the user's message, if earlier messages of the chat stand above it.
const CURRENT: &str = "[Current message - respond to this]";

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let message = record.object("message");
    let message = message.filter(|message| message.is("role", "user"));
    let Some(message) = message.filter(|_| record.is("type", "message")) else {
        return session::record(record, sink);
    };
    let time = record.time("timestamp");
    sink.stamp = RecordStamp::new(
        time.or_else(|| message.time("timestamp")),
        record.text("id"),
    );
    let Some(content) = message.get("content") else {
        return Recognized::Known;
    };
    take_text(&content.text().unwrap_or_default(), sink);
    for item in content.items().opened() {
        match item {
            JsonItem::Object(block) if block.is("type", "text") => {
                take_text(&block.text("text").unwrap_or_default(), sink);
            }
            JsonItem::Object(block) => content::take_block(&block, Speaker::Person, sink),
            JsonItem::Other(value) => take_text(&value.text().unwrap_or_default(), sink),
        }
    }
    Recognized::Known
}

/// Adds a text in the user's place: what the user wrote, and what the program put around it.
fn take_text(text: &str, sink: &mut Sink<'_>) {
    let mut parts: Vec<(Speaker, Range<usize>)> = Vec::new();
    let mut at = 0;
    loop {
        at = text.len() - text[at..].trim_start().len();
        if at == text.len() {
            break;
        }
        let (speaker, length) = match program_part(&text[at..]) {
            Some(length) => (Speaker::Program, length),
            None => (Speaker::Person, person_part(&text[at..])),
        };
        let part = at..at + length;
        at = part.end;
        match parts.last_mut() {
            Some((last, before)) if *last == speaker => before.end = part.end,
            _ => parts.push((speaker, part)),
        }
    }
    for (speaker, part) in parts {
        let said = text[part].trim().to_owned();
        match speaker {
            Speaker::Person => sink.prompt(said),
            other => sink.add(other, said),
        }
    }
}

/// Returns the length of the program's part that a text begins with.
fn program_part(text: &str) -> Option<usize> {
    let begins = |openings: &[&str]| openings.iter().any(|opening| text.starts_with(opening));
    let through = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    let line = through("\n");
    let first = text[..line].trim_end();
    if begins(SENT) {
        return Some(text.len());
    }
    if text.starts_with(EVENT) {
        // What it says may have several lines, and what a job says several paragraphs.
        let is_of_job = first.contains("] Cron: ");
        let mut lines = text.match_indices('\n').map(|(at, _)| at + 1);
        let next = lines.find(|at| {
            let rest = &text[*at..];
            let is_blank = rest.starts_with('\n') && !is_of_job;
            is_blank || envelope(rest).is_some() || is_metadata(rest.lines().next().unwrap_or(""))
        });
        return Some(next.unwrap_or(text.len()));
    }
    if first == "---" && text[line..].starts_with("Queued #") {
        return Some(line);
    }
    if text.starts_with("<media:") {
        return Some(through(">"));
    }
    if let Some((_, end)) = INSIDE
        .iter()
        .find(|(begin, end)| text.starts_with(begin) && (*begin == "<file " || text.contains(end)))
    {
        return Some(through(end));
    }
    if text.starts_with('[') && first.ends_with(" for context]") {
        let current = text.rfind(CURRENT).map(|at| at + CURRENT.len());
        return Some(current.unwrap_or_else(|| through("\n\n")));
    }
    if begins(AROUND) {
        return Some(
            line + if first.starts_with("[message_id: ") {
                sender_prefix(&text[line..])
            } else {
                0
            },
        );
    }
    if is_metadata(first) {
        let block = text[line..]
            .starts_with("```")
            .then(|| text[line..].find("\n```"));
        return Some(match block.flatten() {
            Some(end) => line + end + "\n```".len(),
            None => through("\n\n"),
        });
    }
    envelope(text)
}

/// Whether a line stands above what the program says of the chat.
fn is_metadata(line: &str) -> bool {
    line.trim_end().ends_with("):") && line.contains(" (untrusted")
}

/// Returns the length of `[Telegram Kim id:1 2026-01-21T06:16Z]` or `[Mon 2026-03-02 22:31 GMT+8]`.
fn envelope(text: &str) -> Option<usize> {
    let line = text.lines().next()?;
    let end = line.strip_prefix('[')?.find(']')? + 1;
    let inside = &line[1..end];
    let is_word = inside.starts_with(|c: char| c.is_alphabetic());
    let is_time = |time: &[u8]| {
        let form = b"0000-00-00?00:00";
        let fits = |(byte, form): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            b'?' => matches!(byte, b' ' | b'T'),
            _ => byte == form,
        };
        time.iter().zip(form).all(fits)
    };
    let has_time = inside.as_bytes().windows(16).any(is_time);
    (is_word && has_time).then_some(end + 1)
}

/// Returns the length of the sender's id with its `: `, which may follow the line with the id of the
/// message; 0 if there is none.
fn sender_prefix(text: &str) -> usize {
    const SHORTEST: usize = 8;
    let id = text.split_once(": ").map_or("", |(id, _)| id);
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.len() >= SHORTEST && id.chars().all(is_id) {
        id.len() + 2
    } else {
        0
    }
}

/// Returns the length of the user's part that a text begins with.
fn person_part(text: &str) -> usize {
    let is_end = |line: &str| {
        let begins = AROUND.iter().any(|begin| line.starts_with(begin));
        begins || line.starts_with("---\nQueued #") || line.starts_with("<file ")
    };
    let mut lines = text.match_indices('\n').map(|(at, _)| at + 1);
    let end = lines.find(|at| is_end(&text[*at..])).unwrap_or(text.len());
    let inside = INSIDE.iter().filter_map(|(begin, end)| {
        let at = text.find(&format!(" {begin}"))? + 1;
        text[at..].contains(end).then_some(at)
    });
    inside.min().map_or(end, |at| at.min(end))
}

/// A session in the list of an agent's sessions.
#[derive(Default)]
struct Listed {
    title: Option<String>,
    parent: Option<String>,
}

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.openclaw.iter().map(|root| root.join("agents"));
    let agents = roots.flat_map(|root| location::entries(&root));
    agents
        .flat_map(|agent| {
            let folder = agent.join("sessions");
            let mut list = listed(&folder.join("sessions.json"));
            let logs = location::entries(&folder)
                .into_iter()
                .filter_map(move |path| {
                    // `<id>.trajectory.jsonl` and others are not conversations.
                    let id = location::stem(&path, ".jsonl").filter(|id| !id.contains('.'))?;
                    let known = list.remove(&id).unwrap_or_default();
                    let log = location::found(Agent::Openclaw, path, id)?;
                    Some(LogFile {
                        title: known.title,
                        parent: known.parent,
                        ..log
                    })
                });
            logs.collect::<Vec<LogFile>>()
        })
        .collect()
}

/// Returns the sessions of `{"<key>": {"sessionId", "label", "spawnedBy": "<key>"}}` by their ids.
fn listed(list: &Path) -> HashMap<String, Listed> {
    let listed = location::with_object(list, |list| {
        let entries = list.fields().filter_map(|(_, entry)| entry.object());
        entries
            .filter_map(|entry| {
                let starter = entry.text("spawnedBy").and_then(|key| list.object(&key));
                let known = Listed {
                    title: entry.first_text(&["label", "displayName", "subject"]),
                    parent: starter.and_then(|starter| starter.text("sessionId")),
                };
                Some((entry.text("sessionId")?, known))
            })
            .collect()
    });
    listed.unwrap_or_default()
}
