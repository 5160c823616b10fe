//! Arguments of `context`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "With --agent: every file that the agent loads by itself when it starts, in order, with its size, the \
                  part that is sent, its tokens and what is cut off. A token is counted as four characters; models \
                  count differently. The directory is assumed to be trusted by the agent. --json has the texts."
)]
pub struct ContextArgs {
    /// Show everything that this agent loads: claude-code, codex, gemini, opencode or copilot
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The directory in which the agent starts [default: the current directory]
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub cwd: Option<PathBuf>,
}
