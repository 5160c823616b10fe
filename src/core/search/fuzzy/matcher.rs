//! The cheap test of a line: whether it matches, and an estimate of its score.
//!
//! The letters of a fuzzy word are searched one after another with memchr; from the end of the
//! match they are searched backwards, which gives the shortest span that ends there. The
//! search is repeated a few times behind that span. The score of the best span uses nucleo's
//! weights, so that lines that nucleo would rank high are not dropped.

use memchr::{memchr, memchr2, memrchr, memrchr2};
use nucleo::pattern::Atom as Pattern;
use regex::bytes::{Regex, RegexBuilder};

use super::rank::letter_score;
use crate::core::query::{Atom, Case, MatchMode, Polarity, Query};

/// A query, compiled to be tested on lines.
#[derive(Clone)]
pub(super) struct LineMatcher {
    tests: Vec<(Polarity, Test)>,
}

#[derive(Clone)]
enum Test {
    /// Letters in order; both cases of each.
    Letters(Vec<(u8, u8)>),
    /// A literal text.
    Text(Regex),
    /// Letters beyond ASCII, which nucleo compares.
    Wide(Box<Pattern>),
    /// A text that is too long to match.
    Nowhere,
}

/// How many spans of a line are tried.
const TRIES: usize = 4;
/// nucleo's weights.
const MATCH: u32 = 16;
const BOUNDARY: u32 = 8;
const CONSECUTIVE: u32 = 4;
/// The score of each letter of a literal match.
const AS_IT_STANDS: u32 = MATCH + CONSECUTIVE;

impl LineMatcher {
    pub(super) fn new(query: &Query) -> Self {
        let tests = query.atoms.iter().map(|atom| (atom.sense, test(atom)));
        Self {
            tests: tests.collect(),
        }
    }

    /// Returns whether the query is selective enough to search logs: nearly every line
    /// contains any single letter.
    pub(super) fn is_worth_a_scan(&self) -> bool {
        self.tests.iter().any(|(sense, test)| match test {
            Test::Letters(letters) => *sense == Polarity::Wanted && letters.len() > 1,
            _ => true,
        })
    }

    /// Returns the estimated score of the line; `None` if it does not match.
    pub(super) fn score(&self, line: &str) -> Option<u32> {
        let mut score = 0;
        for (sense, test) in &self.tests {
            match (sense, test.score(line)) {
                (Polarity::Wanted, Some(one)) => score += one,
                (Polarity::Unwanted, None) => {}
                _ => return None,
            }
        }
        Some(score)
    }
}

fn test(atom: &Atom) -> Test {
    match atom.form {
        MatchMode::Fuzzy if atom.text.is_ascii() => {
            let letters = atom.text.bytes().map(|letter| match atom.case {
                Case::Kept => (letter, letter),
                Case::Ignored => (letter.to_ascii_lowercase(), letter.to_ascii_uppercase()),
            });
            Test::Letters(letters.collect())
        }
        MatchMode::Fuzzy => Test::Wide(Box::new(super::rank::pattern(atom))),
        _ => text(atom).map_or(Test::Nowhere, Test::Text),
    }
}

fn text(atom: &Atom) -> Option<Regex> {
    const LONGEST: usize = 10_000;
    if atom.text.len() > LONGEST {
        return None;
    }
    let text = regex::escape(&atom.text);
    let pattern = match atom.form {
        MatchMode::Fuzzy | MatchMode::Exact => text,
        MatchMode::Word => format!(r"(?:^|\W){text}(?:\W|$)"),
        MatchMode::Start => format!(r"^\s*{text}"),
        MatchMode::End => format!(r"{text}\s*$"),
        MatchMode::Line => format!(r"^\s*{text}\s*$"),
    };
    RegexBuilder::new(&pattern)
        .case_insensitive(atom.case == Case::Ignored)
        .build()
        .ok()
}

impl Test {
    fn score(&self, line: &str) -> Option<u32> {
        match self {
            Self::Letters(letters) => letters_in(letters, line),
            Self::Text(text) => {
                let found = text.find(line.as_bytes())?;
                Some(AS_IT_STANDS * found.len().min(100) as u32)
            }
            Self::Wide(pattern) if !line.is_ascii() => letter_score(pattern, line),
            Self::Wide(_) | Self::Nowhere => None,
        }
    }
}

/// Scores the best span of the line that has the letters in order.
fn letters_in(letters: &[(u8, u8)], line: &str) -> Option<u32> {
    let bytes = line.as_bytes();
    let mut from = 0;
    let mut best = None;
    for _ in 0..TRIES {
        let Some(end) = forward(letters, bytes, from) else {
            break;
        };
        let (start, score) = backward(letters, bytes, end);
        best = best.max(Some(score));
        // The best possible score: all letters together, at the beginning of a word.
        if end - start == letters.len() && score >= perfect(letters.len()) {
            break;
        }
        from = start + 1;
    }
    best.or_else(|| accented(letters, line))
}

fn perfect(letters: usize) -> u32 {
    letters as u32 * (MATCH + CONSECUTIVE) + 2 * BOUNDARY - CONSECUTIVE
}

/// Returns the end of the first span that has the letters in order.
fn forward(letters: &[(u8, u8)], bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    for (lower, upper) in letters {
        let rest = bytes.get(at..)?;
        let found = match lower == upper {
            true => memchr(*lower, rest)?,
            false => memchr2(*lower, *upper, rest)?,
        };
        at += found + 1;
    }
    Some(at)
}

/// Searches the letters backwards from the end of a span; returns the start and the score
/// of the shortest span.
fn backward(letters: &[(u8, u8)], bytes: &[u8], end: usize) -> (usize, u32) {
    let mut to = end;
    let mut score = 0_i64;
    let mut next = end;
    for (number, (lower, upper)) in letters.iter().enumerate().rev() {
        let found = match lower == upper {
            true => memrchr(*lower, &bytes[..to]),
            false => memrchr2(*lower, *upper, &bytes[..to]),
        };
        // The forward search found the letter, so it exists.
        let Some(at) = found else { break };
        score += i64::from(MATCH);
        let is_start = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        if is_start {
            let bonus = if number == 0 { 2 * BOUNDARY } else { BOUNDARY };
            score += i64::from(bonus);
        }
        if number + 1 < letters.len() {
            match next - at - 1 {
                0 if !is_start || number == 0 => score += i64::from(CONSECUTIVE),
                0 => {}
                gap => score -= 2 + gap.min(40) as i64,
            }
        }
        (to, next) = (at, at);
    }
    (to, score.max(1) as u32)
}

/// Scores a line with accented letters, which may match where its bytes do not.
fn accented(letters: &[(u8, u8)], line: &str) -> Option<u32> {
    let has_accents = line.bytes().any(|byte| matches!(byte, 0xc3..=0xc9 | 0xe1));
    if !has_accents {
        return None;
    }
    let mut chars = line.chars();
    for (lower, upper) in letters {
        let is_it = |char: char| {
            let plain = nucleo::chars::normalize(char);
            plain == char::from(*lower) || plain == char::from(*upper)
        };
        chars.find(|char| is_it(*char))?;
    }
    Some(letters.len() as u32 * MATCH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::query::noon;

    fn quick(query: &str) -> LineMatcher {
        LineMatcher::new(&Query::parse(query, &noon()).expect("a query"))
    }

    #[test]
    fn every_form_matches_as_it_says() {
        for (query, line, matches) in [
            ("tki", "the tokio runtime", true),
            ("ikt", "the tokio runtime", false),
            ("tki rt", "the tokio runtime", true),
            ("Tokio", "the tokio runtime", false),
            ("\"tokio run\"", "The Tokio Runtime", true),
            ("'toki", "the tokio runtime", false),
            ("'tokio", "the tokio, runtime", true),
            ("^the", "  The tokio", true),
            ("^tokio", "the tokio", false),
            ("time$", "the runtime ", true),
            ("!tokio", "the runtime", true),
            ("!tokio", "the Tokio", false),
            ("resume", "mon résumé", true),
            ("résumé", "mon résumé", true),
            ("résumé", "my resume", false),
            ("数库", "数据库", true),
            ("^the$", "the", true),
        ] {
            assert_eq!(
                quick(query).score(line).is_some(),
                matches,
                "{query} in {line}"
            );
        }
    }

    #[test]
    fn a_word_scores_above_scattered_letters_wherever_it_is() {
        let score = |line| quick("tokio").score(line);
        assert!(score("txoxkxixo and then tokio") > score("txoxkxixo and then"));
        assert!(score("x tokio") > score("xtokio"));
    }

    #[test]
    fn one_letter_is_not_worth_looking_through_the_logs_for() {
        assert!(!quick("a").is_worth_a_scan());
        assert!(quick("ab").is_worth_a_scan());
        assert!(quick("\"a\"").is_worth_a_scan());
        assert!(!quick("").is_worth_a_scan());
    }

    proptest! {
        #[test]
        fn it_matches_what_nucleo_matches(needle in "[a-c]{1,4}", line in "[a-dA-DéÀ .]{0,20}") {
            let query = Query::parse(&needle, &noon()).expect("a word");
            let pattern = super::super::rank::pattern(&query.atoms[0]);
            prop_assert_eq!(quick(&needle).score(&line).is_some(), letter_score(&pattern, &line).is_some());
        }
    }
}
