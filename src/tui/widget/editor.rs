//! The editor of a memory's text: handles keys and mouse events and returns outcomes.
//!
//! The text, its undo and the screen are values of this module; the time comes with every event,
//! the clipboard and the file belong to the app. Two flavours differ only in their keys: `plain`
//! as in shells and common editors, `vi` with its modes.

mod buffer;
mod click;
mod motion;
mod plain;
mod prompt;
mod screen;
mod search;
mod vi;
mod view;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;

pub(crate) use buffer::TextPosition;
pub(crate) use motion::MoveDirection;
pub(crate) use search::SearchPattern;

use self::buffer::{Buffer, EditKind, EditStamp};
use self::prompt::EditorPrompt;
use self::screen::EditorScreen;
use self::search::Start;
use crate::core::memory::config::EditorKeys;
use crate::tui::cells;
use crate::tui::highlight::{Highlighter, Language, Syntaxes};

/// The result of a key or a click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditorOutcome {
    /// Nothing for the caller to do: the cursor moved, or the mode changed.
    None,
    /// The key has no meaning here.
    Unused,
    /// The text changed, see [`Editor::revision`].
    Changed,
    /// Text for the clipboard.
    Copied(String),
    /// Text for the clipboard, which was deleted.
    Cut(String),
    Save,
    /// Close the editor; ask first if there are unsaved changes.
    Leave,
    SaveAndLeave,
    /// Close the editor and discard unsaved changes.
    Discard,
    Message(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditorMode {
    Insert,
    Normal,
    Visual,
    VisualLine,
}

/// The text that was copied or deleted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Register {
    text: String,
    /// Whether it consists of whole lines.
    is_lines: bool,
}

/// A text that is being edited.
#[derive(Debug, Clone)]
pub(crate) struct Editor {
    buffer: Buffer,
    cursor: TextPosition,
    /// Where the selection started.
    anchor: Option<TextPosition>,
    /// The column that vertical moves keep.
    goal: Option<usize>,
    screen: EditorScreen,
    /// Width and height of the whole area, including gutter and prompt.
    size: (u16, u16),
    highlighter: Option<Highlighter>,
    register: Register,
    needle: Option<SearchPattern>,
    prompt: Option<EditorPrompt>,
    vi: Option<vi::Vi>,
    click: Option<click::Click>,
    time: Duration,
}

/// A text with its undo steps and its cursor, without the screen. An editor that is closed is
/// opened again from it.
#[derive(Debug, Clone)]
pub(crate) struct EditorState {
    buffer: Buffer,
    cursor: TextPosition,
}

impl EditorState {
    /// Returns the whole text, as it would be saved.
    pub(crate) fn text(&self) -> String {
        self.buffer.text()
    }
}

impl Editor {
    pub(crate) fn of(text: &str) -> Self {
        Self::restore(EditorState {
            buffer: Buffer::of(text),
            cursor: TextPosition::default(),
        })
    }

    /// Opens a text as it was when [`Editor::state`] was called, with its undo steps.
    pub(crate) fn restore(state: EditorState) -> Self {
        let EditorState { buffer, cursor } = state;
        Self {
            buffer,
            cursor,
            anchor: None,
            goal: None,
            screen: EditorScreen {
                top: 0,
                row: 0,
                width: 80,
                height: 24,
            },
            size: (0, 0),
            highlighter: None,
            register: Register::default(),
            needle: None,
            prompt: None,
            vi: None,
            click: None,
            time: Duration::ZERO,
        }
    }

    /// Returns the text with its undo steps, to open it again.
    pub(crate) fn state(&self) -> EditorState {
        EditorState {
            buffer: self.buffer.clone(),
            cursor: self.cursor,
        }
    }

    /// Returns a number that differs after every change of the text, whatever made it.
    pub(crate) fn revision(&self) -> u64 {
        self.buffer.revision()
    }

    /// Replaces the text by another version of it, as one edit.
    pub(crate) fn replace_text(&mut self, text: &str) {
        let other = Buffer::of(text);
        match self.buffer.replacement_by(&other) {
            Some((range, lines)) => {
                self.edit(EditKind::Single, |editor| {
                    editor.buffer.replace(range, &lines);
                });
            }
            None => self.buffer.become_other(other),
        }
        self.go_to(self.cursor);
    }

    pub(crate) fn mode_name(&self) -> Option<&'static str> {
        self.vi.as_ref().map(|vi| match vi.mode() {
            EditorMode::Insert => "insert",
            EditorMode::Normal => "normal",
            EditorMode::Visual => "visual",
            EditorMode::VisualLine => "visual line",
        })
    }

    #[must_use]
    pub(crate) fn with_flavour(mut self, flavour: EditorKeys) -> Self {
        self.vi = match flavour {
            EditorKeys::Readline => None,
            EditorKeys::Vi => Some(vi::Vi::default()),
        };
        self
    }

    /// Switches on highlighting for `language`.
    #[must_use]
    pub(crate) fn with_colours(mut self, syntaxes: Arc<Syntaxes>, language: &Language) -> Self {
        let count = self.buffer.lines().len();
        self.highlighter = Some(Highlighter::new(syntaxes, language, count));
        self.settle();
        self
    }

    /// Returns the whole text, as it would be saved.
    pub(crate) fn text(&self) -> String {
        self.buffer.text()
    }

    /// Returns the lines, without their newlines.
    pub(crate) fn lines(&self) -> &[String] {
        self.buffer.lines()
    }

    /// Returns the name of the line ending: `LF` or `CRLF`.
    pub(crate) fn line_ending(&self) -> &'static str {
        match self.buffer.newline() {
            "\r\n" => "CRLF",
            _ => "LF",
        }
    }

    pub(crate) fn cursor(&self) -> TextPosition {
        self.cursor
    }

    pub(crate) fn selection(&self) -> Option<Range<TextPosition>> {
        let anchor = self.anchor?;
        let (start, end) = (anchor.min(self.cursor), anchor.max(self.cursor));
        Some(match self.mode() {
            EditorMode::Visual => start..motion::right(self.lines(), end),
            EditorMode::VisualLine => TextPosition::new(start.row, 0)..self.line_end(end.row),
            _ if start == end => return None,
            _ => start..end,
        })
    }

    pub(crate) fn mode(&self) -> EditorMode {
        self.vi.as_ref().map_or(EditorMode::Insert, vi::Vi::mode)
    }

    /// Sets the size of the area in which the editor is drawn.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.size = (width, height);
        self.settle();
    }

    /// Moves the cursor to the nearest valid position, for instance to a hit.
    pub(crate) fn go_to(&mut self, position: TextPosition) {
        let row = position.row.min(self.lines().len() - 1);
        let mut at = position.at.min(self.buffer.line(row).len());
        while !self.buffer.line(row).is_char_boundary(at) {
            at -= 1;
        }
        self.anchor = None;
        self.jump(TextPosition::new(row, at));
        self.settle();
    }

    /// Handles a key; [`Editor::settle`] follows the last of those that arrived at once. `time` never
    /// decreases.
    pub(crate) fn press(&mut self, key: KeyEvent, time: Duration) -> EditorOutcome {
        self.time = time;
        if self.prompt.is_some() {
            self.prompt_key(key)
        } else if self.vi.is_some() {
            self.vi_key(key)
        } else {
            self.plain_key(key)
        }
    }

    pub(crate) fn paste(&mut self, text: &str, time: Duration) -> EditorOutcome {
        self.time = time;
        if let Some(prompt) = &mut self.prompt {
            prompt.input.paste(text);
            return self.prompt_changed();
        }
        let kind = match self.mode() {
            EditorMode::Insert if self.vi.is_some() => EditKind::Session,
            _ => EditKind::Single,
        };
        let text = buffer::unified(text);
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        self.anchor = None;
        let changed = self.edit(kind, |editor| {
            editor.cursor = editor.buffer.replace(range, &text);
        });
        self.settle();
        changed
    }

    /// Scrolls without moving the cursor; the next key scrolls back to it.
    pub(crate) fn scroll(&mut self, rows: isize) {
        let mut screen = self.screen;
        screen.scroll(&self.buffer, rows);
        self.screen = screen;
        self.update_colours();
    }

    /// Makes an edit that one undo reverts.
    fn edit(&mut self, kind: EditKind, edit: impl FnOnce(&mut Self)) -> EditorOutcome {
        self.buffer.begin(EditStamp {
            kind,
            time: self.time,
            cursor: self.cursor,
        });
        edit(self);
        self.goal = None;
        if self.buffer.finish(self.time, self.cursor) {
            EditorOutcome::Changed
        } else {
            EditorOutcome::None
        }
    }

    fn delete(&mut self, kind: EditKind, range: Range<TextPosition>) -> EditorOutcome {
        self.anchor = None;
        self.edit(kind, |editor| {
            editor.buffer.replace(range.clone(), "");
            editor.cursor = range.start;
        })
    }

    fn undo(&mut self) -> EditorOutcome {
        match self.buffer.undo() {
            Some(cursor) => self.restored(cursor),
            None => EditorOutcome::Message("nothing to undo".to_owned()),
        }
    }

    fn redo(&mut self) -> EditorOutcome {
        match self.buffer.redo() {
            Some(cursor) => self.restored(cursor),
            None => EditorOutcome::Message("nothing to redo".to_owned()),
        }
    }

    fn restored(&mut self, cursor: TextPosition) -> EditorOutcome {
        self.anchor = None;
        self.jump(cursor);
        EditorOutcome::Changed
    }

    fn jump(&mut self, position: TextPosition) {
        self.cursor = position;
        self.goal = None;
    }

    /// Moves by rows of the screen, keeping the column.
    fn by_rows(&mut self, rows: isize) {
        let buffer = &self.buffer;
        let screen = &self.screen;
        let line = buffer.line(self.cursor.row);
        let (nth, row) = screen.row_of(buffer, self.cursor);
        let column = self
            .goal
            .unwrap_or_else(|| screen::column_in(line, &row, self.cursor.at));
        let here = (self.cursor.row, nth);
        let count = rows.unsigned_abs();
        let target = if rows < 0 {
            screen.up(buffer, here, count)
        } else {
            screen.down(buffer, here, count)
        };
        // At the first and the last row the move goes to the end of the text.
        self.cursor = if target != here {
            screen.position(buffer, target, column)
        } else if rows < 0 {
            TextPosition::default()
        } else {
            buffer.end()
        };
        self.goal = Some(column);
    }

    /// Moves by whole lines, keeping the column.
    fn by_lines(&mut self, lines: isize) {
        let line = self.buffer.line(self.cursor.row);
        let column = self
            .goal
            .unwrap_or_else(|| cells::column_of(line, self.cursor.at));
        let row = self.cursor.row.saturating_add_signed(lines);
        let row = row.min(self.lines().len() - 1);
        self.cursor = TextPosition::new(row, cells::byte_at(self.buffer.line(row), column));
        self.goal = Some(column);
    }

    fn line_end(&self, row: usize) -> TextPosition {
        TextPosition::new(row, self.buffer.line(row).len())
    }

    fn page(&self) -> isize {
        isize::try_from(self.screen.height.saturating_sub(2).max(1)).unwrap_or(isize::MAX)
    }

    /// Scrolls to the cursor and highlights what is on the screen, after a change of text, cursor or
    /// size.
    pub(crate) fn settle(&mut self) {
        let gutter = usize::from(self.gutter());
        let prompt = usize::from(self.prompt.is_some());
        let (width, height) = (usize::from(self.size.0), usize::from(self.size.1));
        if height > 0 {
            // One column is reserved for the cursor after a full row.
            self.screen.width = width.saturating_sub(gutter + 1).max(2);
            self.screen.height = height.saturating_sub(prompt).max(1);
        }
        let mut screen = self.screen;
        screen.reveal(&self.buffer, self.cursor);
        self.screen = screen;
        self.update_colours();
    }

    fn update_colours(&mut self) {
        let splices = std::mem::take(&mut self.buffer.splices);
        if let Some(highlighter) = &mut self.highlighter {
            for splice in splices {
                highlighter.splice(splice.first, splice.removed, splice.added);
            }
            let bottom = self.screen.top + self.screen.height + 1;
            highlighter.parse(self.buffer.lines(), bottom);
        }
    }
}

#[cfg(test)]
mod tests;
