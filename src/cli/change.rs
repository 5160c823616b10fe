//! Shared by every verb that changes memories: shows the planned change, or commits and reports it.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::Failure;
use super::index::warn_of_unseen;
use super::print::{Json, Printer, Report, Reported, exact_time, print_error, print_note};
use super::world::World;
use crate::core::Error;
use crate::core::change::history::Record;
use crate::core::change::{Change, plan_and_commit};
use crate::core::memory::layout::Layout;

/// How a change is carried out and reported.
#[derive(Default)]
pub(super) struct ChangeOptions {
    /// Whether to show the diff and change nothing.
    pub(super) dry_run: bool,
    /// The layout that formats errors.
    pub(super) layout: Option<Layout>,
    /// Further fields of the JSON answer.
    pub(super) extra: Value,
    /// Further messages for people.
    pub(super) notes: Vec<String>,
}

/// Plans a change of the stores at `roots` and shows or commits it.
///
/// `plan` is called again when another process changed a store in the meantime.
pub(super) fn carry_out(
    world: &World,
    how: ChangeOptions,
    roots: &[&Path],
    plan: impl Fn() -> Result<Change, Error>,
) -> Reported<'static> {
    let report = ChangeReport::of(world, how, roots, plan)?;
    report.print_messages();
    Ok(Box::new(report))
}

/// A change that was made, or that would be.
pub(super) struct ChangeReport {
    pub(super) change: Change,
    record: Option<Record>,
    how: ChangeOptions,
    /// Says which folder is created, if one is.
    created: Option<String>,
    /// Memories that an agent does not see in the index any more.
    unseen: Vec<String>,
}

impl ChangeReport {
    pub(super) fn of(
        world: &World,
        how: ChangeOptions,
        roots: &[&Path],
        plan: impl Fn() -> Result<Change, Error>,
    ) -> Result<Self, Failure> {
        let worded = |error: Error| Failure::Core(error, how.layout);
        let (change, record, created) = if how.dry_run {
            let change = plan().map_err(worded)?;
            let written = change.edits.iter().filter(|edit| edit.after.is_some());
            let mut roots = written.map(|edit| &edit.root);
            let missing = roots.find(|root| !root.exists());
            let created = missing.map(|root| format!("would create {}", world.short_path(root)));
            (change, None, created)
        } else {
            let (author, moment) = (&world.author(), &world.moment);
            let committed =
                plan_and_commit(&world.history, roots, author, moment, plan).map_err(worded)?;
            let root = committed.new_root();
            let created = root.map(|root| format!("created {}", world.short_path(root)));
            (committed.change, committed.record, created)
        };
        Ok(Self {
            unseen: change.newly_unseen(),
            change,
            record,
            how,
            created,
        })
    }

    /// Prints what concerns the change, on standard error.
    pub(super) fn print_messages(&self) {
        if let Some(created) = &self.created {
            print_error(created);
        }
        if self.unseen.is_empty()
            && let Some(warning) = self.change.index_warning()
        {
            print_error(&format!("warning: {warning}"));
        }
        warn_of_unseen(&self.unseen);
        match &self.record {
            _ if self.how.dry_run => {}
            Some(record) => print_note(&format!("tome undo {} undoes this", short_id(&record.id))),
            None => print_note("nothing was different"),
        }
    }
}

impl Report for ChangeReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let mut answer = json!({ "message": self.change.message });
        if self.how.dry_run {
            answer["diff"] = json!(self.change.diff());
        } else {
            answer["success"] = json!(true);
            answer["change"] = json!(self.record.as_ref().map(record_json));
            if let (Some(answer), Value::Object(extra)) = (answer.as_object_mut(), &self.how.extra)
            {
                answer.extend(extra.clone());
            }
        }
        if !self.unseen.is_empty() {
            answer["unseen"] = json!(self.unseen);
        }
        Ok(answer.into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for note in &self.how.notes {
            print_note(note);
        }
        if self.how.dry_run {
            printer.diff(&self.change.diff())
        } else {
            printer.line(&self.change.message)
        }
    }
}

/// Returns the end of an id, which is enough to find the change.
pub(super) fn short_id(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// A recorded change as JSON.
pub(super) fn record_json(record: &Record) -> Value {
    let files = record.files.iter().filter(|file| !file.is_own_note());
    let files: Vec<Value> = files
        .map(|file| {
            json!({
                "root": file.root.to_string_lossy(),
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
        "time": exact_time(record.time).unwrap_or_default(),
        "who": record.author.who,
        "door": record.author.door,
        "verb": record.verb,
        "message": record.message,
        "of": record.of,
        "files": files,
    })
}
