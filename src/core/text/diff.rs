//! Line differences between two texts, and three-way merges.
//!
//! The work is bounded for any input: texts that share almost nothing get a coarser result.

use std::hash::Hash;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

/// The maximum number of tokens between the first and the last difference that are compared one by
/// one; beyond that, all of them count as replaced.
const MOST_COMPARED: usize = 20_000;

/// The number of equal lines around a difference in a unified diff.
const CONTEXT: usize = 3;

/// Tokens of the old sequence that are replaced by tokens of the new one; counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The removed tokens; empty for an insertion.
    pub old: Range<usize>,
    /// The added tokens; empty for a deletion.
    pub new: Range<usize>,
}

/// The lines of a text, line endings included.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The replacements that turn `old` into `new`, in order.
pub fn replacements<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<Replacement> {
    let shared = |(a, b): &(&T, &T)| a == b;
    let head = old.iter().zip(new).take_while(shared).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = ends.take_while(shared).count();
    let old_rest = &old_rest[..old_rest.len() - tail];
    let new_rest = &new_rest[..new_rest.len() - tail];
    if old_rest.is_empty() && new_rest.is_empty() {
        return Vec::new();
    }
    if old_rest.len() + new_rest.len() > MOST_COMPARED {
        return vec![Replacement {
            old: head..head + old_rest.len(),
            new: head..head + new_rest.len(),
        }];
    }
    let mut input = InternedInput {
        before: Vec::new(),
        after: Vec::new(),
        interner: Interner::new(old_rest.len()),
    };
    input.update_before(old_rest.iter());
    input.update_after(new_rest.iter());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let range = |range: Range<u32>| head + range.start as usize..head + range.end as usize;
    diff.hunks()
        .map(|hunk| Replacement {
            old: range(hunk.before),
            new: range(hunk.after),
        })
        .collect()
}

/// The replacements that turn the lines of `before` into those of `after`, in order.
pub fn line_replacements(before: &[u8], after: &[u8]) -> Vec<Replacement> {
    replacements(&lines(before), &lines(after))
}

/// Nearby differences in a unified diff, with the equal lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The old lines, context included.
    pub old: Range<usize>,
    /// The new lines, context included.
    pub new: Range<usize>,
    /// The differences between them.
    pub replacements: Vec<Replacement>,
}

/// Groups the replacements of a text of `old_lines` lines into hunks with context.
pub fn hunks(replacements: Vec<Replacement>, old_lines: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for replacement in replacements {
        let before = replacement.old.start.min(CONTEXT);
        let after = (old_lines - replacement.old.end).min(CONTEXT);
        let old = replacement.old.start - before..replacement.old.end + after;
        // A difference within the context of the previous one joins its hunk.
        let new = replacement.new.start.saturating_sub(before)..replacement.new.end + after;
        match hunks.last_mut() {
            Some(last) if old.start <= last.old.end => {
                last.old.end = old.end;
                last.new.end = new.end;
                last.replacements.push(replacement);
            }
            _ => hunks.push(Hunk {
                old,
                new,
                replacements: vec![replacement],
            }),
        }
    }
    hunks
}

/// The difference as a unified diff between files of these names.
pub fn unified(old_name: &str, new_name: &str, before: &[u8], after: &[u8]) -> String {
    let (old, new) = (lines(before), lines(after));
    let mut out = format!("--- {old_name}\n+++ {new_name}\n").into_bytes();
    for hunk in hunks(line_replacements(before, after), old.len()) {
        let (from, to) = (position(&hunk.old), position(&hunk.new));
        out.extend(format!("@@ -{from} +{to} @@\n").bytes());
        push_hunk(&mut out, &hunk, &old, &new);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The lines of a hunk of a unified diff, without its header.
pub fn hunk_text(hunk: &Hunk, old: &[&[u8]], new: &[&[u8]]) -> String {
    let mut out = Vec::new();
    push_hunk(&mut out, hunk, old, new);
    String::from_utf8_lossy(&out).into_owned()
}

fn push_hunk(out: &mut Vec<u8>, hunk: &Hunk, old: &[&[u8]], new: &[&[u8]]) {
    let mut at = hunk.old.start;
    for replacement in &hunk.replacements {
        push_lines(out, b' ', &old[at..replacement.old.start]);
        push_lines(out, b'-', &old[replacement.old.clone()]);
        push_lines(out, b'+', &new[replacement.new.clone()]);
        at = replacement.old.end;
    }
    push_lines(out, b' ', &old[at..hunk.old.end]);
}

/// A range of lines in a hunk's header: counted from 1; an empty one names the line before it.
fn position(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

fn push_lines(out: &mut Vec<u8>, sign: u8, lines: &[&[u8]]) {
    for line in lines {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// The numbers of added and removed lines.
pub fn counts(before: &[u8], after: &[u8]) -> (usize, usize) {
    let replacements = line_replacements(before, after);
    replacements.iter().fold((0, 0), |(added, removed), one| {
        (added + one.new.len(), removed + one.old.len())
    })
}

/// The share of lines that two texts have in common, from 0 to 1.
pub fn similarity(a: &[u8], b: &[u8]) -> f64 {
    let all = lines(a).len().max(lines(b).len());
    if all == 0 {
        return 1.0;
    }
    let kept = lines(a).len() - counts(a, b).1;
    kept as f64 / all as f64
}

/// Merges two edits of `base`. Returns `None` if both changed the same or adjacent lines in
/// different ways, because a merge could then silently drop one side.
pub fn merge(base: &[u8], mine: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let (base, mine, theirs) = (lines(base), lines(mine), lines(theirs));
    Some(merge_by(&base, &mine, &theirs, |_, _, _| None)?.concat())
}

/// Merges two edits of a sequence. Edits that overlap or meet are one region; what becomes of one that
/// both changed in different ways `on_both` says, given what it was and what both made of it.
pub fn merge_by<T: Eq + Hash + Clone>(
    base: &[T],
    mine: &[T],
    theirs: &[T],
    on_both: impl Fn(&[T], &[T], &[T]) -> Option<Vec<T>>,
) -> Option<Vec<T>> {
    let mut my = replacements(base, mine).into_iter().peekable();
    let mut their = replacements(base, theirs).into_iter().peekable();
    let mut merged = Vec::new();
    let mut at = 0;
    loop {
        let next = [my.peek(), their.peek()].into_iter().flatten();
        let Some(start) = next.map(|one| one.old.start).min() else {
            break;
        };
        let mut end = start;
        let (mut of_mine, mut of_theirs) = (Vec::new(), Vec::new());
        loop {
            let (one, of_side) = match my.next_if(|one| one.old.start <= end) {
                Some(one) => (one, &mut of_mine),
                None => match their.next_if(|one| one.old.start <= end) {
                    Some(one) => (one, &mut of_theirs),
                    None => break,
                },
            };
            end = end.max(one.old.end);
            of_side.push(one);
        }
        merged.extend_from_slice(&base[at..start]);
        at = end;
        let side = |edits: &[Replacement], new: &[T]| {
            let mut made = Vec::new();
            let mut at = start;
            for one in edits {
                made.extend_from_slice(&base[at..one.old.start]);
                made.extend_from_slice(&new[one.new.clone()]);
                at = one.old.end;
            }
            made.extend_from_slice(&base[at..end]);
            made
        };
        let (one, other) = (side(&of_mine, mine), side(&of_theirs, theirs));
        merged.extend(if of_theirs.is_empty() || one == other {
            one
        } else if of_mine.is_empty() {
            other
        } else {
            on_both(&base[start..end], &one, &other)?
        });
    }
    merged.extend_from_slice(&base[at..]);
    Some(merged)
}

/// The lines that both texts have, in their order: the base of two texts that have none.
pub fn common(a: &str, b: &str) -> String {
    let lines: Vec<&str> = a.split_inclusive('\n').collect();
    let mut kept = String::new();
    let mut at = 0;
    for one in line_replacements(a.as_bytes(), b.as_bytes()) {
        kept.extend(lines[at..one.old.start].iter().copied());
        at = one.old.end;
    }
    kept.extend(lines[at..].iter().copied());
    kept
}

/// Merges two edits of `base`. Where both changed the same or adjacent lines, `theirs` is taken.
pub fn merge_preferring_theirs(base: &[u8], mine: &[u8], theirs: &[u8]) -> Vec<u8> {
    let (base, mine, theirs) = (lines(base), lines(mine), lines(theirs));
    let merged = merge_by(&base, &mine, &theirs, |_, _, theirs| Some(theirs.to_vec()));
    merged.unwrap_or(theirs).concat()
}

/// The lines with the replacements made, each given with the lines that it takes its own from.
pub fn apply<'a>(
    old: &[&[u8]],
    replacements: impl IntoIterator<Item = (Replacement, &'a [&'a [u8]])>,
) -> Vec<u8> {
    let mut made = Vec::new();
    let mut at = 0;
    for (replacement, new) in replacements {
        made.extend(old[at..replacement.old.start].concat());
        made.extend(new[replacement.new].concat());
        at = replacement.old.end;
    }
    made.extend(old[at..].concat());
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_two_texts_have_in_common_is_in_both_in_its_order() {
        let ours = "---\nname: a\ndescription: mine\n---\nOne.\nTwo.\n";
        let theirs = "---\nname: a\ndescription: theirs\n---\nTwo.\nThree.\n";
        assert_eq!(common(ours, theirs), "---\nname: a\n---\nTwo.\n");
        assert_eq!(common("One.\n", "Two.\n"), "");
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\r\n", "\n", "e"]);
        prop::collection::vec(line, 0..14).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn a_unified_diff_makes_the_new_text_of_the_old(old in text(), new in text()) {
            let diff = unified("a", "b", old.as_bytes(), new.as_bytes());
            let patch = diffy::Patch::from_bytes(diff.as_bytes()).expect("is a patch");
            let made = diffy::apply_bytes(old.as_bytes(), &patch).expect("applies");
            prop_assert_eq!(made, new.into_bytes());
        }

        #[test]
        fn a_merge_that_prefers_one_side_has_all_of_it(base in text(), mine in text(), theirs in text()) {
            let [b, m, t] = [&base, &mine, &theirs].map(|text| text.as_bytes());
            let made = merge_preferring_theirs(b, m, t);
            match merge(b, m, t) {
                Some(merged) if m != t => prop_assert_eq!(made, merged),
                _ => prop_assert!(counts(&made, t).1 <= counts(b, m).0 + counts(b, m).1),
            }
            prop_assert_eq!(merge_preferring_theirs(b, b, t), t.to_vec());
            prop_assert_eq!(merge_preferring_theirs(b, m, b), m.to_vec());
        }

        #[test]
        fn a_merge_has_what_both_sides_did(base in text(), mine in text(), theirs in text()) {
            let [b, m, t] = [&base, &mine, &theirs].map(|text| text.as_bytes());
            prop_assert_eq!(merge(b, m, b), Some(m.to_vec()));
            prop_assert_eq!(merge(b, b, t), Some(t.to_vec()));
            prop_assert_eq!(merge(b, m, m), Some(m.to_vec()));
            prop_assert_eq!(merge(b, m, t), merge(b, t, m));
            if let Some(merged) = merge(b, m, t) {
                // Each side's edits are in it, and those that both made are in it once.
                let edits = |side| {
                    let new = lines(side);
                    let one = |edit: Replacement| (edit.old, new[edit.new].concat());
                    line_replacements(b, side).into_iter().map(one).collect::<Vec<_>>()
                };
                let mut all = edits(m);
                all.extend(edits(t).into_iter().filter(|edit| !edits(m).contains(edit)));
                let grown = |(old, new): &(Range<usize>, Vec<u8>)| {
                    new.len().cast_signed() - lines(b)[old.clone()].concat().len().cast_signed()
                };
                let length = b.len().cast_signed() + all.iter().map(grown).sum::<isize>();
                prop_assert_eq!(merged.len().cast_signed(), length);
                for (_, new) in all {
                    prop_assert!(merged.windows(new.len().max(1)).any(|part| part == new) || new.is_empty());
                }
            }
        }
    }

    #[test]
    fn changes_in_different_places_merge_and_others_clash() {
        let base = b"a\nb\nc\nd\ne\n";
        assert_eq!(
            merge(base, b"A\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\n"),
            Some(b"A\nb\nc\nd\nE\n".to_vec())
        );
        assert_eq!(merge(base, b"A\nb\nc\nd\ne\n", b"X\nb\nc\nd\ne\n"), None);
        assert_eq!(merge(base, b"A\nb\nc\nd\ne\n", b"a\nX\nc\nd\ne\n"), None);
    }

    #[test]
    fn a_side_is_never_dropped_silently() {
        for (base, mine, theirs) in [
            ("a\na\nb\n", "a\nb\n", "aX\na\nb\n"),
            ("aZ\na\na\ne\n", "a\na\na\na\ne\n", "a\na\ne\n"),
        ] {
            let merged = merge(base.as_bytes(), mine.as_bytes(), theirs.as_bytes());
            assert_eq!(merged, None, "{base:?}");
        }
    }

    #[test]
    fn counts_are_of_lines() {
        assert_eq!(counts(b"a\nb\n", b"a\nc\nd\n"), (2, 1));
        assert_eq!(counts(b"", b"x"), (1, 0));
    }

    #[test]
    fn a_text_too_large_to_compare_is_replaced_between_its_first_and_last_difference() {
        let old = format!("first\n{}last\n", "a\nb\n".repeat(MOST_COMPARED));
        let new = format!("first\n{}last\n", "b\na\nb\n".repeat(MOST_COMPARED));
        let found = line_replacements(old.as_bytes(), new.as_bytes());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].old.start, 1);
        let diff = unified("a", "b", old.as_bytes(), new.as_bytes());
        let patch = diffy::Patch::from_bytes(diff.as_bytes()).expect("is a patch");
        let made = diffy::apply_bytes(old.as_bytes(), &patch).expect("applies");
        assert_eq!(made, new.into_bytes());
    }

    #[test]
    fn hunks_that_meet_are_one() {
        let old: Vec<String> = (0..30).map(|n| format!("{n}\n")).collect();
        let mut new = old.clone();
        new[3] = "x\n".to_owned();
        new[9] = "y\n".to_owned();
        new[25] = "z\n".to_owned();
        let (old, new) = (old.concat(), new.concat());
        let diff = unified("a", "b", old.as_bytes(), new.as_bytes());
        let heads: Vec<&str> = diff.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -1,13 +1,13 @@", "@@ -23,7 +23,7 @@"]);
    }
}
