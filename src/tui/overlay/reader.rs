//! A dialog with a text to read, such as a file that tome does not edit.

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthChar as _;

use super::{ScrolledDialog, scroll_text};
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{Dialog, draw_lines, shown_lines};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::reading_area;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step};

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

    fn lines(&self, cx: &PaneContext<'_>) -> Vec<Line<'static>> {
        let width = usize::from(Dialog::inner(self.area(cx)).width);
        let lines = self.text.iter().flat_map(|line| wrapped(line, width));
        lines.map(Line::from).collect()
    }
}

impl ScrolledDialog for TextDialog {
    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        reading_area(cx.areas.whole)
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let count = self.lines(cx).len();
        let area = self.area(cx);
        scroll_text(&mut self.scroll, lines, count, area);
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

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Back => vec![Step::Close],
            action => self.movement(action, cx).unwrap_or_default(),
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.wheel(mouse, cx)
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let area = self.area(cx);
        let height = Dialog::inner(area).height;
        let place = shown_lines(self.scroll, height, self.lines(cx).len(), cx.theme);
        let dialog = Dialog::new(cx, area, &self.title, KeyContext::Reader);
        Some(dialog.with_right(place).closed_outside())
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let lines = self.lines(cx).into_iter().skip(self.scroll);
        draw_lines(frame, Dialog::inner(self.area(cx)), lines);
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
