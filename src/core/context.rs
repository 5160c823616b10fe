//! What an agent loads by itself when it starts in a directory: instruction files, their imports,
//! rules, memory; in the order in which the agent sends them to its model.
//!
//! Each agent is a module with that agent's own rules. A [`Piece`] has the text that is sent,
//! without the headings that the agent puts around it. A file that another one imports in the
//! middle of a line splits it, so one file can be several pieces.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod glob;
mod opencode;

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use super::config::Settings;
use super::discover::{Environment, project_border};
use super::foreign::{LARGEST_WHOLE, read_capped};
use super::log::Agent;
use super::trust::Refusal;
use super::{Error, Result};

/// The agents whose rules are known.
pub const AGENTS: [Agent; 5] = [
    Agent::ClaudeCode,
    Agent::Codex,
    Agent::Gemini,
    Agent::Opencode,
    Agent::Copilot,
];

/// How many characters are counted as one token.
pub const CHARACTERS_PER_TOKEN: usize = 4;

/// Where an agent starts; provided by the caller.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The working directory and the directories of agents.
    pub environment: &'a Environment,
    /// The user's settings, which say what projects may lead to.
    pub settings: &'a Settings,
    /// Claude Code's directory of instructions for every user of the machine.
    pub managed: &'a Path,
    /// OpenCode's configuration directory.
    pub opencode: &'a Path,
    /// Copilot CLI's directory.
    pub copilot: &'a Path,
}

/// The role of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Instructions for every user of the machine.
    Managed,
    /// Instructions of the user, for all projects.
    User,
    /// Instructions of an extension.
    Extension,
    /// Instructions of the project.
    Project,
    /// Instructions of the user for this project alone.
    Local,
    /// A file that instructions import.
    Import,
    /// A rule, for all files or for some.
    Rule,
    /// The agent's own memory.
    Memory,
    /// The memory of a subagent.
    SubagentMemory,
    /// What tome's hook adds.
    Hook,
}

impl PieceKind {
    /// Returns the kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Extension => "extension",
            Self::Project => "project",
            Self::Local => "local",
            Self::Import => "import",
            Self::Rule => "rule",
            Self::Memory => "memory",
            Self::SubagentMemory => "subagent-memory",
            Self::Hook => "hook",
        }
    }
}

/// A piece of what an agent loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The file.
    pub path: PathBuf,
    /// Its role.
    pub kind: PieceKind,
    /// The size of the file; 0 for a further piece of the same file.
    pub bytes: u64,
    /// The text that is sent, which can be empty.
    pub text: String,
    /// What is not sent, and why.
    pub cut: Option<String>,
}

impl Piece {
    /// Returns the number of tokens of the text that is sent.
    pub fn tokens(&self) -> usize {
        tokens(&self.text)
    }

    /// Returns a piece of which nothing is sent.
    fn unsent(path: &Path, kind: PieceKind, bytes: u64, why: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            bytes,
            text: String::new(),
            cut: Some(why.into()),
        }
    }
}

/// Returns the number of tokens of a text, estimated from its characters: every model counts
/// differently, and no tokenizer is included.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARACTERS_PER_TOKEN)
}

/// Returns the pieces that an agent loads, in order.
pub fn pieces(agent: Agent, start: &Start<'_>) -> Result<Vec<Piece>> {
    match agent {
        Agent::ClaudeCode => Ok(claude::pieces(start)),
        Agent::Codex => Ok(codex::pieces(start)),
        Agent::Gemini => Ok(gemini::pieces(start)),
        Agent::Opencode => Ok(opencode::pieces(start)),
        Agent::Copilot => Ok(copilot::pieces(start)),
        agent => {
            let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
            Err(Error::refused(
                agent.name(),
                format!(
                    "what it loads is not known; known agents: {}",
                    known.join(", ")
                ),
            ))
        }
    }
}

/// Whose content leads to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The user's or the machine's.
    Own,
    /// The project's, which may not lead outside of it.
    Project,
    /// Nobody's: the agent looks for the file in a folder above the project. A link there may not
    /// lead out of that folder.
    Above,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    /// There is no such file.
    Missing,
    /// It is not read, for this reason.
    Unread(String),
    /// It was read.
    Content(Vec<u8>),
}

impl Start<'_> {
    fn cwd(&self) -> &Path {
        &self.environment.cwd
    }

    /// Returns the folder with `.git` that is nearest above a folder, or the folder itself.
    fn git_root<'f>(&self, folder: &'f Path) -> Option<&'f Path> {
        folder.ancestors().find(|above| above.join(".git").exists())
    }

    /// Returns the folders from the git root down to the working directory; that alone if there
    /// is no git root.
    fn folders_down(&self) -> Vec<&Path> {
        let cwd = self.cwd();
        let root = self.git_root(cwd).unwrap_or(cwd);
        let mut folders: Vec<&Path> = cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(root))
            .collect();
        folders.reverse();
        folders
    }

    /// Reads a file.
    fn read(&self, path: &Path, source: Source) -> Found {
        if !path.is_file() {
            // A directory or a device is no instruction file for any agent.
            return Found::Missing;
        }
        if let Err(refusal) = self.check(path, source) {
            let (reason, remedy) = (refusal.reason(), refusal.remedy());
            return Found::Unread(format!("not shown: {reason}; {remedy}"));
        }
        match read_capped(path, LARGEST_WHOLE) {
            Ok(bytes) => Found::Content(bytes),
            Err(Error::NotFound { .. }) => Found::Missing,
            Err(error) => Found::Unread(format!("not shown: {error}")),
        }
    }

    /// Returns a refusal if a path leads out of what its source may lead to.
    fn check(&self, path: &Path, source: Source) -> Result<(), Refusal> {
        let folder = match source {
            Source::Own => return Ok(()),
            Source::Project => self.cwd(),
            Source::Above => path.parent().unwrap_or(path),
        };
        project_border(self.environment, self.settings, folder).check(path)
    }

    /// Returns the source of a file that the agent looks for in a folder.
    fn source_in(&self, folder: &Path) -> Source {
        let cwd = self.cwd();
        match folder.starts_with(self.git_root(cwd).unwrap_or(cwd)) {
            true => Source::Project,
            false => Source::Above,
        }
    }
}

/// Returns a path without `.` and `..`; links are not followed.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Decodes a text as JavaScript's decoders do: invalid bytes are replaced, and a byte order mark
/// is removed.
fn decoded(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// Removes what JavaScript's `trim` removes.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Whether a position is in one of the spans, which are sorted and do not overlap.
fn is_inside(at: usize, spans: &[Range<usize>]) -> bool {
    let after = spans.partition_point(|span| span.start <= at);
    after > 0 && spans[after - 1].contains(&at)
}

/// Returns `n` with a noun in the singular or plural.
fn counted(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod fixture;
