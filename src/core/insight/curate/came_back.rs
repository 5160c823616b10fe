//! Memories that came back after they were deleted.

use std::collections::HashSet;

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
    for record in history.records()? {
        if record.author.is_outside() {
            continue;
        }
        for file in record.files.iter().filter(|file| file.after.is_some()) {
            deleted.retain(|gone| {
                let is_same =
                    Some(gone.tombstone.revision) == file.after || gone.tombstone.path == file.path;
                let is_back = gone.root == file.root && is_same && gone.time < record.time;
                !is_back
            });
        }
    }
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
        for document in store.memories() {
            let revision = Revision::of(document.text.as_bytes());
            let same = deleted
                .iter()
                .rfind(|gone| gone.tombstone.revision == revision);
            let near = || deleted.iter().rfind(|gone| is_like(document, gone));
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
