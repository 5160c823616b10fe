//! Lists of places: which places of a segment contain a word, how often.
//!
//! A list has an entry for each span that contains the word. An entry is the distance of its span
//! from that of the entry before, whether it is the last one, its length unless it is, and its
//! places: the distances between them and, for messages, how often the word occurs, or, if that
//! is shorter, a bit for each place of a span of results.

use std::ops::Range;

use super::super::bytes::{ByteReader, ByteWriter, LONGEST_VARINT};
use super::shard::ShardPages;

/// The flags of an entry, below the distance of its span.
const HAS_BITS: u64 = 1;
const IS_LAST: u64 = 2;
const FLAGS: u32 = 2;

/// The list of a word, as it is stored. It is verified as far as it is read, so that threads which
/// read different spans verify different parts of it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct WordList<'a> {
    pages: ShardPages<'a>,
    /// Where the entries that are left are in the pages.
    at: usize,
    end: usize,
    /// One more than the span of the entry before.
    next: u32,
}

/// The entry of a span.
struct ListEntry {
    span: u32,
    has_bits: bool,
    /// Where its places are in the pages.
    places: Range<usize>,
}

/// The places of a word in one span, as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct PlaceList<'a> {
    bytes: &'a [u8],
    /// Whether it has one bit for each place; else the distances between places.
    has_bits: bool,
}

impl<'a> WordList<'a> {
    pub(super) fn new(pages: ShardPages<'a>, range: Range<usize>) -> Self {
        Self {
            pages,
            at: range.start,
            end: range.end,
            next: 0,
        }
    }

    /// Returns its size, in bytes.
    pub(in super::super) fn bytes(&self) -> usize {
        self.end - self.at
    }

    /// Takes the next entry, with its span; `None` if the list is damaged.
    pub(in super::super) fn next(&mut self) -> Option<Option<(u32, PlaceList<'a>)>> {
        let Some(entry) = self.next_entry()? else {
            return Some(None);
        };
        Some(Some((entry.span, self.places(&entry)?)))
    }

    /// Takes the entry of a span, and skips those before it; `None` if the list is damaged.
    pub(in super::super) fn of_span(&mut self, span: u32) -> Option<Option<PlaceList<'a>>> {
        loop {
            let before = *self;
            match self.next_entry()? {
                Some(entry) if entry.span == span => return self.places(&entry).map(Some),
                Some(entry) if entry.span < span => {}
                _ => {
                    *self = before;
                    return Some(None);
                }
            }
        }
    }

    /// Takes the next entry, without reading its places.
    fn next_entry(&mut self) -> Option<Option<ListEntry>> {
        if self.at == self.end {
            return Some(None);
        }
        let head = self.at..self.end.min(self.at + 2 * LONGEST_VARINT);
        let head = self.pages.get(head)?;
        let mut reader = ByteReader(head);
        let code = reader.varint()?;
        let span = u32::try_from(code >> FLAGS).ok()?.checked_add(self.next)?;
        let length = match code & IS_LAST {
            0 => Some(usize::try_from(reader.varint()?).ok()?),
            _ => None,
        };
        let from = self.at + head.len() - reader.0.len();
        let to = match length {
            Some(length) => from.checked_add(length).filter(|to| *to <= self.end)?,
            None => self.end,
        };
        self.at = to;
        self.next = span.checked_add(1)?;
        Some(Some(ListEntry {
            span,
            has_bits: code & HAS_BITS != 0,
            places: from..to,
        }))
    }

    fn places(&self, entry: &ListEntry) -> Option<PlaceList<'a>> {
        Some(PlaceList {
            bytes: self.pages.get(entry.places.clone())?,
            has_bits: entry.has_bits,
        })
    }
}

impl PlaceList<'_> {
    /// Calls `take` with each place, in order, and how often it has the word; `None` if the list
    /// is damaged.
    pub(in super::super) fn each(
        self,
        has_messages: bool,
        mut take: impl FnMut(u32, u32),
    ) -> Option<()> {
        if self.has_bits {
            for (byte, bits) in self.bytes.iter().enumerate() {
                for bit in (0..8).filter(|bit| bits >> bit & 1 == 1) {
                    take(8 * byte as u32 + bit, 1);
                }
            }
            return Some(());
        }
        let mut list = ByteReader(self.bytes);
        let mut place = 0u32;
        while !list.0.is_empty() {
            if has_messages && let Some(short) = ShortPlace::read(list.0) {
                place = place.checked_add(short.distance)?;
                take(place, short.times);
                list.0 = &list.0[short.length..];
                continue;
            }
            let code = list.varint()?;
            if !has_messages {
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
}

/// A place of a message and how often it has the word, in one or two bytes, as most are.
struct ShortPlace {
    distance: u32,
    times: u32,
    length: usize,
}

impl ShortPlace {
    /// Reads the first one of some bytes, if it is short. Which of the two lengths it has cannot be
    /// predicted, so that is no branch.
    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        let [first, second, ..] = bytes else {
            return None;
        };
        let is_repeated = first & 1;
        let times = second & 0u8.wrapping_sub(is_repeated);
        ((first | times) < 0x80).then_some(Self {
            distance: u32::from(first >> 1),
            times: u32::from(times | (is_repeated ^ 1)),
            length: 1 + usize::from(is_repeated),
        })
    }
}

/// Writes the list of a word.
#[derive(Debug)]
pub(super) struct ListWriter {
    pub(super) has_messages: bool,
    /// The entries that are complete.
    entries: ByteWriter,
    /// One more than the span of the last of these.
    next: u32,
    /// The entry that is not written yet: its span, the number of places of that, and whether its
    /// places are bits.
    open: Option<(u32, u32, bool)>,
    places: ByteWriter,
    /// The last place of that entry.
    last: u32,
}

impl ListWriter {
    pub(super) fn new(has_messages: bool) -> Self {
        Self {
            has_messages,
            entries: ByteWriter::default(),
            next: 0,
            open: None,
            places: ByteWriter::default(),
            last: 0,
        }
    }

    /// Adds a place of a span with this many places; spans and places come in order.
    pub(super) fn push(&mut self, (span, places): (u32, u32), place: u32, times: u32) {
        if self.open.is_none_or(|(open, ..)| open != span) {
            self.begin((span, places));
        }
        let distance = u64::from(place - self.last);
        self.last = place;
        if !self.has_messages {
            self.places.varint(distance);
            return;
        }
        let is_repeated = times > 1;
        self.places.varint(distance << 1 | u64::from(is_repeated));
        if is_repeated {
            self.places.varint(u64::from(times));
        }
    }

    /// Adds all places of a span, as they are stored.
    pub(super) fn copy(&mut self, (span, places): (u32, u32), list: PlaceList<'_>) {
        self.begin((span, places));
        self.places.0.extend_from_slice(list.bytes);
        self.open = Some((span, places, list.has_bits));
    }

    fn begin(&mut self, (span, places): (u32, u32)) {
        self.close(0);
        self.open = Some((span, places, false));
        self.last = 0;
    }

    /// Completes the open entry.
    fn close(&mut self, is_last: u64) {
        let Some((span, places, mut has_bits)) = self.open.take() else {
            return;
        };
        let bits = (places as usize).div_ceil(8);
        if !self.has_messages && !has_bits && self.places.0.len() > bits {
            has_bits = true;
            let distances = std::mem::take(&mut self.places.0);
            let list = PlaceList {
                bytes: &distances,
                has_bits: false,
            };
            self.places.0.resize(bits, 0);
            // It was written here, so it is not damaged.
            let _ = list.each(false, |place, _| {
                self.places.0[place as usize / 8] |= 1 << (place % 8);
            });
        }
        let flags = is_last | if has_bits { HAS_BITS } else { 0 };
        self.entries
            .varint(u64::from(span - self.next) << FLAGS | flags);
        if is_last == 0 {
            self.entries.varint(self.places.0.len() as u64);
        }
        self.entries.0.extend_from_slice(&self.places.0);
        self.places.0.clear();
        self.next = span + 1;
    }

    /// Returns the list in its stored form; it is removed by [`ListWriter::clear`].
    pub(super) fn finish(&mut self) -> &[u8] {
        self.close(IS_LAST);
        &self.entries.0
    }

    pub(super) fn clear(&mut self) {
        self.entries.0.clear();
        self.places.0.clear();
        self.open = None;
        self.next = 0;
        self.last = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_read_as_they_were_written(
            // Numbers around those at which a byte more is needed.
            steps in prop::collection::vec((1u32..150, prop_oneof![Just(1u32), 2u32..200]), 1..40),
        ) {
            let mut list = ListWriter::new(true);
            let places = steps.iter().scan(0, |place, (step, times)| {
                *place += step;
                Some((*place, *times))
            });
            let places: Vec<(u32, u32)> = places.collect();
            for (place, times) in &places {
                list.push((0, 6000), *place, *times);
            }
            let stored = PlaceList {
                bytes: &list.places.0,
                has_bits: false,
            };
            let mut read = Vec::new();
            prop_assert_eq!(stored.each(true, |place, times| read.push((place, times))), Some(()));
            prop_assert_eq!(&read, &places);
            // A list that is cut ends where it is cut, and a number that is cut is no number.
            let cut = &list.places.0[..list.places.0.len() - 1];
            let cut = PlaceList { bytes: cut, has_bits: false };
            let mut count = 0;
            let is_sound = cut.each(true, |_, _| count += 1).is_some();
            prop_assert_eq!(count, places.len() - 1);
            let (step, times) = steps[steps.len() - 1];
            prop_assert_eq!(is_sound, times == 1 && step < 64);
        }
    }
}
