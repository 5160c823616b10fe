//! Drawing of the tree and the preview.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use super::BrowsePane;
use crate::tui::chrome::{KeyFocus, bordered, title_span};
use crate::tui::layout::{Focus, inside};
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;

impl BrowsePane {
    pub(super) fn keys(&self, focus: Focus) -> KeyFocus {
        KeyFocus::of(self.focus == focus)
    }

    pub(super) fn view_tree(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let title = match self.options.order {
            Some(order) => format!("memory · all stores, {}", order.name()),
            None => "memory".to_owned(),
        };
        let mut block = bordered(theme, self.keys(Focus::Tree)).title(title_span(theme, &title));
        let marked = self.marked();
        if !marked.is_empty() {
            block = block.title_bottom(
                Line::from(Span::styled(
                    format!(" {} marked ", marked.len()),
                    theme.style(Role::Accent),
                ))
                .right_aligned(),
            );
        }
        if let Some(filter) = &self.filter {
            let room = area.width.saturating_sub(20);
            let (typed, _) = filter.line(theme, room);
            let mut title = vec![Span::styled(" filter ❯ ", theme.style(Role::Accent))];
            title.extend(typed.spans);
            title.push(Span::raw(" "));
            block = block.title(Line::from(title).right_aligned());
        }
        let rows = inside(area);
        frame.render_widget(block, area);
        if self.tree.rows.is_empty() {
            self.view_no_rows(frame, rows, cx);
            return;
        }
        let line = |at: usize, look| {
            let row = &self.tree.rows[at];
            let is_marked = marked.contains(&self.tree.key(&self.library, row));
            self.line(row, is_marked, look, cx)
        };
        self.cursor.draw(frame, rows, self.tree.rows.len(), line);
        self.view_filter_cursor(frame, cx);
    }

    /// Places the terminal's cursor in the filter while typing.
    fn view_filter_cursor(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let Some(filter) = self.filter.as_ref().filter(|_| self.typing && cx.is_top) else {
            return;
        };
        let area = cx.areas.tree;
        let room = area.width.saturating_sub(20);
        let (line, column) = filter.line(cx.theme, room);
        let width = u16::try_from(line.width()).unwrap_or(room);
        let x = (area.right().saturating_sub(2 + width)).saturating_add(column);
        frame.set_cursor_position((x.min(area.right().saturating_sub(1)), area.y));
    }
}
