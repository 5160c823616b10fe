//! Memories without a body.

use super::claim::is_of_day;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;

pub(super) const RULE: Rule = Rule {
    id: "empty",
    severity: Severity::Warning,
    about: "a memory without a body",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        if matches!(store.store.layout(), Layout::Events | Layout::Instructions) {
            continue;
        }
        let has_days = store
            .memories()
            .any(|document| is_of_day(&document.memory.path));
        for document in store.memories() {
            let memory = &document.memory;
            let is_text = |line: &str| {
                let line = line.trim();
                let line = line.strip_prefix("<!--").map_or(line, |comment| {
                    let after = comment.split_once("-->");
                    after.map_or("", |(_, after)| after.trim())
                });
                !line.is_empty() && !line.starts_with('#')
            };
            let is_empty = !document.body().lines().any(is_text);
            // A day on which nothing was written, or a file that waits for its first one.
            if is_of_day(&memory.path) || has_days && memory.size == 0 {
                continue;
            }
            if memory.problem.is_some() || !is_empty || !memory.entries.is_empty() {
                continue;
            }
            let line = document.line_at(memory.body.start.min(document.text.len()));
            let found = Found {
                line: Some(line),
                subject: memory.path.clone(),
                message: "has no text below its header".to_owned(),
                evidence: vec![Evidence::words(format!("{} bytes", memory.size))],
                fix: None,
            };
            report.add(number, &memory.path, found);
        }
    }
}
