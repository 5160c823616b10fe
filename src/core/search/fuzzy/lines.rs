//! The test of the messages of a block, line by line.

use std::ops::Range;

use super::gather::{BlockMatches, BlockToSearch};
use super::scan::{MANY, Search, TextMatcher};
use super::{MatchSpot, MessageAt};
use crate::core::corpus::{Block, BlockContent, Corpus, CorpusMessage, Part};

impl Search<'_> {
    /// Finds the matching lines of a block.
    pub(super) fn block(
        &self,
        corpus: &Corpus,
        (part, searched): (Part, BlockToSearch<'_>),
        (matcher, matches): (&TextMatcher, &mut BlockMatches),
    ) {
        let Some(block) = corpus.block(part, searched.number) else {
            return;
        };
        if let Some(messages) = searched.messages {
            let numbers = messages.iter().map(|(_, number)| u32::from(*number));
            return self.some_messages((part, block), numbers, (matcher, matches));
        }
        let Some(content) = block.read() else {
            return;
        };
        let place = |at: usize| (part, searched.number as u32, at as u32);
        match matcher {
            TextMatcher::Lines(_) => {
                for (at, message) in content.messages() {
                    self.message(place(at), &message, (matcher, matches));
                }
            }
            TextMatcher::Terms(terms) if terms.is_inside_line() => {
                self.lines_of_block((part, &content), block.number(), (matcher, matches));
            }
            TextMatcher::Terms(terms) => {
                let bytes = content.text().as_bytes();
                let mut from = 0;
                while from <= bytes.len()
                    && let Some(found) = terms.next_candidate(bytes, from)
                {
                    let at = content.at(found);
                    let Some(range) = content.range(at) else {
                        break;
                    };
                    if let Some(message) = content.message(at) {
                        self.message(place(at), &message, (matcher, matches));
                    }
                    from = range.end.max(found) + 1;
                }
            }
        }
    }

    /// Tests every line of a block, for terms that are inside one line. A line is in one message,
    /// since there is a line break after each.
    fn lines_of_block(
        &self,
        (part, content): (Part, &BlockContent<'_>),
        block: usize,
        (matcher, matches): (&TextMatcher, &mut BlockMatches),
    ) {
        // The message of the last line: its number, where it is in the block, and whether it is
        // allowed.
        let mut at = 0;
        let mut last: Option<(Range<usize>, bool)> = None;
        matcher.lines(content.text(), &mut |offset, score| {
            if last.as_ref().is_none_or(|(range, _)| range.end < offset) {
                // Lines come in order, so it is one of the next messages.
                let mut range = content.range(at);
                while range.as_ref().is_some_and(|range| range.end < offset) {
                    at += 1;
                    range = content.range(at);
                }
                last = range.map(|range| (range, self.allows_number(content, at)));
            }
            if let Some((range, true)) = &last {
                let place = (part, block as u32, at as u32);
                self.line(place, (offset - range.start, score), matches);
            }
        });
    }

    /// Finds the matching lines of a block; only messages with these numbers may have any.
    pub(super) fn some_messages(
        &self,
        (part, block): (Part, Block<'_>),
        numbers: impl ExactSizeIterator<Item = u32>,
        (matcher, matches): (&TextMatcher, &mut BlockMatches),
    ) {
        let are_many = numbers.len() * MANY >= block.count();
        if !are_many || !matcher.is_inside_line() {
            return self.messages((part, block), numbers, (matcher, matches));
        }
        if let Some(content) = block.read() {
            self.lines_of_block((part, &content), block.number(), (matcher, matches));
        }
    }

    /// Tests the messages of a block with these numbers.
    fn messages(
        &self,
        (part, block): (Part, Block<'_>),
        numbers: impl ExactSizeIterator<Item = u32>,
        (matcher, matches): (&TextMatcher, &mut BlockMatches),
    ) {
        /// So few messages are read without the rest of their block.
        const FEW: usize = 2;
        let place = |number: u32| (part, block.number() as u32, number);
        if numbers.len() <= FEW {
            for number in numbers {
                // A damaged block is recorded by the corpus.
                let _ = block.message(number as usize, |message| {
                    self.message(place(number), message, (matcher, &mut *matches));
                });
            }
            return;
        }
        let Some(content) = block.read() else {
            return;
        };
        for number in numbers {
            if self.allows_number(&content, number as usize)
                && let Some(range) = content.range(number as usize)
                && let Some(text) = content.text().get(range)
            {
                self.lines_of(place(number), text, (matcher, &mut *matches));
            }
        }
    }

    /// Whether the filters admit a message.
    fn allows_number(&self, content: &BlockContent<'_>, number: usize) -> bool {
        // Only some filters need more than the log.
        match self.request.query.filters.admit_all_messages() {
            true => content.log(number).is_some_and(|log| self.allows_log(log)),
            false => content
                .message(number)
                .is_some_and(|message| self.allows(&message)),
        }
    }

    /// Tests every line of a message.
    fn message(
        &self,
        at: MessageAt,
        message: &CorpusMessage<'_>,
        to: (&TextMatcher, &mut BlockMatches),
    ) {
        if self.allows(message) {
            self.lines_of(at, message.text, to);
        }
    }

    fn allows(&self, message: &CorpusMessage<'_>) -> bool {
        let filters = &self.request.query.filters;
        self.allows_log(message.log)
            && filters.allows_role(message.role)
            && filters.allows_time(message.time)
    }

    fn allows_log(&self, log: usize) -> bool {
        self.logs.get(log).copied().unwrap_or(false)
    }

    /// Tests every line of the text of a message that the filters admit.
    fn lines_of(
        &self,
        at: MessageAt,
        text: &str,
        (matcher, matches): (&TextMatcher, &mut BlockMatches),
    ) {
        matcher.lines(text, &mut |offset, score| {
            self.line(at, (offset, score), matches);
        });
    }

    /// Takes a matching line of a message: its offset in the text, and its quick score.
    fn line(&self, at: MessageAt, (offset, score): (usize, u32), matches: &mut BlockMatches) {
        let (part, block, number) = at;
        let spot = MatchSpot::Message {
            part,
            block,
            number,
            offset: offset as u32,
        };
        if !self.ranked.iter().any(|found| found.spot == spot) {
            matches.add(at, (score, spot));
        }
    }
}
