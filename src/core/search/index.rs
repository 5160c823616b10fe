//! The corpus: the decoded text of all logs, indexed on disk and updated as logs grow.
//!
//! # Files
//!
//! The cache directory, which the caller passes, holds a tantivy index and a small table. The
//! documents of the index are messages: their words, a few numbers to filter by, and the message
//! itself. The table has one row for each log: how it was listed, how far it was read,
//! and what is known about it. Each commit of the index names its table.
//!
//! Results are left out of logs that are read for the first time until they are needed, see
//! [`ReadResults::Later`], because most searches end without them: then a second reading adds them
//! log by log.
//!
//! # Guarantees
//!
//! Of a log that has grown only the new bytes are read. A log that was rewritten, truncated
//! or replaced is read again, and one that was deleted is left out. A last line without a line
//! break is used if it is a complete record; such a log is read again when it has grown. Of a message
//! longer than [`LONGEST_MESSAGE`] bytes only the beginning is kept, see [`CorpusMessage::length`].
//!
//! Each file has a checksum, and a panic inside of tantivy is damage: if the cache is damaged, truncated or from another version, it is rebuilt from the logs. It can be deleted at any time;
//! the next refresh rebuilds it. While another process builds it, the last commit is used. If it
//! cannot be written, the corpus is built in memory, see [`Corpus::problems`].
//!
//! A corpus is a snapshot: later builds do not change it.

mod checked;
mod directory;
mod document;
mod log_view;
mod lookup;
mod refresh;
mod table;
#[cfg(test)]
mod tests;
mod tokenizer;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use tantivy::schema::Value as _;
use tantivy::{DocAddress, Index, ReloadPolicy, Searcher, TantivyDocument, TantivyError};

use crate::core::log::{Agent, HashedProjects, LogFile, MessageKind, Origin, Role};
use crate::core::{Error, Result};

pub use document::LONGEST_MESSAGE;
pub use log_view::Log;
pub use lookup::{
    FoundMessages, FoundWords, MessageFilter, RankedMessage, Spelling, WantedForms, WantedWord,
};
pub(in crate::core) use tokenizer::index_words;

use directory::CacheDirectory;
use document::Fields;
use lookup::SegmentColumns;
use table::{Table, key_of};

/// The kinds of text, which are searched separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Conversation text: what was said and thought, and what a program put in.
    Words,
    /// Tool calls: what an agent did.
    Calls,
    /// Results of tools: what an agent read.
    Results,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Words, Self::Calls, Self::Results];

    /// Returns the part of a message of this kind.
    pub fn of(kind: MessageKind) -> Self {
        match kind {
            MessageKind::ToolCall => Self::Calls,
            MessageKind::ToolResult => Self::Results,
            MessageKind::Text | MessageKind::Thinking | MessageKind::Notice => Self::Words,
        }
    }

    fn number(self) -> usize {
        self as usize
    }
}

/// When the results of tools are read, which are most of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadResults {
    /// Now, of every log.
    Now,
    /// When they are needed: they are left out of logs that are read for the first time, unless
    /// every other log has them.
    Later,
}

/// The progress of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BuildProgress {
    /// The number of logs to read.
    pub logs: usize,
    /// The number of logs read so far.
    pub logs_done: usize,
    /// The approximate number of bytes to read.
    pub bytes: u64,
    /// The number of bytes read so far.
    pub bytes_done: u64,
}

/// Observes a build and can cancel it; called from the threads of the build.
pub trait Progress: Sync {
    /// Is called with the progress before each log.
    fn advance(&self, tally: BuildProgress);

    /// Whether to stop the build; the logs read so far are kept.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Progress for () {
    fn advance(&self, _: BuildProgress) {}
}

/// Cancels a build at a time limit, or when the client of a server no longer waits. The first build can
/// take longer: the cache keeps what was read, and the next one continues from there.
#[derive(Debug)]
pub struct Deadline<'a> {
    until: Instant,
    is_dropped: &'a AtomicBool,
}

impl<'a> Deadline<'a> {
    /// Returns the deadline of a call that begins now; `is_dropped` is set when nobody waits for it.
    pub fn new(is_dropped: &'a AtomicBool) -> Self {
        const LIMIT: Duration = Duration::from_secs(20);
        let until = Instant::now() + LIMIT;
        Self { until, is_dropped }
    }
}

impl Progress for Deadline<'_> {
    fn advance(&self, _: BuildProgress) {}

    fn is_cancelled(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// A message of the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusMessage<'a> {
    /// The log's index in [`Corpus::logs`].
    pub log: usize,
    /// The record's line in the log, from 1.
    pub line: u64,
    /// The sender.
    pub role: Role,
    /// The kind of content.
    pub kind: MessageKind,
    /// Written or injected.
    pub origin: Origin,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The text, at most [`LONGEST_MESSAGE`] bytes of it; of text that a program put in, less.
    pub text: &'a str,
    /// The size of the text in the log, in bytes.
    pub length: u64,
    /// A hash that copies of the message in other logs share: of the record's id, or of role and
    /// text if the record has none. A short text without an id may be said again and has no
    /// identity.
    pub identity: Option<u64>,
    /// The tool's name.
    pub tool: Option<&'a str>,
    /// The session it belongs to, if the log holds several.
    pub session: Option<&'a str>,
}

/// Where a message is in the corpus: in which segment of the index, and its number there. The
/// messages of a log that were read together stand side by side, without results of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageAt {
    segment: u32,
    number: u32,
}

/// The number of bits of a message's place in its log that number the messages of one line.
const OF_LINE_BITS: u32 = 16;

/// A snapshot of the text of all logs.
pub struct Corpus {
    cache: PathBuf,
    searcher: Searcher,
    fields: Fields,
    /// For each segment, opened when they are needed.
    columns: Vec<OnceLock<SegmentColumns>>,
    table: Table,
    /// The rows of the visible logs, in the order of [`Corpus::logs`].
    shown: Vec<usize>,
    /// For each owner number the index of its visible log.
    log_of_owner: FxHashMap<u64, usize>,
    /// Whether bytes were read that their file no longer has.
    has_shrunk: Arc<AtomicBool>,
    is_damaged: AtomicBool,
    /// Whether results were searched that had not been read.
    misses_results: AtomicBool,
    /// The errors of the logs that the last refresh could not read.
    unread: Vec<Error>,
    /// What it left out of the logs that it read because of a limit, each with the log's path.
    notes: Vec<String>,
    /// How many logs it did not read, because it was cancelled.
    left: usize,
    /// Why the cache could not be written, so that the next refresh reads the logs again.
    cache_error: Option<Error>,
    /// Whether another process kept the refresh from updating the cache.
    is_held_up: bool,
    /// The working directories of all logs, for logs that have only the hash of theirs.
    projects: OnceLock<HashedProjects>,
    /// The ids of all sessions with a log of their own.
    sessions: OnceLock<HashSet<String>>,
    /// The ids that several visible logs of an agent have.
    shared: OnceLock<HashSet<(u32, String)>>,
}

impl std::fmt::Debug for Corpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Corpus").finish_non_exhaustive()
    }
}

/// Returns the directory of the index.
fn index_folder(cache: &Path) -> PathBuf {
    cache.join("index")
}

/// Returns the error of the core for one of the index.
fn cache_error(cache: &Path, error: TantivyError) -> Error {
    let error = match error {
        TantivyError::IoError(error) => io::Error::new(error.kind(), error),
        other => io::Error::other(other),
    };
    Error::io(cache, error)
}

/// Runs `read`, which uses tantivy; `None` if it fails or panics, as it does on damaged files.
fn without_panic<T>(read: impl FnOnce() -> tantivy::Result<T>) -> Option<T> {
    let _quiet = crate::core::disk::fault::expect_panics();
    catch_unwind(AssertUnwindSafe(read)).ok()?.ok()
}

impl Corpus {
    /// Opens the corpus of the last build; `None` if there is none that can be used.
    pub fn open(cache: &Path) -> Option<Self> {
        let mut corpus = Self::open_without_logs(cache)?;
        corpus.show((0..corpus.table.logs.len()).collect());
        Some(corpus)
    }

    /// Opens the corpus of the last build, with no log visible.
    fn open_without_logs(cache: &Path) -> Option<Self> {
        /// Another build may delete files while they are being opened.
        const TRIES: usize = 3;
        if !index_folder(cache).exists() {
            return None;
        }
        (0..TRIES).find_map(|_| without_panic(|| Self::open_once(cache))?)
    }

    fn open_once(cache: &Path) -> tantivy::Result<Option<Self>> {
        let directory = CacheDirectory::open(&index_folder(cache))?;
        let has_shrunk = directory.shrunk();
        let mut index = Index::open(directory)?;
        if index.schema() != Fields::schema().0 {
            return Ok(None);
        }
        index.set_tokenizers(tokenizer::tokenizers());
        let payload = index.load_metas()?.payload.unwrap_or_default();
        let table = Table::load(cache, &payload);
        let Some(table) =
            table.filter(|_| checked::are_whole(cache, &index).is_ok_and(|whole| whole))
        else {
            return Ok(None);
        };
        let corpus = Self::of(cache, &index, table)?;
        Ok(Some(Self {
            has_shrunk,
            ..corpus
        }))
    }

    /// Returns the corpus of these logs, after reading what has changed in them.
    ///
    /// If nothing has changed, only opens the cache. A log that cannot be read is left out,
    /// see [`Corpus::problems`]. A log that is cached but not listed is not visible, and stays
    /// cached as long as it exists. If the cache cannot be written, the corpus is built in
    /// memory, see [`Corpus::problems`].
    pub fn refresh(
        cache: &Path,
        logs: &[LogFile],
        results: ReadResults,
        progress: &dyn Progress,
    ) -> Result<Self> {
        refresh::refresh(cache, logs, results, progress)
    }

    fn of(cache: &Path, index: &Index, table: Table) -> tantivy::Result<Self> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let searcher = reader.try_into()?.searcher();
        let segments = searcher.segment_readers().len();
        Ok(Self {
            cache: cache.to_owned(),
            columns: (0..segments).map(|_| OnceLock::new()).collect(),
            searcher,
            fields: Fields::schema().1,
            table,
            shown: Vec::new(),
            log_of_owner: FxHashMap::default(),
            has_shrunk: Arc::default(),
            is_damaged: AtomicBool::new(false),
            misses_results: AtomicBool::new(false),
            unread: Vec::new(),
            notes: Vec::new(),
            left: 0,
            cache_error: None,
            is_held_up: false,
            projects: OnceLock::new(),
            sessions: OnceLock::new(),
            shared: OnceLock::new(),
        })
    }

    /// Makes the logs of these rows visible, in this order.
    fn show(&mut self, rows: Vec<usize>) {
        self.log_of_owner = FxHashMap::with_capacity_and_hasher(rows.len(), FxBuildHasher);
        for (log, row) in rows.iter().enumerate() {
            self.log_of_owner.insert(self.table.logs[*row].owner, log);
        }
        self.shown = rows;
    }

    fn with_rows(mut self, rows: Vec<usize>) -> Self {
        self.show(rows);
        self
    }

    /// Makes these logs visible, as far as they were read.
    fn with_logs(self, logs: &[LogFile]) -> Self {
        let mut rows: HashMap<_, usize> = HashMap::with_capacity(self.table.logs.len());
        rows.extend(self.table.logs.iter().map(table::LogRow::key).zip(0..));
        let shown = logs.iter().filter_map(|log| rows.remove(&key_of(log)));
        let shown = shown.collect();
        self.with_rows(shown)
    }

    /// Makes only those of the visible logs visible that `is_kept` accepts.
    pub fn keep_logs(&mut self, is_kept: impl Fn(&Log<'_>) -> bool) {
        let kept: Vec<usize> = self
            .shown
            .iter()
            .copied()
            .filter(|row| is_kept(&Log::new(self, &self.table.logs[*row])))
            .collect();
        self.show(kept);
    }

    /// Returns the visible logs, in the order of their indices in messages.
    pub fn logs(&self) -> impl ExactSizeIterator<Item = Log<'_>> {
        let rows = self.shown.iter();
        rows.map(|row| Log::new(self, &self.table.logs[*row]))
    }

    /// Returns a visible log by its index in messages.
    pub fn log(&self, log: usize) -> Option<Log<'_>> {
        let row = self.table.logs.get(*self.shown.get(log)?)?;
        Some(Log::new(self, row))
    }

    /// Returns the id of an agent's session that is running: the one that was continued last, if that
    /// was since this time, in milliseconds since 1970 UTC.
    pub fn running_session(&self, agent: Agent, since: i64) -> Option<String> {
        let own = self.logs().filter(|log| log.agent() == Some(agent));
        let newest = own.max_by_key(Log::last_activity);
        let running = newest.filter(|log| log.last_activity() >= since);
        running.map(|log| log.id().to_owned())
    }

    /// Returns how many logs the last refresh did not read, because it was cancelled.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Returns what the last refresh could not read, left out or could not write, in a line each.
    pub fn problems(&self) -> Vec<String> {
        let unread = self.unread.iter().map(ToString::to_string);
        let cache = self.cache_error.iter();
        let cache = cache.map(|error| format!("{error}: the logs are read anew every time"));
        unread.chain(self.notes.clone()).chain(cache).collect()
    }

    /// Whether another process kept the last refresh from updating the cache; the next one waits for it
    /// again.
    pub fn is_held_up(&self) -> bool {
        self.is_held_up
    }

    /// Whether damage was found; the next refresh then reads all logs again.
    pub fn is_damaged(&self) -> bool {
        if self.has_shrunk.load(Ordering::Acquire) {
            self.report_damage();
        }
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Reads all files of the index; whether each has its checksum.
    pub fn verify(&self) -> bool {
        let damaged = without_panic(|| self.searcher.index().validate_checksum());
        let is_whole = damaged.is_some_and(|files| files.is_empty());
        if !is_whole {
            self.report_damage();
        }
        is_whole
    }

    /// Returns how many visible logs are without their results, see [`ReadResults::Later`].
    pub fn logs_without_results(&self) -> usize {
        let rows = self.shown.iter().map(|row| &self.table.logs[*row]);
        rows.filter(|row| !row.has_results).count()
    }

    /// Whether results were searched that have not been read.
    pub fn misses_results(&self) -> bool {
        self.misses_results.load(Ordering::Relaxed)
    }

    /// Takes note that a part is searched.
    fn note_search(&self, part: Part) {
        if part == Part::Results && self.logs_without_results() > 0 {
            self.misses_results.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the working directories of all logs, visible or not.
    fn projects(&self) -> &HashedProjects {
        self.projects.get_or_init(|| {
            let rows = self.table.logs.iter();
            let directories: BTreeSet<&str> = rows.filter_map(table::LogRow::cwd).collect();
            HashedProjects::new(directories)
        })
    }

    /// Whether several logs of an agent have this id, visible or not.
    fn has_shared(&self, agent: u32, id: &str) -> bool {
        let shared = self.shared.get_or_init(|| {
            let rows = self.table.logs.iter();
            let mut known = FxHashSet::default();
            rows.filter(|row| !known.insert((row.agent, row.id())))
                .map(|row| (row.agent, row.id().to_owned()))
                .collect()
        });
        !shared.is_empty() && shared.contains(&(agent, id.to_owned()))
    }

    /// Whether a hook captured a message in a session that has a log of its own, which tells it.
    pub fn is_told_by_log(&self, message: &CorpusMessage<'_>) -> bool {
        let session = message.session.filter(|_| self.is_captured(message.log));
        session.is_some_and(|session| self.has_log_of(session))
    }

    /// Whether a session has a log of its own. Some agents name their files otherwise than the session.
    pub fn has_log_of(&self, session: &str) -> bool {
        let sessions = self.sessions.get_or_init(|| {
            let mut ids = HashSet::new();
            for row in self.table.logs.iter().filter(|row| !row.is_captured()) {
                ids.insert(row.id().to_owned());
                let head = row.facts().map(|(head, _)| head);
                // The records of a subagent may name the session that started it.
                ids.extend(
                    head.filter(|head| head.parent.is_none())
                        .and_then(|head| head.session),
                );
            }
            ids
        });
        sessions.contains(session)
    }

    /// Whether the messages of a visible log were captured by hooks.
    fn is_captured(&self, log: usize) -> bool {
        let row = self.shown.get(log).map(|row| &self.table.logs[*row]);
        row.is_some_and(table::LogRow::is_captured)
    }

    /// Passes a message to `take`; `None` if its log is not visible or it is damaged.
    pub fn message<T>(
        &self,
        at: MessageAt,
        take: impl FnOnce(&CorpusMessage<'_>) -> T,
    ) -> Option<T> {
        let log = self.log_of(at)?;
        let stored: Option<TantivyDocument> = self.look(|| {
            let address = DocAddress::new(at.segment, at.number);
            self.searcher.doc(address).map(Some)
        });
        let stored = stored?;
        let (time, (role, kind, origin)) = self.outline(at)?;
        let text = |field| stored.get_first(field).and_then(|value| value.as_str());
        let shown = text(self.fields.words(Part::of(kind))).unwrap_or_default();
        let length = stored.get_first(self.fields.length);
        let message = CorpusMessage {
            log,
            line: self.line(at),
            role,
            kind,
            origin,
            time,
            text: shown,
            length: length
                .and_then(|length| length.as_u64())
                .unwrap_or(shown.len() as u64),
            identity: self.identity(at),
            tool: text(self.fields.tool),
            session: text(self.fields.session),
        };
        // What was read of a file that shrinks may be wrong.
        (!self.is_damaged()).then(|| take(&message))
    }

    /// Runs `look`, which reads the index; if that is damaged, there is nothing.
    fn look<T: Default>(&self, look: impl FnOnce() -> tantivy::Result<T>) -> T {
        without_panic(look).unwrap_or_else(|| {
            self.report_damage();
            T::default()
        })
    }

    /// Records damage and makes the index unusable, so that the next refresh rebuilds it.
    fn report_damage(&self) {
        if !self.is_damaged.swap(true, Ordering::Relaxed) && self.cache_error.is_none() {
            // If it cannot be deleted, the damage is found again.
            drop(std::fs::remove_file(
                index_folder(&self.cache).join("meta.json"),
            ));
        }
    }
}
