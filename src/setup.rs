//! Registers tome with an agent, and removes it again.
//!
//! Each agent has its own settings files. `plan` decides which of them change and how; `json` and
//! `toml` splice a text and leave the rest of it unchanged; `file` writes the result and keeps the
//! original, so that removing tome restores the exact bytes.
//!
//! What is registered fails open: where tome is missing, fails, hangs or is of another version, the
//! agent answers as if it had never been registered. Only what is tome's is touched: a file or a
//! server of that name that somebody else wrote is refused.
//!
//! `~/.claude.json`, where Claude Code keeps its login and its user-wide servers, is never written:
//! for the user, Claude Code's own command is run; for a project, `.mcp.json` is written.

mod file;
mod json;
mod plan;
mod plugin;
mod toml;

use std::path::{Path, PathBuf};

use crate::core::disk::trust::TrustBoundary;
use crate::core::log::Agent;
use crate::core::text::diff;
use crate::core::{Error, Result};

pub use file::written_folders;
pub use plugin::plugin;

/// The directories of the agents' settings, passed in by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsDirs {
    /// Claude Code's directory.
    pub claude: PathBuf,
    /// The file in which Claude Code keeps its user-wide servers, which is only read.
    pub claude_state: PathBuf,
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
    /// Where the original settings are kept.
    pub memory: PathBuf,
}

/// The scope in which tome is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupScope {
    /// For the user, in every project.
    User,
    /// For every user, in the current project.
    Project,
}

/// Whether tome is installed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupMode {
    /// Install tome.
    Install,
    /// Remove tome.
    Remove,
}

/// A request to register or remove tome.
#[derive(Debug, Clone, Copy)]
pub struct SetupRequest<'a> {
    /// The agent.
    pub agent: Agent,
    /// The scope.
    pub scope: SetupScope,
    /// Whether to install or remove.
    pub mode: SetupMode,
    /// The command that starts tome.
    pub program: &'a str,
    /// What the hooks do before an action.
    pub actions: Actions,
}

/// What hooks do before an action, which is nothing unless it is asked for. The flags are those of the
/// registered command, so that the settings of the agent show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Actions {
    /// Ask where a guard says so.
    pub guards: bool,
    /// Ask before a memory is written.
    pub confirm: bool,
}

impl Actions {
    /// Every combination.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..4).map(|number| Self {
            guards: number & 1 != 0,
            confirm: number & 2 != 0,
        })
    }

    /// The flags of the command.
    fn flags(self) -> Vec<&'static str> {
        let flags = [
            (self.guards, "--guards"),
            (self.confirm, "--confirm-writes"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        set.map(|(_, flag)| flag).collect()
    }

    /// The verb of a hook with the flags.
    fn verb(self, verb: &str) -> String {
        let flags = self.flags();
        [&[verb], flags.as_slice()].concat().join(" ")
    }

    fn is_any(self) -> bool {
        self != Self::default()
    }

    /// What the agent's hooks cannot do of this.
    fn note(self, agent: Agent) -> Option<&'static str> {
        match agent {
            Agent::Codex | Agent::Opencode if self.is_any() => Some(
                "hooks of this agent cannot ask: it reads the memory's words itself, and decides",
            ),
            _ => None,
        }
    }
}

/// A planned change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStep {
    /// The file.
    pub path: PathBuf,
    /// The current content; `None` if the file does not exist.
    pub before: Option<String>,
    /// The new content; `None` if the file is to be deleted.
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
            &name(&self.before),
            &name(&self.after),
            self.before.as_deref().unwrap_or_default().as_bytes(),
            self.after.as_deref().unwrap_or_default().as_bytes(),
        )
    }
}

/// A planned setup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The files that would change.
    pub steps: Vec<FileStep>,
    /// What is already in place, and what the user has to do.
    pub notes: Vec<String>,
    /// The folder that the files must be in, links followed.
    pub border: SetupBorder,
    /// A command of the agent's own that belongs to it, program first; to be run by the caller.
    pub command: Option<Vec<String>>,
}

/// The folder that the files of a plan must be in, links followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SetupBorder {
    /// None: the files are the user's own.
    #[default]
    User,
    /// The root of the project.
    Project(PathBuf),
    /// The folder of the plugin.
    Plugin(PathBuf),
}

impl SetupBorder {
    /// Returns an error if a link leads a file out of the folder.
    fn check_links(&self, path: &Path) -> Result<()> {
        let (folder, name, remedy) = match self {
            Self::User => return Ok(()),
            Self::Project(folder) => (
                folder,
                "the project",
                ", or set tome up for yourself, without --project",
            ),
            Self::Plugin(folder) => (folder, "the plugin", ""),
        };
        let checked = TrustBoundary::of_project(folder, []).check(path);
        checked.map_err(|refusal| {
            let target = refusal.target.display();
            let reason = format!(
                "refused: it leads to {target}, outside {name}; take the link away{remedy}"
            );
            Error::refused(path.display().to_string(), reason)
        })
    }
}

/// Plans the request; writes nothing.
pub fn plan(dirs: &SettingsDirs, request: SetupRequest<'_>) -> Result<Plan> {
    plan::plan(dirs, request)
}

/// Carries out a plan, if the files are still as the plan read them.
pub fn carry_out(dirs: &SettingsDirs, plan: &Plan, mode: SetupMode) -> Result<()> {
    for step in &plan.steps {
        plan.border.check_links(&step.path)?;
        if file::read(&step.path)? != step.before {
            return Err(Error::refused(
                step.path.display().to_string(),
                "the file has changed meanwhile; run the command again",
            ));
        }
    }
    for (done, step) in plan.steps.iter().enumerate() {
        if let Err(error) = carry_out_step(dirs, plan, step, mode) {
            take_back(&plan.steps[..done], &step.path);
            return Err(error);
        }
    }
    if mode == SetupMode::Remove {
        let steps = plan.steps.iter();
        let mut folders: Vec<PathBuf> = steps
            .flat_map(|step| file::forget(&dirs.memory, &step.path))
            .collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in folders {
            // A folder that is not empty stays.
            drop(std::fs::remove_dir(folder));
        }
    }
    Ok(())
}

fn carry_out_step(
    dirs: &SettingsDirs,
    plan: &Plan,
    step: &FileStep,
    mode: SetupMode,
) -> Result<()> {
    if mode == SetupMode::Install {
        file::remember(&dirs.memory, step)?;
    }
    // A link may have been put there since the plan was made and confirmed.
    plan.border.check_links(&step.path)?;
    file::write(&step.path, step.after.as_deref())
}

/// Takes back the steps before one that failed, so that no set-up is half done. What somebody else
/// has changed since then stays; the error that is told is the one of the failed step.
fn take_back(done: &[FileStep], failed: &Path) {
    for step in done.iter().rev() {
        if file::read(&step.path).is_ok_and(|now| now == step.after) {
            drop(file::write(&step.path, step.before.as_deref()));
        }
    }
    let created = done.iter().filter(|step| step.before.is_none());
    let paths = created.map(|step| step.path.as_path()).chain([failed]);
    for folder in paths.filter_map(Path::parent) {
        // Folders that are not empty stay.
        drop(std::fs::remove_dir(folder));
    }
}

/// Replaces the content of a settings file; keeps its mode and follows links.
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

/// A program, quoted for a shell command.
pub fn quoted(program: &str) -> String {
    if is_plain(program) {
        return program.to_owned();
    }
    format!("'{}'", program.replace('\'', r"'\''"))
}

fn is_plain(program: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    program.chars().all(is_plain)
}

/// How many seconds an agent waits for a hook, which takes some milliseconds.
const HOOK_SECONDS: u64 = 2;

/// How many seconds an agent waits for the server to start.
const START_SECONDS: u64 = 5;

/// The beginning of the command of a hook, before its verb.
const COMMAND_START: &str = "exec sh -c 'r=$(exec \"$0\" ";

/// The part of the command of a hook between its verb and its program.
const COMMAND_MIDDLE: &str = ") && case $r in {*) printf %s \"$r\";; esac; exit 0' ";

/// The end of the command of a hook.
const COMMAND_END: &str = " 2>/dev/null";

/// The command of a hook, for the shell of an agent, whichever it is. It prints the reply of a tome
/// that succeeds, a JSON object, and nothing otherwise, and it always succeeds: some agents stop when
/// a hook fails or its program is missing. Nothing but the one shell holds the agent's pipes, so that
/// an agent that ends it no longer waits, even if tome hangs.
fn hook_command(program: &str, verb: &str) -> String {
    let program = quoted(program);
    format!("{COMMAND_START}{verb}{COMMAND_MIDDLE}{program}{COMMAND_END}")
}

/// Whether the command of a hook calls tome: this program, or one of its name in whatever directory.
fn calls_tome(command: &str, verb: &str, program: &str) -> bool {
    let wrapped = command
        .strip_prefix(COMMAND_START)
        .and_then(|rest| rest.strip_suffix(COMMAND_END))
        .and_then(|rest| rest.split_once(COMMAND_MIDDLE));
    let (called, rest) = match wrapped {
        Some((called_verb, called)) => match called_verb.strip_prefix(verb) {
            Some(rest) => (called, rest),
            None => return false,
        },
        None => match command.rsplit_once(&format!(" {verb}")) {
            Some(plain) => plain,
            None => return false,
        },
    };
    let called = called.trim();
    let bare = called.trim_matches(['"', '\'']);
    (is_tome(bare, program) || called == quoted(program))
        && (rest.is_empty() || rest.starts_with(' '))
}

/// Whether a program is tome: this one, or one of its name in whatever directory.
fn is_tome(called: &str, program: &str) -> bool {
    let name = Path::new(called).file_stem().and_then(|name| name.to_str());
    name == Some("tome") || called == program
}

/// A server of tome's name among the servers of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownServer {
    /// It starts somebody else's program.
    Foreign,
    /// It starts tome, as setup registers it.
    Registered,
    /// It starts tome with arguments of the user's.
    Customized,
}

impl KnownServer {
    fn of<'a>(mut command: impl Iterator<Item = &'a str>, program: &str) -> Self {
        let is_tome = command
            .next()
            .is_some_and(|called| is_tome(called, program));
        match (is_tome, command.next(), command.next()) {
            (true, Some("mcp"), None) => Self::Registered,
            (true, Some("mcp"), Some(_)) => Self::Customized,
            _ => Self::Foreign,
        }
    }
}

/// Why a server of somebody else's is not replaced.
const FOREIGN_SERVER: &str = "it has a server named tome that does not start tome; rename that one";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_quoted_program_as_it_is() {
        for program in [
            "/a/tome",
            "/a b/tome",
            "/a$HOME/`x`/to\"me",
            "/it's/tome\\",
            "/é/tome",
        ] {
            let command = format!("printf %s {}", quoted(program));
            let output = std::process::Command::new("sh")
                .args(["-c", &command])
                .output();
            let output = output.expect("a shell").stdout;
            assert_eq!(String::from_utf8_lossy(&output), program);
        }
    }

    #[test]
    fn a_hook_says_what_tome_says_and_nothing_where_it_fails() {
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt as _;
        use std::process::{Command, Stdio};
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("it's tome");
        let run = |script: Option<&str>| {
            drop(std::fs::remove_file(&program));
            if let Some(script) = script {
                std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&program, mode).expect("executable");
            }
            let command = hook_command(&program.display().to_string(), "hook gemini --event x");
            let mut child = Command::new("sh")
                .args(["-c", &command])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("a shell");
            // A program that does not read closes the pipe.
            drop(child.stdin.take().expect("piped").write_all(b"said"));
            let output = child.wait_with_output().expect("ended");
            assert!(output.status.success(), "{script:?}");
            assert_eq!(output.stderr, b"", "{script:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert_eq!(
            run(Some("echo \"{$@: $(cat)}\"")),
            "{hook gemini --event x: said}"
        );
        for broken in [
            None,
            Some("echo '{\"decision\": \"block\"}'; exit 3"),
            Some("echo usage >&2; exit 2"),
            Some("kill -SEGV $$"),
            Some("echo tome of another version"),
        ] {
            assert_eq!(run(broken), "", "{broken:?}");
        }
    }

    #[test]
    fn a_command_of_tome_is_known_whatever_its_name_and_place() {
        let verb = "hook codex";
        for (command, program, expected) in [
            ("tome hook codex", "tome", true),
            ("/a/tome hook codex", "tome", true),
            ("\"/a b/tome\" hook codex --event x", "tome", true),
            ("'/it'\\''s/tome-dev' hook codex", "/it's/tome-dev", true),
            ("/a/tome-dev hook codex", "/a/tome-dev", true),
            ("/a/tome-dev hook codex", "tome", false),
            ("other hook codex", "tome", false),
            ("tome hook codex-other", "tome", false),
            ("tome hook claude-code", "tome", false),
        ] {
            assert_eq!(calls_tome(command, verb, program), expected, "{command}");
        }
        for program in ["tome", "/a b/tome", "/it's/tome-dev"] {
            for more in ["", " --event x"] {
                let command = hook_command(program, &format!("{verb}{more}"));
                assert!(calls_tome(&command, verb, program), "{command}");
                assert!(!calls_tome(&command, "hook cod", program), "{command}");
            }
        }
        assert!(!calls_tome(&hook_command("/a/other", verb), verb, "tome"));
    }
}
