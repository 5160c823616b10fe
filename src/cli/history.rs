//! `tome history`: what was changed, newest first.

use serde_json::{Value, json};

use super::args::HistoryArgs;
use super::change::{as_json, short};
use super::print::{Cell, Printer, Role, age};
use super::world::World;
use super::{Ended, Outcome};
use crate::core::Result;
use crate::core::change::{Edit, recorded_edits};
use crate::core::citation::Citation;
use crate::core::history::{History, Record, Touch};

pub(super) fn run(args: &HistoryArgs, world: &World, printer: &mut Printer) -> Ended {
    let roots = world.history_roots()?;
    let path = args.path.as_ref().map(|path| {
        let Ok(citation) = path.parse::<Citation>();
        citation.path
    });
    let mut records = world.history.records()?;
    records.retain(|record| {
        let of_path = |touch: &Touch| {
            let reference = touch.reference();
            path.as_deref()
                .is_none_or(|path| path == reference || path == touch.path)
        };
        let here = |touch: &Touch| roots.contains(&touch.root);
        record
            .files
            .iter()
            .any(|touch| here(touch) && of_path(touch))
    });
    records.reverse();
    records.truncate(args.limit);
    if printer.is_json() {
        let mut changes: Vec<Value> = Vec::new();
        for record in &records {
            let mut change = as_json(record);
            if args.diff {
                change["diff"] = json!(diffed(&world.history, record)?);
            }
            changes.push(change);
        }
        printer.object(json!({ "changes": changes }))?;
    } else if args.diff {
        for record in &records {
            printer.table(&[row(record, world)])?;
            printer.diff(&diffed(&world.history, record)?)?;
        }
    } else {
        let rows: Vec<Vec<Cell>> = records.iter().map(|record| row(record, world)).collect();
        printer.table(&rows)?;
    }
    Ok(if records.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

fn row(record: &Record, world: &World) -> Vec<Cell> {
    let asked: Vec<&Touch> = record.files.iter().filter(|file| !file.derived).collect();
    let shown = if asked.is_empty() {
        record.files.iter().collect()
    } else {
        asked
    };
    let sum = |count: fn(&Touch) -> usize| shown.iter().map(|touch| count(touch)).sum::<usize>();
    let what = match shown.as_slice() {
        [one] => one.reference(),
        _ => {
            let message = record.message.rsplit(": ").next();
            message.unwrap_or(&record.message).to_owned()
        }
    };
    let now = world.moment.time.as_millisecond();
    vec![
        Cell::new(Role::Quiet, short(&record.id)),
        Cell::number(Role::Plain, age(record.time, now)),
        Cell::plain(format!("{} · {}", record.author.who, record.author.door)),
        Cell::new(Role::Strong, record.verb.name()),
        Cell::plain(what),
        Cell::number(Role::Added, format!("+{}", sum(|touch| touch.added))),
        Cell::new(Role::Removed, format!("−{}", sum(|touch| touch.removed))),
    ]
}

/// The difference that a recorded change made.
fn diffed(history: &History, record: &Record) -> Result<String> {
    Ok(recorded_edits(history, record)?
        .iter()
        .map(Edit::diff)
        .collect())
}
