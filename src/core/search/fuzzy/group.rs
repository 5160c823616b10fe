//! Matches by where they are: the lines of a memory or of a session together, and copies of a
//! line in other sessions once.

use std::collections::HashMap;

use super::{LineReader, Match, MatchSpot, Matches, line_of};
use crate::core::log::Role;
use crate::core::search::copies::collapse;
use crate::core::search::exact::copy_key;

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

impl Matches {
    /// Returns the matches, each with the number of its copies in other logs, which are left out.
    pub fn without_copies(&self, reader: &LineReader<'_>) -> Vec<(Match, usize)> {
        // Lines of one message are not copies of each other, so the place in it is compared, too.
        let key = |(found, _): &(Match, usize)| match found.spot {
            MatchSpot::Message { offset, .. } => {
                Some((reader.message(found.spot, copy_key)??, offset))
            }
            _ => None,
        };
        let all = self.matches.iter().map(|found| (*found, 0)).collect();
        collapse(all, key, |(_, copies)| copies)
    }

    /// Groups the matches; the groups are in the order of their best ones.
    pub fn groups(&self, reader: &LineReader<'_>) -> Vec<MatchGroup> {
        let mut groups: Vec<MatchGroup> = Vec::new();
        let mut places: HashMap<Place, usize> = HashMap::new();
        let mut lines: HashMap<(Role, String), usize> = HashMap::new();
        // For each log that has copies of other logs' lines, the group of the first one.
        let mut copied: HashMap<usize, usize> = HashMap::new();
        for found in &self.matches {
            let place = match found.spot {
                MatchSpot::Title(number) | MatchSpot::Line(number, _) => Place::Memory(number),
                MatchSpot::Message { .. } => {
                    let about = reader.message(found.spot, |message| {
                        let line = line_of(message, found.spot).unwrap_or_default();
                        (message.log, message.role, line.trim().to_owned())
                    });
                    let Some((log, role, line)) = about else {
                        continue;
                    };
                    let next = places.get(&Place::Log(log));
                    let next = next.copied().unwrap_or(groups.len());
                    let known = *lines.entry((role, line)).or_insert(next);
                    if known != next {
                        copied.entry(log).or_insert(known);
                        continue;
                    }
                    Place::Log(log)
                }
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
        for (log, group) in copied {
            if !places.contains_key(&Place::Log(log))
                && let Some(group) = groups.get_mut(group)
            {
                group.copies += 1;
            }
        }
        groups
    }
}
