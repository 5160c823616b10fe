//! The whole query as one phrase: a text that has it goes before all others.

use std::sync::OnceLock;

use regex::bytes::Regex;

use super::super::needle::{NeedleMatch, Needles, literal};
use crate::core::search::query::Query;

/// All words of a query as one phrase.
#[derive(Debug)]
pub(super) struct Phrase {
    text: String,
    /// The needles of the phrase, in its order.
    places: Vec<NeedleMatch>,
    /// The search for the text; compiled when a text has the needles in this order, which few have.
    literal: OnceLock<Option<Regex>>,
}

impl Phrase {
    pub(super) fn of(query: &Query, needles: &Needles) -> Self {
        let words: Vec<&str> = query.atoms.iter().map(|atom| atom.text.as_str()).collect();
        let words = words.join(" ");
        let text = words.trim_end_matches(['?', '!', '.', ' ']).to_owned();
        Self {
            places: needles.places(&text),
            text,
            literal: OnceLock::new(),
        }
    }

    /// Returns the position of the phrase in a text, and whether it is at word boundaries; one
    /// inside of longer words is not always found. `places` are those of all needles in the text,
    /// sorted by position.
    pub(super) fn find(&self, text: &str, places: &[NeedleMatch]) -> Option<(usize, bool)> {
        let mut windows = places.windows(self.places.len().max(1));
        if !windows.any(|places| self.may_be_at(places)) {
            return None;
        }
        let literal = self.literal.get_or_init(|| literal(&self.text));
        first(literal.as_ref()?, text)
    }

    /// Whether the phrase may be where a text has these needles: the same ones, as near.
    fn may_be_at(&self, places: &[NeedleMatch]) -> bool {
        /// How many bytes a letter takes at most that is a byte in the other case, like the sign of
        /// the Kelvin.
        const LONGEST: usize = 3;
        let mut both = self.places.iter().zip(places);
        let mut before: Option<(usize, usize)> = None;
        self.places.len() == places.len()
            && both.all(|(wanted, place)| {
                let gaps = before.map(|(in_phrase, at)| (wanted.at - in_phrase, place.at - at));
                before = Some((wanted.at, place.at));
                wanted.needle == place.needle
                    && gaps.is_none_or(|(in_phrase, gap)| gap <= LONGEST * in_phrase)
            })
    }
}

/// Returns the offset of the first match at word boundaries, or else of the first match.
fn first(literal: &Regex, text: &str) -> Option<(usize, bool)> {
    let mut part = None;
    for found in literal.find_iter(text.as_bytes()) {
        let touches =
            |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
        let before = text[..found.start()].chars().next_back();
        let after = text[found.end()..].chars().next();
        if !touches(before) && !touches(after) {
            return Some((found.start(), true));
        }
        part = part.or(Some((found.start(), false)));
    }
    part
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::search::query::noon;

    proptest! {
        #[test]
        fn a_phrase_at_word_boundaries_is_always_found(
            words in proptest::collection::vec("the|fox|Owls|hen|of|é|fox-hole|it's|x_y|[a-c]{1,2}", 1..5),
            before in "([a-c]{1,3}|the|fox|É|_)?[ .,(\n-]?",
            after in "[ .,)\n-]?([a-c]{1,3}|the|hen|é|_)?",
            is_upper in any::<bool>(),
        ) {
            let query = Query::of_prose(&words.join(" "), &noon());
            let needles = Needles::of(&query);
            let phrase = Phrase::of(&query, &needles);
            let middle = if is_upper { words.join(" ").to_uppercase() } else { words.join(" ") };
            let text = format!("{before}{middle}{after}");
            let places = needles.places(&text);
            let expected = first(&literal(&phrase.text).expect("short"), &text);
            let found = phrase.find(&text, &places);
            if expected.is_some_and(|(_, is_whole)| is_whole) && !needles.is_empty() {
                prop_assert_eq!(found, expected);
            }
            prop_assert!(found.is_none() || found == expected);
        }
    }
}
