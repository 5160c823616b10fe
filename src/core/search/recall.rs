//! Recall: the memories and messages that match a question, best first.
//!
//! The index gives the messages that have the rarest words of the query most often, with their
//! neighbours; lines of memories are searched as they are. These candidates are scored, see `score`.
//! Those that have the whole query as a phrase go first. If there are few, the results of tools and
//! words that only begin like those of the query count, too. Curated memories go before messages of
//! equal score, and the first two hits are of both sources if both have any. The order does not depend
//! on the limit, so that a longer list begins with a shorter one.

mod phrase;
#[cfg(test)]
mod quality;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::nearness::nearness;
use super::needle::Needles;
use super::score::{
    FROM_AFTER, FROM_BEFORE, Passage, Rarity, further_scores, session_score, session_scores,
};
use super::{Hit, HitSource, Sources, allowed_logs, allows_memory, snippet};
use crate::core::log::{MessageKind, Origin};
use crate::core::search::index::{Corpus, MessageAt, MessageFilter, Part, RankedMessage};
use crate::core::search::query::{Filters, Query, SearchArea};
use crate::core::text::{is_question, words};

use phrase::Phrase;

/// The number of hits if none is requested.
pub const DEFAULT_LIMIT: usize = 5;

/// With fewer hits than this, the search is widened.
const FEW: usize = 5;
/// How many messages are ranked by their words.
pub(in crate::core) const RANKED: usize = 500;
/// How many of the best texts are read.
const READ: usize = 20;
/// The weight of a line that tells an agent nothing new.
const REPEAT: f32 = 0.5;
/// The weight of a question, since answers are more useful.
const QUESTION: f32 = 0.8;

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
    /// The maximum number of hits; 0 is [`DEFAULT_LIMIT`].
    pub limit: usize,
    /// The id of a session that is left out: the running one, which an agent knows.
    pub without: Option<&'a str>,
}

/// The hits of a recall.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecallResult {
    /// How many memories and messages match, at least.
    pub total: usize,
    /// The best hits.
    pub hits: Vec<Hit>,
}

/// A session that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHit {
    /// The log's index in [`Corpus::logs`].
    pub log: usize,
    /// The relevance; comparable within one result only.
    pub score: f32,
    /// The message that matches best.
    pub best: Hit,
}

/// Runs a query.
pub fn recall(sources: Sources<'_>, request: RecallRequest<'_>) -> RecallResult {
    Search::new(sources, request).recall()
}

/// Returns the sessions that match a query, best first: a session is ranked by its best
/// messages together. Only logs whose index in [`Corpus::logs`] `allows` accepts are searched;
/// the scope of the request does not matter.
pub fn sessions(
    sources: Sources<'_>,
    request: RecallRequest<'_>,
    allows: &dyn Fn(usize) -> bool,
) -> Vec<SessionHit> {
    let request = RecallRequest {
        scope: Scope::Messages,
        ..request
    };
    let mut search = Search::new(sources, request);
    for (log, allowed) in search.logs.iter_mut().enumerate() {
        *allowed &= allows(log);
    }
    search.sessions()
}

struct Search<'a> {
    sources: Sources<'a>,
    request: RecallRequest<'a>,
    limit: usize,
    filters: &'a Filters,
    needles: Needles,
    phrase: Phrase,
    /// For each log, whether the filters admit it.
    logs: Vec<bool>,
}

/// A line of a memory or a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    /// The index of the memory text, and the line from 1.
    Line(usize, usize),
    /// The index of the log, and where the message is.
    Message(usize, MessageAt),
}

impl Spot {
    /// Returns the memory or the log that it is in.
    fn home(self) -> Home {
        match self {
            Self::Line(text, _) => Home::Memory(text),
            Self::Message(log, _) => Home::Log(log),
        }
    }
}

/// A memory text or a log, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Home {
    Memory(usize),
    Log(usize),
}

/// A hit whose text has not been cut out yet.
#[derive(Debug, Clone)]
struct HitCandidate {
    spot: Spot,
    passage: Passage,
    /// Whether it contains the whole query as a phrase.
    has_phrase: bool,
    score: f32,
    line: u64,
    /// The key that copies of a message share.
    copy: Option<CopyKey>,
    /// The number of copies that it stands for.
    copies: usize,
    /// The weight compared with others that have the same words.
    worth: f32,
}

/// The identity of a message, its kind, and about how many words it has.
type CopyKey = (u64, MessageKind, u32);

/// What was found.
#[derive(Default)]
struct Candidates {
    /// Those of one memory or log together, best first.
    by_home: Vec<Vec<HitCandidate>>,
    /// How many messages there are at least.
    total: usize,
}

impl<'a> Search<'a> {
    fn new(sources: Sources<'a>, request: RecallRequest<'a>) -> Self {
        let filters = &request.query.filters;
        let mut logs = allowed_logs(filters, sources);
        if let Some((corpus, without)) = sources.corpus.zip(request.without) {
            for (allowed, log) in logs.iter_mut().zip(corpus.logs()) {
                *allowed &= log.id() != without;
            }
        }
        Self {
            sources,
            request,
            limit: match request.limit {
                0 => DEFAULT_LIMIT,
                limit => limit,
            },
            filters,
            needles: Needles::of(request.query),
            phrase: Phrase::of(request.query),
            logs,
        }
    }

    /// Returns the corpus, if logs are in scope.
    fn corpus(&self) -> Option<&'a Corpus> {
        let is_wanted = self.request.scope != Scope::Detail
            && (self.filters.wants(SearchArea::Logs) || self.filters.wants(SearchArea::Tools));
        self.sources.corpus.filter(|_| is_wanted)
    }

    /// Returns the parts of the logs to search; those in the second list only if the first
    /// ones gave few hits.
    fn parts(&self) -> (&'static [Part], &'static [Part]) {
        let filters = self.filters;
        match (
            filters.wants(SearchArea::Logs),
            filters.wants(SearchArea::Tools),
        ) {
            (true, true) => (&Part::ALL, &[]),
            (true, false) if filters.areas.is_empty() => {
                (&[Part::Words, Part::Calls], &[Part::Results])
            }
            (true, false) => (&[Part::Words], &[]),
            (false, true) => (&[Part::Calls, Part::Results], &[]),
            (false, false) => (&[], &[]),
        }
    }

    fn recall(mut self) -> RecallResult {
        let mut found = self.candidates();
        for home in &mut found.by_home {
            let own: Vec<f32> = home.iter().map(|candidate| candidate.score).collect();
            let scores = match home.first().map(|first| first.spot) {
                Some(Spot::Message(..)) => session_scores(&own),
                _ => further_scores(&own),
            };
            for (candidate, score) in home.iter_mut().zip(scores) {
                candidate.score = score;
            }
        }
        let mut all: Vec<HitCandidate> = found.by_home.into_iter().flatten().collect();
        sort(&mut all);
        let mut all = without_copies(all);
        let total = all.len().max(found.total);
        both_sources_first(&mut all);
        all.truncate(self.limit);
        let hits = all.iter().filter_map(|candidate| self.to_hit(candidate));
        RecallResult {
            total,
            hits: hits.collect(),
        }
    }

    fn sessions(mut self) -> Vec<SessionHit> {
        let best = self.candidates().by_home.into_iter();
        let best = best.filter_map(|session| {
            let scores = session.iter().map(|candidate| candidate.score);
            let (score, mut all) = (session_score(scores), session.iter());
            let has_phrase = all.any(|candidate| candidate.has_phrase);
            Some(HitCandidate {
                has_phrase,
                score,
                ..session.into_iter().next()?
            })
        });
        let mut best: Vec<HitCandidate> = best.collect();
        sort(&mut best);
        best.truncate(self.limit);
        let hits = best.iter().filter_map(|candidate| {
            let Spot::Message(log, _) = candidate.spot else {
                return None;
            };
            Some(SessionHit {
                log,
                score: candidate.score,
                best: self.to_hit(candidate)?,
            })
        });
        hits.collect()
    }

    /// Finds and scores the texts that have words of the query.
    fn candidates(&mut self) -> Candidates {
        if self.needles.is_empty() {
            return Candidates::default();
        }
        let (first, then) = self.parts();
        let found = self.scored(first);
        let count: usize = found.by_home.iter().map(Vec::len).sum();
        if count < FEW && self.needles.accept_beginnings() | !then.is_empty() {
            return self.scored(&[first, then].concat());
        }
        found
    }

    /// Finds and scores the texts that have words of the query, in these parts of the logs.
    fn scored(&self, parts: &[Part]) -> Candidates {
        let wanted = self.needles.wanted();
        let found = self.corpus();
        let found = found.map(|corpus| (corpus, corpus.look_up(&wanted, parts)));
        let mut counts = match &found {
            Some((_, found)) => found.counts.clone(),
            None => vec![0; wanted.len()],
        };
        let total = counts.iter().max().map_or(0, |most| *most as usize);
        let logs = self.corpus().into_iter().flat_map(Corpus::logs);
        let sizes = logs.flat_map(|log| parts.iter().map(move |part| log.text_bytes(*part)));
        let mut bytes: u64 = sizes.sum();
        let mut runs: Vec<Vec<HitCandidate>> = Vec::new();
        for (number, memory_text) in self.sources.memories.texts.iter().enumerate() {
            if self.request.scope == Scope::Messages || !allows_memory(self.filters, memory_text) {
                continue;
            }
            bytes += memory_text.text.len() as u64;
            let lines = self.memory_lines(number);
            for candidate in &lines {
                for (sum, count) in counts.iter_mut().zip(&candidate.passage.counts) {
                    *sum += u64::from(count.times > 0);
                }
            }
            runs.push(lines);
        }
        let rarity = Rarity::new(&counts, bytes);
        let mut is_full = false;
        if let Some((corpus, found)) = found {
            let filter = MessageFilter {
                logs: &self.logs,
                filters: self.filters,
            };
            let around = (FROM_BEFORE.len() as u32, FROM_AFTER.len() as u32);
            let found = corpus.rank(&found, filter, &rarity, (RANKED, around));
            is_full = found.iter().map(Vec::len).sum::<usize>() >= RANKED;
            let found = found.into_iter();
            runs.extend(found.map(|run| run.into_iter().map(HitCandidate::of).collect()));
        }
        let mut by_home = by_home(runs, &rarity);
        self.read_best(&mut by_home, &rarity);
        Candidates {
            by_home,
            total: if is_full { total } else { 0 },
        }
    }

    /// Returns the lines of a memory text, if it has a word of the query.
    fn memory_lines(&self, number: usize) -> Vec<HitCandidate> {
        let memory_text = &self.sources.memories.texts[number];
        let places = self.needles.places(&memory_text.text);
        if places.is_empty() {
            return Vec::new();
        }
        let mut from = 0;
        let lines = memory_text.lines().map(|(line, span)| {
            // Lines of structure are no passages.
            from += places[from..].partition_point(|place| place.at < span.start);
            let to = from + places[from..].partition_point(|place| place.at < span.end);
            let own = &places[from..to];
            from = to;
            let is_repeat = memory_text.is_repeat(span.start);
            HitCandidate {
                spot: Spot::Line(number, line),
                passage: Passage {
                    time: None,
                    words: words(&memory_text.text[span]).count() as u32,
                    counts: self.needles.counted(own),
                },
                has_phrase: false,
                score: 0.0,
                line: line as u64,
                copy: None,
                copies: 0,
                worth: if is_repeat { REPEAT } else { 1.0 },
            }
        });
        lines.collect()
    }

    /// Reads the best of the texts: what is near each other in them, questions and phrases change
    /// their scores.
    fn read_best(&self, homes: &mut [Vec<HitCandidate>], rarity: &Rarity) {
        let mut best: Vec<&mut HitCandidate> = homes.iter_mut().flatten().collect();
        best.sort_by(|a, b| b.score.total_cmp(&a.score));
        best.truncate(READ);
        let is_read = |candidate: &HitCandidate| {
            self.text(candidate.spot, |text| {
                let places = self.needles.places(text);
                let near = nearness(text, &places, self.needles.all.len());
                let near = rarity.nearness(&near);
                let has_phrase = self.phrase.find(text).is_some_and(|(_, is_whole)| is_whole);
                let score = question_weight(text) * (candidate.score + candidate.worth * near);
                let has_phrases = self.needles.has_phrases(text);
                has_phrases.then_some((score, has_phrase))
            })
        };
        for candidate in best {
            match is_read(candidate).flatten() {
                Some((score, has_phrase)) => {
                    candidate.score = score;
                    candidate.has_phrase = has_phrase;
                }
                None => candidate.score = f32::NEG_INFINITY,
            }
        }
        for home in homes {
            home.retain(|candidate| candidate.score > 0.0);
            home.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.line.cmp(&b.line)));
        }
    }

    /// Passes the text of a line or a message to `read`; `None` if it is damaged or left out.
    fn text<T>(&self, spot: Spot, read: impl FnOnce(&str) -> T) -> Option<T> {
        match spot {
            Spot::Line(number, line) => Some(read(self.memory_line(number, line))),
            Spot::Message(_, at) => {
                let corpus = self.sources.corpus?;
                let text = corpus.message(at, |message| {
                    let is_left_out =
                        message.session.is_some() && message.session == self.request.without;
                    (!is_left_out).then(|| read(message.text))
                });
                text.flatten()
            }
        }
    }

    /// Returns a line of a memory text.
    fn memory_line(&self, memory_text: usize, line: usize) -> &'a str {
        let memory_text = &self.sources.memories.texts[memory_text];
        let mut lines = memory_text.lines();
        let found = lines.find(|(number, _)| *number == line);
        found.map_or("", |(_, span)| &memory_text.text[span])
    }

    fn to_hit(&self, candidate: &HitCandidate) -> Option<Hit> {
        let shown = |text: &str| {
            let phrase = self.phrase.find(text).map(|(at, _)| at);
            let first = || self.needles.places(text).first().map(|place| place.at);
            let at = phrase.or_else(first).unwrap_or(0);
            (snippet::around(text, at), candidate.score)
        };
        match candidate.spot {
            Spot::Line(number, line) => {
                let text = shown(self.memory_line(number, line));
                let memory_text = &self.sources.memories.texts[number];
                Some(self.sources.line(memory_text, line, text))
            }
            Spot::Message(log, at) => {
                let corpus = self.sources.corpus?;
                let log = corpus.log(log)?;
                corpus.message(at, |message| {
                    let mut hit = self.sources.message(log, message, shown(message.text));
                    hit.copies = candidate.copies;
                    hit
                })
            }
        }
    }
}

impl HitCandidate {
    fn of(message: RankedMessage) -> Self {
        let (kind, origin) = message.marks;
        Self {
            spot: Spot::Message(message.log, message.at),
            passage: Passage {
                time: message.time,
                words: message.words,
                counts: message.counts,
            },
            has_phrase: false,
            score: if message.is_admitted {
                0.0
            } else {
                f32::NEG_INFINITY
            },
            line: message.line,
            copy: message.identity.map(|id| (id, kind, message.words)),
            copies: 0,
            worth: speech_weight(kind, origin),
        }
    }

    fn source(&self) -> HitSource {
        match self.spot {
            Spot::Line(..) => HitSource::Detail,
            Spot::Message(..) => HitSource::Messages,
        }
    }
}

/// Sorts the candidates, best first. Of equal ones memories go first, then what is newer, then what is
/// listed first.
fn sort(candidates: &mut [HitCandidate]) {
    candidates.sort_by(|a, b| {
        b.has_phrase
            .cmp(&a.has_phrase)
            .then(b.score.total_cmp(&a.score))
            .then_with(|| a.source().cmp(&b.source()))
            .then_with(|| b.passage.time.cmp(&a.passage.time))
            .then_with(|| a.spot.home().cmp(&b.spot.home()))
            .then_with(|| a.line.cmp(&b.line))
    });
}

/// Scores the candidates, which are in runs of neighbours, and returns the hits of each memory and log,
/// best first.
fn by_home(runs: Vec<Vec<HitCandidate>>, rarity: &Rarity) -> Vec<Vec<HitCandidate>> {
    let mut homes: BTreeMap<Home, Vec<Vec<HitCandidate>>> = BTreeMap::new();
    for run in runs {
        if let Some(first) = run.first() {
            homes.entry(first.spot.home()).or_default().push(run);
        }
    }
    let scored = homes.into_values().map(|runs| {
        let passages = runs
            .iter()
            .map(|run| run.iter().map(|one| &one.passage).collect());
        let scores = rarity.scores(&passages.collect::<Vec<Vec<&Passage>>>());
        let all = runs.into_iter().flatten().zip(scores.into_iter().flatten());
        let scored = all.map(|(candidate, score)| HitCandidate {
            score: (candidate.score + score) * candidate.worth,
            ..candidate
        });
        let mut hits: Vec<HitCandidate> = scored.filter(|hit| hit.score > 0.0).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.line.cmp(&b.line)));
        // Of one record there is one hit.
        let mut lines = HashSet::new();
        hits.retain(|hit| lines.insert(hit.line));
        hits
    });
    scored.filter(|hits| !hits.is_empty()).collect()
}

/// Returns the candidates, which are sorted, without messages that are copies of better ones. When a
/// message of a session is dropped, its next best takes that rank.
fn without_copies(sorted: Vec<HitCandidate>) -> Vec<HitCandidate> {
    let places = sorted
        .iter()
        .map(|one| (one.spot.home(), one.has_phrase, one.score));
    let places: Vec<(Home, bool, f32)> = places.collect();
    let mut waiting: HashMap<Home, VecDeque<HitCandidate>> = HashMap::new();
    for candidate in sorted {
        let home = waiting.entry(candidate.spot.home()).or_default();
        home.push_back(candidate);
    }
    let mut kept: Vec<HitCandidate> = Vec::with_capacity(places.len());
    let mut known: HashMap<CopyKey, usize> = HashMap::new();
    for (home, has_phrase, score) in places {
        let waiting = waiting.entry(home).or_default();
        // A message without the phrase does not take the place of one with it.
        while waiting
            .front()
            .is_some_and(|next| next.has_phrase == has_phrase)
            && let Some(next) = waiting.pop_front()
        {
            let first = next
                .copy
                .map(|copy| *known.entry(copy).or_insert(kept.len()));
            match first.filter(|first| *first < kept.len()) {
                Some(first) => kept[first].copies += 1,
                None => {
                    kept.push(HitCandidate { score, ..next });
                    break;
                }
            }
        }
    }
    kept
}

/// Moves the first candidate of the second source to the second place, if it is behind it.
fn both_sources_first(candidates: &mut [HitCandidate]) {
    let Some(first) = candidates.first().map(HitCandidate::source) else {
        return;
    };
    let other = candidates
        .iter()
        .position(|candidate| candidate.source() != first);
    if let Some(other) = other {
        candidates[1..=other].rotate_right(1);
    }
}

/// Returns the weight of a text as an answer.
fn question_weight(text: &str) -> f32 {
    if is_question(text) { QUESTION } else { 1.0 }
}

/// Returns a weight: messages and calls count more than thinking, notices, injected text and
/// what tools returned.
fn speech_weight(kind: MessageKind, origin: Origin) -> f32 {
    match (origin, kind) {
        (Origin::Injected, _) => 0.7,
        (_, MessageKind::ToolResult) => 0.5,
        (_, MessageKind::Thinking | MessageKind::Notice) => 0.75,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::search::query::noon;

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
                without: None,
            },
        )
    }

    fn cited(home: &TestHome, query: &str) -> Vec<String> {
        let answer = request(home, query, (Scope::All, 50));
        let cited = answer.hits.iter().map(|hit| hit.citation.to_string());
        cited.collect()
    }

    #[test]
    fn a_word_is_found_whole_first_and_its_forms_and_what_begins_like_it_if_there_is_little() {
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
        let found = cited(&home, "auth");
        assert_eq!(found.len(), 6, "{found:?}");
        let whole = [
            "detail/a.md#L1",
            "detail/a.md#L4",
            "messages.jsonl#L1",
            "messages.jsonl#L4",
        ];
        assert!(
            whole
                .iter()
                .all(|hit| found[..4].contains(&(*hit).to_owned())),
            "{found:?}"
        );
        assert_eq!(cited(&home, "\"auth flow\""), ["messages.jsonl#L1"]);
        assert_eq!(cited(&home, "absent"), Vec::<String>::new());
    }

    #[test]
    fn every_line_of_a_memory_that_has_the_word_is_a_hit() {
        let note = "# Deploy\n\nquokka one\nother\nquokka two\n\nquokka three\n";
        let home = TestHome::new(&[("a.md", note), ("b.md", "one quokka here\n")], &[]);
        let found = cited(&home, "quokka");
        assert_eq!(found.len(), 4, "{found:?}");
        let first: HashSet<&str> = found[..2].iter().map(|hit| &hit[..11]).collect();
        assert_eq!(
            first.len(),
            2,
            "both memories are among the first: {found:?}"
        );
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
        assert_eq!(sources(0), sources(DEFAULT_LIMIT));
        assert_eq!(request(&home, "retry", (Scope::Messages, 9)).hits.len(), 1);
        assert_eq!(request(&home, "retry", (Scope::Detail, 9)).hits.len(), 3);
    }

    #[test]
    fn an_answer_earns_from_its_question_and_a_text_without_any_of_the_words_is_no_hit() {
        let mut talk = conversation(&[
            "staging is slow today",
            "hi there",
            "Which database do we deploy to staging?",
            "Postgres fifteen on staging.",
            "Thanks.",
        ]);
        talk.extend((0..30).map(|n| format!("filler number {n} about the weather")));
        let home = TestHome::new(
            &[(
                "a.md",
                "# Postgres\n\n<!-- META:\n- type: staging\n-->\n\nnone\n",
            )],
            &[talk],
        );
        let cited = cited(&home, "what database is deployed on staging");
        assert_eq!(
            cited,
            [
                "messages.jsonl#L3",
                "messages.jsonl#L4",
                "messages.jsonl#L1"
            ]
        );
    }

    /// The records of a session in which an agent calls a tool and reads its result.
    fn calls(call: &str, result: &str) -> String {
        let record = |role: &str, content: serde_json::Value| {
            let message = serde_json::json!({"role": role, "content": content});
            serde_json::json!({"type": "message", "id": format!("{role} of {call}"), "timestamp": 9, "message": message})
                .to_string()
        };
        let call = serde_json::json!([{"type": "toolCall", "name": "bash", "arguments": {"command": call}}]);
        let result = serde_json::json!([{"type": "text", "text": result}]);
        format!(
            "{}\n{}\n",
            record("assistant", call),
            record("toolResult", result)
        )
    }

    #[test]
    fn what_an_agent_did_is_found_and_what_it_read_only_if_little_else_is() {
        let home = TestHome::new(&[], &[conversation(&["hello"])]);
        home.write(
            "s1/messages.jsonl",
            &calls("git commit -m 'rotate tokens'", "ok"),
        );
        home.write("s2/messages.jsonl", &calls("git log", "rotate tokens"));
        let found = |query: &str| -> Vec<String> {
            let answer = request(&home, query, (Scope::Messages, 9));
            let place =
                |hit: &Hit| format!("{}#{}", hit.session.as_deref().unwrap_or(""), hit.line);
            answer.hits.iter().map(place).collect()
        };
        assert_eq!(found("rotate tokens"), ["s1#1", "s2#2"]);
        assert_eq!(found("tokens"), ["s1#1", "s2#2"]);
        for number in 3..8 {
            let path = format!("s{number}/messages.jsonl");
            home.write(&path, &calls(&format!("rotate all tokens {number}"), "ok"));
        }
        for query in ["rotate tokens", "tokens"] {
            let found = found(query);
            assert!(
                found.len() == 6 && !found.contains(&"s2#2".to_owned()),
                "{found:?}"
            );
        }
    }

    #[test]
    fn sessions_are_ranked_as_wholes_and_the_running_one_can_be_left_out() {
        let home = TestHome::new(
            &[],
            &[
                conversation(&["rotate the tokens", "fine", "more"]),
                conversation(&["rotate tokens", "the tokens rotate", "we rotate tokens"]),
                conversation(&["nothing of it"]),
            ],
        );
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let query = Query::of_prose("rotate tokens", &noon());
        let request = |without| RecallRequest {
            query: &query,
            scope: Scope::All,
            limit: 9,
            without,
        };
        let found = |without, allows: &dyn Fn(usize) -> bool| -> Vec<String> {
            let sessions = sessions(sources, request(without), allows);
            let ids = sessions.into_iter().filter_map(|hit| hit.best.session);
            ids.collect()
        };
        assert_eq!(found(None, &|_| true), ["s1", "s0"]);
        assert_eq!(found(Some("s1"), &|_| true), ["s0"]);
        assert_eq!(found(None, &|log| log != 0), ["s1"]);
        let hits = recall(sources, request(Some("s1"))).hits;
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.session.as_deref() == Some("s0")));
    }

    #[test]
    fn a_longer_list_begins_with_a_shorter_one() {
        let notes: Vec<(String, String)> = (0..4)
            .map(|n| (format!("n{n}.md"), "retry the deploy\n".repeat(n + 1)))
            .collect();
        let notes: Vec<(&str, &str)> = notes
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        let talk = |n: usize| -> Vec<String> {
            (0..n)
                .map(|m| format!("retry {} deploy {m}", "x ".repeat(m)))
                .collect()
        };
        let home = TestHome::new(&notes, &[talk(3), talk(2)]);
        for query in ["retry the deploy", "retry"] {
            let cited = |limit: usize| -> Vec<String> {
                let answer = request(&home, query, (Scope::All, limit));
                assert_eq!(answer.total, 15, "{query}");
                answer
                    .hits
                    .iter()
                    .map(|hit| format!("{}{}", hit.citation, hit.path))
                    .collect()
            };
            let all = cited(100);
            assert_eq!(all.len(), 15, "{all:?}");
            for limit in 1..15 {
                assert_eq!(cited(limit), all[..limit]);
            }
        }
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
        let files = walkdir::WalkDir::new(home.path("cache"))
            .into_iter()
            .flatten();
        for entry in files.filter(|entry| entry.file_type().is_file()) {
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
}
