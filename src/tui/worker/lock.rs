//! Waiting for the locks of stores, visibly and not for ever.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::core::history::History;
use crate::core::{Error, Result};
use crate::tui::event::Event;

/// How long it is waited without a word.
const SILENT: Duration = Duration::from_millis(300);
/// How often it is looked.
const EVERY: Duration = Duration::from_millis(50);
/// How long it is waited at most. It keeps nobody from working, so that it may be long.
const LIMIT: Duration = Duration::from_secs(60);

/// Who is told of the waiting, and what ends it.
pub(super) struct LockWait {
    pub(super) events: Sender<Event>,
    /// Whether the program is about to end.
    pub(super) leaving: Arc<AtomicBool>,
    /// Whether it is being waited.
    pub(super) waiting: Arc<AtomicBool>,
}

impl LockWait {
    /// Waits until nobody holds the locks of the stores at `roots`. Gives up after a while, and
    /// soon when the program is about to end.
    pub(super) fn wait(&self, history: &History, roots: &[&Path]) -> Result<()> {
        let start = Instant::now();
        let mut told = None;
        let result = loop {
            match history.try_lock(roots) {
                Ok(Some(_)) => break Ok(()),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
            let waited = start.elapsed();
            let is_leaving = self.leaving.load(Ordering::Relaxed);
            if waited >= LIMIT || (is_leaving && waited >= SILENT) {
                break Err(busy(roots, waited));
            }
            if waited >= SILENT && told != Some(waited.as_secs()) {
                told = Some(waited.as_secs());
                self.tell(HOLDER, waited.as_secs());
            }
            std::thread::sleep(EVERY);
        };
        self.over();
        result
    }

    /// Tells for whom and for how long it has been waited.
    pub(super) fn tell(&self, holder: &str, seconds: u64) {
        self.waiting.store(true, Ordering::Relaxed);
        // Nobody listens any more when the program is about to end.
        drop(self.events.send(Event::Waiting {
            holder: holder.to_owned(),
            seconds,
        }));
    }

    /// Tells that the waiting is over, if there was any.
    pub(super) fn over(&self) {
        if self.waiting.swap(false, Ordering::Relaxed) {
            drop(self.events.send(Event::WaitingOver));
        }
    }
}

/// Who holds a lock; the lock files do not say more.
const HOLDER: &str = "another tome process";

fn busy(roots: &[&Path], waited: Duration) -> Error {
    let root = roots.first().map(|root| root.display().to_string());
    Error::refused(
        root.unwrap_or_default(),
        format!(
            "nothing was written: {HOLDER} has been changing this store for {} s; try again when it is done",
            waited.as_secs()
        ),
    )
}
