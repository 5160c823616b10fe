//! The file of a store's state, `review/HASH.json` in the history's directory.
//!
//! Its first line has what tells, without the rest, how many files wait: the position in the
//! journal up to which that is true, and the folders that were searched. The second line has what
//! waits, the third what waited before. Then there is a line for each file of the store: its size
//! and time, its revision and its path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::state::{EndedWait, SeenFile, State, Waiting};
use crate::core::foreign;
use crate::core::history::{History, JournalPosition, Record};
use crate::core::parallel::cores;
use crate::core::sandbox::{FolderStamp, Root};
use crate::core::store::StoreId;
use crate::core::{Error, Result, private};

/// The schema of the file.
const SCHEMA: u32 = 2;

/// The largest state that is read.
const LARGEST: u64 = 1 << 28;

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
    position: JournalPosition,
    /// How many files wait.
    count: usize,
    /// The folders that were searched for files; empty if they are not known.
    folders: Vec<FolderStamp>,
}

/// A state as it was saved, of which only the first line is parsed yet.
#[derive(Debug)]
pub(super) struct SavedState {
    head: Head,
    text: String,
}

/// The changes of the journal that a saved state does not have yet.
pub(super) struct Missing {
    /// Those of the state's store.
    pub(super) records: Vec<Record>,
    /// The position after them.
    pub(super) position: JournalPosition,
    /// Whether the state should be saved again.
    pub(super) is_behind: bool,
}

impl SavedState {
    /// The saved state of a store. A damaged one is as good as none: the store gets a new baseline.
    pub(super) fn read(history: &History, store: &StoreId) -> Result<Option<Self>> {
        let text = foreign::read_text(&file_of(history, store), LARGEST)?;
        Ok(text.and_then(|text| {
            let head: Head = serde_json::from_str(text.lines().next()?).ok()?;
            let is_it = head.schema == SCHEMA && head.root == store.root();
            is_it.then_some(Self { head, text })
        }))
    }

    /// How many files waited.
    pub(super) fn count(&self) -> usize {
        self.head.count
    }

    /// The folders that were searched.
    pub(super) fn folders(&self) -> &[FolderStamp] {
        &self.head.folders
    }

    /// What the journal has since.
    pub(super) fn missing(&self, history: &History) -> Result<Missing> {
        let (mut records, position) = history.records_since(self.head.position)?;
        let is_far = records.len() > MOST_BEHIND;
        records.retain(|record| record.touches(&[self.head.root.as_path()]));
        Ok(Missing {
            is_behind: is_far || !records.is_empty(),
            records,
            position,
        })
    }

    /// Whether the journal has nothing since that this state must have.
    pub(super) fn is_current(&self, history: &History) -> Result<bool> {
        Ok(!self.missing(history)?.is_behind)
    }

    /// Whether these are all files of the state, as it has them.
    pub(super) fn has_exactly(&self, listing: &[Listed]) -> bool {
        let mut listed = listing.iter();
        let are_same = self.lines().all(|line| {
            let same = |line: FileLine<'_>| {
                let (path, stamp) = listed.next()?;
                Some(line.stamp == Some(*stamp) && line.path == *path)
            };
            line.and_then(same) == Some(true)
        });
        are_same && listed.next().is_none()
    }

    /// Whether nothing was written since into the files below this root, told by sizes and times.
    ///
    /// Trusted are: the time of the last change of a folder, which cannot be set, for the names in
    /// it; and, as everywhere, the size and modification time of a file for its content. A folder
    /// or file that was changed shortly before it was seen has no such time here.
    pub(super) fn is_as_seen(&self, root: &Root) -> bool {
        /// The least text that is worth a thread of its own.
        const WORTH_A_THREAD: usize = 50_000;
        const MOST_THREADS: usize = 4;
        let folders = self.folders();
        if folders.is_empty() {
            return false;
        }
        let text = self.file_lines();
        let threads = match text.len() > WORTH_A_THREAD {
            true => cores(),
            false => 1,
        };
        let stamped = |line| {
            let line = FileLine::parse(line)?;
            // A path with an escaped character is not worth a copy: the store is listed.
            let Cow::Borrowed(path) = line.path else {
                return None;
            };
            Some((path, line.stamp?))
        };
        let parts = divide(text, threads.min(MOST_THREADS)).into_iter();
        let lists = parts.map(|part| part.split('\n').map(stamped));
        root.is_unchanged(folders, lists.collect())
    }

    /// The text of the lines of the files, without the newline behind the last one.
    fn file_lines(&self) -> &str {
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        let files = text.match_indices('\n').nth(2);
        files.map_or("", |(end, _)| &text[end + 1..])
    }

    /// The lines of the files; `None` for a damaged one.
    fn lines(&self) -> impl Iterator<Item = Option<FileLine<'_>>> {
        let text = self.file_lines();
        // A store without files has no lines, not an empty one.
        let lines = (!text.is_empty()).then(|| text.split('\n'));
        lines.into_iter().flatten().map(FileLine::parse)
    }

    /// The whole state, without the changes that the journal has since.
    pub(super) fn parse(self) -> Option<State> {
        let mut lines = self.text.lines().skip(1);
        let waiting: BTreeMap<String, Waiting> = serde_json::from_str(lines.next()?).ok()?;
        let ended: Vec<EndedWait> = serde_json::from_str(lines.next()?).ok()?;
        let mut files = BTreeMap::new();
        for line in self.lines() {
            let line = line?;
            let seen = SeenFile {
                revision: line.revision.parse().ok()?,
                stamp: line.stamp,
            };
            files.insert(line.path.into_owned(), seen);
        }
        Some(State {
            position: self.head.position,
            folders: self.head.folders,
            files,
            waiting,
            ended,
        })
    }
}

/// A line of the file: what is known of one file of the store.
struct FileLine<'a> {
    stamp: Option<(u64, i64)>,
    revision: &'a str,
    path: Cow<'a, str>,
}

impl<'a> FileLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        let (size, time) = (parts.next()?, parts.next()?);
        let stamp = match size {
            "-" => None,
            size => Some((size.parse().ok()?, time.parse().ok()?)),
        };
        Some(Self {
            stamp,
            revision: parts.next()?,
            path: unescape(parts.next()?)?,
        })
    }
}

/// Divides lines into at most so many parts of about the same length; none if there are no lines.
fn divide(mut text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    for left in (2..=most).rev() {
        let middle = text.len() / left;
        let Some(length) = text.as_bytes()[middle..].iter().position(|b| *b == b'\n') else {
            break;
        };
        parts.push(&text[..middle + length]);
        text = &text[middle + length + 1..];
    }
    parts.extend((!text.is_empty()).then_some(text));
    parts
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
    if !path.contains('\\') {
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

/// The file of a store's state.
fn file_of(history: &History, store: &StoreId) -> PathBuf {
    let name = blake3::hash(store.root().as_os_str().as_encoded_bytes());
    let name = format!("{}.json", &name.to_hex()[..32]);
    history.dir().join("review").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_in_one_of_the_parts_in_order() {
        let lines: Vec<String> = (0..50).map(|n| "x".repeat(n * 7 % 23 + 1)).collect();
        for count in 0..lines.len() {
            let text = lines[..count].join("\n");
            for most in 1..6 {
                let parts = divide(&text, most);
                assert!(parts.len() <= most, "{most}");
                let found: Vec<&str> = parts.iter().flat_map(|part| part.split('\n')).collect();
                assert_eq!(found, lines[..count], "{most}");
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
