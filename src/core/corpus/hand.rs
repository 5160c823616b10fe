//! The threads of a build: each reads logs and fills blocks, all put them in one store.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block::{Draft, Sealed};
use super::catalogue::{Catalogue, LogRow};
use super::pack::{Appender, Pack};
use super::plan::Task;
use super::source::{Left, Line, Listener, Outcome, Reader};
use super::state::State;
use super::{Corpus, Message, Part};
use crate::core::log::{self, LogFile};
use crate::core::text::Stems;
use crate::core::{Error, Result};

/// Where the threads of a build put what they have made.
pub(super) struct Store {
    packs: Mutex<(Appender, Catalogue)>,
    next_owner: AtomicU32,
    next_task: AtomicUsize,
    has_failed: AtomicBool,
    /// How many logs and bytes have been read.
    pub(super) done: (AtomicUsize, AtomicU64),
}

/// One thread of a build.
pub(super) struct Hand<'a> {
    pub(super) store: &'a Store,
    /// What went wrong with the store; a log that cannot be read is no such failure.
    pub(super) failure: Option<Error>,
    drafts: [Draft; 2],
    stems: Stems,
    log: Current,
}

/// The log that a thread is reading.
#[derive(Debug, Clone, Copy, Default)]
struct Current {
    owner: u32,
    tail_owner: u32,
    text: [u64; 2],
    tail_text: [u64; 2],
}

/// A log that has been read.
pub(super) struct Done {
    pub(super) listed: usize,
    /// Its row, still without strings.
    pub(super) row: LogRow,
    pub(super) cwd: Option<String>,
    pub(super) title: Option<String>,
}

/// What a thread has made of its logs.
#[derive(Default)]
pub(super) struct Yield {
    pub(super) done: Vec<Done>,
    /// Logs that could not be read, by their place in the list; no error for one that is gone.
    pub(super) failed: Vec<(usize, Option<Error>)>,
}

impl Store {
    pub(super) fn new(appender: Appender, catalogue: Catalogue) -> Self {
        Self {
            next_owner: AtomicU32::new(catalogue.next_owner),
            packs: Mutex::new((appender, catalogue)),
            next_task: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            done: Default::default(),
        }
    }

    /// Returns the packs and the catalogue, for this thread alone.
    pub(super) fn lock(&self) -> MutexGuard<'_, (Appender, Catalogue)> {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was put in.
    pub(super) fn finish(self) -> (Appender, Catalogue) {
        let (appender, mut catalogue) = self
            .packs
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        catalogue.lengths = appender.lengths();
        catalogue.next_owner = self.next_owner.into_inner();
        (appender, catalogue)
    }

    fn put(&self, sealed: &Sealed) -> Result<()> {
        let mut guard = self.lock();
        let (appender, catalogue) = &mut *guard;
        let at = appender.append(Pack::Blocks(sealed.part), &sealed.bytes)?;
        let filter_at = appender.append(Pack::Filters(sealed.part), &sealed.filter)?;
        catalogue.add(sealed.part, (at, filter_at), sealed.shape, &sealed.owners);
        Ok(())
    }

    /// Keeps a log's state and returns where.
    pub(super) fn keep_state(&self, bytes: &[u8]) -> Result<(u64, u64)> {
        let at = self.lock().0.append(Pack::States, bytes)?;
        Ok((at, bytes.len() as u64))
    }

    fn new_owner(&self) -> u32 {
        self.next_owner.fetch_add(1, Ordering::Relaxed)
    }
}

impl Listener for Hand<'_> {
    fn hear(&mut self, line: Line, message: &log::Message) {
        let owner = match line {
            Line::Whole => self.log.owner,
            Line::Open if self.log.tail_owner != 0 => self.log.tail_owner,
            Line::Open => {
                self.log.tail_owner = self.store.new_owner();
                self.log.tail_owner
            }
        };
        let part = Part::of(message.kind);
        let length = self.push(owner, part, &Message::of(message));
        self.log.text[part.number()] += length;
        if line == Line::Open {
            self.log.tail_text[part.number()] += length;
        }
    }
}

impl<'a> Hand<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            failure: None,
            drafts: Part::ALL.map(Draft::new),
            stems: Stems::default(),
            log: Current::default(),
        }
    }

    fn push(&mut self, owner: u32, part: Part, message: &Message<'_>) -> u64 {
        let draft = &mut self.drafts[part.number()];
        let length = draft.push(owner, message);
        if draft.is_full() {
            self.seal(part);
        }
        length
    }

    fn seal(&mut self, part: Part) {
        let draft = &mut self.drafts[part.number()];
        let sealed = draft.seal(&mut self.stems);
        if let Err(error) = self.store.put(&sealed) {
            self.failure.get_or_insert(error);
        }
        draft.reuse(sealed);
    }

    /// Writes what is in the drafts.
    pub(super) fn flush(&mut self) {
        for part in Part::ALL {
            if !self.drafts[part.number()].is_empty() {
                self.seal(part);
            }
        }
    }

    /// Takes what is alive of an old block; `false` where the block is damaged.
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

    /// Reads one log after another until none is left, or `go_on` says no.
    pub(super) fn work(
        mut self,
        (logs, old): (&[LogFile], Option<&Corpus>),
        tasks: &[Task],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Yield> {
        let mut found = Yield::default();
        let mut reader = Reader::default();
        while go_on() && !self.store.has_failed.load(Ordering::Relaxed) {
            let next = self.store.next_task.fetch_add(1, Ordering::Relaxed);
            let Some((listed, row)) = tasks.get(next) else {
                break;
            };
            let log = &logs[*listed];
            let before = reader.bytes;
            let result = self.take(&mut reader, log, old.zip(*row));
            let (logs_done, bytes_done) = &self.store.done;
            logs_done.fetch_add(1, Ordering::Relaxed);
            bytes_done.fetch_add(reader.bytes - before, Ordering::Relaxed);
            if let Some(error) = self.failure.take() {
                self.store.has_failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            match result {
                Ok(outcome) => found.done.push(self.note(*listed, log, outcome)?),
                Err(Error::NotFound { .. }) => found.failed.push((*listed, None)),
                Err(error) => found.failed.push((*listed, Some(error))),
            }
        }
        self.flush();
        self.failure.map_or(Ok(found), Err)
    }

    /// Reads a log on from its old row where that is possible, else from its beginning.
    fn take(
        &mut self,
        reader: &mut Reader,
        log: &LogFile,
        old: Option<(&Corpus, usize)>,
    ) -> Result<Outcome> {
        if let Some((old, row)) = old
            && let row = &old.catalogue.logs[row]
            && row.size < log.size
            && let Some(carry) = State::of(old, row).and_then(|state| state.carry())
        {
            self.log = Current {
                owner: row.owner,
                text: [0, 1].map(|part| row.text[part] - row.tail_text[part].min(row.text[part])),
                ..Current::default()
            };
            if let Some(outcome) = reader.resume(log, Left { row, carry }, self)? {
                return Ok(outcome);
            }
        }
        self.log = Current {
            owner: self.store.new_owner(),
            ..Current::default()
        };
        reader.read(log, self)
    }

    /// Keeps the state of a log that has been read, and makes its row.
    fn note(&self, listed: usize, log: &LogFile, outcome: Outcome) -> Result<Done> {
        let state = State::encode(&outcome.head, outcome.skipped, outcome.carry.as_ref());
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
            ..LogRow::default()
        };
        Ok(Done {
            listed,
            row,
            cwd: head.cwd,
            title: head.title.or_else(|| log.title.clone()),
        })
    }
}
