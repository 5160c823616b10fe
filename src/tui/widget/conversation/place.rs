//! Moving in a conversation: the cursor, the screen, and what each does to the other.

use super::{Conversation, Room};
use crate::tui::widget::list::Step;

impl Conversation {
    /// Moves the cursor.
    pub fn step(&mut self, step: Step, room: Room<'_>) {
        let last = self.pieces.len().saturating_sub(1);
        let half = (room.height / 2).max(1) as isize;
        let page = room.height.saturating_sub(2).max(1) as isize;
        match step {
            Step::Down if self.reaches_below(room) => self.scroll(1, room),
            Step::Up if self.reaches_above() => self.scroll(-1, room),
            Step::Down => {
                self.selected = (self.selected + 1).min(last);
                self.reveal(room);
            }
            Step::Up => {
                self.selected = self.selected.saturating_sub(1);
                self.reveal_end(room);
            }
            Step::HalfDown => self.scroll(half, room),
            Step::HalfUp => self.scroll(-half, room),
            Step::PageDown => self.scroll(page, room),
            Step::PageUp => self.scroll(-page, room),
            Step::First => {
                self.selected = 0;
                self.top = (0, 0);
                self.lay_out(room);
            }
            Step::Last => {
                self.selected = last;
                self.top = self.with_end_of(last, room);
                self.lay_out(room);
            }
        }
    }

    /// Goes to the next turn, or to the one before.
    pub fn step_turn(&mut self, step: Step, room: Room<'_>) {
        let starts = |at: &usize| self.pieces[*at].starts;
        let found = match step {
            Step::Up => (0..self.selected).rev().find(starts),
            _ => (self.selected + 1..self.pieces.len()).find(starts),
        };
        if let Some(found) = found {
            self.selected = found;
            self.top = (found, 0).min(self.last_top(room));
            self.lay_out(room);
        }
    }

    /// Scrolls by lines; the cursor stays on the screen.
    pub fn scroll(&mut self, rows: isize, room: Room<'_>) {
        let (mut piece, line) = self.top;
        let mut line = line as isize + rows;
        while line < 0 && piece > 0 {
            piece -= 1;
            line += self.height(piece, room) as isize;
        }
        let mut line = line.max(0) as usize;
        while piece + 1 < self.pieces.len() && line >= self.height(piece, room) {
            line -= self.height(piece, room);
            piece += 1;
        }
        self.top = (piece, line).min(self.last_top(room));
        self.lay_out(room);
        let (first, last) = self.window(room);
        self.selected = self.selected.clamp(first, last);
    }

    /// Selects what is at a line of the screen.
    pub fn click(&mut self, row: usize, room: Room<'_>) {
        let mut left = row + self.top.1;
        let mut piece = self.top.0;
        while piece < self.pieces.len() {
            let height = self.height(piece, room);
            if left < height {
                self.selected = piece;
                return;
            }
            left -= height;
            piece += 1;
        }
    }

    /// The line of the screen at which the selected piece begins.
    pub(super) fn row(&mut self, room: Room<'_>) -> usize {
        let above = self.top.0..self.selected;
        let rows: usize = above.map(|piece| self.height(piece, room)).sum();
        rows.saturating_sub(self.top.1).min(room.height)
    }

    /// Whether the selected piece goes on below the screen.
    fn reaches_below(&mut self, room: Room<'_>) -> bool {
        let mut rows = 0;
        for piece in self.top.0..=self.selected.min(self.top.0 + room.height) {
            rows += self.height(piece, room);
        }
        rows.saturating_sub(self.top.1) > room.height && self.top.0 <= self.selected
    }

    /// Whether the selected piece begins above the screen.
    fn reaches_above(&self) -> bool {
        self.top.0 == self.selected && self.top.1 > 0
    }

    /// Shows the selected piece: all of it if there is room, else how it begins.
    fn reveal(&mut self, room: Room<'_>) {
        let start = (self.selected, 0);
        let end = self.with_end_of(self.selected, room);
        if self.top > start {
            self.top = start;
        } else if self.top < end {
            self.top = end.min(start);
        }
        self.lay_out(room);
    }

    /// Shows the selected piece: all of it if there is room, else how it ends.
    fn reveal_end(&mut self, room: Room<'_>) {
        let start = (self.selected, 0);
        let end = self.with_end_of(self.selected, room);
        if self.top > start {
            self.top = start.max(end);
        } else if self.top < end {
            self.top = end;
        }
        self.lay_out(room);
    }

    /// The top at which the last line of a piece is the last of the screen.
    fn with_end_of(&mut self, piece: usize, room: Room<'_>) -> (usize, usize) {
        let mut at = piece;
        let mut rows = self.height(at, room);
        while rows < room.height && at > 0 {
            at -= 1;
            rows += self.height(at, room);
        }
        (at, rows.saturating_sub(room.height))
    }

    /// The furthest that can be scrolled.
    fn last_top(&mut self, room: Room<'_>) -> (usize, usize) {
        let last = self.pieces.len().saturating_sub(1);
        self.with_end_of(last, room)
    }

    /// The first and the last piece of which something is on the screen.
    pub(super) fn window(&mut self, room: Room<'_>) -> (usize, usize) {
        let mut last = self.top.0;
        let mut rows = self.height(last, room).saturating_sub(self.top.1);
        while rows < room.height && last + 1 < self.pieces.len() {
            last += 1;
            rows += self.height(last, room);
        }
        (self.top.0, last)
    }
}
