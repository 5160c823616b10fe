//! Memories that came back after they were deleted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use super::document::Document;
use super::fix::Fix;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::Result;
use crate::core::change::history::{DeletedMemory, History};
use crate::core::disk::revision::Revision;

pub(super) const RULE: Rule = Rule {
    id: "came-back",
    severity: Severity::Warning,
    about: "a memory that was deleted and is there again",
    check,
};

/// The memories that were deleted and that nobody brought back with tome since.
pub fn still_deleted(history: &History) -> Result<Vec<DeletedMemory>> {
    let mut deleted = history.deleted_memories()?;
    if deleted.is_empty() {
        return Ok(deleted);
    }
    // When a path or a text was last written with tome.
    let mut by_path: HashMap<(PathBuf, String), i64> = HashMap::new();
    let mut by_text: HashMap<(PathBuf, Revision), i64> = HashMap::new();
    for record in history.records()? {
        if record.author.is_outside() {
            continue;
        }
        for file in record.files {
            let Some(after) = file.after else { continue };
            let last = by_text.entry((file.root.clone(), after)).or_default();
            *last = record.time.max(*last);
            let last = by_path.entry((file.root, file.path)).or_default();
            *last = record.time.max(*last);
        }
    }
    deleted.retain(|gone| {
        let (root, tombstone) = (gone.root.clone(), &gone.tombstone);
        let as_text = by_text.get(&(root.clone(), tombstone.revision));
        let as_path = by_path.get(&(root, tombstone.path.clone()));
        let last = as_text.max(as_path);
        last.is_none_or(|last| *last <= gone.time)
    });
    Ok(deleted)
}

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let root = store.store.root().path();
        let deleted: Vec<_> = collection
            .deleted
            .iter()
            .filter(|gone| gone.root == root)
            .collect();
        if deleted.is_empty() {
            continue;
        }
        let mut by_text: HashMap<Revision, &DeletedMemory> = HashMap::new();
        // The newest of each name come first.
        let mut by_name: HashMap<&str, Vec<&DeletedMemory>> = HashMap::new();
        for gone in deleted.into_iter().rev() {
            let tombstone = &gone.tombstone;
            by_text.entry(tombstone.revision).or_insert(gone);
            for name in BTreeSet::from([&*tombstone.path, &tombstone.name]) {
                let named = by_name.entry(name).or_default();
                if named.len() < MOST_OF_A_NAME {
                    named.push(gone);
                }
            }
        }
        for document in store.memories() {
            let same = by_text.get(&Revision::of(document.text.as_bytes()));
            let near = || {
                let names = [&*document.memory.path, &document.memory.title];
                let named = names.iter().filter_map(|name| by_name.get(name)).flatten();
                let like = named.filter(|gone| is_like(document, gone));
                like.max_by_key(|gone| gone.time)
            };
            let Some(gone) = same.or_else(near) else {
                continue;
            };
            let date = jiff::Timestamp::from_millisecond(gone.time)
                .map(|time| time.strftime("%Y-%m-%d").to_string())
                .unwrap_or_default();
            let path = &document.memory.path;
            let found = Found {
                line: None,
                subject: gone.tombstone.path.clone(),
                message: match same {
                    Some(_) => format!("was deleted on {date} and is there again, unchanged"),
                    None => format!("was deleted on {date} and is there again, in other words"),
                },
                evidence: vec![Evidence {
                    text: format!("{} deleted on {date}", gone.tombstone.path),
                    path: Some(gone.tombstone.path.clone()),
                    ..Evidence::default()
                }],
                // What came back in other words may be wanted now.
                fix: same.map(|_| Fix::delete(path, format!("deletes {path} again"))),
            };
            report.add(number, path, found);
        }
    }
}

/// How many memories that were deleted under one name are compared with one that has it again.
const MOST_OF_A_NAME: usize = 8;

/// Fewer words say nothing about a memory.
const FEWEST_WORDS: usize = 8;

/// Whether a memory has the name and nearly all the words of one that was deleted.
fn is_like(document: &Document, gone: &DeletedMemory) -> bool {
    let (memory, gone) = (&document.memory, &gone.tombstone);
    if memory.path != gone.path && memory.title != gone.name || gone.words.len() < FEWEST_WORDS {
        return false;
    }
    let text = document.text.to_lowercase();
    let words: HashSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let shared = gone
        .words
        .iter()
        .filter(|word| words.contains(word.as_str()));
    shared.count() * 10 >= gone.words.len() * 9
}
