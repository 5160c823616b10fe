//! Arguments of the verbs about logs and their timeline.

use clap::Args as ClapArgs;
use clap::builder::TypedValueParser;

use super::one_of;
use crate::core::insight::timeline::node::Level;
use crate::core::log::Role;

// Selects logs.
#[derive(Debug, ClapArgs)]
pub struct LogFilter {
    /// Only logs of this agent, such as claude-code or codex
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Only logs of projects whose path contains this text; searches the logs of every project
    #[arg(long, value_name = "TEXT")]
    pub project: Option<String>,
    /// Only logs with messages newer than this: 2026-01-31, today, yesterday, or an age such as
    /// 36h, 30d, 2w, 6m (months), 1y
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct LogsArgs {
    /// Only sessions that match a question or some words, best first
    #[arg(value_name = "QUERY")]
    pub query: Vec<String>,
    /// Which logs.
    #[command(flatten)]
    pub filter: LogFilter,
    /// Only logs with messages of this role: user, assistant, system or tool
    #[arg(long, value_name = "ROLE", value_parser = role())]
    pub role: Option<Role>,
    /// List subagents' conversations, older copies of forked or resumed sessions and empty logs too
    #[arg(long, visible_alias = "subagents")]
    pub every: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

fn role() -> impl TypedValueParser<Value = Role> {
    one_of([
        ("user", "The user", Role::User),
        ("assistant", "The model", Role::Assistant),
        ("system", "The agent's program", Role::System),
        ("tool", "A tool", Role::Tool),
    ])
}

#[derive(Debug, ClapArgs)]
pub struct LogArgs {
    /// The conversation, by its id or the beginning of it
    pub id: String,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Only messages of this role
    #[arg(long, value_name = "ROLE", value_parser = role())]
    pub role: Option<Role>,
    /// Print tool calls and results in full, not a line each
    #[arg(long)]
    pub tools: bool,
    /// Print the model's thinking
    #[arg(long)]
    pub thinking: bool,
    /// Print text that the agent's program injected into the conversation
    #[arg(long)]
    pub injected: bool,
    /// Print secrets as they are, not masked
    #[arg(long)]
    pub unmasked: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    /// The conversation, by its id or the beginning of it
    pub id: String,
    /// Run the command in its directory
    #[arg(long)]
    pub run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct KeepArgs {
    /// The conversations, by their ids or the beginnings of them; their subagents' logs are kept too
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct StatsArgs {
    /// Which logs.
    #[command(flatten)]
    pub filter: LogFilter,
}

#[derive(Debug, ClapArgs)]
#[command(disable_version_flag = true)]
pub struct TocArgs {
    /// The node, such as toc:week:2026:W03, toc:day:2026-01-15 or log:AGENT:ID [default: the years]
    #[arg(conflicts_with_all = ["level", "log"])]
    pub node: Option<String>,
    /// Every node of this level, newest first
    #[arg(long, value_name = "LEVEL", conflicts_with = "log", value_parser = level())]
    pub level: Option<Level>,
    /// The session as a whole, by the id of its log or the beginning of it
    #[arg(long, value_name = "ID")]
    pub log: Option<String>,
    /// A former version of the node or the session; the last five are kept
    #[arg(long, value_name = "N", conflicts_with = "level")]
    pub version: Option<usize>,
    /// Make everything anew from the logs; the result is the same
    #[arg(long)]
    pub rebuild: bool,
    /// How many nodes, events and grips there are, what is out of date, where it is kept; makes nothing
    #[arg(long, conflicts_with_all = ["node", "level", "log", "version", "rebuild"])]
    pub status: bool,
}

fn level() -> impl TypedValueParser<Value = Level> {
    one_of([
        ("year", "Years", Level::Year),
        ("month", "Months", Level::Month),
        ("week", "ISO weeks", Level::Week),
        ("day", "Days", Level::Day),
        (
            "segment",
            "Parts of sessions between two pauses",
            Level::Segment,
        ),
    ])
}

#[derive(Debug, ClapArgs)]
pub struct EventsArgs {
    /// The earliest: 2026-01-31, today, yesterday, 2026-01-31T10:00:00Z, or an age such as 36h or 30d
    #[arg(long, value_name = "WHEN")]
    pub from: Option<String>,
    /// The latest, likewise; a day counts to its end
    #[arg(long, value_name = "WHEN")]
    pub to: Option<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, ClapArgs)]
pub struct GripArgs {
    /// The grip: grip:TIME:ID
    pub id: String,
    /// How many messages before it to show
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub before: usize,
    /// How many messages after it to show
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub after: usize,
}

#[derive(Debug, ClapArgs)]
pub struct TeleportArgs {
    /// A question or some words; behind -- if it begins with -
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 8, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, ClapArgs)]
pub struct TopicsArgs {
    /// Show at most this many
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub limit: usize,
}
