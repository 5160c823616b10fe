//! Text objects: `iw`, `a"`, `i(` and the like, after an operator or in a selection.

use std::ops::Range;

use super::words;
use crate::tui::widget::editor::buffer::TextPosition;
use crate::tui::widget::editor::{Editor, EditorMode, EditorOutcome, motion};

/// Whether the delimiters, or the blanks beside a word, belong to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Inner,
    Around,
}

/// The range of a text object.
enum TextObject {
    Part(Range<TextPosition>),
    Lines(Range<usize>),
}

impl Editor {
    /// Applies the pending operator to the object named by `c`, or selects it.
    pub(super) fn text_object(&mut self, extent: Extent, c: char) -> EditorOutcome {
        let object = self.find_object(extent, c);
        self.take_count();
        let operator = self.vi.as_mut().and_then(|vi| vi.operator.take());
        match (object, operator) {
            (None, _) => {
                self.cancel_pending();
                EditorOutcome::None
            }
            (Some(TextObject::Part(range)), Some((operator, _))) => {
                self.jump(range.start);
                self.operate(operator, range)
            }
            (Some(TextObject::Lines(rows)), Some((operator, _))) => {
                self.operate_lines(operator, rows)
            }
            (Some(TextObject::Part(range)), None) => {
                self.anchor = Some(range.start);
                self.jump(motion::left(self.lines(), range.end).max(range.start));
                EditorOutcome::None
            }
            (Some(TextObject::Lines(rows)), None) => {
                self.set_mode(EditorMode::VisualLine);
                self.anchor = Some(TextPosition::new(rows.start, 0));
                self.jump(TextPosition::new(rows.end - 1, 0));
                EditorOutcome::None
            }
        }
    }

    fn find_object(&self, extent: Extent, c: char) -> Option<TextObject> {
        let part = match c {
            'w' | 'W' => self.word_object(extent, c),
            '"' | '\'' | '`' => self.quoted_object(extent, c)?,
            '(' | ')' | 'b' => self.bracketed_object(extent, ('(', ')'))?,
            '[' | ']' => self.bracketed_object(extent, ('[', ']'))?,
            '{' | '}' | 'B' => self.bracketed_object(extent, ('{', '}'))?,
            '<' | '>' => self.bracketed_object(extent, ('<', '>'))?,
            'p' => return Some(TextObject::Lines(self.paragraph_object(extent))),
            _ => return None,
        };
        Some(TextObject::Part(part))
    }

    /// A run of letters, of punctuation or of blanks; with [`Extent::Around`] also the blanks
    /// after it, or else those before it.
    fn word_object(&self, extent: Extent, c: char) -> Range<TextPosition> {
        let (lines, row) = (self.lines(), self.cursor.row);
        let mut range = motion::run(lines, self.cursor, words(c));
        if extent == Extent::Inner {
            return range;
        }
        let line = self.buffer.line(row);
        let is_blank = |text: &str| text.starts_with(char::is_whitespace);
        if is_blank(&line[range.start.at..]) {
            // On blanks, the word after them belongs to the object.
            range.end = motion::run(lines, range.end, words(c)).end;
        } else if is_blank(&line[range.end.at..]) {
            range.end = motion::run(lines, range.end, words(c)).end;
        } else {
            let kept = line[..range.start.at].trim_end();
            range.start.at = kept.len();
        }
        range
    }

    /// The quotes around the cursor, or else the next ones in the line.
    fn quoted_object(&self, extent: Extent, quote: char) -> Option<Range<TextPosition>> {
        let TextPosition { row, at } = self.cursor;
        let line = self.buffer.line(row);
        let mut quotes = Vec::new();
        let mut escaped = false;
        for (byte, c) in line.char_indices() {
            if c == quote && !escaped {
                quotes.push(byte);
            }
            escaped = c == '\\' && !escaped;
        }
        let pair = quotes.chunks_exact(2).find(|pair| at <= pair[1])?;
        let (mut start, mut end) = (pair[0], pair[1] + 1);
        if extent == Extent::Inner {
            (start, end) = (start + 1, end - 1);
        } else {
            let rest = &line[end..];
            end += rest.len() - rest.trim_start().len();
        }
        Some(TextPosition::new(row, start)..TextPosition::new(row, end))
    }

    /// The innermost brackets around the cursor.
    fn bracketed_object(
        &self,
        extent: Extent,
        (open, close): (char, char),
    ) -> Option<Range<TextPosition>> {
        let lines = self.lines();
        let here = lines[self.cursor.row][self.cursor.at..].chars().next();
        let start = if here == Some(open) {
            self.cursor
        } else {
            self.unmatched_before(open, close)?
        };
        let mut depth = 0_usize;
        let mut from = start.at;
        for (row, line) in lines.iter().enumerate().skip(start.row) {
            for (at, c) in line[from..].char_indices() {
                let end = TextPosition::new(row, from + at);
                if c == open {
                    depth += 1;
                } else if c == close {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(match extent {
                            Extent::Around => start..motion::after(lines, end),
                            Extent::Inner => motion::after(lines, start)..end,
                        });
                    }
                }
            }
            from = 0;
        }
        None
    }

    /// The last `open` before the cursor that is not closed before it.
    fn unmatched_before(&self, open: char, close: char) -> Option<TextPosition> {
        let lines = self.lines();
        let mut depth = 0_usize;
        let mut until = self.cursor.at;
        for row in (0..=self.cursor.row).rev() {
            for (at, c) in lines[row][..until].char_indices().rev() {
                if c == close {
                    depth += 1;
                } else if c == open && depth == 0 {
                    return Some(TextPosition::new(row, at));
                } else if c == open {
                    depth -= 1;
                }
            }
            until = row.checked_sub(1).map_or(0, |above| lines[above].len());
        }
        None
    }

    /// The lines of a paragraph, or of the blank lines at the cursor; with [`Extent::Around`] also
    /// the blank lines after it.
    fn paragraph_object(&self, extent: Extent) -> Range<usize> {
        let lines = self.lines();
        let is_blank = |row: usize| lines[row].trim().is_empty();
        let end_of = |first: usize| {
            let kind = is_blank(first);
            let rest = first..lines.len();
            rest.take_while(|row| is_blank(*row) == kind).count() + first
        };
        let here = self.cursor.row;
        let kind = is_blank(here);
        let above = (0..here).rev().take_while(|row| is_blank(*row) == kind);
        let start = here - above.count();
        let mut end = end_of(here);
        if extent == Extent::Around && end < lines.len() {
            end = end_of(end);
        }
        start..end
    }
}
