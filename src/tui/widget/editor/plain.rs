//! The keys of shells and of common editors.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::{EditKind, TextPosition};
use super::prompt::Question;
use super::{Editor, EditorOutcome, MoveDirection, Register, Start, motion};
use crate::tui::widget::readline::{self, Command, Motion};

/// The text that Tab inserts.
pub(super) const INDENT: &str = "  ";

impl Editor {
    pub(super) fn plain_key(&mut self, key: KeyEvent) -> EditorOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('s') if control => return EditorOutcome::Save,
            KeyCode::Char('f') if control => {
                return self.ask(Question::Find(MoveDirection::Forward));
            }
            KeyCode::Char('g') if control => return self.ask(Question::Line),
            KeyCode::F(3) if key.modifiers.contains(KeyModifiers::SHIFT) => {
                return self.find_next(MoveDirection::Backward, Start::Next);
            }
            KeyCode::F(3) => return self.find_next(MoveDirection::Forward, Start::Next),
            KeyCode::Esc if self.anchor.is_some() => {
                self.anchor = None;
                return EditorOutcome::None;
            }
            KeyCode::Esc if self.needle.is_some() => {
                self.needle = None;
                return EditorOutcome::None;
            }
            KeyCode::Esc => return EditorOutcome::Leave,
            _ => {}
        }
        match readline::command(key) {
            Some(command) => self.run_command(command),
            None => EditorOutcome::Unused,
        }
    }

    pub(super) fn run_command(&mut self, command: Command) -> EditorOutcome {
        match command {
            Command::Insert(c) => self.type_in(c),
            Command::Newline => self.newline(EditKind::Single),
            Command::Indent if self.spans_lines() => self.shift(Shift::In),
            Command::Indent => self.put(EditKind::Single, INDENT),
            Command::Dedent => self.shift(Shift::Out),
            Command::Move(motion) => {
                self.anchor = None;
                self.buffer.end_undo_group();
                self.move_cursor(motion);
                EditorOutcome::None
            }
            Command::Select(motion) => {
                self.anchor = self.anchor.or(Some(self.cursor));
                self.move_cursor(motion);
                EditorOutcome::None
            }
            Command::SelectAll => {
                self.anchor = Some(TextPosition::default());
                self.jump(self.buffer.end());
                EditorOutcome::None
            }
            Command::Delete(motion) => match self.selection() {
                Some(range) => self.delete(EditKind::Single, range),
                None => {
                    let there = self.motion_target(motion);
                    self.delete(
                        EditKind::Deleting,
                        there.min(self.cursor)..there.max(self.cursor),
                    )
                }
            },
            Command::Kill(motion) => self.kill(motion),
            Command::Copy => self.copy(),
            Command::Cut => self.cut(),
            Command::Paste => {
                let text = self.register.text.clone();
                self.put(EditKind::Single, &text)
            }
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
        }
    }

    /// Replaces the selection by `text`, or inserts it at the cursor.
    pub(super) fn put(&mut self, kind: EditKind, text: &str) -> EditorOutcome {
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        self.anchor = None;
        self.edit(kind, |editor| {
            editor.cursor = editor.buffer.replace(range, text);
        })
    }

    fn type_in(&mut self, c: char) -> EditorOutcome {
        let before = self.buffer.line(self.cursor.row)[..self.cursor.at]
            .chars()
            .next_back();
        // A word with the whitespace after it is one undo group.
        if before.is_some_and(char::is_whitespace) && !c.is_whitespace() {
            self.buffer.end_undo_group();
        }
        let kind = if self.selection().is_some() {
            EditKind::Single
        } else {
            EditKind::Typing
        };
        self.put(kind, c.encode_utf8(&mut [0; 4]))
    }

    /// Inserts a newline and the indentation of the current line.
    pub(super) fn newline(&mut self, kind: EditKind) -> EditorOutcome {
        let line = self.buffer.line(self.cursor.row);
        let indent: String = line[..self.cursor.at]
            .chars()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .collect();
        self.put(kind, &format!("\n{indent}"))
    }

    fn spans_lines(&self) -> bool {
        self.selection()
            .is_some_and(|range| range.start.row != range.end.row)
    }

    /// Indents the selected lines, or removes indentation.
    fn shift(&mut self, shift: Shift) -> EditorOutcome {
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        let last = if range.end.at == 0 && range.end.row > range.start.row {
            range.end.row - 1
        } else {
            range.end.row
        };
        self.shift_rows(range.start.row..last + 1, shift)
    }

    pub(super) fn shift_rows(
        &mut self,
        rows: std::ops::Range<usize>,
        shift: Shift,
    ) -> EditorOutcome {
        self.edit(EditKind::Single, |editor| {
            for row in rows {
                let line = editor.buffer.line(row);
                let start = TextPosition::new(row, 0);
                let change = match shift {
                    Shift::In if line.is_empty() => continue,
                    Shift::In => {
                        editor.buffer.replace(start..start, INDENT);
                        isize::try_from(INDENT.len()).unwrap_or(0)
                    }
                    Shift::Out => {
                        let blanks = line.bytes().take_while(|b| *b == b' ').count();
                        let gone = match line.strip_prefix('\t') {
                            Some(_) => 1,
                            None => blanks.min(INDENT.len()),
                        };
                        editor
                            .buffer
                            .replace(start..TextPosition::new(row, gone), "");
                        -isize::try_from(gone).unwrap_or(0)
                    }
                };
                for position in [Some(&mut editor.cursor), editor.anchor.as_mut()] {
                    if let Some(position) = position.filter(|position| position.row == row) {
                        position.at = position.at.saturating_add_signed(change);
                    }
                }
            }
        })
    }

    fn kill(&mut self, motion: Motion) -> EditorOutcome {
        let range = self.selection().unwrap_or_else(|| {
            let mut there = self.motion_target(motion);
            // At the end of a line, killing to it deletes the newline, as in Emacs.
            if there == self.cursor && motion == Motion::LineEnd {
                there = motion::right(self.lines(), there);
            }
            there.min(self.cursor)..there.max(self.cursor)
        });
        if range.is_empty() {
            return EditorOutcome::None;
        }
        self.register = Register {
            text: self.buffer.slice(&range),
            is_lines: false,
        };
        self.delete(EditKind::Single, range)
    }

    /// Copies the selection, or the current line if there is none.
    fn copy(&mut self) -> EditorOutcome {
        let text = match self.selection() {
            Some(range) => self.buffer.slice(&range),
            None => format!("{}\n", self.buffer.line(self.cursor.row)),
        };
        self.register.text.clone_from(&text);
        self.register.is_lines = false;
        EditorOutcome::Copied(text)
    }

    fn cut(&mut self) -> EditorOutcome {
        let range = self.selection().unwrap_or_else(|| {
            let row = self.cursor.row;
            if row + 1 < self.lines().len() {
                TextPosition::new(row, 0)..TextPosition::new(row + 1, 0)
            } else {
                TextPosition::new(row, 0)..self.line_end(row)
            }
        });
        let text = self.buffer.slice(&range);
        self.register.text.clone_from(&text);
        self.register.is_lines = false;
        match self.delete(EditKind::Single, range) {
            EditorOutcome::Changed => EditorOutcome::Cut(text),
            other => other,
        }
    }

    pub(super) fn move_cursor(&mut self, motion: Motion) {
        match motion {
            Motion::Up => self.by_rows(-1),
            Motion::Down => self.by_rows(1),
            Motion::PageUp => self.by_rows(-self.page()),
            Motion::PageDown => self.by_rows(self.page()),
            other => self.jump(self.motion_target(other)),
        }
    }

    fn motion_target(&self, motion: Motion) -> TextPosition {
        let (lines, at) = (self.lines(), self.cursor);
        match motion {
            Motion::Left => motion::left(lines, at),
            Motion::Right => motion::right(lines, at),
            Motion::WordLeft => motion::word_left(lines, at),
            Motion::WordRight => motion::word_right(lines, at),
            Motion::LineStart => TextPosition::new(at.row, 0),
            Motion::LineEnd => self.line_end(at.row),
            Motion::Start => TextPosition::default(),
            Motion::End => self.buffer.end(),
            Motion::Up | Motion::Down | Motion::PageUp | Motion::PageDown => at,
        }
    }
}

/// Whether lines are indented or unindented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shift {
    In,
    Out,
}
