//! Find: lines of memories and logs with the words of the query, while the user types.
//!
//! Five kinds of matches, each searched only if those before it leave room: the words as they
//! are typed and near each other ([`term`]), all of them but one, all of them far apart in a long
//! text, the words with a slip of the keyboard ([`slip`]), and the letters of the words in their
//! order ([`letters`], ranked by nucleo).
//!
//! The index gives the messages that have words which begin like those of the query, or are
//! spelled nearly like them, and orders them: whole words first, then what somebody said, then the
//! newest. These are read batch by batch, their lines are tested against the query and scored. After
//! each batch the watcher may cancel the search, and receives the matches so far. Letters are
//! searched in memories, in titles and in the newest messages.

mod group;
mod letters;
mod slip;
mod term;

use std::cmp::Reverse;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Hit, Sources, allowed_logs, allows_memory, snippet};
use crate::core::disk::parallel::on_all_cores;
use crate::core::log::{MessageKind, Origin, Role};

use crate::core::search::index::{Corpus, MessageAt, MessageFilter, Part, WantedWord, index_words};
use crate::core::search::query::{Atom, MatchMode, Polarity, Query, SearchArea};
use crate::core::text::clip;

use group::LogLine;
pub use group::MatchGroup;
use letters::{LetterMatcher, letter_indices};
use slip::Correction;
pub use term::Term;
use term::TermMatcher;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchState {
    /// The words as they are typed are being searched.
    Looking,
    /// Everything was searched for the words as they are typed, and the best lines are known;
    /// the others or less close ones are still to come.
    Widening,
    /// The search was cancelled.
    Stale,
    /// Everything was searched.
    #[default]
    Complete,
}

/// How closely a line matches the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Closeness {
    /// It has the words as they are typed.
    Words,
    /// It has all of the words but one, which nothing has near the others.
    Most,
    /// Its text has the words far apart.
    Apart,
    /// It has words that differ in a letter or two.
    Slips,
    /// It has the letters of each word in their order, with others between them.
    Letters,
}

impl Closeness {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Most => "most",
            Self::Apart => "apart",
            Self::Slips => "slips",
            Self::Letters => "letters",
        }
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The best matches, best first.
    pub matches: Vec<Match>,
    /// The number of matching lines; of messages that were not read, each counts as one.
    pub total: usize,
    /// The progress of the search.
    pub progress: SearchState,
    query: Query,
    /// The terms of each kind of match that was searched.
    terms: Vec<(Closeness, Vec<Term>)>,
}

/// A line that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// How closely it matches.
    pub closeness: Closeness,
    /// The score; comparable among matches of the same closeness.
    pub score: u32,
    /// The position of the line.
    pub spot: MatchSpot,
    /// What tells whether it is a copy; none of a memory is.
    line: Option<LogLine>,
}

/// The position of a matching line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchSpot {
    /// The title of the memory with this index.
    Title(usize),
    /// The index of the memory, and the line from 1.
    Line(usize, usize),
    /// The title that the agent gave the session of the log with this index.
    Session(usize),
    /// A line of a message: the message, and the byte offset of the line in its text.
    Message(MessageAt, u32),
}

/// The maximum number of bytes of a line that is scored and of which matches are shown.
const SHOWN: usize = 2048;
/// With fewer lines than this, a rare word may be a slip.
const FEW: usize = 10;
/// How many messages are read before the first matches are reported, and at most.
const FIRST_READ: usize = 48;
const MOST_READ: usize = 600;
/// How many of the newest messages are searched for letters, or for text without words.
const NEWEST: usize = 2000;
/// What the title of a memory and a heading are worth more than another line.
const TITLE: u32 = 30;
const HEADING: u32 = 10;
/// What a line of a memory is worth more than the same in a log, and the title of a session than a
/// line in it.
const CURATED: u32 = 15;
const SESSION: u32 = 10;

/// Finds the matching lines.
pub fn find(sources: Sources<'_>, request: FindRequest<'_>, watch: &dyn SearchWatcher) -> Matches {
    let mut search = Search::new(sources, request, watch);
    search.words();
    let has_words = wanted(request.query).next().is_some();
    let goes_on =
        |search: &Search<'_>, few| search.found.total < few && !search.is_stale() && has_words;
    if goes_on(&search, FEW) {
        // What has the words is shown before the longer search begins.
        search.found.progress = SearchState::Widening;
        watch.partial(&search.found);
        let has_none = search.found.total == 0;
        search.slips(if has_none {
            Correction::Unknown
        } else {
            Correction::Rare
        });
    }
    if goes_on(&search, 1) {
        search.most_words();
    }
    if goes_on(&search, FEW) {
        search.words_apart();
    }
    if goes_on(&search, 1) {
        search.slips(Correction::Any);
    }
    if goes_on(&search, 1) {
        search.letters();
    }
    let mut found = search.found;
    found.progress = if watch.is_stale() {
        SearchState::Stale
    } else {
        SearchState::Complete
    };
    found
}

fn wanted(query: &Query) -> impl Iterator<Item = &Atom> {
    let atoms = query.atoms.iter();
    atoms.filter(|atom| atom.polarity == Polarity::Wanted)
}

/// How lines are tested and scored.
enum LineMatcher {
    Terms(TermMatcher),
    Letters(LetterMatcher),
}

impl LineMatcher {
    /// Passes the offset and the score of each matching line to `take`.
    fn lines(&self, text: &str, take: &mut dyn FnMut(usize, u32)) {
        match self {
            Self::Terms(matcher) => matcher.lines(text, take),
            Self::Letters(matcher) => matcher.lines(text, take),
        }
    }
}

/// What is searched for, of one closeness.
struct Wanted {
    matcher: LineMatcher,
    /// The words of the messages that may match; if there are none, the newest are searched.
    words: Vec<WantedWord<'static>>,
}

/// A running search.
struct Search<'a> {
    sources: Sources<'a>,
    request: FindRequest<'a>,
    watch: &'a dyn SearchWatcher,
    logs: Vec<bool>,
    /// What is being searched.
    closeness: Closeness,
    /// The matches of the closeness that is being searched, each with what orders equal ones.
    scored: Vec<(Match, LineOrder)>,
    /// The matches that were found closer.
    closer: Vec<Match>,
    found: Matches,
}

/// Who a line is from, in the order in which lines are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Voice {
    /// A memory, or the words of a person.
    Person,
    /// An agent's words, or the title of a session.
    Agent,
    /// What an agent thought and did not say.
    Thought,
    /// A program put it into the conversation.
    Program,
    Tool,
}

/// What orders lines beside their score.
type LineOrder = (Voice, Reverse<Option<i64>>, MatchSpot);

/// Scores that differ by less than this are as good as equal: what was said last comes first.
const EQUAL: u32 = 10;

impl<'a> Search<'a> {
    fn new(sources: Sources<'a>, request: FindRequest<'a>, watch: &'a dyn SearchWatcher) -> Self {
        Self {
            sources,
            request,
            watch,
            logs: allowed_logs(&request.query.filters, sources),
            closeness: Closeness::Words,
            scored: Vec::new(),
            closer: Vec::new(),
            found: Matches {
                matches: Vec::new(),
                total: 0,
                progress: SearchState::Looking,
                query: request.query.clone(),
                terms: Vec::new(),
            },
        }
    }

    fn is_stale(&self) -> bool {
        self.watch.is_stale()
    }

    /// Searches for the words as they are typed.
    fn words(&mut self) {
        let query = self.request.query;
        let all: Vec<&Atom> = wanted(query).collect();
        if all.is_empty() {
            let matcher = LineMatcher::Letters(LetterMatcher::new(query));
            let words = Vec::new();
            self.search_all(Vec::new(), &Wanted { matcher, words });
        } else {
            self.typed(&all, |matcher| matcher);
        }
    }

    /// Searches for the words anywhere in a text.
    fn words_apart(&mut self) {
        let all: Vec<&Atom> = wanted(self.request.query).collect();
        if all.len() > 1 {
            self.begin(Closeness::Apart);
            self.typed(&all, TermMatcher::far_apart);
        }
    }

    /// Searches for all words but one, whichever that is.
    fn most_words(&mut self) {
        let all: Vec<&Atom> = wanted(self.request.query).collect();
        if all.len() < 3 {
            return;
        }
        self.begin(Closeness::Most);
        for missing in 0..all.len() {
            if self.is_stale() {
                break;
            }
            let mut others = all.clone();
            others.remove(missing);
            self.typed(&others, |matcher| matcher);
        }
        self.set_terms(all.into_iter().filter_map(Term::as_typed).collect());
    }

    /// Searches for these atoms as they are typed.
    fn typed(&mut self, atoms: &[&Atom], matched: fn(TermMatcher) -> TermMatcher) {
        let terms: Option<Vec<Term>> = atoms.iter().map(|atom| Term::as_typed(atom)).collect();
        let words = atoms.iter().flat_map(|atom| wanted_words(atom)).collect();
        self.terms(terms, words, matched);
    }

    /// Searches for terms, in messages with these words; a term that is too large is nowhere.
    fn terms(
        &mut self,
        terms: Option<Vec<Term>>,
        words: Vec<WantedWord<'static>>,
        matched: fn(TermMatcher) -> TermMatcher,
    ) {
        let matcher = terms.and_then(|terms| TermMatcher::new(self.request.query, terms));
        if let Some(matcher) = matcher {
            let terms = matcher.terms();
            let matcher = LineMatcher::Terms(matched(matcher));
            self.search_all(terms, &Wanted { matcher, words });
        }
    }

    /// Searches for words that are a letter or two away from the typed ones.
    fn slips(&mut self, correction: Correction) {
        self.begin(Closeness::Slips);
        let spellings = slip::Spellings::new(self.sources);
        let query = self.request.query;
        let mut is_corrected = false;
        let (mut terms, mut words) = (Vec::new(), Vec::new());
        for atom in wanted(query) {
            match spellings.correct(atom, correction) {
                Some((pattern, any)) => {
                    is_corrected = true;
                    terms.push(Term::with_slips(atom, &pattern));
                    words.extend(any);
                }
                None => {
                    terms.push(Term::as_typed(atom));
                    words.extend(wanted_words(atom));
                }
            }
        }
        if is_corrected {
            self.terms(terms.into_iter().collect(), words, |matcher| matcher);
        }
    }

    /// Searches for lines that have the letters of the words in their order.
    fn letters(&mut self) {
        self.begin(Closeness::Letters);
        let query = self.request.query;
        let terms = wanted(query).filter_map(Term::letters).collect();
        let matcher = LineMatcher::Letters(LetterMatcher::new(query));
        let words = Vec::new();
        self.search_all(terms, &Wanted { matcher, words });
    }

    /// Begins to search for less close matches, which rank behind those before.
    fn begin(&mut self, closeness: Closeness) {
        self.closeness = closeness;
        self.closer.clone_from(&self.found.matches);
        self.scored.clear();
    }

    /// Searches the memories, the conversations, and tool text where it is asked for or nothing else
    /// has the words.
    fn search_all(&mut self, terms: Vec<Term>, wanted: &Wanted) {
        self.set_terms(terms);
        self.search_memories(wanted);
        let Some(corpus) = self.sources.corpus else {
            return self.rank();
        };
        let filters = &self.request.query.filters;
        if filters.wants(SearchArea::Logs) {
            self.search_session_titles(corpus, wanted);
            self.search_logs(corpus, Part::Words, wanted);
        }
        let is_last_hope =
            filters.areas.is_empty() && self.found.total == 0 && self.closeness == Closeness::Words;
        if filters.wants(SearchArea::Tools) || is_last_hope {
            for part in [Part::Calls, Part::Results] {
                self.search_logs(corpus, part, wanted);
            }
        }
        self.rank();
    }

    /// Keeps the terms of the closeness that is being searched, by which its lines are marked.
    fn set_terms(&mut self, terms: Vec<Term>) {
        self.found.terms.retain(|(kind, _)| *kind != self.closeness);
        self.found.terms.push((self.closeness, terms));
    }

    fn search_memories(&mut self, wanted: &Wanted) {
        for (number, memory_text) in self.sources.memories.texts.iter().enumerate() {
            if !allows_memory(&self.request.query.filters, memory_text) {
                continue;
            }
            let title = &memory_text.memory.title;
            let time = memory_text.time;
            wanted.matcher.lines(title, &mut |_, score| {
                let spot = MatchSpot::Title(number);
                self.take(
                    score + TITLE + CURATED,
                    (Voice::Person, Reverse(time), spot),
                );
            });
            let text = &memory_text.text;
            wanted.matcher.lines(text, &mut |offset, score| {
                if memory_text.is_left_out(offset) {
                    return;
                }
                let before = &text.as_bytes()[..offset];
                let line = memchr::memchr_iter(b'\n', before).count() + 1;
                let is_heading = text[offset..].starts_with('#');
                let score = score + if is_heading { HEADING } else { 0 };
                let spot = MatchSpot::Line(number, line);
                self.take(score + CURATED, (Voice::Person, Reverse(time), spot));
            });
        }
    }

    /// Searches the titles that agents gave sessions. Without one, the first prompt is shown as the
    /// title; it is found as a message.
    fn search_session_titles(&mut self, corpus: &Corpus, wanted: &Wanted) {
        let filters = &self.request.query.filters;
        if !filters.roles.is_empty() {
            return;
        }
        for (number, log) in corpus.logs().enumerate() {
            let Some(title) = log.title().filter(|_| self.logs[number]) else {
                continue;
            };
            let time = Some(log.last_activity()).filter(|time| *time > 0);
            if filters.allows_time(time) {
                wanted.matcher.lines(title, &mut |_, score| {
                    let spot = MatchSpot::Session(number);
                    self.take(score + SESSION, (Voice::Agent, Reverse(time), spot));
                });
            }
        }
    }

    /// Adds a match, unless the line was found closer.
    fn take(&mut self, score: u32, order: LineOrder) {
        let (.., spot) = order;
        if self.closer.iter().all(|closer| closer.spot != spot) {
            let found = Match {
                closeness: self.closeness,
                score,
                spot,
                line: None,
            };
            self.found.total += 1;
            self.scored.push((found, order));
        }
    }

    /// Searches the messages of a part that may match, batch by batch.
    fn search_logs(&mut self, corpus: &Corpus, part: Part, wanted: &Wanted) {
        // Nearly every message has a word that begins with one letter.
        let is_vague =
            |word: &WantedWord<'_>| matches!(word, WantedWord::Beginning(one) if one.len() < 2);
        if !wanted.words.is_empty() && wanted.words.iter().all(is_vague) {
            return;
        }
        let filter = MessageFilter {
            logs: &self.logs,
            filters: &self.request.query.filters,
        };
        let most = match wanted.words.as_slice() {
            [] => NEWEST,
            _ => MOST_READ,
        };
        let found = corpus.look_up(&wanted.words, &[part]);
        let candidates = corpus.with_all(&found, filter, most);
        let (mut read, mut lines) = (0, 0);
        // However few are asked for, the best of them may be read late.
        let enough = self.request.limit.max(MOST_READ);
        while read < candidates.first.len() && self.scored.len() < enough {
            let batch = if read == 0 {
                FIRST_READ
            } else {
                4 * FIRST_READ
            };
            let to = candidates.first.len().min(read + batch);
            lines += self.read(corpus, &candidates.first[read..to], wanted);
            read = to;
            if self.is_stale() {
                break;
            }
            if read < candidates.first.len() && lines > 0 {
                self.rank();
                let total = self.found.total;
                self.found.total += lines + candidates.total - read;
                self.watch.partial(&self.found);
                self.found.total = total;
            }
        }
        // What was not read is assumed to match with one line.
        self.found.total += if wanted.words.is_empty() {
            lines
        } else {
            lines + candidates.total - read
        };
    }

    /// Reads messages and takes their matching lines; returns how many there are.
    fn read(&mut self, corpus: &Corpus, messages: &[MessageAt], wanted: &Wanted) -> usize {
        /// How many messages a thread reads at a time.
        const TOGETHER: usize = 12;
        let closeness = self.closeness;
        let says_only = self.request.query.filters.says_only;
        let matcher = &wanted.matcher;
        let chunks: Vec<&[MessageAt]> = messages.chunks(TOGETHER).collect();
        let scored = on_all_cores(chunks.len(), |chunk| {
            let mut scored = Vec::new();
            for at in chunks[chunk] {
                if self.is_stale() {
                    break;
                }
                // A damaged message is recorded by the corpus.
                let _ = corpus.message(*at, |message| {
                    let voice = match (message.role, message.origin) {
                        (Role::Tool, _) => Voice::Tool,
                        (Role::User, Origin::Written) => Voice::Person,
                        (Role::Assistant, Origin::Written)
                            if message.kind == MessageKind::Thinking =>
                        {
                            Voice::Thought
                        }
                        (Role::Assistant, Origin::Written) => Voice::Agent,
                        _ => Voice::Program,
                    };
                    let is_left_out = voice == Voice::Program && says_only;
                    if is_left_out || corpus.is_told_by_log(message) {
                        return;
                    }
                    matcher.lines(message.text, &mut |offset, score| {
                        let spot = MatchSpot::Message(*at, offset as u32);
                        let line = message.text[offset..].lines().next().unwrap_or_default();
                        let found = Match {
                            closeness,
                            score,
                            spot,
                            line: Some(LogLine::new(message, line)),
                        };
                        scored.push((found, (voice, Reverse(message.time), spot)));
                    });
                });
            }
            scored
        });
        let before = self.scored.len();
        for (found, order) in scored.into_iter().flatten() {
            if self.closer.iter().all(|closer| closer.spot != found.spot) {
                self.scored.push((found, order));
            }
        }
        self.scored.len() - before
    }

    /// Puts the matches of this closeness in order, behind those that are closer.
    fn rank(&mut self) {
        let order = |(found, (voice, time, spot)): &(Match, LineOrder)| {
            let good = Reverse(found.score / EQUAL);
            (*voice, good, *time, Reverse(found.score), *spot)
        };
        self.scored.sort_unstable_by_key(order);
        let scores = self.scored.iter().map(|(found, _)| found.score);
        let best = scores.max().unwrap_or(0);
        let is_shown = |found: &Match| {
            // Compared with lines that have the letters together, scattered ones are noise.
            self.closeness != Closeness::Letters || found.score * 2 >= best
        };
        let scored = self.scored.iter().map(|(found, _)| *found);
        let all = self.closer.iter().copied().chain(scored.filter(is_shown));
        self.found.matches = all.take(self.request.limit).collect();
    }
}

/// Returns what a message must have for an atom of the query.
fn wanted_words(atom: &Atom) -> Vec<WantedWord<'static>> {
    let mut words = index_words(&atom.text);
    // The last word may be the beginning of a longer one.
    let ends = !atom.text.ends_with(char::is_alphanumeric)
        || matches!(
            atom.mode,
            MatchMode::Word | MatchMode::End | MatchMode::Line
        );
    let last = if ends { None } else { words.pop() };
    let mut wanted = Vec::new();
    if !words.is_empty() {
        wanted.push(WantedWord::Phrase(words));
    }
    wanted.extend(last.map(WantedWord::Beginning));
    wanted
}

impl Matches {
    /// Returns the terms of the matches of this closeness.
    pub fn terms(&self, closeness: Closeness) -> &[Term] {
        let found = self.terms.iter().find(|(kind, _)| *kind == closeness);
        found.map_or(&[], |(_, terms)| terms)
    }

    /// Returns what finds the matching characters of lines of this closeness.
    pub fn marker(&self, closeness: Closeness) -> Marker<'_> {
        Marker {
            query: &self.query,
            closeness,
            terms: self
                .terms(closeness)
                .iter()
                .map(|term| term.regex().clone())
                .collect(),
        }
    }

    /// Returns the byte offset of the first match in a line: of its longest term.
    fn offset(&self, closeness: Closeness, line: &str) -> usize {
        if closeness == Closeness::Letters {
            let shown = clip(line, SHOWN);
            let first = letter_indices(&self.query, shown).first().copied();
            let mut graphemes = shown.grapheme_indices(true);
            return graphemes
                .nth(first.unwrap_or(0) as usize)
                .map_or(0, |(at, _)| at);
        }
        let longest = self.terms(closeness).iter().max_by_key(|term| term.len());
        let found = longest.and_then(|term| Some(term.regex().find(line)?.start()));
        found.unwrap_or(0)
    }

    /// Returns the hit for a match, with the text around it.
    pub fn hit(&self, sources: Sources<'_>, found: &Match) -> Option<Hit> {
        let text = |line: &str| {
            // The text begins at the start of the line, unless the match is further behind.
            let at = if line.len() > snippet::LONGEST {
                self.offset(found.closeness, line)
            } else {
                0
            };
            (snippet::around(line, at), found.score as f32)
        };
        match found.spot {
            MatchSpot::Title(memory_text) => {
                let memory_text = sources.memories.texts.get(memory_text)?;
                Some(sources.line(memory_text, 1, text(&memory_text.memory.title)))
            }
            MatchSpot::Line(memory_text, line) => {
                let memory_text = sources.memories.texts.get(memory_text)?;
                let shown = memory_text.text.lines().nth(line.checked_sub(1)?)?;
                Some(sources.line(memory_text, line, text(shown)))
            }
            MatchSpot::Session(log) => {
                let log = sources.corpus?.log(log)?;
                Some(sources.log(log, text(&log.shown_title())))
            }
            MatchSpot::Message(at, offset) => {
                let corpus = sources.corpus?;
                corpus.message(at, |message| {
                    let (before, rest) = message.text.split_at_checked(offset as usize)?;
                    let text = text(rest.lines().next()?);
                    let mut hit = sources.message(corpus.log(message.log)?, message, text);
                    hit.within = Some(memchr::memchr_iter(b'\n', before.as_bytes()).count());
                    Some(hit)
                })?
            }
        }
    }
}

/// Finds the matching characters of lines, for highlighting.
#[derive(Debug)]
pub struct Marker<'a> {
    query: &'a Query,
    closeness: Closeness,
    terms: Vec<regex::Regex>,
}

impl Marker<'_> {
    /// Returns the indices of the graphemes of a line that match.
    pub fn indices(&self, line: &str) -> Vec<u32> {
        let line = clip(line, SHOWN);
        if self.closeness == Closeness::Letters {
            return letter_indices(self.query, line);
        }
        let found = self.terms.iter().flat_map(|term| term.find_iter(line));
        let places: Vec<Range<usize>> = found.map(|found| found.range()).collect();
        if places.is_empty() {
            return Vec::new();
        }
        let is_found = |at: usize| places.iter().any(|place| place.contains(&at));
        // Each ASCII character is a grapheme, except for a line break of two.
        if line.is_ascii() && !line.contains('\r') {
            let found = (0..line.len()).filter(|at| is_found(*at));
            return found.map(|at| at as u32).collect();
        }
        let graphemes = line.grapheme_indices(true).enumerate();
        graphemes
            .filter(|(_, (at, _))| is_found(*at))
            .map(|(number, _)| number as u32)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::search::query::noon;

    fn query(text: &str) -> Query {
        Query::parse(text, &noon()).expect("a query")
    }

    fn texts(home: &TestHome, text: &str) -> Vec<String> {
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let query = query(text);
        let request = FindRequest {
            query: &query,
            limit: 50,
        };
        let found = find(sources, request, &());
        assert_eq!(found.progress, SearchState::Complete);
        let matches = found.matches.iter();
        let hits = matches.filter_map(|one| found.hit(sources, one));
        hits.map(|hit| format!("{} {}", hit.citation, hit.text))
            .collect()
    }

    #[test]
    fn the_first_is_the_same_however_few_are_asked_for() {
        let notes = "the reprompt hook\nthe reprompt again\n";
        let said = conversation(&["is the prompt too long?"]);
        let home = TestHome::new(&[("hooks.md", notes)], &[said]);
        let (memories, corpus) = (home.memories(), home.corpus());
        let corpus = Some(&corpus);
        let sources = Sources {
            memories: &memories,
            corpus,
        };
        let query = query("prompt");
        let first = |limit: usize| {
            let request = FindRequest {
                query: &query,
                limit,
            };
            let found = find(sources, request, &());
            assert_eq!(found.matches.len(), limit.min(3));
            found.matches[0].spot
        };
        assert!(matches!(first(9), MatchSpot::Message(..)));
        assert_eq!(first(1), first(9));
        assert_eq!(first(2), first(9));
    }

    /// Returns the result of one search.
    fn search(home: &TestHome, text: &str) -> Matches {
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let query = query(text);
        let request = FindRequest {
            query: &query,
            limit: 500,
        };
        find(sources, request, &())
    }

    #[test]
    fn plain_letters_find_accents_and_accents_only_themselves() {
        let home = TestHome::new(
            &[("a.md", "Chez Chloé\n")],
            &[conversation(&[
                "le café Noël, Škoda, Łódź",
                "the cafe of Chloe",
            ])],
        );
        for (query, count) in [
            ("chloe", 2),
            ("chloé", 1),
            ("noel", 1),
            ("skoda", 1),
            ("lodz", 1),
            ("cafe", 2),
            ("Cafe", 0),
        ] {
            let found = search(&home, query);
            let words = found.matches.iter();
            let words = words
                .filter(|one| one.closeness == Closeness::Words)
                .count();
            assert_eq!(words, count, "{query}");
        }
    }

    #[test]
    fn people_come_before_agents_and_the_newest_first() {
        let home = TestHome::new(
            &[("note.md", "# Packs\n\nthe packfile of a release\n")],
            &[
                conversation(&[
                    "the packfile of today",
                    "nothing",
                    "nothing",
                    "this packfile is new",
                ]),
                conversation(&[
                    "nothing here",
                    "this packfile is old",
                    "that packfile is mine",
                ]),
            ],
        );
        let reply = r#"{"type":"assistant","uuid":"a","timestamp":"2030-01-01T00:00:00Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"this packfile is thought"}]}}"#;
        home.write("claude/projects/-shop/a.jsonl", &format!("{reply}\n"));
        let found = texts(&home, "packfile");
        let voices: Vec<&str> = found
            .iter()
            .map(|text| text.rsplit(' ').next().unwrap_or_default())
            .collect();
        let agents = voices
            .iter()
            .position(|word| *word == "new")
            .expect("found");
        let people = ["release", "today", "mine"];
        for word in people {
            let at = voices.iter().position(|voice| *voice == word);
            assert!(at.expect("found") < agents, "{found:?}");
        }
        // Of what an agent wrote, what it only thought is last, however new it is.
        assert!(voices.ends_with(&["old", "thought"]), "{found:?}");
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
            texts(&house(), "tokio"),
            [
                "detail/note.md#L1 Tokio runtime",
                "detail/note.md#L1 # Tokio runtime",
                "messages.jsonl#L3 Tokio RT",
                "messages.jsonl#L1 the tokio runtime is here",
            ]
        );
        assert_eq!(
            texts(&house(), "Tokio role:user"),
            ["messages.jsonl#L3 Tokio RT"]
        );
        assert_eq!(
            texts(&house(), "runtime in:memories ^use"),
            ["detail/note.md#L3 use one runtime"]
        );
    }

    #[test]
    fn a_session_is_found_by_the_title_that_its_agent_gave_it() {
        let home = TestHome::new(&[], &[conversation(&["nothing of it"])]);
        let said = r#"{"type":"user","uuid":"u","cwd":"/p","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"hello"}}"#;
        let title = r#"{"type":"custom-title","customTitle":"Blue green wombat"}"#;
        home.write("claude/projects/-p/c1.jsonl", &format!("{said}\n{title}\n"));
        let found = ["claude-code:c1 Blue green wombat"];
        assert_eq!(texts(&home, "wombat"), found);
        assert_eq!(texts(&home, "womabt"), found, "with a slip");
        assert_eq!(texts(&home, "blgrwom"), found, "by its letters");
        for filter in [
            "role:user",
            "in:memories",
            "before:2026-01-01",
            "agent:codex",
        ] {
            assert_eq!(
                texts(&home, &format!("wombat {filter}")),
                [""; 0],
                "{filter}"
            );
        }
    }

    #[test]
    fn a_whole_word_ends_at_no_letter_of_any_script() {
        let home = TestHome::new(
            &[(
                "note.md",
                "# Words\n\nthe café\n\ndie Rückgabe\n\ncaf, gabe\n",
            )],
            &[],
        );
        let only = ["detail/note.md#L7 caf, gabe"];
        assert_eq!(texts(&home, "'caf"), only);
        assert_eq!(texts(&home, "'gabe"), only);
        assert_eq!(texts(&home, "'ckgabe"), [""; 0]);
        assert_eq!(texts(&home, "'café"), ["detail/note.md#L3 the café"]);
    }

    #[test]
    fn lines_with_the_words_are_reported_before_similar_ones_are_searched() {
        struct Reports(Mutex<Vec<(SearchState, usize)>>);
        impl SearchWatcher for Reports {
            fn partial(&self, found: &Matches) {
                let mut reports = self.0.lock().expect("nobody panics with it");
                reports.push((found.progress, found.matches.len()));
            }
        }
        let home = house();
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let reported = |text: &str| {
            let query = query(text);
            let request = FindRequest {
                query: &query,
                limit: 50,
            };
            let reports = Reports(Mutex::new(Vec::new()));
            find(sources, request, &reports);
            reports.0.into_inner().expect("nobody panicked with it")
        };
        assert_eq!(reported("tokio").first(), Some(&(SearchState::Widening, 4)));
        let nothing = reported("tokoi");
        assert_eq!(nothing.first(), Some(&(SearchState::Widening, 0)));
    }

    #[test]
    fn words_come_before_slips_and_letters_only_without_either() {
        let home = TestHome::new(
            &[(
                "a.md",
                "# Verify load-bearing claims\n\nthe changelog of a release\n",
            )],
            &[conversation(&[
                "chat; hard alternating novel glow",
                "vague exact rows if you look at obvious deeds",
                "the release of the changelog",
            ])],
        );
        let kinds = |text: &str| -> Vec<Closeness> {
            let found = search(&home, text);
            found.matches.iter().map(|one| one.closeness).collect()
        };
        for slip in [
            "chnagelog",
            "chnagelog relase",
            "verfy laod bearing clams",
            "changlog",
        ] {
            assert!(
                kinds(slip).iter().all(|kind| *kind == Closeness::Slips),
                "{slip}: {:?}",
                kinds(slip)
            );
            assert!(!kinds(slip).is_empty(), "{slip}");
        }
        assert_eq!(kinds("changelog"), [Closeness::Words; 2]);
        let letters = kinds("chnglg");
        assert!(letters.len() > 1 && letters.iter().all(|kind| *kind == Closeness::Letters));
        assert_eq!(kinds("\"chnagelog\""), [], "a quotation stands as it is");
    }

    #[test]
    fn words_that_nothing_has_together_are_found_but_for_one() {
        let home = TestHome::new(
            &[("a.md", "# Dashboard\n\nthe hash of jobs, and a counter\n")],
            &[conversation(&[
                "the jobs have a counter in bash",
                "yash is another shell",
                "its jobs run in yash",
            ])],
        );
        let found = search(&home, "yash jobs counter");
        let kinds: Vec<Closeness> = found.matches.iter().map(|one| one.closeness).collect();
        assert_eq!(kinds, [Closeness::Most; 3], "{:?}", found.matches);
        let texts = texts(&home, "yash jobs counter");
        assert!(texts[0].contains("the hash of jobs"), "{texts:?}");
        assert!(texts[1].contains("the jobs have a counter"), "{texts:?}");
        assert!(texts[2].contains("its jobs run in yash"), "{texts:?}");
        // Of two words, one alone says too little.
        let two = search(&home, "dashboard yash");
        assert!(
            two.matches
                .iter()
                .all(|one| one.closeness != Closeness::Most)
        );
    }

    #[test]
    fn words_far_apart_in_a_long_text_come_behind_most_of_them_together() {
        let hay = "straw and hay\n".repeat(100);
        let long = format!("# Barn\n\nthe scanner\n{hay}a secret\n{hay}some timeout\n");
        let home = TestHome::new(
            &[
                ("a.md", long.as_str()),
                ("b.md", "# Tokens\n\nThe secret scanner stops.\n"),
            ],
            &[conversation(&["a timeout of a scanner", "barn"])],
        );
        let found = |text: &str| -> Vec<(Closeness, String)> {
            let kinds = search(&home, text).matches.into_iter();
            let kinds = kinds.map(|one| one.closeness);
            kinds.zip(texts(&home, text)).collect()
        };
        let three = found("secret scanner timeout");
        assert_eq!(three[0].0, Closeness::Most, "{three:?}");
        assert!(
            three[0].1.contains("The secret scanner stops."),
            "{three:?}"
        );
        assert_eq!(three.last().map(|one| one.0), Some(Closeness::Apart));
        let two = found("secret timeout");
        assert_eq!(two.len(), 1, "{two:?}");
        assert_eq!(two[0].0, Closeness::Apart);
    }

    #[test]
    fn the_excerpt_of_a_long_line_has_the_match() {
        let line = format!(
            "{} the needle is here {}",
            "straw ".repeat(900),
            "hay ".repeat(99)
        );
        let home = TestHome::new(&[("a.md", "x")], &[vec![line]]);
        let found = texts(&home, "\"needle is\"");
        assert!(found[0].contains("the needle is here"), "{found:?}");
    }

    #[test]
    fn words_on_different_lines_of_one_text_are_found_behind_those_on_one() {
        let home = TestHome::new(
            &[
                ("a.md", "# Auth\n\nUse JWT.\n"),
                ("b.md", "# Other\n\nauth by jwt\n"),
            ],
            &[],
        );
        assert_eq!(
            texts(&home, "auth jwt"),
            ["detail/b.md#L3 auth by jwt", "detail/a.md#L1 # Auth"]
        );
        assert_eq!(texts(&home, "\"auth use\""), [""; 0]);
        assert_eq!(texts(&home, "auth !jwt ^#"), ["detail/a.md#L1 # Auth"]);
    }

    #[test]
    fn a_frequent_word_is_counted_once_in_every_message() {
        let talk = |from: usize| (from..from + 3000).map(|n| format!("alpha {n}")).collect();
        let home = TestHome::new(&[("a.md", "x")], &[talk(0), talk(5000)]);
        for text in ["al", "alp", "alpha"] {
            assert_eq!(search(&home, text).total, 6000, "{text}");
        }
    }

    #[test]
    fn lines_are_told_apart_and_filtered_where_most_messages_have_the_word() {
        let message = |n: usize| match n % 6 {
            0 => format!("none {n}"),
            _ => format!("alpha {n}\n\n  alphabet of {n}\nend\n"),
        };
        let home = TestHome::new(&[], &[(0..60).map(message).collect()]);
        for (query, expected) in [
            ("alpha", 100),
            ("'alpha", 50),
            ("^alphabet", 50),
            ("alpha !alphabet", 50),
            ("alpha role:user", 40),
            ("\"alpha 5\"", 10),
            ("none", 10),
            ("\"end none\"", 0),
        ] {
            assert_eq!(search(&home, query).total, expected, "{query}");
        }
        let lines = texts(&home, "^alphabet");
        assert_eq!(lines.len(), 50);
        for n in (0..60).filter(|n| n % 6 > 0) {
            let expected = format!("#L{} alphabet of {n}", n + 1);
            let mut lines = lines.iter();
            assert!(lines.any(|line| line.ends_with(&expected)), "{expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn the_index_leaves_out_no_line_that_has_the_words(
            said in proptest::collection::vec(
                "((Foo|bar|émile|sun|sunk|数据|x_yz|no-go)[ \n/]){0,5}", 1..9,
            ),
            read in "((Foo|bar|sunk|x_yz)[ \n]){0,5}",
            word in "fo|foo|bar|émi|emi|su|sun|x_y|数|数据|no-go|go|yz",
        ) {
            let home = TestHome::new(&[("a.md", "x")], &[]);
            let line = |role: &str, text: &str| {
                serde_json::json!({"role": role, "name": "ls", "content": text}).to_string() + "\n"
            };
            let mut log: String = said.iter().map(|text| line("user", text)).collect();
            log.push_str(&line("tool", &read));
            home.write("s0/messages.jsonl", &log);
            let text = format!("\"{word}\"");
            let matcher = Term::as_typed(&query(&text).atoms[0]).expect("short");
            let regex = matcher.regex();
            let count = |texts: &[&String]| -> usize {
                let lines = texts.iter().flat_map(|text| text.lines());
                lines.filter(|line| regex.is_match(line)).count()
            };
            // Tool text is searched if nothing else has the word.
            let expected = match count(&said.iter().collect::<Vec<_>>()) {
                0 => count(&[&read]),
                some => some,
            };
            let found = search(&home, &text);
            let words = found.matches.iter().filter(|one| one.closeness == Closeness::Words);
            prop_assert_eq!(words.count(), expected);
        }
    }

    #[test]
    fn tool_text_joins_when_it_is_asked_for_or_the_words_give_nothing() {
        let home = TestHome::new(&[("a.md", "x")], &[]);
        home.write(
            "s0/messages.jsonl",
            "{\"role\":\"user\",\"content\":\"plain words\"}\n{\"role\":\"tool\",\"name\":\"ls\",\"content\":\"plain output\"}\n",
        );
        assert_eq!(texts(&home, "output"), ["messages.jsonl#L2 plain output"]);
        assert_eq!(texts(&home, "plain"), ["messages.jsonl#L1 plain words"]);
        assert_eq!(
            texts(&home, "plain in:tools"),
            ["messages.jsonl#L2 plain output"]
        );
    }

    #[test]
    fn the_letters_that_match_are_known_for_a_row() {
        let indices = |text: &str| {
            let found = search(&house(), text);
            let kind = found.matches[0].closeness;
            (kind, found.marker(kind).indices("the tokio"))
        };
        assert_eq!(indices("tki"), (Closeness::Letters, vec![4, 6, 7]));
        assert_eq!(indices("\"to\" !zz"), (Closeness::Words, vec![4, 5]));
        assert_eq!(indices("toiko"), (Closeness::Slips, vec![4, 5, 6, 7, 8]));
        let found = search(&house(), "tok");
        let marker = found.marker(Closeness::Words);
        assert_eq!(marker.indices("a\u{300} tok"), [2, 3, 4]);
        assert_eq!(marker.indices("a\r\ntok"), [2, 3, 4]);
        assert_eq!(marker.indices("a\ttok tok"), [2, 3, 4, 6, 7, 8]);
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
                limit: 500,
            };
            let found = find(sources, request, &watcher);
            (found, watcher.totals.into_inner().expect("nobody panicked"))
        };
        let (found, totals) = run(usize::MAX);
        assert_eq!((found.progress, found.total), (SearchState::Complete, 6000));
        assert!(!totals.is_empty() && totals.iter().all(|total| *total == 6000));
        let (found, _) = run(1);
        assert_eq!(found.progress, SearchState::Stale);
        assert!(found.matches.len() < 500);
    }
}
