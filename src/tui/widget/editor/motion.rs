//! Cursor movements by characters, words and paragraphs.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::buffer::TextPosition;

/// The class of a character, for finding words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Mark,
}

/// The definition of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// Letters, digits and `_`; a run of punctuation is a word, too.
    Small,
    /// Everything between whitespace.
    Big,
}

fn class(letter: Option<&str>, words: WordKind) -> Class {
    match letter.and_then(|letter| letter.chars().next()) {
        None => Class::Space,
        Some(c) if c.is_whitespace() => Class::Space,
        Some(c) if words == WordKind::Big || c.is_alphanumeric() || c == '_' => Class::Word,
        Some(_) => Class::Mark,
    }
}

/// Returns the grapheme at a position; `None` at the end of a line.
pub(super) fn letter(lines: &[String], position: TextPosition) -> Option<&str> {
    lines[position.row][position.at..].graphemes(true).next()
}

fn letter_before(lines: &[String], position: TextPosition) -> Option<&str> {
    lines[position.row][..position.at]
        .graphemes(true)
        .next_back()
}

/// Returns the characters around a position that are of one class, all of them in its line.
pub(super) fn run(
    lines: &[String],
    position: TextPosition,
    words: WordKind,
) -> Range<TextPosition> {
    // After the end of a line, the last run counts.
    let inside = match letter(lines, position) {
        Some(_) => position,
        None => before(lines, position),
    };
    let here = class(letter(lines, inside), words);
    let (mut start, mut end) = (inside, inside);
    while start.at > 0 && class(letter_before(lines, start), words) == here {
        start = before(lines, start);
    }
    while end.at < lines[end.row].len() && class(letter(lines, end), words) == here {
        end = after(lines, end);
    }
    start..end
}

/// Returns the position after the grapheme at `position`, in the same line.
pub(super) fn after(lines: &[String], position: TextPosition) -> TextPosition {
    let length = letter(lines, position).map_or(0, str::len);
    TextPosition::new(position.row, position.at + length)
}

/// Returns the position of the grapheme before `position`, in the same line.
pub(super) fn before(lines: &[String], position: TextPosition) -> TextPosition {
    let length = letter_before(lines, position).map_or(0, str::len);
    TextPosition::new(position.row, position.at - length)
}

/// Returns the next position, which at the end of a line is the start of the next.
pub(super) fn right(lines: &[String], position: TextPosition) -> TextPosition {
    if position.at < lines[position.row].len() {
        after(lines, position)
    } else if position.row + 1 < lines.len() {
        TextPosition::new(position.row + 1, 0)
    } else {
        position
    }
}

/// Returns the previous position, which at the start of a line is the end of the one above.
pub(super) fn left(lines: &[String], position: TextPosition) -> TextPosition {
    match position.at {
        0 if position.row == 0 => position,
        0 => TextPosition::new(position.row - 1, lines[position.row - 1].len()),
        _ => before(lines, position),
    }
}

/// Returns the end of the word, or of the next one, as in shells.
pub(super) fn word_right(lines: &[String], position: TextPosition) -> TextPosition {
    let is_word = |p: TextPosition| class(letter(lines, p), WordKind::Small) == Class::Word;
    let mut at = position;
    while !is_word(at) && right(lines, at) != at {
        at = right(lines, at);
    }
    while is_word(at) {
        at = after(lines, at);
    }
    at
}

/// Returns the start of the word, or of the previous one, as in shells.
pub(super) fn word_left(lines: &[String], position: TextPosition) -> TextPosition {
    let is_word = |p: TextPosition| class(letter_before(lines, p), WordKind::Small) == Class::Word;
    let mut at = position;
    while !is_word(at) && left(lines, at) != at {
        at = left(lines, at);
    }
    while is_word(at) {
        at = before(lines, at);
    }
    at
}

/// Returns the start of the next word (`w`).
pub(super) fn next_word(lines: &[String], position: TextPosition, words: WordKind) -> TextPosition {
    let mut at = position;
    let here = class(letter(lines, at), words);
    while here != Class::Space && class(letter(lines, at), words) == here {
        at = after(lines, at);
    }
    loop {
        let letter = letter(lines, at);
        if class(letter, words) != Class::Space {
            return at;
        }
        let next = right(lines, at);
        // An empty line is a word.
        let stops = next.row != at.row && lines[next.row].is_empty();
        if next == at || stops {
            return next;
        }
        at = next;
    }
}

/// Returns the position of the last character of the word (`e`).
pub(super) fn word_end(lines: &[String], position: TextPosition, words: WordKind) -> TextPosition {
    let mut at = right(lines, position);
    while class(letter(lines, at), words) == Class::Space {
        let next = right(lines, at);
        if next == at {
            return at;
        }
        at = next;
    }
    let here = class(letter(lines, at), words);
    loop {
        let next = after(lines, at);
        if next == at || class(letter(lines, next), words) != here {
            return at;
        }
        at = next;
    }
}

/// Returns the start of the word, or of the previous one (`b`).
pub(super) fn word_start(
    lines: &[String],
    position: TextPosition,
    words: WordKind,
) -> TextPosition {
    let mut at = left(lines, position);
    while class(letter(lines, at), words) == Class::Space {
        let empty = lines[at.row].is_empty() && at != position;
        let next = left(lines, at);
        if next == at || empty {
            return at;
        }
        at = next;
    }
    let here = class(letter(lines, at), words);
    loop {
        let previous = before(lines, at);
        if previous == at || class(letter(lines, previous), words) != here {
            return at;
        }
        at = previous;
    }
}

/// Returns the position of the first character of a line that is not blank.
pub(super) fn first_letter(lines: &[String], row: usize) -> TextPosition {
    let line = &lines[row];
    let blanks = line.len() - line.trim_start().len();
    TextPosition::new(row, if blanks == line.len() { 0 } else { blanks })
}

/// Returns the start of the next (`}`) or previous (`{`) blank line.
pub(super) fn paragraph(lines: &[String], row: usize, direction: MoveDirection) -> TextPosition {
    let blank = |row: usize| lines[row].trim().is_empty();
    let mut row = row;
    let step = |row: usize| match direction {
        MoveDirection::Forward => (row + 1 < lines.len()).then_some(row + 1),
        MoveDirection::Backward => row.checked_sub(1),
    };
    while blank(row) {
        match step(row) {
            Some(next) => row = next,
            None => break,
        }
    }
    while !blank(row) {
        match step(row) {
            Some(next) => row = next,
            None if direction == MoveDirection::Forward => {
                return TextPosition::new(row, lines[row].len());
            }
            None => break,
        }
    }
    TextPosition::new(row, 0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveDirection {
    /// Towards the end.
    Forward,
    /// Towards the start.
    Backward,
}

impl MoveDirection {
    /// Returns the opposite direction.
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}
