//! Marks words in lines that are already laid out.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use regex::{Regex, RegexBuilder};

/// Words to mark, matched case-insensitively.
#[derive(Debug, Clone, Default)]
pub struct MarkedWords {
    words: Vec<Regex>,
}

impl MarkedWords {
    /// Creates a matcher of these words.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let words = words.into_iter().filter(|word| !word.is_empty());
        let found = words.filter_map(|word| {
            let mut builder = RegexBuilder::new(&regex::escape(word));
            builder.case_insensitive(true).build().ok()
        });
        Self {
            words: found.collect(),
        }
    }

    /// Whether there are no words to mark.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether every word is in the text.
    pub fn all_in(&self, text: &str) -> bool {
        !self.is_empty() && self.words.iter().all(|word| word.is_match(text))
    }

    /// Whether any word is in the line.
    pub fn any_in(&self, line: &Line<'_>) -> bool {
        !self.is_empty() && !self.ranges(&line.to_string()).is_empty()
    }

    /// Returns the line with `style` added to the words.
    pub fn mark(&self, line: Line<'static>, style: Style) -> Line<'static> {
        if self.is_empty() {
            return line;
        }
        let places = self.ranges(&line.to_string());
        if places.is_empty() {
            return line;
        }
        let mut spans = Vec::with_capacity(line.spans.len() + 2 * places.len());
        let mut at = 0;
        for span in &line.spans {
            let end = at + span.content.len();
            let mut from = at;
            for place in places.iter().filter(|p| p.start < end && p.end > at) {
                let (start, stop) = (place.start.max(at), place.end.min(end));
                if start < from {
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

    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = self
            .words
            .iter()
            .flat_map(|word| word.find_iter(text).map(|found| found.range()))
            .collect();
        places.sort_by_key(|place| (place.start, place.end));
        places
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;

    #[test]
    fn words_are_marked_across_spans_and_whatever_their_case() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let line = Line::from(vec![Span::raw("Use Refresh"), Span::raw("Tokens, Straße")]);
        let words = MarkedWords::new(["hto", "STRASSE", "straße", ""]);
        let marked = words.mark(line.clone(), bold);
        assert_eq!(marked.to_string(), line.to_string());
        let marked_texts: Vec<&str> = marked
            .spans
            .iter()
            .filter(|span| span.style == bold)
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(marked_texts, ["h", "To", "Straße"]);
        assert!(words.any_in(&line));
        assert!(!words.all_in("refreshtokens"), "all of them must be there");
    }

    #[test]
    fn no_words_mark_nothing() {
        let line = Line::from("as it is");
        assert_eq!(
            MarkedWords::default().mark(line.clone(), Style::new()),
            line
        );
        assert!(!MarkedWords::default().all_in("x"));
    }
}
