//! Arguments of `pick` and `completions`.

use clap::builder::TypedValueParser;
use clap::{Args as ClapArgs, ValueEnum};

use super::one_of;
use crate::tui::Print;

#[derive(Debug, ClapArgs)]
pub struct PickArgs {
    /// The initial query
    pub query: Vec<String>,
    /// What to print of the picked hit
    #[arg(long, value_parser = print(), default_value = "citation")]
    pub print: Print,
}

fn print() -> impl TypedValueParser<Value = Print> {
    let citation = "The citation, which `tome read` and agents accept";
    one_of([
        ("citation", citation, Print::Citation),
        ("text", "The matching line", Print::Text),
        ("path", "The file", Print::Path),
        (
            "resume",
            "The command that continues the session",
            Print::Resume,
        ),
    ])
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: ShellArg,
    /// Print key bindings for `tome pick` instead
    #[arg(long)]
    pub keys: bool,
}

/// A shell, or tmux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellArg {
    /// Bash
    Bash,
    /// Elvish
    Elvish,
    /// fish
    Fish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
    /// Zsh
    Zsh,
    /// tmux, which has key bindings only
    Tmux,
}
