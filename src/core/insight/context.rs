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
mod stores;
mod yaml;

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::core::disk::foreign::{LARGEST_WHOLE, read_capped};
use crate::core::disk::trust::{Refusal, TrustBoundary, real_path};
use crate::core::log::Agent;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::{Environment, project_border};
use crate::core::{Error, Result};

pub(in crate::core::insight) use glob::expression;
pub use stores::context_of_stores;

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

/// How many imports of one file are looked at. A file can mention any number.
const MOST_IMPORTS: usize = 5_000;

/// Where an agent starts; provided by the caller.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The working directory and the directories of agents.
    pub environment: &'a Environment,
    /// The user's settings, which say what projects may lead to.
    pub settings: &'a Settings,
    /// Claude Code's directory of instructions for every user of the machine.
    pub managed: &'a Path,
    /// Copilot CLI's directory.
    pub copilot: &'a Path,
    /// The variables of the environment, by which agents are configured as well.
    pub variables: &'a [(String, String)],
    /// A text that is read in place of its file.
    pub draft: Option<&'a Draft>,
}

/// A text that a file is going to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The real path of the file.
    pub file: PathBuf,
    /// The text.
    pub text: String,
}

/// An agent whose rules are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    /// The agent.
    pub agent: Agent,
    /// Whether it has a directory here.
    pub is_installed: bool,
}

/// Everything that an agent loads when it starts in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentContext {
    /// The agent.
    pub agent: Agent,
    /// The directory.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// The pieces, in order.
    pub pieces: Vec<Piece>,
}

impl AgentContext {
    /// Returns the number of tokens of all pieces.
    pub fn tokens(&self) -> usize {
        self.pieces.iter().map(Piece::tokens).sum()
    }

    /// Returns the number of bytes that are sent.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.len()).sum()
    }

    /// Returns a short name of a path: below the directory, below the home, or the whole.
    pub fn name_of(&self, path: &Path) -> String {
        if let Ok(inside) = path.strip_prefix(&self.cwd)
            && inside.components().next().is_some()
        {
            return inside.display().to_string();
        }
        match path.strip_prefix(&self.home) {
            Ok(inside) if inside.components().next().is_none() => "~".to_owned(),
            Ok(inside) => format!("~/{}", inside.display()),
            Err(_) => path.display().to_string(),
        }
    }
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
    /// The text that is not sent, where it is known.
    pub rest: String,
    /// How much of a limit of the agent's is used.
    pub limit: Option<Limit>,
}

/// A limit of an agent's, and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The used part, which can exceed the limit.
    pub used: usize,
    /// The limit.
    pub most: usize,
    /// What is counted.
    pub unit: &'static str,
}

impl Limit {
    /// Returns the used part in percent.
    pub fn percent(&self) -> usize {
        (self.used * 100).div_ceil(self.most.max(1))
    }
}

impl Piece {
    /// Returns the number of tokens of the text that is sent.
    pub fn tokens(&self) -> usize {
        tokens(&self.text)
    }

    /// Returns whether it goes on with a file of which another piece was sent before.
    pub fn is_continued(&self) -> bool {
        self.bytes == 0 && self.cut.is_none() && !self.text.is_empty()
    }

    /// Returns a piece that is sent whole.
    pub fn whole(path: PathBuf, kind: PieceKind, bytes: u64, text: String) -> Self {
        Self {
            path,
            kind,
            bytes,
            text,
            cut: None,
            rest: String::new(),
            limit: None,
        }
    }

    /// Returns a piece of which nothing is sent.
    fn unsent(path: &Path, kind: PieceKind, bytes: u64, why: impl Into<String>) -> Self {
        Self {
            cut: Some(why.into()),
            ..Self::whole(path.to_owned(), kind, bytes, String::new())
        }
    }

    /// Returns the piece with the text that is not sent.
    fn with_rest(self, rest: impl Into<String>) -> Self {
        Self {
            rest: rest.into(),
            ..self
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
    /// Returns the value of a variable that is not empty.
    fn variable(&self, name: &str) -> Option<&str> {
        let mut variables = self.variables.iter();
        let (_, value) = variables.find(|(known, _)| known == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

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
        folders_between(self.git_root(cwd).unwrap_or(cwd), cwd)
    }

    /// Reads a file that is sent, or returns what is told in its place: nothing if it is missing.
    fn load(&self, path: &Path, kind: PieceKind, source: Source) -> Result<Vec<u8>, Vec<Piece>> {
        match self.read(path, source) {
            Found::Content(bytes) => Ok(bytes),
            Found::Missing => Err(Vec::new()),
            Found::Unread(why) => Err(vec![Piece::unsent(path, kind, 0, why)]),
        }
    }

    /// Reads a file.
    fn read(&self, path: &Path, source: Source) -> Found {
        if !path.is_file() {
            // A directory or a device is no instruction file for any agent.
            return Found::Missing;
        }
        if let Err(refusal) = self.check(path, source) {
            return Found::Unread(unread(&refusal));
        }
        if let Some(draft) = self.draft.filter(|draft| draft.file == real_path(path)) {
            return Found::Content(draft.text.clone().into_bytes());
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
        self.border(folder).check(path)
    }

    /// Returns what the project around a folder may lead to.
    fn border(&self, folder: &Path) -> TrustBoundary {
        project_border(self.environment, self.settings, folder)
    }

    /// Returns a refusal if a path that stands in a settings file leads out of the project of that
    /// file's folder.
    fn check_named(&self, folder: &Path, path: &Path, source: Source) -> Result<(), Refusal> {
        match source {
            Source::Own => Ok(()),
            _ => self.border(folder).check(path),
        }
    }

    /// Returns the source of a file that the agent looks for in a folder.
    fn source_in(&self, folder: &Path) -> Source {
        let cwd = self.cwd();
        if folder.starts_with(self.git_root(cwd).unwrap_or(cwd)) {
            Source::Project
        } else {
            Source::Above
        }
    }
}

/// Returns the folders from one above down to this one.
fn folders_between<'f>(above: &Path, folder: &'f Path) -> Vec<&'f Path> {
    let folders = folder.ancestors();
    let mut folders: Vec<&Path> = folders.take_while(|one| one.starts_with(above)).collect();
    folders.reverse();
    folders
}

/// Says why a file is not shown, and how to allow it.
fn unread(refusal: &Refusal) -> String {
    format!("not shown: {}; {}", refusal.reason(), refusal.remedy())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixture::{Home, check_cases};

    #[test]
    fn every_case_of_an_agents_rules_is_loaded() {
        check_cases("context", |case| fixture::told_of_case(&case));
    }

    #[test]
    fn a_draft_is_read_in_place_of_its_file_for_every_agent() {
        for (agent, name) in [
            (Agent::ClaudeCode, "CLAUDE.md"),
            (Agent::Codex, "AGENTS.md"),
            (Agent::Gemini, "GEMINI.md"),
            (Agent::Opencode, "AGENTS.md"),
            (Agent::Copilot, "AGENTS.md"),
        ] {
            let path = format!("shop/{name}");
            let home = Home::with(&[("shop/.git/HEAD", ""), (&path, "old"), ("other.md", "x")]);
            let told = |draft: Option<&Draft>| -> Vec<String> {
                let pieces = home.pieces(agent, "shop", draft).into_iter();
                pieces.map(|piece| piece.text).collect()
            };
            let draft = |file: &str| Draft {
                file: home.path().join(file),
                text: "new".to_owned(),
            };
            assert_eq!(told(None), ["old"], "{}", agent.name());
            assert_eq!(told(Some(&draft(&path))), ["new"], "{}", agent.name());
            assert_eq!(told(Some(&draft("other.md"))), ["old"], "{}", agent.name());
        }
    }

    #[test]
    fn limits_and_what_is_behind_the_cut_are_told() {
        let index: String = (1..=203).map(|line| format!("line {line}\n")).collect();
        let memory = ".claude/projects/shop/memory/MEMORY.md";
        let home = Home::with(&[("shop/CLAUDE.md", "a"), (memory, &index)]);
        let (cwd, data) = (home.path().join("shop"), home.path().join("data"));
        let environment = Environment {
            claude_project: Some("shop".to_owned()),
            ..Environment::of_home(&home.path(), cwd, data)
        };
        let start = Start {
            environment: &environment,
            settings: &Settings::default(),
            managed: &home.path().join("managed"),
            copilot: &home.path().join(".copilot"),
            variables: &[],
            draft: None,
        };
        let pieces = pieces(Agent::ClaudeCode, &start).expect("a known agent");
        let index = pieces.last().expect("the index");
        let lines = Limit {
            used: 203,
            most: 200,
            unit: "lines",
        };
        assert_eq!(index.limit, Some(lines));
        assert_eq!(lines.percent(), 102);
        assert_eq!(index.rest, "line 201\nline 202\nline 203");
        assert!(
            index
                .text
                .contains("line 200\n\n> WARNING: MEMORY.md is 203 lines"),
            "{}",
            index.text
        );
        let context = AgentContext {
            agent: Agent::ClaudeCode,
            cwd: environment.cwd.clone(),
            home: environment.home.clone(),
            pieces,
        };
        assert_eq!(context.tokens(), 1 + tokens(&context.pieces[1].text));
        assert_eq!(context.bytes(), 1 + context.pieces[1].text.len());
        for (path, name) in [
            ("shop/CLAUDE.md", "CLAUDE.md"),
            ("shop", "~/shop"),
            ("other/a.md", "~/other/a.md"),
            ("", "~"),
        ] {
            assert_eq!(context.name_of(&home.path().join(path)), name);
        }
        assert_eq!(context.name_of(Path::new("/etc/x.md")), "/etc/x.md");
    }

    #[test]
    fn of_very_many_imports_some_are_shown_and_the_rest_is_told() {
        let many = (0..3 * MOST_IMPORTS).map(|number| format!("- @m{number}.md\n"));
        let many: String = many.collect();
        for (agent, name) in [
            (Agent::ClaudeCode, "CLAUDE.md"),
            (Agent::Gemini, "GEMINI.md"),
            (Agent::Copilot, "AGENTS.md"),
        ] {
            let path = format!("shop/{name}");
            let home = Home::with(&[("shop/.git/HEAD", ""), (&path, &many), ("shop/m1.md", "m")]);
            let pieces = home.pieces(agent, "shop", None);
            assert!(pieces.len() <= 2 * MOST_IMPORTS + 3, "{}", agent.name());
            let told = pieces.iter().filter_map(|piece| piece.cut.as_deref());
            let told: Vec<&str> = told.collect();
            assert!(
                told.iter().any(|cut| cut.contains("only the first 5000")),
                "{}: {told:?}",
                agent.name()
            );
        }
    }
}
