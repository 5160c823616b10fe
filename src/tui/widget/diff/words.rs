//! Which words of two lines differ.

use std::ops::Range;

/// Bytes of a line.
type Ranges = Vec<Range<usize>>;

/// The bytes of each line that the other has not; nothing where they share too little for that
/// to help the eye.
pub(super) fn changed(old: &str, new: &str) -> (Ranges, Ranges) {
    let (before, after) = (joined(old), joined(new));
    let patch = diffy::DiffOptions::new()
        .set_context_len(before.len() + after.len())
        .create_patch(&before, &after);
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at, mut shared) = (0, 0, 0);
    for line in patch.hunks().iter().flat_map(|hunk| hunk.lines()) {
        match line {
            diffy::Line::Context(word) => {
                let length = word.len() - 1;
                shared += word.trim().len();
                old_at += length;
                new_at += length;
            }
            diffy::Line::Delete(word) => push(&mut gone, &mut old_at, word.len() - 1),
            diffy::Line::Insert(word) => push(&mut come, &mut new_at, word.len() - 1),
        }
    }
    if shared * 3 < old.len().max(new.len()) {
        return (Vec::new(), Vec::new());
    }
    (gone, come)
}

fn push(ranges: &mut Ranges, at: &mut usize, length: usize) {
    let end = *at + length;
    match ranges.last_mut() {
        Some(last) if last.end == *at => last.end = end,
        _ => ranges.push(*at..end),
    }
    *at = end;
}

/// A line with every word and every mark on a line of its own, for a differ of lines.
fn joined(line: &str) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    let mut in_word = false;
    for c in line.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        let goes_on = is_word && in_word;
        if !out.is_empty() && !goes_on {
            out.push('\n');
        }
        out.push(c);
        in_word = is_word;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str, ranges: &Ranges) -> Vec<String> {
        ranges
            .iter()
            .map(|range| line[range.clone()].to_owned())
            .collect()
    }

    #[test]
    fn only_what_differs_is_marked() {
        for (old, new, gone, come) in [
            (
                "a rotation.",
                "a rotation, 7 days",
                &["."][..],
                &[", 7 days"][..],
            ),
            ("one two", "one 2 two", &[], &["2 "]),
            ("한글 하나", "한글 둘", &["하나"], &["둘"]),
            ("entirely", "another text", &[], &[]),
            ("same", "same", &[], &[]),
        ] {
            let (a, b) = changed(old, new);
            assert_eq!(marked(old, &a), gone, "{old} → {new}");
            assert_eq!(marked(new, &b), come, "{old} → {new}");
        }
    }
}
