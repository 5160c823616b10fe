//! OpenCode: a tree of JSON files, and since version 1.2 a database.
//!
//! A session is no file of lines, so it is read whole. The database is opened for
//! reading only, and in such a way that nothing is put beside it.

mod database;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::content;
use super::decode::{Decode, Sink, Stamp};
use super::json::{Object, Raw};
use super::{Agent, Format, Head, LogFile, Origin, Places, Resume, Role, Transcript};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Opencode,
    name: "opencode",
    locate,
    decode: Decode::Whole(whole),
    resume,
};

fn locate(places: &Places) -> Vec<LogFile> {
    let mut sessions = BTreeMap::new();
    // A session that was moved into the database stays in the tree: the database wins.
    for root in &places.opencode {
        for log in tree::locate(root) {
            sessions.insert(log.id.clone(), log);
        }
    }
    for path in database::paths(places) {
        for log in database::locate(&path) {
            sessions.insert(log.id.clone(), log);
        }
    }
    sessions.into_values().collect()
}

fn whole(log: &LogFile) -> Result<Transcript> {
    match log.path.extension() {
        Some(extension) if extension == "json" => tree::read(log),
        _ => database::read(log),
    }
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() {
        return None;
    }
    Some(Resume {
        program: "opencode",
        args: vec!["--session".to_owned(), log.id.clone()],
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}

/// Takes a message's own record; its words are in its parts.
fn message(id: String, info: &Object<'_>, sink: &mut Sink<'_>) -> Role {
    let times = info.object("time").unwrap_or_default();
    sink.stamp = Stamp {
        time: times.time("created"),
        id: Some(id.clone()),
        reply: Some(id),
        ..Stamp::default()
    };
    let model = info.object("model").and_then(|model| model.text("modelID"));
    let head = sink.head();
    head.model = info.text("modelID").or(model).or(head.model.take());
    if let Some(error) = info.object("error") {
        let data = error.object("data").unwrap_or_default();
        let text = data.text("message").or_else(|| error.text("name"));
        sink.notice(text.unwrap_or_default());
    }
    match info.word("role") {
        Some("user") => Role::User,
        _ => Role::Assistant,
    }
}

fn part(part: &Object<'_>, role: Role, sink: &mut Sink<'_>) {
    let text = || part.text("text").unwrap_or_default();
    match part.word("type") {
        Some("text") if role == Role::Assistant => {
            sink.say(role, Origin::Written, text());
        }
        Some("text") if part.is_true("synthetic") => {
            sink.say(role, Origin::Injected, text());
        }
        Some("text") => sink.prompt(text()),
        Some("reasoning") => sink.think(text()),
        Some("tool") => tool(part, sink),
        Some("subtask") => {
            let prompt = part.text("prompt").unwrap_or_default();
            sink.call(part.text("agent"), prompt);
        }
        Some("compaction") => sink.notice("Conversation compacted".to_owned()),
        Some("step-start" | "step-finish" | "patch" | "file" | "agent" | "snapshot" | "retry") => {}
        _ => sink.carry.skipped.unknown += 1,
    }
}

fn tool(part: &Object<'_>, sink: &mut Sink<'_>) {
    let name = part.text("tool");
    let state = part.object("state").unwrap_or_default();
    sink.call(
        name.clone(),
        state.get("input").map_or_else(String::new, Raw::outline),
    );
    let output = state.get("output").or_else(|| state.get("error"));
    sink.result(name, output.map_or_else(String::new, content::flat));
}
