//! `tome keep`: copies a log to where its agent does not delete it.

use serde_json::{Value, json};

use super::Outcome;
use super::args::KeepArgs;
use super::print::{Answer, Reported, Text};
use super::world::World;
use crate::core::log::keep::keep_session;

pub(super) fn run(args: &KeepArgs, world: &World) -> Reported<'static> {
    let all = world.log_files()?;
    let mut copies = Vec::new();
    let mut ids = args.ids.iter();
    let failure = ids.find_map(|id| {
        let kept = world
            .log_named(id)
            .and_then(|log| Ok(keep_session(&world.kept, &log, &all, &mut copies)?));
        kept.err()
    });
    let lines = copies
        .iter()
        .map(|(id, copy)| format!("Kept: {id} → {}", world.short_path(copy)));
    let text = Text::Lines(lines.collect());
    if let Some(failure) = failure {
        return Answer::failed(failure, text);
    }
    let kept = copies
        .iter()
        .map(|(id, path)| json!({ "id": id, "path": path }));
    let json = json!({ "kept": kept.collect::<Vec<Value>>() });
    Answer::ending(Outcome::found(!copies.is_empty()), json, text)
}
