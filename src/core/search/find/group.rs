//! Matches by where they are: the lines of a memory or of a session together, and copies of a
//! line in other sessions once.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Match, MatchSpot, Matches};
use crate::core::log::Role;
use crate::core::search::index::CorpusMessage;

/// The matching lines of one memory or session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchGroup {
    /// The best match.
    pub best: Match,
    /// The other matches in the same place, best first.
    pub others: Vec<Match>,
    /// How many other sessions have a copy of one of these lines, and no line of their own.
    pub copies: usize,
}

#[derive(PartialEq, Eq, Hash)]
enum Place {
    Memory(usize),
    Log(usize),
}

/// A line of a log. The same line of the same speaker in another log is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogLine {
    log: usize,
    role: Role,
    /// The hash of the line, without the blanks around it.
    text: u64,
}

impl LogLine {
    pub(super) fn new(message: &CorpusMessage<'_>, line: &str) -> Self {
        // Equal lines have equal hashes in all results, and nobody can foresee which lines do.
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self {
            log: message.log,
            role: message.role,
            text: HASHER.hash_one(line.trim()),
        }
    }
}

/// The lines of logs that were met, each with the log that had it first and a number.
#[derive(Default)]
struct KnownLines(FxHashMap<(Role, u64), (usize, usize)>);

impl KnownLines {
    /// Returns log and number of the line that this one copies; a new line gets this number.
    fn meet(&mut self, line: LogLine, number: usize) -> Option<(usize, usize)> {
        let first = self.0.entry((line.role, line.text));
        let first = *first.or_insert((line.log, number));
        Some(first).filter(|(log, _)| *log != line.log)
    }
}

impl Matches {
    /// Returns the matches, each with the number of other logs that have a copy of it, which are
    /// left out.
    pub fn without_copies(&self) -> Vec<(Match, usize)> {
        let mut kept: Vec<(Match, usize)> = Vec::new();
        let mut lines = KnownLines::default();
        let mut copied: FxHashSet<(usize, usize)> = FxHashSet::default();
        for found in &self.matches {
            if let Some(line) = found.line
                && let Some((_, first)) = lines.meet(line, kept.len())
            {
                kept[first].1 += usize::from(copied.insert((line.log, first)));
                continue;
            }
            kept.push((*found, 0));
        }
        kept
    }

    /// Groups the matches; the groups are in the order of their best ones.
    pub fn groups(&self) -> Vec<MatchGroup> {
        let mut groups: Vec<MatchGroup> = Vec::new();
        let mut places: FxHashMap<Place, usize> = FxHashMap::default();
        let mut lines = KnownLines::default();
        // For each log that has copies of other logs' lines, the log of the first one.
        let mut copied: FxHashMap<usize, usize> = FxHashMap::default();
        for found in &self.matches {
            let place = match (found.spot, found.line) {
                (MatchSpot::Title(number) | MatchSpot::Line(number, _), _) => Place::Memory(number),
                (MatchSpot::Session(log), _) => Place::Log(log),
                (MatchSpot::Message(..), None) => continue,
                (MatchSpot::Message(..), Some(line)) => match lines.meet(line, 0) {
                    Some((first, _)) => {
                        copied.entry(line.log).or_insert(first);
                        continue;
                    }
                    None => Place::Log(line.log),
                },
            };
            let count = groups.len();
            match *places.entry(place).or_insert(count) {
                at if at < count => groups[at].others.push(*found),
                _ => groups.push(MatchGroup {
                    best: *found,
                    others: Vec::new(),
                    copies: 0,
                }),
            }
        }
        for (log, first) in copied {
            let group = places.get(&Place::Log(first));
            if !places.contains_key(&Place::Log(log))
                && let Some(group) = group.and_then(|group| groups.get_mut(*group))
            {
                group.copies += 1;
            }
        }
        groups
    }
}
