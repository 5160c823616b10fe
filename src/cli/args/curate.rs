//! Arguments of `tome curate`.

use clap::{Args as ClapArgs, ValueEnum};

#[derive(Debug, ClapArgs)]
pub struct CurateArgs {
    /// Only this rule; can be repeated
    #[arg(long, value_name = "ID")]
    pub rule: Vec<String>,
    /// List the rules, and change nothing
    #[arg(long, conflicts_with_all = ["rule", "fix", "waive", "unwaive", "format"])]
    pub rules: bool,
    /// Correct what can be corrected without a decision; one change for each store
    #[arg(long, conflicts_with_all = ["waive", "unwaive", "format"])]
    pub fix: bool,
    /// With --fix: print what would change as a unified diff, and change nothing
    #[arg(long, requires = "fix")]
    pub dry_run: bool,
    /// How findings are printed
    #[arg(long, value_enum)]
    pub format: Option<CurateFormat>,
    /// Keep a finding, by its id, and say why; it is open again when its evidence changes
    #[arg(long, num_args = 2, value_names = ["ID", "WORDS"], conflicts_with = "unwaive")]
    pub waive: Vec<String>,
    /// Take a waiver back
    #[arg(long, value_name = "ID")]
    pub unwaive: Option<String>,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CurateFormat {
    /// For reading.
    Text,
    /// One JSON object, as with --json.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}
