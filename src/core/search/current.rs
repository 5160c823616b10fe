//! Search over the current state: reads the memories and refreshes the corpus first.

use super::{MemoryTexts, Sources};
use crate::core::Result;
use crate::core::catalog::{LogCatalog, ScopedCorpus, read_corpus};
use crate::core::corpus::Progress;
use crate::core::store::Store;

/// The result of a search, with what could not be read.
#[derive(Debug)]
pub struct SearchOutcome<T> {
    /// The result.
    pub answer: T,
    /// The logs that could not be read or cached, and why.
    pub unread: Vec<String>,
    /// The number of logs that were not read, because the refresh was cancelled.
    pub left: usize,
}

/// Searches the memories of these stores, and the logs if a catalog is given. The corpus is
/// refreshed as far as `progress` allows.
pub fn search<'a, T>(
    stores: impl IntoIterator<Item = &'a Store>,
    catalog: Option<&LogCatalog>,
    progress: &dyn Progress,
    search: impl Fn(Sources<'_>) -> T,
) -> Result<SearchOutcome<T>> {
    let memories = MemoryTexts::read(stores)?;
    let Some(catalog) = catalog else {
        return Ok(SearchOutcome {
            answer: search(Sources {
                memories: &memories,
                corpus: None,
            }),
            unread: Vec::new(),
            left: 0,
        });
    };
    let files = catalog.files();
    let search_in = |scoped: &ScopedCorpus| {
        search(Sources {
            memories: &memories,
            corpus: Some(&scoped.corpus),
        })
    };
    let (scoped, answer) = read_corpus(|| catalog.scoped_corpus(&files, progress), search_in)?;
    Ok(SearchOutcome {
        answer,
        unread: scoped.unread,
        left: scoped.left,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::catalog::LogScope;
    use crate::core::log::LogLocations;

    #[test]
    fn logs_are_searched_only_where_an_archive_is_given() {
        let home = TestHome::new(&[], &[conversation(&["how do we rotate tokens"])]);
        let catalog = LogCatalog {
            locations: LogLocations {
                stores: vec![home.path("s0")],
                ..LogLocations::default()
            },
            kept: None,
            cache: home.path("cache"),
            scope: LogScope::All,
            timeline: crate::core::config::TimelineSettings::default(),
        };
        let count = |catalog: Option<&LogCatalog>| {
            let logs = |sources: Sources<'_>| sources.corpus.map(|corpus| corpus.logs().len());
            search(&[], catalog, &(), logs).expect("searched").answer
        };
        assert_eq!(count(Some(&catalog)), Some(1));
        assert_eq!(count(None), None);
    }
}
