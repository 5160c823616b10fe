//! The worker threads of a build: each reads logs and fills blocks; all share one output.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block::{BlockBuilder, SealedBlock};
use super::index::{IndexBuilder, SegmentRow};
use super::manifest::{LogRow, Manifest};
use super::pack::{Appender, Pack};
use super::plan::Task;
use super::source::{LineEnd, LogReader, MessageListener, ReadOutcome, ResumePoint};
use super::state::LogState;
use super::{Corpus, CorpusMessage, PARTS, Part};
use crate::core::log::{self, LogFile};
use crate::core::{Error, Result};

/// The shared output of the threads of a build.
pub(super) struct BuildOutput {
    packs: Mutex<(Appender, Manifest)>,
    next_owner: AtomicU32,
    next_task: AtomicUsize,
    has_failed: AtomicBool,
    /// The numbers of logs and bytes read.
    pub(super) done: (AtomicUsize, AtomicU64),
}

/// One thread of a build.
pub(super) struct BuildWorker<'a> {
    pub(super) store: &'a BuildOutput,
    /// The error of writing the output; a log that cannot be read is not such an error.
    pub(super) failure: Option<Error>,
    builders: [BlockBuilder; PARTS],
    indexes: [IndexBuilder; PARTS],
    log: CurrentLog,
}

/// The log that a thread is reading.
#[derive(Debug, Clone, Copy, Default)]
struct CurrentLog {
    /// The parts that are read of it.
    parts: [bool; PARTS],
    owner: u32,
    tail_owner: u32,
    text: [u64; PARTS],
    tail_text: [u64; PARTS],
}

/// A log that has been read.
pub(super) struct FinishedLog {
    pub(super) listed: usize,
    /// Its row, still without strings.
    pub(super) row: LogRow,
    pub(super) cwd: Option<String>,
    pub(super) title: Option<String>,
}

/// The result of one thread.
#[derive(Default)]
pub(super) struct WorkerResult {
    pub(super) done: Vec<FinishedLog>,
    /// Logs that could not be read, by index in the list; without an error if deleted.
    pub(super) failed: Vec<(usize, Option<Error>)>,
    /// What was left out of logs because of a limit.
    pub(super) notes: Vec<String>,
}

impl BuildOutput {
    pub(super) fn new(appender: Appender, manifest: Manifest) -> Self {
        Self {
            next_owner: AtomicU32::new(manifest.next_owner),
            packs: Mutex::new((appender, manifest)),
            next_task: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            done: Default::default(),
        }
    }

    /// Locks the packs and the manifest.
    pub(super) fn lock(&self) -> MutexGuard<'_, (Appender, Manifest)> {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the packs and the manifest, with its lengths and next owner number set.
    pub(super) fn finish(self) -> (Appender, Manifest) {
        let (appender, mut manifest) = self
            .packs
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        manifest.lengths = appender.lengths();
        manifest.next_owner = self.next_owner.into_inner();
        (appender, manifest)
    }

    /// Appends a block and returns its number.
    fn put(&self, sealed: &SealedBlock) -> Result<u32> {
        let mut guard = self.lock();
        let (appender, manifest) = &mut *guard;
        let text_at = appender.append(Pack::Texts(sealed.part), &sealed.text)?;
        let head_at = appender.append(Pack::Outlines(sealed.part), &sealed.head)?;
        let table_at = appender.append(Pack::Tables(sealed.part), &sealed.rows)?;
        let place = [text_at, head_at, table_at];
        Ok(manifest.add(sealed.part, place, sealed.shape, &sealed.runs))
    }

    /// Seals a block, appends it and adds its words to the index.
    fn seal(&self, builder: &mut BlockBuilder, index: &mut IndexBuilder) -> Result<()> {
        let sealed = builder.seal(index);
        index.blocks.push(self.put(&sealed)?);
        Ok(())
    }

    /// Appends the segment of an index; the builder is empty afterwards.
    fn put_segment(&self, part: Part, index: &mut IndexBuilder) -> Result<()> {
        let blocks = index.blocks.clone();
        let (row, bytes) = index.finish();
        let mut guard = self.lock();
        let (appender, manifest) = &mut *guard;
        let at = appender.append(Pack::Index(part), &bytes)?;
        manifest.add_segment(part, SegmentRow { at, ..row }, &blocks);
        Ok(())
    }

    /// Appends a log's state and returns its offset and length.
    pub(super) fn keep_state(&self, bytes: &[u8]) -> Result<(u64, u64)> {
        let at = self.lock().0.append(Pack::States, bytes)?;
        Ok((at, bytes.len() as u64))
    }

    fn new_owner(&self) -> u32 {
        self.next_owner.fetch_add(1, Ordering::Relaxed)
    }
}

impl MessageListener for BuildWorker<'_> {
    fn on_message(&mut self, line: LineEnd, message: &log::Message) {
        let part = Part::of(message.kind);
        if !self.log.parts[part.number()] {
            return;
        }
        let owner = match line {
            LineEnd::Whole => self.log.owner,
            LineEnd::Open if self.log.tail_owner != 0 => self.log.tail_owner,
            LineEnd::Open => {
                self.log.tail_owner = self.store.new_owner();
                self.log.tail_owner
            }
        };
        let length = self.push(owner, part, &CorpusMessage::of(message));
        self.log.text[part.number()] += length;
        if line == LineEnd::Open {
            self.log.tail_text[part.number()] += length;
        }
    }
}

impl<'a> BuildWorker<'a> {
    pub(super) fn new(store: &'a BuildOutput) -> Self {
        Self {
            store,
            failure: None,
            builders: Part::ALL.map(BlockBuilder::new),
            indexes: Part::ALL.map(IndexBuilder::new),
            log: CurrentLog::default(),
        }
    }

    fn push(&mut self, owner: u32, part: Part, message: &CorpusMessage<'_>) -> u64 {
        let builder = &mut self.builders[part.number()];
        let length = builder.push(owner, message);
        if builder.is_full() {
            self.seal(part);
        }
        length
    }

    fn seal(&mut self, part: Part) {
        let builder = &mut self.builders[part.number()];
        let index = &mut self.indexes[part.number()];
        let result = self.store.seal(builder, index).and_then(|()| {
            if index.is_full() {
                self.store.put_segment(part, index)?;
            }
            Ok(())
        });
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    /// Seals and writes the blocks under construction, and the index of all blocks.
    pub(super) fn flush(&mut self) {
        for part in Part::ALL {
            if !self.builders[part.number()].is_empty() {
                self.seal(part);
            }
            let index = &mut self.indexes[part.number()];
            if !index.is_empty()
                && let Err(error) = self.store.put_segment(part, index)
            {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Adds the messages of live owners in an old block; `false` if the block is damaged.
    pub(super) fn replay(
        &mut self,
        old: &Corpus,
        (part, block): (Part, usize),
        alive: &HashSet<u32>,
    ) -> bool {
        let Some(content) = old.content(part, block) else {
            return false;
        };
        for at in 0..content.count() {
            let Some((row, message)) = content.row(at) else {
                return false;
            };
            if alive.contains(&row.owner) {
                self.push(row.owner, part, &message);
            }
        }
        true
    }

    /// Reads one log after another until none is left or `go_on` returns false.
    pub(super) fn work(
        mut self,
        (logs, old): (&[LogFile], Option<&Corpus>),
        tasks: &[Task],
        go_on: &dyn Fn() -> bool,
    ) -> Result<WorkerResult> {
        let mut found = WorkerResult::default();
        let mut reader = LogReader::default();
        while go_on() && !self.store.has_failed.load(Ordering::Relaxed) {
            let next = self.store.next_task.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(next) else {
                break;
            };
            let log = &logs[task.listed];
            let before = reader.bytes;
            let result = self.take(&mut reader, (log, task.with_results), old.zip(task.row));
            let (logs_done, bytes_done) = &self.store.done;
            logs_done.fetch_add(1, Ordering::Relaxed);
            bytes_done.fetch_add(reader.bytes - before, Ordering::Relaxed);
            if let Some(error) = self.failure.take() {
                self.store.has_failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            match result {
                Ok(outcome) => {
                    let note = outcome.skipped.over_limits();
                    let note = note.map(|note| format!("{}: {note}", log.path.display()));
                    found.notes.extend(note);
                    found.done.push(self.note(task, log, outcome)?);
                }
                Err(Error::NotFound { .. }) => found.failed.push((task.listed, None)),
                Err(error) => found.failed.push((task.listed, Some(error))),
            }
        }
        self.flush();
        self.failure.map_or(Ok(found), Err)
    }

    /// Continues a log from its old row if possible, or adds the results that were left out of it,
    /// else reads it from the beginning.
    fn take(
        &mut self,
        reader: &mut LogReader,
        (log, with_results): (&LogFile, bool),
        old: Option<(&Corpus, usize)>,
    ) -> Result<ReadOutcome> {
        let row = old.map(|(old, row)| &old.manifest.logs[row]);
        if let Some(row) = row.filter(|row| row.stamp() == (log.size, log.modified)) {
            self.log = CurrentLog {
                parts: Part::ALL.map(|part| part == Part::Results),
                owner: row.owner,
                tail_owner: row.tail_owner,
                text: row.text,
                tail_text: row.tail_text,
            };
            let outcome = reader.read((log, true), self)?;
            // Else it has changed since it was listed.
            if outcome.progress.bytes == row.progress.bytes {
                return Ok(outcome);
            }
        }
        let parts = Part::ALL.map(|part| with_results || part != Part::Results);
        if let Some((old, _)) = old
            && let Some(row) = row.filter(|row| row.has_results == with_results)
            && row.size < log.size
            && let Some(carry) = LogState::of(old, row).and_then(|state| state.carry())
        {
            self.log = CurrentLog {
                parts,
                owner: row.owner,
                text: std::array::from_fn(|part| {
                    row.text[part] - row.tail_text[part].min(row.text[part])
                }),
                ..CurrentLog::default()
            };
            let left = ResumePoint { row, carry };
            if let Some(outcome) = reader.resume((log, with_results), left, self)? {
                return Ok(outcome);
            }
        }
        self.log = CurrentLog {
            parts,
            owner: self.store.new_owner(),
            ..CurrentLog::default()
        };
        reader.read((log, with_results), self)
    }

    /// Stores the state of a log that has been read, and returns its row.
    fn note(&self, task: &Task, log: &LogFile, outcome: ReadOutcome) -> Result<FinishedLog> {
        let state = LogState::encode(&outcome.head, outcome.skipped, outcome.carry.as_ref());
        let head = outcome.head;
        let row = LogRow {
            agent: log.agent as u32,
            owner: self.log.owner,
            tail_owner: self.log.tail_owner,
            turns: u32::try_from(head.turns).unwrap_or(u32::MAX),
            size: log.size,
            modified: log.modified,
            inode: outcome.inode,
            progress: outcome.progress,
            state: self.store.keep_state(&state)?,
            first: head.first,
            last: head.last,
            text: self.log.text,
            tail_text: self.log.tail_text,
            has_results: task.with_results,
            ..LogRow::default()
        };
        Ok(FinishedLog {
            listed: task.listed,
            row,
            cwd: head.cwd,
            title: head.title.or_else(|| {
                let title = log.title.clone();
                title.filter(|title| !log::is_placeholder(title))
            }),
        })
    }
}
