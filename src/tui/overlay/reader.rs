//! A dialog with a text to read, such as a file that tome does not edit.

use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use unicode_width::UnicodeWidthChar as _;

use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{dialog, draw_scrolled};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::reading_area;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Handled, Pane, Step};

/// A text with a title.
#[derive(Debug)]
pub(crate) struct TextDialog {
    title: String,
    /// The lines, wrapped at the width.
    text: Vec<String>,
    scroll: usize,
}

impl TextDialog {
    /// Creates a dialog with a text.
    pub(crate) fn text(title: String, text: &str) -> Self {
        let lines = text.lines().map(escape_line).collect();
        Self {
            title,
            text: lines,
            scroll: 0,
        }
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        reading_area(cx.areas.whole)
    }

    fn lines(&self, width: usize) -> Vec<Line<'static>> {
        let lines = self.text.iter().flat_map(|line| wrapped(line, width));
        lines.map(Line::from).collect()
    }

    fn scroll_by(&mut self, rows: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = self.area(cx);
        let width = usize::from(area.width.saturating_sub(4));
        let lines = self.lines(width).len();
        let most = lines.saturating_sub(usize::from(area.height.saturating_sub(2)));
        self.scroll = self.scroll.saturating_add_signed(rows).min(most);
        Vec::new()
    }
}

/// Wraps a line at `width` columns, at blanks where there are any.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for word in line.split_inclusive(' ') {
        let fits = cells::width(&piece) + cells::width(word.trim_end()) <= width;
        if !fits && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
        }
        for c in word.chars() {
            if cells::width(&piece) + c.width().unwrap_or(0) > width {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.push(c);
        }
    }
    pieces.push(piece);
    pieces
}

impl Pane for TextDialog {
    fn key_context(&self) -> KeyContext {
        KeyContext::Reader
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        let page = isize::try_from(self.area(cx).height.saturating_sub(3)).unwrap_or(1);
        Handled::Used(match action {
            Action::Up => self.scroll_by(-1, cx),
            Action::Down => self.scroll_by(1, cx),
            Action::PageUp => self.scroll_by(-page, cx),
            Action::PageDown => self.scroll_by(page, cx),
            Action::Top => self.scroll_by(isize::MIN, cx),
            Action::Bottom => self.scroll_by(isize::MAX, cx),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollDown => self.scroll_by(3, cx),
            MouseEventKind::ScrollUp => self.scroll_by(-3, cx),
            MouseEventKind::Down(MouseButton::Left) if !self.area(cx).contains(at) => {
                vec![Step::Close]
            }
            _ => Vec::new(),
        }
    }

    fn dialog_area(&self, cx: &PaneContext<'_>) -> Option<Rect> {
        Some(self.area(cx))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let area = self.area(cx);
        let block = dialog(cx, &self.title, KeyContext::Reader);
        let lines = self.lines(usize::from(block.inner(area).width));
        draw_scrolled(frame, cx, (area, block), (lines, self.scroll, None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_or_anywhere() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("abcdefghijkl", 8), ["abcdefgh", "ijkl"]);
        assert_eq!(wrapped("", 8), [""]);
    }
}
