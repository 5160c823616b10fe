//! Folding and unfolding rows of the tree.

use super::BrowsePane;
use super::tree::{Fold, Key, Tree};
use crate::tui::model::PaneContext;
use crate::tui::pane::Step;

/// How deep rows can be folded into each other: sessions, agents, projects, logs, subagents.
const DEEPEST: usize = 6;

impl BrowsePane {
    /// Folds or unfolds the row under the cursor.
    pub(super) fn fold(&mut self, to: Fold, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(key) = self.selected() else {
            return Vec::new();
        };
        self.options.folds.insert(key, to);
        self.reshape(cx)
    }

    /// Folds or unfolds every row.
    pub(super) fn fold_all(&mut self, to: Fold, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut tree = self.tree.clone();
        // Unfolding reveals rows that may be folded themselves.
        for _ in 0..DEEPEST {
            let keys: Vec<Key> = tree
                .rows
                .iter()
                .filter(|row| row.fold.is_some_and(|fold| fold != to))
                .map(|row| tree.key(&self.library, row))
                .collect();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                self.options.folds.insert(key, to);
            }
            if to == Fold::Closed {
                break;
            }
            tree = Tree::of(&self.library, &self.options);
        }
        self.reshape(cx)
    }
}
