//! The fixes of findings, as one planned change.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Finding;
use crate::core::change::{Change, ChangeVerb, PlannedFiles};
use crate::core::disk::revision::Revision;
use crate::core::memory::layout::index::{INDEX, with_lines_for};
use crate::core::memory::layout::{FileView as _, IndexUpdate, Layout};
use crate::core::memory::store::Store;
use crate::core::text::header::replaced;
use crate::core::text::time::Moment;
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
    /// Replaces parts of the text of a memory, by their byte ranges in the text with this revision.
    Replace {
        path: String,
        edits: TextEdits,
        revision: Option<Revision>,
    },
    /// Removes a memory.
    Delete { path: String },
    /// Adds a line for a memory to the index.
    List { path: String },
    /// Brings a generated index up to date.
    Index,
}

impl Fix {
    /// Replaces parts of the text of a memory.
    pub(super) fn replace(path: &str, edits: TextEdits, words: String) -> Self {
        let kind = FixKind::Replace {
            path: path.to_owned(),
            edits,
            revision: None,
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
        let range = start..before.len() - end;
        let range = if with.is_empty() {
            whole_lines(before, range)
        } else {
            range
        };
        Self::replace(path, vec![(range, with)], words)
    }

    /// Removes a memory.
    pub(super) fn delete(path: &str, words: String) -> Self {
        let path = path.to_owned();
        Self {
            words,
            kind: FixKind::Delete { path },
        }
    }

    /// Adds a line for a memory to the index.
    pub(super) fn list(path: &str, words: String) -> Self {
        let path = path.to_owned();
        Self {
            words,
            kind: FixKind::List { path },
        }
    }

    /// Brings a generated index up to date.
    pub(super) fn index(words: String) -> Self {
        Self {
            words,
            kind: FixKind::Index,
        }
    }

    /// Why the fix cannot be made in this store, as a file may not be written.
    fn refusal(&self, store: &Store) -> Option<Error> {
        let written = match &self.kind {
            FixKind::Replace { path, .. } | FixKind::Delete { path } => writable(store, path),
            FixKind::List { path } => store.locate(path),
            FixKind::Index => return None,
        };
        written.err()
    }

    /// Notes the revision of the text whose ranges it has; whether there is such a text.
    pub(super) fn note_revision(
        &mut self,
        revision_of: impl FnOnce(&str) -> Option<Revision>,
    ) -> bool {
        let FixKind::Replace { path, revision, .. } = &mut self.kind else {
            return true;
        };
        *revision = revision_of(path);
        revision.is_some()
    }
}

/// The findings whose fixes can be made in a store, and why others cannot: their file may not be
/// written.
pub fn fixable<'f>(
    store: &Store,
    findings: impl IntoIterator<Item = &'f Finding>,
) -> (Vec<&'f Finding>, BTreeSet<String>) {
    let mut refused = BTreeSet::new();
    let mut found = Vec::new();
    for finding in findings {
        match finding.fix.as_ref().map(|fix| fix.refusal(store)) {
            Some(None) => found.push(finding),
            Some(Some(error)) => {
                refused.insert(format!("not fixed in {}: {error}", store.name()));
            }
            None => {}
        }
    }
    (found, refused)
}

/// Plans the fixes of findings about several stores as one change.
pub fn plan_fixes(stores: &[(&Store, Vec<&Finding>)], moment: &Moment) -> Result<Change> {
    let mut all = Change {
        verb: ChangeVerb::Index,
        message: String::new(),
        edits: Vec::new(),
        of: None,
        rejected: Vec::new(),
    };
    let (mut count, mut names) = (0, Vec::new());
    for (store, findings) in stores {
        let (change, fixed) = plan_store_fixes(store, findings, moment)?;
        if change.verb == ChangeVerb::Edit {
            all.verb = ChangeVerb::Edit;
        }
        all.edits.extend(change.edits);
        count += fixed;
        names.push(store.name());
    }
    all.edits.sort_by_key(|edit| edit.derived);
    let things = if count == 1 { "finding" } else { "findings" };
    all.message = format!("Fixed {count} {things} in {}", names.join(", "));
    Ok(all)
}

/// Plans the fixes of the findings about one store; returns how many, too. A fix that overlaps an
/// earlier one is left for the next run.
fn plan_store_fixes(
    store: &Store,
    findings: &[&Finding],
    moment: &Moment,
) -> Result<(Change, usize)> {
    let mut planned = PlannedFiles::new(store, moment);
    let mut edits: BTreeMap<&str, PlannedText> = BTreeMap::new();
    let (mut deleted, mut listed) = (BTreeSet::new(), Vec::new());
    let (mut index, mut count) = (false, 0);
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        match &fix.kind {
            FixKind::Replace {
                path,
                edits: more,
                revision,
            } => {
                let text = edits.entry(path).or_insert_with(|| PlannedText {
                    edits: BTreeMap::new(),
                    revision: *revision,
                });
                if more.iter().any(|(range, _)| text.meets(range)) {
                    continue;
                }
                let more = more.iter().cloned();
                let more = more.map(|(range, with)| (range.start, (range, with)));
                text.edits.extend(more);
            }
            FixKind::Delete { path } => {
                deleted.insert(path.as_str());
            }
            FixKind::List { path } => listed.push(path.as_str()),
            FixKind::Index => index = true,
        }
        count += 1;
    }
    for (path, PlannedText { edits, revision }) in edits {
        if deleted.contains(path) {
            continue;
        }
        let file = writable(store, path)?;
        let text = planned.text(&file)?.unwrap_or_default();
        // The ranges are those of the text that the rules read.
        if Some(Revision::of(text.as_bytes())) != revision {
            return Err(Error::refused(
                path,
                "the file was changed meanwhile; look for findings again",
            ));
        }
        let edits: TextEdits = edits.into_values().collect();
        let text = replaced(&text, &edits);
        planned.set(&file, Some(text.into_bytes()))?;
    }
    for path in &deleted {
        let file = writable(store, path)?;
        planned.set(&file, None)?;
    }
    listed.retain(|path| !deleted.contains(path));
    if !listed.is_empty() {
        let mut memories = Vec::new();
        for path in listed {
            let text = store.text(path)?;
            memories.extend(text.map(|text| store.rules().read(path, &text)));
        }
        let text = planned.text(INDEX)?.unwrap_or_default();
        let text = with_lines_for(&text, &memories);
        planned.set(INDEX, Some(text.into_bytes()))?;
    }
    if index {
        let rules = store.rules();
        rules.rebuild_index(&mut planned, IndexUpdate::Repair)?;
    }
    // Only a memory that goes changes what an index lists; a store without one gets none.
    let has_index = store.layout() != Layout::Index || store.root().has(INDEX);
    if !deleted.is_empty() && has_index {
        planned.finish()?;
    }
    let verb = if planned.touched().is_empty() {
        ChangeVerb::Index
    } else {
        ChangeVerb::Edit
    };
    let mut change = planned.into_change(verb, String::new());
    if index {
        // The index itself is requested: an undo must restore its exact bytes.
        change
            .edits
            .iter_mut()
            .for_each(|edit| edit.derived = false);
    }
    Ok((change, count))
}

/// The replacements in one text.
struct PlannedText {
    /// Each by its start.
    edits: BTreeMap<usize, (Range<usize>, String)>,
    revision: Option<Revision>,
}

impl PlannedText {
    /// Whether a replacement of this range would overlap one of these.
    fn meets(&self, range: &Range<usize>) -> bool {
        let before = self.edits.range(..=range.start).next_back();
        let after = self.edits.range(range.start..).next();
        let mut near = before.into_iter().chain(after);
        near.any(|(_, (known, _))| meet(known, range))
    }
}

/// The same removal from the start of a line on, if there is one: two lines that begin alike can be
/// removed at different places with the same result, and removals of whole lines do not overlap.
fn whole_lines(text: &str, removed: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut range = removed.clone();
    while range.start > 0 && bytes[range.start - 1] != b'\n' {
        if bytes[range.start - 1] != bytes[range.end - 1] {
            return removed;
        }
        range = range.start - 1..range.end - 1;
    }
    range
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end || a.start == b.start
}

/// The file of a memory, if it may be written.
fn writable(store: &Store, path: &str) -> Result<String> {
    let file = store.locate(path)?;
    store.root().writable(&file)?;
    Ok(file)
}
