//! Drawing of the review, and scrolling in the difference.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::QueuePane;
use super::rows::{Entry, Row};
use crate::core::insight::review::ItemChange;
use crate::core::text::display::{format_age, format_ago};
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, count, draw_note, title_span, two_ends};
use crate::tui::layout::{Focus, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::list_text::{ListWithText as _, text_area};
use crate::tui::theme::Role;
use crate::tui::widget::diff::hunks::Hunks;

/// The text beside the list: what is known about a file, then its hunks.
pub(super) struct Detail {
    pub(super) lines: Vec<Line<'static>>,
    /// The lines of each hunk.
    hunks: Vec<Range<usize>>,
}

impl QueuePane {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        if self.queue.entries.is_empty() {
            return self.draw_nothing(frame, cx);
        }
        if cx.areas.tree.area() > 0 {
            self.draw_list(frame, cx);
        }
        if cx.areas.preview.area() > 0 {
            self.draw_detail(frame, cx);
        }
    }

    fn draw_nothing(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let block = bordered(theme, KeyFocus::Here).title(title_span(theme, "to review"));
        frame.render_widget(block, cx.areas.body);
        let text = if self.is_loaded {
            "Nothing waits for review. What agents and other programs write into the memories from now on will wait here until you accept or revert it."
        } else {
            "reading…"
        };
        draw_note(frame, inside(cx.areas.body), text, theme);
    }

    fn keys(&self, part: Focus) -> KeyFocus {
        if self.focus == part {
            KeyFocus::Here
        } else {
            KeyFocus::Elsewhere
        }
    }

    fn draw_list(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let block = bordered(theme, self.keys(Focus::Tree)).title(title_span(theme, "to review"));
        frame.render_widget(block, area);
        let rows = inside(area);
        let width = usize::from(rows.width);
        let window = self
            .cursor
            .window(usize::from(rows.height), self.queue.rows.len());
        for (at, y) in window.zip(rows.top()..rows.bottom()) {
            let line = match self.queue.rows[at] {
                Row::Heading { first, count } => self.heading((first, count), cx, width),
                Row::Entry(entry) => {
                    let is_here = at == self.cursor.selected;
                    self.entry_line(&self.queue.entries[entry], is_here, cx, width)
                }
            };
            frame.render_widget(line, Rect::new(rows.x, y, rows.width, 1));
        }
    }

    /// Who wrote the entries below, in which session and when.
    fn heading(
        &self,
        (first, count): (usize, usize),
        cx: &PaneContext<'_>,
        width: usize,
    ) -> Line<'static> {
        let theme = cx.theme;
        let muted = theme.style(Role::Muted);
        let entry = &self.queue.entries[first];
        let mut left = vec![
            Span::raw("  "),
            Span::styled(escape_line(entry.item.who()), theme.style(Role::Strong)),
        ];
        if let Some(session) = self.session_name(entry) {
            left.push(Span::raw(format!(" · {}", escape_line(session))));
        }
        let age = format_age(entry.item.time, cx.now);
        let right = Span::styled(format!(" {age}  {count} "), muted);
        two_ends(left, vec![right], width, theme.style(Role::Text))
    }

    /// The title of the session of an entry, or else its id.
    fn session_name<'a>(&'a self, entry: &'a Entry) -> Option<&'a str> {
        let session = entry.session()?;
        let title = self.titles.get(session).map(String::as_str);
        Some(title.filter(|title| !title.is_empty()).unwrap_or(session))
    }

    fn entry_line(
        &self,
        entry: &Entry,
        is_here: bool,
        cx: &PaneContext<'_>,
        width: usize,
    ) -> Line<'static> {
        let theme = cx.theme;
        let bar = if is_here {
            Span::styled("▌  ", theme.style(Role::Accent))
        } else {
            Span::raw("   ")
        };
        let (sign, role) = match entry.item.change {
            _ if entry.item.proposal.is_some() => ("? ", Role::Accent),
            ItemChange::Added => ("+ ", Role::Added),
            ItemChange::Changed => ("~ ", Role::Muted),
            ItemChange::Deleted => ("− ", Role::Removed),
            ItemChange::Renamed => ("→ ", Role::Muted),
        };
        let mut left = vec![
            bar,
            Span::styled(sign, theme.style(role)),
            Span::raw(escape_line(&entry.item.path)),
        ];
        if self.queue.has_several_stores {
            let snapshot = cx.library.store_by_id(&entry.store);
            let name = snapshot.map_or("", |snapshot| snapshot.store.name());
            let name = format!("  {}", escape_line(name));
            left.push(Span::styled(name, theme.style(Role::Muted)));
        }
        let mut right = Vec::new();
        if entry.item.deleted_before.is_some() {
            right.push(Span::styled(" deleted before", theme.style(Role::Warn)));
        }
        if !entry.item.notes.is_empty() {
            right.push(Span::styled(" note", theme.style(Role::Warn)));
        }
        let (added, removed) = entry.line_counts();
        if added > 0 {
            right.push(Span::styled(format!(" +{added}"), theme.style(Role::Added)));
        }
        if removed > 0 {
            let removed = format!(" −{removed}");
            right.push(Span::styled(removed, theme.style(Role::Removed)));
        }
        right.push(Span::raw(" "));
        let role = if is_here { Role::Selected } else { Role::Text };
        two_ends(left, right, width, theme.style(role))
    }

    fn draw_detail(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.preview;
        let mut block = bordered(theme, self.keys(Focus::Preview));
        let Some(entry) = self.entry() else {
            return frame.render_widget(block, area);
        };
        let muted = theme.style(Role::Muted);
        let right = match (self.chosen_hunk(), entry.divisions()) {
            (Some(at), hunks) => format!(" hunk {} of {hunks} ", at + 1),
            (None, 0) => format!(" {} ", change_word(entry.item.change)),
            (None, hunks) => format!(" changed · {} ", count(hunks, "hunk", "hunks")),
        };
        let room = usize::from(area.width).saturating_sub(cells::width(&right) + 6);
        let path = cells::cut(&escape_line(&entry.item.path), room);
        block = block
            .title(title_span(theme, &path))
            .title(Line::from(Span::styled(right, muted)).right_aligned());
        let detail = self.detail(entry, cx);
        let text = text_area(cx);
        let lines = detail.lines.len();
        if lines > usize::from(text.height) {
            let last = (self.scroll + usize::from(text.height)).min(lines);
            let place = format!(" {}–{last}/{lines} ", self.scroll + 1);
            let place = Line::from(Span::styled(place, muted)).right_aligned();
            block = block.title_bottom(place);
        }
        frame.render_widget(block, area);
        let chosen = self
            .chosen_hunk()
            .and_then(|at| detail.hunks.get(at).cloned());
        let shown = detail.lines.into_iter().enumerate().skip(self.scroll);
        for ((at, line), y) in shown.zip(text.top()..text.bottom()) {
            if chosen.as_ref().is_some_and(|range| range.contains(&at)) {
                let bar = Span::styled("▌", theme.style(Role::Accent));
                frame.render_widget(bar, Rect::new(text.x - 1, y, 1, 1));
            }
            frame.render_widget(line, Rect::new(text.x, y, text.width, 1));
        }
    }

    /// The text beside the list.
    pub(super) fn detail(&self, entry: &Entry, cx: &PaneContext<'_>) -> Detail {
        let theme = cx.theme;
        let width = text_area(cx).width;
        let item = &entry.item;
        let session = self.session_name(entry);
        let session = session.map(|name| format!(" in “{name}”"));
        let said = format!(
            "{} by {}{}, {}",
            item.what(),
            item.who(),
            session.unwrap_or_default(),
            format_ago(item.time, cx.now)
        );
        let mut facts = vec![(said, Role::Muted)];
        if let Some(time) = item.deleted_before {
            let text = format!("You deleted one like it {}", format_ago(time, cx.now));
            facts.push((text, Role::Warn));
        }
        for note in &item.notes {
            facts.push((format!("note: {}", note.text), Role::Warn));
        }
        let mut lines = Vec::new();
        for (text, role) in facts {
            let text = escape_line(&text);
            let rows = cells::wrap(&text, usize::from(width)).into_iter();
            lines.extend(
                rows.map(|row| Line::from(Span::styled(text[row].to_owned(), theme.style(role)))),
            );
        }
        lines.push(Line::default());
        if item.hunks.is_empty() {
            let text = match item.change {
                ItemChange::Renamed => "Its text is the same.",
                _ => "It is empty.",
            };
            lines.push(Line::from(Span::styled(text, theme.style(Role::Muted))));
        }
        let (rows, ranges) = Hunks::new(&item.hunks).lines(theme, width);
        let first = lines.len();
        lines.extend(rows);
        let moved = |range: Range<usize>| first + range.start..first + range.end;
        Detail {
            lines,
            hunks: ranges.into_iter().map(moved).collect(),
        }
    }

    /// Scrolls to the current hunk if it is not visible.
    pub(super) fn show_hunk(&mut self, cx: &PaneContext<'_>) {
        let (Some(entry), Some(chosen)) = (self.entry(), self.chosen_hunk()) else {
            return drop(self.scroll_by(0, cx));
        };
        let hunks = self.detail(entry, cx).hunks;
        let height = usize::from(text_area(cx).height);
        if let Some(hunk) = hunks.get(chosen) {
            let is_visible = hunk.start >= self.scroll && hunk.end <= self.scroll + height;
            if !is_visible {
                self.scroll = hunk.start.saturating_sub(1);
            }
        }
        self.scroll_by(0, cx);
    }

    /// The hunk at a cell of the difference, if it can be decided about alone.
    pub(super) fn hunk_at(&self, at: Position, cx: &PaneContext<'_>) -> Option<usize> {
        let text = text_area(cx);
        let entry = self.entry().filter(|_| text.contains(at))?;
        let line = usize::from(at.y - text.y) + self.scroll;
        let hunks = self.detail(entry, cx).hunks;
        let hunk = hunks.iter().position(|range| range.contains(&line));
        hunk.filter(|hunk| *hunk < entry.divisions())
    }
}

fn change_word(change: ItemChange) -> &'static str {
    match change {
        ItemChange::Added => "new",
        ItemChange::Changed => "changed",
        ItemChange::Deleted => "deleted",
        ItemChange::Renamed => "renamed",
    }
}
