//! Arguments of the verbs over the timeline.

use clap::{Args as ClapArgs, ValueEnum};

use crate::core::insight::timeline::node::Level;

#[derive(Debug, ClapArgs)]
pub struct TocArgs {
    /// The node, such as toc:week:2026:W03 or toc:day:2026-01-15 [default: the years]
    #[arg(conflicts_with_all = ["level", "log"])]
    pub node: Option<String>,
    /// Every node of this level, newest first
    #[arg(long, value_name = "LEVEL", conflicts_with = "log")]
    pub level: Option<LevelArg>,
    /// The session as a whole, by the id of its log or the beginning of it
    #[arg(long, value_name = "ID")]
    pub log: Option<String>,
    /// Make everything anew from the logs; the result is the same
    #[arg(long)]
    pub rebuild: bool,
}

/// A level of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LevelArg {
    /// Years.
    Year,
    /// Months.
    Month,
    /// ISO weeks.
    Week,
    /// Days.
    Day,
    /// Parts of sessions between two pauses.
    Segment,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Year => Self::Year,
            LevelArg::Month => Self::Month,
            LevelArg::Week => Self::Week,
            LevelArg::Day => Self::Day,
            LevelArg::Segment => Self::Segment,
        }
    }
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
    /// A question or some words
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub limit: usize,
}
