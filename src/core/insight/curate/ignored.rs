//! Memories that the person had to say again although the session had them in its context: they do
//! not work as they are.

use std::collections::HashMap;

use super::{Collection, Evidence, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "ignored",
    severity: Severity::Warning,
    about: "a memory that a session had in its context and the person still had to say again",
    check,
};

/// A correction that is less certain proves nothing.
const CERTAIN: u8 = 60;

/// How many messages are shown.
const SHOWN: usize = 3;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let Some(logs) = &collection.logs else {
        return;
    };
    let all = logs.ledger.corrections.iter();
    let certain = all.filter(|one| one.confidence >= CERTAIN);
    let by_citation: HashMap<&str, _> = certain.map(|one| (&*one.citation, one)).collect();
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            let path = &document.memory.path;
            let account = logs.ledger.account(store.store.id(), path, None);
            let corrected = account.map_or(&[][..], |account| &account.corrected);
            let said = corrected.iter();
            let said: Vec<_> = said
                .filter_map(|citation| by_citation.get(&**citation))
                .collect();
            if said.is_empty() {
                continue;
            }
            let times = match said.len() {
                1 => "once".to_owned(),
                count => format!("{count} times"),
            };
            let evidence = said.iter().rev().take(SHOWN).map(|one| Evidence {
                text: one.text.lines().next().unwrap_or_default().to_owned(),
                citation: Some(one.citation.clone()),
                ..Evidence::default()
            });
            let found = Found {
                line: None,
                subject: path.clone(),
                message: format!(
                    "said again {times} in sessions that had it in context; reword it, move it up, \
                     or make it a guard"
                ),
                evidence: evidence.collect(),
                fix: None,
            };
            report.add(number, path, found);
        }
    }
}
