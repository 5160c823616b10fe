//! The comments in the files of memories that hold grips: where they are in a text. What they say
//! is read by the timeline.

use std::ops::Range;

use crate::core::text::header::lines;

/// How such a comment begins, and how any comment ends.
pub const OPEN: &str = "<!-- grip:";
/// The end of a comment.
pub const CLOSE: &str = "-->";

/// Returns the bytes of each comment that holds a grip: whole lines, from the one that it begins to
/// the one that it ends in.
pub fn grip_comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = lines(text, 0);
    while let Some(line) = rest.next() {
        let id = line.text.trim().strip_prefix(OPEN);
        let Some(id) = id.filter(|id| id.starts_with(|c: char| c.is_ascii_digit())) else {
            continue;
        };
        let start = line.span.start;
        let mut end = line.end;
        let mut is_closed = id.contains(CLOSE);
        while !is_closed {
            let Some(line) = rest.next() else { break };
            end = line.end;
            is_closed = line.text.contains(CLOSE);
        }
        if is_closed {
            found.push(start..end);
        }
    }
    found
}

/// Returns a text without the comments that hold grips.
pub fn without_grips(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for range in grip_comments(text) {
        left.push_str(&text[from..range.start]);
        from = range.end;
    }
    left.push_str(&text[from..]);
    left
}
