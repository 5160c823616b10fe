//! A Bloom filter of the words of a block, in lines of 64 bytes.
//!
//! The four bits of a word and the checksum are in one line, so that a lookup reads one
//! cache line. The filter has a sixteenth of the text's size: about ten bits per distinct
//! word, and one false positive in forty.

use super::bytes::checksum;
use crate::core::text::Term;

/// The number of 64-bit words in a line, their size in bytes, and that of a line with checksum.
const WORDS: usize = 7;
const BITS: usize = 8 * WORDS;
const LINE: usize = BITS + 8;
/// Bytes of text per byte of filter.
const SHARE: usize = 16;

/// A filter under construction.
#[derive(Debug)]
pub(super) struct BloomFilter {
    lines: Vec<[u64; WORDS]>,
}

impl BloomFilter {
    /// Returns an empty filter for a text of this length.
    pub(super) fn for_text(length: usize) -> Self {
        let lines = length.div_ceil(SHARE * BITS).max(1);
        Self {
            lines: vec![[0; WORDS]; lines],
        }
    }

    /// Adds a term.
    pub(super) fn insert(&mut self, term: Term) {
        let line = line_of(term, self.lines.len());
        let line = &mut self.lines[line];
        for (word, bits) in bits(term) {
            line[word] |= bits;
        }
    }

    /// Returns the filter in its stored form.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.lines.len() * LINE);
        for line in &self.lines {
            let from = bytes.len();
            bytes.extend(line.iter().flat_map(|word| word.to_le_bytes()));
            let sum = checksum(&bytes[from..]);
            bytes.extend(sum.to_le_bytes());
        }
        bytes
    }
}

/// Whether the term may have been added; `None` if the filter is damaged.
pub(super) fn may_contain(filter: &[u8], term: Term) -> Option<bool> {
    let at = LINE * line_of(term, filter.len() / LINE);
    let (line, sum) = filter.get(at..at + LINE)?.split_at(BITS);
    let word = |at: usize| Some(u64::from_le_bytes(*line[8 * at..].first_chunk()?));
    if sum != checksum(line).to_le_bytes() {
        return None;
    }
    let [a, b] = bits(term);
    Some(word(a.0)? & a.1 == a.1 && word(b.0)? & b.1 == b.1)
}

fn line_of(Term(hash): Term, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// Returns the bits of a term within its line: two in each of two words.
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
            let mut filter = BloomFilter::for_text(length);
            hashes.iter().for_each(|hash| filter.insert(Term(*hash)));
            let bytes = filter.into_bytes();
            prop_assert!(hashes.iter().all(|hash| may_contain(&bytes, Term(*hash)) == Some(true)));
        }
    }

    #[test]
    fn few_strangers_pass_a_filter_with_ten_bits_a_word() {
        let mut filter = BloomFilter::for_text(64 * 1024);
        (0..3200).for_each(|n| filter.insert(Term::of(&format!("word{n}"))));
        let bytes = filter.into_bytes();
        let passed = (0..10_000)
            .filter(|n| may_contain(&bytes, Term::of(&format!("other{n}"))) == Some(true))
            .count();
        assert!(passed < 400, "{passed} of 10000 strangers passed");
    }
}
