//! Where the excerpt of a long line begins.

use nucleo::{Config, Matcher, Utf32Str};
use unicode_segmentation::UnicodeSegmentation as _;

use super::super::needle::literal;
use super::super::snippet;
use super::SHOWN;
use super::matcher::pattern;
use crate::core::query::{Polarity, Query};

/// Returns the byte offset in a line from which most words of the query are shown.
pub(super) fn match_offset(query: &Query, line: &str) -> usize {
    densest(&marks(query, line))
}

/// Returns where the words of the query match in a line: byte offset and index of the word.
fn marks(query: &Query, line: &str) -> Vec<(usize, usize)> {
    /// How many places of a word are looked at.
    const PLACES: usize = 1000;
    let wanted = query
        .atoms
        .iter()
        .filter(|atom| atom.sense == Polarity::Wanted);
    let mut marks = Vec::new();
    for (number, atom) in wanted.enumerate() {
        let before = marks.len();
        if let Some(literal) = literal(&atom.text) {
            let places = literal.find_iter(line.as_bytes()).take(PLACES);
            marks.extend(places.map(|place| (place.start(), number)));
        }
        if marks.len() == before {
            // Letters with others between them.
            let shown = snippet::begin(line, SHOWN);
            let mut found = Vec::new();
            let mut matcher = Matcher::new(Config::DEFAULT);
            let mut chars = Vec::new();
            let text = Utf32Str::new(shown, &mut chars);
            pattern(atom).indices(text, &mut matcher, &mut found);
            let first = found.iter().min().map(|first| *first as usize);
            let place = first.and_then(|first| shown.grapheme_indices(true).nth(first));
            marks.extend(place.map(|(at, _)| (at, number)));
        }
    }
    marks.sort_unstable();
    marks
}

/// Returns the first place from which most words of the query are shown.
fn densest(marks: &[(usize, usize)]) -> usize {
    /// About what a snippet shows behind its match.
    const SPAN: usize = 200;
    let mut best = (0, 0);
    for (number, (at, _)) in marks.iter().enumerate() {
        let near = marks[number..].iter().take_while(|mark| mark.0 < at + SPAN);
        let mut words: Vec<usize> = near.map(|mark| mark.1).collect();
        words.sort_unstable();
        words.dedup();
        if words.len() > best.0 {
            best = (words.len(), *at);
        }
    }
    best.1
}
