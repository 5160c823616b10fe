//! Titles and keywords.

use std::borrow::Cow;
use std::collections::HashSet;

use super::analysis::words_of;
use super::choose::terms;
use super::word::says_nothing;
use super::{Point, clause, commit};
use crate::core::insight::timeline::event::Event;
use crate::core::log::MessageKind;
use crate::core::text::{Term, TermMap, TermSet, fold, words};

/// The most words of a title.
const MOST_WORDS: usize = 10;

/// The most keywords.
const MOST_KEYWORDS: usize = 7;

/// Returns the title of work: what was asked and what came of it, as far as it fits.
pub(super) fn of_work(asked: Option<&str>, committed: Option<&str>, done: Option<&str>) -> String {
    let plain = |text: &str| {
        let text = clause::without_request(text);
        text.trim_end_matches(['.', '!', ',', ':', ';', ' '])
            .to_owned()
    };
    let request = asked.and_then(|text| shortened(&plain(text)));
    let outcome = committed.map(|subject| commit::without_kind(subject).to_owned());
    let outcome = outcome.or_else(|| done.map(plain));
    let title = match (request, outcome) {
        (Some(request), Some(outcome)) => {
            let both = format!("{request} → {outcome}");
            // A title that says one thing twice is no better than one that says it once.
            let (asked, came) = (terms(&request), terms(&outcome));
            let is_same = asked.iter().filter(|term| came.contains(term)).count() * 2 > asked.len();
            if count(&both) <= MOST_WORDS + 1 && !is_same {
                both
            } else if committed.is_some() {
                shortened(&outcome).unwrap_or_else(|| cut(&outcome))
            } else {
                request
            }
        }
        (Some(request), None) => request,
        (None, Some(outcome)) => shortened(&outcome).unwrap_or_else(|| cut(&outcome)),
        (None, None) => asked.map(|text| cut(&plain(text))).unwrap_or_default(),
    };
    capitalized(&title)
}

/// Returns the title of events without words: the files that they changed, or the tools.
pub(super) fn of_calls(events: &[Event], files: &[String]) -> String {
    const SHOWN: usize = 3;
    let (verb, mut names): (&str, Vec<&str>) = match files {
        [] => {
            let tools = events.iter().filter_map(|event| event.tool.as_deref());
            ("Calls of", tools.collect())
        }
        files => {
            let name = |file: &'_ String| file.rsplit('/').next().map(str::len).unwrap_or(0);
            let names = files.iter().map(|file| &file[file.len() - name(file)..]);
            ("Changes of", names.collect())
        }
    };
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    if names.is_empty() {
        return String::new();
    }
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(SHOWN);
    format!("{verb} {}{more}", names.join(", "))
}

/// Returns a clause in at most so many words: the whole, or its first part up to a comma or a
/// conjunction; `None` if no part is short enough and says something.
fn shortened(text: &str) -> Option<String> {
    if (2..=MOST_WORDS).contains(&count(text)) {
        return Some(text.to_owned());
    }
    let ends = [
        ", ",
        " and ",
        " so ",
        " but ",
        " because ",
        " which ",
        " that ",
        " (",
        " - ",
    ];
    let mut cuts: Vec<usize> = ends
        .iter()
        .flat_map(|end| text.match_indices(end).map(|(at, _)| at))
        .collect();
    cuts.sort_unstable();
    let parts = cuts.into_iter().rev();
    let parts = parts.map(|at| text[..at].trim_end_matches([',', ' ']));
    let mut fitting = parts.filter(|part| (4..=MOST_WORDS).contains(&count(part)));
    fitting.next().map(str::to_owned)
}

fn cut(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() > MOST_WORDS {
        format!("{}…", words[..MOST_WORDS].join(" "))
    } else {
        words.join(" ")
    }
}

fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Returns the title of a talk: the phrases of its points with the rarest words.
pub(super) fn of_talk(points: &[(Point, usize)], rarity: &dyn Fn(Term) -> f64) -> String {
    const PHRASES: usize = 4;
    let mut phrases: Vec<(f64, usize, String, Vec<Term>)> = Vec::new();
    for (point, _) in points {
        for phrase in telling_runs(&point.text) {
            let found = terms(&phrase);
            let worth: f64 = found.iter().map(|term| rarity(*term)).sum();
            phrases.push((worth, phrases.len(), phrase, found));
        }
    }
    phrases.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut told = TermSet::default();
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

/// Returns the runs of up to three words without a stop word between them.
fn telling_runs(text: &str) -> Vec<String> {
    const LONGEST: usize = 3;
    let mut runs: Vec<String> = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut end = 0;
    for word in words(text) {
        let is_next = text.get(end..word.at) == Some(" ");
        let folded = fold(word.text);
        let says = folded.chars().count() > 2 && !says_nothing(&folded);
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
pub(super) fn keywords(
    events: &[Event],
    covered: &TermSet,
    worth: &dyn Fn(Term, usize) -> f64,
) -> Vec<String> {
    // How often each term was said, and its first form.
    let mut counts: TermMap<(usize, &str)> = TermMap::default();
    for event in events
        .iter()
        .filter(|event| event.kind == MessageKind::Text)
    {
        for (term, form) in words_of(event) {
            let form = event.text.get(form.clone()).unwrap_or_default();
            counts.entry(*term).or_insert((0, form)).0 += 1;
        }
    }
    let mut ranked: Vec<(f64, Cow<'_, str>)> = counts
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
    use super::super::PointKind;
    use super::*;
    use crate::core::log::Role;

    #[test]
    fn a_title_says_what_was_asked_and_what_came_of_it() {
        let title = |asked: &[&str], committed: Option<&str>, done: Option<&str>| {
            of_work(asked.first().copied(), committed, done)
        };
        assert_eq!(
            title(
                &["can you look at the failing build?"],
                Some("fix(ci): pin the toolchain"),
                None
            ),
            "Look at the failing build? → pin the toolchain"
        );
        assert_eq!(
            title(
                &["fix the stale lock"],
                Some("fix: remove the stale lock"),
                None
            ),
            "Remove the stale lock"
        );
        assert_eq!(
            title(&["does it handle tags"], None, None),
            "Does it handle tags"
        );
        assert_eq!(title(&[], None, Some("Added a cache.")), "Added a cache");
        let long = "please rewrite the whole parser in one file, and then do many other things to it as well";
        assert_eq!(
            title(&[long], None, None),
            "Rewrite the whole parser in one file"
        );
        assert_eq!(title(&[], None, None), "");
    }

    #[test]
    fn events_without_words_are_titled_by_their_files_or_tools() {
        let events = [
            Event::call(1, "Bash", "command: ls"),
            Event::call(2, "Read", ""),
        ];
        assert_eq!(of_calls(&events, &[]), "Calls of Bash, Read");
        let files = ["a/x.rs", "b/y.rs", "z.rs", "w.rs"].map(str::to_owned);
        assert_eq!(
            of_calls(&events, &files),
            "Changes of x.rs, y.rs, z.rs and 1 more"
        );
        assert_eq!(of_calls(&[], &[]), "");
    }

    #[test]
    fn the_title_of_a_talk_names_its_subjects() {
        let said = |text: &str| Point::new(PointKind::Said, text.to_owned());
        let points = [
            (said("I just started aerial yoga with them."), 0),
            (said("My local politics are aerial yoga."), 1),
        ];
        let title = of_talk(&points, &|_| 1.0);
        assert_eq!(title, "Started aerial yoga, local politics");
    }

    #[test]
    fn keywords_are_those_that_the_points_do_not_say() {
        let events = [
            Event::test(1, Role::User, "The parser and the lexer need a cache"),
            Event::test(2, Role::Assistant, "The lexer has a cache"),
        ];
        let covered: TermSet = terms("cache").into_iter().collect();
        let found = keywords(&events, &covered, &|_, count| count as f64);
        assert_eq!(found, ["lexer", "parser"]);
    }
}
