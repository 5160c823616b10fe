//! The rules whose memories no file can hold, because they are long, hidden, a secret or of logs: each
//! where it fires, with the evidence that it shows, and where it must not; every fix with the bytes
//! that it leaves, and undone.

use super::{Fixture, memory, moment};
use crate::core::insight::curate::RULES;
use crate::core::insight::curate::logs::{SessionLog, SessionLogs};
use crate::core::insight::ledger::{Account, Correction, Ledger, Untaught};
use crate::core::insight::promote::{Quote, propose};
use crate::core::insight::timeline::event::Event;
use crate::core::insight::timeline::grip::Grip;
use crate::core::log::{Agent, Role};

/// What is shown about one rule.
pub(super) struct Case {
    /// Where it fires, and what it tells: the file, the line, the subject and the evidence.
    fires: (Fixture, Vec<String>),
    /// Where it must not fire.
    silent: Fixture,
    /// The files that its fix changes, with their texts afterwards; `None` for a file that is gone.
    fixed: Vec<(&'static str, Option<String>)>,
}

fn case(fires: Fixture, told: &[&str], silent: Fixture) -> Case {
    let told = told.iter().map(|line| (*line).to_owned()).collect();
    Case {
        fires: (fires, told),
        silent,
        fixed: Vec::new(),
    }
}

impl Case {
    fn fixed(mut self, path: &'static str, text: Option<&str>) -> Self {
        self.fixed.push((path, text.map(str::to_owned)));
        self
    }
}

/// One memory in an index store, without an index.
fn one(body: &str) -> Fixture {
    Fixture::new(&[("a.md", &memory("a", body))])
}

const DAY: i64 = 24 * 60 * 60 * 1000;

fn session(id: &str, days_ago: i64) -> SessionLog {
    let time = moment().time.as_millisecond() - days_ago * DAY;
    SessionLog {
        agent: Agent::ClaudeCode,
        id: id.to_owned(),
        modified: Some(time),
    }
}

fn logs(all: Vec<SessionLog>) -> SessionLogs {
    SessionLogs {
        all,
        claude_keeps: Some(30),
        ..SessionLogs::default()
    }
}

/// A store in which `a.md` was deleted, and is there again or not.
fn deleted(is_back: bool) -> Fixture {
    let text = memory("a", "text");
    let fixture = Fixture::new(&[("a.md", &text), ("b.md", &memory("b", "b"))]);
    fixture.delete("a.md");
    if is_back {
        fixture.write(&[("a.md", &text)]);
    }
    fixture
}

/// What a person said, with this confidence.
fn said(text: &str, confidence: u8) -> Correction {
    Correction {
        citation: format!("codex:s#L{}", text.len()),
        time: None,
        text: text.to_owned(),
        confidence,
        memory: None,
    }
}

/// A memory that was said again.
fn corrected(confidence: u8) -> Fixture {
    let fixture = one("Use tabs.");
    let again = said("no, I told you: use tabs", confidence);
    let mut account = Account::new(&fixture.stores()[0], "a.md", None);
    account.corrected.push(again.citation.clone());
    let ledger = Ledger::new(vec![account], vec![again], Vec::new());
    fixture.with_logs(SessionLogs::default().with_ledger(ledger))
}

/// Something that was said twice in a folder and that no memory says.
fn untaught(folder: &str) -> Fixture {
    let fixture = one("Use tabs.");
    let event = Event::test(1, Role::User, "use pnpm");
    let quote = Quote {
        grip: Grip::new(Agent::Codex, "s", &event, 1),
        role: Role::User,
        text: "use pnpm".to_owned(),
    };
    let untaught = Untaught {
        said: vec![said("use pnpm", 0), said("I said pnpm", 90)],
        cwd: fixture.home.path().join(folder),
        proposal: propose(&[quote]).expect("a proposal"),
    };
    let ledger = Ledger::new(Vec::new(), Vec::new(), vec![untaught]);
    fixture.with_logs(SessionLogs::default().with_ledger(ledger))
}

/// Returns the case of a rule, if it has one here.
pub(super) fn case_of(rule: &str) -> Option<Case> {
    let cited = |days: i64| {
        one("Said in claude-code:4b2f6c1e-93aa#L12.")
            .with_logs(logs(vec![session("4b2f6c1e-93aa", days)]))
    };
    let index = |lines: usize| {
        let line = |n: usize| format!("- [m{n}](m{n}.md) — hook\n");
        let lines: String = (1..=lines).map(line).collect();
        Fixture::new(&[("MEMORY.md", &format!("# Index\n{lines}"))])
    };
    Some(match rule {
        "secret" => case(
            one(&format!("The token is ghp_{}.", "a1B2c3D4".repeat(4) + "e5F6")),
            &["a.md:7 GitHub personal token 1 <The token is ghp_‹masked›.>"],
            one("The token is in 1Password. postgres://app:app@localhost/app"),
        ),
        "hidden-text" => case(
            one("plain\u{200b} text\u{202e}"),
            &["a.md:7 U+200B U+202E <plain‹U+200B› text‹U+202E›>"],
            one("emoji 👩\u{200d}👩, \u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} and שלום\u{200f}!")
                .and("b.md", "\u{feff}text"),
        )
        .fixed("a.md", Some(&memory("a", "plain text"))),
        "index-cut" => case(
            index(202),
            &["MEMORY.md:201 MEMORY.md <- [m200](m200.md) — hook|- [m201](m201.md) — hook|- [m202](m202.md) — hook>"],
            index(1),
        ),
        "came-back" => case(
            deleted(true),
            &["a.md: a.md <a.md deleted on 2026-11-15>"],
            deleted(false),
        )
        .fixed("a.md", None),
        "ignored" => case(
            corrected(90),
            &["a.md: a.md <no, I told you: use tabs>"],
            corrected(50),
        ),
        "untaught" => case(
            untaught("project"),
            &["MEMORY.md: use pnpm <use pnpm|I said pnpm>"],
            untaught("elsewhere"),
        ),
        "swept-soon" => case(
            cited(25),
            &[
                "a.md:7 claude-code:4b2f6c1e-93aa <Said in claude-code:4b2f6c1e-93aa#L12.|last changed on 2026-10-21>",
            ],
            cited(2),
        ),
        _ => return None,
    })
}

/// What is wrong with a rule, judged by its case.
fn wrong_with(id: &str) -> Option<String> {
    let case = case_of(id)?;
    let (fixture, expected) = case.fires;
    let told = fixture.told(id);
    if told != expected {
        return Some(format!("{id}: told {told:#?} instead of {expected:#?}"));
    }
    let told = case.silent.told(id);
    if !told.is_empty() {
        return Some(format!("{id}: is not silent but tells {told:#?}"));
    }
    let findings = fixture.findings(id);
    if findings.iter().all(|finding| finding.fix.is_none()) {
        let has_none = case.fixed.is_empty();
        return (!has_none).then(|| format!("{id}: has no fix"));
    }
    let changed: Vec<(String, Option<String>)> = fixture.fixed(id).into_iter().collect();
    let expected: Vec<(String, Option<String>)> = case
        .fixed
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text))
        .collect();
    (changed != expected).then(|| format!("{id}: left {changed:#?} instead of {expected:#?}"))
}

#[test]
fn each_fires_with_its_evidence_is_silent_elsewhere_and_its_fix_can_be_undone() {
    let wrong: Vec<String> = RULES
        .iter()
        .filter_map(|rule| wrong_with(rule.id))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
