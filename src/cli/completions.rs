//! `tome completions` and `tome man`, generated from the definition of the arguments.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::args::{Args, CompletionsArgs, ShellArg};
use super::print::Printer;
use super::{CommandResult, Failure, Outcome};

pub(super) fn run(args: &CompletionsArgs, printer: &mut Printer) -> CommandResult {
    let shell = match args.shell {
        _ if args.keys => return keys(args.shell, printer),
        ShellArg::Tmux => return keys(args.shell, printer),
        ShellArg::Bash => Shell::Bash,
        ShellArg::Elvish => Shell::Elvish,
        ShellArg::Fish => Shell::Fish,
        ShellArg::PowerShell => Shell::PowerShell,
        ShellArg::Zsh => Shell::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "tome", &mut script);
    printer.content(&script)?;
    Ok(Outcome::Done)
}

/// Prints key bindings for `tome pick`.
fn keys(shell: ShellArg, printer: &mut Printer) -> CommandResult {
    let script = match shell {
        ShellArg::Bash => include_str!("../../assets/shell/keys.bash"),
        ShellArg::Zsh => include_str!("../../assets/shell/keys.zsh"),
        ShellArg::Fish => include_str!("../../assets/shell/keys.fish"),
        ShellArg::Tmux => include_str!("../../assets/shell/keys.tmux"),
        ShellArg::Elvish | ShellArg::PowerShell => {
            return Err(Failure::usage(
                "there are key bindings for bash, zsh, fish and tmux",
            ));
        }
    };
    printer.content(script.as_bytes())?;
    Ok(Outcome::Done)
}

/// Prints the manual pages of the program and of each verb.
pub(super) fn man(printer: &mut Printer) -> CommandResult {
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
