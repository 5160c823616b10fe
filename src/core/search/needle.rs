//! The words of a ranked query, and the positions of their forms in a text.
//!
//! Forms of a word share its stem, and nearly all of the stem is a prefix of each form. So only words
//! with that prefix are stemmed and compared, and those with characters beyond ASCII, since folding
//! changes their bytes.

use std::cell::RefCell;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use crate::core::search::index::{WantedForms, WantedWord, index_words};
use crate::core::search::query::{MatchMode, Query};
use crate::core::search::score::WordCount;
use crate::core::text::{Stems, Term, Word, fold, is_common, stem, words};

/// The maximum number of words of a query that are searched.
const MOST: usize = 32;
/// The length from which on a word may be the beginning of another one.
const SHORTEST_BEGINNING: usize = 3;

/// A word to search for.
#[derive(Debug, Clone)]
pub(in crate::core) struct Needle {
    /// The folded word.
    pub(in crate::core) word: String,
    /// What each of its forms begins with.
    prefixes: Vec<String>,
    stem_term: Term,
    exact_term: Term,
}

/// All words and phrases of a query.
#[derive(Debug, Clone)]
pub(in crate::core) struct Needles {
    pub(in crate::core) all: Vec<Needle>,
    /// Phrases that a hit must contain verbatim, and their folded words.
    phrases: Vec<(Regex, Vec<String>)>,
    /// Whether a longer word that begins like a needle counts as a form of it.
    accepts_beginnings: bool,
    /// The search for what their forms begin with; made when there is text to search.
    prefix_search: OnceLock<Option<AhoCorasick>>,
}

/// A position in a text where a form of a needle begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::core) struct NeedleMatch {
    /// The byte offset of the word.
    pub(in crate::core) at: usize,
    /// The needle's index.
    pub(in crate::core) needle: usize,
    /// Whether the word is written as in the query.
    pub(in crate::core) is_exact: bool,
}

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::default();
}

impl Needles {
    /// Returns the needles of a query: all its words except stop words, or the stop words if
    /// it has no others.
    pub(in crate::core) fn of(query: &Query) -> Self {
        let exact = query
            .atoms
            .iter()
            .filter(|atom| atom.mode == MatchMode::Exact);
        let phrases =
            exact.filter_map(|atom| Some((literal(&atom.text)?, index_words(&atom.text))));
        Self {
            phrases: phrases.collect(),
            ..Self::of_words(query.atoms.iter().flat_map(|atom| words(&atom.text)))
        }
    }

    /// Returns the needles of a text, likewise.
    pub(in crate::core) fn of_text(text: &str) -> Self {
        Self::of_words(words(text))
    }

    fn of_words<'t>(words: impl Iterator<Item = Word<'t>>) -> Self {
        let mut folded: Vec<String> = Vec::new();
        let mut spare: Vec<String> = Vec::new();
        for word in words {
            let word = fold(word.text).into_owned();
            let list = if is_common(&word) {
                &mut spare
            } else {
                &mut folded
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
            if all.iter().all(|known| known.stem_term != needle.stem_term) {
                all.push(needle);
            }
        }
        Self::of_needles(all)
    }

    /// Returns the needle of one folded word.
    pub(in crate::core) fn of_word(word: &str) -> Self {
        Self::of_needles(vec![Needle::new(word.to_owned())])
    }

    fn of_needles(all: Vec<Needle>) -> Self {
        Self {
            all,
            phrases: Vec::new(),
            accepts_beginnings: false,
            prefix_search: OnceLock::new(),
        }
    }

    /// Returns whether there is no word to search for.
    pub(in crate::core) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Counts longer words that begin like a needle as forms of it; whether that makes a difference.
    pub(in crate::core) fn accept_beginnings(&mut self) -> bool {
        let mut needles = self.all.iter();
        self.accepts_beginnings = needles.any(|needle| needle.word.len() >= SHORTEST_BEGINNING);
        self.accepts_beginnings
    }

    /// Returns whether the text contains every phrase of the query.
    pub(in crate::core) fn has_phrases(&self, text: &str) -> bool {
        let mut phrases = self.phrases.iter();
        phrases.all(|(phrase, _)| phrase.is_match(text.as_bytes()))
    }

    /// Returns what is looked for in the index: the needles, and then the phrases.
    pub(in crate::core) fn wanted(&self) -> Vec<WantedWord<'_>> {
        let needles = self.all.iter().map(|needle| {
            let is_form = move |word: &str| {
                let is_form = |stems: &mut Stems| stems.term_of_folded(word) == needle.stem_term;
                word == needle.word
                    || self.is_beginning(needle, word)
                    || STEMS.with_borrow_mut(is_form)
            };
            WantedWord::Forms(WantedForms {
                word: &needle.word,
                beginnings: &needle.prefixes,
                is_form: Box::new(is_form),
            })
        });
        let phrases = self.phrases.iter();
        let phrases = phrases.map(|(_, words)| WantedWord::Phrase(words.clone()));
        needles.chain(phrases).collect()
    }

    /// Whether a folded word counts as a form of a needle because it begins like it.
    fn is_beginning(&self, needle: &Needle, word: &str) -> bool {
        self.accepts_beginnings
            && needle.word.len() >= SHORTEST_BEGINNING
            && word.starts_with(&needle.word)
    }

    /// Returns where a text has a form of each needle, sorted by position.
    pub(in crate::core) fn places(&self, text: &str) -> Vec<NeedleMatch> {
        let mut found = Vec::new();
        if text.is_ascii() && !self.may_be_in(text) {
            return found;
        }
        STEMS.with_borrow_mut(|stems| {
            for word in words(text) {
                for number in 0..self.all.len() {
                    found.extend(self.match_at(number, &word, stems));
                }
            }
        });
        found
    }

    /// Returns how often a text with these matches has each word that is [wanted](Self::wanted).
    pub(in crate::core) fn counted(&self, places: &[NeedleMatch]) -> Vec<WordCount> {
        let mut counts = vec![WordCount::default(); self.all.len() + self.phrases.len()];
        for place in places {
            let count = &mut counts[place.needle];
            count.times += 1;
            count.is_exact |= place.is_exact;
        }
        counts
    }

    /// Returns whether a text of ASCII has what a form of a needle begins with; most texts do not, and
    /// this takes a fraction of the time that their words take.
    fn may_be_in(&self, text: &str) -> bool {
        let search = self.prefix_search.get_or_init(|| {
            let all = self.all.iter().flat_map(|needle| &needle.prefixes);
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true);
            builder.kind(Some(AhoCorasickKind::NoncontiguousNFA));
            builder.build(all).ok()
        });
        search.as_ref().is_none_or(|search| search.is_match(text))
    }

    /// Returns the match of a needle if the word is a form of it.
    fn match_at(&self, number: usize, word: &Word<'_>, stems: &mut Stems) -> Option<NeedleMatch> {
        let needle = &self.all[number];
        if !needle.may_have_form(word.text) {
            return None;
        }
        let is_exact = word.term() == needle.exact_term;
        let is_form = is_exact
            || stems.term(word) == needle.stem_term
            || (self.accepts_beginnings && self.is_beginning(needle, &fold(word.text)));
        is_form.then_some(NeedleMatch {
            at: word.at,
            needle: number,
            is_exact,
        })
    }
}

impl Needle {
    fn new(word: String) -> Self {
        let stem = stem(&word).into_owned();
        Self {
            stem_term: Term::of(&stem),
            exact_term: Term::of(&word),
            prefixes: if stem.is_ascii() && word.is_ascii() {
                beginnings_of(&stem)
            } else {
                // Folding may change any letter behind the first.
                vec![word.chars().take(1).collect()]
            },
            word,
        }
    }

    /// Whether a word may be a form of it: it begins like one, or is not all ASCII.
    fn may_have_form(&self, word: &str) -> bool {
        let begins = |prefix: &String| {
            let beginning = word.as_bytes().get(..prefix.len());
            beginning.is_some_and(|bytes| bytes.eq_ignore_ascii_case(prefix.as_bytes()))
        };
        self.prefixes.iter().any(begins) || !word.is_ascii()
    }
}

/// Returns the prefixes, one of which every word with this stem begins with.
///
/// The stemmer removes endings, and may then change the last letter: to `i` (`happi`), to an `e` that it
/// adds (`hope`), or in `bl` (`possibl` of `possibility`). Four words are exceptions.
fn beginnings_of(stem: &str) -> Vec<String> {
    let by_heart = match stem {
        "die" | "lie" | "tie" => Some(format!("{}y", &stem[..1])),
        "sky" => Some("skie".to_owned()),
        _ => None,
    };
    let is_changed = stem.len() > 2 && (stem.ends_with(['e', 'i']) || stem.ends_with("bl"));
    let kept = stem.len() - usize::from(is_changed);
    let mut all = vec![stem[..kept].to_owned()];
    all.extend(by_heart);
    all
}

/// Returns the case-insensitive search for a literal text; `None` if it is too long.
pub(in crate::core) fn literal(text: &str) -> Option<Regex> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::search::query::noon;

    fn needles(query: &str) -> Needles {
        Needles::of(&Query::of_prose(query, &noon()))
    }

    fn found(query: &str, text: &str) -> Vec<NeedleMatch> {
        needles(query).places(text)
    }

    /// The same result without a look at prefixes: every word is stemmed.
    fn naive(query: &str, text: &str) -> Vec<NeedleMatch> {
        let mut found = Vec::new();
        for word in words(text) {
            for (needle, wanted) in needles(query).all.iter().enumerate() {
                let folded = fold(word.text);
                let is_exact = folded == wanted.word.as_str();
                if is_exact || stem(&folded) == stem(&wanted.word) {
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
    }

    #[test]
    fn forms_of_a_word_are_found_and_what_only_begins_like_it_is_not() {
        let text = "Connections connect; connectome CONNECTED disconnect resumé Resumes cafés";
        let at =
            |query| -> Vec<usize> { found(query, text).iter().map(|place| place.at).collect() };
        assert_eq!(at("connecting"), [0, 12, 32]);
        assert_eq!(at("resume"), [53, 61]);
        assert_eq!(at("cafe"), [69]);
        let mut widened = needles("connect");
        assert_eq!(widened.places(text).len(), 3);
        assert!(widened.accept_beginnings());
        assert_eq!(widened.places(text).len(), 4);
    }

    #[test]
    fn a_huge_query_is_cut() {
        let long: String = (0..200_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(needles(&long).all.len(), MOST);
        assert!(literal(&"x".repeat(1_000_000)).is_none());
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_stemming_every_word_finds(
            query in "([a-e]{1,3}(ing|ed|s|ation|y|ies)? |é[a-c] |数){1,4}",
            text in "([a-eA-E]{1,3}(ing|ed|s|ation|y|ies|ness)?[ .,_]|[éÉ][a-c] |数|据| —|[a-c]é[a-e] ){0,30}",
        ) {
            prop_assert_eq!(found(&query, &text), naive(&query, &text));
        }

        #[test]
        fn every_word_begins_as_its_stem_says(
            start in "[a-z]{1,6}",
            middle in "(|at|bl|iz|y|i|e|ic|al|ou|og|l|tt|ab|ing|bil|v)",
            end in "(|s|es|ies|ied|ed|eed|ing|ingly|edly|ly|li|y|ational|tional|ation|ator|ization|izer|alism|aliti|ality|ousli|ousness|iveness|iviti|biliti|bility|bli|ogi|ogy|fulli|lessli|ness|ful|ative|icate|alize|ement|ment|ent|ion|sion|er|or|ism|iti|ity|ive|ize|ate|able|ible|ance|ence|enci|anci|e|l|ll)",
        ) {
            let word = format!("{start}{middle}{end}");
            let stem = stem(&word);
            let begins = beginnings_of(&stem).iter().any(|beginning| word.starts_with(beginning.as_str()));
            prop_assert!(begins, "{word} → {stem}");
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
            assert_eq!(found(query, text).len(), 1, "{query} in {text}");
        }
    }
}
