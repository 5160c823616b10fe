//! Waiting for the locks of stores, with progress reports and a time limit.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::core::change::history::{History, Wait};
use crate::tui::event::Event;

/// The time limit. It can be long because only the writer waits.
const LIMIT: Duration = Duration::from_secs(60);

/// Reports the waiting to the app, and ends it when the program ends.
#[derive(Clone)]
pub(super) struct LockWait {
    pub(super) events: Sender<Event>,
    /// Whether the program is about to end.
    pub(super) leaving: Arc<AtomicBool>,
    /// Whether the writer waits for a lock.
    pub(super) waiting: Arc<AtomicBool>,
}

impl LockWait {
    /// Returns the history with an observer that reports waits and stops at the end of the program.
    pub(super) fn observe(&self, history: History) -> History {
        let own = self.clone();
        history
            .with_limit(LIMIT)
            .with_wait_observer(Arc::new(move |wait| own.send(wait)))
    }

    /// Reports the lock holder and the time waited so far.
    fn send(&self, wait: &Wait) -> ControlFlow<()> {
        if self.leaving.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.waiting.store(true, Ordering::Relaxed);
        let holder = wait.holder.as_ref().map(ToString::to_string);
        // The receiver is gone when the program is about to end.
        drop(self.events.send(Event::Waiting {
            holder: holder.unwrap_or_else(|| "another process".to_owned()),
            seconds: wait.waited.as_secs(),
        }));
        ControlFlow::Continue(())
    }

    /// Reports the end of the waiting, if there was any.
    pub(super) fn end(&self) {
        if self.waiting.swap(false, Ordering::Relaxed) {
            drop(self.events.send(Event::WaitingOver));
        }
    }
}
