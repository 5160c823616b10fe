//! Arguments of `promote`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct PromoteArgs {
    /// What to promote: grip:TIME:ID of a bullet, or lines of a log such as codex:ID#L12-14
    #[arg(value_name = "GRIP|CITATION", required = true)]
    pub references: Vec<String>,
    /// The name of the memory [default: proposed from the words]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// What it is about [default: proposed from the words]
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The type or kind: user, feedback, project or reference in an index store; facts or episodes; episodic, procedural or semantic [default: proposed]
    #[arg(long = "type", value_name = "TYPE")]
    pub category: Option<String>,
    /// The text instead of the quoted lines; the grips are kept below it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}
