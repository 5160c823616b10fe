//! Search while the user types: lines of memories and logs with the words of the query.
//!
//! Three kinds of matches, each searched only if those before it leave room: the words as they
//! are typed ([`term`]), the words with a slip of the keyboard ([`slip`]), and the letters of
//! the words in their order ([`matcher`], ranked by nucleo).
//!
//! The index says which messages have the words, or words near them; only the letters are searched
//! in all text. Blocks are searched in waves. After each wave the watcher may cancel the search,
//! and receives the matches so far if it waits for them. A query that narrows an earlier one
//! searches only the messages that the earlier one matched.

mod gather;
mod group;
mod lines;
mod matcher;
mod rank;
mod scan;
mod slip;
mod term;

use std::collections::VecDeque;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::blocks::OpenBlocks;
use super::{Hit, Sources, snippet};
use crate::core::corpus::{CorpusMessage, Part};
use crate::core::query::{Atom, Polarity, Query};

use group::LogLine;
pub use group::MatchGroup;
use rank::letter_indices;
use scan::Search;
use slip::Vocabulary;
pub use term::Term;

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

    /// Returns whether the search has taken so long that what was found so far is to be reported
    /// before everything was searched for the words.
    fn is_waiting(&self) -> bool {
        true
    }

    /// Receives the matches found so far.
    fn partial(&self, _found: &Matches) {}
}

impl SearchWatcher for () {}

/// What searches keep for the next ones.
#[derive(Debug, Default)]
pub struct SearchCache {
    /// The last results, each with its limit, the newest first: a longer query narrows one, and
    /// a letter that is deleted brings one back.
    last: VecDeque<(usize, Matches)>,
    /// The words of the sources, read when they are needed first.
    vocabulary: Option<Vocabulary>,
}

impl SearchCache {
    /// How many results are kept, and how many messages in all of them.
    const MOST: usize = 32;
    const MOST_MESSAGES: usize = 400_000;

    /// Forgets the last results, because the sources have changed.
    pub fn forget(&mut self) {
        self.last.clear();
    }

    /// Returns the result of this search, if it is among the last ones.
    fn known(&self, request: FindRequest<'_>) -> Option<Matches> {
        let mut last = self.last.iter();
        let known =
            last.find(|(limit, found)| *limit == request.limit && found.query == *request.query);
        known.map(|(_, found)| found.clone())
    }

    /// Returns the fewest messages among which all are that have the words of the query, and the
    /// parts that were searched for them.
    fn narrowed_by(&self, query: &Query) -> Option<(&[MessageAt], &[Part])> {
        let usable = self.last.iter().filter_map(|(_, found)| {
            let messages = found.messages.as_deref()?;
            query
                .narrows(&found.query)
                .then_some((messages, found.parts.as_slice()))
        });
        usable.min_by_key(|(messages, _)| messages.len())
    }

    fn keep(&mut self, limit: usize, found: &Matches) {
        self.last.push_front((limit, found.clone()));
        self.last.truncate(Self::MOST);
        let mut messages = 0;
        let is_kept = |(_, found): &&(usize, Matches)| {
            messages += found.messages.as_ref().map_or(0, Vec::len);
            messages <= Self::MOST_MESSAGES
        };
        let kept = self.last.iter().take_while(is_kept).count();
        self.last.truncate(kept.max(1));
    }
}

/// The progress of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchState {
    /// The words as they are typed are being searched.
    Looking,
    /// Everything was searched for the words as they are typed, and the best lines are known;
    /// the others or less close ones are still to come.
    Widening,
    /// The search was cancelled.
    Stale,
    /// Everything was searched.
    Complete,
}

/// How closely a line matches the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Closeness {
    /// It has the words as they are typed.
    Words,
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
    /// The number of matching lines.
    pub total: usize,
    /// The progress of the search.
    pub progress: SearchState,
    query: Query,
    /// The terms of each kind of match that was searched.
    terms: Vec<(Closeness, Vec<Term>)>,
    /// The messages that have the words, as typed; `None` if there are too many to remember.
    messages: Option<Vec<MessageAt>>,
    /// The parts that were searched for the words; tool text only if nothing else has them.
    parts: Vec<Part>,
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

/// A message: the part, the block, the number in it.
type MessageAt = (Part, u32, u32);

/// The maximum number of bytes of a line that is ranked and of which matches are shown.
const SHOWN: usize = 2048;
/// With fewer lines than this, a rare word may be a slip.
const FEW: usize = 10;

/// Finds the matching lines.
pub fn find(
    sources: Sources<'_>,
    request: FindRequest<'_>,
    cache: &mut SearchCache,
    watch: &dyn SearchWatcher,
) -> Matches {
    if let Some(found) = cache.known(request) {
        return found;
    }
    let mut search = Search::new(sources, request, watch);
    search.words(cache);
    let wanted: Vec<&Atom> = wanted(request.query).collect();
    if search.found.total < FEW && !search.is_over() && !wanted.is_empty() {
        // What has the words is shown before the longer search begins.
        search.widen();
        let is_known = |vocabulary: &Vocabulary| vocabulary.fits(sources);
        let vocabulary = match cache.vocabulary.take().filter(is_known) {
            Some(vocabulary) => vocabulary,
            None => Vocabulary::of(sources),
        };
        search.slips(cache.vocabulary.insert(vocabulary));
    }
    if search.found.total == 0 && !search.is_over() && !wanted.is_empty() {
        search.letters();
    }
    let found = search.finish();
    if found.progress == SearchState::Complete {
        cache.keep(request.limit, &found);
    }
    found
}

fn wanted(query: &Query) -> impl Iterator<Item = &Atom> {
    let atoms = query.atoms.iter();
    atoms.filter(|atom| atom.sense == Polarity::Wanted)
}

/// Reads the lines of matches. It keeps the blocks open that it has read.
pub struct LineReader<'a> {
    sources: Sources<'a>,
    pages: OpenBlocks<'a>,
}

impl std::fmt::Debug for LineReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineReader").finish_non_exhaustive()
    }
}

impl<'a> LineReader<'a> {
    /// Creates a reader that has read nothing yet.
    pub fn new(sources: Sources<'a>) -> Self {
        Self {
            sources,
            pages: OpenBlocks::new(sources.corpus),
        }
    }

    /// Returns the line of a match in a memory.
    fn memory_line(&self, spot: MatchSpot) -> Option<&'a str> {
        let texts = &self.sources.memories.texts;
        match spot {
            MatchSpot::Title(memory_text) => Some(&texts.get(memory_text)?.memory.title),
            MatchSpot::Line(memory_text, line) => {
                let text = &texts.get(memory_text)?.text;
                text.lines().nth(line.checked_sub(1)?)
            }
            MatchSpot::Message { .. } => None,
        }
    }

    /// Passes the message of a match in a log to `take`.
    fn message<T>(&self, spot: MatchSpot, take: impl FnOnce(&CorpusMessage<'_>) -> T) -> Option<T> {
        let MatchSpot::Message {
            part,
            block,
            number,
            ..
        } = spot
        else {
            return None;
        };
        let at = (block as usize, number as usize);
        self.pages.message(part, at, take)
    }
}

/// Returns the line of a message at which a match is.
fn line_of<'a>(message: &CorpusMessage<'a>, spot: MatchSpot) -> Option<&'a str> {
    let MatchSpot::Message { offset, .. } = spot else {
        return None;
    };
    message.text.get(offset as usize..)?.lines().next()
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
                .filter_map(|term| term.regex().cloned())
                .collect(),
        }
    }

    /// Returns the byte offset of the first match in a line: of its longest term.
    fn offset(&self, closeness: Closeness, line: &str) -> usize {
        if closeness == Closeness::Letters {
            let shown = snippet::begin(line, SHOWN);
            let first = letter_indices(&self.query, shown).first().copied();
            let mut graphemes = shown.grapheme_indices(true);
            return graphemes
                .nth(first.unwrap_or(0) as usize)
                .map_or(0, |(at, _)| at);
        }
        let longest = self.terms(closeness).iter().max_by_key(|term| term.len());
        let found = longest.and_then(|term| Some(term.regex()?.find(line)?.start()));
        found.unwrap_or(0)
    }

    /// Returns the hit for a match, with the text around it.
    pub fn hit(&self, reader: &LineReader<'_>, found: &Match) -> Option<Hit> {
        let sources = reader.sources;
        let text = |line: &str| {
            // The text begins at the start of the line, unless the match is further behind.
            let at = match line.len() > snippet::LONGEST {
                true => self.offset(found.closeness, line),
                false => 0,
            };
            (snippet::around(line, at), found.score as f32)
        };
        let memory = |memory_text: usize, line| {
            let memory_text = sources.memories.texts.get(memory_text)?;
            Some(sources.line(memory_text, line, text(reader.memory_line(found.spot)?)))
        };
        match found.spot {
            MatchSpot::Title(memory_text) => memory(memory_text, 1),
            MatchSpot::Line(memory_text, line) => memory(memory_text, line),
            MatchSpot::Message { .. } => {
                let corpus = sources.corpus?;
                reader.message(found.spot, |message| {
                    let text = text(line_of(message, found.spot)?);
                    Some(sources.message(corpus.log(message.log)?, message, text))
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
        let line = snippet::begin(line, SHOWN);
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

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
        let mut cache = SearchCache::default();
        let mut last: Option<Matches> = None;
        for text in queries {
            let query = query(text);
            let request = FindRequest {
                query: &query,
                limit: 50,
            };
            last = Some(find(sources, request, &mut cache, &()));
        }
        let found = last.expect("a query was asked");
        assert_eq!(found.progress, SearchState::Complete);
        let matches = found.matches.iter();
        let reader = LineReader::new(sources);
        let hits = matches.filter_map(|one| found.hit(&reader, one));
        hits.map(|hit| format!("{} {}", hit.citation, hit.text))
            .collect()
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
            limit: 50,
        };
        find(sources, request, &mut SearchCache::default(), &())
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
                "messages.jsonl#L3 Tokio RT",
                "messages.jsonl#L1 the tokio runtime is here",
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
    fn a_whole_word_ends_at_no_letter_of_any_script() {
        let home = TestHome::new(
            &[(
                "note.md",
                "# Words\n\nthe café\n\ndie Rückgabe\n\ncaf, gabe\n",
            )],
            &[],
        );
        let only = ["detail/note.md#L7 caf, gabe"];
        assert_eq!(texts(&home, &["'caf"]), only);
        assert_eq!(texts(&home, &["'gabe"]), only);
        assert_eq!(texts(&home, &["'ckgabe"]), [""; 0]);
        assert_eq!(texts(&home, &["'café"]), ["detail/note.md#L3 the café"]);
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
            find(sources, request, &mut SearchCache::default(), &reports);
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
    fn the_excerpt_of_a_long_line_has_the_match() {
        let line = format!(
            "{} the needle is here {}",
            "straw ".repeat(900),
            "hay ".repeat(99)
        );
        let home = TestHome::new(&[("a.md", "x")], &[vec![line]]);
        let found = texts(&home, &["\"needle is\""]);
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
            texts(&home, &["auth jwt"]),
            ["detail/b.md#L3 auth by jwt", "detail/a.md#L1 # Auth"]
        );
        assert_eq!(texts(&home, &["\"auth use\""]), [""; 0]);
        assert_eq!(texts(&home, &["auth !jwt ^#"]), ["detail/a.md#L1 # Auth"]);
    }

    #[test]
    fn a_query_typed_on_gives_what_it_gives_at_once() {
        for typed in [
            &["to", "tok", "toki rt"][..],
            &["t", "ti", "!x ti"],
            &["tokio", "tok"],
            &["tok", "toki", "tokio", "tok", "toki"],
            &["tok", "time", "toki"],
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
    fn a_frequent_word_typed_on_is_counted_once_in_every_message() {
        let talk = |from: usize| (from..from + 3000).map(|n| format!("alpha {n}")).collect();
        let home = TestHome::new(&[("a.md", "x")], &[talk(0), talk(5000)]);
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let mut cache = SearchCache::default();
        for text in ["al", "alp", "alpha"] {
            let query = query(text);
            let request = FindRequest {
                query: &query,
                limit: 50,
            };
            let typed = find(sources, request, &mut cache, &());
            assert_eq!(typed.total, 6000, "{text}");
            let at_once = find(sources, request, &mut SearchCache::default(), &());
            assert_eq!(typed.matches, at_once.matches, "{text}");
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
        let lines = texts(&home, &["^alphabet"]);
        assert_eq!(lines.len(), 50);
        for n in (0..60).filter(|n| n % 6 > 0) {
            let expected = format!("#L{} alphabet of {n}", n + 1);
            let mut lines = lines.iter();
            assert!(lines.any(|line| line.ends_with(&expected)), "{expected}");
        }
    }

    #[test]
    fn a_letter_that_is_deleted_brings_back_what_was_found_before() {
        /// Counts how often it is asked whether to go on, which every search does.
        struct Asked(AtomicUsize);
        impl SearchWatcher for Asked {
            fn is_stale(&self) -> bool {
                self.0.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
        let home = house();
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let mut cache = SearchCache::default();
        let mut run = |text: &str, limit: usize| {
            let query = query(text);
            let request = FindRequest {
                query: &query,
                limit,
            };
            let asked = Asked(AtomicUsize::new(0));
            let found = find(sources, request, &mut cache, &asked);
            (found.matches, asked.0.into_inner() > 0)
        };
        let (first, is_searched) = run("toki", 50);
        assert!(is_searched && !first.is_empty());
        assert!(run("tokio", 50).1);
        assert_eq!(run("toki", 50), (first, false));
        assert!(run("toki", 1).1, "another limit is another search");
        cache.forget();
        let query = query("toki");
        let request = FindRequest {
            query: &query,
            limit: 50,
        };
        assert!(cache.known(request).is_none(), "other sources");
    }

    #[test]
    fn a_search_for_a_frequent_word_holds_few_lines() {
        const MESSAGES: usize = 20_000;
        let talk: Vec<String> = (0..MESSAGES).map(|n| format!("common {n}")).collect();
        let home = TestHome::new(&[("a.md", "x")], &[talk]);
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        assert!(corpus.blocks(Part::Words).len() > 4);
        let query = query("common");
        let request = FindRequest {
            query: &query,
            limit: 50,
        };
        let run = |lines: usize, messages: usize| {
            let mut search = Search::new(sources, request, &());
            search.limits.lines = lines;
            search.limits.messages = messages;
            search.words(&SearchCache::default());
            let peak = search.limits.peak.load(Ordering::Relaxed);
            (search.finish(), peak)
        };
        let (few, peak) = run(2000, 1000);
        assert!(peak <= 2 * 2000, "{peak}");
        assert_eq!((few.total, few.messages.as_ref()), (MESSAGES, None));
        let (all, peak) = run(usize::MAX, usize::MAX);
        assert!(peak > 4 * 2000, "{peak}");
        assert_eq!(all.messages.as_ref().map(Vec::len), Some(MESSAGES));
        assert_eq!(few.matches, all.matches);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn the_index_leaves_out_no_line_that_has_the_words(
            said in proptest::collection::vec(
                "((Foo|bar|barfoo|émile|sun|sunk|数据|x_yz|no-go)[ \n/]){0,5}", 1..9,
            ),
            read in "((Foo|bar|sunk|x_yz)[ \n]){0,5}",
            word in "fo|foo|bar|mil|émi|un|sun|x_y|数据|no-go|go|z",
        ) {
            let home = TestHome::new(&[("a.md", "x")], &[]);
            let line = |role: &str, text: &str| {
                serde_json::json!({"role": role, "name": "ls", "content": text}).to_string() + "\n"
            };
            let mut log: String = said.iter().map(|text| line("user", text)).collect();
            log.push_str(&line("tool", &read));
            home.write("s0/messages.jsonl", &log);
            let text = format!("\"{word}\"");
            let matcher = Term::as_typed(&query(&text).atoms[0]);
            let regex = matcher.regex().expect("short");
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
        let indices = |text: &str| {
            let found = search(&house(), text);
            let kind = found.matches[0].closeness;
            (kind, found.marker(kind).indices("the tokio"))
        };
        assert_eq!(indices("tki"), (Closeness::Letters, vec![4, 6, 7]));
        assert_eq!(indices("\"ok\" !zz"), (Closeness::Words, vec![5, 6]));
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
                limit: 5,
            };
            let found = find(sources, request, &mut SearchCache::default(), &watcher);
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
