//! `tome keep`: copies a log to where its agent does not delete it.

use serde_json::json;

use super::args::KeepArgs;
use super::print::Printer;
use super::world::World;
use super::{CommandResult, Outcome};
use crate::core::log::LogFile;
use crate::core::log::keep::keep;

pub(super) fn run(args: &KeepArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let all = world.log_files()?;
    let mut copies = Vec::new();
    for id in &args.ids {
        let log = world.log_named(id)?;
        let belongs = |other: &&LogFile| {
            other.agent == log.agent && other.parent.as_deref() == Some(log.id.as_str())
        };
        for log in std::iter::once(&log).chain(all.iter().filter(belongs)) {
            if log.path.starts_with(&world.kept) {
                continue;
            }
            let copy = keep(&world.kept, log)?;
            if !printer.is_json() {
                printer.line(&format!("Kept: {} → {}", log.id, world.short_path(&copy)))?;
            }
            copies.push(json!({ "id": log.id, "path": copy }));
        }
    }
    if printer.is_json() {
        printer.object(json!({ "kept": copies }))?;
    }
    Ok(if copies.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}
