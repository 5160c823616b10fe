//! Matches by where they are: the lines of a memory or of a session together, and copies of a
//! line in other sessions once.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::{LineReader, Match, MatchSpot, Matches, line_of};
use crate::core::log::Role;

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

/// The lines of logs that were met, each with the log that had it first and a number. The same
/// line of the same speaker in another log is a copy.
#[derive(Default)]
struct KnownLines {
    first: HashMap<(Role, u64), (usize, usize)>,
    hasher: RandomState,
}

impl KnownLines {
    /// Returns the log of a match in one, and log and number of the line that it copies; a new
    /// line gets this number. `None` if the message is not visible any more.
    fn meet(
        &mut self,
        (reader, spot): (&LineReader<'_>, MatchSpot),
        number: usize,
    ) -> Option<(usize, Option<(usize, usize)>)> {
        let (log, line) = reader.message(spot, |message| {
            let line = line_of(message, spot).unwrap_or_default();
            let line = self.hasher.hash_one(line.trim());
            (message.log, (message.role, line))
        })?;
        let first = *self.first.entry(line).or_insert((log, number));
        Some((log, Some(first).filter(|(of, _)| *of != log)))
    }
}

impl Matches {
    /// Returns the matches, each with the number of other logs that have a copy of it, which are
    /// left out.
    pub fn without_copies(&self, reader: &LineReader<'_>) -> Vec<(Match, usize)> {
        let mut kept: Vec<(Match, usize)> = Vec::new();
        let mut lines = KnownLines::default();
        let mut copied: HashSet<(usize, usize)> = HashSet::new();
        for found in &self.matches {
            if let MatchSpot::Message { .. } = found.spot {
                match lines.meet((reader, found.spot), kept.len()) {
                    None => continue,
                    Some((log, Some((_, first)))) => {
                        kept[first].1 += usize::from(copied.insert((log, first)));
                        continue;
                    }
                    Some((_, None)) => {}
                }
            }
            kept.push((*found, 0));
        }
        kept
    }

    /// Groups the matches; the groups are in the order of their best ones.
    pub fn groups(&self, reader: &LineReader<'_>) -> Vec<MatchGroup> {
        let mut groups: Vec<MatchGroup> = Vec::new();
        let mut places: HashMap<Place, usize> = HashMap::new();
        let mut lines = KnownLines::default();
        // For each log that has copies of other logs' lines, the log of the first one.
        let mut copied: HashMap<usize, usize> = HashMap::new();
        for found in &self.matches {
            let place = match found.spot {
                MatchSpot::Title(number) | MatchSpot::Line(number, _) => Place::Memory(number),
                MatchSpot::Message { .. } => match lines.meet((reader, found.spot), 0) {
                    None => continue,
                    Some((log, Some((first, _)))) => {
                        copied.entry(log).or_insert(first);
                        continue;
                    }
                    Some((log, None)) => Place::Log(log),
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
