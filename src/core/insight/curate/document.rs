//! The text of a memory as the rules read it: its lines, code and sentences.

use std::ops::Range;

use crate::core::memory::{FileKind, Memory};
use crate::core::text::header::section::entry_at;
use crate::core::text::header::{Entry, prose};

/// A memory and its text.
#[derive(Debug)]
pub struct Document {
    /// The memory, parsed.
    pub memory: Memory,
    /// The text; invalid UTF-8 is replaced.
    pub text: String,
    /// The offset of the first byte of each line.
    starts: Vec<usize>,
    /// The ranges of code: fenced blocks and code spans, in order.
    code: Vec<Range<usize>>,
    /// The headings, in order.
    headings: Vec<Heading>,
}

/// A heading of a text.
#[derive(Debug)]
struct Heading {
    /// The offset of its line.
    start: usize,
    level: usize,
    /// The number of the heading above it.
    above: Option<usize>,
}

impl Document {
    /// Parses the lines and the code of a text.
    pub(super) fn new(memory: Memory, text: String) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        let code = code(&text);
        let mut document = Self {
            memory,
            text,
            starts,
            code,
            headings: Vec::new(),
        };
        document.headings = document.all_headings();
        document
    }

    fn all_headings(&self) -> Vec<Heading> {
        let mut found: Vec<Heading> = Vec::new();
        for (start, line) in self.starts.iter().zip(1..) {
            let text = self.line_text(line);
            let level = text.len() - text.trim_start_matches('#').len();
            let is_heading = (1..=6).contains(&level) && text[level..].starts_with(' ');
            if !is_heading || self.is_code(*start) {
                continue;
            }
            let mut above = found.len().checked_sub(1);
            while let Some(known) = above.filter(|known| found[*known].level >= level) {
                above = found[known].above;
            }
            found.push(Heading {
                start: *start,
                level,
                above,
            });
        }
        found
    }

    /// Whether invalid UTF-8 was replaced, so that the text is not what the file has.
    pub(super) fn is_replaced(&self) -> bool {
        self.memory.problem.is_some() && self.text.contains(char::REPLACEMENT_CHARACTER)
    }

    /// Whether this is the index of its store.
    pub fn is_index(&self) -> bool {
        self.memory.kind == FileKind::Index
    }

    /// The number of the line with the byte `at`, from 1.
    pub(super) fn line_at(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// The text of a line, from 1, without its line ending.
    pub(super) fn line_text(&self, line: usize) -> &str {
        let start = self.starts.get(line.saturating_sub(1)).copied();
        let start = start.unwrap_or(self.text.len());
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The innermost entry that a line, from 1, is in.
    pub(super) fn entry_at(&self, line: usize) -> Option<&Entry> {
        let at = self.starts.get(line.checked_sub(1)?)?;
        entry_at(&self.memory.entries, *at)
    }

    /// Whether the byte is inside code.
    pub(super) fn is_code(&self, at: usize) -> bool {
        let next = self.code.partition_point(|range| range.end <= at);
        self.code.get(next).is_some_and(|range| range.start <= at)
    }

    /// The body: the text without the header.
    pub(super) fn body(&self) -> &str {
        self.text
            .get(self.memory.body.clone())
            .unwrap_or(&self.text)
    }

    /// The sentence before the one around a range, in the same paragraph.
    pub(super) fn sentence_before(&self, range: &Range<usize>) -> Option<&str> {
        let start = self.offset_of(self.sentence(range));
        let before = self.text[..start].trim_end_matches([' ', '\n', '\r']);
        let gap = &self.text[before.len()..start];
        let is_near = !before.is_empty() && gap.matches('\n').count() < 2;
        let last = before.char_indices().next_back()?.0;
        is_near.then(|| sentence(before, &(last..before.len())))
    }

    /// The headings above a byte, innermost first.
    pub(super) fn headings(&self, at: usize) -> Vec<&str> {
        let after = self.headings.partition_point(|heading| heading.start <= at);
        let innermost = after.checked_sub(1).map(|number| &self.headings[number]);
        let above = |heading: &&Heading| Some(&self.headings[heading.above?]);
        let all = std::iter::successors(innermost, above);
        all.map(|heading| self.line_text(self.line_at(heading.start)))
            .collect()
    }

    /// The first line of the list item, the row or the paragraph with a byte, and the line that
    /// introduces the list.
    pub(super) fn leads(&self, at: usize) -> Vec<&str> {
        let mut line = self.line_at(at);
        let first = line.saturating_sub(LONGEST_ITEM).max(1);
        let is_blank = |line: usize| self.line_text(line).trim().is_empty();
        while line > first && !starts_item(self.line_text(line)) && !is_blank(line - 1) {
            line -= 1;
        }
        let mut found = vec![self.line_text(line)];
        let is_of_list = |line: usize| {
            let text = self.line_text(line);
            starts_item(text) || text.starts_with([' ', '\t'])
        };
        if starts_item(self.line_text(line)) {
            while line > first && is_of_list(line) && !is_blank(line - 1) {
                line -= 1;
            }
            found.push(self.line_text(line));
        }
        found
    }

    /// Whether a byte is in the header, in a heading, or in bold words at the start of a paragraph or
    /// an item.
    pub(super) fn heads_passage(&self, at: usize) -> bool {
        let line = self.line_at(at);
        let text = self.line_text(line);
        let bare = text.trim_start_matches([' ', '-', '*', '+', '>']);
        let is_bold = text
            .trim_start_matches([' ', '-', '+', '>'])
            .starts_with("**");
        let end = bare.find("**").unwrap_or(0);
        let start = self.starts[line - 1] + (text.len() - bare.len());
        let is_first = starts_item(text) || self.line_text(line - 1).trim().is_empty();
        let is_label = bare[..end].split_whitespace().count() <= MOST_OF_A_LABEL;
        let heads = text.starts_with('#') || is_bold && is_first && is_label && at < start + end;
        heads || at < self.memory.body.start
    }

    /// The offset of a part of the text.
    pub(super) fn offset_of(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// The sentence around a range. A blank line, a list item and a heading end it, too.
    pub(super) fn sentence(&self, range: &Range<usize>) -> &str {
        sentence(&self.text, range)
    }
}

/// Bold words that are more than this are a sentence, not a label.
const MOST_OF_A_LABEL: usize = 6;

/// How many lines above a passage its item, its list and what introduces that are looked for.
const LONGEST_ITEM: usize = 1000;

/// How far a sentence is followed in each direction.
const LONGEST_HALF: usize = 600;

pub(super) fn sentence<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    let mut from = range.start.saturating_sub(LONGEST_HALF);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mut to = (range.end + LONGEST_HALF).min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let (mut start, mut end) = (from, to);
    for at in boundaries(&text[from..to]).map(|at| from + at) {
        if at <= range.start {
            start = at;
        } else if at >= range.end {
            end = at;
            break;
        }
    }
    text[start..end].trim()
}

/// The offsets at which a new sentence starts.
fn boundaries(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    text.char_indices().filter_map(move |(at, c)| {
        let next = at + c.len_utf8();
        let rest = &text[next..];
        let starts = match c {
            '.' | '!' | '?' => {
                let blank = rest.starts_with([' ', '\n', '\r']) || rest.is_empty();
                // `e.g.`, `i.e.`, the folder `a/.` and numbers of a list do not end a sentence.
                let short = at >= 2 && bytes[at - 2] == b'.' || at >= 1 && bytes[at - 1] == b'/';
                let numbered = at >= 1 && bytes[at - 1].is_ascii_digit() && {
                    let line = text[..at].rsplit('\n').next().unwrap_or_default();
                    line.trim().bytes().all(|b| b.is_ascii_digit())
                };
                blank && !short && !numbered
            }
            '。' | '！' | '？' => true,
            '\n' => {
                let line = rest.split('\n').next().unwrap_or_default();
                line.trim().is_empty() || starts_item(line)
            }
            _ => false,
        };
        starts.then_some(next)
    })
}

/// Whether a line starts a list item, a heading, a row of a table or a fence.
pub(super) fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['#', '|'])
        || ["- ", "* ", "+ ", "```"]
            .iter()
            .any(|mark| line.starts_with(mark))
        || number.len() < line.len() && number.starts_with(". ")
}

/// The ranges of fenced blocks and code spans. A span may go over the lines of one paragraph.
fn code(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut last_end = 0;
    for (_, line) in prose(text) {
        if line.span.start > last_end {
            // Between two lines of prose is a fenced block.
            close(&mut runs, &mut found);
            found.push(last_end..line.span.start);
        }
        last_end = line.end;
        if line.text.trim().is_empty() || starts_item(line.text) {
            close(&mut runs, &mut found);
        }
        let mut at = line.span.start;
        while let Some(next) = text[at..line.span.end].find('`') {
            let start = at + next;
            let rest = &text[start..line.span.end];
            let length = rest.len() - rest.trim_start_matches('`').len();
            runs.push(start..start + length);
            at = start + length;
        }
    }
    close(&mut runs, &mut found);
    if last_end < text.len() {
        found.push(last_end..text.len());
    }
    found
}

/// Pairs the runs of backticks of a paragraph: each with the next one of its length.
fn close(runs: &mut Vec<Range<usize>>, found: &mut Vec<Range<usize>>) {
    let mut next_of: Vec<Option<usize>> = vec![None; runs.len()];
    let mut seen: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
    for (at, run) in runs.iter().enumerate().rev() {
        next_of[at] = seen.insert(run.len(), at);
    }
    let mut at = 0;
    while at < runs.len() {
        match next_of[at] {
            Some(end) => {
                found.push(runs[at].start..runs[end].end);
                at = end + 1;
            }
            None => at += 1,
        }
    }
    runs.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new(Memory::bare("a.md", text.len() as u64), text.to_owned())
    }

    #[test]
    fn code_spans_and_fences_are_code_and_the_rest_is_not() {
        let text = "a `b` c ``d ` e`` f\n\n```sh\ng\n```\nh `i\nj` k\n\nl ` m\n";
        let document = document(text);
        let code: Vec<char> = text
            .char_indices()
            .filter(|(at, c)| c.is_alphabetic() && document.is_code(*at))
            .map(|(_, c)| c)
            .collect();
        assert_eq!(code, ['b', 'd', 'e', 's', 'h', 'g', 'i', 'j']);
    }

    #[test]
    fn a_sentence_ends_at_a_full_stop_a_blank_line_and_a_list_item() {
        let text = "One x.sh here, e.g. this\nstill. Two.\n- three\n  goes on\n- four\n\n1. five\n";
        for (word, expected) in [
            ("x.sh", "One x.sh here, e.g. this\nstill."),
            ("Two", "Two."),
            ("three", "- three\n  goes on"),
            ("five", "five"),
        ] {
            let at = text.find(word).expect("there");
            let found = sentence(text, &(at..at + word.len()));
            let found = found.trim_start_matches("1. ");
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn lines_are_found_by_their_bytes() {
        let document = document("a\r\nbc\n\nd");
        assert_eq!(document.line_at(0), 1);
        assert_eq!(document.line_at(4), 2);
        assert_eq!(document.line_text(1), "a");
        assert_eq!(document.line_text(2), "bc");
        assert_eq!(document.line_text(4), "d");
        assert_eq!(document.line_text(9), "");
    }
}
