//! `tome resume`: the agent's own command that continues a conversation.

use std::process::Command;

use serde_json::json;

use super::args::ResumeArgs;
use super::print::Printer;
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::Error;
use crate::core::log::read;

pub(super) fn run(args: &ResumeArgs, world: &World, printer: &mut Printer) -> Ended {
    let file = world.log_named(&args.id)?;
    let head = read(&file)?.head;
    let Some(resume) = file.resume(&head) else {
        return Err(Failure::Asked(format!(
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
        return Ok(if status.success() {
            Outcome::Done
        } else {
            Outcome::Nothing
        });
    }
    let words: Vec<String> = std::iter::once(resume.program)
        .chain(resume.args.iter().map(String::as_str))
        .map(quoted)
        .collect();
    let mut line = words.join(" ");
    if let Some(cwd) = &resume.cwd {
        line = format!("cd {} && {line}", quoted(&cwd.to_string_lossy()));
    }
    if printer.is_json() {
        printer.object(json!({
            "program": resume.program,
            "args": resume.args,
            "cwd": resume.cwd,
            "command": line,
        }))?;
    } else {
        printer.line(&line)?;
    }
    Ok(Outcome::Done)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_see_more_than_a_word() {
        assert_eq!(quoted("/home/kim/shop"), "/home/kim/shop");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
