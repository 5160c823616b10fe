//! Secrets, and addresses with credentials. They are shown masked.

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::secret;

pub(super) const RULE: Rule = Rule {
    id: "secret",
    severity: Severity::Error,
    about: "a password, key or token",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            for (count, found) in secret::find(&document.text).into_iter().enumerate() {
                let line = document.line_at(found.span.start);
                let mut evidence = Evidence::line(store, document, line);
                evidence.text = secret::mask(&evidence.text);
                let message = format!(
                    "holds a secret ({}); whatever reads the memory sees it. Take it out and \
                     change it where it is used",
                    found.rule
                );
                let said = Found {
                    line: Some(line),
                    subject: format!("{} {}", found.rule, count + 1),
                    message,
                    evidence: vec![evidence],
                    fix: None,
                };
                report.add(number, &document.memory.path, said);
            }
        }
    }
}
