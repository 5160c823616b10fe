//! The search for the beginnings of all forms of an ASCII word, in either case.
//!
//! A regex would do the same, but making one takes longer than searching the texts of a query.

use aho_corasick::Span;
use aho_corasick::packed::Searcher;
use memchr::memchr2;

/// How many bytes are searched at once; what follows them is compared.
const SEARCHED: usize = 3;

/// The beginnings of all forms of a word.
#[derive(Debug, Clone)]
pub(super) struct Beginnings {
    /// In lower case; all have the same first letter.
    all: Vec<String>,
    /// The search for their first letters; `None` if this processor has no fast one.
    searcher: Option<Searcher>,
}

impl Beginnings {
    /// Returns the beginnings of the words with this stem, which is ASCII and not empty.
    pub(super) fn of(stem: &str) -> Self {
        let all = beginnings_of(stem);
        let mut starts: Vec<Vec<u8>> = Vec::new();
        for beginning in &all {
            let start = beginning.as_bytes().iter().take(SEARCHED);
            starts.extend(start.fold(vec![Vec::new()], |before, letter| {
                let mut both = vec![letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
                both.dedup();
                let with = |start: Vec<u8>| {
                    let both = both.clone().into_iter();
                    both.map(move |letter| [&start[..], &[letter]].concat())
                };
                before.into_iter().flat_map(with).collect()
            }));
        }
        Self {
            searcher: Searcher::new(starts),
            all,
        }
    }

    /// Returns where the first of them is, at this position or after it.
    pub(super) fn find_at(&self, text: &[u8], mut from: usize) -> Option<usize> {
        loop {
            let start = self.start_at(text, from)?;
            let rest = &text[start..];
            let begins = |beginning: &String| {
                let begun = rest.get(..beginning.len());
                begun.is_some_and(|begun| begun.eq_ignore_ascii_case(beginning.as_bytes()))
            };
            if self.all.iter().any(begins) {
                return Some(start);
            }
            from = start + 1;
        }
    }

    /// Returns where one of them may be, at this position or after it.
    fn start_at(&self, text: &[u8], from: usize) -> Option<usize> {
        if let Some(searcher) = &self.searcher {
            let span = Span::from(from..text.len());
            return Some(searcher.find_in(text, span)?.start());
        }
        let first = *self.all.first()?.as_bytes().first()?;
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        Some(from + memchr2(lower, upper, text.get(from..)?)?)
    }
}

/// Returns the prefixes, one of which every word with this stem begins with.
///
/// The stemmer removes endings and may then change the last letter (`happi`) or add one
/// (`hope`); four words are exceptions.
pub(super) fn beginnings_of(stem: &str) -> Vec<String> {
    let by_heart = match stem {
        "die" | "lie" | "tie" => Some(format!("{}y", &stem[..1])),
        "sky" => Some("skie".to_owned()),
        _ => None,
    };
    // Many words share two letters, so that a stem of three is cut only if that can matter.
    let is_changed = match stem.len() {
        0..=2 => false,
        3 => stem.ends_with(['e', 'i']) || stem.ends_with("bl"),
        _ => true,
    };
    let kept = stem.len() - usize::from(is_changed);
    let mut all = vec![stem[..kept].to_owned()];
    all.extend(by_heart);
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::text::stem;

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
        fn every_beginning_in_either_case_is_found_with_and_without_the_fast_search(
            stem in "die|sky|7|[a-c]{1,5}|[a-c]7[a-c]",
            text in "([a-cA-C7]|di|DY|Sk|sKie| |é){0,60}",
        ) {
            let fast = Beginnings::of(&stem);
            let plain = Beginnings { searcher: None, ..fast.clone() };
            let expected = |from: usize| {
                let bytes = text.as_bytes();
                (from..bytes.len()).find(|at| fast.all.iter().any(|beginning| {
                    let begun = bytes[*at..].get(..beginning.len());
                    begun.is_some_and(|begun| begun.eq_ignore_ascii_case(beginning.as_bytes()))
                }))
            };
            for from in 0..=text.len() {
                prop_assert_eq!(fast.find_at(text.as_bytes(), from), expected(from));
                prop_assert_eq!(plain.find_at(text.as_bytes(), from), expected(from));
            }
        }
    }
}
