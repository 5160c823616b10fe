//! The context: every piece that an agent loads by itself when it starts here, in order, with its
//! size and what is cut off.

mod view;

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use self::view::PieceText;
use super::list_text::{ListWithText, Parts};
use super::{Pane, Step, perform, push, say, say_trouble};
use crate::core::insight::context::{AgentContext, KnownAgent, Piece};
use crate::core::log::Agent;
use crate::core::text::display::format_size;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Focus};
use crate::tui::model::PaneContext;
use crate::tui::overlay::reader::TextDialog;
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::list::{List, Move, Row};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContextRow {
    /// The number of its piece.
    piece: usize,
    kind: RowKind,
    /// The file of the piece, and which of its pieces it is.
    path: PathBuf,
    nth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Piece,
    /// How much of the agent's limit the piece uses.
    Limit,
    /// What of the piece is not sent.
    Cut,
}

impl Row for ContextRow {
    fn is_same(&self, other: &Self) -> bool {
        let key = |row: &Self| (row.kind, row.nth);
        key(self) == key(other) && self.path == other.path
    }

    fn is_passed(&self) -> bool {
        self.kind != RowKind::Piece
    }
}

fn rows(context: &AgentContext) -> Vec<ContextRow> {
    let mut rows = Vec::new();
    for (at, piece) in context.pieces.iter().enumerate() {
        let before = context.pieces[..at].iter();
        let nth = before.filter(|before| before.path == piece.path).count();
        let limit = piece.limit.map(|_| RowKind::Limit);
        let cut = piece.cut.as_ref().map(|_| RowKind::Cut);
        let kinds = [Some(RowKind::Piece), limit, cut].into_iter().flatten();
        rows.extend(kinds.map(|kind| ContextRow {
            piece: at,
            kind,
            path: piece.path.clone(),
            nth,
        }));
    }
    rows
}

/// The pieces of one agent, and the text of the selected one.
#[derive(Debug, Default)]
pub(crate) struct ContextPane {
    agents: Vec<KnownAgent>,
    /// Which of the agents is shown.
    chosen: usize,
    /// What it loads; `None` while that is read.
    context: Option<Arc<AgentContext>>,
    list: List<ContextRow>,
    filter: RowFilter,
    focus: Focus,
    /// The selected piece, wrapped at the width of its area.
    text: PieceText,
    /// The first visible line of it.
    scroll: usize,
    /// Whether it was opened for a certain agent, and not where it was left.
    is_aimed: bool,
}

impl ContextPane {
    /// Opens the pane for an agent, or else for the first one that is installed.
    pub(crate) fn open(agent: Option<Agent>, cx: &PaneContext<'_>) -> Vec<Step> {
        let agents = cx.user.agents.clone();
        let named = |known: &KnownAgent| Some(known.agent) == agent;
        let chosen = agents.iter().position(named).unwrap_or(0);
        if agents.is_empty() {
            return say("No agent is known here");
        }
        let pane = Self {
            agents,
            chosen,
            is_aimed: agent.is_some(),
            ..Self::default()
        };
        push(pane)
    }

    fn agent(&self) -> Option<KnownAgent> {
        self.agents.get(self.chosen).copied()
    }

    /// Reads what the agent loads.
    fn load(&self) -> Vec<Step> {
        let job = self.agent().map(|known| LibraryJob::Context {
            agent: known.agent,
            draft: None,
        });
        job.map(|job| Step::Effect(Effect::Library(job)))
            .into_iter()
            .collect()
    }

    /// The number of the piece under the cursor.
    fn selected(&self) -> Option<usize> {
        self.list.selected().map(|row| row.piece)
    }

    fn piece(&self) -> Option<&Piece> {
        self.context.as_ref()?.pieces.get(self.selected()?)
    }

    /// Lists the pieces, with the cursor on the same file.
    fn take(&mut self, context: &Arc<AgentContext>, cx: &PaneContext<'_>) {
        if self.context.replace(Arc::clone(context)).is_none() {
            self.scroll = 0;
        }
        self.lay_out(cx);
    }

    /// Lists the pieces that the filter shows, with the cursor on the same one.
    fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let Some(context) = &self.context else { return };
        let mut rows = rows(context);
        rows.retain(|row| {
            let piece = &context.pieces[row.piece];
            let (kind, name) = (piece.kind.name(), context.name_of(&piece.path));
            let text = format!("{kind} {name} {}{}", piece.text, piece.rest);
            self.filter.shows(&text)
        });
        self.list.replace(rows, Parts::of(cx).height());
        self.show(cx);
    }

    /// Wraps the selected piece and keeps what is shown of it inside of it.
    fn show(&mut self, cx: &PaneContext<'_>) {
        self.list.fit(Parts::of(cx).height());
        self.text = self.piece().map_or_else(PieceText::default, |piece| {
            PieceText::new(piece, Parts::of(cx).inner_text().width)
        });
        self.scroll_by(0, cx);
    }

    /// Shows the next agent, or the one before.
    fn turn(&mut self, by: isize) -> Vec<Step> {
        let agents = self.agents.len();
        let next = self.chosen.checked_add_signed(by);
        match next.unwrap_or(agents.saturating_sub(1)) {
            next if next < agents => self.choose(next),
            _ => self.choose(0),
        }
    }

    fn choose(&mut self, agent: usize) -> Vec<Step> {
        self.chosen = agent;
        (self.context, self.focus) = (None, Focus::Tree);
        self.list = List::default();
        self.text = PieceText::default();
        self.load()
    }

    /// Opens the file of the piece in the editor, if tome may edit it.
    fn edit(&self) -> Vec<Step> {
        let (Some(context), Some(at)) = (&self.context, self.selected()) else {
            return Vec::new();
        };
        let job = LibraryJob::EditPiece {
            context: Arc::clone(context),
            at,
        };
        perform(Effect::Library(job))
    }

    /// Shows a piece that tome does not edit, and why.
    fn read_only(context: &AgentContext, piece: &Piece, why: &str) -> Vec<Step> {
        let name = context.name_of(&piece.path);
        let text = format!("Read only: {why}\n\n{}{}", piece.text, piece.rest);
        push(TextDialog::text(name, &text))
    }

    fn back(&mut self) -> Vec<Step> {
        match self.focus {
            Focus::Preview => {
                self.focus = Focus::Tree;
                Vec::new()
            }
            Focus::Tree => vec![Step::Close],
        }
    }
}

impl ListWithText for ContextPane {
    type Row = ContextRow;

    fn list(&mut self) -> &mut List<ContextRow> {
        &mut self.list
    }

    fn selected_other(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.scroll = 0;
        self.show(cx);
        Vec::new()
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.focus == Focus::Preview {
            return self.scroll_by(to.lines(1), cx);
        }
        if self.list.step(to, Parts::of(cx).height()) {
            return self.selected_other(cx);
        }
        Vec::new()
    }

    /// Moves in the list, also while the keys are in the text.
    fn wheeled(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        self.focus = Focus::Tree;
        self.moved(to, cx)
    }

    fn row_clicked(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list.select(row, Move::Up);
        self.focus = Focus::Tree;
        self.selected_other(cx)
    }

    fn text_clicked(&mut self, _at: Position, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.focus = Focus::Preview;
        Vec::new()
    }
}

impl Pane for ContextPane {
    fn key_context(&self) -> KeyContext {
        self.filter.key_context(KeyContext::Context)
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        Parts::of(cx).scroll(&mut self.scroll, lines, self.text.lines.len());
        Vec::new()
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if let Some(steps) = self.act_on_list(action, cx) {
            return Some(steps);
        }
        Some(match action {
            Action::Right if self.piece().is_some() => {
                self.focus = Focus::Preview;
                Vec::new()
            }
            Action::Right => Vec::new(),
            Action::Left => {
                self.focus = Focus::Tree;
                Vec::new()
            }
            Action::NextAgent => self.turn(1),
            Action::PreviousAgent => self.turn(-1),
            Action::Open => self.edit(),
            Action::Reload => self.load(),
            Action::Back => self.back(),
            _ => return None,
        })
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.filter)
    }

    fn filtered(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.focus = Focus::Tree;
        self.lay_out(cx);
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let is_click = mouse.kind == MouseEventKind::Down(MouseButton::Left);
        let at = Position::new(mouse.column, mouse.row);
        match self.agent_at(at, cx).filter(|_| is_click) {
            Some(agent) if agent == self.chosen => Vec::new(),
            Some(agent) => self.choose(agent),
            None => self.list_mouse(mouse, cx),
        }
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::ContextRead {
                draft: None,
                result: Ok(context),
            } if self
                .agent()
                .is_some_and(|known| known.agent == context.agent) =>
            {
                self.take(context, cx);
                Vec::new()
            }
            Event::ContextRead {
                draft: None,
                result: Err(error),
            } => say_trouble(error.to_string()),
            Event::PieceRead {
                context,
                at,
                result: Err(why),
            } => match context.pieces.get(*at) {
                Some(piece) => Self::read_only(context, piece, why),
                None => Vec::new(),
            },
            Event::Committed { .. } | Event::Indexed(_) => self.load(),
            _ => Vec::new(),
        }
    }

    fn identity(&self) -> Option<String> {
        (!self.is_aimed).then(|| "context".to_owned())
    }

    fn rest(&mut self) {
        self.is_aimed = false;
    }

    fn resume(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.load()
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.show(cx);
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement::of(self.focus))
    }

    fn title(&self, cx: &PaneContext<'_>) -> Option<String> {
        let agent = self.agent()?.agent.name();
        let place = self
            .context
            .as_ref()
            .map(|context| context.name_of(&context.cwd));
        let place = place.unwrap_or_else(|| cx.user.title.clone());
        Some(format!("context · {agent} in {place}"))
    }

    fn facts(&self) -> Option<String> {
        let Some(context) = &self.context else {
            return Some(String::new());
        };
        let mut facts = vec![
            format_size(context.bytes() as u64),
            count(context.tokens(), "token", "tokens"),
        ];
        let is_cut = |piece: &&Piece| piece.cut.is_some() && !piece.text.is_empty();
        match context.pieces.iter().filter(is_cut).count() {
            0 => {}
            cuts => facts.push(format!("{cuts} cut")),
        }
        Some(facts.join(" · "))
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Open | Action::Right => self.piece().is_some(),
            Action::NextAgent => self.agents.len() > 1,
            _ => true,
        }
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw(frame, cx);
    }
}
