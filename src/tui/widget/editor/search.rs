//! Find and replace in the text of the editor.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::buffer::{EditKind, TextPosition};
use super::motion::{self, MoveDirection};
use super::{Editor, EditorOutcome};
use crate::tui::cells;

/// The syntax of a search pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Syntax {
    /// Literal text.
    #[default]
    Literal,
    /// A regular expression.
    Regex,
}

/// A compiled search pattern.
#[derive(Debug, Clone)]
pub(crate) struct SearchPattern {
    pub text: String,
    pub syntax: Syntax,
    pattern: Regex,
}

impl SearchPattern {
    /// Compiles a pattern, case-insensitive unless it has an uppercase letter. `None` for an empty
    /// text and for an invalid expression.
    pub(crate) fn new(text: &str, syntax: Syntax) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let source = match syntax {
            Syntax::Literal => regex::escape(text),
            Syntax::Regex => text.to_owned(),
        };
        let pattern = RegexBuilder::new(&source)
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .size_limit(1 << 20)
            .build()
            .ok()?;
        Some(Self {
            text: text.to_owned(),
            syntax,
            pattern,
        })
    }

    /// Returns the matches in a line that are not empty.
    pub(crate) fn matches<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.pattern
            .find_iter(line)
            .map(|found| found.range())
            .filter(|range| !range.is_empty())
    }

    /// Returns the next match from `from` on, or the previous one before it, wrapping around.
    pub(super) fn find(
        &self,
        lines: &[String],
        from: TextPosition,
        direction: MoveDirection,
    ) -> Option<Range<TextPosition>> {
        let count = lines.len();
        // The first line is searched again at the end, for its part on the other side of `from`.
        (0..=count).find_map(|step| {
            let row = match direction {
                MoveDirection::Forward => (from.row + step) % count,
                MoveDirection::Backward => (from.row + 2 * count - step) % count,
            };
            let mut matches = self.matches(&lines[row]);
            let found = match (direction, step) {
                (MoveDirection::Forward, 0) => matches.find(|range| range.start >= from.at),
                (MoveDirection::Backward, 0) => {
                    matches.take_while(|range| range.start < from.at).last()
                }
                (MoveDirection::Forward, _) => matches.next(),
                (MoveDirection::Backward, _) => matches.last(),
            }?;
            Some(TextPosition::new(row, found.start)..TextPosition::new(row, found.end))
        })
    }

    /// Returns the replacement of a match; with regular expressions, `$1` is a group.
    pub(super) fn replaced(&self, line: &str, found: &Range<usize>, with: &str) -> String {
        if self.syntax == Syntax::Literal {
            return with.to_owned();
        }
        let mut out = String::new();
        match self.pattern.captures_at(line, found.start) {
            Some(captures) => captures.expand(with, &mut out),
            None => out.push_str(with),
        }
        out
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// At the cursor, including a match there.
    Here,
    /// After the cursor.
    Next,
}

impl Editor {
    /// Replaces every match of `needle` in these lines as one edit, and returns their number.
    pub(super) fn replace_rows(
        &mut self,
        needle: &SearchPattern,
        with: &str,
        rows: Range<usize>,
    ) -> usize {
        let mut count = 0;
        self.edit(EditKind::Single, |editor| {
            // From the end, so that earlier positions stay valid.
            for row in rows.rev() {
                let line = editor.buffer.line(row).to_owned();
                let found: Vec<Range<usize>> = needle.matches(&line).collect();
                for range in found.into_iter().rev() {
                    let new = needle.replaced(&line, &range, with);
                    let position =
                        TextPosition::new(row, range.start)..TextPosition::new(row, range.end);
                    editor.buffer.replace(position, &new);
                    count += 1;
                }
            }
            let row = editor.cursor.row.min(editor.lines().len() - 1);
            let at = editor.cursor.at.min(editor.buffer.line(row).len());
            editor.cursor = TextPosition::new(row, editor.char_start(row, at));
        });
        self.settle();
        count
    }

    pub(super) fn find_next(&mut self, direction: MoveDirection, start: Start) -> EditorOutcome {
        let Some(needle) = self.needle.clone() else {
            return EditorOutcome::Message("nothing to look for yet".to_owned());
        };
        let from = match (direction, start) {
            (MoveDirection::Forward, Start::Next) => motion::right(self.lines(), self.cursor),
            _ => self.cursor,
        };
        match needle.find(self.lines(), from, direction) {
            Some(range) => {
                self.jump(range.start);
                EditorOutcome::None
            }
            None => EditorOutcome::Message(format!("no match for {}", needle.text)),
        }
    }

    /// Returns the start of the character that contains byte `at` of a line.
    pub(super) fn char_start(&self, row: usize, at: usize) -> usize {
        let line = self.buffer.line(row);
        let ends = cells::cells(line).take_while(|cell| cell.at <= at).last();
        match ends {
            Some(cell) if at < cell.at + cell.text.len() => cell.at,
            _ => at.min(line.len()),
        }
    }
}
