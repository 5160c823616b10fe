//! `tome merge`: makes one memory of several; and `tome generalize`: a principle from lessons.

use std::path::Path;

use serde_json::Value;

use super::Failure;
use super::args::{GeneralizeArgs, MergeArgs};
use super::change::{ChangeOptions, carry_out};
use super::print::Reported;
use super::world::World;
use super::write::content;
use crate::core::change::{ChangeRequest, MemoryAt, MergeTexts, plan_merge};
use crate::core::memory::citation::Citation;
use crate::core::memory::layout::Fields;
use crate::core::memory::store::Store;

/// Merges memories: the one that stays gets everything that any of them says.
pub(super) fn run(args: &MergeArgs, world: &World) -> Reported<'static> {
    let mut found: Vec<(Store, String)> = Vec::new();
    for path in args.into.iter().chain(&args.paths) {
        let (store, named) = world.memory_named(path)?;
        if named.contains('#') && !store.holds(&named) {
            return Err(Failure::Usage(format!(
                "{path}: whole memories are merged; of two entries, append the text of one to the other and delete it"
            )));
        }
        let file = store.locate(&named)?;
        let reference = store.rules().reference_of(&file);
        let is_known = |(known, path): &(Store, String)| {
            known.root().path() == store.root().path() && *path == reference
        };
        if !found.iter().any(is_known) {
            found.push((store, reference));
        }
    }
    let memories: Vec<MemoryAt<'_>> = found
        .iter()
        .map(|(store, path)| (store, path.as_str()))
        .collect();
    let [into @ (kept_store, kept_path), others @ ..] = memories.as_slice() else {
        return Err(Failure::usage("name the memories to merge"));
    };
    if others.is_empty() {
        return Err(Failure::Usage(format!(
            "{kept_path}: name another memory to merge with it"
        )));
    }
    let mut roots: Vec<&Path> = found.iter().map(|(store, _)| store.root().path()).collect();
    roots.sort();
    roots.dedup();
    let how = ChangeOptions {
        dry_run: args.dry_run,
        layout: Some(kept_store.layout()),
        ..ChangeOptions::default()
    };
    let context = world.change_context(None);
    carry_out(world, how, &roots, || {
        let texts = MergeTexts::read(*into, others, &context.moment)?;
        let revisions = texts.revisions.iter().copied();
        let seen: Vec<_> = others.iter().copied().zip(revisions).collect();
        plan_merge(*into, &seen, &texts.text(&texts.union()), &context)
    })
}

/// Writes a principle and links it and its lessons to each other.
pub(super) fn generalize(args: &GeneralizeArgs, world: &World) -> Reported<'static> {
    let (store, path) = world.new_memory_named(&args.path)?;
    let mut from: Vec<Citation> = Vec::new();
    for lesson in &args.from {
        let Ok(lesson) = lesson.parse::<Citation>();
        from.push(Citation {
            store: None,
            ..lesson
        });
    }
    let request = ChangeRequest::Generalize {
        path,
        content: content(&args.content)?,
        fields: Fields {
            name: args.name.clone(),
            description: args.description.clone(),
            tags: args.tag.clone(),
            ..Fields::default()
        },
        from,
    };
    world.change_store(&store, &request, &args.change, Value::Null)
}
