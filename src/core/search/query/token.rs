//! The tokens of a query: words with their operators, phrases, filters.

use std::ops::Range;

use super::{Atom, Case, Filter, MatchMode, Polarity, QueryError};

/// A token of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The text without quotation marks and without `!`.
    text: &'a str,
    quoting: Quoting,
    pub(super) polarity: Polarity,
    /// The position of the whole token in the query, in bytes.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Bare,
    Quoted,
}

/// Splits a query into tokens.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Result<Token<'_>, QueryError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|c: char| !c.is_whitespace())?;
        let rest = &text[start..];
        let (polarity, skipped) = match rest.strip_prefix('!') {
            Some(more) if more.starts_with(|c: char| !c.is_whitespace()) => (Polarity::Unwanted, 1),
            _ => (Polarity::Wanted, 0),
        };
        let Some(quoted) = rest[skipped..].strip_prefix('"') else {
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            at = start + length;
            return Some(Ok(Token {
                text: &rest[skipped..length],
                quoting: Quoting::Bare,
                polarity,
                span: start..at,
            }));
        };
        let Some(length) = quoted.find("\"") else {
            at = text.len();
            return Some(Err(QueryError {
                span: start..at,
                reason: "the quotation has no end; close it with \"".to_owned(),
            }));
        };
        at = start + skipped + 1 + length + 1;
        Some(Ok(Token {
            text: &quoted[..length],
            quoting: Quoting::Quoted,
            polarity,
            span: start..at,
        }))
    })
}

/// Splits a sentence into tokens; the only operator is a closed quotation.
pub(super) fn prose(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    let mut is_open = true;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|c: char| !c.is_whitespace())?;
        let rest = &text[start..];
        let quoted = rest.strip_prefix('"').filter(|_| is_open);
        let length = quoted.and_then(|quoted| quoted.find("\""));
        if let (Some(quoted), Some(length)) = (quoted, length) {
            at = start + length + 2;
            return Some(Token {
                text: &quoted[..length],
                quoting: Quoting::Quoted,
                polarity: Polarity::Wanted,
                span: start..at,
            });
        }
        // Otherwise every unclosed quotation mark would cause a search through the rest.
        is_open &= quoted.is_none();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        at = start + length;
        Some(Token {
            text: &rest[..length],
            quoting: Quoting::Bare,
            polarity: Polarity::Wanted,
            span: start..at,
        })
    })
}

impl<'a> Token<'a> {
    /// Returns the filter and its value, if the token is one.
    pub(super) fn filter(&self) -> Option<(Filter, &'a str)> {
        let (name, value) = self.text.split_once(':')?;
        let filter = Filter::named(name).filter(|_| self.quoting == Quoting::Bare)?;
        Some((filter, value))
    }

    /// Returns the atom; `None` for an empty quotation.
    pub(super) fn atom(&self) -> Option<Atom> {
        let (mode, text) = match self.quoting {
            Quoting::Quoted => (MatchMode::Exact, self.text),
            Quoting::Bare => marked(self.text),
        };
        // Excluded words match literally: nearly every line has the letters of a short word
        // somewhere.
        let mode = match (mode, self.polarity) {
            (MatchMode::Fuzzy, Polarity::Unwanted) => MatchMode::Exact,
            (mode, _) => mode,
        };
        self.with(mode, text)
    }

    /// Returns the atom for a token of a sentence.
    pub(super) fn prose_atom(&self) -> Option<Atom> {
        match self.quoting {
            Quoting::Quoted => self.with(MatchMode::Exact, self.text),
            Quoting::Bare => self.with(MatchMode::Fuzzy, self.text),
        }
    }

    fn with(&self, mode: MatchMode, text: &str) -> Option<Atom> {
        (!text.is_empty()).then(|| Atom {
            text: text.to_owned(),
            mode,
            polarity: self.polarity,
            case: Case::of(text),
            span: self.span.clone(),
        })
    }
}

/// Removes the operators of a word; a word of only operators keeps them.
fn marked(word: &str) -> (MatchMode, &str) {
    let start = word.strip_prefix('^');
    let end = word.strip_suffix('$');
    let both = start.and_then(|word| word.strip_suffix('$'));
    let full = |word: &&str| !word.is_empty();
    if let Some(word) = both.filter(full) {
        (MatchMode::Line, word)
    } else if let Some(word) = start.filter(full) {
        (MatchMode::Start, word)
    } else if let Some(word) = word.strip_prefix('\'').filter(full) {
        (MatchMode::Word, word)
    } else if let Some(word) = end.filter(full) {
        (MatchMode::End, word)
    } else {
        (MatchMode::Fuzzy, word)
    }
}
