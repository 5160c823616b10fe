//! Highlights inline Markdown: code, links, bold, italic, strikethrough, comments.

use std::ops::Range;

use super::Paint;
use crate::tui::theme::Role;

/// What is still open at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Nothing,
    Comment,
}

/// Highlights the inline Markdown in `range` of `line`.
pub(crate) fn paint(line: &str, range: Range<usize>, paints: &mut Vec<Paint>) -> Open {
    let mut scan = Scan {
        line,
        paints,
        open: Open::Nothing,
        last_ticks: last_ticks(line),
        last_wiki: line.rfind("]]"),
        last_parenthesis: line.rfind(')'),
        last_angle: line.rfind('>'),
    };
    scan.run(range, 0);
    scan.open
}

/// Marks that enclose text, longest first of those with a common start.
const PAIRS: [(&str, Role); 6] = [
    ("**", Role::Strong),
    ("__", Role::Strong),
    ("~~", Role::Strike),
    ("*", Role::Emphasis),
    ("_", Role::Emphasis),
    ("==", Role::Strong),
];

/// The maximum depth of nested marks.
const DEEPEST: usize = 4;

struct Scan<'a> {
    line: &'a str,
    paints: &'a mut Vec<Paint>,
    open: Open,
    /// Where the last run of each number of backticks starts. What closes an element is not
    /// searched for where there is none, so that the search is not repeated in vain.
    last_ticks: [Option<usize>; MOST_TICKS + 1],
    /// The last `]]`.
    last_wiki: Option<usize>,
    /// The last `)`.
    last_parenthesis: Option<usize>,
    /// The last `>`.
    last_angle: Option<usize>,
}

/// The maximum number of backticks that enclose code.
const MOST_TICKS: usize = 16;

fn last_ticks(line: &str) -> [Option<usize>; MOST_TICKS + 1] {
    let mut last = [None; MOST_TICKS + 1];
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'`', &bytes[at..]) {
        let start = at + found;
        let length = bytes[start..].iter().take_while(|b| **b == b'`').count();
        if let Some(last) = last.get_mut(length) {
            *last = Some(start);
        }
        at = start + length;
    }
    last
}

impl Scan<'_> {
    fn push(&mut self, range: Range<usize>, role: Role) {
        if !range.is_empty() {
            self.paints.push(Paint { range, role });
        }
    }

    fn run(&mut self, range: Range<usize>, depth: usize) {
        let bytes = self.line.as_bytes();
        let mut at = range.start;
        // If a mark has no closing mark, later ones of its kind have none either.
        let mut alone = [false; PAIRS.len()];
        while at < range.end {
            at = match bytes[at] {
                b'\\' => at + 2,
                b'`' => self.code(at, range.end),
                b'<' => self.angle(at, range.end),
                b'[' => self.link(at, range.end),
                b'h' => self.address(at, range.end),
                b'*' | b'_' | b'~' if depth < DEEPEST => {
                    self.pair(at..range.end, depth, &mut alone)
                }
                _ => at + 1,
            };
            if self.open == Open::Comment {
                return;
            }
        }
    }

    fn code(&mut self, at: usize, end: usize) -> usize {
        let rest = &self.line[at..end];
        let ticks = rest.bytes().take_while(|b| *b == b'`').count();
        let last = self.last_ticks.get(ticks).copied().flatten();
        if last.is_none_or(|last| last <= at) {
            return at + ticks;
        }
        let mut from = ticks;
        while let Some(found) = rest[from..].find("`") {
            let start = from + found;
            let closing = rest[start..].bytes().take_while(|b| *b == b'`').count();
            if closing == ticks {
                self.push(at..at + ticks, Role::Marker);
                self.push(at + ticks..at + start, Role::Code);
                self.push(at + start..at + start + ticks, Role::Marker);
                return at + start + ticks;
            }
            from = start + closing;
        }
        at + ticks
    }

    fn angle(&mut self, at: usize, end: usize) -> usize {
        let rest = &self.line[at..end];
        if rest.starts_with("<!--") {
            let close = rest.find("-->").map(|found| at + found + 3);
            if close.is_none() {
                self.open = Open::Comment;
            }
            let close = close.unwrap_or(end);
            self.push(at..close, Role::Comment);
            return close;
        }
        if rest.starts_with("<http")
            && self.last_angle.is_some_and(|last| last > at)
            && let Some(close) = rest.find(">")
        {
            self.push(at..at + close + 1, Role::Link);
            return at + close + 1;
        }
        at + 1
    }

    fn link(&mut self, at: usize, end: usize) -> usize {
        let rest = &self.line[at..end];
        if rest.starts_with("[[") {
            let close = self.last_wiki.filter(|last| *last > at);
            let Some(close) = close.and_then(|_| rest.find("]]")) else {
                return at + 2;
            };
            self.push(at..at + 2, Role::Marker);
            self.push(at + 2..at + close, Role::Link);
            self.push(at + close..at + close + 2, Role::Marker);
            return at + close + 2;
        }
        // The next bracket must end the label.
        let middle = rest[1..].find(['[', ']']).map(|found| 1 + found);
        let Some(middle) = middle.filter(|middle| rest[*middle..].starts_with("](")) else {
            return at + 1;
        };
        let close = self.last_parenthesis.filter(|last| *last > at + middle);
        let Some(close) = close.and_then(|_| rest[middle..].find(")")) else {
            return at + 1;
        };
        self.push(at..at + 1, Role::Marker);
        self.push(at + 1..at + middle, Role::Link);
        self.push(at + middle..at + middle + close + 1, Role::Marker);
        at + middle + close + 1
    }

    fn address(&mut self, at: usize, end: usize) -> usize {
        let rest = &self.line[at..end];
        let inside = self.line[..at].ends_with(char::is_alphanumeric);
        match Some(rest).filter(|_| !inside).and_then(address) {
            Some(length) => {
                self.push(at..at + length, Role::Link);
                at + length
            }
            None => at + 1,
        }
    }

    fn pair(&mut self, range: Range<usize>, depth: usize, alone: &mut [bool]) -> usize {
        let (at, rest) = (range.start, &self.line[range.clone()]);
        let Some(kind) = PAIRS.iter().position(|(mark, _)| rest.starts_with(mark)) else {
            return at + 1;
        };
        let (mark, role) = PAIRS[kind];
        let before = self.line[..at].chars().next_back();
        let opens = rest[mark.len()..]
            .chars()
            .next()
            .is_some_and(|c| !c.is_whitespace())
            && !(mark.starts_with('_') && before.is_some_and(char::is_alphanumeric));
        if alone[kind] || !opens {
            return at + mark.len();
        }
        let Some(close) = closing(rest, mark) else {
            alone[kind] = true;
            return at + mark.len();
        };
        let end = at + close + mark.len();
        self.push(at..at + mark.len(), Role::Marker);
        self.push(at + mark.len()..at + close, role);
        self.run(at + mark.len()..at + close, depth + 1);
        self.push(at + close..end, Role::Marker);
        end
    }
}

/// Returns the length of the web address at the start of `text`.
pub(crate) fn address(text: &str) -> Option<usize> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return None;
    }
    let length = text
        .find(|c: char| c.is_whitespace() || matches!(c, ')' | '>' | '"' | '`' | ']'))
        .unwrap_or(text.len());
    Some(text[..length].trim_end_matches(['.', ',', ';', ':']).len())
}

/// Returns the position of the `mark` that closes the one at the start of `rest`.
fn closing(rest: &str, mark: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let single = mark.len() == 1;
    let mut at = mark.len();
    while at < rest.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let ticks = bytes[at..].iter().take_while(|b| **b == b'`').count();
                let run = &rest[at..at + ticks];
                at += ticks;
                at += rest[at..].find(run).map_or(0, |found| found + ticks);
            }
            b if b == mark.as_bytes()[0] => {
                let run = bytes[at..].iter().take_while(|c| **c == b).count();
                let fits = if single { run != 2 } else { run >= 2 };
                let spaced = rest[..at].ends_with(char::is_whitespace);
                let inside = b == b'_'
                    && rest[at + run..]
                        .chars()
                        .next()
                        .is_some_and(char::is_alphanumeric);
                if fits && !spaced && !inside {
                    return Some(at + run - mark.len());
                }
                at += run;
            }
            _ => at += 1,
        }
    }
    None
}
