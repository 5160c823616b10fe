//! The mouse in the editor: clicks, drags and the wheel. Two clicks select a word, three a line.

use std::time::Duration;

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::motion::{self, WordKind};
use super::{Editor, EditorOutcome, TextPosition};

/// Clicks on the same cell within this time belong together.
const AGAIN: Duration = Duration::from_millis(400);

#[derive(Debug, Clone, Copy)]
pub(super) struct Click {
    at: Position,
    time: Duration,
    /// How many clicks there were on this cell, up to three.
    count: usize,
}

impl Editor {
    /// Handles a click, a drag or the wheel; `area` is where the editor was drawn.
    pub(crate) fn mouse(&mut self, event: MouseEvent, area: Rect, time: Duration) -> EditorOutcome {
        self.time = time;
        let cell = Position::new(event.column, event.row);
        let inside = area.contains(cell);
        match event.kind {
            MouseEventKind::ScrollDown if inside => self.scroll(3),
            MouseEventKind::ScrollUp if inside => self.scroll(-3),
            MouseEventKind::Down(MouseButton::Left) if inside => {
                self.leave_visual();
                self.anchor = None;
                self.jump(self.position_under(cell, area));
                self.buffer.end_undo_group();
                match self.count_click(cell) {
                    1 => {}
                    2 => self.select_word(),
                    _ => self.select_line(),
                }
                self.settle();
            }
            MouseEventKind::Drag(MouseButton::Left) => {
                let position = self.position_under(cell, area);
                self.anchor = self.anchor.or(Some(self.cursor));
                self.enter_visual();
                self.jump(position);
                self.settle();
            }
            _ => return EditorOutcome::Unused,
        }
        EditorOutcome::None
    }

    fn position_under(&self, cell: Position, area: Rect) -> TextPosition {
        let x = usize::from(cell.x.saturating_sub(area.x + self.gutter()));
        let y = usize::from(cell.y.saturating_sub(area.y));
        self.screen.position_at(&self.buffer, x, y)
    }

    fn count_click(&mut self, at: Position) -> usize {
        let time = self.time;
        let before = self
            .click
            .filter(|click| click.at == at && time.saturating_sub(click.time) <= AGAIN);
        let count = before.map_or(1, |click| click.count % 3 + 1);
        self.click = Some(Click { at, time, count });
        count
    }

    fn select_word(&mut self) {
        let word = motion::run(self.lines(), self.cursor, WordKind::Small);
        if !word.is_empty() {
            self.select(word.start, word.end);
        }
    }

    fn select_line(&mut self) {
        let row = self.cursor.row;
        self.select(TextPosition::new(row, 0), self.line_end(row));
    }

    /// Selects a range of a line. A selection of vi's keys includes the character at its end.
    fn select(&mut self, start: TextPosition, end: TextPosition) {
        let end = match self.vi {
            Some(_) => motion::before(self.lines(), end),
            None => end,
        };
        self.anchor = Some(start);
        self.enter_visual();
        self.jump(end);
    }
}
