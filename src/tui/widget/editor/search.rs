//! Finding and replacing in the text of the editor.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::buffer::Place;
use super::motion::Way;

/// How what is looked for is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// As it stands.
    #[default]
    Literal,
    /// As a regular expression.
    Regex,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Needle {
    /// As it was typed.
    pub text: String,
    /// How it is written.
    pub syntax: Syntax,
    pattern: Regex,
}

impl Needle {
    /// What `text` looks for; letters of either case unless it has a capital. `None` for an empty
    /// text and for an expression that is not complete.
    pub fn new(text: &str, syntax: Syntax) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let source = match syntax {
            Syntax::Literal => regex::escape(text),
            Syntax::Regex => text.to_owned(),
        };
        let pattern = RegexBuilder::new(&source)
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .size_limit(1 << 20)
            .build()
            .ok()?;
        Some(Self {
            text: text.to_owned(),
            syntax,
            pattern,
        })
    }

    /// The matches in a line that are not empty.
    pub fn matches<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.pattern
            .find_iter(line)
            .map(|found| found.range())
            .filter(|range| !range.is_empty())
    }

    /// The next match from `from` on, or the last before it, going round at the end.
    pub(super) fn find(&self, lines: &[String], from: Place, way: Way) -> Option<Range<Place>> {
        let count = lines.len();
        // The first line comes again at the end, for the part on the other side of `from`.
        (0..=count).find_map(|step| {
            let row = match way {
                Way::On => (from.row + step) % count,
                Way::Back => (from.row + 2 * count - step) % count,
            };
            let mut matches = self.matches(&lines[row]);
            let found = match (way, step) {
                (Way::On, 0) => matches.find(|range| range.start >= from.at),
                (Way::Back, 0) => matches.take_while(|range| range.start < from.at).last(),
                (Way::On, _) => matches.next(),
                (Way::Back, _) => matches.last(),
            }?;
            Some(Place::new(row, found.start)..Place::new(row, found.end))
        })
    }

    /// What a match becomes; in regular expressions `$1` is a group.
    pub(super) fn replaced(&self, line: &str, found: &Range<usize>, with: &str) -> String {
        if self.syntax == Syntax::Literal {
            return with.to_owned();
        }
        let mut out = String::new();
        match self.pattern.captures_at(line, found.start) {
            Some(captures) => captures.expand(with, &mut out),
            None => out.push_str(with),
        }
        out
    }
}
