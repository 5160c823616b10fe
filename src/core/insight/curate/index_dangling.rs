//! Links of an index to memories that do not exist.

use std::collections::HashSet;

use super::fix::Fix;
use super::link::{Names, leads_nowhere};
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::memory::layout::listing::{bullets, without_bullets};
use crate::core::text::link::{LinkSyntax, links};

pub(super) const RULE: Rule = Rule {
    id: "index-dangling",
    severity: Severity::Warning,
    about: "a link of the index to a memory that does not exist",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(document) = store.index() else {
            continue;
        };
        if is_generated(&document.text) {
            // What a generated index lists wrongly is a finding of `index-outdated`.
            continue;
        }
        let names = Names::of(collection, number);
        let listed = bullets(&document.text);
        let mut seen = HashSet::new();
        for link in links(&document.text) {
            if document.is_code(link.start)
                || !leads_nowhere(store, document, &names, &link)
                || !seen.insert(link.target.to_string())
            {
                continue;
            }
            let line = document.line_at(link.start);
            let bullet = listed
                .iter()
                .find(|bullet| bullet.line.contains(&link.start) && bullet.target == link.target);
            // A memory that a wiki link names may be yet to be written.
            let bullet = bullet.filter(|bullet| bullet.form == LinkSyntax::Inline);
            let fix = bullet.map(|bullet| {
                let after = without_bullets(&document.text, std::slice::from_ref(bullet));
                let words = format!("removes the line of {}", link.target);
                Fix::rewrite(INDEX, (&document.text, &after), words)
            });
            let found = Found {
                line: Some(line),
                subject: link.target.to_string(),
                message: format!("the index links to {}, which does not exist", link.target),
                evidence: vec![Evidence::line(store, document, line)],
                fix,
            };
            report.add(number, INDEX, found);
        }
    }
}
