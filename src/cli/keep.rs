//! `tome keep`: copies a log to where its agent does not delete it.

use serde_json::{Value, json};

use super::Outcome;
use super::args::KeepArgs;
use super::print::{Answer, Reported, Text, print_error};
use super::world::World;
use crate::core::log::keep::keep_session;

pub(super) fn run(args: &KeepArgs, world: &World) -> Reported<'static> {
    let all = world.log_files()?;
    let mut copies = Vec::new();
    let mut failures = Vec::new();
    for id in &args.ids {
        let kept = world
            .log_named(id)
            .and_then(|log| Ok(keep_session(&world.kept, &log, &all, &mut copies)?));
        failures.extend(kept.err());
    }
    let lines = copies
        .iter()
        .map(|(id, copy)| format!("Kept: {id} → {}", world.short_path(copy)));
    let text = Text::Lines(lines.collect());
    if let Some(failure) = failures.pop() {
        for failure in &failures {
            print_error(&failure.to_string());
        }
        return Answer::failed(failure, text);
    }
    let kept = copies
        .iter()
        .map(|(id, path)| json!({ "id": id, "path": path }));
    let json = json!({ "kept": kept.collect::<Vec<Value>>() });
    Answer::ending(Outcome::found(!copies.is_empty()), json, text)
}
