//! Files that cannot be read, or whose header cannot be told from the body.

use super::{Collection, Evidence, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "unreadable",
    severity: Severity::Error,
    about: "a file or a header that cannot be read",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            let Some(problem) = &document.memory.problem else {
                continue;
            };
            let is_empty = document.text.is_empty();
            // Where the first byte was replaced that is no text; a header is at the start.
            let at = document.text.find(char::REPLACEMENT_CHARACTER);
            let line = document.line_at(at.filter(|_| document.is_replaced()).unwrap_or(0));
            let evidence = if is_empty {
                Evidence::words(problem.clone())
            } else {
                Evidence::line(store, document, line)
            };
            let found = Found {
                line: (!is_empty).then_some(line),
                subject: document.memory.path.clone(),
                message: problem.clone(),
                evidence: vec![evidence],
                fix: None,
            };
            report.add(number, &document.memory.path, found);
        }
    }
}
