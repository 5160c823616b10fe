//! The mouse in the tree and in the preview.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::Browse;
use crate::tui::layout::{Focus, inside};
use crate::tui::pane::{Scene, Step};

impl Browse {
    /// Takes a click or the wheel.
    pub(super) fn pointed(&mut self, mouse: MouseEvent, scene: &Scene<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if scene.areas.on_divider(at) => {
                self.dragging = true;
                Vec::new()
            }
            MouseEventKind::Drag(MouseButton::Left) if self.dragging => {
                self.divider = scene.areas.dragged(self.divider, at);
                Vec::new()
            }
            MouseEventKind::Up(MouseButton::Left) => {
                self.dragging = false;
                Vec::new()
            }
            MouseEventKind::Down(MouseButton::Left) => self.click(at, scene),
            MouseEventKind::ScrollDown => self.wheel(at, 3, scene),
            MouseEventKind::ScrollUp => self.wheel(at, -3, scene),
            _ => Vec::new(),
        }
    }

    fn click(&mut self, at: Position, scene: &Scene<'_>) -> Vec<Step> {
        let rows = inside(scene.areas.tree);
        if rows.contains(at) {
            let line = usize::from(at.y - rows.y);
            let (height, count) = (Self::height(scene), self.tree.rows.len());
            let Some(row) = self.cursor.row_at(line, height, count) else {
                return Vec::new();
            };
            self.focus = Focus::Tree;
            self.typing = false;
            let again = self.cursor.selected == row;
            self.cursor.selected = row;
            let depth = usize::from(self.tree.rows[row].depth);
            // The fold mark is a button; a second click on a row opens it.
            let on_mark = usize::from(at.x - rows.x) < 4 + 2 * depth;
            let fold = self.tree.rows[row].fold;
            return match fold {
                Some(fold) if on_mark || again => self.fold(fold.toggled(), scene),
                None if again && self.log_here().is_some() => self.open_log(),
                None if again => self.enter_preview(),
                _ => self.look(scene),
            };
        }
        let text = scene.areas.preview_text();
        if scene.areas.preview.contains(at) {
            self.focus = Focus::Preview;
            if text.contains(at) {
                let line = usize::from(at.y - text.y) + self.preview.scroll;
                if let Some(link) = self.preview.page.link_at(line, at.x - text.x) {
                    self.preview.link = Some(link);
                    return self.follow(scene);
                }
            }
        }
        Vec::new()
    }

    fn wheel(&mut self, at: Position, rows: isize, scene: &Scene<'_>) -> Vec<Step> {
        if scene.areas.preview.contains(at) {
            self.preview.scroll_by(rows, scene);
            return Vec::new();
        }
        let before = self.cursor.selected;
        self.cursor
            .scroll(rows, Self::height(scene), self.tree.rows.len());
        if before == self.cursor.selected {
            return Vec::new();
        }
        self.look(scene)
    }
}
