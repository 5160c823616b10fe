//! The library worker: it finds, reads and watches the stores, plans changes and reads the
//! history. It writes nothing and waits for no lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::editable_piece;
use super::plan::Planner;
use super::thread::{JobSender, Worker};
use super::writer::LibraryMessage;
use super::{curate, search, why, writer};
use crate::core::change::history::{History, Record};
use crate::core::change::recorded_edits;
use crate::core::disk::revision::Revision;
use crate::core::disk::trust::real_path;
use crate::core::disk::watch::{DirectoryWatcher, WatchDepth};
use crate::core::insight::context::PieceKind;
use crate::core::insight::curate::git::Git;
use crate::core::insight::rehome::homes_of_project;
use crate::core::insight::review::{here_before, incoming_folder, left_alone, queue};
use crate::core::memory::catalog::LogScope;
use crate::core::memory::discover::{Discovered, DiscoveryScope, FoundStore, Problem, discover};
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::library::Library;
use crate::core::memory::store::{Document, Store};
use crate::core::{Error, Result};
use crate::tui::effect::{LibraryJob, LogsJob, NewMemory, Request, Target, UnsavedJob};
use crate::tui::event::{Event, EventSender, NewMemoryText};
use crate::tui::{Clock, ContextSource, StoreSource};

/// The worker that reads stores and plans changes.
pub(super) struct LibraryWorker {
    pub(super) source: StoreSource,
    pub(super) contexts: Arc<dyn ContextSource>,
    pub(super) history: History,
    pub(super) git: Git,
    pub(super) clock: Clock,
    pub(super) library: Arc<Library>,
    pub(super) watch: Option<DirectoryWatcher>,
    /// The directories that cannot be watched, which have been reported.
    pub(super) unwatched: Vec<String>,
    pub(super) events: EventSender,
    pub(super) writer: JobSender<writer::Message>,
    pub(super) unsaved: JobSender<UnsavedJob>,
    pub(super) corpus_worker: JobSender<LogsJob>,
    pub(super) search_worker: JobSender<search::Job>,
    pub(super) why_worker: JobSender<why::Message>,
    pub(super) curate_worker: JobSender<curate::Message>,
    /// Whether unsaved texts of crashed processes are still to be offered.
    pub(super) offers: bool,
}

impl Worker for LibraryWorker {
    type Job = LibraryMessage;

    fn perform(&mut self, message: LibraryMessage) {
        match message {
            LibraryMessage::Job(job) => self.run_job(job),
            LibraryMessage::Written { request, record } => self.after_write(request, *record),
        }
    }

    fn supersedes(newer: &LibraryMessage, older: &LibraryMessage) -> bool {
        use LibraryJob::{Compare, Context, Load, Queue, Read};
        match (newer, older) {
            (
                LibraryMessage::Job(Read { requester: new, .. }),
                LibraryMessage::Job(Read { requester: old, .. }),
            ) => new == old,
            (LibraryMessage::Job(Compare { .. }), LibraryMessage::Job(Compare { .. }))
            | (LibraryMessage::Job(Load), LibraryMessage::Job(Load))
            | (LibraryMessage::Job(Queue), LibraryMessage::Job(Queue)) => true,
            (
                LibraryMessage::Job(Context { draft: new, .. }),
                LibraryMessage::Job(Context { draft: old, .. }),
            ) => new.is_some() == old.is_some(),
            _ => false,
        }
    }
}

impl LibraryWorker {
    fn run_job(&mut self, job: LibraryJob) {
        match job {
            LibraryJob::Load => self.load(),
            LibraryJob::Scope(wanted) => self.switch_scope(wanted),
            LibraryJob::Refresh(paths) => self.refresh(&paths),
            LibraryJob::Read {
                generation, target, ..
            } => {
                let result = self.read(&target);
                self.events.send(Event::Read {
                    generation,
                    target,
                    result,
                });
            }
            LibraryJob::Fetch { store, path, line } => {
                let found = self.planner().store(&store);
                let result = found.and_then(|store| store.read(&path));
                self.events.send(Event::Fetched {
                    store,
                    line,
                    result,
                });
            }
            LibraryJob::Plan {
                generation,
                request,
            } => {
                let planner = self.planner();
                let result = planner.plan(&request);
                let notes = planner.notes(&request, result.as_ref().ok());
                self.events.send(Event::Planned {
                    generation,
                    request,
                    result,
                    notes,
                });
            }
            LibraryJob::Compose(new) => {
                let result = self.compose(&new);
                self.events.send(Event::Composed(result));
            }
            LibraryJob::Records => match self.records() {
                Ok(records) => self.events.send(Event::HistoryLoaded(records)),
                Err(error) => self.events.fail(&error),
            },
            LibraryJob::Compare { id } => {
                let record = self.history.find(&id);
                let result = record.and_then(|record| recorded_edits(&self.history, &record));
                self.events.send(Event::Compared { id, result });
            }
            LibraryJob::Queue => self.read_queue(),
            LibraryJob::FormerHomes => {
                let homes = match &self.source {
                    StoreSource::Discover {
                        environment,
                        settings,
                        ..
                    } => homes_of_project(environment, settings, &self.git),
                    StoreSource::Named(_) => None,
                };
                self.events.send(Event::FormerHomes(homes));
            }
            LibraryJob::Gather(memories) => {
                let result = self.planner().gather(&memories);
                self.events.send(Event::Gathered(result));
            }
            LibraryJob::Context { agent, draft } => {
                let context = self.contexts.read(agent, draft.as_ref());
                self.events.send(Event::ContextRead {
                    draft: draft.map(|draft| draft.file),
                    result: context.map(Arc::new),
                });
            }
            LibraryJob::EditPiece { context, at } => {
                if let Some(piece) = context.pieces.get(at) {
                    let result = editable_piece(&self.library, piece);
                    self.events.send(Event::PieceRead {
                        context,
                        at,
                        result,
                    });
                }
            }
        }
    }

    fn planner(&self) -> Planner<'_> {
        Planner {
            library: &self.library,
            history: &self.history,
            moment: (self.clock)(),
            changed_roots: &[],
        }
    }

    fn load(&mut self) {
        self.library = Arc::new(Library::load(self.source.discover()));
        self.watch_stores();
        self.send_library();
        self.writer.send(writer::Message::Settle);
        let stores = self.library.stores.iter();
        let with_logs = stores
            .filter(|snapshot| matches!(snapshot.store.layout(), Layout::Session | Layout::Events));
        let roots = with_logs.map(|snapshot| snapshot.store.root().path().to_owned());
        self.corpus_worker.send(LogsJob::Discover(roots.collect()));
        if std::mem::take(&mut self.offers) {
            self.unsaved.send(UnsavedJob::Offer);
        }
    }

    /// Finds the stores and logs of another scope.
    fn switch_scope(&mut self, wanted: DiscoveryScope) {
        if let StoreSource::Discover { scope, .. } = &mut self.source {
            *scope = wanted;
        }
        self.corpus_worker.send(LogsJob::Scope(match wanted {
            DiscoveryScope::Project => LogScope::Project,
            DiscoveryScope::Everything => LogScope::All,
        }));
        self.load();
    }

    /// Sends the current library to the app and to the workers that use it.
    fn send_library(&self) {
        let library = || Arc::clone(&self.library);
        self.writer.send(writer::Message::Stores(library()));
        // The app asks for a check of the stores that it gets, so the curate worker gets them first.
        self.curate_worker.send(curate::Message::Stores(library()));
        self.events.send(Event::Indexed(library()));
        self.search_worker.send(search::Job::Stores(library()));
    }

    fn watch_stores(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let mut targets = self.library.watched();
        targets.push((incoming_folder(&self.history), WatchDepth::All));
        let failed = watch.await_targets(targets);
        self.events.tell_unwatched(&failed, &mut self.unwatched);
    }

    fn refresh(&mut self, paths: &[PathBuf]) {
        if let Some(watch) = &mut self.watch {
            // Watching starts before the files are read, so that no change is missed.
            let failed = watch.renew(paths);
            if !failed.is_empty() {
                self.events.tell_unwatched(&failed, &mut self.unwatched);
            }
        }
        let incoming = incoming_folder(&self.history);
        if paths.iter().any(|path| path.starts_with(&incoming)) {
            self.writer.send(writer::Message::Incoming);
        }
        let library = self.library.refresh(paths);
        if library != *self.library {
            self.library = Arc::new(library);
            self.send_library();
        }
    }

    /// Reads the result of a change by the writer, then reports the change as committed.
    fn after_write(&mut self, request: Box<Request>, record: Record) {
        let comes_or_goes = |root: &Path| {
            let mut firsts = self.library.firsts.iter();
            firsts.any(|snapshot| snapshot.store.root().path() == root) || !root.exists()
        };
        if record.roots().into_iter().any(comes_or_goes) {
            self.load();
        } else {
            let paths: Vec<PathBuf> = record
                .files
                .iter()
                .map(|file_change| file_change.root.join(&file_change.path))
                .collect();
            self.refresh(&paths);
            // A store's first file may have created its directory.
            self.watch_stores();
        }
        let result = Ok(Some(record));
        self.events.send(Event::Committed { request, result });
    }

    /// What an agent itself loads of the index of a store at its start, if it does.
    fn loaded_index(&self, store: &Store) -> Option<String> {
        let index = store.root().path().join(index::INDEX);
        let agents = self.contexts.agents().into_iter();
        let mut agents = agents.filter(|_| store.layout() == Layout::Index);
        agents.find_map(|known| {
            let context = self.contexts.read(known.agent, None).ok()?;
            let mut pieces = context.pieces.into_iter();
            let piece = pieces
                .find(|piece| piece.kind == PieceKind::Memory && real_path(&piece.path) == index)?;
            Some(piece.text)
        })
    }

    fn read(&self, target: &Target) -> Result<Document> {
        let planner = self.planner();
        match target {
            Target::File { store, path } => planner.store(store)?.read(path),
            Target::Context { store } => {
                let store = planner.store(store)?;
                let text = match self.loaded_index(store) {
                    Some(text) => text,
                    None => store.rules().context(store)?,
                };
                let bytes = text.into_bytes();
                Ok(Document {
                    path: store.name().to_owned(),
                    revision: Revision::of(&bytes),
                    bytes,
                })
            }
        }
    }

    /// Sends what waits for review. A store whose queue cannot be read does not hide the others.
    fn read_queue(&self) {
        let mut waiting = Vec::new();
        let mut before = 0;
        let mut alone = Vec::new();
        for snapshot in &self.library.stores {
            let name = snapshot.store.name();
            let lines = left_alone(&snapshot.store).into_iter();
            alone.extend(lines.map(|line| format!("{name}: {line}")));
            // A state that cannot be read is told with the queue.
            before += here_before(&self.history, snapshot.store.id()).unwrap_or(0);
            match queue(&self.history, &snapshot.store) {
                Ok(items) if items.is_empty() => {}
                Ok(items) => waiting.push((snapshot.store.id().clone(), items)),
                Err(error) => self.events.fail(&error),
            }
        }
        // The sessions that the logs name are sent later.
        self.why_worker.send(why::Message::Queue(waiting.clone()));
        self.events.send(Event::QueueLoaded {
            waiting,
            here_before: before,
            left_alone: alone,
        });
    }

    fn records(&self) -> Result<Vec<Record>> {
        // The creation of a store can be redone after an undo.
        let stores = self.library.stores.iter().chain(&self.library.firsts);
        let roots: Vec<&Path> = stores
            .map(|snapshot| snapshot.store.root().path())
            .collect();
        let mut records = self.history.records()?;
        records.retain(|record| record.touches(&roots));
        records.reverse();
        Ok(records)
    }

    fn compose(&self, new: &NewMemory) -> Result<NewMemoryText> {
        let change = self.planner().compose(new)?;
        let written = change.edits.iter().find(|edit| !edit.derived);
        let text = written.and_then(|edit| Some((edit.reference(), edit.after.clone()?)));
        let (path, bytes) = text.ok_or_else(|| Error::refused(&new.name, "nothing to write"))?;
        Ok(NewMemoryText {
            store: new.store.clone(),
            path,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            lessons: new.lessons.clone(),
        })
    }
}

impl StoreSource {
    /// Finds the stores again.
    fn discover(&self) -> Discovered {
        match self {
            Self::Discover {
                environment,
                settings,
                scope,
            } => discover(environment, settings, *scope),
            Self::Named(stores) => {
                let mut found = Discovered::default();
                for named in stores {
                    match Store::open(&named.name, &named.root, named.layout) {
                        Ok(store) => found.stores.push(FoundStore {
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
