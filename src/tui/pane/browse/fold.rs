//! Folding and unfolding rows of the tree.

use super::Browse;
use super::tree::{Fold, Key, Node, Tree};
use crate::tui::pane::{Scene, Step};

impl Browse {
    /// Folds or unfolds the row under the cursor.
    pub(super) fn fold(&mut self, to: Fold, scene: &Scene<'_>) -> Vec<Step> {
        let Some(key) = self.selected() else {
            return Vec::new();
        };
        self.wish.folds.insert(key, to);
        self.reshape(scene)
    }

    /// Folds or unfolds every row.
    pub(super) fn fold_all(&mut self, to: Fold, scene: &Scene<'_>) -> Vec<Step> {
        // Rows that show up by unfolding may be folded themselves.
        for _ in 0..4 {
            let keys: Vec<Key> = self
                .tree
                .rows
                .iter()
                .filter(|row| row.fold.is_some_and(|fold| fold != to))
                .filter(|row| to == Fold::Closed || !matches!(row.node, Node::Bundle(_)))
                .map(|row| self.tree.key(&self.library, row))
                .collect();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                self.wish.folds.insert(key, to);
            }
            if to == Fold::Closed {
                break;
            }
            self.tree = Tree::of(&self.library, &self.wish);
        }
        self.reshape(scene)
    }
}
