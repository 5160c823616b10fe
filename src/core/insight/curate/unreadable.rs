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
            let evidence = if document.text.is_empty() {
                Evidence::words(problem.clone())
            } else {
                Evidence::line(store, document, 1)
            };
            let found = Found {
                line: (!document.text.is_empty()).then_some(1),
                subject: document.memory.path.clone(),
                message: problem.clone(),
                evidence: vec![evidence],
                fix: None,
            };
            report.add(number, &document.memory.path, found);
        }
    }
}
