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
mod report;
mod request;
mod talk;
mod word;
mod work;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::event::{Event, Texts};
use super::files::changed_files;
use crate::core::log::{MessageKind, Role};
use crate::core::text::Term;

pub use analysis::TextAnalysis;
pub(super) use analysis::{changes_of, commit_acts_of};
pub use bullet::{BulletText, bullets, joined};
pub(in crate::core) use choose::terms;
use choose::{Candidate, Choice, Vocabulary};

pub use choose::SegmentWords;
pub(in crate::core::insight) use request::{is_wish, without_request};
pub(in crate::core::insight) use work::statement;

/// What a point says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointKind {
    /// What the user asked for.
    Asked,
    /// A choice of the person.
    Decided,
    /// What the agent reported at the end of a turn.
    Reported,
    /// The subject of a commit.
    Committed,
    /// The title of a pull request.
    Requested,
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
    /// The line of its message on which it begins, from 1.
    #[serde(default = "first_line", skip_serializing_if = "is_first_line")]
    pub line: usize,
}

fn first_line() -> usize {
    1
}

fn is_first_line(line: &usize) -> bool {
    *line == 1
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
    /// The events that made the commits that stand in the end, told or not.
    pub commits: Vec<usize>,
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
const MOST_OF_KIND: usize = 80;

/// The most words of what was asked after the first request, and of the commits.
const ASKED_WORDS: usize = 36;
const COMMIT_WORDS: usize = 84;

/// Summarizes events. Those before `own` are context, whose words count. `seen` holds the words of
/// the segments up to this one.
pub fn summarize(events: &[Event], own: usize, seen: &SegmentWords, cwd: Option<&str>) -> Summary {
    let own_events = &events[own..];
    let mut summary = if talk::is_talk(own_events) {
        talk::talk(own_events, seen)
    } else {
        let vocabulary = Vocabulary::of(events);
        work::work(own_events, &vocabulary, &changed_files(own_events, cwd))
    };
    let points = summary.points.iter_mut().map(|(_, event)| event);
    for event in points.chain(&mut summary.commits) {
        *event += own;
    }
    summary
}

/// Returns the messages of people and agents, with their indices.
fn texts(events: &[Event]) -> Vec<(usize, &Event)> {
    let said = |(_, event): &(usize, &Event)| {
        event.kind == MessageKind::Text && matches!(event.role, Role::User | Role::Assistant)
    };
    events.iter().enumerate().filter(said).collect()
}

/// Chooses among the points of several sessions; returns their indices in order.
pub fn choose_points(points: &[&Point]) -> Vec<usize> {
    choose_among(points, choose)
}

/// Chooses points of these kinds, of at most so many words.
pub fn choose_of(points: &[&Point], kinds: &[PointKind], words: usize) -> Vec<usize> {
    choose_among(points, |choice| {
        choice.add(words, |kind| kinds.contains(&kind))
    })
}

fn choose_among(points: &[&Point], choose: impl Fn(&mut Choice<'_>)) -> Vec<usize> {
    let candidates: Vec<Candidate<'_>> = points
        .iter()
        .enumerate()
        .map(|(at, point)| {
            let weight = match point.kind {
                PointKind::Requested => 2.0,
                PointKind::Committed => commit::weight(&point.text),
                _ => 1.0,
            };
            Candidate::new(point.kind, point.text.as_str(), at, weight)
        })
        .collect();
    let mut counts: FxHashMap<Term, usize> = FxHashMap::default();
    for term in candidates
        .iter()
        .flat_map(|candidate| candidate.terms.iter())
    {
        *counts.entry(*term).or_default() += 1;
    }
    let value = |term: Term| 1.0 + 0.3 * (counts.get(&term).copied().unwrap_or(0) as f64).ln_1p();
    let mut choice = Choice::new(&candidates, &value);
    choose(&mut choice);
    let mut chosen: Vec<usize> = choice
        .chosen
        .iter()
        .map(|at| candidates[*at].event)
        .collect();
    chosen.sort_unstable();
    chosen
}

/// Chooses of all kinds: commits and requests first.
fn choose(choice: &mut Choice<'_>) {
    let is_made = |kind| matches!(kind, PointKind::Committed | PointKind::Requested);
    choice.add(COMMIT_WORDS, is_made);
    choice.add(ASKED_WORDS, |kind| kind == PointKind::Asked);
    choice.limit_kinds(MOST_OF_KIND);
    let left = MOST_WORDS.saturating_sub(choice.words);
    choice.add(left, |kind| !is_made(kind) && kind != PointKind::Asked);
}

/// Returns the keywords that are first in most children; none if there are too few.
pub fn choose_keywords<'a>(children: impl IntoIterator<Item = &'a [String]>) -> Vec<String> {
    let mut worths: BTreeMap<&str, f64> = BTreeMap::new();
    for child in children {
        for (keyword, rank) in child.iter().zip(1..) {
            *worths.entry(keyword).or_default() += 1.0 / f64::from(rank);
        }
    }
    let mut ranked: Vec<(&str, f64)> = worths.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ranked = ranked.into_iter().take(heading::MOST_KEYWORDS);
    ranked.map(|(keyword, _)| keyword.to_owned()).collect()
}

impl Point {
    fn new(kind: PointKind, text: String) -> Self {
        Self {
            kind,
            speaker: None,
            text,
            line: 1,
        }
    }
}
