//! Taking a change back, making it again, and bringing back an earlier version: each plans a
//! new change from what the history kept.

use std::path::Path;

use super::diff::{Merged, merge};
use super::{Change, Draft, Edit, Moment, Verb};
use crate::core::error::Conflict;
use crate::core::history::{History, Record, Touch};
use crate::core::memory::Revision;
use crate::core::sandbox::Root;
use crate::core::store::Store;
use crate::core::{Error, Result};

/// Which way a recorded change is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Take it back.
    Back,
    /// Make it again.
    Forward,
}

impl Direction {
    pub(in crate::core) fn opposite(self) -> Self {
        match self {
            Self::Back => Self::Forward,
            Self::Forward => Self::Back,
        }
    }
}

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
        follow(root, &outdated, &mut edits, moment)?;
    }
    edits.retain(|edit| edit.before != edit.after);
    edits.sort_by_key(|edit| edit.derived);
    let (verb, word) = match way {
        Direction::Back => (Verb::Undo, "Undone"),
        Direction::Forward => (Verb::Redo, "Redone"),
    };
    Ok(Change {
        verb,
        message: format!("{word}: {}", record.message),
        edits,
        of: Some(record.id.clone()),
    })
}

/// One file, replayed; `None` for an index that has moved on and must follow anew.
fn replayed(history: &History, touch: &Touch, way: Direction) -> Result<Option<Edit>> {
    let (from, to) = match way {
        Direction::Back => (touch.after, touch.before),
        Direction::Forward => (touch.before, touch.after),
    };
    let now = Root::open(&touch.root)?.read(&touch.path)?;
    let version = |revision: Option<Revision>| {
        revision
            .map(|revision| history.version(&revision))
            .transpose()
    };
    let target = version(to)?;
    let as_left = now.as_deref().map(Revision::of) == from;
    let after = if as_left || now == target {
        target
    } else if touch.derived {
        return Ok(None);
    } else {
        let base = version(from)?;
        let clash = || {
            Error::Conflict(Box::new(Conflict {
                path: touch.reference(),
                base: base.clone(),
                mine: target.clone(),
                theirs: now.clone(),
            }))
        };
        match (&base, &target, &now) {
            (Some(base), Some(mine), Some(theirs)) => match merge(base, mine, theirs) {
                Merged::Clean(merged) => Some(merged),
                Merged::Clashing(_) => return Err(clash()),
            },
            _ => return Err(clash()),
        }
    };
    Ok(Some(Edit {
        root: touch.root.clone(),
        layout: touch.layout,
        path: touch.path.clone(),
        before: now,
        after,
        derived: touch.derived,
        emptied: touch.folders.clone(),
        mode: touch.mode,
    }))
}

fn distinct_roots<'a>(touches: &[&'a Touch]) -> Vec<&'a Path> {
    let mut roots: Vec<&Path> = touches.iter().map(|touch| touch.root.as_path()).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// Lets the index of the store at `root` follow the edits.
fn follow(root: &Path, outdated: &[&Touch], edits: &mut Vec<Edit>, moment: &Moment) -> Result<()> {
    let layout = outdated
        .iter()
        .find(|touch| touch.root == root)
        .map(|touch| touch.layout);
    let store = Store::open("", root, layout)?;
    let mut draft = Draft::new(&store, moment);
    for edit in edits.iter().filter(|edit| edit.root == root) {
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
