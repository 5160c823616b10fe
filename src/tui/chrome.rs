//! Drawing shared by panes and dialogs: borders, scrolled dialogs, shortened texts, two-ended rows, key hints.

use std::path::{Component, Path};

use ratatui::Frame;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding};
use unicode_width::UnicodeWidthChar as _;

use super::action::Action;
use super::cells::{self, escape_line};
use super::keymap::{KeyContext, Keymap};
use super::layout::inside;
use super::theme::{Role, Theme};
use crate::tui::model::PaneContext;

/// Whether a pane gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFocus {
    Here,
    Elsewhere,
}

impl KeyFocus {
    pub(crate) fn of(is_here: bool) -> Self {
        if is_here { Self::Here } else { Self::Elsewhere }
    }
}

/// Returns the border of a pane.
pub(crate) fn bordered(theme: &Theme, keys: KeyFocus) -> Block<'static> {
    let role = match keys {
        KeyFocus::Here => Role::BorderFocused,
        KeyFocus::Elsewhere => Role::Border,
    };
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.style(role))
}

/// Returns the title on a border, in the text colour instead of the border's.
pub(crate) fn title_span(theme: &Theme, title: &str) -> Span<'static> {
    Span::styled(format!(" {title} "), readable(theme.style(Role::Title)))
}

/// Returns a style that inherits nothing from the border below it.
fn readable(style: Style) -> Style {
    let quiet = style.add_modifier.contains(Modifier::DIM);
    let fg = style.fg.or(Some(Color::Reset));
    if quiet {
        Style { fg, ..style }
    } else {
        Style { fg, ..style }.remove_modifier(Modifier::DIM)
    }
}

/// Returns the border of a dialog, with the title at the top and the keys at the bottom.
pub(crate) fn dialog(cx: &PaneContext<'_>, title: &str, context: KeyContext) -> Block<'static> {
    dialog_with(cx, title, &Hint::of_dialog(cx, context))
}

/// Returns the border of a dialog with hints of its own.
pub(crate) fn dialog_with(cx: &PaneContext<'_>, title: &str, hints: &[Hint]) -> Block<'static> {
    let theme = cx.theme;
    let mut keys = Hint::line(hints, theme);
    keys.spans.insert(0, Span::raw(" "));
    if let Some(last) = keys.spans.last_mut() {
        // The border goes on right behind the last word.
        last.content = format!("{} ", last.content.trim_end()).into();
    }
    for span in &mut keys.spans {
        span.style = readable(span.style);
    }
    bordered(theme, KeyFocus::Here)
        .title_bottom(keys)
        .title(title_span(theme, &escape_line(title)))
        .padding(Padding::horizontal(1))
}

/// Cuts a text to at most `width` columns, keeping the end, the more telling part of a path.
pub(crate) fn fit_end(text: &str, width: usize) -> String {
    let text = escape_line(text);
    if cells::width(&text) <= width {
        return text;
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 0;
    for c in text.chars().rev() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push(c);
    }
    let mut cut = if width > 0 { "…" } else { "" }.to_owned();
    cut.extend(kept.into_iter().rev());
    cut
}

/// Returns the last two components of a path.
pub(crate) fn short_path(path: &Path) -> String {
    let parts: Vec<String> = path
        .components()
        .filter(|part| *part != Component::RootDir)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let from = parts.len().saturating_sub(2);
    let root = if from == 0 && path.has_root() {
        "/"
    } else {
        ""
    };
    format!("{root}{}", parts[from..].join("/"))
}

/// Returns a row with text at both ends; the left text is cut if they do not fit.
pub(crate) fn two_ends<'a>(
    left: Vec<Span<'a>>,
    right: Vec<Span<'a>>,
    width: usize,
    style: Style,
) -> Line<'a> {
    let wide = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>();
    let right_width = wide(&right).min(width);
    let room = width - right_width;
    // What is cut does not touch the other text.
    let is_apart = right_width == 0 || right.iter().any(|span| span.content.starts_with(' '));
    let gap = usize::from(!is_apart);
    let most = if wide(&left) > room {
        room.saturating_sub(gap)
    } else {
        room
    };
    let mut spans = Vec::with_capacity(left.len() + right.len() + 1);
    let mut used = 0;
    for span in left {
        let left_over = most.saturating_sub(used);
        if span.width() <= left_over {
            used += span.width();
            spans.push(span);
        } else {
            let cut = cells::cut(&span.content, left_over);
            used += cells::width(&cut);
            spans.push(Span::styled(cut, span.style));
            break;
        }
    }
    spans.push(Span::raw(" ".repeat(room.saturating_sub(used))));
    spans.extend(right);
    Line::from(spans).style(style)
}

/// A key hint: `e edit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) key: String,
    pub(crate) word: String,
    /// What a click does; `None` for a key that is not in the keymap.
    pub(crate) action: Option<Action>,
}

/// The blanks behind each hint.
const HINT_GAP: usize = 3;
/// The number of hints at the end that always stay: help and leaving.
const LAST_HINTS: usize = 2;

impl Hint {
    /// Returns the most useful keys of a context for actions that `offers` admits. If not all
    /// fit, the last two stay: help and leaving.
    pub(crate) fn of_context(
        keymap: &Keymap,
        context: KeyContext,
        width: u16,
        offers: &dyn Fn(Action) -> bool,
    ) -> Vec<Self> {
        let rows = keymap.rows(context);
        let rows = rows.iter().filter(|row| offers(row.run));
        let mut hints: Vec<Self> = rows
            .filter_map(|row| {
                Some(Self {
                    key: row.on.first()?.to_string(),
                    word: row.hint.clone()?,
                    action: Some(row.run),
                })
            })
            .collect();
        let most = usize::from(width) + HINT_GAP;
        while hints.len() > LAST_HINTS && Self::widths(&hints) > most {
            hints.remove(hints.len() - 1 - LAST_HINTS);
        }
        hints
    }

    /// Returns the keys of a dialog.
    pub(crate) fn of_dialog(cx: &PaneContext<'_>, context: KeyContext) -> Vec<Self> {
        Self::of_context(cx.keymap, context, cx.areas.whole.width, &|_| true)
    }

    /// Returns the action of the hint at a cell of a dialog's border.
    pub(crate) fn action_on_border(hints: &[Self], area: Rect, at: Position) -> Option<Action> {
        let is_bottom = at.y + 1 == area.bottom() && at.x + 1 < area.right();
        // Behind the corner and a blank.
        let column = at.x.checked_sub(area.x + 2).filter(|_| is_bottom)?;
        Self::action_at(hints, usize::from(column))
    }

    /// Adds keys that are not in the keymap, as far as they fit.
    pub(crate) fn add_own(hints: &mut Vec<Self>, own: &[(&str, &str)], width: u16) {
        for (key, word) in own {
            let hint = Self {
                key: (*key).to_owned(),
                word: (*word).to_owned(),
                action: None,
            };
            if Self::widths(hints) + hint.width() <= usize::from(width) + HINT_GAP {
                hints.insert(hints.len().saturating_sub(LAST_HINTS), hint);
            }
        }
    }

    fn widths(hints: &[Self]) -> usize {
        hints.iter().map(Self::width).sum()
    }

    /// The width with the blanks behind it.
    pub(crate) fn width(&self) -> usize {
        cells::width(&self.key) + 1 + cells::width(&self.word) + HINT_GAP
    }

    /// Returns the action of the hint at a column of their line.
    pub(crate) fn action_at(hints: &[Self], column: usize) -> Option<Action> {
        let mut start = 0;
        for hint in hints {
            let end = start + hint.width();
            if (start..end - HINT_GAP).contains(&column) {
                return hint.action;
            }
            start = end;
        }
        None
    }

    /// Returns the line that shows the hints.
    pub(crate) fn line(hints: &[Self], theme: &Theme) -> Line<'static> {
        let mut spans = Vec::new();
        for hint in hints {
            let key = Span::styled(hint.key.clone(), theme.style(Role::KeyHint));
            let word = format!(" {}{}", hint.word, " ".repeat(HINT_GAP));
            spans.push(key);
            spans.push(Span::styled(word, theme.style(Role::Muted)));
        }
        Line::from(spans)
    }
}

/// Returns which lines are on the screen, for the right end of a border; `None` if all are.
pub(crate) fn shown_lines(
    first: usize,
    height: u16,
    count: usize,
    theme: &Theme,
) -> Option<Line<'static>> {
    let height = usize::from(height);
    (count > height).then(|| {
        let last = (first + height).min(count);
        let place = format!(" {}–{last}/{count} ", first + 1);
        Line::from(Span::styled(place, theme.style(Role::Muted))).right_aligned()
    })
}

/// Draws a pane that is empty, and why.
pub(crate) fn draw_empty(
    frame: &mut Frame<'_>,
    area: Rect,
    title: impl Into<Line<'static>>,
    why: &str,
    theme: &Theme,
) {
    let block = bordered(theme, KeyFocus::Here).title(title);
    frame.render_widget(block, area);
    draw_note(frame, inside(area), why, theme);
}

/// Draws a text that says why a pane is empty, wrapped to its width.
pub(crate) fn draw_note(frame: &mut Frame<'_>, area: Rect, text: &str, theme: &Theme) {
    let area = area.inner(Margin::new(1, 0));
    let rows = cells::wrap(text, usize::from(area.width));
    for (row, y) in rows.into_iter().zip(area.top()..area.bottom()) {
        let line = Line::from(Span::styled(text[row].to_owned(), theme.style(Role::Muted)));
        frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
    }
}

/// Draws a dialog with the lines from `scroll` on. If not all fit, its border tells which are shown,
/// unless it has a title on the right already.
pub(crate) fn draw_scrolled(
    frame: &mut Frame<'_>,
    cx: &PaneContext<'_>,
    (area, mut block): (Rect, Block<'static>),
    (lines, scroll, right): (Vec<Line<'_>>, usize, Option<Line<'static>>),
) {
    let inner = block.inner(area);
    let place = shown_lines(scroll, inner.height, lines.len(), cx.theme);
    if let Some(title) = right.or(place) {
        block = block.title(title.right_aligned());
    }
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    for (line, y) in lines
        .into_iter()
        .skip(scroll)
        .zip(inner.top()..inner.bottom())
    {
        frame.render_widget(line, Rect::new(inner.x, y, inner.width, 1));
    }
}

/// Formats a count with its noun: `1 memory`, `2 memories`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_by_its_end() {
        for (path, expected) in [
            ("/repo", "/repo"),
            ("/home/kim/shop", "kim/shop"),
            ("/", "/"),
            ("a/b", "a/b"),
        ] {
            assert_eq!(short_path(Path::new(path)), expected);
        }
    }

    #[test]
    fn a_hint_is_where_it_is_drawn() {
        let keymap = Keymap::new();
        let offers = |action: Action| action != Action::Edit;
        let hints = Hint::of_context(&keymap, KeyContext::Tree, 200, &offers);
        let line = Hint::line(&hints, &Theme::default()).to_string();
        assert!(!line.contains("e edit"), "{line}");
        let at = line.find("d delete").expect("offered");
        assert_eq!(Hint::action_at(&hints, at), Some(Action::Delete));
        assert_eq!(Hint::action_at(&hints, at + 7), Some(Action::Delete));
        assert_eq!(Hint::action_at(&hints, at + 8), None);
        assert_eq!(Hint::action_at(&hints, 500), None);
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(fit_end("a/b/c.md", 5), "…c.md");
    }

    #[test]
    fn the_left_end_gives_way() {
        let line = two_ends(
            vec![Span::raw("a long title")],
            vec![Span::raw("12d")],
            10,
            Style::new(),
        );
        assert_eq!(line.to_string(), "a lon… 12d");
        let line = two_ends(vec![Span::raw("ab")], vec![Span::raw("1")], 6, Style::new());
        assert_eq!(line.to_string(), "ab   1");
    }
}
