//! Accepting and reverting what waits.

use std::cell::RefCell;
use std::path::Path;

use super::incoming::{accept_incoming, plan_reject};
use super::proposal::{Verdict, is_proposal, plan_proposals};
use super::queue::{Item, ItemChange, ReviewHunk, WaitingFile, waiting_files};
use super::state::{Note, State};
use crate::core::change::history::{FileChange, History, Record};
use crate::core::change::{
    Author, Change, ChangeVerb, Edit, PlannedFiles, plan_and_commit, put_lines_back,
};
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::layout::{FileView as _, Layout};
use crate::core::memory::store::Store;
use crate::core::text::diff::{self, Replacement};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// Which items are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Everything that waits.
    All,
    /// The items and hunks with these ids, and all items of sessions with these ids.
    Ids(Vec<String>),
}

impl Selection {
    /// Whether the item is selected as a whole: by its id, or by that of its session.
    pub fn contains(&self, item: &Item) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => {
                let session = item.origin.as_ref().map(|origin| &origin.session);
                ids.iter().any(|id| *id == item.id || Some(id) == session)
            }
        }
    }

    pub(super) fn contains_hunk(&self, item: &Item, hunk: &ReviewHunk) -> bool {
        let named = matches!(self, Self::Ids(ids) if ids.contains(&hunk.id));
        named || self.contains(item)
    }

    /// The parts of a hunk that are selected by themselves, in order.
    fn parts(&self, hunk: &ReviewHunk) -> Vec<Replacement> {
        let Self::Ids(ids) = self else {
            return Vec::new();
        };
        let named = ids.iter().filter_map(|id| hunk.named_part(id));
        let mut named: Vec<Replacement> = named.flat_map(|part| hunk.within(&part)).collect();
        named.sort_by_key(|part| (part.old.start, part.new.start));
        let mut apart: Vec<Replacement> = Vec::new();
        for mut part in named {
            while let Some(last) =
                apart.pop_if(|last| part.old.start < last.old.end || part.new.start < last.new.end)
            {
                part = Replacement {
                    old: last.old.start..part.old.end.max(last.old.end),
                    new: last.new.start.min(part.new.start)..last.new.end.max(part.new.end),
                };
            }
            apart.push(part);
        }
        apart
    }

    /// Whether the item, or a hunk of it, is selected.
    pub fn touches(&self, item: &Item) -> bool {
        let mut hunks = item.hunks.iter();
        self.contains(item) || hunks.any(|hunk| self.contains_hunk(item, hunk))
    }

    /// The ids that name nothing in `items`.
    pub fn unknown<'a>(&'a self, items: &[Item]) -> Vec<&'a str> {
        let Self::Ids(ids) = self else {
            return Vec::new();
        };
        let is_known = |id: &String| {
            let one = Self::Ids(vec![id.clone()]);
            items.iter().any(|item| one.touches(item))
        };
        let unknown = ids.iter().filter(|id| !is_known(id));
        unknown.map(String::as_str).collect()
    }
}

/// The chosen part of a file that waits.
pub(super) struct Chosen {
    /// Whether everything about the file is chosen.
    pub(super) is_whole: bool,
    /// The chosen differences between the accepted and the current text, in order.
    pub(super) replacements: Vec<Replacement>,
}

pub(super) fn chosen(file: &WaitingFile, selection: &Selection) -> Option<Chosen> {
    let mut replacements = Vec::new();
    let (mut is_any, mut is_whole) = (false, true);
    for item in &file.items {
        if item.hunks.is_empty() {
            let is_chosen = selection.contains(item);
            is_any |= is_chosen;
            is_whole &= is_chosen;
        }
        for hunk in &item.hunks {
            // Only the differences of a text that exists can be chosen one by one.
            let is_divisible = matches!(item.change, ItemChange::Changed | ItemChange::Added);
            let is_chosen = if is_divisible {
                selection.contains_hunk(item, hunk)
            } else {
                // All of them are decided about together, and one that came later was not seen.
                let mut hunks = item.hunks.iter();
                hunks.all(|hunk| selection.contains_hunk(item, hunk))
            };
            let own = if is_chosen {
                hunk.replacements.clone()
            } else if is_divisible {
                selection.parts(hunk)
            } else {
                Vec::new()
            };
            is_any |= is_chosen || !own.is_empty();
            is_whole &= is_chosen || size(&own) == size(&hunk.replacements);
            replacements.extend(own);
        }
    }
    replacements.sort_by_key(|one| (one.old.start, one.new.start));
    is_any.then_some(Chosen {
        is_whole,
        replacements,
    })
}

/// How many lines these differences add and remove.
fn size(differences: &[Replacement]) -> usize {
    let sizes = differences.iter();
    sizes.map(|one| one.old.len() + one.new.len()).sum()
}

/// What was accepted.
#[derive(Debug)]
pub struct Acceptance {
    /// The changes in the history, which can be undone.
    pub records: Vec<Record>,
    /// Why some of what was proposed could not be made and still waits.
    pub left: Vec<Error>,
}

/// Accepts what is selected in these stores: what was written no longer waits, what is proposed or
/// was sent is made.
pub fn accept(
    history: &History,
    stores: &[&Store],
    selection: &Selection,
    author: &Author,
    moment: &Moment,
) -> Result<Acceptance> {
    let accepted = accept_written(history, stores, selection, author, moment)?;
    let mut records: Vec<Record> = accepted.into_iter().collect();
    let mut left = Vec::new();
    for store in stores {
        let misfits = RefCell::new(Vec::new());
        let plan = || {
            let left = &mut *misfits.borrow_mut();
            plan_proposals(history, store, selection, Verdict::Accept, moment, left)
        };
        if let Some(first) = plan()? {
            // Another process may have decided meanwhile.
            let plan = || plan()?.ok_or_else(|| Error::not_found("what was proposed"));
            let made = plan_and_commit::<Error>(history, &first.roots(), author, moment, plan)?;
            records.extend(made.record);
        }
        left.extend(misfits.into_inner());
    }
    records.extend(accept_incoming(history, stores, selection, moment)?);
    Ok(Acceptance { records, left })
}

/// Says how many of the files that were there when tome first saw a store the person does not know
/// yet; returns how many these were.
pub fn set_here_before(history: &History, store: &Store, number: usize) -> Result<usize> {
    let _lock = history.lock(&[store.root().path()])?;
    match State::load(history, store.id())? {
        Some((mut state, _)) => leave_before(history, store, &mut state, number),
        None => Ok(0),
    }
}

fn leave_before(
    history: &History,
    store: &Store,
    state: &mut State,
    number: usize,
) -> Result<usize> {
    let before = std::mem::replace(&mut state.here_before, number);
    if before != number {
        state.save(history, store.id())?;
    }
    Ok(before)
}

/// The references of the memories that acceptances were about: neither indexes nor patch files.
pub fn accepted_memories(records: &[Record]) -> Vec<String> {
    let files = records.iter().flat_map(|record| &record.files);
    let memories = files.filter(|file| !file.derived && !is_proposal(&file.root, &file.path));
    memories.map(FileChange::reference).collect()
}

/// Accepts what was written. It is one change in the history, which leaves the files as they are.
fn accept_written(
    history: &History,
    stores: &[&Store],
    selection: &Selection,
    author: &Author,
    moment: &Moment,
) -> Result<Option<Record>> {
    let roots: Vec<&Path> = stores.iter().map(|store| store.root().path()).collect();
    let _lock = history.lock(&roots)?;
    let mut files = Vec::new();
    for store in stores {
        let Some((mut state, _)) = State::load(history, store.id())? else {
            continue;
        };
        if *selection == Selection::All {
            leave_before(history, store, &mut state, 0)?;
        }
        for file in waiting_files(history, store, &state)? {
            if let Some(chosen) = chosen(&file, selection) {
                files.push(accepted_file(history, (store, &state), file, chosen)?);
            }
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = files.iter().map(FileChange::reference).collect();
    let record = Record {
        id: ulid::Ulid::from_datetime(moment.time.into()).to_string(),
        time: moment.time.as_millisecond(),
        author: author.clone(),
        origin: None,
        verb: ChangeVerb::Accept,
        message: format!("Accepted: {}", some_of(&names)),
        of: None,
        files,
        tombstones: Vec::new(),
    };
    let step = |what: &str| history.step(what).map_err(|e| Error::io(history.dir(), e));
    step("accept: the versions are kept")?;
    history.record(&record)?;
    step("accept: recorded")?;
    for store in stores {
        // The state is brought up to date from the journal, as after a crash here.
        if let Some((state, true)) = State::load(history, store.id())? {
            state.save(history, store.id())?;
        }
    }
    Ok(Some(record))
}

/// The accepted version of a file before and after the chosen part of it is accepted.
fn accepted_file(
    history: &History,
    (store, state): (&Store, &State),
    file: WaitingFile,
    chosen: Chosen,
) -> Result<FileChange> {
    let waiting = state.waiting.get(&file.path);
    let before = waiting.and_then(|waiting| waiting.accepted);
    let old = file.accepted.unwrap_or_default();
    let current = file.current.unwrap_or_default();
    let (after, new) = if chosen.is_whole {
        (state.revision(&file.path), current)
    } else {
        let (old_lines, new_lines) = (diff::lines(&old), diff::lines(&current));
        let with = chosen
            .replacements
            .into_iter()
            .map(|one| (one, new_lines.as_slice()));
        let text = diff::apply(&old_lines, with);
        (Some(history.keep(&text)?), text)
    };
    let (added, removed) = diff::counts(&old, &new);
    Ok(FileChange {
        before,
        after,
        added,
        removed,
        ..FileChange::new(store.root().path(), store.layout(), &file.path)
    })
}

/// The first names, and how many more there are.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.split_at_checked(SHOWN) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Plans taking back what is selected. It is a change like any other: checked, recorded, undoable.
pub fn plan_revert(
    history: &History,
    store: &Store,
    selection: &Selection,
    moment: &Moment,
) -> Result<Change> {
    let mut planned = PlannedFiles::new(store, moment);
    let mut names = Vec::new();
    let mut deletes = true;
    let mut former_index = None;
    if let Some((state, _)) = State::load(history, store.id())? {
        for file in waiting_files(history, store, &state)? {
            let Some(chosen) = chosen(&file, selection) else {
                if file.path == INDEX {
                    former_index = file.accepted;
                }
                continue;
            };
            names.push(store.rules().reference_of(&file.path));
            deletes &= file.accepted.is_none() && chosen.is_whole;
            revert_file(store, &mut planned, file, chosen)?;
        }
    }
    let proposed = plan_proposals(
        history,
        store,
        selection,
        Verdict::Reject,
        moment,
        &mut Vec::new(),
    )?;
    let sent = plan_reject(history, store, selection)?;
    let rejected = match (proposed, sent) {
        (Some(one), Some(other)) => Some(joined(one, other, ChangeVerb::Restore)),
        (one, other) => one.or(other),
    };
    if names.is_empty()
        && let Some(rejected) = rejected
    {
        return Ok(rejected);
    }
    if names.is_empty() {
        return Err(Error::not_found(
            "what to revert among what waits for review",
        ));
    }
    if store.layout() != Layout::Index || planned.contains(INDEX) {
        let former = former_index.unwrap_or_default();
        put_lines_back(&mut planned, &String::from_utf8_lossy(&former))?;
        planned.finish()?;
    }
    // Taking back a new memory deletes it, which is remembered if it comes back.
    let verb = if deletes {
        ChangeVerb::Delete
    } else {
        ChangeVerb::Restore
    };
    let reverted = planned.into_change(verb, format!("Reverted: {}", names.join(", ")));
    Ok(match rejected {
        Some(rejected) => joined(reverted, rejected, ChangeVerb::Restore),
        None => reverted,
    })
}

/// Plans taking back what is selected in several stores, as one change.
pub fn plan_reverts(
    history: &History,
    stores: &[&Store],
    selection: &Selection,
    moment: &Moment,
) -> Result<Change> {
    let mut whole: Option<Change> = None;
    for store in stores {
        let change = plan_revert(history, store, selection, moment)?;
        whole = Some(match whole {
            None => change,
            Some(before) => joined(before, change, ChangeVerb::Restore),
        });
    }
    whole.ok_or_else(|| Error::not_found("what to revert"))
}

/// Two changes as one, which is of this kind if they are of two.
pub(super) fn joined(mut one: Change, mut other: Change, verb: ChangeVerb) -> Change {
    if one.verb != other.verb {
        one.verb = verb;
    }
    // What is rejected leaves its file as it is, but the other change may not.
    other.edits.retain(|edit| {
        let mut edits = one.edits.iter();
        let is_same = |known: &Edit| known.root == edit.root && known.path == edit.path;
        edit.before != edit.after || !edits.any(is_same)
    });
    let names = other
        .message
        .split_once(": ")
        .map_or("", |(_, names)| names);
    one.message = format!("{}, {names}", one.message);
    one.edits.extend(other.edits);
    one.rejected.extend(other.rejected);
    one.edits.sort_by_key(|edit| edit.derived);
    one
}

fn revert_file(
    store: &Store,
    planned: &mut PlannedFiles<'_>,
    file: WaitingFile,
    chosen: Chosen,
) -> Result<()> {
    let reference = store.rules().reference_of(&file.path);
    let now = planned.bytes(&file.path)?;
    let target = if chosen.is_whole {
        file.accepted.clone()
    } else {
        let old = file.accepted.as_deref().unwrap_or_default();
        let new = file.current.as_deref().unwrap_or_default();
        let old_lines = diff::lines(old);
        let back = chosen.replacements.into_iter().map(|one| {
            let back = Replacement {
                old: one.new,
                new: one.old,
            };
            (back, old_lines.as_slice())
        });
        Some(diff::apply(&diff::lines(new), back))
    };
    if let Some(old_name) = &file.renamed_from {
        if planned.contains(old_name) {
            return Err(Error::refused(
                store.rules().reference_of(old_name),
                format!(
                    "{reference} cannot get this name back, because there is a memory of that name now; rename one of them first"
                ),
            ));
        }
        let target = merged(&file, target, now)?;
        planned.rename(&file.path, old_name)?;
        return planned.set(old_name, target);
    }
    let target = merged(&file, target, now)?;
    planned.set(&file.path, target)
}

/// What a file gets if it was written once more since it was last seen: both differences.
fn merged(
    file: &WaitingFile,
    target: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    if now == file.current || now == target {
        return Ok(target);
    }
    if let (Some(base), Some(mine), Some(theirs)) = (&file.current, &target, &now)
        && let Some(merged) = diff::merge(base, mine, theirs)
    {
        return Ok(Some(merged));
    }
    Err(Error::Conflict(Box::new(
        crate::core::disk::error::Conflict {
            path: file.path.clone(),
            base: file.current.clone(),
            mine: target,
            theirs: now,
        },
    )))
}

/// Adds a note to the files of the selected items.
pub fn annotate(
    history: &History,
    store: &Store,
    selection: &Selection,
    text: &str,
    moment: &Moment,
) -> Result<usize> {
    let _lock = history.lock(&[store.root().path()])?;
    let Some((mut state, _)) = State::load(history, store.id())? else {
        return Ok(0);
    };
    let mut count = 0;
    for file in waiting_files(history, store, &state)? {
        if chosen(&file, selection).is_none() {
            continue;
        }
        if let Some(waiting) = state.waiting.get_mut(&file.path) {
            waiting.notes.push(Note {
                time: moment.time.as_millisecond(),
                text: text.to_owned(),
            });
            count += 1;
        }
    }
    if count > 0 {
        state.save(history, store.id())?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_hunk_that_is_named_twice_is_chosen_once() {
        let hunk = ReviewHunk {
            id: "i.h".to_owned(),
            old: 0..0,
            new: 0..4,
            text: "+a\n+b\n+c\n+d\n".to_owned(),
            entry: None,
            citation: None,
            begins: (0, 0),
            replacements: vec![Replacement {
                old: 0..0,
                new: 0..4,
            }],
        };
        let parts = |ids: &[&str]| {
            let ids = ids.iter().map(|id| (*id).to_owned());
            Selection::Ids(ids.collect()).parts(&hunk)
        };
        let once = parts(&["i.h~0-0+0-2"]);
        assert_eq!(once.len(), 1);
        assert_eq!(parts(&["i.h~0-0+0-2", "i.h~0-0+0-2"]), once);
        let both = parts(&["i.h~0-0+1-3", "i.h~0-0+0-2"]);
        assert_eq!(both, parts(&["i.h~0-0+0-3"]));
    }
}
