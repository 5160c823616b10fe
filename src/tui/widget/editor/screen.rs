//! The lines on the screen: wrapping, scrolling, and the position under a cell.

use std::sync::Arc;

use super::buffer::{Buffer, TextPosition};
use crate::tui::cells::{self, Row};

/// The visible part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EditorScreen {
    /// The first visible line.
    pub(super) top: usize,
    /// The first visible row of that line, if it is wrapped.
    pub(super) row: usize,
    /// Width of the text in columns.
    pub(super) width: usize,
    /// Height of the text in rows.
    pub(super) height: usize,
}

/// How many rows stay between the cursor and the edge.
const MARGIN: usize = 3;

/// One row of the screen: the line, the number of the row in it, and the row itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenRow {
    pub(super) line: usize,
    pub(super) nth: usize,
    pub(super) row: Row,
}

/// Returns the column of byte `at` in a row, counted from the start of the row.
pub(super) fn column_in(line: &str, row: &Row, at: usize) -> usize {
    let last = cells::cells_in(line, row.range.start..at, row.column).last();
    last.map_or(0, |cell| cell.column + cell.width - row.column)
}

impl EditorScreen {
    /// Returns the rows of a line, at least one.
    pub(super) fn rows(&self, buffer: &Buffer, line: usize) -> Arc<[Row]> {
        buffer.rows(line, self.width)
    }

    /// Returns the number of the row that contains a position, and the row.
    pub(super) fn row_of(&self, buffer: &Buffer, position: TextPosition) -> (usize, Row) {
        let rows = self.rows(buffer, position.row);
        let after = rows.partition_point(|row| row.range.start <= position.at);
        let nth = after.saturating_sub(1);
        (nth, rows[nth].clone())
    }

    pub(super) fn visible_rows(&self, buffer: &Buffer) -> Vec<ScreenRow> {
        let mut seen = Vec::with_capacity(self.height);
        let mut skip = self.row;
        for line in self.top..buffer.lines().len() {
            let rows = self.rows(buffer, line);
            for (nth, row) in rows.iter().enumerate().skip(skip) {
                if seen.len() == self.height {
                    return seen;
                }
                let row = row.clone();
                seen.push(ScreenRow { line, nth, row });
            }
            skip = 0;
        }
        seen
    }

    /// Scrolls as little as possible to make `cursor` visible.
    pub(super) fn reveal(&mut self, buffer: &Buffer, cursor: TextPosition) {
        let margin = MARGIN.min(self.height.saturating_sub(1) / 2);
        let (nth, _) = self.row_of(buffer, cursor);
        let here = (cursor.row, nth);
        let highest = self.up(buffer, here, margin);
        let lowest = self.up(buffer, here, self.height.saturating_sub(1 + margin));
        let top = (self.top.min(buffer.lines().len() - 1), self.row);
        let bottom = self.last_top(buffer);
        // The end of the text is never above the end of the screen, if the text fills it.
        (self.top, self.row) = top.clamp(lowest.min(highest), highest).min(bottom);
    }

    /// Scrolls by rows, as a wheel does.
    pub(super) fn scroll(&mut self, buffer: &Buffer, rows: isize) {
        let top = (self.top, self.row);
        (self.top, self.row) = if rows < 0 {
            self.up(buffer, top, rows.unsigned_abs())
        } else {
            self.down(buffer, top, rows.unsigned_abs())
                .min(self.last_top(buffer))
        };
    }

    /// Returns the top row when the last line is at the bottom.
    fn last_top(&self, buffer: &Buffer) -> (usize, usize) {
        let last = buffer.lines().len() - 1;
        let end = (last, self.rows(buffer, last).len() - 1);
        self.up(buffer, end, self.height.saturating_sub(1))
    }

    /// Returns the row that is `count` rows above `from`, or the first.
    pub(super) fn up(&self, buffer: &Buffer, from: (usize, usize), count: usize) -> (usize, usize) {
        let (mut line, mut row) = from;
        let mut count = count;
        while count > 0 {
            if row >= count {
                return (line, row - count);
            }
            count -= row;
            if line == 0 {
                return (0, 0);
            }
            line -= 1;
            row = self.rows(buffer, line).len();
        }
        (line, row)
    }

    /// Returns the row that is `count` rows below `from`, or the last.
    pub(super) fn down(
        &self,
        buffer: &Buffer,
        from: (usize, usize),
        count: usize,
    ) -> (usize, usize) {
        let (mut line, mut row) = from;
        let mut count = count;
        loop {
            let rows = self.rows(buffer, line).len();
            if row + count < rows {
                return (line, row + count);
            }
            if line + 1 == buffer.lines().len() {
                return (line, rows - 1);
            }
            count -= rows - row;
            line += 1;
            row = 0;
        }
    }

    /// Returns the position nearest to a column of a row.
    pub(super) fn position(
        &self,
        buffer: &Buffer,
        (line, nth): (usize, usize),
        column: usize,
    ) -> TextPosition {
        let text = buffer.line(line);
        let rows = self.rows(buffer, line);
        let row = &rows[nth.min(rows.len() - 1)];
        let range = row.range.clone();
        let at = cells::cells_in(text, range.clone(), row.column)
            .find(|cell| cell.column + cell.width > row.column + column)
            .map_or(range.end, |cell| cell.at);
        // The end of a wrapped row is the start of the next, so stop before it.
        let last = if range.end == text.len() {
            range.end
        } else {
            super::motion::before(buffer.lines(), TextPosition::new(line, range.end)).at
        };
        TextPosition::new(line, at.clamp(range.start, last.max(range.start)))
    }

    /// Returns the position under a cell of the text's area.
    pub(super) fn position_at(&self, buffer: &Buffer, x: usize, y: usize) -> TextPosition {
        let row = self.down(buffer, (self.top, self.row), y);
        self.position(buffer, row, x)
    }
}
