//! The whole query as one phrase: a text that has it goes before all others.

use std::sync::OnceLock;

use regex::bytes::Regex;

use super::super::needle::literal;
use crate::core::search::query::Query;

/// All words of a query as one phrase.
#[derive(Debug)]
pub(super) struct Phrase {
    text: String,
    /// The search for the text; compiled when there is a text to search.
    literal: OnceLock<Option<Regex>>,
}

impl Phrase {
    pub(super) fn of(query: &Query) -> Self {
        let words: Vec<&str> = query.atoms.iter().map(|atom| atom.text.as_str()).collect();
        let words = words.join(" ");
        Self {
            text: words.trim_end_matches(['?', '!', '.', ' ']).to_owned(),
            literal: OnceLock::new(),
        }
    }

    /// Returns the offset of the first match at word boundaries, or else of the first match, and whether
    /// it is at word boundaries.
    pub(super) fn find(&self, text: &str) -> Option<(usize, bool)> {
        let literal = self.literal.get_or_init(|| literal(&self.text)).as_ref()?;
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::query::noon;

    #[test]
    fn a_phrase_is_found_whole_first_and_in_any_case() {
        let find =
            |query: &str, text: &str| Phrase::of(&Query::of_prose(query, &noon())).find(text);
        assert_eq!(
            find("the fox?", "see other foxes, The Fox."),
            Some((17, true))
        );
        assert_eq!(find("fox hole", "a fox holes"), Some((2, false)));
        assert_eq!(find("école d'été", "une École d'Été"), Some((4, true)));
        assert_eq!(find("fox", "hen"), None);
    }
}
