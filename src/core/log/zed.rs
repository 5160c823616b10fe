//! Zed's agent: threads in the database `threads/threads.db` of its data directory, each one JSON
//! object, mostly compressed.
//!
//! Known from the program's own source, which also reads the forms 0.1 and 0.2 that were before.

use std::io::Read as _;

use rusqlite::Row;

use super::content;
use super::database::{self, text};
use super::decode::Decode;
use super::json::{self, JsonItem, Object, Raw};
use super::origin::Speaker;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, LogFile, LogLocations, Origin, Role, TitleSource};
use crate::core::Result;
use crate::core::disk::foreign::LARGEST_WHOLE;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Zed,
    name: "zed",
    locate,
    decode: Decode::Into(read),
    // The editor cannot be started with a thread.
    resume: |_, _| None,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let modified = "CAST(unixepoch(updated_at, 'subsec') * 1000 AS INTEGER) AS modified";
    let databases = locations
        .zed
        .iter()
        .map(|root| root.join("threads/threads.db"));
    databases
        .flat_map(|path| {
            // Early versions have no column for the parent.
            let lists = ["parent_id", "NULL"].map(|parent| {
                format!("SELECT id, {parent} AS parent, summary AS title, {modified} FROM threads")
            });
            let listed = lists
                .iter()
                .map(|list| database::sessions(Agent::Zed, &path, list));
            listed
                .into_iter()
                .find(|found| !found.is_empty())
                .unwrap_or_default()
        })
        .collect()
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let connection = database::connect(&log.path)?;
    let thread = "SELECT * FROM threads WHERE id = ?1";
    database::rows(&log.path, &connection, thread, &log.id, &mut |row| {
        take_row(row, sink)
    })
}

fn take_row(row: &Row<'_>, sink: &mut Sink<'_>) {
    let head = sink.head();
    head.session = text(row, "id");
    head.cwd = folder(row);
    head.set_title(TitleSource::Ai, text(row, "summary").unwrap_or_default());
    for column in ["created_at", "updated_at"] {
        let time = text(row, column).and_then(|time| time.parse::<jiff::Timestamp>().ok());
        head.extend_span(time.map(jiff::Timestamp::as_millisecond));
    }
    let mut data = database::bytes(row, "data").unwrap_or_default();
    if text(row, "data_type").as_deref() == Some("zstd") {
        let mut plain = Vec::new();
        let unpacked = zstd::Decoder::new(data.as_slice())
            .and_then(|unpacked| unpacked.take(LARGEST_WHOLE).read_to_end(&mut plain));
        // What is cut short is no object.
        drop(unpacked);
        data = plain;
    }
    match json::object(data.trim_ascii()) {
        Ok((thread, _)) => take_thread(&thread, sink),
        Err(_) => sink.carry.skipped.broken += 1,
    }
}

/// Returns the first folder of a thread's project; the order in which they were added stands beside
/// their sorted paths.
fn folder(row: &Row<'_>) -> Option<String> {
    let folders = text(row, "folder_paths").filter(|folders| !folders.is_empty())?;
    let order = text(row, "folder_paths_order").unwrap_or_default();
    let first = order.split(',').position(|place| place == "0");
    let folder = folders.split('\n').nth(first.unwrap_or_default());
    folder.map(str::to_owned)
}

fn take_thread(thread: &Object<'_>, sink: &mut Sink<'_>) {
    let snapshot = thread
        .object("initial_project_snapshot")
        .unwrap_or_default();
    let mut trees = snapshot.objects("worktree_snapshots");
    let model = thread.object("model").unwrap_or_default();
    let head = sink.head();
    head.model = model.text("model");
    head.cwd = head
        .cwd
        .take()
        .or_else(|| trees.next()?.text("worktree_path"));
    for (ordinal, item) in (1..).zip(thread.items("messages").opened()) {
        sink.turn_to(ordinal);
        match item {
            JsonItem::Object(message) => take_message(&message, sink),
            // "Resume": the program asked the model to go on.
            JsonItem::Other(_) => {}
        }
    }
}

fn take_message(message: &Object<'_>, sink: &mut Sink<'_>) {
    if let Some(user) = message.object("User") {
        sink.stamp = RecordStamp::new(None, user.text("id"));
        take_prompt(&user, sink);
    } else if let Some(agent) = message.object("Agent") {
        agent
            .objects("content")
            .for_each(|part| take_part(&part, sink));
        let results = agent.object("tool_results").unwrap_or_default();
        let results = results.fields().filter_map(|(_, result)| result.object());
        results.for_each(|result| take_result(&result, sink));
    } else if let Some(compaction) = message.object("Compaction") {
        sink.notice(compaction.text("Summary").unwrap_or_default());
    } else if message.get("role").is_some() {
        take_early_message(message, sink);
    } else {
        sink.carry.skipped.unknown += 1;
    }
}

/// Adds a prompt, with the names of what the user mentions, and behind it what they contain.
fn take_prompt(user: &Object<'_>, sink: &mut Sink<'_>) {
    let mut said = String::new();
    let mut attached = Vec::new();
    let mut images = 0;
    for part in user.objects("content") {
        if let Some(text) = part.text("Text") {
            said.push_str(&text);
        } else if let Some(mention) = part.object("Mention") {
            said.push('@');
            said.push_str(&name_of(&mention));
            attached.extend(mention.text("content"));
        } else if part.get("Image").is_some() {
            images += 1;
        }
    }
    sink.prompt(said);
    (0..images).for_each(|_| sink.show(Role::User, content::IMAGE));
    for content in attached {
        sink.add(Speaker::Program, content);
    }
}

/// Returns what a mention leads to: a path, a name or an address, or else its kind.
fn name_of(mention: &Object<'_>) -> String {
    let uri = mention.object("uri").unwrap_or_default();
    let Some((kind, target)) = uri.fields().next() else {
        return String::new();
    };
    let target = target.object().unwrap_or_default();
    let keys = ["abs_path", "file_path", "name", "url", "base_ref"];
    let name = keys.iter().find_map(|key| target.text(key));
    name.unwrap_or_else(|| String::from_utf8_lossy(kind).into_owned())
}

fn take_part(part: &Object<'_>, sink: &mut Sink<'_>) {
    if let Some(text) = part.text("Text") {
        sink.say(Role::Assistant, Origin::Written, text);
    } else if let Some(thought) = part.object("Thinking") {
        sink.think(thought.text("text").unwrap_or_default());
    } else if let Some(call) = part.object("ToolUse") {
        take_call(&call, sink);
    } else if part.get("RedactedThinking").is_none() {
        sink.carry.skipped.unknown += 1;
    }
}

fn take_call(call: &Object<'_>, sink: &mut Sink<'_>) {
    let input = call.get("input");
    // Later versions say of what kind it is.
    let inside = input
        .and_then(Raw::object)
        .filter(|input| input.get("type").is_some());
    let input = inside.and_then(|input| input.get("value")).or(input);
    let input = content::outline(input);
    sink.call_tool(ToolUse::new(call.text("id"), call.text("name"), input));
}

fn take_result(result: &Object<'_>, sink: &mut Sink<'_>) {
    let parts = result
        .get("content")
        .into_iter()
        .flat_map(|content| match content.is_array() {
            true => content.items().collect(),
            false => vec![content],
        });
    let texts = parts.filter_map(|part| match part.object() {
        Some(object) => ["Text", "text"]
            .iter()
            .find_map(|key| object.text(key))
            .or_else(|| Some(content::IMAGE.to_owned())),
        None => part.text(),
    });
    let output = texts.collect::<Vec<_>>().join("\n");
    let tool = ToolUse::new(result.text("tool_use_id"), result.text("tool_name"), output);
    sink.tool_result(tool.failing(result.is_true("is_error")));
}

/// Adds a message of the forms 0.1 and 0.2, and of the one before, whose text is no list.
fn take_early_message(message: &Object<'_>, sink: &mut Sink<'_>) {
    let speaker = match message.word("role") {
        Some("assistant") => Speaker::Model,
        Some("user") if !message.is_true("is_hidden") => Speaker::Person,
        _ => Speaker::Program,
    };
    let segments = message.get("segments").or_else(|| message.get("text"));
    if let Some(segments) = segments {
        content::take(segments, speaker, sink);
    }
    sink.add(
        Speaker::Program,
        message.text("context").unwrap_or_default(),
    );
    let calls = message.objects("tool_uses");
    calls.for_each(|call| take_call(&call, sink));
    let results = message.objects("tool_results");
    results.for_each(|result| take_result(&result, sink));
}
