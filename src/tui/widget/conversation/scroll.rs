//! Moving in a conversation: the cursor and the scroll position, which follow each other.

use super::{Conversation, Viewport};
use crate::tui::widget::list::Move;

impl Conversation {
    /// Moves the cursor.
    pub(crate) fn step(&mut self, step: Move, viewport: Viewport<'_>) {
        let last = self.pieces.len().saturating_sub(1);
        let half = (viewport.height / 2).max(1) as isize;
        let page = viewport.height.saturating_sub(2).max(1) as isize;
        match step {
            Move::Down if self.reaches_below(viewport) => self.scroll(1, viewport),
            Move::Up if self.reaches_above() => self.scroll(-1, viewport),
            Move::Down => {
                self.selected = (self.selected + 1).min(last);
                self.reveal(viewport);
            }
            Move::Up => {
                self.selected = self.selected.saturating_sub(1);
                self.reveal_end(viewport);
            }
            Move::HalfDown => self.scroll(half, viewport),
            Move::HalfUp => self.scroll(-half, viewport),
            Move::PageDown => self.scroll(page, viewport),
            Move::PageUp => self.scroll(-page, viewport),
            Move::First => {
                self.selected = 0;
                self.top = (0, 0);
                self.lay_out(viewport);
            }
            Move::Last => {
                self.selected = last;
                self.top = self.with_end_of(last, viewport);
                self.lay_out(viewport);
            }
        }
    }

    pub(crate) fn step_turn(&mut self, step: Move, viewport: Viewport<'_>) {
        let starts = |at: &usize| self.pieces[*at].starts;
        let found = match step {
            Move::Up => (0..self.selected).rev().find(starts),
            _ => (self.selected + 1..self.pieces.len()).find(starts),
        };
        if let Some(found) = found {
            self.selected = found;
            self.top = (found, 0).min(self.last_top(viewport));
            self.lay_out(viewport);
        }
    }

    /// Scrolls by lines; the cursor stays on the screen.
    pub(crate) fn scroll(&mut self, rows: isize, viewport: Viewport<'_>) {
        let (mut piece, line) = self.top;
        let mut line = line as isize + rows;
        while line < 0 && piece > 0 {
            piece -= 1;
            line += self.height(piece, viewport) as isize;
        }
        let mut line = line.max(0) as usize;
        while piece + 1 < self.pieces.len() && line >= self.height(piece, viewport) {
            line -= self.height(piece, viewport);
            piece += 1;
        }
        self.top = (piece, line).min(self.last_top(viewport));
        self.lay_out(viewport);
        let (first, last) = self.window(viewport);
        self.selected = self.selected.clamp(first, last);
    }

    /// Selects the piece at a row of the screen.
    pub(crate) fn click(&mut self, row: usize, viewport: Viewport<'_>) {
        let mut left = row + self.top.1;
        let mut piece = self.top.0;
        while piece < self.pieces.len() {
            let height = self.height(piece, viewport);
            if left < height {
                self.selected = piece;
                return;
            }
            left -= height;
            piece += 1;
        }
    }

    /// Returns the row of the screen at which the selected piece begins.
    pub(super) fn row(&mut self, viewport: Viewport<'_>) -> usize {
        let above = self.top.0..self.selected;
        let rows: usize = above.map(|piece| self.height(piece, viewport)).sum();
        rows.saturating_sub(self.top.1).min(viewport.height)
    }

    /// Whether the selected piece continues below the screen.
    fn reaches_below(&mut self, viewport: Viewport<'_>) -> bool {
        let mut rows = 0;
        for piece in self.top.0..=self.selected.min(self.top.0 + viewport.height) {
            rows += self.height(piece, viewport);
        }
        rows.saturating_sub(self.top.1) > viewport.height && self.top.0 <= self.selected
    }

    /// Whether the selected piece begins above the screen.
    fn reaches_above(&self) -> bool {
        self.top.0 == self.selected && self.top.1 > 0
    }

    /// Scrolls to the selected piece: all of it if it fits, else its beginning.
    pub(super) fn reveal(&mut self, viewport: Viewport<'_>) {
        let start = (self.selected, 0);
        let end = self.with_end_of(self.selected, viewport);
        if self.top > start {
            self.top = start;
        } else if self.top < end {
            self.top = end.min(start);
        }
        self.lay_out(viewport);
    }

    /// Scrolls to the selected piece: all of it if it fits, else its end.
    fn reveal_end(&mut self, viewport: Viewport<'_>) {
        let start = (self.selected, 0);
        let end = self.with_end_of(self.selected, viewport);
        if self.top > start {
            self.top = start.max(end);
        } else if self.top < end {
            self.top = end;
        }
        self.lay_out(viewport);
    }

    /// Returns the top at which the last line of a piece is the last of the screen.
    fn with_end_of(&mut self, piece: usize, viewport: Viewport<'_>) -> (usize, usize) {
        let mut at = piece;
        let mut rows = self.height(at, viewport);
        while rows < viewport.height && at > 0 {
            at -= 1;
            rows += self.height(at, viewport);
        }
        (at, rows.saturating_sub(viewport.height))
    }

    /// Returns the top when scrolled to the end.
    fn last_top(&mut self, viewport: Viewport<'_>) -> (usize, usize) {
        let last = self.pieces.len().saturating_sub(1);
        self.with_end_of(last, viewport)
    }

    /// Returns the first and the last piece that are at least partly on the screen.
    pub(super) fn window(&mut self, viewport: Viewport<'_>) -> (usize, usize) {
        let mut last = self.top.0;
        let mut rows = self.height(last, viewport).saturating_sub(self.top.1);
        while rows < viewport.height && last + 1 < self.pieces.len() {
            last += 1;
            rows += self.height(last, viewport);
        }
        (self.top.0, last)
    }
}
