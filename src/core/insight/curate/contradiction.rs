//! Memories about the same thing that disagree, where their dates do not say which is right.

use super::count::disagreements;
use super::duplicate::reference;
use super::{Collection, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "contradiction",
    severity: Severity::Note,
    about: "two memories about the same thing that disagree",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for disagreement in disagreements(collection) {
        if disagreement.newer.is_some() {
            continue;
        }
        let [(a, first, _), (b, second, at)] = disagreement.sides;
        let subject = reference(collection, a, first, b);
        let found = Found {
            line: Some(second.line_at(at)),
            message: format!(
                "says {} where {subject} says {}",
                disagreement.values[1], disagreement.values[0]
            ),
            subject,
            evidence: disagreement.evidence(collection),
            fix: None,
        };
        report.add(b, &second.memory.path, found);
    }
}
