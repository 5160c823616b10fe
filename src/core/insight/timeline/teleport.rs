//! Finds the segments that a query is about, each with its best line: by its words, and by its meaning
//! if there is a model.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;

use super::grip::Grip;
use super::record::{LogRecord, Record};
use super::summarize::{Point, terms};
use crate::core::search::semantic::{Semantic, fuse};
use crate::core::text::Term;

/// The most grips of a result.
const MOST_GRIPS: usize = 3;

/// A node that a query is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Teleport {
    /// The node's id.
    pub node: String,
    /// Its title.
    pub title: String,
    /// When it began, in milliseconds since 1970 UTC.
    pub from: i64,
    /// The working directory of its session.
    pub project: Option<String>,
    /// Its point that fits best, if one has words of the query or is near it.
    pub line: Option<String>,
    /// The grips of its points that have words of the query or are near it, the best first.
    pub grips: Vec<String>,
    /// How well it fits; larger is better.
    pub score: f64,
}

/// Ranks the segments by BM25 over their titles, points and keywords, and with a model by their nearest
/// point, too.
pub(super) fn teleport<'a>(
    logs: impl IntoIterator<Item = &'a LogRecord>,
    query: &str,
    limit: usize,
    semantic: Option<&Semantic>,
    zone: &TimeZone,
) -> Vec<Teleport> {
    let wanted = terms(query);
    let logs = logs.into_iter();
    let segments = logs.flat_map(|log| log.segments.iter().map(move |segment| (log, segment)));
    // A session that goes on in a copy of its log has its segments twice.
    let mut seen = HashSet::new();
    let segments: Vec<(&LogRecord, &Record)> = segments
        .filter(|(log, segment)| seen.insert((log.agent, segment.from, &segment.start)))
        .collect();
    let texts = segments.iter().map(|(_, segment)| counts(segment));
    let texts: Vec<HashMap<Term, usize>> = texts.collect();
    let lengths: Vec<usize> = texts.iter().map(|text| text.values().sum()).collect();
    let average = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
    let rarity = |term: &Term| {
        let count = texts.iter().filter(|text| text.contains_key(term)).count() as f64;
        ((texts.len() as f64 - count + 0.5) / (count + 0.5)).ln_1p()
    };
    // The name of a project says where, and not what.
    let projects = segments.iter().filter_map(|(log, _)| log.cwd.as_deref());
    let projects: HashSet<&str> = projects.collect();
    let names = projects
        .iter()
        .filter_map(|cwd| cwd.rsplit(['/', '\\']).next());
    let names: HashSet<Term> = names.flat_map(terms).collect();
    let worth = |term: &Term| rarity(term) * if names.contains(term) { 0.3 } else { 1.0 };
    let wanted: Vec<(Term, f64)> = wanted.iter().map(|term| (*term, worth(term))).collect();
    let mut found: Vec<(f64, usize)> = texts
        .iter()
        .zip(&lengths)
        .map(|(text, length)| {
            let length = 1.2 * (0.25 + 0.75 * *length as f64 / average.max(1.0));
            let hits = wanted.iter().filter_map(|(term, rarity)| {
                let count = *text.get(term)? as f64;
                Some(rarity * count * 2.2 / (count + length))
            });
            hits.sum()
        })
        .zip(0..)
        .filter(|(score, _)| *score > 0.0)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let near = semantic.map(|semantic| near(&segments, query, semantic));
    if let Some(near) = &near {
        let by_words: Vec<usize> = found.iter().map(|(_, at)| *at).collect();
        let by_meaning: Vec<usize> = near.iter().map(|(at, _)| *at).collect();
        let fused = fuse(&by_words, &by_meaning).into_iter().map(|one| {
            let rank = if one.is_second {
                &by_meaning
            } else {
                &by_words
            };
            (one.score, rank[one.at])
        });
        let mut seen = HashSet::new();
        found = fused.filter(|(_, at)| seen.insert(*at)).collect();
    }
    found.truncate(limit);
    let near: HashMap<usize, &(Point, Grip)> = near.into_iter().flatten().collect();
    found
        .into_iter()
        .map(|(score, at)| {
            let (log, segment) = segments[at];
            let mut points = best_points(segment, &wanted);
            if let Some(nearest) = near.get(&at) {
                points.retain(|point| point.1.id != nearest.1.id);
                points.insert(points.len().min(1), nearest);
                points.truncate(MOST_GRIPS);
            }
            Teleport {
                node: segment.node(zone).to_string(),
                title: segment.title.clone(),
                from: segment.from,
                project: log.cwd.clone(),
                line: points.first().map(|(point, _)| point.text.clone()),
                grips: points.iter().map(|(_, grip)| grip.id.clone()).collect(),
                score,
            }
        })
        .collect()
}

/// The segments with a point that is near the query, the nearest first, each with that point.
fn near<'a>(
    segments: &[(&'a LogRecord, &'a Record)],
    query: &str,
    semantic: &Semantic,
) -> Vec<(usize, &'a (Point, Grip))> {
    let points = segments.iter().enumerate();
    let points =
        points.flat_map(|(at, (_, segment))| segment.points.iter().map(move |one| (at, one)));
    let points: Vec<(usize, &(Point, Grip))> = points.collect();
    let texts: Vec<&str> = points.iter().map(|(_, (point, _))| &*point.text).collect();
    let near = semantic.near(query, &texts).into_iter();
    let mut seen = HashSet::new();
    near.map(|(at, _)| points[at])
        .filter(|(segment, _)| seen.insert(*segment))
        .collect()
}

fn counts(segment: &Record) -> HashMap<Term, usize> {
    let points = segment.points.iter().map(|(point, _)| point.text.as_str());
    let keywords = segment.keywords.iter().map(String::as_str);
    let mut counts = HashMap::new();
    for text in points.chain(keywords).chain([segment.title.as_str()]) {
        for term in terms(text) {
            *counts.entry(term).or_default() += 1;
        }
    }
    counts
}

/// The points of a segment that have words of the query, the best first.
fn best_points<'a>(segment: &'a Record, wanted: &[(Term, f64)]) -> Vec<&'a (Point, Grip)> {
    let mut ranked: Vec<(f64, usize)> = segment
        .points
        .iter()
        .map(|(point, _)| {
            let own = terms(&point.text);
            let hits = wanted.iter().filter(|(term, _)| own.contains(term));
            hits.map(|(_, rarity)| rarity).sum()
        })
        .zip(0..)
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let ranked = ranked.into_iter().take(MOST_GRIPS);
    ranked.map(|(_, at)| &segment.points[at]).collect()
}
