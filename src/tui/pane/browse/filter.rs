//! The filter that narrows the tree as one types.

use super::Browse;
use super::tree::{Node, Row};
use crate::tui::pane::{Scene, Step};
use crate::tui::widget::input::{Input, InputOutcome};

impl Browse {
    /// Takes what came of typing into the filter.
    pub(super) fn type_filter(&mut self, outcome: InputOutcome, scene: &Scene<'_>) -> Vec<Step> {
        match outcome {
            InputOutcome::Cancelled => {
                self.filter = None;
                self.typing = false;
                self.wish.filter.clear();
                self.reshape(scene)
            }
            InputOutcome::Accepted => {
                self.typing = false;
                if self.filter.as_ref().is_some_and(Input::is_empty) {
                    self.filter = None;
                }
                Vec::new()
            }
            InputOutcome::Changed => {
                let text = self.filter.as_ref().map_or("", Input::text);
                let words = text.split_whitespace().map(str::to_lowercase);
                self.wish.filter = words.collect();
                let mut steps = self.reshape(scene);
                let is_memory = |row: &Row| matches!(row.node, Node::Memory(..) | Node::Log(..));
                let here = self.tree.rows.get(self.cursor.selected);
                let first = self.tree.rows.iter().position(is_memory);
                if let Some(first) = first.filter(|_| !here.is_some_and(is_memory)) {
                    let count = self.tree.rows.len();
                    self.cursor.select(first, Self::height(scene), count);
                    steps = self.look(scene);
                }
                steps
            }
            InputOutcome::Moved | InputOutcome::Unused => Vec::new(),
        }
    }
}
