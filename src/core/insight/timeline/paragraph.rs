//! The paragraphs of what people and agents said that have the words of a question.
//!
//! A session is not scored as a whole, and a neighbour adds nothing: what is looked for is the passage
//! itself. An answer of many paragraphs has one that is about the question; the others add a little.

use std::collections::HashSet;
use std::ops::Range;

use crate::core::disk::parallel::on_all_cores;
use crate::core::log::{MessageKind, Origin};
use crate::core::search::index::{Corpus, MessageAt, MessageFilter, Part, RankedMessage};
use crate::core::search::needle::Needles;
use crate::core::search::query::Filters;
use crate::core::search::recall::RANKED;
use crate::core::search::score::Rarity;
use crate::core::search::snippet;
use crate::core::text::display::safe_line;
use crate::core::text::words;

/// The share of the words that a message has in any of its paragraphs: an answer says what it is about
/// in one and the reason in another.
const WHOLE: f32 = 0.3;

/// A paragraph of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Paragraph {
    /// The log's index in [`Corpus::logs`].
    pub(super) log: usize,
    /// Where the message is.
    pub(super) at: MessageAt,
    /// The line of the message's text on which it begins, from 1.
    pub(super) text_line: usize,
    /// What it says around the first of the words, on one line, without secrets.
    pub(super) text: String,
    /// The relevance; comparable within one result only.
    pub(super) score: f32,
}

/// Returns the best paragraph of each message of these logs that has words of a question, best first.
pub(super) fn paragraphs(
    corpus: &Corpus,
    question: &str,
    allows: &dyn Fn(usize) -> bool,
) -> Vec<Paragraph> {
    let needles = Needles::of_text(question);
    if needles.is_empty() {
        return Vec::new();
    }
    let wanted = needles.wanted();
    let forms = corpus.look_up(&wanted, &[Part::Words]);
    let bytes = corpus.logs().map(|log| log.text_bytes(Part::Words)).sum();
    let rarity = Rarity::new(&forms.counts, bytes);
    let logs: Vec<bool> = (0..corpus.logs().len()).map(allows).collect();
    let filter = MessageFilter {
        logs: &logs,
        filters: &Filters::default(),
    };
    let ranked = corpus.rank(&forms, filter, &rarity, (RANKED, (0, 0)));
    let is_said = |(kind, origin)| kind == MessageKind::Text && origin != Origin::Injected;
    let messages = ranked.into_iter().flatten();
    let messages = messages.filter(|one| is_said(one.marks) && one.is_admitted);
    let messages: Vec<RankedMessage> = messages.collect();
    let found = on_all_cores(messages.len(), |number| {
        let RankedMessage { at, log, .. } = messages[number];
        let best = corpus.message(at, |message| best(message.text, &needles, &rarity));
        let (score, text_line, text) = best.flatten()?;
        Some(Paragraph {
            log,
            at,
            text_line,
            text,
            score,
        })
    });
    let mut found: Vec<Paragraph> = found.into_iter().flatten().collect();
    let place = |one: &Paragraph| (one.log, corpus.line(one.at));
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(place(a).cmp(&place(b))));
    // A session that goes on in a copy of its log has its messages twice.
    let mut seen = HashSet::new();
    found.retain(|one| corpus.identity(one.at).is_none_or(|id| seen.insert(id)));
    found
}

/// Returns the score, the line and the words of the best paragraph of a text.
fn best(text: &str, needles: &Needles, rarity: &Rarity) -> Option<(f32, usize, String)> {
    let places = needles.places(text);
    let mut best: Option<(f32, Range<usize>, usize)> = None;
    for span in spans(text) {
        let from = places.partition_point(|place| place.at < span.start);
        let to = places.partition_point(|place| place.at < span.end);
        let own = &places[from..to];
        let Some(first) = own.first() else {
            continue;
        };
        let length = words(&text[span.clone()]).count() as u32;
        let score = rarity.sum_of(&needles.counted(own), length);
        if best.as_ref().is_none_or(|(known, ..)| *known < score) {
            best = Some((score, span.clone(), first.at - span.start));
        }
    }
    let (score, span, at) = best?;
    let score = score + WHOLE * rarity.sum_once(&needles.counted(&places));
    let line = 1 + text[..span.start].matches('\n').count();
    let shown = safe_line(&snippet::around(&text[span], at));
    Some((score, line, shown))
}

/// Returns the paragraphs of a text; a heading belongs to the one below it.
fn spans(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    let mut goes_on = false;
    for line in text.split_inclusive('\n') {
        let span = at..at + line.len();
        at = span.end;
        let is_blank = line.trim().is_empty();
        match found.last_mut() {
            Some(last) if goes_on => last.end = span.end,
            _ if !is_blank => found.push(span),
            _ => {}
        }
        let is_open = found.last().is_some_and(|last| {
            let lines = text[last.clone()].trim_end();
            !lines.contains('\n') && is_heading(lines)
        });
        goes_on = !is_blank || is_open;
    }
    found
}

/// Whether a line is about what stands below it.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    let is_bold = || line.starts_with("**") && line.ends_with("**");
    line.starts_with('#') || line.ends_with(':') || is_bold()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::fixture::{TestHome, conversation};

    #[test]
    fn a_heading_belongs_to_the_paragraph_below_it() {
        let text = "One\ntwo.\n\n\n## Three\n\nfour\n\nfive\n";
        let spans: Vec<&str> = spans(text).into_iter().map(|span| &text[span]).collect();
        assert_eq!(spans, ["One\ntwo.\n\n", "## Three\n\nfour\n\n", "five\n"]);
    }

    #[test]
    fn the_paragraph_that_is_about_it_is_found_in_a_long_answer() {
        let answer = "All of it is done.\n\n1. The lock is new.\n\n2. Fast-forward checks stop at \
                      100 commits, so a deep history is refused.\n\nThe rest is small.";
        let home = TestHome::new(
            &[],
            &[
                conversation(&["is history fine?", "the history is fine", answer]),
                conversation(&["fast", "forward"]),
            ],
        );
        let corpus = home.corpus();
        let ask = |allows: &dyn Fn(usize) -> bool| {
            let found = paragraphs(&corpus, "why is a deep history refused", allows);
            let rows = found
                .into_iter()
                .map(|one| (one.log, one.text_line, one.text));
            rows.collect::<Vec<_>>()
        };
        let found = ask(&|_| true);
        let (log, line, text) = &found[0];
        assert_eq!((*log, *line), (0, 5), "{found:?}");
        assert!(text.starts_with("2. Fast-forward") && text.ends_with("refused."));
        assert!(found.iter().all(|(log, ..)| *log == 0), "{found:?}");
        assert!(ask(&|log| log == 1).is_empty());
    }
}
