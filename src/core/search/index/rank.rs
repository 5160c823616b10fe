//! The messages that match some words best, with their neighbours: what is known of them without
//! reading their text.
//!
//! The postings of each word are gone through once for each segment: they tell how often each message
//! has each word, which gives its score. Of the best messages and those around them this is kept.

use std::collections::HashSet;

use tantivy::SegmentReader;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use super::document::Marks;
use super::lookup::{Best, MessageFilter, SegmentColumns};
use super::{Corpus, CorpusMessage, MessageAt, Part};
use crate::core::log::{MessageKind, Origin};

/// A word that is ranked by: its forms.
#[derive(Clone, Copy)]
pub struct WantedForms<'a> {
    /// The folded word.
    pub word: &'a str,
    /// What every form begins with; the forms are looked for among all words that do.
    pub beginnings: &'a [String],
    /// Whether a word is a form.
    pub is_form: &'a (dyn Fn(&str) -> bool + Sync),
}

/// The forms of some words in the index.
pub struct FoundForms {
    /// For each segment and part.
    segments: Vec<Vec<FormsOfPart>>,
    /// How many messages have each word, about.
    pub counts: Vec<u64>,
}

/// The forms of some words in a part of a segment.
struct FormsOfPart {
    part: Part,
    /// For each word, its forms.
    words: Vec<Vec<Form>>,
}

/// A form of a word in a segment.
struct Form {
    info: TermInfo,
    /// Whether it is the word as it was asked for.
    is_exact: bool,
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
    /// See [`CorpusMessage::identity`](super::CorpusMessage::identity).
    pub identity: Option<u64>,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The number of its words.
    pub words: u32,
    /// Its kind and origin.
    pub marks: (MessageKind, Origin),
    /// For each word that was asked for, how often the message has it.
    pub counts: Vec<WordCount>,
    /// Whether the filter admits it, and no log tells it better.
    pub is_admitted: bool,
}

/// How often a message has a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordCount {
    /// How often it has any form.
    pub times: u32,
    /// Whether it has the word as it was asked for.
    pub is_exact: bool,
}

/// How the best messages are found.
pub struct RankRequest<'a> {
    /// The parts that are searched.
    pub parts: &'a [Part],
    /// Which messages are searched.
    pub filter: MessageFilter<'a>,
    /// The only messages that are wanted, if not all are.
    pub among: Option<&'a HashSet<MessageAt>>,
    /// How many messages are wanted.
    pub most: usize,
    /// How many neighbours before and behind each are wanted, in what was said.
    pub around: (u32, u32),
    /// Returns what a word weighs, by its number and by whether it is written as asked for.
    pub weight: &'a (dyn Fn(usize, bool) -> f32 + Sync),
    /// Returns how much a word counts in a message, by how often the message has it and how many words
    /// it has.
    pub saturation: &'a (dyn Fn(u32, u32) -> f32 + Sync),
}

/// How often a message of a segment has a word: 0 for never, and the highest bit if it is exact.
type CountByte = u8;
const EXACT: CountByte = 1 << 7;
const MOST_TIMES: CountByte = EXACT - 1;
/// How many messages are tested together for whether they have any of the words.
const TOGETHER: usize = 64;

/// Returns how often a message has a word.
fn counted(count: CountByte) -> WordCount {
    WordCount {
        times: (count & MOST_TIMES).into(),
        is_exact: count & EXACT != 0,
    }
}

impl Corpus {
    /// Looks for the forms of some words in some parts.
    pub fn forms(&self, wanted: &[WantedForms<'_>], parts: &[Part]) -> FoundForms {
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
                        let mut forms = Vec::new();
                        for beginning in wanted.beginnings {
                            let mut words = index.terms().range().ge(beginning).into_stream()?;
                            while words.advance() && words.key().starts_with(beginning.as_bytes()) {
                                let word = std::str::from_utf8(words.key());
                                let word = word.ok().filter(|word| (wanted.is_form)(word));
                                if let Some(word) = word {
                                    *count += u64::from(words.value().doc_freq);
                                    forms.push(Form {
                                        info: words.value().clone(),
                                        is_exact: word == wanted.word,
                                    });
                                }
                            }
                        }
                        of_words.push(forms);
                    }
                    of_parts.push(FormsOfPart {
                        part: *part,
                        words: of_words,
                    });
                }
                segments.push(of_parts);
            }
            Ok(segments)
        });
        FoundForms { segments, counts }
    }

    /// Returns the messages that match best, each with those around it, in runs of neighbours.
    pub fn rank(&self, forms: &FoundForms, request: &RankRequest<'_>) -> Vec<Vec<RankedMessage>> {
        request
            .parts
            .iter()
            .for_each(|part| self.note_search(*part));
        self.look(|| {
            let table = SaturationTable::new(request.saturation);
            let mut best: Best<u32> = Best::new(request.most);
            let mut segments = Vec::new();
            for (segment, of_parts) in (0..).zip(&forms.segments) {
                let counted = self.count_words(segment, of_parts)?;
                if let Some(counted) = &counted {
                    counted.take_best(&mut best, request, &table);
                }
                segments.extend(counted);
            }
            let best: Vec<MessageAt> = best.finish().map(|(_, at)| at).collect();
            let runs = segments.iter().flat_map(|segment| {
                let own = best.iter().filter(|at| at.segment == segment.segment);
                let mut numbers: Vec<u32> = own.map(|at| at.number).collect();
                numbers.sort_unstable();
                segment.runs(&numbers, request)
            });
            Ok(runs.collect())
        })
    }

    /// Counts the words in the messages of a segment; `None` if it has none of them.
    fn count_words(
        &self,
        segment: u32,
        of_parts: &[FormsOfPart],
    ) -> tantivy::Result<Option<SegmentCounts<'_>>> {
        if of_parts
            .iter()
            .all(|forms| forms.words.iter().all(Vec::is_empty))
        {
            return Ok(None);
        }
        let reader = self.searcher.segment_reader(segment);
        let words = of_parts.first().map_or(0, |forms| forms.words.len());
        let length = (reader.max_doc() as usize).next_multiple_of(TOGETHER);
        let mut counts = vec![vec![0; length]; words];
        let mut lengths = Vec::new();
        for FormsOfPart {
            part,
            words: of_words,
        } in of_parts
        {
            let field = self.fields.words(*part);
            let index = reader.inverted_index(field)?;
            for (counts, forms) in counts.iter_mut().zip(of_words) {
                for Form { info, is_exact } in forms {
                    let exact = if *is_exact { EXACT } else { 0 };
                    let option = IndexRecordOption::WithFreqs;
                    let mut postings = index.read_block_postings_from_terminfo(info, option)?;
                    while !postings.docs().is_empty() {
                        for (number, doc) in postings.docs().iter().enumerate() {
                            // Of results only the words are known.
                            let times = postings.freqs().get(number).copied().unwrap_or(1);
                            let count = &mut counts[*doc as usize];
                            let known = u32::from(*count & MOST_TIMES) + times;
                            *count =
                                known.min(MOST_TIMES.into()) as CountByte | *count & EXACT | exact;
                        }
                        postings.advance();
                    }
                }
            }
            lengths.push((*part, reader.get_fieldnorms_reader(field)?));
        }
        Ok(Some(SegmentCounts {
            corpus: self,
            reader,
            columns: self.columns(segment)?,
            segment,
            counts,
            lengths,
        }))
    }
}

/// How much a word counts in a message, by how often the message has it and by its length.
struct SaturationTable(Vec<f32>);

impl SaturationTable {
    /// More repetitions count like this many.
    const TIMES: u32 = 16;

    fn new(saturation: &dyn Fn(u32, u32) -> f32) -> Self {
        let lengths = (0..=u8::MAX).map(FieldNormReader::id_to_fieldnorm);
        let all = lengths
            .flat_map(|length| (1..=Self::TIMES).map(move |times| saturation(times, length)));
        Self(all.collect())
    }

    /// Returns what a word contributes at most to a message that has it so often, however short that is.
    fn highest(&self, request: &RankRequest<'_>, word: usize, count: usize) -> f32 {
        match counted(count as CountByte) {
            WordCount { times: 0, .. } => 0.0,
            WordCount { times, is_exact } => (request.weight)(word, is_exact) * self.of(times, 0),
        }
    }

    #[inline]
    fn of(&self, times: u32, length: u8) -> f32 {
        let times = times.clamp(1, Self::TIMES) - 1;
        self.0[usize::from(length) * Self::TIMES as usize + times as usize]
    }
}

/// What was counted in a segment.
struct SegmentCounts<'a> {
    corpus: &'a Corpus,
    reader: &'a SegmentReader,
    columns: &'a SegmentColumns,
    segment: u32,
    /// For each word, for each message; some more, so that [`TOGETHER`] divides their number.
    counts: Vec<Vec<CountByte>>,
    /// The lengths of messages of each part.
    lengths: Vec<(Part, FieldNormReader)>,
}

impl SegmentCounts<'_> {
    fn place(&self, number: u32) -> MessageAt {
        MessageAt {
            segment: self.segment,
            number,
        }
    }

    /// Adds the messages that match best to those of other segments.
    fn take_best(&self, best: &mut Best<u32>, request: &RankRequest<'_>, table: &SaturationTable) {
        let highest: Vec<[f32; 1 << CountByte::BITS]> = (0..self.counts.len())
            .map(|word| std::array::from_fn(|count| table.highest(request, word, count)))
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
                let score = self.score(number, request, table);
                if score > lowest && self.admits(number, request) {
                    // Scores are not negative, so that their bits have the same order.
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

    /// Returns the sum of what the words of a message contribute.
    fn score(&self, number: u32, request: &RankRequest<'_>, table: &SaturationTable) -> f32 {
        // A message is of one part; in the others its length is 0.
        let lengths = self.lengths.iter();
        let length = lengths.map(|(_, lengths)| lengths.fieldnorm_id(number));
        let length = length.max().unwrap_or(0);
        let counts = self.counts_of(number).enumerate();
        let counts = counts.filter(|(_, count)| count.times > 0);
        let contributions = counts.map(|(word, count)| {
            (request.weight)(word, count.is_exact) * table.of(count.times, length)
        });
        contributions.sum()
    }

    fn admits(&self, number: u32, request: &RankRequest<'_>) -> bool {
        let is_wanted = |among: &HashSet<MessageAt>| among.contains(&self.place(number));
        let log = self
            .corpus
            .admits(self.reader, self.columns, number, request.filter);
        log.is_some() && request.among.is_none_or(is_wanted)
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
    fn runs(&self, numbers: &[u32], request: &RankRequest<'_>) -> Vec<Vec<RankedMessage>> {
        let (before, after) = request.around;
        let mut runs: Vec<Vec<RankedMessage>> = Vec::new();
        let mut next = 0;
        for number in numbers {
            let own = self.owner_and_part(*number);
            let is_own = |other: &u32| self.owner_and_part(*other) == own;
            let (before, after) = match own {
                Some((_, Part::Words)) => (before, after),
                _ => (0, 0),
            };
            let earlier = (number.saturating_sub(before)..*number).rev();
            let first = earlier.take_while(is_own).last().unwrap_or(*number);
            let last = (*number + 1..=number.saturating_add(after))
                .take_while(is_own)
                .last();
            let last = last.unwrap_or(*number);
            // Runs that touch are one, if they are of the same log and part.
            let touches = first <= next && next > 0 && is_own(&(next - 1));
            let from = if touches { next } else { first };
            let messages = (from..=last).filter_map(|number| self.message(number, request));
            match runs.last_mut().filter(|_| touches) {
                Some(run) => run.extend(messages),
                None => runs.push(messages.collect()),
            }
            next = next.max(last + 1);
        }
        runs
    }

    fn message(&self, number: u32, request: &RankRequest<'_>) -> Option<RankedMessage> {
        let (role, kind, origin) = Marks(self.columns.marks.get_val(number)).decode()?;
        let owner = self.columns.owner.get_val(number);
        let log = *self.corpus.log_of_owner.get(&owner)?;
        let time = self.columns.time.first(number);
        let part = Part::of(kind);
        let lengths = self.lengths.iter().find(|(of, _)| *of == part);
        let is_allowed = request
            .filter
            .allows
            .is_none_or(|allows| allows(role, time));
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
            time,
            words: lengths.map_or(0, |(_, lengths)| lengths.fieldnorm(number)),
            marks: (kind, origin),
            counts: self.counts_of(number).collect(),
            is_admitted: is_allowed && !is_told(),
        })
    }
}
