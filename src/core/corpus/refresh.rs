//! Updates the corpus: reads only what has changed.
//!
//! A lock allows one build at a time; readers use the last manifest until it is replaced. If
//! the cache cannot be written, all logs are read into memory: this is slower, but a search
//! must not fail because of the cache.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::manifest::{LogRow, Manifest};
use super::pack::{self, Appender, Generation, Pack};
use super::plan::{Plan, Task};
use super::segments;
use super::worker::{BuildOutput, BuildWorker, FinishedLog, WorkerResult};
use super::{BuildOptions, BuildProgress, Corpus, LastBuild, PARTS, Part, Progress, WhenBusy};
use crate::core::log::LogFile;
use crate::core::{Error, Result, private};

/// Bytes to read below which a second thread is not worthwhile.
const WORTH_A_THREAD: u64 = 4 * 1024 * 1024;
/// Bytes of text below which a part is not compacted.
const WORTH_COMPACTING: u64 = 1024 * 1024;
/// Bytes of outdated states below which they are not compacted.
const PILED_UP: u64 = 32 * 1024 * 1024;

/// See [`Corpus::refresh`].
pub(super) fn refresh(
    (cache, last): (&Path, LastBuild),
    logs: &[LogFile],
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Corpus> {
    // A log that cannot be read is not an error here, so any error is the cache's.
    let why = match refresh_cache((cache, last), logs, options, progress) {
        Ok(corpus) => return Ok(corpus),
        Err(why) => why,
    };
    let build = Build {
        cache,
        logs,
        old: None,
        plan: &Plan::new(None, logs, options.results),
        home: Destination::Memory,
    };
    let corpus = build.run(options, progress)?;
    Ok(corpus
        .expect("a build that takes nothing over meets no damage")
        .in_memory(why))
}

/// Updates the cache.
fn refresh_cache(
    (cache, last): (&Path, LastBuild),
    logs: &[LogFile],
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Corpus> {
    let old = last.0.or_else(|| Corpus::open_without_logs(cache));
    let plan = Plan::new(old.as_ref().map(|old| &old.manifest), logs, options.results);
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
    // Another build may have finished while this one waited for the lock.
    let old = Corpus::open_without_logs(cache);
    let plan = Plan::new(old.as_ref().map(|old| &old.manifest), logs, options.results);
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
        // The cache is damaged: all logs are read again.
        None => Ok(build(None, &Plan::new(None, logs, options.results))?
            .expect("a build that takes nothing over meets no damage")),
    });
    if built.is_err() {
        // On a full disk, incomplete packs would otherwise stay for good.
        let used = Manifest::load(cache).map(|used| used.generation);
        pack::sweep(cache, used.as_ref());
    }
    built
}

/// Creates the cache directory, readable by its owner only, because logs are private.
fn create_cache_dir(cache: &Path) -> io::Result<()> {
    private::create_dir(cache)
}

/// Acquires the build lock; `None` if another build holds it and `busy` is [`WhenBusy::TakeLast`].
fn lock(cache: &Path, busy: WhenBusy) -> Result<Option<File>> {
    let path = cache.join("lock");
    let file = private::create_file(&path).map_err(|error| Error::io(&path, error))?;
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) if busy == WhenBusy::TakeLast => return Ok(None),
        Err(_) => {}
    }
    match file.lock() {
        // Without locks, two builds may damage each other's packs, which is detected later.
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(Error::io(&path, error)),
        _ => Ok(Some(file)),
    }
}

/// Where a build stores the text.
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
    /// Runs the build; `None` if the old corpus is damaged.
    fn run(&self, options: BuildOptions, progress: &dyn Progress) -> Result<Option<Corpus>> {
        let Some((store, is_new)) = self.store()? else {
            return Ok(None);
        };
        let total: u64 = self.plan.read.iter().map(|task| self.cost(task)).sum();
        let threads = match total {
            0..WORTH_A_THREAD => 1,
            _ => options.threads.clamp(1, self.plan.read.len().max(1)),
        };
        // In new packs, the states of the old rows have new offsets.
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
        let mut new = store.finish();
        let old = self.old.filter(|_| !is_new).map(|old| &old.manifest);
        if segments::merge_new(&mut new, old)?.is_none() {
            return match self.old {
                Some(_) => Ok(None),
                None => Err(Error::io(self.cache, io::ErrorKind::InvalidData.into())),
            };
        }
        let corpus = self.commit(new, (found, &rows))?;
        if self.home == Destination::Cache {
            pack::sweep(self.cache, Some(&corpus.manifest.generation));
        }
        Ok(Some(corpus))
    }

    /// Opens the old packs for appending, or new ones if those are half garbage; the flag is
    /// whether they are new. `None` if the old packs cannot be used.
    fn store(&self) -> Result<Option<(BuildOutput, bool)>> {
        let (appender, manifest, is_new) = match self.old {
            // Numbering restarts long before the owner numbers run out.
            Some(old) if old.manifest.next_owner > u32::MAX / 2 => return Ok(None),
            Some(old) if !self.is_wasteful(&old.manifest) => {
                let old = &old.manifest;
                let Ok(appender) = Appender::resume(self.cache, old.generation, old.lengths) else {
                    return Ok(None);
                };
                (appender, old.successor(), false)
            }
            _ => {
                let number = pack::newest(self.cache).wrapping_add(1);
                let generation = Generation {
                    number,
                    indexes: [number; PARTS],
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

    /// Whether more than half of the text in a pack belongs to no log, or most of the states are
    /// outdated.
    fn is_wasteful(&self, old: &Manifest) -> bool {
        let live = old.live();
        let is_garbage = |part: usize| {
            old.written[part] > WORTH_COMPACTING && live[part] < old.written[part] / 2
        };
        let states: u64 = old.logs.iter().map(|log| log.state.1).sum();
        (0..PARTS).any(is_garbage) || old.lengths[Pack::States.number()] > 4 * states + PILED_UP
    }

    /// Estimates the number of bytes to read of a log.
    fn cost(&self, task: &Task) -> u64 {
        let size = self.logs[task.listed].size;
        let known = task
            .row
            .zip(self.old)
            .map(|(row, old)| &old.manifest.logs[row]);
        match known {
            Some(row) if row.size < size && row.has_results == task.with_results => {
                size - row.progress.bytes.min(size)
            }
            _ => size,
        }
    }

    /// Returns the live owners: those of unchanged logs, and of changed ones until they are read.
    fn alive(&self, old: &Corpus) -> HashSet<u32> {
        let changed = self.plan.read.iter().filter_map(|task| task.row);
        let rows = self.plan.keep.iter().copied().chain(changed);
        rows.flat_map(|row| {
            let row = &old.manifest.logs[row];
            [row.owner, row.tail_owner]
        })
        .collect()
    }

    /// Copies the messages of live owners into new packs; `false` if the old ones are damaged.
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

    /// Continues the last block of each part if it is small, so that logs that grow line by
    /// line do not leave many tiny blocks; `false` if it is damaged.
    fn absorb(&self, old: &Corpus, worker: &mut BuildWorker<'_>) -> Result<bool> {
        let alive = self.alive(old);
        for part in Part::ALL {
            let blocks = &old.manifest.blocks[part.number()];
            let Some(last) = blocks
                .last()
                .filter(|last| (last.shape.text as usize) < part.block_size() / 2)
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

    /// Reads the logs of the plan on `threads` threads, the largest first.
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
                    whole.notes.extend(other.notes);
                    Ok(whole)
                });
            }
            whole
        })
    }

    /// Writes the new manifest and opens the corpus that it describes.
    fn commit(
        &self,
        (appender, mut new): (Appender, Manifest),
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
        for Task { listed, row, .. } in &self.plan.read {
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
                // Cancelled before it was read: the old state is still valid.
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
                // The cache was deleted meanwhile: the open packs can still be read.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        let corpus = Corpus::new(self.cache, new, appender.map()?);
        let unread = found.failed.into_iter().filter_map(|(_, error)| error);
        let corpus = corpus.with_rows(&shown);
        Ok(corpus.with_unread(unread.collect(), found.notes))
    }
}
