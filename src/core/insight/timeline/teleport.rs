//! Finds the segments that a query is about, each with its best line: by the paragraphs of what was said
//! in them and by their points, in turn; by the words, and the points by their meaning, too, if there is a
//! model.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use serde::Serialize;

use super::event::LogEvents;
use super::grip::Grip;
use super::json::json_time;
use super::paragraph::{Paragraph, paragraphs};
use super::record::{LogRecord, Record};
use super::summarize::{Point, terms};
use super::tree::copied;
use crate::core::insight::semantic::{Semantic, fuse};
use crate::core::search::index::Corpus;
use crate::core::text::Term;

/// The most grips of a result.
const MOST_GRIPS: usize = 3;

/// A node that a query is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Teleport {
    /// The node's id.
    pub node: String,
    /// Its title.
    pub title: String,
    /// When it began, in milliseconds since 1970 UTC.
    #[serde(with = "json_time")]
    pub from: i64,
    /// The working directory of its session.
    pub project: Option<String>,
    /// Its paragraph or point that fits best, if one has words of the query or is near it.
    pub line: Option<String>,
    /// The grips of that and of further points, the best first, each once.
    pub grips: Vec<String>,
    /// How well it fits: 1 for the first one; larger is better.
    pub score: f64,
}

/// The logs that are searched, by their indices in the corpus, and the zone of their days.
pub(super) struct Places<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) logs: Vec<(usize, &'a LogRecord)>,
    pub(super) zone: &'a TimeZone,
}

/// A segment that was found, and what was found in it, the best first.
struct Row<'a> {
    segment: usize,
    found: Vec<Passage<'a>>,
}

/// What was found in a segment.
enum Passage<'a> {
    /// A paragraph of what was said.
    Said(Paragraph),
    /// A point.
    Point(&'a Point, &'a Grip),
}

impl Passage<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Said(said) => &said.text,
            Self::Point(point, _) => &point.text,
        }
    }
}

/// Returns the segments that a query is about, the best first, and the grips of paragraphs in them, which
/// no record has.
pub(super) fn teleport(
    places: &Places<'_>,
    query: &str,
    limit: usize,
    semantic: Option<&Semantic>,
) -> (Vec<Teleport>, Vec<Grip>) {
    let logs: Vec<&LogRecord> = places.logs.iter().map(|(_, log)| *log).collect();
    let copied = copied(&logs);
    let segments = logs
        .iter()
        .flat_map(|log| log.segments.iter().map(|segment| (*log, segment)));
    let segments: Vec<(&LogRecord, &Record)> = segments
        .filter(|(_, segment)| !copied.contains(segment.id.as_str()))
        .collect();
    let said = by_what_was_said(places, &segments, query);
    let points = by_points(&segments, query, semantic);
    let rows = in_turn(said, points).into_iter().take(limit);
    let mut new = Vec::new();
    let found = rows.zip(1..).map(|(row, rank)| {
        let (log, segment) = segments[row.segment];
        let mut grips: Vec<String> = Vec::new();
        for passage in &row.found {
            let id = match passage {
                Passage::Point(_, grip) => Some(grip.id.clone()),
                Passage::Said(said) => places.grip(said).map(|grip| {
                    new.push(grip.clone());
                    grip.id
                }),
            };
            grips.extend(id.filter(|id| !grips.contains(id)));
        }
        grips.truncate(MOST_GRIPS);
        Teleport {
            node: segment.node(places.zone).to_string(),
            title: segment.title.clone(),
            from: segment.from,
            project: log.cwd.clone(),
            line: row.found.first().map(|passage| passage.text().to_owned()),
            grips,
            score: 1.0 / f64::from(rank),
        }
    });
    (found.collect(), new)
}

impl Places<'_> {
    /// Returns the grip of a paragraph.
    fn grip(&self, said: &Paragraph) -> Option<Grip> {
        let log = self.corpus.log(said.log)?;
        let event = LogEvents::of(self.corpus, said.log).event(said.at)?;
        Some(Grip::new(log.agent()?, log.id(), &event, said.text_line))
    }
}

/// Takes rows of both lists in turn; what both have of a segment is one row. The scores of the two
/// cannot be compared, and adding up their ranks would favour what both know a little of.
fn in_turn<'a>(first: Vec<Row<'a>>, second: Vec<Row<'a>>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut known: HashMap<usize, usize> = HashMap::new();
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    loop {
        let next = [first.next(), second.next()];
        if next.iter().all(Option::is_none) {
            return rows;
        }
        for row in next.into_iter().flatten() {
            match known.get(&row.segment) {
                Some(at) => rows[*at].found.extend(row.found),
                None => {
                    known.insert(row.segment, rows.len());
                    rows.push(row);
                }
            }
        }
    }
}

/// Returns the segments in which something was said with words of the query, each with its best
/// paragraph, the best first.
fn by_what_was_said<'a>(
    places: &Places<'_>,
    segments: &[(&LogRecord, &Record)],
    query: &str,
) -> Vec<Row<'a>> {
    let logs: HashMap<usize, &LogRecord> = places.logs.iter().copied().collect();
    let key = |log: &LogRecord, segment: &Record| (log.agent, segment.from, segment.start.clone());
    let own: HashMap<&str, usize> = segments
        .iter()
        .map(|(_, one)| one.id.as_str())
        .zip(0..)
        .collect();
    // What was said in a copy of a segment was said in the one that counts.
    let first: HashMap<_, usize> = segments
        .iter()
        .map(|(log, one)| key(log, one))
        .zip(0..)
        .collect();
    let found = paragraphs(places.corpus, query, &|log| logs.contains_key(&log));
    let mut seen = HashSet::new();
    let rows = found.into_iter().filter_map(|said| {
        let log = logs.get(&said.log)?;
        let line = places.corpus.line(said.at);
        // A store of events has the segments of several sessions in turn.
        let time = places.corpus.outline(said.at).and_then(|(time, _)| time);
        let holds = |one: &&Record| {
            let is_then = time.is_none_or(|time| (one.from..=one.to).contains(&time));
            (one.first_line..=one.last_line).contains(&line) && is_then
        };
        let segment = log.segments.iter().find(holds)?;
        let segment = own
            .get(segment.id.as_str())
            .or_else(|| first.get(&key(log, segment)));
        let segment = *segment?;
        seen.insert(segment).then(|| Row {
            segment,
            found: vec![Passage::Said(said)],
        })
    });
    rows.collect()
}

/// Ranks the segments by BM25 over their titles, points and keywords, and with a model by their nearest
/// point, too.
fn by_points<'a>(
    segments: &[(&'a LogRecord, &'a Record)],
    query: &str,
    semantic: Option<&Semantic>,
) -> Vec<Row<'a>> {
    let wanted = terms(query);
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
    let near = semantic.map(|semantic| near(segments, query, semantic));
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
    let near: HashMap<usize, &(Point, Grip)> = near.into_iter().flatten().collect();
    let rows = found.into_iter().map(|(_, segment)| {
        let mut points = best_points(segments[segment].1, &wanted);
        if let Some(nearest) = near.get(&segment) {
            points.retain(|point| point.1.id != nearest.1.id);
            points.insert(points.len().min(1), nearest);
        }
        let found = points
            .iter()
            .map(|(point, grip)| Passage::Point(point, grip));
        Row {
            segment,
            found: found.collect(),
        }
    });
    rows.collect()
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
