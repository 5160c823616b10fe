//! The writer's part in reviewing: it records what other programs wrote into the stores, and
//! carries out what the user decides about it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::writer::Writer;
use crate::core::Result;
use crate::core::library::{Library, StoreSnapshot};
use crate::core::review::{Selection, accept, annotate, count, observe};
use crate::core::store::StoreId;
use crate::tui::effect::ReviewJob;
use crate::tui::event::{Event, ReviewCounts};

impl Writer {
    /// Takes the current stores, and records what other programs wrote into those that were read
    /// again. Nothing else depends on that, so a store that cannot be observed is left for the
    /// next time.
    pub(super) fn take_stores(&mut self, library: Arc<Library>) {
        let before = std::mem::replace(&mut self.library, library);
        let moment = (self.clock)();
        let mut counts = ReviewCounts::new();
        let mut is_news = false;
        for snapshot in &self.library.stores {
            let id = snapshot.store.id();
            let known = self.review_counts.get(id).copied().unwrap_or(0);
            let is_known = before.stores.iter().any(|old| Arc::ptr_eq(old, snapshot));
            let is_leaving = self.lock_wait.leaving.load(Ordering::Relaxed);
            let waiting = if is_known || is_leaving || !is_listed(snapshot) {
                known
            } else {
                match observe(&self.history, &snapshot.store, &snapshot.memories, &moment) {
                    Ok(observed) => {
                        is_news |= !observed.records.is_empty();
                        observed.waiting
                    }
                    Err(_) => known,
                }
            };
            if waiting > 0 {
                counts.insert(id.clone(), waiting);
            }
        }
        if is_news || counts != self.review_counts {
            self.tell_counts(counts);
        }
    }

    /// Carries out a decision; returns how many files it was about.
    pub(super) fn review(&mut self, job: &ReviewJob) -> Result<usize> {
        let decided = match job {
            ReviewJob::Accept(stores) => self.accept(stores),
            ReviewJob::Note { store, ids, text } => {
                let selection = Selection::Ids(ids.clone());
                let moment = (self.clock)();
                let store = self.planner().store(store)?;
                annotate(&self.history, store, (&selection, text), &moment)
            }
        };
        self.count_again();
        decided
    }

    fn accept(&self, stores: &[(StoreId, Vec<String>)]) -> Result<usize> {
        let mut accepted = 0;
        for (store, ids) in stores {
            let selection = Selection::Ids(ids.clone());
            let store = self.planner().store(store)?;
            accepted += accept(&self.history, store, &selection)?.len();
        }
        Ok(accepted)
    }

    /// Counts what waits after a decision.
    fn count_again(&mut self) {
        let mut counts = ReviewCounts::new();
        for snapshot in &self.library.stores {
            let id = snapshot.store.id();
            let known = self.review_counts.get(id).copied();
            let waiting = count(&self.history, id).unwrap_or(known).unwrap_or(0);
            if waiting > 0 {
                counts.insert(id.clone(), waiting);
            }
        }
        if counts != self.review_counts {
            self.tell_counts(counts);
        }
    }

    fn tell_counts(&mut self, counts: ReviewCounts) {
        self.review_counts.clone_from(&counts);
        drop(self.events.send(Event::ReviewCounted(counts)));
    }
}

/// Whether the files of a store are known. Those of a store that cannot be read are not gone.
fn is_listed(snapshot: &StoreSnapshot) -> bool {
    snapshot.failure.is_none()
}
