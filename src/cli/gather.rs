//! From the stores and logs that are meant to what is searched.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Failure;
use super::world::World;
use crate::core::corpus::{Busy, Corpus, Effort, Progress, Tally};
use crate::core::log::LogFile;
use crate::core::search::{Library, Shelf};
use crate::core::store::Store;

/// Whether logs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logs {
    Wanted,
    Unwanted,
}

impl World {
    /// Reads the memories, brings the corpus up to date and searches both.
    pub(super) fn search<T>(
        &self,
        stores: &[Store],
        logs: Logs,
        search: impl Fn(Library<'_>) -> T,
    ) -> Result<T, Failure> {
        let shelf = Shelf::read(stores)?;
        let look = |corpus: Option<&Corpus>| {
            search(Library {
                shelf: &shelf,
                corpus,
            })
        };
        if logs == Logs::Unwanted {
            return Ok(look(None));
        }
        let files = self.logs(stores);
        let corpus = self.corpus(&files)?;
        let answer = look(Some(&corpus));
        if !corpus.is_damaged() {
            return Ok(answer);
        }
        // Something was wrong with the cache; what is wrong is made anew.
        drop(corpus);
        let corpus = self.corpus(&files)?;
        Ok(look(Some(&corpus)))
    }

    /// Returns the corpus of those of the logs that are meant.
    fn corpus(&self, files: &[LogFile]) -> Result<Corpus, Failure> {
        let cache = self.cache.join("corpus");
        let effort = Effort {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            busy: Busy::Wait,
        };
        let meter = Meter::new();
        let all = Corpus::refresh(&cache, files, effort, &meter)?;
        meter.clear();
        for error in all.unread() {
            super::print::complain(&format!("warning: {error}"));
        }
        let is_meant: std::collections::HashSet<_> = all
            .logs()
            .filter(|log| self.is_of_project(log.cwd(), &log.path()))
            .map(|log| (log.path(), log.id().to_owned()))
            .collect();
        if is_meant.len() == all.logs().len() {
            return Ok(all);
        }
        let meant: Vec<LogFile> = files
            .iter()
            .filter(|log| is_meant.contains(&(log.path.clone(), log.id.clone())))
            .cloned()
            .collect();
        Ok(Corpus::refresh(&cache, &meant, effort, &())?)
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
