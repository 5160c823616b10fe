//! What the finder lists: the last results, and the query that they answer.

use std::sync::Arc;

use super::FindPane;
use crate::core::search::find::SearchState;
use crate::tui::model::{FindResults, HitRow, PaneContext};
use crate::tui::pane::{Pane as _, Step};

/// Results, and what they answer.
#[derive(Debug)]
pub(super) struct Answer {
    generation: u64,
    query: String,
    found: Arc<FindResults>,
}

impl FindPane {
    pub(super) fn found(&self) -> Option<&FindResults> {
        Some(&self.answer.as_ref()?.found)
    }

    /// Whether what is listed was found for what is typed now, and not for an earlier query.
    pub(super) fn is_answered(&self) -> bool {
        let answer = self.answer.as_ref();
        answer.is_some_and(|answer| answer.query == self.query.query())
    }

    /// The number of listed rows.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// A listed row, and whether it is one of the other hits below an unfolded row.
    pub(super) fn row_at(&self, at: usize) -> Option<(&HitRow, bool)> {
        let (row, other) = self.list.get(at)?;
        let row = self.found()?.rows.get(*row)?;
        match other {
            None => Some((row, false)),
            Some(other) => Some((row.others.get(*other)?, true)),
        }
    }

    pub(super) fn row(&self) -> Option<&HitRow> {
        Some(self.row_at(self.cursor.selected)?.0)
    }

    /// Lists the rows again, after new results or unfolding.
    pub(super) fn list_rows(&mut self) {
        let rows = self.found().into_iter().flat_map(|found| &found.rows);
        let mut list = Vec::new();
        for (at, row) in rows.enumerate() {
            list.push((at, None));
            if !self.unfolded.is_empty() && self.unfolded.contains(&Self::place_of(row)) {
                list.extend((0..row.others.len()).map(|other| (at, Some(other))));
            }
        }
        self.list = list;
    }

    /// Takes new results; a cursor that was moved stays on its row.
    pub(super) fn take(&mut self, found: &Arc<FindResults>, cx: &PaneContext<'_>) -> Vec<Step> {
        let is_complete = found.progress == SearchState::Complete;
        let is_earlier = |answer: &Answer| answer.generation != self.generation;
        let is_repeated = self.is_answered() && self.answer.as_ref().is_some_and(is_earlier);
        if !is_complete && self.count() > 0 && (found.rows.is_empty() || is_repeated) {
            // The listed rows stay until others are found, or, if the same query runs again, until
            // it is complete. So nothing flashes, and the cursor keeps its row.
            self.searching = Some(found.progress);
            return Vec::new();
        }
        self.searching = None;
        let key = |row: &HitRow| row.hit.citation.to_string();
        let keys = |pane: &Self| -> Vec<String> {
            let rows = (0..pane.count()).filter_map(|at| pane.row_at(at));
            rows.map(|(row, _)| key(row)).collect()
        };
        let before: Vec<String> = match self.cursor.selected {
            0 => Vec::new(),
            _ => keys(self),
        };
        let selected = self.row().map(key);
        self.answer = Some(Answer {
            generation: self.generation,
            query: self.query.query(),
            found: Arc::clone(found),
        });
        self.list_rows();
        if !before.is_empty() {
            let after = keys(self);
            self.cursor.follow(&before, &after, String::eq);
        }
        self.cursor.fit(Self::height(cx), self.count());
        if let Some(action) = self.waiting.take() {
            let mut steps = self.update_preview(cx);
            if let Some(done) = self.act(action, cx) {
                steps.extend(done);
            }
            return steps;
        }
        if found.progress == SearchState::Looking {
            // The best row is not known yet, and reading its log would slow the search down.
            return Vec::new();
        }
        if found.progress != SearchState::Complete && selected == self.row().map(key) {
            return Vec::new();
        }
        self.update_preview(cx)
    }
}
