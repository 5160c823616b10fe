//! The matches of a search in logs: as the threads find them, and by log.

use std::ops::Range;

use super::limits::Limits;
use super::term_occurrence::TermOccurrence;
use crate::core::corpus::Part;

/// All matches in logs that are held.
#[derive(Default)]
pub(super) struct HeldMatches {
    /// By the blocks that were searched together.
    found: Vec<Vec<TermOccurrence>>,
    /// Sorted by log, once all parts have been taken.
    runs: Vec<MatchRun>,
}

/// Matches in one part of one log that follow each other.
#[derive(Clone)]
struct MatchRun {
    log: u32,
    part: Part,
    /// Which of those that were searched together, and the range in them.
    of: u32,
    range: Range<u32>,
}

/// The matches in one part of one log, in the order of the log.
#[derive(Clone, Copy)]
pub(super) struct PartMatches<'a> {
    runs: &'a [MatchRun],
    all: &'a HeldMatches,
}

/// The matches in some blocks.
pub(super) struct FoundMatches {
    found: Vec<TermOccurrence>,
    /// Matches of one log that follow each other and are in order: the log, and the index of the
    /// first.
    runs: Vec<(u32, u32)>,
    /// How many messages have a needle.
    messages: usize,
    /// How many messages have each needle.
    with: Vec<usize>,
}

/// A part, and a number that orders the matches in it.
pub(super) type PartPlace = (Part, usize);

/// What the threads of a search have found in some parts.
pub(super) struct FoundInParts {
    /// By the blocks they are of; `None` if there are too many to hold.
    pub(super) held: Option<Vec<(PartPlace, FoundMatches)>>,
    /// How many there are, with those of the parts before.
    pub(super) count: usize,
    /// How many messages have a needle.
    pub(super) messages: usize,
    /// How many messages have each needle.
    pub(super) with: Vec<usize>,
}

/// The matches of one log.
pub(super) struct LogMatches<'a> {
    pub(super) log: usize,
    pub(super) parts: Vec<(Part, Matches<'a>)>,
}

/// The matches in one part of a log, in the order of the log.
#[derive(Clone, Copy)]
pub(super) enum Matches<'a> {
    Held(PartMatches<'a>),
    /// The blocks to look them up in.
    In(&'a [usize]),
}

impl FoundMatches {
    /// Makes room for this many.
    pub(super) fn new(needles: usize, count: usize) -> Self {
        Self {
            found: Vec::with_capacity(count),
            runs: Vec::new(),
            messages: 0,
            with: vec![0; needles],
        }
    }

    /// Adds the next matches of a log, in order; what is found of one needle in a message is one
    /// match.
    pub(super) fn extend(&mut self, log: u32, matches: impl Iterator<Item = TermOccurrence>) {
        let mut matches = matches.peekable();
        let Some(first) = matches.peek() else {
            return;
        };
        let is_next = self.runs.last().is_some_and(|(last, _)| *last == log)
            && (self.found.last()).is_some_and(|last| last.order() <= first.order());
        if !is_next {
            self.runs.push((log, self.found.len() as u32));
        }
        for one in matches {
            let last = self.found.last_mut();
            let mut is_new_message = true;
            if let Some(last) = last {
                if last.order() == one.order() {
                    *last = last.with(one);
                    continue;
                }
                is_new_message = !last.is_in_message_of(one);
            }
            self.messages += usize::from(is_new_message);
            self.with[one.needle()] += 1;
            self.found.push(one);
        }
    }

    /// Returns each run of matches, with its log.
    fn runs(&self) -> impl Iterator<Item = (u32, Range<u32>)> {
        let ends = self.runs.iter().skip(1).map(|(_, first)| *first);
        let ends = ends.chain([self.found.len() as u32]);
        let runs = self.runs.iter().zip(ends);
        runs.map(|((log, first), end)| (*log, *first..end))
    }
}

impl FoundInParts {
    /// Takes the matches in a few blocks.
    pub(super) fn take(&mut self, (at, found): (PartPlace, FoundMatches), limits: &Limits) {
        for (sum, with) in self.with.iter_mut().zip(&found.with) {
            *sum += with;
        }
        self.messages += found.messages;
        self.count += found.found.len();
        match &mut self.held {
            Some(held) if self.count <= limits.occurrences => {
                limits.hold(self.count);
                held.push((at, found));
            }
            held => *held = None,
        }
    }
}

impl HeldMatches {
    /// Takes the matches in some parts.
    pub(super) fn take(&mut self, mut held: Vec<(PartPlace, FoundMatches)>) {
        held.sort_unstable_by_key(|(at, _)| *at);
        for ((part, _), found) in held {
            let of = self.found.len() as u32;
            let runs = found.runs().map(|(log, range)| MatchRun {
                log,
                part,
                of,
                range,
            });
            self.runs.extend(runs);
            self.found.push(found.found);
        }
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.found.iter().map(Vec::len).sum()
    }

    /// Brings the matches of each log together; `place` orders the logs, of which there are this
    /// many.
    pub(super) fn sort_logs<T: Ord>(&mut self, logs: usize, place: impl Fn(usize) -> T) {
        const PARTS: usize = Part::ALL.len();
        let mut in_order: Vec<usize> = (0..logs).collect();
        in_order.sort_by_key(|log| place(*log));
        // How many runs each part of each log has, and then the place of the next one.
        let mut next = vec![0; logs * PARTS];
        let of = |run: &MatchRun| run.log as usize * PARTS + run.part.number();
        self.runs.iter().for_each(|run| next[of(run)] += 1);
        let mut sum = 0;
        for log in in_order {
            for count in &mut next[log * PARTS..][..PARTS] {
                sum += std::mem::replace(count, sum);
            }
        }
        let mut sorted: Vec<u32> = vec![0; self.runs.len()];
        for (number, run) in (0..).zip(&self.runs) {
            let place = &mut next[of(run)];
            sorted[*place] = number;
            *place += 1;
        }
        let sorted = sorted
            .iter()
            .map(|number| self.runs[*number as usize].clone());
        self.runs = sorted.collect();
        let mut from = 0;
        while let Some(first) = self.runs.get(from) {
            let is_same = |run: &&MatchRun| (run.log, run.part) == (first.log, first.part);
            let end = from + self.runs[from..].iter().take_while(is_same).count();
            self.sort_runs(from..end);
            from = end;
        }
    }

    /// Merges these runs, which are of one part of one log, unless they are in order.
    fn sort_runs(&mut self, range: Range<usize>) {
        let runs = &self.runs[range.clone()];
        let matches = PartMatches { runs, all: self };
        let mut last = None;
        let are_sorted = matches.slices().all(|slice| {
            let first = slice.first().map(|one| one.order());
            last < first && {
                last = slice.last().map(|one| one.order());
                true
            }
        });
        if are_sorted {
            return;
        }
        // Segments of the index that were built at the same time have blocks in between.
        let mut merged = matches.slices().collect::<Vec<_>>().concat();
        merged.sort_by_key(|one| one.order());
        for run in &mut self.runs[range.clone()] {
            run.range = 0..0;
        }
        let first = &mut self.runs[range.start];
        first.of = self.found.len() as u32;
        first.range = 0..merged.len() as u32;
        self.found.push(merged);
    }

    /// Returns the matches of each log, once they are sorted.
    pub(super) fn by_log(&self) -> impl Iterator<Item = LogMatches<'_>> {
        let logs = self.runs.chunk_by(|a, b| a.log == b.log);
        logs.map(|runs| {
            let parts = runs.chunk_by(|a, b| a.part == b.part);
            let parts = parts.map(|runs| {
                let matches = PartMatches { runs, all: self };
                (runs[0].part, Matches::Held(matches))
            });
            LogMatches {
                log: runs[0].log as usize,
                parts: parts.collect(),
            }
        })
    }
}

impl<'a> PartMatches<'a> {
    /// Returns the matches, in order.
    pub(super) fn slices(self) -> impl Iterator<Item = &'a [TermOccurrence]> {
        let slice = |run: &'a MatchRun| {
            let range = run.range.start as usize..run.range.end as usize;
            &self.all.found[run.of as usize][range]
        };
        let slices = self.runs.iter().map(slice);
        slices.filter(|slice| !slice.is_empty())
    }

    /// Returns the matches of one block after another, in order.
    pub(super) fn blocks(self) -> impl Iterator<Item = &'a [TermOccurrence]> {
        let slices = self.slices();
        slices.flat_map(|slice| slice.chunk_by(|a, b| a.block() == b.block()))
    }
}

impl LogMatches<'_> {
    /// Returns how many matches there are, if they are held.
    pub(super) fn held(&self) -> Option<usize> {
        let held = self.parts.iter().map(|(_, matches)| match matches {
            Matches::Held(found) => Some(found.slices().map(<[_]>::len).sum::<usize>()),
            Matches::In(_) => None,
        });
        held.sum()
    }
}

impl Matches<'_> {
    /// Returns the first and the last block with matches.
    pub(super) fn span(&self) -> Option<(usize, usize)> {
        match self {
            Self::Held(found) => {
                let first = found.slices().next()?.first()?;
                let last = found.slices().last()?.last()?;
                Some((first.block(), last.block()))
            }
            Self::In(blocks) => Some((*blocks.first()?, *blocks.last()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_matches_of_each_log_are_together_and_in_order(
            // For each of those that were searched together: runs of a log, a block and messages.
            searched in prop::collection::vec(
                prop::collection::vec(
                    (0u32..4, prop::collection::btree_map((0usize..6, 0usize..3), 1u32..5, 1..5)),
                    1..5,
                ),
                0..5,
            ),
        ) {
            let mut held = Vec::new();
            let mut expected: BTreeMap<u32, Vec<TermOccurrence>> = BTreeMap::new();
            let mut block = 0;
            for (at, runs) in searched.iter().enumerate() {
                let mut found = FoundMatches::new(3, 0);
                for (log, matches) in runs {
                    // The blocks of those that are searched together go up, and others are between.
                    block = (block + 7) % 61;
                    let one = |((message, needle), times): (&(usize, usize), &u32)| {
                        TermOccurrence::new((block * 8 + at, *message), *needle, (*times, true))
                    };
                    let matches: Vec<TermOccurrence> = matches.iter().map(one).collect();
                    found.extend(*log, matches.iter().copied());
                    expected.entry(*log).or_default().extend(matches);
                }
                held.push(((Part::Words, at), found));
            }
            expected.values_mut().for_each(|matches| matches.sort());
            let mut all = HeldMatches::default();
            all.take(held);
            prop_assert_eq!(all.count(), expected.values().map(Vec::len).sum::<usize>());
            all.sort_logs(4, |log| log);
            let by_log = all.by_log().map(|found| {
                let [(Part::Words, Matches::Held(matches))] = found.parts.as_slice() else {
                    panic!("all are of one part");
                };
                (found.log as u32, matches.slices().collect::<Vec<_>>().concat())
            });
            prop_assert_eq!(by_log.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_forms_of_a_needle_in_a_message_are_one_match() {
        let form =
            |message, needle, times| TermOccurrence::new((1, message), needle, (times, false));
        let mut found = FoundMatches::new(2, 4);
        found.extend(0, [form(3, 0, 1), form(3, 0, 2), form(3, 1, 1)].into_iter());
        found.extend(0, [form(4, 1, 5)].into_iter());
        assert_eq!(found.found, [form(3, 0, 3), form(3, 1, 1), form(4, 1, 5)]);
        assert_eq!(
            (found.messages, found.with, found.runs),
            (2, vec![1, 2], vec![(0, 0)])
        );
    }
}
