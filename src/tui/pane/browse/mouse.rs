//! Mouse handling in the tree and the preview.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::BrowsePane;
use crate::tui::layout::{Focus, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::Step;

impl BrowsePane {
    /// Handles a mouse event.
    pub(super) fn on_mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if cx.areas.on_divider(at) => {
                self.dragging = true;
                Vec::new()
            }
            MouseEventKind::Drag(MouseButton::Left) if self.dragging => {
                self.divider = cx.areas.dragged(self.divider, at);
                Vec::new()
            }
            MouseEventKind::Up(MouseButton::Left) => {
                self.dragging = false;
                Vec::new()
            }
            MouseEventKind::Down(MouseButton::Left) => self.click(at, cx),
            MouseEventKind::ScrollDown => self.wheel(at, 3, cx),
            MouseEventKind::ScrollUp => self.wheel(at, -3, cx),
            _ => Vec::new(),
        }
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let rows = inside(cx.areas.tree);
        if let Some(row) = self.cursor.row_at(at, rows, self.tree.rows.len()) {
            self.focus = Focus::Tree;
            self.typing = false;
            let again = self.cursor.selected == row;
            self.cursor.selected = row;
            let depth = usize::from(self.tree.rows[row].depth);
            // A click on the fold mark toggles it; a second click on a row opens it.
            let on_mark = usize::from(at.x - rows.x) < 4 + 2 * depth;
            let fold = self.tree.rows[row].fold;
            return match fold {
                Some(fold) if on_mark || again => self.fold(fold.toggled(), cx),
                None if again && self.selected_log().is_some() => self.open_log(),
                None if again => self.enter_preview(),
                _ => self.update_preview(cx),
            };
        }
        let text = cx.areas.preview_text();
        if cx.areas.preview.contains(at) {
            self.focus = Focus::Preview;
            if text.contains(at) {
                let line = usize::from(at.y - text.y) + self.preview.scroll;
                if let Some(link) = self.preview.page.link_at(line, at.x - text.x) {
                    self.preview.link = Some(link);
                    return self.follow(cx);
                }
            }
        }
        Vec::new()
    }

    fn wheel(&mut self, at: Position, rows: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        if cx.areas.preview.contains(at) {
            self.preview.scroll_by(rows, cx);
            return Vec::new();
        }
        let before = self.cursor.selected;
        self.cursor
            .scroll(rows, Self::height(cx), self.tree.rows.len());
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.update_preview(cx)
    }
}
