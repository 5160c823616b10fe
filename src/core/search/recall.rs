//! Recall: the lines of memories and the messages that answer a question, best first.
//!
//! A query of one word, or one phrase in quotation marks, is answered with exactly the
//! lines that hold it, in any case. Any other is ranked, see `score`. Curated
//! memories go before messages of equal score, and both are represented.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use regex::bytes::Regex;

use super::exact::{self, Copy, Held};
use super::lane::At;
use super::needle::{Hay, Needles, literal};
use super::ranked::{Holder, Ranked, Sighted};
use super::{Hit, Source, Sources, allowed_logs, allows_sheet, snippet};
use crate::core::corpus::{Corpus, Message, Part};
use crate::core::log::Role;
use crate::core::query::{Filters, Form, Place, Query};
use crate::core::text::Stems;

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// In memories and logs.
    #[default]
    All,
    /// In memories only.
    Detail,
    /// In logs only.
    Messages,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The query.
    pub query: &'a Query,
    /// Where to look.
    pub scope: Scope,
    /// How many hits are wanted.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// How many lines and messages have what was asked for.
    pub total: usize,
    /// The best of them.
    pub hits: Vec<Hit>,
}

/// Answers a query.
pub fn recall(sources: Sources<'_>, ask: Ask<'_>) -> Answer {
    let search = Search::new(sources, ask);
    match alone(ask.query) {
        Some(text) => search.exact(&text),
        None => search.ranked(),
    }
}

/// Returns the one word or phrase that a query is made of.
fn alone(query: &Query) -> Option<String> {
    let [atom] = query.atoms.as_slice() else {
        return None;
    };
    let text = atom.text.as_str();
    match atom.form {
        Form::Exact => Some(text.to_owned()),
        // A question mark or a full stop belongs to the sentence, not to the word.
        _ => {
            let bare = text.trim_end_matches(['?', '!', '.', ',', ';', ':']);
            Some(if bare.is_empty() { text } else { bare }.to_owned())
        }
    }
}

struct Search<'a> {
    sources: Sources<'a>,
    ask: Ask<'a>,
    filters: &'a Filters,
    /// The sheets that may have hits.
    sheets: Vec<usize>,
    /// Which logs may have hits.
    logs: Vec<bool>,
}

/// A hit that has not been written down yet.
#[derive(Debug, Clone, Copy)]
struct Draft {
    tier: bool,
    score: f32,
    source: Source,
    holder: Holder,
    at: At,
    line: u64,
    copy: Option<Copy>,
    /// Where the match is, if that is known already.
    offset: Option<usize>,
}

impl<'a> Search<'a> {
    fn new(sources: Sources<'a>, ask: Ask<'a>) -> Self {
        let filters = &ask.query.filters;
        let all = sources.shelf.sheets.iter().enumerate();
        let sheets = all.filter(|(_, sheet)| {
            ask.scope != Scope::Messages && !sheet.is_always_known() && allows_sheet(filters, sheet)
        });
        Self {
            sources,
            ask,
            filters,
            sheets: sheets.map(|(number, _)| number).collect(),
            logs: allowed_logs(filters, sources),
        }
    }

    /// Returns the logs, if they are to be looked in.
    fn corpus(&self) -> Option<&'a Corpus> {
        let is_wanted = self.ask.scope != Scope::Detail
            && (self.filters.wants(Place::Logs) || self.filters.wants(Place::Tools));
        self.sources.corpus.filter(|_| is_wanted)
    }

    /// Returns the parts of the logs to look in, those in the second list only if the
    /// first did not give enough.
    fn parts(&self) -> (Vec<Part>, Vec<Part>) {
        let filters = self.filters;
        match (filters.wants(Place::Logs), filters.wants(Place::Tools)) {
            (true, true) => (Part::ALL.to_vec(), Vec::new()),
            (true, false) if filters.places.is_empty() => (vec![Part::Words], vec![Part::Tools]),
            (true, false) => (vec![Part::Words], Vec::new()),
            (false, true) => (vec![Part::Tools], Vec::new()),
            (false, false) => (Vec::new(), Vec::new()),
        }
    }

    fn exact(&self, text: &str) -> Answer {
        let Some(literal) = literal(text) else {
            return Answer::default();
        };
        let mut drafts: Vec<Draft> = exact::in_sheets(self.sources, &literal, &self.sheets)
            .into_iter()
            .map(|held| draft_of(held, Holder::Sheet(held.holder)))
            .collect();
        if let Some(corpus) = self.corpus() {
            let (first, then) = self.parts();
            let look = |part: Part| {
                let allows =
                    |message: &Message<'_>| self.allows(message.log, (message.role, message.time));
                let held = exact::in_logs(corpus, &literal, (part, &allows)).into_iter();
                held.map(move |held| draft_of(held, Holder::Log(held.holder, part)))
            };
            for part in first {
                drafts.extend(look(part));
            }
            for part in then {
                if drafts.len() < self.ask.limit {
                    drafts.extend(look(part));
                }
            }
        }
        self.finish(drafts, &|_| 0)
    }

    fn allows(&self, log: usize, (role, time): (Role, Option<i64>)) -> bool {
        self.logs.get(log).copied().unwrap_or(false)
            && self.filters.allows_role(role)
            && self.filters.allows_time(time)
    }

    fn ranked(&self) -> Answer {
        let needles = Needles::of(self.ask.query);
        if needles.is_empty() {
            return Answer::default();
        }
        let corpus = self.corpus();
        let (first, then) = match corpus {
            Some(_) => self.parts(),
            None => Default::default(),
        };
        let mut ranked: Vec<Ranked> = Vec::new();
        let mut total = 0;
        let mut look = |sheets: &[usize], part: Option<Part>, ranked: &mut Vec<Ranked>| {
            let sighted = Sighted::look(self.sources, &needles, (sheets, part));
            total += sighted.count();
            let wants = |ranked: &Ranked| self.is_wanted(ranked);
            ranked.extend(sighted.rank(corpus, (self.enough(), &wants)));
        };
        let mut sheets = self.sheets.as_slice();
        if first.is_empty() {
            look(sheets, None, &mut ranked);
        }
        for part in first {
            look(sheets, Some(part), &mut ranked);
            sheets = &[];
        }
        for part in then {
            if ranked.is_empty() {
                look(&[], Some(part), &mut ranked);
            }
        }
        let sentence = sentence(self.ask.query);
        let said = |text: &str| exact::first(sentence.as_ref()?, text);
        let mut drafts = self.best(&ranked);
        self.look_at(&mut drafts, &mut |draft, text| {
            draft.tier = said(text).is_some_and(|(_, is_whole)| is_whole);
            needles.has_phrases(text)
        });
        let offset =
            |text: &str| said(text).map_or_else(|| first_needle(&needles, text), |(at, _)| at);
        let mut answer = self.finish(drafts, &offset);
        answer.total = total.max(answer.hits.len());
        answer
    }

    fn is_wanted(&self, ranked: &Ranked) -> bool {
        let Holder::Log(log, part) = ranked.holder else {
            return true;
        };
        let is_allowed = self.logs.get(log).copied().unwrap_or(false);
        // Without these filters there is nothing to look at the message for.
        let is_plain = self.filters.roles.is_empty()
            && self.filters.since.is_none()
            && self.filters.before.is_none();
        let table = || self.sources.corpus?.block(part, ranked.at.0)?.table();
        let sketch = || table()?.sketch(ranked.at.1);
        is_allowed
            && (is_plain
                || sketch().is_some_and(|sketch| self.allows(log, (sketch.role, sketch.time))))
    }

    /// Returns how many are looked at, more than enough of them.
    fn enough(&self) -> usize {
        200 + self.ask.limit.saturating_mul(20)
    }

    /// Returns the best of each source, enough of them, not looked at yet.
    fn best(&self, ranked: &[Ranked]) -> Vec<Draft> {
        let enough = self.enough();
        let mut drafts = Vec::new();
        for source in [Source::Detail, Source::Messages] {
            let of_source = |ranked: &&Ranked| {
                matches!(ranked.holder, Holder::Sheet(_)) == (source == Source::Detail)
            };
            let mut mine: Vec<&Ranked> = ranked.iter().filter(of_source).collect();
            if mine.len() > enough {
                mine.select_nth_unstable_by(enough, |a, b| Ranked::compare(a, b));
                mine.truncate(enough);
            }
            // In the order in which they are looked at.
            mine.sort_unstable_by_key(|ranked| ranked.at);
            drafts.extend(mine.into_iter().map(|ranked| Draft {
                tier: false,
                score: ranked.score,
                source,
                holder: ranked.holder,
                at: ranked.at,
                line: ranked.at.1 as u64,
                copy: None,
                offset: None,
            }));
        }
        drafts
    }

    /// Looks at the text of each draft, and leaves those out that `keeps` does not keep.
    fn look_at(&self, drafts: &mut Vec<Draft>, keeps: &mut dyn FnMut(&mut Draft, &str) -> bool) {
        /// How many are looked at before their memory is given back.
        const TOGETHER: usize = 16;
        let mut since = None;
        let mut count = 0;
        drafts.retain_mut(|draft| {
            let Holder::Log(_, part) = draft.holder else {
                return keeps(draft, self.text(draft));
            };
            let Some(message) = self.message(part, draft.at) else {
                return false;
            };
            draft.line = message.line;
            draft.copy = exact::copy_of(&message);
            let is_kept = keeps(draft, message.text);
            let first = *since.get_or_insert(draft.at.0);
            count += 1;
            if count % TOGETHER == 0
                && let Some(corpus) = self.sources.corpus
            {
                corpus.give_back(part, first..draft.at.0 + 1);
                since = None;
            }
            is_kept
        });
    }

    fn message(&self, part: Part, (block, number): At) -> Option<Message<'a>> {
        self.sources
            .corpus?
            .block(part, block)?
            .table()?
            .message(number)
    }

    /// Returns the text that a draft means.
    fn text(&self, draft: &Draft) -> &'a str {
        match draft.holder {
            Holder::Sheet(number) => {
                let sheet = &self.sources.shelf.sheets[number];
                let line = sheet.lines().find(|(line, _)| *line == draft.at.1);
                line.map_or("", |(_, span)| &sheet.text[span])
            }
            Holder::Log(_, part) => {
                let message = self.message(part, draft.at);
                message.map_or("", |message| message.text)
            }
        }
    }

    /// Sorts what is equal by path and line, takes doubles out, gives each source its slot
    /// and writes the hits down; `offset` finds the match in a text.
    fn finish(&self, mut drafts: Vec<Draft>, offset: &dyn Fn(&str) -> usize) -> Answer {
        let places = self.places(&drafts);
        drafts.sort_by_cached_key(|draft| {
            (
                Reverse(draft.tier),
                Reverse(OrderedScore(draft.score)),
                draft.source,
                places[&key(draft.holder)],
                draft.line,
            )
        });
        let mut seen = HashSet::new();
        let mut copies = HashSet::new();
        drafts.retain(|draft| {
            let is_new = draft.copy.is_none_or(|copy| copies.insert(copy));
            is_new && seen.insert((key(draft.holder), draft.line))
        });
        Answer {
            total: drafts.len(),
            hits: self
                .slots(drafts)
                .iter()
                .filter_map(|draft| self.written(draft, offset))
                .collect(),
        }
    }

    /// Returns where each holder comes by its path.
    fn places(&self, drafts: &[Draft]) -> HashMap<(bool, usize), usize> {
        let mut known = HashSet::new();
        let mut paths = Vec::new();
        for draft in drafts {
            if !known.insert(key(draft.holder)) {
                continue;
            }
            let path = match draft.holder {
                Holder::Sheet(number) => {
                    let sheet = &self.sources.shelf.sheets[number];
                    format!("{}\0{}", sheet.store, sheet.memory.path)
                }
                Holder::Log(log, _) => {
                    let log = self.sources.corpus.and_then(|corpus| corpus.log(log));
                    log.map_or_else(String::new, |log| log.path().display().to_string())
                }
            };
            paths.push((path, key(draft.holder)));
        }
        paths.sort_unstable();
        // Several logs of one database share their path.
        let same = paths.chunk_by(|a, b| a.0 == b.0).enumerate();
        same.flat_map(|(place, same)| same.iter().map(move |(_, key)| (*key, place)))
            .collect()
    }

    /// Returns the first hits, with at least one of each source that has any.
    fn slots(&self, hits: Vec<Draft>) -> Vec<Draft> {
        let limit = self.ask.limit;
        let mut best: Vec<Draft> = hits.iter().take(limit).copied().collect();
        if limit < 2 {
            return best;
        }
        for source in [Source::Detail, Source::Messages] {
            if best.iter().any(|draft| draft.source == source) {
                continue;
            }
            if let Some(first) = hits.iter().find(|draft| draft.source == source) {
                best.pop();
                best.push(*first);
            }
        }
        best
    }

    fn written(&self, draft: &Draft, offset: &dyn Fn(&str) -> usize) -> Option<Hit> {
        let text = self.text(draft);
        let at = draft.offset.unwrap_or_else(|| offset(text));
        let text = (snippet::around(text, at), draft.score);
        match draft.holder {
            Holder::Sheet(number) => {
                let sheet = &self.sources.shelf.sheets[number];
                Some(self.sources.line(sheet, draft.at.1, text))
            }
            Holder::Log(log, part) => {
                let message = self.message(part, draft.at)?;
                let log = self.sources.corpus?.log(log)?;
                Some(self.sources.message(log, &message, text))
            }
        }
    }
}

fn draft_of(held: Held, holder: Holder) -> Draft {
    Draft {
        tier: held.is_whole,
        score: if held.is_whole { 2.0 } else { 1.0 },
        source: match holder {
            Holder::Sheet(_) => Source::Detail,
            Holder::Log(..) => Source::Messages,
        },
        holder,
        at: held.at,
        line: held.line,
        copy: held.copy,
        offset: Some(held.offset),
    }
}

fn key(holder: Holder) -> (bool, usize) {
    match holder {
        Holder::Sheet(number) => (false, number),
        Holder::Log(log, _) => (true, log),
    }
}

/// Returns the search for a query of several words as one text.
fn sentence(query: &Query) -> Option<Regex> {
    let text: Vec<&str> = query.atoms.iter().map(|atom| atom.text.as_str()).collect();
    let text = text.join(" ");
    literal(text.trim_end_matches(['?', '!', '.', ' ']))
}

/// Returns where a text has the first word of the query that it has.
fn first_needle(needles: &Needles, text: &str) -> usize {
    let mut places = Vec::new();
    needles.find(Hay::of_words(text), &mut Stems::default(), &mut places);
    places.iter().map(|place| place.at).min().unwrap_or(0)
}

/// A score that can be sorted; none of ours is not a number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderedScore(f32);

impl Eq for OrderedScore {}

impl PartialOrd for OrderedScore {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedScore {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::super::fixture::{House, said};
    use super::super::lane::seen;
    use super::super::needle;
    use super::super::score::{Rarity, Stretch};
    use super::*;
    use crate::core::log;
    use crate::core::query::noon;
    use crate::core::text::{fold, stem, words};

    fn ask(house: &House, query: &str, (scope, limit): (Scope, usize)) -> Answer {
        let (shelf, corpus) = (house.shelf(), house.corpus());
        let sources = Sources {
            shelf: &shelf,
            corpus: Some(&corpus),
        };
        let query = Query::of_prose(query, &noon());
        recall(
            sources,
            Ask {
                query: &query,
                scope,
                limit,
            },
        )
    }

    fn cited(house: &House, query: &str) -> Vec<String> {
        let answer = ask(house, query, (Scope::All, 50));
        let cited = answer.hits.iter().map(|hit| hit.citation.to_string());
        cited.collect()
    }

    #[test]
    fn one_word_gives_exactly_the_lines_that_have_it_whole_words_first() {
        let house = House::new(
            &[
                ("b.md", "# B\n\nauthentication\n"),
                ("a.md", "# Auth\n\nno\nAUTH again auth\n"),
            ],
            &[said(&["the auth flow", "nothing", "authentic", "auth?"])],
        );
        assert_eq!(
            cited(&house, "auth"),
            [
                "detail/a.md#L1",
                "detail/a.md#L4",
                "messages.jsonl#L1",
                "messages.jsonl#L4",
                "detail/b.md#L3",
                "messages.jsonl#L3"
            ]
        );
        assert_eq!(cited(&house, "\"auth flow\""), ["messages.jsonl#L1"]);
        assert_eq!(cited(&house, "absent"), Vec::<String>::new());
    }

    #[test]
    fn each_source_that_has_hits_gets_a_slot() {
        let house = House::new(
            &[("a.md", "retry\nretry\nretry\n")],
            &[said(&["a retry somewhere", "more"])],
        );
        let sources = |limit| -> Vec<Source> {
            let answer = ask(&house, "retry", (Scope::All, limit));
            answer.hits.iter().map(|hit| hit.source).collect()
        };
        assert_eq!(sources(2), [Source::Detail, Source::Messages]);
        assert_eq!(sources(1), [Source::Detail]);
        assert_eq!(sources(0), []);
        assert_eq!(ask(&house, "retry", (Scope::Messages, 9)).hits.len(), 1);
        assert_eq!(ask(&house, "retry", (Scope::Detail, 9)).hits.len(), 3);
    }

    #[test]
    fn an_answer_without_the_words_of_its_question_is_found_beside_it() {
        let mut talk = said(&[
            "hello",
            "hi there",
            "Which database do we deploy to staging?",
            "Postgres fifteen.",
        ]);
        talk.extend((0..30).map(|n| format!("filler number {n} about the weather")));
        let house = House::new(&[], &[talk]);
        let cited = cited(&house, "what database is deployed on staging");
        assert_eq!(cited[..2], ["messages.jsonl#L3", "messages.jsonl#L4"]);
    }

    #[test]
    fn a_memory_goes_before_a_message_that_says_the_same() {
        let text = "the deploy key is kept in the vault";
        let house = House::new(&[("a.md", text)], &[said(&[text])]);
        assert_eq!(cited(&house, "deploy key")[0], "detail/a.md#L1");
    }

    #[test]
    fn a_new_or_edited_file_is_found_at_once() {
        let house = House::new(&[("a.md", "first\n")], &[said(&["one thing"])]);
        assert!(cited(&house, "zebra").is_empty());
        house.write("s0/working-memory/detail/b.md", "a zebra\n");
        assert_eq!(cited(&house, "zebra"), ["detail/b.md#L1"]);
        house.write("s0/working-memory/detail/b.md", "none\n");
        assert!(cited(&house, "zebra").is_empty());
    }

    #[test]
    fn filters_hold_in_a_question() {
        let house = House::new(
            &[("a.md", "retry policy\n")],
            &[said(&["retry policy asked", "retry policy answered"])],
        );
        assert_eq!(
            cited(&house, "retry policy role:assistant"),
            ["messages.jsonl#L2"]
        );
        assert_eq!(
            cited(&house, "retry policy in:memories"),
            ["detail/a.md#L1"]
        );
        assert_eq!(
            cited(&house, "retry policy agent:codex"),
            Vec::<String>::new()
        );
        assert_eq!(
            cited(&house, "retry policy before:2020-01-01"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_spoilt_or_deleted_cache_changes_no_answer() {
        let talk: Vec<String> = (0..400)
            .map(|n| format!("message {n} on topic{} and more", n % 7))
            .collect();
        let house = House::new(&[], &[talk]);
        let before = ask(&house, "message on topic3", (Scope::All, 20));
        fs::remove_dir_all(house.path("cache")).expect("deleted");
        assert_eq!(ask(&house, "message on topic3", (Scope::All, 20)), before);
        for entry in fs::read_dir(house.path("cache"))
            .expect("a cache")
            .flatten()
        {
            let mut bytes = fs::read(entry.path()).expect("readable");
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 0x55;
            }
            fs::remove_file(entry.path()).expect("deleted");
            fs::write(entry.path(), bytes).expect("written");
        }
        let _ = ask(&house, "message on topic3", (Scope::All, 20));
        assert_eq!(ask(&house, "message on topic3", (Scope::All, 20)), before);
    }

    /// Scores every message of every log by reading it all and stemming every word.
    fn naive(house: &House, query: &str) -> Vec<(PathBuf, u64, f32)> {
        let parsed = Query::of_prose(query, &noon());
        let mut wanted: Vec<String> = Vec::new();
        for word in parsed.atoms.iter().flat_map(|atom| words(&atom.text)) {
            let word = fold(word.text).into_owned();
            let is_new = |known: &String| stem(known) != stem(&word);
            if !needle::is_common(&word) && wanted.iter().all(is_new) {
                wanted.push(word);
            }
        }
        let corpus = house.corpus();
        let mut with = vec![0; wanted.len()];
        let mut logs: Vec<(PathBuf, Vec<u64>, Stretch)> = Vec::new();
        for (at, log) in house.logs().iter().enumerate() {
            let transcript = log::read(log).expect("readable");
            let mut stretch = Stretch::default();
            let mut lines = Vec::new();
            for (number, message) in transcript.messages.iter().enumerate() {
                let borrowed = Message {
                    log: at,
                    line: message.line,
                    role: message.role,
                    kind: message.kind,
                    origin: message.origin,
                    time: message.time,
                    text: &message.text,
                    length: message.text.len() as u64,
                    id: None,
                    reply: None,
                    tool: None,
                    session: None,
                };
                stretch.spots.push(seen((0, number), &borrowed));
                lines.push(message.line);
                let mut found: Vec<(usize, u32, bool)> = Vec::new();
                for (needle, word) in wanted.iter().enumerate() {
                    let all: Vec<String> = words(&message.text)
                        .map(|w| fold(w.text).into_owned())
                        .collect();
                    let forms = all.iter().filter(|form| stem(form) == stem(word)).count();
                    if forms > 0 {
                        with[needle] += 1;
                        found.push((needle, forms as u32, all.contains(word)));
                    }
                }
                stretch.count(number, &found);
            }
            logs.push((log.path.clone(), lines, stretch));
        }
        let bytes = corpus.logs().map(|log| log.text_bytes(Part::Words)).sum();
        let rarity = Rarity::new(&with, bytes);
        let mut all = Vec::new();
        for (path, lines, stretch) in logs {
            let mut found = Vec::new();
            rarity.score(&[stretch], &mut found);
            all.extend(
                found
                    .into_iter()
                    .map(|(score, spot)| (path.clone(), lines[spot.at.1], score)),
            );
        }
        all.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn filters_and_literal_search_give_what_reading_everything_gives(
            logs in proptest::collection::vec(
                proptest::collection::vec("((retri|deploy|cach|config|happ)(y|ed|ing|es|ation|iness|e)? |[a-z]{2,9} |é[a-z]{3} ){1,12}", 1..60),
                1..4,
            ),
            padding in 0usize..3,
            query in "((retri|deploy|cach|config|happ)(y|ed|ing|es|ation|e)? ){2,4}",
        ) {
            let logs: Vec<Vec<String>> = logs
                .into_iter()
                .map(|mut log| {
                    // Enough for some logs to lie in several blocks.
                    for text in log.iter_mut().step_by(3) {
                        text.push_str(&"lorem ipsum ".repeat(padding * 400));
                    }
                    log
                })
                .collect();
            let house = House::new(&[], &logs);
            let mut found: Vec<(PathBuf, u64, f32)> = ask(&house, &query, (Scope::Messages, 10_000))
                .hits
                .into_iter()
                .map(|hit| {
                    let session = hit.session.expect("a message has a session");
                    (house.path(&session).join("messages.jsonl"), hit.line, hit.score)
                })
                .collect();
            found.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
            let expected = naive(&house, &query);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!((&found.0, found.1), (&expected.0, expected.1));
                prop_assert!((found.2 - expected.2).abs() < 1e-4 * expected.2, "{} {}", found.2, expected.2);
            }
        }
    }
}
