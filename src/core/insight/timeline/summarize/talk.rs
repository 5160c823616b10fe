//! Summarizes a talk between people: what each said about themselves.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::choose::{Candidate, Choice, SegmentWords};
use super::clause::{Clause, clauses, pattern};
use super::heading::{self, MOST_KEYWORDS};
use super::word::for_each_word;
use super::{MOST_WORDS, PointKind, Summary, texts};
use crate::core::insight::timeline::event::Event;
use crate::core::log::MessageKind;
use crate::core::text::{Term, fold};

/// The name of a speaker before what is said.
static SPEAKER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([\p{Lu}][\w.'-]{1,30}): "));

static FIRST_PERSON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:i|my|me|we|our|us|mine|myself|ours)(?-u:\b)"));

static SECOND_PERSON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:you|your|yours|u)(?-u:\b)"));

/// Returns the name that stands before what is said, and the rest.
fn speaker(text: &str) -> (Option<&str>, &str) {
    match SPEAKER.captures(text) {
        Some(found) => {
            let name = found.get(1).map_or("", |name| name.as_str());
            (Some(name), &text[found[0].len()..])
        }
        None => (None, text),
    }
}

/// Whether people talk with each other: their names stand before what they say, and no tool is
/// called.
pub(super) fn is_talk(events: &[Event]) -> bool {
    let is_call = |event: &Event| event.kind == MessageKind::ToolCall;
    let texts = events
        .iter()
        .filter(|event| event.kind == MessageKind::Text);
    let named = texts
        .clone()
        .filter(|event| speaker(&event.text).0.is_some());
    !events.iter().any(is_call) && 2 * named.count() > texts.count()
}

/// Summarizes a talk by the words that other segments do not have.
pub(super) fn talk(events: &[Event], seen: &SegmentWords) -> Summary {
    const LEAST_TERMS: usize = 4;
    let mut candidates = Vec::new();
    for (at, event) in texts(events) {
        let (speaker, text) = speaker(&event.text);
        for found in clauses(text) {
            let (weight, line) = (statement_weight(&found), found.line);
            let candidate = Candidate::new(PointKind::Said, found.text, at, weight);
            candidates.push(candidate.on_line(line).said_by(speaker));
        }
    }
    candidates.retain(|candidate| candidate.terms.len() >= LEAST_TERMS);
    let value = |term: Term| seen.rarity(term);
    let mut choice = Choice::new(&candidates, &value).with_repeated_event(0.7);
    choice.add(MOST_WORDS, |_| true);
    let points = choice.points();
    Summary {
        title: heading::of_work(None, None, choice.first(PointKind::Said)),
        keywords: keywords(events, &choice.covered, &|term, count| match count {
            0 | 1 => 0.0,
            count => (1.0 + count as f64).ln() * seen.rarity(term),
        }),
        points,
        files: Vec::new(),
        commits: Vec::new(),
        note: None,
    }
}

/// Returns how much a clause says about its speaker.
fn statement_weight(clause: &Clause) -> f64 {
    if clause.is_question {
        return 0.02;
    }
    let text = &clause.text;
    match (FIRST_PERSON.is_match(text), SECOND_PERSON.is_match(text)) {
        (true, false) => 3.0,
        (true, true) => 2.0,
        (false, true) => 0.45,
        (false, false) => 1.0,
    }
}

/// Returns the words that say most about the events and are not in its points; `worth` rates a term
/// by the number of times that it was said.
fn keywords(
    events: &[Event],
    covered: &FxHashSet<Term>,
    worth: &dyn Fn(Term, usize) -> f64,
) -> Vec<String> {
    // How often each term was said, and its first form.
    let mut counts: FxHashMap<Term, (usize, &str)> = FxHashMap::default();
    for (_, event) in texts(events) {
        for_each_word(&event.text, |word, facts| {
            if facts.counts && word.text.chars().count() > 3 {
                counts.entry(facts.stem).or_insert((0, word.text)).0 += 1;
            }
        });
    }
    let mut ranked: Vec<_> = counts
        .into_iter()
        .filter(|(term, _)| !covered.contains(term))
        .map(|(term, (count, form))| (worth(term, count), fold(form)))
        .filter(|(worth, _)| *worth > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let ranked = ranked.into_iter().take(MOST_KEYWORDS);
    ranked.map(|(_, form)| form.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::Role;

    #[test]
    fn a_name_before_what_is_said_is_the_speaker() {
        assert_eq!(speaker("Ann: hello"), (Some("Ann"), "hello"));
        assert_eq!(speaker("note: hello"), (None, "note: hello"));
    }

    #[test]
    fn a_talk_is_titled_by_what_says_most() {
        let said = [
            "Ann: Wow, that is so great to hear, what a day!",
            "Bob: I just started aerial yoga in the old mill.",
        ];
        let events = [1, 2].map(|line| Event::test(line, Role::User, said[line as usize - 1]));
        assert!(is_talk(&events));
        let mut seen = SegmentWords::default();
        seen.add(&events);
        let title = talk(&events, &seen).title;
        assert_eq!(title, "I just started aerial yoga in the old mill");
    }
}
