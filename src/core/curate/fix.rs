//! The fixes of findings, as one planned change for each store.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{CuratedStore, Finding};
use crate::core::change::{Change, ChangeVerb, Moment, PlannedFiles};
use crate::core::header::replaced;
use crate::core::layout::index::INDEX;
use crate::core::layout::{IndexUpdate, Layout};
use crate::core::{Error, Result};

/// How a finding can be corrected without a decision of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What it does, in a few words.
    pub words: String,
    kind: FixKind,
}

/// Replacements in one text.
type TextEdits = Vec<(Range<usize>, String)>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum FixKind {
    /// Replaces parts of the text of a memory, by their byte ranges.
    Replace { path: String, edits: TextEdits },
    /// Removes a memory.
    Delete { path: String },
    /// Brings a generated index up to date.
    Index,
}

impl Fix {
    /// Replaces parts of the text of a memory.
    pub(super) fn replace(path: &str, edits: TextEdits, words: String) -> Self {
        let kind = FixKind::Replace {
            path: path.to_owned(),
            edits,
        };
        Self { words, kind }
    }

    /// Makes the text of a memory `after`, which differs from `before` in one place.
    pub(super) fn rewrite(path: &str, (before, after): (&str, &str), words: String) -> Self {
        let mut start = before
            .bytes()
            .zip(after.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        while !(before.is_char_boundary(start) && after.is_char_boundary(start)) {
            start -= 1;
        }
        let rest = (before.len() - start).min(after.len() - start);
        let ends = before.bytes().rev().zip(after.bytes().rev());
        let mut end = ends.take(rest).take_while(|(a, b)| a == b).count();
        while !(before.is_char_boundary(before.len() - end)
            && after.is_char_boundary(after.len() - end))
        {
            end -= 1;
        }
        let with = after[start..after.len() - end].to_owned();
        Self::replace(path, vec![(start..before.len() - end, with)], words)
    }

    /// Removes a memory.
    pub(super) fn delete(path: &str, words: String) -> Self {
        let path = path.to_owned();
        Self {
            words,
            kind: FixKind::Delete { path },
        }
    }

    /// Brings a generated index up to date.
    pub(super) fn index(words: String) -> Self {
        Self {
            words,
            kind: FixKind::Index,
        }
    }
}

/// Plans the fixes of the findings about one store. A fix that overlaps an earlier one is left
/// for the next run.
pub fn plan_fixes<'f>(
    store: &CuratedStore<'_>,
    findings: impl Iterator<Item = &'f Finding>,
    moment: &Moment,
) -> Result<Change> {
    let mut planned = PlannedFiles::new(store.store, moment);
    let mut edits: Vec<(&str, TextEdits)> = Vec::new();
    let (mut deleted, mut index, mut count) = (Vec::new(), false, 0);
    for fix in findings.filter_map(|finding| finding.fix.as_ref()) {
        match &fix.kind {
            FixKind::Replace { path, edits: more } => {
                let at = edits.iter().position(|(known, _)| known == path);
                let at = at.unwrap_or_else(|| {
                    edits.push((path.as_str(), Vec::new()));
                    edits.len() - 1
                });
                let known = &mut edits[at].1;
                let overlaps =
                    |new: &(Range<usize>, String)| known.iter().any(|(old, _)| meet(old, &new.0));
                if more.iter().any(overlaps) {
                    continue;
                }
                known.extend(more.iter().cloned());
            }
            FixKind::Delete { path } => deleted.push(path.as_str()),
            FixKind::Index => index = true,
        }
        count += 1;
    }
    for (path, mut edits) in edits {
        if deleted.contains(&path) {
            continue;
        }
        let file = writable(store, path)?;
        let text = store.documents.iter().find(|d| d.memory.path == path);
        let text = text.map(|document| document.text.as_str());
        // The ranges are those of the text that the rules read.
        if planned.text(&file)?.as_deref() != text {
            return Err(Error::refused(
                path,
                "the file was changed meanwhile; run `tome curate --fix` again",
            ));
        }
        edits.sort_by_key(|(range, _)| range.start);
        let text = replaced(text.unwrap_or_default(), &edits);
        planned.set(&file, Some(text.into_bytes()))?;
    }
    for path in &deleted {
        let file = writable(store, path)?;
        planned.set(&file, None)?;
    }
    if index {
        let rules = store.store.rules();
        rules.rebuild_index(&mut planned, IndexUpdate::Repair)?;
    }
    // Only a memory that goes changes what an index lists; a store without one gets none.
    let has_index = store.store.layout() != Layout::Index || store.store.root().has(INDEX);
    if !deleted.is_empty() && has_index {
        planned.update_index()?;
    }
    let verb = match planned.touched().is_empty() {
        true => ChangeVerb::Index,
        false => ChangeVerb::Edit,
    };
    let things = if count == 1 { "finding" } else { "findings" };
    let message = format!("Fixed {count} {things} in {}", store.store.name());
    let mut change = planned.into_change(verb, message);
    if index {
        // The index itself is requested: an undo must restore its exact bytes.
        change
            .edits
            .iter_mut()
            .for_each(|edit| edit.derived = false);
    }
    Ok(change)
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end || a.start == b.start
}

/// The file of a memory, if it may be written.
fn writable(store: &CuratedStore<'_>, path: &str) -> Result<String> {
    let file = store.store.locate(path)?;
    store.store.root().writable(&file)?;
    Ok(file)
}
