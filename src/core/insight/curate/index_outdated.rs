//! A generated index that does not list what is there.

use super::fix::Fix;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::change::{ChangeContext, ChangeRequest, plan};
use crate::core::memory::layout::IndexUpdate;
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::text::diff::{line_replacements, lines};
use crate::core::text::time::Moment;

pub(super) const RULE: Rule = Rule {
    id: "index-outdated",
    severity: Severity::Warning,
    about: "a generated index that does not match the memories",
    check,
};

/// How many differing lines are shown.
const SHOWN: usize = 10;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(document) = store.index() else {
            continue;
        };
        if !is_generated(&document.text) {
            continue;
        }
        let context = ChangeContext {
            moment: Moment {
                time: jiff::Timestamp::UNIX_EPOCH,
                today: collection.today,
            },
            expected: None,
            history: collection.history.clone(),
        };
        let request = ChangeRequest::Index(IndexUpdate::Repair);
        let Ok(change) = plan(store.store, &request, &context) else {
            continue;
        };
        let Some(edit) = change.edits.iter().find(|edit| edit.path == INDEX) else {
            continue;
        };
        let before = edit.before.as_deref().unwrap_or_default();
        let after = edit.after.as_deref().unwrap_or_default();
        let (old, new) = (lines(before), lines(after));
        let mut evidence = Vec::new();
        let mut first = None;
        for replacement in line_replacements(before, after) {
            first = first.or(Some(replacement.old.start + 1));
            let gone = old[replacement.old].iter().map(|line| ("-", line));
            let added = new[replacement.new].iter().map(|line| ("+", line));
            for (mark, line) in gone.chain(added) {
                let line = String::from_utf8_lossy(line);
                if !line.trim().is_empty() {
                    evidence.push(Evidence::words(format!("{mark} {}", line.trim_end())));
                }
            }
        }
        let number_of_lines = evidence.len();
        evidence.truncate(SHOWN);
        let found = Found {
            line: first,
            subject: INDEX.to_owned(),
            message: format!(
                "{number_of_lines} lines of the generated index do not match the memories"
            ),
            evidence,
            fix: Some(Fix::index("generates the index again".to_owned())),
        };
        report.add(number, INDEX, found);
    }
}
