//! The words of a ranked query, and where a text holds a form of one of them.
//!
//! The words of logs know where they are, see [`Block::occurrences`]; this is for all other
//! text. Forms of a word share its stem, and nearly all of the stem stands at the beginning of
//! each form as it is written. So places are found by literal search for that beginning,
//! and only the words there are stemmed and compared. Words with characters beyond ASCII
//! are looked at one by one: there are few of them, and folding changes their bytes.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::core::corpus::{Block, Part};
use crate::core::query::{MatchMode, Query};
use crate::core::text::{self, Stems, Term, Word, fold, stem, word_at, words};

/// The most words of a query that are looked for.
pub(super) const MOST: usize = 32;

/// A word that is looked for.
#[derive(Debug, Clone)]
pub(super) struct Needle {
    /// The folded word.
    pub(super) word: String,
    pub(super) stem: Term,
    pub(super) exact: Term,
    /// The search for what every form of it begins with, as far as forms are ASCII; made
    /// when there is text to search.
    beginning: OnceLock<Option<Regex>>,
}

/// Everything that is looked for at once.
#[derive(Debug, Clone)]
pub(super) struct Needles {
    pub(super) all: Vec<Needle>,
    /// Phrases that a hit must hold as they stand.
    phrases: Vec<Regex>,
}

/// The text that needles are looked for in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Haystack<'a> {
    pub(super) text: &'a str,
    pub(super) part: Part,
    /// Which needles it may hold, a bit for each.
    pub(super) may_hold: u32,
}

/// Where a text holds a form of a needle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NeedleMatch {
    /// Where the word begins, in bytes.
    pub(super) at: usize,
    /// Which needle it is.
    pub(super) needle: usize,
    /// Whether it is written as in the query.
    pub(super) is_exact: bool,
}

impl Needles {
    /// Returns what a query looks for: all its words but the most common ones of the
    /// language, or all if it has no others.
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

    /// Tells whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns which of them a block of tool text may hold, a bit for each.
    pub(super) fn may_be_in(&self, block: &Block<'_>) -> u32 {
        let all = self.all.iter().enumerate();
        all.map(|(number, needle)| u32::from(block.may_contain(needle.exact)) << number)
            .fold(0, |may_hold, bit| may_hold | bit)
    }

    /// Tells whether the text holds every phrase of the query.
    pub(super) fn has_phrases(&self, text: &str) -> bool {
        self.phrases
            .iter()
            .all(|phrase| phrase.is_match(text.as_bytes()))
    }

    /// Finds every form of a needle in the text, in no order.
    pub(super) fn find(
        &self,
        haystack: Haystack<'_>,
        stems: &mut Stems,
        found: &mut Vec<NeedleMatch>,
    ) {
        let Haystack { text, part, .. } = haystack;
        let is_held = |number: &usize| haystack.may_hold >> number & 1 == 1;
        // One needle at a time: a search for few bytes in two cases is many times faster
        // than one for all needles at once.
        for number in (0..self.all.len()).filter(is_held) {
            let needle = &self.all[number];
            let Some(beginning) = needle.beginning() else {
                continue;
            };
            let mut from = 0;
            while let Some(start) = beginning.find_at(text.as_bytes(), from).map(|m| m.start()) {
                if goes_on(text.as_bytes(), start) {
                    from = start + 1;
                    continue;
                }
                let word = word_at(text, start);
                from = word.map_or(start + 1, |word| word.at + word.text.len());
                // A word that is not all ASCII is found below.
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
            .all(|number| self.all[number].beginning().is_some());
        wide_words(text, &mut |word, char| {
            // A plain word is no form of one that keeps a character beyond ASCII.
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
    /// Returns words that may hold any needle.
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
            beginning: OnceLock::new(),
            word,
        }
    }

    fn beginning(&self) -> Option<&Regex> {
        let made = self.beginning.get_or_init(|| {
            let stemmed = stem(&self.word);
            let is_ascii = stemmed.is_ascii() && self.word.is_ascii();
            is_ascii.then(|| beginning(&stemmed)).flatten()
        });
        made.as_ref()
    }

    /// Tells whether the word is a form of this one, and then whether it is written as in
    /// the query. Of tool text only such words count, since its filters know no stems.
    fn is(&self, word: &Word<'_>, part: Part, stems: &mut Stems) -> Option<bool> {
        let is_exact = word.term() == self.exact;
        let is_form = is_exact || (part == Part::Words && stems.term(word) == self.stem);
        is_form.then_some(is_exact)
    }
}

/// Returns what every word with this stem begins with.
///
/// The stemmer takes endings away and may then change the last letter (`happi`) or add
/// one (`hope`), but for four words that it has by heart.
fn beginnings_of(stem: &str) -> Vec<String> {
    let by_heart = match stem {
        "die" | "lie" | "tie" => Some(format!("{}y", &stem[..1])),
        "sky" => Some("skie".to_owned()),
        _ => None,
    };
    let kept = match stem.len() {
        0..=2 => stem.len(),
        length => length - 1,
    };
    let mut all = vec![stem[..kept].to_owned()];
    all.extend(by_heart);
    all
}

/// Returns the search for what every word with this stem begins with, in any case.
fn beginning(stem: &str) -> Option<Regex> {
    // Letters and digits: there is nothing to escape.
    RegexBuilder::new(&beginnings_of(stem).join("|"))
        .case_insensitive(true)
        .unicode(false)
        .build()
        .ok()
}

/// Returns the search for a text as it stands, in any case; `None` for one that is too long.
pub(super) fn literal(text: &str) -> Option<Regex> {
    // A pattern costs many times its text before the builder would refuse it.
    const LONGEST: usize = 10_000;
    if text.len() > LONGEST {
        return None;
    }
    RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .build()
        .ok()
}

/// Tells whether the letter before this place belongs to the same word, by its byte; a
/// character beyond ASCII is left for others to judge.
fn goes_on(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes[at - 1].is_ascii_alphanumeric()
}

/// Hands on every word that has a letter or digit beyond ASCII, once, with the first such.
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

/// Tells whether the word says nothing about what a text is about.
pub(super) fn is_common(folded: &str) -> bool {
    COMMON.binary_search(&folded).is_ok()
}

/// Sorted.
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

    /// The same, without literal search: every word is stemmed.
    fn naive(query: &str, text: &str, part: Part) -> Vec<NeedleMatch> {
        let mut found = Vec::new();
        for word in words(text) {
            for (needle, wanted) in needles(query).all.iter().enumerate() {
                let folded = fold(word.text);
                let is_exact = folded == wanted.word.as_str();
                if is_exact || (part == Part::Words && stem(&folded) == stem(&wanted.word)) {
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
        assert_eq!(found("connected", text, Part::Tools).len(), 1);
    }

    #[test]
    fn a_huge_query_is_cut() {
        let long: String = (0..200_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(needles(&long).all.len(), MOST);
        assert!(literal(&"x".repeat(1_000_000)).is_none());
    }

    proptest! {
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
