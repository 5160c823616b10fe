//! Memories of one store with the same name: `[[name]]` can mean only one of them.

use std::collections::HashMap;

use super::document::Document;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;
use crate::core::text::header::frontmatter::Frontmatter;

pub(super) const RULE: Rule = Rule {
    id: "doubled-name",
    severity: Severity::Warning,
    about: "two memories of a store with the same name",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        if store.store.layout() != Layout::Index {
            continue;
        }
        let mut first_of: HashMap<&str, &Document> = HashMap::new();
        for document in store.memories() {
            let memory = &document.memory;
            let is_named = Frontmatter::parse(&document.text)
                .is_some_and(|head| head.get("name").is_some_and(|name| !name.is_empty()));
            if !is_named {
                continue;
            }
            let Some(first) = first_of.get(memory.title.as_str()) else {
                first_of.insert(&memory.title, document);
                continue;
            };
            let line = |document: &Document| {
                let at = document.text.find("name:").unwrap_or(0);
                document.line_at(at)
            };
            let found = Found {
                line: Some(line(document)),
                subject: first.memory.path.clone(),
                message: format!("has the name of {}: {}", first.memory.path, memory.title),
                evidence: vec![
                    Evidence::line(store, first, line(first)),
                    Evidence::line(store, document, line(document)),
                ],
                fix: None,
            };
            report.add(number, &memory.path, found);
        }
    }
}
