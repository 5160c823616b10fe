//! `tome undo`, `tome redo`, `tome restore`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{RedoArgs, RestoreArgs, UndoArgs};
use super::change::{ChangeOptions, carry_out};
use super::print::{Answer, Reported, Text};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::change::history::Record;
use crate::core::change::{self, Direction, replay};

pub(super) fn undo(args: &UndoArgs, world: &World) -> Reported<'static> {
    let record = match &args.id {
        Some(id) => Some(world.history.find(id)?),
        None => last_record(world, |roots| Ok(world.history.undoable(roots)?))?,
    };
    let Some(record) = record else {
        return nothing_to("undo");
    };
    let (record, direction) = world.history.reversal(record)?;
    carry_out(world, change_options(args.dry_run), &record.roots(), || {
        replay(&world.history, &record, direction, &world.moment)
    })
}

pub(super) fn redo(args: &RedoArgs, world: &World) -> Reported<'static> {
    let record = last_record(world, |roots| Ok(world.history.redoable(roots)?))?;
    let Some(record) = record else {
        return nothing_to("redo");
    };
    carry_out(world, change_options(args.dry_run), &record.roots(), || {
        replay(&world.history, &record, Direction::Forward, &world.moment)
    })
}

pub(super) fn restore(args: &RestoreArgs, world: &World) -> Reported<'static> {
    let record = world.history.find(&args.id)?;
    let only = args.path.as_deref().map(Into::into);
    carry_out(world, change_options(args.dry_run), &record.roots(), || {
        change::restore(&world.history, &record, only, &world.moment)
    })
}

fn nothing_to(verb: &str) -> Reported<'static> {
    let words = format!("nothing to {verb} in the stores here (--all: in any store)");
    let json = json!({ "success": false, "message": words });
    Answer::ending(Outcome::Nothing, json, Text::Error(words))
}

/// Returns the record that `pick` finds in the history of the selected stores.
fn last_record(
    world: &World,
    pick: impl Fn(&[&Path]) -> Result<Option<Record>, Failure>,
) -> Result<Option<Record>, Failure> {
    let roots = world.history_roots()?;
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    pick(&roots)
}

fn change_options(dry_run: bool) -> ChangeOptions {
    ChangeOptions {
        dry_run,
        ..ChangeOptions::default()
    }
}
