//! What the logs of sessions say about memories: which sessions there are, which of them an agent
//! will delete, and how each memory was used.

use std::collections::HashSet;
use std::path::Path;

use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::insight::ledger::Ledger;
use crate::core::log::Agent;
use crate::core::log::keep::kept;
use crate::core::search::index::Corpus;

/// The days after which Claude Code deletes a log, unless its settings say otherwise.
const CLAUDE_KEEPS: i64 = 30;

/// A session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLog {
    /// The agent.
    pub agent: Agent,
    /// The session's id.
    pub id: String,
    /// When the file was last changed, in milliseconds since 1970.
    pub modified: Option<i64>,
}

impl SessionLog {
    /// The citation of the whole log.
    pub fn citation(&self) -> String {
        format!("{}:{}", self.agent.name(), self.id)
    }
}

/// What the logs say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionLogs {
    /// The logs, copies that tome keeps included.
    pub all: Vec<SessionLog>,
    /// The sessions of which tome keeps a copy.
    pub kept: HashSet<String>,
    /// The days after which Claude Code deletes a log; `None` if it never does.
    pub claude_keeps: Option<i64>,
    /// How the memories were used.
    pub ledger: Ledger,
}

impl SessionLogs {
    /// Reads what the corpus says. `claude` is Claude Code's directory, `copies` that of the logs that
    /// tome keeps.
    pub fn read(corpus: &Corpus, claude: &Path, copies: &Path) -> Self {
        let all = corpus.logs().filter_map(|log| {
            Some(SessionLog {
                agent: log.agent()?,
                id: log.id().to_owned(),
                modified: log.modified(),
            })
        });
        Self {
            all: all.collect(),
            kept: kept(copies, &[]).into_iter().map(|log| log.id).collect(),
            claude_keeps: claude_keeps(claude),
            ledger: Ledger::default(),
        }
    }

    /// The same logs, with how the memories were used.
    pub fn with_ledger(self, ledger: Ledger) -> Self {
        Self { ledger, ..self }
    }

    /// The same logs, with what is kept and how long they are kept as it is now.
    pub fn with_settings(&self, claude: &Path, copies: &Path) -> Self {
        Self {
            kept: kept(copies, &[]).into_iter().map(|log| log.id).collect(),
            claude_keeps: claude_keeps(claude),
            ..self.clone()
        }
    }
}

/// The days after which Claude Code deletes a log, by its settings.
fn claude_keeps(claude: &Path) -> Option<i64> {
    let text = read_text(&claude.join("settings.json"), LARGEST_SETTINGS);
    let text = text.ok().flatten().unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    match settings["cleanupPeriodDays"].as_i64() {
        // 0 keeps no logs at all; then there is nothing to be deleted later.
        Some(days) if days <= 0 => None,
        Some(days) => Some(days),
        None => Some(CLAUDE_KEEPS),
    }
}
