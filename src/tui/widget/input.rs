//! A one-line text input: for find, rename, the palette and the prompts of the editor.
//!
//! The text and its undo are a text area of one line; it is drawn here, because a line scrolls
//! sideways by columns, not by characters.

use std::fmt;

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;
use ratatui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use super::readline::{self, Command, Motion};
use crate::core::text::one_line;
use crate::tui::cells;
use crate::tui::theme::{Role, Theme};

/// What a key did to the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputOutcome {
    /// Nothing: the caller can use the key.
    Unused,
    /// The cursor moved, or is at an end.
    Moved,
    Changed,
    /// Enter.
    Accepted,
    /// Escape.
    Cancelled,
}

/// One line of text with a cursor.
#[derive(Clone)]
pub(crate) struct Input {
    area: TextArea<'static>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({:?} at {})", self.text(), self.cursor())
    }
}

impl Default for Input {
    fn default() -> Self {
        Self::new("")
    }
}

impl Input {
    /// Creates an input with `text`, and the cursor after it.
    pub(crate) fn new(text: &str) -> Self {
        Self::of_typed(one_line(text))
    }

    /// Like [`Input::new`], for a line that was typed: blanks at its ends stay.
    pub(crate) fn of_typed(line: String) -> Self {
        let mut area = TextArea::new(vec![line]);
        area.move_cursor(CursorMove::End);
        area.set_max_histories(1_000);
        Self { area }
    }

    /// The same, with the cursor at byte `at`.
    pub(crate) fn with_cursor(line: String, at: usize) -> Self {
        let after = line.get(at..).map_or(0, |after| after.chars().count());
        let mut input = Self::of_typed(line);
        for _ in 0..after {
            input.area.move_cursor(CursorMove::Back);
        }
        input
    }

    pub(crate) fn text(&self) -> &str {
        &self.area.lines()[0]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Returns the position of the cursor, in bytes.
    pub(crate) fn cursor(&self) -> usize {
        let at = self.area.cursor().1;
        self.text()
            .char_indices()
            .nth(at)
            .map_or(self.text().len(), |(at, _)| at)
    }

    /// Inserts pasted text, as one line and without control characters.
    pub(crate) fn paste(&mut self, text: &str) -> InputOutcome {
        let line = one_line(text);
        self.area.insert_str(line.replace(char::is_control, ""));
        InputOutcome::Changed
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> InputOutcome {
        match key.code {
            KeyCode::Enter => return InputOutcome::Accepted,
            KeyCode::Esc => return InputOutcome::Cancelled,
            _ => {}
        }
        let Some(command) = readline::command(key) else {
            return InputOutcome::Unused;
        };
        match command {
            Command::Insert(c) => {
                self.area.insert_char(c);
                InputOutcome::Changed
            }
            Command::Move(motion) => self.go(motion),
            Command::Delete(motion) | Command::Kill(motion) => self.delete(motion),
            Command::Paste => changed(self.area.paste()),
            Command::Undo => changed(self.area.undo()),
            Command::Redo => changed(self.area.redo()),
            Command::Newline
            | Command::Indent
            | Command::Dedent
            | Command::Select(_)
            | Command::SelectAll
            | Command::Copy
            | Command::Cut => InputOutcome::Unused,
        }
    }

    fn go(&mut self, motion: Motion) -> InputOutcome {
        let step = match motion {
            Motion::Left => return self.graphemes(Side::Before, CursorMove::Back),
            Motion::Right => return self.graphemes(Side::After, CursorMove::Forward),
            Motion::WordLeft => CursorMove::WordBack,
            Motion::WordRight => CursorMove::WordForward,
            Motion::LineStart | Motion::Start => CursorMove::Head,
            Motion::LineEnd | Motion::End => CursorMove::End,
            Motion::Up | Motion::Down | Motion::PageUp | Motion::PageDown => {
                return InputOutcome::Unused;
            }
        };
        self.area.move_cursor(step);
        InputOutcome::Moved
    }

    fn graphemes(&mut self, side: Side, step: CursorMove) -> InputOutcome {
        for _ in 0..self.neighbour(side) {
            self.area.move_cursor(step);
        }
        InputOutcome::Moved
    }

    /// Returns how many `char`s the grapheme beside the cursor has.
    fn neighbour(&self, side: Side) -> usize {
        let (before, after) = self.text().split_at(self.cursor());
        let letter = match side {
            Side::Before => before.graphemes(true).next_back(),
            Side::After => after.graphemes(true).next(),
        };
        letter.map_or(0, |letter| letter.chars().count())
    }

    fn delete(&mut self, motion: Motion) -> InputOutcome {
        changed(match motion {
            Motion::Left => {
                let letters = self.neighbour(Side::Before);
                self.graphemes(Side::Before, CursorMove::Back);
                letters > 0 && self.area.delete_str(letters)
            }
            Motion::Right => {
                let letters = self.neighbour(Side::After);
                letters > 0 && self.area.delete_str(letters)
            }
            Motion::WordLeft => self.area.delete_word(),
            Motion::WordRight => self.area.delete_next_word(),
            Motion::LineStart => self.area.delete_line_by_head(),
            Motion::LineEnd => self.area.delete_line_by_end(),
            _ => return InputOutcome::Unused,
        })
    }

    /// Returns the visible part of the text in `width` columns, and the column of the cursor.
    ///
    /// A line that is too long scrolls by half the width, so that the text rarely moves during
    /// typing.
    pub(crate) fn line(&self, theme: &Theme, width: u16) -> (Line<'static>, u16) {
        let width = usize::from(width).max(2);
        let cursor = cells::column_of(self.text(), self.cursor());
        let half = width / 2;
        let left = match cursor.checked_sub(width - 1) {
            Some(over) => over.div_ceil(half) * half,
            None => 0,
        };
        let mut shown = String::new();
        let mut column = cursor - left;
        for cell in cells::cells(self.text()) {
            if cell.column < left {
                // A wide character that the edge cuts in half leaves a blank.
                let over = (cell.column + cell.width).saturating_sub(left);
                shown.push_str(&" ".repeat(over));
            } else if cell.column + cell.width <= left + width {
                shown.push_str(&cell.symbol());
            }
        }
        if left > 0 && !shown.is_empty() {
            let first = shown.graphemes(true).next().unwrap_or_default().to_owned();
            let blanks = cells::width(&first).saturating_sub(1);
            shown.replace_range(..first.len(), &format!("…{}", " ".repeat(blanks)));
        }
        column = column.min(width - 1);
        let line = theme.line(shown, Role::Text);
        (line, u16::try_from(column).unwrap_or(u16::MAX))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

fn changed(changed: bool) -> InputOutcome {
    if changed {
        InputOutcome::Changed
    } else {
        InputOutcome::Moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::keys;

    fn check(before: &str, typed: &str, after: &str) {
        let at = before.find('|').expect("a cursor");
        let mut input = Input::new(&before.replace('|', ""));
        input.area.move_cursor(CursorMove::Head);
        for _ in before[..at].chars() {
            input.area.move_cursor(CursorMove::Forward);
        }
        for key in keys(typed) {
            input.key(key);
        }
        let mut text = input.text().to_owned();
        text.insert(input.cursor(), '|');
        assert_eq!(text, after, "{before} {typed}");
    }

    #[test]
    fn keys_of_shells_work() {
        check("|", "a b", "ab|");
        check("one two|", "<c-w>", "one |");
        check("one |two", "<c-k>", "one |");
        check("one two|", "<c-u> <c-y>", "one two|");
        check("one| two", "<c-a> x", "x|one two");
        check("|one two", "<a-f> <a-d>", "one |");
        check("ab|c", "<bs> <del>", "a|");
        check("abc|", "<c-w> <c-z>", "abc|");
        check("a👩‍👩‍👧|b", "<bs>", "a|b");
        check("한|글", "<del> <left>", "|한");
    }

    #[test]
    fn free_keys_are_given_back() {
        let mut input = Input::new("a");
        for key in keys("<up> <down> <tab> <c-p> <c-o>") {
            assert_eq!(input.key(key), InputOutcome::Unused, "{key:?}");
        }
        assert_eq!(input.key(keys("<cr>")[0]), InputOutcome::Accepted);
        assert_eq!(input.key(keys("<esc>")[0]), InputOutcome::Cancelled);
        assert_eq!(input.paste(" b\nc"), InputOutcome::Changed);
        assert_eq!(input.text(), "ab c");
    }

    #[test]
    fn a_long_line_shows_the_cursor() {
        let theme = Theme::default();
        let mut input = Input::new("0123456789");
        let (line, column) = input.line(&theme, 20);
        assert_eq!((line.to_string().as_str(), column), ("0123456789", 10));
        let (line, column) = input.line(&theme, 8);
        assert_eq!((line.to_string().as_str(), column), ("…56789", 6));
        input.key(keys("<home>")[0]);
        let (line, column) = input.line(&theme, 8);
        assert_eq!((line.to_string().as_str(), column), ("01234567", 0));
    }
}
