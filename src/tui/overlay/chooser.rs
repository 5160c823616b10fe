//! The dialog for choosing one of several things, such as the store that memories are moved to, or
//! an action. What is listed may be narrowed by typing.

use std::path::PathBuf;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::core::insight::rehome::FormerHome;
use crate::tui::action::Action;
use crate::tui::cells::escape_line;
use crate::tui::chrome::{Dialog, count};
use crate::tui::effect::Request;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step, push, say};
use crate::tui::theme::Role;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::{Cursor, Move, RowLook};

/// Something that can be chosen.
#[derive(Debug)]
pub(crate) struct ChooserOption {
    pub(crate) label: String,
    /// A remark at the end of the row.
    pub(crate) detail: String,
    /// What a choice does.
    pub(crate) step: Step,
}

#[derive(Debug)]
pub(crate) struct Chooser {
    title: String,
    options: Vec<ChooserOption>,
    search: Option<Search>,
    listed: Vec<usize>,
    cursor: Cursor,
    width: u16,
}

/// How well an option fits what is typed in lower case, 0 best; `None` if it does not.
pub(super) type Rank = fn(&ChooserOption, &str) -> Option<u8>;

/// What is typed to narrow the list.
#[derive(Debug)]
struct Search {
    input: Input,
    rank: Rank,
}

/// The width, unless another is asked for.
const WIDTH: u16 = 64;

impl Chooser {
    pub(crate) fn new(title: impl Into<String>, options: Vec<ChooserOption>) -> Self {
        Self {
            title: title.into(),
            search: None,
            listed: (0..options.len()).collect(),
            options,
            cursor: Cursor::default(),
            width: WIDTH,
        }
    }

    /// Makes it wider or narrower.
    pub(crate) fn with_width(self, width: u16) -> Self {
        Self { width, ..self }
    }

    /// Lists what fits the typed words, the best first.
    pub(super) fn with_search(self, rank: Rank) -> Self {
        let input = Input::default();
        Self {
            search: Some(Search { input, rank }),
            ..self
        }
    }

    fn narrow(&mut self) {
        let Some(search) = &self.search else { return };
        let text = search.input.text().to_lowercase();
        let ranked = |at| Some(((search.rank)(&self.options[at], &text)?, at));
        let mut listed: Vec<(u8, usize)> = (0..self.options.len()).filter_map(ranked).collect();
        listed.sort_unstable();
        self.listed = listed.into_iter().map(|(_, at)| at).collect();
        self.cursor = Cursor::default();
    }

    /// The lines above the rows: the input and a rule.
    fn above(&self) -> u16 {
        if self.search.is_some() { 2 } else { 0 }
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let whole = cx.areas.whole;
        let rows = u16::try_from(self.options.len()).unwrap_or(u16::MAX);
        let rows = rows.saturating_add(2 + self.above());
        let most = whole.height.saturating_sub(2 * self.above());
        centred(whole, self.width, rows.min(most))
    }

    fn rows(&self, cx: &PaneContext<'_>) -> Rect {
        let inner = Dialog::inner(self.area(cx));
        let above = inner.height.min(self.above());
        Rect {
            y: inner.y + above,
            height: inner.height - above,
            ..inner
        }
    }

    fn step(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = usize::from(self.rows(cx).height);
        self.cursor.step(to, height, self.listed.len());
        Vec::new()
    }

    fn chosen(&mut self) -> Vec<Step> {
        match self.listed.get(self.cursor.selected) {
            Some(at) => vec![Step::Close, self.options.swap_remove(*at).step],
            None => Vec::new(),
        }
    }

    /// Draws what is typed, and a rule below it.
    fn view_search(&self, search: &Search, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let inner = Dialog::inner(self.area(cx));
        if inner.height < 3 {
            return;
        }
        let (typed, column) = search.input.line(theme, inner.width.saturating_sub(2));
        let mut line = vec![theme.span("❯ ", Role::Accent)];
        line.extend(typed.spans);
        let row = |y: u16| Rect::new(inner.x, y, inner.width, 1);
        frame.render_widget(Line::from(line), row(inner.y));
        let rule = "─".repeat(usize::from(inner.width));
        frame.render_widget(theme.line(rule, Role::Border), row(inner.y + 1));
        if self.listed.is_empty() {
            let none = theme.line("No action has these words", Role::Muted);
            frame.render_widget(none, row(inner.y + 2));
        }
        frame.set_cursor_position((inner.x + 2 + column, inner.y));
    }
}

/// Lets the user choose which memories of the project are brought here.
pub(crate) fn choose_home(homes: Option<(PathBuf, Vec<FormerHome>)>) -> Vec<Step> {
    let Some((to, homes)) = homes.filter(|(_, homes)| !homes.is_empty()) else {
        return say("Nothing to do: this project has no memories below another path");
    };
    let option = |home: FormerHome| ChooserOption {
        label: home.project.display().to_string(),
        detail: count(home.memories, "memory", "memories"),
        step: Step::Plan(Box::new(Request::Rehome {
            from: home.root,
            to: to.clone(),
        })),
    };
    let options = homes.into_iter().map(option).collect();
    let chooser = Chooser::new("bring the memories here of", options);
    push(chooser)
}

impl Pane for Chooser {
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

    fn key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        match key.code {
            _ if self.search.is_some() => self.type_key(key, cx),
            KeyCode::Char('j') => self.step(Move::Down, cx),
            KeyCode::Char('k') => self.step(Move::Up, cx),
            _ => Vec::new(),
        }
    }

    fn input(&mut self) -> Option<&mut Input> {
        self.search.as_mut().map(|search| &mut search.input)
    }

    fn typed(&mut self, outcome: InputOutcome, _cx: &PaneContext<'_>) -> Vec<Step> {
        if outcome == InputOutcome::Changed {
            self.narrow();
        }
        Vec::new()
    }

    fn wheel(&mut self, _at: Position, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.step(Move::by_wheel(lines), cx)
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.cursor.row_at(at, self.rows(cx), self.listed.len()) {
            Some(row) => {
                self.cursor.selected = row;
                self.chosen()
            }
            None => Vec::new(),
        }
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let dialog = Dialog::new(cx, self.area(cx), &self.title, KeyContext::List);
        Some(dialog.closed_outside())
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let role = match &self.search {
            Some(_) => Role::KeyHint,
            None => Role::Muted,
        };
        let line = |at: usize, look: RowLook| {
            let option = &self.options[self.listed[at]];
            let label = vec![Span::raw(escape_line(&option.label))];
            let detail = theme.span(format!(" {} ", escape_line(&option.detail)), role);
            look.line(1, label, vec![detail], theme)
        };
        let rows = self.rows(cx);
        self.cursor.draw(frame, rows, self.listed.len(), line);
        if let Some(search) = &self.search {
            self.view_search(search, frame, cx);
        }
    }
}
