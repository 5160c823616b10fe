//! Marks: single memories, ranges, whole sections, and the inverse.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::BrowsePane;
use super::tree::{Fold, Key, Node, TreeRow, group_of, matches_filter};
use crate::core::memory::layout::Layout;
use crate::core::memory::library::StoreSnapshot;
use crate::core::memory::store::StoreId;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob};
use crate::tui::model::PaneContext;
use crate::tui::overlay::note::{NotePrompt, NotePurpose};
use crate::tui::pane::{Step, can_merge, perform, push, say, say_range};
use crate::tui::widget::list::Move;

impl BrowsePane {
    /// The marked memories, those of an open range included.
    pub(super) fn marked(&self) -> Cow<'_, BTreeSet<Key>> {
        let Some(rows) = self.range_rows() else {
            return Cow::Borrowed(self.marks.keys());
        };
        let rows = self.tree.rows[rows].iter();
        let mut marked = self.marks.keys().clone();
        marked.extend(rows.flat_map(|row| self.keys_of(row)));
        Cow::Owned(marked)
    }

    /// The marked memories and entries, or else the one under the cursor.
    pub(super) fn chosen(&self) -> Vec<(StoreId, String)> {
        let reference = |key: &Key| match key {
            Key::Memory(store, path) => Some((store.clone(), path.clone())),
            Key::Entry(store, path, slug) => Some((store.clone(), format!("{path}#{slug}"))),
            _ => None,
        };
        let marked: Vec<_> = self.marked().iter().filter_map(reference).collect();
        if marked.is_empty() {
            self.selected()
                .as_ref()
                .and_then(reference)
                .into_iter()
                .collect()
        } else {
            marked
        }
    }

    /// Merges the marked memories into the one under the cursor, or else into the first of them.
    pub(super) fn merge(&self) -> Vec<Step> {
        let here = self.selected_memory();
        let mut memories = self.chosen();
        let is_file = |(store, path): &(StoreId, String)| {
            let snapshot = self.library.store_by_id(store);
            snapshot.is_some_and(|snapshot| snapshot.memory(path).is_some())
        };
        memories.retain(is_file);
        if let Some(here) = here {
            memories.retain(|memory| *memory != here);
            memories.insert(0, here);
        }
        memories.retain(|(store, _)| can_merge(store));
        if memories.len() < 2 {
            return say("Mark the memories to merge, and go to the one that stays");
        }
        let gather = LibraryJob::Gather(memories);
        perform(Effect::Library(gather))
    }

    /// Asks for the title of a principle that comes from the marked lessons.
    pub(super) fn generalize(&self) -> Vec<Step> {
        let chosen = self.chosen();
        let is_lesson = |(store, path): &(StoreId, String)| {
            let is_same = Some(store) == chosen.first().map(|(store, _)| store);
            is_same && store.layout() == Layout::Coder && path.starts_with("episodic/")
        };
        match chosen.first() {
            Some((store, _)) if chosen.len() > 1 && chosen.iter().all(is_lesson) => {
                let lessons: Vec<String> = chosen.iter().map(|(_, path)| path.clone()).collect();
                let store = store.clone();
                let about = lessons.join(", ");
                let purpose = NotePurpose::Principle { store, lessons };
                push(NotePrompt::new(about, purpose))
            }
            _ => say("Mark two or more lessons below episodic/ of one store"),
        }
    }

    /// The rows from the start of the open range to the cursor.
    pub(super) fn range_rows(&self) -> Option<RangeInclusive<usize>> {
        let start = self.tree.find(&self.library, self.marks.range()?)?;
        let here = self.cursor.selected;
        Some(start.min(here)..=start.max(here))
    }

    /// The memory or the entry of a row, or those that are folded into it.
    fn keys_of(&self, row: &TreeRow) -> Vec<Key> {
        let key = self.tree.key(&self.library, row);
        match row.fold {
            _ if is_memory(row) => vec![key],
            Some(Fold::Closed) => self.memories_below(&key),
            _ => Vec::new(),
        }
    }

    /// Whether all of what a row stands for is marked.
    pub(super) fn is_marked(&self, row: &TreeRow, marked: &BTreeSet<Key>) -> bool {
        if marked.is_empty() {
            return false;
        }
        let keys = self.keys_of(row);
        !keys.is_empty() && keys.iter().all(|key| marked.contains(key))
    }

    /// Marks the row under the cursor, or takes its mark away: a memory, or a whole section. From a
    /// memory the cursor goes on to the next one, never to a section.
    pub(super) fn mark(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.marks.range().is_some() {
            return self.end_range();
        }
        if let Some(key) = self.selected()
            && matches!(key, Key::Memory(..) | Key::Entry(..))
        {
            self.marks.toggle(vec![key]);
            let here = self.cursor.selected;
            let next = self.tree.rows.iter().skip(here + 1).position(is_memory);
            return match next {
                Some(between) => self.moved_to(here + 1 + between, cx),
                None => Vec::new(),
            };
        }
        let section: Vec<Key> = match self.selected() {
            Some(key) => self.memories_below(&key),
            None => Vec::new(),
        };
        if section.is_empty() {
            return say("Only memories can be marked");
        }
        self.marks.toggle(section);
        Vec::new()
    }

    /// Starts a range at the cursor, or ends it and marks its memories.
    pub(super) fn mark_range(&mut self) -> Vec<Step> {
        if self.marks.range().is_some() {
            return self.end_range();
        }
        self.marks.begin_range(self.selected());
        say_range()
    }

    /// Extends the open range by a row, or starts one.
    pub(super) fn extend_range(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        self.marks.begin_range(self.selected());
        self.moved(to, cx)
    }

    /// Ends the open range, if there is one; its memories stay marked.
    pub(super) fn end_range(&mut self) -> Vec<Step> {
        let marked = self.marked().into_owned();
        self.marks.end_range(marked);
        Vec::new()
    }

    /// Marks what is not marked, and the other way round, in the stores that have marks, or else
    /// in the one under the cursor.
    pub(super) fn invert_marks(&mut self) -> Vec<Step> {
        self.end_range();
        let mut stores: BTreeSet<StoreId> = BTreeSet::new();
        for key in self.marks.keys() {
            if let Key::Memory(store, _) | Key::Entry(store, ..) = key {
                stores.insert(store.clone());
            }
        }
        if stores.is_empty() {
            stores.extend(
                self.selected_store()
                    .map(|snapshot| snapshot.store.id().clone()),
            );
        }
        let all = stores.iter().flat_map(|store| {
            let below = self.memories_below(&Key::Store(store.clone()));
            below.into_iter()
        });
        let all: Vec<Key> = all.collect();
        self.marks.invert(all);
        say(count(
            self.marks.keys().len(),
            "memory is marked",
            "memories are marked",
        ))
    }

    /// The memories below a row that the filter shows, whether the row is folded or not.
    pub(super) fn memories_below(&self, key: &Key) -> Vec<Key> {
        let is_instructions =
            |snapshot: &StoreSnapshot| snapshot.store.layout() == Layout::Instructions;
        let mut keys = Vec::new();
        for snapshot in &self.library.stores {
            let id = snapshot.store.id();
            let layout = snapshot.store.layout();
            let belongs = match key {
                Key::Store(store) | Key::Group(store, _) => store == id,
                Key::Instructions => is_instructions(snapshot),
                _ => false,
            };
            if !belongs {
                continue;
            }
            for memory in &snapshot.memories {
                let is_below = match key {
                    Key::Group(_, path) => group_of(layout, memory).is_some_and(|(_, group)| {
                        let inner = group.strip_prefix(path.as_str());
                        inner.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    }),
                    _ => true,
                };
                if is_below && matches_filter(snapshot, memory, &self.options.filter) {
                    keys.push(Key::Memory(id.clone(), memory.path.clone()));
                }
            }
        }
        keys
    }
}

/// Whether a row is one that is marked by itself.
fn is_memory(row: &TreeRow) -> bool {
    matches!(row.node, Node::Memory(..) | Node::Entry(..))
}
