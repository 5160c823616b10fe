//! Lists of places: which places of a segment contain a word, how often.
//!
//! A list has an entry for each span that contains the word. An entry is the distance of its span
//! from that of the entry before, whether it is the last one, its length unless it is, and its
//! places: the distances between them and, for messages, how often the word occurs, or, if that
//! is shorter, a bit for each place of a span of results.

use super::super::bytes::{ByteReader, ByteWriter};

/// The flags of an entry, below the distance of its span.
const HAS_BITS: u64 = 1;
const IS_LAST: u64 = 2;
const FLAGS: u32 = 2;

/// The list of a word, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct WordList<'a> {
    bytes: &'a [u8],
    /// One more than the span of the entry before.
    next: u32,
}

/// The places of a word in one span, as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct PlaceList<'a> {
    bytes: &'a [u8],
    /// Whether it has one bit for each place; else the distances between places.
    has_bits: bool,
}

impl<'a> WordList<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0 }
    }

    /// Returns its size, in bytes.
    pub(in super::super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the next entry, with its span; `None` if the list is damaged.
    pub(in super::super) fn next(&mut self) -> Option<Option<(u32, PlaceList<'a>)>> {
        if self.bytes.is_empty() {
            return Some(None);
        }
        let mut reader = ByteReader(self.bytes);
        let code = reader.varint()?;
        let span = u32::try_from(code >> FLAGS).ok()?.checked_add(self.next)?;
        let length = match code & IS_LAST {
            0 => usize::try_from(reader.varint()?).ok()?,
            _ => reader.0.len(),
        };
        let bytes = reader.bytes(length)?;
        *self = Self {
            bytes: reader.0,
            next: span.checked_add(1)?,
        };
        let has_bits = code & HAS_BITS != 0;
        Some(Some((span, PlaceList { bytes, has_bits })))
    }

    /// Takes the entry of a span, and skips those before it; `None` if the list is damaged.
    pub(in super::super) fn of_span(&mut self, span: u32) -> Option<Option<PlaceList<'a>>> {
        loop {
            let before = *self;
            match self.next()? {
                Some((of, places)) if of == span => return Some(Some(places)),
                Some((of, _)) if of < span => {}
                _ => {
                    *self = before;
                    return Some(None);
                }
            }
        }
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
