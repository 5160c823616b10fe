//! Words of a text: where they are, how they are folded, what they stem from.
//!
//! Everything that compares words goes through here, so that what the corpus noted when
//! a log was read is what a search asks for later. A word is a run of letters and
//! digits; a character of a script without spaces is a word of its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rust_stemmers::{Algorithm, Stemmer};

/// A word where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// Where it begins, in bytes.
    pub at: usize,
    /// The word as it is written.
    pub text: &'a str,
}

/// The words of a text, in order; see [`words`].
#[derive(Debug, Clone)]
pub struct Words<'a> {
    text: &'a str,
    at: usize,
}

/// A folded word or a stem, as the filters know it: a hash that is the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub(crate) u64);

/// Finds the stems of words, remembering those it has met.
pub struct Stems {
    english: Stemmer,
    known: HashMap<Term, Term, BuildHasherDefault<Same>>,
}

/// How many words [`Stems`] remembers; text that keeps bringing new ones is no language.
const KNOWN: usize = 1 << 16;

/// Returns the words of `text`.
pub fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// Returns the word in lower case, as it is compared.
pub fn fold(word: &str) -> Cow<'_, str> {
    if word
        .bytes()
        .all(|b| b.is_ascii() && !b.is_ascii_uppercase())
    {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.chars().flat_map(char::to_lowercase).collect())
    }
}

/// Returns what the folded word stems from; a word that has more than letters is its own.
pub fn stem(folded: &str) -> Cow<'_, str> {
    stem_with(&Stemmer::create(Algorithm::English), folded)
}

fn stem_with<'a>(english: &Stemmer, folded: &'a str) -> Cow<'a, str> {
    if folded.chars().all(char::is_alphabetic) {
        english.stem(folded)
    } else {
        Cow::Borrowed(folded)
    }
}

impl Term {
    /// Returns the term of a word that is folded already, or of a stem.
    pub fn of(folded: &str) -> Self {
        Self(hash::<0>(folded.as_bytes()))
    }

    /// Returns the term of a word as it is written.
    pub fn folding(word: &str) -> Self {
        if word.is_ascii() {
            // In ASCII letters and digits this bit is all that lower case adds.
            Self(hash::<0x2020_2020_2020_2020>(word.as_bytes()))
        } else {
            Self::of(&fold(word))
        }
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            known: HashMap::default(),
        }
    }
}

impl Stems {
    /// Returns the term of the stem of a word as it is written.
    pub fn term(&mut self, word: &str) -> Term {
        let folded = Term::folding(word);
        if let Some(known) = self.known.get(&folded) {
            return *known;
        }
        let stem = Term::of(&stem_with(&self.english, &fold(word)));
        if self.known.len() == KNOWN {
            self.known.clear();
        }
        self.known.insert(folded, stem);
        stem
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        let start = loop {
            match CLASS[usize::from(*bytes.get(at)?)] {
                Class::Word => break at,
                Class::Gap => at += 1,
                Class::Wide => {
                    let char = self.text[at..].chars().next()?;
                    if stands_alone(char) {
                        return Some(self.take(at, at + char.len_utf8()));
                    }
                    if char.is_alphanumeric() {
                        break at;
                    }
                    at += char.len_utf8();
                }
            }
        };
        while let Some(byte) = bytes.get(at) {
            match CLASS[usize::from(*byte)] {
                Class::Word => at += 1,
                Class::Gap => break,
                Class::Wide => match self.text[at..].chars().next() {
                    Some(char) if char.is_alphanumeric() && !stands_alone(char) => {
                        at += char.len_utf8();
                    }
                    _ => break,
                },
            }
        }
        Some(self.take(start, at))
    }
}

impl<'a> Words<'a> {
    fn take(&mut self, from: usize, to: usize) -> Word<'a> {
        self.at = to;
        Word {
            at: from,
            text: &self.text[from..to],
        }
    }
}

/// What a byte of UTF-8 is to a word.
#[derive(Clone, Copy)]
enum Class {
    Gap,
    Word,
    /// Part of a character that must be looked at whole.
    Wide,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Gap; 256];
    let mut byte = 0;
    while byte < 256 {
        if byte >= 128 {
            table[byte] = Class::Wide;
        } else if (byte as u8).is_ascii_alphanumeric() {
            table[byte] = Class::Word;
        }
        byte += 1;
    }
    table
};

/// Tells whether the character is of a script that puts no spaces between words.
fn stands_alone(char: char) -> bool {
    matches!(
        char,
        '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Hashes a word with `BITS` set in every eight bytes; short words take one step.
fn hash<const BITS: u64>(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0xa076_1d64_78bd_642f;
    let four = |at: usize| {
        bytes[at..]
            .first_chunk()
            .map_or(0, |four| u64::from(u32::from_le_bytes(*four)))
    };
    let length = bytes.len();
    let mut state = SEED ^ length as u64;
    if length > 8 {
        for eight in bytes.chunks_exact(8) {
            let eight = eight
                .first_chunk()
                .map_or(0, |eight| u64::from_le_bytes(*eight));
            state = mix(state, eight | BITS);
        }
        let end = bytes
            .last_chunk()
            .map_or(0, |eight| u64::from_le_bytes(*eight));
        return mix(state, end | BITS);
    }
    let word = match length {
        4..=8 => four(0) | four(length - 4) << 32,
        1..=3 => {
            u64::from(bytes[0])
                | u64::from(bytes[length / 2]) << 8
                | u64::from(bytes[length - 1]) << 16
        }
        _ => 0,
    };
    mix(state, word | BITS)
}

/// Folds the product of two numbers: cheap, and every bit counts.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    const ODD: u64 = 0xe703_7ed1_a0b4_28db;
    let product = u128::from(a) * u128::from(b ^ ODD);
    product as u64 ^ (product >> 64) as u64
}

/// A hasher for what is a hash already.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        words(text).map(|word| word.text).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("--- ", &[]),
            ("don't panic", &["don", "t", "panic"]),
            ("foo_bar::baz2(x)", &["foo", "bar", "baz2", "x"]),
            ("über Größe", &["über", "Größe"]),
            ("a—b", &["a", "b"]),
            ("数据库db", &["数", "据", "库", "db"]),
            ("v2数x", &["v2", "数", "x"]),
        ];
        for (text, expected) in cases {
            assert_eq!(texts(text), *expected, "{text}");
        }
    }

    #[test]
    fn case_is_folded_beyond_ascii() {
        assert_eq!(fold("GRÖSSE"), "grösse");
        assert_eq!(fold("HTTP2"), "http2");
        assert_eq!(Term::folding("ÜBER"), Term::of("über"));
    }

    #[test]
    fn forms_of_a_word_share_their_stem() {
        let mut stems = Stems::default();
        assert_eq!(stems.term("Connections"), stems.term("connecting"));
        assert_eq!(stems.term("Connected"), Term::of(&stem("connection")));
        assert_ne!(stems.term("v2s"), stems.term("v2"));
    }

    #[test]
    fn words_of_one_prefix_are_different_terms() {
        let all = "abcdefghijklmnopqrstuvwxyz0123456789";
        let mut terms: Vec<Term> = (0..all.len()).map(|n| Term::of(&all[..n])).collect();
        terms.sort();
        terms.dedup();
        assert_eq!(terms.len(), all.len());
    }

    proptest! {
        #[test]
        fn folding_and_hashing_is_hashing_the_folded(word in "[a-zA-Z0-9äÖéİ]{1,40}") {
            prop_assert_eq!(Term::folding(&word), Term::of(&fold(&word)));
        }

        #[test]
        fn words_lie_where_they_say(text in "\\PC{0,80}") {
            let mut end = 0;
            for word in words(&text) {
                prop_assert!(word.at >= end && !word.text.is_empty());
                prop_assert_eq!(&text[word.at..word.at + word.text.len()], word.text);
                end = word.at + word.text.len();
            }
        }
    }
}
