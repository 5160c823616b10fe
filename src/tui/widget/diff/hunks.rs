//! The hunks of one file, each of which can be chosen by itself.

use std::ops::Range;

use ratatui::text::Line;

use super::{DiffRow, Rows, Sign, digits};
use crate::core::insight::review::ReviewHunk;
use crate::tui::theme::Theme;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hunks(Vec<Vec<DiffRow>>);

impl Hunks {
    pub(crate) fn new(hunks: &[ReviewHunk]) -> Self {
        Self(hunks.iter().map(rows).collect())
    }

    /// Returns the lines of all hunks, and which of these lines each row of each hunk has.
    pub(crate) fn lines(
        &self,
        theme: &Theme,
        width: u16,
    ) -> (Vec<Line<'static>>, Vec<Vec<Range<usize>>>) {
        let width = usize::from(width);
        let digits = digits(self.0.iter().flatten());
        let mut lines = Vec::new();
        let mut ranges = Vec::new();
        for rows in &self.0 {
            if !lines.is_empty() {
                lines.extend(DiffRow::Gap.lines(theme, width, digits));
            }
            let of_rows = rows.iter().map(|row| {
                let start = lines.len();
                lines.extend(row.lines(theme, width, digits));
                start..lines.len()
            });
            ranges.push(of_rows.collect());
        }
        (lines, ranges)
    }
}

fn rows(hunk: &ReviewHunk) -> Vec<DiffRow> {
    let (mut old, mut new) = (hunk.old.start, hunk.new.start);
    let mut rows = Rows::default();
    for line in hunk.text.split_inclusive('\n') {
        let mut letters = line.chars();
        let sign = match letters.next() {
            Some('+') => Sign::Added,
            Some('-') => Sign::Removed,
            Some(' ') => Sign::Same,
            // A remark on the line before: it has no line end.
            _ => continue,
        };
        let number = match sign {
            Sign::Removed => {
                old += 1;
                old
            }
            Sign::Added => {
                new += 1;
                new
            }
            Sign::Same => {
                old += 1;
                new += 1;
                new
            }
        };
        rows.push(sign, number, letters.as_str().as_bytes());
    }
    rows.end()
}
