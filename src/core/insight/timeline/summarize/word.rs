//! What the summarizer knows about words: their stems, and whether they say anything. The same
//! words come again and again, so each thread keeps it.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::core::text::{Stems, Term, Word, fold, is_common, words};

/// How many words are kept; text with more distinct ones is not a language.
const KNOWN: usize = 1 << 16;

thread_local! {
    static WORDS: RefCell<KnownWords> = RefCell::default();
}

/// What is known about a word. It follows from the folded word alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordFacts {
    pub(super) stem: Term,
    /// Whether it counts: a number says little, and a letter or a stop word nothing.
    pub(super) counts: bool,
}

#[derive(Default)]
struct KnownWords {
    stems: Stems,
    facts: FxHashMap<Term, WordFacts>,
}

impl KnownWords {
    fn facts(&mut self, word: &Word<'_>) -> WordFacts {
        let term = word.term();
        if let Some(known) = self.facts.get(&term) {
            return *known;
        }
        let folded = fold(word.text);
        let length = folded.chars().count();
        let facts = WordFacts {
            stem: self.stems.term_of_folded(&folded),
            // In some languages a letter is a word.
            counts: (length > 1 || !folded.is_ascii())
                && folded.chars().any(char::is_alphabetic)
                && !is_common(&folded),
        };
        if self.facts.len() == KNOWN {
            self.facts.clear();
        }
        self.facts.insert(term, facts);
        facts
    }
}

/// Passes each word of a text to `take`, with what is known about it.
pub(super) fn for_each_word<'a>(text: &'a str, mut take: impl FnMut(Word<'a>, WordFacts)) {
    WORDS.with_borrow_mut(|known| {
        for word in words(text) {
            let facts = known.facts(&word);
            take(word, facts);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_about_a_word_does_not_depend_on_how_it_is_written() {
        let facts = |text: &str| {
            let mut found = Vec::new();
            for_each_word(text, |_, facts| {
                found.push((facts.stem, facts.counts));
            });
            found
        };
        assert_eq!(facts("Parsers"), facts("parsers"));
        for (word, counts) in [
            ("parser", true),
            ("the", false),
            ("x", false),
            ("2024", false),
            ("utf8", true),
            ("语", true),
        ] {
            let found = facts(word);
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].1, counts, "{word}");
        }
    }
}
