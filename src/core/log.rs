//! The logs of coding agents: finds them and decodes their messages.
//!
//! Each agent has a file under `log/` and a row in `FORMATS`. Logs are only read, and
//! nothing here reads the environment, the home directory or the clock: the caller passes
//! [`LogLocations`]. Broken records are skipped and counted in [`Skipped`], never an error.
//!
//! A log of independent records is decoded line by line by a [`Decoder`], whose [`Carry`]
//! can be stored, so that only the new lines of a grown log are read. A log whose lines
//! change earlier ones (Gemini) or that is not made of records (OpenCode, Aider, compressed
//! files) is read whole. [`read`] handles both.

mod aider;
mod amp;
mod antigravity;
mod asked;
mod claude;
mod cline;
mod codex;
mod codex_jobs;
mod content;
mod copilot;
mod copilot_chat;
mod crush;
mod cursor;
mod database;
mod decode;
mod events;
mod factory;
#[cfg(test)]
mod fixture;
mod fork;
mod gemini;
mod goose;
mod grok;
mod head;
mod hermes;
pub mod json;
pub mod keep;
mod kimi;
mod kiro;
mod location;
mod openclaw;
mod opencode;
mod openhands;
pub mod origin;
mod pi;
mod probe;
mod protobuf;
mod qwen;
pub mod reader;
mod resume;
mod session;
mod sink;
pub mod touch;
pub mod turn;
mod vibe;
mod warp;
mod zed;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use codex_jobs::{MemoryJob, memory_database, memory_jobs};
pub use decode::{Decoder, read, read_each};
pub use head::{Head, Skipped, TitleSource, says_something};
pub use location::LogLocations;
pub(in crate::core) use location::folder_of_workspace;
pub use probe::{NotUnderstood, not_understood};
pub use resume::{Resume, quoted};
pub use sink::{Carry, call_mark};

use decode::Decode;
use resume::option;

/// An agent, or a layout of tome, whose logs can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// OpenAI Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot CLI.
    Copilot,
    /// OpenCode.
    Opencode,
    /// Aider.
    Aider,
    /// pi.
    Pi,
    /// Factory's droid.
    Factory,
    /// Cursor's agent transcripts, its editor's sessions and the chats of its command line.
    Cursor,
    /// Copilot Chat in VS Code and in editors made from it.
    CopilotChat,
    /// Google's Antigravity.
    Antigravity,
    /// Cline.
    Cline,
    /// Qwen Code.
    Qwen,
    /// Kiro.
    Kiro,
    /// Kimi Code and Kimi CLI.
    Kimi,
    /// Goose.
    Goose,
    /// Crush.
    Crush,
    /// OpenClaw.
    Openclaw,
    /// Hermes.
    Hermes,
    /// Mistral's Vibe.
    Vibe,
    /// Grok Build.
    Grok,
    /// Amp.
    Amp,
    /// OpenHands.
    Openhands,
    /// Zed's agent.
    Zed,
    /// Warp's agent.
    Warp,
    /// `messages.jsonl` of the session layout.
    Session,
    /// `events.jsonl` of the events layout.
    Events,
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user. Text that only stands in the user's place is its real sender's.
    User,
    /// The model; with [`Origin::Agent`], another agent.
    Assistant,
    /// The agent's program.
    System,
    /// A tool.
    Tool,
}

impl Role {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

/// The kind of content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageKind {
    /// Text.
    Text,
    /// The model's reasoning.
    Thinking,
    /// A tool's name and its input.
    ToolCall,
    /// The output of a tool.
    ToolResult,
    /// A note of the agent's program, such as a compaction or an error, or an image's placeholder.
    Notice,
}

/// How a message came into the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Written by the sender that the role names.
    Written,
    /// Written by another agent for this one: a subagent's task, a message between agents.
    Agent,
    /// Injected by the agent's program: reminders, instructions, hook output.
    Injected,
}

/// A message of a log; a record with several blocks gives several messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The record's line in the file, from 1; its ordinal if the log has no lines.
    pub line: u64,
    /// The sender.
    pub role: Role,
    /// The kind of content.
    pub kind: MessageKind,
    /// Written or injected.
    pub origin: Origin,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The decoded text, control characters included; see [`crate::core::text::clean()`].
    pub text: String,
    /// The record's own id; copies of a record in other logs share it.
    pub id: Option<String>,
    /// The id that the records of one reply share.
    pub reply: Option<String>,
    /// The tool's name, for calls and results.
    pub tool: Option<String>,
    /// The session it belongs to, if the log holds several.
    pub session: Option<String>,
    /// The id that a tool call and its result share.
    pub call: Option<String>,
    /// The id of the log of the subagent that a call started, on the call's result; of the one that
    /// said it, if the log also tells what its subagents did.
    pub subagent: Option<String>,
}

/// A log found on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// The agent or layout of the log.
    pub agent: Agent,
    /// The file, or the database that holds it.
    pub path: PathBuf,
    /// The session's id, from the file's name or the database's key.
    pub id: String,
    /// The id of the session that started this one as a subagent, if known without reading it.
    pub parent: Option<String>,
    /// The title in an index or a metadata file beside the log, or in the database.
    pub title: Option<String>,
    /// Its size in bytes; 0 in a database.
    pub size: u64,
    /// The modification time, in milliseconds since 1970 UTC.
    pub modified: Option<i64>,
    /// What changes with the log even if its size and its time do not: the time at which the file
    /// system noted a change of the file, or the number of a session's rows.
    #[serde(default)]
    pub changed: Option<i64>,
    /// Where it begins in its file; not at 0 only in a file of several sessions.
    #[serde(default)]
    pub start: LogStart,
    /// Of a copy that was kept, the log that it was made of.
    #[serde(skip)]
    pub original: Option<Box<keep::Original>>,
}

/// Where a session begins in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogStart {
    /// The number of bytes before it.
    pub bytes: u64,
    /// The number of lines before it.
    pub lines: u64,
}

/// The largest number of messages in a [`Transcript`].
pub const MOST_MESSAGES: usize = 500_000;

/// The content of a whole log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// The metadata.
    pub head: Head,
    /// The messages, in the order of the file.
    pub messages: Vec<Message>,
    /// The counts of skipped lines and records.
    pub skipped: Skipped,
}

/// How a log must be read.
#[derive(Debug)]
pub enum ReadMode {
    /// Line by line; a cache may stop after any line and continue later.
    Lines(Box<Decoder>),
    /// From the beginning after every change, by [`read`].
    Whole,
}

/// What is specific to one agent.
struct Format {
    agent: Agent,
    name: &'static str,
    locate: fn(&LogLocations) -> Vec<LogFile>,
    decode: Decode,
    resume: fn(&LogFile, &Head) -> Option<Resume>,
}

/// All agents, each once.
const FORMATS: &[Format] = &[
    claude::FORMAT,
    codex::FORMAT,
    gemini::FORMAT,
    copilot::FORMAT,
    opencode::FORMAT,
    aider::FORMAT,
    pi::FORMAT,
    factory::FORMAT,
    cursor::FORMAT,
    copilot_chat::FORMAT,
    antigravity::FORMAT,
    cline::FORMAT,
    qwen::FORMAT,
    kiro::FORMAT,
    kimi::FORMAT,
    goose::FORMAT,
    crush::FORMAT,
    openclaw::FORMAT,
    hermes::FORMAT,
    vibe::FORMAT,
    grok::FORMAT,
    amp::FORMAT,
    openhands::FORMAT,
    zed::FORMAT,
    warp::FORMAT,
    session::FORMAT,
    events::FORMAT,
];

impl Agent {
    /// Returns every agent whose logs can be read.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        FORMATS.iter().map(|format| format.agent)
    }

    /// Returns the agent with that name; `claude` is Claude Code.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "claude" {
            "claude-code"
        } else {
            name
        };
        FORMATS
            .iter()
            .find(|format| format.name == name)
            .map(|format| format.agent)
    }

    /// Returns the agent's name, as used on the command line.
    pub fn name(self) -> &'static str {
        self.format().name
    }

    /// Returns one word to label the agent's messages with: `agent` for the layouts of tome, whose
    /// logs any agent may write.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Session | Self::Events => "agent",
            agent => agent.name().split('-').next().unwrap_or_default(),
        }
    }

    fn format(self) -> &'static Format {
        FORMATS
            .iter()
            .find(|format| format.agent == self)
            .expect("every agent has a row in FORMATS")
    }
}

impl LogFile {
    /// Returns a log of which nothing else is known.
    pub fn new(agent: Agent, path: impl Into<PathBuf>, id: impl Into<String>) -> Self {
        Self {
            agent,
            path: path.into(),
            id: id.into(),
            parent: None,
            title: None,
            size: 0,
            modified: None,
            changed: None,
            start: LogStart::default(),
            original: None,
        }
    }

    /// Returns how this log must be read.
    pub fn read_mode(&self) -> ReadMode {
        let is_by_records = self.agent.format().decode.is_by_records(&self.path);
        if is_by_records && !location::is_compressed(&self.path) {
            ReadMode::Lines(Box::new(Decoder::new(&self.as_written())))
        } else {
            ReadMode::Whole
        }
    }

    /// Whether the log is in a database, beside which reading may change files.
    pub fn is_in_database(&self) -> bool {
        let ending = self.path.extension();
        let endings = ["db", "sqlite", "sqlite3", "vscdb"];
        ending.is_some_and(|ending| endings.iter().any(|known| ending == *known))
    }

    /// Returns the agent's own command that continues this session, if it has one.
    pub fn resume(&self, head: &Head) -> Option<Resume> {
        let resume = self.agent.format().resume;
        let Some(original) = &self.original else {
            return resume(self, head);
        };
        let original = Self {
            path: original.path.clone(),
            id: original.id.clone(),
            ..self.clone()
        };
        resume(&original, head)
    }

    /// Returns it as its reader knows it: an earlier copy has the id of its session.
    fn as_written(&self) -> Cow<'_, Self> {
        match &self.original {
            Some(original) if original.id != self.id => Cow::Owned(Self {
                id: original.id.clone(),
                ..self.clone()
            }),
            _ => Cow::Borrowed(self),
        }
    }

    /// Sets what the place of a log and the files beside it told, if this is a copy of it.
    fn describe_copy(&self, head: &mut Head) {
        let Some(original) = self.original.as_ref().map(|original| &original.head) else {
            return;
        };
        head.set_title(original.naming, original.title.clone().unwrap_or_default());
        for (own, known) in [
            (&mut head.session, &original.session),
            (&mut head.cwd, &original.cwd),
            (&mut head.branch, &original.branch),
            (&mut head.version, &original.version),
            (&mut head.parent, &original.parent),
            (&mut head.fork_of, &original.fork_of),
            (&mut head.model, &original.model),
        ] {
            if known.is_some() {
                own.clone_from(known);
            }
        }
        head.extend_span(original.first);
        head.extend_span(original.last);
    }
}

/// Returns every log in `locations`, agent by agent, each agent's sorted by path.
///
/// Directories that are missing or cannot be read are ignored.
pub fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut all = Vec::new();
    for format in FORMATS {
        let mut found = (format.locate)(locations);
        locations.remove_untrusted(&mut found);
        found.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| a.id.cmp(&b.id)));
        all.append(&mut found);
    }
    all
}

/// Returns the id of a log with a mark of its place, which tells it from others with that id: a session
/// that was copied to another project keeps its id. A kept copy has the mark of its original.
pub fn marked_id(id: &str, path: &Path) -> String {
    let place = location::tail(path);
    let hash = blake3::hash(place.as_os_str().as_encoded_bytes()).to_hex();
    format!("{id}@{}", &hash[..8])
}

/// Whether `name` names the log with this id and path: by its id alone, or with its mark.
pub fn is_named(name: &str, id: &str, path: &Path) -> bool {
    match name.strip_prefix(id) {
        Some("") => true,
        Some(mark) => mark.starts_with('@') && name == marked_id(id, path),
        None => false,
    }
}

/// The projects whose logs do not name them, by the hash of a path that such a log has instead.
#[derive(Debug, Clone, Default)]
pub struct HashedProjects(HashMap<String, String>);

impl HashedProjects {
    /// Returns these directories by their hashes.
    pub fn new<'a>(directories: impl IntoIterator<Item = &'a str>) -> Self {
        let hashed = directories.into_iter();
        Self(
            hashed
                .map(|path| (gemini::hash_of(path), path.to_owned()))
                .collect(),
        )
    }

    /// Returns the project of the log in this file, if it has the hash of one of them.
    pub fn project(&self, agent: Agent, path: &Path) -> Option<&str> {
        let hash = match agent {
            Agent::Gemini => gemini::project_hash(path)?,
            _ => return None,
        };
        self.0.get(&hash).map(String::as_str)
    }
}

/// The `resume` of agents without a resume command.
fn no_resume(_: &LogFile, _: &Head) -> Option<Resume> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixture::{Home, check_cases};

    #[test]
    fn every_agent_has_one_row_and_is_found_by_its_name() {
        for agent in Agent::all() {
            assert_eq!(Agent::named(agent.name()), Some(agent));
        }
        assert!(Agent::all().is_sorted(), "logs are listed in this order");
        assert_eq!(Agent::all().count(), 27);
        assert_eq!(Agent::named("nobody"), None);
    }

    #[test]
    fn every_case_of_the_agents_logs_is_read() {
        check_cases("logs", |case| fixture::describe_logs(&case.home));
    }

    #[test]
    fn an_id_or_a_directory_that_looks_like_an_option_is_none() {
        let id = "--dangerously-skip-permissions";
        assert_eq!(option("--resume", id), [format!("--resume={id}")]);
        assert_eq!(option("--resume", "s1"), ["--resume", "s1"]);
        let line = |cwd: &str| {
            let resume = Resume {
                program: "claude",
                args: option("--resume", id),
                cwd: Some(cwd.into()),
            };
            resume.command_line()
        };
        assert_eq!(line("-"), format!("cd -- ./- && claude --resume={id}"));
        assert_eq!(line("/shop"), format!("cd /shop && claude --resume={id}"));
    }

    #[test]
    fn a_copied_command_has_no_control_characters() {
        let resume = Resume {
            program: "claude",
            args: vec!["a\u{1b}]52;c;eA==\u{7}'\u{202e}\n".to_owned()],
            cwd: None,
        };
        assert_eq!(
            resume.command_line(),
            "claude $'a\\033]52;c;eA==\\007\\'\\342\\200\\256\\012'"
        );
    }

    #[test]
    fn a_better_title_stays_and_a_later_one_of_its_kind_wins() {
        let mut head = Head::default();
        head.set_title(TitleSource::Ai, "made".to_owned());
        head.set_title(TitleSource::Summary, "summed up".to_owned());
        assert_eq!(head.title.as_deref(), Some("made"));
        head.set_title(TitleSource::Custom, "given".to_owned());
        head.set_title(TitleSource::Custom, "given again".to_owned());
        head.set_title(TitleSource::Custom, " ".to_owned());
        for untold in ["New Session", "New session - 2026-08-01T10:00:00.000Z"] {
            head.set_title(TitleSource::Custom, untold.to_owned());
        }
        assert_eq!(head.title.as_deref(), Some("given again"));
    }

    #[test]
    fn the_span_of_a_log_does_not_depend_on_the_order_of_its_records() {
        let mut head = Head::default();
        for time in [Some(5), None, Some(2), Some(9), Some(3)] {
            head.extend_span(time);
        }
        assert_eq!((head.first, head.last), (Some(2), Some(9)));
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(64))]
        #[test]
        fn no_bytes_of_a_file_make_a_reader_panic(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
            at in 0usize..700,
            cut in 0usize..40,
        ) {
            let whole = r#"{"requests":[{"message":{"text":"a"},"response":[{"value":"b"},{"kind":"inlineReference","inlineReference":{"path":"c"}},{"kind":"toolInvocationSerialized","toolCallId":"d","resultDetails":{"output":[{"value":"e"}]}}],"result":{"metadata":{"toolCallRounds":[{"toolCalls":[{"id":"d"}]}],"toolCallResults":{"d":{"content":[{"value":{"node":{"children":[{"text":"f"}]}}}]}}}}}],"messages":[{"role":"user","content":[{"type":"text","text":"<task>g</task>"},{"type":"text","text":"[h] Result:"}]}],"history":[{"user":{"content":{"Prompt":{"prompt":"i"}}},"assistant":{"Response":{"content":"j"}}},{"message":{"role":"user","content":"k"}}],"kind":2,"k":["requests",0],"v":[{}],"i":1,"type":"turn.prompt","input":"l","payload":{"type":"user"},"data":{"content":[]}}"#;
            let mut given = whole.as_bytes().to_vec();
            let to = (at + cut).min(given.len());
            given.splice(at.min(to)..to, bytes);
            let lines = [br#"{"kind":0,"v":"#.as_slice(), &given, b"}\n", &given, b"\n"].concat();
            let home = Home::new();
            for (name, content) in [("log.json", &given), ("log.jsonl", &lines)] {
                home.write(name, content);
                for agent in Agent::all() {
                    drop(read(&fixture::log(agent, &home.path().join(name))));
                }
            }
        }
    }

    #[test]
    fn places_that_are_not_there_hold_no_logs() {
        assert_eq!(Home::new().locate(), []);
    }
}
