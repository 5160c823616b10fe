//! The scan of the memories and logs for one kind of match after another.

use super::gather::{BlockToSearch, Gathered, IndexedMessage};
use super::matcher::LineMatcher;
use super::rank::{FIRST_RANKED, MOST_RANKED, Promising, keep_best};
use super::slip::{self, Correction, Vocabulary};
use super::term::{Term, TermMatcher};
use super::{
    Closeness, FindRequest, Match, MatchSpot, Matches, MessageAt, SearchCache, SearchState,
    SearchWatcher, wanted,
};
use crate::core::corpus::{Corpus, Part};
use crate::core::query::SearchArea;
use crate::core::search::limits::Limits;
use crate::core::search::runs::look_up;
use crate::core::search::{Sources, allowed_logs, allows_memory, with_on_all_cores};

/// If the index has more messages that may match, all are searched.
const MOST_INDEXED: usize = 1 << 17;
/// If at least one of so many messages may match, the text of all is searched as a whole, which
/// takes less time for each.
pub(super) const MANY: usize = 3;

/// A running search.
pub(super) struct Search<'a> {
    pub(super) sources: Sources<'a>,
    pub(super) request: FindRequest<'a>,
    watch: &'a dyn SearchWatcher,
    /// The test of every line; also the only one of a query without wanted words.
    lines: LineMatcher,
    pub(super) logs: Vec<bool>,
    /// What is being searched.
    pub(super) closeness: Closeness,
    pub(super) promising: Vec<Promising>,
    /// The least of those if there were more. Others that are not better need not be remembered.
    least: Option<Promising>,
    pub(super) limits: Limits,
    /// The ranked matches of the kinds that were searched before.
    pub(super) ranked: Vec<Match>,
    pub(super) found: Matches,
}

/// How texts are tested. Each thread has its own: those that share a regex contend for its scratch
/// space.
#[derive(Clone)]
pub(super) enum TextMatcher {
    Terms(TermMatcher),
    Lines(LineMatcher),
}

impl TextMatcher {
    /// Returns the messages of a part that may match, in order; of results, the blocks. `None` if
    /// the index does not know, or if they are so many that searching all is faster.
    fn indexed(&self, corpus: &Corpus, part: Part) -> Option<Vec<IndexedMessage>> {
        let Self::Terms(matcher) = self else {
            return None;
        };
        let runs = Some(&matcher.runs).filter(|runs| !runs.is_empty())?;
        let most = match matcher.is_inside_line() && part.has_concordance() {
            true => {
                corpus
                    .blocks(part)
                    .map(|block| block.count())
                    .sum::<usize>()
                    / MANY
            }
            false => MOST_INDEXED,
        };
        look_up(corpus, (part, runs), most.min(MOST_INDEXED), |found| {
            (found.block as u32, found.message as u16)
        })
    }

    /// Whether it can be searched in several messages at once.
    pub(super) fn is_inside_line(&self) -> bool {
        match self {
            Self::Terms(matcher) => matcher.is_inside_line(),
            Self::Lines(_) => false,
        }
    }

    /// Passes the offset and the quick score of each matching line to `take`.
    pub(super) fn lines(&self, text: &str, take: &mut dyn FnMut(usize, u32)) {
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
            least: None,
            limits: Limits::default(),
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

    /// Searches for the words as they are typed; the cache is of the same sources.
    pub(super) fn words(&mut self, cache: &SearchCache) {
        let query = self.request.query;
        let terms: Vec<Term> = wanted(query).map(Term::as_typed).collect();
        let matcher = match terms.is_empty() {
            true => TextMatcher::Lines(self.lines.clone()),
            false => match TermMatcher::new(query, &terms) {
                Some(matcher) => TextMatcher::Terms(matcher),
                None => return,
            },
        };
        self.found.terms.push((Closeness::Words, terms));
        self.search_memories(&matcher);
        let filters = &query.filters;
        if let Some((messages, parts)) = cache.narrowed_by(query) {
            self.found.parts = parts.to_vec();
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
            let Some(matcher) = matcher else { continue };
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
        self.search_all(&TextMatcher::Lines(self.lines.clone()));
    }

    /// Searches the memories, the conversations, and tool text where it is asked for.
    fn search_all(&mut self, matcher: &TextMatcher) {
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
    fn search_tools(&mut self, matcher: &TextMatcher) {
        for part in [Part::Calls, Part::Results] {
            self.search_logs(part, matcher);
        }
    }

    fn search_memories(&mut self, matcher: &TextMatcher) {
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

    /// Searches the messages of a part that may match, wave by wave.
    fn search_logs(&mut self, part: Part, matcher: &TextMatcher) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        if !self.lines.is_worth_a_scan() {
            // A search that was skipped cannot be narrowed.
            self.found.messages = None;
            return;
        }
        corpus.note_search(part);
        if self.closeness == Closeness::Words {
            self.found.parts.push(part);
        }
        /// How many blocks are read before their memory is released.
        const TOGETHER: usize = 32;
        let indexed = matcher.indexed(corpus, part);
        let blocks = match &indexed {
            Some(indexed) => BlockToSearch::with(part, indexed),
            None => BlockToSearch::all(corpus.blocks(part).len()),
        };
        let mut from = 0;
        // The first wave is small, so that the first results appear soon.
        let mut wave = 32;
        while from < blocks.len() {
            let to = blocks.len().min(from + wave);
            let gathered = Gathered::new(self.room(), self.least);
            let own = || matcher.clone();
            with_on_all_cores(to - from, own, |matcher, at| {
                if self.watch.is_stale() {
                    return;
                }
                let mut matches = gathered.no_matches();
                self.block(corpus, (part, blocks[from + at]), (matcher, &mut matches));
                gathered.add((at, matches), &self.limits);
                let next = from + at + 1;
                if next % TOGETHER == 0 || next == to {
                    let first = blocks[next.saturating_sub(TOGETHER)].number;
                    corpus.release(part, first..blocks[next - 1].number + 1);
                }
            });
            self.take(gathered);
            if self.is_abandoned() {
                return;
            }
            from = to;
            wave = (wave * 8).min(1024);
            if from < blocks.len() && self.found.total > 0 && self.watch.is_waiting() {
                self.rank(matcher, FIRST_RANKED);
                self.watch.partial(&self.found);
            }
        }
    }

    /// Searches the messages that an earlier query matched.
    fn search_messages(&mut self, messages: &[MessageAt], matcher: &TextMatcher) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        let blocks = messages.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let blocks: Vec<&[MessageAt]> = blocks.collect();
        let gathered = Gathered::new(self.room(), self.least);
        let own = || matcher.clone();
        with_on_all_cores(blocks.len(), own, |matcher, at| {
            if self.watch.is_stale() {
                return;
            }
            let (part, block, _) = blocks[at][0];
            let mut matches = gathered.no_matches();
            if let Some(block) = corpus.block(part, block as usize) {
                let numbers = blocks[at].iter().map(|(_, _, number)| *number);
                self.some_messages((part, block), numbers, (&*matcher, &mut matches));
            }
            gathered.add((at, matches), &self.limits);
        });
        self.take(gathered);
        self.is_abandoned();
    }

    /// Returns how many more messages are remembered for the next query; `None` if there were too
    /// many, or none are.
    fn room(&self) -> Option<usize> {
        let known = self.found.messages.as_ref()?.len();
        (self.closeness == Closeness::Words).then(|| self.limits.messages.saturating_sub(known))
    }

    fn take(&mut self, gathered: Gathered) {
        let (total, promising, messages) = gathered.finish();
        self.found.total += total;
        self.promising.extend(promising);
        self.least = keep_best(&mut self.promising, MOST_RANKED).or(self.least);
        if self.closeness == Closeness::Words {
            match (&mut self.found.messages, messages) {
                (Some(known), Some(found)) => known.extend(found),
                (known, _) => *known = None,
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
    fn rank_kind(&mut self, matcher: &TextMatcher) {
        self.rank(matcher, MOST_RANKED);
        self.ranked.clone_from(&self.found.matches);
        self.promising.clear();
        self.least = None;
    }

    pub(super) fn finish(mut self) -> Matches {
        if self.found.progress != SearchState::Stale {
            self.found.progress = SearchState::Complete;
        }
        self.found
    }
}
