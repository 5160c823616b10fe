//! Renders tables, fitted to the available width.

use std::ops::Range;

use pulldown_cmark::Alignment;
use ratatui::text::Span;

use super::flow::{self, Piece, PiecePart, wrap};
use crate::tui::cells;
use crate::tui::theme::{Role, Theme};

/// A table that is being parsed.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    cells: Vec<Vec<Piece>>,
    rows: Vec<(usize, Vec<Vec<Piece>>)>,
    at: usize,
}

pub(super) struct TableLine {
    pub(super) spans: Vec<Span<'static>>,
    pub(super) spots: Vec<(usize, Range<usize>)>,
    pub(super) at: usize,
}

/// The minimum width of a column.
const NARROWEST: usize = 3;

/// The maximum number of columns that are shown: more would not fit on any screen, and a long row
/// would take its length in every other row.
const MOST_COLUMNS: usize = 64;

impl Table {
    pub(super) fn new(mut alignments: Vec<Alignment>, at: usize) -> Self {
        alignments.truncate(MOST_COLUMNS);
        Self {
            alignments,
            cells: Vec::new(),
            rows: Vec::new(),
            at,
        }
    }

    pub(super) fn cell(&mut self, pieces: Vec<Piece>) {
        if self.cells.len() < MOST_COLUMNS {
            self.cells.push(pieces);
        }
    }

    pub(super) fn row(&mut self, at: usize) {
        let cells = std::mem::take(&mut self.cells);
        self.rows.push((at, cells));
    }

    pub(super) fn render(mut self, theme: &Theme, available: usize) -> Vec<TableLine> {
        let strong = theme.style(Role::Strong);
        if let Some((_, head)) = self.rows.first_mut() {
            for piece in head.iter_mut().flatten() {
                piece.style = strong.patch(piece.style);
            }
        }
        let widths = self.widths(available);
        let rule = |left: &str, middle: &str, right: &str, at| {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            let line = format!("{left}{}{right}", bars.join(middle));
            TableLine {
                spans: vec![theme.span(line, Role::Rule)],
                spots: Vec::new(),
                at,
            }
        };
        let mut lines = vec![rule("╭", "┬", "╮", self.at)];
        for (n, (at, cells)) in self.rows.iter().enumerate() {
            lines.extend(self.lines(*at, cells, &widths, theme));
            if n == 0 {
                lines.push(rule("├", "┼", "┤", *at));
            }
        }
        let last = self.rows.last().map_or(self.at, |(at, _)| *at);
        lines.push(rule("╰", "┴", "╯", last));
        lines
    }

    fn lines(
        &self,
        at: usize,
        cells: &[Vec<Piece>],
        widths: &[usize],
        theme: &Theme,
    ) -> Vec<TableLine> {
        let empty = Vec::new();
        let wrapped: Vec<(&[Piece], Vec<Vec<PiecePart>>)> = widths
            .iter()
            .enumerate()
            .map(|(n, width)| {
                let pieces = cells.get(n).unwrap_or(&empty);
                (pieces.as_slice(), wrap(pieces, *width))
            })
            .collect();
        let height = wrapped
            .iter()
            .map(|(_, rows)| rows.len())
            .max()
            .unwrap_or(1);
        let bar = theme.style(Role::Rule);
        (0..height)
            .map(|line| {
                let mut spans = Vec::new();
                let mut spots = Vec::new();
                let mut column = 0;
                for (n, (pieces, rows)) in wrapped.iter().enumerate() {
                    spans.push(Span::styled(if n == 0 { "│ " } else { " │ " }, bar));
                    column += if n == 0 { 2 } else { 3 };
                    let row = rows.get(line).map_or(&[][..], Vec::as_slice);
                    let missing = widths[n].saturating_sub(flow::width(row));
                    let alignment = self.alignments.get(n).copied();
                    let (before, after) = pad(alignment.unwrap_or(Alignment::None), missing);
                    spans.push(Span::raw(" ".repeat(before)));
                    spots.extend(flow::spots(row, pieces, column + before));
                    spans.extend(row.iter().map(|part| part.span(pieces)));
                    spans.push(Span::raw(" ".repeat(after)));
                    column += widths[n];
                }
                spans.push(Span::styled(" │", bar));
                TableLine { spans, spots, at }
            })
            .collect()
    }

    /// Returns the widths of the columns: those of their content, with the widest columns reduced
    /// until the table fits.
    fn widths(&self, available: usize) -> Vec<usize> {
        let columns = self.alignments.len().max(1);
        let mut widths = vec![NARROWEST; columns];
        for (_, row) in &self.rows {
            for (width, pieces) in widths.iter_mut().zip(row) {
                let wanted: usize = pieces.iter().map(|piece| cells::width(&piece.text)).sum();
                // A column never gets more than all of the width.
                *width = (*width).max(wanted.min(available));
            }
        }
        let available = available.saturating_sub(3 * columns + 1);
        while widths.iter().sum::<usize>() > available {
            let Some(widest) = widths.iter_mut().max() else {
                break;
            };
            if *widest <= NARROWEST {
                break;
            }
            *widest -= 1;
        }
        widths
    }
}

/// Returns the blanks before and after a cell's text.
fn pad(alignment: Alignment, missing: usize) -> (usize, usize) {
    match alignment {
        Alignment::Right => (missing, 0),
        Alignment::Center => (missing / 2, missing - missing / 2),
        Alignment::Left | Alignment::None => (0, missing),
    }
}
