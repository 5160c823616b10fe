//! Finds the segments that a query is about, each with its best line.

use std::collections::HashMap;

use super::grip::Grip;
use super::record::{LogRecord, Record};
use super::summarize::{Point, terms};
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
    /// Its point that fits best, if one has words of the query.
    pub line: Option<String>,
    /// The grips of its points that have words of the query, the best first.
    pub grips: Vec<String>,
    /// How well it fits; larger is better.
    pub score: f64,
}

/// Ranks the segments by BM25 over their titles, points and keywords.
pub(super) fn teleport<'a>(
    logs: impl IntoIterator<Item = &'a LogRecord>,
    query: &str,
    limit: usize,
) -> Vec<Teleport> {
    let wanted = terms(query);
    let logs = logs.into_iter();
    let segments = logs.flat_map(|log| log.segments.iter().map(move |segment| (log, segment)));
    let segments: Vec<(&LogRecord, &Record)> = segments.collect();
    let texts = segments.iter().map(|(_, segment)| counts(segment));
    let texts: Vec<HashMap<Term, usize>> = texts.collect();
    let lengths: Vec<usize> = texts.iter().map(|text| text.values().sum()).collect();
    let average = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
    let rarity = |term: &Term| {
        let count = texts.iter().filter(|text| text.contains_key(term)).count() as f64;
        ((texts.len() as f64 - count + 0.5) / (count + 0.5)).ln_1p()
    };
    let wanted: Vec<(Term, f64)> = wanted.iter().map(|term| (*term, rarity(term))).collect();
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
    found.truncate(limit);
    found
        .into_iter()
        .map(|(score, at)| {
            let (log, segment) = segments[at];
            let points = best_points(segment, &wanted);
            Teleport {
                node: segment.node().to_string(),
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
