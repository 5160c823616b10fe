//! The place of the cursor after the rows have changed: on what was acted on, or near it.

use std::sync::Arc;

use super::tree::{Key, Tree, TreeRow};
use super::{BrowsePane, actions};
use crate::core::change::history::{FileChange, Record};
use crate::core::memory::FileKind;
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::tui::model::PaneContext;
use crate::tui::pane::Step;

/// How many neighbours are looked for on each side of a row that is gone.
const NEAR: usize = 50;

impl BrowsePane {
    /// Builds the rows again, with the cursor on the same entry at the same screen line.
    pub(super) fn rebuild(&mut self, library: &Arc<Library>, cx: &PaneContext<'_>) -> Vec<Step> {
        let key = self.selected();
        let before = std::mem::take(&mut self.tree);
        let old = std::mem::replace(&mut self.library, Arc::clone(library));
        self.tree = Tree::of(&self.library, &self.options);
        let line = self.cursor.selected.saturating_sub(self.cursor.top);
        if let Some(key) = key {
            let found = self.tree.find(&self.library, &key).or_else(|| {
                let mut neighbours = neighbours(&before.rows, self.cursor.selected);
                neighbours.find_map(|row| {
                    let key = before.key(&old, row);
                    self.tree.find(&self.library, &key)
                })
            });
            self.cursor.selected = found.unwrap_or(0);
            self.cursor.top = self.cursor.selected.saturating_sub(line);
        }
        self.cursor.fit(Self::height(cx), self.tree.rows.len());
        self.update_preview(cx)
    }

    /// Builds the rows again from the same library.
    pub(super) fn reshape(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let library = Arc::clone(&self.library);
        self.rebuild(&library, cx)
    }

    /// Moves the cursor to an entry, unfolding the rows above it. A filter that hides it goes. An
    /// index is shown by the row of its store.
    pub(super) fn go(&mut self, key: &Key, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let store_key = match key {
            Key::Memory(store, path) if store.layout().rules().kind(path) == FileKind::Index => {
                Some(Key::Store(store.clone()))
            }
            _ => None,
        };
        let key = store_key.as_ref().unwrap_or(key);
        if self.tree.find(&self.library, key).is_none() {
            for above in actions::above(&self.library, key) {
                self.options.folds.insert(above, super::Fold::Open);
            }
            self.tree = Tree::of(&self.library, &self.options);
        }
        if self.tree.find(&self.library, key).is_none() && self.filter.is_some() {
            self.filter = None;
            self.typing = false;
            self.options.filter.clear();
            self.tree = Tree::of(&self.library, &self.options);
        }
        let Some(at) = self.tree.find(&self.library, key) else {
            // The rows may have changed below the cursor.
            self.cursor.fit(Self::height(cx), self.tree.rows.len());
            return None;
        };
        self.cursor
            .select(at, Self::height(cx), self.tree.rows.len());
        Some(self.update_preview(cx))
    }

    /// Moves the cursor to what a change wrote; the rows were read again before. If everything
    /// that the change was about is gone, the cursor is on the nearest neighbour already.
    pub(super) fn go_to_changed(&mut self, record: &Record, cx: &PaneContext<'_>) -> Vec<Step> {
        let written = |file: &&FileChange| !file.derived && file.after.is_some();
        let mut files = record.files.iter().filter(written);
        // A renamed or moved file is a new one; the others are those whose links follow.
        let is_new = |file: &&FileChange| file.before.is_none();
        let file = files.clone().find(is_new).or_else(|| files.next());
        let Some(file) = file else {
            return Vec::new();
        };
        let store = StoreId::new(&file.root, file.layout);
        let path = file.reference();
        match self.selected() {
            Some(Key::Entry(here, there, _)) if here == store && there == path => Vec::new(),
            _ => self.go(&Key::Memory(store, path), cx).unwrap_or_default(),
        }
    }
}

/// The rows near one that is gone, nearest first: those beside it, those around it, any other.
fn neighbours(rows: &[TreeRow], at: usize) -> impl Iterator<Item = &TreeRow> {
    let depth = rows.get(at).map_or(0, |row| row.depth);
    let (above, below) = rows.split_at(at.min(rows.len()));
    let below = below.iter().skip(1);
    let is_within = move |row: &&TreeRow| row.depth >= depth;
    let is_beside = move |row: &&TreeRow| row.depth == depth;
    let after = below.clone().take_while(is_within).filter(is_beside);
    let before = above.iter().rev().take_while(is_within).filter(is_beside);
    let mut around = depth;
    let parents = above.iter().rev().filter(move |row| {
        let is_parent = row.depth < around;
        around = around.min(row.depth);
        is_parent
    });
    let any = below.chain(above.iter().rev());
    after
        .take(NEAR)
        .chain(before.take(NEAR))
        .chain(parents)
        .chain(any.take(NEAR))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Node;
    use super::*;

    #[test]
    fn what_is_beside_a_row_is_nearer_than_what_is_around_it() {
        let depths = [0, 1, 2, 2, 2, 1, 2, 0];
        let rows: Vec<TreeRow> = depths
            .iter()
            .enumerate()
            .map(|(at, depth)| TreeRow {
                node: Node::Store(at),
                depth: *depth,
                fold: None,
                count: 0,
            })
            .collect();
        let near = |at: usize| -> Vec<usize> {
            let found = neighbours(&rows, at).map(|row| match row.node {
                Node::Store(at) => at,
                _ => usize::MAX,
            });
            found.take(4).collect()
        };
        assert_eq!(near(3), [4, 2, 1, 0]);
        assert_eq!(near(4), [3, 2, 1, 0], "the last of a group");
        assert_eq!(near(6), [5, 0, 7, 5], "the only one of a group");
        assert_eq!(near(0), [7, 1, 2, 3]);
    }
}
