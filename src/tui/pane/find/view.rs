//! Drawing of the finder.

use std::path::Path;

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use unicode_segmentation::UnicodeSegmentation as _;

use super::FindPane;
use crate::core::log::{Agent, Role as Who};
use crate::core::search::HitSource;
use crate::core::search::find::{Closeness, SearchState};
use crate::core::text::display::format_age;
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{
    KeyFocus, bordered, draw_lines, short_path, store_label, title_span, two_ends,
};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::inside;
use crate::tui::model::{FindResults, HitRow, PaneContext};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::list::RowLook;
use crate::tui::worker::search::{MOST, MOST_LINES};

/// The prompt before the input.
const PROMPT: &str = " find ❯ ";

impl FindPane {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw_input(frame, cx);
        self.draw_list(frame, cx);
        if cx.areas.preview.area() > 0 {
            self.preview.view(frame, KeyFocus::Elsewhere, cx);
        }
    }

    /// The pills and the count at the end of the title line. The input keeps its space: the count
    /// is cut and the first pills are left out.
    fn ends(&self, cx: &PaneContext<'_>) -> Vec<Span<'static>> {
        const TYPED: usize = 28;
        let theme = cx.theme;
        let room = usize::from(cx.areas.title.width);
        let mut room = room.saturating_sub(cells::width(PROMPT) + TYPED);
        let (status, role) = self.status(cx);
        let status = cells::cut(&status, room.saturating_sub(2).max(12));
        room = room.saturating_sub(cells::width(&status) + 2);
        let mut pills = Vec::new();
        for pill in self.query.pills.iter().rev() {
            let text = format!(" {} × ", escape_line(pill));
            let width = cells::width(&text) + 1;
            if width > room {
                break;
            }
            room -= width;
            pills.push(text);
        }
        let mut spans = Vec::new();
        for text in pills.into_iter().rev() {
            spans.push(theme.span(text, Role::Toast));
            spans.push(Span::raw(" "));
        }
        spans.push(theme.span(format!(" {status} "), role));
        spans
    }

    /// The number of matches, or that there is an error in the query.
    fn status(&self, cx: &PaneContext<'_>) -> (String, Role) {
        let Some(found) = self.found() else {
            return ("reading…".to_owned(), Role::Muted);
        };
        let is_answered = self.is_answered();
        if found.wrong.is_some() && is_answered {
            return ("not understood".to_owned(), Role::Warn);
        }
        let (total, progress) = match self.searching {
            _ if is_answered => (found.total, found.progress),
            Some(progress) => (0, progress),
            // Mostly the answer is here in a moment, so the number before stays until then.
            None if !found.is_newest_first => (found.total, SearchState::Looking),
            None => (0, SearchState::Looking),
        };
        let mut status = match (total, progress) {
            (0, SearchState::Widening) => "looking for similar words…".to_owned(),
            (0, SearchState::Looking) => "searching…".to_owned(),
            (number, SearchState::Looking | SearchState::Widening) => {
                format!("{}…", thousands(number))
            }
            // The title of the list says what it shows.
            (_, _) if self.query.query().trim().is_empty() => String::new(),
            (0, _) if cx.reading.is_some() => "nothing yet".to_owned(),
            (0, _) => "nothing found".to_owned(),
            (number, _) => format!("{} found{}", thousands(number), places(found)),
        };
        if let Some(percent) = cx.reading {
            status.push_str(&format!(" · reading logs {percent} %"));
        }
        if !self.marks.is_empty() {
            status.push_str(&format!(" · {} marked", self.marks.len()));
        }
        (status, Role::Muted)
    }

    /// The pill whose cross is at a column of the title line.
    pub(super) fn pill_at(&self, x: u16, cx: &PaneContext<'_>) -> Option<usize> {
        let ends = self.ends(cx);
        let width: usize = ends.iter().map(Span::width).sum();
        let mut at = usize::from(cx.areas.title.right()).saturating_sub(width);
        // If there is not enough space, only the last pills are drawn.
        let shown = ends.len() / 2;
        let left_out = self.query.pills.len() - shown;
        for (number, span) in ends.iter().enumerate().take(2 * shown) {
            let end = at + span.width();
            if number % 2 == 0 && (at..end).contains(&usize::from(x)) {
                return Some(left_out + number / 2);
            }
            at = end;
        }
        None
    }

    fn draw_input(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.title;
        let ends = self.ends(cx);
        let taken: usize = ends.iter().map(Span::width).sum();
        let prompt = u16::try_from(cells::width(PROMPT)).unwrap_or(0);
        let room = usize::from(area.width.saturating_sub(prompt)).saturating_sub(taken);
        let room = u16::try_from(room.max(12)).unwrap_or(12);
        let (mut typed, column) = self.query.input.line(theme, room);
        if self.query.is_selected {
            typed = typed.patch_style(theme.style(Role::MatchCurrent));
        }
        let mut left = vec![theme.span(PROMPT, Role::Accent)];
        left.extend(
            typed
                .spans
                .into_iter()
                .map(|span| span.patch_style(typed.style)),
        );
        if let Some(completion) = self.query.completion(cx.library) {
            let begun = self.query.input.text().len() - completion.span.start;
            let ghost = completion.text.get(begun..).unwrap_or_default().to_owned();
            left.push(theme.span(ghost, Role::Muted));
            if !completion.meaning.is_empty() {
                let meaning = format!("  {}", completion.meaning);
                left.push(theme.span(meaning, Role::Comment));
            }
        } else if self.query.query().is_empty() {
            let hint = "words, \"exact\", 'whole, !not, type: in: agent: since:";
            left.push(theme.span(hint, Role::Muted));
        }
        let line = two_ends(left, ends, usize::from(area.width), theme.style(Role::Text));
        frame.render_widget(Clear, area);
        frame.render_widget(line, area);
        let x = area.x.saturating_add(prompt).saturating_add(column);
        if cx.is_top {
            frame.set_cursor_position((x.min(area.right().saturating_sub(1)), area.y));
        }
    }

    fn draw_list(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let mut block = bordered(theme, KeyFocus::Here);
        if let Some(title) = self.list_title() {
            block = block.title(title_span(theme, title));
        }
        frame.render_widget(block, area);
        let inner = inside(area);
        if self.list.is_empty() {
            self.draw_nothing(frame, inner, cx);
            return;
        }
        let window = self.cursor.window(Self::height(cx), self.count());
        for (at, y) in window.zip((inner.top()..inner.bottom()).step_by(2)) {
            let Some(row) = self.row_at(at) else { continue };
            let look = RowLook {
                is_here: at == self.cursor.selected,
                is_marked: self.marks.contains_key(&Self::mark_of(row.0)),
                width: usize::from(inner.width),
            };
            let [first, second] = self.lines(row, look, cx);
            frame.render_widget(first, Rect::new(inner.x, y, inner.width, 1));
            if y + 1 < inner.bottom() {
                frame.render_widget(second, Rect::new(inner.x, y + 1, inner.width, 1));
            }
        }
    }

    /// What the rows have in common, if it is not that they have the words of the query.
    fn list_title(&self) -> Option<&'static str> {
        let found = self.found()?;
        let first = found.rows.first()?;
        if found.is_newest_first {
            return Some("newest first");
        }
        match first.closeness {
            Closeness::Words => None,
            Closeness::Most => Some("no text has all words together · − all but one"),
            Closeness::Apart => Some("no text has all words together · ↔ far apart"),
            Closeness::Slips => Some("not as typed · ≈ with a slip"),
            Closeness::Letters => Some("no such words · ∴ their letters"),
        }
    }

    /// The two lines of a row: the source and its age, and the matching text.
    fn lines(
        &self,
        (row, is_other): (&HitRow, bool),
        look: RowLook,
        cx: &PaneContext<'_>,
    ) -> [Line<'static>; 2] {
        let theme = cx.theme;
        let width = look.width;
        let hit = &row.hit;
        let muted = theme.style(Role::Muted);
        let mark = if look.is_marked {
            look.mark(theme)
        } else if is_other {
            Span::styled("· ", muted)
        } else if hit.source == HitSource::Detail {
            theme.span("◆ ", Role::Accent)
        } else {
            Span::styled("◇ ", muted)
        };
        let indent = if is_other { "  " } else { "" };
        let wide = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>();
        let mut ends = vec![Span::raw(" ")];
        if row.more > 0 {
            let fold = if row.others.is_empty() {
                ""
            } else if self.unfolded.contains(&Self::place_of(row)) {
                "▾"
            } else {
                "▸"
            };
            ends.push(Span::styled(format!("{fold}+{} ", row.more), muted));
        }
        if row.copies > 0 {
            ends.push(Span::styled(format!("×{} ", row.copies + 1), muted));
        }
        let source = self.source(row, is_other, theme);
        if !is_other {
            let taken = wide(&source) + wide(&ends) + indent.len() + 9;
            let left = width.saturating_sub(taken);
            ends.push(Span::styled(owner(row, left, width), muted));
        }
        let old = hit
            .time
            .map_or_else(String::new, |time| format_age(time, cx.now));
        ends.push(Span::styled(format!("{old:>5} "), muted));
        let mut first = vec![Span::raw(indent), mark];
        first.extend(source);
        let room = width.saturating_sub(1 + wide(&first) + wide(&ends));
        // A type that is cut says nothing.
        let badge = badge(row, theme).filter(|badge| !is_other && badge.width() <= room);
        first.extend(badge);
        // A session's title stands in its second line.
        let is_session = hit.source == HitSource::Messages && hit.role.is_none();
        let base = if look.is_here || is_session {
            Style::new()
        } else {
            muted
        };
        let closeness = match row.closeness {
            Closeness::Words => "  ",
            Closeness::Most => "− ",
            Closeness::Apart => "↔ ",
            Closeness::Slips => "≈ ",
            Closeness::Letters => "∴ ",
        };
        let mut second = vec![Span::raw(indent), Span::styled(closeness, muted)];
        let room = width.saturating_sub(4 + indent.len());
        let (text, letters) = scroll_to_match(&row.text, &row.letters, room);
        second.extend(highlight_letters(&text, &letters, base, theme));
        [
            look.line(0, first, ends, theme),
            look.line(0, second, vec![Span::raw(" ")], theme),
        ]
    }

    /// Who or what a row is of: the title of a memory, or who speaks and in which session.
    fn source(&self, row: &HitRow, is_other: bool, theme: &Theme) -> Vec<Span<'static>> {
        let hit = &row.hit;
        let muted = theme.style(Role::Muted);
        if hit.source == HitSource::Detail {
            if is_other {
                return vec![Span::styled(format!("line {}", hit.line), muted)];
            }
            let letters = &row.title_letters;
            return highlight_letters(&hit.title, letters, Style::new(), theme);
        }
        let (who, role) = match hit.role {
            Some(Who::User) => ("you", Role::You),
            Some(Who::Assistant) => (hit.agent.map_or("agent", Agent::short_name), Role::Agent),
            Some(Who::Tool) => ("tool", Role::Tool),
            Some(Who::System) => ("program", Role::Muted),
            None => ("session", Role::Muted),
        };
        let mut spans = vec![theme.span(who, role)];
        if hit.role.is_some() && !is_other {
            let title = format!(" · {}", escape_line(&hit.title));
            spans.push(Span::styled(title, muted));
        }
        spans
    }

    /// Draws what is wrong with the query, or hints for it, when there are no results.
    fn draw_nothing(&self, frame: &mut Frame<'_>, area: Rect, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let Some(found) = self.found() else { return };
        if let Some(wrong) = &found.wrong {
            let reason = Paragraph::new(escape_line(&wrong.reason)).wrap(Wrap { trim: true });
            let area = area.inner(Margin::new(2, 1));
            return frame.render_widget(reason.style(theme.style(Role::Warn)), area);
        }
        if found.progress != SearchState::Complete {
            return;
        }
        let nothing = match cx.reading {
            Some(_) => "Nothing yet: logs are being read.",
            None => "Nothing was found.",
        };
        if !found.without.is_empty() && cx.reading.is_none() {
            return self.draw_without(frame, area, &found.without, cx);
        }
        let help = [
            ("", nothing),
            ("", ""),
            ("word word", "both, in any order"),
            ("\"a phrase\"", "just as it stands"),
            ("'word", "as a whole word"),
            ("^start end$", "ends of a line"),
            ("!not", "lines without it"),
            ("type:project", "a type of memory"),
            ("in:tools", "memories, logs, tools"),
            ("agent:codex", "whose log"),
            ("role:user", "who speaks"),
            ("since:30d", "or before:, a day, an age"),
        ];
        // In two columns where they would not fit below each other.
        const HEAD: usize = 2;
        const COLUMN: u16 = 36;
        let rows = usize::from(area.height.saturating_sub(1));
        let is_divided = rows < help.len() && area.width >= 2 * COLUMN;
        let half = if is_divided {
            HEAD + (help.len() - HEAD).div_ceil(2)
        } else {
            help.len()
        };
        for (at, (key, means)) in help.iter().enumerate() {
            let (x, row) = match at.checked_sub(half) {
                Some(below) => (COLUMN, HEAD + below),
                None => (0, at),
            };
            if row >= rows {
                continue;
            }
            let line = if key.is_empty() {
                theme.line(*means, Role::Text)
            } else {
                Line::from(vec![
                    theme.span(cells::fit(key, 14), Role::KeyHint),
                    theme.span(*means, Role::Muted),
                ])
            };
            let y = area.y + 1 + u16::try_from(row).unwrap_or(0);
            let left = (2 + x).min(area.width);
            let width = if is_divided && x == 0 {
                COLUMN
            } else {
                area.width - left
            };
            frame.render_widget(line, Rect::new(area.x + left, y, width, 1));
        }
    }
}

impl FindPane {
    /// Draws how much would be found without each filter; Enter leaves the first one out.
    fn draw_without(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        without: &[(String, usize)],
        cx: &PaneContext<'_>,
    ) {
        let theme = cx.theme;
        let key = cx.keymap.key(KeyContext::Find, Action::Open);
        let mut lines = vec![Line::from("Nothing was found."), Line::default()];
        for (at, (filter, total)) in without.iter().enumerate() {
            let key = key.clone().filter(|_| at == 0).unwrap_or_default();
            lines.push(Line::from(vec![
                theme.span(cells::fit(&key, 7), Role::KeyHint),
                Span::raw(format!("without {}", escape_line(filter))),
                theme.span(format!("  {} found", thousands(*total)), Role::Muted),
            ]));
        }
        draw_lines(frame, area.inner(Margin::new(2, 1)), lines);
    }
}

/// The type of a memory.
fn badge(row: &HitRow, theme: &Theme) -> Option<Span<'static>> {
    let category = row.hit.category.as_ref()?;
    let text = format!("  {}", escape_line(category));
    Some(Span::styled(text, theme.badge(category)))
}

/// Whose a row is, in at most half its `width`: the store of a memory, or the agent and the project of
/// a log. Where few columns are `left`, the title needs them more than the store's name or the agent.
fn owner(row: &HitRow, left: usize, width: usize) -> String {
    let hit = &row.hit;
    let most = (width / 2).saturating_sub(5).max(6);
    let Some(agent) = hit.agent else {
        return store_label(&hit.store, most.min(left.max(width / 4)));
    };
    let project = hit.project.as_deref().map(Path::new).map(short_path);
    let project = project.as_deref().and_then(|path| path.rsplit('/').next());
    let project = project.filter(|name| !name.is_empty()).map(escape_line);
    let agent = agent.short_name();
    let owner = match project {
        Some(project) => {
            let both = format!("{agent} · {project}");
            // An agent that speaks is named at the start of the row already.
            let is_named = hit.role == Some(Who::Assistant);
            if is_named || cells::width(&both) > left {
                project
            } else {
                both
            }
        }
        None => agent.to_owned(),
    };
    cells::cut(&owner, most)
}

/// Cuts the start of a text if its first match would be out of view.
fn scroll_to_match(text: &str, letters: &[u32], width: usize) -> (String, Vec<u32>) {
    const BEFORE: usize = 12;
    let first = letters.first().map_or(0, |letter| *letter as usize);
    if first + BEFORE < width {
        return (text.to_owned(), letters.to_vec());
    }
    let start = first - BEFORE.min(first);
    let rest: String = std::iter::once("…")
        .chain(text.graphemes(true).skip(start + 1))
        .collect();
    let moved = letters.iter().map(|letter| letter - start as u32);
    (rest, moved.collect())
}

/// Returns a text with its matching characters highlighted.
fn highlight_letters(
    text: &str,
    letters: &[u32],
    base: Style,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let found = base.patch(theme.style(Role::Match));
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut next = letters.iter().copied().peekable();
    // The matcher counts graphemes, not chars.
    for (at, piece) in text.graphemes(true).enumerate() {
        let is_match = next.next_if(|letter| *letter as usize == at).is_some();
        let style = if is_match { found } else { base };
        let shown = escape_line(piece);
        match spans.last_mut() {
            Some(span) if span.style == style => span.content.to_mut().push_str(&shown),
            _ => spans.push(Span::styled(shown, style)),
        }
    }
    spans
}

/// In how many memories and sessions it was found, where that is not the number of the lines.
fn places(found: &FindResults) -> String {
    let rows = found.rows.len();
    if rows == 0 || rows >= found.total {
        return String::new();
    }
    let is_cut = rows >= MOST || found.total > MOST_LINES;
    let more = if is_cut { "+" } else { "" };
    format!(
        " in {rows}{more} {}",
        if rows == 1 { "place" } else { "places" }
    )
}

/// Formats a number with separators: `12345` as `12,345`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_match_have_spans_of_their_own() {
        let theme = Theme::default();
        let spans = highlight_letters("refresh", &[0, 1, 4], Style::new(), &theme);
        let status: Vec<&str> = spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(status, ["re", "fr", "e", "sh"]);
    }

    #[test]
    fn a_match_far_to_the_right_comes_into_sight() {
        let text = format!("{}needle", "straw ".repeat(20));
        let letters: Vec<u32> = (120..126).collect();
        let (shown, moved) = scroll_to_match(&text, &letters, 40);
        assert!(
            shown.starts_with('…') && shown.ends_with("straw needle"),
            "{shown}"
        );
        let first = shown.chars().nth(moved[0] as usize);
        assert_eq!((first, moved.len()), (Some('n'), 6));
        let (same, _) = scroll_to_match("short", &[1], 40);
        assert_eq!(same, "short");
    }

    #[test]
    fn long_numbers_are_readable() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ] {
            assert_eq!(thousands(number), expected);
        }
    }
}
