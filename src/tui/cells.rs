//! Text as terminal cells: widths, cutting, wrapping, and escaping of control characters.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

pub(super) use crate::core::text::display::visible_char;

/// The distance between tab stops, in columns.
pub(super) const TAB: usize = 4;

/// Returns the width of `text` in columns.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Returns `text` on one line without control characters; tabs and line ends become blanks.
/// Of the marks that combine with one character, only the first are kept: a terminal draws them all
/// into one cell.
pub(super) fn escape_line(text: &str) -> String {
    if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control()) {
        return text.to_owned();
    }
    let mut marks = 0;
    text.chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => ' ',
            c => visible_char(c).unwrap_or(c),
        })
        .filter(|c| {
            marks = if c.width() == Some(0) { marks + 1 } else { 0 };
            marks <= MOST_MARKS
        })
        .collect()
}

/// How many marks that take no room are drawn into one cell. No script stacks more.
const MOST_MARKS: usize = 8;

/// A grapheme of a line, as the terminal shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    /// The byte offset in the line.
    pub at: usize,
    /// The text of the grapheme.
    pub text: &'a str,
    /// The first column.
    pub column: usize,
    /// The width in columns; never 0.
    pub width: usize,
}

impl Cell<'_> {
    /// The text to draw.
    pub(super) fn symbol(&self) -> String {
        if self.text == "\t" {
            return " ".repeat(self.width);
        }
        let symbol = escape_line(self.text);
        match width(&symbol) {
            0 => "\u{fffd}".to_owned(),
            _ => symbol,
        }
    }
}

/// Returns the cells of a line, tabs expanded.
pub(super) fn cells(line: &str) -> impl Iterator<Item = Cell<'_>> {
    cells_in(line, 0..line.len(), 0)
}

/// Returns the cells of a part of a line that starts at a cell in this column.
pub(super) fn cells_in(
    line: &str,
    part: Range<usize>,
    column: usize,
) -> impl Iterator<Item = Cell<'_>> {
    let (mut at, end) = (part.start, part.end.min(line.len()));
    let mut column = column;
    std::iter::from_fn(move || {
        let text = first_grapheme(line.get(at..end)?)?;
        let width = match text {
            "\t" => TAB - column % TAB,
            text if text.len() == 1 => 1,
            text if text.chars().all(|c| visible_char(c).is_none()) => width(text).max(1),
            text => width(&escape_line(text)).max(1),
        };
        let cell = Cell {
            at,
            text,
            column,
            width,
        };
        at += text.len();
        column += width;
        Some(cell)
    })
}

/// Returns the first grapheme. Most text is ASCII, which needs no segmentation.
fn first_grapheme(text: &str) -> Option<&str> {
    match text.as_bytes() {
        [] => None,
        [first] | [first, ..] if !first.is_ascii() => text.graphemes(true).next(),
        [_, second, ..] if !second.is_ascii() => text.graphemes(true).next(),
        _ => Some(&text[..1]),
    }
}

/// Returns the column of byte `at` in `line`.
pub(super) fn column_of(line: &str, at: usize) -> usize {
    cells(line)
        .take_while(|cell| cell.at < at)
        .last()
        .map_or(0, |cell| cell.column + cell.width)
}

/// Returns the byte offset of the cell at `column`, or the length of a shorter `line`.
pub(crate) fn byte_at(line: &str, column: usize) -> usize {
    cells(line)
        .find(|cell| cell.column + cell.width > column)
        .map_or(line.len(), |cell| cell.at)
}

/// Cuts `text` to at most `width` columns; `…` marks the cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.is_ascii() && text.len() <= width && !text.bytes().any(|b| b.is_ascii_control()) {
        return text.to_owned();
    }
    let text = escape_line(text);
    if text.width() <= width {
        return text;
    }
    let mut out = String::new();
    let mut room = width.saturating_sub(1);
    for piece in text.graphemes(true) {
        let wide = piece.width();
        if wide > room {
            break;
        }
        room -= wide;
        out.push_str(piece);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Cuts `text` to `width` columns and pads it with blanks.
pub(super) fn fit(text: &str, width: usize) -> String {
    let mut out = cut(text, width);
    let missing = width.saturating_sub(out.width());
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// A row of a wrapped line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The bytes of the line.
    pub range: Range<usize>,
    /// The column of the line at which the row starts.
    pub column: usize,
}

/// Wraps a line at `width` columns; returns the byte range of each row. Rows break after blanks,
/// or within a word that is too long. Blanks at the end of a row may exceed the width.
pub(super) fn wrap(line: &str, width: usize) -> Vec<Range<usize>> {
    rows(line, width).into_iter().map(|row| row.range).collect()
}

/// Wraps a line as [`wrap`] does; returns the rows without control characters and without blanks at
/// their ends.
pub(crate) fn wrapped(line: &str, width: usize) -> Vec<String> {
    let line = escape_line(line);
    let rows = wrap(&line, width).into_iter();
    rows.map(|row| line[row].trim_end().to_owned()).collect()
}

/// Wraps a line as [`wrap`] does.
pub(super) fn rows(line: &str, width: usize) -> Vec<Row> {
    let width = width.max(2);
    let mut rows = Vec::new();
    let (mut start, mut start_column) = (0, 0);
    // The position after the last blank, where a row may end.
    let mut after_blank: Option<(usize, usize)> = None;
    for cell in cells(line) {
        let is_blank = cell.text == " " || cell.text == "\t";
        while cell.column + cell.width > start_column + width && !is_blank && cell.at > start {
            let (at, column) = after_blank
                .filter(|(at, _)| *at > start)
                .unwrap_or((cell.at, cell.column));
            rows.push(Row {
                range: start..at,
                column: start_column,
            });
            (start, start_column) = (at, column);
            after_blank = None;
        }
        if is_blank {
            after_blank = Some((cell.at + cell.text.len(), cell.column + cell.width));
        }
    }
    rows.push(Row {
        range: start..line.len(),
        column: start_column,
    });
    rows
}

/// Wraps a line at `width` columns, each character in the style of its byte. The styles are asked
/// for in order.
pub(super) fn styled_rows(
    line: &str,
    width: usize,
    mut style_at: impl FnMut(usize) -> Style,
) -> Vec<Vec<Span<'static>>> {
    let mut rows: Vec<Vec<Span<'static>>> = Vec::new();
    let mut cells = cells(line).peekable();
    for range in wrap(line, width) {
        let mut row: Vec<Span<'static>> = Vec::new();
        let end = range.start + line[range.clone()].trim_end().len();
        while let Some(cell) = cells.next_if(|cell| cell.at < range.end) {
            if cell.at >= end {
                continue;
            }
            let style = style_at(cell.at);
            match row.last_mut() {
                Some(span) if span.style == style => {
                    span.content.to_mut().push_str(&cell.symbol());
                }
                _ => row.push(Span::styled(cell.symbol(), style)),
            }
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_stays() {
        assert_eq!(
            escape_line("a\u{1b}[31mb\u{9b}c\td\u{202e}"),
            "a␛[31mb\u{fffd}c d\u{fffd}"
        );
        assert_eq!(escape_line("ok 한글 👩‍👩‍👧"), "ok 한글 👩‍👩‍👧");
    }

    #[test]
    fn cutting_counts_columns_and_keeps_pieces_whole() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello", 4), "hel…");
        assert_eq!(cut("한글이다", 5), "한글…");
        assert_eq!(cut("한글이다", 4), "한…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(fit("한", 4), "한  ");
    }

    #[test]
    fn columns_and_bytes_lead_to_each_other() {
        let line = "\ta한b👩‍👩‍👧c";
        let columns: Vec<(usize, usize)> =
            cells(line).map(|cell| (cell.column, cell.width)).collect();
        assert_eq!(columns, [(0, 4), (4, 1), (5, 2), (7, 1), (8, 2), (10, 1)]);
        for cell in cells(line) {
            assert_eq!(column_of(line, cell.at), cell.column);
            assert_eq!(byte_at(line, cell.column), cell.at);
        }
        assert_eq!(byte_at(line, 6), 2, "the second half of a wide letter");
        assert_eq!(byte_at(line, 99), line.len());
    }

    fn pieces(line: &str, width: usize) -> Vec<&str> {
        wrap(line, width)
            .into_iter()
            .map(|range| &line[range])
            .collect()
    }

    #[test]
    fn lines_are_broken_behind_blanks() {
        assert_eq!(pieces("one two three", 8), ["one two ", "three"]);
        assert_eq!(pieces("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(pieces("a bcdefgh", 4), ["a ", "bcde", "fgh"]);
        assert_eq!(pieces("한글한글", 5), ["한글", "한글"]);
        assert_eq!(pieces("", 5), [""]);
    }

    proptest! {
        #[test]
        fn rows_make_up_the_line_and_fit(line in "[a b한👩\\t]{0,60}", width in 5..30usize) {
            let rows = pieces(&line, width);
            prop_assert_eq!(rows.concat(), line.clone());
            for range in wrap(&line, width) {
                let start = column_of(&line, range.start);
                let end = range.start + line[range].trim_end().len();
                prop_assert!(column_of(&line, end) <= start + width);
            }
        }
    }
}
