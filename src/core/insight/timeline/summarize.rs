//! The offline summarizer: chooses clauses of a session that say what happened in it.
//!
//! It is deterministic. Candidates are the clauses of messages and the subjects of commits. They
//! are chosen greedily by the words that they add to those chosen before, per length, so that the
//! chosen ones cover much and repeat little. A day, week, month or year chooses in the same way
//! among the points of its children.

mod analysis;
mod bullet;
mod choose;
mod clause;
pub mod command;
mod commit;
mod heading;
mod word;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::event::{Event, Texts};
use super::files::changed_files;
use crate::core::log::touch::makes_commit;
use crate::core::log::{MessageKind, Role};
use crate::core::text::{Term, TermMap, TermSet};

pub use analysis::TextAnalysis;
pub(super) use analysis::changes_of;
use analysis::clauses_of;
pub use bullet::{BulletText, bullets};
pub(in crate::core) use choose::terms;
use choose::{Candidate, Choice, Vocabulary};
use clause::{Clause, clauses};

pub use choose::SegmentWords;

/// What a point says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointKind {
    /// What the user asked for.
    Asked,
    /// An error, its cause or its fix.
    Problem,
    /// A decision.
    Decided,
    /// An outcome.
    Done,
    /// The subject of a commit or a pull request.
    Committed,
    /// What was left open.
    Open,
    /// What a person said in a talk.
    Said,
}

/// A clause that was chosen for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// What it says.
    pub kind: PointKind,
    /// Who said it, in a talk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The clause.
    pub text: String,
}

/// The summary of a segment or of a whole session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The title, of about five to ten words.
    pub title: String,
    /// The points, each with the index of the event that it is from, in the order of the events.
    pub points: Vec<(Point, usize)>,
    /// The keywords.
    pub keywords: Vec<String>,
    /// The files that were changed.
    pub files: Vec<String>,
    /// How many commits were made, told or not.
    pub commits: usize,
    /// Why it is not the summary that was wanted, if it is not.
    pub note: Option<String>,
}

/// What is summarized.
#[derive(Debug, Clone, Copy)]
pub struct SummaryInput<'a> {
    /// `segment`, or `session` for one as a whole.
    pub level: &'static str,
    /// The events, with those before that are context.
    pub events: &'a [Event],
    /// The first of the events that are not context.
    pub own: usize,
    /// The words of the segments up to this one.
    pub seen: &'a SegmentWords,
    /// The working directory.
    pub cwd: Option<&'a str>,
}

/// Summarizes events.
pub trait Summarizer: std::fmt::Debug + Send + Sync {
    /// Returns what tells it from others; records that another one made are not used. Empty for
    /// the offline one.
    fn name(&self) -> String;

    /// Returns which texts it needs.
    fn texts(&self) -> Texts;

    /// Summarizes a segment, or a session as a whole.
    fn summarize(&self, input: SummaryInput<'_>) -> Summary;

    /// Summarizes what the parts of a day, week, month or year say, or says why it cannot. `None` if
    /// it leaves that to [`choose_points`].
    fn roll_up(&self, _: &str, _: &str, _: &[Event]) -> Option<Result<Summary, String>> {
        None
    }
}

/// The summarizer of this module.
#[derive(Debug, Clone, Copy)]
pub struct Offline;

impl Summarizer for Offline {
    fn name(&self) -> String {
        String::new()
    }

    fn texts(&self) -> Texts {
        Texts::ButResults
    }

    fn summarize(&self, input: SummaryInput<'_>) -> Summary {
        summarize(input.events, input.own, input.seen, input.cwd)
    }
}

/// The most words of all points of a summary.
const MOST_WORDS: usize = 114;

/// The most words of the points of one kind.
const MOST_OF_KIND: usize = 40;

/// The most words of what was asked, and of the commits.
const ASKED_WORDS: usize = 28;
const COMMIT_WORDS: usize = 56;

/// Summarizes events. Those before `own` are context, whose words count. `seen` holds the words of
/// the segments up to this one.
pub fn summarize(events: &[Event], own: usize, seen: &SegmentWords, cwd: Option<&str>) -> Summary {
    let vocabulary = Vocabulary::of(events);
    let own_events = &events[own..];
    let mut summary = if is_talk(own_events) {
        talk(own_events, seen, &vocabulary)
    } else {
        work(
            own_events,
            seen,
            &vocabulary,
            &changed_files(own_events, cwd),
        )
    };
    for (_, event) in &mut summary.points {
        *event += own;
    }
    summary
}

/// Whether people talk with each other: their names stand before what they say, and no tool is
/// called.
fn is_talk(events: &[Event]) -> bool {
    let is_call = |event: &Event| event.kind == MessageKind::ToolCall;
    let texts = events
        .iter()
        .filter(|event| event.kind == MessageKind::Text);
    let named = texts
        .clone()
        .filter(|event| clause::speaker(&event.text).0.is_some());
    !events.iter().any(is_call) && 2 * named.count() > texts.count()
}

/// Summarizes a talk between people: what each said about themselves, by the words that other
/// segments do not have.
fn talk(events: &[Event], seen: &SegmentWords, vocabulary: &Vocabulary) -> Summary {
    const LEAST_TERMS: usize = 4;
    let mut candidates = Vec::new();
    for (at, event) in texts(events) {
        let (speaker, text) = clause::speaker(&event.text);
        for found in clauses(text) {
            let text = clause::without_lead(&found.text).to_owned();
            let weight = statement_weight(&found, &text);
            let candidate = Candidate::new(PointKind::Said, text, at, weight);
            candidates.push(candidate.said_by(speaker));
        }
    }
    candidates.retain(|candidate| candidate.terms.len() >= LEAST_TERMS);
    let value = |term: Term| seen.rarity(term) * vocabulary.frequency(term);
    let mut choice = Choice::new(&candidates, &value).with_repeated_event(0.7);
    choice.add(MOST_WORDS, |_| true);
    let points = choice.points();
    Summary {
        title: heading::of_talk(&points, &|term| seen.rarity(term)),
        keywords: heading::keywords(events, &choice.covered, &|term, count| match count {
            0 | 1 => 0.0,
            count => (1.0 + count as f64).ln() * seen.rarity(term),
        }),
        points,
        files: Vec::new(),
        commits: 0,
        note: None,
    }
}

fn statement_weight(found: &Clause, text: &str) -> f64 {
    clause::statement_weight(&Clause {
        text: text.to_owned(),
        is_question: found.is_question,
    })
}

/// Summarizes work with an agent: what was asked, found, decided, done, committed and left open.
fn work(
    events: &[Event],
    seen: &SegmentWords,
    vocabulary: &Vocabulary,
    files: &[String],
) -> Summary {
    const LEAST_TERMS: usize = 3;
    /// The clauses of a prompt that are surely the user's own.
    const OWN_WORDS: usize = 8;
    let mut candidates = Vec::new();
    let mut committed = HashSet::new();
    for (at, event) in events.iter().enumerate() {
        let tool = event.tool.as_deref().unwrap_or_default();
        if event.kind != MessageKind::ToolCall || !makes_commit(tool, &event.text) {
            continue;
        }
        for subject in commit::subjects(&event.text) {
            let text = crate::core::text::display::safe_line(subject);
            if committed.insert(text.clone()) {
                candidates.push(Candidate::new(PointKind::Committed, text, at, 1.0));
            }
        }
    }
    let said = texts(events);
    let last_asked = said.iter().rposition(|(_, event)| is_asked(event));
    for (number, (at, event)) in said.iter().enumerate() {
        let is_first = !said[..number].iter().any(|(_, event)| is_asked(event));
        let ends_turn = said.get(number + 1).is_none_or(|(_, next)| is_asked(next));
        let is_last = number + 1 == said.len();
        for (place_in_text, found) in clauses_of(event).iter().enumerate() {
            if found.terms.len() < LEAST_TERMS {
                continue;
            }
            let (kind, weight) = if is_asked(event) && place_in_text >= OWN_WORDS {
                // The later part of a long request is mostly pasted.
                (PointKind::Asked, 0.3)
            } else if is_asked(event) {
                let first = if is_first { 2.5 } else { 1.0 };
                (PointKind::Asked, found.answer.1 * first)
            } else {
                let (kind, weight) = found.answer;
                let is_left = last_asked.is_none_or(|asked| number > asked) && ends_turn;
                // What was open before the last prompt is mostly not open any more.
                let kind = match kind {
                    PointKind::Open if !is_left => PointKind::Done,
                    kind => kind,
                };
                let place = if is_last {
                    1.2
                } else if ends_turn {
                    1.0
                } else {
                    0.4
                };
                (kind, weight * place)
            };
            let weight = if found.clause.is_question && kind != PointKind::Asked {
                weight * 0.3
            } else {
                weight * found.prose
            };
            candidates.push(Candidate::of_clause(found, kind, *at, weight));
        }
    }
    let value = |term: Term| vocabulary.frequency(term);
    let mut choice = Choice::new(&candidates, &value);
    choice.add(COMMIT_WORDS, |kind| kind == PointKind::Committed);
    choice.add(ASKED_WORDS, |kind| kind == PointKind::Asked);
    choice.limit_kinds(MOST_OF_KIND);
    let left = MOST_WORDS.saturating_sub(choice.words);
    choice.add(left, |kind| {
        !matches!(kind, PointKind::Committed | PointKind::Asked)
    });
    let typical = |kind| {
        let worth = |candidate: &Candidate<'_>| candidate.typical(&|term| vocabulary.count(term));
        let of_kind = candidates.iter().filter(|found| found.kind == kind);
        let best = of_kind.rev().max_by(|a, b| worth(a).total_cmp(&worth(b)));
        best.map(|found| found.text.as_ref())
    };
    let done = [PointKind::Done, PointKind::Problem, PointKind::Decided];
    let title = heading::of_work(
        typical(PointKind::Asked),
        typical(PointKind::Committed),
        done.iter().find_map(|kind| choice.first(*kind)),
    );
    let title = if title.is_empty() {
        heading::of_calls(events, files)
    } else {
        title
    };
    let in_files: TermSet = files.iter().flat_map(|file| terms(file)).collect();
    Summary {
        title,
        keywords: heading::keywords(events, &choice.covered, &|term, count| {
            let of_files = if in_files.contains(&term) { 2.0 } else { 1.0 };
            (count as f64).ln_1p() * (0.5 + seen.rarity(term)) * of_files
        }),
        points: choice.points(),
        files: files.to_vec(),
        commits: committed.len(),
        note: None,
    }
}

fn is_asked(event: &Event) -> bool {
    event.role == Role::User
}

/// Returns the messages of people and agents, with their indices.
fn texts(events: &[Event]) -> Vec<(usize, &Event)> {
    let said = |(_, event): &(usize, &Event)| {
        event.kind == MessageKind::Text && matches!(event.role, Role::User | Role::Assistant)
    };
    events.iter().enumerate().filter(said).collect()
}

/// Chooses among the points of the children of a node; returns their indices in order.
pub fn choose_points(points: &[&Point]) -> Vec<usize> {
    let candidates: Vec<Candidate<'_>> = points
        .iter()
        .enumerate()
        .map(|(at, point)| {
            let says = |weight: f64| weight * clause::prose_weight(&point.text);
            let weight = match point.kind {
                PointKind::Committed | PointKind::Said => 1.0,
                PointKind::Asked => says(clause::request_weight(&point.text)),
                PointKind::Open => says(0.6),
                _ => says(clause::answer_kind(&point.text).1),
            };
            Candidate::new(point.kind, point.text.as_str(), at, weight)
        })
        .collect();
    let mut counts: TermMap<usize> = TermMap::default();
    for term in candidates
        .iter()
        .flat_map(|candidate| candidate.terms.iter())
    {
        *counts.entry(*term).or_default() += 1;
    }
    let value = |term: Term| 1.0 + 0.3 * (counts.get(&term).copied().unwrap_or(0) as f64).ln_1p();
    let mut choice = Choice::new(&candidates, &value);
    choice.add(COMMIT_WORDS, |kind| kind == PointKind::Committed);
    choice.add(ASKED_WORDS, |kind| kind == PointKind::Asked);
    choice.limit_kinds(MOST_OF_KIND);
    let left = MOST_WORDS.saturating_sub(choice.words);
    choice.add(left, |kind| {
        !matches!(kind, PointKind::Committed | PointKind::Asked)
    });
    let mut chosen: Vec<usize> = choice
        .chosen
        .iter()
        .map(|at| candidates[*at].event)
        .collect();
    chosen.sort_unstable();
    chosen
}

/// Returns the keywords that are first in most children, without those that the points say.
pub fn choose_keywords<'a>(
    children: impl IntoIterator<Item = &'a [String]>,
    points: &[&Point],
) -> Vec<String> {
    const MOST: usize = 7;
    let said: TermSet = points.iter().flat_map(|point| terms(&point.text)).collect();
    let mut worths: BTreeMap<&str, f64> = BTreeMap::new();
    for (rank, keyword) in children
        .into_iter()
        .flat_map(|child| child.iter().enumerate())
    {
        if !terms(keyword).iter().any(|term| said.contains(term)) {
            *worths.entry(keyword).or_default() += 1.0 / (1.0 + rank as f64);
        }
    }
    let mut ranked: Vec<(&str, f64)> = worths.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ranked = ranked.into_iter().take(MOST);
    ranked.map(|(keyword, _)| keyword.to_owned()).collect()
}

impl Point {
    fn new(kind: PointKind, text: String) -> Self {
        Self {
            kind,
            speaker: None,
            text,
        }
    }
}
