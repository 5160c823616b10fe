//! Exact search: the lines that hold a text as it stands, in any case.

use std::ops::Range;

use regex::bytes::Regex;

use super::lane::At;
use super::{Sources, on_all_cores};
use crate::core::corpus::{Block, Corpus, Part};

/// A line or a message that holds the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    /// Sheet and line from 1, or block and number.
    pub(super) at: At,
    /// Where the match is in the line or the message.
    pub(super) offset: usize,
    /// Whether it stands there as words of its own.
    pub(super) is_whole: bool,
}

/// Finds the lines of the sheets that hold the text.
pub(super) fn in_sheets(sources: Sources<'_>, literal: &Regex, sheets: &[usize]) -> Vec<Held> {
    let mut held = Vec::new();
    for number in sheets {
        let sheet = &sources.shelf.sheets[*number];
        if !literal.is_match(sheet.text.as_bytes()) {
            continue;
        }
        for (line, span) in sheet.lines() {
            if let Some((offset, is_whole)) = first(literal, &sheet.text[span]) {
                held.push(Held {
                    at: (*number, line),
                    offset,
                    is_whole,
                });
            }
        }
    }
    held
}

/// Finds the messages of a part that hold the text.
pub(super) fn in_logs(corpus: &Corpus, literal: &Regex, part: Part) -> Vec<Held> {
    let count = corpus.blocks(part).len();
    let found = on_all_cores(count, |number| {
        let block = corpus.block(part, number)?;
        in_block(&block, literal)
    });
    found.into_iter().flatten().flatten().collect()
}

fn in_block(block: &Block<'_>, literal: &Regex) -> Option<Vec<Held>> {
    block.logs().next()?;
    let content = block.read()?;
    let bytes = content.text().as_bytes();
    let mut held = Vec::new();
    let mut from = 0;
    while let Some(found) = literal.find_at(bytes, from) {
        let number = content.at(found.start());
        let Range { start, end } = content.range(number)?;
        from = end.max(found.start()) + 1;
        // A phrase with a line break in it could reach into the next message.
        if let Some((offset, is_whole)) = first(literal, &content.text()[start..end]) {
            held.push(Held {
                at: (block.number(), number),
                offset,
                is_whole,
            });
        }
        if from > bytes.len() {
            break;
        }
    }
    Some(held)
}

/// Returns where the text holds it: where it stands alone, or else where it comes first.
pub(super) fn first(literal: &Regex, text: &str) -> Option<(usize, bool)> {
    let mut part = None;
    for found in literal.find_iter(text.as_bytes()) {
        let touches =
            |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
        let before = text[..found.start()].chars().next_back();
        let after = text[found.end()..].chars().next();
        if !touches(before) && !touches(after) {
            return Some((found.start(), true));
        }
        part = part.or(Some((found.start(), false)));
    }
    part
}

#[cfg(test)]
mod tests {
    use super::super::needle::literal;
    use super::*;

    #[test]
    fn a_place_where_it_stands_alone_is_preferred() {
        let at = |needle: &str, text: &str| first(&literal(needle).expect("short"), text);
        assert_eq!(at("auth", "authentic AUTH"), Some((10, true)));
        assert_eq!(at("auth", "authentic"), Some((0, false)));
        assert_eq!(at("auth", "my_auth"), Some((3, false)));
        assert_eq!(at("a.b", "axb"), None);
        assert_eq!(at("É", "café"), Some((3, false)));
        assert_eq!(at("数据", "数据库"), Some((0, false)));
    }
}
