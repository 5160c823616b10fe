//! A match of a search: the occurrences of one needle in one message.

use super::needle;
use super::walker::MessagePosition;
use crate::core::corpus::MOST_MESSAGES;

/// The occurrences of a needle in one message of a block. There can be millions, so they are one
/// small number: from the highest bits, the message and the needle, by which they are ordered, how
/// often, and whether at least one is written as in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TermOccurrence(u32);

/// The bits of a message's number, of a needle's, and of how often it occurs.
const MESSAGE_BITS: u32 = MOST_MESSAGES.next_power_of_two().ilog2();
const NEEDLE_BITS: u32 = needle::MOST.next_power_of_two().ilog2();
const TIMES_BITS: u32 = u32::BITS - MESSAGE_BITS - NEEDLE_BITS - 1;

const MOST_TIMES: u32 = (1 << TIMES_BITS) - 1;

/// The matches in one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockOccurrences<'a> {
    pub(super) block: usize,
    /// In order.
    pub(super) found: &'a [TermOccurrence],
}

impl TermOccurrence {
    #[inline]
    pub(super) fn new(message: usize, needle: usize, (times, is_exact): (u32, bool)) -> Self {
        let message = message as u32 & ((1 << MESSAGE_BITS) - 1);
        let order = message << NEEDLE_BITS | needle as u32 & ((1 << NEEDLE_BITS) - 1);
        Self(order << (TIMES_BITS + 1) | times.min(MOST_TIMES) << 1 | u32::from(is_exact))
    }

    /// Returns the number of the message in its block.
    #[inline]
    pub(super) fn message(self) -> usize {
        (self.0 >> (NEEDLE_BITS + TIMES_BITS + 1)) as usize
    }

    #[inline]
    pub(super) fn needle(self) -> usize {
        (self.0 >> (TIMES_BITS + 1)) as usize & ((1 << NEEDLE_BITS) - 1)
    }

    #[inline]
    pub(super) fn times(self) -> u32 {
        self.0 >> 1 & MOST_TIMES
    }

    /// Returns whether at least one is written as in the query.
    #[inline]
    pub(super) fn is_exact(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns a number that orders the occurrences of a block by message and needle.
    #[inline]
    pub(super) fn order(self) -> u32 {
        self.0 >> (TIMES_BITS + 1)
    }

    /// Returns whether it is in the same message as another one of the same block.
    #[inline]
    pub(super) fn is_in_message_of(self, other: Self) -> bool {
        (self.0 ^ other.0) >> (NEEDLE_BITS + TIMES_BITS + 1) == 0
    }

    /// Returns these occurrences and those of another form of the needle in the same message.
    #[inline]
    pub(super) fn with(self, form: Self) -> Self {
        let times = self.times() + form.times();
        let counted = (times, self.is_exact() || form.is_exact());
        Self::new(self.message(), self.needle(), counted)
    }
}

impl<'a> BlockOccurrences<'a> {
    /// Returns the position of each message with its matches.
    pub(super) fn messages(self) -> impl Iterator<Item = (MessagePosition, &'a [TermOccurrence])> {
        let messages = self.found.chunk_by(|a, b| a.is_in_message_of(*b));
        messages.map(move |found| ((self.block, found[0].message()), found))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out_and_is_ordered_by_position(
            a in (0..MOST_MESSAGES, 0..needle::MOST, (0..=MOST_TIMES, any::<bool>())),
            b in (0usize..3, 0usize..3, (0..=MOST_TIMES, any::<bool>())),
            c in (0usize..3, 0usize..3, (0..=MOST_TIMES, any::<bool>())),
        ) {
            let packed = |(message, needle, counted)| TermOccurrence::new(message, needle, counted);
            let one = packed(a);
            prop_assert_eq!((one.message(), one.needle(), (one.times(), one.is_exact())), a);
            let (first, second) = (packed(b), packed(c));
            prop_assert_eq!(first.order().cmp(&second.order()), (b.0, b.1).cmp(&(c.0, c.1)));
            prop_assert_eq!(first.is_in_message_of(second), b.0 == c.0);
        }
    }

    #[test]
    fn forms_are_counted_together_up_to_a_limit() {
        let form = |times, is_exact| TermOccurrence::new(9, 3, (times, is_exact));
        assert_eq!(form(2, false).with(form(3, true)), form(5, true));
        assert_eq!(
            form(MOST_TIMES, false).with(form(1, false)).times(),
            MOST_TIMES
        );
        assert_eq!(form(u32::MAX, true), form(MOST_TIMES, true));
    }
}
