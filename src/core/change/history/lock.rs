//! The locks of the stores: a process that changes a store holds its lock.
//!
//! Each lock is a file lock on a file in `locks/`. The holder writes its name and pid into the
//! file, so that waiting processes can name it; the file's modification time is the start of the
//! lock. A process that holds any lock also holds `locks/history` as a shared lock; pruning holds
//! that one exclusively, which excludes changes to every store.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::History;
use crate::core::disk::foreign::{LARGEST_SETTINGS, open_regular, read_text};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// The locks of the stores that a change touches; released on drop.
#[derive(Debug)]
pub struct Lock {
    _files: Vec<File>,
}

/// The process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its command, such as `tome write`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.name, self.pid)
    }
}

/// A wait for a lock that another process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The store that is locked, or the history's directory.
    pub store: PathBuf,
    /// The holder, if known.
    pub holder: Option<Holder>,
    /// How long the wait has lasted.
    pub waited: Duration,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.waited.as_secs();
        match &self.holder {
            Some(holder) => write!(f, "waiting for {holder}, {seconds} s…"),
            None => write!(f, "waiting for another process, {seconds} s…"),
        }
    }
}

/// Called by the waiting thread after 300 ms and then every second; `Break` stops waiting.
pub type WaitObserver = Arc<dyn Fn(&Wait) -> ControlFlow<()> + Send + Sync>;

/// How a history waits for locks, and the name that it writes into those it holds.
#[derive(Clone)]
pub(super) struct LockPolicy {
    pub(super) name: String,
    pub(super) limit: Duration,
    pub(super) observer: Option<WaitObserver>,
}

impl Default for LockPolicy {
    fn default() -> Self {
        Self {
            name: "tome".to_owned(),
            limit: Duration::from_secs(8),
            observer: None,
        }
    }
}

/// Whether a lock is exclusive (`One`) or shared (`Many`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockMode {
    One,
    Many,
}

/// The lock that every holder of another lock shares.
const GATE: &str = "history";

/// When a wait is reported for the first time.
const FIRST_NOTICE: Duration = Duration::from_millis(300);

impl History {
    /// The same history, which writes `name` (such as `tome write`) into the locks it holds.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.locking.name = name.to_owned();
        self
    }

    /// The same history, which stops waiting for a lock after `limit`.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.locking.limit = limit;
        self
    }

    /// The same history, which calls `observer` while it waits for a lock.
    #[must_use]
    pub fn with_wait_observer(mut self, observer: WaitObserver) -> Self {
        self.locking.observer = Some(observer);
        self
    }

    /// Waits for the locks of the stores at `roots`; returns [`Error::Busy`] after the limit.
    pub fn lock(&self, roots: &[&Path]) -> Result<Lock> {
        let since = Instant::now();
        let dir = self.lock_dir()?;
        let gate = self.acquire(&dir.join(GATE), &self.dir, LockMode::Many, since)?;
        let mut files = vec![gate];
        for (path, root) in lock_paths(&dir, roots) {
            files.push(self.acquire(&path, root, LockMode::One, since)?);
        }
        Ok(Lock { _files: files })
    }

    /// The locks of the stores at `roots`, or `None` if another process holds one of them.
    pub fn try_lock(&self, roots: &[&Path]) -> Result<Option<Lock>> {
        let dir = self.lock_dir()?;
        let Some(gate) = self.try_acquire(&dir.join(GATE), LockMode::Many)? else {
            return Ok(None);
        };
        let mut files = vec![gate];
        for (path, _) in lock_paths(&dir, roots) {
            match self.try_acquire(&path, LockMode::One)? {
                Some(file) => files.push(file),
                None => return Ok(None),
            }
        }
        Ok(Some(Lock { _files: files }))
    }

    /// Waits until no store is being changed, and locks them all.
    pub(super) fn lock_all(&self) -> Result<Lock> {
        let dir = self.lock_dir()?;
        let since = Instant::now();
        let gate = self.acquire(&dir.join(GATE), &self.dir, LockMode::One, since)?;
        Ok(Lock { _files: vec![gate] })
    }

    /// Waits for the lock of a part of the history itself.
    pub(super) fn lock_own(&self, name: &str) -> Result<File> {
        let path = self.lock_dir()?.join(name);
        self.acquire(&path, &self.dir, LockMode::One, Instant::now())
    }

    fn lock_dir(&self) -> Result<PathBuf> {
        self.folder("locks")
    }

    fn acquire(&self, path: &Path, store: &Path, mode: LockMode, since: Instant) -> Result<File> {
        let file = private::open_write(path).map_err(|e| Error::io(path, e))?;
        let mut pause = Duration::from_millis(1);
        let mut notice = FIRST_NOTICE;
        loop {
            if self.take(&file, path, mode)? {
                return Ok(file);
            }
            let waited = since.elapsed();
            let mut is_over = waited >= self.locking.limit;
            if waited >= notice
                && !is_over
                && let Some(observer) = &self.locking.observer
            {
                notice = Duration::from_secs(waited.as_secs() + 1);
                let wait = Wait {
                    store: store.to_owned(),
                    holder: holder_of(path),
                    waited,
                };
                is_over = observer(&wait).is_break();
            }
            if is_over {
                return Err(busy(path, store, waited));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn try_acquire(&self, path: &Path, mode: LockMode) -> Result<Option<File>> {
        let file = private::open_write(path).map_err(|e| Error::io(path, e))?;
        Ok(self.take(&file, path, mode)?.then_some(file))
    }

    /// Takes the lock if it is free, and writes the holder into its file.
    fn take(&self, file: &File, path: &Path, mode: LockMode) -> Result<bool> {
        let taken = match mode {
            LockMode::One => file.try_lock(),
            LockMode::Many => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {
                if mode == LockMode::One {
                    // The holder is only for messages; the lock is held either way.
                    drop(self.sign(file));
                }
                Ok(true)
            }
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(e)) => Err(Error::io(path, e)),
        }
    }

    fn sign(&self, mut file: &File) -> io::Result<()> {
        let text = format!("{}\n{}\n", self.locking.name, std::process::id());
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }
}

/// The lock files with their stores, in the order in which every process takes them.
fn lock_paths<'a>(dir: &Path, roots: &[&'a Path]) -> Vec<(PathBuf, &'a Path)> {
    let mut paths: Vec<(PathBuf, &Path)> = roots
        .iter()
        .map(|root| {
            let name = Revision::of(root.as_os_str().as_encoded_bytes()).to_string();
            (dir.join(name), *root)
        })
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The holder of the lock at `path`; for the shared one, the holder of any other lock.
fn holder_of(path: &Path) -> Option<Holder> {
    if path.ends_with(GATE) {
        let own = read_holder(path).filter(|_| is_held(path, LockMode::Many));
        return own.or_else(|| {
            let others = fs::read_dir(path.parent()?).ok()?.flatten();
            let mut others = others.map(|other| other.path());
            let held =
                others.find(|other| !other.ends_with(GATE) && is_held(other, LockMode::One))?;
            read_holder(&held)
        });
    }
    read_holder(path)
}

fn read_holder(path: &Path) -> Option<Holder> {
    let text = read_text(path, LARGEST_SETTINGS).ok()??;
    let (name, pid) = text.split_once('\n')?;
    Some(Holder {
        name: name.to_owned(),
        pid: pid.trim().parse().ok()?,
    })
}

fn is_held(path: &Path, mode: LockMode) -> bool {
    let Ok(file) = open_regular(path) else {
        return false;
    };
    let taken = match mode {
        LockMode::One => file.try_lock(),
        LockMode::Many => file.try_lock_shared(),
    };
    matches!(taken, Err(fs::TryLockError::WouldBlock))
}

fn busy(path: &Path, store: &Path, waited: Duration) -> Error {
    let holder = holder_of(path);
    let unknown = || "another process".to_owned();
    Error::Busy {
        store: store.to_owned(),
        holder: holder.map_or_else(unknown, |holder| holder.to_string()),
        seconds: waited.as_secs(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_lock_that_is_held_is_told_of_and_given_up() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = Path::new("/r");
        let holder = History::open(temp.path()).named("tome write");
        let held = holder.lock(&[root]).expect("free");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&seen);
        let waiting = History::open(temp.path())
            .with_limit(Duration::from_millis(400))
            .with_wait_observer(Arc::new(move |wait: &Wait| {
                into.lock().expect("sound").push(wait.to_string());
                ControlFlow::Continue(())
            }));
        assert!(waiting.try_lock(&[root]).expect("asks").is_none());
        let error = waiting.lock(&[root]).expect_err("held");
        let who = format!("tome write (pid {})", std::process::id());
        assert!(
            matches!(&error, Error::Busy { store, holder, .. } if store == root && *holder == who),
            "{error}"
        );
        let told = format!("waiting for {who}, 0 s…");
        assert_eq!(*seen.lock().expect("sound"), [told]);
        drop(held);
        waiting.lock(&[root]).expect("free again");
    }

    #[test]
    fn whoever_waits_can_be_told_to_stop() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        let _held = history.lock(&[Path::new("/r")]).expect("free");
        let impatient = history
            .clone()
            .with_wait_observer(Arc::new(|_: &Wait| ControlFlow::Break(())));
        let since = Instant::now();
        let error = impatient.lock(&[Path::new("/r")]).expect_err("held");
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        assert!(since.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn pruning_waits_for_every_store_and_they_for_it() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path())
            .named("tome append")
            .with_limit(Duration::from_millis(20));
        let one = history.lock(&[Path::new("/a")]).expect("free");
        let two = history.lock(&[Path::new("/b")]).expect("free");
        let error = history.lock_all().expect_err("two stores are held");
        assert!(error.to_string().contains("tome append (pid"), "{error}");
        drop((one, two));
        let pruning = history.clone().named("tome history --prune");
        let _all = pruning.lock_all().expect("free");
        let error = history
            .lock(&[Path::new("/new")])
            .expect_err("all are held");
        assert!(error.to_string().contains("--prune"), "{error}");
        assert!(
            history
                .try_lock(&[Path::new("/a")])
                .expect("asks")
                .is_none()
        );
    }

    #[test]
    fn a_wait_names_whoever_holds_a_lock_now_and_not_whoever_held_it_last() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path()).with_limit(Duration::from_millis(20));
        let pruning = history.clone().named("tome history --prune");
        drop(pruning.lock_all().expect("free"));
        let appending = history.clone().named("tome append");
        let _held = appending.lock(&[Path::new("/a")]).expect("free");
        let error = history.lock_all().expect_err("a store is held");
        assert!(error.to_string().contains("tome append (pid"), "{error}");
    }
}
