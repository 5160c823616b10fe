//! Chats of Cursor's command line: `~/.cursor/chats/<hash>/<id>/store.db`.
//!
//! Known from public readers and their tests. The table `meta` holds a JSON object in hexadecimal
//! digits, with the title and the id of the latest root. The table `blobs` holds messages as JSON,
//! each under its hash, and roots as protocol buffers: field 1 is the hash of a message of the
//! conversation, in order, field 9 the folder. A newer version has a `meta.json` beside it, with the
//! folder and the title.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::super::json::{self, JsonItem, Object, Raw};
use super::super::protobuf::{self, Value};
use super::super::sink::{Sink, ToolUse};
use super::super::{Agent, LogFile, Origin, Role, TitleSource, content, database, location};
use crate::core::Result;

/// The title that Cursor gives to every new chat.
const UNNAMED: &str = "New Agent";
/// The fields of a root that are read.
const MESSAGE: u64 = 1;
const FOLDER: u64 = 9;

/// Returns the chats of a home of Cursor.
pub(super) fn locate(root: &Path) -> Vec<LogFile> {
    let folders = location::entries(&root.join("chats"));
    let chats = folders.iter().flat_map(|folder| location::entries(folder));
    chats
        .filter_map(|chat| {
            let id = location::name(&chat);
            let mut log = location::found(Agent::Cursor, chat.join("store.db"), id)?;
            // The last messages may be only in the write-ahead log.
            let wal = fs::metadata(chat.join("store.db-wal")).ok();
            log.modified = log.modified.max(wal.as_ref().and_then(location::modified));
            log.title = beside(&log.path, "title");
            Some(log)
        })
        .collect()
}

/// Returns a text of the file beside the database.
fn beside(store: &Path, key: &str) -> Option<String> {
    let text = |meta: &Object<'_>| meta.text(key);
    let text = location::with_object(&store.with_file_name("meta.json"), text)?;
    text.filter(|text| !text.trim().is_empty())
}

/// Reads a chat.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let path = &log.path;
    let connection = database::connect(path)?;
    let head = sink.head();
    head.session = Some(log.id.clone());
    head.cwd = beside(path, "cwd");
    let mut root = None;
    database::rows(
        path,
        &connection,
        "SELECT value FROM meta",
        "",
        &mut |row| {
            let text = database::text(row, "value").unwrap_or_default();
            root = root.take().or_else(|| meta(&text, sink));
        },
    )?;
    let root = root
        .map(|id| blob(path, &connection, &id))
        .transpose()?
        .flatten();
    let root = root.map_or_else(Root::default, |bytes| Root::parse(&bytes));
    let head = sink.head();
    head.cwd = head.cwd.take().or(root.folder);
    let listed: HashSet<&String> = root.messages.iter().collect();
    // What the root does not list was said before it, and left the conversation.
    let mut earlier = Vec::new();
    database::rows(
        path,
        &connection,
        "SELECT id FROM blobs ORDER BY rowid",
        "",
        &mut |row| {
            let id = database::text(row, "id").unwrap_or_default();
            if !listed.contains(&id) {
                earlier.push(id);
            }
        },
    )?;
    let mut ordinal = 0;
    for id in earlier.iter().chain(&root.messages) {
        let Some(bytes) = blob(path, &connection, id)? else {
            sink.carry.skipped.broken += 1;
            continue;
        };
        // Other blobs are roots and parts of them.
        if bytes.first() != Some(&b'{') {
            continue;
        }
        ordinal += 1;
        sink.turn_to(ordinal);
        match json::object(&bytes) {
            Ok((message, _)) => take_message(&message, sink),
            Err(_) => sink.carry.skipped.broken += 1,
        }
    }
    Ok(())
}

/// Takes what the table `meta` tells, and returns the id of the latest root.
fn meta(hexadecimal: &str, sink: &mut Sink<'_>) -> Option<String> {
    let bytes = unhex(hexadecimal.trim())?;
    let (meta, _) = json::object(bytes.trim_ascii()).ok()?;
    let head = sink.head();
    let name = meta.text("name").filter(|name| name != UNNAMED);
    head.set_title(TitleSource::Ai, name.unwrap_or_default());
    head.model = meta.text("lastUsedModel");
    head.extend_span(meta.time("createdAt"));
    meta.text("latestRootBlobId")
}

fn blob(path: &Path, connection: &Connection, id: &str) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    let query = "SELECT data FROM blobs WHERE id = ?1";
    database::rows(path, connection, query, id, &mut |row| {
        found = database::bytes(row, "data");
    })?;
    Ok(found)
}

/// What a root lists.
#[derive(Default)]
struct Root {
    messages: Vec<String>,
    folder: Option<String>,
}

impl Root {
    /// Parses a protocol buffer as far as it is one.
    fn parse(bytes: &[u8]) -> Self {
        let mut root = Self::default();
        for (field, value) in protobuf::fields(bytes) {
            match (field, value) {
                (MESSAGE, Value::Bytes(hash)) if hash.len() == 32 => root.messages.push(hex(hash)),
                (FOLDER, Value::Bytes(folder)) => {
                    let text = String::from_utf8_lossy(folder).into_owned();
                    let path = location::path_of_uri(&text);
                    root.folder = path.or_else(|| Path::new(&text).is_absolute().then_some(text));
                }
                _ => {}
            }
        }
        root
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

fn take_message(message: &Object<'_>, sink: &mut Sink<'_>) {
    let Some(content) = message.get("content") else {
        sink.carry.skipped.unknown += 1;
        return;
    };
    sink.stamp.reply = message.text("id");
    match message.word("role") {
        Some("user") => super::take_prompt(content, sink),
        Some("system") => sink.say(Role::System, Origin::Injected, content::flat(content)),
        Some("assistant" | "tool") => {
            let text = content.text().unwrap_or_default();
            sink.say(Role::Assistant, Origin::Written, text);
            for item in content.items().opened() {
                match item {
                    JsonItem::Object(part) => take_part(&part, sink),
                    JsonItem::Other(_) => sink.carry.skipped.not_object += 1,
                }
            }
        }
        _ => sink.carry.skipped.unknown += 1,
    }
}

fn take_part(part: &Object<'_>, sink: &mut Sink<'_>) {
    let text = || part.text("text").unwrap_or_default();
    let id = part.text("toolCallId");
    let tool = part.text("toolName");
    match part.word("type") {
        Some("text") => sink.say(Role::Assistant, Origin::Written, text()),
        Some("reasoning") => sink.think(text()),
        Some("tool-call") => {
            let input = part.get("args").or_else(|| part.get("input"));
            sink.call_tool(ToolUse::new(id, tool, content::outline(input)));
        }
        Some("tool-result") => {
            let output = part.get("result").or_else(|| part.get("output"));
            sink.tool_result(
                ToolUse::new(id, tool, output.map_or_else(String::new, output_text))
                    .failing(part.is_true("isError")),
            );
        }
        Some("redacted-reasoning") => {}
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Returns the output of a tool; a newer version has it under `value`.
fn output_text(output: Raw<'_>) -> String {
    let inside = output.object().and_then(|output| output.get("value"));
    content::flat(inside.unwrap_or(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_bytes_make_a_root_or_a_description_panic(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80),
            text in ".{0,40}",
        ) {
            Root::parse(&bytes);
            unhex(&text);
        }
    }
}
