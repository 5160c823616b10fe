//! Pure text: words with their positions, folding and stems here, and in the modules below headers,
//! links, differences, secrets and what is safe to show.
//!
//! Everything that compares words uses this module, so that the words which the index has of a log
//! are those that a search looks up later. A word is a run of letters and digits; a character of a
//! script without spaces is a word of its own.

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
use std::hash::Hasher as _;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHasher};

pub use clean::clean;

/// A word and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The byte offset.
    pub at: usize,
    /// The word as it is written.
    pub text: &'a str,
}

/// The words of a text, in order; see [`words`].
#[derive(Debug, Clone)]
pub struct Words<'a> {
    text: &'a str,
    /// How much of the text was read.
    at: usize,
}

/// The hash of a folded word or a stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u64);

/// Stems words, and caches the results.
pub struct Stems {
    english: Stemmer,
    known: FxHashMap<Term, Term>,
}

/// The size of the cache of [`Stems`]; text with more distinct words is not a language.
const KNOWN: usize = 1 << 16;

/// Returns the words of `text`.
pub fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
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
    /// Returns the term of the folded word.
    pub fn term(&self) -> Term {
        Term::of(&fold(self.text))
    }
}

impl Term {
    /// Returns the term of a folded word or a stem.
    pub fn of(folded: &str) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(folded.as_bytes());
        Self(hasher.finish())
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            known: FxHashMap::default(),
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
        let rest = &self.text[self.at..];
        let start = rest.find(|c: char| c.is_alphanumeric() || stands_alone(c))?;
        let word = &rest[start..];
        let bytes = word.bytes();
        let plain = bytes.take_while(u8::is_ascii_alphanumeric).count();
        let mut length = plain;
        // Most words are ASCII, and end here.
        for char in word[plain..].chars() {
            let is_alone = stands_alone(char);
            if is_alone && length == 0 {
                length = char.len_utf8();
            }
            if is_alone || !char.is_alphanumeric() {
                break;
            }
            length += char.len_utf8();
        }
        let at = self.at + start;
        self.at = at + length;
        Some(Word {
            at,
            text: &word[..length],
        })
    }
}

/// Returns whether the character belongs to a script without spaces between words, or is a number in
/// a circle, which stands before a word without a space.
fn stands_alone(char: char) -> bool {
    matches!(
        char,
        '\u{2460}'..='\u{24ff}'
            | '\u{2776}'..='\u{2793}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
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
            ("⑥API", &["⑥", "API"]),
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
        fn words_are_those_of_a_walk_over_characters(
            text in "([a-z]{0,70}|[ .,-]{0,70}|[äöü数据— x1]{0,9}|\\PC{0,9}){0,12}",
        ) {
            let found: Vec<(usize, &str)> = words(&text).map(|word| (word.at, word.text)).collect();
            prop_assert_eq!(found, walk(&text));
        }
    }
}
