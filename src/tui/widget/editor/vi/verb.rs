//! Verbs: keys that are complete commands, with and without a selection.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::operator::Operator;
use crate::tui::widget::editor::buffer::{EditKind, TextPosition};
use crate::tui::widget::editor::prompt::Question;
use crate::tui::widget::editor::{
    Editor, EditorMode, EditorOutcome, MoveDirection, Register, Start, motion,
};

impl Editor {
    pub(super) fn visual_verb(&mut self, c: char) -> EditorOutcome {
        let other = match c {
            'v' => EditorMode::Visual,
            'V' => EditorMode::VisualLine,
            'x' => return self.operator(Operator::Delete, 'd'),
            's' => return self.operator(Operator::Change, 'c'),
            'o' => {
                if let Some(anchor) = self.anchor {
                    self.anchor = Some(self.cursor);
                    self.jump(anchor);
                }
                return EditorOutcome::None;
            }
            'p' | 'P' => {
                let Some(range) = self.selection() else {
                    return EditorOutcome::None;
                };
                let text = self.register.text.trim_end_matches('\n').to_owned();
                self.set_mode(EditorMode::Normal);
                return self.edit(EditKind::Single, |editor| {
                    editor.cursor = editor.buffer.replace(range, &text);
                });
            }
            _ => return self.shared_verb(c),
        };
        self.set_mode(if self.mode() == other {
            EditorMode::Normal
        } else {
            other
        });
        EditorOutcome::None
    }

    /// Verbs that work with and without a selection.
    pub(super) fn shared_verb(&mut self, c: char) -> EditorOutcome {
        let count = self.take_count();
        let rows = isize::try_from(count).unwrap_or(1);
        match c {
            'j' => self.by_lines(rows),
            'k' => self.by_lines(-rows),
            '/' => return self.ask(Question::Find(MoveDirection::Forward)),
            '?' => return self.ask(Question::Find(MoveDirection::Backward)),
            ':' => return self.ask(Question::Command),
            'n' | 'N' => {
                let direction = self
                    .vi
                    .as_ref()
                    .map_or(MoveDirection::Forward, |vi| vi.search_direction);
                let direction = if c == 'n' {
                    direction
                } else {
                    direction.opposite()
                };
                return self.find_next(direction, Start::Next);
            }
            ';' | ',' => {
                if let Some((direction, letter)) = self.vi.as_ref().and_then(|vi| vi.last_find) {
                    let direction = match c {
                        ';' => direction,
                        _ if direction.is_lowercase() => direction.to_ascii_uppercase(),
                        _ => direction.to_ascii_lowercase(),
                    };
                    return self.find_letter(direction, letter);
                }
            }
            _ => return EditorOutcome::Unused,
        }
        EditorOutcome::None
    }

    pub(super) fn verb(&mut self, c: char) -> EditorOutcome {
        if self.vi.as_ref().is_some_and(|vi| vi.operator.is_some()) && !matches!(c, 'j' | 'k') {
            self.set_mode(EditorMode::Normal);
            return EditorOutcome::None;
        }
        let (at, row) = (self.cursor, self.cursor.row);
        let end = self.line_end(row);
        match c {
            'i' => self.insert_at(at),
            'a' => self.insert_at(motion::after(self.lines(), at)),
            'I' => self.insert_at(motion::first_letter(self.lines(), row)),
            'A' => self.insert_at(end),
            'o' => {
                self.insert_at(end);
                self.newline(EditKind::Session)
            }
            'O' => {
                let indent = motion::first_letter(self.lines(), row).at;
                let indent = self.buffer.line(row)[..indent].to_owned();
                self.insert_at(TextPosition::new(row, 0));
                self.edit(EditKind::Session, |editor| {
                    editor
                        .buffer
                        .replace(editor.cursor..editor.cursor, &format!("{indent}\n"));
                    editor.cursor = TextPosition::new(row, indent.len());
                })
            }
            'x' => {
                let count = self.take_count();
                let to = (0..count).fold(at, |p, _| motion::after(self.lines(), p));
                self.operate(Operator::Delete, at..to)
            }
            'X' => self.operate(Operator::Delete, motion::before(self.lines(), at)..at),
            's' => self.operate(Operator::Change, at..motion::after(self.lines(), at)),
            'D' => self.operate(Operator::Delete, at..end),
            'C' => self.operate(Operator::Change, at..end),
            'S' => self.operate_lines(Operator::Change, row..row + 1),
            'Y' => self.operate_lines(Operator::Yank, row..row + 1),
            'J' => self.join(),
            '~' => self.turn_case(),
            'p' => self.put_register(MoveDirection::Forward),
            'P' => self.put_register(MoveDirection::Backward),
            'u' => self.undo(),
            'v' | 'V' => {
                self.anchor = Some(at);
                self.set_mode(if c == 'v' {
                    EditorMode::Visual
                } else {
                    EditorMode::VisualLine
                });
                EditorOutcome::None
            }
            '.' => self.repeat_change(),
            _ => self.shared_verb(c),
        }
    }

    fn insert_at(&mut self, position: TextPosition) -> EditorOutcome {
        self.jump(position);
        self.set_mode(EditorMode::Insert);
        EditorOutcome::None
    }

    fn join(&mut self) -> EditorOutcome {
        let row = self.cursor.row;
        if row + 1 == self.lines().len() {
            return EditorOutcome::None;
        }
        let next = motion::first_letter(self.lines(), row + 1);
        let end = self.line_end(row);
        let blank = if self.buffer.line(row).ends_with(' ') || self.buffer.line(row + 1).is_empty()
        {
            ""
        } else {
            " "
        };
        self.edit(EditKind::Single, |editor| {
            editor.buffer.replace(end..next, blank);
            editor.cursor = end;
        })
    }

    fn turn_case(&mut self) -> EditorOutcome {
        let range = self.cursor..motion::after(self.lines(), self.cursor);
        let turned: String = self
            .buffer
            .slice(&range)
            .chars()
            .flat_map(|c| {
                let turned: Vec<char> = if c.is_uppercase() {
                    c.to_lowercase().collect()
                } else {
                    c.to_uppercase().collect()
                };
                turned
            })
            .collect();
        self.edit(EditKind::Single, |editor| {
            editor.cursor = editor.buffer.replace(range, &turned);
        })
    }

    fn put_register(&mut self, direction: MoveDirection) -> EditorOutcome {
        let count = self.take_count();
        let Register { text, is_lines } = self.register.clone();
        let row = self.cursor.row;
        let text = text.repeat(count);
        let (position, text) = match (is_lines, direction) {
            (false, MoveDirection::Forward) => (motion::after(self.lines(), self.cursor), text),
            (false, MoveDirection::Backward) => (self.cursor, text),
            (true, MoveDirection::Backward) => (TextPosition::new(row, 0), text),
            (true, MoveDirection::Forward) => (
                self.line_end(row),
                format!("\n{}", text.trim_end_matches('\n')),
            ),
        };
        if text.is_empty() {
            return EditorOutcome::None;
        }
        self.edit(EditKind::Single, |editor| {
            let end = editor.buffer.replace(position..position, &text);
            editor.cursor = match (is_lines, direction) {
                (true, MoveDirection::Forward) => motion::first_letter(editor.lines(), row + 1),
                (true, MoveDirection::Backward) => motion::first_letter(editor.lines(), row),
                (false, _) => motion::before(editor.lines(), end),
            };
        })
    }

    /// Repeats the last change by typing its keys again.
    fn repeat_change(&mut self) -> EditorOutcome {
        let keys = self.vi.as_ref().map_or_else(Vec::new, |vi| vi.last.clone());
        let revision = self.buffer.revision();
        for key in &keys {
            self.vi_key(*key);
        }
        if let Some(vi) = &mut self.vi {
            // Otherwise the next repeat would repeat the dot itself.
            vi.typed.clear();
            vi.typed
                .push(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::NONE));
            vi.last = keys;
        }
        if self.buffer.revision() == revision {
            EditorOutcome::None
        } else {
            EditorOutcome::Changed
        }
    }
}
