//! Memories that came back after they were deleted.

use super::fix::Fix;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::Result;
use crate::core::history::{History, PrunedTombstone};
use crate::core::memory::Revision;

pub(super) const RULE: Rule = Rule {
    id: "came-back",
    severity: Severity::Warning,
    about: "a memory that was deleted and is there again",
    check,
};

/// The memories that were deleted and that nobody brought back with tome since.
pub fn graves(history: &History) -> Result<Vec<PrunedTombstone>> {
    let mut graves = history.graves()?;
    if graves.is_empty() {
        return Ok(graves);
    }
    for record in history.records()? {
        if record.author.is_outside() {
            continue;
        }
        for file in record.files.iter().filter(|file| file.after.is_some()) {
            graves.retain(|grave| {
                let is_back = grave.root == file.root
                    && Some(grave.tombstone.revision) == file.after
                    && grave.time < record.time;
                !is_back
            });
        }
    }
    Ok(graves)
}

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let root = store.store.root().path();
        let graves: Vec<_> = collection
            .graves
            .iter()
            .filter(|grave| grave.root == root)
            .collect();
        if graves.is_empty() {
            continue;
        }
        for document in store.memories() {
            let revision = Revision::of(document.text.as_bytes());
            // Only the same text: a memory with the same name may be a new one.
            let same = graves
                .iter()
                .rfind(|grave| grave.tombstone.revision == revision);
            let Some(grave) = same else { continue };
            let date = jiff::Timestamp::from_millisecond(grave.time)
                .map(|time| time.strftime("%Y-%m-%d").to_string())
                .unwrap_or_default();
            let path = &document.memory.path;
            let found = Found {
                line: None,
                subject: grave.tombstone.path.clone(),
                message: format!("was deleted on {date} and is there again, unchanged"),
                evidence: vec![Evidence {
                    text: format!("{} deleted on {date}", grave.tombstone.path),
                    path: Some(grave.tombstone.path.clone()),
                    ..Evidence::default()
                }],
                fix: Some(Fix::delete(path, format!("deletes {path} again"))),
            };
            report.add(number, path, found);
        }
    }
}
