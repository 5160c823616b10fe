//! Chooses clauses by the words that they add.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::analysis::{KnownClause, terms_of};
use super::word::for_each_word;
use super::{Point, PointKind};
use crate::core::insight::timeline::event::Event;
use crate::core::log::MessageKind;
use crate::core::text::{Term, words};

/// Returns the distinct terms of a text, without stop words, in a fixed order.
pub(in crate::core) fn terms(text: &str) -> Vec<Term> {
    let mut found: Vec<Term> = Vec::new();
    for_each_word(text, |_, facts| {
        if facts.counts {
            found.push(facts.stem);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// How many messages have each term.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    counts: FxHashMap<Term, usize>,
}

impl Vocabulary {
    /// Counts the terms of what was said.
    pub(super) fn of(events: &[Event]) -> Self {
        let mut counts: FxHashMap<Term, usize> = FxHashMap::default();
        for event in events
            .iter()
            .filter(|event| event.kind == MessageKind::Text)
        {
            for term in terms_of(event) {
                *counts.entry(*term).or_default() += 1;
            }
        }
        Self { counts }
    }

    pub(super) fn count(&self, term: Term) -> usize {
        self.counts.get(&term).copied().unwrap_or(0)
    }

    /// Returns a weight that grows slowly with the number of messages.
    pub(super) fn frequency(&self, term: Term) -> f64 {
        1.0 + 0.3 * (self.count(term) as f64).ln_1p()
    }
}

/// How many segments of a session have each term, up to the one that is summarized. A segment does
/// not know the later ones, so that it stays the same as its session grows.
#[derive(Debug, Default, Clone)]
pub struct SegmentWords {
    segments: usize,
    /// The number of segments, and the last of them.
    counts: FxHashMap<Term, (usize, usize)>,
}

/// How many terms of a session are counted; text with more of them is not a language.
const MOST_TERMS: usize = 1 << 18;

impl SegmentWords {
    /// Counts a segment.
    pub fn add(&mut self, events: &[Event]) {
        let said = events
            .iter()
            .filter(|event| event.kind == MessageKind::Text);
        self.segments += 1;
        for term in said.flat_map(terms_of) {
            if self.counts.len() == MOST_TERMS && !self.counts.contains_key(term) {
                continue;
            }
            let (count, last) = self.counts.entry(*term).or_default();
            if *last != self.segments {
                (*count, *last) = (*count + 1, self.segments);
            }
        }
    }

    /// Returns a weight that is larger for a term that fewer segments have.
    pub(super) fn rarity(&self, term: Term) -> f64 {
        let count = self.counts.get(&term).map_or(0, |(count, _)| *count) as f64;
        let others = (self.segments as f64 - count).max(0.0);
        ((others + 0.5) / (count + 0.5)).ln_1p()
    }
}

/// A clause that may be chosen.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'a> {
    pub(super) kind: PointKind,
    pub(super) text: Cow<'a, str>,
    speaker: Option<&'a str>,
    /// The line of its message, from 1.
    line: usize,
    /// The index of its event.
    pub(super) event: usize,
    /// Its distinct terms, in a fixed order.
    pub(super) terms: Cow<'a, [Term]>,
    words: usize,
    weight: f64,
}

impl<'a> Candidate<'a> {
    /// Returns the candidate of a text; of its event, with its weight.
    pub(super) fn new(
        kind: PointKind,
        text: impl Into<Cow<'a, str>>,
        event: usize,
        weight: f64,
    ) -> Self {
        let text = text.into();
        Self {
            kind,
            terms: Cow::Owned(terms(&text)),
            words: length(&text).max(1),
            text,
            speaker: None,
            line: 1,
            event,
            weight,
        }
    }

    /// Returns the candidate of a clause that says this; of its event, with its weight.
    pub(super) fn of_clause(
        found: &'a KnownClause,
        kind: PointKind,
        event: usize,
        weight: f64,
    ) -> Self {
        Self {
            kind,
            text: Cow::Borrowed(&found.clause.text),
            speaker: None,
            line: found.clause.line,
            event,
            terms: Cow::Borrowed(&found.terms),
            words: found.length,
            weight,
        }
    }

    /// Names the line of its message.
    pub(super) fn on_line(self, line: usize) -> Self {
        Self { line, ..self }
    }

    /// Names who said it.
    pub(super) fn said_by(self, speaker: Option<&'a str>) -> Self {
        Self { speaker, ..self }
    }

    fn point(&self) -> Point {
        Point {
            kind: self.kind,
            speaker: self.speaker.map(str::to_owned),
            text: self.text.clone().into_owned(),
            line: self.line,
        }
    }

    /// Returns how much it says of what is said most.
    pub(super) fn typical(&self, count: &dyn Fn(Term) -> usize) -> f64 {
        let counts = self.terms.iter().map(|term| (count(*term) as f64).ln_1p());
        self.weight * counts.sum::<f64>() / (self.words as f64).powf(0.75)
    }
}

/// Returns the number of words, as they are read: a path has several, "it's" is one.
pub(super) fn length(text: &str) -> usize {
    let is_joined = |at: usize| text[..at].ends_with(['\'', '’']);
    words(text).filter(|word| !is_joined(word.at)).count()
}

/// The clauses that were chosen so far.
pub(super) struct Choice<'a> {
    candidates: &'a [Candidate<'a>],
    value: &'a dyn Fn(Term) -> f64,
    repeated_event: f64,
    most_of_kind: usize,
    /// The indices of the chosen candidates, the best first.
    pub(super) chosen: Vec<usize>,
    /// The terms of the chosen candidates.
    pub(super) covered: FxHashSet<Term>,
    /// The number of their words.
    pub(super) words: usize,
    of_kind: BTreeMap<PointKind, usize>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(candidates: &'a [Candidate<'a>], value: &'a dyn Fn(Term) -> f64) -> Self {
        Self {
            candidates,
            value,
            repeated_event: 1.0,
            most_of_kind: usize::MAX,
            chosen: Vec::new(),
            covered: FxHashSet::default(),
            words: 0,
            of_kind: BTreeMap::new(),
        }
    }

    /// Weighs a further clause of an event with a chosen one by this factor.
    pub(super) fn with_repeated_event(mut self, factor: f64) -> Self {
        self.repeated_event = factor;
        self
    }

    /// Chooses from now on at most so many words of a kind.
    pub(super) fn limit_kinds(&mut self, words: usize) {
        self.most_of_kind = words;
    }

    /// Chooses the first candidate of a kind.
    pub(super) fn take_first(&mut self, kind: PointKind) {
        if let Some(at) = self.candidates.iter().position(|one| one.kind == kind) {
            self.take(at);
        }
    }

    /// Chooses candidates of these kinds, together at most `budget` words.
    pub(super) fn add(&mut self, budget: usize, is_wanted: impl Fn(PointKind) -> bool) {
        let mut left: Vec<usize> = (0..self.candidates.len())
            .filter(|at| is_wanted(self.candidates[*at].kind))
            .filter(|at| !self.chosen.contains(at))
            .collect();
        let mut spent = 0;
        loop {
            left.retain(|at| self.fits(*at, budget - spent));
            let mut best: Option<(f64, usize)> = None;
            for at in &left {
                let worth = self.worth(*at);
                if worth > best.map_or(0.0, |(worth, _)| worth) {
                    best = Some((worth, *at));
                }
            }
            let Some((_, at)) = best else { return };
            left.retain(|other| *other != at);
            spent += self.candidates[at].words;
            self.take(at);
        }
    }

    fn fits(&self, at: usize, budget: usize) -> bool {
        let candidate = &self.candidates[at];
        let of_kind = self.of_kind.get(&candidate.kind).copied().unwrap_or(0);
        candidate.words <= budget && of_kind.saturating_add(candidate.words) <= self.most_of_kind
    }

    fn worth(&self, at: usize) -> f64 {
        // Longer clauses read better than their words suggest.
        const LENGTH: f64 = 0.8;
        let candidate = &self.candidates[at];
        let added = candidate
            .terms
            .iter()
            .filter(|term| !self.covered.contains(term));
        let added: f64 = added.map(|term| (self.value)(*term)).sum();
        let is_repeated = self
            .chosen
            .iter()
            .any(|chosen| self.candidates[*chosen].event == candidate.event);
        let repeated = if is_repeated {
            self.repeated_event
        } else {
            1.0
        };
        added * candidate.weight * repeated / (candidate.words as f64).powf(LENGTH)
    }

    fn take(&mut self, at: usize) {
        let candidate = &self.candidates[at];
        self.chosen.push(at);
        self.covered.extend(candidate.terms.iter());
        self.words += candidate.words;
        *self.of_kind.entry(candidate.kind).or_default() += candidate.words;
    }

    /// Returns the best chosen clause of a kind.
    pub(super) fn first(&self, kind: PointKind) -> Option<&'a str> {
        let chosen = self.chosen.iter().map(|at| &self.candidates[*at]);
        let mut of_kind = chosen.filter(|candidate| candidate.kind == kind);
        of_kind.next().map(|candidate| candidate.text.as_ref())
    }

    /// Returns the chosen points with their events, in the order of the candidates' events.
    pub(super) fn points(&self) -> Vec<(Point, usize)> {
        let mut chosen = self.chosen.clone();
        chosen.sort_by_key(|at| (self.candidates[*at].event, *at));
        let chosen = chosen.into_iter().map(|at| &self.candidates[at]);
        chosen
            .map(|candidate| (candidate.point(), candidate.event))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(texts: &[&str], budget: usize) -> Vec<String> {
        let candidates: Vec<Candidate<'_>> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| Candidate::new(PointKind::Reported, *text, at, 1.0))
            .collect();
        let mut choice = Choice::new(&candidates, &|_| 1.0);
        choice.add(budget, |_| true);
        choice
            .points()
            .into_iter()
            .map(|(point, _)| point.text)
            .collect()
    }

    #[test]
    fn what_repeats_is_not_chosen() {
        let texts = [
            "Added a retry to the client",
            "The client has the retry that was added to it",
            "Moved the parser into its own file",
        ];
        assert_eq!(chosen(&texts, 100), [texts[0], texts[2]]);
    }

    #[test]
    fn no_more_words_are_chosen_than_allowed() {
        let texts = ["Added a retry to the client", "Moved the parser"];
        assert_eq!(chosen(&texts, 4), [texts[1]]);
        assert!(chosen(&texts, 2).is_empty());
        assert!(chosen(&[], 9).is_empty());
    }

    #[test]
    fn a_path_is_as_long_as_its_parts() {
        assert_eq!(length("It's in src/core/a.rs:12"), 7);
        assert_eq!(length("we don’t know"), 3);
        assert_eq!(length("— …"), 0);
    }

    #[test]
    fn a_term_of_fewer_segments_is_rarer() {
        let said = |text| vec![Event::test(1, crate::core::log::Role::User, text)];
        let mut seen = SegmentWords::default();
        seen.add(&said("parser lock"));
        seen.add(&said("parser cache"));
        let rarity = |word: &str| seen.rarity(terms(word)[0]);
        assert!(rarity("lock") > rarity("parser"));
    }
}
