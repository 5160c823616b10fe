//! The index of a store with what that of another one says: texts, lines and headings, each below the
//! heading that it stood below.

use std::ops::Range;

use crate::core::memory::Memory;
use crate::core::memory::layout::index::{
    SECTIONS, is_generated, with_former_line, with_lines_for,
};
use crate::core::memory::layout::listing::{self, Bullet, bullets, starts_bullet, without_bullets};
use crate::core::text::header::section::heading;
use crate::core::text::header::{fitted, lines, newline, prose, splice};
use crate::core::text::link::LinkSyntax;

/// Whether an index says more than its title and the headings of a list by kinds.
pub(super) fn says_something(text: &str) -> bool {
    lines(text, 0).any(|line| match heading(line.text) {
        Some((1, _)) => !text[..line.span.start].trim().is_empty(),
        Some((2, title)) => !SECTIONS.contains(&title),
        Some(_) => true,
        None => !matches!(line.text.trim(), "" | "(empty)"),
    })
}

/// The indexes of two stores whose memories become those of one.
pub(super) struct Gathering<'a> {
    /// The index that goes, with links to where the memories are now.
    pub(super) former: &'a str,
    /// The other one, as it was.
    pub(super) before: &'a str,
    /// The memories that came, as they are now.
    pub(super) moved: &'a [Memory],
    /// Whether the other store did not have this file.
    pub(super) is_new: &'a dyn Fn(&str) -> bool,
    /// Whether this file of the first store is a link out of it, of which only the line is known.
    pub(super) is_out: &'a dyn Fn(&str) -> bool,
}

impl Gathering<'_> {
    /// The one index, made of the other one with lines for what came; and whether more came than
    /// lines of memories.
    pub(super) fn made(&self, planned: String) -> (String, bool) {
        let Self {
            former,
            before,
            moved,
            ..
        } = *self;
        let is_about = |line: &Bullet, one: &Memory| listing::is_about(line, &one.path, &one.title);
        let is_moved = |line: &Bullet| moved.iter().any(|one| is_about(line, one));
        let is_made = is_generated(former);
        // The lines of which nothing is kept but a title and a hook.
        let mut plain = bullets(former);
        plain.retain(|line| {
            let is_list = is_moved(line) || (is_made && !(self.is_out)(&line.target));
            let is_one = listing::whole_item(former, line) == line.line;
            is_list && is_one && line.form == LinkSyntax::Inline
        });
        let says_more = says_something(&without_bullets(former, &plain));
        let mut text = planned;
        let was_made = before.is_empty() || is_generated(before);
        if says_more || !(is_made || was_made) {
            let known = bullets(before);
            text = with_all_of(before, former, |line| {
                let same = |other: &Bullet| other.target == line.target;
                plain.iter().any(same) && (known.iter().any(same) || !is_moved(line))
            });
            let listed = bullets(&text);
            let mut missing = moved.to_vec();
            missing.retain(|one| {
                let is_new = !one.path.contains('/') && (self.is_new)(&one.path);
                is_new && !listed.iter().any(|line| is_about(line, one))
            });
            text = with_lines_for(&text, &missing);
        }
        for memory in moved {
            text = with_former_line(&text, former, memory);
        }
        (text, says_more)
    }
}

/// An index with all that another one says, but for its title, the lines that are left out, and what
/// stands there already.
fn with_all_of(text: &str, other: &str, is_left_out: impl Fn(&Bullet) -> bool) -> String {
    if !says_something(text) {
        return other.to_owned();
    }
    let kept = |text: &str| {
        let mut gone = bullets(text);
        gone.retain(&is_left_out);
        without_bullets(text, &gone)
    };
    let mut made = text.to_owned();
    for part in parts(other) {
        let whole = &other[part.body.clone()];
        let body = kept(whole);
        let is_emptied = body.trim().is_empty() && !whole.trim().is_empty();
        let own = &other[part.start..part.body.end];
        if is_emptied || !says_something(own) {
            continue;
        }
        let mut is_whole = false;
        for depth in 1..=part.headings.len() {
            let (above, last) = part.headings.split_at(depth - 1);
            let parts = parts(&made);
            if !parts
                .iter()
                .any(|known| known.is_below(&part.headings[..depth]))
            {
                let is_outermost = heading(last[0]).is_some_and(|(level, _)| level <= OUTERMOST);
                let above = parts.iter().find(|known| known.is_below(above));
                let above = above.filter(|_| !is_outermost);
                let end = above.map_or(made.len(), |above| above.end);
                is_whole = depth == part.headings.len();
                let rest = if is_whole { &*body } else { "" };
                let nl = newline(other);
                made = inserted(&made, end, &format!("{}{nl}{rest}", last[0]));
            }
        }
        let there = parts(&made);
        let there = there.iter().find(|known| known.is_below(&part.headings));
        if let Some(there) = there.filter(|_| !is_whole)
            && !in_lines(&kept(&made[there.body.clone()])).contains(&in_lines(&body))
        {
            made = inserted(&made, there.body.end, &body);
        }
    }
    made
}

/// The headings of this level, and of the one above it, stand below no other.
const OUTERMOST: usize = 2;

/// A part of an index, from a heading to the next one; the first one has none.
struct Part<'a> {
    /// The headings that it stands below, its own last; the title of the index is not among them.
    headings: Vec<&'a str>,
    start: usize,
    /// The text below the heading.
    body: Range<usize>,
    /// Where the last part below the heading ends.
    end: usize,
}

impl Part<'_> {
    fn is_below(&self, headings: &[&str]) -> bool {
        let title = |line: &str| heading(line).map(|(_, title)| title.to_lowercase());
        let mut pairs = self.headings.iter().zip(headings);
        self.headings.len() == headings.len() && pairs.all(|(a, b)| title(a) == title(b))
    }
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let whole = text.len();
    let mut found: Vec<Part<'_>> = vec![Part {
        headings: Vec::new(),
        start: 0,
        body: 0..whole,
        end: whole,
    }];
    // The parts that the next one may be below, and the levels of their headings.
    let mut open: Vec<(usize, usize)> = vec![(OUTERMOST, 0)];
    for (_, line) in prose(text) {
        let Some((level, _)) = heading(line.text) else {
            continue;
        };
        let (level, start, number) = (level.max(OUTERMOST), line.span.start, found.len());
        if line.text.starts_with("# ") && text[..start].trim().is_empty() {
            found[0].body.start = line.end;
            continue;
        }
        found[number - 1].body.end = start;
        while let Some((_, at)) = open.pop_if(|(outer, _)| *outer >= level) {
            found[at].end = start;
        }
        let above = open.last().map(|(_, at)| found[*at].headings.clone());
        let mut headings = above.unwrap_or_default();
        headings.push(line.text.trim());
        open.push((level, number));
        found.push(Part {
            headings,
            start,
            body: line.end..whole,
            end: whole,
        });
    }
    found
}

/// A text with another one after the last line before a place: as the next lines of a list if both
/// are one, otherwise after a blank line.
fn inserted(text: &str, at: usize, added: &str) -> String {
    let added = added.trim_end().trim_start_matches(['\r', '\n']);
    let (at, nl) = (text[..at].trim_end().len(), newline(text));
    let last = text[..at].lines().next_back().unwrap_or_default();
    let gap = match starts_bullet(last) && starts_bullet(added) {
        true => nl.to_owned(),
        false => nl.repeat(2),
    };
    let end = if text[at..].is_empty() { nl } else { "" };
    splice(text, at..at, &format!("{gap}{}{end}", fitted(text, added)))
}

/// The lines of a text that say something, each between two line endings.
fn in_lines(text: &str) -> String {
    let said = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    said.fold("\n".to_owned(), |all, line| format!("{all}{line}\n"))
}
