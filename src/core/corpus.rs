//! The corpus: the decoded text of all logs, cached on disk and updated as logs grow.
//!
//! # Files
//!
//! The cache directory, which the caller passes, holds a small manifest that is replaced
//! whole, and thirteen packs that are append-only and memory-mapped. Conversation text
//! (messages, reasoning, notices), tool calls and tool results have packs of their own.
//! Text is stored in blocks, and a message is never split between blocks. It is compressed in
//! frames: small ones for conversation text and calls, of which single messages are read, and
//! large ones for results, which are several times as much and are searched less often. Each
//! part has an index of its words, so that a search reads only what matches: that of
//! conversation text and calls has every message with a word, that of results only the blocks.
//! Packs that are half garbage are copied into new ones.
//!
//! Results are left out of logs that are read for the first time until they are needed, see
//! [`ReadResults::Later`], because most searches end without them: then a second reading adds them
//! log by log.
//!
//! # Guarantees
//!
//! Of a log that has grown only the new bytes are read. A log that was rewritten, truncated
//! or replaced is read again, and one that was deleted is left out. A last line without a line
//! break is used if it is a complete record, and is read again when it has grown. Of a message
//! longer than [`LONGEST`] bytes only the beginning is kept, see [`CorpusMessage::is_cut`].
//!
//! The cache is verified: if it is damaged, truncated or from another version, it is rebuilt
//! from the logs. It can be deleted at any time; the next refresh rebuilds it.
//!
//! If the cache cannot be written, the corpus is built in memory, see
//! [`Corpus::cache_error`].
//!
//! A corpus is a snapshot: later builds do not change it. Text that was read stays resident
//! until the corpus is dropped or [`Corpus::release`] is called.

mod block;
mod bytes;
mod frames;
mod index;
mod log_view;
mod lookup;
mod manifest;
mod mapped;
mod pack;
mod plan;
mod refresh;
mod segments;
mod source;
mod state;
mod table;
mod unpacked;
mod view;
mod worker;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::core::log::{HashedProjects, LogFile};
use crate::core::{Error, Result};

pub use block::{LONGEST, MOST_MESSAGES, MessageAttributes, key};
pub use index::{Occurrence, TextOccurrence};
pub use log_view::Log;
pub use lookup::{
    LISTS_ONLY, MessageRun, OccurrenceList, PlacedWord, Slicing, SpanLists, TextTag, WordLists,
};
pub use table::{MessageMark, MessageOutline, MessageOutlines, MessageSummary, MessageTable};
pub use view::{Block, BlockBytes, BlockContent, CorpusMessage};

use index::ReadSegment;
use manifest::{BlockRow, Manifest};
use pack::{Maps, Pack};
use unpacked::Unpacked;

/// The kinds of text, which are stored separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Conversation text: messages, reasoning, notices, injected text; its messages are indexed.
    Words,
    /// Tool calls: what an agent did; its messages are indexed.
    Calls,
    /// Results of tools: what an agent read; its blocks are indexed.
    Results,
}

/// What to do while another process or thread builds the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    /// Wait until it has finished.
    Wait,
    /// Use the last complete corpus, if there is one, else wait.
    TakeLast,
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

/// How a corpus is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildOptions {
    /// The maximum number of threads; small updates use one.
    pub threads: usize,
    /// What to do while another process or thread builds the corpus.
    pub busy: WhenBusy,
    /// When the results of tools are read.
    pub results: ReadResults,
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

/// A snapshot of the text of all logs.
#[derive(Debug)]
pub struct Corpus {
    cache: PathBuf,
    manifest: Manifest,
    maps: Maps,
    /// The rows of the visible logs, in the order of [`Corpus::logs`].
    shown: Vec<usize>,
    /// Each owner number with the index of its visible log, sorted by owner.
    owners: Vec<(u32, usize)>,
    checked: [Vec<AtomicU8>; PARTS],
    /// What has been read of each segment of the indexes.
    read: [Vec<ReadSegment>; PARTS],
    unpacked: Unpacked,
    is_damaged: AtomicBool,
    /// Whether results were searched that had not been read.
    misses_results: AtomicBool,
    unread: Vec<Error>,
    notes: Vec<String>,
    unkept: Option<Error>,
    /// The working directories of all logs, for logs that have only the hash of theirs.
    projects: OnceLock<HashedProjects>,
}

/// The number of parts.
const PARTS: usize = Part::ALL.len();

impl Part {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Words, Self::Calls, Self::Results];

    pub(in crate::core) fn number(self) -> usize {
        match self {
            Self::Words => 0,
            Self::Calls => 1,
            Self::Results => 2,
        }
    }

    /// Whether the index has the messages of this part, so that forms of words are counted
    /// without reading the text; else it has only the blocks.
    pub fn has_concordance(self) -> bool {
        self != Self::Results
    }
}

/// The corpus of the last build, if it was opened before its logs were listed.
#[derive(Debug, Default)]
pub struct LastBuild(Option<Corpus>);

impl LastBuild {
    /// Opens it.
    pub fn open(cache: &Path) -> Self {
        Self(Corpus::open_without_logs(cache))
    }
}

impl Corpus {
    /// Opens the corpus of the last build; `None` if there is none that can be used.
    pub fn open(cache: &Path) -> Option<Self> {
        let corpus = Self::open_without_logs(cache)?;
        let all: Vec<usize> = (0..corpus.manifest.logs.len()).collect();
        Some(corpus.with_rows(&all))
    }

    /// Opens the corpus of the last build, with no log visible.
    fn open_without_logs(cache: &Path) -> Option<Self> {
        // Packs may be replaced after the manifest is read and before they are opened.
        const TRIES: usize = 3;
        (0..TRIES).find_map(|_| {
            let manifest = Manifest::load(cache)?;
            let maps = Maps::open(cache, manifest.generation, manifest.lengths)?;
            Some(Self::new(cache, manifest, maps))
        })
    }

    /// Returns the corpus of these logs, after reading what has changed in them.
    ///
    /// If nothing has changed, only opens the cache. A log that cannot be read is left out,
    /// see [`Corpus::unread`]. A log that is cached but not listed is not visible, and stays
    /// cached as long as it exists. If the cache cannot be written, the corpus is built in
    /// memory, see [`Corpus::cache_error`].
    pub fn refresh(
        cache: &Path,
        logs: &[LogFile],
        options: BuildOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::refresh_last((cache, LastBuild::default()), logs, options, progress)
    }

    /// As [`Corpus::refresh`], if the last build may have been opened already.
    pub fn refresh_last(
        cache: (&Path, LastBuild),
        logs: &[LogFile],
        options: BuildOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        refresh::refresh(cache, logs, options, progress)
    }

    fn new(cache: &Path, manifest: Manifest, maps: Maps) -> Self {
        let unchecked = |count: usize| (0..count).map(|_| AtomicU8::new(0)).collect();
        Self {
            cache: cache.to_owned(),
            checked: Part::ALL.map(|part| unchecked(manifest.blocks[part.number()].len())),
            read: Part::ALL.map(|part| {
                let segments = manifest.segments[part.number()].iter();
                segments.map(ReadSegment::none).collect()
            }),
            manifest,
            maps,
            unpacked: Unpacked::default(),
            shown: Vec::new(),
            owners: Vec::new(),
            is_damaged: AtomicBool::new(false),
            misses_results: AtomicBool::new(false),
            unread: Vec::new(),
            notes: Vec::new(),
            unkept: None,
            projects: OnceLock::new(),
        }
    }

    /// Makes only the logs of these rows visible, in this order.
    fn with_rows(mut self, rows: &[usize]) -> Self {
        self.shown = rows.to_vec();
        self.owners = Vec::with_capacity(rows.len());
        for (log, row) in rows.iter().enumerate() {
            let row = &self.manifest.logs[*row];
            let owners = [row.owner, row.tail_owner].into_iter();
            self.owners
                .extend(owners.filter(|owner| *owner != 0).map(|owner| (owner, log)));
        }
        self.owners.sort_unstable();
        self
    }

    /// Sets the error because of which the corpus is only in memory.
    fn in_memory(mut self, why: Error) -> Self {
        self.unkept = Some(why);
        self
    }

    /// Sets the errors of the logs that could not be read, and what was left out of others.
    fn with_unread(mut self, unread: Vec<Error>, notes: Vec<String>) -> Self {
        self.unread = unread;
        self.notes = notes;
        self
    }

    /// Returns the visible logs, in the order of their indices in messages.
    pub fn logs(&self) -> impl ExactSizeIterator<Item = Log<'_>> {
        self.shown.iter().map(|row| Log {
            corpus: self,
            row: &self.manifest.logs[*row],
        })
    }

    /// Returns a visible log by its index in messages.
    pub fn log(&self, log: usize) -> Option<Log<'_>> {
        let row = self.manifest.logs.get(*self.shown.get(log)?)?;
        Some(Log { corpus: self, row })
    }

    /// Returns the blocks of a part; the messages of a log are in the order of the log.
    pub fn blocks(&self, part: Part) -> impl ExactSizeIterator<Item = Block<'_>> {
        let rows = self.manifest.blocks[part.number()].iter();
        rows.enumerate().map(move |(number, row)| Block {
            corpus: self,
            row,
            part,
            number,
        })
    }

    /// Returns one block by its number.
    pub fn block(&self, part: Part, number: usize) -> Option<Block<'_>> {
        let row = self.manifest.blocks[part.number()].get(number)?;
        Some(Block {
            corpus: self,
            row,
            part,
            number,
        })
    }

    /// Releases the memory of blocks that were read; they can be read again.
    ///
    /// For searches that read many blocks.
    pub fn release(&self, part: Part, blocks: Range<usize>) {
        self.release_outlines(part, blocks.clone());
        self.release_pack(Pack::Texts(part), blocks.clone(), |block| {
            (block.text_at, u64::from(block.shape.stored))
        });
        self.release_pack(Pack::Tables(part), blocks, |block| {
            (block.table_at, block.shape.rows())
        });
    }

    /// Like [`Corpus::release`], for blocks of which only the outlines were read.
    pub fn release_outlines(&self, part: Part, blocks: Range<usize>) {
        self.release_pack(Pack::Outlines(part), blocks, |block| {
            (block.head_at, block.shape.head())
        });
    }

    /// Releases what a pack of a part holds of some blocks; `place` returns its offset and its size
    /// for a block.
    fn release_pack(
        &self,
        pack: Pack,
        blocks: Range<usize>,
        place: impl Fn(&BlockRow) -> (u64, u64),
    ) {
        let (Pack::Texts(part) | Pack::Outlines(part) | Pack::Tables(part)) = pack else {
            return;
        };
        let rows = self.manifest.blocks[part.number()].get(blocks);
        if let Some((first, last)) = rows.and_then(|rows| rows.first().zip(rows.last())) {
            let (from, (last_at, length)) = (place(first).0, place(last));
            let to = last_at + length;
            self.maps.release(pack, from, to.saturating_sub(from));
        }
    }

    /// Returns the errors of the logs that the last refresh could not read.
    pub fn unread(&self) -> &[Error] {
        &self.unread
    }

    /// Returns what the last refresh left out of the logs that it read because of a limit, each with
    /// the log's path.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns why the cache could not be written, so that the next refresh reads the logs again;
    /// `None` if it was written.
    pub fn cache_error(&self) -> Option<&Error> {
        self.unkept.as_ref()
    }

    /// Whether damage was found; the next refresh then reads all logs again.
    pub fn is_damaged(&self) -> bool {
        if self.maps.have_shrunk() {
            self.report_damage();
        }
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Returns how many visible logs are without their results, see [`ReadResults::Later`].
    pub fn logs_without_results(&self) -> usize {
        let rows = self.shown.iter().map(|row| &self.manifest.logs[*row]);
        rows.filter(|row| !row.has_results).count()
    }

    /// Whether results were searched that have not been read.
    pub fn misses_results(&self) -> bool {
        self.misses_results.load(Ordering::Relaxed)
    }

    /// Takes note that a part is searched.
    pub(in crate::core) fn note_search(&self, part: Part) {
        if part == Part::Results && self.logs_without_results() > 0 {
            self.misses_results.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the working directories of all logs, visible or not.
    fn projects(&self) -> &HashedProjects {
        self.projects.get_or_init(|| {
            let rows = self.manifest.logs.iter();
            let cwds: BTreeSet<&str> = rows
                .filter_map(|row| std::str::from_utf8(self.manifest.string(row.cwd)).ok())
                .collect();
            HashedProjects::new(cwds)
        })
    }

    fn content(&self, part: Part, number: usize) -> Option<BlockContent<'_>> {
        self.block(part, number)?.read()
    }

    /// Records damage and deletes the manifest, so that the next refresh rebuilds the cache.
    fn report_damage(&self) {
        if !self.is_damaged.swap(true, Ordering::Relaxed) {
            Manifest::discard(&self.cache);
        }
    }

    /// Returns the index of the visible log with this owner number.
    fn owned_by(&self, owner: u32) -> Option<usize> {
        // Owners are numbered from 1 and few are missing: this guess is mostly right.
        let guess = self.owners.get((owner as usize).wrapping_sub(1));
        if let Some((_, log)) = guess.filter(|(known, _)| *known == owner) {
            return Some(*log);
        }
        let at = self
            .owners
            .binary_search_by_key(&owner, |(owner, _)| *owner);
        at.ok().map(|at| self.owners[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Write;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::core::foreign::LONGEST_RECORD;
    use crate::core::log::{self, Agent};
    use crate::core::text::{fold, words};

    const WAIT: BuildOptions = BuildOptions {
        threads: 2,
        busy: WhenBusy::Wait,
        results: ReadResults::Now,
    };

    /// A directory of logs and a cache, with a clock that advances with every change.
    struct TestCache {
        root: TempDir,
        now: i64,
    }

    impl TestCache {
        fn new() -> Self {
            let root = TempDir::new().expect("a temporary directory can be made");
            Self { root, now: 0 }
        }

        fn cache(&self) -> PathBuf {
            self.root.path().join("cache")
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        /// Changes the file's bytes, and lists it with a new modification time.
        fn change(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> LogFile {
            let path = self.path(name);
            let mut bytes = fs::read(&path).unwrap_or_default();
            let before = bytes.len();
            change(&mut bytes);
            if bytes.len() >= before && before > 0 {
                // Like an agent: the file grows in place.
                let mut file = fs::OpenOptions::new()
                    .write(true)
                    .open(&path)
                    .expect("it is there");
                file.write_all(&bytes).expect("it can be written");
            } else {
                fs::write(&path, &bytes).expect("it can be written");
            }
            self.now += 1;
            self.list(name)
        }

        fn list(&self, name: &str) -> LogFile {
            let path = self.path(name);
            LogFile {
                agent: Agent::ClaudeCode,
                id: name.to_owned(),
                parent: None,
                title: None,
                size: fs::metadata(&path).map_or(0, |metadata| metadata.len()),
                modified: Some(self.now),
                start: log::LogStart::default(),
                path,
            }
        }

        fn refresh(&self, logs: &[LogFile]) -> Corpus {
            Corpus::refresh(&self.cache(), logs, WAIT, &()).expect("the corpus can be built")
        }

        fn refresh_without_results(&self, logs: &[LogFile]) -> Corpus {
            let options = BuildOptions {
                results: ReadResults::Later,
                ..WAIT
            };
            Corpus::refresh(&self.cache(), logs, options, &()).expect("the corpus can be built")
        }
    }

    fn prompt(text: &str) -> String {
        let text = serde_json::to_string(text).expect("a string is JSON");
        format!(
            r#"{{"type":"user","uuid":"u{0}","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","sessionId":"s","message":{{"role":"user","content":{text}}}}}"#,
            text.len()
        ) + "\n"
    }

    fn result(text: &str) -> String {
        let text = serde_json::to_string(text).expect("a string is JSON");
        format!(
            r#"{{"type":"user","uuid":"r","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{text}}}]}}}}"#
        ) + "\n"
    }

    fn reply(text: &str) -> String {
        let text = serde_json::to_string(text).expect("a string is JSON");
        format!(
            r#"{{"type":"assistant","uuid":"a","message":{{"id":"m1","role":"assistant","content":[{{"type":"thinking","thinking":"hm {0}"}},{{"type":"text","text":{text}}},{{"type":"tool_use","name":"Bash","input":{{"command":{text}}}}}]}}}}"#,
            text.len()
        ) + "\n"
    }

    /// Returns the messages of a part of a log, in order, as [`shown`].
    fn messages_of(corpus: &Corpus, log: usize, part: Part) -> Vec<String> {
        let blocks = corpus
            .blocks(part)
            .filter(|block| block.logs().any(|one| one == log));
        let mut messages = Vec::new();
        for content in blocks.filter_map(|block| block.read()) {
            let all = content.messages().map(|(_, message)| message);
            messages.extend(all.filter(|message| message.log == log).map(shown));
        }
        messages
    }

    /// Returns all that the corpus knows of a message.
    fn shown(message: CorpusMessage<'_>) -> String {
        format!("{message:?}")
    }

    /// Returns where the index has a folded word: block and message.
    fn occurrences(corpus: &Corpus, part: Part, word: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut lists = WordLists::new(corpus, part);
        lists.add(word, ());
        lists.each_span(0..corpus.spans(part), &mut |lists| {
            lists.each(&mut |(), occurrence| {
                found.push((occurrence.block, occurrence.message));
            });
        });
        found
    }

    /// Compares the corpus with the transcripts of the logs that can be read.
    fn check(corpus: &Corpus, logs: &[LogFile]) -> Result<(), TestCaseError> {
        let read = logs
            .iter()
            .filter_map(|log| Some((log, log::read(log).ok()?)));
        let mut count = 0;
        for (log, transcript) in read {
            count += 1;
            let found = corpus.logs().position(|one| one.path() == log.path);
            prop_assert!(found.is_some(), "{} is missing", log.path.display());
            let found = found.unwrap_or_default();
            for part in Part::ALL {
                let row = corpus.log(found).expect("it was found").row;
                let is_read = part != Part::Results || row.has_results;
                let all = transcript.messages.iter();
                let expected: Vec<String> = all
                    .filter(|message| is_read && Part::of(message.kind) == part)
                    .map(|message| CorpusMessage {
                        log: found,
                        ..CorpusMessage::of(message)
                    })
                    .map(shown)
                    .collect();
                prop_assert_eq!(messages_of(corpus, found, part), expected);
            }
            let one = corpus.log(found).expect("it was found");
            prop_assert_eq!(one.turns(), transcript.head.turns);
            prop_assert_eq!(one.cwd(), transcript.head.cwd.as_deref());
            let facts = one.facts();
            prop_assert_eq!(facts, Some((transcript.head, transcript.skipped)));
        }
        prop_assert_eq!(corpus.logs().len(), count);
        check_index(corpus)?;
        prop_assert!(!corpus.is_damaged());
        Ok(())
    }

    /// Compares the index with the words of all blocks.
    fn check_index(corpus: &Corpus) -> Result<(), TestCaseError> {
        for part in Part::ALL {
            let mut expected: BTreeMap<String, BTreeSet<(usize, usize)>> = BTreeMap::new();
            expected.insert("absent".to_owned(), BTreeSet::new());
            for block in corpus.blocks(part) {
                let content = block.read().expect("it is whole");
                for number in 0..content.count() {
                    let (_, message) = content.row(number).expect("it is whole");
                    let number = if part.has_concordance() { number } else { 0 };
                    for word in words(message.text) {
                        let places = expected.entry(fold(word.text).into_owned()).or_default();
                        places.insert((block.number(), number));
                    }
                }
            }
            for (word, places) in expected {
                let found = occurrences(corpus, part, &word);
                prop_assert_eq!(found.len(), places.len(), "{}", &word);
                prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), places);
            }
        }
        Ok(())
    }

    fn assert_right(corpus: &Corpus, logs: &[LogFile]) {
        check(corpus, logs).expect("the corpus is what the logs say");
    }

    #[derive(Debug, Clone)]
    enum Step {
        Append(usize, Vec<String>),
        Cut(usize, prop::sample::Index),
        Rewrite(usize, Vec<String>),
        Remove(usize),
        Compress(usize),
        ForgetCache,
    }

    fn record() -> impl Strategy<Value = String> {
        let text = "[a-zA-Z äé数\"\\\\\n\u{1b}]{1,60}";
        prop_oneof![
            4 => text.prop_map(|text| prompt(&text)),
            4 => text.prop_map(|text| reply(&text)),
            4 => text.prop_map(|text| result(&text)),
            1 => "[a-z]{1,8}".prop_map(|title| format!(r#"{{"type":"ai-title","aiTitle":"{title}"}}"#) + "\n"),
            1 => Just("\n".to_owned()),
            1 => Just("{\"type\":\"user\",\"mess\n".to_owned()),
            1 => text.prop_map(|text| prompt(&text).trim_end().to_owned()),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        let records = || prop::collection::vec(record(), 1..6);
        prop_oneof![
            6 => (0usize..3, records()).prop_map(|(log, records)| Step::Append(log, records)),
            2 => (0usize..3, any::<prop::sample::Index>()).prop_map(|(log, at)| Step::Cut(log, at)),
            1 => (0usize..3, records()).prop_map(|(log, records)| Step::Rewrite(log, records)),
            1 => (0usize..3).prop_map(Step::Remove),
            1 => (0usize..3).prop_map(Step::Compress),
            1 => Just(Step::ForgetCache),
        ]
    }

    fn take(home: &mut TestCache, names: &mut [String; 3], step: Step) -> Option<LogFile> {
        match step {
            Step::Append(log, records) if !names[log].ends_with(".zst") => {
                let all = records.concat();
                Some(home.change(&names[log], |bytes| bytes.extend_from_slice(all.as_bytes())))
            }
            Step::Cut(log, at) => Some(home.change(&names[log], |bytes| {
                if !bytes.is_empty() {
                    bytes.truncate(at.index(bytes.len()));
                }
            })),
            Step::Rewrite(log, records) if !names[log].ends_with(".zst") => {
                Some(home.change(&names[log], |bytes| *bytes = records.concat().into_bytes()))
            }
            Step::Remove(log) => {
                // It may not exist.
                let _ = fs::remove_file(home.path(&names[log]));
                None
            }
            Step::Compress(log) if !names[log].ends_with(".zst") => {
                let old = home.path(&names[log]);
                let bytes = fs::read(&old).ok()?;
                names[log].push_str(".zst");
                let packed = zstd::encode_all(bytes.as_slice(), 1).expect("memory is enough");
                fs::remove_file(old).expect("it is there");
                Some(home.change(&names[log], |bytes| *bytes = packed))
            }
            Step::ForgetCache => {
                // It may not exist.
                let _ = fs::remove_dir_all(home.cache());
                None
            }
            _ => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn after_any_changes_the_corpus_is_what_a_fresh_reading_gives(
            steps in prop::collection::vec((step(), any::<bool>()), 1..14),
        ) {
            let mut home = TestCache::new();
            let mut names = ["a.jsonl", "b.jsonl", "c.jsonl"].map(str::to_owned);
            let mut logs: Vec<LogFile> = Vec::new();
            for (step, is_later) in steps {
                if let Some(log) = take(&mut home, &mut names, step) {
                    logs.retain(|known| known.id.trim_end_matches(".zst") != log.id.trim_end_matches(".zst"));
                    logs.push(log);
                }
                logs.retain(|log| log.path.exists());
                let corpus = match is_later {
                    true => home.refresh_without_results(&logs),
                    false => home.refresh(&logs),
                };
                check(&corpus, &logs)?;
                prop_assert!(is_later || corpus.logs_without_results() == 0);
                let opened = Corpus::open(&home.cache());
                if !logs.is_empty() {
                    check(&opened.expect("it was just built"), &logs)?;
                }
            }
        }

        #[test]
        fn the_index_has_every_word_of_any_text(
            texts in prop::collection::vec("\\PC{0,200}", 1..20),
        ) {
            let mut home = TestCache::new();
            let all: String = texts.iter().map(|text| prompt(text) + &result(text)).collect();
            let log = home.change("a.jsonl", |bytes| *bytes = all.into_bytes());
            check_index(&home.refresh(&[log]))?;
        }

        #[test]
        fn a_damaged_cache_is_never_a_panic_and_is_repaired(
            file in any::<prop::sample::Index>(),
            flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 0..4),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut home = TestCache::new();
            let text = prompt("first words") + &reply("an answer") + &result("some output");
            let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
            let logs = [log];
            drop(home.refresh(&logs));
            let entries = fs::read_dir(home.cache()).expect("it was made");
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.sort();
            let path = &files[file.index(files.len())];
            let mut bytes = fs::read(path).expect("it is there");
            if !bytes.is_empty() {
                for (at, bit) in flips {
                    let at = at.index(bytes.len());
                    bytes[at] ^= 1u8 << bit;
                }
                if let Some(cut) = cut {
                    bytes.truncate(cut.index(bytes.len()));
                }
            }
            fs::write(path, bytes).expect("it can be written");
            if let Some(corpus) = Corpus::open(&home.cache()) {
                for part in Part::ALL {
                    let mut all = WordLists::new(&corpus, part);
                    all.add_forms("", &mut |_| Some(()));
                    all.each_span(0..corpus.spans(part), &mut |lists| lists.each(&mut |(), _| {}));
                    messages_of(&corpus, 0, part);
                }
                corpus.logs().for_each(|log| drop(log.facts()));
            }
            check(&home.refresh(&logs), &logs)?;
        }
    }

    #[test]
    fn results_are_added_to_logs_that_were_read_without_them() {
        let mut home = TestCache::new();
        let old = prompt("a question") + &result("some output") + &reply("an answer");
        let tail = result("more output").trim_end().to_owned();
        let a = home.change("a.jsonl", |bytes| {
            *bytes = (old.clone() + &tail).into_bytes()
        });
        let b = home.change("b.jsonl", |bytes| *bytes = old.clone().into_bytes());
        let texts = |corpus: &Corpus, log: usize| {
            Part::ALL.map(|part| messages_of(corpus, log, part).len())
        };
        let light = home.refresh_without_results(&[a.clone(), b.clone()]);
        assert_eq!(light.logs_without_results(), 2);
        assert_eq!([texts(&light, 0), texts(&light, 1)], [[3, 1, 0]; 2]);
        light.note_search(Part::Calls);
        assert!(!light.misses_results());
        light.note_search(Part::Results);
        assert!(light.misses_results());
        // One that has grown is still without them.
        let b = home.change("b.jsonl", |bytes| bytes.extend_from_slice(old.as_bytes()));
        let logs = [a, b];
        assert_eq!(
            home.refresh_without_results(&logs).logs_without_results(),
            2
        );
        let whole = home.refresh(&logs);
        assert_right(&whole, &logs);
        assert_eq!([texts(&whole, 0), texts(&whole, 1)], [[3, 1, 2], [6, 2, 2]]);
        // A new one is read with them, because all others have them.
        let c = home.change("c.jsonl", |bytes| *bytes = old.into_bytes());
        let [a, b] = logs;
        let more = home.refresh_without_results(&[a, b, c]);
        assert_eq!(more.logs_without_results(), 0);
        assert_eq!(texts(&more, 2), [3, 1, 1]);
    }

    #[test]
    fn a_log_that_has_grown_is_not_read_from_its_beginning() {
        let mut home = TestCache::new();
        let old: String = (0..200)
            .map(|n| prompt(&format!("prompt number {n}")))
            .collect();
        let log = home.change("a.jsonl", |bytes| *bytes = old.clone().into_bytes());
        home.refresh(&[log]);
        // Far from both ends, where only reading the whole log would detect it.
        let log = home.change("a.jsonl", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 400].fill(b'x');
            bytes.extend_from_slice(prompt("the new one").as_bytes());
        });
        let corpus = home.refresh(&[log]);
        let messages = messages_of(&corpus, 0, Part::Words);
        assert_eq!(messages.len(), 201);
        assert!(messages[99].contains("\"prompt number 99\""));
        assert!(messages[200].contains("\"the new one\""));
    }

    #[test]
    fn a_log_that_was_replaced_by_a_longer_one_is_read_again() {
        let mut home = TestCache::new();
        let old: String = (0..200)
            .map(|n| prompt(&format!("prompt number {n}")))
            .collect();
        let log = home.change("a.jsonl", |bytes| *bytes = old.clone().into_bytes());
        home.refresh(&[log]);
        let new = old.replace("number 100", "Nummer 100") + &prompt("the new one");
        fs::write(home.path("b"), new).expect("it can be written");
        fs::rename(home.path("b"), home.path("a.jsonl")).expect("it can be moved");
        let logs = [home.change("a.jsonl", |_| {})];
        assert_right(&home.refresh(&logs), &logs);
    }

    #[test]
    fn a_last_line_without_an_end_counts_once_it_is_a_whole_record() {
        let mut home = TestCache::new();
        let second = prompt("second");
        let (half, rest) = second.trim_end().split_at(60);
        let mut counts = Vec::new();
        for piece in [prompt("first").as_str(), half, rest, "\n", &prompt("third")] {
            let log = home.change("a.jsonl", |bytes| bytes.extend_from_slice(piece.as_bytes()));
            let logs = [log];
            let corpus = home.refresh(&logs);
            assert_right(&corpus, &logs);
            counts.push(messages_of(&corpus, 0, Part::Words).len());
        }
        assert_eq!(counts, [1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_log_that_vanishes_after_it_was_listed_is_left_out() {
        let mut home = TestCache::new();
        let kept = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
        let gone = home.change("b.jsonl", |bytes| *bytes = prompt("two").into_bytes());
        fs::remove_file(&gone.path).expect("it is there");
        let corpus = home.refresh(&[kept.clone(), gone]);
        assert_right(&corpus, &[kept]);
        assert!(corpus.unread().is_empty());
    }

    #[test]
    fn a_log_that_is_compressed_after_it_was_listed_is_read_all_the_same() {
        let mut home = TestCache::new();
        let text = prompt("words") + &result("output");
        let log = home.change("a.jsonl", |bytes| *bytes = text.clone().into_bytes());
        let packed = zstd::encode_all(text.as_bytes(), 1).expect("memory is enough");
        fs::write(home.path("a.jsonl.zst"), packed).expect("it can be written");
        fs::remove_file(&log.path).expect("it is there");
        let logs = [log];
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        assert_eq!(messages_of(&corpus, 0, Part::Results).len(), 1);
    }

    #[test]
    fn a_log_that_cannot_be_read_is_named_and_left_out() {
        let mut home = TestCache::new();
        let good = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
        fs::create_dir(home.path("b.jsonl")).expect("it can be made");
        let bad = home.list("b.jsonl");
        let corpus = home.refresh(&[good.clone(), bad.clone()]);
        assert_right(&corpus, &[good]);
        let [error] = corpus.unread() else {
            panic!("one log is unread, not {:?}", corpus.unread());
        };
        assert!(error.to_string().contains("b.jsonl"), "{error}");
    }

    #[test]
    fn a_record_that_is_too_long_costs_only_itself_and_is_told() {
        let mut home = TestCache::new();
        let mut bytes = prompt("one").into_bytes();
        bytes.resize(bytes.len() + LONGEST_RECORD, b' ');
        let start = bytes.len();
        bytes.extend_from_slice(b"\n");
        bytes.extend_from_slice(prompt("two").as_bytes());
        // Another one, without a line break, at the end.
        bytes.resize(bytes.len() + 2 * LONGEST_RECORD, 0);
        let log = home.change("a.jsonl", |old| *old = bytes.clone());
        let logs = [log];
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        let lines = |corpus: &Corpus| {
            let content = corpus.block(Part::Words, 0).and_then(|block| block.read());
            let content = content.expect("there is one");
            let lines = content.messages().map(|(_, message)| message.line);
            lines.collect::<Vec<_>>()
        };
        assert_eq!(lines(&corpus), [1, 3]);
        let skipped = |corpus: &Corpus| {
            let facts = corpus.log(0).and_then(|log| log.facts());
            facts.expect("sound").1.too_long
        };
        assert_eq!(skipped(&corpus), 2);
        let [note] = corpus.notes() else {
            panic!("{:?}", corpus.notes());
        };
        assert!(
            note.contains("a.jsonl: 2 of its records are longer than 32 MB"),
            "{note}"
        );
        // Reading continues after it, also if only its end is new.
        let log = home.change("a.jsonl", |old| {
            old.push(b'\n');
            old.extend_from_slice(prompt("three").as_bytes());
        });
        let logs = [log];
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        assert_eq!((lines(&corpus), skipped(&corpus)), (vec![1, 3, 5], 2));
        assert!(start > LONGEST_RECORD);
    }

    #[cfg(unix)]
    #[test]
    fn packs_that_shrink_while_they_are_read_are_damage_and_are_rebuilt() {
        let mut home = TestCache::new();
        let words = |n: usize| format!("answer number {n} {}", "padding ".repeat(400));
        let text: String = (0..400)
            .map(|n| reply(&words(n)) + &result(&words(n)))
            .collect();
        let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
        let logs = [log];
        drop(home.refresh(&logs));
        /// The length to which a pack is cut; one without content is no longer.
        const CUT: u64 = 20;
        let packs = |home: &TestCache| {
            let entries = fs::read_dir(home.cache()).expect("it was made");
            let paths = entries.flatten().map(|entry| entry.path());
            let is_full = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > CUT);
            let mut packs: Vec<PathBuf> = paths
                .filter(|path| path.extension().is_some_and(|ending| ending == "pack"))
                .filter(is_full)
                .collect();
            packs.sort();
            packs
        };
        let count = packs(&home).len();
        assert!(count >= 4, "{:?}", packs(&home));
        for pack in 0..count {
            let corpus = home.refresh(&logs);
            let packs = packs(&home);
            let file = fs::OpenOptions::new().write(true).open(&packs[pack]);
            file.and_then(|file| file.set_len(CUT)).expect("cut");
            for part in Part::ALL {
                occurrences(&corpus, part, "answer");
                messages_of(&corpus, 0, part);
            }
            corpus.logs().for_each(|log| drop(log.facts()));
            assert!(corpus.is_damaged(), "{}", packs[pack].display());
            assert_right(&home.refresh(&logs), &logs);
        }
    }

    #[test]
    fn logs_that_were_not_listed_are_hidden_and_stay_cached() {
        struct Never;
        impl Progress for Never {
            fn advance(&self, tally: BuildProgress) {
                panic!("nothing is to be read, but {tally:?}");
            }
        }
        let mut home = TestCache::new();
        let a = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
        let b = home.change("b.jsonl", |bytes| *bytes = prompt("two").into_bytes());
        let all = [a.clone(), b];
        home.refresh(&all);
        let some = std::slice::from_ref(&a);
        let one = Corpus::refresh(&home.cache(), some, WAIT, &Never);
        assert_right(&one.expect("it can be opened"), some);
        let both = Corpus::refresh(&home.cache(), &all, WAIT, &Never);
        assert_right(&both.expect("it can be opened"), &all);
    }

    #[test]
    fn a_cancelled_build_keeps_what_it_has_read() {
        struct AfterOne(std::sync::atomic::AtomicUsize);
        impl Progress for AfterOne {
            fn advance(&self, tally: BuildProgress) {
                self.0.store(tally.logs_done, Ordering::Relaxed);
            }
            fn is_cancelled(&self) -> bool {
                self.0.load(Ordering::Relaxed) > 0
            }
        }
        let mut home = TestCache::new();
        let logs: Vec<LogFile> = (0..4)
            .map(|n| home.change(&format!("{n}.jsonl"), |b| *b = prompt("words").into_bytes()))
            .collect();
        let progress = AfterOne(Default::default());
        let part = Corpus::refresh(&home.cache(), &logs, WAIT, &progress);
        assert_eq!(part.expect("it can be built").logs().len(), 1);
        assert_right(&home.refresh(&logs), &logs);
    }

    #[test]
    fn deleting_the_cache_during_a_build_changes_nothing_but_time() {
        struct Deletes(PathBuf);
        impl Progress for Deletes {
            fn advance(&self, _: BuildProgress) {
                // Fails the second time, when there is nothing to delete.
                let _ = fs::remove_dir_all(&self.0);
            }
        }
        let mut home = TestCache::new();
        let log = home.change("a.jsonl", |bytes| *bytes = prompt("words").into_bytes());
        let logs = [log];
        let corpus = Corpus::refresh(&home.cache(), &logs, WAIT, &Deletes(home.cache()));
        assert_right(&corpus.expect("it can be built"), &logs);
        assert_right(&home.refresh(&logs), &logs);
    }

    #[test]
    fn several_builders_and_readers_at_once_all_see_whole_logs() {
        let mut home = TestCache::new();
        let logs: Vec<LogFile> = (0..12)
            .map(|n| {
                let text: String = (0..40)
                    .map(|m| prompt(&format!("log {n} line {m}")))
                    .collect();
                home.change(&format!("{n}.jsonl"), |bytes| *bytes = text.into_bytes())
            })
            .collect();
        std::thread::scope(|scope| {
            for some in logs.chunks(6).chain(logs.chunks(4)) {
                let home = &home;
                scope.spawn(move || assert_right(&home.refresh(some), some));
            }
            scope.spawn(|| {
                for corpus in (0..50).filter_map(|_| Corpus::open(&home.cache())) {
                    for (at, log) in corpus.logs().enumerate() {
                        assert_eq!(
                            messages_of(&corpus, at, Part::Words).len(),
                            40,
                            "{}",
                            log.id()
                        );
                    }
                }
            });
        });
        assert_right(&home.refresh(&logs), &logs);
    }

    #[test]
    fn without_a_cache_that_can_be_written_the_logs_are_read_all_the_same() {
        let mut home = TestCache::new();
        let text = prompt("first words") + &reply("an answer") + &result("some output");
        let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
        let logs = [log];
        // A file in place of the directory, which even root cannot write into.
        fs::write(home.cache(), "in the way").expect("it can be written");
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        let why = corpus.cache_error().expect("it is not kept").to_string();
        assert!(why.contains("cache"), "{why}");
        assert!(Corpus::open(&home.cache()).is_none());
        fs::remove_file(home.cache()).expect("it is there");
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        assert!(corpus.cache_error().is_none());
    }

    #[test]
    fn a_pack_that_cannot_be_written_on_costs_no_words() {
        let mut home = TestCache::new();
        let old = home.change("a.jsonl", |bytes| *bytes = prompt("old").into_bytes());
        home.refresh(&[old]);
        let logs = [home.change("a.jsonl", |b| b.extend_from_slice(prompt("new").as_bytes()))];
        // A directory that cannot be replaced by the manifest, which fails as on a full disk.
        let manifest = home.cache().join("catalogue");
        fs::remove_file(&manifest).expect("it is there");
        fs::create_dir_all(manifest.join("x")).expect("it can be made");
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        assert!(corpus.cache_error().is_some());
        let packs = fs::read_dir(home.cache()).expect("it is there").flatten();
        let packs = packs.filter(|entry| entry.path().extension().is_some_and(|e| e == "pack"));
        assert_eq!(packs.count(), 0, "what is of no use is left behind");
        fs::remove_dir_all(manifest).expect("it is there");
        assert_right(&home.refresh(&logs), &logs);
    }

    #[test]
    fn while_another_builds_the_last_corpus_is_taken() {
        let mut home = TestCache::new();
        let old = home.change("a.jsonl", |bytes| *bytes = prompt("old").into_bytes());
        home.refresh(&[old]);
        let lock = fs::File::create(home.cache().join("lock")).expect("it can be opened");
        lock.lock().expect("it is free");
        let new = home.change("a.jsonl", |b| b.extend_from_slice(prompt("new").as_bytes()));
        let options = BuildOptions {
            threads: 1,
            busy: WhenBusy::TakeLast,
            results: ReadResults::Now,
        };
        let logs = [new];
        let corpus = Corpus::refresh(&home.cache(), &logs, options, &());
        let corpus = corpus.expect("there is a last one");
        assert_eq!(messages_of(&corpus, 0, Part::Words).len(), 1);
        drop(lock);
        assert_right(&home.refresh(&logs), &logs);
    }

    #[test]
    fn packs_that_are_half_garbage_are_replaced() {
        let mut home = TestCache::new();
        let kept = home.change("kept.jsonl", |bytes| *bytes = prompt("kept").into_bytes());
        let mut sizes = Vec::new();
        let mut old = None;
        for round in 0..8 {
            let text: String = (0..700)
                .map(|n| prompt(&format!("{round} {n} ").repeat(100)))
                .collect();
            let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
            let logs = [kept.clone(), log];
            let corpus = home.refresh(&logs);
            assert_right(&corpus, &logs);
            let entries = fs::read_dir(home.cache()).expect("it is there").flatten();
            sizes.push(
                entries
                    .filter_map(|entry| entry.metadata().ok())
                    .map(|m| m.len())
                    .sum(),
            );
            // A reader keeps its old generation.
            old.get_or_insert(corpus);
        }
        let first: u64 = sizes[0];
        assert!(sizes.iter().all(|size| *size < 4 * first), "{sizes:?}");
        let old = old.expect("there was a first one");
        assert_eq!(messages_of(&old, 1, Part::Words).len(), 700);
    }

    #[test]
    fn a_log_that_grows_line_by_line_leaves_few_blocks_and_segments() {
        let mut home = TestCache::new();
        let mut logs = Vec::new();
        for n in 0..100 {
            let line = prompt(&format!("line {n}"));
            logs = vec![home.change("a.jsonl", |bytes| bytes.extend_from_slice(line.as_bytes()))];
            home.refresh(&logs);
        }
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        assert_eq!(corpus.blocks(Part::Words).len(), 1);
        assert_eq!(corpus.manifest.segments[0].len(), 1);
        assert_eq!(corpus.spans(Part::Words), 1);
    }

    #[test]
    fn what_several_threads_index_becomes_one_segment_without_a_trace() {
        let mut home = TestCache::new();
        let text = |from: usize| -> String {
            let lines = (from..from + 100).map(|line| {
                let words = (0..4000).map(|n| format!("w{} ", (line * 4000 + n) % 70_000));
                prompt(&words.collect::<String>())
            });
            lines.collect()
        };
        let logs = ["a.jsonl", "b.jsonl"].map(|name| {
            let text = text(name.len());
            home.change(name, |bytes| *bytes = text.into_bytes())
        });
        let corpus = home.refresh(&logs);
        for part in Part::ALL {
            let segments = &corpus.manifest.segments[part.number()];
            assert!(segments.len() <= 1);
            let live: u64 = segments.iter().map(index::SegmentRow::bytes).sum();
            let length = corpus.manifest.lengths[Pack::Index(part).number()];
            assert_eq!(length, pack::HEADER + live);
        }
        assert_eq!(occurrences(&corpus, Part::Words, "w69999").len(), 12);
        let entries = fs::read_dir(home.cache()).expect("it is there");
        assert_eq!(entries.count(), pack::PACKS.len() + 2);
    }

    #[test]
    fn an_index_of_a_build_that_did_not_finish_is_removed_by_the_next_one() {
        let mut home = TestCache::new();
        let log = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
        drop(home.refresh(&[log]));
        let left = home.cache().join("words-index.77.pack");
        fs::write(&left, "tomepack").expect("it can be written");
        let line = prompt("two");
        let log = home.change("a.jsonl", |bytes| bytes.extend_from_slice(line.as_bytes()));
        let corpus = home.refresh(std::slice::from_ref(&log));
        assert_right(&corpus, &[log]);
        assert!(!left.exists());
    }

    #[test]
    fn a_byte_of_a_block_leads_to_its_message() {
        let mut home = TestCache::new();
        let text = prompt("one") + &prompt("two") + &prompt("three");
        let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
        let corpus = home.refresh(&[log]);
        corpus.release(Part::Words, 0..1);
        let content = corpus.block(Part::Words, 0).and_then(|block| block.read());
        let content = content.expect("there is one");
        for word in words(content.text()) {
            let message = content.message(content.at(word.at)).expect("it is shown");
            assert_eq!(message.text, word.text);
        }
    }
}
