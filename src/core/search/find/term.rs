//! The terms of a search: for each word of the query, the texts that are accepted for it. The
//! test of a text, and the score of a line.

use std::ops::Range;

use memchr::{memchr, memrchr};
use regex::{Regex, RegexBuilder};

use super::{SHOWN, slip};
use crate::core::search::query::{Atom, Case, MatchMode, Polarity, Query};
use crate::core::text::{clip, fold};

/// A word or phrase of a query, and the texts that are accepted for it.
#[derive(Debug, Clone)]
pub struct Term {
    regex: Regex,
    /// One that is enough for a text of ASCII alone, in which no accents need be accepted.
    for_ascii: Regex,
    /// The text of the query, folded.
    typed: String,
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        (self.regex.as_str(), &self.typed) == (other.regex.as_str(), &other.typed)
    }
}

impl Eq for Term {}

impl Term {
    /// Returns the term that accepts an atom as it is typed; `None` if its pattern would be too large.
    pub(super) fn as_typed(atom: &Atom) -> Option<Self> {
        // A phrase may be wrapped, but does not go on in another paragraph.
        const BLANK: &str = r"(?:[ \t]*\r?\n[ \t]*|[ \t]+)";
        let pattern = |written: fn(&str) -> String| {
            let words: Vec<String> = atom.text.split_whitespace().map(written).collect();
            let text = if words.is_empty() {
                regex::escape(&atom.text)
            } else {
                words.join(BLANK)
            };
            match atom.mode {
                MatchMode::Fuzzy | MatchMode::Exact => text,
                MatchMode::Word => format!(r"\b{{start-half}}{text}\b{{end-half}}"),
                MatchMode::Start => format!(r"(?m)^[ \t]*{text}"),
                MatchMode::End => format!(r"(?m){text}[ \t]*$"),
                MatchMode::Line => format!(r"(?m)^[ \t]*{text}[ \t]*$"),
            }
        };
        let term = Self::new(&pattern(slip::accepting_accents), atom)?;
        if !atom.text.is_ascii() {
            return Some(term);
        }
        // ASCII letters are found faster without their relatives beyond ASCII.
        let is_word = atom.mode == MatchMode::Word;
        Some(Self {
            for_ascii: compiled(&pattern(regex::escape), atom.case, is_word)?,
            ..term
        })
    }

    /// Returns the term that accepts what matches a pattern instead of an atom.
    pub(super) fn with_slips(atom: &Atom, pattern: &str) -> Option<Self> {
        Self::new(pattern, atom)
    }

    /// Returns the term that accepts the letters of an atom in their order.
    pub(super) fn letters(atom: &Atom) -> Option<Self> {
        let letters: Vec<String> = atom
            .text
            .chars()
            .map(|letter| regex::escape(letter.encode_utf8(&mut [0; 4])))
            .collect();
        Self::new(&letters.join(r"[^\n]{0,40}?"), atom)
    }

    fn new(pattern: &str, atom: &Atom) -> Option<Self> {
        let regex = compiled(pattern, atom.case, true)?;
        Some(Self {
            for_ascii: regex.clone(),
            regex,
            typed: fold(&atom.text).into_owned(),
        })
    }

    /// Returns the length of the text of the query.
    pub(super) fn len(&self) -> usize {
        self.typed.len()
    }

    /// Returns the regular expression of the accepted texts.
    pub fn regex(&self) -> &Regex {
        &self.regex
    }

    fn letter_count(&self) -> u32 {
        u32::try_from(self.typed.chars().count())
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Returns the regular expression for a text.
    fn of(&self, text: &str) -> &Regex {
        if text.is_ascii() {
            &self.for_ascii
        } else {
            &self.regex
        }
    }
}

fn compiled(pattern: &str, case: Case, is_unicode: bool) -> Option<Regex> {
    RegexBuilder::new(pattern)
        .case_insensitive(case == Case::Ignored)
        .unicode(is_unicode)
        .build()
        .ok()
}

/// The terms of a query, compiled to be tested on texts.
pub(super) struct TermMatcher {
    /// The longest first: it is searched, the others are tested where it is found.
    wanted: Vec<OrderedTerm>,
    unwanted: Vec<Term>,
    /// Whether the terms may be on different lines of a text.
    crosses_lines: bool,
    /// How many bytes before and behind a line the other terms may be.
    reach: usize,
}

struct OrderedTerm {
    /// The position in the query.
    order: usize,
    term: Term,
    letters: u32,
}

/// How far from a line what is said beside it still belongs to it: farther, a long text has words by
/// chance.
const REACH: usize = 1000;
/// How many occurrences of a term in a line are compared.
const TRIES: usize = 16;
/// The worth of an occurrence that is a whole word, the start or the end of one, or inside.
const WHOLE: u32 = 100;
const START: u32 = 80;
const END: u32 = 55;
const INSIDE: u32 = 40;
/// What each wrong letter costs.
const SLIP: u32 = 15;
/// What a line gets that has the terms close together, and that has little else.
const CLOSE: u32 = 40;
const SHORT: u32 = 30;
const IN_ORDER: u32 = 10;

impl TermMatcher {
    /// Returns what finds the lines with these terms, for the wanted atoms of a query; `None` if an
    /// unwanted one is too large.
    pub(super) fn new(query: &Query, terms: Vec<Term>) -> Option<Self> {
        let wanted = terms.into_iter().enumerate();
        let wanted = wanted.map(|(order, term)| OrderedTerm {
            order,
            letters: term.letter_count(),
            term,
        });
        let mut wanted: Vec<OrderedTerm> = wanted.collect();
        wanted.sort_by_key(|term| std::cmp::Reverse(term.letters));
        let mut unwanted = Vec::new();
        for atom in &query.atoms {
            if atom.polarity == Polarity::Unwanted {
                unwanted.push(Term::as_typed(atom)?);
            }
        }
        let is_free = |atom: &Atom| {
            let ends = [MatchMode::Start, MatchMode::End, MatchMode::Line];
            atom.polarity == Polarity::Wanted && !ends.contains(&atom.mode)
        };
        Some(Self {
            crosses_lines: wanted.len() > 1 && query.atoms.iter().all(is_free),
            wanted,
            unwanted,
            reach: REACH,
        })
    }

    /// Returns the terms, in the order of the query.
    pub(super) fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<&OrderedTerm> = self.wanted.iter().collect();
        terms.sort_by_key(|term| term.order);
        terms.into_iter().map(|term| term.term.clone()).collect()
    }

    /// Accepts terms that are far apart in a text, too.
    pub(super) fn far_apart(self) -> Self {
        Self {
            reach: usize::MAX,
            ..self
        }
    }

    /// Whether all terms but the first are near the line in this place.
    fn has_all_near(&self, text: &str, line: Range<usize>) -> bool {
        let from = clip(text, line.start.saturating_sub(self.reach)).len();
        let to = clip(text, line.end.saturating_add(self.reach)).len();
        let mut others = self.wanted[1..].iter();
        others.all(|term| term.term.of(text).is_match(&text[from..to]))
    }

    /// Passes the offset and the score of each matching line to `take`. If the terms are
    /// only on different lines, that is the line with the most of them.
    pub(super) fn lines(&self, text: &str, take: &mut dyn FnMut(usize, u32)) {
        let Some((first, others)) = self.wanted.split_first() else {
            return;
        };
        let bytes = text.as_bytes();
        let mut others = others.iter();
        if others.any(|term| !term.term.of(text).is_match(text)) {
            return;
        }
        let mut best: Option<(u32, usize)> = None;
        let mut is_found = false;
        let mut from = 0;
        let first = first.term.of(text);
        while let Some(found) = first.find_at(text, from) {
            let start = memrchr(b'\n', &bytes[..found.start()]).map_or(0, |at| at + 1);
            let rest = &bytes[found.end()..];
            let end = found.end() + memchr(b'\n', rest).unwrap_or(rest.len());
            let line = text.get(start..end).unwrap_or_default();
            let mut unwanted = self.unwanted.iter();
            let is_unwanted = unwanted.any(|term| term.of(line).is_match(line));
            if !is_unwanted {
                let (score, has_all) = self.score(line);
                if has_all {
                    is_found = true;
                    take(start, score);
                } else if self.crosses_lines && self.has_all_near(text, start..end) {
                    best = best.max(Some((score, usize::MAX - start)));
                }
            }
            from = end + 1;
            if from > bytes.len() {
                break;
            }
        }
        if let Some((score, start)) = best.filter(|_| !is_found) {
            take(usize::MAX - start, score);
        }
    }

    /// Returns the score of a line, with the best occurrence of each term, and whether it has all of
    /// them. What is far behind its beginning counts for little.
    fn score(&self, line: &str) -> (u32, bool) {
        let shown = clip(line, SHOWN);
        let (score, has_all) = self.score_shown(shown);
        if has_all || shown.len() == line.len() {
            (score, has_all)
        } else {
            let mut terms = self.wanted.iter();
            (score, terms.all(|term| term.term.of(line).is_match(line)))
        }
    }

    fn score_shown(&self, line: &str) -> (u32, bool) {
        let (mut score, mut letters, mut is_whole) = (0, 0, true);
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        for term in &self.wanted {
            letters += term.letters;
            let worth_of = |place: Range<usize>| {
                let text = line.get(place.clone()).unwrap_or_default();
                let folded = fold(text);
                // Mostly it is what was typed.
                let slips = if folded == term.term.typed {
                    Some(0)
                } else {
                    slip::distance(&folded, &term.term.typed, 2)
                };
                let slips = slips.map_or(2, |slips| slips as u32);
                (
                    worth(line, place.clone()).saturating_sub(SLIP * slips),
                    place,
                )
            };
            // Of equal ones the first.
            let mut best: Option<(u32, Range<usize>)> = None;
            for found in term.term.of(line).find_iter(line).take(TRIES) {
                let one = worth_of(found.range());
                if best.as_ref().is_none_or(|best| one.0 > best.0) {
                    best = Some(one);
                }
                if best.as_ref().is_some_and(|best| best.0 == WHOLE) {
                    break;
                }
            }
            match best {
                Some((worth, place)) => {
                    score += worth * term.letters;
                    places.push((term.order, place));
                }
                None => is_whole = false,
            }
        }
        score /= letters.max(1);
        if places.len() > 1 {
            places.sort_by_key(|(order, _)| *order);
            let start = places
                .iter()
                .map(|(_, place)| place.start)
                .min()
                .unwrap_or(0);
            let end = places.iter().map(|(_, place)| place.end).max().unwrap_or(0);
            let covered: usize = places.iter().map(|(_, place)| place.len()).sum();
            let span = (end - start).max(1);
            score += CLOSE * covered.min(span) as u32 / span as u32;
            let mut pairs = places.windows(2);
            if pairs.all(|pair| pair[0].1.start < pair[1].1.start) {
                score += IN_ORDER;
            }
        }
        let length = u32::try_from(line.len()).unwrap_or(u32::MAX).max(1);
        score += SHORT.min(SHORT * letters / length);
        (if is_whole { score } else { score / 3 }, is_whole)
    }
}

/// Returns the worth of an occurrence by what is around it.
fn worth(line: &str, place: Range<usize>) -> u32 {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let before = line
        .get(..place.start)
        .and_then(|text| text.chars().next_back());
    let after = line.get(place.end..).and_then(|text| text.chars().next());
    match (is_word(before), is_word(after)) {
        (false, false) => WHOLE,
        (false, true) => START,
        (true, false) => END,
        (true, true) => INSIDE,
    }
}
