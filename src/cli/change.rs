//! Shared by every verb that changes memories: shows the planned change, or commits and reports it.

use std::path::Path;

use serde_json::{Value, json};

use super::index::{newly_unseen, warn_of_unseen};
use super::print::{Printer, print_error, print_note};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::change::history::Record;
use crate::core::change::{Change, CommittedChange, plan_and_commit};
use crate::core::memory::layout::Layout;

/// Plans a change of the stores at `roots` and shows or commits it.
///
/// `plan` is called again when another process changed a store in the meantime.
pub(super) fn carry_out(
    world: &World,
    printer: &mut Printer,
    how: ChangeOptions,
    roots: &[&Path],
    plan: impl Fn() -> Result<Change, Error>,
) -> CommandResult {
    let worded = |error: Error| Failure::Core(error, how.layout);
    if how.dry_run {
        return show(printer, &plan().map_err(worded)?, world);
    }
    let by = (&world.author(), &world.moment);
    let committed = plan_and_commit(&world.history, roots, by, plan).map_err(worded)?;
    if let Some(root) = committed.new_root() {
        print_error(&format!("created {}", world.short_path(root)));
    }
    report(printer, &committed, how.extra)
}

/// How a change is carried out and reported.
pub(super) struct ChangeOptions {
    /// Whether to show the diff and change nothing.
    pub(super) dry_run: bool,
    /// The layout that formats errors.
    pub(super) layout: Option<Layout>,
    /// Further fields of the JSON answer.
    pub(super) extra: Value,
}

fn show(printer: &mut Printer, change: &Change, world: &World) -> CommandResult {
    let is_missing = |root: &&std::path::PathBuf| !root.exists();
    let mut roots = change.edits.iter().map(|edit| &edit.root);
    if let Some(root) = roots.find(is_missing) {
        print_error(&format!("would create {}", world.short_path(root)));
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

fn report(printer: &mut Printer, committed: &CommittedChange, extra: Value) -> CommandResult {
    let CommittedChange { change, record } = committed;
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
        Some(record) => print_note(&format!("tome undo {} undoes this", short_id(&record.id))),
        None => print_note("nothing was different"),
    }
    Ok(Outcome::Done)
}

/// Returns the end of an id, which is enough to find the change.
pub(super) fn short_id(id: &str) -> &str {
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
