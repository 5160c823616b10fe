//! The index of a block of conversation text: which messages contain which words, how often.
//!
//! The words are sorted by the hash of their stem, in sixteen buckets by its first bits. Each
//! bucket has its own checksum, so that a lookup reads one bucket and not the whole index.
//! Each word has the hash of its stem and part of the hash of its form.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::bytes::{ByteReader, ByteWriter, checksum};
use crate::core::text::{IdentityHasher, Stems, Term, Word};

/// The number of hash bits that select a bucket.
const BITS: u32 = 4;
const BUCKETS: usize = 1 << BITS;
/// Sizes in bytes: of a bucket's entry in the head, of the head, of a word and of a posting.
const BUCKET: usize = 16;
const HEAD: usize = 8 + BUCKETS * BUCKET;
const WORD: usize = 16;
const POSTING: usize = 4;
/// The number of bits of a posting that give the message; the others are the count.
///
/// A block has at most 4096 messages, and a message of 1 MB fewer than a million words.
const MESSAGE: u32 = 12;
/// Marks a word that occurs once: the message number is stored in place of a posting list.
const ONCE: u32 = 1 << 31;

/// The occurrences of one form of a word in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// The message's number in its block.
    pub message: usize,
    /// The number of occurrences in this form.
    pub times: u32,
    /// Whether this is the requested form.
    pub is_exact: bool,
}

/// A concordance under construction.
#[derive(Debug, Default)]
pub(super) struct Concordance {
    known: HashMap<Term, usize, BuildHasherDefault<IdentityHasher>>,
    entries: Vec<Entry>,
    postings: Vec<Posting>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    stem: Term,
    form: u32,
    count: u32,
    /// The index of its last posting.
    last: usize,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    message: u32,
    times: u32,
    /// The index of the previous posting of the same word.
    before: usize,
}

const NONE: usize = usize::MAX;

impl Concordance {
    /// Adds a word of a message; messages must be added in order.
    pub(super) fn insert(&mut self, message: usize, word: &Word<'_>, stems: &mut Stems) {
        let term = word.term();
        let entries = &mut self.entries;
        let at = *self.known.entry(term).or_insert_with(|| {
            entries.push(Entry {
                stem: stems.term(word),
                form: form_of(term),
                count: 0,
                last: NONE,
            });
            entries.len() - 1
        });
        let entry = &mut entries[at];
        match self.postings.get_mut(entry.last) {
            Some(last) if last.message as usize == message => last.times += 1,
            _ => {
                self.postings.push(Posting {
                    message: message as u32,
                    times: 1,
                    before: entry.last,
                });
                entry.last = self.postings.len() - 1;
                entry.count += 1;
            }
        }
    }

    /// Returns the concordance in its stored form; `self` is empty afterwards.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.entries
            .sort_unstable_by_key(|entry| (entry.stem, entry.form));
        let mut head = ByteWriter(Vec::with_capacity(HEAD));
        let mut body = ByteWriter(Vec::with_capacity(
            self.entries.len() * WORD + self.postings.len() * POSTING,
        ));
        let (mut words, mut postings) = (0, 0);
        let mut rest = self.entries.as_slice();
        for number in 0..BUCKETS {
            let (mine, others) =
                rest.split_at(rest.partition_point(|entry| bucket_of(entry.stem) == number));
            rest = others;
            let from = body.0.len();
            let lists = self.write(mine, &mut body);
            words += mine.len();
            postings += lists;
            head.u32(words as u32);
            head.u32(postings as u32);
            head.u64(checksum(&body.0[from..]));
        }
        let mut out = ByteWriter(Vec::with_capacity(HEAD + body.0.len()));
        out.u64(checksum(&head.0));
        out.0.extend_from_slice(&head.0);
        out.0.extend_from_slice(&body.0);
        self.known.clear();
        self.entries.clear();
        self.postings.clear();
        out.0
    }

    /// Writes the words of a bucket and their posting lists; returns the length of the lists.
    fn write(&self, words: &[Entry], out: &mut ByteWriter) -> usize {
        let mut lists: Vec<u32> = Vec::new();
        for entry in words {
            out.u64(entry.stem.0);
            out.u32(entry.form);
            let last = &self.postings[entry.last];
            if entry.count == 1 && last.times == 1 {
                out.u32(ONCE | last.message);
                continue;
            }
            out.u32(lists.len() as u32);
            lists.push(entry.count);
            let mut at = entry.last;
            while let Some(posting) = self.postings.get(at) {
                lists.push(posting.times << MESSAGE | posting.message);
                at = posting.before;
            }
        }
        lists.iter().for_each(|number| out.u32(*number));
        lists.len()
    }
}

/// Calls `take` for each message and form with this stem; `None` if the index is damaged.
pub(super) fn look_up(
    bytes: &[u8],
    (stem, exact): (Term, Term),
    take: &mut dyn FnMut(Occurrence),
) -> Option<()> {
    let (head, body) = bytes.split_at_checked(HEAD)?;
    let (sum, head) = head.split_at(8);
    if ByteReader(sum).u64()? != checksum(head) {
        return None;
    }
    let number = bucket_of(stem);
    let ends = |number: usize| {
        let mut bucket = ByteReader(&head[number * BUCKET..]);
        Some((bucket.u32()? as usize, bucket.u32()? as usize))
    };
    let before = match number {
        0 => (0, 0),
        _ => ends(number - 1)?,
    };
    let end = ends(number)?;
    let place = |(words, lists): (usize, usize)| words * WORD + lists * POSTING;
    let bucket = body.get(place(before)..place(end))?;
    if ByteReader(&head[number * BUCKET + 8..]).u64()? != checksum(bucket) {
        return None;
    }
    let (words, lists) = bucket.split_at_checked((end.0 - before.0) * WORD)?;
    let stem_at = |at: usize| ByteReader(&words[at * WORD..]).u64();
    let (mut low, mut high) = (0, end.0 - before.0);
    while low < high {
        let middle = (low + high) / 2;
        match stem_at(middle)? < stem.0 {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    for word in words[low * WORD..].chunks_exact(WORD) {
        let mut word = ByteReader(word);
        if word.u64()? != stem.0 {
            break;
        }
        let is_exact = word.u32()? == form_of(exact);
        let mut take = |message: u32, times: u32| {
            take(Occurrence {
                message: message as usize,
                times,
                is_exact,
            });
        };
        let place = word.u32()?;
        if place & ONCE != 0 {
            take(place & !ONCE, 1);
            continue;
        }
        let mut list = ByteReader(lists.get(place as usize * POSTING..)?);
        for _ in 0..list.u32()? {
            let posting = list.u32()?;
            take(posting & ((1 << MESSAGE) - 1), posting >> MESSAGE);
        }
    }
    Some(())
}

/// Returns the part of the hash that distinguishes the forms of a stem.
fn form_of(Term(hash): Term) -> u32 {
    hash as u32
}

fn bucket_of(Term(hash): Term) -> usize {
    (hash >> (u64::BITS - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::text::{fold, stem, words};

    fn made(messages: &[String]) -> Vec<u8> {
        let mut concordance = Concordance::default();
        let mut stems = Stems::default();
        for (number, message) in messages.iter().enumerate() {
            for word in words(message) {
                concordance.insert(number, &word, &mut stems);
            }
        }
        concordance.finish()
    }

    fn asked(bytes: &[u8], word: &str) -> Option<Vec<(usize, u32, bool)>> {
        let terms = (Term::of(&stem(word)), Term::of(word));
        let mut found = Vec::new();
        look_up(bytes, terms, &mut |sighting| {
            found.push((sighting.message, sighting.times, sighting.is_exact));
        })?;
        found.sort_unstable();
        Some(found)
    }

    proptest! {
        #[test]
        fn every_form_of_every_word_is_found_where_it_is(
            messages in proptest::collection::vec("([a-dA-D]{1,3}(ing|ed|s|ation|y)?[ .]|[éÉ]a |数){0,40}", 0..40),
        ) {
            let bytes = made(&messages);
            let all: Vec<Vec<String>> = messages
                .iter()
                .map(|message| words(message).map(|word| fold(word.text).into_owned()).collect())
                .collect();
            for word in all.iter().flatten().chain([&"absent".to_owned()]) {
                let mut expected: Vec<(usize, u32, bool)> = Vec::new();
                for (number, message) in all.iter().enumerate() {
                    let mut forms: Vec<&String> = message.iter().filter(|form| stem(form) == stem(word)).collect();
                    forms.sort();
                    for same in forms.chunk_by(|a, b| a == b) {
                        expected.push((number, same.len() as u32, same[0] == word));
                    }
                }
                expected.sort_unstable();
                prop_assert_eq!(asked(&bytes, word), Some(expected));
            }
        }

        #[test]
        fn damage_is_noticed_or_does_not_matter(
            at in any::<prop::sample::Index>(),
            bit in 0..8,
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let messages: Vec<String> = (0..30).map(|n| format!("word{} and word{n} again", n % 3)).collect();
            let good = made(&messages);
            let mut bad = good.clone();
            bad[at.index(good.len())] ^= 1u8 << bit;
            if let Some(cut) = cut {
                bad.truncate(cut.index(good.len()));
            }
            for word in ["word1", "and", "again", "word29", "absent"] {
                if let Some(found) = asked(&bad, word) {
                    prop_assert_eq!(Some(found), asked(&good, word));
                }
            }
        }
    }
}
