//! Raw conversations of coding agents: where they lie and what was said in them.
//!
//! One agent a file under `log/`, one row an agent in `FORMATS`. A log is never
//! written, and nothing here reads the environment, the home directory or the clock:
//! a door hands in [`LogLocations`]. Logs are read as they are found: what is broken is
//! skipped and counted in [`Skipped`], never an error.
//!
//! A log whose lines stand for themselves is fed line by line to a [`Decoder`], whose
//! [`Carry`] can be kept, so that a log that has grown costs only its new lines. A log
//! that takes things back (Gemini) or is no file of lines (OpenCode, Aider, anything
//! compressed) is read whole. [`read`] does either.

mod aider;
mod claude;
mod clean;
mod codex;
mod content;
mod copilot;
mod cursor;
mod decode;
mod events;
mod factory;
#[cfg(test)]
mod fixture;
mod gemini;
pub mod json;
mod location;
mod opencode;
pub mod origin;
mod pi;
mod session;
mod sink;
pub mod turn;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::Result;
use crate::core::hidden::is_hidden;

pub use clean::clean;
pub use decode::{Decoder, read};
pub use location::LogLocations;
pub use sink::Carry;

use decode::Decode;

/// An agent, or a layout of ours, whose logs can be read.
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
    /// Cursor's agent transcripts.
    Cursor,
    /// `messages.jsonl` of the session layout.
    Session,
    /// `events.jsonl` of the events layout.
    Events,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or what the agent's program says in the person's place.
    User,
    /// The model.
    Assistant,
    /// The agent's program.
    System,
    /// A tool.
    Tool,
}

/// What a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageKind {
    /// Words.
    Text,
    /// The model's reasoning.
    Thinking,
    /// A tool's name and its input.
    ToolCall,
    /// What a tool gave back.
    ToolResult,
    /// Something the program noted: a compaction, an error, a model change.
    Notice,
}

/// Whether somebody said it or the program put it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Said by the one whose role it bears.
    Written,
    /// Put into the conversation by the program: reminders, instructions, hook output.
    Injected,
}

/// One thing said in a log; a record with several blocks gives several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The record's line in the file, from 1; its ordinal where there are no lines.
    pub line: u64,
    /// Who speaks.
    pub role: Role,
    /// What it is made of.
    pub kind: MessageKind,
    /// Written or injected.
    pub origin: Origin,
    /// When, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The decoded text; control characters are still in it, see [`clean()`].
    pub text: String,
    /// The record's own id; copies of a record in other logs share it.
    pub id: Option<String>,
    /// What the records of one reply share.
    pub reply: Option<String>,
    /// The tool's name.
    pub tool: Option<String>,
    /// The session it belongs to, where one log holds several.
    pub session: Option<String>,
}

/// Where a title comes from; a later one is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TitleSource {
    /// There is none.
    #[default]
    None,
    /// A summary made by the agent.
    Summary,
    /// A title made by the agent.
    Ai,
    /// A title given by the person.
    Custom,
}

/// What a log says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// The session's id as its records give it.
    pub session: Option<String>,
    /// The best title so far.
    pub title: Option<String>,
    /// Where the title comes from.
    pub naming: TitleSource,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The model that spoke last.
    pub model: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// The session that started this one as a subagent.
    pub parent: Option<String>,
    /// The session of which this one is a copy.
    pub fork_of: Option<String>,
    /// The earliest time of any message.
    pub first: Option<i64>,
    /// The latest time of any message.
    pub last: Option<i64>,
    /// The first thing that a person wrote, cut to a line's length.
    pub first_prompt: Option<String>,
    /// The last thing that a person wrote, cut likewise.
    pub last_prompt: Option<String>,
    /// How many prompts a person wrote.
    pub turns: u64,
}

/// How many lines gave no message, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skipped {
    /// Nothing on the line.
    pub blank: u64,
    /// No JSON, or a record cut short by another.
    pub broken: u64,
    /// JSON, but no object.
    pub not_object: u64,
    /// Bytes that are not UTF-8; the text was kept, with U+FFFD in their place.
    pub not_utf8: u64,
    /// A record of a type that is not known here.
    pub unknown: u64,
    /// Nothing but NUL bytes, as a crash leaves them.
    pub nul: u64,
    /// A last line without an end that is no whole record yet.
    pub partial: u64,
}

/// A log as it was found on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// Whose it is.
    pub agent: Agent,
    /// The file, or the database that holds it.
    pub path: PathBuf,
    /// The session's id, from the file's name or the database's key.
    pub id: String,
    /// The id of the session that started this one as a subagent, where the place tells.
    pub parent: Option<String>,
    /// What an index beside the log calls it.
    pub title: Option<String>,
    /// Its size in bytes; 0 in a database.
    pub size: u64,
    /// When it was changed, in milliseconds since 1970 UTC.
    pub modified: Option<i64>,
}

/// A log read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// What it says of itself.
    pub head: Head,
    /// What was said, in the order of the file.
    pub messages: Vec<Message>,
    /// What gave no message.
    pub skipped: Skipped,
}

/// How the log must be read.
#[derive(Debug)]
pub enum ReadMode {
    /// Line by line; a cache may stop anywhere and go on later.
    Lines(Box<Decoder>),
    /// From its beginning, every time it has changed, by [`read`].
    Whole,
}

/// The agent's own command that continues a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it must be started.
    pub cwd: Option<PathBuf>,
}

impl Resume {
    /// The command as a shell takes it, the way to its directory included.
    pub fn command_line(&self) -> String {
        let words: Vec<String> = std::iter::once(self.program)
            .chain(self.args.iter().map(String::as_str))
            .map(quoted)
            .collect();
        let line = words.join(" ");
        match &self.cwd {
            Some(cwd) => format!("cd {} && {line}", quoted(&cwd.to_string_lossy())),
            None => line,
        }
    }
}

/// A word as a shell takes it. What is hidden is written out, so that a command can be copied and
/// pasted without anything in it acting on a terminal.
fn quoted(word: &str) -> String {
    if word.contains(is_hidden) {
        let mut out = String::from("$'");
        for c in word.chars() {
            match c {
                '\'' | '\\' => out.extend(['\\', c]),
                c if is_hidden(c) => {
                    // Byte by byte: every shell that knows such quotes takes these.
                    let bytes = c.encode_utf8(&mut [0; 4]).bytes().collect::<Vec<u8>>();
                    bytes
                        .iter()
                        .for_each(|byte| out.push_str(&format!("\\{byte:03o}")));
                }
                c => out.push(c),
            }
        }
        return out + "'";
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// An agent's row: all that the rest of the program asks of it.
struct Format {
    agent: Agent,
    name: &'static str,
    locate: fn(&LogLocations) -> Vec<LogFile>,
    decode: Decode,
    resume: fn(&LogFile, &Head) -> Option<Resume>,
}

/// Every agent, once.
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
    session::FORMAT,
    events::FORMAT,
];

impl Agent {
    /// Returns every agent whose logs can be read.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|format| format.agent)
    }

    /// Returns the agent of that name.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS
            .iter()
            .find(|format| format.name == name)
            .map(|format| format.agent)
    }

    /// Returns the agent's name, as people type it.
    pub fn name(self) -> &'static str {
        self.format().name
    }

    /// Returns what it is called where it speaks: one word, and of layouts of ours, whose logs any
    /// agent may write, just that.
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
    /// Tells how this log must be read.
    pub fn read_mode(&self) -> ReadMode {
        match self.agent.format().decode {
            Decode::Records(_) if !location::is_compressed(&self.path) => {
                ReadMode::Lines(Box::new(Decoder::new(self)))
            }
            _ => ReadMode::Whole,
        }
    }

    /// Returns the agent's own command that continues this session, where it has one.
    pub fn resume(&self, head: &Head) -> Option<Resume> {
        (self.agent.format().resume)(self, head)
    }
}

impl Skipped {
    /// Returns how many lines or records gave no message.
    pub fn total(&self) -> u64 {
        self.blank + self.broken + self.not_object + self.unknown + self.nul + self.partial
    }
}

impl Head {
    /// Takes `title` unless there is one of a better kind.
    pub fn set_title(&mut self, naming: TitleSource, title: String) {
        if naming >= self.naming && !title.trim().is_empty() {
            self.naming = naming;
            self.title = Some(title);
        }
    }

    /// Widens the span of the log so that `time` is in it.
    pub fn extend_span(&mut self, time: Option<i64>) {
        let Some(time) = time else { return };
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }
}

/// Returns every log in `locations`, agent by agent, each agent's sorted by path.
///
/// What cannot be read is left out: a place that an agent never made is no error.
pub fn locate(locations: &LogLocations) -> Vec<LogFile> {
    FORMATS
        .iter()
        .flat_map(|format| {
            let mut found = (format.locate)(locations);
            found.retain(|log| locations.trusts(log));
            found.sort_by(|a, b| (&a.path, &a.id).cmp(&(&b.path, &b.id)));
            found
        })
        .collect()
}

/// A resume command for agents that have none.
fn no_resume(_: &LogFile, _: &Head) -> Option<Resume> {
    None
}

/// The result of reading a log whole.
type ReadWhole = fn(&LogFile) -> Result<Transcript>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_one_row_and_is_found_by_its_name() {
        for agent in Agent::all() {
            assert_eq!(Agent::named(agent.name()), Some(agent));
        }
        assert_eq!(Agent::all().count(), 11);
        assert_eq!(Agent::named("nobody"), None);
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

    #[test]
    fn words_are_quoted_where_a_shell_would_see_more_than_a_word() {
        assert_eq!(quoted("/home/kim/shop"), "/home/kim/shop");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a\u{1b}]0;x\u{7}'"), "$'a\\033]0;x\\007\\''");
        assert_eq!(quoted("a\u{202e}b"), "$'a\\342\\200\\256b'");
    }

    #[test]
    fn places_that_are_not_there_hold_no_logs() {
        let home = tempfile::tempdir().expect("a directory");
        assert_eq!(locate(&LogLocations::of_home(home.path())), []);
    }
}
