//! The table of logs: how each was listed, how far it was read, and what is known about it.
//!
//! Each commit of the index names the table that belongs to it, so that both change together. The
//! table is a file that is written once.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Part;
use crate::core::disk::foreign::{LARGEST_LOG, read_capped};
use crate::core::disk::private;
use crate::core::log::reader::{ReadOutcome, ReadPosition};
use crate::core::log::{Agent, Carry, Head, LogFile, Skipped};

/// The version of the cache; one of another version is built anew.
const VERSION: u32 = 9;
/// The beginning of the names of tables.
const PREFIX: &str = "logs.";

/// All logs of the index.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Table {
    /// The number of this table.
    pub(super) number: u64,
    /// The owner number of the next log that is read from its beginning.
    pub(super) next_owner: u64,
    pub(super) logs: Vec<LogRow>,
}

/// One log.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct LogRow {
    pub(super) agent: u32,
    /// Its path, id, working directory, title and facts one behind the other. The rows of a table that
    /// was read share the bytes of its file: copying the texts would take as long as everything else.
    #[serde(skip)]
    pub(super) texts: Arc<Vec<u8>>,
    /// Where its texts begin in these bytes.
    #[serde(skip)]
    pub(super) texts_start: usize,
    /// Where each of the texts ends, counted from there, in the order of [`TextField`].
    pub(super) ends: [u32; 5],
    pub(super) size: u64,
    pub(super) modified: Option<i64>,
    /// See [`LogFile::changed`].
    pub(super) changed: Option<i64>,
    /// The number that its messages share, never used again if the log is read anew.
    pub(super) owner: u64,
    pub(super) progress: ReadPosition,
    pub(super) turns: u64,
    /// The earliest and the latest time of any message.
    pub(super) span: Option<(i64, i64)>,
    /// What its messages hold.
    pub(super) content: Content,
    /// Whether the results of its tools were read.
    pub(super) has_results: bool,
    /// The state of the decoder for the next reading, encoded; empty if there is none. It is in a file
    /// of its own, which only a build reads.
    #[serde(skip)]
    pub(super) carry: Vec<u8>,
}

/// The texts of a row.
#[derive(Debug, Clone, Copy)]
enum TextField {
    Path,
    Id,
    Cwd,
    Title,
    Facts,
}

/// What messages hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Content {
    /// The bytes of text in each part.
    pub(super) text: [u64; Part::ALL.len()],
    /// How many messages there are of each role.
    pub(super) roles: [u64; 4],
}

/// What identifies a log: its agent, its path and its id.
pub(super) type LogKey<'a> = (u32, &'a [u8], &'a [u8]);

/// Returns what identifies a log that was found on disk.
pub(super) fn key_of(log: &LogFile) -> LogKey<'_> {
    let path = log.path.as_os_str().as_encoded_bytes();
    (log.agent as u32, path, log.id.as_bytes())
}

impl LogRow {
    /// Returns the row of a log that was read.
    pub(super) fn of(log: &LogFile, outcome: &ReadOutcome) -> Self {
        let head = &outcome.head;
        // Plain values in memory: encoding them cannot fail.
        let facts = postcard::to_stdvec(&(head, outcome.skipped)).unwrap_or_default();
        let (agent, path, id) = key_of(log);
        let cwd = head.cwd.as_deref().unwrap_or_default();
        let title = head.entitled(log.title.as_deref()).unwrap_or_default();
        let texts = [path, id, cwd.as_bytes(), title.as_bytes(), &facts];
        let mut end = 0;
        let carry = outcome.carry.as_ref();
        let carry = carry.and_then(|carry| postcard::to_stdvec(carry).ok());
        Self {
            agent,
            texts: Arc::new(texts.concat()),
            ends: texts.map(|text| {
                end += text.len() as u32;
                end
            }),
            size: log.size,
            modified: log.modified,
            changed: log.changed,
            progress: outcome.position,
            turns: head.turns,
            span: head.first.zip(head.last),
            carry: carry.unwrap_or_default(),
            ..Self::default()
        }
    }

    fn bytes(&self, field: TextField) -> &[u8] {
        let number = field as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start as usize..self.ends[number] as usize;
        self.texts().get(range).unwrap_or_default()
    }

    fn texts(&self) -> &[u8] {
        let range = self.texts_start..self.texts_start + self.texts_length();
        self.texts.get(range).unwrap_or_default()
    }

    fn texts_length(&self) -> usize {
        self.ends[TextField::Facts as usize] as usize
    }

    fn text(&self, field: TextField) -> &str {
        std::str::from_utf8(self.bytes(field)).unwrap_or_default()
    }

    pub(super) fn key(&self) -> LogKey<'_> {
        (
            self.agent,
            self.bytes(TextField::Path),
            self.bytes(TextField::Id),
        )
    }

    pub(super) fn path_bytes(&self) -> &[u8] {
        self.bytes(TextField::Path)
    }

    pub(super) fn path(&self) -> PathBuf {
        path_of(self.bytes(TextField::Path))
    }

    /// Whether hooks captured its messages.
    pub(super) fn is_captured(&self) -> bool {
        self.agent == Agent::Events as u32
    }

    pub(super) fn id(&self) -> &str {
        self.text(TextField::Id)
    }

    pub(super) fn cwd(&self) -> Option<&str> {
        Some(self.text(TextField::Cwd)).filter(|cwd| !cwd.is_empty())
    }

    pub(super) fn title(&self) -> Option<&str> {
        Some(self.text(TextField::Title)).filter(|title| !title.is_empty())
    }

    /// Returns the metadata of the log and the counts of skipped lines.
    pub(super) fn facts(&self) -> Option<(Head, Skipped)> {
        postcard::from_bytes(self.bytes(TextField::Facts)).ok()
    }

    /// Returns the state of the decoder.
    pub(super) fn carry(&self) -> Option<Carry> {
        postcard::from_bytes(&self.carry).ok()
    }

    /// Whether the log is listed as it was when it was read.
    pub(super) fn is_listed_as(&self, log: &LogFile) -> bool {
        self.listed() == (log.size, log.modified, log.changed)
    }

    pub(super) fn listed(&self) -> (u64, Option<i64>, Option<i64>) {
        (self.size, self.modified, self.changed)
    }
}

impl Table {
    /// Reads the table that a commit with this payload names; `None` if it is of another version or
    /// damaged.
    pub(super) fn load(cache: &Path, payload: &str) -> Option<Self> {
        let (version, number) = payload.split_once(' ')?;
        if version.parse() != Ok(VERSION) {
            return None;
        }
        let number: u64 = number.parse().ok()?;
        let bytes = read_whole(&cache.join(format!("{PREFIX}{number}")))?;
        let (mut table, texts) = postcard::take_from_bytes::<Self>(&bytes).ok()?;
        let mut start = bytes.len() - texts.len();
        let bytes = Arc::new(bytes);
        for row in &mut table.logs {
            row.texts = Arc::clone(&bytes);
            row.texts_start = start;
            start += row.texts_length();
        }
        Some(table)
    }

    /// Reads the states of the decoders. A log whose state is missing is read from its beginning when
    /// it has grown.
    pub(super) fn load_states(&mut self, cache: &Path) {
        let states: Vec<Vec<u8>> = load(&self.states_file(cache)).unwrap_or_default();
        for (log, state) in self.logs.iter_mut().zip(states) {
            log.carry = state;
        }
    }

    fn file(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{PREFIX}{}", self.number))
    }

    fn states_file(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{PREFIX}{}.states", self.number))
    }

    /// Writes the table and returns the payload that names it.
    pub(super) fn save(&self, cache: &Path) -> io::Result<String> {
        let states: Vec<&Vec<u8>> = self.logs.iter().map(|log| &log.carry).collect();
        save(&self.states_file(cache), encode(&states)?)?;
        let mut bytes = encode(self)?;
        self.logs.iter().for_each(|row| bytes.extend(row.texts()));
        save(&self.file(cache), bytes)?;
        Ok(self.payload())
    }

    /// Returns the payload that names the table.
    pub(super) fn payload(&self) -> String {
        format!("{VERSION} {}", self.number)
    }

    /// Deletes all other tables.
    pub(super) fn delete_others(&self, cache: &Path) {
        let own = [self.file(cache), self.states_file(cache)];
        let files = fs::read_dir(cache).into_iter().flatten().flatten();
        for file in files {
            let name = file.file_name();
            let is_table = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
            let is_old = is_table && !own.contains(&file.path());
            if is_old {
                // What cannot be deleted now is deleted after the next commit.
                drop(fs::remove_file(file.path()));
            }
        }
    }
}

/// Reads a value that was saved; `None` if it is damaged.
pub(super) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    postcard::from_bytes(&read_whole(path)?).ok()
}

/// Reads the bytes that were saved in a file; `None` if they are damaged.
fn read_whole(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = read_capped(path, LARGEST_LOG).ok()?;
    let (content, sum) = bytes.split_last_chunk()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
        return None;
    }
    bytes.truncate(content.len());
    Some(bytes)
}

pub(super) fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

/// Adds a checksum to bytes.
pub(super) fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn save(path: &Path, bytes: Vec<u8>) -> io::Result<()> {
    let bytes = with_checksum(bytes);
    private::replace(path, |file| file.write_all(&bytes))
}

/// Returns the path that was stored as these bytes.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
