//! Operators: delete, change, yank and shift the range of a motion, lines, or a selection.

use std::ops::Range;

use ratatui::crossterm::event::KeyCode;

use crate::tui::widget::editor::buffer::{EditKind, TextPosition};
use crate::tui::widget::editor::plain::Shift;
use crate::tui::widget::editor::{Editor, EditorMode, EditorOutcome, Register, motion};

/// An operator on a range of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
    Indent,
    Unindent,
}

impl Operator {
    pub(super) fn of(c: char) -> Option<Self> {
        Some(match c {
            'd' => Self::Delete,
            'c' => Self::Change,
            'y' => Self::Yank,
            '>' => Self::Indent,
            '<' => Self::Unindent,
            _ => return None,
        })
    }
}

impl Editor {
    /// Applies an operator to a selection at once, typed twice to lines; else waits for a motion.
    pub(super) fn operator(&mut self, operator: Operator, c: char) -> EditorOutcome {
        let mode = self.mode();
        if let Some(range) = self.selection().filter(|_| mode != EditorMode::Normal) {
            self.set_mode(EditorMode::Normal);
            return match mode {
                EditorMode::VisualLine => {
                    self.operate_lines(operator, range.start.row..range.end.row + 1)
                }
                _ => self.operate(operator, range),
            };
        }
        let Some(vi) = &mut self.vi else {
            return EditorOutcome::Unused;
        };
        match vi.operator.take() {
            Some((same, before)) if Operator::of(c) == Some(same) => {
                let count = before.saturating_mul(vi.count.take().unwrap_or(1));
                let first = self.cursor.row;
                let last = (first + count).min(self.lines().len());
                self.operate_lines(operator, first..last)
            }
            Some(_) => {
                vi.clear();
                EditorOutcome::None
            }
            None => {
                vi.operator = Some((operator, vi.count.take().unwrap_or(1)));
                EditorOutcome::None
            }
        }
    }

    /// Returns the range of a motion for an operator: `c w` keeps the whitespace after the word,
    /// as `c e` does.
    pub(super) fn without_last_blanks(
        &self,
        operator: Operator,
        mut range: Range<TextPosition>,
    ) -> Range<TextPosition> {
        let typed = self.vi.as_ref().and_then(|vi| vi.typed.last());
        let is_word = matches!(typed.map(|key| key.code), Some(KeyCode::Char('w' | 'W')));
        if operator == Operator::Change && is_word && range.start.row == range.end.row {
            let kept = self.buffer.slice(&range);
            let trimmed = kept.trim_end_matches([' ', '\t']);
            if !trimmed.is_empty() {
                range.end.at -= kept.len() - trimmed.len();
            }
        }
        range
    }

    pub(super) fn operate(
        &mut self,
        operator: Operator,
        range: Range<TextPosition>,
    ) -> EditorOutcome {
        let rows = range.start.row..range.end.row + 1;
        match operator {
            Operator::Indent => return self.shift_rows(rows, Shift::In),
            Operator::Unindent => return self.shift_rows(rows, Shift::Out),
            _ => {}
        }
        self.register = Register {
            text: self.buffer.slice(&range),
            is_lines: false,
        };
        let text = self.register.text.clone();
        match operator {
            Operator::Yank => {
                self.jump(range.start);
                EditorOutcome::Copied(text)
            }
            Operator::Change => {
                self.set_mode(EditorMode::Insert);
                self.delete(EditKind::Session, range);
                if text.is_empty() {
                    EditorOutcome::None
                } else {
                    EditorOutcome::Cut(text)
                }
            }
            _ if range.is_empty() => EditorOutcome::None,
            _ => {
                self.delete(EditKind::Single, range);
                EditorOutcome::Cut(text)
            }
        }
    }

    pub(super) fn operate_lines(
        &mut self,
        operator: Operator,
        rows: Range<usize>,
    ) -> EditorOutcome {
        let text = self.buffer.lines()[rows.clone()].join("\n") + "\n";
        match operator {
            Operator::Indent => return self.shift_rows(rows, Shift::In),
            Operator::Unindent => return self.shift_rows(rows, Shift::Out),
            _ => {}
        }
        self.register = Register {
            text: text.clone(),
            is_lines: true,
        };
        match operator {
            Operator::Yank => {
                self.jump(TextPosition::new(
                    rows.start,
                    self.cursor.at.min(self.buffer.line(rows.start).len()),
                ));
                self.cursor.at = self.char_start(rows.start, self.cursor.at);
                return EditorOutcome::Copied(text);
            }
            Operator::Change => {
                let start = motion::first_letter(self.lines(), rows.start);
                self.set_mode(EditorMode::Insert);
                self.delete(EditKind::Session, start..self.line_end(rows.end - 1));
            }
            _ => {
                let count = self.lines().len();
                let range = if rows.end < count {
                    TextPosition::new(rows.start, 0)..TextPosition::new(rows.end, 0)
                } else if rows.start > 0 {
                    self.line_end(rows.start - 1)..self.line_end(rows.end - 1)
                } else {
                    TextPosition::default()..self.buffer.end()
                };
                self.edit(EditKind::Single, |editor| {
                    editor.buffer.replace(range, "");
                    let row = rows.start.min(editor.lines().len() - 1);
                    editor.cursor = motion::first_letter(editor.lines(), row);
                });
            }
        }
        EditorOutcome::Cut(text)
    }
}
