//! What the index is asked: the messages that have some words, the messages of a log, and words that
//! are spelled nearly like another one.
//!
//! The postings of each word are gone through once for each segment: they tell how often each message
//! has each word. Find takes the newest messages that have all words; recall takes those whose words
//! weigh most, with their neighbours. Neither reads a text for it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::sync::Arc;

use tantivy::columnar::{Column, ColumnValues};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::query::{BooleanQuery, EnableScoring, FuzzyTermQuery, PhraseQuery, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::termdict::TermDictionary;
use tantivy::{DocSet as _, SegmentReader, TERMINATED};

use super::document::{IDENTITY, MARKS, Marks, OWNER, PLACE, TIME};
use super::tokenizer::PART;
use super::{Corpus, CorpusMessage, MessageAt, Part};
use crate::core::log::{MessageKind, Origin, Role};
use crate::core::search::query::Filters;
use crate::core::search::score::{Rarity, WordCount, saturation};

/// What is looked for in place of one word of a query.
pub enum WantedWord<'a> {
    /// The forms of a word.
    Forms(WantedForms<'a>),
    /// A word that begins with this.
    Beginning(String),
    /// Any of these words.
    Any(Vec<String>),
    /// These words, one after another; whatever else is wanted, a message must have them.
    Phrase(Vec<String>),
}

/// The forms of a word.
pub struct WantedForms<'a> {
    /// The folded word.
    pub word: &'a str,
    /// What every form begins with; the forms are looked for among all words that do.
    pub beginnings: &'a [String],
    /// Whether a word is a form.
    pub is_form: Box<dyn Fn(&str) -> bool + 'a>,
}

/// The words of the index that were looked for.
pub struct FoundWords<'a> {
    wanted: &'a [WantedWord<'a>],
    parts: Vec<Part>,
    /// For each segment.
    segments: Vec<Vec<WordsOfPart>>,
    /// How many messages have each wanted word, about.
    pub counts: Vec<u64>,
}

/// A part of a segment, and for each wanted word the words that were found.
type WordsOfPart = (Part, Vec<Vec<FoundWord>>);

/// A word of a segment.
struct FoundWord {
    info: TermInfo,
    /// Whether it is the word as it was asked for.
    is_exact: bool,
}

/// Which messages are searched.
#[derive(Debug, Clone, Copy)]
pub struct MessageFilter<'a> {
    /// For each visible log, whether it is searched.
    pub logs: &'a [bool],
    /// Restricts messages by role and time.
    pub filters: &'a Filters,
}

/// The messages that have all of some words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FoundMessages {
    /// How many there are.
    pub total: usize,
    /// The first ones: those that have the words whole, what people and agents said before what a
    /// program injected, and of equal ones the newest.
    pub first: Vec<MessageAt>,
}

/// What is known of a message without reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedMessage {
    /// Where it is.
    pub at: MessageAt,
    /// The index of its log.
    pub log: usize,
    /// The record's line in the log, from 1.
    pub line: u64,
    /// See [`CorpusMessage::identity`].
    pub identity: Option<u64>,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The number of its words.
    pub words: u32,
    /// Its kind and origin.
    pub marks: (MessageKind, Origin),
    /// For each word that was looked for, how often the message has it.
    pub counts: Vec<WordCount>,
    /// Whether the filter admits it, and no log tells it better.
    pub is_admitted: bool,
}

/// A word of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    /// The folded word.
    pub word: String,
    /// How many messages have it.
    pub count: u64,
}

/// The numbers of the messages of a segment.
pub(super) struct SegmentColumns {
    owner: Arc<dyn ColumnValues<u64>>,
    place: Arc<dyn ColumnValues<u64>>,
    marks: Arc<dyn ColumnValues<u64>>,
    time: Column<i64>,
    identity: Column<u64>,
}

impl SegmentColumns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        Ok(Self {
            owner: columns.u64(OWNER)?.first_or_default_col(0),
            place: columns.u64(PLACE)?.first_or_default_col(0),
            marks: columns.u64(MARKS)?.first_or_default_col(0),
            time: columns.i64(TIME)?,
            identity: columns.u64(IDENTITY)?,
        })
    }

    /// Returns the line of a message's record.
    fn line(&self, number: u32) -> u64 {
        self.place.get_val(number) >> super::OF_LINE_BITS
    }

    /// Returns the part of a message.
    fn part(&self, number: u32) -> Option<Part> {
        let (_, kind, _) = Marks(self.marks.get_val(number)).decode()?;
        Some(Part::of(kind))
    }
}

/// Whether a segment may have messages of a part: their kinds are between those of its least and its
/// greatest marks.
pub(super) fn may_have(reader: &SegmentReader, part: Part) -> tantivy::Result<bool> {
    let marks = reader.fast_fields().u64(MARKS)?;
    let part_of = |marks| Marks(marks).decode().map(|(_, kind, _)| Part::of(kind));
    let least = part_of(marks.min_value());
    let greatest = part_of(marks.max_value());
    Ok(least.is_none_or(|least| least <= part) && greatest.is_none_or(|greatest| part <= greatest))
}

impl WantedWord<'_> {
    /// Passes each word of a dictionary that is looked for to `take`, and whether it is as asked for.
    fn each(
        &self,
        words: &TermDictionary,
        take: &mut dyn FnMut(&TermInfo, bool),
    ) -> io::Result<()> {
        match self {
            Self::Forms(forms) => {
                for beginning in forms.beginnings {
                    each_beginning(words, beginning, &mut |word, info| {
                        if (forms.is_form)(word) {
                            take(info, word == forms.word);
                        }
                    })?;
                }
            }
            Self::Beginning(beginning) => {
                for beginning in [beginning.clone(), format!("{PART}{beginning}")] {
                    each_beginning(words, &beginning, &mut |word, info| {
                        take(info, word == beginning);
                    })?;
                }
            }
            Self::Any(any) => {
                for word in any {
                    if let Some(info) = words.get(word)? {
                        take(&info, true);
                    }
                }
            }
            Self::Phrase(_) => {}
        }
        Ok(())
    }
}

/// Passes each word of a dictionary that begins with this to `take`.
fn each_beginning(
    words: &TermDictionary,
    beginning: &str,
    take: &mut dyn FnMut(&str, &TermInfo),
) -> io::Result<()> {
    let mut words = words.range().ge(beginning).into_stream()?;
    while words.advance() && words.key().starts_with(beginning.as_bytes()) {
        if let Ok(word) = std::str::from_utf8(words.key()) {
            take(word, words.value());
        }
    }
    Ok(())
}

/// The best of many, each with what it is ordered by.
struct Best<K: Ord> {
    most: usize,
    heap: BinaryHeap<Reverse<(K, MessageAt)>>,
}

impl<K: Ord> Best<K> {
    fn new(most: usize) -> Self {
        Self {
            most,
            heap: BinaryHeap::new(),
        }
    }

    /// Takes one, unless there are enough better ones.
    fn take(&mut self, key: K, at: MessageAt) {
        if self.heap.len() < self.most {
            self.heap.push(Reverse((key, at)));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0.0 < key
        {
            *least = Reverse((key, at));
        }
    }

    /// The least of the best, if there are enough of them.
    fn least(&self) -> Option<&K> {
        let least = self.heap.peek().filter(|_| self.heap.len() >= self.most);
        least.map(|least| &least.0.0)
    }

    /// Returns the best, best first.
    fn finish(self) -> Vec<MessageAt> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        sorted.map(|Reverse((_, at))| at).collect()
    }
}

/// How often a message of a segment has a word: 0 for never, and the highest bit if it is exact.
type CountByte = u8;
const EXACT: CountByte = 1 << 7;
const MOST_TIMES: CountByte = EXACT - 1;
/// How many messages are tested together for whether they have any of the words.
const TOGETHER: usize = 64;
/// More repetitions of a word in a message than these weigh no more.
const TIMES: u32 = 16;

fn counted(count: CountByte) -> WordCount {
    WordCount {
        times: (count & MOST_TIMES).into(),
        is_exact: count & EXACT != 0,
    }
}

/// What was counted in a segment.
struct SegmentCounts<'a> {
    corpus: &'a Corpus,
    reader: &'a SegmentReader,
    columns: &'a SegmentColumns,
    segment: u32,
    wanted: &'a [WantedWord<'a>],
    /// For each wanted word, for each message; some more, so that [`TOGETHER`] divides their number.
    counts: Vec<Vec<CountByte>>,
    /// The lengths of messages of each part.
    lengths: Vec<(Part, FieldNormReader)>,
}

impl Corpus {
    fn columns(&self, segment: u32) -> tantivy::Result<&SegmentColumns> {
        let columns = &self.columns[segment as usize];
        if let Some(columns) = columns.get() {
            return Ok(columns);
        }
        let opened = SegmentColumns::open(self.searcher.segment_reader(segment))?;
        Ok(columns.get_or_init(|| opened))
    }

    /// Returns the words of a part of a segment; `None` if it has none, for which tantivy would make a
    /// dictionary first.
    fn words_of(
        &self,
        reader: &SegmentReader,
        part: Part,
    ) -> tantivy::Result<Option<Arc<InvertedIndexReader>>> {
        if !may_have(reader, part)? {
            return Ok(None);
        }
        reader.inverted_index(self.fields.words(part)).map(Some)
    }

    /// Returns the log of a message, if it is visible.
    pub(super) fn log_of(&self, at: MessageAt) -> Option<usize> {
        let owner = self.look(|| Ok(Some(self.columns(at.segment)?.owner.get_val(at.number))));
        self.log_of_owner.get(&owner?).copied()
    }

    /// Returns the messages of some parts of a log, in the order of the log.
    pub fn messages(&self, log: usize, parts: &[Part]) -> Vec<MessageAt> {
        let Some(row) = self.shown.get(log).map(|row| &self.table.logs[*row]) else {
            return Vec::new();
        };
        self.look(|| {
            let mut found: Vec<(u64, MessageAt)> = Vec::new();
            for (segment, reader) in (0..).zip(self.searcher.segment_readers()) {
                let columns = self.columns(segment)?;
                let index = reader.inverted_index(self.fields.owner)?;
                let term = Term::from_field_u64(self.fields.owner, row.owner);
                let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)?
                else {
                    continue;
                };
                while postings.doc() != TERMINATED {
                    let number = postings.doc();
                    postings.advance();
                    let part = columns.part(number);
                    let is_wanted = part.is_some_and(|part| parts.contains(&part));
                    if is_wanted && !reader.is_deleted(number) {
                        let place = columns.place.get_val(number);
                        found.push((place, MessageAt { segment, number }));
                    }
                }
            }
            found.sort_unstable();
            Ok(found.into_iter().map(|(_, at)| at).collect())
        })
    }

    /// Returns the time and the marks of a message without reading it: its role, kind and origin.
    pub fn outline(&self, at: MessageAt) -> Option<(Option<i64>, (Role, MessageKind, Origin))> {
        self.look(|| {
            let columns = self.columns(at.segment)?;
            let marks = Marks(columns.marks.get_val(at.number)).decode();
            Ok(marks.map(|marks| (columns.time.first(at.number), marks)))
        })
    }

    /// Returns the identity of a message without reading it, see [`CorpusMessage::identity`].
    pub fn identity(&self, at: MessageAt) -> Option<u64> {
        self.look(|| Ok(self.columns(at.segment)?.identity.first(at.number)))
    }

    /// Returns the line of a message without reading it.
    pub fn line(&self, at: MessageAt) -> u64 {
        self.look(|| Ok(self.columns(at.segment)?.line(at.number)))
    }

    /// Looks for words in some parts.
    pub fn look_up<'a>(&self, wanted: &'a [WantedWord<'a>], parts: &[Part]) -> FoundWords<'a> {
        let mut counts = vec![0; wanted.len()];
        let segments = self.look(|| {
            let mut segments = Vec::new();
            for reader in self.searcher.segment_readers() {
                let mut of_parts = Vec::new();
                for part in parts {
                    let Some(index) = self.words_of(reader, *part)? else {
                        continue;
                    };
                    let mut of_words = Vec::new();
                    for (wanted, count) in wanted.iter().zip(&mut counts) {
                        let mut found = Vec::new();
                        wanted.each(index.terms(), &mut |info, is_exact| {
                            *count += u64::from(info.doc_freq);
                            found.push(FoundWord {
                                info: info.clone(),
                                is_exact,
                            });
                        })?;
                        of_words.push(found);
                    }
                    of_parts.push((*part, of_words));
                }
                segments.push(of_parts);
            }
            Ok(segments)
        });
        FoundWords {
            wanted,
            parts: parts.to_vec(),
            segments,
            counts,
        }
    }

    /// Counts the words in the messages of each segment that has any of them, or all if they are needed,
    /// and passes them to `take`.
    fn count<'a>(
        &'a self,
        found: &FoundWords<'a>,
        needs_all: bool,
        mut take: impl FnMut(SegmentCounts<'a>),
    ) -> tantivy::Result<()> {
        found.parts.iter().for_each(|part| self.note_search(*part));
        for (segment, of_parts) in (0..).zip(&found.segments) {
            let counted = of_parts.iter().filter(|(_, of_words)| {
                let mut words = of_words.iter().zip(found.wanted);
                let is_there = |(found, wanted): (&Vec<FoundWord>, &WantedWord<'_>)| {
                    !found.is_empty() || matches!(wanted, WantedWord::Phrase(_))
                };
                match needs_all {
                    true => words.all(is_there),
                    false => words.any(is_there),
                }
            });
            let counted: Vec<_> = counted.collect();
            if counted.is_empty() {
                continue;
            }
            let reader = self.searcher.segment_reader(segment);
            let length = (reader.max_doc() as usize).next_multiple_of(TOGETHER);
            let mut counts = vec![vec![0; length]; found.wanted.len()];
            let mut lengths = Vec::new();
            for (part, of_words) in counted {
                let index = reader.inverted_index(self.fields.words(*part))?;
                for ((counts, words), wanted) in counts.iter_mut().zip(of_words).zip(found.wanted) {
                    words
                        .iter()
                        .try_for_each(|word| word.count(&index, counts))?;
                    if let WantedWord::Phrase(words) = wanted {
                        self.each_with_phrase(reader, *part, words, &mut |number| {
                            counts[number as usize] = EXACT | 1;
                        })?;
                    }
                }
                lengths.push((
                    *part,
                    reader.get_fieldnorms_reader(self.fields.words(*part))?,
                ));
            }
            take(SegmentCounts {
                corpus: self,
                reader,
                columns: self.columns(segment)?,
                segment,
                wanted: found.wanted,
                counts,
                lengths,
            });
        }
        Ok(())
    }

    /// Passes the numbers of the messages of a segment that have a phrase to `take`; where the index
    /// knows no positions, of those that have all of its words.
    fn each_with_phrase(
        &self,
        reader: &SegmentReader,
        part: Part,
        words: &[String],
        take: &mut dyn FnMut(u32),
    ) -> tantivy::Result<()> {
        let field = self.fields.words(part);
        let terms = words.iter().map(|word| Term::from_field_text(field, word));
        let query: Box<dyn Query> = if part == Part::Words && words.len() > 1 {
            Box::new(PhraseQuery::new(terms.collect()))
        } else {
            let has =
                |term| Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn Query>;
            Box::new(BooleanQuery::intersection(terms.map(has).collect()))
        };
        let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
        let mut found = query.weight(scoring)?.scorer(reader, 1.0)?;
        while found.doc() != TERMINATED {
            take(found.doc());
            found.advance();
        }
        Ok(())
    }

    /// Returns the first messages that have all the words; without words, the newest of all.
    pub fn with_all(
        &self,
        found: &FoundWords<'_>,
        filter: MessageFilter<'_>,
        most: usize,
    ) -> FoundMessages {
        self.look(|| {
            let mut total = 0;
            let mut best = Best::new(most);
            self.count(found, true, |segment| {
                for number in 0..segment.reader.max_doc() {
                    let at = number as usize;
                    let has_all = match segment.counts.as_slice() {
                        [] => segment.is_of(number, &found.parts),
                        counts => counts.iter().all(|counts| counts[at] != 0),
                    };
                    if has_all && segment.admits(number, filter) {
                        let is_whole = segment.counts.iter().all(|counts| counts[at] & EXACT != 0);
                        total += 1;
                        best.take((is_whole, segment.age(number)), segment.place(number));
                    }
                }
            })?;
            Ok(FoundMessages {
                total,
                first: best.finish(),
            })
        })
    }

    /// Returns the messages whose words weigh most, each with so many before and behind it in what was
    /// said, in runs of neighbours.
    pub(in crate::core) fn rank(
        &self,
        found: &FoundWords<'_>,
        filter: MessageFilter<'_>,
        rarity: &Rarity,
        (most, around): (usize, (u32, u32)),
    ) -> Vec<Vec<RankedMessage>> {
        self.look(|| {
            let lengths = (0..=u8::MAX).map(FieldNormReader::id_to_fieldnorm);
            let saturations = lengths
                .map(|length| std::array::from_fn(|times| saturation(times as u32, length)))
                .collect();
            let weights = Weights {
                rarity,
                saturations,
            };
            let mut best: Best<u32> = Best::new(most);
            let mut segments = Vec::new();
            self.count(found, false, |segment| {
                segment.take_best(&mut best, filter, &weights);
                segments.push(segment);
            })?;
            let best = best.finish();
            let runs = segments.iter().flat_map(|segment| {
                let own = best.iter().filter(|at| at.segment == segment.segment);
                let mut numbers: Vec<u32> = own.map(|at| at.number).collect();
                numbers.sort_unstable();
                segment.runs(&numbers, filter, around)
            });
            Ok(runs.collect())
        })
    }

    /// Returns how many messages of a part have a word that begins with this.
    pub fn count_beginning(&self, beginning: &str, part: Part) -> u64 {
        let wanted = [WantedWord::Beginning(beginning.to_owned())];
        self.look_up(&wanted, &[part]).counts.iter().sum()
    }

    /// Returns the words of a part that are spelled like this one, except for so many letters, and
    /// those that begin like that.
    pub fn spelled_like(&self, word: &str, part: Part, letters: u8) -> Vec<Spelling> {
        let term = Term::from_field_text(self.fields.words(part), word);
        self.look(|| {
            let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
            let whole = FuzzyTermQuery::new(term.clone(), letters, true);
            let begun = FuzzyTermQuery::new_prefix(term, letters.saturating_sub(1), true);
            for reader in self.searcher.segment_readers() {
                let Some(index) = self.words_of(reader, part)? else {
                    continue;
                };
                for query in [&whole, &begun] {
                    let mut words = index.terms().search(query.automaton()?).into_stream()?;
                    while words.advance() {
                        let count = u64::from(words.value().doc_freq);
                        *counts.entry(words.key().to_vec()).or_default() += count;
                    }
                }
            }
            let found = counts.into_iter().filter_map(|(word, count)| {
                let word = String::from_utf8(word).ok()?;
                Some(Spelling { word, count })
            });
            Ok(found.collect())
        })
    }
}

impl FoundWord {
    /// Counts the word in the messages of its segment.
    fn count(&self, index: &InvertedIndexReader, counts: &mut [CountByte]) -> io::Result<()> {
        let exact = if self.is_exact { EXACT } else { 0 };
        let option = IndexRecordOption::WithFreqs;
        let mut postings = index.read_block_postings_from_terminfo(&self.info, option)?;
        while !postings.docs().is_empty() {
            for (number, doc) in postings.docs().iter().enumerate() {
                // Of results only the words are known.
                let times = postings.freqs().get(number).copied().unwrap_or(1);
                let count = &mut counts[*doc as usize];
                let known = u32::from(*count & MOST_TIMES) + times;
                *count = known.min(MOST_TIMES.into()) as CountByte | *count & EXACT | exact;
            }
            postings.advance();
        }
        Ok(())
    }
}

/// What words weigh in messages, before their neighbours count.
struct Weights<'a> {
    rarity: &'a Rarity,
    /// How much a word counts, for each length of a message and by how often it has the word.
    saturations: Vec<[f32; TIMES as usize + 1]>,
}

impl Weights<'_> {
    /// Returns what a word weighs in a message of this length.
    #[inline]
    fn of(&self, word: usize, count: WordCount, length: u8) -> f32 {
        match count.times {
            0 => 0.0,
            times => {
                let times = times.min(TIMES) as usize;
                self.rarity.weight(word, count.is_exact)
                    * self.saturations[usize::from(length)][times]
            }
        }
    }
}

impl SegmentCounts<'_> {
    fn place(&self, number: u32) -> MessageAt {
        MessageAt {
            segment: self.segment,
            number,
        }
    }

    /// Returns by what messages are ordered that match equally well: what was said, and the newest.
    fn age(&self, number: u32) -> (bool, Option<i64>) {
        let is_said = Marks(self.columns.marks.get_val(number)).is_said();
        (is_said, self.columns.time.first(number))
    }

    fn is_of(&self, number: u32, parts: &[Part]) -> bool {
        let part = self.columns.part(number);
        part.is_some_and(|part| parts.contains(&part))
    }

    /// Whether a message is there, its log is visible and the filter admits it.
    fn admits(&self, number: u32, filter: MessageFilter<'_>) -> bool {
        let owner = self.columns.owner.get_val(number);
        let log = self.corpus.log_of_owner.get(&owner);
        !self.reader.is_deleted(number)
            && log.is_some_and(|log| filter.logs.get(*log) == Some(&true))
            && self.allows(number, filter.filters)
    }

    /// Whether role and time of a message are wanted.
    fn allows(&self, number: u32, filters: &Filters) -> bool {
        filters.admit_all_messages()
            || Marks(self.columns.marks.get_val(number))
                .decode()
                .is_some_and(|(role, ..)| filters.allows_role(role))
                && filters.allows_time(self.columns.time.first(number))
    }

    /// Adds the messages whose words weigh most to those of other segments.
    fn take_best(&self, best: &mut Best<u32>, filter: MessageFilter<'_>, weights: &Weights<'_>) {
        // What a word weighs at most: in the shortest message.
        let highest: Vec<[f32; 1 << CountByte::BITS]> = (0..self.counts.len())
            .map(|word| {
                std::array::from_fn(|count| weights.of(word, counted(count as CountByte), 0))
            })
            .collect();
        let least = |best: &Best<u32>| best.least().map_or(0.0, |bits| f32::from_bits(*bits));
        let mut lowest = least(best);
        for first in (0..self.reader.max_doc() as usize).step_by(TOGETHER) {
            let mut at_most = [0.0; TOGETHER];
            for (counts, highest) in self.counts.iter().zip(&highest) {
                let counts = &counts[first..][..TOGETHER];
                if counts.iter().any(|count| *count != 0) {
                    for (sum, count) in at_most.iter_mut().zip(counts) {
                        *sum += highest[usize::from(*count)];
                    }
                }
            }
            for (number, at_most) in (first as u32..).zip(at_most) {
                if at_most <= lowest {
                    continue;
                }
                let score = self.weight(number, weights);
                if score > lowest && self.has_phrases(number) && self.admits(number, filter) {
                    // Weights are not negative, so that their bits have the same order.
                    best.take(score.to_bits(), self.place(number));
                    lowest = least(best);
                }
            }
        }
    }

    /// Returns how often a message has each word.
    fn counts_of(&self, number: u32) -> impl Iterator<Item = WordCount> {
        let counts = self.counts.iter();
        counts.map(move |counts| counted(counts[number as usize]))
    }

    /// Returns what the words of a message weigh together.
    fn weight(&self, number: u32, weights: &Weights<'_>) -> f32 {
        // A message is of one part; in the others its length is 0.
        let lengths = self.lengths.iter();
        let length = lengths.map(|(_, lengths)| lengths.fieldnorm_id(number));
        let length = length.max().unwrap_or(0);
        let counts = self.counts_of(number).enumerate();
        counts
            .map(|(word, count)| weights.of(word, count, length))
            .sum()
    }

    fn has_phrases(&self, number: u32) -> bool {
        let mut counts = self.wanted.iter().zip(&self.counts);
        counts.all(|(wanted, counts)| {
            !matches!(wanted, WantedWord::Phrase(_)) || counts[number as usize] != 0
        })
    }

    /// Returns the owner and the part of a message, if it is not deleted.
    fn owner_and_part(&self, number: u32) -> Option<(u64, Part)> {
        if number >= self.reader.max_doc() || self.reader.is_deleted(number) {
            return None;
        }
        Some((
            self.columns.owner.get_val(number),
            self.columns.part(number)?,
        ))
    }

    /// Returns these messages, each with those around it, in runs of neighbours.
    fn runs(
        &self,
        numbers: &[u32],
        filter: MessageFilter<'_>,
        around: (u32, u32),
    ) -> Vec<Vec<RankedMessage>> {
        let mut runs: Vec<Vec<RankedMessage>> = Vec::new();
        let mut next = 0;
        for number in numbers {
            let own = self.owner_and_part(*number);
            let is_own = |other: &u32| self.owner_and_part(*other) == own;
            let (before, after) = match own {
                Some((_, Part::Words)) => around,
                _ => (0, 0),
            };
            let earlier = (number.saturating_sub(before)..*number).rev();
            let first = earlier.take_while(is_own).last().unwrap_or(*number);
            let later = *number + 1..=number.saturating_add(after);
            let last = later.take_while(is_own).last().unwrap_or(*number);
            // Runs that touch are one, if they are of the same log and part.
            let touches = first <= next && next > 0 && is_own(&(next - 1));
            let from = if touches { next } else { first };
            let messages = (from..=last).filter_map(|number| self.message(number, filter));
            match runs.last_mut().filter(|_| touches) {
                Some(run) => run.extend(messages),
                None => runs.push(messages.collect()),
            }
            next = next.max(last + 1);
        }
        runs
    }

    fn message(&self, number: u32, filter: MessageFilter<'_>) -> Option<RankedMessage> {
        let (_, kind, origin) = Marks(self.columns.marks.get_val(number)).decode()?;
        let owner = self.columns.owner.get_val(number);
        let log = *self.corpus.log_of_owner.get(&owner)?;
        let part = Part::of(kind);
        let lengths = self.lengths.iter().find(|(of, _)| *of == part);
        let is_told = || {
            let told = |message: &CorpusMessage<'_>| self.corpus.is_told_by_log(message);
            self.corpus.is_captured(log)
                && self.corpus.message(self.place(number), told) == Some(true)
        };
        Some(RankedMessage {
            at: self.place(number),
            log,
            line: self.columns.line(number),
            identity: self.columns.identity.first(number),
            time: self.columns.time.first(number),
            words: lengths.map_or(0, |(_, lengths)| lengths.fieldnorm(number)),
            marks: (kind, origin),
            counts: self.counts_of(number).collect(),
            is_admitted: self.allows(number, filter.filters) && !is_told(),
        })
    }
}
