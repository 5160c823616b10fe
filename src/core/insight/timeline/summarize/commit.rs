//! The commits and pull requests that a session's own calls made.
//!
//! A commit counts if its command ran and did not fail. Where git printed what it made, the subject
//! is taken from there.

use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::Regex;

use super::analysis::commit_acts_of;
use super::clause::pattern;
use crate::core::insight::timeline::event::Event;
use crate::core::log::touch::CommitAct;
use crate::core::log::{MessageKind, Role};
use crate::core::text::display::safe_line;

/// What git prints of a commit that it made.
static MADE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^\[[^\]\n]+ ([0-9a-f]{7,40})\] (.+?)\r?$"));

/// What says that a call failed, or that there was nothing to commit.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)\A(?:Exit\ code|Exit\ code:)\ [1-9] | (?:exited\ with\ code|Exit\ code:)\ [1-9] | exit_code\W+[1-9]
        | nothing\ (?:added\ )?to\ commit | no\ changes\ added\ to\ commit",
    )
});

/// The kind of a change before its subject, such as `fix(api)!: `.
static CHANGE_KIND: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[a-z]+(?:\([^)]*\))?!?:\s+"));

/// A commit or a pull request, and the index of the call that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) subject: String,
    pub(super) is_request: bool,
    pub(super) event: usize,
    /// The short hash, if git printed it.
    hash: Option<String>,
}

impl Made {
    fn is_at(&self, hash: &str) -> bool {
        let own = self.hash.as_deref();
        own.is_some_and(|own| own.starts_with(hash) || hash.starts_with(own))
    }
}

/// Returns what the calls made and did not undo, in order and each subject once.
pub(super) fn made(events: &[Event]) -> Vec<Made> {
    let mut found: Vec<Made> = Vec::new();
    for (event, result) in calls_with_results(events) {
        let acts = commit_acts_of(&events[event]);
        let result = result.map_or("", |at| &events[at].text);
        let mut printed: VecDeque<(String, String)> = MADE
            .captures_iter(result)
            .map(|made| (made[1].to_owned(), safe_line(&made[2])))
            .collect();
        let has_failed = printed.is_empty() && FAILED.is_match(result);
        if has_failed {
            continue;
        }
        for act in acts {
            let (given, is_request) = match act {
                CommitAct::Drop(count) => {
                    let is_commit = |one: &Made| !one.is_request;
                    for _ in 0..*count {
                        let last = found.iter().rposition(is_commit);
                        last.map(|at| found.remove(at));
                    }
                    continue;
                }
                CommitAct::Squash(hash) => {
                    // A commit that is older than the session is before all of them.
                    let kept = found.iter().rposition(|one| one.is_at(hash));
                    let mut at = 0;
                    found.retain(|one| {
                        at += 1;
                        one.is_request || kept.is_some_and(|kept| at <= kept + 1)
                    });
                    continue;
                }
                CommitAct::Without(hash) => {
                    found.retain(|one| !one.is_at(hash));
                    continue;
                }
                CommitAct::Request(title) => (Some(title), true),
                CommitAct::Commit(subject) => (subject.as_ref(), false),
                CommitAct::Amend(subject) => {
                    let is_last = |one: &Made| !one.is_request;
                    let last = found.iter().rposition(is_last);
                    if subject.is_some() || !printed.is_empty() {
                        last.map(|at| found.remove(at));
                    }
                    (subject.as_ref(), false)
                }
            };
            let (hash, subject) = match printed.pop_front() {
                Some((hash, subject)) if !is_request => (Some(hash), Some(subject)),
                _ => (None, given.map(|subject| safe_line(subject))),
            };
            if let Some(subject) = subject {
                let made = Made {
                    subject,
                    is_request,
                    event,
                    hash,
                };
                add(&mut found, made);
            }
        }
        for (hash, subject) in printed {
            let made = Made {
                subject,
                is_request: false,
                event,
                hash: Some(hash),
            };
            add(&mut found, made);
        }
    }
    found
}

/// Adds a commit: one that is made again moves here, and one that is reverted goes with its revert.
fn add(found: &mut Vec<Made>, made: Made) {
    let reverted = made.subject.strip_prefix("Revert \"");
    let reverted = reverted.map(|rest| rest.trim_end_matches(['"', '.', '…']));
    let is_reverted = |one: &Made| reverted == Some(one.subject.as_str()) && !one.is_request;
    if found.iter().any(is_reverted) {
        found.retain(|one| !is_reverted(one));
        return;
    }
    found.retain(|one| one.is_request != made.is_request || one.subject != made.subject);
    if made.subject.split_whitespace().count() > 1 {
        found.push(made);
    }
}

/// Returns the calls that do something to commits, each with its result. Results come in the order
/// of their calls.
fn calls_with_results(events: &[Event]) -> Vec<(usize, Option<usize>)> {
    let mut open: VecDeque<usize> = VecDeque::new();
    let mut found: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event.kind {
            MessageKind::ToolCall => {
                open.push_back(at);
                if !commit_acts_of(event).is_empty() {
                    found.push((at, None));
                }
            }
            MessageKind::ToolResult => {
                let call = open.pop_front();
                let call = found.iter_mut().rev().find(|(of, _)| Some(*of) == call);
                if let Some((_, result)) = call {
                    *result = Some(at);
                }
            }
            _ if event.role == Role::User => open.clear(),
            _ => {}
        }
    }
    found
}

/// Whether a commit was made to be joined with another one.
pub(super) fn is_draft(subject: &str) -> bool {
    let start = subject.get(..3).unwrap_or_default();
    start.eq_ignore_ascii_case("wip")
        || subject.starts_with("fixup!")
        || subject.starts_with("squash!")
}

/// Returns how much a commit matters beside those of other sessions, by the first word of its
/// subject: something new more, and what only keeps order less.
pub(super) fn weight(subject: &str) -> f64 {
    let end = subject.find(|c: char| !c.is_alphabetic());
    let first = subject[..end.unwrap_or(subject.len())].to_lowercase();
    let is_check = ["test", "coverage", "benchmark", "review", "follow-up"]
        .iter()
        .any(|word| subject.contains(word));
    match first.as_str() {
        _ if is_check => 0.4,
        "feat" | "add" | "support" | "implement" | "introduce" | "enable" | "allow" | "split"
        | "release" | "rewrite" | "migrate" | "replace" => 1.5,
        "address" | "docs" | "doc" | "chore" | "style" | "ci" | "build" | "bump" | "update"
        | "simplify" | "gofmt" | "lint" | "clean" | "cleanup" | "document" | "clarify"
        | "merge" => 0.4,
        _ => 1.0,
    }
}

/// Returns a subject without the kind of the change before it.
pub(super) fn without_kind(subject: &str) -> &str {
    match CHANGE_KIND.find(subject) {
        Some(kind) => &subject[kind.end()..],
        None => subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(line: u64, command: &str, result: &str) -> [Event; 2] {
        let call = Event::call(line, "Bash", &format!("command: {command}"));
        let result = Event {
            kind: MessageKind::ToolResult,
            ..Event::test(line + 1, Role::Tool, result)
        };
        [call, result]
    }

    fn subjects(calls: &[(&str, &str)]) -> Vec<String> {
        let events = calls.iter().zip(1..);
        let events: Vec<Event> = events
            .flat_map(|((command, result), line)| ran(2 * line, command, result))
            .collect();
        made(&events).into_iter().map(|one| one.subject).collect()
    }

    #[test]
    fn a_commit_counts_if_its_command_did_not_fail() {
        let one = "git commit -m 'Add a cache'";
        assert_eq!(subjects(&[(one, "")]), ["Add a cache"]);
        let printed = "[main 1a2b3c4] Add a small cache\n 1 file changed";
        assert_eq!(subjects(&[(one, printed)]), ["Add a small cache"]);
        let then_failed = format!("Exit code 1\n{printed}\nerror: push failed");
        assert_eq!(subjects(&[(one, &then_failed)]), ["Add a small cache"]);
        for failed in [
            "Exit code 1\nhook failed",
            "Process exited with code 128\nfatal: no",
            "On branch main\nnothing to commit, working tree clean",
        ] {
            assert!(subjects(&[(one, failed)]).is_empty(), "{failed}");
        }
    }

    #[test]
    fn what_is_undone_or_made_again_is_told_as_it_is_in_the_end() {
        let add = ("git commit -m 'Add a cache'", "");
        let keep = ("git commit -m 'Keep the lock'", "");
        assert_eq!(
            subjects(&[add, keep, add]),
            ["Keep the lock", "Add a cache"]
        );
        assert_eq!(
            subjects(&[add, keep, ("git reset --hard HEAD~1", "")]),
            ["Add a cache"]
        );
        let amend = ("git commit --amend -m 'Add a large cache'", "");
        assert_eq!(subjects(&[add, amend]), ["Add a large cache"]);
        let same = ("git commit --amend --no-edit", "");
        assert_eq!(subjects(&[add, same]), ["Add a cache"]);
        let revert = ("git revert HEAD", "[main 1a2b3c4] Revert \"Add a cache\"");
        assert!(subjects(&[add, revert]).is_empty());
        assert_eq!(subjects(&[keep, revert]).len(), 2, "one of another session");
        let printed = ("git commit -m 'Add a cache'", "[main 1a2b3c4] Add a cache");
        let last = ("git commit -m 'Add both'", "");
        let squash = ("git reset --soft 1a2b3c4d", "");
        let wanted = ["Add a cache", "Add both"];
        assert_eq!(subjects(&[printed, keep, squash, last]), wanted);
        let squash = ("git reset --soft origin/main", "");
        assert_eq!(subjects(&[printed, keep, squash, last]), ["Add both"]);
        let without = ("git rebase --onto main 1a2b3c4", "");
        assert_eq!(subjects(&[printed, keep, without]), ["Keep the lock"]);
        let request = ("gh pr create --title 'Add a cache' --body x", "");
        assert_eq!(subjects(&[add, request]).len(), 2);
    }

    #[test]
    fn something_new_matters_more_than_what_keeps_order() {
        let order = ["feat: a cache", "fix: a lock", "docs: a cache"].map(weight);
        assert!(order[0] > order[1] && order[1] > order[2], "{order:?}");
        assert!(weight("Add tests for the cache") < weight("Add a cache"));
        assert!(is_draft("WIP: half") && is_draft("fixup! x") && !is_draft("é"));
    }

    #[test]
    fn the_kind_of_a_change_is_no_part_of_what_it_does() {
        assert_eq!(without_kind("fix(api)!: keep it"), "keep it");
        assert_eq!(without_kind("Add: x"), "Add: x");
        assert_eq!(without_kind("keep it"), "keep it");
    }
}
