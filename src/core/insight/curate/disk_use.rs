//! Agents whose logs take much room, with what takes it.

use super::logs::SessionLog;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::log::Agent;
use crate::core::memory::library::Unlisted;

pub(super) const RULE: Rule = Rule {
    id: "disk-use",
    severity: Severity::Note,
    about: "an agent whose logs take much room, by kind",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let Some(logs) = &collection.logs else {
        return;
    };
    let most = collection.settings.logs_mb.saturating_mul(1_000_000);
    for agent in Agent::all() {
        let own: Vec<&SessionLog> = logs.all.iter().filter(|log| log.agent == agent).collect();
        let sum = |of: &dyn Fn(&SessionLog) -> u64| own.iter().map(|log| of(log)).sum::<u64>();
        let bytes = sum(&|log| log.bytes);
        if bytes <= most {
            continue;
        }
        let (words, tools) = (sum(&|log| log.words), sum(&|log| log.tools));
        let other = bytes.saturating_sub(words + tools);
        let text = [
            ("what was said", words),
            ("calls and their results", tools),
            ("everything else, such as images and repeated text", other),
        ];
        let mut evidence: Vec<Evidence> = text
            .iter()
            .map(|(what, bytes)| Evidence::words(format!("{}: {what}", megabytes(*bytes))))
            .collect();
        let kinds = [
            ("sessions", None),
            ("subagents", Some(Unlisted::Subagent)),
            ("older copies of sessions", Some(Unlisted::Copy)),
            ("empty sessions", Some(Unlisted::Empty)),
        ];
        for (what, kind) in kinds {
            let of_kind = own.iter().filter(|log| log.unlisted == kind);
            let (count, bytes) = of_kind.fold((0_usize, 0), |(count, bytes), log| {
                (count + 1, bytes + log.bytes)
            });
            if count > 0 {
                let text = format!("{} in {count} logs: {what}", megabytes(bytes));
                evidence.push(Evidence::words(text));
            }
        }
        let found = Found {
            line: None,
            subject: agent.name().to_owned(),
            message: format!(
                "its {} logs take {}, more than {}",
                own.len(),
                megabytes(bytes),
                megabytes(most)
            ),
            evidence,
            fix: None,
        };
        report.add_logs(agent.name(), found);
    }
}

/// A size in megabytes, rounded up to two significant digits, so that a waiver holds while the logs
/// grow a little.
fn megabytes(bytes: u64) -> String {
    let exact = bytes.div_ceil(1_000_000);
    let mut step = 1;
    while exact / step >= 100 {
        step *= 10;
    }
    format!("{} MB", exact.div_ceil(step) * step)
}
