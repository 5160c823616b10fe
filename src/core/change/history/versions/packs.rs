//! All packs of a history: finding, reading and adding versions.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::chain::{LONGEST, encode, place_after};
use super::delta;
use super::pack::{HEADER, Header, Key, MAGIC, checksum, key, read_at, scan};
use crate::core::disk::foreign::{LARGEST_LOG, open_capped};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::text::work;
use crate::core::{Error, Result};

/// The folder of the packs.
pub(super) const FOLDER: &str = "versions";

/// A cache of the packs' headers; updated by [`Packs::refresh`].
#[derive(Debug, Default)]
pub(in crate::core::change::history) struct Packs {
    files: Vec<PackFile>,
    entries: Vec<Entry>,
    /// The last entry of each revision.
    latest: HashMap<Key, usize>,
    /// Entries to be added.
    pending: Vec<Pending>,
    /// The version stored last, because the next one often resembles it.
    recent: Option<(Revision, Vec<u8>)>,
}

#[derive(Debug)]
struct PackFile {
    number: u32,
    path: PathBuf,
    file: File,
    /// The format in its first bytes; `None` while these are incomplete.
    format: Option<Format>,
    /// The end of the last entry.
    end: u64,
    /// The offset up to which this process has flushed it.
    flushed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Own,
    /// Written by a later version of tome.
    Newer,
    Damaged,
}

/// A version to be added.
#[derive(Debug)]
struct Pending {
    header: Header,
    stored: Vec<u8>,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::core::change::history) struct Entry {
    pub(in crate::core::change::history) header: Header,
    pack: usize,
    at: u64,
    /// An earlier entry of the same revision.
    previous: Option<usize>,
}

/// The result of looking up a version.
#[derive(Debug)]
pub(super) enum Lookup {
    Bytes(Vec<u8>),
    Absent,
    /// It cannot be read; the path is that of the pack with its last entry.
    Damaged(PathBuf),
}

impl Packs {
    /// Reads what this or another process has added to the packs in `dir`. Entries that a failed
    /// call left pending are dropped.
    pub(in crate::core::change::history) fn refresh(&mut self, dir: &Path) -> Result<()> {
        self.pending.clear();
        let folder = dir.join(FOLDER);
        let names = numbers(&folder).map_err(|e| Error::io(&folder, e))?;
        let known = self.files.iter().map(|pack| pack.number);
        let is_same = known.eq(names.iter().take(self.files.len()).copied());
        let is_shorter = |pack: &PackFile| {
            let found = fs::metadata(&pack.path);
            found.is_ok_and(|found| found.len() < pack.end)
        };
        if !is_same || self.files.iter().any(is_shorter) {
            self.forget();
        }
        for number in names.iter().skip(self.files.len()) {
            let path = pack_path(&folder, *number);
            let file = open_capped(&path, LARGEST_LOG)?;
            self.files.push(PackFile {
                number: *number,
                path,
                file,
                format: None,
                end: 0,
                flushed: 0,
            });
        }
        for pack in 0..self.files.len() {
            let read = self.read_on(pack);
            read.map_err(|e| Error::io(&self.files[pack].path, e))?;
        }
        Ok(())
    }

    /// Clears the cache, because the packs were replaced.
    pub(in crate::core::change::history) fn forget(&mut self) {
        let recent = self.recent.take();
        *self = Self {
            recent,
            ..Self::default()
        };
    }

    /// Reads the headers of a pack that were not read yet.
    fn read_on(&mut self, pack: usize) -> io::Result<()> {
        let known = &mut self.files[pack];
        let length = known.file.metadata()?.len();
        if known.format.is_none() && length >= MAGIC.len() as u64 {
            let start = read_at(&known.file, 0, MAGIC.len() as u64)?;
            let format = format_of(&start);
            known.format = Some(format);
            known.end = match format {
                Format::Damaged => 0,
                _ => MAGIC.len() as u64,
            };
        }
        let (entries, latest) = (&mut self.entries, &mut self.latest);
        known.end = scan(&known.file, known.end, |header, at| {
            add_entry((entries, latest), header, (pack, at));
        })?;
        Ok(())
    }

    /// The header of a version that is stored or pending.
    fn header(&self, key_: &Key) -> Option<Header> {
        let pending = self.pending.iter().map(|pending| pending.header);
        let pending = pending.rev().find(|header| key(&header.revision) == *key_);
        pending.or_else(|| {
            let entry = self.latest.get(key_)?;
            Some(self.entries[*entry].header)
        })
    }

    /// Every stored version, in the order of the entries.
    pub(in crate::core::change::history) fn revisions(&self) -> impl Iterator<Item = Revision> {
        let entries = self.entries.iter().enumerate();
        // Each revision is represented by its last entry.
        let last = entries.filter(|(at, entry)| self.latest[&key(&entry.header.revision)] == *at);
        last.map(|(_, entry)| entry.header.revision)
    }

    /// The entries of a revision, the last one first.
    pub(in crate::core::change::history) fn entries_of(
        &self,
        key_: &Key,
    ) -> impl Iterator<Item = usize> {
        let first = self.latest.get(key_).copied();
        std::iter::successors(first, |at| self.entries[*at].previous)
    }

    pub(in crate::core::change::history) fn entry(&self, at: usize) -> &Entry {
        &self.entries[at]
    }

    /// The paths of the packs.
    pub(in crate::core::change::history) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|pack| pack.path.as_path())
    }

    /// The path of the pack that contains an entry.
    pub(in crate::core::change::history) fn path_of(&self, at: usize) -> &Path {
        &self.files[self.entries[at].pack].path
    }

    /// The stored bytes of an entry; `None` if they are damaged.
    pub(in crate::core::change::history) fn stored(&self, at: usize) -> Option<Vec<u8>> {
        let entry = &self.entries[at];
        let file = &self.files[entry.pack].file;
        let start = entry.at + HEADER as u64;
        let bytes = read_at(file, start, u64::from(entry.header.stored)).ok()?;
        (checksum(&bytes) == entry.header.checksum).then_some(bytes)
    }

    /// The bytes of an entry in its file, header included.
    pub(in crate::core::change::history) fn copy(&self, at: usize) -> io::Result<Vec<u8>> {
        let entry = &self.entries[at];
        let file = &self.files[entry.pack].file;
        read_at(file, entry.at, entry.header.length())
    }

    /// A version, if it can be read.
    pub(in crate::core::change::history) fn bytes(&self, revision: &Revision) -> Option<Vec<u8>> {
        match self.read(revision) {
            Lookup::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A version, checked against its hash.
    pub(super) fn read(&self, revision: &Revision) -> Lookup {
        let Some(last) = self.latest.get(&key(revision)) else {
            return Lookup::Absent;
        };
        let bytes = self.decode(&key(revision), &mut HashSet::new(), LONGEST);
        match bytes.filter(|bytes| Revision::of(bytes) == *revision) {
            Some(bytes) => Lookup::Bytes(bytes),
            None => Lookup::Damaged(self.path_of(*last).to_owned()),
        }
    }

    /// Decodes a version through the last sound entry of each base, at most `left` entries deep;
    /// `bad` holds the entries that failed or are being decoded.
    fn decode(&self, key_: &Key, bad: &mut HashSet<usize>, left: usize) -> Option<Vec<u8>> {
        let left = left.checked_sub(1)?;
        for at in self.entries_of(key_) {
            if !bad.insert(at) {
                continue;
            }
            let header = self.entries[at].header;
            let base = match header.base {
                None => None,
                Some(base) => match self.decode(&base, bad, left) {
                    None => continue,
                    base => base,
                },
            };
            let bytes = self.expand(at, base.as_deref());
            if let Some(bytes) = bytes.filter(|bytes| Revision::of(bytes) == header.revision) {
                bad.remove(&at);
                return Some(bytes);
            }
        }
        None
    }

    fn expand(&self, at: usize, base: Option<&[u8]>) -> Option<Vec<u8>> {
        let size = usize::try_from(self.entries[at].header.size).ok()?;
        work::count(size);
        delta::expand(&self.stored(at)?, base, size).ok()
    }

    /// Encodes a version to be added; it is stored whole if the base cannot be used.
    pub(super) fn prepare(&mut self, bytes: &[u8], base: Option<&Revision>) -> io::Result<()> {
        let base = base.filter(|base| **base != Revision::of(bytes));
        let place = base.and_then(|base| place_after(base, |key| self.header(key)));
        let base = place.and_then(|place| Some((place, self.bytes_of(&place.base)?)));
        let base = base.as_ref().map(|(place, base)| (*place, base.as_slice()));
        let (header, stored) = encode(bytes, base)?;
        self.pending.push(Pending {
            header,
            stored,
            bytes: bytes.to_vec(),
        });
        Ok(())
    }

    /// A version that is stored, pending, or was stored last.
    fn bytes_of(&self, revision: &Revision) -> Option<Vec<u8>> {
        if let Some((recent, bytes)) = &self.recent
            && recent == revision
        {
            return Some(bytes.clone());
        }
        let mut pending = self.pending.iter();
        if let Some(pending) = pending.find(|pending| pending.header.revision == *revision) {
            return Some(pending.bytes.clone());
        }
        self.bytes(revision)
    }

    /// Whether a version is pending.
    pub(super) fn is_pending(&self, revision: &Revision) -> bool {
        let mut pending = self.pending.iter();
        pending.any(|pending| pending.header.revision == *revision)
    }

    /// Sets the version that was stored last.
    pub(super) fn set_recent(&mut self, revision: Revision, bytes: &[u8]) {
        self.recent = Some((revision, bytes.to_vec()));
    }

    /// The version that was stored last, if `bytes` resembles it.
    pub(super) fn resembling(&self, bytes: &[u8]) -> Option<Revision> {
        let (revision, recent) = self.recent.as_ref()?;
        let same = |(a, b): &(&u8, &u8)| a == b;
        let start = recent.iter().zip(bytes).take_while(same).count();
        let rest = recent[start..]
            .iter()
            .rev()
            .zip(bytes[start..].iter().rev());
        let end = rest.take_while(same).count();
        let longer = recent.len().max(bytes.len());
        ((start + end) * 2 >= longer).then_some(*revision)
    }

    /// Appends the pending entries to the last pack and flushes it; the caller holds the lock. An
    /// incomplete entry at its end, left by a process that died, is cut off.
    pub(super) fn append(&mut self, dir: &Path) -> Result<()> {
        if self.pending.is_empty() {
            return self.flush();
        }
        let folder = dir.join(FOLDER);
        private::create_dir(&folder).map_err(|e| Error::io(&folder, e))?;
        self.check_format()?;
        let last = self.files.last();
        let usable = last.filter(|pack| pack.format != Some(Format::Damaged));
        let (path, number, end, is_new) = match usable {
            Some(pack) => (pack.path.clone(), pack.number, pack.end, false),
            None => {
                let number = self.next_number();
                (pack_path(&folder, number), number, 0, true)
            }
        };
        let entries = std::mem::take(&mut self.pending);
        let file = private::open_write(&path).map_err(|e| Error::io(&path, e))?;
        let written = add(&file, end, &entries).and_then(|start| {
            if end == 0 {
                private::flush_dir(&folder)?;
                private::flush_dir(dir)?;
            }
            Ok(start)
        });
        let mut at = written.map_err(|e| {
            // Remove the incomplete entry; the error to report is `e`.
            drop(file.set_len(end));
            Error::io(&path, e)
        })?;
        if is_new {
            self.files.push(PackFile {
                number,
                path,
                file,
                format: Some(Format::Own),
                end: 0,
                flushed: 0,
            });
        }
        let pack = self.files.len() - 1;
        for Pending { header, .. } in entries {
            add_entry((&mut self.entries, &mut self.latest), header, (pack, at));
            at += header.length();
        }
        let known = &mut self.files[pack];
        known.format = Some(Format::Own);
        (known.end, known.flushed) = (at, at);
        Ok(())
    }

    /// Returns an error if a pack was written by a later version of tome.
    pub(in crate::core::change::history) fn check_format(&self) -> Result<()> {
        let newer = |pack: &&PackFile| pack.format == Some(Format::Newer);
        match self.files.iter().find(newer) {
            None => Ok(()),
            Some(pack) => Err(Error::refused(
                pack.path.display().to_string(),
                "this history was written by a later tome; update tome to change memories here",
            )),
        }
    }

    /// Flushes what other processes appended, because they may have died before flushing it.
    fn flush(&mut self) -> Result<()> {
        for pack in &mut self.files {
            if pack.flushed != pack.end {
                let flushed = pack.file.sync_all();
                flushed.map_err(|e| Error::io(&pack.path, e))?;
                pack.flushed = pack.end;
            }
        }
        Ok(())
    }

    /// The number for a new pack.
    pub(in crate::core::change::history) fn next_number(&self) -> u32 {
        self.files.last().map_or(1, |pack| pack.number + 1)
    }
}

/// The path of a pack.
pub(super) fn pack_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:06}.pack"))
}

/// The numbers of the packs in a folder, in order.
fn numbers(folder: &Path) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".pack")?.parse().ok()
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn format_of(start: &[u8]) -> Format {
    let words = MAGIC.len() - 2;
    // Other bytes after the words are damage, not a later version.
    let is_number = |end: &[u8]| matches!(end, [b'0'..=b'9', b'0'..=b'9' | b'\n']);
    match start {
        start if start == MAGIC => Format::Own,
        start if start.starts_with(&MAGIC[..words]) && is_number(&start[words..]) => Format::Newer,
        _ => Format::Damaged,
    }
}

/// Adds an entry as the last one of its revision.
fn add_entry(
    (entries, latest): (&mut Vec<Entry>, &mut HashMap<Key, usize>),
    header: Header,
    (pack, at): (usize, u64),
) {
    let previous = latest.insert(key(&header.revision), entries.len());
    entries.push(Entry {
        header,
        pack,
        at,
        previous,
    });
}

/// Writes entries at `end` and flushes them; returns the offset of the first one.
fn add(mut file: &File, end: u64, entries: &[Pending]) -> io::Result<u64> {
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    let mut bytes = match end {
        0 => MAGIC.to_vec(),
        _ => Vec::new(),
    };
    let start = end + bytes.len() as u64;
    for entry in entries {
        bytes.extend(entry.header.encode());
        bytes.extend(&entry.stored);
    }
    file.write_all(&bytes)?;
    file.sync_all()?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use crate::core::change::history::History;

    #[test]
    fn a_version_of_another_process_is_flushed_before_it_counts_as_kept() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        History::open(temp.path()).keep(b"x").expect("keeps");
        let other = History::open(temp.path());
        other.keep(b"x").expect("keeps");
        let packs = other.packs();
        assert!(packs.files[0].end > 0);
        assert_eq!(packs.files[0].flushed, packs.files[0].end);
    }
}
