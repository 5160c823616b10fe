//! What every changing verb shares: show the plan, or carry it out and say so.

use std::path::Path;

use serde_json::{Value, json};

use super::index::{newly_unseen, warn_of_unseen};
use super::print::{Printer, complain, mention};
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::Error;
use crate::core::change::{Change, Made, make};
use crate::core::history::Record;
use crate::core::layout::Layout;

/// Plans a change of the stores at `roots` and shows it, or carries it out; `plan` is asked again when another process was
/// quicker.
pub(super) fn carry_out(
    world: &World,
    printer: &mut Printer,
    how: How,
    roots: &[&Path],
    plan: impl Fn() -> Result<Change, Error>,
) -> Ended {
    let worded = |error: Error| Failure::Core(error, how.layout);
    if how.dry_run {
        return show(printer, &plan().map_err(worded)?, world);
    }
    let by = (&world.author(), &world.moment);
    let made = make(&world.history, roots, by, plan).map_err(worded)?;
    if let Some(root) = made.new_root() {
        complain(&format!("{} was made for it", world.short_path(root)));
    }
    report(printer, &made, how.extra)
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

fn show(printer: &mut Printer, change: &Change, world: &World) -> Ended {
    let is_missing = |root: &&std::path::PathBuf| !root.exists();
    let mut roots = change.edits.iter().map(|edit| &edit.root);
    if let Some(root) = roots.find(is_missing) {
        complain(&format!("{} would be made for it", world.short_path(root)));
    }
    let unseen = newly_unseen(change);
    if printer.is_json() {
        let mut answer = json!({ "diff": change.diff(), "message": change.message });
        if !unseen.is_empty() {
            answer["unseen"] = json!(unseen);
        }
        printer.object(answer)?;
    } else {
        printer.diff(&change.diff())?;
    }
    warn_of_unseen(&unseen);
    Ok(Outcome::Done)
}

fn report(printer: &mut Printer, made: &Made, extra: Value) -> Ended {
    let Made { change, record } = made;
    let unseen = newly_unseen(change);
    if printer.is_json() {
        let mut answer = json!({
            "success": true,
            "message": change.message,
            "change": record.as_ref().map(as_json),
        });
        if let (Some(answer), Value::Object(extra)) = (answer.as_object_mut(), extra) {
            answer.extend(extra);
        }
        if !unseen.is_empty() {
            answer["unseen"] = json!(unseen);
        }
        printer.object(answer)?;
    } else {
        printer.line(&change.message)?;
    }
    warn_of_unseen(&unseen);
    match record {
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
