//! Taking a change back, making it again, and bringing back an earlier version: each plans a
//! new change from what the history kept.

use std::path::Path;

use super::{Change, Direction, Draft, Edit, Moment, Verb};
use crate::core::diff;
use crate::core::error::Conflict;
use crate::core::history::{History, Record, Touch};
use crate::core::memory::Revision;
use crate::core::sandbox::Root;
use crate::core::store::Store;
use crate::core::{Error, Result};

/// Plans replaying `record`. A file that is as the change left it gets its other version byte
/// for byte; into one that was changed since, the difference is merged where it fits.
pub fn replay(
    history: &History,
    record: &Record,
    way: Direction,
    moment: &Moment,
) -> Result<Change> {
    let mut edits = Vec::new();
    let mut outdated: Vec<&Touch> = Vec::new();
    for touch in &record.files {
        match replayed(history, touch, way)? {
            Some(edit) => edits.push(edit),
            None => outdated.push(touch),
        }
    }
    for root in distinct_roots(&outdated) {
        let here = outdated.iter().filter(|touch| touch.root == root);
        follow(history, here.copied().collect(), (way, moment), &mut edits)?;
    }
    // A file that is so already stays in the change: it is taken back all the same.
    edits.retain(|edit| !edit.derived || edit.before != edit.after);
    edits.sort_by_key(|edit| edit.derived);
    let (verb, word) = match way {
        Direction::Back => (Verb::Undo, "Undone"),
        Direction::Forward => (Verb::Redo, "Redone"),
    };
    let idle = edits.iter().all(|edit| edit.before == edit.after);
    let idle = if idle { " (nothing was different)" } else { "" };
    Ok(Change {
        verb,
        message: format!("{word}: {}{idle}", record.message),
        edits,
        of: Some(record.id.clone()),
    })
}

/// One file, replayed; `None` for an index that has moved on.
fn replayed(history: &History, touch: &Touch, way: Direction) -> Result<Option<Edit>> {
    let now = Root::open(&touch.root)?.read(&touch.path)?;
    let (from, to) = sides(touch, way);
    let target = version(history, to)?;
    let as_left = now.as_deref().map(Revision::of) == from;
    let after = if as_left || now == target {
        target
    } else if touch.derived {
        return Ok(None);
    } else {
        merged(history, touch, way, &now)?
    };
    Ok(Some(edit(touch, now, after)))
}

/// The versions that a replay goes from and to.
fn sides(touch: &Touch, way: Direction) -> (Option<Revision>, Option<Revision>) {
    match way {
        Direction::Back => (touch.after, touch.before),
        Direction::Forward => (touch.before, touch.after),
    }
}

fn version(history: &History, revision: Option<Revision>) -> Result<Option<Vec<u8>>> {
    revision
        .map(|revision| history.version(&revision))
        .transpose()
}

fn edit(touch: &Touch, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Edit {
    let mut attributes = touch.attributes();
    if after.as_deref().map(Revision::of) != touch.before {
        // The recorded time is that of the version before.
        attributes.modified = None;
    }
    Edit {
        root: touch.root.clone(),
        layout: touch.layout,
        path: touch.path.clone(),
        before,
        after,
        derived: touch.derived,
        emptied: touch.folders.clone(),
        attributes,
    }
}

/// What replaying makes of a file that was changed since; a conflict where it does not fit.
fn merged(
    history: &History,
    touch: &Touch,
    way: Direction,
    now: &Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let (from, to) = sides(touch, way);
    let (base, mine) = (version(history, from)?, version(history, to)?);
    if let (Some(base), Some(mine), Some(theirs)) = (&base, &mine, now)
        && let Some(merged) = diff::merge(base, mine, theirs)
    {
        return Ok(Some(merged));
    }
    Err(Error::Conflict(Box::new(Conflict {
        path: touch.reference(),
        base,
        mine,
        theirs: now.clone(),
    })))
}

fn distinct_roots<'a>(touches: &[&'a Touch]) -> Vec<&'a Path> {
    let mut roots: Vec<&Path> = touches.iter().map(|touch| touch.root.as_path()).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// Lets indexes of one store that have moved on follow the edits: a generated one is generated
/// anew; into one with somebody's words the difference is merged, or failing that its lines follow.
fn follow(
    history: &History,
    outdated: Vec<&Touch>,
    (way, moment): (Direction, &Moment),
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let Some(first) = outdated.first() else {
        return Ok(());
    };
    let store = Store::open("", &first.root, Some(first.layout))?;
    let mut draft = Draft::new(&store, moment);
    if !store.rules().made_index(&draft)? {
        let mut fitting = Vec::new();
        for touch in &outdated {
            let now = store.root().read(&touch.path)?;
            let Ok(after) = merged(history, touch, way, &now) else {
                break;
            };
            fitting.push(edit(touch, now, after));
        }
        if fitting.len() == outdated.len() {
            edits.extend(fitting);
            return Ok(());
        }
    }
    for edit in edits.iter().filter(|edit| edit.root == first.root) {
        draft.set(&edit.path, edit.after.clone())?;
    }
    draft.follow()?;
    edits.extend(draft.into_edits().into_iter().filter(|edit| edit.derived));
    Ok(())
}

/// Plans bringing the files of `record` back to the version that it left behind, or, of one it
/// deleted, the version that it deleted. With `only`, that file alone.
pub fn restore(
    history: &History,
    record: &Record,
    only: Option<&str>,
    moment: &Moment,
) -> Result<Change> {
    let wanted: Vec<&Touch> = record
        .files
        .iter()
        .filter(|touch| match only {
            Some(path) => touch.reference() == path || touch.path == path,
            None => !touch.derived,
        })
        // The name that a renamed or moved file had before is no file that was deleted.
        .filter(|touch| touch.after.is_some() || record.verb == Verb::Delete)
        .collect();
    if wanted.is_empty() {
        let what = only.unwrap_or("a file");
        return Err(Error::not_found(format!("{what} in change {}", record.id)));
    }
    let mut edits = Vec::new();
    for root in distinct_roots(&wanted) {
        let here: Vec<&&Touch> = wanted.iter().filter(|touch| touch.root == root).collect();
        let store = Store::open("", root, here.first().map(|touch| touch.layout))?;
        let mut draft = Draft::new(&store, moment);
        for touch in here {
            if let Some(revision) = touch.after.or(touch.before) {
                draft.set(&touch.path, Some(history.version(&revision)?))?;
                let mut attributes = touch.attributes();
                if touch.after.is_some() {
                    attributes.modified = None;
                }
                draft.keep_attributes(&touch.path, attributes);
            }
        }
        draft.follow()?;
        edits.extend(draft.into_edits());
    }
    let names: Vec<String> = wanted.iter().map(|touch| touch.reference()).collect();
    Ok(Change {
        verb: Verb::Restore,
        message: format!("Restored: {}", names.join(", ")),
        edits,
        of: Some(record.id.clone()),
    })
}
