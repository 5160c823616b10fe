//! The text of the preview, laid out for a width.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::preview::{Mode, Sheet};
use crate::tui::theme::{Role, Theme};

#[derive(Debug, Default)]
pub(crate) struct Page {
    lines: Vec<Line<'static>>,
}

impl Page {
    pub(crate) fn of(sheet: &Sheet, mode: Mode, _width: u16, theme: &Theme) -> Self {
        let text = match mode {
            Mode::Rendered => &sheet.text,
            Mode::Source => &sheet.source,
        };
        let mut lines = Vec::new();
        if mode == Mode::Rendered {
            lines.push(Line::from(Span::styled(
                sheet.summary.clone(),
                theme.style(Role::Emphasis),
            )));
            lines.push(Line::from(Span::styled(
                sheet.facts.clone(),
                theme.style(Role::Muted),
            )));
            lines.push(Line::default());
        }
        lines.extend(text.lines().map(|line| Line::from(line.to_owned())));
        Self { lines }
    }
    pub(crate) fn height(&self) -> usize {
        self.lines.len()
    }
    pub(crate) fn links(&self) -> usize {
        0
    }
    pub(crate) fn link_line(&self, _link: usize) -> usize {
        0
    }
    pub(crate) fn link_target(&self, _link: usize) -> &str {
        ""
    }
    pub(crate) fn link_at(&self, _line: usize, _column: u16) -> Option<usize> {
        None
    }
    pub(crate) fn view(&self, frame: &mut Frame<'_>, area: Rect, scroll: usize) {
        for (line, y) in self
            .lines
            .iter()
            .skip(scroll)
            .zip(area.top()..area.bottom())
        {
            frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
        }
    }
}
