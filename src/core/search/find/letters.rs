//! Lines that have the letters of the words in their order, tested and ranked by nucleo.

use std::cell::RefCell;

use nucleo::pattern::{Atom as Pattern, AtomKind, CaseMatching, Normalization};
use nucleo::{Config, Matcher, Utf32Str};

use super::{SHOWN, wanted};
use crate::core::search::query::{Atom, Case, MatchMode, Polarity, Query};
use crate::core::text::clip;

thread_local! {
    /// One for all lines: its table is large and slow to allocate.
    static NUCLEO: RefCell<Matcher> = RefCell::new(Matcher::new(Config::DEFAULT));
}

/// A query, compiled to be tested on lines.
pub(super) struct LetterMatcher {
    atoms: Vec<(Polarity, Pattern)>,
}

impl LetterMatcher {
    pub(super) fn new(query: &Query) -> Self {
        let atoms = query
            .atoms
            .iter()
            .map(|atom| (atom.polarity, pattern(atom)));
        Self {
            atoms: atoms.collect(),
        }
    }

    /// Passes the offset and the score of each matching line to `take`.
    pub(super) fn lines(&self, text: &str, take: &mut dyn FnMut(usize, u32)) {
        let mut offset = 0;
        for line in text.split('\n') {
            if let Some(score) = self.score(clip(line, SHOWN)) {
                take(offset, score);
            }
            offset += line.len() + 1;
        }
    }

    /// Returns the score of the line; `None` if it does not match.
    fn score(&self, line: &str) -> Option<u32> {
        if line.trim().is_empty() {
            return None;
        }
        let mut score = 0;
        for (polarity, pattern) in &self.atoms {
            match (polarity, letter_score(pattern, line)) {
                (Polarity::Wanted, Some(one)) if one >= least(pattern) => score += one,
                (Polarity::Unwanted, None) => {}
                _ => return None,
            }
        }
        Some(score)
    }
}

/// The least score of letters that belong together: somewhat more than nucleo gives for a letter, so
/// that more is won by letters that begin words or follow each other than is lost by gaps.
fn least(pattern: &Pattern) -> u32 {
    const LETTER: usize = 18;
    u32::try_from(pattern.needle_text().len() * LETTER).unwrap_or(u32::MAX)
}

/// Returns nucleo's score of a line; `None` if it does not match.
fn letter_score(pattern: &Pattern, line: &str) -> Option<u32> {
    let mut chars = Vec::new();
    let text = Utf32Str::new(line, &mut chars);
    let score = NUCLEO.with_borrow_mut(|nucleo| pattern.score(text, nucleo));
    score.map(u32::from)
}

/// Returns the indices of the graphemes of a line that nucleo matches.
pub(super) fn letter_indices(query: &Query, line: &str) -> Vec<u32> {
    let mut chars = Vec::new();
    let mut found = Vec::new();
    NUCLEO.with_borrow_mut(|nucleo| {
        for atom in wanted(query) {
            pattern(atom).indices(Utf32Str::new(line, &mut chars), nucleo, &mut found);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

fn pattern(atom: &Atom) -> Pattern {
    let case = match atom.case {
        Case::Ignored => CaseMatching::Ignore,
        Case::Kept => CaseMatching::Respect,
    };
    let kind = match atom.mode {
        MatchMode::Fuzzy => AtomKind::Fuzzy,
        MatchMode::Exact | MatchMode::Word => AtomKind::Substring,
        MatchMode::Start => AtomKind::Prefix,
        MatchMode::End => AtomKind::Postfix,
        MatchMode::Line => AtomKind::Exact,
    };
    Pattern::new(&atom.text, case, Normalization::Smart, kind, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::query::noon;

    fn score(query: &str, line: &str) -> Option<u32> {
        LetterMatcher::new(&Query::parse(query, &noon()).expect("a query")).score(line)
    }

    #[test]
    fn every_form_matches_as_it_says() {
        for (query, line, matches) in [
            ("tki", "the tokio runtime", true),
            ("ikt", "the tokio runtime", false),
            ("tki rt", "the tokio runtime", true),
            ("Tokio", "the tokio runtime", false),
            ("\"tokio run\"", "The Tokio Runtime", true),
            ("^the", "The tokio", true),
            ("^tokio", "the tokio", false),
            ("time$", "the runtime", true),
            ("!tokio", "the runtime", true),
            ("!tokio", "the Tokio", false),
            ("resume", "mon résumé", true),
            ("résumé", "my resume", false),
            ("数库", "数据库", true),
            ("^the$", "the", true),
            ("rfrshtkn", "rotate the refresh token", true),
            (
                "korean",
                "keep another record here until the plan is known",
                false,
            ),
        ] {
            assert_eq!(score(query, line).is_some(), matches, "{query} in {line}");
        }
    }

    #[test]
    fn lines_are_told_apart_and_a_word_scores_above_scattered_letters() {
        let mut found = Vec::new();
        let query = Query::parse("tokio", &noon()).expect("a query");
        let text = "to-kio\nnothing\n\nthe tokio\n";
        LetterMatcher::new(&query).lines(text, &mut |offset, score| found.push((offset, score)));
        let [(0, scattered), (16, together)] = found[..] else {
            panic!("{found:?}");
        };
        assert!(together > scattered);
    }
}
