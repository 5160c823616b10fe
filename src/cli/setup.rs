//! `tome setup`: shows the planned changes of an agent's settings, and makes them.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::args::SetupArgs;
use super::print::{Printer, print_error, print_note};
use super::world::{World, agent_named};
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::disk::private::{leftovers, sweep};
use crate::core::disk::process::wait_until;
use crate::core::disk::trust::real_path;
use crate::core::log::Agent;
use crate::core::memory::discover::project_folders;
use crate::setup::{
    AGENTS, Actions, Plan, SettingsDirs, SetupMode, SetupRequest, SetupScope, carry_out, plan,
    plugin, quoted, written_folders,
};

pub(super) fn run(args: &SetupArgs, world: &World, printer: &mut Printer) -> CommandResult {
    if !world.common.store.is_empty() || world.common.all {
        let what = "setup is about an agent's settings; --store and --all do nothing here";
        return Err(Failure::Usage(what.to_owned()));
    }
    let agent = agent_named(&args.agent, AGENTS.into_iter())?;
    world.sweep();
    let (environment, dirs) = (&world.environment, homes(world));
    let program = program();
    let mode = if args.remove {
        SetupMode::Remove
    } else {
        SetupMode::Install
    };
    let actions = Actions {
        guards: args.guards,
        confirm: args.confirm_writes,
    };
    let planned = match &args.plugin {
        Some(_) if agent != Agent::ClaudeCode => {
            return Err(Failure::usage("--plugin is for claude-code"));
        }
        Some(folder) => plugin(
            &real_path(&environment.cwd.join(folder)),
            &program,
            mode,
            &dirs.memory,
            actions,
        )?,
        None => {
            let scope = if args.project {
                SetupScope::Project
            } else {
                SetupScope::User
            };
            plan(
                &dirs,
                SetupRequest {
                    agent,
                    scope,
                    mode,
                    program: &program,
                    actions,
                },
            )?
        }
    };
    // People see the changes before they are asked; a JSON object says whether they were made.
    let is_json = printer.is_json();
    if !is_json {
        show(printer, &planned)?;
    }
    let has_work = !planned.steps.is_empty() || planned.command.is_some();
    let wants = has_work && !args.dry_run;
    let confirmed = wants && (args.yes || confirm(printer, &planned)?);
    if confirmed {
        carry_out(&dirs, &planned, mode)?;
    }
    let has_run = !confirmed
        || planned
            .command
            .iter()
            .all(|command| run_agent(world, command));
    if is_json {
        show_json(printer, &planned, confirmed && has_run)?;
    }
    if !wants {
        return Ok(Outcome::Done);
    }
    if !confirmed {
        print_note("nothing was changed");
        return Ok(Outcome::Nothing);
    }
    if !has_run {
        return Ok(Outcome::Done);
    }
    let place = match &args.plugin {
        Some(folder) => format!(" --plugin {}", folder.display()),
        None if args.project => " --project".to_owned(),
        None => String::new(),
    };
    print_note(&match mode {
        SetupMode::Install => format!("tome setup {}{place} --remove undoes this", agent.name()),
        SetupMode::Remove => "tome is removed".to_owned(),
    });
    Ok(Outcome::Done)
}

/// How long a command of the agent's own may take.
const LIMIT: Duration = Duration::from_secs(8);

/// Runs a command of the agent's own, which is no program of the project; if that is not possible, or
/// it does not end, asks the user to. Returns whether it was run.
fn run_agent(world: &World, command: &[String]) -> bool {
    let run = || {
        let (program, arguments) = command.split_first()?;
        let mut child = Command::new(world.program(program)?);
        let child = child.args(arguments).stdin(Stdio::null());
        let mut child = child.stdout(Stdio::null()).spawn().ok()?;
        wait_until(&mut child, Instant::now() + LIMIT).ok()?
    };
    let has_run = run().is_some_and(|status| status.success());
    if !has_run {
        let words = shell_words(command);
        print_error(&format!("could not be run; run it yourself: {words}"));
    }
    has_run
}

/// A command as a user would type it.
fn shell_words(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn show_json(printer: &mut Printer, planned: &Plan, written: bool) -> Result<(), Failure> {
    let steps: Vec<Value> = planned
        .steps
        .iter()
        .map(|step| json!({ "path": step.path.to_string_lossy(), "diff": step.diff() }))
        .collect();
    let json = json!({
        "steps": steps, "command": planned.command, "notes": planned.notes, "written": written,
    });
    Ok(printer.object(json.into())?)
}

fn show(printer: &mut Printer, planned: &Plan) -> Result<(), Failure> {
    for step in &planned.steps {
        printer.diff(&step.diff())?;
    }
    if let Some(command) = &planned.command {
        printer.line(&format!("$ {}", shell_words(command)))?;
    }
    for note in &planned.notes {
        print_error(note);
    }
    Ok(())
}

/// Asks for confirmation on a terminal; without one, returns true.
fn confirm(printer: &mut Printer, planned: &Plan) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(true);
    }
    printer.flush()?;
    // The changes themselves are shown as JSON afterwards.
    let what = if printer.is_json() {
        let files = planned
            .steps
            .iter()
            .map(|step| step.path.display().to_string());
        let command = planned.command.iter().map(|command| shell_words(command));
        files.chain(command).collect::<Vec<_>>().join(", ")
    } else {
        "this".to_owned()
    };
    let mut err = io::stderr().lock();
    write!(err, "Do {what}? [y/N] ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

impl World {
    /// Returns the folders outside of stores in which tome replaces files.
    fn written_folders(&self) -> BTreeSet<PathBuf> {
        let originals = homes(self).memory;
        let mut folders = written_folders(&originals);
        folders.extend([
            originals,
            self.config_dir.clone(),
            self.data_dir.clone(),
            self.history.dir().to_owned(),
            self.history.dir().join("review"),
            self.history.dir().join("pending"),
        ]);
        folders.extend(
            self.common
                .config
                .as_deref()
                .and_then(Path::parent)
                .map(Path::to_owned),
        );
        folders
    }

    /// Returns the temporary files that killed processes left.
    pub(super) fn leftovers(&self) -> Vec<PathBuf> {
        let now = SystemTime::from(self.moment.time);
        let folders = self.written_folders().into_iter();
        folders.flat_map(|folder| leftovers(&folder, now)).collect()
    }

    /// Removes them.
    pub(super) fn sweep(&self) {
        let now = SystemTime::from(self.moment.time);
        for folder in self.written_folders() {
            sweep(&folder, now);
        }
    }
}

pub(super) fn homes(world: &World) -> SettingsDirs {
    let environment = &world.environment;
    let first = |locations: &[PathBuf], folder: &str| {
        let set = locations.first().cloned();
        set.unwrap_or_else(|| environment.home.join(folder))
    };
    SettingsDirs {
        claude: environment.claude.clone(),
        claude_state: if environment.claude == environment.home.join(".claude") {
            environment.home.join(".claude.json")
        } else {
            environment.claude.join(".claude.json")
        },
        codex: environment.codex.clone(),
        gemini: environment.gemini.clone(),
        copilot: first(&world.locations.copilot, ".copilot"),
        opencode: environment.opencode.clone(),
        project: project_folders(&environment.cwd)
            .last()
            .cloned()
            .unwrap_or_else(|| environment.cwd.clone()),
        memory: environment.data.join("setup"),
    }
}

/// Returns the command that starts this program: its name if `PATH` leads to it, else its path.
pub(super) fn program() -> String {
    let own = env::current_exe().and_then(|path| path.canonicalize());
    let Ok(own) = own.map_err(|e| Error::io("tome", e)) else {
        return "tome".to_owned();
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path)
        .map(|folder| folder.join("tome"))
        .find(|file| file.is_file());
    let same = |found: &Path| found.canonicalize().is_ok_and(|found| found == own);
    if on_path.as_deref().is_some_and(same) {
        "tome".to_owned()
    } else {
        own.display().to_string()
    }
}
