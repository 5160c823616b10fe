//! Watches directories and reports changed paths, debounced.
//!
//! If the system lost changes (its queue overflowed, or watching failed), that is reported,
//! too, so that the receiver reads everything again.
//!
//! A thread debounces: it blocks until an event arrives, then waits for a pause. A watcher with
//! a timer would keep an idle program busy.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::core::disk::foreign::{LARGEST_WHOLE, read_capped};
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// The pause without events after which changes are reported.
const PAUSE: Duration = Duration::from_millis(80);

/// The longest time between an event and its report: a file that is written constantly is
/// reported, too.
const LONGEST: Duration = Duration::from_millis(400);

/// How deep a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchDepth {
    /// The directory's own files.
    Surface,
    /// Everything below it.
    All,
}

/// What a watcher reports.
#[derive(Debug)]
pub enum WatchEvent {
    /// Another process changed these paths.
    Changed(Vec<PathBuf>),
    /// Changes were missed: any path may have changed.
    Missed,
    /// Watching failed. The same failure is reported once.
    Failed(Error),
}

/// The revisions of files after tome's own changes, so that these are not reported as changes
/// of another process; `None` for a file that tome removed.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    files: Arc<Mutex<HashMap<PathBuf, Option<Revision>>>>,
}

impl Expected {
    /// Adds files that tome wrote, each with what it has now; `None` for one that tome removed.
    pub fn add(&self, written: impl IntoIterator<Item = (PathBuf, Option<Revision>)>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(written);
    }

    /// Whether the file still has the revision that tome wrote.
    fn has(&self, path: &Path) -> bool {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ours) = files.get(path) else {
            return false;
        };
        let is = read_capped(path, LARGEST_WHOLE)
            .ok()
            .as_deref()
            .map(Revision::of);
        let same = is == *ours;
        if !same {
            files.remove(path);
        }
        same
    }
}

/// The directories that are watched only because one below them is awaited, each with those.
type Awaited = HashMap<PathBuf, Vec<PathBuf>>;

#[derive(Debug, Clone, Default)]
struct AwaitedParents {
    awaited: Arc<Mutex<Awaited>>,
}

impl AwaitedParents {
    fn set(&self, awaited: Awaited) {
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    }

    /// Whether a path matters: in such a directory only what leads to an awaited one does.
    fn matters(&self, path: &Path) -> bool {
        let parents = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        let awaited = path.parent().and_then(|above| parents.get(above));
        awaited.is_none_or(|awaited| awaited.iter().any(|target| target.starts_with(path)))
    }
}

/// Watches directories until it is dropped.
#[derive(Debug)]
pub struct DirectoryWatcher {
    watcher: RecommendedWatcher,
    watched: HashMap<PathBuf, WatchDepth>,
    /// The targets of [`Self::await_targets`].
    awaited: Vec<(PathBuf, WatchDepth)>,
    parents: AwaitedParents,
    expected: Expected,
}

impl DirectoryWatcher {
    /// Starts a watcher without targets; `tell` is called on a thread of its own.
    pub fn start(tell: impl Fn(WatchEvent) + Send + 'static) -> Result<Self> {
        let (seen, seeing) = mpsc::channel();
        let watcher = notify::recommended_watcher(event_handler(seen)).map_err(watch_error)?;
        let expected = Expected::default();
        let parents = AwaitedParents::default();
        let (known, parents_of_awaited) = (expected.clone(), parents.clone());
        let matters = move |path: &Path| !known.has(path) && parents_of_awaited.matters(path);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || debounce(&seeing, matters, tell))
            .map_err(|e| Error::io("watching files", e))?;
        Ok(Self {
            watcher,
            watched: HashMap::new(),
            awaited: Vec::new(),
            parents,
            expected,
        })
    }

    /// Watches exactly these directories from now on; returns an error for each that fails.
    pub fn set_targets(&mut self, at: &[(PathBuf, WatchDepth)]) -> Vec<Error> {
        let wanted: HashMap<&Path, WatchDepth> = at
            .iter()
            .map(|(path, depth)| (path.as_path(), *depth))
            .collect();
        let gone: Vec<PathBuf> = self
            .watched
            .iter()
            .filter(|(path, depth)| wanted.get(path.as_path()) != Some(depth) || !path.is_dir())
            .map(|(path, _)| path.clone())
            .collect();
        gone.iter().for_each(|path| self.unwatch(path));
        let mut failed = Vec::new();
        for (path, depth) in at {
            if self.watched.contains_key(path) || !path.is_dir() {
                continue;
            }
            let mode = match depth {
                WatchDepth::Surface => RecursiveMode::NonRecursive,
                WatchDepth::All => RecursiveMode::Recursive,
            };
            match self.watcher.watch(path, mode) {
                Ok(()) => drop(self.watched.insert(path.clone(), *depth)),
                Err(error) => failed.push(watch_error(error)),
            }
        }
        failed
    }

    /// Like [`Self::set_targets`], and in place of those that do not exist the nearest directories
    /// above, where it is seen when they come back.
    pub fn await_targets(&mut self, targets: Vec<(PathBuf, WatchDepth)>) -> Vec<Error> {
        self.awaited = targets;
        self.watch_awaited()
    }

    fn watch_awaited(&mut self) -> Vec<Error> {
        loop {
            let (all, parents) = with_awaited(&self.awaited);
            self.parents.set(parents);
            let failed = self.set_targets(&all);
            // What came before the directory above was watched is not told.
            if with_awaited(&self.awaited).0 == all {
                return failed;
            }
        }
    }

    /// The directories that are watched.
    pub fn watched(&self) -> HashSet<PathBuf> {
        self.watched.keys().cloned().collect()
    }

    /// Watches awaited targets anew that are among the changed paths, or below one: they came or
    /// went themselves, and a directory that has the same name now is another one.
    pub fn renew(&mut self, changed: &[PathBuf]) -> Vec<Error> {
        let is_changed = |target: &Path| changed.iter().any(|path| target.starts_with(path));
        if !self.awaited.iter().any(|(target, _)| is_changed(target)) {
            return Vec::new();
        }
        let targets = self.watched.keys().filter(|target| is_changed(target));
        let replaced: Vec<PathBuf> = targets.cloned().collect();
        replaced.iter().for_each(|path| self.unwatch(path));
        self.watch_awaited()
    }

    fn unwatch(&mut self, path: &Path) {
        // A directory that was removed is not watched any more.
        drop(self.watcher.unwatch(path));
        self.watched.remove(path);
    }

    /// Returns the set to add tome's own changes to.
    pub fn expected(&self) -> Expected {
        self.expected.clone()
    }
}

/// Adds to directories that are to be watched the nearest one above each that does not exist; returns
/// these, too, with what they stand for.
fn with_awaited(targets: &[(PathBuf, WatchDepth)]) -> (Vec<(PathBuf, WatchDepth)>, Awaited) {
    let mut parents = Awaited::new();
    for (path, _) in targets.iter().filter(|(path, _)| !path.is_dir()) {
        let above = path.ancestors().skip(1).find(|path| path.is_dir());
        if let Some(above) = above.filter(|above| targets.iter().all(|(path, _)| path != above)) {
            let of = parents.entry(above.to_owned()).or_default();
            of.push(path.clone());
        }
    }
    let above = parents.keys().cloned();
    let all = targets.iter().cloned();
    let mut all: Vec<_> = all
        .chain(above.map(|above| (above, WatchDepth::Surface)))
        .collect();
    all[targets.len()..].sort_by(|a, b| a.0.cmp(&b.0));
    (all, parents)
}

fn watch_error(error: notify::Error) -> Error {
    let path = error.paths.first().cloned();
    let source = match error.kind {
        notify::ErrorKind::Io(source) => source,
        notify::ErrorKind::Generic(message) => std::io::Error::other(message),
        notify::ErrorKind::MaxFilesWatch => std::io::Error::other(
            "the system watches no more directories; raise fs.inotify.max_user_watches",
        ),
        kind => std::io::Error::other(format!("{kind:?}")),
    };
    Error::io(path.unwrap_or_else(|| "watching files".into()), source)
}

/// The events since the last report.
#[derive(Debug, Default)]
struct Batch {
    paths: HashSet<PathBuf>,
    missed: bool,
    failures: Vec<notify::Error>,
}

impl Batch {
    fn add(&mut self, event: notify::Result<notify::Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.missed = true,
            Ok(event) => self.paths.extend(event.paths),
            Err(error) => {
                self.failures.push(error);
                self.missed = true;
            }
        }
    }
}

fn event_handler(
    seen: Sender<notify::Result<notify::Event>>,
) -> impl FnMut(notify::Result<notify::Event>) {
    move |event| {
        // Reading a file is an access, too: reporting it would cause the next read.
        let is_reading = |event: &notify::Event| {
            matches!(event.kind, EventKind::Access(_)) && !event.need_rescan()
        };
        if !event.as_ref().is_ok_and(is_reading) {
            // Fails if the receiver is gone, when the program is about to end.
            drop(seen.send(event));
        }
    }
}

fn debounce(
    seeing: &Receiver<notify::Result<notify::Event>>,
    matters: impl Fn(&Path) -> bool,
    tell: impl Fn(WatchEvent),
) {
    let mut known_failures: HashSet<String> = HashSet::new();
    while let Ok(first) = seeing.recv() {
        let mut batch = Batch::default();
        batch.add(first);
        let until = Instant::now() + LONGEST;
        while Instant::now() < until {
            match seeing.recv_timeout(PAUSE) {
                Ok(more) => batch.add(more),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        for error in batch.failures.into_iter().map(watch_error) {
            if known_failures.insert(error.to_string()) {
                tell(WatchEvent::Failed(error));
            }
        }
        if batch.missed {
            tell(WatchEvent::Missed);
            continue;
        }
        let mut paths: Vec<PathBuf> = batch
            .paths
            .into_iter()
            .filter(|path| !is_temporary(path) && matters(path))
            .collect();
        paths.sort();
        if !paths.is_empty() {
            tell(WatchEvent::Changed(paths));
        }
    }
}

/// Whether the path is a temporary file that a change puts beside its target.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".tome-") && name.ends_with(".tmp")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn others_changes_are_told_and_ours_are_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("canonical");
        let (sender, receiver) = mpsc::channel();
        let mut watch =
            DirectoryWatcher::start(move |event| drop(sender.send(event))).expect("starts");
        assert!(
            watch
                .set_targets(&[(root.clone(), WatchDepth::All)])
                .is_empty()
        );
        let ours = (root.join("ours.md"), Some(Revision::of(b"ours")));
        watch.expected().add([ours]);
        fs::write(root.join("ours.md"), "ours").expect("writes");
        fs::write(root.join("theirs.md"), "theirs").expect("writes");
        assert_eq!(changed(&receiver), [root.join("theirs.md")]);
        fs::write(root.join("ours.md"), "somebody else's").expect("writes");
        assert_eq!(changed(&receiver), [root.join("ours.md")]);
    }

    #[test]
    fn a_directory_that_goes_and_comes_back_is_watched_again() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("canonical");
        let (store, away) = (root.join("store"), root.join("away"));
        fs::create_dir(&store).expect("created");
        let (sender, receiver) = mpsc::channel();
        let mut watch =
            DirectoryWatcher::start(move |event| drop(sender.send(event))).expect("starts");
        let targets = vec![(store.clone(), WatchDepth::All)];
        assert!(watch.await_targets(targets).is_empty());
        let until = |wanted: &Path| loop {
            let paths = changed(&receiver);
            if paths.iter().any(|path| path == wanted) {
                return paths;
            }
        };
        let came_back: [&dyn Fn(); 2] = [&|| fs::rename(&away, &store).expect("renamed"), &|| {
            fs::remove_dir_all(&away).expect("removed");
            fs::create_dir(&store).expect("created");
        }];
        for come_back in came_back {
            fs::rename(&store, &away).expect("renamed");
            assert!(watch.renew(&until(&store)).is_empty());
            assert_eq!(watch.watched.keys().collect::<Vec<_>>(), [&root]);
            come_back();
            assert!(watch.renew(&until(&store)).is_empty());
            assert_eq!(watch.watched.keys().collect::<Vec<_>>(), [&store]);
            fs::write(store.join("new.md"), "new").expect("written");
            until(&store.join("new.md"));
        }
    }

    #[test]
    fn beside_what_is_awaited_nothing_is_told() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("canonical");
        let awaited = root.join("agent/sessions");
        let (sender, receiver) = mpsc::channel();
        let mut watch =
            DirectoryWatcher::start(move |event| drop(sender.send(event))).expect("starts");
        let targets = vec![(awaited.clone(), WatchDepth::All)];
        assert!(watch.await_targets(targets).is_empty());
        assert_eq!(watch.watched(), HashSet::from([root.clone()]));
        fs::write(root.join("other.md"), "other").expect("written");
        fs::create_dir(root.join("agent")).expect("created");
        assert_eq!(changed(&receiver), [root.join("agent")]);
        fs::create_dir(&awaited).expect("created");
        assert!(watch.renew(&[root.join("agent")]).is_empty());
        assert_eq!(watch.watched(), HashSet::from([awaited.clone()]));
        fs::write(awaited.join("a.jsonl"), "{}").expect("written");
        assert_eq!(changed(&receiver), [awaited.join("a.jsonl")]);
    }

    fn changed(receiver: &Receiver<WatchEvent>) -> Vec<PathBuf> {
        match receiver.recv_timeout(Duration::from_secs(10)) {
            Ok(WatchEvent::Changed(paths)) => paths,
            other => panic!("{other:?}"),
        }
    }

    /// What is reported for these events of the system.
    fn told_of(events: Vec<notify::Result<notify::Event>>) -> Vec<WatchEvent> {
        let (seen, seeing) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            debounce(
                &seeing,
                |_| true,
                |event| {
                    drop(sender.send(event));
                },
            );
        });
        events.into_iter().for_each(event_handler(seen));
        thread.join().expect("ends");
        receiver.iter().collect()
    }

    #[test]
    fn a_burst_is_told_once() {
        let file = |n: usize| {
            let event = notify::Event::new(EventKind::Any);
            Ok(event.add_path(format!("/store/{n}.md").into()))
        };
        let told = told_of((0..20).map(file).collect());
        let [WatchEvent::Changed(paths)] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert_eq!(paths.len(), 20);
    }

    #[test]
    fn what_never_pauses_is_told_too() {
        let (seen, seeing) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            debounce(
                &seeing,
                |_| true,
                |event| {
                    drop(sender.send(event));
                },
            );
        });
        // More events than are taken: there is always one to take.
        while receiver.try_recv().is_err() {
            let event = notify::Event::new(EventKind::Any).add_path("/store/a.md".into());
            drop(seen.send(Ok(event)));
        }
    }

    #[test]
    fn an_overflow_is_told_although_it_names_no_path() {
        let overflow = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        let sender = told_of(vec![Ok(overflow)]);
        assert!(
            matches!(sender.as_slice(), [WatchEvent::Missed]),
            "{sender:?}"
        );
    }

    #[test]
    fn a_failure_is_told_once_and_counts_as_missed_changes() {
        let failure = || Err(notify::Error::generic("the watch broke"));
        let sender = told_of(vec![failure(), failure()]);
        let [WatchEvent::Failed(error), WatchEvent::Missed] = sender.as_slice() else {
            panic!("{sender:?}");
        };
        assert!(error.to_string().contains("the watch broke"), "{error}");
    }
}
