//! Gemini CLI: sessions as one JSON object, or as lines that change earlier ones.
//!
//! Lines patch the header (`$set`), remove messages (`$rewindTo`), and repeat a message
//! when it has changed, so a log is read whole: the last version of each message counts.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::decode::Decode;
use super::json::{self, Object, Raw};
use super::sink::{Carry, RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, Skipped, TitleSource,
    content, location, option,
};
use crate::core::disk::foreign::{LARGEST_WHOLE, LONGEST_RECORD, Line, next_line};
use crate::core::{Error, Result};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Gemini,
    name: "gemini",
    locate,
    decode: Decode::Into(read),
    resume,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for root in &locations.gemini {
        for project in location::entries(&root.join("tmp")) {
            let chats = project.join("chats");
            let found = location::logs_under(Agent::Gemini, chats.clone(), &id_of);
            let paths = found.iter().map(|log| log.path.clone());
            let lines: HashSet<PathBuf> = paths.filter(|path| is_lines(path)).collect();
            // The first log of a session, by the beginning of its id: older versions write those of
            // its subagents beside it with a later time, newer ones in a folder named by the id.
            let mut sessions: HashMap<String, String> = HashMap::new();
            for log in &found {
                let first = sessions.entry(session_start(&log.id).to_owned());
                let first = first.or_insert_with(|| log.id.clone());
                if log.id < *first {
                    first.clone_from(&log.id);
                }
            }
            for log in found {
                // A resumed session continues in a file of lines beside its old file.
                if !is_lines(&log.path) && lines.contains(&log.path.with_extension("jsonl")) {
                    continue;
                }
                let directory = log.path.parent().filter(|directory| *directory != chats);
                let session = directory.map(location::name);
                let start = session
                    .as_deref()
                    .map_or(session_start(&log.id), |session| {
                        session.split('-').next().unwrap_or(session)
                    });
                let first = sessions.get(start).filter(|first| **first != log.id);
                let parent = first.cloned().or(session);
                logs.push(LogFile { parent, ..log });
            }
        }
    }
    logs
}

fn id_of(name: &str) -> Option<String> {
    let id = name.strip_suffix(".jsonl");
    id.or_else(|| name.strip_suffix(".json")).map(str::to_owned)
}

/// Returns the beginning of the session's id, with which the name of its log ends.
fn session_start(id: &str) -> &str {
    let start = id
        .strip_prefix("session-")
        .and_then(|id| id.rsplit_once('-'));
    start.map_or(id, |(_, start)| start)
}

fn is_lines(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "jsonl")
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() {
        return None;
    }
    Some(Resume::by(
        "gemini",
        option("--resume", head.session.as_deref()?),
        head,
    ))
}

/// The messages of a session so far, each as its line and the bytes of its record.
#[derive(Default)]
struct GeminiSession {
    records: Vec<(u64, Vec<u8>)>,
    at: HashMap<String, usize>,
    /// What was typed for a message that was sent otherwise, by its id: resuming a session writes
    /// all messages again without it.
    typed: HashMap<String, String>,
    /// The size of all records, in bytes.
    size: u64,
    /// The number of records that would have made the session larger than [`LARGEST_WHOLE`].
    left_out: u64,
}

/// Reads a session of the program, or of a fork of it.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    sink.head().cwd = project_of(&log.path);
    let session = if is_lines(&log.path) {
        read_lines(log, sink.carry)?
    } else {
        read_object(log, sink.carry)?
    };
    sink.carry.skipped.left_out += session.left_out;
    let records: Vec<(u64, Object<'_>)> = session
        .records
        .iter()
        .filter_map(|(line, bytes)| Some((*line, json::object(bytes).ok()?.0)))
        .collect();
    // A result stands with its call, and may stand again in the record that sent it to the model.
    let calls: HashSet<String> = records
        .iter()
        .flat_map(|(_, record)| record.objects("toolCalls"))
        .filter_map(|call| call.text("id"))
        .collect();
    for (line, record) in &records {
        sink.turn_to(*line);
        let typed = record.text("id").and_then(|id| session.typed.get(&id));
        message(record, typed, &calls, sink);
    }
    Ok(())
}

/// Returns the project of `<project>/chats/<log>`, from its `.project_root` file or from the list
/// of projects.
fn project_of(path: &Path) -> Option<String> {
    let mark = path
        .ancestors()
        .skip(1)
        .take(3)
        .find_map(|directory| location::bytes(&directory.join(".project_root")).ok());
    let text = mark.and_then(|mark| String::from_utf8(mark).ok());
    let marked = text.map(|text| text.trim().to_owned());
    marked
        .filter(|text| !text.is_empty())
        .or_else(|| listed_project(path))
}

/// Looks up a log's project in `projects.json`, which is `{"projects": {"/path": "slug"}}`.
fn listed_project(path: &Path) -> Option<String> {
    let directories: Vec<&Path> = path.ancestors().collect();
    let temporary = directories
        .iter()
        .position(|directory| location::name(directory) == "tmp")?;
    let slug = location::name(directories.get(temporary.checked_sub(1)?)?);
    let home = directories.get(temporary + 1)?;
    let list = location::bytes(&home.join("projects.json")).ok()?;
    let list: serde_json::Value = serde_json::from_slice(&list).ok()?;
    let projects = list.get("projects")?.as_object()?;
    let is_hash = project_hash(path).is_some();
    let found = projects
        .iter()
        .find(|(path, known)| known.as_str() == Some(&slug) || is_hash && hash_of(path) == slug);
    found.map(|(path, _)| path.clone())
}

/// Returns the name of the directory of a log's project, if it is the hash of the project's path,
/// as older versions named it.
pub(super) fn project_hash(path: &Path) -> Option<String> {
    let directories: Vec<&Path> = path.ancestors().collect();
    let chats = directories
        .iter()
        .position(|directory| location::name(directory) == "chats")?;
    let name = location::name(directories.get(chats + 1)?);
    let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(name)
}

/// Returns the hash that names the directory of a project.
pub(super) fn hash_of(project: &str) -> String {
    let digest = Sha256::digest(project.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_object(log: &LogFile, carry: &mut Carry) -> Result<GeminiSession> {
    let mut session = GeminiSession::default();
    let bytes = location::bytes(&log.path)?;
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    match json::object(bytes.trim_ascii()) {
        Ok((record, _)) => {
            header(&record, &mut carry.head);
            session.replace(record.items("messages"), None);
        }
        Err(_) if bytes.trim_ascii().is_empty() => {}
        Err(_) => carry.skipped.broken += 1,
    }
    Ok(session)
}

fn read_lines(log: &LogFile, carry: &mut Carry) -> Result<GeminiSession> {
    let mut session = GeminiSession::default();
    let mut reader = location::open(&log.path)?;
    let mut line = Vec::new();
    for number in 1.. {
        let read = next_line(&mut reader, &mut line, LONGEST_RECORD);
        match read.map_err(|error| Error::io(&log.path, error))? {
            Line::None => break,
            Line::TooLong => {
                carry.skipped.too_long += 1;
                continue;
            }
            Line::Whole => {}
        }
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        match json::object(text.trim_ascii()) {
            Ok((record, _)) => session.apply(number, &record, text.trim_ascii(), carry),
            Err(_) => count(text, &mut carry.skipped),
        }
    }
    Ok(session)
}

fn count(line: &[u8], skipped: &mut Skipped) {
    if line.trim_ascii().is_empty() {
        skipped.blank += 1;
    } else if line.ends_with(b"\n") {
        skipped.broken += 1;
    } else {
        skipped.partial += 1;
    }
}

impl GeminiSession {
    fn apply(&mut self, line: u64, record: &Object<'_>, bytes: &[u8], carry: &mut Carry) {
        if let Some(patch) = record.object("$set") {
            header(&patch, &mut carry.head);
            if let Some(messages) = patch.get("messages") {
                self.replace(messages.items(), Some(line));
            }
        } else if let Some(id) = record.text("$rewindTo") {
            let keep = self.at.get(&id).copied().unwrap_or(0);
            self.records.truncate(keep);
            self.at.retain(|_, at| *at < keep);
        } else if record.get("sessionId").is_some() && record.get("type").is_none() {
            header(record, &mut carry.head);
        } else if record.get("type").is_some() {
            let id = record.text("id");
            let typed = Some(text(record, "displayContent")).filter(|text| !text.trim().is_empty());
            self.typed.extend(id.clone().zip(typed));
            self.upsert(line, id, bytes);
        } else {
            carry.skipped.unknown += 1;
        }
    }

    /// Replaces all messages; `line` is their line in the log, `None` numbers them from 1.
    fn replace<'a>(&mut self, messages: impl Iterator<Item = Raw<'a>>, line: Option<u64>) {
        *self = Self {
            typed: std::mem::take(&mut self.typed),
            ..Self::default()
        };
        for (ordinal, message) in (1..).zip(messages) {
            let id = message.object().and_then(|message| message.text("id"));
            self.upsert(line.unwrap_or(ordinal), id, message.bytes());
        }
    }

    fn upsert(&mut self, line: u64, id: Option<String>, bytes: &[u8]) {
        let length = bytes.len() as u64;
        if self.size + length > LARGEST_WHOLE {
            self.left_out += 1;
            return;
        }
        self.size += length;
        let entry = (line, bytes.to_vec());
        if let Some(id) = id {
            if let Some(at) = self.at.get(&id) {
                self.size -= self.records[*at].1.len() as u64;
                self.records[*at] = entry;
                return;
            }
            self.at.insert(id, self.records.len());
        }
        self.records.push(entry);
    }
}

fn header(record: &Object<'_>, head: &mut Head) {
    head.session = record.text("sessionId").or(head.session.take());
    head.set_title(
        TitleSource::Summary,
        record.text("summary").unwrap_or_default(),
    );
    head.extend_span(record.time("startTime"));
    let directory = record.items("directories").find_map(Raw::text);
    head.cwd = head.cwd.take().or(directory);
}

fn message(
    record: &Object<'_>,
    typed: Option<&String>,
    calls: &HashSet<String>,
    sink: &mut Sink<'_>,
) {
    let id = record.text("id");
    sink.stamp = RecordStamp::of_reply(record.time("timestamp"), id);
    match record.word("type") {
        Some("user") => {
            let shown = text(record, "displayContent");
            prompt(record, typed.unwrap_or(&shown), calls, sink);
        }
        Some("gemini" | "qwen") => reply(record, sink),
        Some("info" | "warning" | "error") => sink.notice(text(record, "content")),
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Adds the typed prompt, and what the program sent instead as injected text if it differs.
fn prompt(record: &Object<'_>, shown: &str, calls: &HashSet<String>, sink: &mut Sink<'_>) {
    let sent = text(record, "content");
    if shown.trim().is_empty() || shown == sent {
        sink.prompt(sent);
    } else {
        sink.prompt(shown.to_owned());
        sink.say(Role::User, Origin::Injected, sent);
    }
    for part in record.objects("content") {
        if let Some(response) = part.object("functionResponse") {
            let id = response.text("id");
            if id.as_ref().is_some_and(|id| calls.contains(id)) {
                continue;
            }
            let output = response.get("response");
            sink.tool_result(
                ToolUse::new(id, response.text("name"), content::flat(output))
                    .failing(output.is_some_and(is_error)),
            );
        }
    }
}

fn reply(record: &Object<'_>, sink: &mut Sink<'_>) {
    sink.head().note_model(record.text("model"));
    for thought in record.objects("thoughts") {
        let subject = thought.text("subject").unwrap_or_default();
        let description = thought.text("description").unwrap_or_default();
        sink.think(format!("{subject}\n{description}").trim().to_owned());
    }
    sink.say(Role::Assistant, Origin::Written, text(record, "content"));
    for call in record.objects("toolCalls") {
        let (id, tool) = (call.text("id"), call.text("name"));
        sink.call_tool(ToolUse::new(
            id.clone(),
            tool.clone(),
            content::outline(call.get("args")),
        ));
        sink.tool_result(ToolUse {
            id,
            tool,
            text: output(&call),
            subagent: call.text("agentId"),
            has_failed: matches!(call.word("status"), Some("error" | "cancelled")),
        });
    }
}

/// Whether a tool's response is an error.
pub(super) fn is_error(response: Raw<'_>) -> bool {
    let response = response.object();
    response.is_some_and(|response| response.get("error").is_some())
}

/// Returns the output of a tool as sent to the model, or else as displayed.
fn output(call: &Object<'_>) -> String {
    let mut parts = Vec::new();
    for part in call.objects("result") {
        let response = part.object("functionResponse");
        let response = response.and_then(|response| response.get("response"));
        parts.extend(part.text("text").or_else(|| response.map(content::flat)));
    }
    if parts.is_empty() {
        parts.extend(call.text("resultDisplay"));
    }
    parts.join("\n")
}

/// Returns the text under `key`: a string, a part or an array of parts.
fn text(record: &Object<'_>, key: &str) -> String {
    let Some(value) = record.get(key) else {
        return String::new();
    };
    if let Some(part) = value.object() {
        return part.text("text").unwrap_or_default();
    }
    content::flat(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_the_hash_of_its_path() {
        let hash = hash_of("/repo");
        let start = "816fc349d3faebf805d1bed70fce7e14";
        assert!(hash.starts_with(start) && hash.len() == 64, "{hash}");
        let log = format!("/home/.gemini/tmp/{hash}/chats/session-a.jsonl");
        assert_eq!(project_hash(Path::new(&log)), Some(hash));
    }
}
