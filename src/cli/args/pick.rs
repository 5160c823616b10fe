//! Arguments of `pick` and `completions`.

use clap::{Args as ClapArgs, ValueEnum};

/// Arguments of `pick`.
#[derive(Debug, ClapArgs)]
pub struct PickArgs {
    /// What to look for at first
    pub query: Vec<String>,
    /// What to print of the choice
    #[arg(long, value_enum, default_value = "citation")]
    pub print: PrintArg,
}

/// What is printed of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrintArg {
    /// What `tome read` and agents understand
    Citation,
    /// The line that was found
    Text,
    /// The file
    Path,
    /// The command that continues the session
    Resume,
}

/// Arguments of `completions`.
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: ShellArg,
    /// Print key bindings for `tome pick` instead
    #[arg(long)]
    pub keys: bool,
}

/// A shell, or what stands for one.
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
