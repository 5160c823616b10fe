//! The index of a part: which messages contain which words, how often.
//!
//! It consists of segments, each of which indexes the words of many blocks, so that a search
//! reads a few pages of each segment and none of the blocks that cannot match. A segment holds
//! its blocks, its folded words in order, each followed by a newline, and for each word a list
//! of the places that contain it. Words are found by binary search over groups of words, or by
//! searching their text. A place is a message, counted over all blocks of the segment. For
//! results it is a block: they are several times as much text and are searched less often.
//!
//! A word that is written with letters which folding makes ASCII ones is indexed a second time,
//! with a mark at its end, so that a search for the ASCII word knows where it is written so.
//!
//! Each page of a segment has a checksum, so that a lookup verifies what it reads and no more.

mod builder;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::{memchr, memmem, memrchr};

use super::Part;
use super::bytes::{ByteReader, checksum};

pub(super) use builder::IndexBuilder;

/// The number of bytes that have a checksum of their own.
const PAGE: usize = 1024;
/// The number of words of a group.
const GROUP: usize = 16;
/// The size of a group's entry: the ends of its words and of its lists.
const GROUP_ENTRY: usize = 8;
/// The size of a block's entry: its number and its first place.
const BLOCK_ENTRY: usize = 8;

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
    /// The number of blocks, and of places in them.
    pub(super) blocks: u32,
    pub(super) places: u32,
    /// The number of words, and the bytes of their text and of their lists.
    pub(super) words: u32,
    pub(super) text: u32,
    pub(super) lists: u32,
    /// The number of postings, as a measure of what merging it costs.
    pub(super) postings: u32,
    /// The checksum of the checksums of its pages.
    pub(super) checksum: u64,
}

/// A segment of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    row: &'a SegmentRow,
    has_messages: bool,
    body: &'a [u8],
    sums: &'a [u8],
    verified: &'a VerifiedPages,
}

/// Which pages of a segment have been compared with their checksums, one bit each; the last one
/// is for the checksums.
#[derive(Debug)]
pub(super) struct VerifiedPages(Box<[AtomicU64]>);

/// The blocks of a segment.
#[derive(Debug)]
pub(super) struct SegmentBlocks {
    /// The number of each block, and the first of its places.
    entries: Vec<(u32, u32)>,
}

/// A list of places, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceList<'a> {
    bytes: &'a [u8],
    /// Whether it has one bit for each place; else the distances between places.
    has_bits: bool,
}

impl TextFlags {
    const COUNT: u8 = 0x3f;
    const WHOLE: u8 = 0x40;
    const FOLDED: u8 = 0x80;
    /// The most lists that are told apart; further ones do not narrow a search.
    const MOST: usize = Self::COUNT as usize;

    /// Adds a text of the list with this index, if it has one of all before it: `word` contains it.
    fn add(&mut self, index: usize, (word, text): (&[u8], &[u8])) {
        if self.count() < index {
            return;
        }
        let how = match word.last() {
            _ if word == text => Self::WHOLE,
            Some(last) if char::from(*last) == FOLDED => Self::FOLDED,
            _ => 0,
        };
        self.0 = (self.0 & !Self::COUNT) | (index + 1) as u8 | how;
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
    fn groups(&self) -> usize {
        (self.words as usize).div_ceil(GROUP)
    }

    /// Returns the bytes of blocks, groups, words and lists.
    fn body(&self) -> usize {
        BLOCK_ENTRY * self.blocks as usize
            + GROUP_ENTRY * self.groups()
            + self.text as usize
            + self.lists as usize
    }

    fn pages(&self) -> usize {
        self.body().div_ceil(PAGE)
    }

    /// Returns the size of the segment, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.body() + 8 * self.pages()
    }
}

impl VerifiedPages {
    /// Returns those of a segment of which nothing has been verified.
    pub(super) fn none(row: &SegmentRow) -> Self {
        let bits = row.pages() + 1;
        Self((0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Whether a page is whole; checked until it succeeds once.
    fn is_known(&self, page: usize, is_whole: impl FnOnce() -> bool) -> bool {
        let (Some(bits), bit) = (self.0.get(page / 64), 1 << (page % 64)) else {
            return is_whole();
        };
        if bits.load(Ordering::Relaxed) & bit != 0 {
            return true;
        }
        let is_whole = is_whole();
        if is_whole {
            bits.fetch_or(bit, Ordering::Relaxed);
        }
        is_whole
    }
}

impl SegmentBlocks {
    /// Returns the block of a place, by its index in the segment, and the place in that block.
    /// `near` is the index of an earlier place's block.
    pub(super) fn find(&self, place: u32, near: usize) -> Option<(usize, u32)> {
        let is_before = |(_, first): &(u32, u32)| *first <= place;
        // Places come in order, so the block is mostly the same or the next one.
        let after = self.entries.get(near..)?;
        let steps = match after.get(1) {
            Some(next) if is_before(next) => after.partition_point(is_before),
            _ => 1,
        };
        let index = near + steps.checked_sub(1)?;
        let (_, first) = self.entries.get(index)?;
        Some((index, place.checked_sub(*first)?))
    }

    /// Returns the number of each block with its share of what is known about all places.
    pub(super) fn each<'a, T>(
        &'a self,
        places: &'a [T],
    ) -> impl Iterator<Item = (u32, &'a [T])> + use<'a, T> {
        self.entries
            .iter()
            .enumerate()
            .map(|(at, (number, first))| {
                let next = self.entries.get(at + 1).map(|(_, next)| *next as usize);
                let next = next.unwrap_or(places.len());
                let own = places.get(*first as usize..next);
                (*number, own.unwrap_or_default())
            })
    }

    /// Returns the number of a block, by its index in the segment.
    pub(super) fn number(&self, index: usize) -> Option<u32> {
        self.entries.get(index).map(|(number, _)| *number)
    }
}

impl<'a> Segment<'a> {
    /// Opens a segment; `None` if its bytes are too few or the checksums are damaged.
    pub(super) fn open(
        part: Part,
        (row, verified): (&'a SegmentRow, &'a VerifiedPages),
        bytes: &'a [u8],
    ) -> Option<Self> {
        let (body, sums) = bytes.split_at_checked(row.body())?;
        let are_sums_whole = || checksum(sums) == row.checksum;
        let is_whole = verified.is_known(row.pages(), are_sums_whole);
        is_whole.then_some(Self {
            row,
            has_messages: part.has_concordance(),
            body,
            sums,
            verified,
        })
    }

    /// Returns its blocks.
    pub(super) fn blocks(&self) -> Option<SegmentBlocks> {
        let mut entries = ByteReader(self.get(0..BLOCK_ENTRY * self.row.blocks as usize)?);
        let entries = (0..self.row.blocks).map(|_| Some((entries.u32()?, entries.u32()?)));
        Some(SegmentBlocks {
            entries: entries.collect::<Option<_>>()?,
        })
    }

    /// Calls `take` with each word from the first that is not less than `start` and with its
    /// list, until it returns false; `None` if the segment is damaged.
    pub(super) fn each_from(
        &self,
        start: &[u8],
        take: &mut dyn FnMut(&'a [u8], PlaceList<'a>) -> bool,
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

    /// Returns for each place of which lists of folded texts it has one inside its words; `None` if
    /// the segment is damaged.
    pub(super) fn places_with(&self, lists: &[Vec<String>]) -> Option<Vec<TextFlags>> {
        let mut places = vec![TextFlags::default(); self.row.places as usize];
        let lists = lists.iter().enumerate().take(TextFlags::MOST);
        for (number, text) in lists.flat_map(|(at, list)| list.iter().map(move |text| (at, text))) {
            let mut is_sound = true;
            self.each_with(text.as_bytes(), &mut |word, list| {
                let how = (word, text.as_bytes());
                let read =
                    self.each_place(list, &mut |place, _| match places.get_mut(place as usize) {
                        Some(flags) => flags.add(number, how),
                        None => is_sound = false,
                    });
                is_sound &= read.is_some();
            })?;
            if !is_sound {
                return None;
            }
        }
        Some(places)
    }

    /// Calls `take` with each word that contains the text and with its list.
    fn each_with(&self, text: &[u8], take: &mut dyn FnMut(&'a [u8], PlaceList<'a>)) -> Option<()> {
        let words = self.get(self.words_at(0..self.row.text as usize))?;
        let finder = memmem::Finder::new(text);
        // The group of the last word, what follows that word in it, and where that begins.
        let mut group = 0;
        let (mut others, mut lists) = (&words[..0], &words[..0]);
        let mut at = 0;
        let mut from = 0;
        while let Some(found) = finder.find(&words[from..]) {
            let found = from + found;
            let start =
                memrchr(b'\n', &words[from..found]).map_or(from, |before| from + before + 1);
            if others.is_empty() || self.ends(group)?.0 <= start {
                group = self.group_at(start, group)?;
                (others, lists) = self.group(group)?;
                at = self.starts(group)?.0;
            }
            while let Some((word, list)) = next_word(&mut others, &mut lists) {
                let is_found = at == start;
                at += word.len() + 1;
                if is_found {
                    take(word, list?);
                    break;
                }
            }
            from = found + memchr(b'\n', &words[found..])? + 1;
        }
        Some(())
    }

    /// Returns the group with the word at this offset, which is not before the group `first`.
    fn group_at(&self, word: usize, first: usize) -> Option<usize> {
        let (mut low, mut high) = (first, self.row.groups());
        // Mostly it is near.
        let mut step = 1;
        while low + step < high && self.ends(low + step)?.0 <= word {
            low += step + 1;
            step *= 2;
        }
        high = high.min(low + step + 1);
        while low < high {
            let middle = (low + high) / 2;
            match self.ends(middle)?.0 <= word {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Some(low)
    }

    /// Calls `take` with each place of a list, in order, and how often it has the word.
    pub(super) fn each_place(
        &self,
        list: PlaceList<'_>,
        take: &mut dyn FnMut(u32, u32),
    ) -> Option<()> {
        if list.has_bits {
            for (byte, bits) in list.bytes.iter().enumerate() {
                for bit in (0..8).filter(|bit| bits >> bit & 1 == 1) {
                    take(8 * byte as u32 + bit, 1);
                }
            }
            return Some(());
        }
        let mut list = ByteReader(list.bytes);
        let mut place = 0u32;
        while !list.0.is_empty() {
            let code = list.varint()?;
            if !self.has_messages {
                place = place.checked_add(code as u32)?;
                take(place, 1);
                continue;
            }
            place = place.checked_add((code >> 1) as u32)?;
            let times = match code & 1 {
                0 => 1,
                _ => list.varint()? as u32,
            };
            take(place, times);
        }
        Some(())
    }

    /// Returns where the group's words and lists end.
    fn ends(&self, group: usize) -> Option<(usize, usize)> {
        let at = BLOCK_ENTRY * self.row.blocks as usize + GROUP_ENTRY * group;
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
        let at = BLOCK_ENTRY * self.row.blocks as usize + GROUP_ENTRY * self.row.groups();
        at + range.start..at + range.end
    }

    /// Returns a range of the segment; `None` if a page of it is damaged.
    fn get(&self, range: Range<usize>) -> Option<&'a [u8]> {
        let bytes = self.body.get(range.clone())?;
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let is_whole = || {
                let whole = &self.body[page * PAGE..self.body.len().min((page + 1) * PAGE)];
                let sum = self.sums.get(8 * page..);
                sum.and_then(|sum| ByteReader(sum).u64()) == Some(checksum(whole))
            };
            if !self.verified.is_known(page, is_whole) {
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
) -> Option<(&'a [u8], Option<PlaceList<'a>>)> {
    let length = memchr(b'\n', words)?;
    let (word, rest) = words.split_at(length);
    *words = &rest[1..];
    let mut reader = ByteReader(lists);
    let list = reader.varint().and_then(|code| {
        let bytes = reader.bytes(usize::try_from(code >> 1).ok()?)?;
        let has_bits = code & 1 == 1;
        Some(PlaceList { bytes, has_bits })
    });
    *lists = reader.0;
    Some((word, list))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::text::{fold, words};

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
            builder.add_block(&text, ends, messages.len());
            builder.blocks.push(2 * (first + number as u32));
        }
    }

    type Found = Vec<(u32, u32, u32)>;

    /// Returns the places of a word: the block's number, the message's, and how often.
    fn asked(part: Part, (row, bytes): &(SegmentRow, Vec<u8>), word: &str) -> Option<Found> {
        let verified = VerifiedPages::none(row);
        let segment = Segment::open(part, (row, &verified), bytes)?;
        let blocks = segment.blocks()?;
        let mut found = Vec::new();
        let mut is_sound = true;
        segment.each_from(word.as_bytes(), &mut |known, list| {
            if known == word.as_bytes() {
                let mut near = 0;
                let read = segment.each_place(list, &mut |place, times| {
                    let (block, message) = blocks.find(place, near).expect("it is a place");
                    let number = blocks.number(block).expect("it is a block");
                    found.push((number, message, times));
                    near = block;
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
                let verified = VerifiedPages::none(&first.0);
                let segment = Segment::open(part, (&first.0, &verified), &first.1);
                let segment = segment.expect("it is whole");
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
            let verified = VerifiedPages::none(&row);
            let segment = Segment::open(Part::Results, (&row, &verified), &bytes);
            let segment = segment.expect("it is whole");
            let mut expected = Vec::new();
            segment.each_from(b"", &mut |word, list| {
                if memmem::find(word, text.as_bytes()).is_some() {
                    expected.push((word, list));
                }
                true
            }).expect("it is whole");
            let mut found = Vec::new();
            segment.each_with(text.as_bytes(), &mut |word, list| {
                found.push((word, list));
            }).expect("it is whole");
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_place_has_the_texts_that_are_inside_its_words(
            blocks in blocks(),
            lists in prop::collection::vec(prop::collection::vec("[a-d]{1,2}|ng|数", 1..3), 1..4),
        ) {
            let (row, bytes) = made(Part::Words, &blocks);
            let verified = VerifiedPages::none(&row);
            let segment = Segment::open(Part::Words, (&row, &verified), &bytes);
            let segment = segment.expect("it is whole");
            let places = segment.places_with(&lists).expect("it is whole");
            let known = segment.blocks().expect("it is whole");
            for (messages, (_, places)) in blocks.iter().zip(known.each(&places)) {
                prop_assert_eq!(messages.len(), places.len());
                for (message, flags) in messages.iter().zip(places) {
                    let folded: Vec<String> =
                        words(message).map(|word| fold(word.text).into_owned()).collect();
                    let has = |text: &String| folded.iter().any(|word| word.contains(text));
                    let has_all = lists.iter().all(|list| list.iter().any(has));
                    let is_whole = lists.iter().flatten().any(|text| folded.contains(text));
                    let how = flags.of_all(lists.len());
                    prop_assert_eq!(how.is_some(), has_all);
                    prop_assert!(how.is_none_or(|(known, _)| known == is_whole));
                }
            }
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
            let verified = VerifiedPages::none(&old.0);
            let segment = Segment::open(Part::Words, (&old.0, &verified), &old.1);
            let segment = segment.expect("it is whole");
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
