//! Marks texts in lines that are already laid out. A text may be wrapped onto several lines.

use std::cmp::Reverse;
use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use regex::{Regex, RegexBuilder};

use crate::core::search::find::Term;

/// Texts to mark.
#[derive(Debug, Clone, Default)]
pub(crate) struct MarkedWords {
    words: Vec<Regex>,
}

impl MarkedWords {
    /// Creates a matcher of these texts, whatever their case; each is one text, blanks included.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let found = texts.into_iter().filter_map(|text| {
            let words: Vec<String> = text.split_whitespace().map(regex::escape).collect();
            let pattern = words.join(r"\s+");
            let mut builder = RegexBuilder::new(&pattern);
            let regex = builder.case_insensitive(true).build();
            regex.ok().filter(|_| !words.is_empty())
        });
        Self {
            words: found.collect(),
        }
    }

    /// Creates a matcher of the terms of a search.
    pub(crate) fn of_terms(terms: &[Term]) -> Self {
        Self {
            words: terms.iter().map(|term| term.regex().clone()).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether every one is in the text.
    pub(crate) fn all_in(&self, text: &str) -> bool {
        !self.is_empty() && self.words.iter().all(|word| word.is_match(text))
    }

    /// Returns the lines of a text that have every one, from 0. If the text has them only on
    /// different lines, that is the first line with the most of them.
    pub(crate) fn lines_in(&self, text: &str) -> Vec<usize> {
        let Some((first, others)) = self.words.split_first() else {
            return Vec::new();
        };
        if !self.all_in(text) {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let (mut at, mut number) = (0, 0);
        for found in first.find_iter(text) {
            number += memchr::memchr_iter(b'\n', &text.as_bytes()[at..found.start()]).count();
            at = found.start();
            if lines.last() == Some(&number) {
                continue;
            }
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let line = text[start..].lines().next().unwrap_or_default();
            if others.iter().all(|word| word.is_match(line)) {
                lines.push(number);
            }
        }
        if lines.is_empty() {
            let count = |line: &str| self.words.iter().filter(|word| word.is_match(line)).count();
            let numbered = text.lines().enumerate();
            let best = numbered.max_by_key(|(number, line)| (count(line), Reverse(*number)));
            lines.extend(best.map(|(number, _)| number));
        }
        lines
    }

    /// Returns the first of the lines on which the most of the texts are closest together.
    pub(crate) fn best_line(&self, lines: &[Line<'_>]) -> Option<usize> {
        let joined = JoinedLines::of(lines);
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (number, word) in self.words.iter().enumerate() {
            let found = word.find_iter(&joined.text);
            places.extend(found.map(|found| (joined.line_at(found.start()), number)));
        }
        places.sort_unstable();
        places.dedup();
        let mut counts = vec![0_usize; self.words.len()];
        let wanted = self.words.len()
            - (0..self.words.len())
                .filter(|word| places.iter().all(|(_, other)| other != word))
                .count();
        let (mut distinct, mut first) = (0, 0);
        let mut best: Option<(usize, usize)> = None;
        for (line, word) in &places {
            counts[*word] += 1;
            distinct += usize::from(counts[*word] == 1);
            while distinct == wanted {
                let (start, dropped) = places[first];
                let height = line - start;
                if best.is_none_or(|(least, _)| height < least) {
                    best = Some((height, start));
                }
                counts[dropped] -= 1;
                distinct -= usize::from(counts[dropped] == 0);
                first += 1;
            }
        }
        best.map(|(_, line)| line)
    }

    /// Returns the lines with `style` added to the texts.
    pub(crate) fn mark(&self, lines: Vec<Line<'static>>, style: Style) -> Vec<Line<'static>> {
        if self.is_empty() {
            return lines;
        }
        let joined = JoinedLines::of(&lines);
        let mut places: Vec<Range<usize>> = self
            .words
            .iter()
            .flat_map(|word| word.find_iter(&joined.text).map(|found| found.range()))
            .filter(|place| !place.is_empty())
            .collect();
        if places.is_empty() {
            return lines;
        }
        places.sort_by_key(|place| (place.start, place.end));
        let numbered = lines.into_iter().enumerate();
        numbered
            .map(|(number, line)| {
                let here = joined.places_in(number, &places);
                if here.is_empty() {
                    line
                } else {
                    mark_line(line, &here, style)
                }
            })
            .collect()
    }
}

/// The text of several lines, with one blank where it was wrapped.
struct JoinedLines {
    text: String,
    /// For each line the start in `text`, and the range of the line that is in it.
    parts: Vec<(usize, Range<usize>)>,
}

impl JoinedLines {
    fn of(lines: &[Line<'_>]) -> Self {
        let mut joined = Self {
            text: String::new(),
            parts: Vec::new(),
        };
        for line in lines {
            let text: String = line
                .spans
                .iter()
                .map(|span| span.content.as_ref())
                .collect();
            let trimmed = text.trim_start_matches([' ', '│']);
            let start = text.len() - trimmed.len();
            let trimmed = trimmed.trim_end();
            joined
                .parts
                .push((joined.text.len(), start..start + trimmed.len()));
            joined.text.push_str(trimmed);
            joined.text.push(' ');
        }
        joined
    }

    fn line_at(&self, offset: usize) -> usize {
        let after = self.parts.partition_point(|(start, _)| *start <= offset);
        after.saturating_sub(1)
    }

    /// Returns the parts of sorted places that are in a line, as ranges of the line.
    fn places_in(&self, line: usize, places: &[Range<usize>]) -> Vec<Range<usize>> {
        let Some((start, part)) = self.parts.get(line) else {
            return Vec::new();
        };
        let end = start + part.len();
        let here = places
            .iter()
            .filter(|place| place.start < end && place.end > *start);
        here.map(|place| {
            let from = place.start.max(*start) - start + part.start;
            let to = place.end.min(end) - start + part.start;
            from..to
        })
        .collect()
    }
}

fn mark_line(line: Line<'static>, places: &[Range<usize>], style: Style) -> Line<'static> {
    let mut spans = Vec::with_capacity(line.spans.len() + 2 * places.len());
    let mut at = 0;
    for span in &line.spans {
        let end = at + span.content.len();
        let mut from = at;
        for place in places.iter().filter(|p| p.start < end && p.end > at) {
            let (start, stop) = (place.start.max(from), place.end.min(end));
            if start >= stop {
                continue;
            }
            let piece = |range: Range<usize>| span.content[range].to_owned();
            spans.push(Span::styled(piece(from - at..start - at), span.style));
            spans.push(Span::styled(
                piece(start - at..stop - at),
                span.style.patch(style),
            ));
            from = stop;
        }
        spans.push(Span::styled(
            span.content[from - at..].to_owned(),
            span.style,
        ));
        at = end;
    }
    spans.retain(|span| !span.content.is_empty());
    Line { spans, ..line }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;

    fn marked(lines: Vec<Line<'static>>, words: &MarkedWords) -> Vec<String> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let lines = words.mark(lines, bold);
        let spans = lines.iter().flat_map(|line| &line.spans);
        spans
            .filter(|span| span.style == bold)
            .map(|span| span.content.to_string())
            .collect()
    }

    #[test]
    fn texts_are_marked_across_spans_and_whatever_their_case() {
        let line = Line::from(vec![Span::raw("Use Refresh"), Span::raw("Tokens, Straße")]);
        let words = MarkedWords::new(["hto", "STRASSE", "straße", ""]);
        assert_eq!(marked(vec![line], &words), ["h", "To", "Straße"]);
        assert!(!words.all_in("refreshtokens"), "all of them must be there");
    }

    #[test]
    fn a_phrase_is_one_text_and_may_be_wrapped() {
        let lines = vec![
            Line::from("This is the key of it, and the key"),
            Line::from("   change is that it holds"),
            Line::from("   a change"),
        ];
        let words = MarkedWords::new(["key change is that"]);
        assert_eq!(marked(lines.clone(), &words), ["key", "change is that"]);
        assert_eq!(words.best_line(&lines), Some(0));
        assert!(words.all_in("the key\nchange is that"));
        assert!(!words.all_in("change is that key"));
    }

    #[test]
    fn every_line_with_all_texts_is_a_place() {
        let words = MarkedWords::new(["tab", "token"]);
        let text = "a tab\nthe tab and its token, a tab\n\ntoken of a tab\n";
        assert_eq!(words.lines_in(text), [1, 3]);
        assert_eq!(
            words.lines_in("none\na tab\na token\n"),
            [1],
            "the first of several"
        );
        assert!(words.lines_in("a tab").is_empty());
        let wrapped = MarkedWords::new(["key change"]);
        assert_eq!(wrapped.lines_in("x\nthe key\nchange\n"), [1]);
    }

    #[test]
    fn the_best_line_has_the_texts_close_together() {
        let lines = |texts: &[&str]| -> Vec<Line<'static>> {
            texts
                .iter()
                .map(|text| Line::from((*text).to_owned()))
                .collect()
        };
        let words = MarkedWords::new(["is", "token"]);
        let text = lines(&["This", "more", "here is a token", "token"]);
        assert_eq!(words.best_line(&text), Some(2));
        assert_eq!(words.best_line(&lines(&["x", "a token"])), Some(1));
        assert_eq!(words.best_line(&lines(&["x"])), None);
    }

    #[test]
    fn no_words_mark_nothing() {
        let lines = vec![Line::from("as it is")];
        let none = MarkedWords::default();
        assert_eq!(none.mark(lines.clone(), Style::new()), lines);
        assert!(!none.all_in("x"));
        assert_eq!(none.best_line(&lines), None);
    }
}
