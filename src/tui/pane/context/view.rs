//! Drawing of the context: the agents, the list of pieces, and the text of the selected one.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::ContextPane;
use super::rows::Row;
use crate::core::insight::context::{AgentContext, CHARACTERS_PER_TOKEN, Piece, PieceKind};
use crate::core::text::display::format_size;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, draw_note, fit_end, title_span, two_ends};
use crate::tui::layout::{Focus, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::list_text::text_area;
use crate::tui::theme::Role;
use crate::tui::widget::meter::Meter;

/// The width of the column with the kinds.
const KIND: usize = 10;

/// The minimum width of the list for a bar that shows the share of each piece, and for its size.
const WIDE: usize = 66;
const ROOMY: usize = 56;

/// The cells of that bar, and of the one of a limit.
const SHARE: usize = 6;
const LIMIT: usize = 8;

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
            let line = escape_line(line);
            let rows = cells::wrap(&line, usize::from(width)).into_iter();
            self.lines
                .extend(rows.map(|row| (part, line[row].to_owned())));
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
        let theme = cx.theme;
        let area = cx.areas.body;
        let block = bordered(theme, KeyFocus::Here).title(self.agents_title(area.width, cx));
        frame.render_widget(block, area);
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
        draw_note(frame, inside(area), &text, theme);
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
                Span::styled(format!(" {name} "), theme.style(Role::Muted))
            };
            names.push((at, name));
        }
        // The shown one and its neighbours.
        let room = usize::from(width).saturating_sub(2);
        let wide = |names: &[(usize, Span<'_>)]| -> usize {
            names.iter().map(|(_, name)| name.width()).sum()
        };
        let (mut from, mut to) = (0, names.len());
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
        let names = self.agent_names(width, cx).into_iter();
        Line::from(names.map(|(_, name)| name).collect::<Vec<_>>())
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

    fn keys(&self, part: Focus) -> KeyFocus {
        if self.focus == part {
            KeyFocus::Here
        } else {
            KeyFocus::Elsewhere
        }
    }

    fn draw_list(&self, frame: &mut Frame<'_>, context: &AgentContext, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let total = format!(
            " {} tokens at {CHARACTERS_PER_TOKEN} characters each ",
            context.tokens()
        );
        let total = cells::cut(&total, usize::from(area.width).saturating_sub(4));
        let total = Line::from(Span::styled(total, theme.style(Role::Muted))).right_aligned();
        let block = bordered(theme, self.keys(Focus::Tree))
            .title(self.agents_title(area.width, cx))
            .title_bottom(total);
        frame.render_widget(block, area);
        let rows = inside(area);
        let width = usize::from(rows.width);
        let window = self
            .cursor
            .window(usize::from(rows.height), self.rows.len());
        for (at, y) in window.zip(rows.top()..rows.bottom()) {
            let row = self.rows[at];
            let Some(piece) = context.pieces.get(row.piece()) else {
                continue;
            };
            let line = match row {
                Row::Piece(_) => {
                    piece_line(piece, context, (at == self.cursor.selected, width), cx)
                }
                Row::Limit(_) => limit_line(piece, width, cx),
                Row::Cut(_) => cut_line(piece, width, cx),
            };
            frame.render_widget(line, Rect::new(rows.x, y, rows.width, 1));
        }
    }

    fn draw_text(&self, frame: &mut Frame<'_>, context: &AgentContext, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.preview;
        let muted = theme.style(Role::Muted);
        let mut block = bordered(theme, self.keys(Focus::Preview));
        let Some(piece) = self.piece() else {
            return frame.render_widget(block, area);
        };
        // Blanks at its ends, which no agent sends, are no part that is missing.
        let is_whole = piece.cut.is_none() && piece.rest.trim().is_empty();
        let right = if is_whole || piece.is_continued() {
            format!(" {} ", sent(piece))
        } else {
            format!(" {} of {} ", sent(piece), format_size(piece.bytes))
        };
        let room = usize::from(area.width).saturating_sub(cells::width(&right) + 6);
        let name = fit_end(&context.name_of(&piece.path), room);
        block = block
            .title(title_span(theme, &name))
            .title(Line::from(Span::styled(right, muted)).right_aligned());
        let text = text_area(cx);
        let lines = self.text.lines.len();
        if lines > usize::from(text.height) {
            let last = (self.scroll + usize::from(text.height)).min(lines);
            let place = format!(" {}–{last}/{lines} ", self.scroll + 1);
            block = block.title_bottom(Line::from(Span::styled(place, muted)).right_aligned());
        }
        frame.render_widget(block, area);
        let shown = self.text.lines.iter().skip(self.scroll);
        for ((part, line), y) in shown.zip(text.top()..text.bottom()) {
            let style = match part {
                Part::Sent => theme.style(Role::Text),
                Part::Cut => theme.style(Role::Warn),
                Part::Unsent => muted,
            };
            let line = Line::from(Span::styled(line.clone(), style));
            frame.render_widget(line, Rect::new(text.x, y, text.width, 1));
        }
    }
}

/// The size of what is sent of a piece.
fn sent(piece: &Piece) -> String {
    format_size(piece.text.len() as u64)
}

/// The row of a piece: kind, file, its share of all tokens, size, tokens.
fn piece_line(
    piece: &Piece,
    context: &AgentContext,
    (is_here, width): (bool, usize),
    cx: &PaneContext<'_>,
) -> Line<'static> {
    let theme = cx.theme;
    let muted = theme.style(Role::Muted);
    let bar = if is_here {
        Span::styled("▌ ", theme.style(Role::Accent))
    } else {
        Span::raw("  ")
    };
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
        bar,
        Span::styled(format!("{kind:<KIND$}"), muted),
        Span::styled(name, style),
        Span::styled(rest, muted),
    ];
    let role = if is_here { Role::Selected } else { Role::Text };
    two_ends(left, right, width, theme.style(role))
}

fn limit_line(piece: &Piece, width: usize, cx: &PaneContext<'_>) -> Line<'static> {
    let theme = cx.theme;
    let Some(limit) = piece.limit else {
        return Line::default();
    };
    let meter = Meter {
        percent: limit.percent(),
        cells: LIMIT,
    };
    let mut left = vec![Span::raw(" ".repeat(2 + KIND))];
    left.extend(meter.line(theme).spans);
    let used: usize = left.iter().map(Span::width).sum();
    let said = format!(" {} of {} {}", limit.used, limit.most, limit.unit);
    // Without room for all of it, the numbers alone.
    let said = if used + cells::width(&said) <= width {
        said
    } else {
        format!(" {} of {}", limit.used, limit.most)
    };
    left.push(Span::styled(said, theme.style(Role::Muted)));
    two_ends(left, Vec::new(), width, theme.style(Role::Text))
}

fn cut_line(piece: &Piece, width: usize, cx: &PaneContext<'_>) -> Line<'static> {
    let cut = escape_line(piece.cut.as_deref().unwrap_or_default());
    let (said, role) = if piece.text.is_empty() {
        (format!("– {cut}"), Role::Muted)
    } else {
        (format!("✂ {cut}"), Role::Warn)
    };
    let left = vec![
        Span::raw(" ".repeat(2 + KIND)),
        Span::styled(said, cx.theme.style(role)),
    ];
    two_ends(left, Vec::new(), width, cx.theme.style(Role::Text))
}
