//! The rows of the queue: the files that wait, below whoever wrote them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::core::insight::review::{Attributions, HunkPart, Item, ItemChange, attributed};
use crate::core::memory::store::StoreId;
use crate::tui::widget::list::Row;

/// A file that waits, as one author left it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) store: StoreId,
    pub(super) item: Item,
}

/// Who wrote something, and in which session.
pub(in crate::tui::pane) type Source = (String, Option<String>);

impl Entry {
    pub(super) fn source(&self) -> Source {
        let session = self.session().map(str::to_owned);
        (self.item.author.who.clone(), session)
    }

    pub(super) fn session(&self) -> Option<&str> {
        let origin = self.item.origin.as_ref();
        origin.map(|origin| origin.session.as_str())
    }

    /// What of it can be decided about by itself, each with the number of its hunk: the hunks, or
    /// their lines.
    pub(super) fn divisions(&self, is_by_line: bool) -> Vec<(usize, HunkPart)> {
        let is_by_line = is_by_line && !self.item.is_offered();
        let hunks = self.item.hunks.iter().enumerate();
        let hunks = hunks.filter(|_| self.item.change == ItemChange::Changed);
        let parts = hunks.flat_map(|(at, hunk)| {
            let parts = if is_by_line {
                hunk.changed_lines()
            } else {
                vec![hunk.whole()]
            };
            parts.into_iter().map(move |part| (at, part))
        });
        parts.collect()
    }

    /// How many lines were added and removed.
    pub(super) fn line_counts(&self) -> (usize, usize) {
        let lines = self.item.hunks.iter().flat_map(|hunk| hunk.text.lines());
        lines.fold((0, 0), |(added, removed), line| match line.as_bytes() {
            [b'+', ..] => (added + 1, removed),
            [b'-', ..] => (added, removed + 1),
            _ => (added, removed),
        })
    }
}

/// A row: a heading for the entries of one source, or an entry.
#[derive(Debug, Clone)]
pub(in crate::tui::pane) enum QueueRow {
    Heading {
        source: Source,
        /// The first of its entries, and their number.
        first: usize,
        count: usize,
    },
    Entry {
        id: String,
        /// Its source, store and file, which stay when a part of it is decided about.
        file: (Source, StoreId, String),
        at: usize,
    },
}

impl Row for QueueRow {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Heading { source, .. }, Self::Heading { source: of, .. }) => source == of,
            (
                Self::Entry { id, file, .. },
                Self::Entry {
                    id: of,
                    file: known,
                    ..
                },
            ) => id == of || file == known,
            _ => false,
        }
    }

    fn mark_key(&self) -> Option<&str> {
        match self {
            Self::Heading { .. } => None,
            Self::Entry { id, .. } => Some(id),
        }
    }

    fn is_passed(&self) -> bool {
        matches!(self, Self::Heading { .. })
    }
}

/// What waits, grouped by its source; the newest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) entries: Vec<Entry>,
    pub(super) files: usize,
    pub(super) sessions: BTreeSet<String>,
    pub(super) has_several_stores: bool,
}

impl Queue {
    /// What waits besides these ids, with the writers that the logs name.
    pub(super) fn new(
        waiting: &[(StoreId, Vec<Item>)],
        found: &Attributions,
        decided: &[String],
    ) -> Self {
        let entries = waiting.iter().flat_map(|(store, items)| {
            let items = attributed(items.clone(), found).into_iter();
            items.map(|item| Entry {
                store: store.clone(),
                item,
            })
        });
        let decided: HashSet<&String> = decided.iter().collect();
        let left = entries.filter_map(|mut entry| {
            let had = entry.item.hunks.len();
            entry.item.hunks.retain(|hunk| !decided.contains(&hunk.id));
            let is_gone =
                had > 0 && entry.item.hunks.is_empty() || decided.contains(&entry.item.id);
            (!is_gone).then_some(entry)
        });
        let mut entries: Vec<Entry> = left.collect();
        let mut newest: BTreeMap<Source, i64> = BTreeMap::new();
        for entry in &entries {
            let time = newest.entry(entry.source()).or_insert(i64::MIN);
            *time = entry.item.time.max(*time);
        }
        entries.sort_by_cached_key(|entry| {
            let source = entry.source();
            let newest = Reverse(newest.get(&source).copied());
            let own = (Reverse(entry.item.time), entry.item.path.clone());
            (newest, source, own, entry.store.clone())
        });
        let files = entries.iter().map(|entry| (&entry.store, &entry.item.path));
        let files: BTreeSet<(&StoreId, &String)> = files.collect();
        let stores: BTreeSet<&StoreId> = files.iter().map(|(store, _)| *store).collect();
        let sessions = entries.iter().filter_map(Entry::session);
        Self {
            files: files.len(),
            has_several_stores: stores.len() > 1,
            sessions: sessions.map(str::to_owned).collect(),
            entries,
        }
    }

    pub(super) fn rows(&self, is_shown: impl Fn(&Entry) -> bool) -> Vec<QueueRow> {
        let mut rows = Vec::new();
        let mut first = 0;
        for group in self.entries.chunk_by(|a, b| a.source() == b.source()) {
            let entries = (first..).zip(group).filter(|(_, entry)| is_shown(entry));
            let entries: Vec<QueueRow> = entries
                .map(|(at, entry)| QueueRow::Entry {
                    id: entry.item.id.clone(),
                    file: (entry.source(), entry.store.clone(), entry.item.path.clone()),
                    at,
                })
                .collect();
            if !entries.is_empty() {
                rows.push(QueueRow::Heading {
                    source: group[0].source(),
                    first,
                    count: entries.len(),
                });
            }
            rows.extend(entries);
            first += group.len();
        }
        rows
    }

    /// The entries of the same source as this one.
    pub(super) fn beside(&self, entry: &Entry) -> impl Iterator<Item = &Entry> {
        let source = entry.source();
        self.entries
            .iter()
            .filter(move |other| other.source() == source)
    }
}
