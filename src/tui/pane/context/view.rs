//! Drawing of the context: the agents, the list of pieces, and the text of the selected one.

use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{ContextPane, RowKind};
use crate::core::insight::context::{AgentContext, CHARACTERS_PER_TOKEN, Piece, PieceKind};
use crate::core::insight::ledger::Account;
use crate::core::text::display::format_size;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, count, draw_empty, draw_note, fit_end, title_span};
use crate::tui::layout::{Focus, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::list_text::{Parts, RowText};
use crate::tui::theme::Role;
use crate::tui::widget::filter::FILTERED;
use crate::tui::widget::list::RowLook;
use crate::tui::widget::meter::Meter;

const KIND: usize = 10;

/// The minimum width of the list for a bar that shows the share of each piece, and for its size.
const WIDE: usize = 66;
const ROOMY: usize = 56;

/// The cells of that bar, and of the one of a limit.
const SHARE: usize = 6;
const LIMIT: usize = 8;

/// Stands for the agents whose names have no room.
const MORE: &str = "… ";

/// The text of a piece, wrapped.
#[derive(Debug, Default)]
pub(super) struct PieceText {
    pub(super) lines: Vec<(Part, String)>,
}

/// What a line of a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Sent,
    /// The line that says what is cut off, where it is cut off.
    Cut,
    Unsent,
}

impl PieceText {
    /// Wraps a piece at this width: what is sent, the cut, what is not sent.
    pub(super) fn new(piece: &Piece, width: u16) -> Self {
        let mut text = Self::default();
        text.push(Part::Sent, &piece.text, width);
        if let Some(cut) = &piece.cut {
            let cut = if piece.text.is_empty() {
                cut.clone()
            } else {
                format!("✂ not loaded: {cut}")
            };
            text.push(Part::Cut, &cut, width);
        }
        text.push(Part::Unsent, &piece.rest, width);
        text
    }

    fn push(&mut self, part: Part, text: &str, width: u16) {
        for line in text.lines() {
            let rows = cells::wrapped(line, usize::from(width)).into_iter();
            self.lines.extend(rows.map(|row| (part, row)));
        }
    }
}

impl ContextPane {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        match &self.context {
            Some(context) if !context.pieces.is_empty() => {
                if cx.areas.tree.area() > 0 {
                    self.draw_list(frame, context, cx);
                }
                if cx.areas.preview.area() > 0 {
                    self.draw_text(frame, context, cx);
                }
            }
            context => self.draw_nothing(frame, context.is_some(), cx),
        }
    }

    fn draw_nothing(&self, frame: &mut Frame<'_>, is_read: bool, cx: &PaneContext<'_>) {
        let area = cx.areas.body;
        let text = match self.agent() {
            Some(known) if is_read => {
                let name = known.agent.name();
                let here = if known.is_installed {
                    ""
                } else {
                    " It has no directory in your home, so it may not be installed."
                };
                format!("{name} loads nothing by itself when it starts here.{here}")
            }
            _ => "reading…".to_owned(),
        };
        let title = self.agents_title(area.width, cx);
        draw_empty(frame, area, title, &text, cx.theme);
    }

    /// The names of the agents with their numbers, the shown one marked, as far as there is room.
    /// One that is not installed is in brackets.
    fn agent_names(&self, width: u16, cx: &PaneContext<'_>) -> Vec<(usize, Span<'static>)> {
        let theme = cx.theme;
        let mut names = Vec::new();
        for (at, known) in self.agents.iter().enumerate() {
            let name = if known.is_installed {
                known.agent.name().to_owned()
            } else {
                format!("({})", known.agent.name())
            };
            let name = if at == self.chosen {
                title_span(theme, &name)
            } else {
                theme.span(format!(" {name} "), Role::Muted)
            };
            names.push((at, name));
        }
        // The shown one and its neighbours.
        let room = usize::from(width).saturating_sub(2);
        let wide = |names: &[(usize, Span<'_>)]| -> usize {
            names.iter().map(|(_, name)| name.width()).sum()
        };
        let (mut from, mut to) = (0, names.len());
        let is_cut = wide(&names) > room;
        let room = room.saturating_sub(if is_cut { cells::width(MORE) } else { 0 });
        while to - from > 1 && wide(&names[from..to]) > room {
            if self.chosen + 1 < to {
                to -= 1
            } else {
                from += 1
            }
        }
        names.drain(from..to).collect()
    }

    fn agents_title(&self, width: u16, cx: &PaneContext<'_>) -> Line<'static> {
        let names = self.agent_names(width, cx);
        let is_cut = names
            .last()
            .is_some_and(|(last, _)| last + 1 < self.agents.len());
        let more = is_cut.then(|| cx.theme.span(MORE, Role::Muted));
        Line::from_iter(names.into_iter().map(|(_, name)| name).chain(more))
    }

    /// The number of the agent whose name is at a cell of the border.
    pub(super) fn agent_at(&self, at: Position, cx: &PaneContext<'_>) -> Option<usize> {
        let is_empty = self
            .context
            .as_ref()
            .is_none_or(|context| context.pieces.is_empty());
        let area = if is_empty {
            cx.areas.body
        } else {
            cx.areas.tree
        };
        let mut start = usize::from(area.x) + 1;
        let column = usize::from(at.x);
        let mut names = self.agent_names(area.width, cx).into_iter();
        let named = names.find_map(|(number, name)| {
            let range = start..start + name.width();
            start = range.end;
            range.contains(&column).then_some(number)
        });
        named.filter(|_| at.y == area.y)
    }

    fn draw_list(&self, frame: &mut Frame<'_>, context: &AgentContext, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let total = format!(
            " {} tokens at {CHARACTERS_PER_TOKEN} characters each ",
            context.tokens()
        );
        let total = cells::cut(&total, usize::from(area.width).saturating_sub(4));
        let total = theme.line(total, Role::Muted).right_aligned();
        let filter = self.filter.title(" filter ❯ ", theme, area.width / 2);
        // There is no room for the names of the agents beside it.
        let title = filter.unwrap_or_else(|| self.agents_title(area.width, cx));
        let block = bordered(theme, KeyFocus::of(self.focus == Focus::Tree))
            .title(title)
            .title_bottom(total);
        frame.render_widget(block, area);
        if self.list.rows().is_empty() {
            draw_note(frame, inside(area), FILTERED, theme);
        }
        self.list.draw(frame, inside(area), |row, look| {
            match (context.pieces.get(row.piece), row.kind) {
                (Some(piece), RowKind::Piece) => piece_line(piece, context, look, cx),
                (Some(piece), RowKind::Limit) => limit_line(piece, look, cx),
                (Some(piece), RowKind::Cut) => cut_line(piece, look, cx),
                (None, _) => Line::default(),
            }
        });
    }

    fn draw_text(&self, frame: &mut Frame<'_>, context: &AgentContext, cx: &PaneContext<'_>) {
        let parts = Parts::of(cx);
        let keys = KeyFocus::of(self.focus == Focus::Preview);
        let Some(piece) = self.piece() else {
            return frame.render_widget(bordered(cx.theme, keys), parts.text);
        };
        // Blanks at its ends, which no agent sends, are no part that is missing.
        let is_whole = piece.cut.is_none() && piece.rest.trim().is_empty();
        let remark = if is_whole || piece.is_continued() {
            format!(" {} ", sent(piece))
        } else {
            format!(" {} of {} ", sent(piece), format_size(piece.bytes))
        };
        let remark = match cx.ledger.of_file(&piece.path) {
            Some(account) => format!(" {} ·{remark}", loaded(account)),
            None => remark,
        };
        let room = usize::from(parts.text.width).saturating_sub(cells::width(&remark) + 6);
        let lines = self.text.lines.iter().map(|(part, line)| {
            let role = match part {
                Part::Sent => Role::Text,
                Part::Cut => Role::Warn,
                Part::Unsent => Role::Muted,
            };
            cx.theme.line(line.clone(), role)
        });
        let text = RowText {
            title: fit_end(&context.name_of(&piece.path), room),
            remark,
            keys,
            lines: lines.collect(),
            scroll: self.scroll,
        };
        text.draw(frame, parts, cx);
    }
}

/// How many sessions had a file in their context or read it, and how often it was corrected.
fn loaded(account: &Account) -> String {
    let sessions = count(account.context.len(), "session", "sessions");
    let (read, corrected) = (account.read.len(), account.corrected.len());
    format!("in context of {sessions}, read {read}, corrected {corrected}")
}

/// The size of what is sent of a piece.
fn sent(piece: &Piece) -> String {
    format_size(piece.text.len() as u64)
}

/// The row of a piece: kind, file, its share of all tokens, size, tokens.
fn piece_line(
    piece: &Piece,
    context: &AgentContext,
    look: RowLook,
    cx: &PaneContext<'_>,
) -> Line<'static> {
    let theme = cx.theme;
    let muted = theme.style(Role::Muted);
    let width = look.width;
    let kind = match piece.kind {
        PieceKind::Import => "  import",
        PieceKind::SubagentMemory => "subagent",
        kind => kind.name(),
    };
    let mut right = Vec::new();
    if width >= WIDE {
        let meter = Meter {
            percent: (piece.tokens() * 100).div_ceil(context.tokens().max(1)),
            cells: SHARE,
        };
        right.push(Span::raw(" "));
        right.extend(meter.bar(theme, Role::Muted));
    }
    let numbers = if width >= ROOMY {
        format!("{:>9} {:>7} ", sent(piece), piece.tokens())
    } else {
        format!("{:>7} ", piece.tokens())
    };
    right.push(Span::styled(numbers, muted));
    let used: usize = right.iter().map(Span::width).sum();
    let rest = if piece.is_continued() {
        ", continued"
    } else {
        ""
    };
    let room = width.saturating_sub(used + 2 + KIND + rest.len());
    let name = fit_end(&context.name_of(&piece.path), room);
    let style = if piece.text.is_empty() {
        muted
    } else {
        Style::new()
    };
    let left = vec![
        Span::styled(format!("{kind:<KIND$}"), muted),
        Span::styled(name, style),
        Span::styled(rest, muted),
    ];
    look.line(1, left, right, theme)
}

fn limit_line(piece: &Piece, look: RowLook, cx: &PaneContext<'_>) -> Line<'static> {
    let theme = cx.theme;
    let Some(limit) = piece.limit else {
        return Line::default();
    };
    let meter = Meter {
        percent: limit.percent(),
        cells: LIMIT,
    };
    let mut left = vec![Span::raw(" ".repeat(KIND))];
    left.extend(meter.line(theme).spans);
    let used: usize = left.iter().map(Span::width).sum();
    let said = format!(" {} of {} {}", limit.used, limit.most, limit.unit);
    // Without room for all of it, the numbers alone.
    let said = if used + 2 + cells::width(&said) <= look.width {
        said
    } else {
        format!(" {} of {}", limit.used, limit.most)
    };
    left.push(theme.span(said, Role::Muted));
    look.line(1, left, Vec::new(), theme)
}

fn cut_line(piece: &Piece, look: RowLook, cx: &PaneContext<'_>) -> Line<'static> {
    let cut = escape_line(piece.cut.as_deref().unwrap_or_default());
    let (said, role) = if piece.text.is_empty() {
        (format!("– {cut}"), Role::Muted)
    } else {
        (format!("✂ {cut}"), Role::Warn)
    };
    let left = vec![Span::raw(" ".repeat(KIND)), cx.theme.span(said, role)];
    look.line(1, left, Vec::new(), cx.theme)
}
