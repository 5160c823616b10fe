//! The command palette: every action of the current context, with its keys.

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::tui::action::Action;
use crate::tui::chrome::Dialog;
use crate::tui::keymap::{KeyContext, Keymap};
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step};
use crate::tui::theme::Role;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::{Cursor, Move, RowLook};

/// An action that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PaletteEntry {
    action: Action,
    desc: String,
    keys: String,
}

/// The list of actions, filtered by the typed text.
#[derive(Debug)]
pub(crate) struct Palette {
    all: Vec<PaletteEntry>,
    found: Vec<usize>,
    input: Input,
    cursor: Cursor,
}

/// Actions that are left out of the palette.
const OBVIOUS: [Action; 10] = [
    Action::Left,
    Action::Right,
    Action::Up,
    Action::Down,
    Action::PageUp,
    Action::PageDown,
    Action::HalfUp,
    Action::HalfDown,
    Action::Palette,
    Action::Back,
];

impl Palette {
    /// Creates a palette with the actions of `context`.
    pub(crate) fn new(keymap: &Keymap, context: KeyContext) -> Self {
        let all: Vec<PaletteEntry> = keymap
            .rows(context)
            .into_iter()
            .filter(|row| !OBVIOUS.contains(&row.run))
            .map(|row| PaletteEntry {
                action: row.run,
                desc: row.desc.clone(),
                keys: row.keys(),
            })
            .collect();
        Self {
            found: (0..all.len()).collect(),
            all,
            input: Input::default(),
            cursor: Cursor::default(),
        }
    }

    /// Lists the actions that have all typed words, those first whose name begins with them.
    fn narrow(&mut self) {
        let text = self.input.text().to_lowercase();
        let mut found: Vec<(u8, usize)> = (0..self.all.len())
            .filter_map(|at| Some((rank(&self.all[at], &text)?, at)))
            .collect();
        found.sort_unstable();
        self.found = found.into_iter().map(|(_, at)| at).collect();
        self.cursor = Cursor::default();
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let rows = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
        let most = cx.areas.whole.height.saturating_sub(4);
        centred(cx.areas.whole, 72, rows.saturating_add(4).min(most))
    }

    /// The rows, below the input and a rule.
    fn rows(area: Rect) -> Rect {
        let inner = Dialog::inner(area);
        let above = inner.height.min(2);
        Rect {
            y: inner.y + above,
            height: inner.height - above,
            ..inner
        }
    }

    fn step(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = usize::from(Self::rows(self.area(cx)).height);
        self.cursor.step(to, height, self.found.len());
        Vec::new()
    }

    fn chosen(&self) -> Vec<Step> {
        match self.found.get(self.cursor.selected) {
            Some(at) => vec![Step::Act(self.all[*at].action)],
            None => Vec::new(),
        }
    }
}

/// Returns how well an action fits the typed words, 0 best; `None` if it lacks one.
fn rank(entry: &PaletteEntry, typed: &str) -> Option<u8> {
    let desc = entry.desc.to_lowercase();
    let all = format!("{desc} {}", entry.action.also().to_lowercase());
    let begins = |text: &str, word: &str| {
        let mut parts = text.split(|c: char| !c.is_alphanumeric() && c != '$' && c != '?');
        parts.any(|part| part.starts_with(word))
    };
    let mut rank = 0;
    for word in typed.split_whitespace() {
        let one = match () {
            () if desc.starts_with(word) => 0,
            () if begins(entry.action.also(), word) => 1,
            () if begins(&desc, word) => 2,
            () if all.contains(word) => 3,
            () => return None,
        };
        rank = rank.max(one);
    }
    Some(rank)
}

impl Pane for Palette {
    fn key_context(&self) -> KeyContext {
        KeyContext::List
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Open => self.chosen(),
            Action::Back => vec![Step::Close],
            action => match Move::of(action) {
                Some(to) => self.step(to, cx),
                None => Vec::new(),
            },
        })
    }

    fn key(&mut self, key: KeyEvent, _cx: &PaneContext<'_>) -> Vec<Step> {
        if self.input.key(key) == InputOutcome::Changed {
            self.narrow();
        }
        Vec::new()
    }

    fn paste(&mut self, text: &str, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.input.paste(text);
        self.narrow();
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = self.area(cx);
        match mouse.kind {
            MouseEventKind::ScrollDown => self.step(Move::Down, cx),
            MouseEventKind::ScrollUp => self.step(Move::Up, cx),
            MouseEventKind::Down(MouseButton::Left) => {
                let at = Position::new(mouse.column, mouse.row);
                match self.cursor.row_at(at, Self::rows(area), self.found.len()) {
                    Some(row) => {
                        self.cursor.selected = row;
                        self.chosen()
                    }
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let dialog = Dialog::new(cx, self.area(cx), "do", KeyContext::List);
        Some(dialog.closed_outside())
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = self.area(cx);
        let inner = Dialog::inner(area);
        if inner.height < 3 {
            return;
        }
        let (typed, column) = self.input.line(theme, inner.width.saturating_sub(2));
        let mut line = vec![theme.span("❯ ", Role::Accent)];
        line.extend(typed.spans);
        let row = |y: u16| Rect::new(inner.x, y, inner.width, 1);
        frame.render_widget(Line::from(line), row(inner.y));
        let rule = "─".repeat(usize::from(inner.width));
        frame.render_widget(theme.line(rule, Role::Border), row(inner.y + 1));
        if self.found.is_empty() {
            let none = theme.span("No action has these words", Role::Muted);
            frame.render_widget(Line::from(none), row(inner.y + 2));
        }
        let line = |at: usize, look: RowLook| {
            let option = &self.all[self.found[at]];
            let keys = format!(" {} ", option.keys);
            let keys = theme.span(keys, Role::KeyHint);
            look.line(1, vec![Span::raw(option.desc.clone())], vec![keys], theme)
        };
        self.cursor
            .draw(frame, Self::rows(area), self.found.len(), line);
        frame.set_cursor_position((inner.x + 2 + column, inner.y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_found_by_its_common_names() {
        let keymap = Keymap::new();
        let best = |typed: &str| {
            let mut palette = Palette::new(&keymap, KeyContext::Tree);
            palette.input.paste(typed);
            palette.narrow();
            let at = *palette.found.first()?;
            let entry = &palette.all[at];
            assert!(!entry.keys.is_empty(), "{typed} has no key");
            Some(entry.action)
        };
        for (typed, expected) in [
            ("rename", Action::Rename),
            ("undo", Action::Undo),
            ("redo", Action::Redo),
            ("quit", Action::Quit),
            ("exit", Action::Quit),
            ("history", Action::History),
            ("review", Action::Review),
            ("accept", Action::Review),
            ("inbox", Action::Review),
            ("filter", Action::Filter),
            ("find", Action::Find),
            ("search", Action::Find),
            ("grep", Action::Find),
            ("narrow", Action::Filter),
            ("help", Action::Help),
            ("reload", Action::Reload),
            ("refresh", Action::Reload),
            ("resume", Action::Resume),
            ("continue", Action::Resume),
            ("duplicate", Action::Duplicate),
            ("clone", Action::Duplicate),
            ("delete", Action::Delete),
            ("remove", Action::Delete),
            ("new", Action::New),
            ("create", Action::New),
            ("edit", Action::Edit),
            ("move", Action::Move),
            ("mark", Action::Mark),
            ("sort", Action::Sort),
            ("copy", Action::Copy),
            ("scope", Action::Scope),
            ("fold", Action::FoldAll),
            ("expand", Action::UnfoldAll),
            ("repaint", Action::Repaint),
            ("suspend", Action::Suspend),
            ("agent", Action::Agent),
            ("preview", Action::TogglePreview),
            ("source", Action::ToggleSource),
            ("demo", Action::Demo),
        ] {
            assert_eq!(best(typed), Some(expected), "{typed}");
        }
        assert!(best("restore").is_some(), "by way of the history");
        assert_eq!(best("dance"), None);
    }
}
