//! Lines of an index that are too long: every session pays for them.

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::layout::listing::bullets;

pub(super) const RULE: Rule = Rule {
    id: "index-line",
    severity: Severity::Note,
    about: "a line of the index that is too long",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let most = collection.settings.line_length;
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(document) = store.index() else {
            continue;
        };
        for bullet in bullets(&document.text) {
            let hook = bullet.hook(&document.text).trim();
            let length = hook.chars().count();
            if length <= most {
                continue;
            }
            let line = document.line_at(bullet.line.start);
            let found = Found {
                line: Some(line),
                subject: bullet.target.clone(),
                message: format!(
                    "the description of {} has {length} characters, more than {most}; every \
                     session reads it",
                    bullet.target
                ),
                evidence: vec![Evidence::line(store, document, line)],
                fix: None,
            };
            report.add(number, INDEX, found);
        }
    }
}
