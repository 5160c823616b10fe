//! Bringing the corpus up to date: reading what has changed, and just that.
//!
//! One builder at a time, under a lock; readers go on with the last catalogue until the
//! new one takes its place. Where the cache cannot be written, everything is read into
//! memory: slower, but a search must not fail for want of a cache.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::block::BLOCK;
use super::catalogue::{Catalogue, LogRow};
use super::hand::{Done, Hand, Store, Yield};
use super::pack::{self, Appender, Generation, Pack};
use super::plan::Plan;
use super::{Busy, Corpus, Effort, Part, Progress, Tally};
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
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Corpus> {
    // A log that cannot be read is no failure, so that any is the cache's.
    let why = match kept(cache, logs, effort, progress) {
        Ok(corpus) => return Ok(corpus),
        Err(why) => why,
    };
    let build = Build {
        cache,
        logs,
        old: None,
        plan: &Plan::new(None, logs),
        home: Home::Memory,
    };
    let corpus = build.run(effort, progress)?;
    Ok(corpus
        .expect("a build that takes nothing over meets no damage")
        .in_memory(why))
}

/// Brings the cache up to date.
fn kept(cache: &Path, logs: &[LogFile], effort: Effort, progress: &dyn Progress) -> Result<Corpus> {
    let old = Corpus::open(cache);
    let plan = Plan::new(old.as_ref().map(|old| &old.catalogue), logs);
    if plan.is_idle()
        && let Some(old) = old
    {
        return Ok(old.showing(&plan.shown()));
    }
    make(cache).map_err(|error| Error::io(cache, error))?;
    let _lock = match (lock(cache, effort.busy)?, old) {
        (Some(lock), _) => lock,
        (None, Some(old)) => return Ok(old.showing(&plan.shown())),
        (None, None) => lock(cache, Busy::Wait)?.expect("a lock that is waited for is got"),
    };
    // Another builder may have done it all while the lock was waited for.
    let old = Corpus::open(cache);
    let plan = Plan::new(old.as_ref().map(|old| &old.catalogue), logs);
    if plan.is_idle()
        && let Some(old) = old
    {
        return Ok(old.showing(&plan.shown()));
    }
    let build = |old: Option<&Corpus>, plan: &Plan| {
        Build {
            cache,
            logs,
            old,
            plan,
            home: Home::Cache,
        }
        .run(effort, progress)
    };
    let built = build(old.as_ref(), &plan).and_then(|built| match built {
        Some(corpus) => Ok(corpus),
        // What is there is damaged: everything is read again.
        None => Ok(build(None, &Plan::new(None, logs))?
            .expect("a build that takes nothing over meets no damage")),
    });
    if built.is_err() {
        // Half-written packs would stay for good where there is no room for whole ones.
        let used = Catalogue::load(cache).map(|used| used.generation.number);
        pack::sweep(cache, used);
    }
    built
}

/// Makes the cache directory, for its owner only: what is in it was said in private.
fn make(cache: &Path) -> io::Result<()> {
    private::create_dir(cache)
}

/// Takes the builder's lock; `None` where another has it and `busy` says not to wait.
fn lock(cache: &Path, busy: Busy) -> Result<Option<File>> {
    let path = cache.join("lock");
    let file = private::create_file(&path).map_err(|error| Error::io(&path, error))?;
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) if busy == Busy::TakeLast => return Ok(None),
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
enum Home {
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
    home: Home,
}

impl Build<'_> {
    /// Reads what is to be read; `None` where the old corpus turns out to be damaged.
    fn run(&self, effort: Effort, progress: &dyn Progress) -> Result<Option<Corpus>> {
        let Some((store, is_new)) = self.store()? else {
            return Ok(None);
        };
        let total: u64 = self.plan.read.iter().map(|task| self.cost(task)).sum();
        let threads = match total {
            0..WORTH_A_THREAD => 1,
            _ => effort.threads.clamp(1, self.plan.read.len().max(1)),
        };
        // The old rows get new places for their states when the packs are new.
        let mut rows: Vec<LogRow> = self
            .old
            .map_or_else(Vec::new, |old| old.catalogue.logs.clone());
        let mut first = Hand::new(&store);
        let taken_over = match (self.old, is_new) {
            (Some(old), true) => self.compact(old, &mut first, &mut rows)?,
            (Some(old), false) if threads == 1 => self.absorb(old, &mut first)?,
            _ => true,
        };
        if !taken_over {
            return Ok(None);
        }
        let found = self.read_all(first, threads, (total, progress))?;
        let (appender, catalogue) = store.finish();
        let corpus = self.commit(appender, catalogue, (found, &rows))?;
        if is_new && self.home == Home::Cache {
            pack::sweep(self.cache, Some(corpus.catalogue.generation.number));
        }
        Ok(Some(corpus))
    }

    /// Opens the packs: the old ones to go on with, or new ones where those are half
    /// garbage; `None` where the old ones are of no use.
    fn store(&self) -> Result<Option<(Store, bool)>> {
        let (appender, catalogue, is_new) = match self.old {
            // Owners are numbered anew long before the numbers run out.
            Some(old) if old.catalogue.next_owner > u32::MAX / 2 => return Ok(None),
            Some(old) if !self.is_wasteful(&old.catalogue) => {
                let old = &old.catalogue;
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
                    Home::Cache => Appender::create(self.cache, generation)?,
                    Home::Memory => Appender::in_memory(self.cache),
                };
                let mut catalogue = Catalogue::new(generation);
                catalogue.next_owner = self.old.map_or(1, |old| old.catalogue.next_owner);
                (appender, catalogue, true)
            }
        };
        Ok(Some((Store::new(appender, catalogue), is_new)))
    }

    /// Tells whether more than half of the text in a pack belongs to no log, or old
    /// states have piled up.
    fn is_wasteful(&self, old: &Catalogue) -> bool {
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
        let known = row.zip(self.old).map(|(row, old)| &old.catalogue.logs[row]);
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
            let row = &old.catalogue.logs[row];
            [row.owner, row.tail_owner]
        })
        .collect()
    }

    /// Copies everything that is alive into new packs; `false` on damage.
    fn compact(&self, old: &Corpus, hand: &mut Hand<'_>, rows: &mut [LogRow]) -> Result<bool> {
        let alive = self.alive(old);
        for part in Part::ALL {
            for block in 0..old.catalogue.blocks[part.number()].len() {
                if !hand.replay(old, (part, block), &alive) {
                    return Ok(false);
                }
            }
        }
        hand.flush();
        for row in rows {
            let Some(state) = old.maps.get(Pack::States, row.state.0, row.state.1) else {
                return Ok(false);
            };
            row.state = hand.store.keep_state(state)?;
        }
        hand.failure.take().map_or(Ok(true), Err)
    }

    /// Takes up the last block of each part again if it is small, so that logs that grow
    /// line by line do not leave a trail of tiny blocks; `false` on damage.
    fn absorb(&self, old: &Corpus, hand: &mut Hand<'_>) -> Result<bool> {
        let alive = self.alive(old);
        for part in Part::ALL {
            let blocks = &old.catalogue.blocks[part.number()];
            let Some(last) = blocks
                .last()
                .filter(|last| (last.shape.text as usize) < BLOCK / 2)
            else {
                continue;
            };
            debug_assert!(last.shape.rows > 0);
            if !hand.replay(old, (part, blocks.len() - 1), &alive) {
                return Ok(false);
            }
            hand.store.lock().1.blocks[part.number()].pop();
        }
        Ok(true)
    }

    /// Reads the logs of the plan on so many threads, the largest first.
    fn read_all(
        &self,
        first: Hand<'_>,
        threads: usize,
        (total, progress): (u64, &dyn Progress),
    ) -> Result<Yield> {
        let mut tasks = self.plan.read.clone();
        tasks.sort_by_key(|task| std::cmp::Reverse(self.cost(task)));
        let tasks = &tasks;
        let store = first.store;
        let work = |hand: Hand<'_>| {
            hand.work((self.logs, self.old), tasks, &|| {
                progress.advance(Tally {
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
                .map(|_| scope.spawn(|| work(Hand::new(store))))
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

    /// Writes the new catalogue and opens the corpus that it describes.
    fn commit(
        &self,
        appender: Appender,
        mut new: Catalogue,
        (found, rows): (Yield, &[LogRow]),
    ) -> Result<Corpus> {
        let mut read: HashMap<usize, Done> = found
            .done
            .into_iter()
            .map(|done| (done.listed, done))
            .collect();
        let failed: HashSet<usize> = found.failed.iter().map(|(listed, _)| *listed).collect();
        let (listed, unlisted) = self.plan.keep.split_at(self.plan.listed);
        let adopt = |new: &mut Catalogue, row: usize| {
            let old = &self.old.expect("rows are of the old catalogue").catalogue;
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
        if self.home == Home::Cache {
            match new.save(self.cache) {
                // The cache was deleted meanwhile: what was read is still good for this run.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        let corpus = Corpus::new(self.cache, new, appender.map()?);
        let unread = found.failed.into_iter().filter_map(|(_, error)| error);
        Ok(corpus.showing(&shown).without(unread.collect()))
    }
}
