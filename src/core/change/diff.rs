//! Differences between two versions of a file, and the merge of three.

use super::Edit;

/// The edit as a unified diff with the file's reference in its head.
pub fn unified(edit: &Edit) -> String {
    let name = edit.reference();
    let old = edit.before.as_ref().map(|_| format!("a/{name}"));
    let new = edit.after.as_ref().map(|_| format!("b/{name}"));
    let before = edit.before.as_deref().unwrap_or_default();
    let after = edit.after.as_deref().unwrap_or_default();
    let patch = diffy::DiffOptions::new()
        .set_original_filename(old.unwrap_or_else(|| "/dev/null".to_owned()))
        .set_modified_filename(new.unwrap_or_else(|| "/dev/null".to_owned()))
        .create_patch_bytes(before, after)
        .to_bytes();
    String::from_utf8_lossy(&patch).into_owned()
}

/// How many lines an edit adds and removes.
pub fn counts(before: &[u8], after: &[u8]) -> (usize, usize) {
    let patch = diffy::DiffOptions::new()
        .set_context_len(0)
        .create_patch_bytes(before, after);
    let mut counts = (0, 0);
    for line in patch.hunks().iter().flat_map(|hunk| hunk.lines()) {
        match line {
            diffy::Line::Insert(_) => counts.0 += 1,
            diffy::Line::Delete(_) => counts.1 += 1,
            diffy::Line::Context(_) => {}
        }
    }
    counts
}

/// The outcome of a three-way merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both sides fit together.
    Clean(Vec<u8>),
    /// They do not; the text has both between conflict markers.
    Clashing(Vec<u8>),
}

/// Merges what two sides made of `base`.
pub fn merge(base: &[u8], mine: &[u8], theirs: &[u8]) -> Merged {
    let clash = overlapping(base, mine, theirs);
    match diffy::merge_bytes(base, mine, theirs) {
        Ok(clean) if !clash => Merged::Clean(clean),
        Ok(unsure) => Merged::Clashing(unsure),
        Err(clashing) => Merged::Clashing(clashing),
    }
}

/// Whether both sides changed the same lines, or lines next to each other, in different ways: a
/// merge of those may silently keep one side only.
fn overlapping(base: &[u8], mine: &[u8], theirs: &[u8]) -> bool {
    mine != theirs
        && changed(base, mine).iter().any(|(a_start, a_end)| {
            let touches = |(b_start, b_end): &(usize, usize)| a_start <= b_end && b_start <= a_end;
            changed(base, theirs).iter().any(touches)
        })
}

/// The lines of `base` that `other` changes, as ranges.
fn changed(base: &[u8], other: &[u8]) -> Vec<(usize, usize)> {
    let patch = diffy::DiffOptions::new()
        .set_context_len(0)
        .create_patch_bytes(base, other);
    let ranges = patch.hunks().iter().map(|hunk| hunk.old_range());
    ranges.map(|range| (range.start(), range.end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_in_different_places_merge_and_others_clash() {
        let base = b"a\nb\nc\nd\ne\n";
        assert_eq!(
            merge(base, b"A\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\n"),
            Merged::Clean(b"A\nb\nc\nd\nE\n".to_vec())
        );
        assert!(matches!(
            merge(base, b"A\nb\nc\nd\ne\n", b"X\nb\nc\nd\ne\n"),
            Merged::Clashing(_)
        ));
    }

    #[test]
    fn a_side_is_never_dropped_silently() {
        for (base, mine, theirs) in [
            ("a\na\nb\n", "a\nb\n", "aX\na\nb\n"),
            ("aZ\na\na\ne\n", "a\na\na\na\ne\n", "a\na\ne\n"),
        ] {
            let merged = merge(base.as_bytes(), mine.as_bytes(), theirs.as_bytes());
            assert!(matches!(merged, Merged::Clashing(_)), "{base:?}");
        }
    }

    #[test]
    fn counts_are_of_lines() {
        assert_eq!(counts(b"a\nb\n", b"a\nc\nd\n"), (2, 1));
        assert_eq!(counts(b"", b"x"), (1, 0));
    }
}
