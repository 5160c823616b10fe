//! `tome list`: every memory of the selected stores.

use std::io;

use serde_json::{Value, json};

use super::print::{Cell, Json, Printer, Report, Reported, TextStyle, print_error, shortened};
use super::world::{World, or_left_out};
use super::{Failure, Outcome};
use crate::core::memory::Memory;
use crate::core::memory::layout::format_size;
use crate::core::memory::store::Store;
use crate::core::text::display::visible_line;

pub(super) fn run(world: &World) -> Reported<'static> {
    let mut listed: Vec<(Store, Vec<Memory>)> = Vec::new();
    for store in world.stores_or(World::print_searched_places)? {
        let Some(mut memories) = or_left_out(&store, store.described())? else {
            continue;
        };
        memories.splice(0..0, store.index_memory());
        world.observe(&store, &memories);
        listed.push((store, memories));
    }
    Ok(Box::new(ListReport(listed)))
}

struct ListReport(Vec<(Store, Vec<Memory>)>);

impl Report for ListReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let rows = self.0.iter();
        let rows =
            rows.flat_map(|(store, memories)| memories.iter().map(|one| as_json(store, one)));
        Ok(Json::list("memories", rows))
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for (at, (store, memories)) in self.0.iter().enumerate() {
            if self.0.len() > 1 {
                if at > 0 {
                    printer.line("")?;
                }
                let heading = printer.paint(TextStyle::Strong, store.name());
                let layout = printer.paint(TextStyle::Quiet, store.layout().name());
                printer.styled_line(&format!("{heading}  {layout}"))?;
            }
            let rows: Vec<Vec<Cell>> = memories
                .iter()
                .flat_map(|memory| std::iter::once(row(memory)).chain(entry_rows(store, memory)))
                .collect();
            printer.table(&rows)?;
            for memory in memories {
                if let Some(problem) = &memory.problem {
                    print_error(&format!("warning: {}: {problem}", memory.path));
                }
            }
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(self.0.iter().any(|(_, memories)| !memories.is_empty()))
    }
}

const LONGEST_SUMMARY: usize = 100;

fn row(memory: &Memory) -> Vec<Cell> {
    let day = memory.updated.as_deref().unwrap_or_default();
    let summary = match memory.summary.as_str() {
        "" => &memory.title,
        summary => summary,
    };
    let path = match memory.problem {
        Some(_) => Cell::new(TextStyle::Attention, visible_line(&memory.path)),
        None => Cell::new(TextStyle::Strong, visible_line(&memory.path)),
    };
    vec![
        path,
        Cell::plain(memory.category.as_deref().unwrap_or_default()),
        Cell::number(TextStyle::Quiet, format_size(memory.size)),
        Cell::new(TextStyle::Quiet, day.split('T').next().unwrap_or_default()),
        Cell::plain(shortened(summary, LONGEST_SUMMARY).replace('\n', " ")),
    ]
}

fn entry_rows(store: &Store, memory: &Memory) -> Vec<Vec<Cell>> {
    let rows = store.shown_entries(memory).iter().map(|entry| {
        let indent = "  ".repeat(entry.depth + 1);
        vec![Cell::plain(format!("{indent}#{}", entry.slug))]
    });
    rows.collect()
}

fn as_json(store: &Store, memory: &Memory) -> Value {
    let mut value = json!({
        "store": store.name(),
        "path": memory.path,
        "kind": memory.kind,
        "name": memory.title,
        "summary": memory.summary,
        "size": memory.size,
    });
    let optional = [
        ("type", memory.category.clone().map(Value::from)),
        ("created", memory.created.clone().map(Value::from)),
        ("updated", memory.updated.clone().map(Value::from)),
        (
            "tags",
            Some(json!(memory.tags)).filter(|_| !memory.tags.is_empty()),
        ),
        ("problem", memory.problem.clone().map(Value::from)),
        (
            "entries",
            Some(entries(memory)).filter(|_| !memory.entries.is_empty()),
        ),
    ];
    for (key, given) in optional {
        if let Some(given) = given {
            value[key] = given;
        }
    }
    value
}

fn entries(memory: &Memory) -> Value {
    memory
        .entries
        .iter()
        .map(|entry| {
            json!({
                "title": entry.title,
                "summary": entry.summary,
                "line": entry.line,
                "citation": format!("{}#{}", memory.path, entry.slug),
            })
        })
        .collect()
}
