//! Splits base, mine and theirs into shared lines and hunks; pure, and exact to the byte.

use std::ops::Range;

use crate::core::change::combine::{Block, CombinedPart};
use crate::core::text::diff::{Replacement, line_replacements};

/// The chosen version of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Mine,
    Theirs,
    /// My version, then theirs.
    Both,
    Base,
}

impl Choice {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mine => "mine",
            Self::Theirs => "theirs",
            Self::Both => "mine, then theirs",
            Self::Base => "base",
        }
    }
}

/// Which side changed a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangedBy {
    Mine,
    Theirs,
    /// Both, in the same way.
    Alike,
    /// Both, differently.
    Both,
}

/// Lines in which the texts differ, with their newlines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub base: Vec<String>,
    pub mine: Vec<String>,
    pub theirs: Vec<String>,
    pub who: ChangedBy,
    /// `None` while it is undecided.
    pub choice: Option<Choice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MergePart {
    /// Lines that all three texts share.
    Same(Vec<String>),
    /// Lines in which they differ.
    Hunk(Hunk),
}

impl MergePart {
    pub(super) fn hunk(&self) -> Option<&Hunk> {
        match self {
            Self::Hunk(hunk) => Some(hunk),
            Self::Same(_) => None,
        }
    }

    pub(super) fn hunk_mut(&mut self) -> Option<&mut Hunk> {
        match self {
            Self::Hunk(hunk) => Some(hunk),
            Self::Same(_) => None,
        }
    }
}

/// Returns the parts of the three texts in order. Hunks that only one side changed are decided.
pub(crate) fn parts(base: &str, mine: &str, theirs: &str) -> Vec<MergePart> {
    let lines =
        |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (mine_edits, their_edits) = (
        line_replacements(base.as_bytes(), mine.as_bytes()),
        line_replacements(base.as_bytes(), theirs.as_bytes()),
    );
    let (base, mine, theirs) = (lines(base), lines(mine), lines(theirs));
    // Adjacent edits form one hunk: no line between them is common to all three.
    let edits = mine_edits.iter().chain(&their_edits);
    let mut changed: Vec<Range<usize>> = edits.map(|edit| edit.old.clone()).collect();
    changed.sort_by_key(|range| (range.start, range.end));
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for range in changed {
        match hunks.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => hunks.push(range),
        }
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for range in hunks {
        same(&base[at..range.start], &mut parts);
        parts.push(MergePart::Hunk(hunk(
            &base[range.clone()],
            &mine[side_lines(&mine_edits, &range)],
            &theirs[side_lines(&their_edits, &range)],
        )));
        at = range.end;
    }
    same(&base[at..], &mut parts);
    parts
}

/// Returns the lines of a side that stand for lines of the base, whose ends no edit crosses.
fn side_lines(edits: &[Replacement], base: &Range<usize>) -> Range<usize> {
    let place = |before: usize, at: usize| match edits[..before].last() {
        Some(last) => last.new.end + (at - last.old.end),
        None => at,
    };
    let start = edits.partition_point(|edit| edit.old.end < base.start);
    let end = edits.partition_point(|edit| edit.old.end <= base.end);
    place(start, base.start)..place(end, base.end)
}

/// Returns the parts of two memories. What only one of them says is taken.
pub(super) fn of_memories(combined: &[CombinedPart]) -> Vec<MergePart> {
    let lines = |blocks: &[Block]| -> Vec<String> {
        let lines = blocks
            .iter()
            .flat_map(|block| block.text.split_inclusive('\n'));
        lines.map(str::to_owned).collect()
    };
    let part = |part: &CombinedPart| match part {
        CombinedPart::Same(blocks) => MergePart::Same(lines(blocks)),
        CombinedPart::Differing { left, right } => {
            MergePart::Hunk(hunk(&[], &lines(left), &lines(right)))
        }
    };
    combined.iter().map(part).collect()
}

fn same(lines: &[String], parts: &mut Vec<MergePart>) {
    if !lines.is_empty() {
        parts.push(MergePart::Same(lines.to_vec()));
    }
}

fn hunk(base: &[String], mine: &[String], theirs: &[String]) -> Hunk {
    let who = match (base == mine, base == theirs) {
        (_, true) => ChangedBy::Mine,
        (true, _) => ChangedBy::Theirs,
        _ if mine == theirs => ChangedBy::Alike,
        _ => ChangedBy::Both,
    };
    Hunk {
        base: base.to_vec(),
        mine: mine.to_vec(),
        theirs: theirs.to_vec(),
        who,
        choice: match who {
            ChangedBy::Mine | ChangedBy::Alike => Some(Choice::Mine),
            ChangedBy::Theirs => Some(Choice::Theirs),
            ChangedBy::Both => None,
        },
    }
}

/// Returns the merged text; `None` while a hunk is undecided.
pub(super) fn result(parts: &[MergePart]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            MergePart::Same(lines) => text.extend(lines.iter().map(String::as_str)),
            MergePart::Hunk(hunk) => match hunk.choice? {
                Choice::Mine => append(&mut text, &hunk.mine),
                Choice::Theirs => append(&mut text, &hunk.theirs),
                Choice::Base => append(&mut text, &hunk.base),
                Choice::Both => {
                    append(&mut text, &hunk.mine);
                    append(&mut text, &hunk.theirs);
                }
            },
        }
    }
    Some(text)
}

/// Appends lines; a last line that has no newline gets one, of the kind that the text has.
fn append(text: &mut String, lines: &[String]) {
    for line in lines {
        if !text.is_empty() && !text.ends_with('\n') {
            let is_crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
            text.push_str(if is_crlf { "\r\n" } else { "\n" });
        }
        text.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parts: &[MergePart], choice: Choice) -> String {
        let parts: Vec<MergePart> = parts
            .iter()
            .cloned()
            .map(|part| match part {
                MergePart::Hunk(hunk) => MergePart::Hunk(Hunk {
                    choice: Some(choice),
                    ..hunk
                }),
                same => same,
            })
            .collect();
        result(&parts).expect("all is decided")
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a\n", "b\n", "c\n", "d\n", "\n"]),
            0..12,
        )
        .prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn each_side_is_in_the_parts_whole(base in text(), mine in text(), theirs in text()) {
            let parts = parts(&base, &mine, &theirs);
            prop_assert_eq!(all(&parts, Choice::Mine), mine);
            prop_assert_eq!(all(&parts, Choice::Theirs), theirs);
            prop_assert_eq!(all(&parts, Choice::Base), base);
        }

        #[test]
        fn a_side_that_changed_nothing_has_no_say(base in text(), mine in text()) {
            prop_assert_eq!(result(&parts(&base, &mine, &base)), Some(mine.clone()));
            prop_assert_eq!(result(&parts(&base, &base, &mine)), Some(mine.clone()));
            prop_assert_eq!(result(&parts(&base, &mine, &mine)), Some(mine));
        }
    }

    #[test]
    fn a_missing_last_line_end_is_kept_and_never_joins_lines() {
        let decided = parts("a\nb", "a\nB", "a\nb");
        assert_eq!(result(&decided).as_deref(), Some("a\nB"));
        let both = parts("a", "b", "c");
        assert_eq!(all(&both, Choice::Both), "b\nc");
        let both = parts("x\r\na", "x\r\nb", "x\r\nc");
        assert_eq!(all(&both, Choice::Both), "x\r\nb\r\nc");
    }
}
