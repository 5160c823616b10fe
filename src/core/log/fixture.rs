//! Logs for tests, and how they are told.

use std::fmt::Write as _;
use std::path::Path;

use super::{Agent, LogFile, LogLocations, Message, Transcript, locate, not_understood};
use super::{Origin, read};
use crate::core::fixture::Home;

impl Home {
    /// Finds the logs of the home.
    pub(super) fn locate(&self) -> Vec<LogFile> {
        locate(&LogLocations::of_home(&self.path()))
    }

    /// Finds and reads the only log of the home.
    pub(super) fn read(&self) -> Transcript {
        let logs = self.locate();
        assert_eq!(logs.len(), 1, "{logs:?}");
        read(&logs[0]).expect("the log can be read")
    }
}

/// Reads `bytes` as a log of `agent` with the id `log`.
pub(super) fn read_bytes(agent: Agent, bytes: impl AsRef<[u8]>) -> Transcript {
    let home = Home::new();
    home.write("log.jsonl", bytes);
    read(&log(agent, &home.path().join("log.jsonl"))).expect("the log can be read")
}

/// Describes a log, whether or not its file exists.
pub(super) fn log(agent: Agent, path: &Path) -> LogFile {
    LogFile::new(agent, path, "log")
}

/// Returns a string per message: line, role, kind, `*` if injected and `^` if of another agent, tool, text.
pub(super) fn describe_messages(messages: &[Message]) -> Vec<String> {
    let word = |value: serde_json::Result<String>| value.expect("plain words").replace('"', "");
    messages
        .iter()
        .map(|message| {
            let role = word(serde_json::to_string(&message.role));
            let kind = word(serde_json::to_string(&message.kind));
            let mark = match message.origin {
                Origin::Written => "",
                Origin::Agent => "^",
                Origin::Injected => "*",
            };
            let tool = message.tool.as_deref().map(|tool| format!(" {tool}"));
            let tool = tool.unwrap_or_default();
            format!(
                "{} {role} {kind}{mark}{tool}: {}",
                message.line, message.text
            )
        })
        .collect()
}

/// Returns where logs of a case are. The store of its home is `store`, and the project `repo`.
pub(super) fn case_locations(home: &Home) -> LogLocations {
    let root = home.path();
    LogLocations {
        stores: vec![root.join("store")],
        projects: vec![root.join("repo")],
        ..LogLocations::of_home(&root)
    }
}

/// Returns all that is known of the logs of a case.
pub(super) fn describe_logs(home: &Home) -> String {
    let files = home.files();
    let locations = case_locations(home);
    let logs = locate(&locations);
    let mut told = String::new();
    for log in &logs {
        describe_log(&mut told, log).expect("strings can be written to");
    }
    for strange in not_understood(&locations, &logs) {
        let path = strange.path.display();
        writeln!(told, "not understood: {path}: {}", strange.why).expect("written");
    }
    assert_eq!(home.files(), files, "reading leaves no files behind");
    told
}

fn describe_log(told: &mut String, log: &LogFile) -> std::fmt::Result {
    writeln!(told, "{} {}", log.agent.name(), log.id)?;
    writeln!(told, "  in {}", log.path.display())?;
    let listed = [("listed parent", &log.parent), ("listed title", &log.title)];
    for (name, value) in listed {
        value
            .iter()
            .try_for_each(|value| writeln!(told, "  {name}: {value}"))?;
    }
    let file = log.path.metadata().expect("a file");
    if log.size > 0 && log.size != file.len() {
        let end = log.start.bytes + log.size;
        writeln!(told, "  bytes: {}..{end}", log.start.bytes)?;
    }
    let time = jiff::Timestamp::try_from(file.modified().expect("a time")).expect("a time");
    if log.modified != Some(time.as_millisecond()) {
        let modified = log.modified.map_or("unknown".to_owned(), of_milliseconds);
        writeln!(told, "  modified: {modified}")?;
    }
    let transcript = match read(log) {
        Ok(transcript) => transcript,
        Err(error) => return writeln!(told, "  error: {error}"),
    };
    let head = serde_json::to_value(&transcript.head).expect("an object");
    let skipped = serde_json::to_value(transcript.skipped).expect("an object");
    for (kind, counted) in [("", &head), ("skipped ", &skipped)] {
        for (name, value) in counted.as_object().expect("an object") {
            let value = match value {
                serde_json::Value::String(text) if text != "none" => text.replace('\n', "\\n"),
                serde_json::Value::Number(number) => match (&**name, number.as_i64()) {
                    (_, Some(0)) => continue,
                    ("first" | "last", Some(time)) => of_milliseconds(time),
                    _ => number.to_string(),
                },
                serde_json::Value::Array(all) if !all.is_empty() => all.len().to_string(),
                _ => continue,
            };
            writeln!(told, "  {kind}{name}: {value}")?;
        }
    }
    if let Some(resume) = log.resume(&transcript.head) {
        writeln!(told, "  resume: {}", resume.command_line())?;
    }
    let lines = describe_messages(&transcript.messages);
    for (line, message) in lines.iter().zip(&transcript.messages) {
        let more = [
            ("id", message.id.clone()),
            ("reply", message.reply.clone()),
            ("session", message.session.clone()),
            ("call", message.call.clone()),
            ("subagent", message.subagent.clone()),
            ("at", message.time.map(of_milliseconds)),
        ];
        let more = more
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        let more: Vec<String> = more.collect();
        let more = if more.is_empty() {
            String::new()
        } else {
            format!("  [{}]", more.join(", "))
        };
        writeln!(told, "{}{more}", line.replace('\n', "\\n"))?;
    }
    writeln!(told)
}

fn of_milliseconds(time: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(time).expect("a time");
    time.to_string()
}
