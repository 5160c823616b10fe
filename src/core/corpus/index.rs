//! The index of a part: which messages contain which words, how often.
//!
//! It consists of segments, each of which indexes the words of many blocks, so that a search
//! reads a few pages of each segment and none of the blocks that cannot match. A build writes
//! segments as it reads logs, and merges them at its end, so that there are few: see `merge`.
//!
//! A segment holds its folded words in order, each with a list of the places that contain it. A
//! place is a message, counted over some consecutive blocks of the segment, which are called a
//! span. For results it is a block: they are several times as much text and are searched less
//! often. Spans bound the memory of a search, are searched in parallel, and are copied as they are
//! when segments are merged.
//!
//! Words of hexadecimal digits come after all others: numbers, hashes and identifiers are most
//! of the words of a large index, and a search for a text with other letters inside of words does
//! not read them.
//!
//! A word that is written with letters which folding makes ASCII ones is indexed a second time,
//! with a mark at its end, so that a search for the ASCII word knows where it is written so.
//!
//! Words are stored in shards, see `shard`. Each page of a shard has a checksum, so that a lookup
//! verifies what it reads and no more. Blocks, spans and the rows of shards are stored behind the
//! last shard.

mod builder;
mod list;
mod merge;
mod shard;

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;

use super::Part;
use super::bytes::{ByteReader, ByteWriter, checksum};

pub(super) use builder::IndexBuilder;
pub(super) use list::{PlaceList, WordList};
pub(super) use merge::{MergedSegment, merge};

use shard::{Shard, ShardRow, ShardWords, ShardWriter, VerifiedPages};

/// The mark behind a word that is written with other letters than it is indexed with.
const FOLDED: char = '\u{1}';

/// The occurrences of one form of a word in a message, or in a block of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// The block's number in its part.
    pub block: usize,
    /// The message's number in its block; 0 for results.
    pub message: usize,
    /// The number of occurrences in the message; 1 for results.
    pub times: u32,
}

/// A message, or a block of results, that has some texts inside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOccurrence {
    /// The block's number in its part.
    pub block: usize,
    /// The message's number in its block; 0 for results.
    pub message: usize,
    /// Whether one of the texts is a whole word.
    pub is_whole: bool,
    /// Whether a word is written with other letters, which are folded to those of a text.
    pub is_folded: bool,
}

/// Which of some lists of texts a place has a text of: how many of the first lists, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TextFlags(u8);

/// The sizes of a segment's sections, and where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SegmentRow {
    pub(super) at: u64,
    /// The bytes of all shards.
    pub(super) body: u64,
    /// The bytes of its header, which follows the shards.
    pub(super) header: u32,
    /// The number of spans, of blocks in them, and of shards.
    pub(super) spans: u32,
    pub(super) blocks: u32,
    pub(super) shards: u32,
    /// The number of postings, as a measure of what merging it costs.
    pub(super) postings: u32,
    /// The checksum of the header.
    pub(super) checksum: u64,
}

/// Some consecutive blocks of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Span {
    /// The number of each block, and the first of its places.
    pub(super) blocks: Vec<(u32, u32)>,
    /// The number of places.
    pub(super) places: u32,
    /// The number of postings.
    postings: u32,
}

/// What is known about a segment apart from its words.
#[derive(Debug)]
struct SegmentHeader {
    spans: Vec<Span>,
    /// Each shard with its first word.
    shards: Vec<(ShardRow, Box<[u8]>)>,
    /// The number of shards before the first one of hexadecimal numbers.
    others: usize,
}

/// What has been read of a segment and verified.
#[derive(Debug)]
pub(super) struct ReadSegment {
    header: OnceLock<Option<SegmentHeader>>,
    verified: VerifiedPages,
}

/// A segment of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) has_messages: bool,
    header: &'a SegmentHeader,
    verified: &'a VerifiedPages,
    bytes: &'a [u8],
}

/// The words of a segment that follow each other.
#[derive(Debug)]
struct SegmentWords<'a> {
    segment: Segment<'a>,
    /// The shards after the current one.
    shards: Range<usize>,
    current: Option<ShardWords<'a>>,
}

impl TextFlags {
    const COUNT: u8 = 0x3f;
    const WHOLE: u8 = 0x40;
    const FOLDED: u8 = 0x80;
    /// The most lists that are told apart; further ones do not narrow a search.
    pub(super) const MOST: usize = Self::COUNT as usize;

    /// Adds a text of the list with this index, if it has one of all before it: `word` contains it.
    pub(super) fn add(&mut self, index: usize, how: Self) {
        if self.count() >= index {
            self.0 = (self.0 & !Self::COUNT) | (index + 1) as u8 | how.0;
        }
    }

    /// Returns how a word contains a text.
    pub(super) fn of(word: &[u8], text: &[u8]) -> Self {
        Self(match word.last() {
            _ if word == text => Self::WHOLE,
            Some(last) if char::from(*last) == FOLDED => Self::FOLDED,
            _ => 0,
        })
    }

    fn count(self) -> usize {
        usize::from(self.0 & Self::COUNT)
    }

    /// Returns whether a text is a whole word and whether one is written with other letters, if
    /// the place has one of each of this many lists.
    pub(super) fn of_all(self, lists: usize) -> Option<(bool, bool)> {
        let has_all = self.count() == lists.min(Self::MOST);
        has_all.then_some((self.0 & Self::WHOLE != 0, self.0 & Self::FOLDED != 0))
    }
}

impl SegmentRow {
    /// Returns the size of the segment, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.body + u64::from(self.header)
    }
}

impl Span {
    /// Returns the block of a place, by its index in the span, and the place in that block.
    /// `near` is the index of an earlier place's block.
    pub(super) fn find(&self, place: u32, near: usize) -> Option<(usize, u32)> {
        let is_before = |(_, first): &(u32, u32)| *first <= place;
        // Places come in order, so the block is mostly the same or the next one.
        let after = self.blocks.get(near..)?;
        let steps = match after.get(1) {
            Some(next) if is_before(next) => after.partition_point(is_before),
            _ => 1,
        };
        let index = near + steps.checked_sub(1)?;
        let (_, first) = self.blocks.get(index)?;
        (place < self.places).then_some((index, place.checked_sub(*first)?))
    }

    /// Returns the number of each block and of its places.
    fn sizes(&self) -> impl Iterator<Item = (u32, u32)> {
        self.blocks.iter().enumerate().map(|(at, (number, first))| {
            let next = self
                .blocks
                .get(at + 1)
                .map_or(self.places, |(_, next)| *next);
            (*number, next.saturating_sub(*first))
        })
    }

    /// Returns the number of each block with its share of what is known about all places.
    pub(super) fn each<'a, T>(
        &'a self,
        places: &'a [T],
    ) -> impl Iterator<Item = (u32, &'a [T])> + use<'a, T> {
        self.blocks.iter().enumerate().map(|(at, (number, first))| {
            let next = self.blocks.get(at + 1).map(|(_, next)| *next as usize);
            let next = next.unwrap_or(places.len());
            let own = places.get(*first as usize..next);
            (*number, own.unwrap_or_default())
        })
    }
}

impl SegmentHeader {
    fn write(spans: &[Span], shards: &[(ShardRow, Box<[u8]>)]) -> Vec<u8> {
        let mut out = ByteWriter::default();
        for span in spans {
            out.u32(span.blocks.len() as u32);
            out.u32(span.places);
            out.u32(span.postings);
        }
        for (number, first) in spans.iter().flat_map(|span| &span.blocks) {
            out.u32(*number);
            out.u32(*first);
        }
        for (row, first) in shards {
            row.write(&mut out);
            out.u32(first.len() as u32);
            out.0.extend_from_slice(first);
        }
        out.0
    }

    /// Reads the header of a segment; `None` if it is damaged.
    fn read(row: &SegmentRow, bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(usize::try_from(row.body).ok()?..)?;
        if header.len() != row.header as usize || checksum(header) != row.checksum {
            return None;
        }
        let mut input = ByteReader(header);
        let mut sizes = ByteReader(input.bytes((row.spans as usize).checked_mul(12)?)?);
        let mut spans = Vec::with_capacity(row.spans as usize);
        let mut left = row.blocks;
        for _ in 0..row.spans {
            let (blocks, places, postings) = (sizes.u32()?, sizes.u32()?, sizes.u32()?);
            left = left.checked_sub(blocks)?;
            let mut entries = ByteReader(input.bytes((blocks as usize).checked_mul(8)?)?);
            let entries = (0..blocks).map(|_| Some((entries.u32()?, entries.u32()?)));
            spans.push(Span {
                blocks: entries.collect::<Option<_>>()?,
                places,
                postings,
            });
        }
        let mut shards = Vec::new();
        for _ in 0..row.shards {
            let shard = ShardRow::read(&mut input)?;
            let length = input.u32()? as usize;
            shards.push((shard, input.bytes(length)?.into()));
        }
        let is_other = |(_, first): &(ShardRow, Box<[u8]>)| !is_hexadecimal(first);
        (left == 0).then(|| Self {
            spans,
            others: shards.partition_point(is_other),
            shards,
        })
    }
}

impl ReadSegment {
    /// Returns that of a segment of which nothing has been read.
    pub(super) fn none(row: &SegmentRow) -> Self {
        Self {
            header: OnceLock::new(),
            verified: VerifiedPages::none(row.body, row.shards),
        }
    }
}

impl<'a> Segment<'a> {
    /// Opens a segment; `None` if its bytes are too few or its header is damaged.
    pub(super) fn open(
        part: Part,
        (row, read): (&SegmentRow, &'a ReadSegment),
        bytes: &'a [u8],
    ) -> Option<Self> {
        let header = read.header.get_or_init(|| SegmentHeader::read(row, bytes));
        Some(Self {
            has_messages: part.has_concordance(),
            header: header.as_ref()?,
            verified: &read.verified,
            bytes,
        })
    }

    /// Returns its spans.
    pub(super) fn spans(&self) -> &'a [Span] {
        &self.header.spans
    }

    /// Calls `take` with each word that has the prefix and with its list; `None` if the segment is
    /// damaged.
    pub(super) fn each_with_prefix(
        &self,
        prefix: &[u8],
        take: &mut dyn FnMut(&'a [u8], WordList<'a>),
    ) -> Option<()> {
        let others = self.header.others;
        self.each_in(0..others, prefix, take)?;
        match is_hexadecimal(prefix) {
            true => self.each_in(others..self.header.shards.len(), prefix, take),
            false => Some(()),
        }
    }

    /// Like [`Segment::each_with_prefix`], in these shards.
    fn each_in(
        &self,
        shards: Range<usize>,
        prefix: &[u8],
        take: &mut dyn FnMut(&'a [u8], WordList<'a>),
    ) -> Option<()> {
        let mut words = self.words_from(shards, prefix)?;
        while let Some((word, list)) = words.next()?
            && word.starts_with(prefix)
        {
            take(word, list);
        }
        Some(())
    }

    /// Returns the list of a word, `Some(None)` if it has none; `None` if the segment is damaged.
    pub(super) fn find(&self, word: &[u8]) -> Option<Option<WordList<'a>>> {
        let others = self.header.others;
        let shards = match is_hexadecimal(word) {
            true => others..self.header.shards.len(),
            false => 0..others,
        };
        let found = self.words_from(shards, word)?.next()?;
        Some(
            found
                .filter(|(known, _)| *known == word)
                .map(|(_, list)| list),
        )
    }

    /// Returns how many shards, from the first, may have words that contain the text.
    pub(super) fn shards_for(&self, text: &[u8]) -> usize {
        match is_hexadecimal(text) {
            true => self.header.shards.len(),
            false => self.header.others,
        }
    }

    /// Calls `take` with each word of these shards that contains the text and with its list; `None`
    /// if the segment is damaged.
    pub(super) fn each_with(
        &self,
        (mut shards, text): (Range<usize>, &[u8]),
        take: &mut dyn FnMut(&'a [u8], WordList<'a>),
    ) -> Option<()> {
        let finder = memmem::Finder::new(text);
        shards.try_for_each(|shard| self.shard(shard)?.each_with(&finder, take))
    }

    /// Returns the words of these shards from the first that is not less than `start`.
    fn words_from(&self, shards: Range<usize>, start: &[u8]) -> Option<SegmentWords<'a>> {
        let known = &self.header.shards[shards.clone()];
        let is_before = |(_, first): &(ShardRow, Box<[u8]>)| &**first <= start;
        let first = shards.start + known.partition_point(is_before).saturating_sub(1);
        let current = match shards.contains(&first) {
            true => Some(self.shard(first)?.words_from(start)?),
            false => None,
        };
        Some(SegmentWords {
            segment: *self,
            shards: first + 1..shards.end,
            current,
        })
    }

    /// Returns all words.
    fn words(&self) -> SegmentWords<'a> {
        SegmentWords {
            segment: *self,
            shards: 0..self.header.shards.len(),
            current: None,
        }
    }

    fn shard(&self, number: usize) -> Option<Shard<'a>> {
        let (row, _) = self.header.shards.get(number)?;
        Shard::open((number, *row), self.verified, self.bytes)
    }
}

impl<'a> SegmentWords<'a> {
    /// Takes the next word and its list; `None` if the segment is damaged.
    fn next(&mut self) -> Option<Option<(&'a [u8], WordList<'a>)>> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(found) = current.next()?
            {
                return Some(Some(found));
            }
            let Some(next) = self.shards.next() else {
                return Some(None);
            };
            self.current = Some(self.segment.shard(next)?.words_from(b"")?);
        }
    }
}

/// Whether a word consists of hexadecimal digits only.
fn is_hexadecimal(word: &[u8]) -> bool {
    word.iter()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the first eight bytes of a word as a number, in the order in which words are compared.
fn start_of(word: &[u8]) -> u64 {
    let mut eight = [0; 8];
    let length = word.len().min(8);
    eight[..length].copy_from_slice(&word[..length]);
    u64::from_be_bytes(eight)
}

/// A segment under construction.
#[derive(Debug, Default)]
struct SegmentWriter {
    shard: ShardWriter,
    is_hexadecimal: bool,
    shards: Vec<(ShardRow, Box<[u8]>)>,
    /// The bytes of all complete shards.
    body: u64,
    /// Complete shards that have not been taken.
    out: ByteWriter,
}

impl SegmentWriter {
    /// Adds a word, whether it consists of hexadecimal digits, and its list; words come in order,
    /// and hexadecimal ones last.
    fn push(&mut self, (word, is_hexadecimal): (&[u8], bool), list: &[u8]) {
        if self.shard.is_full() || is_hexadecimal != self.is_hexadecimal {
            self.end_shard();
        }
        self.is_hexadecimal = is_hexadecimal;
        self.shard.push(word, list);
    }

    fn end_shard(&mut self) {
        if self.shard.is_empty() {
            return;
        }
        let first = self.shard.first().into();
        let row = self.shard.finish(self.body, &mut self.out);
        self.body += row.bytes() as u64;
        self.shards.push((row, first));
    }

    /// Returns the row; what has not been taken of the segment is in `out`.
    fn finish(&mut self, spans: &[Span]) -> SegmentRow {
        self.end_shard();
        let header = SegmentHeader::write(spans, &self.shards);
        let postings: u64 = spans.iter().map(|span| u64::from(span.postings)).sum();
        let row = SegmentRow {
            at: 0,
            body: self.body,
            header: header.len() as u32,
            spans: spans.len() as u32,
            blocks: spans.iter().map(|span| span.blocks.len() as u32).sum(),
            shards: self.shards.len() as u32,
            postings: u32::try_from(postings).unwrap_or(u32::MAX),
            checksum: checksum(&header),
        };
        self.out.0.extend_from_slice(&header);
        row
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::core::text::{fold, words};

    type Stored = (SegmentRow, Vec<u8>);

    /// Builds a segment of blocks of messages; the numbers of its blocks are even.
    fn made(part: Part, blocks: &[Vec<String>], first: u32) -> Stored {
        let mut builder = IndexBuilder::new(part);
        for (number, messages) in blocks.iter().enumerate() {
            let text: String = messages.iter().map(|text| format!("{text}\n")).collect();
            let ends = messages.iter().scan(0, |end, text| {
                *end += text.len() + 1;
                Some(*end - 1)
            });
            builder.add_block(&text, ends, messages.len());
            builder.blocks.push(2 * (first + number as u32));
        }
        builder.finish()
    }

    /// Merges segments; only the blocks that `is_current` accepts are kept of those that are joined.
    fn merged(part: Part, stored: &[Stored], is_current: &dyn Fn(usize, u32) -> bool) -> Stored {
        let read: Vec<ReadSegment> = stored
            .iter()
            .map(|(row, _)| ReadSegment::none(row))
            .collect();
        let segments = stored.iter().zip(&read);
        let segments: Vec<Segment<'_>> = segments
            .map(|((row, bytes), read)| Segment::open(part, (row, read), bytes).expect("whole"))
            .collect();
        let mut out = Vec::new();
        let merged = merge(&segments, is_current, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        });
        let merged = merged.expect("nothing fails").expect("it is whole");
        assert_eq!(merged.row.bytes(), out.len() as u64);
        (merged.row, out)
    }

    type Found = Vec<(u32, u32, u32)>;

    /// Returns the places of a word: the block's number, the message's, and how often.
    fn asked(part: Part, (row, bytes): &Stored, word: &str) -> Option<Found> {
        let read = ReadSegment::none(row);
        let segment = Segment::open(part, (row, &read), bytes)?;
        let mut found = Vec::new();
        let Some(mut list) = segment.find(word.as_bytes())? else {
            return Some(found);
        };
        while let Some((span, places)) = list.next()? {
            let span = segment.spans().get(span as usize)?;
            let mut near = 0;
            places.each(segment.has_messages, |place, times| {
                let (block, message) = span.find(place, near).expect("it is a place");
                found.push((span.blocks[block].0, message, times));
                near = block;
            })?;
        }
        Some(found)
    }

    fn expected(part: Part, blocks: &[Vec<String>], word: &str) -> Found {
        let mut found = Vec::new();
        for (block, messages) in blocks.iter().enumerate() {
            let counts = messages.iter().map(|text| {
                let same = words(text).filter(|one| fold(one.text) == word);
                same.count() as u32
            });
            let counts: Vec<u32> = counts.collect();
            let block = 2 * block as u32;
            if part == Part::Results {
                found.extend((counts.iter().sum::<u32>() > 0).then_some((block, 0, 1)));
                continue;
            }
            let counts = counts.into_iter().enumerate();
            let held = counts.filter(|(_, times)| *times > 0);
            found.extend(held.map(|(message, times)| (block, message as u32, times)));
        }
        found
    }

    fn blocks() -> impl Strategy<Value = Vec<Vec<String>>> {
        let message = "([a-hA-D0-2]{1,3}(ing|ed)?[ .]|[éÉ]a |数|İ ){0,12}";
        let messages = prop::collection::vec(message, 1..8);
        prop::collection::vec(messages, 0..5)
    }

    fn all_words(blocks: &[Vec<String>]) -> BTreeSet<String> {
        let all = blocks.iter().flatten();
        all.flat_map(|text| words(text).map(|word| fold(word.text).into_owned()))
            .collect()
    }

    proptest! {
        #[test]
        fn every_word_is_found_where_it_is(
            blocks in blocks(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 2),
        ) {
            for part in [Part::Words, Part::Results] {
                let whole = made(part, &blocks, 0);
                // A segment that others were merged into says the same.
                let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(blocks.len() + 1)).collect();
                cuts.sort_unstable();
                let ranges = [0..cuts[0], cuts[0]..cuts[1], cuts[1]..blocks.len()];
                let parts = ranges.map(|range| made(part, &blocks[range.clone()], range.start as u32));
                let once = merged(part, &parts[..2], &|_, _| true);
                let twice = merged(part, &[once, parts[2].clone()], &|_, _| true);
                prop_assert_eq!(twice.0.spans, 1);
                let mut all: Vec<String> = all_words(&blocks).into_iter().collect();
                all.extend(["absent", "add", "012", ""].map(str::to_owned));
                for word in &all {
                    let expected = Some(expected(part, &blocks, word));
                    prop_assert_eq!(&asked(part, &whole, word), &expected);
                    prop_assert_eq!(&asked(part, &twice, word), &expected);
                }
            }
        }

        #[test]
        fn every_word_with_a_prefix_or_a_text_in_it_is_found(
            blocks in blocks(),
            text in "[a-h]{1,2}|ng|éa|数|1|",
        ) {
            let (row, bytes) = made(Part::Results, &blocks, 0);
            let read = ReadSegment::none(&row);
            let segment = Segment::open(Part::Results, (&row, &read), &bytes).expect("whole");
            let order = |word: &Vec<u8>| (is_hexadecimal(word), word.clone());
            let mut all: Vec<Vec<u8>> = all_words(&blocks).into_iter().map(String::into_bytes).collect();
            all.sort_by_key(order);
            let mut found = Vec::new();
            segment.each_with_prefix(text.as_bytes(), &mut |word, _| found.push(word.to_vec())).expect("whole");
            let with_prefix: Vec<Vec<u8>> =
                all.iter().filter(|word| word.starts_with(text.as_bytes())).cloned().collect();
            prop_assert_eq!(&found, &with_prefix);
            if !text.is_empty() {
                found.clear();
                let shards = 0..segment.shards_for(text.as_bytes());
                let mut take = |word: &[u8], _| found.push(word.to_vec());
                segment.each_with((shards, text.as_bytes()), &mut take).expect("whole");
                all.retain(|word| memmem::find(word, text.as_bytes()).is_some());
                prop_assert_eq!(found, all);
            }
        }

        #[test]
        fn damage_is_noticed_or_does_not_matter(
            at in any::<prop::sample::Index>(),
            bit in 0..8,
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let messages = (0..300).map(|n| format!("word{} and word{n} again {n}", n % 3));
            let good = made(Part::Words, &[messages.collect()], 0);
            let mut bad = good.clone();
            bad.1[at.index(good.1.len())] ^= 1u8 << bit;
            if let Some(cut) = cut {
                bad.1.truncate(cut.index(good.1.len()));
            }
            for word in ["word1", "and", "again", "word29", "absent", "17"] {
                if let Some(found) = asked(Part::Words, &bad, word) {
                    prop_assert_eq!(Some(found), asked(Part::Words, &good, word));
                }
            }
        }

        #[test]
        fn a_block_that_was_replaced_is_left_out_of_joined_spans(blocks in blocks()) {
            let stored = [made(Part::Words, &blocks, 0), made(Part::Words, &[], 0)];
            let merged = merged(Part::Words, &stored, &|_, block| block % 4 == 0);
            for word in ["a", "b", "aing", "cd", "数"] {
                let mut kept = expected(Part::Words, &blocks, word);
                kept.retain(|(block, _, _)| block % 4 == 0);
                prop_assert_eq!(asked(Part::Words, &merged, word), Some(kept));
            }
        }
    }

    #[test]
    fn large_spans_are_kept_apart_and_large_segments_have_several_shards() {
        let long = |from: usize| -> Vec<String> {
            let words = (from..from + 280_000).map(|n| format!("w{n} "));
            vec![words.collect::<String>() + "everywhere"]
        };
        let blocks = [long(0), long(280_000), long(100)];
        for part in [Part::Words, Part::Results] {
            let stored: Vec<Stored> = (0..3)
                .map(|n| made(part, &blocks[n..=n], n as u32))
                .collect();
            let whole = merged(part, &stored, &|_, _| true);
            assert_eq!(whole.0.spans, 3);
            assert!(whole.0.shards > 3, "{}", whole.0.shards);
            for word in [
                "w0",
                "w150",
                "w279999",
                "w280000",
                "w559999",
                "everywhere",
                "w",
            ] {
                let expected = expected(part, &blocks, word);
                assert_eq!(asked(part, &whole, word), Some(expected), "{word}");
            }
        }
    }

    #[test]
    fn damage_of_a_segment_is_noticed_when_it_is_merged() {
        let good = made(Part::Words, &[vec!["some words".to_owned()]], 0);
        for at in 0..good.1.len() {
            let mut bad = good.clone();
            bad.1[at] ^= 4;
            let (row, bytes) = &bad;
            let read = [ReadSegment::none(row), ReadSegment::none(&good.0)];
            let Some(segment) = Segment::open(Part::Words, (row, &read[0]), bytes) else {
                continue;
            };
            let other = Segment::open(Part::Words, (&good.0, &read[1]), &good.1).expect("whole");
            let merged = merge(&[segment, other], &|_, _| true, &mut |_| Ok(()));
            assert!(merged.expect("nothing fails").is_none(), "{at}");
        }
    }
}
