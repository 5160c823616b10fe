//! The words of a ranked query, and the positions of their forms in a text.
//!
//! For the words of logs the index of the corpus knows the messages, see [`Needle::look_up`];
//! for all other text, positions are searched. Forms of a word share its stem, and nearly all of the stem is
//! a prefix of each form. So candidates are found by literal search for that prefix, and only
//! they are stemmed and compared. Words with characters beyond ASCII are compared one by one:
//! they are few, and folding changes their bytes.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};

use super::beginning::{Beginnings, beginnings_of};
use crate::core::corpus::{Part, WordLists};
use crate::core::query::{MatchMode, Query};
use crate::core::text::{self, Stems, Term, TermSet, Word, fold, stem, word_at, words};

/// The maximum number of words of a query that are searched.
pub(super) const MOST: usize = 32;

/// A word to search for.
#[derive(Debug, Clone)]
pub(super) struct Needle {
    /// The folded word.
    pub(super) word: String,
    pub(super) stem: Term,
    pub(super) exact: Term,
    /// The search for the beginnings of its forms, if they are ASCII; made when there is text to
    /// search.
    beginnings: OnceLock<Option<Beginnings>>,
}

/// All words and phrases of a query.
#[derive(Debug, Clone)]
pub(super) struct Needles {
    pub(super) all: Vec<Needle>,
    /// Phrases that a hit must contain verbatim.
    phrases: Vec<Regex>,
}

/// A text to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Haystack<'a> {
    pub(super) text: &'a str,
    pub(super) part: Part,
    /// Which needles the text may contain, one bit each.
    pub(super) may_hold: u32,
}

/// A position in a text where a form of a needle begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NeedleMatch {
    /// The byte offset of the word.
    pub(super) at: usize,
    /// The needle's index.
    pub(super) needle: usize,
    /// Whether the word is written as in the query.
    pub(super) is_exact: bool,
}

impl Needles {
    /// Returns the needles of a query: all its words except stop words, or the stop words if
    /// it has no others.
    pub(super) fn of(query: &Query) -> Self {
        let mut folded: Vec<String> = Vec::new();
        let mut spare: Vec<String> = Vec::new();
        for word in query.atoms.iter().flat_map(|atom| words(&atom.text)) {
            let word = fold(word.text).into_owned();
            let list = match is_common(&word) {
                true => &mut spare,
                false => &mut folded,
            };
            if list.len() < MOST && !list.contains(&word) {
                list.push(word);
            }
        }
        if folded.is_empty() {
            folded = spare;
        }
        let mut all: Vec<Needle> = Vec::new();
        for word in folded {
            let needle = Needle::new(word);
            if all.iter().all(|known| known.stem != needle.stem) {
                all.push(needle);
            }
        }
        let phrases = query
            .atoms
            .iter()
            .filter(|atom| atom.form == MatchMode::Exact);
        Self {
            all,
            phrases: phrases.filter_map(|atom| literal(&atom.text)).collect(),
        }
    }

    /// Returns whether there is no word to search for.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether the text contains every phrase of the query.
    pub(super) fn has_phrases(&self, text: &str) -> bool {
        self.phrases
            .iter()
            .all(|phrase| phrase.is_match(text.as_bytes()))
    }

    /// Finds every form of a needle in the text, in no particular order.
    pub(super) fn find(
        &self,
        haystack: Haystack<'_>,
        stems: &mut Stems,
        found: &mut Vec<NeedleMatch>,
    ) {
        let Haystack { text, part, .. } = haystack;
        let is_held = |number: &usize| haystack.may_hold >> number & 1 == 1;
        // One needle at a time: a search for few bytes in two cases is many times faster
        // than one search for all needles.
        for number in (0..self.all.len()).filter(is_held) {
            let needle = &self.all[number];
            let Some(beginnings) = needle.beginnings() else {
                continue;
            };
            let mut from = 0;
            while let Some(start) = beginnings.find_at(text.as_bytes(), from) {
                if goes_on(text.as_bytes(), start) {
                    from = start + 1;
                    continue;
                }
                let word = word_at(text, start);
                from = word.map_or(start + 1, |word| word.at + word.text.len());
                // A word that is not all ASCII is handled below.
                if let Some(word) = word.filter(|word| word.at == start && word.text.is_ascii()) {
                    found.extend(needle.is(&word, part, stems).map(|is_exact| NeedleMatch {
                        at: word.at,
                        needle: number,
                        is_exact,
                    }));
                }
            }
        }
        let are_plain = (0..self.all.len())
            .filter(is_held)
            .all(|number| self.all[number].beginnings().is_some());
        wide_words(text, &mut |word, char| {
            // A word that keeps a character beyond ASCII is no form of an ASCII needle.
            if are_plain && !fold(char.encode_utf8(&mut [0; 4])).is_ascii() {
                return;
            }
            for number in (0..self.all.len()).filter(is_held) {
                let is_exact = self.all[number].is(word, part, stems);
                found.extend(is_exact.map(|is_exact| NeedleMatch {
                    at: word.at,
                    needle: number,
                    is_exact,
                }));
            }
        });
    }
}

impl<'a> Haystack<'a> {
    /// Returns a haystack of words that may contain any needle.
    pub(super) fn of_words(text: &'a str) -> Self {
        Self {
            text,
            part: Part::Words,
            may_hold: u32::MAX,
        }
    }
}

impl Needle {
    fn new(word: String) -> Self {
        Self {
            stem: Term::of(&stem(&word)),
            exact: Term::of(&word),
            beginnings: OnceLock::new(),
            word,
        }
    }

    /// Adds each form of the needle in the index of a part to its lists, with the needle's number
    /// and whether it is written as in the query. In results only exact words count, and only
    /// their blocks are known.
    pub(super) fn look_up(
        &self,
        number: u8,
        (part, stems): (Part, &mut Stems),
        lists: &mut WordLists<'_, (u8, bool)>,
    ) {
        if !part.has_concordance() {
            return lists.add(&self.word, (number, true));
        }
        let stemmed = stem(&self.word);
        let is_wide = !stemmed.is_ascii();
        let mut is_form = |word: &str| {
            // The stem of an ASCII word is ASCII.
            if is_wide && word.is_ascii() {
                return None;
            }
            let is_exact = word == self.word;
            let is_form = is_exact || stems.term_of_folded(word) == self.stem;
            is_form.then_some((number, is_exact))
        };
        let prefixes = match stemmed.is_ascii() && self.word.is_ascii() {
            true => beginnings_of(&stemmed),
            false => vec![String::new()],
        };
        for (at, prefix) in prefixes.iter().enumerate() {
            // What begins with this one was found with the one before.
            let mut before = prefixes[..at].iter();
            if !before.any(|before| prefix.starts_with(before.as_str())) {
                lists.add_forms(prefix, &mut is_form);
            }
        }
    }

    fn beginnings(&self) -> Option<&Beginnings> {
        let made = self.beginnings.get_or_init(|| {
            let stemmed = stem(&self.word);
            let is_ascii = stemmed.is_ascii() && self.word.is_ascii() && !stemmed.is_empty();
            is_ascii.then(|| Beginnings::of(&stemmed))
        });
        made.as_ref()
    }

    /// Returns `None` if the word is no form of this needle, otherwise whether it is written
    /// as in the query. In results only exact words count, so that one lookup finds them.
    fn is(&self, word: &Word<'_>, part: Part, stems: &mut Stems) -> Option<bool> {
        let is_exact = word.term() == self.exact;
        let is_form = is_exact || (part.has_concordance() && stems.term(word) == self.stem);
        is_form.then_some(is_exact)
    }
}

/// Returns the case-insensitive search for a literal text; `None` if it is too long.
pub(super) fn literal(text: &str) -> Option<Regex> {
    // A compiled pattern takes many times the memory of its text before the builder refuses it.
    const LONGEST: usize = 10_000;
    if text.len() > LONGEST {
        return None;
    }
    RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .build()
        .ok()
}

/// Returns whether the byte before this position is an ASCII letter or digit, so that the
/// position is inside a word. Characters beyond ASCII are handled by [`word_at`].
fn goes_on(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes[at - 1].is_ascii_alphanumeric()
}

/// Calls `take` once for every word with a letter or digit beyond ASCII, and the first such.
fn wide_words(text: &str, take: &mut dyn FnMut(&Word<'_>, char)) {
    let mut from = 0;
    while let Some(at) = text::next_wide(text, from) {
        let Some(char) = text[at..].chars().next() else {
            return;
        };
        from = at + char.len_utf8();
        if let Some(word) = word_at(text, at).filter(|_| char.is_alphanumeric()) {
            from = from.max(word.at + word.text.len());
            take(&word, char);
        }
    }
}

/// Returns whether the word is a stop word.
pub(in crate::core) fn is_common(folded: &str) -> bool {
    static TERMS: LazyLock<TermSet> =
        LazyLock::new(|| COMMON.iter().map(|word| Term::of(word)).collect());
    TERMS.contains(&Term::of(folded))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::query::noon;

    fn needles(query: &str) -> Needles {
        Needles::of(&Query::of_prose(query, &noon()))
    }

    fn found(query: &str, text: &str, part: Part) -> Vec<NeedleMatch> {
        let mut found = Vec::new();
        let haystack = Haystack {
            part,
            ..Haystack::of_words(text)
        };
        needles(query).find(haystack, &mut Stems::default(), &mut found);
        found.sort();
        found
    }

    /// The same result without literal search: every word is stemmed.
    fn naive(query: &str, text: &str, part: Part) -> Vec<NeedleMatch> {
        let mut found = Vec::new();
        for word in words(text) {
            for (needle, wanted) in needles(query).all.iter().enumerate() {
                let folded = fold(word.text);
                let is_exact = folded == wanted.word.as_str();
                if is_exact || (part.has_concordance() && stem(&folded) == stem(&wanted.word)) {
                    found.push(NeedleMatch {
                        at: word.at,
                        needle,
                        is_exact,
                    });
                }
            }
        }
        found
    }

    #[test]
    fn common_words_are_left_out_unless_there_are_no_others() {
        let texts = |query| -> Vec<String> {
            needles(query)
                .all
                .into_iter()
                .map(|needle| needle.word)
                .collect()
        };
        assert_eq!(
            texts("When did Ann fix the parser?"),
            ["ann", "fix", "parser"]
        );
        assert_eq!(texts("to be or not to be"), ["to", "be", "or", "not"]);
        assert_eq!(texts("fix fixes fixed"), ["fix"]);
        assert!(texts("?! —").is_empty());
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn forms_of_a_word_are_found_and_what_only_begins_like_it_is_not() {
        let text = "Connections connect; connectome CONNECTED disconnect resumé Resumes cafés";
        let at = |query| -> Vec<usize> {
            found(query, text, Part::Words)
                .iter()
                .map(|place| place.at)
                .collect()
        };
        assert_eq!(at("connecting"), [0, 12, 32]);
        assert_eq!(at("resume"), [53, 61]);
        assert_eq!(at("cafe"), [69]);
        assert_eq!(found("connected", text, Part::Results).len(), 1);
    }

    #[test]
    fn a_huge_query_is_cut() {
        let long: String = (0..200_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(needles(&long).all.len(), MOST);
        assert!(literal(&"x".repeat(1_000_000)).is_none());
    }

    proptest! {
        #[test]
        fn literal_search_finds_what_stemming_every_word_finds(
            query in "([a-e]{1,3}(ing|ed|s|ation|y|ies)? |é[a-c] |数){1,4}",
            text in "([a-eA-E]{1,3}(ing|ed|s|ation|y|ies|ness)?[ .,_]|[éÉ][a-c] |数|据| —|[a-c]é[a-e] ){0,30}",
        ) {
            for part in Part::ALL {
                prop_assert_eq!(found(&query, &text, part), naive(&query, &text, part));
            }
        }
    }

    #[test]
    fn the_words_that_the_stemmer_has_by_heart_are_found() {
        for (query, text) in [
            ("die", "dying"),
            ("tie", "tying"),
            ("lies", "lying"),
            ("sky", "skies"),
            ("dying", "die"),
        ] {
            assert_eq!(
                found(query, text, Part::Words).len(),
                1,
                "{query} in {text}"
            );
        }
    }
}
