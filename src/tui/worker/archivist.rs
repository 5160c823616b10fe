//! The desk of the logs: finds them, keeps the corpus up to date, hears when they grow.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::desk::Clerk;
use super::finder;
use crate::core::archive::{Archive, Meant, listed};
use crate::core::corpus::{Progress, Tally};
use crate::core::library::{Depth, Library};
use crate::core::log::{Agent, LogFile};
use crate::core::watch::Watch;
use crate::tui::event::Event;

/// What the archivist does.
#[derive(Debug)]
pub(crate) enum Job {
    /// Look for logs, in these stores too.
    Look(Vec<PathBuf>),
    /// Look at what is there again: something was said, or the cache was damaged.
    Again,
}

/// Who knows the logs.
pub(crate) struct Archivist {
    pub(crate) archive: Archive,
    pub(crate) watch: Option<Watch>,
    pub(crate) finder: Sender<finder::Job>,
    pub(crate) events: Sender<Event>,
    /// Set when nobody waits for the logs any more.
    pub(crate) leaving: Arc<AtomicBool>,
    /// What could not be read the last time, which was told.
    pub(crate) told: Vec<String>,
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
                // The finder is gone when the program is about to end.
                drop(self.finder.send(finder::Job::Logs(Arc::new(corpus))));
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
        // A system that watches no more directories shows the logs all the same, as they were.
        drop(watch.aim(&folders));
    }

    fn tell(&self, event: Event) {
        drop(self.events.send(event));
    }
}

impl Clerk for Archivist {
    type Job = Job;

    fn perform(&mut self, job: Job) {
        if self.leaving.load(Ordering::Relaxed) {
            return;
        }
        if let Job::Look(stores) = job {
            self.archive.places.stores = stores;
        }
        self.look();
    }

    fn outdates(newer: &Job, older: &Job) -> bool {
        matches!((newer, older), (Job::Look(_), _) | (Job::Again, Job::Again))
    }

    fn events(&self) -> &Sender<Event> {
        &self.events
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
