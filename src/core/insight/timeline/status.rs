//! How the timeline stands: what it has, what of it is out of date, where it is kept.

use std::path::PathBuf;

use super::event::{EventList as _, LogEvents};
use super::node::Level;
use super::{Timeline, grips_of};
use crate::core::log::Agent;
use crate::core::search::catalog::captured_sessions;
use crate::core::search::index::Corpus;

/// The state of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Where it is kept.
    pub directory: PathBuf,
    /// The number of sessions.
    pub sessions: usize,
    /// How many logs are not summarized yet, or have changed since.
    pub outdated: usize,
    /// The number of nodes of each level.
    pub nodes: Vec<(Level, usize)>,
    /// The number of events in the sessions.
    pub events: usize,
    /// The number of grips, and of those that nodes had once.
    pub grips: (usize, usize),
    /// The number of former versions of nodes in scope.
    pub former_versions: usize,
    /// How many of the nodes are not summarized by the program that was asked, and why the first
    /// one is not.
    pub notes: (usize, Option<String>),
    /// The bytes of the directory.
    pub bytes: u64,
    /// When something was last written there, in milliseconds since 1970 UTC.
    pub written: Option<i64>,
}

impl Timeline {
    /// Returns how it stands, where so many of its logs are outdated.
    pub fn status(&self, corpus: &Corpus, outdated: usize) -> Status {
        const LEVELS: [Level; 5] = [
            Level::Year,
            Level::Month,
            Level::Week,
            Level::Day,
            Level::Segment,
        ];
        let files = std::fs::read_dir(&self.cache).into_iter().flatten();
        let files = files.flatten().filter_map(|file| file.metadata().ok());
        let (mut bytes, mut written) = (0, None);
        for file in files {
            bytes += file.len();
            let time = file.modified().ok();
            let time = time.and_then(|time| jiff::Timestamp::try_from(time).ok());
            written = written.max(time.map(|time| time.as_millisecond()));
        }
        let tree = self.tree();
        let count = |log: &super::LogSlot| LogEvents::of(corpus, log.number).count();
        let sessions = |log: &super::LogSlot| match corpus.log(log.number) {
            Some(log) if log.agent() == Some(Agent::Events) => {
                captured_sessions(corpus, &log).len()
            }
            _ => 1,
        };
        let records = self.records().flat_map(|log| &log.segments);
        let mut notes = records.filter_map(|segment| segment.note.as_ref());
        let first = notes.next().cloned();
        Status {
            directory: self.cache.clone(),
            sessions: self.logs.iter().map(sessions).sum(),
            outdated,
            nodes: LEVELS.map(|level| (level, tree.ids(level).len())).to_vec(),
            events: self.logs.iter().map(count).sum(),
            grips: (
                self.records().map(|log| grips_of(log).count()).sum(),
                self.former().lines().count(),
            ),
            former_versions: self.former_versions().len(),
            notes: (notes.count() + usize::from(first.is_some()), first),
            bytes,
            written,
        }
    }
}
