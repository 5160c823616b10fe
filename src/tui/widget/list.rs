//! Long lists: the selected row, what of them is on the screen, and how a row is drawn.
//!
//! [`Cursor`] is the arithmetic, for rows that somebody else keeps. [`List`] keeps its rows: the
//! selection passes over headings, and stays on its row when the rows are others.

use std::collections::BTreeSet;
use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::tui::action::Action;
use crate::tui::chrome::two_ends;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::marks::Marks;

/// How many rows stay between the selection and the edge of the screen, if the list has them.
const MARGIN: usize = 2;

/// How many lines a step of the mouse wheel scrolls.
pub(crate) const WHEEL: isize = 3;

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

    /// Returns the lines by which it scrolls a text, of which a page has so many.
    pub(crate) fn lines(self, page: u16) -> isize {
        let page = isize::try_from(page).unwrap_or(isize::MAX).max(1);
        let half = (page / 2).max(1);
        match self {
            Self::Up => -1,
            Self::Down => 1,
            Self::HalfUp => -half,
            Self::HalfDown => half,
            Self::PageUp => -page,
            Self::PageDown => page,
            Self::First => isize::MIN,
            Self::Last => isize::MAX,
        }
    }
}

/// How a row is drawn: whether it is the selected one, whether it is marked, and how wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLook {
    pub(crate) is_here: bool,
    pub(crate) is_marked: bool,
    pub(crate) width: usize,
}

impl RowLook {
    /// Returns the mark of a marked row, or blanks.
    pub(crate) fn mark(self, theme: &Theme) -> Span<'static> {
        if self.is_marked {
            theme.span("✓ ", Role::Accent)
        } else {
            Span::raw("  ")
        }
    }

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
                is_marked: false,
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

pub(crate) trait Row: Clone {
    /// Whether it is this row of an earlier list.
    fn is_same(&self, other: &Self) -> bool;

    /// What it is marked by; `None` if it cannot be marked.
    fn mark_key(&self) -> Option<&str> {
        None
    }

    /// Whether the selection passes over it.
    fn is_passed(&self) -> bool {
        false
    }
}

/// Rows, one of which is selected, and some of which may be marked.
#[derive(Debug)]
pub(crate) struct List<R> {
    rows: Vec<R>,
    cursor: Cursor,
    /// The row that was selected until it went, if the selection was not moved since.
    lost: Option<R>,
    pub(crate) marks: Marks<String>,
}

impl<R> Default for List<R> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            cursor: Cursor::default(),
            lost: None,
            marks: Marks::default(),
        }
    }
}

impl<R: Row> List<R> {
    pub(crate) fn rows(&self) -> &[R] {
        &self.rows
    }

    pub(crate) fn position(&self) -> usize {
        self.cursor.selected
    }

    pub(crate) fn selected(&self) -> Option<&R> {
        self.rows.get(self.cursor.selected)
    }

    /// Shows other rows. The selection stays on its row, or goes to one near it, and back when that
    /// row is there again. Returns whether it is on another row than before.
    pub(crate) fn replace(&mut self, rows: Vec<R>, height: usize) -> bool {
        let before = std::mem::replace(&mut self.rows, rows);
        let was = before.get(self.cursor.selected);
        self.cursor.follow(&before, &self.rows, R::is_same);
        let is_lost = |row: &R| self.lost.as_ref().is_some_and(|lost| row.is_same(lost));
        let back = self.rows.iter().position(is_lost);
        self.cursor.selected = back.unwrap_or(self.cursor.selected);
        self.pass(Move::Down);
        self.fit(height);
        let stays = matches!((was, self.selected()), (Some(was), Some(is)) if is.is_same(was));
        if back.is_some() {
            self.lost = None;
        } else if !stays && self.lost.is_none() {
            self.lost = was.cloned();
        }
        !stays
    }

    /// Moves the selection and scrolls to it. Returns whether it is on another row.
    pub(crate) fn step(&mut self, step: Move, height: usize) -> bool {
        self.lost = None;
        let before = self.cursor.selected;
        self.cursor.step(step, height, self.rows.len());
        self.pass(step);
        self.fit(height);
        self.cursor.selected != before
    }

    /// Selects a row that is on the screen, or else the nearest in the direction of a move.
    pub(crate) fn select(&mut self, row: usize, else_to: Move) {
        self.lost = None;
        self.cursor.selected = row;
        self.pass(else_to);
    }

    /// The keys of the marked rows, those of an open range included.
    pub(crate) fn marked(&self) -> BTreeSet<String> {
        let mut marked = self.marks.keys().clone();
        marked.extend(self.keys_in_range());
        marked
    }

    /// The rows from the start of the open range to the selection.
    fn range(&self) -> Range<usize> {
        let start = self.marks.range().map(String::as_str);
        let at = start.and_then(|_| self.rows.iter().position(|row| row.mark_key() == start));
        let Some(start) = at else { return 0..0 };
        start.min(self.position())..start.max(self.position()) + 1
    }

    fn keys_in_range(&self) -> Vec<String> {
        keys(self.rows[self.range()].iter()).collect()
    }

    /// Carries out an action on the marks. Returns whether a range was begun; `None` for any other
    /// action.
    pub(crate) fn act_on_marks(&mut self, action: Action, height: usize) -> Option<bool> {
        let begins = self.marks.range().is_none();
        let here = self.selected().and_then(R::mark_key).map(str::to_owned);
        match action {
            Action::Mark if begins => {
                self.marks.toggle(here.into_iter().collect());
                self.step(Move::Down, height);
            }
            Action::MarkRange if begins => {
                self.marks.begin_range(here);
                return Some(self.marks.range().is_some());
            }
            Action::Mark | Action::MarkRange => self.marks.end_range(self.keys_in_range()),
            Action::MarkDown | Action::MarkUp => {
                self.marks.begin_range(here);
                let is_up = action == Action::MarkUp;
                self.step(if is_up { Move::Up } else { Move::Down }, height);
            }
            Action::MarkInvert => {
                self.marks.end_range(self.keys_in_range());
                self.marks.invert(keys(self.rows.iter()));
            }
            Action::MarkNone => self.marks.clear(),
            Action::Back if !begins => self.marks.drop_range(),
            Action::Back if !self.marks.keys().is_empty() => self.marks.clear(),
            _ => return None,
        }
        Some(false)
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
        let range = self.range();
        let line = |at: usize, look| {
            let row: &R = &self.rows[at];
            let is_in = |key| range.contains(&at) || self.marks.keys().contains(key);
            let is_marked = row.mark_key().is_some_and(is_in);
            line(row, RowLook { is_marked, ..look })
        };
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

fn keys<'a, R: Row + 'a>(rows: impl Iterator<Item = &'a R>) -> impl Iterator<Item = String> {
    rows.filter_map(|row| row.mark_key().map(str::to_owned))
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
