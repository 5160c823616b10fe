//! Logs and home directories for tests.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{Agent, LogFile, LogLocations, LogStart, Message, Transcript, locate, read};

/// A home directory that is deleted when the test ends.
pub(super) struct Home(TempDir);

impl Home {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and creates the directories above it.
    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        let directory = path.parent().expect("a file in a directory");
        fs::create_dir_all(directory).expect("directories can be made");
        fs::write(path, bytes).expect("files can be written");
    }

    /// Finds the logs of the home.
    pub(super) fn locate(&self) -> Vec<LogFile> {
        locate(&LogLocations::of_home(self.path()))
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
    LogFile {
        agent,
        path: path.to_owned(),
        id: "log".to_owned(),
        parent: None,
        title: None,
        size: 0,
        modified: None,
        start: LogStart::default(),
        changed: None,
        original: None,
    }
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
                super::Origin::Written => "",
                super::Origin::Agent => "^",
                super::Origin::Injected => "*",
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
