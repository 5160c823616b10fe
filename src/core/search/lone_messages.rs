//! Calls and results with needles. No neighbour contributes to their scores, so what is needed of
//! them is little, and there are many.

use super::score::{Conversations, Rarity, UNCOVERED, covering, dampening, saturated};
use super::term_occurrence::BlockOccurrences;
use super::walker::{MessagePosition, Worths};
use crate::core::corpus::{Corpus, Part};

/// A call or a result that has needles.
struct LoneMessage {
    block: u32,
    number: u32,
    part: Part,
    conversation: u32,
    /// The sum of its contributions, by how many of the needles it covers.
    sum: f32,
    worth: f32,
}

/// The calls and results of a log that have needles.
#[derive(Default)]
pub(super) struct LoneMessages(Vec<LoneMessage>);

impl LoneMessages {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the messages of a block with these matches, and their contributions to their conversations;
    /// `None` if a block is damaged.
    pub(super) fn add(
        &mut self,
        (corpus, part): (&Corpus, Part),
        BlockOccurrences { block, found }: BlockOccurrences<'_>,
        (rarity, worths): (&Rarity, &Worths),
        talks: &mut Conversations,
    ) -> Option<()> {
        let outlines = corpus.block(part, block)?.table()?.outlines()?;
        let Some(first) = found.first() else {
            return Some(());
        };
        let mut talk = talks.open(outlines.get(first.message())?.time);
        let mut left = found;
        while let Some(first) = left.first() {
            let outline = outlines.get(first.message())?;
            if !talk.has(outline.time) {
                talk = talks.open(outline.time);
            }
            let dampening = dampening(outline.length);
            let (mut sum, mut coverage) = (0.0, UNCOVERED);
            let mut count = 0;
            for one in left.iter().take_while(|one| one.is_in_message_of(*first)) {
                let needle = one.needle();
                let saturated = saturated(one.times(), dampening);
                let offer = rarity.offer(needle, one.is_exact(), saturated);
                sum += offer;
                coverage += rarity.share(needle);
                talk.raise(needle, offer);
                count += 1;
            }
            self.0.push(LoneMessage {
                block: block as u32,
                number: first.message() as u32,
                part,
                conversation: talk.number as u32,
                sum: sum * coverage,
                worth: worths.of(outline.attributes),
            });
            left = &left[count..];
        }
        Some(())
    }

    /// Returns the scores of all messages, after all of the log have been added to its
    /// conversations.
    pub(super) fn scores(&self, talks: &Conversations) -> impl Iterator<Item = f32> {
        let mut talks = talks.sums();
        self.0.iter().map(move |message| {
            let talk = talks.of(message.conversation as usize);
            covering(message.sum, talk) * message.worth
        })
    }

    /// Returns the part and the position of a message.
    pub(super) fn place(&self, number: usize) -> (Part, MessagePosition) {
        let message = &self.0[number];
        (
            message.part,
            (message.block as usize, message.number as usize),
        )
    }
}
