//! Fuzzy search while the user types: lines of memories and logs with the letters of the query.
//!
//! `matcher` tests every line, which is cheap and decides what matches; the most promising
//! matches are ranked by nucleo, whose order users know. Lines are not copied: they are read
//! from the mapped corpus.
//!
//! Blocks are searched in waves. After each wave the watcher receives the matches so far, and
//! may cancel the search. A query that narrows the last one searches only the messages that
//! the last one matched.

mod excerpt;
mod matcher;

use std::cmp::Reverse;

use nucleo::pattern::Atom as Pattern;
use nucleo::{Config, Matcher, Utf32Str};

use super::blocks::OpenBlocks;
use super::{Hit, HitSource, Sources, allowed_logs, allows_memory, on_all_cores, snippet};
use crate::core::corpus::{Corpus, CorpusMessage, Part};
use crate::core::query::{Polarity, Query, SearchArea};

use excerpt::match_offset;
use matcher::{LineMatcher, pattern};

/// The query and options of a search.
#[derive(Debug, Clone, Copy)]
pub struct FindRequest<'a> {
    /// The query.
    pub query: &'a Query,
    /// The maximum number of matches.
    pub limit: usize,
}

/// Receives partial results of a search, and may cancel it; called on the searching threads.
pub trait SearchWatcher: Sync {
    /// Returns whether the search is cancelled, because its result is not needed any more.
    fn is_stale(&self) -> bool {
        false
    }

    /// Receives the matches found so far.
    fn partial(&self, _found: &Matches) {}
}

impl SearchWatcher for () {}

/// The progress of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchState {
    /// The search is running.
    Looking,
    /// The search was cancelled.
    Stale,
    /// Everything was searched.
    Complete,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The best matches, best first.
    pub matches: Vec<Match>,
    /// The number of matching lines.
    pub total: usize,
    /// The progress of the search.
    pub progress: SearchState,
    query: Query,
    /// The messages that matched; `None` if there are too many to remember.
    messages: Option<Vec<(Part, u32, u32)>>,
    /// The parts that were searched; tool text only if the words gave no match.
    parts: Vec<Part>,
}

/// A line that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// The score, in nucleo's scale.
    pub score: u32,
    /// The position of the line.
    pub spot: MatchSpot,
}

/// The position of a matching line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchSpot {
    /// The title of the memory with this index.
    Title(usize),
    /// The index of the memory, and the line from 1.
    Line(usize, usize),
    /// A line of a message.
    Message {
        /// Words or tool text.
        part: Part,
        /// The block's number.
        block: u32,
        /// The message's number in the block.
        number: u32,
        /// The byte offset of the line in the message's text.
        offset: u32,
    },
}

/// The quick score and position of a line that may be among the best.
type Promising = (u32, MatchSpot);

/// The maximum number of lines that nucleo ranks.
const MOST_RANKED: usize = 2000;
/// The maximum number of messages that are remembered for the next query.
const REMEMBERED: usize = 200_000;
/// The maximum number of bytes of a line that nucleo ranks.
const SHOWN: usize = 2048;

/// Finds the matching lines; `last` is the result of the previous query on the same sources.
pub fn find(
    sources: Sources<'_>,
    request: FindRequest<'_>,
    last: Option<&Matches>,
    watch: &dyn SearchWatcher,
) -> Matches {
    let mut search = Search::new(sources, request);
    search.search_memories();
    let usable = last
        .filter(|last| last.progress == SearchState::Complete && request.query.narrows(&last.query))
        .and_then(|last| Some((last.messages.as_ref()?, &last.parts)));
    let filters = &request.query.filters;
    if let Some((messages, parts)) = usable {
        search.parts.clone_from(parts);
        search.search_last_matches(messages, watch);
    } else {
        if filters.wants(SearchArea::Logs) {
            search.search_logs(Part::Words, watch);
        }
        if filters.wants(SearchArea::Tools) {
            search.search_tools(watch);
        }
    }
    let is_last_hope = filters.areas.is_empty() && search.found.total == 0;
    if is_last_hope && !search.parts.contains(&Part::Results) {
        search.search_tools(watch);
    }
    search.finish()
}

/// Returns the text of the matching line.
pub fn line(sources: Sources<'_>, spot: MatchSpot) -> Option<&str> {
    line_on(&OpenBlocks::new(sources.corpus), sources, spot)
}

fn line_on<'a>(pages: &OpenBlocks<'a>, sources: Sources<'a>, spot: MatchSpot) -> Option<&'a str> {
    match spot {
        MatchSpot::Title(memory_text) => {
            Some(&sources.memories.texts.get(memory_text)?.memory.title)
        }
        MatchSpot::Line(memory_text, line) => {
            let memory_text = sources.memories.texts.get(memory_text)?;
            let (_, span) = memory_text.lines().find(|(number, _)| *number == line)?;
            memory_text.text.get(span)
        }
        MatchSpot::Message { offset, .. } => {
            let text = message(pages, spot)?.text.get(offset as usize..)?;
            text.lines().next()
        }
    }
}

/// Returns the indices of the characters of a line that the query matches, for highlighting.
pub fn indices(query: &Query, line: &str) -> Vec<u32> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut chars = Vec::new();
    let mut found = Vec::new();
    for pattern in patterns(query) {
        pattern.indices(Utf32Str::new(line, &mut chars), &mut matcher, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the hit for a match, with the text around it.
pub fn hit(sources: Sources<'_>, query: &Query, found: &Match) -> Option<Hit> {
    let whole = line(sources, found.spot)?;
    // The text begins at the start of the line, unless the match is further behind.
    let at = match whole.len() > snippet::LONGEST {
        true => match_offset(query, whole),
        false => 0,
    };
    let text = (snippet::around(whole, at), found.score as f32);
    match found.spot {
        MatchSpot::Title(memory_text) => {
            Some(sources.line(sources.memories.texts.get(memory_text)?, 1, text))
        }
        MatchSpot::Line(memory_text, line) => {
            Some(sources.line(sources.memories.texts.get(memory_text)?, line, text))
        }
        MatchSpot::Message { .. } => {
            let message = message(&OpenBlocks::new(sources.corpus), found.spot)?;
            let log = sources.corpus?.log(message.log)?;
            Some(sources.message(log, &message, text))
        }
    }
}

fn message<'a>(pages: &OpenBlocks<'a>, spot: MatchSpot) -> Option<CorpusMessage<'a>> {
    let MatchSpot::Message {
        part,
        block,
        number,
        ..
    } = spot
    else {
        return None;
    };
    pages.message(part, (block as usize, number as usize))
}

/// Returns the patterns that nucleo ranks by.
fn patterns(query: &Query) -> Vec<Pattern> {
    let wanted = query
        .atoms
        .iter()
        .filter(|atom| atom.sense == Polarity::Wanted);
    wanted.map(pattern).collect()
}

struct Search<'a> {
    sources: Sources<'a>,
    request: FindRequest<'a>,
    quick: LineMatcher,
    logs: Vec<bool>,
    promising: Vec<Promising>,
    parts: Vec<Part>,
    found: Matches,
}

/// The matches in one block.
#[derive(Default)]
struct BlockMatches {
    promising: Vec<Promising>,
    messages: Vec<(Part, u32, u32)>,
    total: usize,
}

impl<'a> Search<'a> {
    fn new(sources: Sources<'a>, request: FindRequest<'a>) -> Self {
        Self {
            sources,
            request,
            quick: LineMatcher::new(request.query),
            logs: allowed_logs(&request.query.filters, sources),
            promising: Vec::new(),
            parts: Vec::new(),
            found: Matches {
                matches: Vec::new(),
                total: 0,
                progress: SearchState::Looking,
                query: request.query.clone(),
                messages: Some(Vec::new()),
                parts: Vec::new(),
            },
        }
    }

    fn search_memories(&mut self) {
        let filters = &self.request.query.filters;
        for (number, memory_text) in self.sources.memories.texts.iter().enumerate() {
            if !allows_memory(filters, memory_text) {
                continue;
            }
            let mut take = |text: &str, spot: MatchSpot| {
                if let Some(score) = self.quick.score(text) {
                    self.promising.push((score, spot));
                    self.found.total += 1;
                }
            };
            take(&memory_text.memory.title, MatchSpot::Title(number));
            for (line, span) in memory_text.lines() {
                take(&memory_text.text[span], MatchSpot::Line(number, line));
            }
        }
    }

    /// Searches the calls and the results of tools.
    fn search_tools(&mut self, watch: &dyn SearchWatcher) {
        for part in [Part::Calls, Part::Results] {
            self.search_logs(part, watch);
        }
    }

    /// Searches every message of a part, wave by wave.
    fn search_logs(&mut self, part: Part, watch: &dyn SearchWatcher) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        if !self.quick.is_worth_a_scan() {
            // A search that was skipped cannot be narrowed.
            self.found.messages = None;
            return;
        }
        self.parts.push(part);
        let count = corpus.blocks(part).len();
        let mut from = 0;
        // The first wave is small, so that the first results appear soon.
        let mut wave = 64;
        while from < count {
            let to = count.min(from + wave);
            let matches = on_all_cores(to - from, |at| {
                if watch.is_stale() {
                    return BlockMatches::default();
                }
                self.block(corpus, part, from + at)
            });
            self.take(matches);
            corpus.release(part, from..to);
            if self.is_abandoned(watch) {
                return;
            }
            from = to;
            wave = (wave * 4).min(4096);
            if from < count {
                self.rank();
                watch.partial(&self.found);
            }
        }
    }

    /// Searches the messages that the last query matched.
    fn search_last_matches(&mut self, messages: &[(Part, u32, u32)], watch: &dyn SearchWatcher) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        const TOGETHER: usize = 4096;
        let chunks: Vec<&[(Part, u32, u32)]> = messages.chunks(TOGETHER).collect();
        let matches = on_all_cores(chunks.len(), |at| {
            let mut matches = BlockMatches::default();
            let mut open = None;
            for (part, block, number) in chunks[at] {
                if open.is_none_or(|(key, _)| key != (*part, *block)) {
                    if watch.is_stale() {
                        break;
                    }
                    let read = || corpus.block(*part, *block as usize)?.read();
                    open = Some(((*part, *block), read()));
                }
                let content = open.and_then(|(_, content)| content);
                if let Some(message) = content.and_then(|c| c.message(*number as usize)) {
                    self.message((*part, *block, *number), &message, &mut matches);
                }
            }
            matches
        });
        self.take(matches);
        self.is_abandoned(watch);
    }

    fn block(&self, corpus: &Corpus, part: Part, number: usize) -> BlockMatches {
        let mut matches = BlockMatches::default();
        let Some(content) = corpus.block(part, number).and_then(|block| block.read()) else {
            return matches;
        };
        for (at, message) in content.messages() {
            self.message((part, number as u32, at as u32), &message, &mut matches);
        }
        keep_best(&mut matches.promising);
        matches
    }

    /// Tests every line of a message.
    fn message(
        &self,
        at: (Part, u32, u32),
        message: &CorpusMessage<'_>,
        matches: &mut BlockMatches,
    ) {
        let filters = &self.request.query.filters;
        let is_allowed = self.logs.get(message.log).copied().unwrap_or(false)
            && filters.allows_role(message.role)
            && filters.allows_time(message.time);
        if !is_allowed {
            return;
        }
        let before = matches.total;
        let mut offset = 0;
        let (part, block, number) = at;
        while offset < message.text.len() {
            let rest = &message.text[offset..];
            let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            if let Some(score) = self.quick.score(&rest[..length]) {
                let spot = MatchSpot::Message {
                    part,
                    block,
                    number,
                    offset: offset as u32,
                };
                matches.promising.push((score, spot));
                matches.total += 1;
            }
            offset += length + 1;
        }
        if matches.total > before {
            matches.messages.push(at);
        }
    }

    fn take(&mut self, matches: Vec<BlockMatches>) {
        for matches in matches {
            self.found.total += matches.total;
            self.promising.extend(matches.promising);
            if let Some(messages) = &mut self.found.messages {
                messages.extend(matches.messages);
                if messages.len() > REMEMBERED {
                    self.found.messages = None;
                }
            }
            if self.promising.len() > 8 * MOST_RANKED {
                keep_best(&mut self.promising);
            }
        }
    }

    fn is_abandoned(&mut self, watch: &dyn SearchWatcher) -> bool {
        let is_stale = watch.is_stale();
        if is_stale {
            self.found.progress = SearchState::Stale;
        }
        is_stale
    }

    /// Ranks the most promising lines with nucleo.
    fn rank(&mut self) {
        keep_best(&mut self.promising);
        // Neighbours are ranked together, so that few blocks are opened twice.
        self.promising.sort_unstable_by_key(|(_, spot)| *spot);
        let patterns = patterns(self.request.query);
        const TOGETHER: usize = 250;
        let chunks: Vec<&[Promising]> = self.promising.chunks(TOGETHER).collect();
        let ranked = on_all_cores(chunks.len(), |at| {
            let mut matcher = Matcher::new(Config::DEFAULT);
            let pages = OpenBlocks::new(self.sources.corpus);
            let mut chars = Vec::new();
            let scored = chunks[at].iter().filter_map(|(_, spot)| {
                let text = line_on(&pages, self.sources, *spot)?;
                let text = snippet::begin(text, SHOWN);
                let mut score = 0_u32;
                for pattern in &patterns {
                    // A match behind the ranked part of the line counts for little.
                    let one = pattern.score(Utf32Str::new(text, &mut chars), &mut matcher);
                    score += u32::from(one.unwrap_or(1));
                }
                Some(Match { score, spot: *spot })
            });
            scored.collect::<Vec<Match>>()
        });
        let mut matches: Vec<Match> = ranked.into_iter().flatten().collect();
        matches.sort_by_key(|found| (Reverse(found.score), source(found.spot), found.spot));
        // Compared with lines that have the whole words, scattered letters are noise.
        let best = matches.first().map_or(0, |found| found.score);
        matches.retain(|found| found.score * 2 >= best);
        matches.truncate(self.request.limit);
        self.found.matches = matches;
    }

    fn finish(mut self) -> Matches {
        self.rank();
        if self.found.progress == SearchState::Looking {
            self.found.progress = SearchState::Complete;
        }
        self.found.parts = self.parts;
        self.found
    }
}

fn source(spot: MatchSpot) -> HitSource {
    match spot {
        MatchSpot::Title(_) | MatchSpot::Line(..) => HitSource::Detail,
        MatchSpot::Message { .. } => HitSource::Messages,
    }
}

fn keep_best(promising: &mut Vec<Promising>) {
    if promising.len() > MOST_RANKED {
        promising.select_nth_unstable_by_key(MOST_RANKED, |(score, spot)| (Reverse(*score), *spot));
        promising.truncate(MOST_RANKED);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::query::noon;

    fn query(text: &str) -> Query {
        Query::parse(text, &noon()).expect("a query")
    }

    /// Returns the matches of the last query, where each search gets the result before it.
    fn texts(home: &TestHome, queries: &[&str]) -> Vec<String> {
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let mut last: Option<Matches> = None;
        for text in queries {
            let query = query(text);
            let request = FindRequest {
                query: &query,
                limit: 50,
            };
            last = Some(find(sources, request, last.as_ref(), &()));
        }
        let found = last.expect("a query was asked");
        let found_query = query(queries.last().expect("a query was asked"));
        assert_eq!(found.progress, SearchState::Complete);
        let hits = found
            .matches
            .iter()
            .filter_map(|found| hit(sources, &found_query, found));
        hits.map(|hit| format!("{} {}", hit.citation, hit.text))
            .collect()
    }

    fn house() -> TestHome {
        TestHome::new(
            &[("note.md", "# Tokio runtime\n\nuse one runtime\n")],
            &[conversation(&[
                "first line\nthe tokio runtime is here",
                "time to look out",
                "Tokio RT",
            ])],
        )
    }

    #[test]
    fn lines_of_memories_and_logs_are_found_with_where_they_are() {
        assert_eq!(
            texts(&house(), &["tokio"]),
            [
                "detail/note.md#L1 Tokio runtime",
                "detail/note.md#L1 # Tokio runtime",
                "messages.jsonl#L1 the tokio runtime is here",
                "messages.jsonl#L3 Tokio RT",
            ]
        );
        assert_eq!(
            texts(&house(), &["Tokio role:user"]),
            ["messages.jsonl#L3 Tokio RT"]
        );
        assert_eq!(
            texts(&house(), &["runtime in:memories ^use"]),
            ["detail/note.md#L3 use one runtime"]
        );
    }

    #[test]
    fn a_query_typed_on_gives_what_it_gives_at_once() {
        for typed in [
            &["to", "tok", "toki rt"][..],
            &["t", "ti", "!x ti"],
            &["tokio", "tok"],
            &["tok", "tokzz"],
        ] {
            let at_once = &typed[typed.len() - 1..];
            assert_eq!(
                texts(&house(), typed),
                texts(&house(), at_once),
                "{typed:?}"
            );
        }
    }

    #[test]
    fn tool_text_joins_when_it_is_asked_for_or_the_words_give_nothing() {
        let home = TestHome::new(&[("a.md", "x")], &[]);
        home.write(
            "s0/messages.jsonl",
            "{\"role\":\"user\",\"content\":\"plain words\"}\n{\"role\":\"tool\",\"name\":\"ls\",\"content\":\"plain output\"}\n",
        );
        assert_eq!(
            texts(&home, &["output"]),
            ["messages.jsonl#L2 plain output"]
        );
        assert_eq!(texts(&home, &["plain"]), ["messages.jsonl#L1 plain words"]);
        assert_eq!(
            texts(&home, &["plain in:tools"]),
            ["messages.jsonl#L2 plain output"]
        );
    }

    #[test]
    fn the_letters_that_match_are_known_for_a_row() {
        assert_eq!(indices(&query("tki"), "the tokio"), [4, 6, 7]);
        assert_eq!(indices(&query("\"ok\" !zz"), "the tokio"), [5, 6]);
    }

    /// Records the partial results, and cancels after `patience` of them.
    struct Watcher {
        totals: Mutex<Vec<usize>>,
        patience: usize,
    }

    impl SearchWatcher for Watcher {
        fn is_stale(&self) -> bool {
            self.totals
                .lock()
                .is_ok_and(|totals| totals.len() >= self.patience)
        }

        fn partial(&self, found: &Matches) {
            assert_eq!(found.progress, SearchState::Looking);
            if let Ok(mut totals) = self.totals.lock() {
                totals.push(found.total);
            }
        }
    }

    #[test]
    fn the_excerpt_of_a_long_line_shows_the_match() {
        let far = format!(
            "{}the needle is vivid {}",
            "n e e d l e ".repeat(900),
            "z ".repeat(900)
        );
        let both = format!("needle {} the thread of the needle", "x ".repeat(3000));
        let home = TestHome::new(&[], &[vec![far, both]]);
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        for (text, shown) in [
            ("needle vivid", "needle is vivid"),
            ("needle thread", "thread of the needle"),
        ] {
            let query = Query::parse(text, &noon()).expect("a query");
            let request = FindRequest {
                query: &query,
                limit: 1,
            };
            let found = find(sources, request, None, &());
            let hit = hit(sources, &query, &found.matches[0]).expect("a hit");
            assert!(hit.text.contains(shown), "{}", hit.text);
        }
    }

    #[test]
    fn a_long_search_tells_what_it_has_and_stops_when_nobody_waits() {
        let long = "a needle in it ".repeat(70);
        let talk: Vec<String> = (0..6000).map(|n| format!("{n} {long}")).collect();
        let home = TestHome::new(&[("a.md", "x")], &[talk]);
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let query = query("needle");
        let run = |patience| {
            let watcher = Watcher {
                totals: Mutex::default(),
                patience,
            };
            let request = FindRequest {
                query: &query,
                limit: 5,
            };
            let found = find(sources, request, None, &watcher);
            (found, watcher.totals.into_inner().expect("nobody panicked"))
        };
        let (found, totals) = run(usize::MAX);
        assert_eq!((found.progress, found.total), (SearchState::Complete, 6000));
        assert!(!totals.is_empty() && totals.iter().all(|total| (1..6000).contains(total)));
        let (found, _) = run(1);
        assert_eq!(found.progress, SearchState::Stale);
        assert!(found.total < 6000);
    }
}
