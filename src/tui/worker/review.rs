//! The writer's part in reviewing: it records what other programs wrote into the stores, and
//! carries out what the user decides about it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::writer::Writer;
use crate::core::insight::review::{
    Observed, Resolution, Selection, accept, accepted_memories, annotate, count, observe, resolve,
    set_here_before, waiting_paths,
};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};
use crate::tui::effect::ReviewJob;
use crate::tui::event::{Event, ReviewCounts, WaitingFiles};

impl Writer {
    /// Takes the current stores, and records what other programs wrote into those that were read
    /// again. Nothing else depends on that, so a store that cannot be observed is left for the
    /// next time.
    pub(super) fn take_stores(&mut self, library: Arc<Library>) {
        let before = std::mem::replace(&mut self.library, library);
        // What a crashed process left half written is undone first, so that it is not taken for a
        // write of another program.
        let is_settled = self.settle_stores().is_ok();
        let moment = (self.clock)();
        let mut counts = ReviewCounts::new();
        let mut is_news = false;
        for snapshot in &self.library.stores {
            let id = snapshot.store.id();
            let known = self.review_counts.get(id);
            let is_known = before.stores.iter().any(|old| Arc::ptr_eq(old, snapshot));
            let is_leaving = self.lock_wait.leaving.load(Ordering::Relaxed);
            let is_observed = is_settled && !is_known && !is_leaving && is_listed(snapshot);
            let see = || self.observe(snapshot, &moment).ok();
            let observed = is_observed.then(see).flatten();
            let is_new = |observed: &Observed| !observed.records.is_empty();
            is_news |= observed.as_ref().is_some_and(is_new);
            let waiting = match observed {
                Some(observed) => self.waiting_files(id, observed.waiting),
                None => known.cloned(),
            };
            counts.extend(waiting.map(|waiting| (id.clone(), waiting)));
        }
        if is_news || counts != self.review_counts {
            self.report_counts(counts);
        }
        self.report_shared();
    }

    /// Records what other programs wrote into a store. Another process may be doing the same, but
    /// not for long.
    fn observe(&self, snapshot: &StoreSnapshot, moment: &Moment) -> Result<Observed> {
        const TRIES: usize = 10;
        const PAUSE: Duration = Duration::from_millis(30);
        let see = || observe(&self.history, &snapshot.store, &snapshot.memories, moment);
        let mut observed = see()?;
        for _ in 0..TRIES {
            if !observed.is_busy {
                break;
            }
            std::thread::sleep(PAUSE);
            observed = see()?;
        }
        Ok(observed)
    }

    /// Carries out a decision; returns how many files it was about.
    pub(super) fn review(&mut self, job: &ReviewJob) -> Result<usize> {
        let decided = match job {
            ReviewJob::Accept(stores) => self.accept(stores),
            ReviewJob::AcceptBefore => self.accept_before(),
            ReviewJob::TakeBackBefore => self.take_back_before(),
            ReviewJob::Resolve { store, resolution } => self.resolve(store, resolution),
            ReviewJob::Note { store, ids, text } => {
                let selection = Selection::Ids(ids.clone());
                let moment = (self.clock)();
                let store = self.planner().store(store)?;
                annotate(&self.history, store, &selection, text, &moment)
            }
        };
        self.count_again();
        decided
    }

    fn accept(&self, stores: &[(StoreId, Vec<String>)]) -> Result<usize> {
        let mut meant = Vec::new();
        for (store, _) in stores {
            meant.push(self.planner().store(store)?);
        }
        let ids = stores.iter().flat_map(|(_, ids)| ids.clone());
        let selection = Selection::Ids(ids.collect());
        let (author, moment) = (&self.author, &(self.clock)());
        let made = accept(&self.history, &meant, &selection, author, moment)?;
        let files = accepted_memories(&made.records).len();
        let Some(why) = made.left.first() else {
            return Ok(files);
        };
        let others = match files {
            0 => String::new(),
            1 => "; the other file is accepted".to_owned(),
            number => format!("; {number} other files are accepted"),
        };
        Err(Error::refused("Not accepted", format!("{why}{others}")))
    }

    fn accept_before(&mut self) -> Result<usize> {
        self.known_before.clear();
        for snapshot in &self.library.stores {
            let number = set_here_before(&self.history, &snapshot.store, 0)?;
            self.known_before
                .push((snapshot.store.id().clone(), number));
        }
        Ok(0)
    }

    /// What was accepted by the last [`Writer::accept_before`] counts again.
    fn take_back_before(&mut self) -> Result<usize> {
        for (store, number) in std::mem::take(&mut self.known_before) {
            if number > 0 {
                let store = self.planner().store(&store)?;
                set_here_before(&self.history, store, number)?;
            }
        }
        Ok(0)
    }

    fn resolve(&self, store: &StoreId, resolution: &Resolution) -> Result<usize> {
        let store = self.planner().store(store)?;
        let moment = (self.clock)();
        let made = resolve(&self.history, store, resolution, &self.author, &moment)?;
        Ok(usize::from(made.is_some()))
    }

    /// Counts what waits after another process brought something from other machines.
    pub(super) fn take_incoming(&mut self) {
        // What waits may be other things than before, and as many.
        self.review_counts.clear();
        self.count_again();
    }

    /// Counts what waits after a decision.
    pub(super) fn count_again(&mut self) {
        let mut counts = ReviewCounts::new();
        for snapshot in &self.library.stores {
            let id = snapshot.store.id();
            let known = self.review_counts.get(id).map(|known| known.count);
            let waiting = count(&self.history, id).unwrap_or(known).unwrap_or(0);
            let waiting = self.waiting_files(id, waiting);
            counts.extend(waiting.map(|waiting| (id.clone(), waiting)));
        }
        if counts != self.review_counts {
            self.report_counts(counts);
        }
    }

    /// The files of a store in which so much waits; `None` if nothing does.
    fn waiting_files(&self, store: &StoreId, count: usize) -> Option<WaitingFiles> {
        (count > 0).then(|| WaitingFiles {
            count,
            // Which they are only marks their rows.
            paths: waiting_paths(&self.history, store)
                .unwrap_or_default()
                .into_iter()
                .collect(),
        })
    }

    fn report_counts(&mut self, counts: ReviewCounts) {
        self.review_counts.clone_from(&counts);
        self.events.send(Event::ReviewCounted(counts));
    }
}

/// Whether the files of a store could be listed; if not, none of them counts as deleted.
fn is_listed(snapshot: &StoreSnapshot) -> bool {
    snapshot.failure.is_none()
}
