//! Finds the words in which two lines differ.

use std::ops::Range;

use crate::core::text::diff::{Replacement, replacements};

/// Byte ranges of a line.
type Ranges = Vec<Range<usize>>;

/// Returns the byte ranges of each line that the other does not have; none if the lines share
/// less than a third, because marking nearly everything does not help.
pub(in crate::tui::widget) fn changed(old: &str, new: &str) -> (Ranges, Ranges) {
    let (before, after) = (tokens(old), tokens(new));
    let found = replacements(&before, &after);
    let ranges = |tokens: &[&str], range: fn(&Replacement) -> Range<usize>| -> Ranges {
        let starts = starts(tokens);
        let ranges = found.iter().map(range);
        ranges
            .filter(|range| !range.is_empty())
            .map(|range| starts[range.start]..starts[range.end])
            .collect()
    };
    let (gone, come) = (
        ranges(&before, |one| one.old.clone()),
        ranges(&after, |one| one.new.clone()),
    );
    let mut at = 0;
    let mut shared = 0;
    for one in &found {
        shared += letters(&before[at..one.old.start]);
        at = one.old.end;
    }
    shared += letters(&before[at..]);
    if shared * 3 < old.len().max(new.len()) {
        return (Vec::new(), Vec::new());
    }
    (gone, come)
}

/// Returns where each token starts, and where the last one ends.
fn starts(tokens: &[&str]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    for token in tokens {
        at += token.len();
        starts.push(at);
    }
    starts
}

/// Counts the bytes of the tokens that are not blank.
fn letters(tokens: &[&str]) -> usize {
    tokens.iter().map(|token| token.trim().len()).sum()
}

/// Splits a line into words and single characters between them.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (at, c) in line.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        if at > start && !(is_word && in_word) {
            tokens.push(&line[start..at]);
            start = at;
        }
        in_word = is_word;
    }
    if start < line.len() {
        tokens.push(&line[start..]);
    }
    tokens
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
