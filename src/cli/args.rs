//! Every verb and flag, defined once.

// Doc comments here are help texts, in which brackets mark optional parts. A struct has none: it
// would take the place of its verb's help text.
#![allow(rustdoc::broken_intra_doc_links, missing_docs)]

mod logs;
mod memory;
mod pick;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::core::disk::revision::Revision;
use crate::core::memory::config::Color;
use crate::core::memory::layout::{Layout, View};
use crate::core::search::recall::Scope;

pub use logs::{
    EventsArgs, GripArgs, KeepArgs, LogArgs, LogFilter, LogsArgs, ResumeArgs, StatsArgs,
    TeleportArgs, TocArgs, TopicsArgs,
};
pub use memory::{
    ContextArgs, CurateArgs, GeneralizeArgs, LedgerArgs, MergeArgs, PromoteArgs, RehomeArgs,
    ReviewArgs, SyncArgs, WhyArgs,
};
pub use pick::{CompletionsArgs, PickArgs, ShellArg};

/// See, search, fix and prune what coding agents remember.
#[derive(Debug, Parser)]
#[command(
    name = "tome",
    version = env!("TOME_VERSION"),
    about,
    propagate_version = true,
    args_conflicts_with_subcommands = false,
    override_usage = "tome [OPTIONS] [PATH]\n       tome [OPTIONS] <COMMAND>",
    after_help = "Exit: 0 done, 1 nothing found or check failed, 2 error. Every change can be undone: tome undo."
)]
pub struct Args {
    /// Flags that every verb takes.
    #[command(flatten)]
    pub common: Common,
    /// The project's directory, or a store [default: the current directory]
    pub path: Option<PathBuf>,
    /// The command; without one, the terminal UI opens.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

// Flags that every verb takes, before or after it.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Common {
    /// A store, by its name or its directory [default: every store of the current project]
    #[arg(long, global = true, value_name = "PATH|NAME")]
    pub store: Vec<String>,
    /// Also every store that agents keep in the home directory for other projects; what lies in the
    /// folders of a project is found from there
    #[arg(long, global = true)]
    pub all: bool,
    /// The layout of a store whose files do not determine it: session, facts, index, coder, events or entries
    #[arg(long, global = true, value_name = "LAYOUT")]
    pub layout: Option<Layout>,
    /// Work on an embedded sample, in a temporary directory that is removed at the end
    #[arg(long, global = true)]
    pub demo: bool,
    /// Print JSON: one object with "schema": 1
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_parser = color())]
    pub color: Option<Color>,
    /// Another settings file
    #[arg(long, global = true, value_name = "FILE", env = "TOME_CONFIG")]
    pub config: Option<PathBuf>,
}

/// Parses one of these words, each with its help text, into a value.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let words = values.map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(words).try_map(move |word| {
        let found = values.iter().find(|(name, ..)| *name == word);
        found.map(|(.., value)| *value).ok_or("no such value")
    })
}

fn color() -> impl TypedValueParser<Value = Color> {
    one_of([
        ("auto", "On a terminal, unless NO_COLOR is set", Color::Auto),
        ("always", "Always", Color::Always),
        ("never", "Never", Color::Never),
    ])
}

fn view() -> impl TypedValueParser<Value = View> {
    one_of([
        ("index", "The index", View::Index),
        ("files", "A line for each file", View::Files),
    ])
}

fn scope() -> impl TypedValueParser<Value = Scope> {
    one_of([
        ("all", "Memories and logs", Scope::All),
        ("detail", "Memories only", Scope::Detail),
        ("messages", "Logs only", Scope::Messages),
    ])
}

// Only the arguments of the verb that is used are defined: all of them take a third of the time that
// a quick verb has.
/// The commands.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// List the stores that were found, and why
    Stores,
    /// List the memories
    List,
    /// Show a store as its agent sees it: the index, or a line for each file
    View(ViewArgs),
    /// Print a memory, or a part of it; or a message of a log
    Read(ReadArgs),
    /// Print what an agent reads of the stores when a session starts; with --agent, everything that
    /// the agent loads
    Context(ContextArgs),
    /// Create a memory, or replace all of it; content from --content or standard input
    Write(WriteArgs),
    /// Replace a part of a memory
    Patch(PatchArgs),
    /// Add to the end of a memory; content from --content or standard input
    Append(AppendArgs),
    /// Delete memories; `tome undo` restores them
    Delete(DeleteArgs),
    /// Rename a memory or an entry and update links and index, or move it to STORE:PATH
    Rename(RenameArgs),
    /// Make one memory of several: everything that they say, each thing once; links and index follow
    Merge(MergeArgs),
    /// Derive a principle from lessons that teach the same; they link to each other; content from
    /// --content or standard input
    Generalize(GeneralizeArgs),
    /// Gather the memories that were written while the project had another path; without a path, list
    /// them
    Rehome(RehomeArgs),
    /// Update the index, or check it
    Index(IndexArgs),
    /// Show what agents and other programs wrote since you last accepted it; exit 1 while something
    /// waits
    Review(ReviewArgs),
    /// Show which session and message wrote a memory, or lines of it, and your words before that
    Why(WhyArgs),
    /// Find memories that are stale, doubled, dead or dangerous, with evidence; exit 1 with findings
    Curate(CurateArgs),
    /// Show how often each memory was in a session's context, read, cited, and corrected again
    Ledger(LedgerArgs),
    /// Make a rule from a memory that forbids something, so that agents ask before it; list, try or
    /// remove such guards
    Guard(GuardArgs),
    /// List the changes, newest first
    History(HistoryArgs),
    /// Undo the last change, or the one with this id
    Undo(UndoArgs),
    /// Redo the change that was undone last
    Redo(RedoArgs),
    /// Restore the files of a change as it left them; files that it deleted, as they were before
    Restore(RestoreArgs),
    /// List the conversations that agents have logged, newest first
    Logs(LogsArgs),
    /// Print a conversation
    Log(LogArgs),
    /// Print the agent's own command that continues a conversation, or run it
    Resume(ResumeArgs),
    /// Copy a log to tome's data directory, where its agent does not delete it
    Keep(KeepArgs),
    /// Count sessions, turns, messages and bytes of the logs, per agent and project
    Stats(StatsArgs),
    /// Show what happened: years, months, weeks, days, parts of sessions, or one session
    Toc(TocArgs),
    /// List what was said and done between two times, oldest first
    Events(EventsArgs),
    /// Show the lines that a bullet of the timeline is about, and those around them
    Grip(GripArgs),
    /// Find the parts of sessions that a question is about: ids of nodes and grips
    Teleport(TeleportArgs),
    /// Show what the sessions were about, and when: bullets of the timeline that an embedding model groups
    Topics(TopicsArgs),
    /// Turn lines of a log, or bullets of the timeline, into a memory that points back at them
    Promote(PromoteArgs),
    /// Search memories and logs for a question or some words, the best hits first
    Recall(RecallArgs),
    /// Find memories and messages with the query syntax of the UI: words, "exact", 'word, !not, filters
    Find(FindArgs),
    /// Pick a hit in the full-screen finder and print it: for $(tome pick) in a shell
    Pick(PickArgs),
    /// Serve the stores to an agent: an MCP server on standard input and output
    Mcp(McpArgs),
    /// Serve the timeline to programs of this machine: a gRPC server, in builds with the feature grpc
    Serve(ServeArgs),
    /// Handle an agent's hook: one JSON document on standard input; always exits with 0
    Hook(HookArgs),
    /// Register tome with an agent: its MCP server and its hooks; shows a diff first
    Setup(SetupArgs),
    /// Share chosen stores with your other machines, or a team, by a git remote of your own: fetch, merge,
    /// push; exit 1 if it could not
    Sync(SyncArgs),
    /// Allow links and settings of projects to point to a path outside them; shows a diff
    Trust(TrustArgs),
    /// Check tome's own files, settings, stores, logs and terminal; report what needs attention
    Doctor,
    /// Print completions for a shell, or key bindings
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

#[derive(Debug, ClapArgs)]
pub struct ViewArgs {
    /// Which view
    #[arg(value_parser = view(), default_value = "index")]
    pub target: View,
}

#[derive(Debug, ClapArgs)]
pub struct ReadArgs {
    /// What to read: [STORE:]PATH, with #L10, #L10-20 or #entry-title for a part; or a message, AGENT:ID#L10
    #[arg(value_name = "REF")]
    pub reference: String,
}

// Flags of every verb that changes memories.
#[derive(Debug, ClapArgs)]
pub struct ChangeFlags {
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Change the file only if this is still its revision (see `tome read --json`)
    #[arg(long, value_name = "REVISION")]
    pub expect: Option<Revision>,
}

// Where content comes from.
#[derive(Debug, ClapArgs)]
pub struct ContentFlags {
    /// The content [default: standard input]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct WriteArgs {
    /// The file: [STORE:]PATH
    pub path: String,
    /// The name or title
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The description; in a facts store the summary
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The type; in an index store user, feedback, project or reference
    #[arg(long = "type", value_name = "TYPE")]
    pub category: Option<String>,
    /// A tag or keyword; can be repeated
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
pub struct PatchArgs {
    /// The file: [STORE:]PATH
    pub path: String,
    /// The text to replace
    #[arg(
        long,
        value_name = "TEXT",
        requires = "new",
        allow_hyphen_values = true
    )]
    pub old: Option<String>,
    /// The replacement
    #[arg(
        long,
        value_name = "TEXT",
        requires = "old",
        allow_hyphen_values = true
    )]
    pub new: Option<String>,
    /// A JSON file with [{"oldText": …, "newText": …}, …], applied all or none; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "old")]
    pub patches: Option<PathBuf>,
    /// Flags of every change.
    #[command(flatten)]
    pub change: ChangeFlags,
}

#[derive(Debug, ClapArgs)]
pub struct AppendArgs {
    /// The file: [STORE:]PATH
    pub path: String,
    /// The new summary of the file, in a facts store
    #[arg(long, value_name = "TEXT")]
    pub summary: Option<String>,
    /// The title of an entry: a lesson, or in a facts store `## TEXT` with summary and date
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The description of the entry; in a facts store its summary, or without --name the file's
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The type of a memory that this creates; for an event, its type
    #[arg(long = "type", value_name = "TYPE")]
    pub category: Option<String>,
    /// A tag or keyword; can be repeated
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
pub struct DeleteArgs {
    /// The files: [STORE:]PATH
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// Flags of every change.
    #[command(flatten)]
    pub change: ChangeFlags,
}

#[derive(Debug, ClapArgs)]
pub struct RenameArgs {
    /// The file, or an entry of one: [STORE:]PATH[#ENTRY]
    pub old: String,
    /// Its new name, or STORE:PATH to move it there; for an entry its new title, or the .md file to
    /// move it to
    pub new: String,
    /// Flags of every change.
    #[command(flatten)]
    pub change: ChangeFlags,
}

#[derive(Debug, ClapArgs)]
pub struct IndexArgs {
    /// Only check: print the difference and exit with 1 if there is one
    #[arg(long, conflicts_with_all = ["rewrite", "dry_run"])]
    pub check: bool,
    /// Replace a hand-written index by a generated one
    #[arg(long)]
    pub rewrite: bool,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct HistoryArgs {
    /// Only changes of this file
    pub path: Option<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    /// Show the diff of each change
    #[arg(long, short = 'p')]
    pub diff: bool,
    /// Shrink the history of every store: remove versions that no change needs, and changes as --older-than and --max-size select
    #[arg(long, conflicts_with_all = ["path", "limit", "diff"])]
    pub prune: bool,
    /// With --prune: remove changes that are older than this, such as 12h, 90d, 8w, 6m or 1y
    #[arg(long, value_name = "AGE", requires = "prune")]
    pub older_than: Option<String>,
    /// With --prune: remove the oldest changes until the history is no larger than this, such as 50MB
    #[arg(long, value_name = "SIZE", requires = "prune")]
    pub max_size: Option<String>,
    /// With --prune: print what would be removed, and change nothing
    #[arg(long, requires = "prune")]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct UndoArgs {
    /// The change, by its id or the end of it
    pub id: Option<String>,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RedoArgs {
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RestoreArgs {
    /// The change, by its id or the end of it
    pub id: String,
    /// Restore only this file of the change
    pub path: Option<String>,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RecallArgs {
    /// A question or some words; one word, or "a phrase", finds only what contains it
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// What to search
    #[arg(long, value_parser = scope(), default_value = "all")]
    pub scope: Scope,
    /// Show at most this many [default: the setting recall.limit, 5]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub limit: u32,
    /// Also find what says it in other words, with the embedding model of the settings
    #[arg(long)]
    pub semantic: bool,
}

#[derive(Debug, ClapArgs)]
pub struct FindArgs {
    /// What to find: words, "a phrase", 'word, ^start, end$, !not, type: in: store: agent: role: project: since: before:
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, ClapArgs)]
pub struct McpArgs {
    /// Offer only the tools that read
    #[arg(long)]
    pub read_only: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    /// A loopback address: 127.0.0.1:PORT or [::1]:PORT; port 0 chooses one
    #[arg(long, value_name = "ADDRESS", conflicts_with = "socket")]
    pub listen: Option<String>,
    /// A socket, in a directory that is yours alone [default: one for the project, in the runtime
    /// directory, or else in the data directory]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct HookArgs {
    /// The agent: claude-code, codex, gemini, copilot or opencode
    pub agent: String,
    /// The event, where the agent's document does not name it
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Before an action, ask where a guard says so
    #[arg(long)]
    pub guards: bool,
    /// Before a memory is written, ask
    #[arg(long)]
    pub confirm_writes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct GuardArgs {
    /// A memory that forbids something: [STORE:]PATH, with #L10, #L10-20 or #entry-title for a part;
    /// without one, list the guards
    #[arg(value_name = "MEMORY")]
    pub reference: Option<String>,
    /// Ask about this command: words, with * for any; such as "git push --force*"
    #[arg(long, value_name = "WORDS", requires = "reference")]
    pub command: Vec<String>,
    /// Ask about files that are written or deleted
    #[arg(long, value_name = "GLOB", requires = "reference")]
    pub path: Vec<String>,
    /// Ask about files that are used, also when they are only read
    #[arg(long, value_name = "GLOB", requires = "reference")]
    pub read: Vec<String>,
    /// Ask about a package that is added
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub package: Vec<String>,
    /// Ask about edits that add this
    #[arg(long, value_name = "REGEX", requires = "reference")]
    pub edit: Vec<String>,
    /// Try the guards on all logs: what each would have asked about; a guard asks only after this
    #[arg(long, conflicts_with_all = ["command", "path", "read", "package", "edit", "remove"])]
    pub backtest: bool,
    /// Remove the guards of the memory, or the one with this id
    #[arg(long, requires = "reference")]
    pub remove: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TrustArgs {
    /// The file or directory
    pub path: String,
    /// Stop trusting the path
    #[arg(long)]
    pub remove: bool,
    /// Print what would change in your settings as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct SetupArgs {
    /// The agent: claude-code, codex, gemini, opencode or copilot
    pub agent: String,
    /// Change the current project's files, not the user's
    #[arg(long)]
    pub project: bool,
    /// Remove tome from the agent's settings
    #[arg(long)]
    pub remove: bool,
    /// Also ask before a call that a guard is about (see `tome guard`); a later set-up without this
    /// takes it out, as with the next
    #[arg(long, conflicts_with = "remove")]
    pub guards: bool,
    /// Also ask before the agent writes a memory's file
    #[arg(long, conflicts_with = "remove")]
    pub confirm_writes: bool,
    /// Write a Claude Code plugin to this directory instead, or remove it
    #[arg(long, value_name = "DIR", conflicts_with = "project")]
    pub plugin: Option<PathBuf>,
    /// Print what would change as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask on a terminal
    #[arg(long, short, conflicts_with = "dry_run")]
    pub yes: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_verb_and_every_flag_has_a_help_text() {
        let listed = Args::command();
        let mut built = listed.clone();
        built.build();
        for verb in built.get_subcommands() {
            let name = verb.get_name();
            if let Some(listed) = listed.find_subcommand(name) {
                assert_eq!(verb.get_about(), listed.get_about(), "{name}");
            }
            assert!(verb.get_about().is_some(), "{name}");
            for flag in verb.get_arguments() {
                assert!(flag.get_help().is_some(), "{name} {}", flag.get_id());
            }
        }
    }
}
