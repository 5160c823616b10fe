//! A list, and beside it the text of its selected row: the movement and the mouse of the panes
//! that are divided like that (review, curate, context).

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Margin, Position, Rect};

use super::Step;
use crate::tui::action::Action;
use crate::tui::layout::inside;
use crate::tui::model::PaneContext;
use crate::tui::widget::list::{Cursor, Move};

/// The lines that a step of the wheel scrolls.
const WHEEL: isize = 3;

/// The rows of the list, inside its border.
pub(super) fn list_area(cx: &PaneContext<'_>) -> Rect {
    inside(cx.areas.tree)
}

/// The number of rows that are visible, at least one.
pub(super) fn list_height(cx: &PaneContext<'_>) -> usize {
    usize::from(list_area(cx).height).max(1)
}

/// The text, inside its border and margins.
pub(super) fn text_area(cx: &PaneContext<'_>) -> Rect {
    inside(cx.areas.preview).inner(Margin::new(1, 0))
}

/// A pane with a list and the text of the selected row.
pub(super) trait ListWithText {
    fn cursor(&self) -> Cursor;

    /// The number of rows of the list.
    fn rows(&self) -> usize;

    /// The number of lines of the text.
    fn text_lines(&self, cx: &PaneContext<'_>) -> usize;

    /// The first visible line of the text.
    fn scroll(&mut self) -> &mut usize;

    /// Moves the cursor.
    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step>;

    /// Moves the cursor by the wheel.
    fn wheeled(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        self.moved(to, cx)
    }

    /// Handles a click on a row.
    fn row_clicked(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step>;

    /// Handles a click on the text or its border.
    fn text_clicked(&mut self, _at: Position, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Scrolls the text, at most to its last screen.
    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = usize::from(text_area(cx).height);
        let last = self.text_lines(cx).saturating_sub(height);
        let scroll = self.scroll();
        *scroll = scroll.saturating_add_signed(lines).min(last);
        Vec::new()
    }

    fn scroll_page(&mut self, pages: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let page = isize::try_from(text_area(cx).height.saturating_sub(1).max(1));
        self.scroll_by(pages * page.unwrap_or(1), cx)
    }

    /// Carries out an action that moves in the list or in the text; `None` for any other.
    fn movement(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Up => self.moved(Move::Up, cx),
            Action::Down => self.moved(Move::Down, cx),
            Action::Top => self.moved(Move::First, cx),
            Action::Bottom => self.moved(Move::Last, cx),
            Action::PageUp => self.scroll_page(-1, cx),
            Action::PageDown => self.scroll_page(1, cx),
            _ => return None,
        })
    }

    /// Handles the mouse: the wheel scrolls what it is over, a click selects.
    fn list_mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        let is_over_text = cx.areas.preview.contains(at);
        match mouse.kind {
            MouseEventKind::ScrollDown if is_over_text => self.scroll_by(WHEEL, cx),
            MouseEventKind::ScrollUp if is_over_text => self.scroll_by(-WHEEL, cx),
            MouseEventKind::ScrollDown => self.wheeled(Move::Down, cx),
            MouseEventKind::ScrollUp => self.wheeled(Move::Up, cx),
            MouseEventKind::Down(MouseButton::Left) if is_over_text => self.text_clicked(at, cx),
            MouseEventKind::Down(MouseButton::Left) if list_area(cx).contains(at) => {
                let line = usize::from(at.y - list_area(cx).y);
                let row = self.cursor().row_at(line, list_height(cx), self.rows());
                row.map_or_else(Vec::new, |row| self.row_clicked(row, cx))
            }
            _ => Vec::new(),
        }
    }
}
