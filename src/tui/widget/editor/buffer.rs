//! The text of the editor: lines, undo and redo, and the file's BOM and line endings.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::tui::cells::{self, Row};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct TextPosition {
    /// The line, from 0.
    pub row: usize,
    /// The byte offset in the line.
    pub at: usize,
}

impl TextPosition {
    pub(crate) fn new(row: usize, at: usize) -> Self {
        Self { row, at }
    }
}

/// How edits are grouped into one undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditKind {
    /// Typed characters; the end of a word or a pause ends the group.
    Typing,
    /// Deleted characters; a pause ends the group.
    Deleting,
    /// Everything since insert mode was entered.
    Session,
    /// A group of its own.
    Single,
}

/// Kind, time and cursor of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EditStamp {
    pub(super) kind: EditKind,
    pub(super) time: Duration,
    pub(super) cursor: TextPosition,
}

/// One replacement, with what is needed to revert it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextEdit {
    start: TextPosition,
    end: TextPosition,
    removed: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct UndoGroup {
    kind: EditKind,
    time: Duration,
    edits: Vec<TextEdit>,
    before: TextPosition,
    after: TextPosition,
}

/// A replacement of lines, for data that is kept per line, such as highlighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) first: usize,
    pub(super) removed: usize,
    pub(super) added: usize,
}

/// A pause of this length ends an undo group.
const PAUSE: Duration = Duration::from_millis(1_000);

/// The maximum number of undo groups.
const UNDOS: usize = 10_000;

#[derive(Debug, Clone)]
pub(super) struct Buffer {
    lines: Vec<String>,
    has_bom: bool,
    newline: &'static str,
    ends_with_newline: bool,
    undo: Vec<UndoGroup>,
    redo: Vec<UndoGroup>,
    /// Whether the next edit starts a new undo group.
    starts_undo_group: bool,
    pub(super) splices: Vec<Splice>,
    /// How often the lines have changed.
    revision: u64,
    /// The rows of long lines by line and width, since the last edit: wrapping takes a pass over
    /// the line, and every key needs the rows several times.
    wrapped: RefCell<WrappedLines>,
}

/// The rows of lines, by the line and the width.
type WrappedLines = HashMap<(usize, usize), Arc<[Row]>>;

/// Lines longer than this many bytes are wrapped once for all uses until the next edit.
const LONG: usize = 1_000;

impl Buffer {
    pub(super) fn of(text: &str) -> Self {
        let (has_bom, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let lines: Vec<&str> = text.split('\n').collect();
        let ended = &lines[..lines.len() - 1];
        // With mixed line endings, carriage returns stay in the lines as visible characters, and
        // are saved unchanged.
        let crlf = !ended.is_empty() && ended.iter().all(|line| line.ends_with('\r'));
        let ends_with_newline = lines.len() > 1 && lines.last() == Some(&"");
        let count = lines.len() - usize::from(ends_with_newline);
        let lines = lines[..count]
            .iter()
            .map(|line| match line.strip_suffix('\r') {
                Some(bare) if crlf => bare.to_owned(),
                _ => (*line).to_owned(),
            })
            .collect();
        Self {
            lines,
            has_bom,
            newline: if crlf { "\r\n" } else { "\n" },
            ends_with_newline,
            undo: Vec::new(),
            redo: Vec::new(),
            starts_undo_group: false,
            splices: Vec::new(),
            revision: 0,
            wrapped: RefCell::default(),
        }
    }

    /// Becomes another text, without an undo step: one cannot change the kind of line ending.
    pub(super) fn become_other(&mut self, other: Self) {
        let splice = Splice {
            first: 0,
            removed: self.lines.len(),
            added: other.lines.len(),
        };
        let revision = self.revision + 1;
        *self = other;
        self.revision = revision;
        self.splices.push(splice);
    }

    /// Returns a number that differs after every change of the lines.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the rows of a line, wrapped at `width` columns.
    pub(super) fn rows(&self, row: usize, width: usize) -> Arc<[Row]> {
        let line = self.line(row);
        if line.len() <= LONG {
            return cells::rows(line, width).into();
        }
        let mut wrapped = self.wrapped.borrow_mut();
        let rows = wrapped.entry((row, width));
        Arc::clone(rows.or_insert_with(|| cells::rows(line, width).into()))
    }

    /// Whether `text` has the byte order mark, the newlines and the last newline of this one, so
    /// that replacing the lines gives exactly that text.
    fn is_framed_as(&self, other: &Self) -> bool {
        (self.has_bom, self.newline, self.ends_with_newline)
            == (other.has_bom, other.newline, other.ends_with_newline)
    }

    /// Returns the lines that turn this text into `other`, and the range that they replace; `None`
    /// if it cannot be reached by replacing lines.
    pub(super) fn replacement_by(&self, other: &Self) -> Option<(Range<TextPosition>, String)> {
        if !self.is_framed_as(other) {
            return None;
        }
        let (old, new) = (&self.lines, &other.lines);
        let most = old.len().min(new.len()) - 1;
        let same = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
            pairs.take(most).take_while(|(a, b)| a == b).count()
        };
        let head = same(&mut old.iter().zip(new));
        let tail = same(&mut old.iter().rev().zip(new.iter().rev())).min(most - head);
        let last = old.len() - 1 - tail;
        let range = TextPosition::new(head, 0)..TextPosition::new(last, old[last].len());
        Some((range, new[head..new.len() - tail].join("\n")))
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.has_bom {
            text.push('\u{feff}');
        }
        text.push_str(&self.lines.join(self.newline));
        if self.ends_with_newline {
            text.push_str(self.newline);
        }
        text
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(super) fn line(&self, row: usize) -> &str {
        self.lines.get(row).map_or("", String::as_str)
    }

    pub(super) fn newline(&self) -> &'static str {
        self.newline
    }

    pub(super) fn end(&self) -> TextPosition {
        let row = self.lines.len() - 1;
        TextPosition::new(row, self.lines[row].len())
    }

    /// Returns the text of a range, lines joined by `\n`.
    pub(super) fn slice(&self, range: &Range<TextPosition>) -> String {
        let (start, end) = (range.start, range.end);
        if start.row == end.row {
            return self.lines[start.row][start.at..end.at].to_owned();
        }
        let mut text = self.lines[start.row][start.at..].to_owned();
        for line in &self.lines[start.row + 1..end.row] {
            text.push('\n');
            text.push_str(line);
        }
        text.push('\n');
        text.push_str(&self.lines[end.row][..end.at]);
        text
    }

    /// Starts an undo group, or continues the last one.
    pub(super) fn begin(&mut self, stamp: EditStamp) {
        let joins = self.undo.last().is_some_and(|last| {
            !self.starts_undo_group
                && last.kind == stamp.kind
                && match stamp.kind {
                    EditKind::Session => true,
                    EditKind::Single => false,
                    EditKind::Typing | EditKind::Deleting => {
                        last.after == stamp.cursor && stamp.time.saturating_sub(last.time) < PAUSE
                    }
                }
        });
        self.starts_undo_group = false;
        if joins {
            return;
        }
        self.undo.push(UndoGroup {
            kind: stamp.kind,
            time: stamp.time,
            edits: Vec::new(),
            before: stamp.cursor,
            after: stamp.cursor,
        });
        if self.undo.len() > UNDOS {
            self.undo.remove(0);
        }
    }

    /// Ends an edit with the cursor at `cursor`; returns whether the text changed.
    pub(super) fn finish(&mut self, time: Duration, cursor: TextPosition) -> bool {
        let Some(group) = self.undo.last_mut() else {
            return false;
        };
        if group.edits.is_empty() {
            self.undo.pop();
            return false;
        }
        group.after = cursor;
        group.time = time;
        self.redo.clear();
        true
    }

    /// Makes the next edit start a new undo group.
    pub(super) fn end_undo_group(&mut self) {
        self.starts_undo_group = true;
    }

    /// Replaces `range` by `text` and returns the end of the new text. Called between
    /// [`Buffer::begin`] and [`Buffer::finish`].
    pub(super) fn replace(&mut self, range: Range<TextPosition>, text: &str) -> TextPosition {
        let edit = self.apply(range, text);
        let end = edit.end;
        if edit.start == edit.end && edit.removed.is_empty() {
            return end;
        }
        if let Some(group) = self.undo.last_mut() {
            group.edits.push(edit);
        }
        end
    }

    fn apply(&mut self, range: Range<TextPosition>, text: &str) -> TextEdit {
        let (start, end) = (range.start, range.end);
        let removed = self.slice(&range);
        self.revision += 1;
        self.wrapped.get_mut().clear();
        let added = text.matches('\n').count() + 1;
        let last = text.rsplit('\n').next().unwrap_or(text);
        let new_end = if added == 1 {
            TextPosition::new(start.row, start.at + text.len())
        } else {
            TextPosition::new(start.row + added - 1, last.len())
        };
        if start.row == end.row && added == 1 {
            self.lines[start.row].replace_range(start.at..end.at, text);
        } else {
            let mut whole = self.lines[start.row][..start.at].to_owned();
            whole.push_str(text);
            whole.push_str(&self.lines[end.row][end.at..]);
            self.lines
                .splice(start.row..=end.row, whole.split('\n').map(str::to_owned));
        }
        self.splices.push(Splice {
            first: start.row,
            removed: end.row - start.row + 1,
            added,
        });
        TextEdit {
            start,
            end: new_end,
            removed,
        }
    }

    /// Reverts the last undo group and returns the cursor before it.
    pub(super) fn undo(&mut self) -> Option<TextPosition> {
        let group = self.undo.pop()?;
        let cursor = group.before;
        let inverse = self.invert(group);
        self.redo.push(inverse);
        Some(cursor)
    }

    /// Repeats the last reverted undo group and returns the cursor after it.
    pub(super) fn redo(&mut self) -> Option<TextPosition> {
        let group = self.redo.pop()?;
        let cursor = group.after;
        let inverse = self.invert(group);
        self.undo.push(inverse);
        self.starts_undo_group = true;
        Some(cursor)
    }

    fn invert(&mut self, group: UndoGroup) -> UndoGroup {
        let mut edits = Vec::with_capacity(group.edits.len());
        for edit in group.edits.iter().rev() {
            edits.push(self.apply(edit.start..edit.end, &edit.removed));
        }
        UndoGroup { edits, ..group }
    }
}

/// Converts the line endings of pasted text to `\n`.
pub(super) fn unified(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_comes_back_byte_by_byte() {
        for text in [
            "",
            "\n",
            "a",
            "a\n",
            "a\n\n",
            "a\r\nb\r\n",
            "a\r\nb",
            "a\r\nb\nc\r\n",
            "\u{feff}a\n",
            "a\rb\n",
            "\r\n",
            "\r",
            "한\r\n글",
        ] {
            assert_eq!(Buffer::of(text).text(), text);
        }
    }

    fn position(buffer: &Buffer, row: usize, at: usize) -> TextPosition {
        let row = row % buffer.lines().len();
        let line = buffer.line(row);
        let mut at = at % (line.len() + 1);
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        TextPosition::new(row, at)
    }

    proptest! {
        #[test]
        fn undo_goes_back_to_the_start_and_redo_to_the_end(
            start in "[a한\\n]{0,20}",
            edits in prop::collection::vec((0..9usize, 0..9usize, 0..9usize, 0..9usize, "[xy글\\n]{0,4}"), 0..20),
        ) {
            let mut buffer = Buffer::of(&start);
            for (row, at, row2, at2, text) in edits {
                let (a, b) = (position(&buffer, row, at), position(&buffer, row2, at2));
                let before = buffer.text();
                buffer.begin(EditStamp { kind: EditKind::Single, time: Duration::ZERO, cursor: a });
                buffer.replace(a.min(b)..a.max(b), &text);
                let edited = buffer.finish(Duration::ZERO, a);
                prop_assert!(edited || before == buffer.text());
            }
            let end = buffer.text();
            while buffer.undo().is_some() {}
            prop_assert_eq!(buffer.text(), start);
            while buffer.redo().is_some() {}
            prop_assert_eq!(buffer.text(), end);
        }
    }
}
