//! The curate worker: it checks the memories of all stores, rule by rule.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::search;
use super::thread::{JobSender, Worker};
use crate::core::change::history::History;
use crate::core::insight::curate::collect::{Sources, collect};
use crate::core::insight::curate::logs::SessionLogs;
use crate::core::insight::curate::untaught::put_drafts;
use crate::core::insight::curate::{check_each, chosen, reads_logs, waiver};
use crate::core::insight::ledger::{self, Ledger};
use crate::core::log::LogFile;
use crate::core::memory::catalog::{LogCatalog, LogScope};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::core::memory::store::Store;
use crate::core::search::index::{Corpus, ReadResults};
use crate::core::search::read_corpus;
use crate::core::{Error, Result};
use crate::tui::effect::CurateJob;
use crate::tui::event::{CurateStep, Event, EventSender};
use crate::tui::{Clock, ContextSource, CurateSetup};

/// Checks memories.
pub(super) struct CurateWorker {
    pub(super) setup: CurateSetup,
    pub(super) catalog: LogCatalog,
    pub(super) history: History,
    pub(super) clock: Clock,
    pub(super) library: Arc<Library>,
    /// The generation of the newest check: an older one stops between two rules.
    pub(super) newest: Arc<AtomicU64>,
    pub(super) search_worker: JobSender<search::Job>,
    pub(super) events: EventSender,
    pub(super) known_logs: Option<KnownLogs>,
    pub(super) contexts: Arc<dyn ContextSource>,
    /// Whether the logs were read, so that the uses of memories can be counted.
    pub(super) has_logs: bool,
    /// The uses as they were last counted.
    pub(super) counted: Option<Arc<Ledger>>,
}

/// What the logs said when they were last read, with the logs.
pub(super) struct KnownLogs {
    files: Vec<LogFile>,
    logs: SessionLogs,
}

#[derive(Debug)]
pub(super) enum Message {
    /// The current stores.
    Stores(Arc<Library>),
    /// The logs were read, for the first time or again after a change.
    Logs,
    /// Check them.
    Check(CurateJob),
}

impl Worker for CurateWorker {
    type Job = Message;

    fn perform(&mut self, message: Message) {
        match message {
            Message::Stores(library) => {
                self.library = library;
                if self.has_logs {
                    self.count();
                }
            }
            Message::Logs => {
                self.has_logs = true;
                self.count();
            }
            Message::Check(CurateJob { generation }) => {
                let result = self.check(generation);
                self.send(generation, CurateStep::Finished(result));
            }
        }
    }
}

impl CurateWorker {
    fn send(&self, generation: u64, step: CurateStep) {
        self.events.send(Event::Curated { generation, step });
    }

    /// The stores that could be listed; the others were reported when they were read.
    fn stores(&self) -> Vec<Store> {
        let listed = |snapshot: &&Arc<StoreSnapshot>| snapshot.failure.is_none();
        let snapshots = self.library.stores.iter().filter(listed);
        snapshots
            .map(|snapshot| (*snapshot.store).clone())
            .collect()
    }

    /// Counts how the memories were used, in the logs of all projects. What cannot be read is reported
    /// by the worker that reads it.
    fn count(&mut self) {
        let stores = self.stores();
        let catalog = self.all_logs();
        let files = catalog.files();
        let read = read_corpus(
            || catalog.scoped_corpus(&files, ReadResults::Now, &()),
            |scoped| self.ledger(&scoped.corpus, &stores),
        );
        if let Ok((_, Ok(ledger))) = read {
            let ledger = Arc::new(ledger);
            if self.counted.as_ref() != Some(&ledger) {
                self.search_worker
                    .send(search::Job::Ledger(Arc::clone(&ledger)));
            }
            self.counted = Some(Arc::clone(&ledger));
            self.events.send(Event::Counted(ledger));
        }
    }

    fn ledger(&self, corpus: &Corpus, stores: &[Store]) -> Result<Ledger> {
        Ledger::read(&ledger::Sources {
            corpus,
            cache: &ledger::directory(&self.catalog.cache),
            stores,
            contexts: &*self.contexts,
            history: &self.history,
            git: &self.setup.git,
        })
    }

    /// The logs of all projects.
    fn all_logs(&self) -> LogCatalog {
        LogCatalog {
            scope: LogScope::All,
            ..self.catalog.clone()
        }
    }

    fn check(&mut self, generation: u64) -> Result<()> {
        let stores = self.stores();
        let logs = self.session_logs();
        let sources = Sources {
            environment: &self.setup.environment,
            project: self.setup.project.as_deref(),
            git: &self.setup.git,
            history: &self.history,
            today: (self.clock)().today,
            settings: &self.setup.settings,
            cache: self.setup.cache.as_deref(),
        };
        let (collection, errors) = collect(&stores, &sources)?;
        self.report(&errors);
        if self.counted.is_none() && logs.is_some() {
            self.count();
        }
        let ledger = self.counted.as_deref().cloned().unwrap_or_default();
        let mut collection = collection.with_logs(logs.map(|logs| logs.with_ledger(ledger)));
        put_drafts(&mut collection, &self.history, &[])?;
        let waivers = waiver::read(&self.setup.environment.data)?;
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
            if self.newest.load(Ordering::Relaxed) == generation {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        for note in collection.left_out() {
            self.events.send(Event::Failed(note));
        }
        Ok(())
    }

    /// What the logs of all projects say about the memories; nothing where no rule reads logs, or
    /// they cannot be read. They are read again when there are other logs.
    fn session_logs(&mut self) -> Option<SessionLogs> {
        if !reads_logs(&self.setup.settings, &[]) {
            return None;
        }
        let catalog = self.all_logs();
        let files = catalog.files();
        // Without logs nothing is known about what sessions read.
        if files.is_empty() {
            return None;
        }
        let claude = &self.setup.environment.claude;
        let copies = catalog.kept.clone().unwrap_or_default();
        if let Some(known) = &self.known_logs
            && known.files == files
        {
            return Some(known.logs.with_settings(claude, &copies));
        }
        let read = read_corpus(
            || catalog.scoped_corpus(&files, ReadResults::Now, &()),
            |scoped| SessionLogs::read(&scoped.corpus, claude, &copies),
        );
        match read {
            Ok((_, logs)) => {
                self.known_logs = Some(KnownLogs {
                    files,
                    logs: logs.clone(),
                });
                Some(logs)
            }
            Err(error) => {
                self.report(&[error]);
                None
            }
        }
    }

    fn report(&self, errors: &[Error]) {
        for error in errors {
            self.events.fail(error);
        }
    }
}
