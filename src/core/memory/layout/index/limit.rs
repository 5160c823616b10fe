//! How much of an index an agent reads, and which lines are beyond that.

use std::collections::HashSet;

use super::super::listing;
use super::{BUDGET_BYTES, BUDGET_LINES, INDEX};

/// The first lines of an index, and the number of lines left out.
pub(super) fn cut(text: &str, most_lines: usize, most_bytes: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    let kept = kept(text, most_lines, most_bytes);
    if kept == all.len() {
        return text.trim_end_matches('\n').to_owned();
    }
    format!(
        "{}\n\n... ({} lines truncated)",
        all[..kept].join("\n"),
        all.len() - kept
    )
}

/// How many lines are within both limits.
fn kept(text: &str, most_lines: usize, most_bytes: usize) -> usize {
    let mut bytes = 0;
    text.lines()
        .take(most_lines)
        .take_while(|line| {
            bytes += line.len() + 1;
            bytes <= most_bytes
        })
        .count()
}

/// How many lines of an index an agent reads.
pub fn lines_seen(text: &str) -> usize {
    kept(text, BUDGET_LINES, BUDGET_BYTES)
}

/// The files whose lines in an index are beyond what an agent reads.
pub fn unseen(text: &str) -> Vec<String> {
    let lines = text.split_inclusive('\n').take(lines_seen(text));
    let seen: usize = lines.map(str::len).sum();
    let bullets = listing::bullets_in(text, seen..text.len()).into_iter();
    bullets.map(|bullet| bullet.target).collect()
}

/// What a change of an index moves beyond what an agent reads, in a sentence.
pub fn growth_warning(before: &str, after: &str) -> Option<String> {
    let unread = |text: &str| text.lines().count() - lines_seen(text);
    let (old, new) = (unread(before), unread(after));
    let lines = if new == 1 { "line is" } else { "lines are" };
    (new > old).then(|| {
        format!(
            "agents read {BUDGET_LINES} lines and {} KB of {INDEX}: its last {new} {lines} beyond that",
            BUDGET_BYTES / 1000
        )
    })
}

/// The files whose lines a change of the index has moved beyond what an agent reads.
pub fn newly_unseen(before: &str, after: &str) -> Vec<String> {
    let mut found = unseen(after);
    if !found.is_empty() {
        let known: HashSet<String> = unseen(before).into_iter().collect();
        found.retain(|file| !known.contains(file));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_index_is_cut_after_two_hundred_lines() {
        let long: String = (1..=203).map(|n| format!("line {n}\n")).collect();
        let cut_text = cut(&long, BUDGET_LINES, usize::MAX);
        assert!(cut_text.ends_with("line 200\n\n... (3 lines truncated)"));
        assert_eq!(cut("a\nb\n", 200, usize::MAX), "a\nb");
        assert_eq!(cut("aaa\nbbb\n", 200, 5), "aaa\n\n... (1 lines truncated)");
    }

    #[test]
    fn lines_past_either_limit_are_named() {
        let line = |n: usize| format!("- [m{n}](m{n}.md) - hook\n");
        let many: String = (1..=202).map(line).collect();
        assert_eq!(unseen(&many), ["m201.md", "m202.md"]);
        let fewer: String = (1..=201).map(line).collect();
        assert_eq!(newly_unseen(&fewer, &many), ["m202.md"]);
        let warning = growth_warning(&fewer, &many).expect("a warning");
        assert!(warning.ends_with("are beyond that"), "{warning}");
        assert_eq!(growth_warning(&many, &fewer), None);
        let wide = format!(
            "- [a](a.md) - {}\n- [b](b.md) - b\n",
            "x".repeat(BUDGET_BYTES - 20)
        );
        assert_eq!(unseen(&wide), ["b.md"]);
        assert!(unseen("- [a](a.md) - a\n").is_empty());
    }
}
