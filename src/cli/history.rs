//! `tome history`: the changes, newest first; and pruning them.

use std::io;

use serde_json::json;

use super::args::HistoryArgs;
use super::change::{record_json, short_id};
use super::print::{
    Answer, Cell, Json, Printer, Report, Reported, Text, TextStyle, counted, format_age,
    print_error,
};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::change::history::{FileChange, PruneOptions, Pruned, Record, RunMode};
use crate::core::change::{Edit, recorded_edits};
use crate::core::memory::citation::Citation;
use crate::core::memory::layout::format_size;
use crate::core::text::time::parse_age;

pub(super) fn run<'a>(args: &HistoryArgs, world: &'a World) -> Reported<'a> {
    if args.prune {
        return prune(args, world);
    }
    let roots = world.history_roots()?;
    let path = args.path.as_ref().map(|path| {
        let Ok(citation) = path.parse::<Citation>();
        citation.path
    });
    let mut records = world.history.records()?;
    records.retain(|record| {
        let of_path = |file_change: &FileChange| {
            let reference = file_change.reference();
            path.as_deref()
                .is_none_or(|path| path == reference || path == file_change.path)
        };
        let here = |file_change: &FileChange| roots.contains(&file_change.root);
        record
            .files
            .iter()
            .any(|file_change| here(file_change) && of_path(file_change))
    });
    records.reverse();
    records.truncate(args.limit);
    let mut report = HistoryReport {
        world,
        changes: Vec::new(),
        failure: None,
    };
    for record in records {
        let edits = args
            .diff
            .then(|| recorded_edits(&world.history, &record))
            .transpose();
        match edits {
            Ok(edits) => {
                let diff = edits.map(|edits| edits.iter().map(Edit::diff).collect());
                report.changes.push((record, diff));
            }
            Err(error) => {
                report.changes.push((record, None));
                report.failure = Some(error.into());
                break;
            }
        }
    }
    Ok(Box::new(report))
}

struct HistoryReport<'a> {
    world: &'a World,
    /// The changes, with their diffs if these are asked for.
    changes: Vec<(Record, Option<String>)>,
    failure: Option<Failure>,
}

impl Report for HistoryReport<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let changes = self.changes.iter().map(|(record, diff)| {
            let mut change = record_json(record);
            if let Some(diff) = diff {
                change["diff"] = json!(diff);
            }
            change
        });
        Ok(Json::list("changes", changes))
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let mut rows = Vec::new();
        for (record, diff) in &self.changes {
            let row = row(record, self.world);
            match diff {
                Some(diff) => {
                    printer.table(&[row])?;
                    printer.diff(diff)?;
                }
                None => rows.push(row),
            }
        }
        printer.table(&rows)
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.changes.is_empty())
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

fn prune(args: &HistoryArgs, world: &World) -> Reported<'static> {
    let pruning = PruneOptions {
        before: match &args.older_than {
            Some(age) => Some(time_before(age, world)?),
            None => None,
        },
        most_bytes: match &args.max_size {
            Some(size) => Some(bytes_of(size)?),
            None => None,
        },
    };
    let run = if args.dry_run {
        RunMode::Dry
    } else {
        RunMode::Real
    };
    let pruned = world.history.prune(&pruning, run)?;
    let json = json!({
        "dry_run": args.dry_run,
        "pruned": { "changes": pruned.changes, "versions": pruned.versions },
        "kept": { "changes": pruned.kept },
        "bytes_before": pruned.bytes_before,
        "bytes_after": pruned.bytes_after,
    });
    if pruning
        .most_bytes
        .is_some_and(|most| pruned.bytes_after > most)
    {
        print_error("unfinished changes need more than that; their versions are kept");
    }
    Answer::done(json, Text::Line(format_pruned(&pruned, run)))
}

fn format_pruned(pruned: &Pruned, run: RunMode) -> String {
    let verb = match (run, pruned.changes) {
        (RunMode::Dry, _) => "would be removed",
        (RunMode::Real, 1) => "was removed",
        (RunMode::Real, _) => "were removed",
    };
    format!(
        "{} {verb}, with {}; {} kept: {} instead of {}",
        counted(pruned.changes, "change"),
        counted(pruned.versions, "version"),
        pruned.kept,
        format_size(pruned.bytes_after),
        format_size(pruned.bytes_before)
    )
}

/// Returns the time at which something of this age began, in milliseconds since 1970.
fn time_before(age: &str, world: &World) -> Result<i64, Failure> {
    let wrong = || {
        Failure::Usage(format!(
            "--older-than {age}: give an age such as 12h, 90d, 8w, 6m or 1y"
        ))
    };
    let span = parse_age(age).ok_or_else(wrong)?;
    let time = world.now.checked_sub(span).map_err(|_| wrong())?;
    Ok(time.timestamp().as_millisecond())
}

/// Parses a size such as `50MB` into bytes.
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
        Failure::Usage(format!(
            "--max-size {size}: give a size such as 500KB, 50MB or 1GB"
        ))
    })
}

fn row(record: &Record, world: &World) -> Vec<Cell> {
    let asked: Vec<&FileChange> = record.files.iter().filter(|file| !file.derived).collect();
    let shown = if asked.is_empty() {
        record.files.iter().collect()
    } else {
        asked
    };
    let sum = |count: fn(&FileChange) -> usize| {
        shown
            .iter()
            .map(|file_change| count(file_change))
            .sum::<usize>()
    };
    let what = match shown.as_slice() {
        [one] => one.reference(),
        _ => {
            let message = record.message.rsplit(": ").next();
            message.unwrap_or(&record.message).to_owned()
        }
    };
    let now = world.moment.time.as_millisecond();
    vec![
        Cell::new(TextStyle::Quiet, short_id(&record.id)),
        Cell::number(TextStyle::Plain, format_age(record.time, now)),
        Cell::plain(format!("{} · {}", record.author.who, record.author.door)),
        Cell::new(TextStyle::Strong, record.verb.name()),
        Cell::plain(what),
        Cell::number(
            TextStyle::Added,
            format!("+{}", sum(|file_change| file_change.added)),
        ),
        Cell::new(
            TextStyle::Removed,
            format!("−{}", sum(|file_change| file_change.removed)),
        ),
    ]
}
