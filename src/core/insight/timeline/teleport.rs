//! Finds the nodes and grips that a query is about: ids only, never content.

use std::collections::HashMap;

use super::record::{LogRecord, Record};
use super::summarize::terms;
use crate::core::text::Term;

/// The most grips of a result.
const MOST_GRIPS: usize = 3;

/// A node that a query is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Teleport {
    /// The node's id.
    pub node: String,
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
    let segments: Vec<&Record> = logs.into_iter().flat_map(|log| &log.segments).collect();
    let texts: Vec<HashMap<Term, usize>> = segments.iter().map(|segment| counts(segment)).collect();
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
        .map(|(score, at)| Teleport {
            node: segments[at].node().to_string(),
            grips: grips(segments[at], &wanted),
            score,
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

fn grips(segment: &Record, wanted: &[(Term, f64)]) -> Vec<String> {
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
    ranked
        .map(|(_, at)| segment.points[at].1.id.clone())
        .collect()
}
