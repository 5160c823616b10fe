//! Recall: the lines of memories and the messages that match a question, best first.
//!
//! A query of one word, or of one phrase in quotation marks, returns exactly the lines that
//! contain it, ignoring case. Any other query is ranked, see `score`. Curated memories go
//! before messages of equal score, and both are represented.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use regex::bytes::Regex;

use super::copies::collapse;
use super::exact::{self, CopyKey, ExactMatch};
use super::needle::{Haystack, Needles, literal};
use super::ranked::{Holder, Occurrences, Ranked};
use super::walker::MessagePosition;
use super::{Hit, HitSource, Sources, allowed_logs, allows_memory, snippet};
use crate::core::corpus::{Corpus, CorpusMessage, Part};
use crate::core::log::Role;
use crate::core::query::{Filters, MatchMode, Query, SearchArea};
use crate::core::text::Stems;

/// Which sources are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Memories and logs.
    #[default]
    All,
    /// Memories only.
    Detail,
    /// Logs only.
    Messages,
}

/// The query and options of a recall.
#[derive(Debug, Clone, Copy)]
pub struct RecallRequest<'a> {
    /// The query.
    pub query: &'a Query,
    /// Which sources are searched.
    pub scope: Scope,
    /// The maximum number of hits.
    pub limit: usize,
}

/// The hits of a recall.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecallResult {
    /// How many lines and messages match.
    pub total: usize,
    /// The best hits.
    pub hits: Vec<Hit>,
}

/// Runs a query.
pub fn recall(sources: Sources<'_>, request: RecallRequest<'_>) -> RecallResult {
    let search = Search::new(sources, request);
    match single_term(request.query) {
        Some(text) => search.exact(&text),
        None => search.ranked(),
    }
}

/// Returns the word or phrase of a query that consists of one.
fn single_term(query: &Query) -> Option<String> {
    let [atom] = query.atoms.as_slice() else {
        return None;
    };
    let text = atom.text.as_str();
    match atom.form {
        MatchMode::Exact => Some(text.to_owned()),
        // Trailing punctuation belongs to the sentence, not to the word.
        _ => {
            let bare = text.trim_end_matches(['?', '!', '.', ',', ';', ':']);
            Some(if bare.is_empty() { text } else { bare }.to_owned())
        }
    }
}

struct Search<'a> {
    sources: Sources<'a>,
    request: RecallRequest<'a>,
    filters: &'a Filters,
    /// The indices of the memory texts that the filters admit.
    texts: Vec<usize>,
    /// For each log, whether the filters admit it.
    logs: Vec<bool>,
}

/// A hit whose text has not been cut out yet.
#[derive(Debug, Clone, Copy)]
struct HitCandidate {
    tier: bool,
    score: f32,
    source: HitSource,
    holder: Holder,
    at: MessagePosition,
    line: u64,
    copy: Option<CopyKey>,
    /// The number of copies that it stands for.
    copies: usize,
    /// The byte offset of the match, if it is known already.
    offset: Option<usize>,
}

impl<'a> Search<'a> {
    fn new(sources: Sources<'a>, request: RecallRequest<'a>) -> Self {
        let filters = &request.query.filters;
        let all = sources.memories.texts.iter().enumerate();
        let texts = all.filter(|(_, memory_text)| {
            request.scope != Scope::Messages
                && !memory_text.is_in_context()
                && allows_memory(filters, memory_text)
        });
        Self {
            sources,
            request,
            filters,
            texts: texts.map(|(number, _)| number).collect(),
            logs: allowed_logs(filters, sources),
        }
    }

    /// Returns the corpus, if logs are in scope.
    fn corpus(&self) -> Option<&'a Corpus> {
        let is_wanted = self.request.scope != Scope::Detail
            && (self.filters.wants(SearchArea::Logs) || self.filters.wants(SearchArea::Tools));
        self.sources.corpus.filter(|_| is_wanted)
    }

    /// Returns the parts of the logs to search; those in the second list only if the first
    /// ones did not give enough hits.
    fn parts(&self) -> (Vec<Part>, Vec<Part>) {
        let filters = self.filters;
        match (
            filters.wants(SearchArea::Logs),
            filters.wants(SearchArea::Tools),
        ) {
            (true, true) => (Part::ALL.to_vec(), Vec::new()),
            (true, false) if filters.areas.is_empty() => (vec![Part::Words], vec![Part::Tools]),
            (true, false) => (vec![Part::Words], Vec::new()),
            (false, true) => (vec![Part::Tools], Vec::new()),
            (false, false) => (Vec::new(), Vec::new()),
        }
    }

    fn exact(&self, text: &str) -> RecallResult {
        let Some(literal) = literal(text) else {
            return RecallResult::default();
        };
        let mut candidates: Vec<HitCandidate> =
            exact::in_memories(self.sources, &literal, &self.texts)
                .into_iter()
                .map(|exact_match| candidate_of(exact_match, Holder::Memory(exact_match.holder)))
                .collect();
        if let Some(corpus) = self.corpus() {
            let (first, then) = self.parts();
            let look = |part: Part| {
                let allows = |message: &CorpusMessage<'_>| {
                    self.allows(message.log, (message.role, message.time))
                };
                let exact_match = exact::in_logs(corpus, &literal, (part, &allows)).into_iter();
                exact_match.map(move |exact_match| {
                    candidate_of(exact_match, Holder::Log(exact_match.holder, part))
                })
            };
            for part in first {
                candidates.extend(look(part));
            }
            for part in then {
                if candidates.len() < self.request.limit {
                    candidates.extend(look(part));
                }
            }
        }
        self.finish(candidates, &|_| 0)
    }

    fn allows(&self, log: usize, (role, time): (Role, Option<i64>)) -> bool {
        self.logs.get(log).copied().unwrap_or(false)
            && self.filters.allows_role(role)
            && self.filters.allows_time(time)
    }

    fn ranked(&self) -> RecallResult {
        let needles = Needles::of(self.request.query);
        if needles.is_empty() {
            return RecallResult::default();
        }
        let corpus = self.corpus();
        let (first, then) = match corpus {
            Some(_) => self.parts(),
            None => Default::default(),
        };
        let mut ranked: Vec<Ranked> = Vec::new();
        let mut total = 0;
        let mut look = |texts: &[usize], part: Option<Part>, ranked: &mut Vec<Ranked>| {
            let occurrences = Occurrences::find(self.sources, &needles, (texts, part));
            total += occurrences.count();
            let wants = |ranked: &Ranked| self.is_wanted(ranked);
            ranked.extend(occurrences.rank(corpus, (self.candidate_limit(), &wants)));
        };
        let mut texts = self.texts.as_slice();
        if first.is_empty() {
            look(texts, None, &mut ranked);
        }
        for part in first {
            look(texts, Some(part), &mut ranked);
            texts = &[];
        }
        for part in then {
            if ranked.is_empty() {
                look(&[], Some(part), &mut ranked);
            }
        }
        let sentence = phrase_pattern(self.request.query);
        let find_phrase = |text: &str| exact::first(sentence.as_ref()?, text);
        let mut candidates = self.best_candidates(&ranked);
        self.read_texts(&mut candidates, &mut |candidate, text| {
            candidate.tier = find_phrase(text).is_some_and(|(_, is_whole)| is_whole);
            needles.has_phrases(text)
        });
        let offset = |text: &str| {
            find_phrase(text).map_or_else(|| first_needle(&needles, text), |(at, _)| at)
        };
        let mut answer = self.finish(candidates, &offset);
        answer.total = total.max(answer.hits.len());
        answer
    }

    fn is_wanted(&self, ranked: &Ranked) -> bool {
        let Holder::Log(log, part) = ranked.holder else {
            return true;
        };
        let is_allowed = self.logs.get(log).copied().unwrap_or(false);
        // Only these filters need the message itself.
        let is_plain = self.filters.roles.is_empty()
            && self.filters.since.is_none()
            && self.filters.before.is_none();
        let table = || self.sources.corpus?.block(part, ranked.at.0)?.table();
        let sketch = || table()?.summary(ranked.at.1);
        is_allowed
            && (is_plain
                || sketch().is_some_and(|sketch| self.allows(log, (sketch.role, sketch.time))))
    }

    /// Returns how many candidates are read, several times the limit.
    fn candidate_limit(&self) -> usize {
        200 + self.request.limit.saturating_mul(20)
    }

    /// Returns the best candidates of each source, whose texts have not been read yet.
    fn best_candidates(&self, ranked: &[Ranked]) -> Vec<HitCandidate> {
        let enough = self.candidate_limit();
        let mut candidates = Vec::new();
        for source in [HitSource::Detail, HitSource::Messages] {
            let of_source = |ranked: &&Ranked| {
                matches!(ranked.holder, Holder::Memory(_)) == (source == HitSource::Detail)
            };
            let mut mine: Vec<&Ranked> = ranked.iter().filter(of_source).collect();
            if mine.len() > enough {
                mine.select_nth_unstable_by(enough, |a, b| Ranked::compare(a, b));
                mine.truncate(enough);
            }
            // In the order of reading.
            mine.sort_unstable_by_key(|ranked| ranked.at);
            candidates.extend(mine.into_iter().map(|ranked| HitCandidate {
                tier: false,
                score: ranked.score,
                source,
                holder: ranked.holder,
                at: ranked.at,
                line: ranked.at.1 as u64,
                copy: None,
                copies: 0,
                offset: None,
            }));
        }
        candidates
    }

    /// Reads the text of each candidate, and removes those that `keeps` rejects.
    fn read_texts(
        &self,
        candidates: &mut Vec<HitCandidate>,
        keeps: &mut dyn FnMut(&mut HitCandidate, &str) -> bool,
    ) {
        /// How many texts are read before their memory is released.
        const TOGETHER: usize = 16;
        let mut since = None;
        let mut count = 0;
        candidates.retain_mut(|candidate| {
            let Holder::Log(_, part) = candidate.holder else {
                return keeps(candidate, self.text(candidate));
            };
            let Some(message) = self.message(part, candidate.at) else {
                return false;
            };
            candidate.line = message.line;
            candidate.copy = exact::copy_key(&message);
            let is_kept = keeps(candidate, message.text);
            let first = *since.get_or_insert(candidate.at.0);
            count += 1;
            if count % TOGETHER == 0
                && let Some(corpus) = self.sources.corpus
            {
                corpus.release(part, first..candidate.at.0 + 1);
                since = None;
            }
            is_kept
        });
    }

    fn message(&self, part: Part, (block, number): MessagePosition) -> Option<CorpusMessage<'a>> {
        self.sources
            .corpus?
            .block(part, block)?
            .table()?
            .message(number)
    }

    /// Returns the text of a candidate.
    fn text(&self, candidate: &HitCandidate) -> &'a str {
        match candidate.holder {
            Holder::Memory(number) => {
                let memory_text = &self.sources.memories.texts[number];
                let line = memory_text
                    .lines()
                    .find(|(line, _)| *line == candidate.at.1);
                line.map_or("", |(_, span)| &memory_text.text[span])
            }
            Holder::Log(_, part) => {
                let message = self.message(part, candidate.at);
                message.map_or("", |message| message.text)
            }
        }
    }

    /// Sorts the candidates, with path and line deciding between equal scores, removes
    /// duplicates, reserves a slot for each source and builds the hits; `offset` finds the
    /// match in a text.
    fn finish(
        &self,
        mut candidates: Vec<HitCandidate>,
        offset: &dyn Fn(&str) -> usize,
    ) -> RecallResult {
        let places = self.path_order(&candidates);
        candidates.sort_by_cached_key(|candidate| {
            (
                Reverse(candidate.tier),
                Reverse(OrderedScore(candidate.score)),
                candidate.source,
                places[&key(candidate.holder)],
                candidate.line,
            )
        });
        let mut seen = HashSet::new();
        candidates.retain(|candidate| seen.insert((key(candidate.holder), candidate.line)));
        let candidates = collapse(
            candidates,
            |candidate| candidate.copy,
            |candidate| &mut candidate.copies,
        );
        RecallResult {
            total: candidates.len(),
            hits: self
                .reserve_slots(candidates)
                .iter()
                .filter_map(|candidate| self.to_hit(candidate, offset))
                .collect(),
        }
    }

    /// Returns the rank of each holder in the order of paths.
    fn path_order(&self, candidates: &[HitCandidate]) -> HashMap<(bool, usize), usize> {
        let mut known = HashSet::new();
        let mut paths = Vec::new();
        for candidate in candidates {
            if !known.insert(key(candidate.holder)) {
                continue;
            }
            let path = match candidate.holder {
                Holder::Memory(number) => {
                    let memory_text = &self.sources.memories.texts[number];
                    format!("{}\0{}", memory_text.store, memory_text.memory.path)
                }
                Holder::Log(log, _) => {
                    let log = self.sources.corpus.and_then(|corpus| corpus.log(log));
                    log.map_or_else(String::new, |log| log.path().display().to_string())
                }
            };
            paths.push((path, key(candidate.holder)));
        }
        paths.sort_unstable();
        // Several logs of one database share their path.
        let same = paths.chunk_by(|a, b| a.0 == b.0).enumerate();
        same.flat_map(|(place, same)| same.iter().map(move |(_, key)| (*key, place)))
            .collect()
    }

    /// Returns the first hits, with at least one of each source that has any.
    fn reserve_slots(&self, hits: Vec<HitCandidate>) -> Vec<HitCandidate> {
        let limit = self.request.limit;
        let mut best: Vec<HitCandidate> = hits.iter().take(limit).copied().collect();
        if limit < 2 {
            return best;
        }
        for source in [HitSource::Detail, HitSource::Messages] {
            if best.iter().any(|candidate| candidate.source == source) {
                continue;
            }
            if let Some(first) = hits.iter().find(|candidate| candidate.source == source) {
                best.pop();
                best.push(*first);
            }
        }
        best
    }

    fn to_hit(&self, candidate: &HitCandidate, offset: &dyn Fn(&str) -> usize) -> Option<Hit> {
        let text = self.text(candidate);
        let at = candidate.offset.unwrap_or_else(|| offset(text));
        let text = (snippet::around(text, at), candidate.score);
        match candidate.holder {
            Holder::Memory(number) => {
                let memory_text = &self.sources.memories.texts[number];
                Some(self.sources.line(memory_text, candidate.at.1, text))
            }
            Holder::Log(log, part) => {
                let message = self.message(part, candidate.at)?;
                let log = self.sources.corpus?.log(log)?;
                let mut hit = self.sources.message(log, &message, text);
                hit.copies = candidate.copies;
                Some(hit)
            }
        }
    }
}

fn candidate_of(exact_match: ExactMatch, holder: Holder) -> HitCandidate {
    HitCandidate {
        tier: exact_match.is_whole,
        score: if exact_match.is_whole { 2.0 } else { 1.0 },
        source: match holder {
            Holder::Memory(_) => HitSource::Detail,
            Holder::Log(..) => HitSource::Messages,
        },
        holder,
        at: exact_match.at,
        line: exact_match.line,
        copy: exact_match.copy,
        copies: 0,
        offset: Some(exact_match.offset),
    }
}

fn key(holder: Holder) -> (bool, usize) {
    match holder {
        Holder::Memory(number) => (false, number),
        Holder::Log(log, _) => (true, log),
    }
}

/// Returns the search for all words of the query as one phrase.
fn phrase_pattern(query: &Query) -> Option<Regex> {
    let text: Vec<&str> = query.atoms.iter().map(|atom| atom.text.as_str()).collect();
    let text = text.join(" ");
    literal(text.trim_end_matches(['?', '!', '.', ' ']))
}

/// Returns the byte offset of the first word of the query in a text.
fn first_needle(needles: &Needles, text: &str) -> usize {
    let mut places = Vec::new();
    needles.find(Haystack::of_words(text), &mut Stems::default(), &mut places);
    places.iter().map(|place| place.at).min().unwrap_or(0)
}

/// A score that can be sorted; scores are never NaN.
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

    use super::super::fixture::{TestHome, conversation};
    use super::super::needle;
    use super::super::score::{PassageGroup, Rarity};
    use super::super::walker::passage_of_message;
    use super::*;
    use crate::core::log;
    use crate::core::query::noon;
    use crate::core::text::{fold, stem, words};

    fn request(home: &TestHome, query: &str, (scope, limit): (Scope, usize)) -> RecallResult {
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let query = Query::of_prose(query, &noon());
        recall(
            sources,
            RecallRequest {
                query: &query,
                scope,
                limit,
            },
        )
    }

    fn cited(home: &TestHome, query: &str) -> Vec<String> {
        let answer = request(home, query, (Scope::All, 50));
        let cited = answer.hits.iter().map(|hit| hit.citation.to_string());
        cited.collect()
    }

    #[test]
    fn one_word_gives_exactly_the_lines_that_have_it_whole_words_first() {
        let home = TestHome::new(
            &[
                ("b.md", "# B\n\nauthentication\n"),
                ("a.md", "# Auth\n\nno\nAUTH again auth\n"),
            ],
            &[conversation(&[
                "the auth flow",
                "nothing",
                "authentic",
                "auth?",
            ])],
        );
        assert_eq!(
            cited(&home, "auth"),
            [
                "detail/a.md#L1",
                "detail/a.md#L4",
                "messages.jsonl#L1",
                "messages.jsonl#L4",
                "detail/b.md#L3",
                "messages.jsonl#L3"
            ]
        );
        assert_eq!(cited(&home, "\"auth flow\""), ["messages.jsonl#L1"]);
        assert_eq!(cited(&home, "absent"), Vec::<String>::new());
    }

    #[test]
    fn each_source_that_has_hits_gets_a_slot() {
        let home = TestHome::new(
            &[("a.md", "retry\nretry\nretry\n")],
            &[conversation(&["a retry somewhere", "more"])],
        );
        let sources = |limit| -> Vec<HitSource> {
            let answer = request(&home, "retry", (Scope::All, limit));
            answer.hits.iter().map(|hit| hit.source).collect()
        };
        assert_eq!(sources(2), [HitSource::Detail, HitSource::Messages]);
        assert_eq!(sources(1), [HitSource::Detail]);
        assert_eq!(sources(0), []);
        assert_eq!(request(&home, "retry", (Scope::Messages, 9)).hits.len(), 1);
        assert_eq!(request(&home, "retry", (Scope::Detail, 9)).hits.len(), 3);
    }

    #[test]
    fn an_answer_without_the_words_of_its_question_is_found_beside_it() {
        let mut talk = conversation(&[
            "hello",
            "hi there",
            "Which database do we deploy to staging?",
            "Postgres fifteen.",
        ]);
        talk.extend((0..30).map(|n| format!("filler number {n} about the weather")));
        let home = TestHome::new(&[], &[talk]);
        let cited = cited(&home, "what database is deployed on staging");
        assert_eq!(cited[..2], ["messages.jsonl#L3", "messages.jsonl#L4"]);
    }

    #[test]
    fn a_memory_goes_before_a_message_that_says_the_same() {
        let text = "the deploy key is kept in the vault";
        let home = TestHome::new(&[("a.md", text)], &[conversation(&[text])]);
        assert_eq!(cited(&home, "deploy key")[0], "detail/a.md#L1");
    }

    #[test]
    fn a_new_or_edited_file_is_found_at_once() {
        let home = TestHome::new(&[("a.md", "first\n")], &[conversation(&["one thing"])]);
        assert!(cited(&home, "zebra").is_empty());
        home.write("s0/working-memory/detail/b.md", "a zebra\n");
        assert_eq!(cited(&home, "zebra"), ["detail/b.md#L1"]);
        home.write("s0/working-memory/detail/b.md", "none\n");
        assert!(cited(&home, "zebra").is_empty());
    }

    #[test]
    fn filters_hold_in_a_question() {
        let home = TestHome::new(
            &[("a.md", "retry policy\n")],
            &[conversation(&[
                "retry policy asked",
                "retry policy answered",
            ])],
        );
        assert_eq!(
            cited(&home, "retry policy role:assistant"),
            ["messages.jsonl#L2"]
        );
        assert_eq!(cited(&home, "retry policy in:memories"), ["detail/a.md#L1"]);
        assert_eq!(
            cited(&home, "retry policy agent:codex"),
            Vec::<String>::new()
        );
        assert_eq!(
            cited(&home, "retry policy before:2020-01-01"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_spoilt_or_deleted_cache_changes_no_answer() {
        let talk: Vec<String> = (0..400)
            .map(|n| format!("message {n} on topic{} and more", n % 7))
            .collect();
        let home = TestHome::new(&[], &[talk]);
        let before = request(&home, "message on topic3", (Scope::All, 20));
        fs::remove_dir_all(home.path("cache")).expect("deleted");
        assert_eq!(
            request(&home, "message on topic3", (Scope::All, 20)),
            before
        );
        for entry in fs::read_dir(home.path("cache")).expect("a cache").flatten() {
            let mut bytes = fs::read(entry.path()).expect("readable");
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 0x55;
            }
            fs::remove_file(entry.path()).expect("deleted");
            fs::write(entry.path(), bytes).expect("written");
        }
        let _ = request(&home, "message on topic3", (Scope::All, 20));
        assert_eq!(
            request(&home, "message on topic3", (Scope::All, 20)),
            before
        );
    }

    /// Scores every message of every log by reading it and stemming every word.
    fn naive(home: &TestHome, query: &str) -> Vec<(PathBuf, u64, f32)> {
        let parsed = Query::of_prose(query, &noon());
        let mut wanted: Vec<String> = Vec::new();
        for word in parsed.atoms.iter().flat_map(|atom| words(&atom.text)) {
            let word = fold(word.text).into_owned();
            let is_new = |known: &String| stem(known) != stem(&word);
            if !needle::is_common(&word) && wanted.iter().all(is_new) {
                wanted.push(word);
            }
        }
        let corpus = home.corpus();
        let mut with = vec![0; wanted.len()];
        let mut logs: Vec<(PathBuf, Vec<u64>, PassageGroup)> = Vec::new();
        for (at, log) in home.logs().iter().enumerate() {
            let transcript = log::read(log).expect("readable");
            let mut stretch = PassageGroup::default();
            let mut lines = Vec::new();
            for (number, message) in transcript.messages.iter().enumerate() {
                let borrowed = CorpusMessage {
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
                stretch
                    .passages
                    .push(passage_of_message((0, number), &borrowed));
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
                    // Enough for some logs to span several blocks.
                    for text in log.iter_mut().step_by(3) {
                        text.push_str(&"lorem ipsum ".repeat(padding * 400));
                    }
                    log
                })
                .collect();
            let home = TestHome::new(&[], &logs);
            let mut found: Vec<(PathBuf, u64, f32)> = request(&home, &query, (Scope::Messages, 10_000))
                .hits
                .into_iter()
                .map(|hit| {
                    let session = hit.session.expect("a message has a session");
                    (home.path(&session).join("messages.jsonl"), hit.line, hit.score)
                })
                .collect();
            found.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
            let expected = naive(&home, &query);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!((&found.0, found.1), (&expected.0, expected.1));
                prop_assert!((found.2 - expected.2).abs() < 1e-4 * expected.2, "{} {}", found.2, expected.2);
            }
        }
    }
}
