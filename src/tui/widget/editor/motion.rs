//! Ways through a text, letter by letter and word by word.

use unicode_segmentation::UnicodeSegmentation;

use super::buffer::Place;

/// What a letter is to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Mark,
}

/// What counts as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// Letters and digits; marks are words of their own.
    Small,
    /// Everything between blanks.
    Big,
}

fn class(letter: Option<&str>, words: Words) -> Class {
    match letter.and_then(|letter| letter.chars().next()) {
        None => Class::Space,
        Some(c) if c.is_whitespace() => Class::Space,
        Some(c) if words == Words::Big || c.is_alphanumeric() || c == '_' => Class::Word,
        Some(_) => Class::Mark,
    }
}

/// The letter at a place; `None` at the end of a line.
pub(super) fn letter(lines: &[String], place: Place) -> Option<&str> {
    lines[place.row][place.at..].graphemes(true).next()
}

fn letter_before(lines: &[String], place: Place) -> Option<&str> {
    lines[place.row][..place.at].graphemes(true).next_back()
}

/// The place after the letter at `place`, in the same line.
pub(super) fn after(lines: &[String], place: Place) -> Place {
    let length = letter(lines, place).map_or(0, str::len);
    Place::new(place.row, place.at + length)
}

/// The place before the letter before `place`, in the same line.
pub(super) fn before(lines: &[String], place: Place) -> Place {
    let length = letter_before(lines, place).map_or(0, str::len);
    Place::new(place.row, place.at - length)
}

/// One letter on, into the next line at the end of one.
pub(super) fn right(lines: &[String], place: Place) -> Place {
    if place.at < lines[place.row].len() {
        after(lines, place)
    } else if place.row + 1 < lines.len() {
        Place::new(place.row + 1, 0)
    } else {
        place
    }
}

/// One letter back, into the line before at the start of one.
pub(super) fn left(lines: &[String], place: Place) -> Place {
    match place.at {
        0 if place.row == 0 => place,
        0 => Place::new(place.row - 1, lines[place.row - 1].len()),
        _ => before(lines, place),
    }
}

/// The end of the word, or of the next, as shells go.
pub(super) fn word_right(lines: &[String], place: Place) -> Place {
    let is_word = |p: Place| class(letter(lines, p), Words::Small) == Class::Word;
    let mut at = place;
    while !is_word(at) && right(lines, at) != at {
        at = right(lines, at);
    }
    while is_word(at) {
        at = after(lines, at);
    }
    at
}

/// The start of the word, or of the one before, as shells go.
pub(super) fn word_left(lines: &[String], place: Place) -> Place {
    let is_word = |p: Place| class(letter_before(lines, p), Words::Small) == Class::Word;
    let mut at = place;
    while !is_word(at) && left(lines, at) != at {
        at = left(lines, at);
    }
    while is_word(at) {
        at = before(lines, at);
    }
    at
}

/// The start of the next word (`w`).
pub(super) fn next_word(lines: &[String], place: Place, words: Words) -> Place {
    let mut at = place;
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

/// The end of the word, on its last letter (`e`).
pub(super) fn word_end(lines: &[String], place: Place, words: Words) -> Place {
    let mut at = right(lines, place);
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

/// The start of the word, or of the one before (`b`).
pub(super) fn word_start(lines: &[String], place: Place, words: Words) -> Place {
    let mut at = left(lines, place);
    while class(letter(lines, at), words) == Class::Space {
        let empty = lines[at.row].is_empty() && at != place;
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

/// The first place of a line that is not blank.
pub(super) fn first_letter(lines: &[String], row: usize) -> Place {
    let line = &lines[row];
    let blanks = line.len() - line.trim_start().len();
    Place::new(row, if blanks == line.len() { 0 } else { blanks })
}

/// The empty line after (`}`) or before (`{`).
pub(super) fn paragraph(lines: &[String], row: usize, way: Way) -> Place {
    let blank = |row: usize| lines[row].trim().is_empty();
    let mut row = row;
    let step = |row: usize| match way {
        Way::On => (row + 1 < lines.len()).then_some(row + 1),
        Way::Back => row.checked_sub(1),
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
            None if way == Way::On => return Place::new(row, lines[row].len()),
            None => break,
        }
    }
    Place::new(row, 0)
}

/// Which way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Towards the end.
    On,
    /// Towards the start.
    Back,
}

impl Way {
    /// The other way.
    pub fn turned(self) -> Self {
        match self {
            Self::On => Self::Back,
            Self::Back => Self::On,
        }
    }
}
