//! The order of the matches: the most promising lines are read again and scored in full.

use std::cell::RefCell;
use std::cmp::Reverse;

use nucleo::pattern::{Atom as Pattern, AtomKind, CaseMatching, Normalization};
use nucleo::{Config, Matcher, Utf32Str};

use super::group::LogLine;
use super::scan::{Search, TextMatcher};
use super::{Closeness, LineReader, Match, MatchSpot, SHOWN, line_of, wanted};
use crate::core::query::{Atom, Case, MatchMode, Query};
use crate::core::search::{HitSource, snippet, with_on_all_cores};

/// The quick score and position of a line that may be among the best.
pub(super) type Promising = (u32, MatchSpot);

/// The maximum number of lines that are scored in full.
pub(super) const MOST_RANKED: usize = 2000;
/// The same before everything is searched, when the order is not final.
pub(super) const FIRST_RANKED: usize = 250;
/// What the title of a memory and a heading are worth more than another line.
const TITLE: u32 = 30;
const HEADING: u32 = 10;
/// What a line of a memory is worth more than the same in a log.
const CURATED: u32 = 5;

thread_local! {
    /// Its table is large, and slow to allocate for every line.
    static NUCLEO: RefCell<Matcher> = RefCell::new(Matcher::new(Config::DEFAULT));
}

impl Search<'_> {
    /// Scores the `most` most promising lines, and puts them behind those of the kinds before.
    pub(super) fn rank(&mut self, matcher: &TextMatcher, most: usize) {
        keep_best(&mut self.promising, MOST_RANKED);
        let mut promising = self.promising.clone();
        keep_best(&mut promising, most);
        // Neighbours are ranked together, so that few blocks are opened twice.
        promising.sort_unstable_by_key(|(_, spot)| *spot);
        let patterns: Vec<Pattern> = wanted(self.request.query).map(pattern).collect();
        const TOGETHER: usize = 250;
        let chunks: Vec<&[Promising]> = promising.chunks(TOGETHER).collect();
        let own = || matcher.clone();
        let scored = with_on_all_cores(chunks.len(), own, |matcher, at| {
            let reader = LineReader::new(self.sources);
            let score = |quick: u32, spot: MatchSpot, line: &str| {
                let text = snippet::begin(line, SHOWN);
                let score = match &*matcher {
                    // A match behind the ranked part of the line counts for little.
                    TextMatcher::Terms(terms) => {
                        terms.score(text).max(quick / 10) + bonus(spot, text)
                    }
                    TextMatcher::Lines(_) => {
                        let scores = patterns
                            .iter()
                            .map(|pattern| letter_score(pattern, text).unwrap_or(1));
                        scores.sum()
                    }
                };
                Match {
                    closeness: self.closeness,
                    score,
                    spot,
                    line: None,
                }
            };
            let scored = chunks[at].iter().filter_map(|(quick, spot)| {
                if let MatchSpot::Message { .. } = spot {
                    return reader.message(*spot, |message| {
                        let line = line_of(message, *spot)?;
                        let found = Match {
                            line: Some(LogLine::new(message, line)),
                            ..score(*quick, *spot, line)
                        };
                        Some((found, message.time))
                    })?;
                }
                let line = reader.memory_line(*spot)?;
                Some((score(*quick, *spot, line), None))
            });
            scored.collect::<Vec<(Match, Option<i64>)>>()
        });
        let mut matches: Vec<(Match, Option<i64>)> = scored.into_iter().flatten().collect();
        // Of equal ones memories first, then what was said last.
        matches.sort_by_key(|(found, time)| {
            (
                Reverse(found.score),
                source(found.spot),
                Reverse(*time),
                found.spot,
            )
        });
        if self.closeness == Closeness::Letters {
            // Compared with lines that have the letters together, scattered ones are noise.
            let best = matches.first().map_or(0, |(found, _)| found.score);
            matches.retain(|(found, _)| found.score * 2 >= best);
        }
        let room = self.request.limit.saturating_sub(self.ranked.len());
        let matches = matches.into_iter().map(|(found, _)| found).take(room);
        self.found.matches = self.ranked.iter().copied().chain(matches).collect();
    }
}

fn bonus(spot: MatchSpot, text: &str) -> u32 {
    match spot {
        MatchSpot::Title(_) => TITLE + CURATED,
        MatchSpot::Line(..) if text.starts_with('#') => HEADING + CURATED,
        MatchSpot::Line(..) => CURATED,
        MatchSpot::Message { .. } => 0,
    }
}

/// Returns nucleo's score of a line; `None` if it does not match.
pub(super) fn letter_score(pattern: &Pattern, line: &str) -> Option<u32> {
    let mut chars = Vec::new();
    let text = Utf32Str::new(line, &mut chars);
    let score = NUCLEO.with_borrow_mut(|nucleo| pattern.score(text, nucleo));
    score.map(u32::from)
}

/// Returns the indices of the graphemes of a line that nucleo matches.
pub(super) fn letter_indices(query: &Query, line: &str) -> Vec<u32> {
    let mut chars = Vec::new();
    let mut found = Vec::new();
    NUCLEO.with_borrow_mut(|nucleo| {
        for atom in wanted(query) {
            pattern(atom).indices(Utf32Str::new(line, &mut chars), nucleo, &mut found);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

pub(super) fn pattern(atom: &Atom) -> Pattern {
    let case = match atom.case {
        Case::Ignored => CaseMatching::Ignore,
        Case::Kept => CaseMatching::Respect,
    };
    let kind = match atom.form {
        MatchMode::Fuzzy => AtomKind::Fuzzy,
        MatchMode::Exact | MatchMode::Word => AtomKind::Substring,
        MatchMode::Start => AtomKind::Prefix,
        MatchMode::End => AtomKind::Postfix,
        MatchMode::Line => AtomKind::Exact,
    };
    Pattern::new(&atom.text, case, Normalization::Smart, kind, false)
}

fn source(spot: MatchSpot) -> HitSource {
    match spot {
        MatchSpot::Title(_) | MatchSpot::Line(..) => HitSource::Detail,
        MatchSpot::Message { .. } => HitSource::Messages,
    }
}

/// Keeps the `most` most promising lines, at least one; returns the least of them if there were more.
pub(super) fn keep_best(promising: &mut Vec<Promising>, most: usize) -> Option<Promising> {
    if promising.len() <= most {
        return None;
    }
    let (_, least, _) = promising.select_nth_unstable_by_key(most - 1, order);
    let least = *least;
    promising.truncate(most);
    Some(least)
}

/// Whether a line is more promising than another.
pub(super) fn is_better(line: &Promising, other: &Promising) -> bool {
    order(line) < order(other)
}

/// The most promising first, and of equal ones the first.
fn order((score, spot): &Promising) -> (Reverse<u32>, MatchSpot) {
    (Reverse(*score), *spot)
}
