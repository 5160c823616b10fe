//! Packs: append-only, memory-mapped files that hold texts, tables, indexes and states. If the cache
//! cannot be written, packs are kept in memory.
//!
//! The packs of one generation belong together; a new generation has new files, and an index that
//! is written anew has a new one. Each pack begins with the mark of its generation, so that a
//! manifest is never read with the packs of another generation. Bytes beyond the length in the
//! manifest are from a build that did not finish, and are overwritten.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::frames::Stored;
use super::mapped::Mapped;
use super::{PARTS, Part};
use crate::core::foreign::open_regular;
use crate::core::{Error, Result, private};

/// What a pack holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pack {
    /// The texts of the blocks of a part.
    Texts(Part),
    /// The outlines of the messages in these blocks, and the names that their rows refer to. A
    /// search for several words reads those of most blocks, so they are close together.
    Outlines(Part),
    /// The rows of the messages in these blocks, which are read more often than the texts.
    Tables(Part),
    /// The index of a part.
    Index(Part),
    /// The metadata of logs, and the states of their decoders.
    States,
}

/// All packs, in the order of their numbers.
pub(super) const PACKS: [Pack; 13] = [
    Pack::Texts(Part::Words),
    Pack::Outlines(Part::Words),
    Pack::Tables(Part::Words),
    Pack::Index(Part::Words),
    Pack::Texts(Part::Calls),
    Pack::Outlines(Part::Calls),
    Pack::Tables(Part::Calls),
    Pack::Index(Part::Calls),
    Pack::Texts(Part::Results),
    Pack::Outlines(Part::Results),
    Pack::Tables(Part::Results),
    Pack::Index(Part::Results),
    Pack::States,
];

/// The length of each pack, in bytes, in the order of [`PACKS`].
pub(super) type Lengths = [u64; PACKS.len()];

/// The size of a pack's header, in bytes: [`MAGIC`] and the mark.
pub(super) const HEADER: u64 = 16;
const MAGIC: &[u8; 8] = b"tomepack";

/// Identifies the packs that belong to a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation {
    /// Part of the files' names, except those of indexes.
    pub(super) number: u64,
    /// The same for the index of each part.
    pub(super) indexes: [u64; PARTS],
    /// Stored in the header of each file.
    pub(super) mark: u64,
}

impl Pack {
    /// Returns its index in [`PACKS`].
    pub(super) fn number(self) -> usize {
        match self {
            Self::Texts(part) => 4 * part.number(),
            Self::Outlines(part) => 4 * part.number() + 1,
            Self::Tables(part) => 4 * part.number() + 2,
            Self::Index(part) => 4 * part.number() + 3,
            Self::States => 4 * PARTS,
        }
    }

    fn stem(self) -> &'static str {
        match self {
            Self::Texts(Part::Words) => "words",
            Self::Outlines(Part::Words) => "words-outlines",
            Self::Tables(Part::Words) => "words-tables",
            Self::Index(Part::Words) => "words-index",
            Self::Texts(Part::Calls) => "calls",
            Self::Outlines(Part::Calls) => "calls-outlines",
            Self::Tables(Part::Calls) => "calls-tables",
            Self::Index(Part::Calls) => "calls-index",
            Self::Texts(Part::Results) => "results",
            Self::Outlines(Part::Results) => "results-outlines",
            Self::Tables(Part::Results) => "results-tables",
            Self::Index(Part::Results) => "results-index",
            Self::States => "states",
        }
    }

    fn path(self, cache: &Path, generation: &Generation) -> PathBuf {
        let number = match self {
            Self::Index(part) => generation.indexes[part.number()],
            _ => generation.number,
        };
        cache.join(format!("{}.{number}.pack", self.stem()))
    }
}

/// The packs of a generation, open for appending.
#[derive(Debug)]
pub(super) struct Appender {
    sinks: [PackSink; PACKS.len()],
    lengths: Lengths,
    cache: PathBuf,
}

/// What a pack is written to.
#[derive(Debug)]
enum PackSink {
    File(File),
    Memory(Vec<u8>),
}

impl Appender {
    /// Starts the packs of a new generation.
    pub(super) fn create(cache: &Path, generation: Generation) -> Result<Self> {
        Self::each(cache, [HEADER; PACKS.len()], |pack| {
            create_file(&pack.path(cache, &generation), generation.mark)
        })
    }

    /// Opens existing packs to append after `lengths`.
    pub(super) fn resume(cache: &Path, generation: Generation, lengths: Lengths) -> Result<Self> {
        Self::each(cache, lengths, |pack| {
            let path = pack.path(cache, &generation);
            let mut file = private::open_write(&path)?;
            let length = lengths[pack.number()];
            if file.metadata()?.len() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            Ok(file)
        })
    }

    /// Starts packs that are only in memory.
    pub(super) fn in_memory(cache: &Path) -> Self {
        Self {
            sinks: PACKS.map(|_| PackSink::Memory(vec![0; HEADER as usize])),
            lengths: [HEADER; PACKS.len()],
            cache: cache.to_owned(),
        }
    }

    fn each(
        cache: &Path,
        lengths: Lengths,
        mut open: impl FnMut(Pack) -> io::Result<File>,
    ) -> Result<Self> {
        let mut sinks = Vec::with_capacity(PACKS.len());
        for pack in PACKS {
            let file = open(pack).map_err(|error| Error::io(cache, error))?;
            sinks.push(PackSink::File(file));
        }
        Ok(Self {
            sinks: sinks.try_into().expect("there is a file for each pack"),
            lengths,
            cache: cache.to_owned(),
        })
    }

    /// Appends an entry and returns its offset.
    pub(super) fn append(&mut self, pack: Pack, bytes: &[u8]) -> Result<u64> {
        let number = pack.number();
        let mut appender = PackAppender {
            sink: &mut self.sinks[number],
            length: &mut self.lengths[number],
            cache: &self.cache,
        };
        appender.append(bytes)
    }

    /// Returns each pack.
    pub(super) fn packs(&mut self) -> impl Iterator<Item = (Pack, PackAppender<'_>)> {
        let cache = self.cache.as_path();
        let sinks = self.sinks.iter_mut().zip(&mut self.lengths);
        PACKS
            .into_iter()
            .zip(sinks)
            .map(move |(pack, (sink, length))| {
                let appender = PackAppender {
                    sink,
                    length,
                    cache,
                };
                (pack, appender)
            })
    }

    /// Returns numbers that no index in the cache has.
    pub(super) fn new_numbers(&self) -> [u64; PARTS] {
        [newest(&self.cache).wrapping_add(1); PARTS]
    }

    /// Returns the length of each pack, in bytes.
    pub(super) fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// Maps the packs; works even if the files have been deleted.
    pub(super) fn map(self) -> Result<Maps> {
        let mut maps = Vec::with_capacity(PACKS.len());
        for (sink, length) in self.sinks.into_iter().zip(self.lengths) {
            maps.push(match sink {
                PackSink::File(file) => {
                    load(&file, length).map_err(|error| Error::io(&self.cache, error))?
                }
                PackSink::Memory(buffer) => PackBytes::Memory(buffer),
            });
        }
        Ok(Maps(maps))
    }
}

/// One pack, open for appending.
#[derive(Debug)]
pub(super) struct PackAppender<'a> {
    sink: &'a mut PackSink,
    length: &'a mut u64,
    cache: &'a Path,
}

impl PackAppender<'_> {
    /// Returns its length, in bytes.
    pub(super) fn length(&self) -> u64 {
        *self.length
    }

    /// Appends an entry and returns its offset.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let at = *self.length;
        match self.sink {
            PackSink::File(file) => file
                .write_all(bytes)
                .map_err(|error| Error::io(self.cache, error))?,
            PackSink::Memory(buffer) => buffer.extend_from_slice(bytes),
        }
        *self.length += bytes.len() as u64;
        Ok(at)
    }

    /// Returns what has been written.
    pub(super) fn written(&self) -> Result<PackBytes> {
        match &*self.sink {
            PackSink::File(file) => {
                load(file, *self.length).map_err(|error| Error::io(self.cache, error))
            }
            PackSink::Memory(buffer) => Ok(PackBytes::Memory(buffer.clone())),
        }
    }

    /// Starts the pack anew, in the file that it has in this generation.
    pub(super) fn start_anew(&mut self, pack: Pack, generation: &Generation) -> Result<()> {
        match self.sink {
            PackSink::File(file) => {
                *file = create_file(&pack.path(self.cache, generation), generation.mark)
                    .map_err(|error| Error::io(self.cache, error))?;
            }
            PackSink::Memory(buffer) => buffer.truncate(HEADER as usize),
        }
        *self.length = HEADER;
        Ok(())
    }
}

/// A range of a pack of which few bytes are read, far from others; see [`Mapped::read`].
#[derive(Debug, Clone, Copy)]
pub(super) struct PackRange<'a> {
    pack: &'a PackBytes,
    at: u64,
    length: u64,
}

impl<'a> PackRange<'a> {
    pub(super) fn new(pack: &'a PackBytes, at: u64, length: u64) -> Self {
        Self { pack, at, length }
    }

    /// Returns a range of it; `None` if that is out of bounds or cannot be read.
    pub(super) fn get(&self, range: Range<usize>) -> Option<Cow<'a, [u8]>> {
        let (from, to) = (range.start as u64, range.end as u64);
        let at = self.at.checked_add(from).filter(|_| to <= self.length)?;
        self.pack.read(at, to.checked_sub(from)?)
    }
}

impl Stored for PackRange<'_> {
    fn get(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        self.get(range)
    }
}

/// The packs of a generation, mapped up to the lengths that a manifest gives.
#[derive(Debug)]
pub(super) struct Maps(Vec<PackBytes>);

/// The bytes of a pack.
#[derive(Debug)]
pub(super) enum PackBytes {
    Mapped(Mapped),
    Memory(Vec<u8>),
}

impl PackBytes {
    /// Returns a range; `None` if it is out of bounds.
    pub(super) fn get(&self, at: u64, length: u64) -> Option<&[u8]> {
        let from = usize::try_from(at).ok()?;
        let to = usize::try_from(at.checked_add(length)?).ok()?;
        let bytes: &[u8] = match self {
            Self::Mapped(map) => map,
            Self::Memory(bytes) => bytes,
        };
        bytes.get(from..to)
    }

    fn read(&self, at: u64, length: u64) -> Option<Cow<'_, [u8]>> {
        let from = usize::try_from(at).ok()?;
        let to = usize::try_from(at.checked_add(length)?).ok()?;
        match self {
            Self::Mapped(map) => map.read(from..to),
            Self::Memory(bytes) => bytes.get(from..to).map(Cow::Borrowed),
        }
    }

    /// Releases the memory of a range that was read; it can be read again.
    pub(super) fn release(&self, at: u64, length: u64) {
        if let Self::Mapped(map) = self
            && let (Ok(from), Ok(length)) = (usize::try_from(at), usize::try_from(length))
            && let Some(to) = from.checked_add(length).filter(|to| *to <= map.len())
        {
            map.release(from..to);
        }
    }

    /// Releases all memory; everything can be read again.
    pub(super) fn release_all(&self) {
        if let Self::Mapped(map) = self {
            map.release(0..map.len());
        }
    }
}

impl Maps {
    /// Opens the packs; `None` if one is missing, too short or of another generation.
    pub(super) fn open(cache: &Path, generation: Generation, lengths: Lengths) -> Option<Self> {
        let mut maps = Vec::with_capacity(PACKS.len());
        for (pack, length) in PACKS.into_iter().zip(lengths) {
            let mut file = open_regular(&pack.path(cache, &generation)).ok()?;
            let mut header = [0; HEADER as usize];
            file.read_exact(&mut header).ok()?;
            let (magic, mark) = header.split_at(8);
            if magic != MAGIC || mark != generation.mark.to_le_bytes() {
                return None;
            }
            maps.push(load(&file, length).ok()?);
        }
        Some(Self(maps))
    }

    /// Returns a range of a pack; `None` if it is out of bounds.
    pub(super) fn get(&self, pack: Pack, at: u64, length: u64) -> Option<&[u8]> {
        self.0.get(pack.number())?.get(at, length)
    }

    /// Returns the bytes of a pack.
    pub(super) fn pack(&self, pack: Pack) -> Option<&PackBytes> {
        self.0.get(pack.number())
    }

    /// Releases the memory of a range that was read; it can be read again.
    pub(super) fn release(&self, pack: Pack, at: u64, length: u64) {
        if let Some(pack) = self.0.get(pack.number()) {
            pack.release(at, length);
        }
    }

    /// Whether a pack was truncated since it was opened, and the missing bytes were read.
    pub(super) fn have_shrunk(&self) -> bool {
        let mut packs = self.0.iter();
        packs.any(|pack| matches!(pack, PackBytes::Mapped(map) if map.has_shrunk()))
    }
}

/// Returns the first `length` bytes of a pack: mapped, or read if there are too many maps.
fn load(file: &File, length: u64) -> io::Result<PackBytes> {
    match Mapped::new(file.try_clone()?, length) {
        Ok(map) => Ok(PackBytes::Mapped(map)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(error),
        Err(_) => {
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            let mut file = file;
            file.seek(SeekFrom::Start(0))?;
            file.read_exact(&mut bytes)?;
            Ok(PackBytes::Memory(bytes))
        }
    }
}

/// Creates the file of a pack.
fn create_file(path: &Path, mark: u64) -> io::Result<File> {
    // A process may still map a file of that name, so it must not be truncated.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private::create_new(path)?;
    file.write_all(MAGIC)?;
    file.write_all(&mark.to_le_bytes())?;
    Ok(file)
}

/// Removes the packs of all other generations; failures are ignored.
pub(super) fn sweep(cache: &Path, keep: Option<&Generation>) {
    let Ok(entries) = fs::read_dir(cache) else {
        return;
    };
    let kept = keep.map(|keep| PACKS.map(|pack| pack.path(cache, keep)));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|ending| ending == "pack")
            && !kept.iter().flatten().any(|kept| *kept == path)
        {
            // The next sweep tries again.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the highest generation number of any file; 0 if there is none.
pub(super) fn newest(cache: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(cache) else {
        return 0;
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| {
            name.to_str()?
                .strip_suffix(".pack")?
                .rsplit('.')
                .next()?
                .parse()
                .ok()
        })
        .max()
        .unwrap_or(0)
}
