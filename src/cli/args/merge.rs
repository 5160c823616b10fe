//! Arguments of `tome merge` and `tome generalize`.

use clap::Args as ClapArgs;

use super::{ChangeFlags, ContentFlags};

#[derive(Debug, ClapArgs)]
pub struct MergeArgs {
    /// The memories: [STORE:]PATH
    #[arg(required = true, num_args = 2.., value_name = "PATH")]
    pub paths: Vec<String>,
    /// The memory that stays, with its name and description [default: the first]
    #[arg(long, value_name = "PATH")]
    pub into: Option<String>,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct GeneralizeArgs {
    /// The principle's file, such as semantic/testing/clocks.md; created if missing: [STORE:]PATH
    pub path: String,
    /// A lesson that it comes from: PATH, or PATH#TITLE where the file has several; give two or more
    #[arg(long, required = true, value_name = "LESSON")]
    pub from: Vec<String>,
    /// The title of the principle
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The description of the principle
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// A tag; can be repeated
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Where the content comes from.
    #[command(flatten)]
    pub content: ContentFlags,
    /// Flags of every change.
    #[command(flatten)]
    pub change: ChangeFlags,
}
