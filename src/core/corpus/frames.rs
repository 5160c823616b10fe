//! Compressed text: frames of equal size, so that a part of it can be read without the rest.
//!
//! The sizes of the compressed frames come first, then the frames.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zstd::bulk::{Compressor, Decompressor};

use super::bytes::{ByteReader, ByteWriter};

/// The size of an entry of the table of sizes, in bytes.
const ENTRY: usize = 4;

/// Compresses text.
pub(super) struct FrameWriter {
    level: i32,
    compressor: Option<Compressor<'static>>,
}

/// Compressed text.
#[derive(Clone, Copy)]
pub(super) struct Frames<'a> {
    /// The size of a frame, before compression.
    size: usize,
    /// The length of the text.
    length: usize,
    stored: &'a dyn Stored,
}

/// The bytes of compressed text.
pub(super) trait Stored {
    /// Returns a range; `None` if it is out of bounds or cannot be read.
    fn get(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>>;
}

impl Stored for &[u8] {
    fn get(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        <[u8]>::get(self, range).map(Cow::Borrowed)
    }
}

/// Decompressors that are used again, since each takes memory that must be set up.
#[derive(Default)]
pub(super) struct Decompressors(Mutex<Vec<Decompressor<'static>>>);

impl FrameWriter {
    /// Compresses at this level: a higher one takes longer and saves more.
    pub(super) fn new(level: i32) -> Self {
        Self {
            level,
            compressor: None,
        }
    }

    /// Returns the text in frames of this size; `None` if that does not make it smaller.
    pub(super) fn compress(&mut self, text: &[u8], size: usize) -> Option<Vec<u8>> {
        if self.compressor.is_none() {
            self.compressor = Compressor::new(self.level).ok();
        }
        let compressor = self.compressor.as_mut()?;
        let count = text.len().div_ceil(size);
        let mut sizes = ByteWriter::default();
        let mut frames = vec![0; text.len()];
        let mut filled = ENTRY * count;
        for frame in text.chunks(size) {
            // Less room than it needs is an error, and then nothing is gained.
            let room = frames.get_mut(filled..)?;
            let written = compressor.compress_to_buffer(frame, room).ok()?;
            sizes.u32(u32::try_from(written).ok()?);
            filled += written;
        }
        frames.get_mut(..ENTRY * count)?.copy_from_slice(&sizes.0);
        frames.truncate(filled);
        (filled < text.len()).then_some(frames)
    }
}

impl<'a> Frames<'a> {
    pub(super) fn new(size: usize, length: usize, stored: &'a dyn Stored) -> Self {
        Self {
            size,
            length,
            stored,
        }
    }

    /// Returns the whole text; `None` if it is damaged.
    pub(super) fn read_all(&self, with: &Decompressors) -> Option<Vec<u8>> {
        self.read(0..self.length.div_ceil(self.size), with)
    }

    /// Returns the frames that hold this range of the text.
    pub(super) fn holding(&self, range: &Range<usize>) -> Range<usize> {
        range.start / self.size..range.end.div_ceil(self.size)
    }

    /// Returns where a frame begins in the text.
    pub(super) fn start(&self, frame: usize) -> usize {
        frame * self.size
    }

    /// Returns the text of these frames; `None` if it is damaged.
    pub(super) fn read(&self, frames: Range<usize>, with: &Decompressors) -> Option<Vec<u8>> {
        let count = self.length.div_ceil(self.size);
        let head = self.stored.get(0..ENTRY * count)?;
        let sizes_of = |frames: Range<usize>| {
            let sizes = head.get(ENTRY * frames.start..ENTRY * frames.end);
            sizes.map(ByteReader)
        };
        let stored_bytes = |frames: Range<usize>| {
            let mut sizes = sizes_of(frames.clone())?;
            frames
                .into_iter()
                .try_fold(0usize, |sum, _| sum.checked_add(sizes.u32()? as usize))
        };
        let from = (ENTRY * count).checked_add(stored_bytes(0..frames.start)?)?;
        let to = from.checked_add(stored_bytes(frames.clone())?)?;
        let stored = self.stored.get(from..to)?;
        let end = self.length.min(frames.end.checked_mul(self.size)?);
        let mut text = vec![0; end.checked_sub(frames.start * self.size)?];
        let mut decompressor = with.take()?;
        let mut sizes = sizes_of(frames)?;
        let mut left = ByteReader(&stored);
        for room in text.chunks_mut(self.size) {
            let frame = left.bytes(sizes.u32()? as usize)?;
            let written = decompressor.decompress_to_buffer(frame, room).ok()?;
            if written != room.len() {
                return None;
            }
        }
        with.put_back(decompressor);
        Some(text)
    }
}

impl Decompressors {
    fn take(&self) -> Option<Decompressor<'static>> {
        let known = self.lock().pop();
        known.or_else(|| Decompressor::new().ok())
    }

    fn put_back(&self, decompressor: Decompressor<'static>) {
        self.lock().push(decompressor);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Decompressor<'static>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Decompressors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Decompressors")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: usize = 1000;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut writer = FrameWriter::new(1);
        writer.compress(text, SIZE).expect("it repeats itself")
    }

    #[test]
    fn text_that_does_not_become_smaller_is_not_compressed() {
        let mut writer = FrameWriter::new(1);
        for text in ["", "a", "short words"] {
            assert_eq!(writer.compress(text.as_bytes(), SIZE), None);
        }
    }

    proptest! {
        #[test]
        fn every_range_is_read_from_the_frames_that_hold_it(
            word in "[a-z]{1,9}",
            count in 200usize..900,
            ends in any::<[prop::sample::Index; 2]>(),
        ) {
            let text = word.repeat(count).into_bytes();
            let stored = compressed(&text);
            let stored = stored.as_slice();
            let frames = Frames::new(SIZE, text.len(), &stored);
            let with = Decompressors::default();
            prop_assert_eq!(frames.read_all(&with), Some(text.clone()));
            let mut ends = ends.map(|end| end.index(text.len() + 1));
            ends.sort_unstable();
            let range = ends[0]..ends[1];
            let held = frames.holding(&range);
            let start = frames.start(held.start);
            let read = frames.read(held, &with).expect("it is whole");
            prop_assert_eq!(read.get(range.start - start..range.end - start), text.get(range));
        }

        #[test]
        fn damaged_frames_give_other_bytes_or_none(
            at in any::<prop::sample::Index>(),
            bit in 0..8,
            cut in any::<prop::sample::Index>(),
        ) {
            let text: String = (0..400).map(|n| format!("word {} ", n % 7)).collect();
            let mut stored = compressed(text.as_bytes());
            let at = at.index(stored.len());
            stored[at] ^= 1u8 << bit;
            let with = Decompressors::default();
            for stored in [&stored[..], &stored[..cut.index(stored.len())]] {
                let read = Frames::new(SIZE, text.len(), &stored).read_all(&with);
                prop_assert!(read.is_none_or(|read| read.len() == text.len()));
            }
        }
    }
}
