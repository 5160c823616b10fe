//! The files that hold blocks, filters and states: only appended to, read as maps.
//!
//! The packs of one generation belong together; a new generation has new files. Each
//! begins with a mark of its generation, so that a catalogue is never read with the
//! packs of another. What lies behind the length that the catalogue gives was left by a
//! build that did not finish, and is written over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};

use super::Part;
use crate::core::{Error, Result};

/// What a pack holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pack {
    /// Blocks of a part.
    Blocks(Part),
    /// The filters of a part's blocks: close together, since all of them are asked.
    Filters(Part),
    /// What logs say of themselves, and where their decoders stopped.
    States,
}

/// Every pack, in the order of their numbers.
pub(super) const PACKS: [Pack; 5] = [
    Pack::Blocks(Part::Words),
    Pack::Filters(Part::Words),
    Pack::Blocks(Part::Tools),
    Pack::Filters(Part::Tools),
    Pack::States,
];

/// The bytes before the first entry: a word of ours and the mark.
pub(super) const HEADER: u64 = 16;
const MAGIC: &[u8; 8] = b"tomepack";

/// Which files belong to a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation {
    /// Part of the files' names.
    pub(super) number: u64,
    /// At the head of each file.
    pub(super) mark: u64,
}

impl Pack {
    /// Returns its place in [`PACKS`].
    pub(super) fn number(self) -> usize {
        match self {
            Self::Blocks(Part::Words) => 0,
            Self::Filters(Part::Words) => 1,
            Self::Blocks(Part::Tools) => 2,
            Self::Filters(Part::Tools) => 3,
            Self::States => 4,
        }
    }

    fn stem(self) -> &'static str {
        match self {
            Self::Blocks(Part::Words) => "words",
            Self::Filters(Part::Words) => "words-filters",
            Self::Blocks(Part::Tools) => "tools",
            Self::Filters(Part::Tools) => "tools-filters",
            Self::States => "states",
        }
    }

    fn path(self, cache: &Path, number: u64) -> PathBuf {
        cache.join(format!("{}.{number}.pack", self.stem()))
    }
}

/// The packs of a generation, open for appending.
#[derive(Debug)]
pub(super) struct Appender {
    files: [File; 5],
    lengths: [u64; 5],
    cache: PathBuf,
}

impl Appender {
    /// Starts the packs of a new generation.
    pub(super) fn create(cache: &Path, generation: Generation) -> Result<Self> {
        Self::each(cache, [HEADER; 5], |pack| {
            let path = pack.path(cache, generation.number);
            // A file of that name may still be mapped somewhere: it must not be emptied.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path)?;
            file.write_all(MAGIC)?;
            file.write_all(&generation.mark.to_le_bytes())?;
            Ok(file)
        })
    }

    /// Goes on after `lengths`.
    pub(super) fn resume(cache: &Path, generation: Generation, lengths: [u64; 5]) -> Result<Self> {
        Self::each(cache, lengths, |pack| {
            let path = pack.path(cache, generation.number);
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            let length = lengths[pack.number()];
            if file.metadata()?.len() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            Ok(file)
        })
    }

    fn each(
        cache: &Path,
        lengths: [u64; 5],
        mut open: impl FnMut(Pack) -> io::Result<File>,
    ) -> Result<Self> {
        let mut files = Vec::with_capacity(PACKS.len());
        for pack in PACKS {
            files.push(open(pack).map_err(|error| Error::io(cache, error))?);
        }
        Ok(Self {
            files: files.try_into().expect("there is a file for each pack"),
            lengths,
            cache: cache.to_owned(),
        })
    }

    /// Adds an entry and returns where it begins.
    pub(super) fn append(&mut self, pack: Pack, bytes: &[u8]) -> Result<u64> {
        let number = pack.number();
        let at = self.lengths[number];
        self.files[number]
            .write_all(bytes)
            .map_err(|error| Error::io(&self.cache, error))?;
        self.lengths[number] += bytes.len() as u64;
        Ok(at)
    }

    /// Returns how long each pack is.
    pub(super) fn lengths(&self) -> [u64; 5] {
        self.lengths
    }

    /// Maps what has been written, whether or not the files still have names.
    pub(super) fn map(self) -> Result<Maps> {
        let mut maps = Vec::with_capacity(PACKS.len());
        for (file, length) in self.files.into_iter().zip(self.lengths) {
            let failed = |error| Error::io(&self.cache, error);
            let map = map(&file, length).map_err(failed)?;
            maps.push((file, map));
        }
        Ok(Maps(maps))
    }
}

/// The packs of a generation, mapped up to the lengths that a catalogue gives.
#[derive(Debug)]
pub(super) struct Maps(Vec<(File, Mmap)>);

impl Maps {
    /// Opens the packs; `None` where one is missing, too short or of another generation.
    pub(super) fn open(cache: &Path, generation: Generation, lengths: [u64; 5]) -> Option<Self> {
        let mut maps = Vec::with_capacity(PACKS.len());
        for (pack, length) in PACKS.into_iter().zip(lengths) {
            let mut file = File::open(pack.path(cache, generation.number)).ok()?;
            let mut header = [0; HEADER as usize];
            file.read_exact(&mut header).ok()?;
            let (magic, mark) = header.split_at(8);
            if magic != MAGIC || mark != generation.mark.to_le_bytes() {
                return None;
            }
            let map = map(&file, length).ok()?;
            maps.push((file, map));
        }
        Some(Self(maps))
    }

    /// Returns a stretch of a pack, if it is there.
    pub(super) fn get(&self, pack: Pack, at: u64, length: u64) -> Option<&[u8]> {
        let from = usize::try_from(at).ok()?;
        let to = usize::try_from(at.checked_add(length)?).ok()?;
        self.0.get(pack.number())?.1.get(from..to)
    }

    /// Maps a pack anew, which gives back the memory of what has been looked at.
    pub(super) fn renew(&mut self, pack: Pack) {
        if let Some((file, old)) = self.0.get_mut(pack.number())
            && let Ok(new) = map(file, old.len() as u64)
        {
            *old = new;
        }
    }
}

/// Maps the first `length` bytes of a pack.
fn map(file: &File, length: u64) -> io::Result<Mmap> {
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
    if file.metadata()?.len() < length as u64 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // Sound as long as nobody changes or shortens these bytes. Packs are ours alone, in
    // our own cache directory: bytes before a catalogue's length are never written
    // again, and a pack is unlinked when it is done with, never shortened below that.
    #[allow(unsafe_code)]
    unsafe {
        MmapOptions::new().len(length).map(file)
    }
}

/// Removes the packs of every generation but this one, as far as that is possible.
pub(super) fn sweep(cache: &Path, keep: u64) {
    let Ok(entries) = fs::read_dir(cache) else {
        return;
    };
    let kept = PACKS.map(|pack| pack.path(cache, keep));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|ending| ending == "pack") && !kept.contains(&path) {
            // One that cannot be removed now is tried again after the next build.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the highest number of any generation that has left a file.
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
