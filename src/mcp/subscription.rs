//! Subscriptions to resources: clients are notified when a memory changes, whoever changes it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast::{self, Receiver, Sender};

use super::{ServerSetup, resource};
use crate::core::disk::watch::{DirectoryWatcher, WatchDepth, WatchEvent};
use crate::core::{Error, Result};

/// How many reports of changes wait for a slow client.
const MOST_WAITING: usize = 64;

/// What changed: these paths, or, if that is not known, anything.
#[derive(Debug, Clone)]
pub(super) enum ChangedPaths {
    These(Vec<PathBuf>),
    Any,
}

/// The resources that are subscribed to, and the watcher of their stores.
pub(super) struct Subscriptions {
    changes: Sender<ChangedPaths>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Subscribed to with `resources/subscribe`.
    uris: HashSet<String>,
    watcher: Option<DirectoryWatcher>,
    watched: HashSet<PathBuf>,
}

impl Subscriptions {
    pub(super) fn new() -> Self {
        Self {
            changes: broadcast::channel(MOST_WAITING).0,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a resource; returns whether it is the first one.
    pub(super) fn add(&self, uri: &str) -> bool {
        let mut state = self.state();
        let is_first = state.uris.is_empty();
        state.uris.insert(uri.to_owned());
        is_first
    }

    /// Removes a resource.
    pub(super) fn remove(&self, uri: &str) {
        self.state().uris.remove(uri);
    }

    /// Watches the store of a resource and returns a receiver of changes.
    pub(super) fn watch(&self, setup: &ServerSetup, uri: &str) -> Result<Receiver<ChangedPaths>> {
        let (store, _) = resource::locate(setup, uri)?;
        let receiver = self.changes.subscribe();
        let mut state = self.state();
        state.watched.insert(store.root().path().to_owned());
        let roots = state.watched.iter();
        let targets = roots.map(|root| (root.clone(), WatchDepth::All)).collect();
        let watcher = match &mut state.watcher {
            Some(watcher) => watcher,
            empty => empty.insert(self.start()?),
        };
        match watcher.await_targets(targets).into_iter().next() {
            Some(error) => Err(error),
            None => Ok(receiver),
        }
    }

    fn start(&self) -> Result<DirectoryWatcher, Error> {
        let changes = self.changes.clone();
        DirectoryWatcher::start(move |event| {
            let changed = match event {
                WatchEvent::Changed(paths) => ChangedPaths::These(paths),
                WatchEvent::Missed | WatchEvent::Failed(_) => ChangedPaths::Any,
            };
            // Without a receiver, nobody is subscribed any more.
            drop(changes.send(changed));
        })
    }

    /// Returns the subscribed resources that a change concerns.
    pub(super) fn concerned(&self, setup: &ServerSetup, changed: &ChangedPaths) -> Vec<String> {
        let mut state = self.state();
        if let (ChangedPaths::These(paths), Some(watcher)) = (changed, &mut state.watcher) {
            // If a store cannot be watched any more, its client cannot be told so.
            drop(watcher.renew(paths));
        }
        let mut uris: Vec<String> = state.uris.iter().cloned().collect();
        drop(state);
        uris.retain(|uri| concerns(setup, changed, uri));
        uris.sort();
        uris
    }
}

/// Whether a change concerns a resource: a file, or a store with any file below it.
pub(super) fn concerns(setup: &ServerSetup, changed: &ChangedPaths, uri: &str) -> bool {
    let Ok((store, path)) = resource::locate(setup, uri) else {
        return false;
    };
    let paths = match changed {
        ChangedPaths::These(paths) => paths,
        ChangedPaths::Any => return true,
    };
    let root = store.root().path();
    match path.as_str() {
        "" => paths.iter().any(|changed| changed.starts_with(root)),
        path => {
            let file = root.join(store.rules().file_of(path));
            paths.iter().any(|changed| file.starts_with(changed))
        }
    }
}
