//! Updates the index: reads only what has changed.
//!
//! A lock allows one build at a time; whoever finds it taken uses the last commit. Logs are read in
//! rounds, the newest ones first, and each round is committed with the table of what was read, so
//! that a build that is interrupted loses one round at most. Each thread fills segments of its own:
//! one with what was said and done, in which the messages of a log stand side by side, and one with
//! the results of tools. Segments of results are merged with each other only: what most queries go
//! through stays as small as it is without them, and their texts are stored more densely.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::{FxBuildHasher, FxHashMap};
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{
    AddOperation, IndexWriterOptions, LogMergePolicy, MergeCandidate, MergePolicy, SegmentWriter,
};
use tantivy::schema::Term;
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{
    Index, IndexSettings, IndexWriter, Segment, SegmentReader, TantivyDocument, TantivyError,
};

use super::directory::CacheDirectory;
use super::document::Fields;
use super::lookup::may_have;
use super::table::{Content, LogKey, LogRow, Table, key_of};
use super::{
    BuildProgress, Corpus, CorpusMessage, OF_LINE_BITS, Part, Progress, ReadResults, tokenizer,
};
use crate::core::disk::parallel::all_cores;
use crate::core::disk::private;
use crate::core::log::reader::{LogReader, ReadOutcome};
use crate::core::log::{self, LogFile};
use crate::core::{Error, Result};

/// Bytes to read below which a second thread is not worthwhile.
const WORTH_A_THREAD: u64 = 4 * 1024 * 1024;
/// Bytes of logs that are read before they are committed.
const ROUND: u64 = 256 * 1024 * 1024;
/// The memory of each segment that is being filled, in bytes.
const MEMORY: usize = 12 * 1024 * 1024;
/// The bytes of calls that are held until what was said around them is added.
const MOST_CALLS: usize = 1024 * 1024;
/// How the texts of results are compressed, and the bytes of each block. Few of them are ever read,
/// and they are most of the text.
const RESULTS_LEVEL: i32 = 6;
const RESULTS_BLOCK: usize = 128 * 1024;
/// The memory for a few lines.
const LITTLE_MEMORY: usize = 3 * 1024 * 1024;

/// See [`Corpus::refresh`].
pub(super) fn refresh(
    cache: &Path,
    logs: &[LogFile],
    results: ReadResults,
    progress: &dyn Progress,
) -> Result<Corpus> {
    let started = Instant::now();
    // A log that cannot be read is not an error here, so any error is the cache's.
    let why = match refresh_cache(cache, logs, results, progress) {
        Ok(corpus) => return Ok(corpus),
        Err(why) => why,
    };
    let is_held_up =
        matches!(&why, Error::Io { source, .. } if source.kind() == io::ErrorKind::WouldBlock);
    let in_time = InTime {
        until: started + WAIT_AND_READ,
        progress,
    };
    let progress = if is_held_up { &in_time } else { progress };
    let build = Build {
        cache,
        index: in_memory(cache)?,
        is_in_memory: true,
        logs,
    };
    let table = Table::default();
    let plan = Plan::new(&table, logs, results);
    let mut built = build.run(table, &plan, progress)?;
    if is_held_up && in_time.is_over() && built.left > 0 {
        // Who asks again waits as long again.
        let left = std::mem::take(&mut built.left);
        built
            .notes
            .push(format!("logs that were not read in time: {left}"));
    }
    Ok(Corpus {
        is_held_up,
        ..build.corpus(built, Some(why))?
    })
}

/// Ends a build in time, whatever its caller allows.
struct InTime<'a> {
    until: Instant,
    progress: &'a dyn Progress,
}

impl InTime<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

impl Progress for InTime<'_> {
    fn advance(&self, tally: BuildProgress) {
        self.progress.advance(tally);
    }

    fn is_cancelled(&self) -> bool {
        self.is_over() || self.progress.is_cancelled()
    }
}

/// Updates the cache.
fn refresh_cache(
    cache: &Path,
    logs: &[LogFile],
    results: ReadResults,
    progress: &dyn Progress,
) -> Result<Corpus> {
    let started = Instant::now();
    loop {
        let last = Corpus::open_without_logs(cache);
        let last = last.map(|last| (Plan::new(&last.table, logs, results), last));
        let last = match last {
            Some((plan, last)) if plan.is_idle() => return Ok(last.with_rows(plan.listed)),
            last => last,
        };
        private::create_dir(cache).map_err(|error| Error::io(cache, error))?;
        if let Some(lock) = lock(cache, SHORT_WAIT)? {
            return build_cache(cache, lock, logs, results, progress);
        }
        if let Some((plan, last)) = last {
            let old = plan.read.len();
            let note = format!(
                "{}: another tome reads the logs, or was stopped meanwhile; logs that \
                 changed since ({old}) are searched as they were read last",
                cache.display()
            );
            return Ok(Corpus {
                is_held_up: true,
                notes: (old > 0).then_some(note).into_iter().collect(),
                ..last.with_rows(plan.listed)
            });
        }
        // Without a commit there is nothing to answer with, so that the first one is waited for.
        if started.elapsed() > LONG_WAIT {
            let busy = io::Error::new(
                io::ErrorKind::WouldBlock,
                "another tome reads the logs for the first time, or was stopped meanwhile",
            );
            return Err(Error::io(cache, busy));
        }
    }
}

/// How long a build of another process is waited for if there is an older commit.
const SHORT_WAIT: Duration = Duration::from_millis(300);
/// The same if there is none.
const LONG_WAIT: Duration = Duration::from_secs(4);
/// How long waiting for it takes together with reading the logs without it.
const WAIT_AND_READ: Duration = Duration::from_secs(8);

/// Updates the cache under its lock.
fn build_cache(
    cache: &Path,
    _lock: File,
    logs: &[LogFile],
    results: ReadResults,
    progress: &dyn Progress,
) -> Result<Corpus> {
    // Another build may have finished while this one waited for the lock.
    let (index, table) = match Corpus::open_without_logs(cache) {
        Some(last) => {
            let (index, mut table) = (last.searcher.index().clone(), last.table);
            table.load_states(cache);
            (index, table)
        }
        None => (create(cache)?, Table::default()),
    };
    let plan = Plan::new(&table, logs, results);
    let build = Build {
        cache,
        index,
        is_in_memory: false,
        logs,
    };
    let built = build.run(table, &plan, progress);
    if built.is_err() {
        // On a full disk, what was written in vain would otherwise stay for good.
        build.sweep();
        if let Some(last) = Corpus::open_without_logs(cache) {
            last.table.delete_others(cache);
        }
    }
    build.corpus(built?, None)
}

/// Acquires the build lock; `None` if another build holds it for longer than this.
fn lock(cache: &Path, patience: Duration) -> Result<Option<File>> {
    const STEP: Duration = Duration::from_millis(5);
    let path = cache.join("lock");
    let file = private::create_file(&path).map_err(|error| Error::io(&path, error))?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if started.elapsed() > patience => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
            // Without locks, two builds may damage each other's files, which is detected later.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(Some(file));
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, error)),
        }
    }
}

fn zstd(level: i32) -> Compressor {
    Compressor::Zstd(ZstdCompressor {
        compression_level: Some(level),
    })
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: zstd(1),
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Makes a new index in place of one that cannot be used.
fn create(cache: &Path) -> Result<Index> {
    let failed = |error| Error::io(cache, error);
    let folder = super::index_folder(cache);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => private::create_dir(&folder).map_err(failed)?,
    }
    let directory =
        CacheDirectory::open(&folder).map_err(|error| failed(io::Error::other(error)))?;
    let index = Index::create(directory, Fields::schema().0, settings());
    let mut index = index.map_err(|error| super::cache_error(cache, error))?;
    index.set_tokenizers(tokenizer::tokenizers());
    Ok(index)
}

fn in_memory(cache: &Path) -> Result<Index> {
    let index = Index::builder()
        .schema(Fields::schema().0)
        .settings(settings())
        .tokenizers(tokenizer::tokenizers());
    let index = index.create_in_ram();
    index.map_err(|error| super::cache_error(cache, error))
}

/// A log to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task {
    /// Its index in the list.
    listed: usize,
    /// Its row in the table, if it has one.
    row: Option<usize>,
    with_results: bool,
}

/// What has changed since the last table. A listed log counts as unchanged if its size and its
/// times are those of the table: its file is not opened.
#[derive(Debug, Default)]
struct Plan {
    /// The rows of the listed logs, in the order of the list; new ones have none.
    listed: Vec<usize>,
    /// The rows of logs that are gone.
    gone: Vec<usize>,
    read: Vec<Task>,
}

impl Plan {
    fn new(table: &Table, logs: &[LogFile], results: ReadResults) -> Self {
        let mut rows: FxHashMap<LogKey<'_>, usize> =
            FxHashMap::with_capacity_and_hasher(table.logs.len(), FxBuildHasher);
        rows.extend(table.logs.iter().map(LogRow::key).zip(0..));
        let have_all = !table.logs.is_empty() && table.logs.iter().all(|row| row.has_results);
        let mut plan = Self::default();
        let mut is_listed = vec![false; table.logs.len()];
        let mut new = HashSet::new();
        for (listed, log) in logs.iter().enumerate() {
            let row = rows.get(&key_of(log)).copied();
            let is_double = match row {
                Some(row) => std::mem::replace(&mut is_listed[row], true),
                None => !new.insert(key_of(log)),
            };
            if is_double {
                continue;
            }
            plan.listed.extend(row);
            let known = row.map(|row| &table.logs[row]);
            let with_results =
                results == ReadResults::Now || known.map_or(have_all, |row| row.has_results);
            let is_same =
                known.is_some_and(|row| row.is_listed_as(log) && row.has_results == with_results);
            if !is_same {
                plan.read.push(Task {
                    listed,
                    row,
                    with_results,
                });
            }
        }
        let mut paths: Option<HashSet<&[u8]>> = None;
        for (row, log) in table
            .logs
            .iter()
            .enumerate()
            .filter(|(row, _)| !is_listed[*row])
        {
            // A log that is not listed stays as long as its file does, unless that is listed with
            // other sessions.
            let paths = paths.get_or_insert_with(|| logs.iter().map(|log| key_of(log).1).collect());
            if paths.contains(log.path_bytes()) || !log.path().exists() {
                plan.gone.push(row);
            }
        }
        plan
    }

    fn is_idle(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }
}

/// One build.
struct Build<'a> {
    cache: &'a Path,
    index: Index,
    is_in_memory: bool,
    logs: &'a [LogFile],
}

/// The result of a build.
struct Built {
    table: Table,
    unread: Vec<Error>,
    notes: Vec<String>,
    /// The number of logs that were not read, because it was cancelled.
    left: usize,
}

/// A log that was read, or could not be.
struct ReadLog {
    task: Task,
    /// The owner of the messages that were added.
    owner: u64,
    read: Result<LogRow>,
    note: Option<String>,
}

impl Build<'_> {
    fn run(&self, mut table: Table, plan: &Plan, progress: &dyn Progress) -> Result<Built> {
        let mut tasks = plan.read.clone();
        tasks.sort_by_key(|task| std::cmp::Reverse(self.logs[task.listed].modified));
        let costs: Vec<u64> = tasks.iter().map(|task| self.cost(&table, task)).collect();
        let total: u64 = costs.iter().sum();
        let mut writer = self.writer()?;
        let forget = |writer: &IndexWriter, owner: u64| {
            let field = Fields::schema().1.owner;
            writer.delete_term(Term::from_field_u64(field, owner));
        };
        let mut rows: Vec<Option<LogRow>> = table.logs.drain(..).map(Some).collect();
        for row in &plan.gone {
            let gone = rows[*row].take();
            gone.iter().for_each(|row| forget(&writer, row.owner));
        }
        let (mut unread, mut notes) = (Vec::new(), Vec::new());
        let done = (AtomicUsize::new(0), AtomicU64::new(0));
        let next_owner = AtomicU64::new(table.next_owner.max(1));
        let mut from = 0;
        loop {
            let mut bytes = 0;
            let mut to = from;
            while to < tasks.len() && (to == from || bytes + costs[to] <= ROUND) {
                bytes += costs[to];
                to += 1;
            }
            let reading = Reading {
                build: self,
                writer: &writer,
                rows: &rows,
                tasks: &tasks[from..to],
                next_task: AtomicUsize::new(0),
                next_owner: &next_owner,
            };
            let go_on = || {
                progress.advance(BuildProgress {
                    logs: tasks.len(),
                    logs_done: done.0.load(Ordering::Relaxed),
                    bytes: total,
                    bytes_done: done.1.load(Ordering::Relaxed),
                });
                !progress.is_cancelled()
            };
            let round = reading.run(bytes, &done, &go_on)?;
            for log in round {
                let old = log.task.row.and_then(|row| rows[row].take());
                notes.extend(log.note);
                let kept = match log.read {
                    Ok(row) => {
                        let kept = row.owner;
                        match log.task.row {
                            Some(at) => rows[at] = Some(row),
                            None => rows.push(Some(row)),
                        }
                        Some(kept)
                    }
                    Err(error) => {
                        // A log that is gone by now is no error.
                        let is_gone = matches!(error, Error::NotFound { .. });
                        unread.extend((!is_gone).then_some(error));
                        None
                    }
                };
                let owners = old.iter().map(|old| old.owner).chain([log.owner]);
                let left = owners.filter(|owner| kept != Some(*owner));
                left.for_each(|owner| forget(&writer, owner));
            }
            from = to;
            table.number += 1;
            table.next_owner = next_owner.load(Ordering::Relaxed);
            table.logs = rows.iter().flatten().cloned().collect();
            self.commit(&mut writer, &table)?;
            if from == tasks.len() || progress.is_cancelled() {
                break;
            }
        }
        // A merge that fails leaves the segments as they were.
        drop(writer.wait_merging_threads());
        Ok(Built {
            table,
            unread,
            notes,
            left: tasks.len() - done.0.into_inner(),
        })
    }

    /// Returns the corpus that was built; `cache_error` says why it is only in memory.
    fn corpus(&self, built: Built, cache_error: Option<Error>) -> Result<Corpus> {
        let corpus = Corpus::of(self.cache, &self.index, built.table);
        let corpus = corpus.map_err(|error| self.failed(error))?;
        Ok(Corpus {
            unread: built.unread,
            notes: built.notes,
            left: built.left,
            cache_error,
            ..corpus.with_logs(self.logs)
        })
    }

    fn failed(&self, error: TantivyError) -> Error {
        super::cache_error(self.cache, error)
    }

    fn writer(&self) -> Result<IndexWriter> {
        /// The least that tantivy takes; documents are not added through its own threads.
        const LEAST: usize = 15_000_000;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(LEAST)
            .build();
        let writer: IndexWriter = self
            .index
            .writer_with_options(options)
            .map_err(|error| self.failed(error))?;
        writer.set_merge_policy(Box::new(MergeByKind::new(&self.index)));
        Ok(writer)
    }

    /// Commits what was added and deleted, with the table that belongs to it.
    fn commit(&self, writer: &mut IndexWriter, table: &Table) -> Result<()> {
        let payload = if self.is_in_memory {
            table.payload()
        } else {
            let saved = table.save(self.cache);
            saved.map_err(|error| Error::io(self.cache, error))?
        };
        let mut commit = || {
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&payload);
            prepared.commit()
        };
        commit().map_err(|error| self.failed(error))?;
        if !self.is_in_memory {
            table.delete_others(self.cache);
        }
        Ok(())
    }

    /// Deletes files that belong to no commit.
    fn sweep(&self) {
        // Whatever fails here is tried again by the next build.
        if let Ok(writer) = self.writer() {
            drop(writer.garbage_collect_files().wait());
        }
    }

    /// Estimates the number of bytes to read of a log.
    fn cost(&self, table: &Table, task: &Task) -> u64 {
        let size = self.logs[task.listed].size;
        match task.row.map(|row| &table.logs[row]) {
            Some(row) if row.size < size && row.has_results == task.with_results => {
                size - row.progress.bytes.min(size)
            }
            _ => size,
        }
    }
}

/// Decides which segments are merged: some of about one size, all with results or all without.
#[derive(Debug)]
struct MergeByKind {
    index: Index,
    by_size: LogMergePolicy,
    /// The segments that were looked at, and whether they have results.
    known: Mutex<HashMap<SegmentId, bool>>,
}

impl MergeByKind {
    fn new(index: &Index) -> Self {
        let mut by_size = LogMergePolicy::default();
        by_size.set_min_num_segments(4);
        by_size.set_level_log_size(3.0);
        by_size.set_min_layer_size(1_000);
        by_size.set_max_docs_before_merge(200_000);
        by_size.set_del_docs_ratio_before_merge(0.4);
        Self {
            index: index.clone(),
            by_size,
            known: Mutex::default(),
        }
    }

    fn has_results(&self, segment: &SegmentMeta) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(segment.id()).or_insert_with(|| {
            let reader = SegmentReader::open(&self.index.segment(segment.clone()));
            let has_results = reader.and_then(|reader| may_have(&reader, Part::Results));
            has_results.unwrap_or(false)
        })
    }
}

impl MergePolicy for MergeByKind {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let (with, without): (Vec<_>, Vec<_>) = segments
            .iter()
            .cloned()
            .partition(|segment| self.has_results(segment));
        [with, without]
            .iter()
            .flat_map(|segments| self.by_size.compute_merge_candidates(segments))
            .collect()
    }
}

/// The reading of one round.
struct Reading<'a> {
    build: &'a Build<'a>,
    writer: &'a IndexWriter,
    /// The rows of the logs before this build.
    rows: &'a [Option<LogRow>],
    tasks: &'a [Task],
    next_task: AtomicUsize,
    next_owner: &'a AtomicU64,
}

impl Reading<'_> {
    fn run(
        &self,
        bytes: u64,
        done: &(AtomicUsize, AtomicU64),
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<ReadLog>> {
        let (threads, memory) = match bytes {
            0..WORTH_A_THREAD => (1, LITTLE_MEMORY),
            _ => (all_cores().min(self.tasks.len()), MEMORY),
        };
        let work = || Indexer::new(self, memory).work(done, go_on);
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut whole = work();
            for other in others {
                let other = other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                whole = whole.and_then(|whole| Ok([whole, other?].into_iter().flatten().collect()));
            }
            whole
        })
    }
}

/// Reads logs on one thread and fills segments.
struct Indexer<'a> {
    reading: &'a Reading<'a>,
    fields: Fields,
    memory: usize,
    /// One with what was said and done, and one with results.
    segments: [Option<OpenSegment>; 2],
    /// Calls of the log that is being read. They are added behind what was said, so that what was
    /// said stands side by side.
    calls: Vec<TantivyDocument>,
    calls_bytes: usize,
    failure: Option<TantivyError>,
    log: CurrentLog,
}

/// A segment that is being filled.
struct OpenSegment {
    segment: Segment,
    writer: SegmentWriter,
    /// The memory that it took when it was empty.
    start: usize,
}

/// The log that is being read.
#[derive(Debug, Clone, Copy, Default)]
struct CurrentLog {
    /// Which parts are added to the index.
    parts: [bool; Part::ALL.len()],
    owner: u64,
    content: Content,
    /// The line of the last message, and the number of messages of that line before it.
    last: (u64, u64),
}

impl<'a> Indexer<'a> {
    fn new(reading: &'a Reading<'a>, memory: usize) -> Self {
        Self {
            reading,
            fields: Fields::schema().1,
            memory,
            segments: [None, None],
            calls: Vec::new(),
            calls_bytes: 0,
            failure: None,
            log: CurrentLog::default(),
        }
    }

    /// Adds a message of the log that is being read.
    fn take(&mut self, message: &log::Message) {
        let part = Part::of(message.kind);
        let (last, number) = self.log.last;
        let number = if last == message.line { number + 1 } else { 0 };
        self.log.last = (message.line, number);
        if !self.log.parts[part.number()] || self.failure.is_some() {
            return;
        }
        let message = CorpusMessage::of(message);
        self.log.content.text[part.number()] += message.text.len() as u64;
        self.log.content.roles[message.role as usize] += 1;
        let place = message.line << OF_LINE_BITS | number.min((1 << OF_LINE_BITS) - 1);
        let document = self.fields.document(self.log.owner, place, &message);
        let added = match part {
            Part::Calls => {
                self.calls_bytes += message.text.len();
                self.calls.push(document);
                if self.calls_bytes > MOST_CALLS {
                    self.add_calls()
                } else {
                    Ok(())
                }
            }
            Part::Words | Part::Results => self.add(part, document),
        };
        self.failure = added.err();
    }

    fn add(&mut self, part: Part, document: TantivyDocument) -> tantivy::Result<()> {
        let open = &mut self.segments[usize::from(part == Part::Results)];
        let open = match open {
            Some(open) => open,
            None => {
                let mut index = self.reading.build.index.clone();
                if part == Part::Results {
                    let settings = index.settings_mut();
                    settings.docstore_compression = zstd(RESULTS_LEVEL);
                    settings.docstore_blocksize = RESULTS_BLOCK;
                }
                let segment = index.new_segment();
                let writer = SegmentWriter::for_segment(self.memory, segment.clone())?;
                open.insert(OpenSegment {
                    segment,
                    start: writer.mem_usage(),
                    writer,
                })
            }
        };
        open.writer.add_document(AddOperation {
            opstamp: 0,
            document,
        })?;
        // A segment is not filled with one message, however much memory it takes from the start.
        let is_full = open.writer.mem_usage() > open.start + self.memory;
        if is_full { self.flush(part) } else { Ok(()) }
    }

    /// Adds the calls of the log that is being read.
    fn add_calls(&mut self) -> tantivy::Result<()> {
        self.calls_bytes = 0;
        for document in std::mem::take(&mut self.calls) {
            self.add(Part::Calls, document)?;
        }
        Ok(())
    }

    /// Writes the segment that is being filled with messages of a part.
    fn flush(&mut self, part: Part) -> tantivy::Result<()> {
        let open = self.segments[usize::from(part == Part::Results)].take();
        let Some(OpenSegment {
            segment, writer, ..
        }) = open
        else {
            return Ok(());
        };
        let count = writer.max_doc();
        writer.finalize()?;
        let segment = segment.with_max_doc(count);
        segment.meta().untrack_temp_docstore();
        self.reading.writer.add_segment(segment.meta().clone())
    }

    /// Reads one log after another until none is left or `go_on` returns false.
    fn work(
        mut self,
        (logs_done, bytes_done): &(AtomicUsize, AtomicU64),
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<ReadLog>> {
        let mut round = Vec::new();
        let mut reader = LogReader::default();
        let build = self.reading.build;
        while go_on() {
            let next = self.reading.next_task.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.reading.tasks.get(next) else {
                break;
            };
            let log = &build.logs[task.listed];
            let before = reader.bytes;
            let old = task.row.and_then(|row| self.reading.rows[row].as_ref());
            let result = self.read(&mut reader, (log, task.with_results), old);
            if self.failure.is_none() {
                self.failure = self.add_calls().err();
            }
            logs_done.fetch_add(1, Ordering::Relaxed);
            bytes_done.fetch_add(reader.bytes - before, Ordering::Relaxed);
            if let Some(error) = self.failure.take() {
                return Err(build.failed(error));
            }
            let note = result
                .as_ref()
                .ok()
                .and_then(|read| read.skipped.over_limits());
            round.push(ReadLog {
                task: *task,
                owner: self.log.owner,
                read: result.map(|outcome| LogRow {
                    owner: self.log.owner,
                    content: self.log.content,
                    has_results: task.with_results,
                    ..LogRow::of(log, &outcome)
                }),
                note: note.map(|note| format!("{}: {note}", log.path.display())),
            });
        }
        for part in [Part::Words, Part::Results] {
            self.flush(part).map_err(|error| build.failed(error))?;
        }
        Ok(round)
    }

    /// Continues a log from its old row if possible, or adds the results that were left out of it,
    /// else reads it from the beginning.
    fn read(
        &mut self,
        reader: &mut LogReader,
        (log, with_results): (&LogFile, bool),
        old: Option<&LogRow>,
    ) -> Result<ReadOutcome> {
        let unchanged = old.filter(|row| row.is_listed_as(log));
        if let Some(row) = unchanged.filter(|row| !row.has_results) {
            self.log = CurrentLog {
                parts: Part::ALL.map(|part| part == Part::Results),
                owner: row.owner,
                content: row.content,
                ..CurrentLog::default()
            };
            let outcome = reader.read((log, true), &mut |message| self.take(message))?;
            // Else it has changed since it was listed.
            if outcome.position.bytes == row.progress.bytes {
                return Ok(outcome);
            }
        }
        let parts = Part::ALL.map(|part| with_results || part != Part::Results);
        if let Some(row) = old.filter(|row| row.has_results == with_results)
            && row.size < log.size
            && let Some(carry) = row.carry()
        {
            self.log = CurrentLog {
                parts,
                owner: row.owner,
                content: row.content,
                ..CurrentLog::default()
            };
            let left = (row.progress, carry);
            let take = &mut |message: &log::Message| self.take(message);
            if let Some(outcome) = reader.resume((log, with_results), left, take)? {
                return Ok(outcome);
            }
        }
        self.log = CurrentLog {
            parts,
            owner: self.reading.next_owner.fetch_add(1, Ordering::Relaxed),
            ..CurrentLog::default()
        };
        reader.read((log, with_results), &mut |message| self.take(message))
    }
}
