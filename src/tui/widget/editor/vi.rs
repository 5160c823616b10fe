//! The keys of vi: modes, counts, operators, motions and repeat.

mod object;
mod operator;
mod verb;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use self::object::Extent;
use self::operator::Operator;
use super::buffer::{EditKind, TextPosition};
use super::motion::{self, WordKind};
use super::{Editor, EditorMode, EditorOutcome, MoveDirection};
use crate::tui::widget::readline::{self, Command};

/// The state between keys.
#[derive(Debug, Clone)]
pub(super) struct Vi {
    mode: EditorMode,
    count: Option<usize>,
    operator: Option<(Operator, usize)>,
    /// A key that needs a second one: `g`, `r`, `f`, `F`, `t`, `T`, and `i`, `a` before an object.
    pending: Option<char>,
    last_find: Option<(char, char)>,
    pub(super) search_direction: MoveDirection,
    /// The keys of the current command, and below those of the last one that changed the text.
    typed: Vec<KeyEvent>,
    last: Vec<KeyEvent>,
    changed: bool,
}

impl Default for Vi {
    fn default() -> Self {
        Self {
            mode: EditorMode::Normal,
            count: None,
            operator: None,
            pending: None,
            last_find: None,
            search_direction: MoveDirection::Forward,
            typed: Vec::new(),
            last: Vec::new(),
            changed: false,
        }
    }
}

impl Vi {
    pub(super) fn mode(&self) -> EditorMode {
        self.mode
    }

    fn is_idle(&self) -> bool {
        self.mode == EditorMode::Normal
            && self.count.is_none()
            && self.operator.is_none()
            && self.pending.is_none()
    }

    fn clear(&mut self) {
        self.count = None;
        self.operator = None;
        self.pending = None;
    }
}

/// The target of a motion, and the range that an operator applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Up to the position.
    Before(TextPosition),
    /// Up to and including the character at the position.
    With(TextPosition),
    /// Whole lines.
    Line(usize),
}

impl Editor {
    pub(super) fn vi_key(&mut self, key: KeyEvent) -> EditorOutcome {
        let Some(vi) = &mut self.vi else {
            return EditorOutcome::Unused;
        };
        if vi.is_idle() {
            vi.typed.clear();
            vi.changed = false;
        }
        vi.typed.push(key);
        let revision = self.buffer.revision();
        let outcome = match vi.mode {
            EditorMode::Insert => self.insert_key(key),
            _ => self.command_key(key),
        };
        let changed = self.buffer.revision() != revision;
        if let Some(vi) = &mut self.vi {
            vi.changed |= changed;
            let is_undo = matches!(vi.typed[0].code, KeyCode::Char('u'))
                || vi.typed[0].modifiers.contains(KeyModifiers::CONTROL);
            if vi.is_idle() && vi.changed && !is_undo {
                vi.last = std::mem::take(&mut vi.typed);
            }
        }
        if self.mode() == EditorMode::Normal {
            self.clamp();
        }
        outcome
    }

    /// Moves the cursor onto the last character if it is after it, as normal mode requires.
    fn clamp(&mut self) {
        let end = self.line_end(self.cursor.row);
        if self.cursor.at >= end.at && end.at > 0 {
            self.cursor = motion::before(self.lines(), end);
        }
    }

    pub(super) fn enter_visual(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.mode = EditorMode::Visual;
        }
    }

    pub(super) fn leave_visual(&mut self) {
        if let Some(vi) = &mut self.vi
            && matches!(vi.mode, EditorMode::Visual | EditorMode::VisualLine)
        {
            vi.mode = EditorMode::Normal;
        }
    }

    fn set_mode(&mut self, mode: EditorMode) {
        if let Some(vi) = &mut self.vi {
            vi.mode = mode;
            vi.clear();
        }
        match mode {
            EditorMode::Insert => self.buffer.end_undo_group(),
            EditorMode::Normal => self.anchor = None,
            _ => {}
        }
    }

    fn insert_key(&mut self, key: KeyEvent) -> EditorOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Esc || (control && matches!(key.code, KeyCode::Char('[' | 'c'))) {
            self.set_mode(EditorMode::Normal);
            self.buffer.end_undo_group();
            let back = motion::before(self.lines(), self.cursor);
            self.jump(back);
            return EditorOutcome::None;
        }
        if control && key.code == KeyCode::Char('s') {
            return EditorOutcome::Save;
        }
        match readline::command(key) {
            Some(Command::Insert(c)) => self.put(EditKind::Session, c.encode_utf8(&mut [0; 4])),
            Some(Command::Newline) => self.newline(EditKind::Session),
            Some(Command::Move(motion)) => {
                self.buffer.end_undo_group();
                self.move_cursor(motion);
                EditorOutcome::None
            }
            Some(Command::Select(_) | Command::SelectAll) | None => EditorOutcome::Unused,
            Some(command) => self.run_command(command),
        }
    }

    fn command_key(&mut self, key: KeyEvent) -> EditorOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let visual = self.mode() != EditorMode::Normal;
        let KeyCode::Char(c) = key.code else {
            return self.named_key(key);
        };
        if let Some(waiting) = self.vi.as_mut().and_then(|vi| vi.pending.take()) {
            return self.second(waiting, c);
        }
        if control {
            return self.control_key(c);
        }
        let Some(vi) = &mut self.vi else {
            return EditorOutcome::Unused;
        };
        match c {
            '1'..='9' | '0' if c != '0' || vi.count.is_some() => {
                let digit = c.to_digit(10).unwrap_or(0) as usize;
                let count = vi.count.unwrap_or(0).saturating_mul(10) + digit;
                vi.count = Some(count.min(99_999));
                return EditorOutcome::None;
            }
            'i' | 'a' if visual || vi.operator.is_some() => {
                vi.pending = Some(c);
                return EditorOutcome::None;
            }
            'g' | 'f' | 'F' | 't' | 'T' | 'r' => {
                vi.pending = Some(c);
                return EditorOutcome::None;
            }
            _ => {}
        }
        if let Some(operator) = Operator::of(c) {
            return self.operator(operator, c);
        }
        if let Some(target) = self.target(c) {
            return self.aim(target);
        }
        if visual {
            self.visual_verb(c)
        } else {
            self.verb(c)
        }
    }

    fn named_key(&mut self, key: KeyEvent) -> EditorOutcome {
        if key.code == KeyCode::Esc {
            let idle = self.vi.as_ref().is_some_and(Vi::is_idle);
            self.set_mode(EditorMode::Normal);
            if idle && self.needle.take().is_none() {
                return EditorOutcome::Leave;
            }
            return EditorOutcome::None;
        }
        match readline::command(key) {
            Some(Command::Move(motion) | Command::Select(motion)) => {
                for _ in 0..self.take_count() {
                    self.move_cursor(motion);
                }
                EditorOutcome::None
            }
            Some(Command::Newline) => {
                self.by_lines(1);
                EditorOutcome::None
            }
            Some(Command::Delete(readline::Motion::Left)) => {
                self.jump(motion::left(self.lines(), self.cursor));
                EditorOutcome::None
            }
            _ => EditorOutcome::Unused,
        }
    }

    fn control_key(&mut self, c: char) -> EditorOutcome {
        let half = (self.page() / 2).max(1);
        match c {
            'r' => return self.redo(),
            's' => return EditorOutcome::Save,
            'd' => self.by_rows(half),
            'u' => self.by_rows(-half),
            'f' => self.by_rows(self.page()),
            'b' => self.by_rows(-self.page()),
            'c' | '[' => self.set_mode(EditorMode::Normal),
            _ => return EditorOutcome::Unused,
        }
        EditorOutcome::None
    }

    fn take_count(&mut self) -> usize {
        let given = self.vi.as_mut().and_then(|vi| vi.count.take());
        given.unwrap_or(1)
    }

    fn cancel_pending(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.clear();
        }
    }

    /// Handles the second key after `g`, `r`, `f`, `F`, `t`, `T`, `i`, `a`.
    fn second(&mut self, waiting: char, c: char) -> EditorOutcome {
        match (waiting, c) {
            ('g', 'g') => {
                let given = self.vi.as_mut().and_then(|vi| vi.count.take());
                let row = given.unwrap_or(1).clamp(1, self.lines().len()) - 1;
                self.aim(Target::Line(row))
            }
            ('g', _) => {
                self.cancel_pending();
                EditorOutcome::None
            }
            ('i', c) => self.text_object(Extent::Inner, c),
            ('a', c) => self.text_object(Extent::Around, c),
            ('r', c) => {
                let range = self.cursor..motion::after(self.lines(), self.cursor);
                self.take_count();
                if range.is_empty() {
                    return EditorOutcome::None;
                }
                self.edit(EditKind::Single, |editor| {
                    let cursor = range.start;
                    editor.buffer.replace(range, c.encode_utf8(&mut [0; 4]));
                    editor.cursor = cursor;
                })
            }
            (direction, c) => {
                if let Some(vi) = &mut self.vi {
                    vi.last_find = Some((direction, c));
                }
                self.find_letter(direction, c)
            }
        }
    }

    fn find_letter(&mut self, direction: char, c: char) -> EditorOutcome {
        let line = self.buffer.line(self.cursor.row).to_owned();
        let row = self.cursor.row;
        let mut at = self.cursor.at;
        for _ in 0..self.take_count() {
            let found = if direction.is_lowercase() {
                let from = motion::after(self.lines(), TextPosition::new(row, at)).at;
                line[from..].find(c).map(|found| from + found)
            } else {
                line[..at].rfind(c)
            };
            match found {
                Some(found) => at = found,
                None => {
                    self.cancel_pending();
                    return EditorOutcome::None;
                }
            }
        }
        let position = TextPosition::new(row, at);
        self.aim(match direction {
            'f' => Target::With(position),
            't' => Target::With(motion::before(self.lines(), position)),
            'F' => Target::Before(position),
            _ => Target::Before(motion::after(self.lines(), position)),
        })
    }

    /// Returns the target of the motion `c`; `None` if `c` is not a motion.
    fn target(&mut self, c: char) -> Option<Target> {
        let vi = self.vi.as_ref()?;
        let given = vi.count;
        let operating = vi.operator.is_some();
        let times = vi.operator.map_or(1, |(_, count)| count);
        let count = given.unwrap_or(1).saturating_mul(times);
        let (lines, at) = (self.buffer.lines(), self.cursor);
        let repeat =
            |step: &dyn Fn(TextPosition) -> TextPosition| (0..count).fold(at, |at, _| step(at));
        let last = lines.len() - 1;
        Some(match c {
            'h' => Target::Before(repeat(&|p| motion::before(lines, p))),
            'l' | ' ' => Target::Before(repeat(&|p| motion::after(lines, p))),
            'j' if operating => Target::Line((at.row + count).min(last)),
            'k' if operating => Target::Line(at.row.saturating_sub(count)),
            'w' | 'W' => {
                let words = words(c);
                let mut to = repeat(&|p| motion::next_word(lines, p, words));
                // An operator on the last word of a line keeps the newline.
                if operating && to.row > at.row && lines[to.row][..to.at].trim().is_empty() {
                    to = TextPosition::new(to.row - 1, lines[to.row - 1].len());
                }
                Target::Before(to)
            }
            'b' | 'B' => Target::Before(repeat(&|p| motion::word_start(lines, p, words(c)))),
            'e' | 'E' => Target::With(repeat(&|p| motion::word_end(lines, p, words(c)))),
            '0' => Target::Before(TextPosition::new(at.row, 0)),
            '^' => Target::Before(motion::first_letter(lines, at.row)),
            '$' => Target::Before(self.line_end((at.row + count - 1).min(last))),
            'G' => Target::Line(given.map_or(last, |row| row.clamp(1, last + 1) - 1)),
            '}' => Target::Before(repeat(&|p| {
                motion::paragraph(lines, p.row, MoveDirection::Forward)
            })),
            '{' => Target::Before(repeat(&|p| {
                motion::paragraph(lines, p.row, MoveDirection::Backward)
            })),
            _ => return None,
        })
    }

    /// Goes to a target, or applies the pending operator to the range up to it.
    fn aim(&mut self, target: Target) -> EditorOutcome {
        let Some(vi) = &mut self.vi else {
            return EditorOutcome::Unused;
        };
        vi.count = None;
        let Some((operator, _)) = vi.operator.take() else {
            match target {
                Target::Before(position) | Target::With(position) => self.jump(position),
                Target::Line(row) => self.jump(motion::first_letter(self.lines(), row)),
            }
            return EditorOutcome::None;
        };
        let here = self.cursor;
        match target {
            Target::Line(row) => {
                self.operate_lines(operator, here.row.min(row)..here.row.max(row) + 1)
            }
            Target::Before(position) => {
                let range = here.min(position)..here.max(position);
                let range = self.without_last_blanks(operator, range);
                self.operate(operator, range)
            }
            Target::With(position) => {
                let end = motion::after(self.lines(), here.max(position));
                self.operate(operator, here.min(position)..end)
            }
        }
    }
}

fn words(c: char) -> WordKind {
    if c.is_uppercase() {
        WordKind::Big
    } else {
        WordKind::Small
    }
}
