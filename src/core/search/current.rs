//! Search over the current state: reads the memories and refreshes the corpus first.

use super::{MemoryTexts, Sources};
use crate::core::Result;
use crate::core::log::LogFile;
use crate::core::search::catalog::{LogCatalog, ScopedCorpus, read_corpus};
use crate::core::search::index::{Corpus, Progress, ReadResults};

/// The result of a search, with what could not be read.
#[derive(Debug)]
pub struct SearchOutcome<T> {
    /// The result.
    pub answer: T,
    /// The logs that could not be read or cached, and why.
    pub unread: Vec<String>,
    /// The number of logs that were not read, because the refresh was cancelled.
    pub left: usize,
    /// What was searched.
    pub searched: Searched,
}

/// What was searched. A program that ends now need not take the time to drop it.
#[derive(Debug)]
pub struct Searched {
    _memories: MemoryTexts,
    _files: Vec<LogFile>,
    _corpus: Option<Corpus>,
}

/// Searches these memories, and the logs if a catalog is given. The corpus is refreshed as far as
/// `progress` allows.
pub fn search<T>(
    memories: MemoryTexts,
    catalog: Option<&LogCatalog>,
    progress: &dyn Progress,
    search: impl Fn(Sources<'_>) -> T,
) -> Result<SearchOutcome<T>> {
    match catalog {
        Some(catalog) => search_with_logs(memories, (catalog, progress), search),
        None => Ok(SearchOutcome {
            answer: search(Sources {
                memories: &memories,
                corpus: None,
            }),
            unread: memories.left_out.clone(),
            left: 0,
            searched: Searched {
                _memories: memories,
                _files: Vec::new(),
                _corpus: None,
            },
        }),
    }
}

fn search_with_logs<T>(
    memories: MemoryTexts,
    (catalog, progress): (&LogCatalog, &dyn Progress),
    search: impl Fn(Sources<'_>) -> T,
) -> Result<SearchOutcome<T>> {
    let files = catalog.files();
    let search_in = |scoped: &ScopedCorpus| {
        search(Sources {
            memories: &memories,
            corpus: Some(&scoped.corpus),
        })
    };
    let search_with = |results| {
        read_corpus(
            || catalog.scoped_corpus(&files, results, progress),
            search_in,
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
        searched: Searched {
            _memories: memories,
            _files: files,
            _corpus: Some(scoped.corpus),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::log::LogLocations;
    use crate::core::search::catalog::LogScope;
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
