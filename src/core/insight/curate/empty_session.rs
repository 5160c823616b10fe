//! Logs of sessions in which nobody says anything, counted for each agent.

use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::log::Agent;
use crate::core::memory::library::Unlisted;

pub(super) const RULE: Rule = Rule {
    id: "empty-session",
    severity: Severity::Note,
    about: "logs in which nobody says anything",
    check,
};

/// How many logs are named.
const SHOWN: usize = 20;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let Some(logs) = &collection.logs else {
        return;
    };
    for agent in Agent::all() {
        let is_empty = |log: &&super::logs::SessionLog| {
            log.agent == agent && log.unlisted == Some(Unlisted::Empty)
        };
        let empty: Vec<_> = logs.all.iter().filter(is_empty).collect();
        if empty.is_empty() {
            continue;
        }
        let bytes: u64 = empty.iter().map(|log| log.bytes).sum();
        let evidence = empty.iter().take(SHOWN).map(|log| Evidence {
            text: format!("{} bytes", log.bytes),
            path: Some(log.path.display().to_string()),
            citation: Some(log.citation()),
            ..Evidence::default()
        });
        let found = Found {
            line: None,
            subject: agent.name().to_owned(),
            message: format!(
                "{} of its logs hold no conversation, {bytes} bytes in all",
                empty.len()
            ),
            evidence: evidence.collect(),
            fix: None,
        };
        report.add_logs(agent.name(), found);
    }
}
