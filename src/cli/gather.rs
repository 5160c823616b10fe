//! The logs that are meant, the corpus over them, and what is searched.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Failure;
use super::args::{LogFilter, RoleArg};
use super::world::World;
use crate::core::archive::{Archive, Whose, last_change};
use crate::core::corpus::{Corpus, Log, Progress, Tally};
use crate::core::discover::Reach;
use crate::core::layout::Layout;
use crate::core::log::{Agent, LogFile, Places, Role};
use crate::core::search::{Sources, search};
use crate::core::store::Store;
use crate::core::time::{self, Edge};

/// The logs that were found, and their text.
pub(super) struct Gathered {
    pub(super) archive: Archive,
    pub(super) files: Vec<LogFile>,
    pub(super) corpus: Corpus,
}

/// Whether logs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logs {
    Wanted,
    Unwanted,
}

impl World {
    /// Where the logs are that are meant: with `--store`, those of the named stores alone.
    pub(super) fn archive(&self) -> Result<Archive, Failure> {
        let is_named = !self.common.store.is_empty();
        let stores: Vec<Store> = if is_named {
            self.stores()?
        } else {
            let found = self.discovered()?.stores.into_iter();
            found.map(|found| found.store).collect()
        };
        let mut places = match is_named {
            true => Places::default(),
            false => self.places.clone(),
        };
        let with_logs = stores
            .iter()
            .filter(|store| matches!(store.layout(), Layout::Session | Layout::Events));
        places.stores = with_logs
            .map(|store| store.root().path().to_owned())
            .collect();
        Ok(Archive {
            places,
            kept: (!is_named).then(|| self.kept.clone()),
            cache: self.cache.clone(),
            whose: match is_named || self.reach() == Reach::Everything {
                true => Whose::Everybodys,
                false => Whose::Projects,
            },
        })
    }

    /// Every log that can be found, kept copies of swept ones included.
    pub(super) fn log_files(&self) -> Result<Vec<LogFile>, Failure> {
        Ok(self.archive()?.files())
    }

    /// The corpus of every log that can be found, brought up to date; on a terminal it tells how
    /// far it has come.
    pub(super) fn corpus(&self) -> Result<Gathered, Failure> {
        let archive = self.archive()?;
        let files = archive.files();
        let meter = Meter::new();
        let corpus = archive.corpus(&files, &meter);
        meter.clear();
        Ok(Gathered {
            archive,
            files,
            corpus: corpus?,
        })
    }

    /// Reads the memories, brings the corpus up to date and searches both.
    pub(super) fn search<T>(
        &self,
        stores: &[Store],
        logs: Logs,
        look: impl Fn(Sources<'_>) -> T,
    ) -> Result<T, Failure> {
        let archive = match logs {
            Logs::Wanted => Some(self.archive()?),
            Logs::Unwanted => None,
        };
        let meter = Meter::new();
        let searched = search(stores, archive.as_ref(), &meter, look);
        meter.clear();
        let searched = searched?;
        for error in &searched.unread {
            super::print::complain(&format!("warning: {error}"));
        }
        Ok(searched.answer)
    }

    /// The filter with its words understood.
    pub(super) fn understood<'a>(&self, filter: &'a LogFilter) -> Result<Filter<'a>, Failure> {
        let agent = match &filter.agent {
            Some(name) => Some(Agent::named(name).ok_or_else(|| no_agent(name))?),
            None => None,
        };
        let since = match &filter.since {
            Some(text) => {
                let time = time::parse(text, &self.now, Edge::Start);
                let unclear =
                    || Failure::Asked(format!("'{text}' is no time; give {}", time::FORMS));
                Some(time.ok_or_else(unclear)?)
            }
            None => None,
        };
        Ok(Filter {
            agent,
            since,
            project: filter.project.as_deref(),
        })
    }
}

fn no_agent(name: &str) -> Failure {
    let known: Vec<&str> = Agent::all().map(Agent::name).collect();
    Failure::Asked(format!("no agent '{name}'; there are {}", known.join(", ")))
}

/// Which logs to show.
pub(super) struct Filter<'a> {
    agent: Option<Agent>,
    since: Option<i64>,
    project: Option<&'a str>,
}

impl Filter<'_> {
    pub(super) fn lets(&self, archive: &Archive, log: &Log<'_>) -> bool {
        let meant = match self.project {
            Some(part) => log.cwd().is_some_and(|cwd| cwd.contains(part)),
            None => archive.holds(log),
        };
        meant
            && self.agent.is_none_or(|agent| log.agent() == Some(agent))
            && self.since.is_none_or(|since| last_change(log) >= since)
    }
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::User => Self::User,
            RoleArg::Assistant => Self::Assistant,
            RoleArg::System => Self::System,
            RoleArg::Tool => Self::Tool,
        }
    }
}

/// Tells a person who waits how far the reading of logs has come.
struct Meter {
    is_shown: bool,
    /// When something was last said; starts with a delay, so that short work stays silent.
    last: Mutex<Instant>,
}

impl Meter {
    const EVERY: Duration = Duration::from_millis(200);

    fn new() -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
            last: Mutex::new(Instant::now()),
        }
    }

    fn clear(&self) {
        if self.is_shown {
            // Nobody is left to tell if this fails.
            drop(io::stderr().write_all(b"\r\x1b[K"));
        }
    }
}

impl Progress for Meter {
    fn advance(&self, tally: Tally) {
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
