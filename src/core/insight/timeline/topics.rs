//! Topics: bullets of the timeline that are about the same, over all sessions.
//!
//! In the order of time, a bullet joins the group whose middle is nearest, or begins one; groups with
//! near middles are joined, and then every bullet goes to the nearest middle. The result is the same
//! whenever it is made.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::tz::TimeZone;
use serde::Serialize;

use super::grip::Grip;
use super::json::json_time;
use super::node::NodeId;
use super::record::{LogRecord, Record};
use super::summarize::{Point, terms};
use crate::core::disk::parallel::on_all_cores;
use crate::core::insight::semantic::{Centre, Semantic, add, dot, shorten};
use crate::core::text::{Term, words};

/// The smallest cosine of a bullet with the middle of its topic.
const NEAR: f32 = 0.5;
/// The fewest bullets and segments of a topic.
const FEWEST: (usize, usize) = (3, 2);
/// The most bullets that are compared, of which the newest count.
const MOST: usize = 10_000;
/// The most words of a name.
const NAME_WORDS: usize = 3;

/// What several parts of sessions are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Topic {
    /// The words that tell it from others.
    pub name: String,
    /// The bullet in its middle.
    pub line: String,
    /// The time of its first bullet, in milliseconds since 1970 UTC.
    #[serde(with = "json_time")]
    pub first: i64,
    /// The time of its last one.
    #[serde(with = "json_time")]
    pub last: i64,
    /// The number of bullets.
    pub count: usize,
    /// The number of bullets in each month that has some, such as `2026-01`.
    pub months: BTreeMap<String, usize>,
    /// The ids of the segments, in the order of time.
    pub nodes: Vec<String>,
}

/// A bullet with its segment.
type Bullet<'a> = (&'a Record, &'a (Point, Grip));

/// Groups the bullets of the segments.
pub(super) fn topics<'a>(
    logs: impl IntoIterator<Item = &'a LogRecord>,
    semantic: &Semantic,
    zone: &TimeZone,
) -> Vec<Topic> {
    let segments = logs.into_iter().flat_map(|log| &log.segments);
    let bullets = segments.flat_map(|segment| segment.points.iter().map(move |one| (segment, one)));
    let mut bullets: Vec<Bullet<'a>> = bullets.collect();
    bullets.sort_by(|a, b| (a.1.1.timestamp, &a.1.1.id).cmp(&(b.1.1.timestamp, &b.1.1.id)));
    bullets.drain(..bullets.len().saturating_sub(MOST));
    let texts: Vec<&str> = bullets.iter().map(|(_, (point, _))| &*point.text).collect();
    let vectors: Vec<Vec<f32>> = semantic.directions(&texts, |directions| {
        let centre = Centre::of(directions);
        directions.iter().map(|one| centre.without(one)).collect()
    });
    let counts = counts(&texts);
    let mut topics: Vec<Topic> = groups(&vectors)
        .iter()
        .filter_map(|(middle, group)| topic(&bullets, &vectors, (middle, group), (&counts, zone)))
        .collect();
    topics.sort_by(|a, b| (b.count, a.first, &a.name).cmp(&(a.count, b.first, &b.name)));
    topics
}

/// Returns the nearest of some middles, if one is near.
fn nearest<'a>(vector: &[f32], middles: impl Iterator<Item = &'a Vec<f32>>) -> Option<usize> {
    let cosines = middles.map(|middle| dot(vector, middle)).zip(0..);
    let near = cosines.filter(|(cosine, _)| *cosine >= NEAR);
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    best.map(|(_, at)| at)
}

/// Lets each vector join the nearest group, or begin one. Returns the sums of the groups of at least so
/// many.
fn joined<'a>(vectors: impl Iterator<Item = &'a Vec<f32>>, fewest: usize) -> Vec<Vec<f32>> {
    let mut middles: Vec<Vec<f32>> = Vec::new();
    let mut sums: Vec<(Vec<f32>, usize)> = Vec::new();
    for vector in vectors {
        let mut unit = vector.clone();
        shorten(&mut unit);
        match nearest(&unit, middles.iter()) {
            Some(at) => {
                let (sum, count) = &mut sums[at];
                add(sum, vector);
                *count += 1;
                middles[at].clone_from(sum);
                shorten(&mut middles[at]);
            }
            None => {
                middles.push(unit);
                sums.push((vector.clone(), 1));
            }
        }
    }
    let large = sums.into_iter().filter(|(_, count)| *count >= fewest);
    large.map(|(sum, _)| sum).collect()
}

/// Returns the middles of the groups with the vectors in each.
fn groups(vectors: &[Vec<f32>]) -> Vec<(Vec<f32>, Vec<usize>)> {
    let known = vectors.iter().filter(|vector| dot(vector, vector) > 0.0);
    // Most bullets are alone.
    let mut sums = joined(known, 2);
    sums.sort_by(|a, b| dot(b, b).total_cmp(&dot(a, a)));
    let mut middles = joined(sums.iter(), 1);
    middles.iter_mut().for_each(|middle| shorten(middle));
    let nearest = on_all_cores(vectors.len(), |at| nearest(&vectors[at], middles.iter()));
    let mut groups: Vec<(Vec<f32>, Vec<usize>)> = middles
        .into_iter()
        .map(|middle| (middle, Vec::new()))
        .collect();
    for (at, group) in nearest.into_iter().enumerate() {
        if let Some(group) = group {
            groups[group].1.push(at);
        }
    }
    groups
}

/// How many texts have each term.
fn counts(texts: &[&str]) -> HashMap<Term, usize> {
    let mut counts = HashMap::new();
    for term in texts.iter().flat_map(|text| terms(text)) {
        *counts.entry(term).or_default() += 1;
    }
    counts
}

/// Returns the topic of a group; `None` if it is too small.
fn topic(
    bullets: &[Bullet<'_>],
    vectors: &[Vec<f32>],
    (middle, group): (&[f32], &[usize]),
    (counts, zone): (&HashMap<Term, usize>, &TimeZone),
) -> Option<Topic> {
    let cosine = |at: &usize| dot(&vectors[*at], middle);
    let central = group.iter().rev();
    let central = central.max_by(|a, b| cosine(a).total_cmp(&cosine(b)))?;
    let mut months: BTreeMap<String, usize> = BTreeMap::new();
    let mut nodes: BTreeSet<(i64, String)> = BTreeSet::new();
    for at in group {
        let (segment, (_, grip)) = bullets[*at];
        if let NodeId::Day(day) = NodeId::day_of(grip.timestamp, zone) {
            *months.entry(day.strftime("%Y-%m").to_string()).or_default() += 1;
        }
        nodes.insert((segment.from, segment.node(zone).to_string()));
    }
    let is_large = group.len() >= FEWEST.0 && nodes.len() >= FEWEST.1;
    let texts: Vec<&str> = group.iter().map(|at| &*bullets[*at].1.0.text).collect();
    is_large.then(|| Topic {
        name: name(&texts, counts, bullets.len()),
        line: bullets[*central].1.0.text.clone(),
        first: bullets[group[0]].1.1.timestamp,
        last: bullets[group[group.len() - 1]].1.1.timestamp,
        count: group.len(),
        months,
        nodes: nodes.into_iter().map(|(_, node)| node).collect(),
    })
}

/// Returns the words that many of these texts have and few others, as they are first written.
fn name(texts: &[&str], counts: &HashMap<Term, usize>, all: usize) -> String {
    let mut own: HashMap<Term, (usize, &str, usize)> = HashMap::new();
    for text in texts {
        let mut seen: Vec<Term> = Vec::new();
        for word in words(text).map(|word| word.text) {
            if let [term] = terms(word)[..]
                && !seen.contains(&term)
            {
                let place = own.len();
                own.entry(term).or_insert((0, word, place)).0 += 1;
                seen.push(term);
            }
        }
    }
    let worth = |term: &Term, count: usize| {
        let others = counts.get(term).copied().unwrap_or(1) as f64;
        count as f64 * (all as f64 / others).ln()
    };
    let ranked = own
        .iter()
        .map(|(term, (count, word, place))| (worth(term, *count), *place, *word));
    let mut ranked: Vec<(f64, usize, &str)> = ranked.collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let best: Vec<&str> = ranked.iter().take(NAME_WORDS).map(|one| one.2).collect();
    best.join(", ")
}
