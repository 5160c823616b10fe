//! The logs that are meant, the corpus over them, and what is searched.

use std::collections::HashSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Failure;
use super::args::{LogFilter, RoleArg};
use super::world::World;
use crate::core::corpus::{Busy, Corpus, Effort, Log, Progress, Tally};
use crate::core::discover::Reach;
use crate::core::keep::kept;
use crate::core::layout::Layout;
use crate::core::log::{Agent, LogFile, Role, locate};
use crate::core::search::{Shelf, Sources};
use crate::core::store::Store;

/// Whether logs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logs {
    Wanted,
    Unwanted,
}

impl World {
    /// Every log that can be found, kept copies of swept ones included. With `--store`, those
    /// of the named stores alone.
    pub(super) fn log_files(&self) -> Result<Vec<LogFile>, Failure> {
        let mut places = self.places.clone();
        if !self.common.store.is_empty() {
            places = Default::default();
        }
        let stores: Vec<Store> = if self.common.store.is_empty() {
            let found = self.discovered()?.stores.into_iter();
            found.map(|found| found.store).collect()
        } else {
            self.stores()?
        };
        let with_logs = stores
            .iter()
            .filter(|store| matches!(store.layout(), Layout::Session | Layout::Events));
        places.stores = with_logs
            .map(|store| store.root().path().to_owned())
            .collect();
        let mut found = locate(&places);
        // A session of this project is found in its own place and as a store.
        found.sort_by(|a, b| (a.agent, &a.path, &a.id).cmp(&(b.agent, &b.path, &b.id)));
        found.dedup_by(|a, b| (a.agent, &a.path, &a.id) == (b.agent, &b.path, &b.id));
        if self.common.store.is_empty() {
            found.extend(kept(&self.kept, &found));
        }
        Ok(found)
    }

    /// The corpus of `logs`, brought up to date; on a terminal it tells how far it has come.
    pub(super) fn corpus(&self, logs: &[LogFile]) -> Result<Corpus, Failure> {
        let effort = Effort {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            busy: Busy::Wait,
        };
        let meter = Meter::new();
        let corpus = Corpus::refresh(&self.cache, logs, effort, &meter);
        meter.clear();
        Ok(corpus?)
    }

    /// Reads the memories, brings the corpus up to date and searches both.
    pub(super) fn search<T>(
        &self,
        stores: &[Store],
        logs: Logs,
        search: impl Fn(Sources<'_>) -> T,
    ) -> Result<T, Failure> {
        let shelf = Shelf::read(stores)?;
        let look = |corpus: Option<&Corpus>| {
            search(Sources {
                shelf: &shelf,
                corpus,
            })
        };
        if logs == Logs::Unwanted {
            return Ok(look(None));
        }
        let files = self.log_files()?;
        let corpus = self.project_corpus(&files)?;
        let answer = look(Some(&corpus));
        if !corpus.is_damaged() {
            return Ok(answer);
        }
        // Something was wrong with the cache; what is wrong is made anew.
        drop(corpus);
        let corpus = self.project_corpus(&files)?;
        Ok(look(Some(&corpus)))
    }

    /// The corpus of those of the logs that are meant.
    fn project_corpus(&self, files: &[LogFile]) -> Result<Corpus, Failure> {
        let all = self.corpus(files)?;
        for error in all.unread() {
            super::print::complain(&format!("warning: {error}"));
        }
        if let Some(error) = all.unkept() {
            super::print::complain(&format!(
                "warning: {error}: the logs are read anew every time"
            ));
        }
        let meant: HashSet<(PathBuf, String)> = all
            .logs()
            .filter(|log| self.is_meant(log))
            .map(|log| (log.path(), log.id().to_owned()))
            .collect();
        if meant.len() == all.logs().len() {
            return Ok(all);
        }
        let files: Vec<LogFile> = files
            .iter()
            .filter(|log| meant.contains(&(log.path.clone(), log.id.clone())))
            .cloned()
            .collect();
        self.corpus(&files)
    }

    /// Whether a log belongs to the current project, or everything is asked for.
    pub(super) fn is_meant(&self, log: &Log<'_>) -> bool {
        if self.reach() == Reach::Everything || !self.common.store.is_empty() {
            return true;
        }
        let Some(root) = self.places.projects.last() else {
            return true;
        };
        log.cwd()
            .is_some_and(|cwd| Path::new(cwd).starts_with(root))
            || self
                .places
                .projects
                .iter()
                .any(|folder| log.path().starts_with(folder))
    }

    /// The filter with its words understood.
    pub(super) fn understood<'a>(&self, filter: &'a LogFilter) -> Result<Filter<'a>, Failure> {
        let agent = match &filter.agent {
            Some(name) => Some(Agent::named(name).ok_or_else(|| no_agent(name))?),
            None => None,
        };
        let since = match &filter.since {
            Some(text) => Some(self.time(text)?),
            None => None,
        };
        Ok(Filter {
            agent,
            since,
            project: filter.project.as_deref(),
        })
    }

    /// A day, or so long ago, in milliseconds since 1970.
    fn time(&self, text: &str) -> Result<i64, Failure> {
        let unclear = || {
            Failure::Asked(format!(
                "'{text}' is no time; give a day such as 2026-01-31 or an age such as 36h, 30d, 2w"
            ))
        };
        if let Ok(day) = text.parse::<jiff::civil::Date>() {
            let start = day
                .to_zoned(jiff::tz::TimeZone::system())
                .map_err(|_| unclear())?;
            return Ok(start.timestamp().as_millisecond());
        }
        let unit = text.chars().last().ok_or_else(unclear)?;
        let hours: i64 = match unit {
            'h' => 1,
            'd' => 24,
            'w' => 24 * 7,
            'y' => 24 * 365,
            _ => return Err(unclear()),
        };
        let number: i64 = text[..text.len() - 1].parse().map_err(|_| unclear())?;
        let ago = number.checked_mul(hours * 3_600_000).ok_or_else(unclear)?;
        Ok(self.moment.time.as_millisecond() - ago)
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
    pub(super) fn lets(&self, world: &World, log: &Log<'_>) -> bool {
        let meant = match self.project {
            Some(part) => log.cwd().is_some_and(|cwd| cwd.contains(part)),
            None => world.is_meant(log),
        };
        meant
            && self.agent.is_none_or(|agent| log.agent() == Some(agent))
            && self.since.is_none_or(|since| last_change(log) >= since)
    }
}

/// When something was last said in a log, or else when its file was last changed.
pub(super) fn last_change(log: &Log<'_>) -> i64 {
    let said = log.span().map(|(_, last)| last);
    said.or(log.stamp().1).unwrap_or(0)
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
