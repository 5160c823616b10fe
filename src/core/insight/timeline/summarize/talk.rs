//! Summarizes a talk between people: what each said about themselves.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::choose::{Candidate, Choice, SegmentWords, Vocabulary, terms};
use super::clause::{Clause, clauses, pattern};
use super::heading::{MOST_KEYWORDS, capitalized, count};
use super::word::for_each_word;
use super::{MOST_WORDS, Point, PointKind, Summary, texts};
use crate::core::insight::timeline::event::Event;
use crate::core::log::MessageKind;
use crate::core::text::{Term, fold, is_common, words};

/// The name of a speaker before what is said.
static SPEAKER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([\p{Lu}][\w.'-]{1,30}): "));

/// Words that open a sentence and say nothing.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:wow|yeah|yep|yes|oh|hey|hi|hello|thanks|thank\ you|thanks\ so\ much|awesome|great
        |cool|nice|well|so|and|but|sure|absolutely|definitely|totally|also|actually|honestly|btw
        |by\ the\ way|anyway|no|ok|okay|haha|aww|woah|whoa|for\ sure|of\ course|glad|good|perfect
        |that's\ (?:awesome|great|cool)|(?-i:\p{Lu}\p{Ll}+))(?:,?\ (?-i:\p{Lu}\p{Ll}+))?[,!.]+\ +",
    )
});

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
pub(super) fn talk(events: &[Event], seen: &SegmentWords, vocabulary: &Vocabulary) -> Summary {
    const LEAST_TERMS: usize = 4;
    let mut candidates = Vec::new();
    for (at, event) in texts(events) {
        let (speaker, text) = speaker(&event.text);
        for found in clauses(text) {
            let text = without_lead(&found.text).to_owned();
            let weight = statement_weight(&found, &text);
            let candidate = Candidate::new(PointKind::Said, text, at, weight);
            candidates.push(candidate.on_line(found.line).said_by(speaker));
        }
    }
    candidates.retain(|candidate| candidate.terms.len() >= LEAST_TERMS);
    let value = |term: Term| seen.rarity(term) * vocabulary.frequency(term);
    let mut choice = Choice::new(&candidates, &value).with_repeated_event(0.7);
    choice.add(MOST_WORDS, |_| true);
    let points = choice.points();
    Summary {
        title: title(&points, &|term| seen.rarity(term)),
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

/// Returns a clause without the words that open it and say nothing.
fn without_lead(mut text: &str) -> &str {
    while let Some(lead) = LEAD.find(text) {
        text = &text[lead.end()..];
    }
    text
}

/// Returns how much a clause says about its speaker.
fn statement_weight(clause: &Clause, text: &str) -> f64 {
    if clause.is_question {
        return 0.02;
    }
    match (FIRST_PERSON.is_match(text), SECOND_PERSON.is_match(text)) {
        (true, false) => 3.0,
        (true, true) => 2.0,
        (false, true) => 0.45,
        (false, false) => 1.0,
    }
}

/// Returns the phrases of the points with the rarest words.
fn title(points: &[(Point, usize)], rarity: &dyn Fn(Term) -> f64) -> String {
    const PHRASES: usize = 4;
    const MOST_WORDS: usize = 10;
    let mut phrases: Vec<(f64, usize, String, Vec<Term>)> = Vec::new();
    for (point, _) in points {
        for phrase in telling_runs(&point.text) {
            let found = terms(&phrase);
            let worth: f64 = found.iter().map(|term| rarity(*term)).sum();
            phrases.push((worth, phrases.len(), phrase, found));
        }
    }
    phrases.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut told = FxHashSet::default();
    let mut chosen: Vec<(usize, String)> = Vec::new();
    let mut length = 0;
    for (_, at, phrase, found) in phrases {
        let is_new = found.iter().all(|term| !told.contains(term));
        if is_new && length + count(&phrase) <= MOST_WORDS && chosen.len() < PHRASES {
            length += count(&phrase);
            told.extend(found);
            chosen.push((at, phrase));
        }
    }
    chosen.sort_unstable();
    let chosen: Vec<String> = chosen.into_iter().map(|(_, phrase)| phrase).collect();
    capitalized(&chosen.join(", "))
}

/// Returns the runs of two or three words without a stop word between them.
fn telling_runs(text: &str) -> Vec<String> {
    const LONGEST: usize = 3;
    let mut runs: Vec<String> = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut end = 0;
    for word in words(text) {
        let is_next = text.get(end..word.at) == Some(" ");
        let folded = fold(word.text);
        let says = folded.chars().count() > 2 && !is_common(&folded);
        if !is_next || !says || run.len() == LONGEST {
            runs.extend((run.len() > 1).then(|| run.join(" ")));
            run.clear();
        }
        if says {
            run.push(word.text);
        }
        end = word.at + word.text.len();
    }
    runs.extend((run.len() > 1).then(|| run.join(" ")));
    runs
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

    #[test]
    fn openings_are_left_out() {
        assert_eq!(without_lead("Hey Mel! Wow, I moved."), "I moved.");
        assert_eq!(without_lead("Sofia moved."), "Sofia moved.");
        assert_eq!(speaker("Ann: hello"), (Some("Ann"), "hello"));
        assert_eq!(speaker("note: hello"), (None, "note: hello"));
    }

    #[test]
    fn the_title_of_a_talk_names_its_subjects() {
        let said = |text: &str| Point::new(PointKind::Said, text.to_owned());
        let points = [
            (said("I just started aerial yoga with them."), 0),
            (said("My local politics are aerial yoga."), 1),
        ];
        let title = title(&points, &|_| 1.0);
        assert_eq!(title, "Started aerial yoga, local politics");
    }
}
