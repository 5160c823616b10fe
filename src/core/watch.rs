//! Changed paths below the directories that matter, told once things have calmed down.
//!
//! The debouncing is a thread that blocks until something happens, then waits for a pause: a
//! watcher with a tick of its own would keep an idle program busy.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_debouncer_full::notify::{
    self, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
};

use super::history::Record;
use super::library::Depth;
use super::memory::Revision;
use super::{Error, Result};

/// How long nothing may happen before what happened is told.
const PAUSE: Duration = Duration::from_millis(80);

/// How often the pause is waited for at most: a file that is written all the time is told of too.
const MOST_PAUSES: usize = 5;

/// The revision that a file of ours got; `None` for one that we removed.
type Expected = Arc<Mutex<HashMap<PathBuf, Option<Revision>>>>;

/// Watches directories until it is dropped.
#[derive(Debug)]
pub struct Watch {
    watcher: RecommendedWatcher,
    watched: HashMap<PathBuf, Depth>,
    expected: Expected,
}

impl Watch {
    /// Starts watching nothing yet; `tell` is called on a thread of its own with paths that
    /// somebody else changed.
    pub fn start(tell: impl Fn(Vec<PathBuf>) + Send + 'static) -> Result<Self> {
        let (seen, seeing) = mpsc::channel();
        let watcher = notify::recommended_watcher(raw(seen)).map_err(told)?;
        let expected = Expected::default();
        let known = Arc::clone(&expected);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || settle(&seeing, &known, tell))
            .map_err(|e| Error::io("watching files", e))?;
        Ok(Self {
            watcher,
            watched: HashMap::new(),
            expected,
        })
    }

    /// Watches exactly these directories from now on; answers those that cannot be watched.
    pub fn aim(&mut self, at: &[(PathBuf, Depth)]) -> Vec<Error> {
        let wanted: HashMap<&Path, Depth> = at
            .iter()
            .map(|(path, depth)| (path.as_path(), *depth))
            .collect();
        let gone: Vec<PathBuf> = self
            .watched
            .iter()
            .filter(|(path, depth)| wanted.get(path.as_path()) != Some(depth))
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            // A directory that was removed has stopped being watched by itself.
            drop(self.watcher.unwatch(&path));
            self.watched.remove(&path);
        }
        let mut failed = Vec::new();
        for (path, depth) in at {
            if self.watched.contains_key(path) || !path.is_dir() {
                continue;
            }
            let mode = match depth {
                Depth::Surface => RecursiveMode::NonRecursive,
                Depth::All => RecursiveMode::Recursive,
            };
            match self.watcher.watch(path, mode) {
                Ok(()) => drop(self.watched.insert(path.clone(), *depth)),
                Err(error) => failed.push(told(error)),
            }
        }
        failed
    }

    /// Tells of a change of ours, so that it is not taken for somebody else's.
    pub fn expect(&self, record: &Record) {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        for touch in &record.files {
            expected.insert(touch.root.join(&touch.path), touch.after);
        }
    }
}

fn told(error: notify::Error) -> Error {
    let path = error.paths.first().cloned().unwrap_or_default();
    let source = match error.kind {
        notify::ErrorKind::Io(source) => source,
        kind => std::io::Error::other(format!("{kind:?}")),
    };
    Error::io(path, source)
}

fn raw(seen: Sender<Vec<PathBuf>>) -> impl FnMut(notify::Result<notify::Event>) {
    move |event| {
        let Ok(event) = event else { return };
        // Reading a file is an access too: telling of it would go round in a circle.
        if !matches!(event.kind, EventKind::Access(_)) {
            // Nobody listens any more when the program is about to end.
            drop(seen.send(event.paths));
        }
    }
}

fn settle(seeing: &Receiver<Vec<PathBuf>>, expected: &Expected, tell: impl Fn(Vec<PathBuf>)) {
    while let Ok(first) = seeing.recv() {
        let mut paths: HashSet<PathBuf> = first.into_iter().collect();
        for _ in 0..MOST_PAUSES {
            match seeing.recv_timeout(PAUSE) {
                Ok(more) => paths.extend(more),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
            paths.extend(seeing.try_iter().flatten());
        }
        let mut paths: Vec<PathBuf> = paths
            .into_iter()
            .filter(|path| !is_temporary(path) && !is_ours(path, expected))
            .collect();
        paths.sort();
        if !paths.is_empty() {
            tell(paths);
        }
    }
}

/// Whether it is one of the files that a change puts beside its target for a moment.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".tome-") && name.ends_with(".tmp")
}

/// Whether the file is still what we made of it.
fn is_ours(path: &Path, expected: &Expected) -> bool {
    let mut expected = expected.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(ours) = expected.get(path) else {
        return false;
    };
    let is = fs::read(path).ok().as_deref().map(Revision::of);
    let same = is == *ours;
    if !same {
        expected.remove(path);
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::change::{Author, Verb};
    use crate::core::history::Touch;
    use crate::core::layout::Layout;

    fn record(root: &Path, path: &str, after: &[u8]) -> Record {
        Record {
            id: String::new(),
            time: 0,
            author: Author {
                who: String::new(),
                door: String::new(),
            },
            verb: Verb::Edit,
            message: String::new(),
            of: None,
            files: vec![Touch {
                root: root.to_owned(),
                layout: Layout::Index,
                path: path.to_owned(),
                before: None,
                after: Some(Revision::of(after)),
                derived: false,
                folders: Vec::new(),
                emptied: Vec::new(),
                modified: None,
                mode: None,
                added: 0,
                removed: 0,
            }],
            tombstones: Vec::new(),
        }
    }

    #[test]
    fn others_changes_are_told_and_ours_are_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("canonical");
        let (told, telling) = mpsc::channel();
        let mut watch = Watch::start(move |paths| drop(told.send(paths))).expect("starts");
        assert!(watch.aim(&[(root.clone(), Depth::All)]).is_empty());
        watch.expect(&record(&root, "ours.md", b"ours"));
        fs::write(root.join("ours.md"), "ours").expect("writes");
        fs::write(root.join("theirs.md"), "theirs").expect("writes");
        let paths = telling
            .recv_timeout(Duration::from_secs(10))
            .expect("is told");
        assert_eq!(paths, [root.join("theirs.md")]);
        fs::write(root.join("ours.md"), "somebody else's").expect("writes");
        let paths = telling
            .recv_timeout(Duration::from_secs(10))
            .expect("is told");
        assert_eq!(paths, [root.join("ours.md")]);
    }
}
