//! The worker that knows the stores: it finds and reads them, watches them, plans changes and
//! reads their history. It writes nothing and waits for no lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::desk::{Clerk, Slot};
use super::plan::Planner;
use super::{finder, tell_unwatched, writer};
use crate::core::change::recorded_edits;
use crate::core::discover::{Discovered, Found, Problem, discover};
use crate::core::history::{History, Record};
use crate::core::layout::Layout;
use crate::core::library::Library;
use crate::core::memory::Revision;
use crate::core::store::{Document, Store};
use crate::core::watch::Watch;
use crate::core::{Error, Result};
use crate::tui::effect::{LibraryJob, LogsJob, NewMemory, Request, Target, UnsavedJob};
use crate::tui::event::{Event, Fresh};
use crate::tui::{Clock, Source};

/// What it works with.
pub(super) struct LibraryWorker {
    pub(super) source: Source,
    pub(super) history: History,
    pub(super) clock: Clock,
    pub(super) library: Arc<Library>,
    pub(super) watch: Option<Watch>,
    /// What cannot be watched, and was told.
    pub(super) unwatched: Vec<String>,
    pub(super) events: Sender<Event>,
    pub(super) writer: Slot<writer::Message>,
    pub(super) unsaved: Slot<UnsavedJob>,
    pub(super) archivist: Slot<LogsJob>,
    pub(super) finder: Slot<finder::Job>,
    /// Whether texts that were left behind are still to be offered.
    pub(super) offers: bool,
}

/// What is in its queue.
#[derive(Debug)]
pub(super) enum Message {
    /// A job of the app.
    Job(LibraryJob),
    /// The writer made a change.
    Written {
        request: Box<Request>,
        record: Box<Record>,
    },
}

impl Clerk for LibraryWorker {
    type Job = Message;

    fn perform(&mut self, message: Message) {
        match message {
            Message::Job(job) => self.work(job),
            Message::Written { request, record } => self.written(request, *record),
        }
    }

    fn outdates(newer: &Message, older: &Message) -> bool {
        use LibraryJob::{Compare, Load, Read};
        match (newer, older) {
            (Message::Job(Read { asker: new, .. }), Message::Job(Read { asker: old, .. })) => {
                new == old
            }
            (Message::Job(Compare { .. }), Message::Job(Compare { .. }))
            | (Message::Job(Load), Message::Job(Load)) => true,
            _ => false,
        }
    }
}

impl LibraryWorker {
    fn tell(&self, event: Event) {
        // Nobody listens any more when the program is about to end.
        drop(self.events.send(event));
    }

    fn work(&mut self, job: LibraryJob) {
        match job {
            LibraryJob::Load => self.load(),
            LibraryJob::Refresh(paths) => self.refresh(&paths),
            LibraryJob::Read {
                generation, target, ..
            } => {
                let result = self.read(&target);
                self.tell(Event::Read {
                    generation,
                    target,
                    result,
                });
            }
            LibraryJob::Fetch(target) => {
                let result = self.read(&target);
                self.tell(Event::Fetched { target, result });
            }
            LibraryJob::Plan {
                generation,
                request,
            } => {
                let planner = self.planner();
                let result = planner.plan(&request);
                let notes = planner.notes(&request);
                self.tell(Event::Planned {
                    generation,
                    request,
                    result,
                    notes,
                });
            }
            LibraryJob::Compose(new) => {
                let result = self.compose(&new);
                self.tell(Event::Composed(result));
            }
            LibraryJob::Records => match self.records() {
                Ok(records) => self.tell(Event::Recorded(records)),
                Err(error) => self.tell(Event::Failed(error.to_string())),
            },
            LibraryJob::Compare { id } => {
                let record = self.history.find(&id);
                let result = record.and_then(|record| recorded_edits(&self.history, &record));
                self.tell(Event::Compared { id, result });
            }
        }
    }

    fn planner(&self) -> Planner<'_> {
        Planner {
            library: &self.library,
            history: &self.history,
            moment: (self.clock)(),
        }
    }

    fn load(&mut self) {
        self.library = Arc::new(Library::load(self.source.discover()));
        self.aim();
        self.show();
        self.writer.hand(writer::Message::Settle);
        let shelves = self.library.shelves.iter();
        let with_logs = shelves
            .filter(|shelf| matches!(shelf.store.layout(), Layout::Session | Layout::Events));
        let roots = with_logs.map(|shelf| shelf.store.root().path().to_owned());
        self.archivist.hand(LogsJob::Look(roots.collect()));
        if std::mem::take(&mut self.offers) {
            self.unsaved.hand(UnsavedJob::Offer);
        }
    }

    /// Tells everybody what the library is now.
    fn show(&self) {
        let library = || Arc::clone(&self.library);
        self.writer.hand(writer::Message::Stores(library()));
        self.tell(Event::Indexed(library()));
        self.finder.hand(finder::Job::Stores(library()));
    }

    fn aim(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let failed = watch.aim(&self.library.watched());
        tell_unwatched(&failed, &mut self.unwatched, &self.events);
    }

    fn refresh(&mut self, paths: &[PathBuf]) {
        let library = self.library.refresh(paths);
        if library != *self.library {
            self.library = Arc::new(library);
            self.show();
        }
    }

    /// Shows what a change of ours did, and then tells that it was made.
    fn written(&mut self, request: Box<Request>, record: Record) {
        let comes_or_goes = |root: &Path| {
            let mut firsts = self.library.firsts.iter();
            firsts.any(|shelf| shelf.store.root().path() == root) || !root.exists()
        };
        if record.roots().into_iter().any(comes_or_goes) {
            self.load();
        } else {
            let paths: Vec<PathBuf> = record
                .files
                .iter()
                .map(|touch| touch.root.join(&touch.path))
                .collect();
            self.refresh(&paths);
            // A store's first file may have made its directory.
            self.aim();
        }
        let result = Ok(Some(record));
        self.tell(Event::Committed { request, result });
    }

    fn read(&self, target: &Target) -> Result<Document> {
        let planner = self.planner();
        match target {
            Target::File { store, path } => planner.store(store)?.read(path),
            Target::Context { store } => {
                let store = planner.store(store)?;
                let bytes = store.rules().context(store)?.into_bytes();
                Ok(Document {
                    path: store.name().to_owned(),
                    revision: Revision::of(&bytes),
                    bytes,
                })
            }
        }
    }

    fn records(&self) -> Result<Vec<Record>> {
        // The making of a store that was taken back can be done again.
        let shelves = self.library.shelves.iter().chain(&self.library.firsts);
        let roots: Vec<&Path> = shelves.map(|shelf| shelf.store.root().path()).collect();
        let mut records = self.history.records()?;
        records.retain(|record| record.touches(&roots));
        records.reverse();
        Ok(records)
    }

    fn compose(&self, new: &NewMemory) -> Result<Fresh> {
        let change = self.planner().compose(new)?;
        let written = change.edits.iter().find(|edit| !edit.derived);
        let text = written.and_then(|edit| Some((edit.reference(), edit.after.clone()?)));
        let (path, bytes) = text.ok_or_else(|| Error::refused(&new.name, "nothing to write"))?;
        Ok(Fresh {
            store: new.store.clone(),
            path,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}

impl Source {
    /// The stores, found anew.
    fn discover(&self) -> Discovered {
        match self {
            Self::Around {
                around,
                settings,
                reach,
            } => discover(around, settings, *reach),
            Self::Named(stores) => {
                let mut found = Discovered::default();
                for named in stores {
                    match Store::open(&named.name, &named.root, named.layout) {
                        Ok(store) => found.stores.push(Found {
                            store,
                            why: "asked for".to_owned(),
                        }),
                        Err(error) => found.problems.push(Problem {
                            root: named.root.clone(),
                            error,
                        }),
                    }
                }
                found
            }
        }
    }
}
