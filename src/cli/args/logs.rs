//! Arguments of the verbs over raw logs.

use clap::{Args as ClapArgs, ValueEnum};

/// Which logs are meant.
#[derive(Debug, ClapArgs)]
pub struct LogFilter {
    /// Only this agent's, such as claude-code or codex
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Only those of projects whose path contains this; the logs of every project are looked at
    #[arg(long, value_name = "TEXT")]
    pub project: Option<String>,
    /// Only those with something newer than this: 2026-01-31, today, yesterday, or an age such as
    /// 36h, 30d, 2w, 6m (months), 1y
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
}

/// Arguments of `logs`.
#[derive(Debug, ClapArgs)]
pub struct LogsArgs {
    /// Which logs.
    #[command(flatten)]
    pub filter: LogFilter,
    /// Only logs in which this role speaks: user, assistant, system or tool
    #[arg(long, value_name = "ROLE")]
    pub role: Option<RoleArg>,
    /// List subagents' conversations too
    #[arg(long)]
    pub subagents: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The agent's program.
    System,
    /// A tool.
    Tool,
}

/// Arguments of `log`.
#[derive(Debug, ClapArgs)]
pub struct LogArgs {
    /// The conversation, by its id or the beginning of it
    pub id: String,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Only what this role says
    #[arg(long, value_name = "ROLE")]
    pub role: Option<RoleArg>,
    /// Print tool calls and results in full, not a line each
    #[arg(long)]
    pub tools: bool,
    /// Print the model's thinking
    #[arg(long)]
    pub thinking: bool,
    /// Print what the agent's program put into the conversation
    #[arg(long)]
    pub injected: bool,
    /// Print secrets as they are, not masked
    #[arg(long)]
    pub unmasked: bool,
}

/// Arguments of `resume`.
#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    /// The conversation, by its id or the beginning of it
    pub id: String,
    /// Run the command in its directory
    #[arg(long)]
    pub run: bool,
}

/// Arguments of `keep`.
#[derive(Debug, ClapArgs)]
pub struct KeepArgs {
    /// The conversations, by their ids or the beginnings of them; their subagents go with them
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

/// Arguments of `stats`.
#[derive(Debug, ClapArgs)]
pub struct StatsArgs {
    /// Which logs.
    #[command(flatten)]
    pub filter: LogFilter,
}
