//! Scores the messages of a log whose matches are held, from the index and the outlines of the
//! messages alone.
//!
//! Most messages can be neither among the best of all nor among the first of their log. A bound of
//! the score shows this: as if the next message had the best of the log for each needle, and all
//! needles were covered, or as if each neighbour contributed for needles of its own. Most logs can
//! be ruled out as wholes. A nearer bound, needle by needle, rules out most of the messages that are
//! left. Calls and results, which have no such neighbours, are in [`super::lone_messages`].

use std::ops::Range;

use super::log_scoring::{FirstOfLog, LogScoring};
use super::lone_messages::LoneMessages;
use super::matches::{LogMatches, Matches};
use super::ranked::{Best, Holder, Ranked};
use super::score::{
    Conversations, FROM_AFTER, FROM_BEFORE, Rarity, SESSION, are_apart, covering, dampening,
    saturated, session_score,
};
use super::term_occurrence::TermOccurrence;
use super::walker::{MessagePosition, Worths};
use crate::core::corpus::{Corpus, MessageOutline, MessageTable, Part};

/// Sums of the same numbers in another order differ a little.
const ROUNDING: f32 = 1.001;

/// A message of the conversation that has needles.
struct MatchedMessage {
    at: MessagePosition,
    time: Option<i64>,
    /// The messages of the log that follow each other in its block have the same number.
    run: u32,
    conversation: u32,
    /// The end of its contributions.
    end: u32,
    /// The sum of its contributions.
    own: f32,
    worth: f32,
    /// The sum of the best contributions to its conversation.
    talk: f32,
    /// What its score is at most.
    bound: f32,
}

/// Scores logs, with memory that is used again for the next one.
pub(super) struct HeldScoring<'a> {
    corpus: &'a Corpus,
    messages: Vec<MatchedMessage>,
    /// The needles of these messages, and how much each contributes.
    offers: Vec<(u32, f32)>,
    /// The best contribution of these messages for each needle: to any, and to one of them.
    highest: Vec<f32>,
    best: Vec<f32>,
    /// The calls and results.
    lone: LoneMessages,
    talks: Conversations,
    worths: Worths,
    /// The block of the conversation that was opened last.
    open: Option<(usize, MessageTable<'a>)>,
}

impl<'a> HeldScoring<'a> {
    pub(super) fn new(corpus: &'a Corpus, needles: usize) -> Self {
        Self {
            corpus,
            messages: Vec::new(),
            offers: Vec::new(),
            highest: vec![0.0; needles],
            best: vec![0.0; needles],
            lone: LoneMessages::default(),
            talks: Conversations::new(needles),
            worths: Worths::new(),
            open: None,
        }
    }

    /// Scores the messages of a log, whose words are in these blocks, offers them to the best ones,
    /// and returns the first of the log; none if the log cannot have one of the best messages and
    /// be one of the best sessions.
    pub(super) fn rank(
        &mut self,
        (found, blocks): (&LogMatches<'_>, &[usize]),
        scoring: &LogScoring<'_>,
        best_sessions: &Best,
    ) -> Vec<Ranked> {
        let mut first = FirstOfLog::default();
        // A damaged block is recorded by the corpus.
        let _ = self.rank_into(&mut first, (found, blocks), (scoring, best_sessions));
        first.0
    }

    /// As [`HeldScoring::rank`]; `None` if a block is damaged.
    fn rank_into(
        &mut self,
        first: &mut FirstOfLog,
        (found, blocks): (&LogMatches<'_>, &[usize]),
        (scoring, best_sessions): (&LogScoring<'_>, &Best),
    ) -> Option<()> {
        self.read(found, scoring)?;
        let mut highest = HighestBounds::default();
        self.bound(&mut highest);
        for (number, score) in self.lone.scores(&self.talks).enumerate() {
            highest.offer(score, Message::Lone(number));
        }
        let message = highest.0.first().map_or(0.0, |(bound, _)| *bound);
        let session = session_score(highest.0.iter().map(|(bound, _)| *bound));
        let is_good_session = best_sessions.may_take(ROUNDING * session);
        if !scoring.best.may_take(ROUNDING * message) && !is_good_session {
            return Some(());
        }
        // Those with the highest bounds rule out most others.
        for (bound, message) in &highest.0 {
            let ranked = match *message {
                Message::Word(number) => self.ranked(number, (found.log, blocks), scoring)?,
                Message::Lone(number) => self.ranked_alone(number, (found.log, *bound)),
            };
            first.take(scoring, ranked);
        }
        let may_matter = |first: &FirstOfLog, bound: f32| {
            let bound = ROUNDING * bound;
            is_good_session && first.may_take(bound) || scoring.best.may_take(bound)
        };
        for number in 0..self.messages.len() {
            if may_matter(first, self.messages[number].bound)
                && !highest.has(Message::Word(number))
                && may_matter(first, self.nearer_bound(number, scoring))
            {
                let ranked = self.ranked(number, (found.log, blocks), scoring)?;
                first.take(scoring, ranked);
            }
        }
        for (number, score) in self.lone.scores(&self.talks).enumerate() {
            if may_matter(first, score) && !highest.has(Message::Lone(number)) {
                first.take(scoring, self.ranked_alone(number, (found.log, score)));
            }
        }
        Some(())
    }

    /// Reads the outlines of the matches and computes what each message contributes.
    fn read(&mut self, found: &LogMatches<'_>, scoring: &LogScoring<'_>) -> Option<()> {
        self.messages.clear();
        self.offers.clear();
        self.highest.fill(0.0);
        self.lone.clear();
        self.talks.clear();
        self.open = None;
        let rarity = scoring.rarity;
        let mut run = 0;
        for (part, matches) in found.parts() {
            let Matches::Held(held) = matches else {
                return None;
            };
            if part != Part::Words {
                for matches in held.blocks() {
                    let (of, weights) = ((self.corpus, part), (rarity, &self.worths));
                    self.lone.add(of, matches, weights, &mut self.talks)?;
                }
                continue;
            }
            for matches in held.blocks() {
                let block = self.corpus.block(part, matches.block)?;
                let outlines = block.table()?.outlines()?;
                let mut end = 0;
                for (at, occurrences) in matches.messages() {
                    if at.1 >= end {
                        end = block.run_at(at.1)?.1.end;
                        run += 1;
                    }
                    let outline = outlines.get(at.1)?;
                    self.add((run, at, &outline), (occurrences, rarity));
                }
            }
        }
        Some(())
    }

    fn add(
        &mut self,
        (run, at, outline): (u32, MessagePosition, &MessageOutline),
        (occurrences, rarity): (&[TermOccurrence], &Rarity),
    ) {
        let mut talk = self.talks.open(outline.time);
        let dampening = dampening(outline.length);
        let mut own = 0.0;
        for one in occurrences {
            let needle = one.needle();
            let saturated = saturated(one.times(), dampening);
            let offer = rarity.offer(needle, one.is_exact(), saturated);
            own += offer;
            self.offers.push((needle as u32, offer));
            talk.raise(needle, offer);
            let highest = &mut self.highest[needle];
            *highest = highest.max(offer);
        }
        self.messages.push(MatchedMessage {
            at,
            time: outline.time,
            run,
            conversation: talk.number as u32,
            end: self.offers.len() as u32,
            own,
            worth: self.worths.of(outline.attributes),
            talk: 0.0,
            bound: 0.0,
        });
    }

    /// Computes the bounds of the messages of the conversation.
    fn bound(&mut self, highest: &mut HighestBounds) {
        let near = FROM_BEFORE[0].max(FROM_AFTER[0]);
        let from_near: f32 = self.highest.iter().map(|best| near * best).sum();
        let mut from = 0;
        let mut talks = self.talks.sums();
        for number in 0..self.messages.len() {
            let message = &mut self.messages[number];
            let offers = &self.offers[from..message.end as usize];
            from = message.end as usize;
            let talk = talks.of(message.conversation as usize);
            message.talk = talk;
            let more = |(needle, offer): &(u32, f32)| {
                (offer - near * self.highest[*needle as usize]).max(0.0)
            };
            let sum = from_near + offers.iter().map(more).sum::<f32>();
            message.bound = covering(sum, talk) * message.worth;
            if highest.may_take(message.bound) {
                let sum = sum.min(self.with_neighbours(number));
                let message = &mut self.messages[number];
                message.bound = covering(sum, talk) * message.worth;
                highest.offer(message.bound, Message::Word(number));
            }
        }
    }

    /// Returns what the sum of the contributions to a message is at most: as if each of its
    /// neighbours contributed for needles of its own.
    fn with_neighbours(&self, number: usize) -> f32 {
        let message = &self.messages[number];
        // Between messages of different runs are at least those that have needles.
        let distance = |other: usize| match &self.messages[other] {
            other if other.run == message.run => other.at.1.abs_diff(message.at.1),
            _ => other.abs_diff(number),
        };
        let share = |shares: &[f32], other: usize| shares.get(distance(other) - 1).copied();
        let mut sum = message.own;
        for other in (0..number).rev() {
            let Some(share) = share(&FROM_BEFORE, other) else {
                break;
            };
            sum += share * self.messages[other].own;
        }
        for (other, neighbour) in self.messages.iter().enumerate().skip(number + 1) {
            let Some(share) = share(&FROM_AFTER, other) else {
                break;
            };
            sum += share * neighbour.own;
        }
        sum
    }

    fn ranked_alone(&self, number: usize, (log, score): (usize, f32)) -> Ranked {
        let (part, at) = self.lone.place(number);
        Ranked {
            score,
            holder: Holder::Log(log, part),
            at,
        }
    }

    /// Returns what the score of a message is at most: as if the messages with needles followed each
    /// other.
    fn nearer_bound(&mut self, number: usize, scoring: &LogScoring<'_>) -> f32 {
        self.best.fill(0.0);
        self.lend(number, 1.0);
        let before = (0..number).rev().zip(FROM_BEFORE);
        let after = (number + 1..self.messages.len()).zip(FROM_AFTER);
        for (other, share) in before.chain(after) {
            self.lend(other, share);
        }
        let message = &self.messages[number];
        scoring.rarity.total(&self.best, message.talk) * message.worth
    }

    /// Scores a message of this log; `None` if a block is damaged.
    fn ranked(
        &mut self,
        number: usize,
        (log, blocks): (usize, &[usize]),
        scoring: &LogScoring<'_>,
    ) -> Option<Ranked> {
        self.best.fill(0.0);
        self.lend(number, 1.0);
        self.lend_near((number, &FROM_BEFORE), (log, blocks), Direction::Back)?;
        self.lend_near((number, &FROM_AFTER), (log, blocks), Direction::On)?;
        let message = &self.messages[number];
        Some(Ranked {
            score: scoring.rarity.total(&self.best, message.talk) * message.worth,
            holder: Holder::Log(log, Part::Words),
            at: message.at,
        })
    }

    /// Lets the neighbours of a message on one side contribute to it.
    fn lend_near(
        &mut self,
        (number, shares): (usize, &[f32]),
        (log, blocks): (usize, &[usize]),
        direction: Direction,
    ) -> Option<()> {
        let MatchedMessage {
            mut at, mut time, ..
        } = self.messages[number];
        let mut last = number;
        let mut run = 0..0;
        for share in shares {
            let matched = match direction {
                Direction::Back => last.checked_sub(1),
                Direction::On => Some(last + 1),
            };
            let matched = matched.filter(|other| *other < self.messages.len());
            let place = matched.map(|matched| self.messages[matched].at);
            // Most neighbours have needles, too.
            let is_next = |place: &MessagePosition| match direction {
                Direction::Back => *place == (at.0, at.1.wrapping_sub(1)),
                Direction::On => *place == (at.0, at.1 + 1),
            };
            let next = place.filter(is_next);
            let next = next.or_else(|| self.neighbour((at, &mut run), (log, blocks), direction));
            let Some(next) = next else {
                break;
            };
            let matched = matched.filter(|_| place == Some(next));
            let next_time = match matched {
                Some(matched) => self.messages[matched].time,
                None => self.table(next.0)?.outline(next.1)?.time,
            };
            if are_apart(time, next_time) {
                break;
            }
            if let Some(matched) = matched {
                self.lend(matched, *share);
                last = matched;
            }
            (at, time) = (next, next_time);
        }
        Some(())
    }

    /// Returns the message of the log that is next to one; `run` are the messages of the log around
    /// the last one, in its block.
    fn neighbour(
        &self,
        (at, run): (MessagePosition, &mut Range<usize>),
        (log, blocks): (usize, &[usize]),
        direction: Direction,
    ) -> Option<MessagePosition> {
        let step = |run: &Range<usize>| match direction {
            Direction::Back => at.1.checked_sub(1).filter(|next| run.contains(next)),
            Direction::On => Some(at.1 + 1).filter(|next| run.contains(next)),
        };
        if !run.contains(&at.1) {
            *run = self.corpus.block(Part::Words, at.0)?.run_at(at.1)?.1;
        }
        if let Some(next) = step(run) {
            return Some((at.0, next));
        }
        let of_log = |block: usize| {
            let block = self.corpus.block(Part::Words, block);
            let runs = block.into_iter().flat_map(|block| block.runs());
            let mine = runs.filter(|(of, run)| *of == Some(log) && !run.is_empty());
            mine.map(|(_, run)| run)
        };
        let found = match direction {
            Direction::Back => {
                let end = blocks.partition_point(|block| *block <= at.0);
                let mut before = blocks[..end].iter().rev();
                before.find_map(|block| {
                    let runs = of_log(*block).filter(|run| *block < at.0 || run.end <= at.1);
                    Some((*block, runs.last()?))
                })
            }
            Direction::On => {
                let first = blocks.partition_point(|block| *block < at.0);
                let mut after = blocks[first..].iter();
                after.find_map(|block| {
                    let mut runs = of_log(*block).filter(|run| *block > at.0 || run.start > at.1);
                    Some((*block, runs.next()?))
                })
            }
        };
        let (block, next) = found?;
        let message = match direction {
            Direction::Back => next.end - 1,
            Direction::On => next.start,
        };
        *run = next;
        Some((block, message))
    }

    fn table(&mut self, block: usize) -> Option<MessageTable<'a>> {
        match self.open.filter(|(open, _)| *open == block) {
            Some((_, table)) => Some(table),
            None => {
                let table = self.corpus.block(Part::Words, block)?.table()?;
                Some(self.open.insert((block, table)).1)
            }
        }
    }

    /// Lets a message contribute to the one that is scored.
    #[inline]
    fn lend(&mut self, message: usize, share: f32) {
        for (needle, offer) in &self.offers[self.offers_of(message)] {
            let best = &mut self.best[*needle as usize];
            *best = best.max(offer * share);
        }
    }

    /// Returns which of the contributions are of a message.
    #[inline]
    fn offers_of(&self, message: usize) -> Range<usize> {
        let before = message.checked_sub(1);
        let from = before.map_or(0, |before| self.messages[before].end as usize);
        from..self.messages[message].end as usize
    }
}

/// A message that has needles, by its index among those of the conversation or the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Word(usize),
    Lone(usize),
}

/// The highest bounds of a log's messages, as many as a session is scored by, highest first.
#[derive(Default)]
struct HighestBounds(Vec<(f32, Message)>);

impl HighestBounds {
    #[inline]
    fn may_take(&self, bound: f32) -> bool {
        let last = self.0.get(SESSION.len() - 1);
        last.is_none_or(|(last, _)| bound > *last)
    }

    #[inline]
    fn offer(&mut self, bound: f32, message: Message) {
        if self.may_take(bound) {
            let place = self.0.partition_point(|(known, _)| *known >= bound);
            self.0.truncate(SESSION.len() - 1);
            self.0.insert(place, (bound, message));
        }
    }

    fn has(&self, message: Message) -> bool {
        self.0.iter().any(|(_, known)| *known == message)
    }
}

/// From a message to the one before or after it.
#[derive(Debug, Clone, Copy)]
enum Direction {
    Back,
    On,
}
