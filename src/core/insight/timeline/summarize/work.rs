//! Summarizes work with an agent: what was asked, decided, reported, committed and left open.
//!
//! An agent tells much while it works; what counts is what it says last before the user's next
//! message: its report, of which the first sentences are told. What the user agrees to is what was
//! offered there. A choice is the user's.

use std::sync::LazyLock;

use regex::Regex;

use super::analysis::{KnownClause, changes_of, clauses_of, commit_acts_of};
use super::choose::{Candidate, Choice, Vocabulary, terms};
use super::clause::pattern;
use super::request::{self, Reply};
use super::{PointKind, Summary, choose, commit, heading, report, texts};
use crate::core::insight::timeline::event::{Event, QUESTION_TOOL};
use crate::core::log::{MessageKind, Role, says_something};
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
    choice.take_first(PointKind::Asked);
    choose(&mut choice);
    let typical = |kind| {
        let worth = |candidate: &Candidate<'_>| candidate.typical(&|term| vocabulary.count(term));
        let of_kind = candidates.iter().filter(|found| found.kind == kind);
        let best = of_kind.rev().max_by(|a, b| worth(a).total_cmp(&worth(b)));
        best.map(|found| found.text.as_ref())
    };
    let title = heading::of_work(
        typical(PointKind::Asked),
        typical(PointKind::Requested).or_else(|| typical(PointKind::Committed)),
        choice.first(PointKind::Reported),
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

/// Returns what was said: the requests and choices, and the reports that were not taken back later.
fn said(events: &[Event]) -> Vec<Candidate<'_>> {
    let said = texts(events);
    let is_asked = |number: usize| said.get(number).map(|(_, event)| event.role == Role::User);
    let last_asked = (0..said.len()).rfind(|number| is_asked(*number) == Some(true));
    let mut users = said.iter().filter(|(_, event)| event.role == Role::User);
    let first_asked = users.next().map(|(at, _)| *at);
    let mut found = chosen(events);
    // A report stands until the next turn that changes something.
    let mut standing: Vec<Candidate<'_>> = Vec::new();
    let mut has_asked = false;
    let mut turn = 0;
    for (number, (at, event)) in said.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| said[before]);
        if is_asked(number) == Some(true) {
            if request::takes_back(&event.text) {
                standing.clear();
            }
            let before = before.filter(|(_, event)| event.role != Role::User);
            match request::reply(&event.text) {
                Some(reply) => found.extend(before.and_then(|before| agreed(before, event, reply))),
                None => found.extend(requests(*at, event, has_asked)),
            }
            has_asked |= says_something(&event.text);
            turn = *at;
            continue;
        }
        if is_asked(number + 1) == Some(false) {
            continue;
        }
        let mut asked = said[..number].iter();
        let asked = asked.rfind(|(_, event)| event.role == Role::User);
        // The first question is told as what was asked.
        let asked = asked.filter(|(at, _)| Some(*at) != first_asked);
        let is_change =
            |event: &Event| !changes_of(event).is_empty() || !commit_acts_of(event).is_empty();
        if events[turn..*at].iter().any(is_change) {
            standing.clear();
        }
        match asked.and_then(|(_, asked)| answer(asked, (*at, event))) {
            Some(answer) => found.push(answer),
            None => standing.extend(report(*at, event)),
        }
        // What was open before the user's last message mostly is not any more.
        if last_asked.is_none_or(|asked| number > asked) {
            found.extend(left_open(*at, event));
        }
    }
    found.extend(standing);
    found
}

/// Returns what the user chose of the options that the agent offered with a tool.
fn chosen(events: &[Event]) -> Vec<Candidate<'_>> {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| pattern(r#""([^"]+)"="([^"]+)""#));
    let is_answered = |event: &Event| {
        event.kind == MessageKind::ToolResult && event.tool.as_deref() == Some(QUESTION_TOOL)
    };
    let results = events
        .iter()
        .enumerate()
        .filter(|(_, event)| is_answered(event));
    let answers = results.flat_map(|(at, event)| {
        let answers = ANSWER.captures_iter(&event.text);
        // Who asks back has not chosen.
        let answers = answers.filter(|found| !found[2].ends_with('?'));
        answers.map(move |found| {
            let answer = found[2].replace(" (Recommended)", "");
            let text = safe_line(&format!("{} {answer}", &found[1]));
            Candidate::new(PointKind::Decided, text, at, 1.5)
        })
    });
    answers.collect()
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
        // The first request says what a session is about.
        let least = if has_asked {
            LEAST_TERMS + 1
        } else if is_request {
            2
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
        let is_plain = known.terms.len() >= LEAST_TERMS && !request::has_pronoun(text);
        known.clause.is_question && is_plain && request::asks_alone(&known.clause, text)
    };
    let question = clauses_of(asked).iter().rev().find(is_asked)?;
    let first = clauses_of(event).first()?;
    let is_offer = first.clause.is_question || first.clause.is_later || first.clause.is_cut;
    let is_said = report::answers(&first.clause.text) && first.length > LEAST_TERMS;
    if is_offer || !is_said {
        return None;
    }
    let text = format!("“{}” {}", question.clause.text, first.clause.text);
    let candidate = Candidate::new(PointKind::Reported, text, at, 1.2);
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
    let kind = match reply {
        Reply::Consent => PointKind::Asked,
        Reply::Pick(_) => PointKind::Decided,
    };
    let text = format!("{} (“{words}”)", offer.text);
    Some(Candidate::new(kind, text, at, 1.0).on_line(offer.line))
}

/// Returns what an agent reports: its first sentences that say something, which belong together.
fn report(at: usize, event: &Event) -> Option<Candidate<'_>> {
    const LEAST_WORDS: usize = 6;
    const MOST_WORDS: usize = 45;
    let is_fact = |known: &KnownClause| known.kind == Some(PointKind::Reported);
    let clauses = clauses_of(event);
    let begins = |known: &KnownClause| {
        let is_long = known.terms.len() > LEAST_TERMS && known.length >= LEAST_WORDS;
        let text = &known.clause.text;
        let is_whole = report::is_sentence(text) && report::stands_alone(text);
        is_fact(known) && is_long && is_whole && !request::points_back(text)
    };
    let first = clauses.iter().position(begins)?;
    let mut text = clauses[first].clause.text.clone();
    let mut words = clauses[first].length;
    let line = clauses[first].clause.line;
    for next in &clauses[first + 1..] {
        words += next.length;
        if next.clause.line != line || !is_fact(next) || words > MOST_WORDS {
            break;
        }
        if !text.ends_with(['.', '!', '…', '。']) {
            text.push('.');
        }
        text.push(' ');
        text.push_str(&next.clause.text);
    }
    let candidate = Candidate::new(PointKind::Reported, text, at, 1.0);
    Some(candidate.on_line(line))
}

/// Returns what a report leaves open, which is said in few words.
fn left_open(at: usize, event: &Event) -> Vec<Candidate<'_>> {
    let is_open = |known: &&KnownClause| {
        let least = if known.clause.is_question {
            LEAST_TERMS
        } else {
            2
        };
        let says = known.terms.len() >= least && report::stands_alone(&known.clause.text);
        known.kind == Some(PointKind::Open) && says
    };
    let open = clauses_of(event).iter().filter(is_open);
    open.map(|known| Candidate::of_clause(known, PointKind::Open, at, 0.7))
        .collect()
}

/// Returns what a message states: a choice or a wish of the person, or else the first clause that says
/// something.
pub(in crate::core::insight) fn statement(role: Role, text: &str) -> Option<Statement> {
    let event = Event::said(1, 0, role, text);
    let known = clauses_of(&event).iter().map(|known| {
        let says = known.terms.len() >= LEAST_TERMS && report::stands_alone(&known.clause.text);
        let is_wish = known.kind == Some(PointKind::Asked) && request::is_wish(&known.clause.text);
        let is_choice = is_wish || known.kind == Some(PointKind::Decided);
        Statement {
            text: known.clause.text.clone(),
            rank: usize::from(says) + usize::from(says && is_choice),
        }
    });
    known.rev().max_by_key(|stated| stated.rank)
}

/// The clause of a message that says most.
#[derive(Debug)]
pub(in crate::core::insight) struct Statement {
    pub(in crate::core::insight) text: String,
    /// How much it says; larger is more.
    pub(in crate::core::insight) rank: usize,
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
        let again = (Role::User, "please remove the old parser of the server");
        assert!(is_done(&[ask, added, again, (Role::Assistant, "Done.")]));
    }

    #[test]
    fn a_report_stands_until_something_is_changed_again() {
        let reported = |changed: &str| {
            let events = [
                Event::test(1, Role::User, "please add a retry to the client"),
                Event::test(
                    2,
                    Role::Assistant,
                    "Added a retry with backoff to the client.",
                ),
                Event::test(3, Role::User, "please look at the parser of the server"),
                Event::call(4, "Bash", &format!("command: {changed}")),
                Event::test(
                    5,
                    Role::Assistant,
                    "The parser of the server reads twice now.",
                ),
            ];
            let summary = summarize(&events, 0, &SegmentWords::default(), None);
            let points = summary.points.into_iter();
            let reports = points.filter(|(point, _)| point.kind == PointKind::Reported);
            reports.count()
        };
        assert_eq!(reported("ls"), 2);
        assert_eq!(reported("echo x > src/parser.rs"), 1);
    }

    #[test]
    fn an_answer_to_the_agents_question_is_a_choice() {
        let answered = Event {
            kind: MessageKind::ToolResult,
            tool: Some(QUESTION_TOOL.to_owned()),
            ..Event::test(
                2,
                Role::Tool,
                r#"User has answered your questions: "Which store?"="The table (Recommended)", "Why?"="which ones are there?"."#,
            )
        };
        let events = [
            Event::test(1, Role::User, "please store the jobs"),
            answered,
        ];
        let summary = summarize(&events, 0, &SegmentWords::default(), None);
        let decided: Vec<String> = summary
            .points
            .into_iter()
            .filter(|(point, _)| point.kind == PointKind::Decided)
            .map(|(point, _)| point.text)
            .collect();
        assert_eq!(decided, ["Which store? The table"]);
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
        let wanted = "Want me to add an index to the table of jobs? (“yes”)";
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
        assert_eq!(kinds, [PointKind::Asked, PointKind::Reported], "{found:?}");
    }
}
