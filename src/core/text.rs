//! Pure text: words with their positions, folding and stems here, and in the modules below headers,
//! links, differences, secrets and what is safe to show.
//!
//! Everything that compares words uses this module, so that the terms which the corpus stored
//! for a log are those that a search looks up later. A word is a run of letters and digits; a
//! character of a script without spaces is a word of its own.

mod clean;
pub mod diff;
pub mod display;
pub mod embed;
pub mod grip_comment;
pub mod header;
pub mod hidden;
pub mod link;
pub mod secret;
pub mod time;
pub mod toml_text;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use rust_stemmers::{Algorithm, Stemmer};

pub use clean::clean;

/// A word and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The byte offset.
    pub at: usize,
    /// The word as it is written.
    pub text: &'a str,
    /// The word and all the text behind it.
    behind: &'a [u8],
    /// Whether there are characters beyond ASCII in it or right beside it.
    is_wide: bool,
}

/// The words of a text, in order; see [`words`].
#[derive(Debug, Clone)]
pub struct Words<'a> {
    text: &'a str,
    base: usize,
    marks: Marks,
}

/// The hash of a folded word or a stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub(crate) u64);

/// Values by terms, which are hashes already.
pub(crate) type TermMap<V> = HashMap<Term, V, BuildHasherDefault<IdentityHasher>>;

/// A set of terms.
pub(crate) type TermSet = HashSet<Term, BuildHasherDefault<IdentityHasher>>;

/// Values by keys of a few numbers.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// A set of keys of a few numbers.
pub(crate) type NumberSet<K> = HashSet<K, BuildHasherDefault<NumberHasher>>;

/// Stems words, and caches the results.
pub struct Stems {
    english: Stemmer,
    known: TermMap<Term>,
}

/// The size of the cache of [`Stems`]; text with more distinct words is not a language.
const KNOWN: usize = 1 << 16;

/// Returns the words of `text`.
pub fn words(text: &str) -> Words<'_> {
    Words {
        text,
        base: 0,
        marks: Marks::of(text.as_bytes()),
    }
}

/// Returns the word that contains the character at byte `at`, if any.
pub fn word_at(text: &str, at: usize) -> Option<Word<'_>> {
    let first = text.get(at..)?.chars().next()?;
    if !first.is_alphanumeric() {
        return None;
    }
    let mut start = at;
    if !stands_alone(first) {
        for (before, char) in text[..at].char_indices().rev() {
            if !char.is_alphanumeric() || stands_alone(char) {
                break;
            }
            start = before;
        }
    }
    let word = words(&text[start..]).next()?;
    Some(Word { at: start, ..word })
}

/// Returns the offset of the next character beyond ASCII, from byte `from` on.
pub fn next_wide(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let mut eights = bytes.chunks_exact(8);
    let plain = eights
        .by_ref()
        .take_while(|eight| {
            let eight = eight.first_chunk().map_or(0, |x| u64::from_le_bytes(*x));
            eight & each(0x80) == 0
        })
        .count();
    let near = &bytes[8 * plain..];
    let wide = near.iter().position(|byte| !byte.is_ascii())?;
    Some(from + 8 * plain + wide)
}

fn has_folded_letters(word: &str) -> bool {
    let mut wide = word.chars().filter(|char| !char.is_ascii());
    wide.any(|char| {
        let mut lower = char.to_lowercase();
        lower.any(|char| nucleo::chars::normalize(char).is_ascii())
    })
}

/// Returns the last part of a path with `/`.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether the text ends with a question mark.
pub fn is_question(text: &str) -> bool {
    text.trim_end().ends_with('?')
}

/// Returns the word in lower case and without accents, as it is compared.
pub fn fold(word: &str) -> Cow<'_, str> {
    if word
        .bytes()
        .all(|b| b.is_ascii() && !b.is_ascii_uppercase())
    {
        Cow::Borrowed(word)
    } else if word.is_ascii() {
        Cow::Owned(word.to_ascii_lowercase())
    } else {
        let lower = word.chars().flat_map(char::to_lowercase);
        let plain = lower.map(nucleo::chars::normalize);
        // Some characters beyond ASCII have no lower case, but are normalized to a capital.
        Cow::Owned(plain.map(|char| char.to_ascii_lowercase()).collect())
    }
}

/// Returns the stem of a folded word; a word with digits is its own stem.
pub fn stem(folded: &str) -> Cow<'_, str> {
    stem_with(&Stemmer::create(Algorithm::English), folded)
}

/// Returns the stem of a folded word by this stemmer.
pub(in crate::core) fn stem_with<'a>(english: &Stemmer, folded: &'a str) -> Cow<'a, str> {
    if folded.chars().all(char::is_alphabetic) {
        english.stem(folded)
    } else {
        Cow::Borrowed(folded)
    }
}

/// Adds the parts of a name like `checkPackSize` to a list, the last one first; a word of one part
/// has none.
pub(in crate::core) fn name_parts<'a>(word: &'a str, parts: &mut Vec<&'a str>) {
    let bytes = word.as_bytes();
    let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let mut end = bytes.len();
    for at in (1..bytes.len()).rev() {
        // A capital behind a small letter, or the last one of several.
        let begins = is_upper(at) && (!is_upper(at - 1) || is_lower(at + 1));
        if begins && bytes[at - 1].is_ascii() {
            parts.push(&word[at..end]);
            end = at;
        }
    }
    if end < bytes.len() {
        parts.push(&word[..end]);
    }
}

/// Returns the beginning of a text: at most `most` bytes, in whole characters.
pub(in crate::core) fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns whether a folded word is a stop word.
pub(in crate::core) fn is_common(folded: &str) -> bool {
    COMMON.binary_search(&folded).is_ok()
}

/// Stop words, sorted.
const COMMON: &[&str] = &[
    "a", "about", "again", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "being", "both", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "down",
    "each", "few", "for", "from", "had", "has", "have", "having", "he", "her", "here", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "may", "me",
    "might", "more", "most", "must", "my", "no", "nor", "not", "of", "on", "only", "or", "other",
    "our", "out", "over", "own", "re", "s", "same", "shall", "she", "should", "so", "some", "such",
    "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "too", "under", "up", "us", "ve", "very", "was", "we", "were", "what", "when", "where",
    "which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
];

impl Word<'_> {
    /// Returns whether it has letters or digits beyond ASCII that [`fold`] makes ASCII ones.
    pub fn has_folded_letters(&self) -> bool {
        self.is_wide && has_folded_letters(self.text)
    }

    /// Returns the term of the folded word.
    pub fn term(&self) -> Term {
        match (self.text.len(), self.behind.first_chunk()) {
            // By far the most words; the bytes behind the word are masked out.
            (length @ 1..=8, Some(eight)) => {
                let eight = u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * length));
                match eight & each(0x80) {
                    0 => Term(hash_short(length, eight | each(0x20))),
                    _ => Term::of(&fold(self.text)),
                }
            }
            (9.., _) if self.text.is_ascii() => Term(hash_long(self.text.as_bytes(), each(0x20))),
            _ => Term::of(&fold(self.text)),
        }
    }
}

impl Term {
    /// Returns the term of a folded word or a stem.
    pub fn of(folded: &str) -> Self {
        Self(hash(folded.as_bytes()))
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
    /// Returns the term of a word's stem.
    pub fn term(&mut self, word: &Word<'_>) -> Term {
        self.known(word.term(), || fold(word.text))
    }

    /// Returns the term of the stem of a folded word.
    pub fn term_of_folded(&mut self, folded: &str) -> Term {
        self.known(Term::of(folded), || Cow::Borrowed(folded))
    }

    fn known<'a>(&mut self, folded: Term, word: impl FnOnce() -> Cow<'a, str>) -> Term {
        if let Some(known) = self.known.get(&folded) {
            return *known;
        }
        let stem = Term::of(&stem_with(&self.english, &word()));
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
        loop {
            while self.marks.words == 0 {
                let next = self.base + Marks::SPAN;
                if next >= self.text.len() {
                    return None;
                }
                self.turn_to(next);
            }
            let from = self.base + self.marks.words.trailing_zeros() as usize;
            let (to, is_wide) = self.run(from);
            let to = if is_wide {
                match self.wide(from, to) {
                    Ok(to) => to,
                    Err(to) => {
                        self.go_on_at(to);
                        continue;
                    }
                }
            } else {
                to
            };
            self.go_on_at(to);
            return Some(Word {
                at: from,
                text: &self.text[from..to],
                behind: &self.text.as_bytes()[from..],
                is_wide,
            });
        }
    }
}

impl<'a> Words<'a> {
    /// Returns the end of the run of marked bytes at `from`, and whether any is beyond ASCII.
    fn run(&mut self, from: usize) -> (usize, bool) {
        let mut is_wide = false;
        let mut at = from;
        loop {
            let skipped = at - self.base;
            let length = (self.marks.words >> skipped).trailing_ones() as usize;
            let inside = u64::MAX.checked_shr(64 - length as u32).unwrap_or(0) << skipped;
            is_wide |= self.marks.wide & inside != 0;
            at += length;
            if at < self.base + Marks::SPAN || at >= self.text.len() {
                return (at.min(self.text.len()), is_wide);
            }
            self.turn_to(at);
        }
    }

    /// Splits a run that has characters beyond ASCII: `Ok` is the end of the word it begins
    /// with, `Err` the end of a character that is no part of a word.
    fn wide(&self, from: usize, to: usize) -> Result<usize, usize> {
        for (at, char) in self.text[from..to].char_indices() {
            let is_first = at == 0;
            let end = from + at + char.len_utf8();
            match (stands_alone(char), char.is_alphanumeric()) {
                (true, _) if is_first => return Ok(end),
                (false, false) if is_first => return Err(end),
                (false, true) => {}
                _ => return Ok(from + at),
            }
        }
        Ok(to)
    }

    fn turn_to(&mut self, base: usize) {
        self.base = base;
        self.marks = Marks::of(&self.text.as_bytes()[base..]);
    }

    /// Clears the marks before `at`.
    fn go_on_at(&mut self, at: usize) {
        if at < self.base {
            self.turn_to(at);
        } else {
            let past = (at - self.base) as u32;
            self.marks.words &= u64::MAX.checked_shl(past).unwrap_or(0);
        }
    }
}

/// The classes of the next 64 bytes, one bit each.
///
/// Computed for eight bytes at a time, since a branch at every byte would often be
/// mispredicted: tokenising takes most of the time of building an index.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    /// Letters, digits and bytes beyond ASCII.
    words: u64,
    /// Bytes beyond ASCII: parts of characters that must be decoded.
    wide: u64,
}

impl Marks {
    const SPAN: usize = 64;

    fn of(bytes: &[u8]) -> Self {
        if let Some(bytes) = bytes.first_chunk() {
            return Self::of_span(bytes);
        }
        let mut span = [0; Self::SPAN];
        span[..bytes.len()].copy_from_slice(bytes);
        Self::of_span(&span)
    }

    fn of_span(span: &[u8; Self::SPAN]) -> Self {
        let mut marks = Self::default();
        for (at, eight) in span.chunks_exact(8).enumerate() {
            let eight = eight.first_chunk().map_or(0, |x| u64::from_le_bytes(*x));
            let wide = eight & each(0x80);
            let words = wide | letters_and_digits(eight & each(0x7f));
            marks.words |= gather(words) << (8 * at);
            marks.wide |= gather(wide) << (8 * at);
        }
        marks
    }
}

/// Returns eight times the same byte.
const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the high bit of each of eight ASCII bytes that is a letter or a digit.
///
/// Adding `0x80 - n` to an ASCII byte sets the high bit if the byte is at least `n`.
fn letters_and_digits(eight: u64) -> u64 {
    let lower = eight | each(0x20);
    let letters = (lower + each(0x80 - b'a')) & !(lower + each(0x80 - b'z' - 1));
    let digits = (eight + each(0x80 - b'0')) & !(eight + each(0x80 - b'9' - 1));
    (letters | digits) & each(0x80)
}

/// Gathers the high bits of eight bytes into the lowest byte.
fn gather(high: u64) -> u64 {
    (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Returns whether the character belongs to a script without spaces between words.
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

/// Hashes a folded word; a short one takes one step.
fn hash(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if length <= 8 {
        let mut eight = [0; 8];
        eight[..length].copy_from_slice(bytes);
        let eight = u64::from_le_bytes(eight);
        return match eight & each(0x80) {
            0 => hash_short(length, eight | each(0x20)),
            _ => hash_short(length, eight),
        };
    }
    hash_long(bytes, 0)
}

/// Hashes a word of more than eight bytes, after setting `bits` in all of them.
fn hash_long(bytes: &[u8], bits: u64) -> u64 {
    let eight = |eight: Option<&[u8; 8]>| eight.map_or(0, |x| u64::from_le_bytes(*x));
    let state = bytes
        .chunks_exact(8)
        .fold(SEED ^ bytes.len() as u64, |state, part| {
            mix(state, eight(part.first_chunk()) | bits)
        });
    mix(state, eight(bytes.last_chunk()) | bits)
}

/// Hashes a word of at most eight bytes. In ASCII, where folding sets a bit, all eight
/// bytes have that bit set, including those behind the word.
fn hash_short(length: usize, eight: u64) -> u64 {
    mix(SEED ^ length as u64, eight)
}

const SEED: u64 = 0xa076_1d64_78bd_642f;

/// Multiplies two numbers and folds the product: cheap, and every bit counts.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    const ODD: u64 = 0xe703_7ed1_a0b4_28db;
    let product = u128::from(a) * u128::from(b ^ ODD);
    product as u64 ^ (product >> 64) as u64
}

/// A hasher for keys of a few numbers: much faster than the standard one, which also resists keys
/// that were chosen to collide.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number, SEED);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A hasher for keys that are hashes already.
#[derive(Debug, Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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

/// The text on one line: newlines and tabs become spaces, both ends are trimmed.
pub fn one_line(text: &str) -> String {
    text.split(['\n', '\r', '\t'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        words(text).map(|word| word.text).collect()
    }

    /// The same words, found character by character.
    fn walk(text: &str) -> Vec<(usize, &str)> {
        let mut found = Vec::new();
        let mut start = None;
        for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
            let goes_on = char.is_alphanumeric() && !stands_alone(char);
            match start {
                Some(from) if !goes_on => {
                    found.push((from, &text[from..at]));
                    start = None;
                }
                None if goes_on => start = Some(at),
                _ => {}
            }
            if stands_alone(char) {
                found.push((at, &text[at..at + char.len_utf8()]));
            }
        }
        found
    }

    #[test]
    fn names_have_parts_and_other_words_have_none() {
        let parts = |word| {
            let mut parts = Vec::new();
            name_parts(word, &mut parts);
            parts.reverse();
            parts
        };
        assert_eq!(parts("checkPackSize"), ["check", "Pack", "Size"]);
        assert_eq!(parts("HTTPServer2"), ["HTTP", "Server2"]);
        assert_eq!(parts("utf8ToUtf16"), ["utf8", "To", "Utf16"]);
        for word in ["pack", "Pack", "PACK", "", "éA"] {
            assert_eq!(parts(word), [""; 0], "{word}");
        }
        assert!(COMMON.is_sorted() && is_common("the") && !is_common("pack"));
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
    fn case_and_accents_are_folded_beyond_ascii() {
        assert_eq!(fold("GRÖSSE"), "grosse");
        assert_eq!(fold("ДАННЫЕ"), "данные");
        assert_eq!(fold("HTTP2"), "http2");
        let all = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
        for char in all.map(String::from) {
            assert_eq!(fold(&char).to_ascii_lowercase(), fold(&char));
        }
        assert_eq!(
            words("ÜBER").next().map(|word| word.term()),
            Some(Term::of("uber"))
        );
    }

    #[test]
    fn characters_beyond_ascii_are_found_one_after_another() {
        let text = "plain words of ascii — and then é";
        assert_eq!(next_wide(text, 0), Some(21));
        assert_eq!(next_wide(text, 24), Some(34));
        assert_eq!(next_wide(text, 36), None);
        assert_eq!(next_wide(text, 99), None);
    }

    #[test]
    fn every_character_of_a_word_finds_it() {
        let text = "a über—v2数 x";
        let at = |at| word_at(text, at).map(|word| (word.at, word.text));
        assert_eq!(at(0), Some((0, "a")));
        assert_eq!(at(1), None);
        assert_eq!(at(2), Some((2, "über")));
        assert_eq!(at(3), None);
        assert_eq!(at(5), Some((2, "über")));
        assert_eq!(at(11), Some((10, "v2")));
        assert_eq!(at(12), Some((12, "数")));
        assert_eq!(at(99), None);
    }

    #[test]
    fn forms_of_a_word_share_their_stem() {
        let mut stems = Stems::default();
        let terms: Vec<Term> = words("Connections connecting v2s v2")
            .map(|word| stems.term(&word))
            .collect();
        assert_eq!(terms[0], terms[1]);
        assert_eq!(terms[0], Term::of(&stem("connected")));
        assert_ne!(terms[2], terms[3]);
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
        fn a_term_does_not_depend_on_what_follows(
            word in "[a-zA-Z0-9äÖéİ]{1,40}",
            after in "[ A-Z,]{0,12}",
        ) {
            let text = format!("{word} {after}");
            let first = words(&text).next().expect("there is a word");
            prop_assert_eq!(first.term(), Term::of(&fold(&word)));
        }

        #[test]
        fn words_are_those_of_a_walk_over_characters(
            text in "([a-z]{0,70}|[ .,-]{0,70}|[äöü数据— x1]{0,9}|\\PC{0,9}){0,12}",
        ) {
            let found: Vec<(usize, &str)> = words(&text).map(|word| (word.at, word.text)).collect();
            prop_assert_eq!(found, walk(&text));
        }
    }
}
