//! Arguments of `tome rehome`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct RehomeArgs {
    /// The former path of the project, or the directory of the memories [default: list them]
    pub from: Option<String>,
    /// The store that gets the memories, by name or directory [default: Claude Code's of this project]
    #[arg(requires = "from")]
    pub to: Option<String>,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long, requires = "from")]
    pub dry_run: bool,
}
