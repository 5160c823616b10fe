//! Which words a block may hold: a Bloom filter in lines of 64 bytes.
//!
//! A word's bits all lie in one line, so that a question costs one look at memory. A
//! filter has a sixteenth of its text's bytes: about ten bits for every different word,
//! and one wrong "maybe" in forty.

use crate::core::text::Term;

/// The bytes of a line.
const LINE: usize = 64;
/// How many bits a word sets.
const BITS: u32 = 6;
/// How many bytes of text one byte of filter serves.
const SHARE: usize = 16;

/// A filter that is being filled.
#[derive(Debug)]
pub(super) struct Filter {
    bytes: Vec<u8>,
}

impl Filter {
    /// Returns an empty filter for a text of this length.
    pub(super) fn for_text(length: usize) -> Self {
        let lines = length.div_ceil(SHARE * LINE).max(1);
        Self {
            bytes: vec![0; lines * LINE],
        }
    }

    /// Takes in a term.
    pub(super) fn insert(&mut self, term: Term) {
        let line = line_of(term, self.bytes.len());
        let line = &mut self.bytes[line..line + LINE];
        for bit in bits(term) {
            line[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Returns the filter as it is kept.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Tells whether the term may have been taken in; a filter of no sense always may.
pub(super) fn may_contain(filter: &[u8], term: Term) -> bool {
    let line = line_of(term, filter.len());
    match filter.get(line..line + LINE) {
        Some(line) => bits(term).all(|bit| line[bit / 8] & (1 << (bit % 8)) != 0),
        None => true,
    }
}

fn line_of(Term(hash): Term, length: usize) -> usize {
    let lines = (length / LINE) as u64;
    ((hash >> 32) * lines >> 32) as usize * LINE
}

/// The bits of a term within its line, from the half of the hash that chose no line.
fn bits(Term(hash): Term) -> impl Iterator<Item = usize> {
    let low = (hash & 0xffff_ffff).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..BITS).map(move |at| (low >> (64 - 9 * (at + 1))) as usize & 511)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_taken_in_is_never_denied(
            hashes in proptest::collection::vec(any::<u64>(), 0..3000),
            length in 0usize..100_000,
        ) {
            let mut filter = Filter::for_text(length);
            hashes.iter().for_each(|hash| filter.insert(Term(*hash)));
            let bytes = filter.into_bytes();
            prop_assert!(hashes.iter().all(|hash| may_contain(&bytes, Term(*hash))));
        }
    }

    #[test]
    fn few_strangers_pass_a_filter_with_ten_bits_a_word() {
        let mut filter = Filter::for_text(64 * 1024);
        (0..3200).for_each(|n| filter.insert(Term::of(&format!("word{n}"))));
        let bytes = filter.into_bytes();
        let passed = (0..10_000)
            .filter(|n| may_contain(&bytes, Term::of(&format!("other{n}"))))
            .count();
        assert!(passed < 400, "{passed} of 10000 strangers passed");
    }
}
