//! The lines on the screen: wrapping, scrolling, and the position under a cell.

use std::ops::Range;

use super::buffer::TextPosition;
use crate::tui::cells;

/// Whether long lines are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// Wrapped between words.
    Soft,
    /// Cut off at the edge; the screen scrolls sideways.
    Off,
}

/// The visible part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EditorScreen {
    /// The first visible line.
    pub(super) top: usize,
    /// The first visible row of that line, if it is wrapped.
    pub(super) row: usize,
    /// The first visible column, if lines are not wrapped.
    pub(super) left: usize,
    /// Width of the text in columns.
    pub(super) width: usize,
    /// Height of the text in rows.
    pub(super) height: usize,
    pub(super) wrap: Wrap,
}

/// How many rows stay between the cursor and the edge.
const MARGIN: usize = 3;

/// One row of the screen: the line, the number of the row in it, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenRow {
    pub(super) line: usize,
    pub(super) nth: usize,
    pub(super) range: Range<usize>,
}

impl EditorScreen {
    /// Returns the rows of a line as byte ranges, at least one.
    pub(super) fn rows(&self, line: &str) -> Vec<Range<usize>> {
        match self.wrap {
            Wrap::Soft if line.len() > self.width => cells::wrap(line, self.width),
            _ => std::iter::once(0..line.len()).collect(),
        }
    }

    /// Returns the number and range of the row of `line` that contains byte `at`.
    pub(super) fn row_of(&self, line: &str, at: usize) -> (usize, Range<usize>) {
        let rows = self.rows(line);
        let nth = rows.iter().rposition(|row| row.start <= at).unwrap_or(0);
        (nth, rows[nth].clone())
    }

    /// Returns the visible rows.
    pub(super) fn visible_rows(&self, lines: &[String]) -> Vec<ScreenRow> {
        let mut seen = Vec::with_capacity(self.height);
        let mut skip = self.row;
        for (line, text) in lines.iter().enumerate().skip(self.top) {
            for (nth, range) in self.rows(text).into_iter().enumerate().skip(skip) {
                if seen.len() == self.height {
                    return seen;
                }
                seen.push(ScreenRow { line, nth, range });
            }
            skip = 0;
        }
        seen
    }

    /// Scrolls as little as possible to make `cursor` visible.
    pub(super) fn reveal(&mut self, lines: &[String], cursor: TextPosition) {
        let margin = MARGIN.min(self.height.saturating_sub(1) / 2);
        let (nth, _) = self.row_of(&lines[cursor.row], cursor.at);
        let here = (cursor.row, nth);
        let highest = self.up(lines, here, margin);
        let lowest = self.up(lines, here, self.height.saturating_sub(1 + margin));
        let top = (self.top.min(lines.len() - 1), self.row);
        let bottom = self.last_top(lines);
        // The end of the text is never above the end of the screen, if the text fills it.
        let top = top.clamp(lowest.min(highest), highest).min(bottom);
        (self.top, self.row) = top;
        if self.wrap == Wrap::Soft {
            self.left = 0;
            return;
        }
        let column = cells::column_of(&lines[cursor.row], cursor.at);
        let edge = (self.width / 8).min(8);
        if column < self.left + edge {
            self.left = column.saturating_sub(edge);
        } else if column + edge >= self.left + self.width {
            self.left = (column + edge + 1).saturating_sub(self.width);
        }
    }

    /// Scrolls by rows, as a wheel does.
    pub(super) fn scroll(&mut self, lines: &[String], rows: isize) {
        let top = (self.top, self.row);
        (self.top, self.row) = if rows < 0 {
            self.up(lines, top, rows.unsigned_abs())
        } else {
            self.down(lines, top, rows.unsigned_abs())
                .min(self.last_top(lines))
        };
    }

    /// Returns the top row when the last line is at the bottom.
    fn last_top(&self, lines: &[String]) -> (usize, usize) {
        let last = lines.len() - 1;
        let end = (last, self.rows(&lines[last]).len() - 1);
        self.up(lines, end, self.height.saturating_sub(1))
    }

    /// Returns the row that is `count` rows above `from`, or the first.
    pub(super) fn up(
        &self,
        lines: &[String],
        from: (usize, usize),
        count: usize,
    ) -> (usize, usize) {
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
            row = self.rows(&lines[line]).len();
        }
        (line, row)
    }

    /// Returns the row that is `count` rows below `from`, or the last.
    pub(super) fn down(
        &self,
        lines: &[String],
        from: (usize, usize),
        count: usize,
    ) -> (usize, usize) {
        let (mut line, mut row) = from;
        let mut count = count;
        loop {
            let rows = self.rows(&lines[line]).len();
            if row + count < rows {
                return (line, row + count);
            }
            if line + 1 == lines.len() {
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
        lines: &[String],
        row: (usize, usize),
        column: usize,
    ) -> TextPosition {
        let line = &lines[row.0];
        let rows = self.rows(line);
        let range = rows[row.1.min(rows.len() - 1)].clone();
        let start = cells::column_of(line, range.start);
        let at = cells::byte_at(line, start + column);
        // The end of a wrapped row is the start of the next, so stop before it.
        let last = if range.end == line.len() {
            range.end
        } else {
            super::motion::before(lines, TextPosition::new(row.0, range.end)).at
        };
        TextPosition::new(row.0, at.clamp(range.start, last.max(range.start)))
    }

    /// Returns the position under a cell of the text's area.
    pub(super) fn position_at(&self, lines: &[String], x: usize, y: usize) -> TextPosition {
        let row = self.down(lines, (self.top, self.row), y);
        self.position(lines, row, self.left + x)
    }
}
