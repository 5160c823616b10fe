//! `tome undo`, `tome redo`, `tome restore`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{RedoArgs, RestoreArgs, UndoArgs};
use super::change::{How, carry_out};
use super::print::{Printer, complain};
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::change::{self, Direction, replay};
use crate::core::history::Record;

pub(super) fn undo(args: &UndoArgs, world: &World, printer: &mut Printer) -> Ended {
    let record = match &args.id {
        Some(id) => Some(world.history.find(id)?),
        None => last(world, |roots| Ok(world.history.undoable(roots)?))?,
    };
    let Some(record) = record else {
        return nothing(
            printer,
            "nothing to undo in the stores here (--all: in any store)",
        );
    };
    let (record, way) = world.history.reversal(record)?;
    carry_out(world, printer, how(args.dry_run), &record.roots(), || {
        replay(&world.history, &record, way, &world.moment)
    })
}

pub(super) fn redo(args: &RedoArgs, world: &World, printer: &mut Printer) -> Ended {
    let record = last(world, |roots| Ok(world.history.redoable(roots)?))?;
    let Some(record) = record else {
        return nothing(
            printer,
            "nothing to redo in the stores here (--all: in any store)",
        );
    };
    carry_out(world, printer, how(args.dry_run), &record.roots(), || {
        replay(&world.history, &record, Direction::Forward, &world.moment)
    })
}

pub(super) fn restore(args: &RestoreArgs, world: &World, printer: &mut Printer) -> Ended {
    let record = world.history.find(&args.id)?;
    carry_out(world, printer, how(args.dry_run), &record.roots(), || {
        change::restore(&world.history, &record, args.path.as_deref(), &world.moment)
    })
}

fn nothing(printer: &mut Printer, words: &str) -> Ended {
    if printer.is_json() {
        printer.object(json!({ "success": false, "message": words }))?;
    } else {
        complain(words);
    }
    Ok(Outcome::Nothing)
}

/// The record that `pick` finds among the stores that are meant.
fn last(
    world: &World,
    pick: impl Fn(&[&Path]) -> Result<Option<Record>, Failure>,
) -> Result<Option<Record>, Failure> {
    let roots = world.history_roots()?;
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    pick(&roots)
}

fn how(dry_run: bool) -> How {
    How {
        dry_run,
        layout: None,
        extra: Value::Null,
    }
}
