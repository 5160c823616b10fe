//! `tome undo`, `tome redo`, `tome restore`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{RedoArgs, RestoreArgs, UndoArgs};
use super::change::{ChangeOptions, carry_out};
use super::print::{Printer, print_error};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::change::history::Record;
use crate::core::change::{self, Direction, replay};

pub(super) fn undo(args: &UndoArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let record = match &args.id {
        Some(id) => Some(world.history.find(id)?),
        None => last_record(world, |roots| Ok(world.history.undoable(roots)?))?,
    };
    let Some(record) = record else {
        return report_nothing(
            printer,
            "nothing to undo in the stores here (--all: in any store)",
        );
    };
    let (record, direction) = world.history.reversal(record)?;
    carry_out(
        world,
        printer,
        change_options(args.dry_run),
        &record.roots(),
        || replay(&world.history, &record, direction, &world.moment),
    )
}

pub(super) fn redo(args: &RedoArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let record = last_record(world, |roots| Ok(world.history.redoable(roots)?))?;
    let Some(record) = record else {
        return report_nothing(
            printer,
            "nothing to redo in the stores here (--all: in any store)",
        );
    };
    carry_out(
        world,
        printer,
        change_options(args.dry_run),
        &record.roots(),
        || replay(&world.history, &record, Direction::Forward, &world.moment),
    )
}

pub(super) fn restore(args: &RestoreArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let record = world.history.find(&args.id)?;
    let only = args.path.as_deref().map(Into::into);
    carry_out(
        world,
        printer,
        change_options(args.dry_run),
        &record.roots(),
        || change::restore(&world.history, &record, only, &world.moment),
    )
}

fn report_nothing(printer: &mut Printer, words: &str) -> CommandResult {
    if printer.is_json() {
        printer.object(json!({ "success": false, "message": words }))?;
    } else {
        print_error(words);
    }
    Ok(Outcome::Nothing)
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
        layout: None,
        extra: Value::Null,
    }
}
