//! Memories without a description: agents choose what to read by it.

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::has_header;

pub(super) const RULE: Rule = Rule {
    id: "description",
    severity: Severity::Note,
    about: "a memory without a description",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let has_field = match store.store.layout() {
            Layout::Index => "description",
            Layout::Facts => "Summary",
            _ => continue,
        };
        for document in store.memories() {
            let memory = &document.memory;
            let is_memory = store.store.layout() != Layout::Index || has_header(memory);
            if memory.problem.is_some() || !is_memory || !memory.summary.trim().is_empty() {
                continue;
            }
            let found = Found {
                line: Some(1),
                subject: memory.path.clone(),
                message: format!("has no {has_field}; agents choose by it what they read"),
                evidence: vec![Evidence::line(store, document, 1)],
                fix: None,
            };
            report.add(number, &memory.path, found);
        }
    }
}
