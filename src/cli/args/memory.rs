//! Arguments of the verbs about memories that are more than a read or a write of one.

use std::path::PathBuf;

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

#[derive(Debug, ClapArgs)]
pub struct LedgerArgs {
    /// The memory whose messages are listed, or an entry of it: [STORE:]PATH[#ENTRY] [default: the
    /// numbers of all memories]
    pub path: Option<String>,
    /// List your corrections of agents instead, with the memory that says the same, if any
    #[arg(long, conflicts_with = "path")]
    pub corrections: bool,
}

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
    /// Print findings in the format that code scanning reads: SARIF 2.1.0
    #[arg(long, value_parser = ["sarif"], conflicts_with = "json")]
    pub format: Option<String>,
    /// Keep a finding, by its id, and say why; it is open again when its evidence changes
    #[arg(long, num_args = 2, value_names = ["ID", "WORDS"], conflicts_with = "unwaive")]
    pub waive: Vec<String>,
    /// Take a waiver back
    #[arg(long, value_name = "ID")]
    pub unwaive: Option<String>,
}

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

#[derive(Debug, ClapArgs)]
pub struct SyncArgs {
    /// Set the remote: an address of git, or a folder, which becomes a repository if it is empty
    #[arg(long, value_name = "URL|PATH", conflicts_with_all = ["status", "stop"])]
    pub init: Option<String>,
    /// The name of this machine, with --init [default: its host name]
    #[arg(long, value_name = "NAME", requires = "init")]
    pub machine: Option<String>,
    /// Share this store; can be repeated. Settings can do so for an agent: [[agent]] sync = true
    #[arg(long, value_name = "STORE")]
    pub add: Vec<String>,
    /// No longer share this store; its files stay; can be repeated
    #[arg(long, value_name = "STORE")]
    pub drop: Vec<String>,
    /// What a project without git is called on every machine, with --add
    #[arg(long, value_name = "NAME", requires = "add")]
    pub project: Option<String>,
    /// Let pass what was held back, by its id or [STORE:]PATH; can be repeated
    #[arg(long, value_name = "ID|PATH")]
    pub allow: Vec<String>,
    /// Print which stores are shared, what waits and what was held back; reaches no remote
    #[arg(long, conflicts_with_all = ["dry_run", "stop", "add", "drop", "allow"])]
    pub status: bool,
    /// Fetch, and print what would be written here and sent; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Forget the remote; the stores stay as they are
    #[arg(long)]
    pub stop: bool,
    /// For hooks: sync in the background, print nothing, and exit with 0 at once, whatever happens
    #[arg(long)]
    pub quiet: bool,
}
