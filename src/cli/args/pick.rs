//! Arguments of `pick` and `completions`.

use clap::{Args as ClapArgs, ValueEnum};

#[derive(Debug, ClapArgs)]
pub struct PickArgs {
    /// The initial query
    pub query: Vec<String>,
    /// What to print of the picked hit
    #[arg(long, value_enum, default_value = "citation")]
    pub print: PrintArg,
}

/// What is printed of the picked hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrintArg {
    /// The citation, which `tome read` and agents accept
    Citation,
    /// The matching line
    Text,
    /// The file
    Path,
    /// The command that continues the session
    Resume,
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
