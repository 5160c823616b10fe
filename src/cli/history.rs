//! `tome history`: what was changed, newest first; and making that smaller.

use serde_json::{Value, json};

use super::args::HistoryArgs;
use super::change::{as_json, short};
use super::print::{Cell, Printer, Role, age, complain};
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::change::{Edit, recorded_edits};
use crate::core::citation::Citation;
use crate::core::history::{History, Pruned, Pruning, Record, Run, Touch};
use crate::core::layout::size;
use crate::core::time::parse_age;

pub(super) fn run(args: &HistoryArgs, world: &World, printer: &mut Printer) -> Ended {
    if args.prune {
        return prune(args, world, printer);
    }
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

fn prune(args: &HistoryArgs, world: &World, printer: &mut Printer) -> Ended {
    let pruning = Pruning {
        before: match &args.older_than {
            Some(age) => Some(time_before(age, world)?),
            None => None,
        },
        most_bytes: match &args.max_size {
            Some(size) => Some(bytes_of(size)?),
            None => None,
        },
    };
    let run = match args.dry_run {
        true => Run::Dry,
        false => Run::Real,
    };
    let pruned = world.history.prune(&pruning, run)?;
    if printer.is_json() {
        printer.object(json!({
            "dry_run": args.dry_run,
            "pruned": { "changes": pruned.changes, "versions": pruned.versions },
            "kept": { "changes": pruned.kept },
            "bytes_before": pruned.bytes_before,
            "bytes_after": pruned.bytes_after,
        }))?;
    } else {
        printer.line(&format_pruned(&pruned, run))?;
        if pruning
            .most_bytes
            .is_some_and(|most| pruned.bytes_after > most)
        {
            complain("what unfinished changes need is larger than that; it stays");
        }
    }
    Ok(Outcome::Done)
}

fn format_pruned(pruned: &Pruned, run: Run) -> String {
    let count = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    };
    let verb = match (run, pruned.changes) {
        (Run::Dry, _) => "would go",
        (Run::Real, 1) => "has gone",
        (Run::Real, _) => "have gone",
    };
    format!(
        "{} {verb}, with {}; {} stay: {} instead of {}",
        count(pruned.changes, "change"),
        count(pruned.versions, "version"),
        pruned.kept,
        size(pruned.bytes_after),
        size(pruned.bytes_before)
    )
}

/// The time that is so long before now.
fn time_before(age: &str, world: &World) -> Result<i64, Failure> {
    let wrong = || {
        Failure::Asked(format!(
            "--older-than {age}: give an age such as 12h, 90d, 8w, 6m or 1y"
        ))
    };
    let span = parse_age(age).ok_or_else(wrong)?;
    let time = world.now.checked_sub(span).map_err(|_| wrong())?;
    Ok(time.timestamp().as_millisecond())
}

/// The number of bytes that a size such as `50MB` means.
fn bytes_of(size: &str) -> Result<u64, Failure> {
    let digits = size.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = size.split_at(digits.unwrap_or(size.len()));
    let shift = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => Some(0),
        "K" | "KB" => Some(10),
        "M" | "MB" => Some(20),
        "G" | "GB" => Some(30),
        _ => None,
    };
    let bytes = shift.and_then(|shift| number.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        Failure::Asked(format!(
            "--max-size {size}: give a size such as 500KB, 50MB or 1GB"
        ))
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
fn diffed(history: &History, record: &Record) -> Result<String, Failure> {
    Ok(recorded_edits(history, record)?
        .iter()
        .map(Edit::diff)
        .collect())
}
