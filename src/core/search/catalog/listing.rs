//! Which logs are listed as sessions: not those of subagents, not empty ones, and of the copies
//! of one session only the newest.

use std::collections::HashMap;

use super::last_activity;
use crate::core::log::keep::is_earlier_copy;
use crate::core::log::{Agent, Head};
use crate::core::memory::library::Unlisted;
use crate::core::search::index::{Corpus, Log};

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
        let own = (last_activity(log), log.id());
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
