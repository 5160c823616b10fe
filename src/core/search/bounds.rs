//! Upper bounds of the scores of a log, from the index and the outlines of its matches alone.
//!
//! The rows of a log that can have none of the best messages and be none of the best sessions are
//! not read, and neither are the neighbours of its matches. The bounds assume that all was said on
//! one day without a pause, and are else computed like the scores.

use std::ops::Range;

use super::occurrence::{LogMatches, Matches};
use super::ranked::Best;
use super::score::{FROM_AFTER, FROM_BEFORE, Rarity, SESSION, covering, session_scores};
use super::walker::{TermOccurrence, counts_of, summary_worth};
use crate::core::corpus::{Corpus, MessageOutline, Part};

/// What the scores of a log are at most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LogBounds {
    /// The score of its best message.
    pub(super) message: f32,
    /// The score of all its messages as one session.
    pub(super) session: f32,
}

/// A message that has needles, before its bound is known.
struct BoundedMessage {
    part: Part,
    /// Its number among the messages of its part of the log.
    place: usize,
    worth: f32,
    /// The end of its contributions.
    end: usize,
}

/// Computes the bounds of logs, with memory that is used again for the next one.
pub(super) struct Bounds<'a> {
    corpus: &'a Corpus,
    rarity: &'a Rarity,
    messages: Vec<BoundedMessage>,
    /// The needles of all messages, and how much each contributes at most.
    offers: Vec<(usize, f32)>,
    /// The best contribution for each needle: in the log, and to one message.
    in_log: Vec<f32>,
    best: Vec<f32>,
}

impl LogBounds {
    /// Whether a message or the session may be among the best.
    pub(super) fn may_be_best(&self, messages: &Best, sessions: &Best) -> bool {
        /// Sums of the same numbers in another order differ a little.
        const ROUNDING: f32 = 1.001;
        messages.may_take(ROUNDING * self.message) || sessions.may_take(ROUNDING * self.session)
    }
}

impl<'a> Bounds<'a> {
    pub(super) fn new(corpus: &'a Corpus, rarity: &'a Rarity) -> Self {
        Self {
            corpus,
            rarity,
            messages: Vec::new(),
            offers: Vec::new(),
            in_log: vec![0.0; rarity.count()],
            best: vec![0.0; rarity.count()],
        }
    }

    /// Returns the bounds of a log, whose words are in these blocks; `None` if its matches are not
    /// held or a block is damaged.
    pub(super) fn of(&mut self, found: &LogMatches<'_>, blocks: &[usize]) -> Option<LogBounds> {
        self.messages.clear();
        self.offers.clear();
        self.in_log.fill(0.0);
        for (part, matches) in &found.parts {
            let Matches::Held(held) = matches else {
                return None;
            };
            let mut places = Places::new((self.corpus, found.log), (*part, blocks));
            for in_block in held.chunk_by(|a, b| a.block == b.block) {
                let block = self.corpus.block(*part, in_block[0].block as usize);
                let table = block.and_then(|block| block.table());
                for occurrences in in_block.chunk_by(|a, b| a.message == b.message) {
                    // A damaged block is recorded by the corpus, and rules nothing out.
                    let outline = table?.outline(occurrences[0].at().1)?;
                    let place = places.of(&occurrences[0]);
                    self.add((*part, place), &outline, occurrences);
                }
            }
        }
        let talk = self.in_log.iter().sum();
        let mut first: Vec<f32> = Vec::with_capacity(SESSION.len() + 1);
        for number in 0..self.messages.len() {
            // Most are not among the first, which needs no neighbours to be seen.
            let last = first.get(SESSION.len() - 1).copied();
            if last.is_some_and(|last| self.rough_bound(number, talk) <= last) {
                continue;
            }
            let bound = self.bound(number, talk);
            let place = first.partition_point(|known| *known >= bound);
            if place < SESSION.len() {
                first.insert(place, bound);
                first.truncate(SESSION.len());
            }
        }
        Some(LogBounds {
            message: first.first().copied().unwrap_or_default(),
            session: session_scores(&first).first().copied().unwrap_or_default(),
        })
    }

    fn add(
        &mut self,
        (part, place): (Part, usize),
        outline: &MessageOutline,
        occurrences: &[TermOccurrence],
    ) {
        for count in counts_of(occurrences, 0) {
            let offer = self.rarity.offer(&count, outline.length);
            self.offers.push((count.needle, offer));
            let best = &mut self.in_log[count.needle];
            *best = best.max(offer);
        }
        self.messages.push(BoundedMessage {
            part,
            place,
            worth: summary_worth((outline.origin, outline.kind), outline.is_question),
            end: self.offers.len(),
        });
    }

    /// Returns the bound of a message; `talk` is the most that its conversation contributes.
    fn bound(&mut self, number: usize, talk: f32) -> f32 {
        self.best.fill(0.0);
        self.lend(number, 1.0);
        let BoundedMessage {
            part, place, worth, ..
        } = self.messages[number];
        if part == Part::Words {
            for before in (0..number).rev() {
                let Some(share) = self.share(before, (part, place), &FROM_BEFORE) else {
                    break;
                };
                self.lend(before, share);
            }
            for after in number + 1..self.messages.len() {
                let Some(share) = self.share(after, (part, place), &FROM_AFTER) else {
                    break;
                };
                self.lend(after, share);
            }
        }
        self.rarity.total(&self.best, talk) * worth
    }

    /// Returns a bound that is not below [`Bounds::bound`]: as if the next message had the best of
    /// the log for each needle, and all needles were covered.
    fn rough_bound(&self, number: usize, talk: f32) -> f32 {
        let message = &self.messages[number];
        let near = match message.part {
            Part::Words => FROM_BEFORE[0].max(FROM_AFTER[0]),
            Part::Calls | Part::Results => 0.0,
        };
        let mut sum = near * talk;
        for (needle, offer) in &self.offers[self.offers_of(number)] {
            sum += (offer - near * self.in_log[*needle]).max(0.0);
        }
        covering(sum, talk) * message.worth
    }

    /// Returns the share that a message at this place gets of the contributions of a neighbour;
    /// `None` if it is too far away.
    fn share(&self, of: usize, (part, place): (Part, usize), shares: &[f32]) -> Option<f32> {
        let of = &self.messages[of];
        let distance = of.place.abs_diff(place);
        // Messages at the same place are of damaged blocks, and are not told apart.
        shares
            .get(distance.saturating_sub(1))
            .copied()
            .filter(|_| of.part == part)
    }

    fn lend(&mut self, message: usize, share: f32) {
        let offers = self.offers_of(message);
        for (needle, offer) in &self.offers[offers] {
            let best = &mut self.best[*needle];
            *best = best.max(offer * share);
        }
    }

    /// Returns the range of a message's contributions.
    fn offers_of(&self, message: usize) -> Range<usize> {
        let before = message.checked_sub(1);
        let from = before.map_or(0, |before| self.messages[before].end);
        from..self.messages[message].end
    }
}

/// Counts the messages of one log in the order of its blocks.
struct Places<'a> {
    corpus: &'a Corpus,
    log: usize,
    part: Part,
    blocks: std::slice::Iter<'a, usize>,
    /// The number of messages in the blocks before the current one, and up to its end.
    counted: (usize, usize),
    block: Option<usize>,
    /// The run of the last message, in the current block, and the number of its first message.
    run: (Range<usize>, usize),
}

impl<'a> Places<'a> {
    fn new((corpus, log): (&'a Corpus, usize), (part, blocks): (Part, &'a [usize])) -> Self {
        Self {
            corpus,
            log,
            part,
            blocks: blocks.iter(),
            counted: (0, 0),
            block: None,
            run: (0..0, 0),
        }
    }

    /// Returns the number of a message of the log; matches come in order. Only neighbours in the
    /// conversation matter.
    fn of(&mut self, occurrence: &TermOccurrence) -> usize {
        let (block, message) = occurrence.at();
        if self.part != Part::Words {
            return message;
        }
        while self.block.is_none_or(|open| open < block)
            && let Some(next) = self.blocks.next()
        {
            let count = self.count(*next, usize::MAX);
            self.counted = (self.counted.1, self.counted.1 + count);
            self.block = Some(*next);
            self.run = (0..0, 0);
        }
        // Most messages of a log in one block follow each other.
        if !self.run.0.contains(&message) {
            let block = self.corpus.block(self.part, block);
            let mut runs = block.into_iter().flat_map(|block| block.runs());
            let run = runs.find(|(_, run)| run.contains(&message));
            let run = run.map_or(message..message + 1, |(_, run)| run);
            let first = self.counted.0 + self.count(occurrence.at().0, run.start);
            self.run = (run, first);
        }
        self.run.1 + message - self.run.0.start
    }

    /// Returns how many messages of the log are in a block before this one.
    fn count(&self, block: usize, message: usize) -> usize {
        let block = self.corpus.block(self.part, block);
        let runs = block.into_iter().flat_map(|block| block.runs());
        let mine = runs.filter(|(log, _)| *log == Some(self.log));
        mine.map(|(_, run)| run.end.min(message).saturating_sub(run.start))
            .sum()
    }
}
