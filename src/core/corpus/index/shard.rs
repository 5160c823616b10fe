//! A shard: consecutive words of a segment, each with its list.
//!
//! It holds the ends of its groups of words and of their lists, the words, each followed by a
//! newline, the lists, and the checksums of its pages. Words are found by binary search over the
//! groups, or by searching their text.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::{memchr, memmem, memrchr};

use super::super::bytes::{ByteReader, ByteWriter, LONGEST_VARINT, checksum};
use super::list::WordList;

/// The number of bytes that have a checksum of their own.
const PAGE: usize = 1024;
/// The number of words of a group.
const GROUP: usize = 16;
/// The size of a group's entry: the ends of its words and of its lists.
const GROUP_ENTRY: usize = 8;
/// The bytes of words and lists at which a shard is complete.
const FULL: usize = 1 << 20;

/// The sizes of a shard's sections, and where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ShardRow {
    /// The offset in the segment.
    pub(super) at: u64,
    /// The number of words, and the bytes of their text and of their lists.
    pub(super) words: u32,
    pub(super) text: u32,
    pub(super) lists: u32,
    /// The checksum of the checksums of its pages.
    pub(super) checksum: u64,
}

/// Which pages of a segment have been compared with their checksums, one bit each; each shard has
/// one more bit for the checksums.
#[derive(Debug)]
pub(super) struct VerifiedPages(Box<[AtomicU64]>);

/// The groups, words and lists of a shard, whose pages are verified when they are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardPages<'a> {
    body: &'a [u8],
    sums: &'a [u8],
    verified: &'a VerifiedPages,
    /// The bit of the first page.
    bit: usize,
}

/// A shard of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shard<'a> {
    row: ShardRow,
    pages: ShardPages<'a>,
}

/// The words of a shard that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardWords<'a> {
    shard: Shard<'a>,
    /// The group after the current one.
    group: usize,
    left: GroupWords<'a>,
}

/// What is left of a group of words.
#[derive(Debug, Clone, Copy)]
struct GroupWords<'a> {
    pages: ShardPages<'a>,
    words: &'a [u8],
    /// Where their lists are in the pages.
    lists: (usize, usize),
}

impl ShardRow {
    fn groups(&self) -> usize {
        (self.words as usize).div_ceil(GROUP)
    }

    /// Returns the bytes of groups, words and lists.
    fn body(&self) -> usize {
        GROUP_ENTRY * self.groups() + self.text as usize + self.lists as usize
    }

    fn pages(&self) -> usize {
        self.body().div_ceil(PAGE)
    }

    /// Returns the size of the shard, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.body() + 8 * self.pages()
    }

    pub(super) fn write(&self, out: &mut ByteWriter) {
        out.u64(self.at);
        [self.words, self.text, self.lists]
            .iter()
            .for_each(|number| out.u32(*number));
        out.u64(self.checksum);
    }

    pub(super) fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            at: from.u64()?,
            words: from.u32()?,
            text: from.u32()?,
            lists: from.u32()?,
            checksum: from.u64()?,
        })
    }
}

impl VerifiedPages {
    /// Returns those of a segment of this size, of which nothing has been verified.
    pub(super) fn none(bytes: u64, shards: u32) -> Self {
        let bits = bytes as usize / PAGE + 2 * shards as usize;
        Self((0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Whether a page is whole; checked until it succeeds once.
    fn is_known(&self, bit: usize, is_whole: impl FnOnce() -> bool) -> bool {
        let (Some(bits), bit) = (self.0.get(bit / 64), 1 << (bit % 64)) else {
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

impl<'a> Shard<'a> {
    /// Opens the shard of this number of a segment; `None` if its bytes are too few or the
    /// checksums are damaged.
    pub(super) fn open(
        (number, row): (usize, ShardRow),
        verified: &'a VerifiedPages,
        segment: &'a [u8],
    ) -> Option<Self> {
        let bytes = segment.get(usize::try_from(row.at).ok()?..)?;
        let (body, sums) = bytes.get(..row.bytes())?.split_at_checked(row.body())?;
        // A shard has at most one page more than whole ones, and a bit for its checksums.
        let bit = row.at as usize / PAGE + 2 * number;
        let are_sums_whole = || checksum(sums) == row.checksum;
        let is_whole = verified.is_known(bit + row.pages(), are_sums_whole);
        let pages = ShardPages {
            body,
            sums,
            verified,
            bit,
        };
        is_whole.then_some(Self { row, pages })
    }

    /// Returns the words from the first that is not less than `start`; `None` if it is damaged.
    pub(super) fn words_from(&self, start: &[u8]) -> Option<ShardWords<'a>> {
        let (mut low, mut high) = (0, self.row.groups());
        while low < high {
            let middle = (low + high) / 2;
            match self.first_word(middle)? < start {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let mut words = ShardWords {
            shard: *self,
            group: low.saturating_sub(1),
            left: GroupWords::none(self.pages),
        };
        loop {
            let before = words;
            if words.next()?.is_none_or(|(word, _)| word >= start) {
                return Some(before);
            }
        }
    }

    /// Calls `take` with each word that contains the text and with its list.
    pub(super) fn each_with(
        &self,
        finder: &memmem::Finder<'_>,
        take: &mut dyn FnMut(&'a [u8], WordList<'a>),
    ) -> Option<()> {
        let words = self.pages.get(self.words_at(0..self.row.text as usize))?;
        // The group of the last word, what follows that word in it, and where that begins.
        let mut group = 0;
        let mut others = GroupWords::none(self.pages);
        let mut at = 0;
        let mut from = 0;
        while let Some(found) = finder.find(&words[from..]) {
            let found = from + found;
            let start =
                memrchr(b'\n', &words[from..found]).map_or(from, |before| from + before + 1);
            if others.words.is_empty() || self.ends(group)?.0 <= start {
                group = self.group_at(start, group)?;
                others = self.group(group)?;
                at = self.starts(group)?.0;
            }
            while !others.words.is_empty() {
                let (word, list) = others.next()?;
                let is_found = at == start;
                at += word.len() + 1;
                if is_found {
                    take(word, list);
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

    /// Returns where the group's words and lists end.
    fn ends(&self, group: usize) -> Option<(usize, usize)> {
        let at = GROUP_ENTRY * group;
        let mut entry = ByteReader(self.pages.get(at..at + GROUP_ENTRY)?);
        Some((entry.u32()? as usize, entry.u32()? as usize))
    }

    fn starts(&self, group: usize) -> Option<(usize, usize)> {
        group
            .checked_sub(1)
            .map_or(Some((0, 0)), |before| self.ends(before))
    }

    fn first_word(&self, group: usize) -> Option<&'a [u8]> {
        let words = self.words_at(self.starts(group)?.0..self.ends(group)?.0);
        let words = self.pages.get(words)?;
        words.get(..memchr(b'\n', words)?)
    }

    /// Returns a group.
    fn group(&self, group: usize) -> Option<GroupWords<'a>> {
        let (start, end) = (self.starts(group)?, self.ends(group)?);
        let lists = self.words_at(0..0).start + self.row.text as usize;
        Some(GroupWords {
            pages: self.pages,
            words: self.pages.get(self.words_at(start.0..end.0))?,
            lists: (lists + start.1, lists + end.1),
        })
    }

    /// Returns the range in the shard of a range of the words.
    fn words_at(&self, range: Range<usize>) -> Range<usize> {
        let at = GROUP_ENTRY * self.row.groups();
        at + range.start..at + range.end
    }
}

impl<'a> ShardPages<'a> {
    /// Returns a range; `None` if a page of it is damaged.
    #[inline]
    pub(super) fn get(&self, range: Range<usize>) -> Option<&'a [u8]> {
        let bytes = self.body.get(range.clone())?;
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let is_whole = || {
                let whole = &self.body[page * PAGE..self.body.len().min((page + 1) * PAGE)];
                let sum = self.sums.get(8 * page..);
                sum.and_then(|sum| ByteReader(sum).u64()) == Some(checksum(whole))
            };
            if !self.verified.is_known(self.bit + page, is_whole) {
                return None;
            }
        }
        Some(bytes)
    }
}

impl<'a> ShardWords<'a> {
    /// Takes the next word and its list; `None` if the shard is damaged.
    pub(super) fn next(&mut self) -> Option<Option<(&'a [u8], WordList<'a>)>> {
        if self.left.words.is_empty() {
            if self.group >= self.shard.row.groups() {
                return Some(None);
            }
            self.left = self.shard.group(self.group)?;
            self.group += 1;
        }
        self.left.next().map(Some)
    }
}

impl<'a> GroupWords<'a> {
    fn none(pages: ShardPages<'a>) -> Self {
        Self {
            pages,
            words: &[],
            lists: (0, 0),
        }
    }

    /// Takes the next word and its list, of which only the length is read; `None` if one of them is
    /// damaged.
    fn next(&mut self) -> Option<(&'a [u8], WordList<'a>)> {
        let length = memchr(b'\n', self.words)?;
        let (word, rest) = self.words.split_at(length);
        self.words = &rest[1..];
        let (at, end) = self.lists;
        let start = self.pages.get(at..end.min(at + LONGEST_VARINT))?;
        let mut reader = ByteReader(start);
        let length = usize::try_from(reader.varint()?).ok()?;
        let from = at + start.len() - reader.0.len();
        let to = from.checked_add(length).filter(|to| *to <= end)?;
        self.lists.0 = to;
        Some((word, WordList::new(self.pages, from..to)))
    }
}

/// A shard under construction.
#[derive(Debug, Default)]
pub(super) struct ShardWriter {
    words: u32,
    groups: ByteWriter,
    text: Vec<u8>,
    lists: ByteWriter,
}

impl ShardWriter {
    pub(super) fn is_empty(&self) -> bool {
        self.words == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() + self.lists.0.len() >= FULL
    }

    /// Returns the first word.
    pub(super) fn first(&self) -> &[u8] {
        let length = memchr(b'\n', &self.text).unwrap_or_default();
        &self.text[..length]
    }

    /// Adds a word and its list; words come in order.
    pub(super) fn push(&mut self, word: &[u8], list: &[u8]) {
        if self.words > 0 && (self.words as usize).is_multiple_of(GROUP) {
            self.end_group();
        }
        self.words += 1;
        self.text.extend_from_slice(word);
        self.text.push(b'\n');
        self.lists.varint(list.len() as u64);
        self.lists.0.extend_from_slice(list);
    }

    fn end_group(&mut self) {
        self.groups.u32(self.text.len() as u32);
        self.groups.u32(self.lists.0.len() as u32);
    }

    /// Appends the shard in its stored form and returns its row, for the offset `at`; `self` is
    /// empty afterwards.
    pub(super) fn finish(&mut self, at: u64, out: &mut ByteWriter) -> ShardRow {
        self.end_group();
        let from = out.0.len();
        for section in [&self.groups.0, &self.text, &self.lists.0] {
            out.0.extend_from_slice(section);
        }
        let sums: Vec<u64> = out.0[from..].chunks(PAGE).map(checksum).collect();
        let sums_at = out.0.len();
        sums.iter().for_each(|sum| out.u64(*sum));
        let row = ShardRow {
            at,
            words: self.words,
            text: self.text.len() as u32,
            lists: self.lists.0.len() as u32,
            checksum: checksum(&out.0[sums_at..]),
        };
        self.words = 0;
        self.groups.0.clear();
        self.text.clear();
        self.lists.0.clear();
        row
    }
}
