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
use super::sink::{Carry, RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Message, Origin, Resume, Role, content, fork,
    option,
};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Opencode,
    name: "opencode",
    locate,
    decode: Decode::Whole(whole),
    resume,
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

fn whole(log: &LogFile, take: &mut dyn FnMut(Message)) -> Result<Carry> {
    match log.path.extension() {
        Some(extension) if extension == "json" => tree::read(log, take),
        _ => database::read(log, take),
    }
}

/// Returns the files of the messages and parts of a session in the tree.
pub(super) fn files(log: &LogFile) -> Vec<PathBuf> {
    match log.path.extension() {
        Some(extension) if extension == "json" => tree::files(log),
        _ => Vec::new(),
    }
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() {
        return None;
    }
    Some(Resume {
        program: fork::program(Agent::Opencode, "opencode", &log.path)?,
        args: option("--session", &log.id),
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}

/// Decodes a message's own record and returns its role; its text is in its parts.
fn message(id: String, info: &Object<'_>, sink: &mut Sink<'_>) -> Role {
    let times = info.object("time").unwrap_or_default();
    sink.stamp = RecordStamp {
        time: times.time("created"),
        id: Some(id.clone()),
        reply: Some(id),
        ..RecordStamp::default()
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
    let state = part.object("state").unwrap_or_default();
    let id = part.text("callID").or_else(|| part.text("id"));
    let tool = part.text("tool").or_else(|| part.text("name"));
    sink.call_tool(ToolUse {
        id: id.clone(),
        tool: tool.clone(),
        text: state
            .get("input")
            .map_or_else(String::new, content::outline),
        ..ToolUse::default()
    });
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
        text: output.map_or_else(String::new, content::flat),
        subagent: details.text("sessionId"),
        has_failed: state.is("status", "error"),
    });
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rusqlite::Connection;

    use super::super::fixture::{Home, describe_messages};
    use super::super::read;
    use super::*;

    const DATA: &str = ".local/share/opencode";

    /// A message: its id, its record and the records of its parts.
    type Given = (&'static str, &'static str, &'static [&'static str]);

    const MESSAGES: &[Given] = &[
        (
            "msg_1",
            r#"{"role":"user","time":{"created":1785578400000},"model":{"modelID":"opus"}}"#,
            &[
                r#"{"type":"text","text":"hello"}"#,
                r#"{"type":"text","text":"file content","synthetic":true}"#,
                r#"{"type":"file","url":"file:///a"}"#,
            ],
        ),
        (
            "msg_2",
            r#"{"role":"assistant","time":{"created":1785578401000},"modelID":"sonnet","error":{"name":"APIError","data":{"message":"busy"}}}"#,
            &[
                r#"{"type":"step-start"}"#,
                r#"{"type":"reasoning","text":"hm"}"#,
                r#"{"type":"text","text":"hi"}"#,
                r#"{"type":"tool","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"files"}}"#,
                r#"{"type":"tool","tool":"read","state":{"status":"error","input":{},"error":"missing"}}"#,
                r#"{"type":"novel"}"#,
                "broken",
            ],
        ),
    ];

    /// The messages; `who` says the first, the user or the agent that started the session.
    fn expected(who: &str) -> Vec<String> {
        let first = format!("1 {who}: hello");
        let rest = EXPECTED.iter().map(ToString::to_string);
        std::iter::once(first).chain(rest).collect()
    }

    const EXPECTED: [&str; 8] = [
        "1 system text*: file content",
        "2 system notice*: busy",
        "2 assistant thinking: hm",
        "2 assistant text: hi",
        "2 assistant tool-call bash: command: ls",
        "2 tool tool-result bash: files",
        "2 assistant tool-call read: ",
        "2 tool tool-result read: missing",
    ];

    fn write_tree(home: &Home, session: &str) {
        let storage = format!("{DATA}/storage");
        home.write(
            &format!("{storage}/session/p/{session}.json"),
            format!(r#"{{"id":"{session}","directory":"/repo","title":"in the tree","parentID":"ses_0"}}"#),
        );
        for (id, info, parts) in MESSAGES {
            home.write(&format!("{storage}/message/{session}/{id}.json"), info);
            for (number, part) in parts.iter().enumerate() {
                home.write(&format!("{storage}/part/{id}/prt_{number}.json"), part);
            }
        }
    }

    fn write_database(connection: &Connection, session: &str) {
        connection
            .execute_batch(
                "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_updated INTEGER);
                 CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
                 CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);",
            )
            .expect("tables can be made");
        connection
            .execute(
                "INSERT INTO session VALUES (?1, NULL, '/repo', 'in the database', '1.2', 7)",
                [session],
            )
            .expect("a session can be added");
        for (at, (id, info, parts)) in MESSAGES.iter().enumerate() {
            let at = i64::try_from(at).expect("a small number");
            connection
                .execute(
                    "INSERT INTO message VALUES (?1, ?2, ?3, ?4)",
                    (id, session, at, info),
                )
                .expect("a message can be added");
            for (number, part) in parts.iter().enumerate() {
                let part_id = format!("prt_{number}");
                connection
                    .execute(
                        "INSERT INTO part VALUES (?1, ?2, ?3, ?4)",
                        (part_id, id, session, part),
                    )
                    .expect("a part can be added");
            }
        }
    }

    fn names(home: &Home) -> Vec<String> {
        let entries = fs::read_dir(home.path().join(DATA)).expect("the data directory");
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_session_in_the_tree_is_read() {
        let home = Home::new();
        write_tree(&home, "ses_1");
        let transcript = home.read();
        let started = expected("assistant text^");
        assert_eq!(describe_messages(&transcript.messages), started);
        assert_eq!(
            (transcript.skipped.unknown, transcript.skipped.broken),
            (1, 1)
        );
        assert_eq!(transcript.head.cwd.as_deref(), Some("/repo"));
        assert_eq!(transcript.head.model.as_deref(), Some("sonnet"));
        let log = &home.locate()[0];
        assert_eq!(log.title.as_deref(), Some("in the tree"));
        assert_eq!(log.parent.as_deref(), Some("ses_0"));
        assert_eq!(log.resume(&transcript.head), None);
    }

    #[test]
    fn a_session_in_a_database_is_read_and_nothing_is_put_beside_it() {
        let home = Home::new();
        home.write(&format!("{DATA}/.keep"), "");
        let path = home.path().join(DATA).join("opencode.db");
        let connection = Connection::open(&path).expect("a database");
        write_database(&connection, "ses_1");
        connection
            .pragma_update(None, "journal_mode", "wal")
            .expect("it can have a write-ahead log");
        drop(connection);
        let before = names(&home);
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            expected("user text")
        );
        assert_eq!(
            (transcript.skipped.unknown, transcript.skipped.broken),
            (1, 1)
        );
        assert_eq!(transcript.head.version.as_deref(), Some("1.2"));
        assert_eq!(names(&home), before);
        let log = &home.locate()[0];
        assert_eq!(
            (log.title.as_deref(), log.modified),
            (Some("in the database"), Some(7))
        );
        let resume = log.resume(&transcript.head).expect("it can be continued");
        assert_eq!(resume.args, ["--session", "ses_1"]);
    }

    #[test]
    fn messages_that_are_only_in_the_write_ahead_log_are_read() {
        let home = Home::new();
        home.write(&format!("{DATA}/.keep"), "");
        let path = home.path().join(DATA).join("opencode-dev?#.db");
        let connection = Connection::open(&path).expect("a database");
        connection
            .pragma_update(None, "journal_mode", "wal")
            .expect("it can have a write-ahead log");
        write_database(&connection, "ses_1");
        // The agent still has it open, so the messages are only in the write-ahead log.
        assert_eq!(
            describe_messages(&home.read().messages),
            expected("user text")
        );
        drop(connection);
    }

    #[cfg(unix)]
    #[test]
    fn a_write_ahead_log_that_a_crash_left_is_read_and_nothing_changes() {
        let home = Home::new();
        let path = home.path().join("live.db");
        let connection = Connection::open(&path).expect("a database");
        connection
            .pragma_update(None, "journal_mode", "wal")
            .expect("it can have a write-ahead log");
        write_database(&connection, "ses_1");
        // What is on disk when the agent dies, after the index of the log has been removed.
        for ending in ["", "-wal"] {
            let bytes = fs::read(home.path().join(format!("live.db{ending}"))).expect("a file");
            home.write(&format!("{DATA}/opencode.db{ending}"), bytes);
        }
        drop(connection);
        let state = || {
            let read = |name: &String| fs::read(home.path().join(DATA).join(name)).expect("a file");
            let names = names(&home);
            names
                .iter()
                .map(read)
                .zip(names.clone())
                .collect::<Vec<_>>()
        };
        let before = state();
        assert_eq!(before.len(), 2);
        assert_eq!(
            describe_messages(&home.read().messages),
            expected("user text")
        );
        assert!(state() == before, "{:?}", names(&home));
    }

    #[cfg(unix)]
    #[test]
    fn a_database_that_is_too_large_is_told_and_one_that_is_no_file_is_left_alone() {
        let home = Home::new();
        home.write(&format!("{DATA}/opencode.db/x"), "");
        assert_eq!(home.locate(), []);
        home.write(&format!("{DATA}/opencode-dev.db"), "");
        let path = home.path().join(DATA).join("opencode-dev.db");
        let file = fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(10 << 30))
            .expect("a size");
        let logs = home.locate();
        let error = read(&logs[0]).expect_err("too large").to_string();
        assert!(
            error.contains("opencode-dev.db: 10240 MB is too large"),
            "{error}"
        );
    }

    #[test]
    fn a_session_that_was_moved_into_the_database_is_found_once() {
        let home = Home::new();
        write_tree(&home, "ses_1");
        let path = home.path().join(DATA).join("opencode.db");
        write_database(&Connection::open(path).expect("a database"), "ses_1");
        let logs = home.locate();
        let titles: Vec<_> = logs.iter().filter_map(|log| log.title.as_deref()).collect();
        assert_eq!(titles, ["in the database"]);
    }

    /// Makes the tables of 2.x, with a session and its messages.
    fn write_second(connection: &Connection, session: &str, messages: &[(&str, &str, &str)]) {
        connection
            .execute_batch(
                "CREATE TABLE session_v2 (id TEXT, parent_id TEXT, fork_session_id TEXT, directory TEXT, title TEXT, version TEXT, time_updated INTEGER);
                 CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT);",
            )
            .expect("tables can be made");
        connection
            .execute(
                "INSERT INTO session_v2 VALUES (?1, NULL, 'ses_0', '/repo', 'in the new tables', '2.0.12', 9)",
                [session],
            )
            .expect("a session can be added");
        for (seq, (id, kind, data)) in (1_i64..).zip(messages) {
            connection
                .execute(
                    "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, 1785578400000, ?5)",
                    (id, session, kind, seq, data),
                )
                .expect("a message can be added");
        }
    }

    #[test]
    fn the_tables_of_version_2_are_read_and_come_before_the_old_ones() {
        let home = Home::new();
        home.write(&format!("{DATA}/.keep"), "");
        let path = home.path().join(DATA).join("opencode.db");
        let connection = Connection::open(&path).expect("a database");
        write_database(&connection, "ses_1");
        let messages = [
            (
                "msg_2",
                "user",
                r#"{"text":"copied","time":{"created":1785578402000}}"#,
            ),
            ("msg_3", "user", r#"{"text":"go on","files":[]}"#),
            (
                "msg_4",
                "assistant",
                r#"{"model":{"id":"opus","providerID":"a"},"content":[{"type":"reasoning","text":"hm"},{"type":"text","text":"sure"},{"type":"tool","id":"c1","name":"bash","state":{"status":"completed","input":{"command":"ls"},"content":[{"type":"text","text":"files"}]}},{"type":"tool","id":"c2","name":"task","state":{"status":"error","input":{},"error":{"message":"denied"},"metadata":{"sessionId":"ses_2"}}},{"type":"tool","id":"c3","name":"read","state":{"status":"streaming","input":"{\"pa"}}]}"#,
            ),
            (
                "msg_5",
                "shell",
                r#"{"command":"make","output":{"output":"built"}}"#,
            ),
            ("msg_6", "synthetic", r#"{"text":"put in"}"#),
            ("msg_7", "compaction", r#"{"summary":"so far"}"#),
            ("msg_8", "idle", "{}"),
            ("msg_9", "novel", "{}"),
        ];
        write_second(&connection, "ses_1", &messages);
        drop(connection);
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 user text: hello",
                "1 system text*: file content",
                "2 user text: copied",
                "3 user text: go on",
                "4 assistant thinking: hm",
                "4 assistant text: sure",
                "4 assistant tool-call bash: command: ls",
                "4 tool tool-result bash: files",
                "4 assistant tool-call task: ",
                "4 tool tool-result task: denied",
                "4 assistant tool-call read: {\"pa",
                "5 user text: ! make",
                "5 tool tool-result shell: built",
                "6 system text*: put in",
                "7 system notice*: so far",
            ]
        );
        assert_eq!(transcript.skipped.unknown, 1);
        assert_eq!(transcript.messages[9].subagent.as_deref(), Some("ses_2"));
        assert_eq!(transcript.head.fork_of.as_deref(), Some("ses_0"));
        assert_eq!(transcript.head.version.as_deref(), Some("2.0.12"));
        let log = &home.locate()[0];
        assert_eq!(log.title.as_deref(), Some("in the new tables"));
        assert_eq!(unreadable(&LogLocations::of_home(home.path())), []);
    }

    #[test]
    fn a_database_of_unknown_tables_is_told_with_their_names() {
        let home = Home::new();
        home.write(&format!("{DATA}/.keep"), "");
        let path = home.path().join(DATA).join("opencode.db");
        let connection = Connection::open(&path).expect("a database");
        connection
            .execute_batch("CREATE TABLE session_v3 (id TEXT); CREATE TABLE account (id TEXT);")
            .expect("tables can be made");
        drop(connection);
        assert_eq!(home.locate(), []);
        let why = "its tables are of an unknown version: session_v3".to_owned();
        assert_eq!(
            unreadable(&LogLocations::of_home(home.path())),
            [(path, why)]
        );
    }

    #[test]
    fn a_file_that_is_no_database_holds_no_sessions_and_reading_it_names_it() {
        let home = Home::new();
        home.write(
            &format!("{DATA}/opencode.db"),
            "not a database at all, but long enough",
        );
        assert_eq!(home.locate(), []);
        let told = unreadable(&LogLocations::of_home(home.path()));
        assert!(told[0].1.contains("cannot be read"), "{told:?}");
        let path = home.path().join(DATA).join("opencode.db");
        let log = super::super::fixture::log(Agent::Opencode, &path);
        let error = read(&log).expect_err("it cannot be read");
        assert!(error.to_string().contains("opencode.db"), "{error}");
    }
}
