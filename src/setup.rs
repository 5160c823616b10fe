//! Registers tome with an agent, and takes it out again.
//!
//! Each agent keeps its settings in files of its own; `plan` says which of them change and
//! how, `json` and `toml` splice a text without touching the rest of it, `file` writes what was
//! decided and remembers what was there, so that taking tome out gives back the very bytes.
//!
//! `~/.claude.json`, where Claude Code keeps its login and its user-wide servers, is never
//! touched: for the user, `claude mcp add` is printed instead; for a project, `.mcp.json` is written.

mod file;
mod json;
mod plan;
mod plugin;
mod toml;

use std::path::{Path, PathBuf};

use crate::core::diff;
use crate::core::log::Agent;
use crate::core::{Error, Result};

pub use plugin::plugin;

/// Where agents keep their settings; handed in by a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsDirs {
    /// Claude Code's directory.
    pub claude: PathBuf,
    /// Codex's directory.
    pub codex: PathBuf,
    /// Gemini CLI's directory.
    pub gemini: PathBuf,
    /// Copilot CLI's directory.
    pub copilot: PathBuf,
    /// OpenCode's configuration directory.
    pub opencode: PathBuf,
    /// The root of the current project.
    pub project: PathBuf,
    /// Where tome remembers what was there before.
    pub memory: PathBuf,
}

/// For whom tome is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupScope {
    /// For the user, in every project.
    User,
    /// For everybody, in the current project.
    Project,
}

/// Whether tome is put in or taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupMode {
    /// In.
    Install,
    /// Out.
    Remove,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct SetupRequest<'a> {
    /// With which agent.
    pub agent: Agent,
    /// For whom.
    pub scope: SetupScope,
    /// In or out.
    pub mode: SetupMode,
    /// How the program is called.
    pub program: &'a str,
}

/// One file that would be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStep {
    /// The file.
    pub path: PathBuf,
    /// What it holds; `None` when it is not there.
    pub before: Option<String>,
    /// What it would hold; `None` when it would go.
    pub after: Option<String>,
}

impl FileStep {
    /// The step as a unified diff.
    pub fn diff(&self) -> String {
        let name = |side: &Option<String>| match side {
            Some(_) => self.path.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        diff::unified(
            (&name(&self.before), &name(&self.after)),
            self.before.as_deref().unwrap_or_default().as_bytes(),
            self.after.as_deref().unwrap_or_default().as_bytes(),
        )
    }
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The files that would be different.
    pub steps: Vec<FileStep>,
    /// What is as it should be already, or what is left to a person.
    pub notes: Vec<String>,
}

/// Says what would be done; writes nothing.
pub fn plan(dirs: &SettingsDirs, request: SetupRequest<'_>) -> Result<Plan> {
    plan::plan(dirs, request)
}

/// Does what was planned, if the files are still what the plan saw.
pub fn carry_out(dirs: &SettingsDirs, plan: &Plan, mode: SetupMode) -> Result<()> {
    for step in &plan.steps {
        if file::read(&step.path)? != step.before {
            return Err(Error::refused(
                step.path.display().to_string(),
                "the file has changed meanwhile; run the command again",
            ));
        }
    }
    for step in &plan.steps {
        if mode == SetupMode::Install {
            file::remember(&dirs.memory, step)?;
        }
        file::write(&step.path, step.after.as_deref())?;
    }
    if mode == SetupMode::Remove {
        let steps = plan.steps.iter();
        let mut folders: Vec<PathBuf> = steps
            .flat_map(|step| file::forget(&dirs.memory, &step.path))
            .collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in folders {
            // One that holds something by now stays.
            drop(std::fs::remove_dir(folder));
        }
    }
    Ok(())
}

/// Replaces a settings file by this text: mode kept, links followed.
pub fn replace(path: &Path, text: &str) -> Result<()> {
    file::write(path, Some(text))
}

/// The agents that tome can be registered with.
pub const AGENTS: [Agent; 5] = [
    Agent::ClaudeCode,
    Agent::Codex,
    Agent::Gemini,
    Agent::Opencode,
    Agent::Copilot,
];

/// How a program is written in a shell command.
fn quoted(program: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match program.chars().all(plain) {
        true => program.to_owned(),
        false => format!("\"{program}\""),
    }
}

/// Whether a command calls tome, wherever it lies.
fn calls_tome(command: &str, verb: &str) -> bool {
    let Some((program, rest)) = command.split_once(&format!(" {verb}")) else {
        return false;
    };
    let program = program.trim().trim_matches('"');
    let name = Path::new(program)
        .file_stem()
        .and_then(|name| name.to_str());
    name == Some("tome") && (rest.is_empty() || rest.starts_with(' '))
}
