//! The scan of the memories and logs for one kind of match after another.

use super::matcher::LineMatcher;
use super::rank::{FIRST_RANKED, MOST_RANKED, Promising, keep_best};
use super::slip::{self, Correction, Vocabulary};
use super::term::{Term, TermMatcher};
use super::{
    Closeness, FindRequest, Match, MatchSpot, Matches, MessageAt, SearchState, SearchWatcher,
    wanted,
};
use crate::core::corpus::{BlockBytes, Corpus, CorpusMessage, Part};
use crate::core::query::SearchArea;
use crate::core::search::{Sources, allowed_logs, allows_memory, on_all_cores};

/// The maximum number of messages that are remembered for the next query.
const REMEMBERED: usize = 200_000;

/// A running search.
pub(super) struct Search<'a> {
    pub(super) sources: Sources<'a>,
    pub(super) request: FindRequest<'a>,
    watch: &'a dyn SearchWatcher,
    /// The test of every line; also the only one of a query without wanted words.
    lines: LineMatcher,
    logs: Vec<bool>,
    /// What is being searched.
    pub(super) closeness: Closeness,
    pub(super) promising: Vec<Promising>,
    /// The ranked matches of the kinds that were searched before.
    pub(super) ranked: Vec<Match>,
    pub(super) found: Matches,
}

/// How texts are tested.
pub(super) enum TextMatcher<'a> {
    Terms(&'a TermMatcher),
    Lines(&'a LineMatcher),
}

impl TextMatcher<'_> {
    /// Passes the offset and the quick score of each matching line to `take`.
    fn lines(&self, text: &str, take: &mut dyn FnMut(usize, u32)) {
        match self {
            Self::Terms(matcher) => matcher.lines(text, take),
            Self::Lines(matcher) => {
                let mut offset = 0;
                while offset < text.len() {
                    let rest = &text[offset..];
                    let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
                    if let Some(score) = matcher.score(&rest[..length]) {
                        take(offset, score);
                    }
                    offset += length + 1;
                }
            }
        }
    }
}

/// The matches in one block.
#[derive(Default)]
struct BlockMatches {
    promising: Vec<Promising>,
    messages: Vec<MessageAt>,
    total: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        sources: Sources<'a>,
        request: FindRequest<'a>,
        watch: &'a dyn SearchWatcher,
    ) -> Self {
        Self {
            sources,
            request,
            watch,
            lines: LineMatcher::new(request.query),
            logs: allowed_logs(&request.query.filters, sources),
            closeness: Closeness::Words,
            promising: Vec::new(),
            ranked: Vec::new(),
            found: Matches {
                matches: Vec::new(),
                total: 0,
                progress: SearchState::Looking,
                query: request.query.clone(),
                terms: Vec::new(),
                messages: Some(Vec::new()),
                parts: Vec::new(),
            },
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.found.progress == SearchState::Stale
    }

    /// Searches for the words as they are typed; `last` is the result before on the same sources.
    pub(super) fn words(&mut self, last: Option<&Matches>) {
        let query = self.request.query;
        let terms: Vec<Term> = wanted(query).map(Term::as_typed).collect();
        let matcher = match terms.is_empty() {
            true => None,
            false => match TermMatcher::new(query, &terms) {
                Some(matcher) => Some(matcher),
                None => return,
            },
        };
        self.found.terms.push((Closeness::Words, terms));
        let lines = LineMatcher::new(query);
        let matcher = match &matcher {
            Some(matcher) => TextMatcher::Terms(matcher),
            None => TextMatcher::Lines(&lines),
        };
        self.search_memories(&matcher);
        let usable = last
            .filter(|last| query.narrows(&last.query))
            .and_then(|last| Some((last.messages.as_ref()?, &last.parts)));
        let filters = &query.filters;
        if let Some((messages, parts)) = usable {
            self.found.parts.clone_from(parts);
            self.search_messages(messages, &matcher);
        } else {
            if filters.wants(SearchArea::Logs) {
                self.search_logs(Part::Words, &matcher);
            }
            if filters.wants(SearchArea::Tools) {
                self.search_tools(&matcher);
            }
        }
        let is_last_hope = filters.areas.is_empty() && self.found.total == 0;
        if is_last_hope && !self.found.parts.contains(&Part::Results) && !self.is_over() {
            self.search_tools(&matcher);
        }
        self.rank_kind(&matcher);
    }

    /// Reports the lines that have the words, before less close ones are searched.
    pub(super) fn widen(&mut self) {
        self.found.progress = SearchState::Widening;
        self.watch.partial(&self.found);
    }

    /// Searches for words that are a letter or two away from the typed ones.
    pub(super) fn slips(&mut self, vocabulary: &Vocabulary) {
        let corrections: &[Correction] = match self.found.total {
            0 => &[Correction::Unknown, Correction::Any],
            _ => &[Correction::Rare],
        };
        self.closeness = Closeness::Slips;
        let before = self.found.total;
        for correction in corrections {
            if self.found.total > before || self.is_over() {
                break;
            }
            let query = self.request.query;
            let mut is_corrected = false;
            let mut terms = Vec::new();
            for atom in wanted(query) {
                let pattern = slip::pattern(vocabulary, atom, *correction);
                is_corrected |= pattern.is_some();
                terms.push(match pattern {
                    Some(pattern) => Term::with_slips(atom, pattern),
                    None => Term::as_typed(atom),
                });
            }
            let matcher = TermMatcher::new(query, &terms).filter(|_| is_corrected);
            let Some(matcher) = &matcher else { continue };
            self.found
                .terms
                .retain(|(kind, _)| *kind != Closeness::Slips);
            self.found.terms.push((Closeness::Slips, terms));
            self.search_all(&TextMatcher::Terms(matcher));
        }
    }

    /// Searches for lines that have the letters of the words in their order.
    pub(super) fn letters(&mut self) {
        self.closeness = Closeness::Letters;
        let terms = wanted(self.request.query).map(Term::letters).collect();
        self.found.terms.push((Closeness::Letters, terms));
        let lines = LineMatcher::new(self.request.query);
        self.search_all(&TextMatcher::Lines(&lines));
    }

    /// Searches the memories, the conversations, and tool text where it is asked for.
    fn search_all(&mut self, matcher: &TextMatcher<'_>) {
        self.search_memories(matcher);
        let filters = &self.request.query.filters;
        if filters.wants(SearchArea::Logs) {
            self.search_logs(Part::Words, matcher);
        }
        if filters.wants(SearchArea::Tools) {
            self.search_tools(matcher);
        }
        self.rank_kind(matcher);
    }

    /// Searches the calls and the results of tools.
    fn search_tools(&mut self, matcher: &TextMatcher<'_>) {
        for part in [Part::Calls, Part::Results] {
            self.search_logs(part, matcher);
        }
    }

    fn search_memories(&mut self, matcher: &TextMatcher<'_>) {
        let filters = &self.request.query.filters;
        for (number, memory_text) in self.sources.memories.texts.iter().enumerate() {
            if !allows_memory(filters, memory_text) {
                continue;
            }
            let mut take = |score: u32, spot: MatchSpot| {
                let is_known = self.ranked.iter().any(|found| found.spot == spot);
                if !is_known {
                    self.promising.push((score, spot));
                    self.found.total += 1;
                }
            };
            let title = &memory_text.memory.title;
            matcher.lines(title, &mut |_, score| take(score, MatchSpot::Title(number)));
            let (mut line, mut counted) = (1, 0);
            matcher.lines(&memory_text.text, &mut |offset, score| {
                // A text with words on different lines is the last one that is passed.
                if offset < counted {
                    (line, counted) = (1, 0);
                }
                let between = &memory_text.text.as_bytes()[counted..offset];
                line += memchr::memchr_iter(b'\n', between).count();
                counted = offset;
                take(score, MatchSpot::Line(number, line));
            });
        }
    }

    /// Searches every message of a part, wave by wave.
    fn search_logs(&mut self, part: Part, matcher: &TextMatcher<'_>) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        if !self.lines.is_worth_a_scan() {
            // A search that was skipped cannot be narrowed.
            self.found.messages = None;
            return;
        }
        if self.closeness == Closeness::Words {
            self.found.parts.push(part);
        }
        /// How many blocks are read before their memory is released.
        const TOGETHER: usize = 32;
        let count = corpus.blocks(part).len();
        let mut from = 0;
        // The first wave is small, so that the first results appear soon.
        let mut wave = 32;
        while from < count {
            let to = count.min(from + wave);
            let matches = on_all_cores(to - from, |at| {
                if self.watch.is_stale() {
                    return BlockMatches::default();
                }
                let matches = self.block(corpus, (part, from + at), matcher);
                let next = from + at + 1;
                if next % TOGETHER == 0 || next == to {
                    corpus.release(part, next.saturating_sub(TOGETHER)..next);
                }
                matches
            });
            self.take(matches);
            if self.is_abandoned() {
                return;
            }
            from = to;
            wave = (wave * 8).min(1024);
            if from < count && self.found.total > 0 {
                self.rank(matcher, FIRST_RANKED);
                self.watch.partial(&self.found);
            }
        }
    }

    /// Searches the messages that the last query matched.
    fn search_messages(&mut self, messages: &[MessageAt], matcher: &TextMatcher<'_>) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        const TOGETHER: usize = 4096;
        let chunks: Vec<&[MessageAt]> = messages.chunks(TOGETHER).collect();
        let matches = on_all_cores(chunks.len(), |at| {
            let mut matches = BlockMatches::default();
            let mut open: Option<((Part, u32), Option<BlockBytes<'_>>)> = None;
            for (part, block, number) in chunks[at] {
                let is_open = open
                    .as_ref()
                    .is_some_and(|(key, _)| *key == (*part, *block));
                if !is_open {
                    if self.watch.is_stale() {
                        break;
                    }
                    let read = || corpus.block(*part, *block as usize)?.scan();
                    open = Some(((*part, *block), read()));
                }
                let content = open.as_ref().and_then(|(_, content)| content.as_ref());
                if let Some(message) = content.and_then(|content| content.message(*number as usize))
                {
                    self.message((*part, *block, *number), &message, (matcher, &mut matches));
                }
            }
            matches
        });
        self.take(matches);
        self.is_abandoned();
    }

    fn block(
        &self,
        corpus: &Corpus,
        (part, number): (Part, usize),
        matcher: &TextMatcher<'_>,
    ) -> BlockMatches {
        let mut matches = BlockMatches::default();
        let Some(block) = corpus.block(part, number) else {
            return matches;
        };
        let place = |at: usize| (part, number as u32, at as u32);
        match matcher {
            TextMatcher::Lines(_) => {
                let content = block.read();
                for (at, message) in content.iter().flat_map(|content| content.messages()) {
                    self.message(place(at), &message, (matcher, &mut matches));
                }
            }
            TextMatcher::Terms(terms) => {
                let Some(content) = block.scan() else {
                    return matches;
                };
                let (table, bytes) = (content.table(), content.bytes());
                let mut from = 0;
                while from <= bytes.len()
                    && let Some(found) = terms.next_candidate(bytes, from)
                {
                    let at = table.at(found);
                    let Some(range) = table.range(at) else { break };
                    if let Some(message) = content.message(at) {
                        self.message(place(at), &message, (matcher, &mut matches));
                    }
                    from = range.end.max(found) + 1;
                }
            }
        }
        keep_best(&mut matches.promising, MOST_RANKED);
        matches
    }

    /// Tests every line of a message.
    fn message(
        &self,
        at: MessageAt,
        message: &CorpusMessage<'_>,
        (matcher, matches): (&TextMatcher<'_>, &mut BlockMatches),
    ) {
        let filters = &self.request.query.filters;
        let is_allowed = self.logs.get(message.log).copied().unwrap_or(false)
            && filters.allows_role(message.role)
            && filters.allows_time(message.time);
        if !is_allowed {
            return;
        }
        let before = matches.total;
        let (part, block, number) = at;
        matcher.lines(message.text, &mut |offset, score| {
            let spot = MatchSpot::Message {
                part,
                block,
                number,
                offset: offset as u32,
            };
            if !self.ranked.iter().any(|found| found.spot == spot) {
                matches.promising.push((score, spot));
                matches.total += 1;
            }
        });
        if matches.total > before {
            matches.messages.push(at);
        }
    }

    fn take(&mut self, matches: Vec<BlockMatches>) {
        for matches in matches {
            self.found.total += matches.total;
            self.promising.extend(matches.promising);
            if self.closeness == Closeness::Words
                && let Some(messages) = &mut self.found.messages
            {
                messages.extend(matches.messages);
                if messages.len() > REMEMBERED {
                    self.found.messages = None;
                }
            }
            if self.promising.len() > 8 * MOST_RANKED {
                keep_best(&mut self.promising, MOST_RANKED);
            }
        }
    }

    fn is_abandoned(&mut self) -> bool {
        let is_stale = self.watch.is_stale();
        if is_stale {
            self.found.progress = SearchState::Stale;
        }
        is_stale
    }

    /// Ranks what was found of one kind; what is found next ranks behind it.
    fn rank_kind(&mut self, matcher: &TextMatcher<'_>) {
        self.rank(matcher, MOST_RANKED);
        self.ranked.clone_from(&self.found.matches);
        self.promising.clear();
    }

    pub(super) fn finish(mut self) -> Matches {
        if self.found.progress != SearchState::Stale {
            self.found.progress = SearchState::Complete;
        }
        self.found
    }
}
