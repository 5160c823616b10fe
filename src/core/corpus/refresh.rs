//! Bringing the corpus up to date: reading what has changed, and just that.
//!
//! One builder at a time, under a lock; readers go on with the last manifest until the
//! new one takes its place. Where the cache cannot be written, everything is read into
//! memory: slower, but a search must not fail for want of a cache.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::block::BLOCK;
use super::manifest::{LogRow, Manifest};
use super::pack::{self, Appender, Generation, Pack};
use super::plan::Plan;
use super::worker::{BuildOutput, BuildWorker, FinishedLog, WorkerResult};
use super::{BuildOptions, BuildProgress, Corpus, Part, Progress, WhenBusy};
use crate::core::log::LogFile;
use crate::core::{Error, Result, private};

/// Below this much to read, a second thread is not worth its start.
const WORTH_A_THREAD: u64 = 4 * 1024 * 1024;
/// Below this much text, garbage is left alone.
const WORTH_COMPACTING: u64 = 1024 * 1024;
/// Below this much, so are the states of logs that have grown since.
const PILED_UP: u64 = 32 * 1024 * 1024;

/// See [`Corpus::refresh`].
pub(super) fn refresh(
    cache: &Path,
    logs: &[LogFile],
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Corpus> {
    // A log that cannot be read is no failure, so that any is the cache's.
    let why = match refresh_cache(cache, logs, options, progress) {
        Ok(corpus) => return Ok(corpus),
        Err(why) => why,
    };
    let build = Build {
        cache,
        logs,
        old: None,
        plan: &Plan::new(None, logs),
        home: Destination::Memory,
    };
    let corpus = build.run(options, progress)?;
    Ok(corpus
        .expect("a build that takes nothing over meets no damage")
        .in_memory(why))
}

/// Brings the cache up to date.
fn refresh_cache(
    cache: &Path,
    logs: &[LogFile],
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Corpus> {
    let old = Corpus::open(cache);
    let plan = Plan::new(old.as_ref().map(|old| &old.manifest), logs);
    if plan.is_idle()
        && let Some(old) = old
    {
        return Ok(old.with_rows(&plan.shown_rows()));
    }
    create_cache_dir(cache).map_err(|error| Error::io(cache, error))?;
    let _lock = match (lock(cache, options.busy)?, old) {
        (Some(lock), _) => lock,
        (None, Some(old)) => return Ok(old.with_rows(&plan.shown_rows())),
        (None, None) => lock(cache, WhenBusy::Wait)?.expect("a lock that is waited for is got"),
    };
    // Another builder may have done it all while the lock was waited for.
    let old = Corpus::open(cache);
    let plan = Plan::new(old.as_ref().map(|old| &old.manifest), logs);
    if plan.is_idle()
        && let Some(old) = old
    {
        return Ok(old.with_rows(&plan.shown_rows()));
    }
    let build = |old: Option<&Corpus>, plan: &Plan| {
        Build {
            cache,
            logs,
            old,
            plan,
            home: Destination::Cache,
        }
        .run(options, progress)
    };
    let built = build(old.as_ref(), &plan).and_then(|built| match built {
        Some(corpus) => Ok(corpus),
        // What is there is damaged: everything is read again.
        None => Ok(build(None, &Plan::new(None, logs))?
            .expect("a build that takes nothing over meets no damage")),
    });
    if built.is_err() {
        // Half-written packs would stay for good where there is no room for whole ones.
        let used = Manifest::load(cache).map(|used| used.generation.number);
        pack::sweep(cache, used);
    }
    built
}

/// Makes the cache directory, for its owner only: what is in it was said in private.
fn create_cache_dir(cache: &Path) -> io::Result<()> {
    private::create_dir(cache)
}

/// Takes the builder's lock; `None` where another has it and `busy` says not to wait.
fn lock(cache: &Path, busy: WhenBusy) -> Result<Option<File>> {
    let path = cache.join("lock");
    let file = private::create_file(&path).map_err(|error| Error::io(&path, error))?;
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) if busy == WhenBusy::TakeLast => return Ok(None),
        Err(_) => {}
    }
    match file.lock() {
        // Without locks two builders may spoil each other's packs, which is then found out.
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(Error::io(&path, error)),
        _ => Ok(Some(file)),
    }
}

/// Where a build puts what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// In the cache directory, under the lock.
    Cache,
    Memory,
}

/// One build.
struct Build<'a> {
    cache: &'a Path,
    logs: &'a [LogFile],
    old: Option<&'a Corpus>,
    plan: &'a Plan,
    home: Destination,
}

impl Build<'_> {
    /// Reads what is to be read; `None` where the old corpus turns out to be damaged.
    fn run(&self, options: BuildOptions, progress: &dyn Progress) -> Result<Option<Corpus>> {
        let Some((store, is_new)) = self.store()? else {
            return Ok(None);
        };
        let total: u64 = self.plan.read.iter().map(|task| self.cost(task)).sum();
        let threads = match total {
            0..WORTH_A_THREAD => 1,
            _ => options.threads.clamp(1, self.plan.read.len().max(1)),
        };
        // The old rows get new places for their states when the packs are new.
        let mut rows: Vec<LogRow> = self
            .old
            .map_or_else(Vec::new, |old| old.manifest.logs.clone());
        let mut first = BuildWorker::new(&store);
        let taken_over = match (self.old, is_new) {
            (Some(old), true) => self.compact(old, &mut first, &mut rows)?,
            (Some(old), false) if threads == 1 => self.absorb(old, &mut first)?,
            _ => true,
        };
        if !taken_over {
            return Ok(None);
        }
        let found = self.read_all(first, threads, (total, progress))?;
        let (appender, manifest) = store.finish();
        let corpus = self.commit(appender, manifest, (found, &rows))?;
        if is_new && self.home == Destination::Cache {
            pack::sweep(self.cache, Some(corpus.manifest.generation.number));
        }
        Ok(Some(corpus))
    }

    /// Opens the packs: the old ones to go on with, or new ones where those are half
    /// garbage; `None` where the old ones are of no use.
    fn store(&self) -> Result<Option<(BuildOutput, bool)>> {
        let (appender, manifest, is_new) = match self.old {
            // Owners are numbered anew long before the numbers run out.
            Some(old) if old.manifest.next_owner > u32::MAX / 2 => return Ok(None),
            Some(old) if !self.is_wasteful(&old.manifest) => {
                let old = &old.manifest;
                let Ok(appender) = Appender::resume(self.cache, old.generation, old.lengths) else {
                    return Ok(None);
                };
                (appender, old.successor(), false)
            }
            _ => {
                let generation = Generation {
                    number: pack::newest(self.cache).wrapping_add(1),
                    mark: RandomState::new().hash_one(0),
                };
                let appender = match self.home {
                    Destination::Cache => Appender::create(self.cache, generation)?,
                    Destination::Memory => Appender::in_memory(self.cache),
                };
                let mut manifest = Manifest::new(generation);
                manifest.next_owner = self.old.map_or(1, |old| old.manifest.next_owner);
                (appender, manifest, true)
            }
        };
        Ok(Some((BuildOutput::new(appender, manifest), is_new)))
    }

    /// Tells whether more than half of the text in a pack belongs to no log, or old
    /// states have piled up.
    fn is_wasteful(&self, old: &Manifest) -> bool {
        let live = old.live();
        let is_garbage = |part: usize| {
            old.written[part] > WORTH_COMPACTING && live[part] < old.written[part] / 2
        };
        let states: u64 = old.logs.iter().map(|log| log.state.1).sum();
        is_garbage(0) || is_garbage(1) || old.lengths[Pack::States.number()] > 4 * states + PILED_UP
    }

    /// Returns how many bytes a log will cost, for the progress only.
    fn cost(&self, (listed, row): &(usize, Option<usize>)) -> u64 {
        let size = self.logs[*listed].size;
        let known = row.zip(self.old).map(|(row, old)| &old.manifest.logs[row]);
        match known {
            Some(row) if row.size < size => size - row.progress.bytes.min(size),
            _ => size,
        }
    }

    /// Returns who is still alive: logs that did not change, and changed ones until they are read.
    fn alive(&self, old: &Corpus) -> HashSet<u32> {
        let changed = self.plan.read.iter().filter_map(|(_, row)| *row);
        let rows = self.plan.keep.iter().copied().chain(changed);
        rows.flat_map(|row| {
            let row = &old.manifest.logs[row];
            [row.owner, row.tail_owner]
        })
        .collect()
    }

    /// Copies everything that is alive into new packs; `false` on damage.
    fn compact(
        &self,
        old: &Corpus,
        worker: &mut BuildWorker<'_>,
        rows: &mut [LogRow],
    ) -> Result<bool> {
        let alive = self.alive(old);
        for part in Part::ALL {
            for block in 0..old.manifest.blocks[part.number()].len() {
                if !worker.replay(old, (part, block), &alive) {
                    return Ok(false);
                }
            }
        }
        worker.flush();
        for row in rows {
            let Some(state) = old.maps.get(Pack::States, row.state.0, row.state.1) else {
                return Ok(false);
            };
            row.state = worker.store.keep_state(state)?;
        }
        worker.failure.take().map_or(Ok(true), Err)
    }

    /// Takes up the last block of each part again if it is small, so that logs that grow
    /// line by line do not leave a trail of tiny blocks; `false` on damage.
    fn absorb(&self, old: &Corpus, worker: &mut BuildWorker<'_>) -> Result<bool> {
        let alive = self.alive(old);
        for part in Part::ALL {
            let blocks = &old.manifest.blocks[part.number()];
            let Some(last) = blocks
                .last()
                .filter(|last| (last.shape.text as usize) < BLOCK / 2)
            else {
                continue;
            };
            debug_assert!(last.shape.rows > 0);
            if !worker.replay(old, (part, blocks.len() - 1), &alive) {
                return Ok(false);
            }
            worker.store.lock().1.blocks[part.number()].pop();
        }
        Ok(true)
    }

    /// Reads the logs of the plan on so many threads, the largest first.
    fn read_all(
        &self,
        first: BuildWorker<'_>,
        threads: usize,
        (total, progress): (u64, &dyn Progress),
    ) -> Result<WorkerResult> {
        let mut tasks = self.plan.read.clone();
        tasks.sort_by_key(|task| std::cmp::Reverse(self.cost(task)));
        let tasks = &tasks;
        let store = first.store;
        let work = |worker: BuildWorker<'_>| {
            worker.work((self.logs, self.old), tasks, &|| {
                progress.advance(BuildProgress {
                    logs: tasks.len(),
                    logs_done: store.done.0.load(Ordering::Relaxed),
                    bytes: total,
                    bytes_done: store.done.1.load(Ordering::Relaxed),
                });
                !progress.is_cancelled()
            })
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads)
                .map(|_| scope.spawn(|| work(BuildWorker::new(store))))
                .collect();
            let mut whole = work(first);
            for other in others {
                let other = other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                whole = whole.and_then(|mut whole| {
                    let other = other?;
                    whole.done.extend(other.done);
                    whole.failed.extend(other.failed);
                    Ok(whole)
                });
            }
            whole
        })
    }

    /// Writes the new manifest and opens the corpus that it describes.
    fn commit(
        &self,
        appender: Appender,
        mut new: Manifest,
        (found, rows): (WorkerResult, &[LogRow]),
    ) -> Result<Corpus> {
        let mut read: HashMap<usize, FinishedLog> = found
            .done
            .into_iter()
            .map(|done| (done.listed, done))
            .collect();
        let failed: HashSet<usize> = found.failed.iter().map(|(listed, _)| *listed).collect();
        let (listed, unlisted) = self.plan.keep.split_at(self.plan.listed);
        let adopt = |new: &mut Manifest, row: usize| {
            let old = &self.old.expect("rows are of the old catalogue").manifest;
            let row = new.adopt(old, &rows[row]);
            new.logs.push(row);
        };
        listed.iter().for_each(|row| adopt(&mut new, *row));
        for (listed, row) in &self.plan.read {
            match (read.remove(listed), row) {
                (Some(done), _) => {
                    let log = &self.logs[*listed];
                    let row = LogRow {
                        path: new.keep(log.path.as_os_str().as_encoded_bytes()),
                        id: new.keep(log.id.as_bytes()),
                        cwd: new.keep(done.cwd.unwrap_or_default().as_bytes()),
                        title: new.keep(done.title.unwrap_or_default().as_bytes()),
                        ..done.row
                    };
                    new.logs.push(row);
                }
                // Cancelled before its turn: the old state is as good as it was.
                (None, Some(row)) if !failed.contains(listed) => {
                    adopt(&mut new, *row);
                }
                _ => {}
            }
        }
        let shown: Vec<usize> = (0..new.logs.len()).collect();
        unlisted.iter().for_each(|row| adopt(&mut new, *row));
        if self.home == Destination::Cache {
            match new.save(self.cache) {
                // The cache was deleted meanwhile: what was read is still good for this run.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        let corpus = Corpus::new(self.cache, new, appender.map()?);
        let unread = found.failed.into_iter().filter_map(|(_, error)| error);
        Ok(corpus.with_rows(&shown).with_unread(unread.collect()))
    }
}
