//! Guards: rules that are made from memories which forbid something checkable, and that ask a person
//! before an agent does it.
//!
//! [`check`] is what a rule looks for in a call, [`derive`] makes rules from the words of a memory.
//! Guards are kept in tome's data directory, each bound to the words it was made from: where the
//! memory no longer says them, the guard is off. It is off, too, until it was tried on the logs.

pub mod check;
mod derive;
mod statement;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::act::Act;
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::memory::store::Store;
use crate::core::search::index::{Corpus, Part};
use crate::core::text::one_line;
use crate::core::{Error, Result};
use check::{Check, Checker};
pub use derive::forbidden;
pub use statement::statements;

/// The file of all guards in the data directory.
const FILE: &str = "guards.json";

/// A rule that was made from a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// Names it: the same memory, words and rule have the same id.
    pub id: String,
    /// The root of the memory's store.
    pub root: PathBuf,
    /// The file of the memory below it.
    pub path: String,
    /// The words of the memory that it was made from, on one line.
    pub words: String,
    /// What it looks for.
    pub check: Check,
    /// The last time it was tried on the logs.
    pub tried: Option<Trial>,
}

/// What a trial on the logs found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// How many calls it looked at.
    pub calls: usize,
    /// How many of them it would have asked about.
    pub stopped: usize,
}

/// Whether a guard asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardState {
    /// It asks.
    On,
    /// It was not tried on the logs yet.
    Untried,
    /// The memory no longer says its words.
    Changed,
}

impl GuardState {
    /// The name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Untried => "untried",
            Self::Changed => "changed",
        }
    }
}

impl Guard {
    /// A guard of words in a file of a store.
    pub fn new(store: &Store, path: &str, words: &str, check: Check) -> Self {
        let root = store.root().path().to_owned();
        let words = one_line(words);
        let name = format!("{}\0{path}\0{words}\0{check}", root.display());
        Self {
            id: Revision::of(name.as_bytes()).to_string()[..8].to_owned(),
            root,
            path: path.to_owned(),
            words,
            check,
            tried: None,
        }
    }

    /// Whether it asks; `text` is what its memory says now.
    pub fn state(&self, text: Option<&str>) -> GuardState {
        let says = |text: &str| one_line(text).contains(&self.words);
        match self.tried {
            _ if !text.is_some_and(says) => GuardState::Changed,
            None => GuardState::Untried,
            Some(_) => GuardState::On,
        }
    }
}

/// All guards.
pub fn load(data: &Path) -> Result<Vec<Guard>> {
    let path = data.join(FILE);
    let Some(text) = read_text(&path, LARGEST_SETTINGS)? else {
        return Ok(Vec::new());
    };
    serde_json::from_str(&text).map_err(|e| Error::Invalid {
        path,
        line: e.line(),
        message: e.to_string(),
    })
}

/// Replaces all guards.
pub fn save(data: &Path, guards: &[Guard]) -> Result<()> {
    let path = data.join(FILE);
    private::create_dir(data).map_err(|e| Error::io(data, e))?;
    let text = serde_json::to_vec_pretty(guards).map_err(|e| Error::io(&path, e.into()))?;
    private::write_whole(data, FILE, &text)
}

/// The guard that asks about a call, and what it asks about. `stores` are asked for once a rule
/// matches: those of the project the call is made in.
pub fn asking<'a>(
    guards: Vec<Guard>,
    act: &Act,
    home: &Path,
    stores: impl FnOnce() -> &'a [Store],
) -> Option<(Guard, String)> {
    let tried = guards.into_iter().filter(|guard| guard.tried.is_some());
    let matching = tried.filter_map(|guard| {
        let stopped = Checker::new(&guard.check, home).ok()?.stopped(act)?;
        Some((guard, stopped))
    });
    let matching: Vec<(Guard, String)> = matching.collect();
    if matching.is_empty() {
        return None;
    }
    let stores = stores();
    matching.into_iter().find(|(guard, _)| {
        let mut stores = stores.iter();
        let text = stores
            .find(|store| store.root().path() == guard.root)
            .and_then(|store| store.text(&guard.path).ok()?);
        guard.state(text.as_deref()) == GuardState::On
    })
}

/// A call in a log that a guard would have asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Which guard, by its position.
    pub guard: usize,
    /// The log, by its position in the corpus.
    pub log: usize,
    /// The line of the call.
    pub line: u64,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
    /// What it asks about.
    pub what: String,
}

/// What a trial of guards on all logs found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backtest {
    /// The calls that each guard looked at.
    pub calls: Vec<usize>,
    /// The calls that they would have asked about, log by log.
    pub stops: Vec<Stop>,
}

/// Tries guards on every call of the logs. A copy of a call in another session counts once.
pub fn backtest(corpus: &Corpus, checks: &[Checker], home: &Path) -> Backtest {
    let mut seen = std::collections::HashSet::new();
    let mut found = Backtest {
        calls: vec![0; checks.len()],
        stops: Vec::new(),
    };
    for log in 0..corpus.logs().len() {
        let cwd = corpus.log(log).and_then(|log| log.cwd().map(PathBuf::from));
        let cwd = cwd.unwrap_or_default();
        for at in corpus.messages(log, &[Part::Calls]) {
            // A damaged message is recorded by the corpus.
            let _ = corpus.message(at, |message| {
                let act = Act::of(message.tool.unwrap_or_default(), message.text);
                let act = act.made_in(&cwd, home);
                let is_copy = message
                    .identity
                    .is_some_and(|identity| !seen.insert((identity, message.time)));
                if act.is_empty() || is_copy {
                    return;
                }
                for (guard, check) in checks.iter().enumerate() {
                    found.calls[guard] += usize::from(check.looks_at(&act));
                    if let Some(what) = check.stopped(&act) {
                        found.stops.push(Stop {
                            guard,
                            log: message.log,
                            line: message.line,
                            time: message.time,
                            what,
                        });
                    }
                }
            });
        }
    }
    found
}
