//! The editor of a memory's text: keys and mouse in, an outcome out.
//!
//! The text, its undo and the screen are values of this module; time is handed in with every
//! key, the clipboard and the file are the app's. Two flavours share everything but the meaning
//! of keys: `plain` as in shells and common editors, `vi` with its modes.

mod buffer;
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

use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

pub use buffer::{NotText, TextPosition};
pub use motion::MoveDirection;
pub use screen::Wrap;
pub use search::{SearchPattern, Syntax};
pub use view::{Caret, EditorView};

use self::buffer::{Buffer, EditKind, EditStamp};
use self::prompt::EditorPrompt;
use self::screen::EditorScreen;
use self::search::Start;
use crate::core::config::EditorKeys;
use crate::tui::cells;
use crate::tui::highlight::{Highlighter, Language, Syntaxes};

/// What a key or a click did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorOutcome {
    /// Nothing that anybody else must know: the cursor moved, a mode changed.
    None,
    /// The key means nothing here.
    Unused,
    /// The text is another.
    Changed,
    /// A text for the clipboard.
    Copied(String),
    /// A text for the clipboard, and it was taken out.
    Cut(String),
    /// Save.
    Save,
    /// Leave; ask first if something is not saved.
    Leave,
    /// Save and leave.
    SaveAndLeave,
    /// Leave and forget what is not saved.
    Discard,
    /// Something to tell; after a replacement the text may be another, see [`Editor::is_modified`].
    Message(String),
}

/// Which way of typing the editor is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorMode {
    /// Keys put in letters.
    Insert,
    /// Keys are commands.
    Normal,
    /// Keys move the end of a selection.
    Visual,
    /// Keys move the end of a selection of whole lines.
    VisualLine,
}

/// What was copied or deleted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Register {
    text: String,
    /// Whether it is whole lines.
    is_lines: bool,
}

/// A text that is being edited.
#[derive(Debug, Clone)]
pub struct Editor {
    buffer: Buffer,
    cursor: TextPosition,
    /// Where the selection started.
    anchor: Option<TextPosition>,
    /// The column that moves up and down hold on to.
    goal: Option<usize>,
    screen: EditorScreen,
    /// The whole area, gutter and prompt included.
    size: (u16, u16),
    highlighter: Option<Highlighter>,
    register: Register,
    needle: Option<SearchPattern>,
    prompt: Option<EditorPrompt>,
    vi: Option<vi::Vi>,
    time: Duration,
}

impl Editor {
    /// Opens a file's bytes; [`Editor::text`] gives the same bytes back until something is edited.
    pub fn open(bytes: &[u8]) -> Result<Self, NotText> {
        Ok(Self {
            buffer: Buffer::open(bytes)?,
            cursor: TextPosition::default(),
            anchor: None,
            goal: None,
            screen: EditorScreen {
                top: 0,
                row: 0,
                left: 0,
                width: 80,
                height: 24,
                wrap: Wrap::Soft,
            },
            size: (0, 0),
            highlighter: None,
            register: Register::default(),
            needle: None,
            prompt: None,
            vi: None,
            time: Duration::ZERO,
        })
    }

    /// The mode that vi's keys are in, in a word.
    pub fn mode_name(&self) -> Option<&'static str> {
        self.vi.as_ref().map(|vi| match vi.mode() {
            EditorMode::Insert => "insert",
            EditorMode::Normal => "normal",
            EditorMode::Visual => "visual",
            EditorMode::VisualLine => "visual line",
        })
    }

    /// Understands the keys of `flavour` from now on.
    #[must_use]
    pub fn with_flavour(mut self, flavour: EditorKeys) -> Self {
        self.vi = match flavour {
            EditorKeys::Readline => None,
            EditorKeys::Vi => Some(vi::Vi::default()),
        };
        self
    }

    /// Colours the text from now on.
    #[must_use]
    pub fn with_colours(mut self, syntaxes: Arc<Syntaxes>, language: &Language) -> Self {
        let count = self.buffer.lines().len();
        self.highlighter = Some(Highlighter::new(syntaxes, language, count));
        self.sync_screen();
        self
    }

    /// Breaks long lines, or does not.
    pub fn set_wrap(&mut self, wrap: Wrap) {
        self.screen.wrap = wrap;
        self.screen.row = 0;
        self.sync_screen();
    }

    /// Whether long lines are broken.
    pub fn wrap(&self) -> Wrap {
        self.screen.wrap
    }

    /// The whole text, as it would be in the file.
    pub fn text(&self) -> String {
        self.buffer.text()
    }

    /// The lines, without their ends.
    pub fn lines(&self) -> &[String] {
        self.buffer.lines()
    }

    /// How lines end, for people: `LF` or `CRLF`.
    pub fn line_ending(&self) -> &'static str {
        match self.buffer.newline() {
            "\r\n" => "CRLF",
            _ => "LF",
        }
    }

    /// Where the cursor is.
    pub fn cursor(&self) -> TextPosition {
        self.cursor
    }

    /// What is selected, from its first letter to behind its last.
    pub fn selection(&self) -> Option<Range<TextPosition>> {
        let anchor = self.anchor?;
        let (start, end) = (anchor.min(self.cursor), anchor.max(self.cursor));
        Some(match self.mode() {
            EditorMode::Visual => start..motion::right(self.lines(), end),
            EditorMode::VisualLine => TextPosition::new(start.row, 0)..self.line_end(end.row),
            _ if start == end => return None,
            _ => start..end,
        })
    }

    /// The way of typing.
    pub fn mode(&self) -> EditorMode {
        self.vi.as_ref().map_or(EditorMode::Insert, vi::Vi::mode)
    }

    /// Whether the text differs from what was opened or last saved.
    pub fn is_modified(&self) -> bool {
        self.buffer.is_modified()
    }

    /// Takes note that the text is in the file.
    pub fn mark_saved(&mut self) {
        self.buffer.mark_saved();
    }

    /// Takes the size of the area in which it is drawn.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = (width, height);
        self.sync_screen();
    }

    /// Moves the cursor, for instance to a hit of a search.
    pub fn go_to(&mut self, position: TextPosition) {
        let row = position.row.min(self.lines().len() - 1);
        let mut at = position.at.min(self.buffer.line(row).len());
        while !self.buffer.line(row).is_char_boundary(at) {
            at -= 1;
        }
        self.anchor = None;
        self.jump(TextPosition::new(row, at));
        self.sync_screen();
    }

    /// Takes a key; `time` only ever grows.
    pub fn key(&mut self, key: KeyEvent, time: Duration) -> EditorOutcome {
        self.time = time;
        let outcome = if self.prompt.is_some() {
            self.prompt_key(key)
        } else if self.vi.is_some() {
            self.vi_key(key)
        } else {
            self.plain_key(key)
        };
        self.sync_screen();
        outcome
    }

    /// Puts in text that the terminal pasted.
    pub fn paste(&mut self, text: &str, time: Duration) -> EditorOutcome {
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
        self.sync_screen();
        changed
    }

    /// Takes a click, a drag or the wheel; `area` is where the editor was drawn.
    pub fn mouse(&mut self, event: MouseEvent, area: Rect, time: Duration) -> EditorOutcome {
        self.time = time;
        let under = |editor: &Self| {
            let x = event.column.saturating_sub(area.x + editor.gutter());
            let y = event.row.saturating_sub(area.y);
            editor
                .screen
                .position_at(editor.lines(), usize::from(x), usize::from(y))
        };
        let inside = area.contains(Position::new(event.column, event.row));
        match event.kind {
            MouseEventKind::ScrollDown if inside => self.scroll(3),
            MouseEventKind::ScrollUp if inside => self.scroll(-3),
            MouseEventKind::Down(MouseButton::Left) if inside => {
                let position = under(self);
                self.anchor = None;
                self.leave_visual();
                self.jump(position);
                self.buffer.end_undo_group();
                self.sync_screen();
            }
            MouseEventKind::Drag(MouseButton::Left) => {
                let position = under(self);
                self.anchor = self.anchor.or(Some(self.cursor));
                self.enter_visual();
                self.jump(position);
                self.sync_screen();
            }
            _ => return EditorOutcome::Unused,
        }
        EditorOutcome::None
    }

    /// Moves the screen and leaves the cursor where it is; the next key brings it back.
    pub fn scroll(&mut self, rows: isize) {
        let mut screen = self.screen;
        screen.scroll(self.buffer.lines(), rows);
        self.screen = screen;
        self.update_colours();
    }

    /// What part of the text is above the screen, in percent.
    pub fn percent(&self) -> usize {
        let count = self.lines().len();
        let most = count.saturating_sub(self.screen.height);
        (self.screen.top * 100)
            .checked_div(most)
            .unwrap_or(100)
            .min(100)
    }

    /// Makes an edit that one undo takes back.
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

    /// Moves by rows of the screen, or by whole lines, holding on to the column.
    fn vertical(&mut self, rows: isize, by: By) {
        let lines = self.buffer.lines();
        let screen = EditorScreen {
            wrap: match by {
                By::Rows => self.screen.wrap,
                By::Lines => Wrap::Off,
            },
            ..self.screen
        };
        let line = &lines[self.cursor.row];
        let (nth, range) = screen.row_of(line, self.cursor.at);
        let column = self.goal.unwrap_or_else(|| {
            cells::column_of(line, self.cursor.at) - cells::column_of(line, range.start)
        });
        let here = (self.cursor.row, nth);
        let count = rows.unsigned_abs();
        let target = if rows < 0 {
            screen.up(lines, here, count)
        } else {
            screen.down(lines, here, count)
        };
        let position = if target == here && by == By::Rows {
            // At the first and the last row the move goes to the end of the text.
            if rows < 0 {
                TextPosition::default()
            } else {
                self.buffer.end()
            }
        } else {
            screen.position(lines, target, column)
        };
        self.cursor = position;
        self.goal = Some(column);
    }

    fn line_end(&self, row: usize) -> TextPosition {
        TextPosition::new(row, self.buffer.line(row).len())
    }

    fn page(&self) -> isize {
        isize::try_from(self.screen.height.saturating_sub(2).max(1)).unwrap_or(isize::MAX)
    }

    /// Brings the screen and the colours up to date with the text and the cursor.
    fn sync_screen(&mut self) {
        let gutter = usize::from(self.gutter());
        let prompt = usize::from(self.prompt.is_some());
        let (width, height) = (usize::from(self.size.0), usize::from(self.size.1));
        if height > 0 {
            // One column is kept for the cursor behind a full row.
            self.screen.width = width.saturating_sub(gutter + 1).max(2);
            self.screen.height = height.saturating_sub(prompt).max(1);
        }
        let mut screen = self.screen;
        screen.reveal(self.buffer.lines(), self.cursor);
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

/// What a vertical move counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Rows,
    Lines,
}

#[cfg(test)]
mod tests;
