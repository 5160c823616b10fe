//! Reads and writes numbers in the cache's files: little-endian, with bounds checks.

use crate::core::text::mix;

/// The most bytes of a number in groups of seven bits.
pub(super) const LONGEST_VARINT: usize = u64::BITS.div_ceil(7) as usize;

/// Writes values one after another.
#[derive(Debug, Default)]
pub(super) struct ByteWriter(pub(super) Vec<u8>);

/// Reads what [`ByteWriter`] wrote; returns `None` at the end of the bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl ByteWriter {
    pub(super) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a number in groups of seven bits, the lowest first.
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes an optional time, in milliseconds.
    pub(super) fn time(&mut self, value: Option<i64>) {
        self.u64(value.unwrap_or(i64::MIN) as u64);
    }
}

impl<'a> ByteReader<'a> {
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*taken))
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*taken))
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*taken))
    }

    /// Reads a number in groups of seven bits; `None` if it has more than 64 bits.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        let (byte, rest) = self.0.split_first()?;
        // Most numbers are small.
        match byte {
            0..0x80 => {
                self.0 = rest;
                Some(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn time(&mut self) -> Option<Option<i64>> {
        let value = self.u64()? as i64;
        Some((value != i64::MIN).then_some(value))
    }
}

/// Returns a fast checksum, which detects accidental damage only.
///
/// Uses two accumulators, so that a multiplication need not wait for the one before it.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let eight = |part: &[u8]| part.first_chunk().map_or(0, |x| u64::from_le_bytes(*x));
    let (mut a, mut b) = (0x8ebc_6af0_9c88_c6e3, bytes.len() as u64 | 1 << 63);
    let parts = bytes.chunks_exact(32);
    let rest = parts.remainder();
    for part in parts {
        a = mix(a ^ eight(part), eight(&part[8..]));
        b = mix(b ^ eight(&part[16..]), eight(&part[24..]));
    }
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    a = mix(a ^ eight(&last), eight(&last[8..]));
    b = mix(b ^ eight(&last[16..]), eight(&last[24..]));
    mix(a, b.rotate_left(32))
}

/// Returns `text` cut to at most `limit` bytes, at a character boundary.
pub(super) fn clip(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_checksum_sees_every_flipped_bit(
            mut bytes in proptest::collection::vec(any::<u8>(), 1..300),
            at in any::<prop::sample::Index>(),
            bit in 0..8,
        ) {
            let before = checksum(&bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            prop_assert_ne!(checksum(&bytes), before);
        }
    }

    #[test]
    fn a_checksum_sees_zeros_at_the_end() {
        assert_ne!(checksum(&[0; 31]), checksum(&[0; 32]));
        assert_ne!(checksum(&[]), checksum(&[0]));
    }

    #[test]
    fn a_clip_leaves_characters_whole() {
        assert_eq!(clip("aé", 2), "a");
        assert_eq!(clip("aé", 3), "aé");
        assert_eq!(clip("aé", 300), "aé");
    }
}
