//! Summarizes work with an agent: what was asked, found, decided, done, committed and left open.
//!
//! An agent tells much while it works; what counts is what it says last before the user's next
//! message: its report. What the user agrees to is what was offered there.

use std::collections::HashSet;

use super::analysis::{KnownClause, changes_of, clauses_of, commit_acts_of, terms_of};
use super::choose::{Candidate, Choice, Vocabulary, terms};
use super::request::{self, Reply};
use super::{PointKind, Summary, choose, commit, heading, report, texts};
use crate::core::insight::timeline::event::Event;
use crate::core::log::Role;
use crate::core::text::Term;
use crate::core::text::display::safe_line;

/// The fewest terms of what is told.
const LEAST_TERMS: usize = 3;

/// Summarizes the events of work.
pub(super) fn work(events: &[Event], vocabulary: &Vocabulary, files: &[String]) -> Summary {
    let made = commit::made(events);
    let commits = made.iter().filter(|one| !one.is_request);
    let mut candidates: Vec<Candidate<'_>> = made
        .iter()
        .filter(|one| !commit::is_draft(&one.subject))
        .map(|one| {
            let kind = if one.is_request {
                PointKind::Requested
            } else {
                PointKind::Committed
            };
            Candidate::new(kind, one.subject.as_str(), one.event, 1.0)
        })
        .collect();
    candidates.extend(said(events));
    let value = |term: Term| vocabulary.frequency(term);
    let mut choice = Choice::new(&candidates, &value);
    choose(&mut choice);
    let typical = |kind| {
        let worth = |candidate: &Candidate<'_>| candidate.typical(&|term| vocabulary.count(term));
        let of_kind = candidates.iter().filter(|found| found.kind == kind);
        let best = of_kind.rev().max_by(|a, b| worth(a).total_cmp(&worth(b)));
        best.map(|found| found.text.as_ref())
    };
    let done = [PointKind::Done, PointKind::Found, PointKind::Decided];
    let title = heading::of_work(
        typical(PointKind::Asked),
        typical(PointKind::Requested).or_else(|| typical(PointKind::Committed)),
        done.iter().find_map(|kind| choice.first(*kind)),
    );
    let title = Some(title).filter(|title| !title.is_empty());
    let title = title.or_else(|| heading::of_calls(events, files));
    Summary {
        title: title.unwrap_or_else(|| heading::of_words(events)),
        keywords: heading::keywords(events, files),
        points: choice.points(),
        files: files.to_vec(),
        commits: commits.map(|one| one.event).collect(),
        note: None,
    }
}

/// Returns what was said: the requests, and what the reports say that was not taken back later.
fn said(events: &[Event]) -> Vec<Candidate<'_>> {
    let said = texts(events);
    let is_asked = |number: usize| said.get(number).map(|(_, event)| event.role == Role::User);
    let last_asked = (0..said.len()).rfind(|number| is_asked(*number) == Some(true));
    let mut found: Vec<Candidate<'_>> = Vec::new();
    // What the agent tells while it works counts if it never reports.
    let mut told: Vec<Candidate<'_>> = Vec::new();
    let mut has_asked = false;
    // Where the reports of the turn begin that the user may take back.
    let mut turn = 0;
    for (number, (at, event)) in said.iter().enumerate() {
        if is_asked(number) == Some(true) {
            if request::takes_back(&event.text) {
                let is_kept = |one: &Candidate<'_>| one.event < turn || !is_report(one.kind);
                found.retain(is_kept);
            }
            let before = number.checked_sub(1).map(|before| said[before]);
            let before = before.filter(|(_, event)| event.role != Role::User);
            match request::reply(&event.text) {
                Some(reply) => found.extend(before.and_then(|before| agreed(before, event, reply))),
                None => {
                    let asked = requests(*at, event, has_asked);
                    if asked.iter().any(|one| one.kind == PointKind::Decided) {
                        drop_decided(&mut found, events, event);
                    }
                    found.extend(asked);
                }
            }
            has_asked = true;
            turn = *at;
            continue;
        }
        let is_last = last_asked.is_none_or(|asked| number > asked);
        let ends_turn = is_asked(number + 1) != Some(false);
        let has_changed = events[turn..*at]
            .iter()
            .any(|event| !changes_of(event).is_empty() || !commit_acts_of(event).is_empty());
        let told_now = reports(*at, event, (is_last && ends_turn, has_changed));
        if ends_turn {
            drop_undone(&mut found, &told_now);
            found.extend(told_now);
            let asked = said[..number]
                .iter()
                .rfind(|(_, event)| event.role == Role::User);
            found.extend(asked.and_then(|(_, asked)| answer(asked, (*at, event))));
        } else {
            let (causes, other): (Vec<_>, Vec<_>) = told_now
                .into_iter()
                .partition(|one| one.kind == PointKind::Found && report::is_cause(&one.text));
            found.extend(causes);
            told.extend(other);
        }
    }
    if !found.iter().any(|one| is_report(one.kind)) {
        found.extend(told);
    }
    found
}

fn is_report(kind: PointKind) -> bool {
    matches!(
        kind,
        PointKind::Done | PointKind::Found | PointKind::Decided
    )
}

/// Returns what a user asks for or decides.
fn requests(at: usize, event: &Event, has_asked: bool) -> Vec<Candidate<'_>> {
    /// A message of more clauses is mostly pasted: its requests are the user's, or its first one.
    const OWN: usize = 6;
    let clauses = clauses_of(event);
    let is_long = clauses.len() > OWN;
    // What stands beside a request explains it.
    let has_request = clauses
        .iter()
        .any(|known| request::is_request(&known.clause));
    let mut found = Vec::new();
    for (number, known) in clauses.iter().enumerate() {
        let asked = request::without_request(&known.clause.text);
        let is_request = request::is_request(&known.clause);
        let is_own = is_request || !has_request && (!is_long || number == 0);
        let least = if has_asked {
            LEAST_TERMS + 1
        } else {
            LEAST_TERMS
        };
        // A remark about something that was said before.
        let is_remark = has_asked && !is_request && request::has_pronoun(asked);
        if !is_own
            || is_remark
            || terms(asked).len() < least
            || !request::asks_alone(&known.clause, asked)
        {
            continue;
        }
        let kind = match known.kind {
            Some(PointKind::Decided) if !is_long => PointKind::Decided,
            _ => PointKind::Asked,
        };
        let mut weight = if is_request { 1.5 } else { 1.0 };
        if !has_asked {
            weight *= 2.0;
        }
        if known.clause.is_cut {
            weight *= 0.6;
        }
        found.push(Candidate::of_clause(known, kind, at, weight));
    }
    found
}

/// Returns what an agent answered to a question: the question with the first sentence of the answer.
fn answer<'a>(asked: &Event, (at, event): (usize, &'a Event)) -> Option<Candidate<'a>> {
    let is_asked = |known: &&KnownClause| {
        let text = request::without_request(&known.clause.text);
        known.clause.is_question && request::asks_alone(&known.clause, text)
    };
    let question = clauses_of(asked).iter().rev().find(is_asked)?;
    let first = clauses_of(event).first()?;
    let is_offer = first.clause.is_question || first.clause.is_later || first.clause.is_cut;
    let is_said = report::answers(&first.clause.text) && first.length > LEAST_TERMS;
    if is_offer || !is_said {
        return None;
    }
    let text = format!("“{}” {}", question.clause.text, first.clause.text);
    let candidate = Candidate::new(PointKind::Found, text, at, 1.2);
    Some(candidate.on_line(first.clause.line))
}

/// Returns what a user agreed to, or which of several offers was taken.
fn agreed<'a>(
    (at, before): (usize, &'a Event),
    event: &Event,
    reply: Reply,
) -> Option<Candidate<'a>> {
    let offer = request::offer(&before.text, reply)?;
    if terms(&offer.text).len() < LEAST_TERMS {
        return None;
    }
    let words = safe_line(event.text.trim());
    let (kind, text) = match reply {
        Reply::Consent => (PointKind::Asked, format!("“{words}” to “{}”", offer.text)),
        Reply::Pick(_) => (PointKind::Decided, format!("{} (“{words}”)", offer.text)),
    };
    Some(Candidate::new(kind, text, at, 1.0).on_line(offer.line))
}

/// Returns what an agent reports. What was open before the user's last message mostly is not any
/// more.
fn reports(at: usize, event: &Event, (is_last, has_changed): (bool, bool)) -> Vec<Candidate<'_>> {
    let tells = |known: &&KnownClause| {
        // What is left open is said in few words.
        let is_open = known.kind == Some(PointKind::Open);
        let least = if is_open { 2 } else { LEAST_TERMS + 1 };
        known.terms.len() >= least && report::stands_alone(&known.clause.text)
    };
    let known = clauses_of(event).iter().filter(tells);
    // What is said in another language is not known by its words.
    let foreign = clauses_of(event).iter().find(|known| {
        let is_plain = known.kind.is_none() && !known.clause.is_question && !known.clause.is_cut;
        is_plain && known.terms.len() > LEAST_TERMS && report::is_foreign(&known.clause.text)
    });
    let foreign = foreign.map(|known| {
        let kind = if has_changed {
            PointKind::Done
        } else {
            PointKind::Found
        };
        Candidate::of_clause(known, kind, at, 0.8)
    });
    let candidate = known.filter_map(|known| {
        let kind = match known.kind? {
            // How something is was found out if nothing was changed.
            PointKind::Done if !has_changed && report::is_state(&known.clause.text) => {
                PointKind::Found
            }
            kind => kind,
        };
        let weight = match kind {
            PointKind::Open if !is_last => return None,
            PointKind::Open => 0.6,
            PointKind::Decided => 1.3,
            PointKind::Found => 0.8,
            _ => 1.0,
        };
        let place = if is_last { 1.2 } else { 1.0 };
        Some(Candidate::of_clause(known, kind, at, weight * place))
    });
    candidate.chain(foreign).collect()
}

/// Drops the choices of the agent about which the user chooses now.
fn drop_decided(found: &mut Vec<Candidate<'_>>, events: &[Event], chosen: &Event) {
    let terms = terms_of(chosen);
    found.retain(|one| {
        let shared = one.terms.iter().filter(|term| terms.contains(term));
        let is_agents = events[one.event].role != Role::User;
        one.kind != PointKind::Decided || !is_agents || shared.count() < 2
    });
}

/// Drops what a later report says to be taken back: its words are mostly those of that report.
fn drop_undone(found: &mut Vec<Candidate<'_>>, report: &[Candidate<'_>]) {
    let undone = report.iter().filter(|one| report::is_undone(&one.text));
    let undone: Vec<HashSet<Term>> = undone
        .map(|one| one.terms.iter().copied().collect())
        .collect();
    found.retain(|one| {
        let is_in = |terms: &HashSet<Term>| {
            let same = one.terms.iter().filter(|term| terms.contains(term));
            same.count() * 2 > one.terms.len()
        };
        one.kind != PointKind::Done || !undone.iter().any(is_in)
    });
}

/// The clause of a message that says most.
#[derive(Debug)]
pub(in crate::core::insight) struct Statement {
    pub(in crate::core::insight) text: String,
    pub(in crate::core::insight) kind: Option<PointKind>,
    /// How much it says; larger is more.
    pub(in crate::core::insight) rank: usize,
}

/// Returns what a message states: a choice before a finding, that before what was done, and else the
/// first clause that says something.
pub(in crate::core::insight) fn statement(role: Role, text: &str) -> Option<Statement> {
    let event = Event::said(1, 0, role, text);
    let known = clauses_of(&event).iter().map(|known| {
        let says = known.terms.len() >= LEAST_TERMS && report::stands_alone(&known.clause.text);
        let rank = match known.kind {
            Some(PointKind::Decided) => 4,
            Some(PointKind::Asked) if request::is_wish(&known.clause.text) => 4,
            Some(PointKind::Found) => 3,
            Some(PointKind::Done) => 2,
            _ => 1,
        };
        let kind = known.kind;
        let text = known.clause.text.clone();
        Statement {
            text,
            kind,
            rank: if says { rank } else { 0 },
        }
    });
    known.rev().max_by_key(|stated| stated.rank)
}

#[cfg(test)]
mod tests {
    use super::super::{SegmentWords, summarize};
    use super::*;

    fn told(said: &[(Role, &str)]) -> Vec<(PointKind, String)> {
        let events: Vec<Event> = said
            .iter()
            .zip(1..)
            .map(|((role, text), line)| Event::test(line, *role, text))
            .collect();
        let summary = summarize(&events, 0, &SegmentWords::default(), None);
        let points = summary.points.into_iter();
        points.map(|(point, _)| (point.kind, point.text)).collect()
    }

    #[test]
    fn what_an_agent_says_last_counts() {
        let found = told(&[
            (Role::User, "please fix the stale lock of the client"),
            (Role::Assistant, "Added a sleep to the client of the queue."),
            (
                Role::Assistant,
                "Removed the stale lock when the process of the client ends.",
            ),
        ]);
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "please fix the stale lock of the client",
                "Removed the stale lock when the process of the client ends."
            ]
        );
    }

    #[test]
    fn what_was_undone_is_not_told() {
        let added = (Role::Assistant, "Added a retry with backoff to the client.");
        let ask = (Role::User, "please add a retry to the client of the queue");
        let is_done = |said: &[(Role, &str)]| {
            told(said)
                .iter()
                .any(|(_, text)| text.starts_with("Added a retry"))
        };
        assert!(is_done(&[ask, added]));
        assert!(!is_done(&[ask, added, (Role::User, "revert that")]));
        let gone = "Reverted the retry with backoff in the client.";
        let again = (Role::User, "why does the queue of the server wait so long?");
        assert!(!is_done(&[ask, added, again, (Role::Assistant, gone)]));
        let other = (Role::Assistant, "Removed the old parser of the server.");
        assert!(is_done(&[ask, added, again, other]));
    }

    #[test]
    fn consent_tells_what_was_offered() {
        let found = told(&[
            (Role::User, "why does the queue of the server wait so long?"),
            (
                Role::Assistant,
                "It is slow. Want me to add an index to the table of jobs?",
            ),
            (Role::User, "yes"),
        ]);
        let wanted = "“yes” to “Want me to add an index to the table of jobs?”";
        assert!(
            found.contains(&(PointKind::Asked, wanted.to_owned())),
            "{found:?}"
        );
    }

    #[test]
    fn other_languages_are_told_too() {
        let found = told(&[
            (Role::User, "请修复登录页面的会话过期问题，并添加测试。"),
            (Role::Assistant, "我已经修复了登录页面，并添加了测试。"),
        ]);
        let kinds: Vec<PointKind> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [PointKind::Asked, PointKind::Found], "{found:?}");
    }
}
