//! Which words a block may hold: a Bloom filter in lines of 64 bytes.
//!
//! A word's four bits all lie in one line, so that a question costs one look at memory. A
//! filter has a sixteenth of its text's bytes: about ten bits for every different word,
//! and one wrong "maybe" in forty.

use crate::core::text::Term;

/// The words of 64 bits in a line, and its bytes.
const WORDS: usize = 8;
const LINE: usize = 8 * WORDS;
/// How many bytes of text one byte of filter serves.
const SHARE: usize = 16;

/// A filter that is being filled.
#[derive(Debug)]
pub(super) struct Filter {
    lines: Vec<[u64; WORDS]>,
}

impl Filter {
    /// Returns an empty filter for a text of this length.
    pub(super) fn for_text(length: usize) -> Self {
        let lines = length.div_ceil(SHARE * LINE).max(1);
        Self {
            lines: vec![[0; WORDS]; lines],
        }
    }

    /// Takes in a term.
    pub(super) fn insert(&mut self, term: Term) {
        let line = line_of(term, self.lines.len());
        let line = &mut self.lines[line];
        for (word, bits) in bits(term) {
            line[word] |= bits;
        }
    }

    /// Returns the filter as it is kept.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let words = self.lines.iter().flatten();
        words.flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Tells whether the term may have been taken in; a filter of no sense always may.
pub(super) fn may_contain(filter: &[u8], term: Term) -> bool {
    let at = LINE * line_of(term, filter.len() / LINE);
    let Some(line) = filter.get(at..at + LINE) else {
        return true;
    };
    bits(term).iter().all(|(word, bits)| {
        let word = line[8 * word..].first_chunk();
        word.is_some_and(|word| u64::from_le_bytes(*word) & bits == *bits)
    })
}

fn line_of(Term(hash): Term, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// The bits of a term within its line, two in each of two words, from the half of the
/// hash that chose no line.
fn bits(Term(hash): Term) -> [(usize, u64); 2] {
    [hash, hash >> 15].map(|hash| {
        let word = (hash >> 12) as usize % WORDS;
        (word, 1 << (hash & 63) | 1 << (hash >> 6 & 63))
    })
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
