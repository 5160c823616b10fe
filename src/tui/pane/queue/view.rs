//! Drawing of the review, and scrolling in the difference.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::QueuePane;
use super::rows::{Entry, QueueRow};
use crate::core::insight::review::{HunkPart, ItemChange};
use crate::core::text::display::{format_age, format_ago};
use crate::core::text::one_line;
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{
    KeyFocus, bordered, count, draw_empty, draw_note, line_counts, marked_rows, title_span,
};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::Focus;
use crate::tui::model::PaneContext;
use crate::tui::pane::Pane as _;
use crate::tui::pane::list_text::{Parts, RowText, list_border};
use crate::tui::theme::Role;
use crate::tui::widget::diff::hunks::Hunks;
use crate::tui::widget::filter::FILTERED;
use crate::tui::widget::list::RowLook;

/// The most characters that are shown of the user's words before a change.
const LONGEST_WORDS: usize = 300;

/// The text beside the list: what is known about a file, then its hunks.
pub(super) struct Detail {
    pub(super) lines: Vec<Line<'static>>,
    /// The lines of each line of each hunk.
    hunks: Vec<Vec<Range<usize>>>,
}

impl Detail {
    /// The lines of a part, with the number of its hunk.
    fn of(&self, (hunk, part): &(usize, HunkPart)) -> Vec<Range<usize>> {
        let rows = self.hunks.get(*hunk).map_or(&[][..], Vec::as_slice);
        let rows = part.lines.iter().filter_map(|line| rows.get(*line));
        rows.cloned().collect()
    }
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
        let mut text = if self.is_loaded {
            "Nothing waits for review. What agents and other programs write into the memories from now on will wait here until you accept or revert it.".to_owned()
        } else {
            "reading…".to_owned()
        };
        if self.here_before > 0 {
            let before = count(self.here_before, "file was", "files were");
            let key = cx.keymap.key(KeyContext::Queue, Action::AcceptSession);
            let how = key.map(|key| format!("; {key} says that you know them"));
            text.push_str(&format!(
                " {before} here before tome, and nobody reviewed them: the tree shows them{}.",
                how.unwrap_or_default()
            ));
        }
        for line in &self.left_alone {
            text.push_str(&format!("\n\n{line}"));
        }
        let title = title_span(cx.theme, "to review");
        draw_empty(frame, cx.areas.body, title, &text, cx.theme);
    }

    fn draw_list(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let keys = KeyFocus::of(self.focus == Focus::Tree);
        let area = cx.areas.tree;
        let mut block = list_border(keys, "to review", &self.filter, area, theme);
        if let Some(marks) = marked_rows(self.list.marked().len(), theme) {
            block = block.title_bottom(marks);
        }
        frame.render_widget(block, area);
        if self.list.rows().is_empty() {
            return draw_note(frame, Parts::of(cx).rows(), FILTERED, theme);
        }
        let entries = &self.queue.entries;
        let rows = Parts::of(cx).rows();
        self.list.draw(frame, rows, |row, look| match row {
            QueueRow::Heading { first, count, .. } => {
                self.heading(&entries[*first], *count, look, cx)
            }
            QueueRow::Entry { at, .. } => self.entry_line(&entries[*at], look, cx),
        });
    }

    /// Who wrote the entries below, in which session and when.
    fn heading(
        &self,
        entry: &Entry,
        count: usize,
        look: RowLook,
        cx: &PaneContext<'_>,
    ) -> Line<'static> {
        let theme = cx.theme;
        let muted = theme.style(Role::Muted);
        let mut left = vec![theme.span(escape_line(entry.item.who()), Role::Strong)];
        if let Some(session) = self.session_name(entry) {
            left.push(Span::raw(format!(" · {}", escape_line(session))));
        }
        let age = format_age(entry.item.time, cx.now);
        let right = Span::styled(format!(" {age}  {count} "), muted);
        look.line(1, left, vec![right], theme)
    }

    /// The title of the session of an entry, or else its id.
    pub(super) fn session_name<'a>(&'a self, entry: &'a Entry) -> Option<&'a str> {
        let session = entry.session()?;
        let title = self.titles.get(session).map(String::as_str);
        Some(title.filter(|title| !title.is_empty()).unwrap_or(session))
    }

    fn entry_line(&self, entry: &Entry, look: RowLook, cx: &PaneContext<'_>) -> Line<'static> {
        let theme = cx.theme;
        let (sign, role) = match entry.item.change {
            _ if entry.item.is_conflict() => ("! ", Role::Warn),
            _ if entry.item.sent.is_some() => ("⇣ ", Role::Accent),
            _ if entry.item.proposal.is_some() => ("? ", Role::Accent),
            ItemChange::Added => ("+ ", Role::Added),
            ItemChange::Changed => ("~ ", Role::Muted),
            ItemChange::Deleted => ("− ", Role::Removed),
            ItemChange::Renamed => ("→ ", Role::Muted),
        };
        let mut left = vec![
            look.mark(theme),
            theme.span(sign, role),
            Span::raw(escape_line(&entry.item.path)),
        ];
        if self.queue.has_several_stores {
            let snapshot = cx.library.store_by_id(&entry.store);
            let name = snapshot.map_or("", |snapshot| snapshot.store.name());
            let name = format!("  {}", escape_line(name));
            left.push(theme.span(name, Role::Muted));
        }
        let mut right = Vec::new();
        if entry.item.deleted_before.is_some() {
            right.push(theme.span(" deleted before", Role::Warn));
        }
        if !entry.item.notes.is_empty() {
            right.push(theme.span(" note", Role::Warn));
        }
        let (added, removed) = entry.line_counts();
        right.extend(line_counts(added, removed, theme));
        right.push(Span::raw(" "));
        look.line(0, left, right, theme)
    }

    fn draw_detail(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let parts = Parts::of(cx);
        let keys = KeyFocus::of(self.focus == Focus::Preview);
        let Some(entry) = self.entry() else {
            return frame.render_widget(bordered(cx.theme, keys), parts.text);
        };
        let chosen = self.chosen_part();
        let remark = match (&chosen, entry.item.change) {
            (Some((hunk, part)), _) => {
                let hunk = &entry.item.hunks[*hunk];
                let name = hunk.entry.as_ref();
                let name = name.map(|name| format!(" · #{}", cells::cut(&escape_line(name), 32)));
                let is_whole = part.id == hunk.id;
                let what = if is_whole { "hunk" } else { "line" };
                let (at, of) = (self.part + 1, self.divisions().len());
                format!(" {what} {at} of {of}{} ", name.unwrap_or_default())
            }
            (None, ItemChange::Changed) if !entry.item.hunks.is_empty() => {
                let hunks = entry.item.hunks.len();
                format!(" changed · {} ", count(hunks, "hunk", "hunks"))
            }
            (None, change) => format!(" {} ", change_word(change)),
        };
        let room = usize::from(parts.text.width).saturating_sub(cells::width(&remark) + 6);
        let detail = self.detail(entry, cx);
        let text = RowText {
            title: cells::cut(&escape_line(&entry.item.path), room),
            remark,
            keys,
            lines: detail.lines.clone(),
            scroll: self.scroll,
        };
        text.draw(frame, parts, cx);
        let chosen = chosen.map_or_else(Vec::new, |part| detail.of(&part));
        let text = parts.inner_text();
        for (at, y) in (self.scroll..).zip(text.top()..text.bottom()) {
            if chosen.iter().any(|range| range.contains(&at)) {
                let bar = cx.theme.span("▌", Role::Accent);
                frame.render_widget(bar, Rect::new(text.x - 1, y, 1, 1));
            }
        }
    }

    /// The text beside the list.
    pub(super) fn detail(&self, entry: &Entry, cx: &PaneContext<'_>) -> Detail {
        let theme = cx.theme;
        let width = Parts::of(cx).inner_text().width;
        let item = &entry.item;
        let session = self.session_name(entry);
        let session = session.map(|name| format!(" in “{name}”"));
        let said = format!(
            "{} by {}{}, {}",
            item.what(),
            item.by(),
            session.unwrap_or_default(),
            format_ago(item.time, cx.now)
        );
        let mut facts = vec![(said, Role::Muted)];
        let own = self.chosen_part();
        let own = own.and_then(|(hunk, _)| item.hunks.get(hunk)?.citation.as_ref());
        let origin = item.origin.as_ref();
        let citation = own.or_else(|| origin?.citation.as_ref());
        if let Some(words) = citation.and_then(|citation| self.words.get(citation)) {
            let words: String = one_line(words).chars().take(LONGEST_WORDS).collect();
            facts.push((format!("You had said: “{words}”"), Role::Text));
        }
        if let Some(time) = item.deleted_before {
            let text = format!("You deleted one like it {}", format_ago(time, cx.now));
            facts.push((text, Role::Warn));
        }
        facts.extend(item.misfit.iter().map(|why| (why.clone(), Role::Warn)));
        for note in &item.notes {
            facts.push((format!("note: {}", note.text), Role::Warn));
        }
        let mut lines = Vec::new();
        for (text, role) in facts {
            let rows = cells::wrapped(&text, usize::from(width)).into_iter();
            lines.extend(rows.map(|row| theme.line(row, role)));
        }
        lines.push(Line::default());
        if item.hunks.is_empty() {
            let text = match item.change {
                ItemChange::Renamed => "Its text is the same.",
                _ => "It is empty.",
            };
            lines.push(theme.line(text, Role::Muted));
        }
        let (rows, ranges) = Hunks::new(&item.hunks).lines(theme, width);
        let first = lines.len();
        lines.extend(rows);
        let moved = |range: Range<usize>| first + range.start..first + range.end;
        let hunks = ranges.into_iter();
        Detail {
            lines,
            hunks: hunks
                .map(|rows| rows.into_iter().map(moved).collect())
                .collect(),
        }
    }

    /// Scrolls to the current part if it is not visible.
    pub(super) fn show_part(&mut self, cx: &PaneContext<'_>) {
        let (Some(entry), Some(chosen)) = (self.entry(), self.chosen_part()) else {
            return drop(self.scroll_by(0, cx));
        };
        let rows = self.detail(entry, cx).of(&chosen);
        let height = usize::from(Parts::of(cx).inner_text().height);
        if let [first, ..] = rows.as_slice() {
            let end = rows.last().map_or(0, |last| last.end);
            let is_visible = first.start >= self.scroll && end <= self.scroll + height;
            if !is_visible {
                self.scroll = first.start.saturating_sub(1);
            }
        }
        self.scroll_by(0, cx);
    }

    /// The part at a cell of the difference, if it can be decided about alone.
    pub(super) fn part_at(&self, at: Position, cx: &PaneContext<'_>) -> Option<usize> {
        let text = Parts::of(cx).inner_text();
        let entry = self.entry().filter(|_| text.contains(at))?;
        let line = usize::from(at.y - text.y) + self.scroll;
        let detail = self.detail(entry, cx);
        let has_line = |part: &(usize, HunkPart)| {
            let mut rows = detail.of(part).into_iter();
            rows.any(|row| row.contains(&line))
        };
        self.divisions().iter().position(has_line)
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
