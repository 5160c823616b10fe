//! Which of several writes made each difference from the accepted version.

use std::collections::HashSet;

use crate::core::text::diff::{self, Replacement};

/// One write to a file: its text before and after.
pub(super) struct WrittenText {
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
}

/// The last write that made each difference between the accepted and the current text; the
/// writes are oldest first. Differences that none of them made belong to the last.
pub(super) fn writers(
    writes: &[WrittenText],
    (accepted, current): (&[u8], &[u8]),
    differences: &[Replacement],
) -> Vec<usize> {
    let last = writes.len().saturating_sub(1);
    if last == 0 {
        return vec![0; differences.len()];
    }
    let mut labels: Vec<Option<usize>> = vec![None; diff::lines(accepted).len()];
    let mut text = accepted;
    for (number, write) in writes.iter().enumerate() {
        labels = relabel(&labels, (text, &write.before), None);
        labels = relabel(&labels, (&write.before, &write.after), Some(number));
        text = &write.after;
    }
    labels = relabel(&labels, (text, current), None);
    let removed: Vec<HashSet<&[u8]>> = writes.iter().map(removed_lines).collect();
    let old = diff::lines(accepted);
    differences
        .iter()
        .map(|difference| {
            let adder = labels[difference.new.clone()].iter().flatten().max();
            let gone = &old[difference.old.clone()];
            let takes = |lines: &HashSet<&[u8]>| gone.iter().any(|line| lines.contains(line));
            let remover = removed.iter().rposition(takes);
            adder.copied().max(remover).unwrap_or(last)
        })
        .collect()
}

/// The labels of the lines of a text after it was edited; new lines get `label`.
fn relabel(
    labels: &[Option<usize>],
    (before, after): (&[u8], &[u8]),
    label: Option<usize>,
) -> Vec<Option<usize>> {
    let mut made = Vec::new();
    let mut at = 0;
    for replacement in diff::line_replacements(before, after) {
        made.extend_from_slice(&labels[at..replacement.old.start]);
        made.extend(replacement.new.map(|_| label));
        at = replacement.old.end;
    }
    made.extend_from_slice(&labels[at..]);
    made
}

/// The lines that a write removed.
fn removed_lines(write: &WrittenText) -> HashSet<&[u8]> {
    let old = diff::lines(&write.before);
    let replacements = diff::line_replacements(&write.before, &write.after);
    replacements
        .into_iter()
        .flat_map(|replacement| old[replacement.old].to_vec())
        .collect()
}
