//! The dialog for choosing one of several things, such as the store that memories are moved to.

use std::path::PathBuf;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::core::insight::rehome::FormerHome;
use crate::core::insight::timeline::node::NodeId;
use crate::core::log::LogFile;
use crate::tui::action::Action;
use crate::tui::cells::escape_line;
use crate::tui::chrome::{Dialog, count};
use crate::tui::effect::Request;
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{centred, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step, say};
use crate::tui::theme::Role;
use crate::tui::widget::list::{Cursor, Move, RowLook};

/// Something that can be chosen.
#[derive(Debug)]
pub(crate) struct ChooserOption {
    pub(crate) label: String,
    /// A remark at the end of the row.
    pub(crate) detail: String,
    pub(crate) choice: Choice,
}

/// What a choice does.
#[derive(Debug, Clone)]
pub(crate) enum Choice {
    /// Plans a change.
    Change(Box<Request>),
    /// Shows a node of the timeline.
    GoTo(NodeId),
    /// Shows the message at a line of a log.
    Message(LogFile, u64),
}

/// The list to choose from.
#[derive(Debug)]
pub(crate) struct Chooser {
    title: String,
    options: Vec<ChooserOption>,
    cursor: Cursor,
    width: u16,
}

/// The width, unless another is asked for.
const WIDTH: u16 = 64;

impl Chooser {
    pub(crate) fn new(title: String, options: Vec<ChooserOption>) -> Self {
        Self {
            title,
            options,
            cursor: Cursor::default(),
            width: WIDTH,
        }
    }

    /// Makes it wider or narrower.
    pub(crate) fn with_width(self, width: u16) -> Self {
        Self { width, ..self }
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let rows = u16::try_from(self.options.len()).unwrap_or(u16::MAX);
        centred(cx.areas.whole, self.width, rows.saturating_add(2))
    }

    fn step(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = usize::from(self.area(cx).height.saturating_sub(2));
        self.cursor.step(to, height, self.options.len());
        Vec::new()
    }

    fn chosen(&self) -> Vec<Step> {
        let Some(chosen) = self.options.get(self.cursor.selected) else {
            return Vec::new();
        };
        let step = match chosen.choice.clone() {
            Choice::Change(request) => Step::Plan(request),
            Choice::GoTo(node) => Step::Broadcast(Box::new(Event::GoTo(node))),
            Choice::Message(log, line) => {
                Step::Broadcast(Box::new(Event::ShowMessage { log, line }))
            }
        };
        vec![Step::Close, step]
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
        choice: Choice::Change(Box::new(Request::Rehome {
            from: home.root,
            to: to.clone(),
        })),
    };
    let options = homes.into_iter().map(option).collect();
    let title = "bring the memories here of".to_owned();
    vec![Step::Push(Box::new(Chooser::new(title, options)))]
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
        use ratatui::crossterm::event::KeyCode;
        match key.code {
            KeyCode::Char('j') => self.step(Move::Down, cx),
            KeyCode::Char('k') => self.step(Move::Up, cx),
            _ => Vec::new(),
        }
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = self.area(cx);
        match mouse.kind {
            MouseEventKind::ScrollDown => return self.step(Move::Down, cx),
            MouseEventKind::ScrollUp => return self.step(Move::Up, cx),
            MouseEventKind::Down(MouseButton::Left) => {}
            _ => return Vec::new(),
        }
        let at = Position::new(mouse.column, mouse.row);
        match self.cursor.row_at(at, inside(area), self.options.len()) {
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
        let line = |at: usize, look: RowLook| {
            let option = &self.options[at];
            let label = vec![Span::raw(escape_line(&option.label))];
            let detail = format!(" {} ", escape_line(&option.detail));
            let detail = theme.span(detail, Role::Muted);
            look.line(1, label, vec![detail], theme)
        };
        let inner = Dialog::inner(self.area(cx));
        self.cursor.draw(frame, inner, self.options.len(), line);
    }
}
