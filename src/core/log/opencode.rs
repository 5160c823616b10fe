//! OpenCode: a tree of JSON files, and since version 1.2 a database, with other tables since 2.0.
//!
//! A session is not a file of lines, so it is read whole. The database is opened read-only,
//! in such a way that no file is created beside it.

pub(super) mod database;
mod generation2;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::decode::Decode;
use super::json::Object;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, LogFile, LogLocations, Origin, Resume, Role, content, fork};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Opencode,
    name: "opencode",
    locate,
    decode: Decode::Into(read),
    resume: |log, head| Resume::by_id("opencode", "--session", log, head),
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut sessions = BTreeMap::new();
    // A session that was copied into the database stays in the tree: the database has priority.
    let forks = fork::homes_of(locations, Agent::Opencode);
    for root in locations.opencode.iter().chain(&forks) {
        for log in tree::locate(root) {
            sessions.insert(log.id.clone(), log);
        }
    }
    for path in database::paths(locations) {
        for log in database::locate(&path) {
            sessions.insert(log.id.clone(), log);
        }
    }
    sessions.into_values().collect()
}

/// Returns the databases whose sessions cannot be listed, each with the reason.
pub(super) fn unreadable(locations: &LogLocations) -> Vec<(PathBuf, String)> {
    let paths = database::paths(locations).into_iter();
    paths
        .filter_map(|path| {
            let problem = database::problem(&path)?;
            Some((path, problem))
        })
        .collect()
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    match log.path.extension() {
        Some(extension) if extension == "json" => tree::read(log, sink),
        _ => database::read(log, sink),
    }
}

/// Returns the files of the messages and parts of a session in the tree.
pub(super) fn files(log: &LogFile) -> Vec<PathBuf> {
    match log.path.extension() {
        Some(extension) if extension == "json" => tree::files(log),
        _ => Vec::new(),
    }
}

/// Decodes a message's own record and returns its role; its text is in its parts.
fn message(id: String, info: &Object<'_>, sink: &mut Sink<'_>) -> Role {
    let times = info.object("time").unwrap_or_default();
    sink.stamp = RecordStamp::of_reply(times.time("created"), Some(id));
    let model = info.object("model").and_then(|model| model.text("modelID"));
    sink.head().note_model(info.text("modelID").or(model));
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
    let state = part.object("state").unwrap_or_default();
    let id = part.text("callID").or_else(|| part.text("id"));
    let tool = part.text("tool").or_else(|| part.text("name"));
    sink.call_tool(ToolUse::new(
        id.clone(),
        tool.clone(),
        content::outline(state.get("input")),
    ));
    if matches!(
        state.word("status"),
        Some("pending" | "running" | "streaming")
    ) {
        return;
    }
    let output = ["output", "content", "error"].iter().find_map(|key| {
        state
            .get(key)
            .filter(|value| !value.bytes().starts_with(b"[]"))
    });
    let details = state.object("metadata").unwrap_or_default();
    sink.tool_result(ToolUse {
        id,
        tool,
        text: content::flat(output),
        subagent: details.text("sessionId"),
        has_failed: state.is("status", "error"),
    });
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::fixture::{describe_messages, log};
    use super::super::read;
    use super::*;
    use crate::core::fixture::{Case, Home};

    const DATABASE: &str = ".local/share/opencode/opencode.db";

    #[test]
    fn a_write_ahead_log_is_read_while_the_agent_runs_and_after_a_crash() {
        let home = Case::named("logs/opencode/a_session_in_a_database_is_read").home;
        let connection = home.database(
            DATABASE,
            r#"INSERT INTO part VALUES ('prt_9', 'msg_2', 'ses_1', '{"type":"text","text":"late"}')"#,
        );
        let last = |home: &Home| describe_messages(&home.read().messages).pop();
        assert_eq!(last(&home).as_deref(), Some("2 assistant text: late"));
        // What is on disk when the agent dies, after the index of the log has been removed.
        let crashed = Home::new();
        for ending in ["", "-wal"] {
            let path = format!("{DATABASE}{ending}");
            crashed.write(&path, fs::read(home.path().join(&path)).expect("a file"));
        }
        drop(connection);
        let state = || {
            let read = |path: PathBuf| (fs::read(&path).expect("a file"), path);
            crashed.files().into_iter().map(read).collect::<Vec<_>>()
        };
        let before = state();
        assert_eq!(last(&crashed).as_deref(), Some("2 assistant text: late"));
        assert!(state() == before, "{:?}", crashed.files());
    }

    #[test]
    fn a_database_that_is_too_large_is_told_and_one_that_is_no_file_is_left_alone() {
        let home = Home::new();
        home.write(&format!("{DATABASE}/x"), "");
        assert_eq!(home.locate(), []);
        let path = ".local/share/opencode/opencode-dev.db";
        home.write(path, "");
        let file = fs::OpenOptions::new()
            .write(true)
            .open(home.path().join(path));
        file.and_then(|file| file.set_len(10 << 30))
            .expect("a size");
        let error = read(&home.locate()[0]).expect_err("too large").to_string();
        let expected = "opencode-dev.db: 10240 MB is too large";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn an_error_of_a_file_that_is_no_database_names_it() {
        let home = Home::new();
        home.write(DATABASE, "not a database at all, but long enough");
        let log = log(Agent::Opencode, &home.path().join(DATABASE));
        let error = read(&log).expect_err("it cannot be read");
        assert!(error.to_string().contains("opencode.db"), "{error}");
    }
}
