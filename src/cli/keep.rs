//! `tome keep`: copies a log to where its agent does not delete it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::KeepArgs;
use super::print::{Answer, Reported, Text};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::log::LogFile;
use crate::core::log::keep::keep;

pub(super) fn run(args: &KeepArgs, world: &World) -> Reported<'static> {
    let all = world.log_files()?;
    let mut copies = Vec::new();
    let mut ids = args.ids.iter();
    let failure = ids.find_map(|id| world.keep(id, &all, &mut copies).err());
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

impl World {
    /// Copies a log and those of its subagents; adds their ids and the copies.
    fn keep(
        &self,
        id: &str,
        all: &[LogFile],
        copies: &mut Vec<(String, PathBuf)>,
    ) -> Result<(), Failure> {
        let log = self.log_named(id)?;
        let belongs = |other: &&LogFile| {
            other.agent == log.agent && other.parent.as_deref() == Some(log.id.as_str())
        };
        for log in std::iter::once(&log).chain(all.iter().filter(belongs)) {
            if !log.path.starts_with(&self.kept) {
                copies.push((log.id.clone(), keep(&self.kept, log)?));
            }
        }
        Ok(())
    }
}
