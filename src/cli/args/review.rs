//! Arguments of `tome review` and `tome why`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct ReviewArgs {
    /// Print only how many files wait, for a shell prompt or a status line
    #[arg(long, conflicts_with_all = ["accept", "revert", "note"])]
    pub count: bool,
    /// Accept items, hunks or all items of a session, by their ids, or everything: `all`; what is
    /// proposed is made. `tome undo` takes it back
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["revert", "note"])]
    pub accept: Vec<String>,
    /// Take back items, hunks or all items of a session, by their ids, or everything: `all`; what
    /// is proposed is removed
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with = "note")]
    pub revert: Vec<String>,
    /// Add a note to an item, which stays while it waits
    #[arg(long, num_args = 2, value_names = ["ID", "TEXT"])]
    pub note: Vec<String>,
    /// With --revert: show the difference and change nothing
    #[arg(long, requires = "revert")]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct WhyArgs {
    /// The memory, and lines of it: PATH, PATH#L10 or PATH#L10-20
    #[arg(required_unless_present = "session")]
    pub reference: Option<String>,
    /// Show which memories this session read, wrote or deleted
    #[arg(long, value_name = "ID", conflicts_with = "reference")]
    pub session: Option<String>,
}
