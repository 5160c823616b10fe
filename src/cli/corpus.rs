//! Finds the logs in scope, reads their corpus, and searches memories and logs.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Failure;
use super::args::LogFilter;
use super::print::{counted, print_error};
use super::select::say_no_store;
use super::world::{World, agent_named};
use crate::core::insight::rehome::former_directory;
use crate::core::insight::sessions::CapturedSession;
use crate::core::insight::timeline::log_named_by;
use crate::core::log::{Agent, LogFile, LogLocations, marked_id, quoted};
use crate::core::memory::catalog::{LogCatalog, LogProvider, LogScope};
use crate::core::memory::discover::DiscoveryScope;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::index::{BuildProgress, Corpus, Log, Progress};
use crate::core::search::read_corpus;
use crate::core::search::{Sources, search};
use crate::core::text::time::{self, Edge};
use crate::core::{Error, Result};

/// The log files that were found, and the corpus of their text.
pub(super) struct LogCorpus<'a> {
    pub(super) catalog: &'a LogCatalog,
    pub(super) files: &'a [LogFile],
    pub(super) corpus: Corpus,
}

impl LogCorpus<'_> {
    /// Returns the number of the log in the corpus that [`LogCatalog::log_named`] finds.
    pub(super) fn numbered(&self, id: &str) -> Result<usize> {
        let log = self.catalog.log_named(id)?;
        let marked = marked_id(&log.id, &log.path);
        let number = log_named_by(&self.corpus, log.agent, &marked);
        number.ok_or_else(|| Error::not_found(format!("log {id}")))
    }
}

impl AsRef<Corpus> for LogCorpus<'_> {
    fn as_ref(&self) -> &Corpus {
        &self.corpus
    }
}

/// Whether a search includes logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IncludeLogs {
    Yes,
    No,
}

impl World {
    /// Returns the catalog of the logs in scope: with `--store`, only those of the named stores.
    pub(super) fn log_catalog(&self) -> Result<LogCatalog, Failure> {
        let stores: Vec<Store> = if self.common.store.is_empty() {
            let found = self.discovered()?.stores.into_iter();
            found.map(|found| found.store).collect()
        } else {
            self.stores()?
        };
        Ok(self.log_catalog_of(&stores))
    }

    /// As [`World::log_catalog`], for stores that the caller has already.
    fn log_catalog_of(&self, stores: &[Store]) -> LogCatalog {
        if !self.common.store.is_empty() {
            let locations = LogLocations {
                stores: roots_with_logs(stores),
                ..LogLocations::default()
            };
            let catalog = self.catalog_in(locations, LogScope::All);
            return LogCatalog {
                kept: None,
                ..catalog
            };
        }
        let scope = match self.scope() {
            DiscoveryScope::Everything => LogScope::All,
            DiscoveryScope::Project => LogScope::Project,
        };
        self.catalog_in(self.locations_with(stores), scope)
    }

    /// The catalog of the logs in these places, and of kept ones.
    pub(super) fn catalog_in(&self, locations: LogLocations, scope: LogScope) -> LogCatalog {
        LogCatalog {
            locations,
            kept: Some(self.kept.clone()),
            cache: self.cache.clone(),
            timeline: self.settings.timeline.clone(),
            scope,
        }
    }

    /// The places of all logs, those of stores included.
    fn locations_with(&self, stores: &[Store]) -> LogLocations {
        let mut locations = self.locations.clone();
        locations.stores = roots_with_logs(stores);
        if self.scope() == DiscoveryScope::Everything {
            locations.aider = vec![self.environment.home.clone()];
        }
        locations
    }

    /// Returns the catalog of all logs, also if `--store` is given: any session can have written
    /// into the named stores.
    pub(super) fn whole_log_catalog(&self) -> Result<LogCatalog, Failure> {
        let found = self.discovered()?.stores.into_iter();
        let mut stores: Vec<Store> = found.map(|found| found.store).collect();
        if !self.common.store.is_empty() {
            stores.extend(self.stores()?);
        }
        let mut locations = self.locations_with(&stores);
        locations.stores.sort();
        locations.stores.dedup();
        Ok(self.catalog_in(locations, LogScope::All))
    }

    /// Returns the logs in scope, including kept copies of logs that the agent deleted.
    pub(super) fn log_files(&self) -> Result<Vec<LogFile>, Failure> {
        Ok(self.log_catalog()?.files())
    }

    /// Calls `read` with the updated corpus of the logs in scope. Shows progress on a terminal, and
    /// prints a warning for each log that could not be read, and for a cache that is of no use.
    pub(super) fn read_corpus<T>(&self, read: impl Fn(&LogCorpus<'_>) -> T) -> Result<T, Failure> {
        let catalog = self.log_catalog()?;
        Ok(self.read_logs(&catalog, &catalog.files(), read)?)
    }

    /// As [`World::read_corpus`], also of logs outside the named stores.
    pub(super) fn read_whole_corpus<T>(
        &self,
        read: impl Fn(&LogCorpus<'_>) -> T,
    ) -> Result<T, Failure> {
        let catalog = self.whole_log_catalog()?;
        Ok(self.read_logs(&catalog, &catalog.files(), read)?)
    }

    /// As [`World::read_corpus`], for these files of a catalog.
    pub(super) fn read_logs<T>(
        &self,
        catalog: &LogCatalog,
        files: &[LogFile],
        read: impl Fn(&LogCorpus<'_>) -> T,
    ) -> crate::core::Result<T> {
        let meter = ProgressLine::new();
        let open = || {
            let corpus = catalog.corpus(files, &meter);
            meter.clear();
            Ok(LogCorpus {
                catalog,
                files,
                corpus: corpus?,
            })
        };
        let (LogCorpus { corpus, .. }, answer) = read_corpus(open, read)?;
        for problem in corpus.problems() {
            print_error(&format!("warning: {problem}"));
        }
        Ok(answer)
    }

    /// Updates the corpus, and searches it and the memories of the selected stores.
    pub(super) fn search<T>(
        &self,
        stores: &[Store],
        memories: MemoryTexts,
        logs: IncludeLogs,
        look: impl Fn(Sources<'_>) -> T,
    ) -> Result<T, Failure> {
        let catalog = match logs {
            IncludeLogs::Yes => Some(self.log_catalog_of(stores)),
            IncludeLogs::No => None,
        };
        let meter = ProgressLine::new();
        let searched = search(memories, catalog.as_ref(), &meter, look);
        meter.clear();
        let searched = searched?;
        for error in &searched.unread {
            print_error(&format!("warning: {error}"));
        }
        // The program ends soon; dropping thousands of rows would only delay that.
        std::mem::forget(searched.searched);
        Ok(searched.answer)
    }

    /// Tells on a line of its own of the sessions of a directory that is gone and was this project, and
    /// how they are shown.
    pub(super) fn moved_here(&self) -> Option<String> {
        let project = self.locations.projects.last();
        let project = project.filter(|_| self.scope() == DiscoveryScope::Project)?;
        let corpus = Corpus::open(&self.cache)?;
        let logs = corpus.logs();
        let logs = logs.filter_map(|log| Some((log.modified(), log.cwd()?, log.path())));
        let former = former_directory(self.git(), project, logs.collect())?;
        let count = corpus.logs().filter(|log| log.cwd() == Some(former));
        let logs = counted(count.count(), "log");
        let directory = self.short_path(Path::new(former));
        let former = quoted(former);
        Some(format!(
            "\n{logs} of {directory}, which is gone: moved here? tome logs --project {former} shows them"
        ))
    }

    /// Tells where nothing was found that there is no store and no log, or that the project was moved.
    pub(super) fn say_nothing_found(&self, stores: &[Store], has_logs: bool) {
        if stores.is_empty() && !has_logs {
            say_no_store();
        }
        if let Some(moved) = self.moved_here() {
            print_error(moved.trim_start());
        }
    }

    /// Parses the agent and the time of a filter.
    pub(super) fn parse_filter<'a>(
        &self,
        filter: &'a LogFilter,
    ) -> Result<ParsedLogFilter<'a>, Failure> {
        let agent = match &filter.agent {
            Some(name) => Some(agent_named(name, Agent::all())?),
            None => None,
        };
        Ok(ParsedLogFilter {
            agent,
            since: self.parse_time(filter.since.as_deref(), Edge::Start)?,
            project: filter.project.as_deref(),
        })
    }

    /// Parses a time of the command line.
    pub(super) fn parse_time(
        &self,
        text: Option<&str>,
        edge: Edge,
    ) -> Result<Option<i64>, Failure> {
        let Some(text) = text else { return Ok(None) };
        let unclear = || Failure::Usage(format!("'{text}' is not a time; use {}", time::FORMS));
        let time = time::parse(text, &self.now, edge).ok_or_else(unclear)?;
        Ok(Some(time))
    }
}

/// The roots of the stores that have logs.
pub(super) fn roots_with_logs<'a>(stores: impl IntoIterator<Item = &'a Store>) -> Vec<PathBuf> {
    let has_logs = |store: &&Store| matches!(store.layout(), Layout::Session | Layout::Events);
    let stores = stores.into_iter().filter(has_logs);
    stores.map(|store| store.root().path().to_owned()).collect()
}

impl LogProvider for World {
    fn log_catalog(&self) -> Result<LogCatalog> {
        self.log_catalog().map_err(Failure::into_error)
    }
}

/// A filter with its values parsed.
pub(super) struct ParsedLogFilter<'a> {
    agent: Option<Agent>,
    since: Option<i64>,
    project: Option<&'a str>,
}

impl ParsedLogFilter<'_> {
    pub(super) fn allows(&self, catalog: &LogCatalog, log: &Log<'_>) -> bool {
        let is_in_project = match self.project {
            Some(part) => log.cwd().is_some_and(|cwd| cwd.contains(part)),
            None => catalog.contains(log),
        };
        is_in_project
            && self.agent.is_none_or(|agent| log.agent() == Some(agent))
            && self.since.is_none_or(|since| log.last_activity() >= since)
    }

    /// Whether a log may have sessions that are allowed: those of a store of events are of any agent.
    pub(super) fn allows_some(&self, catalog: &LogCatalog, log: &Log<'_>) -> bool {
        let any = Self {
            agent: self.agent.filter(|_| log.agent() != Some(Agent::Events)),
            ..*self
        };
        any.allows(catalog, log)
    }

    /// Whether a session of a store of events is allowed, if its store is.
    pub(super) fn allows_session(&self, session: &CapturedSession) -> bool {
        let named = [session.agent.as_str(), Agent::Events.name()];
        self.agent.is_none_or(|agent| named.contains(&agent.name()))
            && self.since.is_none_or(|since| session.last >= since)
    }
}

/// Shows on standard error how many logs have been read, when it is a terminal.
struct ProgressLine {
    is_shown: bool,
    /// When the line was last printed; set at the start, so that short work prints nothing.
    last: Mutex<Instant>,
}

impl ProgressLine {
    const EVERY: Duration = Duration::from_millis(200);

    fn new() -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
            last: Mutex::new(Instant::now()),
        }
    }

    fn clear(&self) {
        if self.is_shown {
            // A failure to write to standard error cannot be reported.
            drop(io::stderr().write_all(b"\r\x1b[K"));
        }
    }
}

impl Progress for ProgressLine {
    fn advance(&self, tally: BuildProgress) {
        if !self.is_shown {
            return;
        }
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if last.elapsed() >= Self::EVERY {
            *last = Instant::now();
            let line = format!(
                "\r\x1b[Kreading logs: {} of {}, {} of {} MB",
                tally.logs_done,
                tally.logs,
                tally.bytes_done / 1_000_000,
                tally.bytes / 1_000_000
            );
            drop(io::stderr().write_all(line.as_bytes()));
        }
    }
}
