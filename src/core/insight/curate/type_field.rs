//! Memories of an index store without a type, or with a type that agents do not know.

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::{TYPES, has_header};

pub(super) const RULE: Rule = Rule {
    id: "type",
    severity: Severity::Note,
    about: "a memory without a type, or with an unknown one",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
    for (number, store) in collection.stores.iter().enumerate() {
        if store.store.layout() != Layout::Index {
            continue;
        }
        for document in store.memories() {
            let memory = &document.memory;
            // A file without any header is not a memory of this kind.
            if memory.problem.is_some() || !has_header(memory) {
                continue;
            }
            let (subject, message) = match memory.category.as_deref().map(str::trim) {
                Some(given) if known.contains(&given) => continue,
                Some(given) => (
                    given.to_owned(),
                    format!("the type {given} is none of {}", known.join(", ")),
                ),
                None => (
                    String::new(),
                    format!("has no type; it is one of {}", known.join(", ")),
                ),
            };
            let head = &document.text[..memory.body.start.min(document.text.len())];
            let at = head.find("type:").unwrap_or(0);
            let line = document.line_at(at);
            let found = Found {
                line: Some(line),
                subject,
                message,
                evidence: vec![Evidence::line(store, document, line)],
                fix: None,
            };
            report.add(number, &memory.path, found);
        }
    }
}
