//! Long lists: the selected row, what of them is on the screen, and how a row is drawn.
//!
//! [`Cursor`] is the arithmetic, for rows that somebody else keeps. [`List`] keeps its rows: the
//! selection passes over headings, and stays on its row when the rows are others.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::tui::action::Action;
use crate::tui::chrome::two_ends;
use crate::tui::theme::{Role, Theme};

/// How many rows stay between the selection and the edge of the screen, if the list has them.
const MARGIN: usize = 2;

/// How many lines a step of the mouse wheel scrolls.
pub(crate) const WHEEL: isize = 3;

/// How far a move goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Up,
    Down,
    HalfUp,
    HalfDown,
    /// A screen less one row, up.
    PageUp,
    /// A screen less one row, down.
    PageDown,
    First,
    Last,
}

impl Move {
    /// Returns the move of a step of the wheel in this direction.
    pub(crate) fn by_wheel(lines: isize) -> Self {
        if lines < 0 { Self::Up } else { Self::Down }
    }

    /// Returns the move that an action asks for.
    pub(crate) fn of(action: Action) -> Option<Self> {
        Some(match action {
            Action::Up => Self::Up,
            Action::Down => Self::Down,
            Action::HalfUp => Self::HalfUp,
            Action::HalfDown => Self::HalfDown,
            Action::PageUp => Self::PageUp,
            Action::PageDown => Self::PageDown,
            Action::Top => Self::First,
            Action::Bottom => Self::Last,
            _ => return None,
        })
    }
}

/// How a row is drawn: whether it is the selected one, and how wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLook {
    pub(crate) is_here: bool,
    pub(crate) width: usize,
}

impl RowLook {
    /// Returns a row with text at both ends, behind so many blanks. The selected one has a bar
    /// before them.
    pub(crate) fn line<'a>(
        self,
        blanks: usize,
        mut left: Vec<Span<'a>>,
        right: Vec<Span<'a>>,
        theme: &Theme,
    ) -> Line<'a> {
        let blanks = " ".repeat(blanks);
        let (bar, role) = if self.is_here {
            let bar = theme.span(format!("▌{blanks}"), Role::Accent);
            (bar, Role::Selected)
        } else {
            (Span::raw(format!(" {blanks}")), Role::Text)
        };
        left.insert(0, bar);
        two_ends(left, right, self.width, theme.style(role))
    }
}

/// The selection and scroll position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    /// The selected row; 0 in an empty list.
    pub selected: usize,
    /// The first row on the screen.
    pub top: usize,
}

impl Cursor {
    /// Returns the rows that are on the screen.
    pub(crate) fn window(&self, height: usize, count: usize) -> Range<usize> {
        let top = self.top.min(count);
        top..count.min(top + height)
    }

    /// Moves the selection and scrolls to it.
    pub(crate) fn step(&mut self, step: Move, height: usize, count: usize) {
        let (half, page) = ((height / 2).max(1), height.saturating_sub(1).max(1));
        let target = match step {
            Move::Up => self.selected.saturating_sub(1),
            Move::Down => self.selected + 1,
            Move::HalfUp => self.selected.saturating_sub(half),
            Move::HalfDown => self.selected + half,
            Move::PageUp => self.selected.saturating_sub(page),
            Move::PageDown => self.selected + page,
            Move::First => 0,
            Move::Last => count,
        };
        // A page scrolls as far as it moves, so that the selection stays at its row of the screen.
        match step {
            Move::HalfUp | Move::PageUp => {
                self.top = self.top.saturating_sub(self.selected - target);
            }
            Move::HalfDown | Move::PageDown => self.top += target - self.selected,
            _ => {}
        }
        self.select(target, height, count);
    }

    /// Selects row `row`, or the last one, and scrolls to it.
    pub(crate) fn select(&mut self, row: usize, height: usize, count: usize) {
        self.selected = row.min(count.saturating_sub(1));
        self.fit(height, count);
    }

    /// Scrolls by rows, as a wheel does; the selection moves only to stay on the screen.
    pub(crate) fn scroll(&mut self, rows: isize, height: usize, count: usize) {
        let last = count.saturating_sub(height);
        self.top = self.top.saturating_add_signed(rows).min(last);
        let margin = margin(height);
        let low = if self.top == 0 { 0 } else { self.top + margin };
        let bottom = (self.top + height).min(count);
        let high = if bottom == count {
            bottom.saturating_sub(1)
        } else {
            bottom.saturating_sub(1 + margin)
        };
        self.selected = self.selected.clamp(low.min(high), high);
    }

    /// Returns the row at a cell, if the rows are drawn in `area`.
    pub(crate) fn row_at(&self, at: Position, area: Rect, count: usize) -> Option<usize> {
        let line = usize::from(at.y.checked_sub(area.y)?);
        let row = self.top + line;
        (area.contains(at) && row < count).then_some(row)
    }

    /// Draws the rows that are on the screen, each as `line` says.
    pub(crate) fn draw<'a>(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        count: usize,
        mut line: impl FnMut(usize, RowLook) -> Line<'a>,
    ) {
        let window = self.window(usize::from(area.height), count);
        for (at, y) in window.zip(area.top()..area.bottom()) {
            let look = RowLook {
                is_here: at == self.selected,
                width: usize::from(area.width),
            };
            frame.render_widget(line(at, look), Rect::new(area.x, y, area.width, 1));
        }
    }

    /// Clamps the selection to the list and scrolls to it, moving as little as possible.
    pub(crate) fn fit(&mut self, height: usize, count: usize) {
        self.selected = self.selected.min(count.saturating_sub(1));
        let margin = margin(height);
        let highest = self.selected.saturating_sub(margin);
        let lowest = (self.selected + margin + 1).saturating_sub(height);
        self.top = self
            .top
            .clamp(lowest.min(highest), highest)
            .min(count.saturating_sub(height));
    }

    /// Keeps the selection when `after` replaces the list `before`: the same row at the same line of
    /// the screen or, if it is missing, the nearest following row that remains, or preceding one.
    pub(crate) fn follow<K>(
        &mut self,
        before: &[K],
        after: &[K],
        is_same: impl Fn(&K, &K) -> bool,
    ) {
        let Some(key) = before.get(self.selected) else {
            return self.selected = self.selected.min(after.len().saturating_sub(1));
        };
        let place = |key: &K| {
            // Most refreshes change little, so check the old row first.
            match after.get(self.selected) {
                Some(same) if is_same(same, key) => Some(self.selected),
                _ => after.iter().position(|other| is_same(other, key)),
            }
        };
        let found = place(key)
            .or_else(|| before[self.selected + 1..].iter().find_map(place))
            .or_else(|| before[..self.selected].iter().rev().find_map(place))
            .unwrap_or(0);
        let line = self.selected.saturating_sub(self.top);
        self.selected = found;
        self.top = found.saturating_sub(line);
    }
}

/// A row of a [`List`].
pub(crate) trait Row: Clone {
    /// Whether it is this row of an earlier list.
    fn is_same(&self, other: &Self) -> bool;

    /// Whether the selection passes over it.
    fn is_passed(&self) -> bool {
        false
    }
}

/// Rows, one of which is selected.
#[derive(Debug)]
pub(crate) struct List<R> {
    rows: Vec<R>,
    cursor: Cursor,
}

impl<R> Default for List<R> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            cursor: Cursor::default(),
        }
    }
}

impl<R: Row> List<R> {
    pub(crate) fn rows(&self) -> &[R] {
        &self.rows
    }

    /// The number of the selected row.
    pub(crate) fn position(&self) -> usize {
        self.cursor.selected
    }

    pub(crate) fn selected(&self) -> Option<&R> {
        self.rows.get(self.cursor.selected)
    }

    /// Shows other rows. The selection stays on its row, or goes to one near it. Returns whether it
    /// is on another row than before.
    pub(crate) fn replace(&mut self, rows: Vec<R>, height: usize) -> bool {
        let before = std::mem::replace(&mut self.rows, rows);
        let was = before.get(self.cursor.selected);
        self.cursor.follow(&before, &self.rows, R::is_same);
        self.pass(Move::Down);
        self.fit(height);
        !matches!((was, self.selected()), (Some(was), Some(is)) if is.is_same(was))
    }

    /// Moves the selection and scrolls to it. Returns whether it is on another row.
    pub(crate) fn step(&mut self, step: Move, height: usize) -> bool {
        let before = self.cursor.selected;
        self.cursor.step(step, height, self.rows.len());
        self.pass(step);
        self.fit(height);
        self.cursor.selected != before
    }

    /// Selects a row that is on the screen, or else the nearest in the direction of a move.
    pub(crate) fn select(&mut self, row: usize, else_to: Move) {
        self.cursor.selected = row;
        self.pass(else_to);
    }

    /// Scrolls to the selection, moving as little as possible.
    pub(crate) fn fit(&mut self, height: usize) {
        self.cursor.fit(height, self.rows.len());
    }

    /// Returns the row at a cell, if the rows are drawn in `area`.
    pub(crate) fn row_at(&self, at: Position, area: Rect) -> Option<usize> {
        self.cursor.row_at(at, area, self.rows.len())
    }

    /// Draws the rows that are on the screen, each as `line` says.
    pub(crate) fn draw<'a>(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        mut line: impl FnMut(&R, RowLook) -> Line<'a>,
    ) {
        let line = |at: usize, look| line(&self.rows[at], look);
        self.cursor.draw(frame, area, self.rows.len(), line);
    }

    /// Leaves a row that cannot be selected, in the direction of a move if there is another one.
    fn pass(&mut self, way: Move) {
        let at = self.cursor.selected.min(self.rows.len());
        let is_kept = |row: &R| !row.is_passed();
        if self.rows.get(at).is_some_and(is_kept) {
            return;
        }
        let above = self.rows[..at].iter().rposition(is_kept);
        let below = self.rows[at..].iter().position(is_kept);
        let below = below.map(|below| at + below);
        let is_up = matches!(way, Move::Up | Move::HalfUp | Move::PageUp | Move::Last);
        let (first, second) = if is_up {
            (above, below)
        } else {
            (below, above)
        };
        self.cursor.selected = first.or(second).unwrap_or(0);
    }
}

fn margin(height: usize) -> usize {
    MARGIN.min(height.saturating_sub(1) / 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(selected: usize, top: usize) -> Cursor {
        Cursor { selected, top }
    }

    #[test]
    fn a_step_scrolls_only_when_it_must() {
        for (from, step, to) in [
            (at(0, 0), Move::Up, at(0, 0)),
            (at(0, 0), Move::Down, at(1, 0)),
            (at(7, 0), Move::Down, at(8, 1)),
            (at(3, 1), Move::Up, at(2, 0)),
            (at(5, 0), Move::PageDown, at(14, 9)),
            (at(14, 9), Move::PageUp, at(5, 0)),
            (at(5, 3), Move::HalfDown, at(10, 8)),
            (at(5, 3), Move::Last, at(99, 90)),
            (at(50, 45), Move::First, at(0, 0)),
            (at(98, 90), Move::PageDown, at(99, 90)),
        ] {
            let mut cursor = from;
            cursor.step(step, 10, 100);
            assert_eq!(cursor, to, "{from:?} {step:?}");
        }
    }

    #[test]
    fn a_refresh_keeps_the_row_or_the_nearest_that_is_left() {
        let before = ["a", "b", "c", "d", "e"];
        for (selected, after, expected) in [
            (2, &["x", "y", "a", "b", "c", "d", "e"][..], 4),
            (2, &["a", "b", "d", "e"], 2),
            (4, &["a", "b", "c"], 2),
            (1, &["x", "y"], 0),
            (1, &[], 0),
        ] {
            let mut cursor = at(selected, 1);
            cursor.follow(&before, after, |a, b| a == b);
            assert_eq!(cursor.selected, expected, "{selected} in {after:?}");
        }
    }

    proptest! {
        #[test]
        fn the_selection_is_always_in_the_list_and_on_the_screen(
            moves in proptest::collection::vec((0..9usize, -9isize..9), 1..40),
            height in 1..30usize,
            count in 0..60usize,
        ) {
            let steps = [Move::Up, Move::Down, Move::HalfUp, Move::HalfDown, Move::PageUp,
                Move::PageDown, Move::First, Move::Last];
            let mut cursor = Cursor::default();
            for (kind, rows) in moves {
                match steps.get(kind) {
                    Some(step) => cursor.step(*step, height, count),
                    None => cursor.scroll(rows, height, count),
                }
                let window = cursor.window(height, count);
                prop_assert!(count == 0 || window.contains(&cursor.selected), "{:?}", cursor);
                prop_assert_eq!(window.len(), height.min(count), "no empty rows: {:?}", cursor);
            }
        }
    }
}
