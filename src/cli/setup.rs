//! `tome setup`: shows the planned changes of an agent's settings, and makes them.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::SetupArgs;
use super::print::{Printer, print_error, print_note};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::discover::project_folders;
use crate::core::log::Agent;
use crate::setup::{
    AGENTS, Plan, SettingsDirs, SetupMode, SetupRequest, SetupScope, carry_out, plan, plugin,
};

pub(super) fn run(args: &SetupArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let known = || {
        AGENTS
            .iter()
            .map(|agent| agent.name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let agent = Agent::named(&args.agent).filter(|agent| AGENTS.contains(agent));
    let agent = agent.ok_or_else(|| {
        Failure::Usage(format!(
            "no agent '{}'; known agents: {}",
            args.agent,
            known()
        ))
    })?;
    let dirs = homes(world);
    let program = program();
    let mode = if args.remove {
        SetupMode::Remove
    } else {
        SetupMode::Install
    };
    let planned = match &args.plugin {
        Some(_) if agent != Agent::ClaudeCode => {
            return Err(Failure::Usage("--plugin is for claude-code".to_owned()));
        }
        Some(folder) => Plan {
            steps: plugin(folder, &program)?,
            notes: vec![format!(
                "try it with claude --plugin-dir {}",
                folder.display()
            )],
            project: None,
        },
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
                },
            )?
        }
    };
    show(printer, &planned, args)?;
    if planned.steps.is_empty() || args.dry_run {
        return Ok(Outcome::Done);
    }
    if !args.yes && !confirm(printer)? {
        print_note("nothing was changed");
        return Ok(Outcome::Nothing);
    }
    carry_out(&dirs, &planned, mode)?;
    let undo = if args.project { " --project" } else { "" };
    print_note(&match (mode, &args.plugin) {
        (SetupMode::Install, None) => {
            format!("tome setup {}{undo} --remove undoes this", agent.name())
        }
        (SetupMode::Install, Some(folder)) => format!("the plugin is in {}", folder.display()),
        (SetupMode::Remove, _) => "tome is removed".to_owned(),
    });
    Ok(Outcome::Done)
}

fn show(printer: &mut Printer, planned: &Plan, args: &SetupArgs) -> Result<(), Failure> {
    if printer.is_json() {
        let steps: Vec<Value> = planned
            .steps
            .iter()
            .map(|step| json!({ "path": step.path, "diff": step.diff() }))
            .collect();
        let written = !args.dry_run && !planned.steps.is_empty();
        printer.object(json!({ "steps": steps, "notes": planned.notes, "written": written }))?;
        return Ok(());
    }
    for step in &planned.steps {
        printer.diff(&step.diff())?;
    }
    for note in &planned.notes {
        print_error(note);
    }
    Ok(())
}

/// Asks for confirmation on a terminal; without one, returns true.
fn confirm(printer: &mut Printer) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || printer.is_json() {
        return Ok(true);
    }
    printer.flush()?;
    let mut err = io::stderr().lock();
    err.write_all(b"Write this? [y/N] ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

pub(super) fn homes(world: &World) -> SettingsDirs {
    let environment = &world.environment;
    let first = |locations: &[PathBuf], folder: &str| {
        let set = locations.first().cloned();
        set.unwrap_or_else(|| environment.home.join(folder))
    };
    let config = env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty());
    let config = config.map_or_else(|| environment.home.join(".config"), PathBuf::from);
    SettingsDirs {
        claude: environment.claude.clone(),
        codex: environment.codex.clone(),
        gemini: environment.gemini.clone(),
        copilot: first(&world.locations.copilot, ".copilot"),
        opencode: config.join("opencode"),
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
    match on_path.as_deref().is_some_and(same) {
        true => "tome".to_owned(),
        false => own.display().to_string(),
    }
}
