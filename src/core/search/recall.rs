//! Recall: the memories and messages that match a question, best first.
//!
//! A query of one word, or of one phrase in quotation marks, returns exactly the memories and
//! messages that contain it, ignoring case. Any other query is ranked, see `score`: the best
//! texts are read, and those go first in which the words are near each other and in order. A
//! memory gives one hit, at its best line. Curated memories go before messages of equal score,
//! and the first two hits are of both sources if both have any. The order does not depend on
//! the limit, so that a longer list begins with a shorter one.

#[cfg(test)]
mod limited;
mod literal;
mod phrase;
mod pool;

use std::sync::OnceLock;

use super::candidate::{
    CandidatePlace, HitCandidate, both_sources_first, by_session, distinct, key,
};
use super::limits::Limits;
use super::needle::{Haystack, NeedleMatch, Needles};
use super::ranked::Holder;
use super::score::{session_score, session_scores};
use super::walker::MessagePosition;
use super::{Hit, Sources, allowed_logs, allows_memory, snippet};
use crate::core::corpus::{Corpus, CorpusMessage, Part};
use crate::core::log::Role;
use crate::core::query::{Filters, MatchMode, Query, SearchArea};
use crate::core::text::Stems;

use pool::{Candidates, POOL_SESSIONS};

/// The number of hits if none is requested.
pub const DEFAULT_LIMIT: usize = 5;

/// With fewer hits than this, the results of tools are searched too.
const FEW: usize = 5;
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
    /// How many memories and messages match.
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
    let search = Search::new(sources, request);
    match single_term(request.query) {
        Some(text) => search.exact(&text),
        None => search.ranked(),
    }
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
    limit: usize,
    filters: &'a Filters,
    /// The indices of the memory texts that the filters admit.
    texts: Vec<usize>,
    /// For each log, whether the filters admit it.
    logs: Vec<bool>,
    limits: Limits,
    /// The ranks of memory texts and of logs in the order of paths.
    ranks: (OnceLock<Vec<usize>>, OnceLock<Vec<usize>>),
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
            texts: texts.map(|(number, _)| number).collect(),
            logs,
            limits: Limits::default(),
            ranks: Default::default(),
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

    fn allows(&self, log: usize, (role, time): (Role, Option<i64>)) -> bool {
        self.logs.get(log).copied().unwrap_or(false)
            && self.filters.allows_role(role)
            && self.filters.allows_time(time)
    }

    fn allows_message(&self, message: &CorpusMessage<'_>) -> bool {
        self.allows(message.log, (message.role, message.time)) && !self.is_left_out(message)
    }

    /// Returns whether either all messages of a log are allowed or none.
    fn allows_whole_logs(&self) -> bool {
        self.filters.admit_all_messages() && self.request.without.is_none()
    }

    /// Returns whether the message is of the session that is left out, in a log of several.
    fn is_left_out(&self, message: &CorpusMessage<'_>) -> bool {
        message.session.is_some() && message.session == self.request.without
    }

    fn ranked(&self) -> RecallResult {
        let Some(mut found) = self.candidates(self.limit, POOL_SESSIONS) else {
            return RecallResult::default();
        };
        for session in by_session(&mut found.all) {
            let own: Vec<f32> = session.iter().map(|candidate| candidate.score).collect();
            for (candidate, score) in session.iter_mut().zip(session_scores(&own)) {
                candidate.score = score;
            }
        }
        let Candidates {
            needles,
            phrase,
            all,
            more,
        } = found;
        let offset = |text: &str| {
            let places = places_of(&needles, text);
            let first = places.first().map(|place| place.at);
            let phrase = phrase.find(text, &places).map(|(at, _)| at);
            phrase.or(first).unwrap_or(0)
        };
        let (total, best) = self.best(all);
        RecallResult {
            total: total.max(more.unwrap_or(0)),
            hits: self.hits(&best, &offset),
        }
    }

    fn sessions(&self) -> Vec<SessionHit> {
        let Some(mut found) = self.candidates(0, POOL_SESSIONS.max(self.limit)) else {
            return Vec::new();
        };
        let mut best: Vec<HitCandidate> = Vec::new();
        for session in by_session(&mut found.all) {
            best.push(HitCandidate {
                tier: session.iter().any(|candidate| candidate.tier),
                score: session_score(session.iter().map(|candidate| candidate.score)),
                ..session[0]
            });
        }
        self.sort(&mut best);
        best.truncate(self.limit);
        let offset = |text: &str| {
            let places = places_of(&found.needles, text);
            places.first().map_or(0, |place| place.at)
        };
        let hits = best.iter().filter_map(|candidate| {
            let Holder::Log(log, _) = candidate.holder else {
                return None;
            };
            Some(SessionHit {
                log,
                score: candidate.score,
                best: self.to_hit(candidate, &offset)?,
            })
        });
        hits.collect()
    }

    /// Passes a message to `take`; `None` if it is not visible or damaged.
    fn message<T>(
        &self,
        part: Part,
        (block, number): MessagePosition,
        take: impl FnOnce(&CorpusMessage<'_>) -> T,
    ) -> Option<T> {
        self.sources
            .corpus?
            .block(part, block)?
            .message(number, take)
    }

    /// Returns a line of a memory text.
    fn memory_line(&self, memory_text: usize, line: usize) -> &'a str {
        let memory_text = &self.sources.memories.texts[memory_text];
        let mut lines = memory_text.lines();
        let found = lines.find(|(number, _)| *number == line);
        found.map_or("", |(_, span)| &memory_text.text[span])
    }

    /// Sorts the candidates, and removes duplicates and all but one line of each memory. Returns
    /// how many are left, and the first ones.
    fn best(&self, mut candidates: Vec<HitCandidate>) -> (usize, Vec<HitCandidate>) {
        self.sort(&mut candidates);
        self.first(&candidates)
    }

    /// Returns how many of the sorted candidates are distinct, and the first of those.
    fn first(&self, sorted: &[HitCandidate]) -> (usize, Vec<HitCandidate>) {
        let (total, mut candidates) = distinct(sorted, self.limit);
        both_sources_first(&mut candidates);
        candidates.truncate(self.limit);
        (total, candidates)
    }

    /// Builds the hits; `offset` finds the match in a text.
    fn hits(&self, candidates: &[HitCandidate], offset: &dyn Fn(&str) -> usize) -> Vec<Hit> {
        let hits = candidates.iter();
        hits.filter_map(|candidate| self.to_hit(candidate, offset))
            .collect()
    }

    /// Sorts the candidates, best first; path, line and position decide between equal scores.
    fn sort(&self, candidates: &mut Vec<HitCandidate>) {
        // There can be many, so only a part of their places is sorted first.
        let first = candidates.iter().map(|candidate| self.place(candidate).0);
        let mut places: Vec<(u64, u32)> = first.zip(0..).collect();
        // Those of one search come in runs that are in order, which a stable sort merges.
        places.sort_by_key(|(first, _)| *first);
        let sorted = places
            .iter()
            .map(|(_, number)| candidates[*number as usize]);
        *candidates = sorted.collect();
        let mut from = 0;
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            let same = from..from + same.len();
            from = same.end;
            candidates[same].sort_by_key(|candidate| self.place(candidate));
        }
    }

    /// Adds candidates to those that are sorted already.
    fn merge(&self, sorted: &mut Vec<HitCandidate>, mut others: Vec<HitCandidate>) {
        self.sort(&mut others);
        let mut merged = Vec::with_capacity(sorted.len() + others.len());
        let mut left = sorted.as_slice();
        for other in others {
            let place = self.place(&other);
            let before = left.partition_point(|candidate| self.place(candidate) <= place);
            merged.extend_from_slice(&left[..before]);
            merged.push(other);
            left = &left[before..];
        }
        merged.extend_from_slice(left);
        *sorted = merged;
    }

    fn place(&self, candidate: &HitCandidate) -> CandidatePlace {
        candidate.place(self.rank(candidate.holder))
    }

    /// Returns the rank of a holder in the order of paths; those of memories and of logs are not
    /// compared.
    fn rank(&self, holder: Holder) -> usize {
        let ranks = match holder {
            Holder::Memory(_) => self.ranks.0.get_or_init(|| {
                let texts = self.sources.memories.texts.iter();
                let paths = texts.map(|text| (text.store.as_str(), text.memory.path.as_str()));
                ranks_of(&paths.collect::<Vec<(&str, &str)>>())
            }),
            Holder::Log(..) => self.log_ranks(),
        };
        ranks.get(key(holder).1).copied().unwrap_or(usize::MAX)
    }

    /// Returns for each log its rank in the order of paths.
    fn log_ranks(&self) -> &[usize] {
        self.ranks.1.get_or_init(|| {
            let logs = self.sources.corpus.into_iter().flat_map(Corpus::logs);
            ranks_of(&logs.map(|log| log.path_bytes()).collect::<Vec<&[u8]>>())
        })
    }

    fn to_hit(&self, candidate: &HitCandidate, offset: &dyn Fn(&str) -> usize) -> Option<Hit> {
        let shown = |text: &str| {
            let at = candidate.offset.unwrap_or_else(|| offset(text));
            (snippet::around(text, at), candidate.score)
        };
        match candidate.holder {
            Holder::Memory(number) => {
                let text = shown(self.memory_line(number, candidate.at.1));
                let memory_text = &self.sources.memories.texts[number];
                Some(self.sources.line(memory_text, candidate.at.1, text))
            }
            Holder::Log(log, part) => {
                let log = self.sources.corpus?.log(log)?;
                self.message(part, candidate.at, |message| {
                    let mut hit = self.sources.message(log, message, shown(message.text));
                    hit.copies = candidate.copies;
                    hit
                })
            }
        }
    }
}

/// Returns the rank of each path. Several logs of one database share their path, and so their
/// rank.
fn ranks_of<T: Ord>(paths: &[T]) -> Vec<usize> {
    // Logs are listed by path, so that mostly each has to be compared with the next one only.
    let mut ranks = vec![0; paths.len()];
    let is_sorted = (1..paths.len()).all(|item| {
        let order = paths[item - 1].cmp(&paths[item]);
        ranks[item] = ranks[item - 1] + usize::from(order.is_lt());
        order.is_le()
    });
    if is_sorted {
        return ranks;
    }
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by(|a, b| paths[*a].cmp(&paths[*b]));
    let same = order.chunk_by(|a, b| paths[*a] == paths[*b]);
    for (rank, same) in same.enumerate() {
        same.iter().for_each(|item| ranks[*item] = rank);
    }
    ranks
}

/// Returns where a text has the words of the query, in its order.
fn places_of(needles: &Needles, text: &str) -> Vec<NeedleMatch> {
    let mut places = Vec::new();
    needles.find(Haystack::of_words(text), &mut Stems::default(), &mut places);
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::super::HitSource;
    use std::fs;
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::super::exact;
    use super::super::fixture::{TestHome, conversation};
    use super::super::needle;
    use super::super::score::{Conversations, PassageGroup, Rarity};
    use super::super::walker::passage_of_message;
    use super::pool::PROXIMITY;
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
    fn paths_are_ranked_whether_they_are_in_order_or_not() {
        assert_eq!(ranks_of(&["a", "a", "b", "c"]), [0, 0, 1, 2]);
        assert_eq!(ranks_of(&["b", "c", "a", "c"]), [1, 2, 0, 2]);
        assert!(ranks_of::<&str>(&[]).is_empty());
    }

    #[test]
    fn one_word_gives_exactly_the_memories_and_messages_that_have_it_whole_words_first() {
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
        assert_eq!(sources(0), sources(DEFAULT_LIMIT));
        assert_eq!(request(&home, "retry", (Scope::Messages, 9)).hits.len(), 1);
        assert_eq!(request(&home, "retry", (Scope::Detail, 9)).hits.len(), 1);
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
                assert_eq!(answer.total, 9, "{query}");
                answer
                    .hits
                    .iter()
                    .map(|hit| format!("{}{}", hit.citation, hit.path))
                    .collect()
            };
            let all = cited(100);
            assert_eq!(all.len(), 9, "{all:?}");
            for limit in 1..9 {
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

    /// The nearness of consecutive words, from all pairs of their places.
    fn naive_nearness(wanted: &[String], text: &str, rarity: &Rarity) -> f32 {
        let all: Vec<String> = words(text)
            .map(|w| stem(&fold(w.text)).into_owned())
            .collect();
        let places = |word: &String| -> Vec<usize> {
            (0..all.len()).filter(|at| all[*at] == stem(word)).collect()
        };
        let mut sum = 0.0;
        for (number, pair) in wanted.windows(2).enumerate() {
            let mut best: f32 = 0.0;
            for first in places(&pair[0]) {
                for second in places(&pair[1]) {
                    let steps = first.abs_diff(second);
                    best = best.max(match second > first {
                        _ if steps > 10 => 0.0,
                        true => 1.0 / steps as f32,
                        false => 0.75 / (steps + 1) as f32,
                    });
                }
            }
            sum += best * rarity.of(number).min(rarity.of(number + 1));
        }
        sum
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
        let mut logs = Vec::new();
        for (at, log) in home.logs().iter().enumerate() {
            let transcript = log::read(log).expect("readable");
            let mut stretch = PassageGroup::default();
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
                    identity: None,
                    tool: None,
                    session: None,
                };
                stretch
                    .passages
                    .push(passage_of_message((0, number), &borrowed));
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
            let texts = transcript.messages.into_iter();
            let texts = texts.map(|message| (message.line, message.text));
            let texts: Vec<(u64, String)> = texts.collect();
            logs.push((log.path.clone(), texts, stretch));
        }
        let bytes = corpus.logs().map(|log| log.text_bytes(Part::Words)).sum();
        let rarity = Rarity::new(&with, bytes);
        let mut all = Vec::new();
        for (path, texts, stretch) in logs {
            let mut found = Vec::new();
            let mut talks = Conversations::new(rarity.count());
            rarity.add(&stretch, &mut talks);
            rarity.score(&stretch, &talks, &mut found);
            for (score, spot) in &mut found {
                let text = &texts[spot.at.1].1;
                *score += PROXIMITY * spot.worth * naive_nearness(&wanted, text, &rarity);
            }
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.at.cmp(&b.1.at)));
            let own: Vec<f32> = found.iter().map(|(score, _)| *score).collect();
            let scored = found.iter().zip(session_scores(&own));
            all.extend(scored.map(|((_, spot), score)| (path.clone(), texts[spot.at.1].0, score)));
        }
        all.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_word_is_found_where_reading_everything_finds_it(
            logs in proptest::collection::vec(
                proptest::collection::vec("(auth|AUTH|my_auth|auths|[aá]uth|author|mauth|K|ſkin|[a-z]{1,5}|—|数)( (auth|auth_2|[áa]uthor|[a-z]{1,5}|é))?", 0..40),
                1..4,
            ),
            padding in 0usize..3,
            word in "auth|Auth|uth|author|áuth|skin|kin|thor|zzz",
            limit in 1usize..30,
        ) {
            let logs: Vec<Vec<String>> = logs
                .into_iter()
                .map(|mut log| {
                    // Enough for some logs to span several blocks.
                    for text in log.iter_mut().step_by(3) {
                        text.push_str(&" lorem ipsum".repeat(padding * 400));
                    }
                    log
                })
                .collect();
            let literal = needle::literal(&word).expect("it is short");
            let mut expected = Vec::new();
            for (number, log) in logs.iter().enumerate() {
                for (at, text) in log.iter().enumerate() {
                    if let Some((_, is_whole)) = exact::first(&literal, text) {
                        expected.push((!is_whole, format!("s{number}"), at as u64 + 1));
                    }
                }
            }
            expected.sort();
            let home = TestHome::new(&[], &logs);
            let answer = request(&home, &word, (Scope::Messages, limit));
            prop_assert_eq!(answer.total, expected.len());
            let found: Vec<(bool, String, u64)> = answer
                .hits
                .into_iter()
                .map(|hit| (hit.score < 2.0, hit.session.expect("a message has one"), hit.line))
                .collect();
            expected.truncate(limit);
            prop_assert_eq!(found, expected);
        }

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
