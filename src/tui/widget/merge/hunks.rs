//! Splits base, mine and theirs into shared lines and hunks; pure, and exact to the byte.

use std::ops::Range;

use crate::core::change::combine::{Block, CombinedPart};
use crate::core::text::diff::{Replacement, line_replacements};

/// The chosen version of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// My version.
    Mine,
    /// Their version.
    Theirs,
    /// My version, then theirs.
    Both,
    /// The base version.
    Base,
}

impl Choice {
    /// Returns the name of the choice.
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
    /// Only mine.
    Mine,
    /// Only theirs.
    Theirs,
    /// Both, in the same way.
    Alike,
    /// Both, differently.
    Both,
}

/// Lines in which the texts differ, with their newlines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The base version.
    pub base: Vec<String>,
    /// My version.
    pub mine: Vec<String>,
    /// Their version.
    pub theirs: Vec<String>,
    /// The side that changed it.
    pub who: ChangedBy,
    /// The chosen version; `None` if undecided.
    pub choice: Option<Choice>,
}

/// A part of the three texts.
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
    let mut parts = Vec::new();
    let mut walks = [Walk::new(&mine_edits), Walk::new(&their_edits)];
    let mut at = 0;
    loop {
        let start = walks.iter().filter_map(Walk::start).min();
        let Some(start) = start else {
            break;
        };
        // Adjacent edits form one hunk: no line between them is common to all three.
        let mut end = start;
        while walks.iter_mut().any(|walk| walk.take(&mut end)) {}
        same(&base[at..start], &mut parts);
        let [mine_range, their_range] = walks.each_mut().map(|walk| walk.close(start, end));
        parts.push(MergePart::Hunk(hunk(
            &base[start..end],
            &mine[mine_range],
            &theirs[their_range],
        )));
        at = end;
    }
    same(&base[at..], &mut parts);
    parts
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

/// An iteration over the edits of one side.
struct Walk<'a> {
    edits: &'a [Replacement],
    /// The first edit that is not in a hunk yet.
    next: usize,
    /// The first edit of the current hunk.
    first: usize,
    /// How many more lines than the base the side has so far.
    ahead: isize,
}

impl<'a> Walk<'a> {
    fn new(edits: &'a [Replacement]) -> Self {
        Self {
            edits,
            next: 0,
            first: 0,
            ahead: 0,
        }
    }

    fn start(&self) -> Option<usize> {
        self.edits.get(self.next).map(|edit| edit.old.start)
    }

    /// Adds the next edit to the hunk if they touch; returns whether it did.
    fn take(&mut self, end: &mut usize) -> bool {
        match self.edits.get(self.next) {
            Some(edit) if edit.old.start <= *end => {
                *end = (*end).max(edit.old.end);
                self.next += 1;
                true
            }
            _ => false,
        }
    }

    /// Returns the side's lines for the hunk `start..end` of the base.
    fn close(&mut self, start: usize, end: usize) -> Range<usize> {
        let from = start.saturating_add_signed(self.ahead);
        for edit in &self.edits[self.first..self.next] {
            let grown = edit.new.len().cast_signed() - edit.old.len().cast_signed();
            self.ahead += grown;
        }
        self.first = self.next;
        from..end.saturating_add_signed(self.ahead)
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
