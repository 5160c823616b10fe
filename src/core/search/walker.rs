//! Walks one log's messages in order, from a match to its neighbours.

use std::cell::Cell;

use super::score::{Count, FROM_AFTER, FROM_BEFORE, Passage, PassageGroup, worth_of};
use super::term_occurrence::{BlockOccurrences, TermOccurrence};
use crate::core::corpus::{
    Corpus, CorpusMessage, MessageAttributes, MessageSummary, MessageTable, Part,
};
use crate::core::log::{MessageKind, Origin};

/// A message's position: the block, and the number in it.
pub(super) type MessagePosition = (usize, usize);

/// A log's messages of one part, in order.
pub(super) struct LogWalker<'a> {
    corpus: &'a Corpus,
    part: Part,
    log: usize,
    /// The blocks that have messages of the log, in order.
    blocks: &'a [usize],
    /// The block that was opened last, which mostly is the next one, too.
    open: Cell<Option<(usize, MessageTable<'a>)>>,
}

/// For each log the blocks of a part that have messages of it.
pub(super) struct BlocksOfLogs {
    /// Those of one log after those of another.
    blocks: Vec<usize>,
    /// Where those of each log end.
    ends: Vec<usize>,
    /// The logs in the order of their first blocks; those without any come last.
    in_order: Vec<usize>,
}

impl BlocksOfLogs {
    pub(super) fn new(corpus: &Corpus, part: Part) -> Self {
        let logs = corpus.logs().len();
        let mut last = vec![None; logs];
        let mut in_order = Vec::with_capacity(logs);
        let mut pairs = Vec::new();
        // How many each log has, and then the place of the next one.
        let mut next = vec![0; logs];
        for block in corpus.blocks(part) {
            for log in block.logs() {
                let before = last[log].replace(block.number());
                if before.is_none() {
                    in_order.push(log);
                }
                if before != Some(block.number()) {
                    pairs.push((log, block.number()));
                    next[log] += 1;
                }
            }
        }
        let mut sum = 0;
        for count in &mut next {
            sum += std::mem::replace(count, sum);
        }
        let mut blocks = vec![0; pairs.len()];
        for (log, block) in pairs {
            blocks[next[log]] = block;
            next[log] += 1;
        }
        in_order.extend((0..logs).filter(|log| last[*log].is_none()));
        Self {
            blocks,
            ends: next,
            in_order,
        }
    }

    /// Returns all logs, in the order of their first blocks.
    pub(super) fn in_order(&self) -> &[usize] {
        &self.in_order
    }

    /// Returns the blocks of a log, in order.
    pub(super) fn of(&self, log: usize) -> &[usize] {
        let before = log.checked_sub(1);
        &self.blocks[before.map_or(0, |before| self.ends[before])..self.ends[log]]
    }
}

impl<'a> LogWalker<'a> {
    pub(super) fn new(corpus: &'a Corpus, part: Part, (log, blocks): (usize, &'a [usize])) -> Self {
        Self {
            corpus,
            part,
            log,
            blocks,
            open: Cell::default(),
        }
    }

    /// Passes the matches without their neighbours to `done`, at most `most` together: what an agent
    /// did in one call says little about the calls before and after it.
    pub(super) fn single_passages(
        &self,
        matches: BlockOccurrences<'_>,
        most: usize,
        done: &mut dyn FnMut(PassageGroup),
    ) {
        let mut group = PassageGroup::default();
        for (at, occurrences) in matches.messages() {
            if let Some(passage) = self.passage(at) {
                let counts = counts_of(occurrences, group.passages.len());
                group.counts.extend(counts);
                group.passages.push(passage);
            }
            if group.passages.len() >= most.max(1) {
                done(apart(std::mem::take(&mut group)));
            }
        }
        done(apart(group));
    }

    /// Appends the passages after `at`, at most `most` and none behind `last`.
    fn after(
        &self,
        at: MessagePosition,
        (most, last): (usize, Option<MessagePosition>),
        passages: &mut Vec<Passage>,
    ) {
        let mut left = most;
        let first = self.blocks.partition_point(|block| *block < at.0);
        for block in &self.blocks[first..] {
            let Some(table) = self.table(*block) else {
                continue;
            };
            let from = if *block == at.0 { at.1 + 1 } else { 0 };
            for number in from..table.count() {
                if left == 0 {
                    return;
                }
                if let Some(passage) = self.passage_in_table(table, (*block, number)) {
                    passages.push(passage);
                    left -= 1;
                }
                if last == Some((*block, number)) {
                    return;
                }
            }
        }
    }

    /// Appends the passages before `at` that it contributes to, in order.
    fn before(&self, at: MessagePosition, passages: &mut Vec<Passage>) {
        let start = passages.len();
        let end = self.blocks.partition_point(|block| *block <= at.0);
        for block in self.blocks[..end].iter().rev() {
            let Some(table) = self.table(*block) else {
                continue;
            };
            let to = if *block == at.0 { at.1 } else { table.count() };
            for number in (0..to).rev() {
                if passages.len() - start == FROM_AFTER.len() {
                    break;
                }
                passages.extend(self.passage_in_table(table, (*block, number)));
            }
            if passages.len() - start == FROM_AFTER.len() {
                break;
            }
        }
        passages[start..].reverse();
    }

    fn passage(&self, at: MessagePosition) -> Option<Passage> {
        self.passage_in_table(self.table(at.0)?, at)
    }

    fn passage_in_table(&self, table: MessageTable<'a>, at: MessagePosition) -> Option<Passage> {
        let summary = table
            .summary(at.1)
            .filter(|summary| summary.log == self.log)?;
        Some(passage_of_summary((self.part, at), &summary))
    }

    fn table(&self, block: usize) -> Option<MessageTable<'a>> {
        if let Some((_, table)) = self.open.get().filter(|(open, _)| *open == block) {
            return Some(table);
        }
        let table = self.corpus.block(self.part, block)?.table()?;
        self.open.set(Some((block, table)));
        Some(table)
    }
}

/// Groups matches with their neighbours while they are found.
pub(super) struct Grouping<'w, 'a> {
    walker: &'w LogWalker<'a>,
    /// How many passages a group has at most, apart from those between two matches.
    most: usize,
    group: PassageGroup,
    gap: Vec<Passage>,
}

impl<'w, 'a> Grouping<'w, 'a> {
    /// Up to this distance the neighbours of two matches touch or overlap.
    const REACH: usize = FROM_BEFORE.len() + FROM_AFTER.len();

    pub(super) fn new(walker: &'w LogWalker<'a>, most: usize) -> Self {
        Self {
            walker,
            most: most.max(2 * Self::REACH),
            group: PassageGroup::default(),
            gap: Vec::with_capacity(Self::REACH),
        }
    }

    /// Adds matches, in the order of the log; passes groups that are complete to `done`.
    pub(super) fn add(
        &mut self,
        matches: BlockOccurrences<'_>,
        done: &mut dyn FnMut(PassageGroup),
    ) {
        for (at, occurrences) in matches.messages() {
            self.gap.clear();
            if let Some(last) = self.group.passages.last() {
                let to = (Self::REACH, Some(at));
                self.walker.after(last.at, to, &mut self.gap);
            }
            if self.gap.last().is_some_and(|passage| passage.at == at) {
                self.group.passages.extend(&self.gap);
            } else {
                if !self.group.passages.is_empty() {
                    let after = self.gap.iter().take(FROM_BEFORE.len());
                    self.group.passages.extend(after);
                    done(std::mem::take(&mut self.group));
                }
                self.walker.before(at, &mut self.group.passages);
                self.group.passages.extend(self.walker.passage(at));
            }
            let passage = self.group.passages.len().saturating_sub(1);
            self.group.counts.extend(counts_of(occurrences, passage));
            if self.group.passages.len() >= self.most {
                self.divide(done);
            }
        }
    }

    /// Completes the last group.
    pub(super) fn finish(mut self, done: &mut dyn FnMut(PassageGroup)) {
        if let Some(last) = self.group.passages.last().map(|passage| passage.at) {
            let to = (FROM_BEFORE.len(), None);
            self.walker.after(last, to, &mut self.group.passages);
            done(self.group);
        }
    }

    /// Divides a long group: the last passages, which those to come contribute to, and what
    /// contributes to them, begin the next group.
    fn divide(&mut self, done: &mut dyn FnMut(PassageGroup)) {
        let mut full = std::mem::take(&mut self.group);
        let from = full.passages.len() - Self::REACH;
        self.group.passages.extend(&full.passages[from..]);
        let first = full.counts.partition_point(|count| count.passage < from);
        let counts = full.counts[first..].iter().map(|count| Count {
            passage: count.passage - from,
            ..*count
        });
        self.group.counts.extend(counts);
        self.group.shared.0 = FROM_BEFORE.len();
        full.shared.1 = FROM_AFTER.len();
        done(full);
    }
}

/// Returns the group, as one of passages that are no neighbours.
fn apart(group: PassageGroup) -> PassageGroup {
    PassageGroup {
        are_apart: true,
        ..group
    }
}

/// Returns the counts of the needles in one passage.
pub(super) fn counts_of(
    occurrences: &[TermOccurrence],
    passage: usize,
) -> impl Iterator<Item = Count> {
    occurrences.iter().map(move |occurrence| Count {
        passage,
        needle: occurrence.needle(),
        times: occurrence.times(),
        is_exact: occurrence.is_exact(),
    })
}

/// Returns the passage for a message, from its summary in the block.
fn passage_of_summary((part, at): (Part, MessagePosition), summary: &MessageSummary) -> Passage {
    Passage {
        part,
        at,
        time: summary.time,
        length: summary.length,
        worth: summary_worth((summary.origin, summary.kind), summary.is_question),
    }
}

/// Like [`message_worth`], for a message whose text is not read.
fn summary_worth((origin, kind): (Origin, MessageKind), is_question: bool) -> f32 {
    speech_weight(origin, kind) * worth_of(is_question)
}

/// What [`summary_worth`] is for all attributes: it is needed for each of many messages.
pub(super) struct Worths([f32; MessageAttributes::COUNT]);

impl Worths {
    pub(super) fn new() -> Self {
        let mut all = [0.0; MessageAttributes::COUNT];
        for (worth, attributes) in all.iter_mut().zip(MessageAttributes::all()) {
            if let Some((kind, origin, is_question)) = attributes.decode() {
                *worth = summary_worth((origin, kind), is_question);
            }
        }
        Self(all)
    }

    #[inline]
    pub(super) fn of(&self, attributes: MessageAttributes) -> f32 {
        self.0[attributes.number()]
    }
}

/// Returns the passage for a message, from its text.
#[cfg(test)]
pub(super) fn passage_of_message(at: MessagePosition, message: &CorpusMessage<'_>) -> Passage {
    Passage {
        part: Part::of(message.kind),
        at,
        time: message.time,
        length: message.text.len(),
        worth: message_worth(message),
    }
}

/// Returns the weight of a message compared with others that have the same words.
pub(super) fn message_worth(message: &CorpusMessage<'_>) -> f32 {
    speech_weight(message.origin, message.kind) * super::score::worth(message.text)
}

/// Returns a weight: messages and calls count more than thinking, notices, injected text and
/// what tools returned.
#[inline]
fn speech_weight(origin: Origin, kind: MessageKind) -> f32 {
    match (origin, kind) {
        (Origin::Injected, _) => 0.7,
        (_, MessageKind::ToolResult) => 0.5,
        (_, MessageKind::Thinking | MessageKind::Notice) => 0.85,
        _ => 1.0,
    }
}
