//! What the logs of sessions say about memories: which sessions there are, which of them an agent
//! will delete, and when a call last named each memory.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

use super::{ignored, is_chosen, swept_soon, untaught, unused};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::insight::ledger::Ledger;
use crate::core::insight::sessions::listings;
use crate::core::log::Agent;
use crate::core::log::keep::kept;
use crate::core::memory::config::CurateSettings;
use crate::core::memory::layout::Layout;
use crate::core::memory::library::Unlisted;
use crate::core::memory::store::Store;
use crate::core::search::index::{Corpus, Part};

/// The days after which Claude Code deletes a log, unless its settings say otherwise.
const CLAUDE_KEEPS: i64 = 30;

/// A session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLog {
    /// The agent.
    pub agent: Agent,
    /// The session's id.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// When something was last said, in milliseconds since 1970.
    pub last: i64,
    /// When the file was last changed, in milliseconds since 1970.
    pub modified: Option<i64>,
    /// Why it is not listed as a session, if so.
    pub unlisted: Option<Unlisted>,
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
    /// When a call last named a memory, by the memory's file name, in milliseconds since 1970.
    pub named: HashMap<String, i64>,
    /// The sessions of which tome keeps a copy.
    pub kept: HashSet<String>,
    /// The days after which Claude Code deletes a log; `None` if it never does.
    pub claude_keeps: Option<i64>,
    /// How the memories were used.
    pub ledger: Ledger,
}

impl SessionLogs {
    /// Reads what the corpus says about the memories of the stores. `claude` is Claude Code's
    /// directory, `copies` that of the logs that tome keeps.
    pub fn read(corpus: &Corpus, stores: &[Store], claude: &Path, copies: &Path) -> Self {
        let listings = listings(corpus);
        let all = corpus.logs().zip(listings).filter_map(|(log, listing)| {
            Some(SessionLog {
                agent: log.agent()?,
                id: log.id().to_owned(),
                path: log.path(),
                cwd: log.cwd().map(PathBuf::from),
                last: log.last_activity(),
                modified: log.modified(),
                unlisted: listing.unlisted,
            })
        });
        Self {
            all: all.collect(),
            named: named(corpus, stores),
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

    /// The logs of sessions that a person had in a project.
    pub fn of_project<'a>(&'a self, project: &'a Path) -> impl Iterator<Item = &'a SessionLog> {
        let is_here = move |log: &&SessionLog| {
            let cwd = log.cwd.as_deref();
            log.unlisted.is_none() && cwd.is_some_and(|cwd| cwd.starts_with(project))
        };
        self.all.iter().filter(is_here)
    }
}

/// When a call last named the file of each memory that agents read one by one.
fn named(corpus: &Corpus, stores: &[Store]) -> HashMap<String, i64> {
    let mut names: Vec<String> = Vec::new();
    for store in stores
        .iter()
        .filter(|store| store.layout() == Layout::Index)
    {
        let files = store.files().unwrap_or_default();
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        names.extend(files.iter().map(|file| name(&file.path)));
    }
    names.sort_unstable();
    names.dedup();
    let Ok(words) = AhoCorasick::new(&names) else {
        return HashMap::new();
    };
    if names.is_empty() {
        return HashMap::new();
    }
    let mut found: HashMap<usize, i64> = HashMap::new();
    for log in 0..corpus.logs().len() {
        for at in corpus.messages(log, &[Part::Calls]) {
            // A damaged message is recorded by the corpus.
            let _ = corpus.message(at, |message| {
                let Some(time) = message.time else { return };
                for word in words.find_overlapping_iter(message.text) {
                    let last = found.entry(word.pattern().as_usize()).or_insert(time);
                    *last = time.max(*last);
                }
            });
        }
    }
    let by_name = found.into_iter();
    by_name
        .map(|(number, time)| (names[number].clone(), time))
        .collect()
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

/// The rules that read the logs of sessions.
const OF_LOGS: [&str; 4] = [
    ignored::RULE.id,
    untaught::RULE.id,
    unused::RULE.id,
    swept_soon::RULE.id,
];

/// Whether a rule runs that reads the logs of sessions.
pub fn reads_logs(settings: &CurateSettings, only: &[String]) -> bool {
    OF_LOGS.iter().any(|id| is_chosen(id, settings, only))
}
