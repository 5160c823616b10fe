//! Scores the messages of one log. A log with many matches is read twice, so that only a few of
//! its passages are held.

use super::limits::Limits;
use super::matches::{LogMatches, Matches};
use super::needle::Needles;
use super::occurrence::Lookup;
use super::ranked::{Best, Holder, Ranked, Wanted};
use super::score::{Conversations, PassageGroup, Rarity, SESSION};
use super::term_occurrence::BlockOccurrences;
use super::walker::{Grouping, LogWalker};
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

/// The first messages of a log, best first.
#[derive(Debug, Default)]
pub(super) struct FirstOfLog(pub(super) Vec<Ranked>);

impl FirstOfLog {
    /// How many there are at most.
    const MOST: usize = SESSION.len();

    /// Whether a message with this score may be one of them.
    pub(super) fn may_take(&self, score: f32) -> bool {
        let last = self.0.get(Self::MOST - 1);
        last.is_none_or(|last| score >= last.score)
    }

    /// Takes a message if it is one of them and wanted, and offers it to the best of all logs.
    pub(super) fn take(&mut self, scoring: &LogScoring<'_>, ranked: Ranked) {
        let may_be_best = scoring.best.may_take(ranked.score);
        if !self.may_take(ranked.score) && !may_be_best {
            return;
        }
        let mut known = self.0.iter();
        let place = known.position(|known| Ranked::compare(&ranked, known).is_lt());
        let place = place.unwrap_or(self.0.len());
        let is_first = place < Self::MOST;
        if !(is_first || may_be_best) || !(scoring.wants)(&ranked) {
            return;
        }
        if is_first {
            self.0.insert(place, ranked);
            self.0.truncate(Self::MOST);
        }
        if may_be_best {
            scoring.best.take(ranked);
        }
    }
}

impl<'a> LogScoring<'a> {
    /// Scores the messages of a log, offers them to the best ones, and returns the first of the
    /// log.
    pub(super) fn rank(
        &self,
        (found, blocks): (&LogMatches<'_>, &[usize]),
        lookup: &mut Lookup<'a>,
    ) -> Vec<Ranked> {
        let mut talks = Conversations::new(self.rarity.count());
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
        let mut first = FirstOfLog::default();
        let mut scores = Vec::new();
        let mut score = |group: &PassageGroup| {
            self.rarity.score(group, &talks, &mut scores);
            for (score, passage) in scores.drain(..) {
                let ranked = Ranked {
                    score,
                    holder: Holder::Log(found.log, passage.part),
                    at: passage.at,
                };
                first.take(self, ranked);
            }
        };
        match held {
            Some(groups) => groups.iter().for_each(score),
            None => self.each_group((found, blocks), lookup, &mut |group| {
                self.limits.hold(group.passages.len());
                score(&group);
            }),
        }
        first.0
    }

    /// Passes the passages of a log to `done`, group by group; `blocks` are those of its words.
    fn each_group(
        &self,
        (found, blocks): (&LogMatches<'_>, &[usize]),
        lookup: &mut Lookup<'a>,
        done: &mut dyn FnMut(PassageGroup),
    ) {
        for (part, matches) in found.parts() {
            let walker = LogWalker::new(self.corpus, part, (found.log, blocks));
            let mut grouping = Grouping::new(&walker, self.limits.group);
            let of = (found.log, part, matches);
            self.each_block(of, lookup, &mut |matches| match part {
                Part::Words => grouping.add(matches, done),
                Part::Calls | Part::Results => {
                    walker.single_passages(matches, self.limits.group, &mut *done);
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
        take: &mut dyn FnMut(BlockOccurrences<'_>),
    ) {
        /// How many blocks of one log are read before their memory is released.
        const TOGETHER: usize = 64;
        match matches {
            Matches::Held(found) => {
                let blocks: Vec<BlockOccurrences<'_>> = found.blocks().collect();
                for blocks in blocks.chunks(TOGETHER) {
                    blocks.iter().for_each(|matches| take(*matches));
                    self.release(part, blocks.iter().map(|matches| matches.block));
                }
            }
            Matches::In(blocks) => {
                let mut mine = Vec::new();
                for blocks in blocks.chunks(TOGETHER) {
                    for block in blocks {
                        let found = lookup.look_up((self.corpus, self.needles), (part, *block));
                        let found = found.iter().filter(|found| found.log as usize == log);
                        mine.clear();
                        mine.extend(found.map(|found| found.occurrence));
                        take(BlockOccurrences {
                            block: *block,
                            found: &mine,
                        });
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
