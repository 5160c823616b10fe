//! The filter of the tree.

use super::BrowsePane;
use super::tree::{Node, TreeRow};
use crate::tui::model::PaneContext;
use crate::tui::pane::Step;
use crate::tui::widget::input::{Input, InputOutcome};

impl BrowsePane {
    /// Handles a change of the filter input.
    pub(super) fn type_filter(&mut self, outcome: InputOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        match outcome {
            InputOutcome::Cancelled => {
                self.filter = None;
                self.typing = false;
                self.options.filter.clear();
                self.reshape(cx)
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
                self.options.filter = words.collect();
                let mut steps = self.reshape(cx);
                let is_memory =
                    |row: &TreeRow| matches!(row.node, Node::Memory(..) | Node::Log(..));
                let here = self.tree.rows.get(self.cursor.selected);
                let first = self.tree.rows.iter().position(is_memory);
                if let Some(first) = first.filter(|_| !here.is_some_and(is_memory)) {
                    let count = self.tree.rows.len();
                    self.cursor.select(first, Self::height(cx), count);
                    steps = self.update_preview(cx);
                }
                steps
            }
            InputOutcome::Moved | InputOutcome::Unused => Vec::new(),
        }
    }
}
