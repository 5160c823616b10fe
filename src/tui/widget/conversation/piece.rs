//! The layout of one piece of a conversation: text, a tool call, thinking, or a notice.

use ratatui::text::{Line, Span};

use super::{Conversation, LaidOutPiece, MessageLine};
use crate::core::log::turn::{Speaker, TurnItem};
use crate::core::text::display::{format_size, safe_line};
use crate::tui::cells;
use crate::tui::chrome::fit_end;
use crate::tui::theme::Role;
use crate::tui::widget::markdown::{MEASURE, RenderOptions, render};

/// From this width on, speaker and time have their own columns.
const WIDE: usize = 72;

/// The widths of those columns.
const NAME: usize = 10;
const TIME: usize = 7;

/// The maximum number of rows shown of a text.
const MOST_LINES: usize = 2_000;

/// The maximum number of characters shown of a line.
const LONGEST_LINE: usize = 20_000;

/// A part of a turn that is shown.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) item: TurnItem,
    pub(super) speaker: Speaker,
    pub(super) time: Option<jiff::Zoned>,
    /// Whether it is the first of its turn.
    pub(super) starts: bool,
    /// The number of turns of the user up to here.
    pub(super) turn: usize,
    /// Whether it is the first of its day.
    pub(super) new_day: bool,
}

impl Conversation {
    pub(super) fn lay_out_piece(
        &self,
        piece: &Piece,
        at: usize,
        options: RenderOptions<'_>,
    ) -> LaidOutPiece {
        let theme = options.theme;
        let wide = options.width >= WIDE;
        let gutter = if wide { 2 + NAME + TIME } else { 3 };
        let body = RenderOptions {
            width: options
                .width
                .saturating_sub(gutter + 1)
                .clamp(8, MEASURE + 12),
            ..options
        };
        let mut lines = match at {
            0 => self.summary_lines(gutter, body),
            _ => Vec::new(),
        };
        if piece.starts && at > 0 {
            lines.push(Line::default());
        }
        let (name, role) = self.name(piece.speaker);
        let clock = piece
            .time
            .as_ref()
            .map(|time| time.strftime("%H:%M").to_string())
            .unwrap_or_default();
        if let Some(time) = piece.time.as_ref().filter(|_| piece.new_day) {
            let day = time.strftime("%A, %-d %B %Y").to_string();
            let indent = " ".repeat(gutter);
            lines.push(Line::from(vec![
                Span::raw(indent),
                theme.span(day, Role::Muted),
            ]));
            lines.push(Line::default());
        }
        let above = lines.len();
        if piece.starts && !wide {
            lines.push(Line::from(vec![
                Span::raw("  "),
                theme.span(name, role),
                theme.span(format!("  {clock}"), Role::Muted),
            ]));
        }
        let message = piece.item.message();
        let mut source = vec![MessageLine { message, line: 0 }; lines.len()];
        let shown = self.body(piece.item, piece.speaker, body);
        source.extend(shown.source);
        let mut body_lines = self.words.mark(shown.lines, theme.style(Role::MatchLine));
        if let Some(current) = self.current.filter(|place| place.piece == message) {
            let row = self.row_of(current.at, &body_lines, &source[lines.len()..]);
            if let Some(line) = body_lines.get_mut(row) {
                let style = theme.style(Role::MatchCurrent);
                let marked = self.words.mark(vec![std::mem::take(line)], style);
                *line = marked.into_iter().next().unwrap_or_default();
            }
        }
        for (number, line) in body_lines.into_iter().enumerate() {
            let mut spans = if number == 0 && piece.starts && wide {
                vec![
                    Span::raw("  "),
                    theme.span(cells::fit(name, NAME), role),
                    theme.span(cells::fit(&clock, TIME), Role::Muted),
                ]
            } else {
                vec![Span::raw(" ".repeat(gutter))]
            };
            let style = line.style;
            spans.extend(line.spans.into_iter().map(|span| {
                let over = style.patch(span.style);
                span.style(over)
            }));
            lines.push(Line::from(spans));
        }
        LaidOutPiece {
            lines,
            source,
            above,
        }
    }

    /// Lays out what happened in the conversation.
    fn summary_lines(&self, gutter: usize, options: RenderOptions<'_>) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (at, text) in self.summary.iter().enumerate() {
            let (mark, role) = match at {
                0 => ("", Role::Heading),
                _ => ("• ", Role::Text),
            };
            let room = options.width.saturating_sub(2).max(8);
            let style = options.theme.style(role);
            let rows = cells::styled_rows(text, room, |_| style);
            for (row, spans) in rows.into_iter().enumerate() {
                let mark = if row == 0 { mark } else { "  " };
                let mut line = vec![
                    Span::raw(" ".repeat(gutter)),
                    options.theme.span(mark, Role::Marker),
                ];
                line.extend(spans);
                lines.push(Line::from(line));
            }
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines
    }

    fn body(&self, item: TurnItem, speaker: Speaker, options: RenderOptions<'_>) -> ShownText {
        let theme = options.theme;
        let shown = |at: usize| self.display_beginning(at);
        let mut body = ShownText::default();
        match item {
            TurnItem::Text(at) if speaker == Speaker::Person => {
                body.plain(at, &shown(at), Role::Text, options);
            }
            TurnItem::Text(at) => {
                let text = shown(at);
                let left_out = text[..text.len() - text.trim_start().len()]
                    .matches('\n')
                    .count();
                let text = text.trim();
                let rendered = render(text, 0..text.len(), options);
                body.lines = rendered.lines;
                body.source
                    .extend(rendered.source.into_iter().map(|line| MessageLine {
                        message: at,
                        line: left_out + line,
                    }));
            }
            TurnItem::Thinking(at) => body.plain(at, &shown(at), Role::Quote, options),
            TurnItem::Injected(at) => {
                let note = theme.span("put in by the program", Role::Comment);
                body.push(at, 0, Line::from(note));
                body.plain(at, &shown(at), Role::Muted, options);
            }
            TurnItem::Notice(at) => {
                body.plain(at, &format!("· {}", shown(at)), Role::Muted, options);
            }
            TurnItem::Tool { call, result } => return self.tool(item, (call, result), options),
        }
        body
    }

    /// Lays out a tool call on one line and, if unfolded, its input and result below.
    fn tool(
        &self,
        item: TurnItem,
        (call, result): (Option<usize>, Option<usize>),
        options: RenderOptions<'_>,
    ) -> ShownText {
        let theme = options.theme;
        let is_open = self.is_open(item);
        let message = self.transcript.messages.get(item.message());
        let tool = message.and_then(|message| message.tool.as_deref());
        let tool = tool.map_or_else(|| "tool".to_owned(), safe_line);
        let input = call
            .map(|at| self.display_beginning(at))
            .unwrap_or_default();
        let name = format!("{} ", cells::fit(&tool, cells::width(&tool).max(6)));
        let shown = match result.map(|at| self.text(at)) {
            None => "no result".to_owned(),
            Some(output) => match output.lines().count() {
                0 => "empty".to_owned(),
                1 => format_size(output.len() as u64),
                lines => format!("{lines} lines"),
            },
        };
        let fold = if is_open { "▾ " } else { "▸ " };
        let viewport = options
            .width
            .saturating_sub(2 + cells::width(&name) + cells::width(&shown) + 2);
        let short = cut_value(without_key(first_line(&input)), viewport);
        let mut body = ShownText::default();
        let head = vec![
            theme.span(fold, Role::Muted),
            theme.span(name, Role::Tool),
            theme.span(short, Role::Muted),
            theme.span(format!("  {shown}"), Role::Muted),
        ];
        body.push(item.message(), 0, Line::from(head));
        if !is_open {
            return body;
        }
        let inner = RenderOptions {
            width: options.width.saturating_sub(2).max(8),
            ..options
        };
        let is_told_already = !input.trim().contains('\n') && cells::width(&input) <= viewport;
        let input = call
            .filter(|_| !is_told_already)
            .map(|at| (at, input, Role::Code));
        let output = result.map(|at| (at, self.display_beginning(at), Role::Text));
        for (at, text, role) in input.into_iter().chain(output) {
            body.plain(at, &text, role, inner);
        }
        for line in body.lines.iter_mut().skip(1) {
            line.spans.insert(0, theme.span("│ ", Role::Rule));
        }
        body
    }
}

/// The lines of a text, and what each of them shows.
#[derive(Default)]
struct ShownText {
    lines: Vec<Line<'static>>,
    source: Vec<MessageLine>,
}

impl ShownText {
    fn push(&mut self, message: usize, line: usize, shown: Line<'static>) {
        self.lines.push(shown);
        self.source.push(MessageLine { message, line });
    }

    /// Adds the plain text of a message with long lines wrapped; lines beyond the maximum are only
    /// counted.
    fn plain(&mut self, message: usize, text: &str, role: Role, options: RenderOptions<'_>) {
        let style = options.theme.style(role);
        let shown = text.trim_end().trim_start_matches(['\n', '\r']);
        let left_out = text.len() - text.trim_start_matches(['\n', '\r']).len();
        let mut number = text[..left_out].matches('\n').count();
        let first = self.lines.len();
        let mut rest = shown.lines();
        for line in rest.by_ref() {
            let end = line
                .char_indices()
                .nth(LONGEST_LINE)
                .map_or(line.len(), |(at, _)| at);
            for row in cells::styled_rows(&line[..end], options.width, |_| style) {
                self.push(message, number, Line::from(row));
            }
            number += 1;
            if self.lines.len() - first >= MOST_LINES {
                break;
            }
        }
        let left = rest.count();
        if left > 0 {
            let note = format!("… {left} lines more");
            let note = options.theme.span(note, Role::Muted);
            self.push(message, number, Line::from(note));
        }
    }
}

/// Returns the first line of a tool's input whose value tells something, such as a file or a
/// command; a switch says nothing by itself.
fn first_line(input: &str) -> &str {
    let is_switch = |line: &&str| matches!(without_key(line), "true" | "false" | "null");
    let lines = || input.trim().lines();
    let telling = lines().find(|line| !is_switch(line));
    telling.or_else(|| lines().next()).unwrap_or_default()
}

/// Cuts a value to `width` columns and pads it. The end of a path is what tells it apart.
fn cut_value(value: &str, width: usize) -> String {
    let is_path = value.contains('/') && !value.contains(char::is_whitespace);
    if is_path {
        cells::fit(&fit_end(value, width), width)
    } else {
        cells::fit(value, width)
    }
}

/// Removes the name of the first value of a tool's input: the tool's name makes it clear.
fn without_key(input: &str) -> &str {
    match input.split_once(": ") {
        Some((key, value)) if key.chars().all(|c| c.is_ascii_lowercase() || c == '_') => value,
        _ => input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_call_tells_more_than_a_switch() {
        for (input, line) in [
            (
                "replace_all: false\nfile_path: a.rs\nold_string: x",
                "file_path: a.rs",
            ),
            ("command: false", "command: false"),
            ("command: ls\ntimeout: null", "command: ls"),
            ("", ""),
        ] {
            assert_eq!(first_line(input), line, "{input}");
        }
    }
}
