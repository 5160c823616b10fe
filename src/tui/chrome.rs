//! Drawing shared by panes and dialogs: borders, frames of dialogs, shortened texts, two-ended rows,
//! key hints.

use std::path::Path;

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
    let fg = style.fg.or(Some(Color::Reset));
    let style = Style { fg, ..style };
    if style.add_modifier.contains(Modifier::DIM) {
        style
    } else {
        style.remove_modifier(Modifier::DIM)
    }
}

/// The frame of a dialog: what the app draws around its content.
#[derive(Debug)]
pub(crate) struct Dialog {
    /// The area, with the border.
    pub(crate) area: Rect,
    title: String,
    /// The text at the right end of the border.
    right: Option<Line<'static>>,
    hints: Vec<Hint>,
    pub(crate) is_closed_outside: bool,
}

impl Dialog {
    /// Creates a frame with a title and the keys of a context.
    pub(crate) fn new(
        cx: &PaneContext<'_>,
        area: Rect,
        title: impl Into<String>,
        context: KeyContext,
    ) -> Self {
        Self {
            area,
            title: title.into(),
            right: None,
            // Behind the corners and a blank each.
            hints: Hint::of_context(cx.keymap, context, area.width.saturating_sub(4), &|_| true),
            is_closed_outside: false,
        }
    }

    pub(crate) fn closed_outside(mut self) -> Self {
        self.is_closed_outside = true;
        self
    }

    /// Sets the text at the right end of the border.
    pub(crate) fn with_right(self, right: Option<Line<'static>>) -> Self {
        Self { right, ..self }
    }

    /// Replaces the word of an action's hint.
    pub(crate) fn with_word(mut self, action: Action, word: &str) -> Self {
        for hint in &mut self.hints {
            if hint.action == Some(action) {
                hint.word = word.to_owned();
            }
        }
        self
    }

    /// Returns what is inside the border and margins of a dialog in `area`.
    pub(crate) fn inner(area: Rect) -> Rect {
        let padded = Block::bordered().padding(Padding::horizontal(1));
        padded.inner(area)
    }

    /// Draws it, with the title at the top and the keys at the bottom, over what is behind it.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, theme: &Theme) {
        let mut keys = Hint::line(&self.hints, theme);
        keys.spans.insert(0, Span::raw(" "));
        if let Some(last) = keys.spans.last_mut() {
            // The border goes on right behind the last word.
            last.content = format!("{} ", last.content.trim_end()).into();
        }
        for span in &mut keys.spans {
            span.style = readable(span.style);
        }
        let mut block = bordered(theme, KeyFocus::Here)
            .title_bottom(keys)
            .title(title_span(theme, &escape_line(&self.title)));
        if let Some(right) = &self.right {
            block = block.title(right.clone().right_aligned());
        }
        frame.render_widget(Clear, self.area);
        clear_halves(frame, self.area);
        frame.render_widget(block, self.area);
    }

    /// Returns the action of the hint at a cell of the border.
    pub(crate) fn action_at(&self, at: Position) -> Option<Action> {
        let is_bottom = at.y + 1 == self.area.bottom() && at.x + 1 < self.area.right();
        // Behind the corner and a blank.
        let column = at.x.checked_sub(self.area.x + 2).filter(|_| is_bottom)?;
        Hint::action_at(&self.hints, usize::from(column))
    }
}

/// Takes away wide characters that end inside an area: terminals would draw them over its border.
fn clear_halves(frame: &mut Frame<'_>, area: Rect) {
    let Some(left) = area.x.checked_sub(1) else {
        return;
    };
    for y in area.top()..area.bottom() {
        if let Some(cell) = frame.buffer_mut().cell_mut((left, y))
            && cells::width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
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

/// Returns the name of a store for people, in at most `width` columns: the agent, and the end of the
/// project's name, which tells stores apart.
pub(crate) fn store_label(name: &str, width: usize) -> String {
    let Some((agent, project)) = name.split_once('@') else {
        return cells::cut(&escape_line(name), width);
    };
    let agent = format!("{} · ", escape_line(agent));
    match width.checked_sub(cells::width(&agent)) {
        Some(room) if room > 3 => format!("{agent}{}", fit_end(project, room)),
        _ => fit_end(project, width),
    }
}

/// Returns the last two components of a path.
pub(crate) fn short_path(path: &Path) -> String {
    let path_text = path.to_string_lossy();
    // A log may come from Windows.
    let separators: &[char] = if path.has_root() {
        &['/']
    } else {
        &['/', '\\']
    };
    let parts = path_text.split(separators);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
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
    // A text that is cut keeps a blank between itself and the other.
    let is_apart = right_width == 0 || right.iter().any(|span| span.content.starts_with(' '));
    let gap = usize::from(!is_apart);
    let is_cut = wide(&left) > room;
    let most = room.saturating_sub(if is_cut { gap } else { 0 });
    let mut spans = Vec::with_capacity(left.len() + right.len() + 1);
    let mut used = 0;
    for span in left {
        let left_over = most.saturating_sub(used);
        if span.width() + usize::from(is_cut) <= left_over {
            used += span.width();
            spans.push(span);
        } else {
            // The mark of the cut is there even if it is between two spans.
            let cut = cells::cut(&format!("{}…", span.content), left_over);
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
            let key = theme.span(hint.key.clone(), Role::KeyHint);
            let word = format!(" {}{}", hint.word, " ".repeat(HINT_GAP));
            spans.push(key);
            spans.push(theme.span(word, Role::Muted));
        }
        Line::from(spans)
    }
}

/// Returns how many lines were added and removed: ` +3 −1`; none that are 0.
pub(crate) fn line_counts(added: usize, removed: usize, theme: &Theme) -> Vec<Span<'static>> {
    let counts = [(added, '+', Role::Added), (removed, '−', Role::Removed)];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    counts
        .map(|(count, sign, role)| theme.span(format!(" {sign}{count}"), role))
        .collect()
}

/// Returns how many rows are marked, for the lower border of a list; `None` if there are none.
pub(crate) fn marked_rows(count: usize, theme: &Theme) -> Option<Line<'static>> {
    let line = || theme.line(format!(" {count} marked "), Role::Accent);
    (count > 0).then(|| line().right_aligned())
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
        theme.line(place, Role::Muted).right_aligned()
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
    let rows = cells::wrapped(text, usize::from(area.width)).into_iter();
    draw_lines(frame, area, rows.map(|row| theme.line(row, Role::Muted)));
}

/// Draws lines below each other, as many as there is room for.
pub(crate) fn draw_lines<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    lines: impl IntoIterator<Item = Line<'a>>,
) {
    for (line, y) in lines.into_iter().zip(area.top()..area.bottom()) {
        frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
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
            (
                r"D:\shop\.claude\worktrees\quick-fix",
                "worktrees/quick-fix",
            ),
        ] {
            assert_eq!(short_path(Path::new(path)), expected);
        }
    }

    #[test]
    fn stores_are_told_apart_by_the_ends_of_their_names() {
        for (name, width, expected) in [
            ("claude", 20, "claude"),
            ("claude@work-shop", 20, "claude · work-shop"),
            (
                "claude@work-customers-acme-shop",
                20,
                "claude · …-acme-shop",
            ),
            ("claude@work-shop", 8, "…rk-shop"),
        ] {
            assert_eq!(store_label(name, width), expected);
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
        // A cut between two spans is marked, too.
        let line = two_ends(
            ["to ", "window", " of 10"].map(Span::raw).to_vec(),
            vec![Span::raw(" ")],
            10,
            Style::new(),
        );
        assert_eq!(line.to_string(), "to windo… ");
    }
}
