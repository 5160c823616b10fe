//! Lookups in the index: the blocks and messages that contain some words.
//!
//! Words are looked up once in each segment, see [`WordLists`]; then what their lists say is read
//! span by span, which several threads can do at the same time.

mod placed_word;

use std::ops::Range;

use super::index::{Occurrence, PlaceList, Segment, Span, TextFlags, TextOccurrence, WordList};
use super::pack::Pack;
use super::{Corpus, Part};
use crate::core::parallel::{cores, on_all_cores};

use placed_word::by_place;
pub use placed_word::{OccurrenceList, PlacedWord};

/// How the spans of lists are divided between threads.
#[derive(Debug, Clone, Copy)]
pub struct Slicing {
    /// Bytes of lists below which threads are not worthwhile.
    pub worth_threads: usize,
    /// How many slices there are for each thread: those that are done early help with what others
    /// would have done.
    pub of_thread: usize,
}

/// For work that reads only the lists.
pub const LISTS_ONLY: Slicing = Slicing {
    worth_threads: 1 << 14,
    of_thread: 32,
};

/// The lists of some words of a part's index, each with a tag.
#[derive(Debug)]
pub struct WordLists<'a, T> {
    corpus: &'a Corpus,
    part: Part,
    /// For each segment.
    lists: Vec<Vec<(T, WordList<'a>)>>,
}

/// The lists of some words in one span.
#[derive(Debug)]
pub struct SpanLists<'s, T> {
    corpus: &'s Corpus,
    part: Part,
    /// The number of the span among all of its part.
    pub number: usize,
    span: &'s Span,
    lists: &'s [(T, PlaceList<'s>)],
}

/// The words of messages of one log that follow each other in one block.
#[derive(Debug, Clone, Copy)]
pub struct MessageRun<'a> {
    /// The log's index in [`Corpus::logs`].
    pub log: usize,
    /// The block's number in its part.
    pub block: usize,
    /// By message, and those of one message in the order of the lists.
    pub words: &'a [PlacedWord],
    /// The place of the block's first message.
    first: u32,
}

impl MessageRun<'_> {
    /// Returns the number in the block of the message that has a word.
    #[inline]
    pub fn message(&self, word: PlacedWord) -> usize {
        (word.place() - self.first) as usize
    }
}

/// Places of a span that follow each other: messages of one log in one block.
#[derive(Debug, Clone, Copy, Default)]
struct PlaceRun {
    /// The index of the block in the span, its number, and its first place.
    index: usize,
    block: u32,
    first: u32,
    /// The place behind the run.
    end: u32,
    /// The log, if it is visible and the block is current.
    log: Option<usize>,
}

/// How a word is related to some lists of texts: the index of a list with a text that is inside
/// the word, and how that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTag(usize, TextFlags);

impl Corpus {
    /// Returns the number of spans of a part's index.
    pub fn spans(&self, part: Part) -> usize {
        self.manifest.spans(part)
    }

    /// Looks up the words of a part that contain one of these lists of folded texts; see
    /// [`WordLists::messages`].
    pub fn words_with(&self, part: Part, texts: &[Vec<String>]) -> WordLists<'_, TextTag> {
        /// How many shards a thread searches at a time.
        const SHARDS: usize = 8;
        let mut lists = WordLists::new(self, part);
        let texts = texts.iter().enumerate().take(TextFlags::MOST);
        for (number, text) in texts.flat_map(|(at, list)| list.iter().map(move |text| (at, text))) {
            let text = text.as_bytes();
            lists.each_segment(|segment, found| {
                let shards = segment.shards_for(text);
                let chunks = on_all_cores(shards.div_ceil(SHARDS), |chunk| {
                    let shards = chunk * SHARDS..shards.min((chunk + 1) * SHARDS);
                    let mut found = Vec::new();
                    let mut take = |word: &[u8], list| {
                        found.push((TextTag(number, TextFlags::of(word, text)), list));
                    };
                    segment.each_with((shards, text), &mut take)?;
                    Some(found)
                });
                chunks.into_iter().try_for_each(|chunk| {
                    found.extend(chunk?);
                    Some(())
                })
            });
        }
        // All words were read, and only some of the lists will be.
        self.release_index(part);
        lists
    }

    /// Opens a segment; `None` if it is damaged.
    fn segment(&self, part: Part, number: usize) -> Option<Segment<'_>> {
        let row = self.manifest.segments[part.number()].get(number)?;
        let read = self.read[part.number()].get(number)?;
        let bytes = self.maps.get(Pack::Index(part), row.at, row.bytes())?;
        Segment::open(part, (row, read), bytes)
    }

    /// Releases the memory of what was read of a part's index.
    fn release_index(&self, part: Part) {
        for row in &self.manifest.segments[part.number()] {
            self.maps.release(Pack::Index(part), row.at, row.bytes());
        }
    }
}

impl<'a, T: Copy> WordLists<'a, T> {
    /// Returns the lists of no word.
    pub fn new(corpus: &'a Corpus, part: Part) -> Self {
        let segments = corpus.manifest.segments[part.number()].len();
        Self {
            corpus,
            part,
            lists: (0..segments).map(|_| Vec::new()).collect(),
        }
    }

    /// Adds a folded word.
    pub fn add(&mut self, word: &str, tag: T) {
        self.each_segment(|segment, found| {
            let list = segment.find(word.as_bytes())?;
            found.extend(list.map(|list| (tag, list)));
            Some(())
        });
    }

    /// Adds every folded word that has the prefix and for which `tag` returns a tag.
    pub fn add_forms(&mut self, prefix: &str, tag: &mut dyn FnMut(&str) -> Option<T>) {
        self.each_segment(|segment, found| {
            segment.each_with_prefix(prefix.as_bytes(), &mut |word, list| {
                let tag = std::str::from_utf8(word).ok().and_then(&mut *tag);
                found.extend(tag.map(|tag| (tag, list)));
            })
        });
    }

    /// Passes each segment and its lists to `find`, which returns `None` if it is damaged.
    fn each_segment(
        &mut self,
        mut find: impl FnMut(Segment<'a>, &mut Vec<(T, WordList<'a>)>) -> Option<()>,
    ) {
        for (number, found) in self.lists.iter_mut().enumerate() {
            let segment = self.corpus.segment(self.part, number);
            if segment.and_then(|segment| find(segment, found)).is_none() {
                self.corpus.report_damage();
            }
        }
    }

    /// Returns the size of all lists, in bytes: at least one for each message that has a word.
    pub fn bytes(&self) -> usize {
        let lists = self.lists.iter().flatten();
        lists.map(|(_, list)| list.bytes()).sum()
    }

    /// Returns ranges of spans that several threads can read at the same time, or one range if the
    /// lists have fewer bytes than are worth threads; none if no word was found.
    pub fn slices(&self, slicing: Slicing) -> Vec<Range<usize>> {
        let spans = self.corpus.spans(self.part);
        let each = match self.bytes() {
            0 => return Vec::new(),
            bytes if bytes < slicing.worth_threads => spans,
            _ => spans.div_ceil(slicing.of_thread * cores()),
        };
        let starts = (0..spans).step_by(each.max(1));
        starts.map(|from| from..spans.min(from + each)).collect()
    }

    /// Passes what the lists say about each of these spans to `take`, except spans without any of
    /// the words.
    pub fn each_span(&self, spans: Range<usize>, take: &mut dyn FnMut(SpanLists<'_, T>)) {
        let rows = &self.corpus.manifest.segments[self.part.number()];
        let mut first = 0;
        for (number, (row, lists)) in rows.iter().zip(&self.lists).enumerate() {
            let own = first..first + row.spans as usize;
            let wanted = spans.start.max(own.start)..spans.end.min(own.end);
            first = own.end;
            if wanted.is_empty() || lists.is_empty() {
                continue;
            }
            let Some(segment) = self.corpus.segment(self.part, number) else {
                self.corpus.report_damage();
                continue;
            };
            let read = self.each_span_of((segment, own.start), (lists, wanted), take);
            if read.is_none() {
                self.corpus.report_damage();
            }
        }
    }

    /// Reads these spans of a segment, whose first one has the number `first`.
    fn each_span_of(
        &self,
        (segment, first): (Segment<'a>, usize),
        (lists, spans): (&[(T, WordList<'a>)], Range<usize>),
        take: &mut dyn FnMut(SpanLists<'_, T>),
    ) -> Option<()> {
        let mut lists = lists.to_vec();
        let mut here = Vec::with_capacity(lists.len());
        for number in spans {
            let local = number - first;
            here.clear();
            for (tag, list) in &mut lists {
                let places = list.of_span(local as u32)?;
                here.extend(places.map(|places| (*tag, places)));
            }
            if !here.is_empty() {
                take(SpanLists {
                    corpus: self.corpus,
                    part: self.part,
                    number,
                    span: segment.spans().get(local)?,
                    lists: &here,
                });
            }
        }
        Some(())
    }
}

impl<T> Drop for WordLists<'_, T> {
    /// Releases the memory of what was read of the index. Threads read it together, so it is not
    /// released before.
    fn drop(&mut self) {
        self.corpus.release_index(self.part);
    }
}

impl WordLists<'_, TextTag> {
    /// Calls `take` once for each message of these spans, visible or not, in which one of each of
    /// `count` lists of texts is inside a word, and for results for each block, in the order of
    /// the spans' blocks.
    ///
    /// What is held does not depend on how often the texts occur: it is a byte for each message of
    /// a span.
    pub fn messages(
        &self,
        (spans, count): (Range<usize>, usize),
        take: &mut dyn FnMut(TextOccurrence),
    ) {
        let mut places: Vec<TextFlags> = Vec::new();
        self.each_span(spans, &mut |lists| {
            places.clear();
            places.resize(lists.span.places as usize, TextFlags::default());
            let mut is_sound = true;
            for (TextTag(number, how), list) in lists.lists {
                let read = list.each(self.part.has_concordance(), |place, _| {
                    match places.get_mut(place as usize) {
                        Some(flags) => flags.add(*number, *how),
                        None => is_sound = false,
                    }
                });
                is_sound &= read.is_some();
            }
            if !is_sound {
                self.corpus.report_damage();
                return;
            }
            lists.each_message(&places, count, take);
        });
    }
}

impl<T: Copy> SpanLists<'_, T> {
    /// Calls `take` for each message, visible or not, that contains one of the words, and for
    /// results for each block that does; those of one word are in the order of the blocks.
    pub fn each(&self, take: &mut dyn FnMut(T, Occurrence)) {
        for (tag, list) in self.lists {
            if self
                .each_occurrence(*list, &mut |found| take(*tag, found))
                .is_none()
            {
                self.corpus.report_damage();
            }
        }
    }

    /// Reads what the lists say, in the order of the span's blocks; `number` gives each word a
    /// number. Returns how much it is.
    pub fn read(
        &self,
        OccurrenceList { all, others, next }: &mut OccurrenceList,
        number: impl Fn(T) -> u16,
    ) -> usize {
        all.clear();
        let mut is_sound = true;
        for (tag, list) in self.lists {
            let number = number(*tag);
            let read = list.each(self.part.has_concordance(), |place, times| {
                all.push(PlacedWord::new(place, number, times));
            });
            is_sound &= read.is_some();
        }
        let sorted = by_place(self.span.places as usize, (all, others), next);
        if !is_sound || sorted.is_none() {
            self.corpus.report_damage();
        }
        if sorted.is_none() {
            all.clear();
        }
        all.len()
    }

    /// Calls `take` with the visible messages that contain one of the words, which were read.
    pub fn each_run(&self, read: &OccurrenceList, mut take: impl FnMut(MessageRun<'_>)) {
        let mut left = read.all.as_slice();
        let mut near = 0;
        while let Some(one) = left.first() {
            let Some(run) = self.run_at(one.place(), near) else {
                return self.corpus.report_damage();
            };
            near = run.index;
            // Runs are mostly short.
            let is_after = |one: &PlacedWord| one.place() >= run.end;
            let end = left.iter().position(is_after).unwrap_or(left.len()).max(1);
            let (words, others) = left.split_at(end);
            left = others;
            if let Some(log) = run.log {
                take(MessageRun {
                    log,
                    block: run.block as usize,
                    words,
                    first: run.first,
                });
            }
        }
    }

    /// Returns the messages of one log in one block that this place is one of; `near` is the index
    /// of an earlier place's block. `None` if the index is damaged.
    fn run_at(&self, place: u32, near: usize) -> Option<PlaceRun> {
        let (index, message) = self.span.find(place, near)?;
        let (block, first) = *self.span.blocks.get(index)?;
        let next = self.span.blocks.get(index + 1);
        let end = next.map_or(self.span.places, |(_, next)| *next);
        let mut run = PlaceRun {
            index,
            block,
            first,
            end,
            log: None,
        };
        if self.is_current(block)
            && let Some(block) = self.corpus.block(self.part, block as usize)
        {
            let (log, messages) = block.run_at(message as usize)?;
            run.log = log;
            run.end = end.min(first + messages.end as u32);
        }
        Some(run)
    }

    fn each_occurrence(&self, list: PlaceList<'_>, take: &mut dyn FnMut(Occurrence)) -> Option<()> {
        // The block of the place before, by its index in the span, and its number if current.
        let mut last: Option<(usize, Option<u32>)> = None;
        let mut is_sound = true;
        list.each(self.part.has_concordance(), |place, times| {
            let near = last.map_or(0, |(index, _)| index);
            let Some((index, message)) = self.span.find(place, near) else {
                is_sound = false;
                return;
            };
            let known = last.filter(|(known, _)| *known == index);
            let (_, current) = *last.insert(known.unwrap_or_else(|| {
                let number = self.span.blocks.get(index).map(|(number, _)| *number);
                (index, number.filter(|number| self.is_current(*number)))
            }));
            if let Some(block) = current {
                take(Occurrence {
                    block: block as usize,
                    message: message as usize,
                    times,
                });
            }
        })?;
        is_sound.then_some(())
    }

    fn each_message(
        &self,
        places: &[TextFlags],
        count: usize,
        take: &mut dyn FnMut(TextOccurrence),
    ) {
        /// How many are examined at once; most messages have none of the texts.
        const TOGETHER: usize = 16;
        let has_none = |flags: &TextFlags| *flags == TextFlags::default();
        for (number, places) in self.span.each(places) {
            if !self.is_current(number) {
                continue;
            }
            for (chunk, together) in places.chunks(TOGETHER).enumerate() {
                if count > 0 && together.iter().all(has_none) {
                    continue;
                }
                for (message, flags) in (chunk * TOGETHER..).zip(together) {
                    if let Some((is_whole, is_folded)) = flags.of_all(count) {
                        take(TextOccurrence {
                            block: number as usize,
                            message,
                            is_whole,
                            is_folded,
                        });
                    }
                }
            }
        }
    }

    /// Whether the block of this number is still the one that the span has.
    fn is_current(&self, block: u32) -> bool {
        let manifest = &self.corpus.manifest;
        manifest.is_indexed_by(self.part, self.number, block)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::search::fixture::TestHome;
    use crate::core::text::{fold, words};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_message_has_the_texts_that_are_inside_its_words(
            logs in prop::collection::vec(
                prop::collection::vec("([a-hA-D0-2]{1,3}(ing|ed)?[ .]|[éÉ]a |数|İ ){1,12}", 1..8),
                1..4,
            ),
            texts in prop::collection::vec(prop::collection::vec("[a-d]{1,2}|ng|数|1", 1..3), 1..4),
        ) {
            let home = TestHome::new(&[], &logs);
            let corpus = home.corpus();
            let lists = corpus.words_with(Part::Words, &texts);
            let mut found = Vec::new();
            for spans in lists.slices(LISTS_ONLY) {
                lists.messages((spans, texts.len()), &mut |one| {
                    found.push((one.block, one.message, one.is_whole));
                });
            }
            let mut expected = Vec::new();
            for block in corpus.blocks(Part::Words) {
                let content = block.read().expect("it is whole");
                for (number, message) in content.messages() {
                    prop_assert_eq!(block.log(number), Some(message.log));
                    let all = words(message.text).map(|word| fold(word.text).into_owned());
                    let all: Vec<String> = all.collect();
                    let has = |text: &String| all.iter().any(|word| word.contains(text));
                    if texts.iter().all(|list| list.iter().any(has)) {
                        let is_whole = texts.iter().flatten().any(|text| all.contains(text));
                        expected.push((block.number(), number, is_whole));
                    }
                }
            }
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
