//! Finding and replacing in the text of the editor.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::buffer::{Kind, Place};
use super::motion::{self, Way};
use super::{Editor, EditorOutcome};
use crate::tui::cells;

/// How what is looked for is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// As it stands.
    #[default]
    Literal,
    /// As a regular expression.
    Regex,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Needle {
    /// As it was typed.
    pub text: String,
    /// How it is written.
    pub syntax: Syntax,
    pattern: Regex,
}

impl Needle {
    /// What `text` looks for; letters of either case unless it has a capital. `None` for an empty
    /// text and for an expression that is not complete.
    pub fn new(text: &str, syntax: Syntax) -> Option<Self> {
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

    /// The matches in a line that are not empty.
    pub fn matches<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.pattern
            .find_iter(line)
            .map(|found| found.range())
            .filter(|range| !range.is_empty())
    }

    /// The next match from `from` on, or the last before it, going round at the end.
    pub(super) fn find(&self, lines: &[String], from: Place, way: Way) -> Option<Range<Place>> {
        let count = lines.len();
        // The first line comes again at the end, for the part on the other side of `from`.
        (0..=count).find_map(|step| {
            let row = match way {
                Way::On => (from.row + step) % count,
                Way::Back => (from.row + 2 * count - step) % count,
            };
            let mut matches = self.matches(&lines[row]);
            let found = match (way, step) {
                (Way::On, 0) => matches.find(|range| range.start >= from.at),
                (Way::Back, 0) => matches.take_while(|range| range.start < from.at).last(),
                (Way::On, _) => matches.next(),
                (Way::Back, _) => matches.last(),
            }?;
            Some(Place::new(row, found.start)..Place::new(row, found.end))
        })
    }

    /// What a match becomes; in regular expressions `$1` is a group.
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

/// Where a search starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// At the cursor, a match there included.
    Here,
    /// Behind it.
    Next,
}

impl Editor {
    /// Looks for `text` from the cursor on and goes there.
    pub fn find(&mut self, text: &str, syntax: Syntax) -> EditorOutcome {
        self.needle = Needle::new(text, syntax);
        let outcome = self.find_next(Way::On, Start::Here);
        self.settle();
        outcome
    }

    /// Replaces every match of `needle` as one edit, and says how many there were.
    pub fn replace_all(&mut self, needle: &Needle, with: &str) -> usize {
        let rows = 0..self.lines().len();
        self.replace_rows(needle, with, rows)
    }

    pub(super) fn replace_rows(
        &mut self,
        needle: &Needle,
        with: &str,
        rows: Range<usize>,
    ) -> usize {
        let mut count = 0;
        self.edit(Kind::Single, |editor| {
            // From the end, so that places before stay where they are.
            for row in rows.rev() {
                let line = editor.buffer.line(row).to_owned();
                let found: Vec<Range<usize>> = needle.matches(&line).collect();
                for range in found.into_iter().rev() {
                    let new = needle.replaced(&line, &range, with);
                    let place = Place::new(row, range.start)..Place::new(row, range.end);
                    editor.buffer.replace(place, &new);
                    count += 1;
                }
            }
            let row = editor.cursor.row.min(editor.lines().len() - 1);
            let at = editor.cursor.at.min(editor.buffer.line(row).len());
            editor.cursor = Place::new(row, editor.whole(row, at));
        });
        self.settle();
        count
    }

    pub(super) fn find_next(&mut self, way: Way, start: Start) -> EditorOutcome {
        let Some(needle) = self.needle.clone() else {
            return EditorOutcome::Message("nothing to look for yet".to_owned());
        };
        let from = match (way, start) {
            (Way::On, Start::Next) => motion::right(self.lines(), self.cursor),
            _ => self.cursor,
        };
        match needle.find(self.lines(), from, way) {
            Some(range) => {
                self.jump(range.start);
                EditorOutcome::None
            }
            None => EditorOutcome::Message(format!("no match for {}", needle.text)),
        }
    }

    /// The start of the letter in which byte `at` of a line is.
    pub(super) fn whole(&self, row: usize, at: usize) -> usize {
        let line = self.buffer.line(row);
        let ends = cells::cells(line).take_while(|cell| cell.at <= at).last();
        match ends {
            Some(cell) if at < cell.at + cell.text.len() => cell.at,
            _ => at.min(line.len()),
        }
    }
}
