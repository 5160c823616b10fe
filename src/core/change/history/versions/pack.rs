//! A pack: an append-only file of versions.
//!
//! It starts with [`MAGIC`]. Each entry is a header of [`HEADER`] bytes and the stored bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `TOMV` |
//! | 32 | the revision |
//! | 16 | the first bytes of the base's revision; zeros for a whole version |
//! | 4, 4 | the length of the stored bytes and of the version |
//! | 1, 1 | the number of anchors, and of steps after the last one, in the chain |
//! | 1, 1 | 1 for a difference and 0 for a whole version; 0 |
//! | 4 | a checksum of the 64 bytes before it |
//! | 4 | a checksum of the stored bytes |
//!
//! Numbers are little-endian. Reading needs no lock: an entry that is not complete yet is ignored.
//! After a header that cannot be read, reading continues at the next valid one.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use memchr::memmem;

use crate::core::disk::revision::Revision;
use crate::core::text::work;

/// The start of every pack, with the number of the format.
pub(in crate::core::change::history) const MAGIC: &[u8; 16] = b"tome versions 1\n";

/// The length of a header in bytes.
pub(super) const HEADER: usize = 72;

const MARK: &[u8; 4] = b"TOMV";

/// The largest version that a header may announce; a memory is much smaller.
const LARGEST: u32 = 1 << 30;

/// The start of a revision, by which a base is found.
pub(in crate::core::change::history) type Key = [u8; 16];

/// Returns the key of a revision.
pub(in crate::core::change::history) fn key(revision: &Revision) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(&revision.as_bytes()[..16]);
    key
}

/// The metadata of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core::change::history) struct Header {
    pub(in crate::core::change::history) revision: Revision,
    /// The version that this one is a difference from.
    pub(in crate::core::change::history) base: Option<Key>,
    /// The length of the stored bytes.
    pub(super) stored: u32,
    /// The length of the version.
    pub(super) size: u32,
    /// The number of anchors in the chain; an anchor is a difference from an anchor or a whole
    /// version.
    pub(super) anchors: u8,
    /// The number of differences after the last anchor.
    pub(super) steps: u8,
    /// The checksum of the stored bytes.
    pub(super) checksum: u32,
}

impl Header {
    pub(in crate::core::change::history) fn encode(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..4].copy_from_slice(MARK);
        out[4..36].copy_from_slice(self.revision.as_bytes());
        out[36..52].copy_from_slice(&self.base.unwrap_or_default());
        out[52..56].copy_from_slice(&self.stored.to_le_bytes());
        out[56..60].copy_from_slice(&self.size.to_le_bytes());
        out[60] = self.anchors;
        out[61] = self.steps;
        out[62] = u8::from(self.base.is_some());
        let own = checksum(&out[..64]);
        out[64..68].copy_from_slice(&own.to_le_bytes());
        out[68..].copy_from_slice(&self.checksum.to_le_bytes());
        out
    }

    /// Decodes a header; `None` if the bytes are not a valid one.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        if !bytes.starts_with(MARK) || number(64)? != checksum(bytes.get(..64)?) {
            return None;
        }
        let base: Key = bytes[36..52].try_into().ok()?;
        let header = Self {
            revision: Revision::from_bytes(bytes[4..36].try_into().ok()?),
            base: (bytes[62] == 1).then_some(base),
            stored: number(52)?,
            size: number(56)?,
            anchors: bytes[60],
            steps: bytes[61],
            checksum: number(68)?,
        };
        (bytes[62] <= 1 && header.size <= LARGEST).then_some(header)
    }

    /// The length of the entry in bytes.
    pub(in crate::core::change::history) fn length(&self) -> u64 {
        HEADER as u64 + u64::from(self.stored)
    }
}

/// A short checksum against accidental damage; the revision protects against the rest.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let hash = blake3::hash(bytes);
    let [a, b, c, d, ..] = hash.as_bytes();
    u32::from_le_bytes([*a, *b, *c, *d])
}

/// Scans a pack from `from` on and calls `show` with each complete entry and its offset. Returns
/// the end of the last one.
pub(super) fn scan(file: &File, from: u64, mut show: impl FnMut(Header, u64)) -> io::Result<u64> {
    let mut window = Window {
        file,
        length: file.metadata()?.len(),
        start: 0,
        bytes: Vec::new(),
    };
    let (mut at, mut end) = (from, from);
    while at + HEADER as u64 <= window.length {
        match Header::decode(window.bytes(at, HEADER)?) {
            Some(header) if at + header.length() <= window.length => {
                show(header, at);
                at += header.length();
                end = at;
            }
            // Its writer died while writing it, or is still writing.
            Some(_) => break,
            None => match window.next_mark(at + 1)? {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    Ok(end)
}

/// A part of a file: small entries are read many at a time, large ones are skipped.
struct Window<'a> {
    file: &'a File,
    length: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// How many bytes are read at once.
    const SIZE: u64 = 1 << 16;

    /// At least `count` bytes from `at` on, which must be within the file and not before those
    /// asked for last.
    fn bytes(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let skipped = usize::try_from(at - self.start).map_err(io::Error::other)?;
        if self.bytes.get(skipped..skipped + count).is_some() {
            return Ok(&self.bytes[skipped..]);
        }
        let wanted = (self.length - at).min(Self::SIZE.max(count as u64));
        work::count(wanted as usize);
        self.bytes = read_at(self.file, at, wanted)?;
        self.start = at;
        Ok(&self.bytes)
    }

    /// Where the next header might start.
    fn next_mark(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        while at + HEADER as u64 <= self.length {
            let bytes = self.bytes(at, HEADER)?;
            if let Some(found) = memmem::find(bytes, MARK) {
                return Ok(Some(at + found as u64));
            }
            // The mark may start at the end of these bytes.
            at += (bytes.len() - MARK.len()) as u64;
        }
        Ok(None)
    }
}

/// Reads `count` bytes of a file from `at` on.
pub(super) fn read_at(mut file: &File, at: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(count).map_err(io::Error::other)?];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn header(text: &[u8], base: Option<Key>) -> Header {
        Header {
            revision: Revision::of(text),
            base,
            stored: u32::try_from(text.len()).expect("short"),
            size: 9,
            anchors: 3,
            steps: 4,
            checksum: checksum(text),
        }
    }

    fn pack(entries: &[&[u8]]) -> (File, Vec<u64>) {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(MAGIC).expect("writes");
        let mut starts = Vec::new();
        for text in entries {
            starts.push(file.stream_position().expect("known"));
            file.write_all(&header(text, None).encode())
                .expect("writes");
            file.write_all(text).expect("writes");
        }
        starts.push(file.stream_position().expect("known"));
        (file, starts)
    }

    fn found(file: &File) -> (Vec<Revision>, u64) {
        let mut found = Vec::new();
        let end = scan(file, MAGIC.len() as u64, |header, _| {
            found.push(header.revision)
        });
        (found, end.expect("scans"))
    }

    #[test]
    fn a_header_reads_back() {
        for base in [None, Some([0; 16]), Some([7; 16])] {
            let header = header(b"abc", base);
            assert_eq!(Header::decode(&header.encode()), Some(header));
        }
    }

    #[test]
    fn an_entry_without_its_end_is_not_there() {
        let long = vec![b'x'; 200_000];
        let texts: [&[u8]; 3] = [b"one", &long, b"three"];
        let (file, starts) = pack(&texts);
        assert_eq!(found(&file), (texts.map(Revision::of).to_vec(), starts[3]));
        for cut in [starts[3] - 1, starts[2] + 5, starts[2] + HEADER as u64] {
            file.set_len(cut).expect("cuts");
            assert_eq!(found(&file).1, starts[2], "cut at {cut}");
        }
        file.set_len(starts[2] - 1).expect("cuts");
        assert_eq!(found(&file), (vec![Revision::of(b"one")], starts[1]));
    }

    #[test]
    fn an_entry_after_damage_is_found_wherever_it_starts() {
        for length in Window::SIZE - 200..Window::SIZE + 8 {
            let long = vec![b'x'; usize::try_from(length).expect("small")];
            let (mut file, starts) = pack(&[&long, b"next"]);
            file.seek(SeekFrom::Start(starts[0])).expect("seeks");
            file.write_all(b"????").expect("writes");
            let found = found(&file);
            assert_eq!(found, (vec![Revision::of(b"next")], starts[2]), "{length}");
        }
    }

    #[test]
    fn a_damaged_header_hides_its_own_entry_alone() {
        let long = vec![b'x'; 200_000];
        let texts: [&[u8]; 3] = [b"one", &long, b"three"];
        let (mut file, starts) = pack(&texts);
        for at in [0, 10, 54, 63, 65] {
            let place = SeekFrom::Start(starts[1] + at);
            let byte = read_at(&file, starts[1] + at, 1).expect("reads")[0];
            file.seek(place).expect("seeks");
            file.write_all(&[byte ^ 0x10]).expect("writes");
            let others = vec![Revision::of(b"one"), Revision::of(b"three")];
            assert_eq!(found(&file), (others, starts[3]), "byte {at}");
            file.seek(place).expect("seeks");
            file.write_all(&[byte]).expect("writes");
        }
    }
}
