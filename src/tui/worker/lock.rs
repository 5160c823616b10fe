//! Waiting for the locks of stores, visibly and not for ever.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::core::history::{History, Wait};
use crate::tui::event::Event;

/// How long a lock is waited for at most. That keeps nobody from working, so that it may be long.
const LIMIT: Duration = Duration::from_secs(60);

/// Who is told of the waiting, and what ends it.
#[derive(Clone)]
pub(super) struct LockWait {
    pub(super) events: Sender<Event>,
    /// Whether the program is about to end.
    pub(super) leaving: Arc<AtomicBool>,
    /// Whether a lock is being waited for.
    pub(super) waiting: Arc<AtomicBool>,
}

impl LockWait {
    /// The same history, which tells the app of its waiting and gives up when the program ends.
    pub(super) fn observe(&self, history: History) -> History {
        let own = self.clone();
        history
            .with_limit(LIMIT)
            .with_wait_observer(Arc::new(move |wait| own.send(wait)))
    }

    /// Tells for whom and for how long it has been waited.
    fn send(&self, wait: &Wait) -> ControlFlow<()> {
        if self.leaving.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.waiting.store(true, Ordering::Relaxed);
        let holder = wait.holder.as_ref().map(ToString::to_string);
        // Nobody listens any more when the program is about to end.
        drop(self.events.send(Event::Waiting {
            holder: holder.unwrap_or_else(|| "another process".to_owned()),
            seconds: wait.waited.as_secs(),
        }));
        ControlFlow::Continue(())
    }

    /// Tells that the waiting is over, if there was any.
    pub(super) fn end(&self) {
        if self.waiting.swap(false, Ordering::Relaxed) {
            drop(self.events.send(Event::WaitingOver));
        }
    }
}
