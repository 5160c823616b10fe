//! `tome resume`: prints or runs the agent's own command that continues a conversation.

use std::process::Command;

use serde_json::json;

use super::args::ResumeArgs;
use super::print::{Answer, Reported, Text};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::log::read;

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
