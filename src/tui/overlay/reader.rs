//! A dialog with a text to read, such as a file that tome does not edit.

use ratatui::Frame;
use ratatui::text::Line;

use super::{scroll_text, scrolled_lines};
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{Dialog, draw_lines, shown_lines};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::reading_area;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step};

#[derive(Debug)]
pub(crate) struct TextDialog {
    title: String,
    text: Vec<String>,
    scroll: usize,
}

impl TextDialog {
    pub(crate) fn text(title: String, text: &str) -> Self {
        let lines = text.lines().map(escape_line).collect();
        Self {
            title,
            text: lines,
            scroll: 0,
        }
    }

    fn lines(&self, cx: &PaneContext<'_>) -> Vec<Line<'static>> {
        let width = usize::from(Dialog::inner(reading_area(cx.areas.whole)).width);
        let lines = self
            .text
            .iter()
            .flat_map(|line| cells::wrapped(line, width));
        lines.map(Line::from).collect()
    }
}

impl Pane for TextDialog {
    fn key_context(&self) -> KeyContext {
        KeyContext::Reader
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Back => vec![Step::Close],
            action => match scrolled_lines(action, reading_area(cx.areas.whole)) {
                Some(lines) => self.scroll_by(lines, cx),
                None => Vec::new(),
            },
        })
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let count = self.lines(cx).len();
        scroll_text(&mut self.scroll, lines, count, reading_area(cx.areas.whole));
        Vec::new()
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let area = reading_area(cx.areas.whole);
        let height = Dialog::inner(area).height;
        let place = shown_lines(self.scroll, height, self.lines(cx).len(), cx.theme);
        let dialog = Dialog::new(cx, area, &self.title, KeyContext::Reader);
        Some(dialog.with_right(place).closed_outside())
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let lines = self.lines(cx).into_iter().skip(self.scroll);
        draw_lines(frame, Dialog::inner(reading_area(cx.areas.whole)), lines);
    }
}
