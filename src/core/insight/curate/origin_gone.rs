//! Memories whose session is gone: what was said when they were written can no longer be read.
//!
//! One finding for each store, because an agent that deletes its logs takes the origins of many
//! memories at once.

use std::collections::HashSet;

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::log::Agent;
use crate::core::text::header::frontmatter::Frontmatter;

pub(super) const RULE: Rule = Rule {
    id: "origin-gone",
    severity: Severity::Note,
    about: "memories whose session is no longer in the logs",
    check,
};

/// The fields that hold the id of the session that wrote a memory.
const FIELDS: [&str; 2] = ["originSessionId", "origin_session_id"];

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let Some(logs) = &collection.logs else {
        return;
    };
    // Without any log of the agent that writes the field, its logs are elsewhere.
    if !logs.all.iter().any(|log| log.agent == Agent::ClaudeCode) {
        return;
    }
    let known: HashSet<&str> = logs.all.iter().map(|log| log.id.as_str()).collect();
    for (number, store) in collection.stores.iter().enumerate() {
        let mut gone: Vec<Evidence> = Vec::new();
        let mut count = 0;
        for document in store.memories() {
            let Some((id, at)) = origin(&document.text) else {
                continue;
            };
            count += 1;
            if !known.contains(id) {
                gone.push(Evidence::line(store, document, document.line_at(at)));
            }
        }
        let Some(first) = gone.first().and_then(|piece| piece.path.clone()) else {
            continue;
        };
        let found = Found {
            line: None,
            subject: "origins".to_owned(),
            message: format!(
                "the sessions of {} of {count} memories are no longer in the logs; `tome keep` \
                 keeps those that are still there",
                gone.len()
            ),
            evidence: gone,
            fix: None,
        };
        report.add(number, &first, found);
    }
}

/// The session that a memory's header names, with the offset of the field.
fn origin(text: &str) -> Option<(&str, usize)> {
    let head = Frontmatter::parse(text)?;
    FIELDS.iter().find_map(|field| {
        head.get(field)?;
        // The value as it stands in the text, to know where it is.
        let at = text.find(&format!("{field}:"))?;
        let value = text[at + field.len() + 1..].lines().next()?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then_some((value, at))
    })
}
