//! What was changed and said last: the answer to a query that has no words yet.

use std::cmp::Reverse;

use super::{Hit, Sources, allowed_logs, allows_sheet};
use crate::core::archive::{last_change, title};
use crate::core::corpus::Log;
use crate::core::query::{Filters, Place};

/// The memories and conversations that the filters let through, the newest first.
pub fn recent(sources: Sources<'_>, filters: &Filters, limit: usize) -> Vec<Hit> {
    let mut found: Vec<(i64, What<'_>)> = Vec::new();
    for sheet in &sources.shelf.sheets {
        if allows_sheet(filters, sheet) {
            found.push((sheet.memory.modified, What::Memory(sheet)));
        }
    }
    // Who speaks is asked of messages, not of conversations.
    if filters.wants(Place::Logs) && filters.roles.is_empty() {
        let allowed = allowed_logs(filters, sources);
        let logs = sources.corpus.into_iter().flat_map(|corpus| corpus.logs());
        for (log, is_allowed) in logs.zip(allowed) {
            let time = last_change(&log);
            if is_allowed && filters.allows_time(Some(time).filter(|time| *time > 0)) {
                found.push((time, What::Log(log)));
            }
        }
    }
    found.sort_by_key(|(time, _)| Reverse(*time));
    found.truncate(limit);
    found
        .into_iter()
        .map(|(_, what)| what.hit(sources))
        .collect()
}

enum What<'a> {
    Memory(&'a super::Sheet),
    Log(Log<'a>),
}

impl What<'_> {
    fn hit(&self, sources: Sources<'_>) -> Hit {
        match self {
            Self::Memory(sheet) => sources.line(sheet, 1, (sheet.memory.summary.clone(), 0.0)),
            Self::Log(log) => sources.log(*log, (title(log), 0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{House, said};
    use super::*;
    use crate::core::query::{Query, noon};

    #[test]
    fn the_newest_comes_first_and_filters_count() {
        let house = House::new(
            &[("auth.md", "# Auth\n\nTokens rotate.\n")],
            &[said(&["how do we rotate tokens", "on use"])],
        );
        let (shelf, corpus) = (house.shelf(), house.corpus());
        let sources = Sources {
            shelf: &shelf,
            corpus: Some(&corpus),
        };
        let told = |query: &str| -> Vec<String> {
            let query = Query::parse(query, &noon()).expect("a query");
            let hits = recent(sources, &query.filters, 10);
            hits.into_iter()
                .map(|hit| hit.citation.to_string())
                .collect()
        };
        assert_eq!(told(""), ["detail/auth.md#L1", "messages.jsonl"]);
        assert_eq!(told("in:logs"), ["messages.jsonl"]);
        assert_eq!(told("in:memories"), ["detail/auth.md#L1"]);
        assert_eq!(told("role:user"), [""; 0]);
    }
}
