//! The screen without any stores and logs: where they were searched, and what to do.

use ratatui::Frame;
use ratatui::layout::{Alignment, Margin, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::BrowsePane;
use crate::tui::action::Action;
use crate::tui::cells::cut;
use crate::tui::chrome::{KeyFocus, bordered};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::MEASURE;
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;

/// The width of the first column.
const COLUMN: usize = 13;

impl BrowsePane {
    /// Whether there are no rows, no filter, and no reading in progress.
    pub(super) fn has_nothing_to_show(&self, cx: &PaneContext<'_>) -> bool {
        self.loaded && self.tree.rows.is_empty() && self.filter.is_none() && cx.reading.is_none()
    }

    /// Draws a tree whose rows are not loaded yet or do not match the filter.
    pub(super) fn view_no_rows(&self, frame: &mut Frame<'_>, area: Rect, cx: &PaneContext<'_>) {
        let text = if self.filter.is_some() {
            Text::from(vec![
                Line::from("Nothing here has these words."),
                Line::from("Esc shows everything again."),
            ])
        } else {
            Text::from("reading…")
        };
        let text = text.style(cx.theme.style(Role::Muted));
        let paragraph = Paragraph::new(text)
            .wrap(Wrap { trim: true })
            .alignment(Alignment::Center);
        let top = area.height / 4;
        let middle = Rect {
            y: area.y + top,
            height: area.height - top,
            ..area
        };
        frame.render_widget(paragraph, middle);
    }

    /// Draws the screen of a first start, without stores and logs.
    pub(super) fn view_nothing(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.body;
        frame.render_widget(bordered(theme, KeyFocus::Here), area);
        let muted = theme.style(Role::Muted);
        let act = |action, what: &'static str| {
            let key = cx.keymap.key(KeyContext::Tree, action).unwrap_or_default();
            Line::from(vec![
                Span::styled(format!("{key:<COLUMN$} "), theme.style(Role::KeyHint)),
                Span::styled(what, muted),
            ])
        };
        let mut lines = vec![
            Line::styled(
                "No agent remembers anything here yet.",
                theme.style(Role::Heading),
            ),
            Line::default(),
        ];
        if !self.library.firsts.is_empty() {
            lines.push(act(
                Action::New,
                "write the first memory; its store is made",
            ));
        }
        lines.extend([
            act(Action::Demo, "look at a sample, a small shop"),
            act(Action::Reload, "look again"),
            act(Action::Help, "the keys"),
            act(Action::Scope, "everything, as `tome --all` does"),
            Line::default(),
            Line::styled("tome looked for", theme.style(Role::HeadingMinor)),
        ]);
        let inside = area.inner(Margin::new(3, 1));
        let width = inside.width.min(MEASURE);
        let room = usize::from(width).saturating_sub(COLUMN + 1);
        for row in &self.searched_places {
            lines.push(Line::from(vec![
                Span::raw(format!("{:<COLUMN$} ", row.owner)),
                Span::styled(cut(&row.locations.join("  "), room), muted),
            ]));
        }
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let text = Rect {
            y: inside.y + inside.height.saturating_sub(height) / 3,
            width,
            ..inside
        };
        let text = text.intersection(inside);
        frame.render_widget(Paragraph::new(lines), text);
    }
}
