//! Scores the messages of one log. A log with many matches is read twice, so that only a few of
//! its passages are held.

use super::limits::Limits;
use super::needle::Needles;
use super::occurrence::{LogMatches, Lookup, Matches};
use super::ranked::{Best, Holder, Ranked, Wanted};
use super::score::{Conversations, PassageGroup, Rarity, SESSION};
use super::walker::{Grouping, LogWalker, TermOccurrence};
use crate::core::corpus::{Corpus, Part};

/// What is needed to score the messages of a log.
pub(super) struct LogScoring<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) needles: &'a Needles,
    pub(super) limits: &'a Limits,
    pub(super) rarity: &'a Rarity,
    pub(super) best: &'a Best,
    pub(super) wants: Wanted<'a>,
}

impl<'a> LogScoring<'a> {
    /// Scores the messages of a log, offers them to the best ones, and returns the first of the
    /// log.
    pub(super) fn rank(
        &self,
        (found, blocks): (&LogMatches<'_>, &[usize]),
        lookup: &mut Lookup<'a>,
    ) -> Vec<Ranked> {
        /// How many messages of each log are returned.
        const OF_EACH: usize = SESSION.len();
        let mut talks = Conversations::default();
        let mut held: Option<Vec<PassageGroup>> = Some(Vec::new());
        let mut passages = 0;
        self.each_group((found, blocks), lookup, &mut |group| {
            self.rarity.add(&group, &mut talks);
            passages += group.passages.len();
            match &mut held {
                Some(groups) if passages <= self.limits.passages => {
                    self.limits.hold(passages);
                    groups.push(group);
                }
                held => *held = None,
            }
        });
        let mut first: Vec<Ranked> = Vec::with_capacity(OF_EACH + 1);
        let mut scores = Vec::new();
        let mut score = |group: &PassageGroup| {
            self.rarity.score(group, &talks, &mut scores);
            for (score, passage) in scores.drain(..) {
                let ranked = Ranked {
                    score,
                    holder: Holder::Log(found.log, passage.part),
                    at: passage.at,
                };
                let place = first
                    .iter()
                    .position(|known| Ranked::compare(&ranked, known).is_lt())
                    .unwrap_or(first.len());
                let is_first = place < OF_EACH;
                let may_be_best = self.best.may_take(ranked.score);
                if !(is_first || may_be_best) || !(self.wants)(&ranked) {
                    continue;
                }
                if is_first {
                    first.insert(place, ranked);
                    first.truncate(OF_EACH);
                }
                if may_be_best {
                    self.best.take(ranked);
                }
            }
        };
        match held {
            Some(groups) => groups.iter().for_each(score),
            None => self.each_group((found, blocks), lookup, &mut |group| {
                self.limits.hold(group.passages.len());
                score(&group);
            }),
        }
        first
    }

    /// Passes the passages of a log to `done`, group by group; `blocks` are those of its words.
    fn each_group(
        &self,
        (found, blocks): (&LogMatches<'_>, &[usize]),
        lookup: &mut Lookup<'a>,
        done: &mut dyn FnMut(PassageGroup),
    ) {
        for (part, matches) in &found.parts {
            let walker = LogWalker::new(self.corpus, *part, (found.log, blocks));
            let mut grouping = Grouping::new(&walker, self.limits.group);
            let of = (found.log, *part, *matches);
            self.each_block(of, lookup, &mut |found| match part {
                Part::Words => grouping.add(found, done),
                Part::Calls | Part::Results => {
                    walker.single_passages(found, self.limits.group, &mut *done);
                }
            });
            grouping.finish(done);
        }
    }

    /// Passes the matches of a log to `take`, block by block.
    fn each_block(
        &self,
        (log, part, matches): (usize, Part, Matches<'_>),
        lookup: &mut Lookup<'a>,
        take: &mut dyn FnMut(&[TermOccurrence]),
    ) {
        /// How many blocks of one log are read before their memory is released.
        const TOGETHER: usize = 64;
        match matches {
            Matches::Held(found) => {
                let blocks: Vec<&[TermOccurrence]> =
                    found.chunk_by(|a, b| a.block == b.block).collect();
                for blocks in blocks.chunks(TOGETHER) {
                    blocks.iter().for_each(|found| take(found));
                    self.release(part, blocks.iter().map(|found| found[0].block as usize));
                }
            }
            Matches::In(blocks) => {
                let mut mine = Vec::new();
                for blocks in blocks.chunks(TOGETHER) {
                    for block in blocks {
                        let found = lookup.look_up((self.corpus, self.needles), (part, *block));
                        let found = found.iter().filter(|(of, _)| *of as usize == log);
                        mine.clear();
                        mine.extend(found.map(|(_, occurrence)| *occurrence));
                        take(&mine);
                    }
                    self.release(part, blocks.iter().copied());
                }
            }
        }
    }

    /// Releases the memory of many blocks of one log; that of few is released with other logs.
    fn release(&self, part: Part, blocks: impl ExactSizeIterator<Item = usize> + Clone) {
        const MANY: usize = 32;
        if blocks.len() >= MANY
            && let (Some(first), Some(last)) = (blocks.clone().min(), blocks.max())
        {
            self.corpus.release(part, first..last + 1);
        }
    }
}
