//! `tome completions` and `tome man`, from the one definition of the arguments.

use clap::CommandFactory as _;

use super::args::{Args, CompletionsArgs};
use super::print::Printer;
use super::{Ended, Outcome};

pub(super) fn run(args: &CompletionsArgs, printer: &mut Printer) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tome", &mut script);
    printer.content(&script)?;
    Ok(Outcome::Done)
}

/// Prints the pages of the program and of each verb, one after the other.
pub(super) fn man(printer: &mut Printer) -> Ended {
    let mut command = Args::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
    {
        clap_mangen::Man::new(verb.clone()).render(&mut page)?;
    }
    printer.content(&page)?;
    Ok(Outcome::Done)
}
