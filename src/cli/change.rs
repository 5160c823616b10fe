//! What every changing verb shares: show the plan, or carry it out and say so.

use serde_json::{Value, json};

use super::print::{Printer, mention};
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::Error;
use crate::core::change::{Change, commit};
use crate::core::history::Record;
use crate::core::layout::Layout;

/// How often a change is planned anew when another process was quicker.
const TRIES: usize = 20;

/// Plans a change and shows it, or carries it out. A plan that met another process's change is
/// made again on what is there now; `plan` fails if the caller's own condition no longer holds.
pub(super) fn carry_out(
    world: &World,
    printer: &mut Printer,
    how: How,
    plan: impl Fn() -> Result<Change, Error>,
) -> Ended {
    let worded = |error: Error| Failure::Core(error, how.layout);
    let change = plan().map_err(worded)?;
    if how.dry_run {
        return show(printer, &change);
    }
    let (change, made) = make(world, change, plan).map_err(worded)?;
    report(printer, &change, made, how.extra)
}

/// The circumstances of a change.
pub(super) struct How {
    /// Whether only to show it.
    pub(super) dry_run: bool,
    /// Whose words to use for errors.
    pub(super) layout: Option<Layout>,
    /// What else the JSON answer says.
    pub(super) extra: Value,
}

/// Carries a change out, planning it anew as long as another process was quicker; answers the
/// change that was made in the end.
pub(super) fn make(
    world: &World,
    change: Change,
    plan: impl Fn() -> Result<Change, Error>,
) -> Result<(Change, Option<Record>), Error> {
    let mut change = change;
    for tries in 1.. {
        if change.is_empty() {
            break;
        }
        match commit(&world.history, &change, &world.author(), &world.moment) {
            Err(Error::Conflict(_)) if tries < TRIES => change = plan()?,
            made => return Ok((change, Some(made?))),
        }
    }
    Ok((change, None))
}

fn show(printer: &mut Printer, change: &Change) -> Ended {
    if printer.is_json() {
        printer.object(json!({ "diff": change.diff(), "message": change.message }))?;
    } else {
        printer.diff(&change.diff())?;
    }
    Ok(Outcome::Done)
}

fn report(printer: &mut Printer, change: &Change, made: Option<Record>, extra: Value) -> Ended {
    if printer.is_json() {
        let mut answer = json!({
            "success": true,
            "message": change.message,
            "change": made.as_ref().map(as_json),
        });
        if let (Some(answer), Value::Object(extra)) = (answer.as_object_mut(), extra) {
            answer.extend(extra);
        }
        printer.object(answer)?;
    } else {
        printer.line(&change.message)?;
    }
    match made {
        Some(record) => mention(&format!("tome undo {} takes this back", short(&record.id))),
        None => mention("nothing was different"),
    }
    Ok(Outcome::Done)
}

/// The end of an id, which is enough to find the change by.
pub(super) fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// A recorded change as JSON.
pub(super) fn as_json(record: &Record) -> Value {
    let time = jiff::Timestamp::from_millisecond(record.time);
    let files: Vec<Value> = record
        .files
        .iter()
        .map(|file| {
            json!({
                "root": file.root,
                "path": file.reference(),
                "before": file.before,
                "after": file.after,
                "derived": file.derived,
                "added": file.added,
                "removed": file.removed,
            })
        })
        .collect();
    json!({
        "id": record.id,
        "time": time.map(|time| time.to_string()).unwrap_or_default(),
        "who": record.author.who,
        "door": record.author.door,
        "verb": record.verb,
        "message": record.message,
        "of": record.of,
        "files": files,
    })
}
