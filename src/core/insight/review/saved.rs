//! The file of a store's state, `review/HASH.json` in the history's directory.
//!
//! Its first line has what tells, without the rest, how many files wait: the position in the
//! journal up to which that is true, and the folders that were searched. The second line has what
//! waits, the third what waited before. Then there is a line for each file of the store: its size
//! and time, its revision and its path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::state::{EndedWait, SeenFile, State, Waiting};
use crate::core::change::history::{FilePosition, History, Record};
use crate::core::disk::parallel::threads;
use crate::core::disk::sandbox::{FolderStamp, Root, StampCheck};
use crate::core::disk::{foreign, private};
use crate::core::memory::store::StoreId;
use crate::core::{Error, Result};

/// The schema of the file.
const SCHEMA: u32 = 3;

/// The largest state that is read.
const LARGEST: u64 = 1 << 28;

/// How much of it is read at a time: some hundred files.
const PART: usize = 1 << 15;

/// With more changes of other stores in the journal since, a state is saved again, so that they
/// need not be read each time.
const MOST_BEHIND: usize = 200;

/// The path, size and time of a file. A list of them is sorted by path.
pub(super) type Listed = (String, (u64, i64));

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    schema: u32,
    root: PathBuf,
    position: FilePosition,
    /// How many files wait.
    count: usize,
    /// The folders that were searched for files; empty if they are not known.
    folders: Vec<FolderStamp>,
    /// See [`State::here_before`].
    #[serde(default)]
    here_before: usize,
    /// How many lines of files follow; a state with another number of them was cut.
    files: usize,
}

/// A state as it was saved, of which only the first line is read yet.
#[derive(Debug)]
pub(super) struct SavedState {
    head: Head,
    path: PathBuf,
    rest: BufReader<File>,
}

/// The changes of the journal that a saved state does not have yet.
pub(super) struct Missing {
    /// Those of the state's store.
    pub(super) records: Vec<Record>,
    /// The position after them.
    pub(super) position: FilePosition,
    /// Whether the state should be saved again.
    pub(super) is_behind: bool,
}

impl Missing {
    /// What the journal has of the store at a root since a position.
    pub(super) fn of(history: &History, root: &Path, since: FilePosition) -> Result<Self> {
        let (mut records, position) = history.records_since(since)?;
        let is_far = records.len() > MOST_BEHIND;
        records.retain(|record| record.touches(&[root]));
        Ok(Self {
            is_behind: is_far || !records.is_empty(),
            records,
            position,
        })
    }
}

impl SavedState {
    /// The saved state of a store. A damaged one is as good as none: it is made again from the
    /// journal.
    pub(super) fn read(history: &History, store: &StoreId) -> Result<Option<Self>> {
        let path = file_of(history, store);
        let file = match foreign::open_capped(&path, LARGEST) {
            Ok(file) => file,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut rest = BufReader::with_capacity(PART, file);
        let mut line = Vec::new();
        let read = rest.read_until(b'\n', &mut line);
        read.map_err(|e| Error::io(&path, e))?;
        let head = serde_json::from_slice(&line).ok();
        let head = head.filter(|head: &Head| head.schema == SCHEMA && head.root == store.root());
        Ok(head.map(|head| Self { head, path, rest }))
    }

    /// How much of the journal the state has.
    pub(super) fn position(&self) -> FilePosition {
        self.head.position
    }

    /// How many files waited.
    pub(super) fn count(&self) -> usize {
        self.head.count
    }

    /// See [`State::here_before`].
    pub(super) fn here_before(&self) -> usize {
        self.head.here_before
    }

    /// The folders that were searched.
    pub(super) fn folders(&self) -> &[FolderStamp] {
        &self.head.folders
    }

    /// What the journal has since.
    pub(super) fn missing(&self, history: &History) -> Result<Missing> {
        Missing::of(history, &self.head.root, self.head.position)
    }

    /// Whether the journal has nothing since that this state must have.
    pub(super) fn is_current(&self, history: &History) -> Result<bool> {
        Ok(!self.missing(history)?.is_behind)
    }

    /// Whether these are all files of the state, as it has them.
    pub(super) fn has_exactly(mut self, listing: &[Listed]) -> Result<bool> {
        let text = self.read_rest()?;
        let mut listed = listing.iter();
        let are_same = file_lines(&text).all(|line| {
            let same = |line: FileLine<'_>| {
                let (path, stamp) = listed.next()?;
                Some(line.stamp == Some(*stamp) && line.path == *path)
            };
            line.and_then(same) == Some(true)
        });
        Ok(are_same && listed.next().is_none())
    }

    /// The files below this root that may have been written since, told by sizes and times; `None`
    /// if there may be others now.
    ///
    /// Trusted are: the time of the last change of a folder, which cannot be set, for the names in
    /// it; and, as everywhere, the size and modification time of a file for its content. A folder
    /// or file that was changed shortly before it was seen has no such time here.
    pub(super) fn written_files(mut self, root: &Root) -> Option<Vec<String>> {
        /// The least text that is worth more than one thread.
        const WORTH_A_THREAD: u64 = 50_000;
        if self.head.folders.is_empty() {
            return None;
        }
        self.skip_waits().ok()?;
        let length = self.rest.get_ref().metadata().map_or(0, |meta| meta.len());
        let threads = if length > WORTH_A_THREAD {
            threads()
        } else {
            1
        };
        let parts = FileParts(Mutex::new(self.rest));
        let written = |check: &StampCheck<'_>| parts.written(check);
        root.changed_files(&self.head.folders, threads, written)
    }

    /// Skips what waits and what waited.
    fn skip_waits(&mut self) -> io::Result<()> {
        self.rest.skip_until(b'\n')?;
        self.rest.skip_until(b'\n')?;
        Ok(())
    }

    /// Everything behind the first line.
    fn read_rest(&mut self) -> Result<String> {
        let mut bytes = Vec::new();
        let read = self.rest.read_to_end(&mut bytes);
        read.map_err(|e| Error::io(&self.path, e))?;
        foreign::text_of(&self.path, bytes)
    }

    /// The whole state, without the changes that the journal has since; `None` if it is damaged.
    pub(super) fn parse(mut self) -> Result<Option<State>> {
        let text = self.read_rest()?;
        Ok(parse(self.head, &text))
    }
}

fn parse(head: Head, text: &str) -> Option<State> {
    let mut lines = text.lines();
    let waiting: BTreeMap<String, Waiting> = serde_json::from_str(lines.next()?).ok()?;
    let ended: Vec<EndedWait> = serde_json::from_str(lines.next()?).ok()?;
    let seen = |line: Option<FileLine<'_>>| {
        let line = line?;
        let seen = SeenFile {
            revision: line.revision.parse().ok()?,
            stamp: line.stamp,
        };
        Some((line.path.into_owned(), seen))
    };
    let files: BTreeMap<String, SeenFile> = file_lines(text).map(seen).collect::<Option<_>>()?;
    if files.len() != head.files {
        return None;
    }
    Some(State {
        position: head.position,
        folders: head.folders,
        here_before: head.here_before,
        files,
        waiting,
        ended,
    })
}

/// The lines of the files in the text behind the first line; `None` for a damaged one.
fn file_lines(text: &str) -> impl Iterator<Item = Option<FileLine<'_>>> {
    text.lines().skip(2).map(FileLine::parse)
}

/// The lines of the files, in parts that threads take one after the other: a state of many files
/// is compared in less time than the memory for all of it would take.
struct FileParts(Mutex<BufReader<File>>);

impl FileParts {
    /// The next whole lines, empty at the end.
    fn take(&self) -> io::Result<Vec<u8>> {
        let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut part = reader.fill_buf()?.to_vec();
        reader.consume(part.len());
        reader.read_until(b'\n', &mut part)?;
        Ok(part)
    }

    /// The files of all parts that this thread takes that are not as their lines say; `None` if the
    /// lines are damaged.
    fn written(&self, check: &StampCheck<'_>) -> Option<Vec<String>> {
        let mut written = Vec::new();
        loop {
            let part = self.take().ok()?;
            if part.is_empty() {
                return Some(written);
            }
            let mut rest = std::str::from_utf8(&part).ok()?;
            while !rest.is_empty() {
                let line;
                (line, rest) = split_once(rest, b'\n').unwrap_or((rest, ""));
                let FileLine { stamp, path, .. } = FileLine::parse(line)?;
                if !stamp.is_some_and(|stamp| check(&path, stamp)) {
                    written.push(path.into_owned());
                }
            }
        }
    }
}

/// Like [`str::split_once`], with an ASCII character; several times as fast.
fn split_once(text: &str, divider: u8) -> Option<(&str, &str)> {
    let at = memchr::memchr(divider, text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// A line of the file: what is known of one file of the store.
struct FileLine<'a> {
    stamp: Option<(u64, i64)>,
    revision: &'a str,
    path: Cow<'a, str>,
}

impl<'a> FileLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (size, rest) = split_once(line, b' ')?;
        let (time, rest) = split_once(rest, b' ')?;
        let (revision, path) = split_once(rest, b' ')?;
        let stamp = match size {
            "-" => None,
            size => Some((size.parse().ok()?, time.parse().ok()?)),
        };
        Some(Self {
            stamp,
            revision,
            path: unescape(path)?,
        })
    }
}

/// A path without the characters that divide lines.
fn escape(path: &str) -> Cow<'_, str> {
    if path.contains(['\\', '\n', '\r']) {
        let path = path.replace('\\', "\\\\");
        return Cow::Owned(path.replace('\n', "\\n").replace('\r', "\\r"));
    }
    Cow::Borrowed(path)
}

fn unescape(path: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', path.as_bytes()).is_none() {
        return Some(Cow::Borrowed(path));
    }
    let mut made = String::new();
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        made.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                'r' => '\r',
                other => other,
            },
            other => other,
        });
    }
    Some(Cow::Owned(made))
}

/// Writes the state of a store, whose lock the caller holds.
pub(super) fn save(state: &State, history: &History, store: &StoreId) -> Result<()> {
    let path = file_of(history, store);
    history.folder("review")?;
    let head = Head {
        schema: SCHEMA,
        root: store.root().to_owned(),
        position: state.position,
        count: state.waiting.len(),
        folders: state.folders.clone(),
        here_before: state.here_before,
        files: state.files.len(),
    };
    let written = private::replace(&path, |file| {
        let mut out = BufWriter::new(file);
        serde_json::to_writer(&mut out, &head)?;
        out.write_all(b"\n")?;
        serde_json::to_writer(&mut out, &state.waiting)?;
        out.write_all(b"\n")?;
        serde_json::to_writer(&mut out, &state.ended)?;
        for (path, SeenFile { revision, stamp }) in &state.files {
            let path = escape(path);
            match stamp {
                Some((size, time)) => write!(out, "\n{size} {time} {revision} {path}")?,
                None => write!(out, "\n- - {revision} {path}")?,
            }
        }
        out.flush()
    });
    written.map_err(|e| Error::io(&path, e))
}

/// The file of a store's state. Two stores may have one root: instructions beside memories.
fn file_of(history: &History, store: &StoreId) -> PathBuf {
    let mut name = blake3::Hasher::new();
    name.update(store.root().as_os_str().as_encoded_bytes());
    name.update(b"\0");
    let name = name.update(store.layout().name().as_bytes()).finalize();
    let name = format!("{}.json", &name.to_hex()[..32]);
    history.dir().join("review").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_compared_once() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("lines");
        for count in [0, 1, 2, 50, 500] {
            let name = |n: usize| format!("{n}{}.md", "x".repeat(n * 7 % 23));
            let line = |n: usize| format!("{n} 5 revision {}", name(n));
            let lines: Vec<String> = (0..count).map(line).collect();
            std::fs::write(&path, lines.join("\n")).expect("writes");
            for capacity in [1, 30, 1000, PART] {
                let file = File::open(&path).expect("opens");
                let reader = BufReader::with_capacity(capacity, file);
                let parts = FileParts(Mutex::new(reader));
                let seen = Mutex::new(Vec::new());
                let check = |path: &str, (size, _): (u64, i64)| {
                    let mut seen = seen.lock().expect("no panic");
                    seen.push((size as usize, path.to_owned()));
                    size % 100 != 7
                };
                let written: Vec<String> = (0..count).filter(|n| n % 100 == 7).map(name).collect();
                assert_eq!(parts.written(&check), Some(written), "{count} {capacity}");
                assert_eq!(parts.written(&check), Some(vec![]), "{count} {capacity}");
                let all: Vec<(usize, String)> = (0..count).map(|n| (n, name(n))).collect();
                assert_eq!(seen.into_inner().expect("no panic"), all, "{capacity}");
            }
        }
    }

    #[test]
    fn a_path_of_any_characters_stays_one_line() {
        for path in ["a.md", "a b.md", "a\nb\\n\r.md", "\\", "ä/ö.md"] {
            let line = escape(path);
            assert!(!line.contains(['\n', '\r']), "{line}");
            assert_eq!(unescape(&line).as_deref(), Some(path));
        }
        assert_eq!(unescape("cut off\\"), None);
    }
}
