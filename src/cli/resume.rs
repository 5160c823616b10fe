//! `tome resume`: prints or runs the agent's own command that continues a conversation.

use std::process::Command;

use serde_json::json;

use super::args::ResumeArgs;
use super::print::{Answer, Reported, Text, print_error};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::log::{LogFile, read};

pub(super) fn run(args: &ResumeArgs, world: &World) -> Reported<'static> {
    let file = world.log_named(&args.id)?;
    let head = read(&file)?.head;
    let Some(resume) = file.resume(&head) else {
        return Err(Failure::Usage(format!(
            "{} has no command that continues {}",
            file.agent.name(),
            file.id
        )));
    };
    if let Some(original) = &file.original {
        let is_it = |log: &LogFile| {
            log.original.is_none() && (&log.path, &log.id) == (&original.path, &original.id)
        };
        let agent = file.agent.name();
        print_error(&if world.log_files()?.iter().any(is_it) {
            format!("warning: {agent} goes on with the session as it is now, not with this copy")
        } else {
            let (place, copy) = (original.path.display(), file.path.display());
            format!("warning: {agent} no longer has this session at {place}; its copy is {copy}")
        });
    }
    if args.run {
        let mut command = Command::new(resume.program);
        command.args(&resume.args);
        if let Some(cwd) = &resume.cwd {
            command.current_dir(cwd);
        }
        let status = command.status().map_err(|e| Error::io(resume.program, e))?;
        return Answer::silent(Outcome::found(status.success()));
    }
    let line = resume.command_line();
    let json = json!({
        "program": resume.program,
        "args": resume.args,
        "cwd": resume.cwd,
        "command": line,
    });
    Answer::done(json, Text::Line(line))
}
