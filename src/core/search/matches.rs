//! The matches of a search in logs: as the threads find them, and by log.

use std::ops::Range;

use super::limits::Limits;
use super::term_occurrence::{BlockOccurrences, TermOccurrence};
use crate::core::corpus::Part;

/// All matches in logs that are held.
#[derive(Default)]
pub(super) struct HeldMatches {
    /// By the blocks that were searched together.
    found: Vec<Vec<TermOccurrence>>,
    /// Sorted by log, once all parts have been taken.
    runs: Vec<MatchRun>,
}

/// Matches of one log in one block of a part that follow each other.
#[derive(Clone)]
struct MatchRun {
    log: u32,
    part: Part,
    block: u32,
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
    runs: Vec<FoundRun>,
    /// How many messages have a needle.
    messages: usize,
    /// How many messages have each needle.
    with: Vec<usize>,
}

/// Matches of one log in one block that follow each other and are in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FoundRun {
    log: u32,
    block: u32,
    /// The index of the first.
    first: u32,
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
    /// By the number of the part.
    parts: [Option<Matches<'a>>; Part::ALL.len()],
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

    /// Adds the next matches of a log in a block, in order; what is found of one needle in a message
    /// is one match.
    pub(super) fn extend(
        &mut self,
        (log, block): (u32, u32),
        matches: impl Iterator<Item = TermOccurrence>,
    ) {
        let mut matches = matches.peekable();
        let Some(next) = matches.peek() else {
            return;
        };
        let is_next = |last: &FoundRun| {
            let end = self.found.last();
            (last.log, last.block) == (log, block)
                && end.is_some_and(|end| end.order() <= next.order())
        };
        let first = match self.runs.last() {
            Some(last) if is_next(last) => last.first as usize,
            _ => self.found.len(),
        };
        if first == self.found.len() {
            self.runs.push(FoundRun {
                log,
                block,
                first: first as u32,
            });
        }
        for one in matches {
            let mut is_new_message = true;
            if let Some(last) = self.found[first..].last_mut() {
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

    /// Returns each run, with the range of its matches.
    fn runs(&self) -> impl Iterator<Item = (FoundRun, Range<u32>)> {
        let ends = self.runs.iter().skip(1).map(|run| run.first);
        let ends = ends.chain([self.found.len() as u32]);
        let runs = self.runs.iter().zip(ends);
        runs.map(|(run, end)| (*run, run.first..end))
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
            let runs = found.runs().map(|(run, range)| MatchRun {
                log: run.log,
                part,
                block: run.block,
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

    /// Brings the matches of each log together, in this order of all logs.
    pub(super) fn sort_logs(&mut self, in_order: &[usize]) {
        const PARTS: usize = Part::ALL.len();
        // How many runs each part of each log has, and then the place of the next one.
        let mut next = vec![0; in_order.len() * PARTS];
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
        // Segments of the index that were built at the same time have blocks in between.
        let first = |run: &MatchRun| self.found[run.of as usize][run.range.start as usize].order();
        let is_same = |a: &MatchRun, b: &MatchRun| (a.log, a.part) == (b.log, b.part);
        for runs in self.runs.chunk_by_mut(is_same) {
            runs.sort_by(|a, b| (a.block.cmp(&b.block)).then_with(|| first(a).cmp(&first(b))));
        }
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
            LogMatches::new(runs[0].log as usize, parts)
        })
    }
}

impl<'a> PartMatches<'a> {
    /// Returns the matches of one block after another, in order; there may be several of one block.
    pub(super) fn blocks(self) -> impl Iterator<Item = BlockOccurrences<'a>> {
        self.runs.iter().map(move |run| {
            let range = run.range.start as usize..run.range.end as usize;
            BlockOccurrences {
                block: run.block as usize,
                found: &self.all.found[run.of as usize][range],
            }
        })
    }
}

impl<'a> LogMatches<'a> {
    pub(super) fn new(log: usize, of_parts: impl Iterator<Item = (Part, Matches<'a>)>) -> Self {
        let mut parts = [None; Part::ALL.len()];
        of_parts.for_each(|(part, matches)| parts[part.number()] = Some(matches));
        Self { log, parts }
    }

    /// Returns the parts with matches, in their order.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Part, Matches<'a>)> {
        let parts = Part::ALL.into_iter();
        parts.filter_map(|part| Some((part, self.part(part)?)))
    }

    pub(super) fn part(&self, part: Part) -> Option<Matches<'a>> {
        self.parts[part.number()]
    }

    /// Returns how many matches there are, if they are held.
    pub(super) fn held(&self) -> Option<usize> {
        let held = self.parts().map(|(_, matches)| match matches {
            Matches::Held(found) => {
                Some(found.runs.iter().map(|run| run.range.len()).sum::<usize>())
            }
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
                let (first, last) = (found.runs.first()?, found.runs.last()?);
                Some((first.block as usize, last.block as usize))
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
            let mut expected: BTreeMap<u32, Vec<(usize, TermOccurrence)>> = BTreeMap::new();
            let mut block = 0;
            for (at, runs) in searched.iter().enumerate() {
                let mut found = FoundMatches::new(3, 0);
                for (log, matches) in runs {
                    // The blocks of those that are searched together go up, and others are between.
                    block = (block + 7) % 61;
                    let one = |((message, needle), times): (&(usize, usize), &u32)| {
                        TermOccurrence::new(*message, *needle, (*times, true))
                    };
                    let matches = matches.iter().map(one);
                    let number = block * 8 + at;
                    found.extend((*log, number as u32), matches.clone());
                    let of_log = expected.entry(*log).or_default();
                    of_log.extend(matches.map(|one| (number, one)));
                }
                held.push(((Part::Words, at), found));
            }
            expected.values_mut().for_each(|matches| matches.sort());
            let mut all = HeldMatches::default();
            all.take(held);
            prop_assert_eq!(all.count(), expected.values().map(Vec::len).sum::<usize>());
            all.sort_logs(&[0, 1, 2, 3]);
            let by_log = all.by_log().map(|found| {
                let parts: Vec<_> = found.parts().collect();
                let [(Part::Words, Matches::Held(matches))] = parts.as_slice() else {
                    panic!("all are of one part");
                };
                let matches = matches.blocks().flat_map(|of| of.found.iter().map(move |one| (of.block, *one)));
                (found.log as u32, matches.collect::<Vec<_>>())
            });
            prop_assert_eq!(by_log.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_forms_of_a_needle_in_a_message_are_one_match() {
        let form = |message, needle, times| TermOccurrence::new(message, needle, (times, false));
        let mut found = FoundMatches::new(2, 4);
        let forms = [form(3, 0, 1), form(3, 0, 2), form(3, 1, 1)];
        found.extend((0, 1), forms.into_iter());
        found.extend((0, 1), [form(4, 1, 5)].into_iter());
        // The same message number in another block.
        found.extend((0, 2), [form(4, 1, 1)].into_iter());
        assert_eq!(
            found.found,
            [form(3, 0, 3), form(3, 1, 1), form(4, 1, 5), form(4, 1, 1)]
        );
        assert_eq!((found.messages, &found.with), (3, &vec![1, 3]));
        let runs = found.runs().map(|(run, range)| (run.block, range));
        assert_eq!(runs.collect::<Vec<_>>(), [(1, 0..3), (2, 3..4)]);
    }
}
