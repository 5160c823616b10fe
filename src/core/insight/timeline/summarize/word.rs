//! What the summarizer knows about words: their stems, and whether they say anything. The same
//! words come again and again, so each thread keeps it.

use std::cell::RefCell;

use crate::core::text::{Stems, Term, TermMap, Word, fold, is_common, words};

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
    /// Whether it may be a keyword.
    pub(super) may_be_keyword: bool,
}

#[derive(Default)]
struct KnownWords {
    stems: Stems,
    facts: TermMap<WordFacts>,
}

impl KnownWords {
    fn facts(&mut self, word: &Word<'_>) -> WordFacts {
        let term = word.term();
        if let Some(known) = self.facts.get(&term) {
            return *known;
        }
        let folded = fold(word.text);
        let length = folded.chars().count();
        let is_alphabetic = folded.chars().all(char::is_alphabetic);
        let facts = WordFacts {
            stem: self.stems.term_of_folded(&folded),
            counts: length > 1 && folded.chars().any(char::is_alphabetic) && !is_common(&folded),
            may_be_keyword: length > 3 && is_alphabetic && !says_nothing(&folded),
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

/// Whether a folded word is said in nearly every session.
pub(super) fn says_nothing(folded: &str) -> bool {
    is_common(folded) || EVERYWHERE.binary_search(&folded).is_ok()
}

/// Words of nearly every session, which tell none from another, in order.
const EVERYWHERE: [&str; 239] = [
    "above",
    "absolutely",
    "across",
    "actual",
    "actually",
    "add",
    "added",
    "again",
    "against",
    "agree",
    "almost",
    "along",
    "already",
    "also",
    "although",
    "always",
    "another",
    "anything",
    "anyway",
    "around",
    "available",
    "away",
    "awesome",
    "back",
    "because",
    "become",
    "before",
    "behavior",
    "being",
    "below",
    "better",
    "between",
    "brief",
    "call",
    "called",
    "case",
    "change",
    "changed",
    "changes",
    "check",
    "checked",
    "checking",
    "clean",
    "clear",
    "code",
    "com",
    "come",
    "comes",
    "commit",
    "commits",
    "committed",
    "confirm",
    "confirmed",
    "correct",
    "course",
    "create",
    "created",
    "current",
    "currently",
    "different",
    "does",
    "done",
    "either",
    "else",
    "ends",
    "enough",
    "even",
    "every",
    "everyone",
    "everything",
    "exactly",
    "example",
    "existing",
    "file",
    "files",
    "fine",
    "first",
    "fix",
    "full",
    "gets",
    "getting",
    "github",
    "give",
    "given",
    "goes",
    "going",
    "gonna",
    "good",
    "got",
    "great",
    "happen",
    "happy",
    "help",
    "here",
    "home",
    "however",
    "http",
    "https",
    "include",
    "including",
    "inside",
    "instead",
    "issue",
    "issues",
    "keep",
    "keeps",
    "kind",
    "know",
    "last",
    "lets",
    "like",
    "likely",
    "line",
    "lines",
    "little",
    "long",
    "look",
    "looking",
    "looks",
    "love",
    "made",
    "make",
    "makes",
    "many",
    "maybe",
    "mean",
    "means",
    "more",
    "most",
    "much",
    "must",
    "need",
    "needed",
    "needs",
    "never",
    "next",
    "nothing",
    "now",
    "okay",
    "once",
    "ones",
    "other",
    "outside",
    "part",
    "pass",
    "passes",
    "please",
    "point",
    "possible",
    "probably",
    "question",
    "ready",
    "real",
    "really",
    "report",
    "result",
    "results",
    "review",
    "right",
    "run",
    "running",
    "said",
    "same",
    "says",
    "seem",
    "seems",
    "several",
    "should",
    "show",
    "shows",
    "side",
    "simple",
    "since",
    "single",
    "small",
    "someone",
    "something",
    "sound",
    "sounds",
    "start",
    "state",
    "step",
    "still",
    "stuff",
    "such",
    "support",
    "sure",
    "take",
    "takes",
    "tell",
    "test",
    "tests",
    "thanks",
    "that",
    "there",
    "thing",
    "think",
    "though",
    "thought",
    "through",
    "time",
    "today",
    "together",
    "true",
    "trying",
    "type",
    "understand",
    "until",
    "update",
    "use",
    "used",
    "user",
    "using",
    "value",
    "verified",
    "verify",
    "version",
    "wait",
    "want",
    "ways",
    "well",
    "were",
    "what",
    "whether",
    "while",
    "without",
    "word",
    "words",
    "work",
    "working",
    "would",
    "write",
    "wrong",
    "yeah",
    "year",
    "years",
    "yesterday",
    "your",
    "yourself",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_every_session_are_in_order() {
        assert!(EVERYWHERE.is_sorted());
    }

    #[test]
    fn what_is_known_about_a_word_does_not_depend_on_how_it_is_written() {
        let facts = |text: &str| {
            let mut found = Vec::new();
            for_each_word(text, |_, facts| {
                found.push((facts.stem, facts.counts, facts.may_be_keyword));
            });
            found
        };
        assert_eq!(facts("Parsers"), facts("parsers"));
        let table = [
            ("parser", true, true),
            ("the", false, false),
            ("everything", true, false),
            ("lru", true, false),
            ("x", false, false),
            ("2024", false, false),
            ("utf8", true, false),
        ];
        for (word, counts, may_be_keyword) in table {
            let found = facts(word);
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!((found[0].1, found[0].2), (counts, may_be_keyword), "{word}");
        }
    }
}
