//! Following links and rows: to another memory, or to a log.

use super::BrowsePane;
use super::tree::Node;
use crate::core::memory::library::LogSummary;
use crate::tui::model::PaneContext;
use crate::tui::pane::log::{LogPane, OpenAt, cited_log, copy_to_clipboard};
use crate::tui::pane::preview::link_destination;
use crate::tui::pane::why::WhyPane;
use crate::tui::pane::{Step, Toast};
use crate::tui::widget::list::Move;

impl BrowsePane {
    /// The log under the cursor.
    pub(super) fn selected_log(&self) -> Option<&LogSummary> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        match row.node {
            Node::Log(at, log) => self.library.logs.get(at)?.logs.get(log),
            _ => None,
        }
    }

    pub(super) fn open_log(&self) -> Vec<Step> {
        match self.selected_log() {
            Some(log) => LogPane::open(log.file.clone(), log.title.clone(), OpenAt::default()),
            None => Vec::new(),
        }
    }

    /// Shows which sessions wrote the lines of the memory under the cursor, or which memories the
    /// session under the cursor touched.
    pub(super) fn explain(&self) -> Vec<Step> {
        if let Some(log) = self.selected_log() {
            return LogPane::open_touched(log.file.clone(), log.title.clone());
        }
        match self.selected_memory() {
            Some((store, path)) => WhyPane::open(store, path, self.preview.top_line()),
            None => vec![Step::Toast(Toast::done("Go to a memory or a session"))],
        }
    }

    /// Selects the next or previous link and scrolls to it.
    pub(super) fn link(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let links = self.preview.page.links();
        if links == 0 {
            return vec![Step::Toast(Toast::done("No links here"))];
        }
        let height = usize::from(cx.areas.preview_text().height);
        let next = match (self.preview.link, step) {
            (Some(at), Move::Up) => (at + links - 1) % links,
            (Some(at), _) => (at + 1) % links,
            (None, Move::Up) => links - 1,
            (None, _) => 0,
        };
        self.preview.link = Some(next);
        let line = self.preview.page.link_line(next);
        if line < self.preview.scroll || line >= self.preview.scroll + height {
            self.preview
                .scroll_to(line.saturating_sub(height / 3), height);
        }
        Vec::new()
    }

    /// Follows the selected link.
    pub(super) fn follow(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(link) = self.preview.link else {
            return self.link(Move::Down, cx);
        };
        let target = self.preview.page.link_target(link).to_owned();
        if target.contains("://") {
            return copy_to_clipboard(target);
        }
        let Some(here) = self.selected() else {
            return Vec::new();
        };
        if let Some((log, start)) = cited_log(&self.library, &target) {
            return LogPane::open(log.file.clone(), log.title.clone(), start);
        }
        let Some(key) = link_destination(&self.library, &here, &target) else {
            return vec![Step::Toast(Toast::trouble(format!("No memory {target}")))];
        };
        let steps = self.go(&key, cx);
        if steps.is_some() {
            self.trail.push(here);
        }
        steps.unwrap_or_default()
    }
}
