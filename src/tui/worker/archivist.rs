//! The desk of the logs: finds them, keeps the corpus up to date, hears when they grow.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::desk::{Clerk, Slot};
use super::{finder, tell_unwatched};
use crate::core::archive::{Archive, Meant, listed};
use crate::core::corpus::{Progress, Tally};
use crate::core::library::{Depth, Library};
use crate::core::log::{Agent, LogFile};
use crate::core::watch::Watch;
use crate::tui::effect::LogsJob;
use crate::tui::event::Event;

/// Who knows the logs.
pub(crate) struct Archivist {
    pub(crate) archive: Archive,
    pub(crate) watch: Option<Watch>,
    pub(crate) finder: Slot<finder::Job>,
    pub(crate) events: Sender<Event>,
    /// Set when nobody waits for the logs any more.
    pub(crate) leaving: Arc<AtomicBool>,
    /// What could not be read the last time, which was told.
    pub(crate) told: Vec<String>,
    /// What cannot be watched, and was told.
    pub(crate) unwatched: Vec<String>,
}

impl Archivist {
    fn look(&mut self) {
        let files = self.archive.files();
        let meter = Meter {
            events: self.events.clone(),
            leaving: Arc::clone(&self.leaving),
            last: Mutex::new(Instant::now()),
        };
        let meant = self.archive.meant(&files, &meter);
        self.tell(Event::Reading(None));
        match meant {
            Ok(Meant { corpus, unread, .. }) => {
                // The same trouble is told once, however often the logs are looked at.
                if self.told != unread {
                    unread.first().into_iter().for_each(|error| {
                        self.tell(Event::Failed(error.clone()));
                    });
                    self.told = unread;
                }
                let logs = Library::bundled(listed(&corpus, &files));
                self.tell(Event::Logged(Arc::new(logs)));
                self.finder.hand(finder::Job::Logs(Arc::new(corpus)));
            }
            Err(error) => self.tell(Event::Failed(error.to_string())),
        }
        self.aim(&files);
    }

    /// Watches where the logs are, and where new ones come to be.
    fn aim(&mut self, files: &[LogFile]) {
        let Some(watch) = &mut self.watch else { return };
        let mut folders: Vec<(PathBuf, Depth)> = self
            .archive
            .places
            .roots()
            .into_iter()
            .map(|root| (root, Depth::All))
            .collect();
        // Looking into a database leaves marks beside it, which would be looked into again.
        let files = files.iter().filter(|file| file.agent != Agent::Opencode);
        for file in files {
            let known = |folder: &&(PathBuf, Depth)| match folder.1 {
                Depth::All => file.path.starts_with(&folder.0),
                Depth::Surface => file.path.parent() == Some(&folder.0),
            };
            if !folders.iter().any(|folder| known(&folder))
                && let Some(parent) = file.path.parent()
            {
                folders.push((parent.to_owned(), Depth::Surface));
            }
        }
        let failed = watch.aim(&folders);
        tell_unwatched(&failed, &mut self.unwatched, &self.events);
    }

    fn tell(&self, event: Event) {
        drop(self.events.send(event));
    }
}

impl Clerk for Archivist {
    type Job = LogsJob;

    fn perform(&mut self, job: LogsJob) {
        if self.leaving.load(Ordering::Relaxed) {
            return;
        }
        match job {
            LogsJob::Look(stores) => self.archive.places.stores = stores,
            LogsJob::Again => {}
        }
        self.look();
    }

    fn outdates(newer: &LogsJob, older: &LogsJob) -> bool {
        matches!(
            (newer, older),
            (LogsJob::Look(_), _) | (LogsJob::Again, LogsJob::Again)
        )
    }
}

/// Tells the app how far the reading has come, now and then.
struct Meter {
    events: Sender<Event>,
    leaving: Arc<AtomicBool>,
    /// When something was last told; starts with a delay, so that short work stays silent.
    last: Mutex<Instant>,
}

impl Progress for Meter {
    fn advance(&self, tally: Tally) {
        const EVERY: Duration = Duration::from_millis(100);
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            drop(self.events.send(Event::Reading(Some(tally))));
        }
    }

    fn is_cancelled(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }
}
