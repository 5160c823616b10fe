//! The curate worker: it checks the memories of all stores, rule by rule.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use super::thread::Worker;
use crate::core::curate::{Sources, check_each, chosen, waiver};
use crate::core::library::{Library, StoreSnapshot};
use crate::core::{Error, Result};
use crate::tui::Clock;
use crate::tui::effect::CurateJob;
use crate::tui::event::{CurateStep, Event};

/// Checks memories.
pub(super) struct CurateWorker {
    pub(super) sources: Sources,
    pub(super) clock: Clock,
    pub(super) library: Arc<Library>,
    /// The generation of the newest check: an older one stops between two rules.
    pub(super) newest: Arc<AtomicU64>,
    pub(super) events: Sender<Event>,
}

/// A message in its queue.
#[derive(Debug)]
pub(super) enum Message {
    /// The current stores.
    Stores(Arc<Library>),
    /// Check them.
    Check(CurateJob),
}

impl Worker for CurateWorker {
    type Job = Message;

    fn perform(&mut self, message: Message) {
        match message {
            Message::Stores(library) => self.library = library,
            Message::Check(CurateJob { generation }) => {
                let result = self.check(generation);
                self.send(generation, CurateStep::Finished(result));
            }
        }
    }

    fn supersedes(newer: &Message, older: &Message) -> bool {
        matches!(
            (newer, older),
            (Message::Stores(_), Message::Stores(_)) | (Message::Check(_), Message::Check(_))
        )
    }
}

impl CurateWorker {
    fn send(&self, generation: u64, step: CurateStep) {
        // The receiver is gone when the program is about to end.
        drop(self.events.send(Event::Curated { generation, step }));
    }

    fn check(&self, generation: u64) -> Result<()> {
        // Those that could not be listed were reported when they were read.
        let listed = |snapshot: &&Arc<StoreSnapshot>| snapshot.failure.is_none();
        let snapshots = self.library.stores.iter().filter(listed);
        let stores = snapshots.map(|snapshot| &*snapshot.store);
        let today = (self.clock)().today;
        let (collection, errors) = self.sources.collect(stores, today)?;
        self.report(&errors);
        let waivers = waiver::read(&self.sources.environment.data)?;
        let of = chosen(&collection, &[]).count();
        let mut done = 0;
        check_each(&collection, &[], |mut findings| {
            waiver::apply(&mut findings, &waivers);
            done += 1;
            let located = findings.into_iter().map(|finding| {
                let store = collection.stores[finding.store].store;
                (store.id().clone(), finding)
            });
            let findings = located.collect();
            self.send(generation, CurateStep::Found { findings, done, of });
            match self.newest.load(Ordering::Relaxed) == generation {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        Ok(())
    }

    fn report(&self, errors: &[Error]) {
        for error in errors {
            drop(self.events.send(Event::Failed(error.to_string())));
        }
    }
}
