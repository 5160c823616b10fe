//! Drawing of the timeline: the calendar and what is known about the selected node at the left,
//! the tree at the right.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::text::Line;

use super::{Part, TimelinePane, calendar};
use crate::core::insight::timeline::node::NodeId;
use crate::tui::action::Action;
use crate::tui::cells;
use crate::tui::chrome::{
    KeyFocus, bordered, draw_empty, draw_lines, fit_end, shown_lines, title_span,
};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::inside;
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;

/// The least width for both parts side by side.
const WIDE: u16 = 64;

/// The parts of the pane; one that is hidden has an empty area.
pub(super) struct Areas {
    calendar: Rect,
    tree: Rect,
}

impl Areas {
    pub(super) fn of(part: Part, cx: &PaneContext<'_>) -> Self {
        let body = cx.areas.body;
        if body.width < WIDE {
            let none = Rect::default();
            return match part {
                Part::Tree => Self {
                    calendar: none,
                    tree: body,
                },
                Part::Calendar => Self {
                    calendar: body,
                    tree: none,
                },
            };
        }
        let left = (body.width * 3 / 10).clamp(24, 62);
        let [calendar, tree] =
            Layout::horizontal([Constraint::Length(left), Constraint::Min(1)]).areas(body);
        Self { calendar, tree }
    }

    pub(super) fn rows(&self) -> Rect {
        inside(self.tree)
    }

    pub(super) fn height(&self) -> usize {
        usize::from(self.rows().height).max(1)
    }

    /// The months and days of the calendar.
    pub(super) fn days(&self) -> Rect {
        let text = self.text();
        Rect {
            height: calendar::HEIGHT.min(text.height),
            ..text
        }
    }

    fn text(&self) -> Rect {
        inside(self.calendar).inner(Margin::new(1, 0))
    }
}

impl TimelinePane {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        if self.outline.is_empty() {
            return self.draw_nothing(frame, cx);
        }
        let areas = Areas::of(self.part, cx);
        if areas.calendar.area() > 0 {
            self.draw_calendar(frame, &areas, cx);
        }
        if areas.tree.area() > 0 {
            self.draw_tree(frame, &areas, cx);
        }
    }

    fn draw_nothing(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let text = match (self.left, cx.reading) {
            (None, Some(percent)) => format!("reading logs {percent} %"),
            (None, None) => "reading…".to_owned(),
            (Some(0), _) => {
                let key = cx.keymap.key(KeyContext::Timeline, Action::Scope);
                let key = key.map(|key| format!(" {key} shows everything, not only this project."));
                format!(
                    "Nothing has happened here yet. Sessions of agents are listed here by year, month, week and day, with what was asked, found, decided and done.{}",
                    key.unwrap_or_default()
                )
            }
            (Some(left), _) => format!("summarizing {left} logs…"),
        };
        let title = title_span(cx.theme, "timeline");
        draw_empty(frame, cx.areas.body, title, &text, cx.theme);
    }

    fn draw_calendar(&self, frame: &mut Frame<'_>, areas: &Areas, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let day = self.day.strftime("%-d %B %Y").to_string();
        let block = bordered(theme, KeyFocus::of(self.part == Part::Calendar))
            .title(title_span(theme, &day));
        frame.render_widget(block, areas.calendar);
        self.calendar().draw(frame, areas.days(), theme);
        let text = areas.text();
        let facts = self.facts_about(usize::from(text.width), cx);
        let above = (calendar::HEIGHT + 1).min(text.height);
        let below = Rect {
            y: text.y + above,
            height: text.height - above,
            ..text
        };
        draw_lines(frame, below, facts);
    }

    /// What is known about the selected node: its title, keywords and files.
    fn facts_about(&self, width: usize, cx: &PaneContext<'_>) -> Vec<Line<'static>> {
        let theme = cx.theme;
        let id = match self.part {
            Part::Calendar => Some(NodeId::Day(self.day)),
            Part::Tree => self.entry().map(|entry| entry.node().clone()),
        };
        let is_day = matches!(id, Some(NodeId::Day(_)));
        let Some(node) = id.and_then(|id| self.outline.node(&id)) else {
            return vec![theme.line("nothing happened", Role::Muted)];
        };
        let mut lines = Vec::new();
        let mut wrapped = |text: &str, role: Role| {
            let rows = cells::wrapped(text, width).into_iter();
            lines.extend(rows.map(|row| theme.line(row, role)));
        };
        // The border names the day already.
        if !is_day {
            wrapped(&node.title, Role::Strong);
        }
        if !node.keywords.is_empty() {
            wrapped(&node.keywords.join(" · "), Role::Muted);
        }
        if !node.files.is_empty() && !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(node.files.iter().map(|file| {
            let file = fit_end(file, width);
            theme.line(file, Role::Code)
        }));
        lines
    }

    fn draw_tree(&self, frame: &mut Frame<'_>, areas: &Areas, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let zone = cx.user.zone.iana_name().unwrap_or("local time");
        let zone = theme.line(format!(" {zone} "), Role::Muted);
        let mut block = bordered(theme, KeyFocus::of(self.part == Part::Tree))
            .title(title_span(theme, "what happened"))
            .title(zone.right_aligned());
        let rows = areas.rows();
        let count = self.rows.lines.len();
        if let Some(place) = shown_lines(self.cursor.top, rows.height, count, theme) {
            block = block.title_bottom(place);
        }
        frame.render_widget(block, areas.tree);
        let here = self.rows.lines_of(self.cursor.selected);
        let window = self.cursor.window(areas.height(), count);
        for (at, y) in window.zip(rows.top()..rows.bottom()) {
            let area = Rect::new(rows.x, y, rows.width, 1);
            let (_, line) = &self.rows.lines[at];
            frame.render_widget(line, area);
            if here.contains(&at) {
                frame
                    .buffer_mut()
                    .set_style(area, theme.style(Role::Selected));
                let bar = theme.span("▌", Role::Accent);
                frame.render_widget(bar, Rect::new(rows.x, y, 1, 1));
            }
        }
    }
}
