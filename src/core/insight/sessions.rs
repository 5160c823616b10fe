//! The sessions of a corpus: which logs are listed as one, what a list says of each, and the sessions
//! of which only hooks tell.
//!
//! Logs of subagents and empty ones are not listed, and of the copies of one session only the newest.

mod captured;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::core::log::keep::is_earlier_copy;
use crate::core::log::{Agent, Head, LogFile, NotUnderstood, not_understood};
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::library::{LogSummary, Unlisted};
use crate::core::search::index::{Corpus, Log, Part};

pub use captured::{CapturedSession, captured_events, captured_sessions};

/// How a log is listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Why it is not listed as a session; `None` if it is.
    pub unlisted: Option<Unlisted>,
    /// The id of the log that it belongs to: that of its parent, or of the newest copy.
    pub below: Option<String>,
}

/// Returns how each log of the corpus is listed, in the corpus's order.
pub fn listings(corpus: &Corpus) -> Vec<Listing> {
    let logs: Vec<(Log<'_>, Head)> = corpus
        .logs()
        .map(|log| (log, log.facts().map(|(head, _)| head).unwrap_or_default()))
        .collect();
    let origins: HashMap<(Option<Agent>, &str), &str> = logs
        .iter()
        .filter_map(|(log, head)| Some(((log.agent(), log.id()), head.fork_of.as_deref()?)))
        .collect();
    // The newest of the sessions that are copies of one.
    let mut newest: HashMap<(Option<Agent>, &str), (i64, &str)> = HashMap::new();
    let is_session = |(log, head): &&(Log<'_>, Head)| {
        head.parent.is_none() && !head.is_empty() && !is_earlier_copy(log.id(), head)
    };
    for (log, _) in logs.iter().filter(is_session) {
        let own = (log.last_activity(), log.id());
        let best = newest
            .entry((log.agent(), first(log, &origins)))
            .or_insert(own);
        *best = own.max(*best);
    }
    let listing = |(log, head): &(Log<'_>, Head)| {
        if let Some(parent) = &head.parent {
            return Listing {
                unlisted: Some(Unlisted::Subagent),
                below: Some(parent.clone()),
            };
        }
        if head.is_empty() {
            return Listing {
                unlisted: Some(Unlisted::Empty),
                below: None,
            };
        }
        match newest.get(&(log.agent(), first(log, &origins))) {
            Some((_, id)) if *id != log.id() => Listing {
                unlisted: Some(Unlisted::Copy),
                below: Some((*id).to_owned()),
            },
            _ => Listing::default(),
        }
    };
    logs.iter().map(listing).collect()
}

/// Returns the id of the session of which this one is a copy, or a copy of a copy; its own id if
/// it is none.
fn first<'a>(log: &Log<'a>, origins: &HashMap<(Option<Agent>, &'a str), &'a str>) -> &'a str {
    // Sessions may claim to be copies of each other.
    const MOST: usize = 32;
    let mut id = log.id();
    for _ in 0..MOST {
        match origins.get(&(log.agent(), id)) {
            Some(origin) if *origin != log.id() => id = origin,
            _ => break,
        }
    }
    id
}

/// Returns the logs that are not understood: those of the corpus that have bytes and no text, and
/// databases that cannot be read.
pub fn logs_not_understood(
    catalog: &LogCatalog,
    corpus: &Corpus,
    files: &[LogFile],
) -> Vec<NotUnderstood> {
    let silent: HashSet<(PathBuf, &str)> = corpus
        .logs()
        .filter(|log| Part::ALL.iter().all(|part| log.text_bytes(*part) == 0))
        .map(|log| (log.path(), log.id()))
        .collect();
    let is_silent = |file: &&LogFile| silent.contains(&(file.path.clone(), file.id.as_str()));
    let silent_files = files
        .iter()
        .filter(|_| !silent.is_empty())
        .filter(is_silent);
    not_understood(&catalog.locations, silent_files)
}

/// Returns the logs of a corpus for a list, each with its project.
pub fn log_summaries(corpus: &Corpus, files: &[LogFile]) -> Vec<(String, LogSummary)> {
    let by_place: HashMap<(&Path, &str), &LogFile> = files
        .iter()
        .map(|file| ((file.path.as_path(), file.id.as_str()), file))
        .collect();
    corpus
        .logs()
        .zip(listings(corpus))
        .filter_map(|(log, listing)| {
            let path = log.path();
            let file = *by_place.get(&(path.as_path(), log.id()))?;
            let listed = LogSummary {
                file: file.clone(),
                below: listing.below,
                unlisted: listing.unlisted,
                title: match log.shown_title() {
                    title if title.is_empty() => log.id().to_owned(),
                    title => title,
                },
                time: log.last_activity(),
                turns: log.turns(),
                cwd: log.cwd().map(str::to_owned),
                session: log.facts().and_then(|(head, _)| head.session),
                parent: None,
            };
            let project = log.cwd().unwrap_or_default().to_owned();
            Some((project, listed))
        })
        .collect()
}
