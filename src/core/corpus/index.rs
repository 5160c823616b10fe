//! The index of a part: which messages contain which words, how often.
//!
//! It consists of segments, each of which indexes the words of many blocks, so that a search
//! reads a few pages of each segment and none of the blocks that cannot match. A segment holds
//! the numbers of its blocks, its folded words in order, each followed by a newline, and for
//! each word a list of the blocks and messages that contain it. Words are found by binary
//! search over groups of words, or by searching their text. For results, the lists have only
//! blocks: they are several times as much text and are searched less often.
//!
//! Each page of a segment has a checksum, so that a lookup verifies what it reads and no more.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::Part;
use super::bytes::{ByteReader, ByteWriter, checksum};
use crate::core::text::{IdentityHasher, Term, fold, words};

/// The number of bytes that have a checksum of their own.
const PAGE: usize = 1024;
/// The number of words of a group.
const GROUP: usize = 16;
/// The size of a group's entry: the ends of its words and of its lists.
const GROUP_ENTRY: usize = 8;
/// The number of postings at which a segment is finished; limits the memory of a build.
pub(super) const FULL: usize = 1 << 20;
/// The number of bits of a place that give the message; a block has at most 4096 messages.
const MESSAGE: u32 = 12;

/// The number of words that are found without the map.
const RECENT: usize = 1 << 11;
const NO_WORD: (Term, u32) = (Term(0), u32::MAX);

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

/// The sizes of a segment's sections, and where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SegmentRow {
    pub(super) at: u64,
    /// The number of blocks.
    pub(super) blocks: u32,
    /// The number of words, and the bytes of their text and of their lists.
    pub(super) words: u32,
    pub(super) text: u32,
    pub(super) lists: u32,
    /// The number of postings, as a measure of what merging it costs.
    pub(super) postings: u32,
    /// The checksum of the checksums of its pages.
    pub(super) checksum: u64,
}

/// A segment under construction.
#[derive(Debug)]
pub(super) struct IndexBuilder {
    has_messages: bool,
    known: HashMap<Term, u32, BuildHasherDefault<IdentityHasher>>,
    /// The words that were used last, by a part of their hash: most words are, and the map is
    /// too large to be near the processor.
    recent: Vec<(Term, u32)>,
    /// All words, one behind the other, and the end of each.
    text: String,
    ends: Vec<usize>,
    /// For each word, the number of its last posting.
    last: Vec<u32>,
    postings: Vec<Posting>,
    /// The numbers of the blocks that are indexed.
    pub(super) blocks: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    word: u32,
    /// The block's number in the segment, and the message's in the block.
    place: u32,
    times: u32,
}

/// A segment of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    row: &'a SegmentRow,
    has_messages: bool,
    body: &'a [u8],
    sums: &'a [u8],
}

impl SegmentRow {
    fn groups(&self) -> usize {
        (self.words as usize).div_ceil(GROUP)
    }

    /// Returns the bytes of blocks, groups, words and lists.
    fn body(&self) -> usize {
        4 * self.blocks as usize
            + GROUP_ENTRY * self.groups()
            + self.text as usize
            + self.lists as usize
    }

    /// Returns the size of the segment, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.body() + 8 * self.body().div_ceil(PAGE)
    }
}

impl IndexBuilder {
    pub(super) fn new(part: Part) -> Self {
        Self {
            has_messages: part.has_concordance(),
            known: HashMap::default(),
            recent: vec![NO_WORD; RECENT],
            text: String::new(),
            ends: Vec::new(),
            last: Vec::new(),
            postings: Vec::new(),
            blocks: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.postings.len() >= FULL
    }

    /// Adds the words of the next block, whose number is appended to `blocks` afterwards.
    /// `ends` are the ends of its messages.
    pub(super) fn add_block(&mut self, text: &str, mut ends: impl Iterator<Item = usize>) {
        let mut place = (self.blocks.len() as u32) << MESSAGE;
        let mut end = match self.has_messages {
            true => ends.next().unwrap_or(usize::MAX),
            false => usize::MAX,
        };
        for word in words(text) {
            while word.at > end {
                place += 1;
                end = ends.next().unwrap_or(usize::MAX);
            }
            let number = self.number(word.term(), || fold(word.text));
            self.count(number, place, 1);
        }
    }

    /// Adds what a segment says about the blocks that `is_current` accepts; `None` if the
    /// segment is damaged.
    pub(super) fn adopt(
        &mut self,
        segment: Segment<'_>,
        is_current: &dyn Fn(u32) -> bool,
    ) -> Option<()> {
        let first = self.blocks.len() as u32;
        let mut numbers = Vec::with_capacity(segment.row.blocks as usize);
        for block in segment.blocks()? {
            let is_current = is_current(block);
            numbers.push(is_current.then_some(self.blocks.len() as u32 - first));
            if is_current {
                self.blocks.push(block);
            }
        }
        let mut is_sound = true;
        segment.each_from(b"", &mut |word, list| {
            let Ok(word) = std::str::from_utf8(word) else {
                is_sound = false;
                return false;
            };
            let number = self.number(Term::of(word), || word.into());
            let read = segment.each_posting(list, &mut |block, message, times| {
                if let Some(Some(block)) = numbers.get(block as usize) {
                    self.count(number, (first + block) << MESSAGE | message, times);
                }
            });
            is_sound &= read.is_some();
            is_sound
        })?;
        is_sound.then_some(())
    }

    /// Returns the number of a word in the segment.
    fn number<'a>(&mut self, term: Term, word: impl FnOnce() -> Cow<'a, str>) -> u32 {
        let recent = &mut self.recent[(term.0 >> 32) as usize % RECENT];
        if recent.0 == term && recent.1 != NO_WORD.1 {
            return recent.1;
        }
        let (text, ends, last) = (&mut self.text, &mut self.ends, &mut self.last);
        let number = *self.known.entry(term).or_insert_with(|| {
            text.push_str(&word());
            ends.push(text.len());
            last.push(u32::MAX);
            ends.len() as u32 - 1
        });
        *recent = (term, number);
        number
    }

    fn count(&mut self, word: u32, place: u32, times: u32) {
        let last = &mut self.last[word as usize];
        match self.postings.get_mut(*last as usize) {
            Some(posting) if posting.place == place => posting.times += times,
            _ => {
                *last = self.postings.len() as u32;
                self.postings.push(Posting { word, place, times });
            }
        }
    }

    /// Returns the segment in its stored form; `self` is empty afterwards.
    pub(super) fn finish(&mut self) -> (SegmentRow, Vec<u8>) {
        let word = |number: usize| {
            let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.text[from..self.ends[number]]
        };
        let mut order: Vec<u32> = (0..self.ends.len() as u32).collect();
        order.sort_unstable_by_key(|number| word(*number as usize));
        // Postings by word: those of a word are already in order.
        let mut starts = vec![0; self.ends.len() + 1];
        for posting in &self.postings {
            starts[posting.word as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0); self.postings.len()];
        for posting in &self.postings {
            let at = &mut next[posting.word as usize];
            sorted[*at] = (posting.place, posting.times);
            *at += 1;
        }
        let (mut groups, mut text, mut lists) =
            (ByteWriter::default(), Vec::new(), ByteWriter::default());
        let mut list = ByteWriter::default();
        for group in order.chunks(GROUP) {
            for number in group.iter().map(|number| *number as usize) {
                text.extend_from_slice(word(number).as_bytes());
                text.push(b'\n');
                list.0.clear();
                write_list(
                    &sorted[starts[number]..starts[number + 1]],
                    self.has_messages,
                    &mut list,
                );
                lists.varint(list.0.len() as u64);
                lists.0.extend_from_slice(&list.0);
            }
            groups.u32(text.len() as u32);
            groups.u32(lists.0.len() as u32);
        }
        let mut row = SegmentRow {
            at: 0,
            blocks: self.blocks.len() as u32,
            words: order.len() as u32,
            text: text.len() as u32,
            lists: lists.0.len() as u32,
            postings: self.postings.len() as u32,
            checksum: 0,
        };
        let mut out = ByteWriter(Vec::with_capacity(row.bytes()));
        self.blocks.iter().for_each(|block| out.u32(*block));
        for section in [&groups.0, &text, &lists.0] {
            out.0.extend_from_slice(section);
        }
        let sums: Vec<u64> = out.0.chunks(PAGE).map(checksum).collect();
        let from = out.0.len();
        sums.iter().for_each(|sum| out.u64(*sum));
        row.checksum = checksum(&out.0[from..]);
        self.known.clear();
        self.recent.fill(NO_WORD);
        self.text.clear();
        self.ends.clear();
        self.last.clear();
        self.postings.clear();
        self.blocks.clear();
        (row, out.0)
    }
}

/// Writes the places of one word: for each block the distance to the one before, and, if
/// messages are indexed, their number and for each the distance and the times.
fn write_list(places: &[(u32, u32)], has_messages: bool, out: &mut ByteWriter) {
    let mut before = 0;
    for same in places.chunk_by(|a, b| a.0 >> MESSAGE == b.0 >> MESSAGE) {
        let block = same[0].0 >> MESSAGE;
        out.varint(u64::from(block - before));
        before = block;
        if !has_messages {
            continue;
        }
        out.varint(same.len() as u64);
        let mut last = 0;
        for (place, times) in same {
            let message = place & ((1 << MESSAGE) - 1);
            let is_repeated = *times > 1;
            out.varint(u64::from(message - last) << 1 | u64::from(is_repeated));
            if is_repeated {
                out.varint(u64::from(*times));
            }
            last = message;
        }
    }
}

impl<'a> Segment<'a> {
    /// Opens a segment; `None` if its bytes are too few or the checksums are damaged.
    pub(super) fn open(part: Part, row: &'a SegmentRow, bytes: &'a [u8]) -> Option<Self> {
        let (body, sums) = bytes.split_at_checked(row.body())?;
        (checksum(sums) == row.checksum).then_some(Self {
            row,
            has_messages: part.has_concordance(),
            body,
            sums,
        })
    }

    /// Returns the numbers of its blocks.
    pub(super) fn blocks(&self) -> Option<Vec<u32>> {
        let mut numbers = ByteReader(self.get(0..4 * self.row.blocks as usize)?);
        (0..self.row.blocks).map(|_| numbers.u32()).collect()
    }

    /// Calls `take` with each word from the first that is not less than `start` and with its
    /// list, until it returns false; `None` if the segment is damaged.
    pub(super) fn each_from(
        &self,
        start: &[u8],
        take: &mut dyn FnMut(&'a [u8], &'a [u8]) -> bool,
    ) -> Option<()> {
        let (mut low, mut high) = (0, self.row.groups());
        while low < high {
            let middle = (low + high) / 2;
            match self.first_word(middle)? < start {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        for group in low.saturating_sub(1)..self.row.groups() {
            let (mut words, mut lists) = self.group(group)?;
            while let Some((word, list)) = next_word(&mut words, &mut lists) {
                if word >= start && !take(word, list?) {
                    return Some(());
                }
            }
        }
        Some(())
    }

    /// Calls `take` with the list of each word that contains the text.
    pub(super) fn each_with(&self, text: &[u8], take: &mut dyn FnMut(&'a [u8])) -> Option<()> {
        let words = self.get(self.words_at(0..self.row.text as usize))?;
        let finder = memmem::Finder::new(text);
        let mut from = 0;
        while let Some(found) = finder.find(&words[from..]) {
            let found = from + found;
            let start = memrchr(b'\n', &words[..found]).map_or(0, |before| before + 1);
            let (mut low, mut high) = (0, self.row.groups());
            while low < high {
                let middle = (low + high) / 2;
                match self.ends(middle)?.0 <= start {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            let (mut group, mut lists) = self.group(low)?;
            let mut at = self.starts(low)?.0;
            while let Some((word, list)) = next_word(&mut group, &mut lists) {
                if at == start {
                    take(list?);
                    break;
                }
                at += word.len() + 1;
            }
            from = found + memchr(b'\n', &words[found..])?;
        }
        Some(())
    }

    /// Calls `take` with each block, message and times of a list; the block is its number in
    /// the segment.
    pub(super) fn each_posting(
        &self,
        list: &[u8],
        take: &mut dyn FnMut(u32, u32, u32),
    ) -> Option<()> {
        let mut list = ByteReader(list);
        let mut block = 0u32;
        while !list.0.is_empty() {
            block = block.checked_add(list.varint()? as u32)?;
            if !self.has_messages {
                take(block, 0, 1);
                continue;
            }
            let mut message = 0u32;
            for _ in 0..list.varint()? {
                let code = list.varint()?;
                message = message.checked_add((code >> 1) as u32)?;
                let times = match code & 1 {
                    0 => 1,
                    _ => list.varint()? as u32,
                };
                take(block, message, times);
            }
        }
        Some(())
    }

    /// Returns where the group's words and lists end.
    fn ends(&self, group: usize) -> Option<(usize, usize)> {
        let at = 4 * self.row.blocks as usize + GROUP_ENTRY * group;
        let mut entry = ByteReader(self.get(at..at + GROUP_ENTRY)?);
        Some((entry.u32()? as usize, entry.u32()? as usize))
    }

    fn starts(&self, group: usize) -> Option<(usize, usize)> {
        group
            .checked_sub(1)
            .map_or(Some((0, 0)), |before| self.ends(before))
    }

    fn first_word(&self, group: usize) -> Option<&'a [u8]> {
        let words = self.get(self.words_at(self.starts(group)?.0..self.ends(group)?.0))?;
        words.get(..memchr(b'\n', words)?)
    }

    /// Returns the words and the lists of a group.
    fn group(&self, group: usize) -> Option<(&'a [u8], &'a [u8])> {
        let (start, end) = (self.starts(group)?, self.ends(group)?);
        let lists = self.words_at(0..0).start + self.row.text as usize;
        Some((
            self.get(self.words_at(start.0..end.0))?,
            self.get(lists + start.1..lists + end.1)?,
        ))
    }

    /// Returns the range in the segment of a range of the words.
    fn words_at(&self, range: Range<usize>) -> Range<usize> {
        let at = 4 * self.row.blocks as usize + GROUP_ENTRY * self.row.groups();
        at + range.start..at + range.end
    }

    /// Returns a range of the segment; `None` if a page of it is damaged.
    fn get(&self, range: Range<usize>) -> Option<&'a [u8]> {
        let bytes = self.body.get(range.clone())?;
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let whole = &self.body[page * PAGE..self.body.len().min((page + 1) * PAGE)];
            if ByteReader(self.sums.get(8 * page..)?).u64()? != checksum(whole) {
                return None;
            }
        }
        Some(bytes)
    }
}

/// Takes the next word and its list, which is `None` if it is damaged.
fn next_word<'a>(
    words: &mut &'a [u8],
    lists: &mut &'a [u8],
) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let length = memchr(b'\n', words)?;
    let (word, rest) = words.split_at(length);
    *words = &rest[1..];
    let mut reader = ByteReader(lists);
    let list = reader
        .varint()
        .and_then(|length| reader.bytes(usize::try_from(length).ok()?));
    *lists = reader.0;
    Some((word, list))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds a segment of blocks of messages; the numbers of its blocks are even.
    fn made(part: Part, blocks: &[Vec<String>]) -> (SegmentRow, Vec<u8>) {
        let mut builder = IndexBuilder::new(part);
        add(&mut builder, blocks, 0);
        builder.finish()
    }

    fn add(builder: &mut IndexBuilder, blocks: &[Vec<String>], first: u32) {
        for (number, messages) in blocks.iter().enumerate() {
            let text: String = messages.iter().map(|text| format!("{text}\n")).collect();
            let ends = messages.iter().scan(0, |end, text| {
                *end += text.len() + 1;
                Some(*end - 1)
            });
            builder.add_block(&text, ends);
            builder.blocks.push(2 * (first + number as u32));
        }
    }

    type Found = Vec<(u32, u32, u32)>;

    /// Returns the places of a word: the block's number, the message's, and how often.
    fn asked(part: Part, (row, bytes): &(SegmentRow, Vec<u8>), word: &str) -> Option<Found> {
        let segment = Segment::open(part, row, bytes)?;
        let blocks = segment.blocks()?;
        let mut found = Vec::new();
        let mut is_sound = true;
        segment.each_from(word.as_bytes(), &mut |known, list| {
            if known == word.as_bytes() {
                let read = segment.each_posting(list, &mut |block, message, times| {
                    found.push((blocks[block as usize], message, times));
                });
                is_sound = read.is_some();
            }
            false
        })?;
        is_sound.then_some(found)
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
        let message = "([a-dA-D]{1,3}(ing|ed)?[ .]|[éÉ]a |数|İ ){0,12}";
        let messages = prop::collection::vec(message, 1..8);
        prop::collection::vec(messages, 0..5)
    }

    proptest! {
        #[test]
        fn every_word_is_found_where_it_is(blocks in blocks(), cut in any::<prop::sample::Index>()) {
            for part in [Part::Words, Part::Results] {
                let whole = made(part, &blocks);
                // A segment that takes over another says the same.
                let cut = cut.index(blocks.len() + 1);
                let first = made(part, &blocks[..cut]);
                let mut builder = IndexBuilder::new(part);
                let segment = Segment::open(part, &first.0, &first.1).expect("it is whole");
                builder.adopt(segment, &|_| true).expect("it is whole");
                add(&mut builder, &blocks[cut..], cut as u32);
                let merged = builder.finish();
                let all = blocks.iter().flatten();
                let mut all: Vec<String> = all
                    .flat_map(|text| words(text).map(|word| fold(word.text).into_owned()))
                    .collect();
                all.extend(["absent".to_owned(), String::new()]);
                for word in &all {
                    let expected = Some(expected(part, &blocks, word));
                    prop_assert_eq!(&asked(part, &whole, word), &expected);
                    prop_assert_eq!(&asked(part, &merged, word), &expected);
                }
            }
        }

        #[test]
        fn every_word_with_a_text_in_it_is_found(blocks in blocks(), text in "[a-d]{1,2}|ng|éa|数") {
            let (row, bytes) = made(Part::Results, &blocks);
            let segment = Segment::open(Part::Results, &row, &bytes).expect("it is whole");
            let mut expected = Vec::new();
            segment.each_from(b"", &mut |word, list| {
                if memmem::find(word, text.as_bytes()).is_some() {
                    expected.push(list);
                }
                true
            }).expect("it is whole");
            let mut found = Vec::new();
            segment.each_with(text.as_bytes(), &mut |list| found.push(list)).expect("it is whole");
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn damage_is_noticed_or_does_not_matter(
            at in any::<prop::sample::Index>(),
            bit in 0..8,
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let messages = (0..300).map(|n| format!("word{} and word{n} again", n % 3));
            let good = made(Part::Words, &[messages.collect()]);
            let mut bad = good.clone();
            bad.1[at.index(good.1.len())] ^= 1u8 << bit;
            if let Some(cut) = cut {
                bad.1.truncate(cut.index(good.1.len()));
            }
            for word in ["word1", "and", "again", "word29", "absent"] {
                if let Some(found) = asked(Part::Words, &bad, word) {
                    prop_assert_eq!(Some(found), asked(Part::Words, &good, word));
                }
            }
        }

        #[test]
        fn a_block_that_was_replaced_is_left_out_of_a_merged_segment(blocks in blocks()) {
            let old = made(Part::Words, &blocks);
            let segment = Segment::open(Part::Words, &old.0, &old.1).expect("it is whole");
            let mut builder = IndexBuilder::new(Part::Words);
            builder.adopt(segment, &|block| block % 4 == 0).expect("it is whole");
            let merged = builder.finish();
            for word in ["a", "b", "aing", "cd", "数"] {
                let mut kept = expected(Part::Words, &blocks, word);
                kept.retain(|(block, _, _)| block % 4 == 0);
                prop_assert_eq!(asked(Part::Words, &merged, word), Some(kept));
            }
        }
    }
}
