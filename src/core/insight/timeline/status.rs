//! The status of the timeline: what it has, what of it is out of date, where it is kept.

use std::path::PathBuf;

use super::event::{EventList as _, LogEvents};
use super::node::Level;
use super::{Timeline, grips_of};
use crate::core::insight::sessions::captured_sessions;
use crate::core::log::Agent;
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
    /// The number of grips.
    pub grips: usize,
    /// The number of grips that nodes had once.
    pub former_grips: usize,
    /// The number of former versions of nodes in scope.
    pub former_versions: usize,
    /// How many segments are not summarized by the program that was asked.
    pub summarized_offline: usize,
    /// Why the first of these is not.
    pub note: Option<String>,
    /// The bytes of the directory.
    pub bytes: u64,
    /// When something was last written there, in milliseconds since 1970 UTC.
    pub written: Option<i64>,
}

impl Timeline {
    /// Returns its status; `outdated` is the number of its logs that are out of date.
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
        let notes: Vec<&String> = records.filter_map(|one| one.note.as_ref()).collect();
        Status {
            directory: self.cache.clone(),
            sessions: self.logs.iter().map(sessions).sum(),
            outdated,
            nodes: LEVELS.map(|level| (level, tree.ids(level).len())).to_vec(),
            events: self.logs.iter().map(count).sum(),
            grips: self.records().map(|log| grips_of(log).count()).sum(),
            former_grips: self.former().lines().count(),
            former_versions: self.former_versions().len(),
            summarized_offline: notes.len(),
            note: notes.first().map(|note| (*note).clone()),
            bytes,
            written,
        }
    }
}
