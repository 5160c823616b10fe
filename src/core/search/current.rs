//! Search over the current state: reads the memories and refreshes the corpus first.

use super::Sources;
use crate::core::Result;
use crate::core::log::LogFile;
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::index::{Corpus, Log, Progress, ReadResults};

/// The corpus of the logs in scope.
#[derive(Debug)]
pub struct ScopedCorpus {
    /// The corpus.
    pub corpus: Corpus,
    /// The logs that could not be read or cached, and why.
    pub unread: Vec<String>,
    /// The number of logs that were not read, because the refresh was cancelled.
    pub left: usize,
}

impl AsRef<Corpus> for ScopedCorpus {
    fn as_ref(&self) -> &Corpus {
        &self.corpus
    }
}

impl LogCatalog {
    /// Returns whether a log of a corpus is in scope.
    pub fn contains(&self, log: &Log<'_>) -> bool {
        self.admits(log.agent(), log.cwd(), &log.path())
    }

    /// Returns the refreshed corpus of these logs, with all of their text.
    pub fn corpus(&self, files: &[LogFile], progress: &dyn Progress) -> Result<Corpus> {
        Corpus::refresh(&self.cache, files, ReadResults::Now, progress)
    }

    /// Returns the corpus of those of the logs that are in scope. Every log is refreshed,
    /// because only its text has the project.
    pub fn scoped_corpus(
        &self,
        files: &[LogFile],
        results: ReadResults,
        progress: &dyn Progress,
    ) -> Result<ScopedCorpus> {
        let mut corpus = Corpus::refresh(&self.cache, files, results, progress)?;
        let unread = corpus.problems();
        let left = match results {
            ReadResults::Now => corpus.left().max(corpus.logs_without_results()),
            ReadResults::Later => corpus.left(),
        };
        corpus.keep_logs(|log| self.contains(log));
        Ok(ScopedCorpus {
            corpus,
            unread,
            left,
        })
    }
}

/// Opens a corpus with `open` and calls `read` with it. If the cache turns out to be damaged, both
/// are done once more, because the next refresh rebuilds it.
pub fn read_corpus<C: AsRef<Corpus>, T>(
    open: impl Fn() -> Result<C>,
    read: impl Fn(&C) -> T,
) -> Result<(C, T)> {
    let corpus = open()?;
    let answer = read(&corpus);
    if !corpus.as_ref().is_damaged() {
        return Ok((corpus, answer));
    }
    drop(corpus);
    let corpus = open()?;
    let answer = read(&corpus);
    Ok((corpus, answer))
}

/// The result of a search, with what could not be read.
#[derive(Debug)]
pub struct SearchOutcome<T> {
    /// The result.
    pub answer: T,
    /// The logs that could not be read or cached, and why.
    pub unread: Vec<String>,
    /// The number of logs that were not read, because the refresh was cancelled.
    pub left: usize,
    /// What was searched. A program that ends now need not take the time to drop it.
    pub searched: (MemoryTexts, Vec<LogFile>, Option<Corpus>),
}

/// Searches these memories, and the logs if a catalog is given. The corpus is refreshed as far as
/// `progress` allows.
pub fn search<T>(
    memories: MemoryTexts,
    catalog: Option<&LogCatalog>,
    progress: &dyn Progress,
    search: impl Fn(Sources<'_>) -> T,
) -> Result<SearchOutcome<T>> {
    let search_in = |corpus: Option<&Corpus>| {
        let memories = &memories;
        search(Sources { memories, corpus })
    };
    let Some(catalog) = catalog else {
        return Ok(SearchOutcome {
            answer: search_in(None),
            unread: memories.left_out.clone(),
            left: 0,
            searched: (memories, Vec::new(), None),
        });
    };
    let files = catalog.files();
    let search_with = |results| {
        read_corpus(
            || catalog.scoped_corpus(&files, results, progress),
            |scoped| search_in(Some(&scoped.corpus)),
        )
    };
    let (mut scoped, mut answer) = search_with(ReadResults::Later)?;
    if scoped.corpus.misses_results() && !scoped.corpus.is_held_up() {
        (scoped, answer) = search_with(ReadResults::Now)?;
    }
    Ok(SearchOutcome {
        answer,
        unread: [scoped.unread, memories.left_out.clone()].concat(),
        left: scoped.left,
        searched: (memories, files, Some(scoped.corpus)),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, UNIX_EPOCH};

    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::log::LogLocations;
    use crate::core::memory::catalog::LogScope;
    use crate::core::search::index::BuildProgress;
    use crate::core::search::query::{Query, noon};
    use crate::core::search::recall::{RecallRequest, Scope, recall};

    fn catalog(home: &TestHome) -> LogCatalog {
        LogCatalog {
            locations: LogLocations {
                stores: vec![home.path("s0")],
                ..LogLocations::default()
            },
            kept: None,
            cache: home.path("cache"),
            scope: LogScope::All,
            timeline: crate::core::memory::config::TimelineSettings::default(),
        }
    }

    /// Cancels the refresh after this many logs.
    struct After(usize, AtomicUsize);

    impl Progress for After {
        fn advance(&self, _: BuildProgress) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }

        fn is_cancelled(&self) -> bool {
            self.1.load(Ordering::Relaxed) > self.0
        }
    }

    #[test]
    fn a_reading_that_was_called_off_has_the_newest_and_says_how_much_is_left() {
        let home = TestHome::new(&[], &[]);
        for (id, cwd) in [("ours", "/p"), ("theirs", "/elsewhere")] {
            let message = serde_json::json!({ "role": "user", "content": id });
            let line = serde_json::json!({ "type": "user", "cwd": cwd, "message": message });
            home.write(
                &format!("claude/projects/-x/{id}.jsonl"),
                &format!("{line}\n"),
            );
        }
        let everybodys = LogCatalog {
            locations: LogLocations {
                claude: vec![home.path("claude")],
                projects: vec!["/p".into()],
                ..LogLocations::default()
            },
            ..catalog(&home)
        };
        let own = LogCatalog {
            scope: LogScope::Project,
            ..everybodys.clone()
        };
        for file in own.files() {
            let time = UNIX_EPOCH + Duration::from_secs(1 + u64::from(file.id == "ours"));
            let log = fs::File::options().append(true).open(&file.path);
            log.and_then(|log| log.set_modified(time)).expect("set");
        }
        let logs = |catalog: &LogCatalog, progress: &dyn Progress| {
            let scoped = catalog.scoped_corpus(&catalog.files(), ReadResults::Now, progress);
            let scoped = scoped.expect("readable");
            let ids = scoped.corpus.logs().map(|log| log.id().to_owned());
            (ids.collect::<Vec<_>>(), scoped.left)
        };
        let after = |logs| After(logs, AtomicUsize::new(0));
        let [ours, both] = [&["ours"][..], &["ours", "theirs"]]
            .map(|ids| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(logs(&everybodys, &after(0)), (Vec::new(), 2));
        assert_eq!(logs(&everybodys, &after(1)), (ours.clone(), 1));
        assert_eq!(logs(&everybodys, &()), (both.clone(), 0));
        assert_eq!(logs(&own, &after(0)), (ours, 0));
        // A log that has grown is left, too.
        for file in own.files() {
            let text = fs::read_to_string(&file.path).expect("a log");
            fs::write(&file.path, text.clone() + &text).expect("written");
        }
        assert_eq!(logs(&everybodys, &after(1)), (both.clone(), 1));
        assert_eq!(logs(&everybodys, &()), (both, 0));
    }

    #[test]
    fn logs_are_searched_only_where_an_archive_is_given() {
        let home = TestHome::new(&[], &[conversation(&["how do we rotate tokens"])]);
        let catalog = catalog(&home);
        let count = |catalog: Option<&LogCatalog>| {
            let logs = |sources: Sources<'_>| sources.corpus.map(|corpus| corpus.logs().len());
            search(MemoryTexts::default(), catalog, &(), logs)
                .expect("searched")
                .answer
        };
        assert_eq!(count(Some(&catalog)), Some(1));
        assert_eq!(count(None), None);
    }

    #[test]
    fn results_are_read_when_a_search_needs_them() {
        let often = ["the fox", "a fox", "one fox", "my fox", "our fox"];
        let home = TestHome::new(&[], &[conversation(&often)]);
        let line = r#"{"type":"message","message":{"role":"tool","content":"an owl"}}"#;
        let catalog = catalog(&home);
        let files = catalog.files();
        let log = &files[0].path;
        let old = std::fs::read_to_string(log).expect("a log");
        std::fs::write(log, old + line + "\n").expect("written");
        let found = |words: &str| {
            let query = Query::of_prose(words, &noon());
            let look = |sources: Sources<'_>| {
                let request = RecallRequest {
                    query: &query,
                    scope: Scope::All,
                    limit: 9,
                    without: None,
                };
                let corpus = sources.corpus.expect("logs are searched");
                (
                    recall(sources, request).total,
                    corpus.logs_without_results(),
                )
            };
            search(MemoryTexts::default(), Some(&catalog), &(), look)
                .expect("searched")
                .answer
        };
        assert_eq!(found("fox"), (5, 1));
        assert_eq!(found("fox our"), (5, 1));
        assert_eq!(found("owl"), (1, 0));
        assert_eq!(found("fox"), (5, 0));
    }
}
