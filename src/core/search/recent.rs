//! The most recent memories and conversations: the result of a query without words.

use std::cmp::Reverse;

use super::{Hit, Sources, allowed_logs, allows_memory};
use crate::core::memory::FileKind;
use crate::core::memory::texts::MemoryText;

use crate::core::search::index::Log;
use crate::core::search::query::{Filters, SearchArea};

/// What the filters of a query admit.
#[derive(Debug)]
pub struct Recent {
    /// The newest, newest first.
    pub hits: Vec<Hit>,
    /// The number of all, including those not in `hits`.
    pub total: usize,
}

/// Returns the memories and conversations that the filters admit: `limit` of them, newest first.
pub fn recent(sources: Sources<'_>, filters: &Filters, limit: usize) -> Recent {
    let mut found: Vec<(i64, RecentItem<'_>)> = Vec::new();
    for memory_text in &sources.memories.texts {
        let is_index = memory_text.memory.kind == FileKind::Index;
        if !is_index && allows_memory(filters, memory_text) {
            found.push((memory_text.memory.time(), RecentItem::Memory(memory_text)));
        }
    }
    // Only messages have roles; every conversation has some of each.
    if filters.wants(SearchArea::Logs) {
        let allowed = allowed_logs(filters, sources);
        let logs = sources.corpus.into_iter().flat_map(|corpus| corpus.logs());
        for (log, is_allowed) in logs.zip(allowed) {
            let time = log.last_activity();
            if is_allowed && filters.allows_time(Some(time).filter(|time| *time > 0)) {
                found.push((time, RecentItem::Log(log)));
            }
        }
    }
    found.sort_by_key(|(time, _)| Reverse(*time));
    let total = found.len();
    found.truncate(limit);
    let hits = found.into_iter().map(|(_, what)| what.hit(sources));
    Recent {
        hits: hits.collect(),
        total,
    }
}

enum RecentItem<'a> {
    Memory(&'a MemoryText),
    Log(Log<'a>),
}

impl RecentItem<'_> {
    fn hit(&self, sources: Sources<'_>) -> Hit {
        match self {
            Self::Memory(memory_text) => {
                sources.line(memory_text, 1, (memory_text.memory.summary.clone(), 0.0))
            }
            Self::Log(log) => sources.log(*log, (log.shown_title(), 0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{TestHome, conversation};
    use super::*;
    use crate::core::search::query::{Query, noon};

    #[test]
    fn the_newest_comes_first_and_filters_count() {
        let home = TestHome::new(
            &[("auth.md", "# Auth\n\nTokens rotate.\n")],
            &[conversation(&["how do we rotate tokens", "on use"])],
        );
        let (memories, corpus) = (home.memories(), home.corpus());
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let search = |query: &str, limit| {
            let query = Query::parse(query, &noon()).expect("a query");
            recent(sources, &query.filters, limit)
        };
        let citations = |query: &str| -> Vec<String> {
            let hits = search(query, 10).hits.into_iter();
            hits.map(|hit| hit.citation.to_string()).collect()
        };
        assert_eq!(citations(""), ["detail/auth.md#L1", "messages.jsonl"]);
        assert_eq!(citations("in:logs"), ["messages.jsonl"]);
        assert_eq!(citations("in:memories"), ["detail/auth.md#L1"]);
        assert_eq!(citations("role:user"), ["messages.jsonl"]);
        let cut = search("", 1);
        assert_eq!((cut.hits.len(), cut.total), (1, 2));
    }
}
