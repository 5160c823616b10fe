//! Highlights inline Markdown: code, links, bold, italic, strikethrough, comments.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use super::Paint;
use crate::tui::theme::Role;

/// What is still open at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    Nothing,
    Comment,
}

/// What the parser gets before a line, so that it sees a paragraph in every one.
const BEFORE: &str = ". ";

/// Highlights the inline Markdown in `range` of `line`.
pub(super) fn paint(line: &str, range: Range<usize>, paints: &mut Vec<Paint>) -> Open {
    let text = &line[range.clone()];
    let closed = text.rfind("-->").map_or(0, |at| at + 3);
    let comment = text[closed..]
        .find("<!--")
        .map(|at| range.start + closed + at);
    let before = paints.len();
    let codes = elements(line, range.clone(), paints);
    match comment.filter(|at| !codes.iter().any(|code| code.contains(at))) {
        Some(comment) => {
            paints.truncate(before);
            elements(line, range.start..comment, paints);
            paints.push(Paint::new(comment..range.end, Role::Comment));
            Open::Comment
        }
        None => Open::Nothing,
    }
}

/// Highlights what the parser finds in `range` of `line`; returns where it is code.
fn elements(line: &str, range: Range<usize>, paints: &mut Vec<Paint>) -> Vec<Range<usize>> {
    let mut codes = Vec::new();
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS;
    let padded = format!("{BEFORE}{}", &line[range.clone()]);
    // The closing marks of the open elements.
    let mut closing = Vec::new();
    for (event, own) in Parser::new_ext(&padded, options).into_offset_iter() {
        let at = |at: usize| {
            (range.start + at)
                .saturating_sub(BEFORE.len())
                .max(range.start)
        };
        let own = at(own.start)..at(own.end);
        let text = &line[own.clone()];
        // What encloses an element: so many letters before and behind it.
        let (role, marks) = match &event {
            Event::Start(Tag::Strong) => (Role::Strong, (2, 2)),
            Event::Start(Tag::Emphasis) => (Role::Emphasis, (1, 1)),
            Event::Start(Tag::Strikethrough) => (Role::Strike, same(text, '~')),
            Event::Start(Tag::Link { link_type, .. }) => (Role::Link, link(*link_type, text)),
            Event::Start(Tag::Image { link_type, .. }) => {
                let (before, behind) = link(*link_type, text);
                (Role::Link, (before + 1, behind))
            }
            Event::Code(_) => {
                codes.push(own.clone());
                (Role::Code, same(text, '`'))
            }
            Event::InlineHtml(html) if html.starts_with("<!--") => (Role::Comment, (0, 0)),
            Event::Text(_) => {
                addresses(line, own, range.end, paints);
                continue;
            }
            Event::End(_) => {
                paints.extend(closing.pop().flatten());
                continue;
            }
            Event::Start(_) => {
                closing.push(None);
                continue;
            }
            _ => continue,
        };
        let inner = own.start + marks.0..own.end.saturating_sub(marks.1).max(own.start + marks.0);
        let paint =
            |range: Range<usize>, role| (!range.is_empty()).then(|| Paint::new(range, role));
        paints.extend(paint(own.start..inner.start, Role::Marker));
        paints.extend(paint(inner.clone(), role));
        let close = paint(inner.end..own.end, Role::Marker);
        match event {
            Event::Start(_) => closing.push(close),
            _ => paints.extend(close),
        }
    }
    codes
}

/// The marks of an element that as many of a letter enclose on both sides.
fn same(text: &str, mark: char) -> (usize, usize) {
    let marks = text.chars().take_while(|c| *c == mark).count();
    (marks, marks)
}

/// The marks of a link: what stands before and behind its label.
fn link(kind: LinkType, text: &str) -> (usize, usize) {
    match kind {
        LinkType::WikiLink { .. } => (2, 2),
        LinkType::Inline => (1, text.rfind("](").map_or(0, |at| text.len() - at)),
        _ => (0, 0),
    }
}

/// Highlights the web addresses that begin in `range` of a line and end before `end`.
fn addresses(line: &str, range: Range<usize>, end: usize, paints: &mut Vec<Paint>) {
    let mut from = range.start;
    for (at, _) in line[range.clone()].match_indices("http") {
        let start = range.start + at;
        let is_inside = start < from || line[..start].ends_with(char::is_alphanumeric);
        if !is_inside && let Some(length) = address(&line[start..end]) {
            paints.push(Paint::new(start..start + length, Role::Link));
            from = start + length;
        }
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
