//! Entries of an index beyond the part that the agent reads.

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{
    BUDGET_BYTES, BUDGET_LINES, INDEX, is_read_in_part, unseen,
};
use crate::core::memory::layout::listing::bullets;

pub(super) const RULE: Rule = Rule {
    id: "index-cut",
    severity: Severity::Error,
    about: "entries of an index that the agent does not read",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(document) = store.index() else {
            continue;
        };
        let lost = unseen(&document.text);
        if lost.is_empty() || !is_read_in_part(store.store.root().path()) {
            continue;
        }
        let all = bullets(&document.text);
        let first = all.len() - lost.len();
        let lines: Vec<usize> = all[first..]
            .iter()
            .map(|bullet| document.line_at(bullet.line.start))
            .collect();
        let evidence = lines
            .iter()
            .map(|line| Evidence::line(store, document, *line));
        let message = format!(
            "agents read only {BUDGET_LINES} lines and {} KB of {INDEX}; {} of its {} entries are \
             lost, from {} on",
            BUDGET_BYTES / 1000,
            lost.len(),
            all.len(),
            lost[0],
        );
        let found = Found {
            line: lines.first().copied(),
            subject: INDEX.to_owned(),
            message,
            evidence: evidence.collect(),
            fix: None,
        };
        report.add(number, INDEX, found);
    }
}
