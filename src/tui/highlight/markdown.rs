//! Highlights one line of Markdown source, given the state at the end of the line before.

use super::code::{Code, Syntaxes};
use super::inline::{self, Open};
use super::{Language, Paint};
use crate::tui::theme::Role;

/// The state at the start of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LineState {
    /// Before the first line, where frontmatter can start.
    Start,
    Front,
    Body,
    /// In a comment that an earlier line opened.
    Comment,
    /// In a fenced code block.
    Fence(Fence),
    /// In a file that is all code.
    Code(Code),
    /// In a file that is not highlighted.
    Plain,
}

/// An open fenced code block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
    code: Option<Code>,
}

impl LineState {
    pub(super) fn start(language: &Language, syntaxes: &Syntaxes) -> Self {
        match language {
            Language::Markdown => Self::Start,
            Language::Code(name) => syntaxes.start(name).map_or(Self::Plain, Self::Code),
        }
    }

    /// Whether lines are parsed by a grammar, which is slower.
    pub(super) fn is_code(&self) -> bool {
        matches!(self, Self::Code(_)) || matches!(self, Self::Fence(f) if f.code.is_some())
    }

    pub(super) fn is_fence(&self) -> bool {
        matches!(self, Self::Fence(_))
    }
}

/// Returns the highlighted parts of a line, and the state at the start of the next.
pub(super) fn line(state: &LineState, line: &str, syntaxes: &Syntaxes) -> (Vec<Paint>, LineState) {
    match state {
        LineState::Start if line.trim_end() == "---" => {
            (whole(line, Role::Marker), LineState::Front)
        }
        LineState::Front if line.trim_end() == "---" => {
            (whole(line, Role::Marker), LineState::Body)
        }
        LineState::Front => (field(line), LineState::Front),
        LineState::Code(code) => {
            let (paints, code) = syntaxes.line(code, line);
            (paints, code.map_or(LineState::Plain, LineState::Code))
        }
        LineState::Plain => (Vec::new(), LineState::Plain),
        LineState::Comment => match line.find("-->") {
            Some(end) => {
                let end = end + 3;
                let mut paints = whole(&line[..end], Role::Comment);
                let open = inline::paint(line, end..line.len(), &mut paints);
                (paints, after(open))
            }
            None => (whole(line, Role::Comment), LineState::Comment),
        },
        LineState::Fence(fence) => in_fence(fence, line, syntaxes),
        LineState::Start | LineState::Body => block(line, syntaxes),
    }
}

fn after(open: Open) -> LineState {
    match open {
        Open::Nothing => LineState::Body,
        Open::Comment => LineState::Comment,
    }
}

fn whole(line: &str, role: Role) -> Vec<Paint> {
    if line.is_empty() {
        return Vec::new();
    }
    vec![Paint::new(0..line.len(), role)]
}

/// Highlights a line of frontmatter as `key: value`, because not all headers are valid YAML.
fn field(line: &str) -> Vec<Paint> {
    let trimmed = line.trim_start();
    if trimmed.starts_with('#') {
        return whole(line, Role::Comment);
    }
    let indent = line.len() - trimmed.len();
    let mut paints = Vec::new();
    let mut from = indent;
    if trimmed.starts_with("- ") {
        paints.push(Paint::new(indent..indent + 1, Role::Marker));
        from += 2;
    }
    let rest = &line[from..];
    let colon = rest
        .find(':')
        .filter(|at| rest[at + 1..].is_empty() || rest[at + 1..].starts_with(' '));
    if let Some(colon) = colon {
        let colon = from + colon;
        paints.push(Paint::new(from..colon, Role::Key));
        paints.push(Paint::new(colon..colon + 1, Role::Marker));
    }
    paints
}

fn in_fence(fence: &Fence, line: &str, syntaxes: &Syntaxes) -> (Vec<Paint>, LineState) {
    let bare = line.trim_start_matches([' ', '>']).trim_end();
    let closes = bare.len() >= fence.length && bare.chars().all(|c| c == fence.mark);
    if closes {
        return (whole(line, Role::Marker), LineState::Body);
    }
    match &fence.code {
        Some(code) => {
            let (paints, code) = syntaxes.line(code, line);
            let fence = Fence {
                code,
                ..fence.clone()
            };
            (paints, LineState::Fence(fence))
        }
        None => (whole(line, Role::Code), LineState::Fence(fence.clone())),
    }
}

/// Returns the fence that a line opens at byte `from`, if it opens one.
fn opened(line: &str, from: usize, syntaxes: &Syntaxes) -> Option<Fence> {
    let rest = &line[from..];
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = rest.chars().take_while(|c| *c == mark).count();
    let info = &rest[length..];
    if length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let name = info
        .trim()
        .split([' ', ',', '{'])
        .next()
        .unwrap_or_default();
    Some(Fence {
        mark,
        length,
        code: syntaxes.start(name),
    })
}

fn block(line: &str, syntaxes: &Syntaxes) -> (Vec<Paint>, LineState) {
    let mut paints = Vec::new();
    let mut at = line.len() - line.trim_start().len();
    while line[at..].starts_with('>') {
        if paints.is_empty() {
            paints = whole(line, Role::Quote);
        }
        paints.push(Paint::new(at..at + 1, Role::Marker));
        at += 1;
        at += line[at..].len() - line[at..].trim_start().len();
    }
    at = item(line, at, &mut paints);
    if let Some(fence) = opened(line, at, syntaxes) {
        let length = fence.length;
        paints.push(Paint::new(at..line.len(), Role::Marker));
        if at + length < line.len() {
            paints.push(Paint::new(at + length..line.len(), Role::Muted));
        }
        return (paints, LineState::Fence(fence));
    }
    if is_rule(&line[at..]) {
        paints.push(Paint::new(at..line.len(), Role::Rule));
        return (paints, LineState::Body);
    }
    at = heading(line, at, &mut paints);
    let open = inline::paint(line, at..line.len(), &mut paints);
    if line[at..].starts_with('|') {
        let bars = line[at..]
            .match_indices('|')
            .map(|(bar, _)| Paint::new(at + bar..at + bar + 1, Role::Marker));
        paints.extend(bars);
    }
    (paints, after(open))
}

/// Highlights the marker of a list item and returns where its text starts.
fn item(line: &str, at: usize, paints: &mut Vec<Paint>) -> usize {
    let rest = &line[at..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let marks = match rest.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if (1..10).contains(&digits) => digits + 1,
        _ => return at,
    };
    if !rest[marks..].starts_with(' ') || is_rule(rest) {
        return at;
    }
    paints.push(Paint::new(at..at + marks, Role::Marker));
    let text = at + marks + 1;
    let task = line.get(text..text + 4);
    if matches!(task, Some("[ ] " | "[x] " | "[X] ")) {
        let is_open = task == Some("[ ] ");
        let role = if is_open { Role::Marker } else { Role::Accent };
        paints.push(Paint::new(text..text + 3, role));
        return text + 4;
    }
    text + line[text..].len() - line[text..].trim_start().len()
}

fn heading(line: &str, at: usize, paints: &mut Vec<Paint>) -> usize {
    let rest = &line[at..];
    let level = rest.bytes().take_while(|b| *b == b'#').count();
    if !(1..=6).contains(&level) || !(rest[level..].is_empty() || rest[level..].starts_with(' ')) {
        return at;
    }
    let role = if level <= 2 {
        Role::Heading
    } else {
        Role::HeadingMinor
    };
    paints.push(Paint::new(at..line.len(), role));
    paints.push(Paint::new(at..at + level, Role::Marker));
    at + level
}

fn is_rule(text: &str) -> bool {
    let text = text.trim();
    let Some(mark) = text.chars().next().filter(|c| matches!(c, '-' | '*' | '_')) else {
        return false;
    };
    text.chars().filter(|c| *c == mark).count() >= 3 && text.chars().all(|c| c == mark || c == ' ')
}
