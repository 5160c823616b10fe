//! Every version of every file that a change touched, found by its revision.
//!
//! All of them are in `versions.bin`. The first look at a store keeps thousands of versions; with
//! a file for each, flushing them takes a hundred times as long. An entry is a header and the
//! compressed version:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `TOMV` |
//! | 32 | the revision, which is the hash of the version |
//! | 4 | the length of the version |
//! | 4 | the length of the compressed version |
//! | 4 | a checksum of the 44 bytes before it |
//!
//! Numbers are little-endian. Entries are only added, until pruning replaces the file. Reading
//! needs no lock: an entry that is not complete yet is ignored, and cut off when the next one is
//! added. After a header that cannot be read, reading continues at the next sound one, so damage
//! costs only the versions that it hit; the damaged bytes stay.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use memchr::memmem;
use zstd::bulk::Compressor;

use super::History;
use super::position::FilePosition;
use crate::core::disk::foreign::open_regular;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// How much of the file is read at once while headers are looked for behind damage.
const WINDOW: usize = 1 << 16;

/// How much is read at once while headers are read: most versions are so short that reading them
/// costs less than to go from one header to the next.
const NEAR_HEADER: usize = 1 << 14;

/// How many bytes may be damaged at a stretch. With more, the file is not one of versions.
const MOST_DAMAGE: u64 = 1 << 28;

/// The largest version that a header may announce; a memory is much smaller.
const LARGEST: u32 = 1 << 30;

/// The compression level.
const LEVEL: i32 = 9;

/// The start of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    revision: Revision,
    /// The length of the version.
    size: u32,
    /// The length of the compressed version.
    stored: u32,
}

impl Header {
    const MARK: &[u8; 4] = b"TOMV";

    /// The length of a header in bytes.
    const LENGTH: usize = 48;

    fn encode(&self) -> Vec<u8> {
        let mut out = Self::MARK.to_vec();
        out.extend(self.revision.as_bytes());
        out.extend(self.size.to_le_bytes());
        out.extend(self.stored.to_le_bytes());
        out.extend(checksum(&out));
        out
    }

    /// The header at the start of `bytes`; `None` if there is no sound one.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (checked, rest) = bytes.split_at_checked(Self::LENGTH - 4)?;
        if !rest.starts_with(&checksum(checked)) {
            return None;
        }
        let (revision, lengths) = checked.strip_prefix(Self::MARK)?.split_first_chunk()?;
        let (size, stored) = lengths.split_first_chunk()?;
        let header = Self {
            revision: Revision::from_bytes(*revision),
            size: u32::from_le_bytes(*size),
            stored: u32::from_le_bytes(stored.try_into().ok()?),
        };
        (header.size <= LARGEST).then_some(header)
    }
}

/// A short checksum of a header; the revision is that of the version.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = *blake3::hash(bytes).as_bytes();
    [a, b, c, d]
}

/// An entry of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredVersion {
    header: Header,
    /// Where the entry starts.
    at: u64,
}

impl StoredVersion {
    pub(super) fn revision(&self) -> Revision {
        self.header.revision
    }

    /// The length of the entry in bytes.
    pub(super) fn length(&self) -> u64 {
        Header::LENGTH as u64 + u64::from(self.header.stored)
    }

    /// The version; `None` if it is damaged, or its header is, by which others find it.
    fn read(&self, file: &File) -> Option<Vec<u8>> {
        let entry = read_at(file, self.at, self.length()).ok()?;
        let (header, stored) = entry.split_at(Header::LENGTH);
        if Header::decode(header) != Some(self.header) {
            return None;
        }
        let size = usize::try_from(self.header.size).ok()?;
        let bytes = zstd::bulk::decompress(stored, size).ok()?;
        (Revision::of(&bytes) == self.header.revision).then_some(bytes)
    }
}

/// Where the versions are, as far as the file was read.
#[derive(Debug, Default)]
pub(super) struct VersionTable {
    /// The last entry of each version.
    entries: HashMap<Revision, StoredVersion>,
    /// The other entries: a version that was found damaged has been stored again.
    earlier: Vec<StoredVersion>,
    /// Where the next entry is added.
    end: FilePosition,
    /// The offset up to which this process has flushed the file.
    flushed: u64,
}

impl VersionTable {
    /// Reads the headers that this or another process has added since.
    fn refresh(&mut self, file: &File) -> io::Result<()> {
        if !self.end.is_in(file)? {
            *self = Self::default();
        }
        match self.read_headers(file) {
            // Another process has cut off an incomplete entry meanwhile.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            read => read,
        }
    }

    fn read_headers(&mut self, file: &File) -> io::Result<()> {
        let length = file.metadata()?.len();
        let mut at = self.end.offset;
        let mut reader = BufReader::with_capacity(NEAR_HEADER, file);
        reader.seek(SeekFrom::Start(at))?;
        while at + Header::LENGTH as u64 <= length {
            let mut bytes = [0; Header::LENGTH];
            reader.read_exact(&mut bytes)?;
            if let Some(header) = Header::decode(&bytes) {
                let entry = StoredVersion { header, at };
                if at + entry.length() > length {
                    // Its writer died while writing it, or is still writing.
                    break;
                }
                let before = self.entries.insert(header.revision, entry);
                self.earlier.extend(before.filter(|before| before.at != at));
                at += entry.length();
                reader.seek_relative(i64::from(header.stored))?;
            } else {
                // What cannot be read stays: the next entry is added behind it.
                at = next_header(file, at + 1, length)?.unwrap_or(length);
                reader.seek(SeekFrom::Start(at))?;
            }
        }
        self.end = FilePosition::at(file, at)?;
        Ok(())
    }

    /// Returns a version; `None` if all its entries are damaged, or there is none.
    fn read(&self, file: &File, revision: &Revision) -> Option<Vec<u8>> {
        let earlier = self.earlier.iter().rev();
        let earlier = earlier.filter(|entry| entry.revision() == *revision);
        let mut entries = self.entries.get(revision).into_iter().chain(earlier);
        entries.find_map(|entry| entry.read(file))
    }

    /// Adds encoded entries and flushes them, and what other processes added, because these may
    /// have died before flushing it. An incomplete entry at the end, left by a process that died,
    /// is cut off. The caller holds the lock and has called [`Self::refresh`].
    fn append(&mut self, mut file: &File, entries: &[u8]) -> io::Result<()> {
        let end = self.end.offset;
        if entries.is_empty() && self.flushed == end {
            return Ok(());
        }
        let mut write = || {
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            file.write_all(entries)?;
            file.sync_all()
        };
        if let Err(error) = write() {
            // Remove the incomplete entry; the error to report is `error`.
            drop(file.set_len(end));
            return Err(error);
        }
        self.refresh(file)?;
        self.flushed = self.end.offset;
        Ok(())
    }
}

impl History {
    /// Stores a version of a file and flushes it.
    pub(in crate::core) fn keep(&self, bytes: &[u8]) -> Result<Revision> {
        self.keep_all(&[bytes])?;
        Ok(Revision::of(bytes))
    }

    /// Stores versions of files and flushes them together.
    ///
    /// A version that is already stored is read back. If that does not return the same bytes, it is
    /// stored again, which repairs it.
    pub(in crate::core) fn keep_all(&self, versions: &[&[u8]]) -> Result<()> {
        self.check_schema()?;
        if versions.is_empty() {
            return Ok(());
        }
        let _lock = self.lock_own("versions")?;
        let path = self.versions_path();
        self.open_versions()?;
        let mut table = self.version_table();
        let mut keep = || {
            let file = private::open_write(&path)?;
            let is_new = file.metadata()?.len() == 0;
            table.refresh(&file)?;
            let (mut new, mut seen) = (Vec::new(), HashSet::new());
            let mut compressor = Compressor::new(LEVEL)?;
            for bytes in versions {
                let revision = Revision::of(bytes);
                if seen.insert(revision) && table.read(&file, &revision).is_none() {
                    new.extend(encode(revision, bytes, &mut compressor)?);
                }
            }
            table.append(&file, &new)?;
            if is_new {
                private::flush_dir(&self.dir)?;
            }
            Ok(())
        };
        keep().map_err(|e| Error::io(&path, e))
    }

    /// A version of a file, checked against its hash.
    pub fn version(&self, revision: &Revision) -> Result<Vec<u8>> {
        let path = self.versions_path();
        let mut table = self.version_table();
        if let Some(file) = self.open_versions()? {
            for is_retry in [false, true] {
                table.refresh(&file).map_err(|e| Error::io(&path, e))?;
                if let Some(bytes) = table.read(&file, revision) {
                    return Ok(bytes);
                }
                if is_retry || !table.entries.contains_key(revision) {
                    break;
                }
                // The file may be another one that ends alike: its headers are read anew.
                *table = VersionTable::default();
            }
        }
        let is_stored = table.entries.contains_key(revision);
        Err(Error::Damaged {
            path,
            revision: *revision,
            state: if is_stored {
                "is damaged"
            } else {
                "is missing"
            },
        })
    }

    /// Every stored version, oldest first.
    pub(super) fn stored_versions(&self) -> Result<Vec<StoredVersion>> {
        let Some(file) = self.open_versions()? else {
            return Ok(Vec::new());
        };
        let mut table = self.version_table();
        let refreshed = table.refresh(&file);
        refreshed.map_err(|e| Error::io(self.versions_path(), e))?;
        let stored = table.entries.values().chain(&table.earlier);
        let mut stored: Vec<StoredVersion> = stored.copied().collect();
        stored.sort_by_key(|entry| entry.at);
        Ok(stored)
    }

    /// Replaces the file by one with only these of the stored versions. Damaged ones are copied
    /// unchanged, so that they are still reported. The caller holds the lock.
    ///
    /// `before` runs when the new file is complete and the old one still there: what refers to the
    /// other versions must not be lost if the new file cannot be written.
    pub(super) fn replace_versions(
        &self,
        kept: &[StoredVersion],
        before: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(old) = self.open_versions()? else {
            return before();
        };
        let path = self.versions_path();
        let mut failed = Ok(());
        let replaced = private::replace(&path, |new| {
            for entry in kept {
                new.write_all(&read_at(&old, entry.at, entry.length())?)?;
            }
            new.sync_all()?;
            failed = before();
            match failed {
                Ok(()) => Ok(()),
                Err(_) => Err(io::ErrorKind::Other.into()),
            }
        });
        failed.and(replaced.map_err(|e| Error::io(&path, e)))
    }

    /// The file for reading; `None` if there is none yet.
    fn open_versions(&self) -> Result<Option<File>> {
        match open_regular(&self.versions_path()) {
            Ok(file) => Ok(Some(file)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn versions_path(&self) -> PathBuf {
        self.dir.join("versions.bin")
    }

    fn version_table(&self) -> MutexGuard<'_, VersionTable> {
        // The table is only a cache of the file, so a poisoned lock is safe to use.
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of a version.
fn encode(
    revision: Revision,
    bytes: &[u8],
    compressor: &mut Compressor<'_>,
) -> io::Result<Vec<u8>> {
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let stored = compressor.compress(bytes)?;
    let header = Header {
        revision,
        size: u32::try_from(bytes.len()).map_err(too_large)?,
        stored: u32::try_from(stored.len()).map_err(too_large)?,
    };
    Ok([header.encode(), stored].concat())
}

/// Where the next sound header starts in a file of this length.
fn next_header(file: &File, from: u64, length: u64) -> io::Result<Option<u64>> {
    let mut at = from;
    while at + Header::LENGTH as u64 <= length {
        if at - from > MOST_DAMAGE {
            let error = "it is damaged beyond use: move it away, which gives up all undo";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        let bytes = read_at(file, at, (length - at).min(WINDOW as u64))?;
        let mut marks = memmem::find_iter(&bytes, Header::MARK);
        if let Some(found) = marks.find(|mark| Header::decode(&bytes[*mark..]).is_some()) {
            return Ok(Some(at + found as u64));
        }
        // A header may start at the end of these bytes.
        at += (bytes.len() - Header::LENGTH + 1) as u64;
    }
    Ok(None)
}

/// Reads `count` bytes of a file from `at` on.
fn read_at(mut file: &File, at: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(count).map_err(io::Error::other)?];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
