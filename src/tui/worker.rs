//! The threads that do what takes time, each at a desk of its own.
//!
//! The worker reads, plans, writes and watches: it owns the library, the history and the drawer of
//! unsaved texts. The archivist keeps the logs up to date, the finder finds, the scribe reads
//! conversations. The app gets values. What panics at a desk is told and does not end the program.

pub(crate) mod archivist;
pub(crate) mod desk;
pub(crate) mod finder;
mod plan;
pub(crate) mod scribe;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use desk::Clerk;

use super::effect::{Effect, Request, Target};
use super::event::{Event, Fresh};
use super::{Clock, Source};
use crate::core::change::{Author, Change, commit, recorded_edits, settle};
use crate::core::discover::{Discovered, Found, Problem, discover};
use crate::core::history::{History, Record};
use crate::core::layout::Layout;
use crate::core::library::{Library, Shelf};
use crate::core::memory::Revision;
use crate::core::store::{Document, Store};
use crate::core::unsaved::{Drawer, Unsaved};
use crate::core::watch::Watch;
use crate::core::{Error, Result};

/// What the worker works with.
pub(crate) struct Worker {
    pub(crate) source: Source,
    pub(crate) history: History,
    pub(crate) drawer: Drawer,
    pub(crate) author: Author,
    pub(crate) clock: Clock,
    pub(crate) library: Arc<Library>,
    pub(crate) watch: Option<Watch>,
    pub(crate) events: Sender<Event>,
    pub(crate) archivist: Sender<archivist::Job>,
    pub(crate) finder: Sender<finder::Job>,
    /// Whether texts that were left behind are still to be offered.
    pub(crate) offers: bool,
}

impl Clerk for Worker {
    type Job = Effect;

    fn perform(&mut self, job: Effect) {
        self.work(job);
    }

    fn outdates(newer: &Effect, older: &Effect) -> bool {
        outdates(newer, older)
    }

    fn events(&self) -> &Sender<Event> {
        &self.events
    }
}

impl Worker {
    fn tell(&self, event: Event) {
        // Nobody listens any more when the program is about to end.
        drop(self.events.send(event));
    }

    fn work(&mut self, job: Effect) {
        match job {
            Effect::Load => self.load(),
            Effect::Refresh(paths) => self.refresh(&paths),
            Effect::Read {
                generation, target, ..
            } => {
                let result = self.read(&target);
                self.tell(Event::Read {
                    generation,
                    target,
                    result,
                });
            }
            Effect::Fetch(target) => {
                let result = self.read(&target);
                self.tell(Event::Fetched { target, result });
            }
            Effect::Plan {
                generation,
                request,
            } => {
                let result = self.plan(&request);
                let notes = self.notes(&request);
                self.tell(Event::Planned {
                    generation,
                    request,
                    result,
                    notes,
                });
            }
            Effect::Commit { request, change } => {
                let result = self.commit(&change);
                self.tell(Event::Committed { request, result });
            }
            Effect::Do(request) => {
                let result = self.plan(&request).and_then(|change| self.commit(&change));
                self.tell(Event::Committed { request, result });
            }
            Effect::Compose(request) => {
                let result = self.compose(&request);
                self.tell(Event::Composed(result));
            }
            Effect::Recall => match self.records() {
                Ok(records) => self.tell(Event::Recorded(records)),
                Err(error) => self.tell(Event::Failed(error.to_string())),
            },
            Effect::Compare { id } => {
                let record = self.history.find(&id);
                let result = record.and_then(|record| recorded_edits(&self.history, &record));
                self.tell(Event::Compared { id, result });
            }
            Effect::Keep(text) => self.told(|worker| worker.drawer.keep(&text)),
            Effect::Forget(text) => self.told(|worker| worker.drawer.forget(&text)),
            // These are the loop's own, or other desks'.
            Effect::Find { .. }
            | Effect::Open { .. }
            | Effect::Relook
            | Effect::Copy(_)
            | Effect::Lend(_)
            | Effect::Suspend
            | Effect::Pick(_)
            | Effect::Demo
            | Effect::Quit => {}
        }
    }

    fn told(&mut self, act: impl FnOnce(&mut Self) -> Result<()>) {
        if let Err(error) = act(self) {
            self.tell(Event::Failed(error.to_string()));
        }
    }

    fn load(&mut self) {
        let found = self.source.discover();
        let roots: Vec<&Path> = found.stores.iter().map(|f| f.store.root().path()).collect();
        if let Err(error) = settle(&self.history, &roots) {
            self.tell(Event::Failed(error.to_string()));
        }
        self.library = Arc::new(Library::load(found));
        self.aim();
        self.show();
        let shelves = self.library.shelves.iter();
        let with_logs = shelves
            .filter(|shelf| matches!(shelf.store.layout(), Layout::Session | Layout::Events));
        let roots = with_logs.map(|shelf| shelf.store.root().path().to_owned());
        // The other desks are gone when the program is about to end.
        drop(self.archivist.send(archivist::Job::Look(roots.collect())));
        if std::mem::take(&mut self.offers) {
            let texts = self.drawer.left_behind();
            if !texts.is_empty() {
                self.tell(Event::LeftBehind(texts));
            }
        }
    }

    /// Tells everybody what the library is now.
    fn show(&self) {
        self.tell(Event::Indexed(Arc::clone(&self.library)));
        let library = Arc::clone(&self.library);
        drop(self.finder.send(finder::Job::Stores(library)));
    }

    fn aim(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let failed = watch.aim(&self.library.watched());
        if let Some(error) = failed.first() {
            let message = format!("changes outside are not seen: {error}");
            self.tell(Event::Failed(message));
        }
    }

    fn refresh(&mut self, paths: &[PathBuf]) {
        let library = self.library.refresh(paths);
        if library != *self.library {
            self.library = Arc::new(library);
            self.show();
        }
    }

    fn store(&self, name: &str) -> Result<&Store> {
        let shelf = self.library.shelf(name);
        shelf
            .map(|shelf| &*shelf.store)
            .ok_or_else(|| Error::not_found(format!("store {name}")))
    }

    fn read(&self, target: &Target) -> Result<Document> {
        match target {
            Target::File { store, path } => self.store(store)?.read(path),
            Target::Context { store } => {
                let store = self.store(store)?;
                let bytes = store.rules().context(store)?.into_bytes();
                Ok(Document {
                    path: store.name().to_owned(),
                    revision: Revision::of(&bytes),
                    bytes,
                })
            }
        }
    }

    fn commit(&mut self, change: &Change) -> Result<Option<Record>> {
        if change.is_empty() {
            return Ok(None);
        }
        let record = commit(&self.history, change, &self.author, &(self.clock)())?;
        if let Some(watch) = &self.watch {
            watch.expect(&record);
        }
        let firsts: Vec<PathBuf> = roots_of(&self.library.firsts).collect();
        let comes_or_goes = |root: &PathBuf| firsts.contains(root) || !root.exists();
        if record.files.iter().any(|touch| comes_or_goes(&touch.root)) {
            self.load();
            return Ok(Some(record));
        }
        let paths: Vec<PathBuf> = record
            .files
            .iter()
            .map(|touch| touch.root.join(&touch.path))
            .collect();
        self.refresh(&paths);
        // A store's first file may have made its directory.
        self.aim();
        Ok(Some(record))
    }

    fn records(&self) -> Result<Vec<Record>> {
        let roots = self.roots();
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        let mut records = self.history.records()?;
        records.retain(|record| record.touches(&roots));
        records.reverse();
        Ok(records)
    }

    fn roots(&self) -> Vec<PathBuf> {
        // The making of a store that was taken back can be done again.
        let shelves = roots_of(&self.library.shelves);
        shelves.chain(roots_of(&self.library.firsts)).collect()
    }

    fn compose(&self, request: &Request) -> Result<Fresh> {
        let Request::New { store, .. } = request else {
            return Err(Error::refused("", "nothing to compose"));
        };
        let change = self.plan(request)?;
        let written = change.edits.iter().find(|edit| !edit.derived);
        let text = written.and_then(|edit| Some((edit.reference(), edit.after.clone()?)));
        let (path, bytes) = text.ok_or_else(|| Error::refused(store, "nothing to write"))?;
        Ok(Fresh {
            store: store.clone(),
            path,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}

fn roots_of(shelves: &[Arc<Shelf>]) -> impl Iterator<Item = PathBuf> {
    shelves
        .iter()
        .map(|shelf| shelf.store.root().path().to_owned())
}

/// Whether a job makes an older one pointless.
fn outdates(newer: &Effect, older: &Effect) -> bool {
    let same = |a: &Unsaved, b: &Unsaved| a.root == b.root && a.path == b.path;
    match (newer, older) {
        (Effect::Read { asker: new, .. }, Effect::Read { asker: old, .. }) => new == old,
        (Effect::Compare { .. }, Effect::Compare { .. }) | (Effect::Load, Effect::Load) => true,
        (Effect::Keep(new) | Effect::Forget(new), Effect::Keep(old)) => same(new, old),
        _ => false,
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
