//! The worker that changes stores. It is the only one that may wait for a store's lock, so that
//! reading, typing and quitting never do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::desk::{Clerk, Slot};
use super::library;
use super::lock::LockWait;
use super::plan::Planner;
use crate::core::Result;
use crate::core::change::{Author, Change, interrupted, make, settle};
use crate::core::history::{History, Record};
use crate::core::library::Library;
use crate::core::watch::Expected;
use crate::tui::Clock;
use crate::tui::effect::{LibraryJob, Request, WriteJob};
use crate::tui::event::Event;

/// What it works with.
pub(super) struct Writer {
    pub(super) history: History,
    pub(super) author: Author,
    pub(super) clock: Clock,
    pub(super) library: Arc<Library>,
    /// Where the watch is told of our own changes, if there is one.
    pub(super) expected: Option<Expected>,
    pub(super) readers: Slot<library::Message>,
    pub(super) events: Sender<Event>,
    pub(super) lock_wait: LockWait,
}

/// What is in its queue.
#[derive(Debug)]
pub(super) enum Message {
    /// A job of the app.
    Job(WriteJob),
    /// The stores are these now.
    Stores(Arc<Library>),
    /// Finish what a process left behind that died while changing one of the stores.
    Settle,
}

impl Clerk for Writer {
    type Job = Message;

    fn perform(&mut self, message: Message) {
        match message {
            Message::Job(WriteJob::Commit { request, change }) => {
                let result = self.write(&request, Some(&change));
                self.tell(request, result);
            }
            Message::Job(WriteJob::Do(request)) => {
                let result = self.write(&request, None);
                self.tell(request, result);
            }
            Message::Stores(library) => self.library = library,
            Message::Settle => self.settle(),
        }
    }

    fn outdates(newer: &Message, older: &Message) -> bool {
        matches!(
            (newer, older),
            (Message::Stores(_), Message::Stores(_)) | (Message::Settle, Message::Settle)
        )
    }

    /// A panic in the middle of a change leaves it unfinished.
    fn after_panic(&mut self) {
        self.lock_wait.over();
        self.settle();
    }
}

impl Writer {
    /// Makes the change that a request asks for: the one that was reviewed, if there is one, as
    /// long as nothing else was changed meanwhile. Every change of the UI is made here.
    fn write(&self, request: &Request, reviewed: Option<&Change>) -> Result<Option<Record>> {
        let moment = (self.clock)();
        let planner = Planner {
            library: &self.library,
            history: &self.history,
            moment: moment.clone(),
        };
        let plan = || match reviewed {
            Some(reviewed) => planner.as_reviewed(request, reviewed),
            None => planner.plan(request),
        };
        let change = plan()?;
        let roots: Vec<&Path> = change.edits.iter().map(|edit| &*edit.root).collect();
        self.lock_wait.wait(&self.history, &roots)?;
        let made = make(&self.history, &self.author, &moment, plan)?;
        Ok(made.record)
    }

    fn tell(&self, request: Box<Request>, result: Result<Option<Record>>) {
        match result {
            Ok(Some(record)) => {
                if let Some(expected) = &self.expected {
                    expected.add(&record);
                }
                let record = Box::new(record);
                // What the change did is shown before it is told.
                self.readers
                    .hand(library::Message::Written { request, record });
            }
            result => drop(self.events.send(Event::Committed { request, result })),
        }
    }

    /// Finishes or takes back what a process left behind that died; stores that somebody is
    /// changing are left to them.
    fn settle(&self) {
        let shelves = self.library.shelves.iter();
        let roots: Vec<&Path> = shelves.map(|shelf| shelf.store.root().path()).collect();
        match self.settle_at(&roots) {
            Ok(paths) if paths.is_empty() => {}
            Ok(paths) => {
                let refresh = LibraryJob::Refresh(paths);
                self.readers.hand(library::Message::Job(refresh));
            }
            Err(error) => drop(self.events.send(Event::Failed(error.to_string()))),
        }
    }

    /// Answers the files of the changes that were unfinished.
    fn settle_at(&self, roots: &[&Path]) -> Result<Vec<PathBuf>> {
        let mut unfinished = interrupted(&self.history)?;
        unfinished.retain(|record| record.touches(roots));
        if unfinished.is_empty() {
            return Ok(Vec::new());
        }
        settle(&self.history, roots)?;
        let files = unfinished.iter().flat_map(|record| &record.files);
        Ok(files.map(|touch| touch.root.join(&touch.path)).collect())
    }
}
