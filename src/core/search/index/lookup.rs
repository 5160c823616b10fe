//! What the index is asked: the newest messages with some words, the messages of a log, and words that
//! are spelled nearly like another one. The best messages are in `rank`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use tantivy::columnar::{Column, ColumnValues};
use tantivy::index::InvertedIndexReader;
use tantivy::query::{BooleanQuery, EnableScoring, FuzzyTermQuery, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{DocSet as _, SegmentReader, TERMINATED};

#[cfg(doc)]
use super::CorpusMessage;
use super::document::{IDENTITY, MARKS, Marks, OWNER, PLACE, TIME};
use super::tokenizer::PART;
use super::{Corpus, MessageAt, Part, without_panic};
use crate::core::log::{MessageKind, Origin, Role};

/// What a message must have for one word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedWord {
    /// A word that begins with this.
    Beginning(String),
    /// Any of these words.
    Any(Vec<String>),
    /// These words, one after another.
    Phrase(Vec<String>),
}

/// Which messages are searched.
#[derive(Clone, Copy)]
pub struct MessageFilter<'a> {
    /// For each visible log, whether it is searched.
    pub logs: &'a [bool],
    /// Tells by role and time whether a message is searched; `None` if all are.
    pub allows: Option<&'a (dyn Fn(Role, Option<i64>) -> bool + Sync)>,
}

/// The messages that have some words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FoundMessages {
    /// How many there are.
    pub total: usize,
    /// The first ones: those that have the words whole, what people and agents said before what a
    /// program injected, and of equal ones the newest.
    pub first: Vec<MessageAt>,
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
    pub(super) owner: Arc<dyn ColumnValues<u64>>,
    place: Arc<dyn ColumnValues<u64>>,
    pub(super) marks: Arc<dyn ColumnValues<u64>>,
    pub(super) time: Column<i64>,
    pub(super) identity: Column<u64>,
}

impl SegmentColumns {
    pub(super) fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
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
    pub(super) fn line(&self, number: u32) -> u64 {
        self.place.get_val(number) >> super::OF_LINE_BITS
    }

    /// Returns the part of a message.
    pub(super) fn part(&self, number: u32) -> Option<Part> {
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

/// A set of messages of one segment.
struct MessageSet(Vec<u64>);

impl MessageSet {
    fn none(count: u32) -> Self {
        Self(vec![0; count.div_ceil(u64::BITS) as usize])
    }

    fn all(count: u32) -> Self {
        let mut all = Self::none(count);
        (0..count).for_each(|number| all.insert(number));
        all
    }

    fn insert(&mut self, number: u32) {
        self.0[(number / u64::BITS) as usize] |= 1 << (number % u64::BITS);
    }

    fn has(&self, number: u32) -> bool {
        self.0[(number / u64::BITS) as usize] >> (number % u64::BITS) & 1 == 1
    }

    fn keep(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own &= other;
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(at, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let next = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (next < u64::BITS).then_some(at * u64::BITS + next)
            })
        })
    }
}

/// The best of many, each with what it is ordered by.
pub(super) struct Best<K: Ord> {
    most: usize,
    heap: BinaryHeap<Reverse<(K, MessageAt)>>,
}

impl<K: Ord> Best<K> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            heap: BinaryHeap::with_capacity(most.min(1 << 12)),
        }
    }

    /// Takes one, unless there are enough better ones.
    pub(super) fn take(&mut self, key: K, at: MessageAt) {
        if self.heap.len() < self.most {
            self.heap.push(Reverse((key, at)));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0.0 < key
        {
            *least = Reverse((key, at));
        }
    }

    /// The least of the best, if there are enough of them.
    pub(super) fn least(&self) -> Option<&K> {
        let least = self.heap.peek().filter(|_| self.heap.len() >= self.most);
        least.map(|least| &least.0.0)
    }

    /// Returns the best, best first.
    pub(super) fn finish(self) -> impl Iterator<Item = (K, MessageAt)> {
        self.heap.into_sorted_vec().into_iter().map(|one| one.0)
    }
}

impl Corpus {
    /// Runs `look`, which reads the index; if that is damaged, there is nothing.
    pub(super) fn look<T: Default>(&self, look: impl FnOnce() -> tantivy::Result<T>) -> T {
        without_panic(look).unwrap_or_else(|| {
            self.report_damage();
            T::default()
        })
    }

    pub(super) fn columns(&self, segment: u32) -> tantivy::Result<&SegmentColumns> {
        let columns = &self.columns[segment as usize];
        if let Some(columns) = columns.get() {
            return Ok(columns);
        }
        let opened = SegmentColumns::open(self.searcher.segment_reader(segment))?;
        Ok(columns.get_or_init(|| opened))
    }

    /// Returns the words of a part of a segment; `None` if it has none, for which tantivy would make a
    /// dictionary first, and that takes longer than most searches.
    pub(super) fn words_of(
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

    /// Returns the log of a message if it is visible and the filter admits it.
    pub(super) fn admits(
        &self,
        reader: &SegmentReader,
        columns: &SegmentColumns,
        number: u32,
        filter: MessageFilter<'_>,
    ) -> Option<usize> {
        if reader.is_deleted(number) {
            return None;
        }
        let log = *self.log_of_owner.get(&columns.owner.get_val(number))?;
        if filter.logs.get(log) != Some(&true) {
            return None;
        }
        if let Some(allows) = filter.allows {
            let (role, ..) = Marks(columns.marks.get_val(number)).decode()?;
            return allows(role, columns.time.first(number)).then_some(log);
        }
        Some(log)
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
                for owner in [row.owner, row.tail_owner] {
                    let term = Term::from_field_u64(self.fields.owner, owner);
                    let postings = index.read_postings(&term, IndexRecordOption::Basic)?;
                    let Some(mut postings) = postings else {
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

    /// Finds the messages of a part that have all these words; without words, all of them.
    pub fn with_words(
        &self,
        wanted: &[WantedWord],
        part: Part,
        filter: MessageFilter<'_>,
        most: usize,
    ) -> FoundMessages {
        self.note_search(part);
        self.look(|| {
            let mut total = 0;
            let mut best = Best::new(most);
            for (segment, reader) in (0..).zip(self.searcher.segment_readers()) {
                let Some((found, whole)) = self.set_of(reader, part, wanted)? else {
                    continue;
                };
                let columns = self.columns(segment)?;
                for number in found.iter() {
                    let is_of_part = !wanted.is_empty() || columns.part(number) == Some(part);
                    if !is_of_part || self.admits(reader, columns, number, filter).is_none() {
                        continue;
                    }
                    total += 1;
                    let is_said = Marks(columns.marks.get_val(number)).is_said();
                    let time = columns.time.first(number);
                    let key = (whole.has(number), is_said, time);
                    best.take(key, MessageAt { segment, number });
                }
            }
            let first = best.finish().map(|(_, at)| at).collect();
            Ok(FoundMessages { total, first })
        })
    }

    /// Returns the messages of a segment that have all these words, and those that have them whole;
    /// `None` if there are none.
    fn set_of(
        &self,
        reader: &SegmentReader,
        part: Part,
        wanted: &[WantedWord],
    ) -> tantivy::Result<Option<(MessageSet, MessageSet)>> {
        if wanted.is_empty() {
            let all = || MessageSet::all(reader.max_doc());
            return Ok(Some((all(), all())));
        }
        let field = self.fields.words(part);
        let Some(index) = self.words_of(reader, part)? else {
            return Ok(None);
        };
        let mut all: Option<(MessageSet, MessageSet)> = None;
        for word in wanted {
            let mut any = MessageSet::none(reader.max_doc());
            let mut whole = MessageSet::none(reader.max_doc());
            let add = |set: &mut MessageSet, info: &tantivy::postings::TermInfo| {
                let basic = IndexRecordOption::Basic;
                let mut postings = index.read_block_postings_from_terminfo(info, basic)?;
                while !postings.docs().is_empty() {
                    postings
                        .docs()
                        .iter()
                        .for_each(|number| set.insert(*number));
                    postings.advance();
                }
                std::io::Result::Ok(())
            };
            match word {
                WantedWord::Beginning(beginning) => {
                    for beginning in [beginning.clone(), format!("{PART}{beginning}")] {
                        let mut words = index.terms().range().ge(&beginning).into_stream()?;
                        while words.advance() && words.key().starts_with(beginning.as_bytes()) {
                            add(&mut any, words.value())?;
                            if words.key() == beginning.as_bytes() {
                                add(&mut whole, words.value())?;
                            }
                        }
                    }
                }
                WantedWord::Any(words) => {
                    for word in words {
                        if let Some(info) = index.terms().get(word)? {
                            add(&mut any, &info)?;
                            add(&mut whole, &info)?;
                        }
                    }
                }
                WantedWord::Phrase(words) => {
                    let terms = words.iter().map(|word| Term::from_field_text(field, word));
                    let terms: Vec<Term> = terms.collect();
                    let query: Box<dyn Query> = if self.has_positions(field) && terms.len() > 1 {
                        Box::new(PhraseQuery::new(terms))
                    } else {
                        Box::new(BooleanQuery::intersection(
                            terms
                                .into_iter()
                                .map(|term| {
                                    let basic = IndexRecordOption::Basic;
                                    Box::new(TermQuery::new(term, basic)) as Box<dyn Query>
                                })
                                .collect(),
                        ))
                    };
                    let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
                    let mut found = query.weight(scoring)?.scorer(reader, 1.0)?;
                    while found.doc() != TERMINATED {
                        any.insert(found.doc());
                        whole.insert(found.doc());
                        found.advance();
                    }
                }
            }
            let (any, whole) = match all.take() {
                Some((mut known, mut known_whole)) => {
                    known.keep(&any);
                    known_whole.keep(&whole);
                    (known, known_whole)
                }
                None => (any, whole),
            };
            if any.is_empty() {
                return Ok(None);
            }
            all = Some((any, whole));
        }
        Ok(all)
    }

    fn has_positions(&self, field: Field) -> bool {
        let schema = self.searcher.schema();
        let record = schema
            .get_field_entry(field)
            .field_type()
            .index_record_option();
        record.is_some_and(|record| record.has_positions())
    }

    /// Returns how many messages of a part have a word that begins with this.
    pub fn count_beginning(&self, beginning: &str, part: Part) -> u64 {
        self.look(|| {
            let mut count = 0;
            for reader in self.searcher.segment_readers() {
                let Some(index) = self.words_of(reader, part)? else {
                    continue;
                };
                let mut words = index.terms().range().ge(beginning).into_stream()?;
                while words.advance() && words.key().starts_with(beginning.as_bytes()) {
                    count += u64::from(words.value().doc_freq);
                }
            }
            Ok(count)
        })
    }

    /// Returns the words of a part that are spelled like this one, except for so many letters, and
    /// those that begin like that.
    pub fn spelled_like(&self, word: &str, part: Part, letters: u8) -> Vec<Spelling> {
        let field = self.fields.words(part);
        let term = Term::from_field_text(field, word);
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
