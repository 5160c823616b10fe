//! The query language.
//!
//! Words match in any order. `"a phrase"` matches literally, `'word` a whole word, `^start`
//! and `end$` the ends of a line; `!` before any of these excludes lines that match it.
//! `type: in: store: agent: role: project: since: before:` restrict the search. Case matters
//! if a word has a capital; accents matter if a word has one. A prefix with a colon that
//! names no filter is part of a word.
//!
//! [`Query::parse`] is strict and returns errors with their position;
//! [`Query::of_prose`] accepts any sentence, for questions that agents ask.

pub mod complete;
mod filter;
mod token;

use std::ops::Range;

use jiff::Zoned;

pub use filter::{Filter, Filters, SearchArea};

use token::tokens;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// The words and phrases; all of them must match.
    pub atoms: Vec<Atom>,
    /// The filters that restrict the search.
    pub filters: Filters,
}

/// A word or phrase of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// The text, without its operators.
    pub text: String,
    /// How the text matches.
    pub mode: MatchMode,
    /// Whether a match is required or excluded.
    pub polarity: Polarity,
    /// Whether case matters.
    pub case: Case,
    /// The position in the query, in bytes.
    pub span: Range<usize>,
}

/// How an atom matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// As typed; if that gives nothing, with a slip of the keyboard, or its letters in order.
    Fuzzy,
    /// Literally, anywhere.
    Exact,
    /// Literally, as a whole word.
    Word,
    /// At the start of a line.
    Start,
    /// At the end of a line.
    End,
    /// A whole line.
    Line,
}

/// Whether a match is required or excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polarity {
    /// A match is required.
    Wanted,
    /// A match is excluded.
    Unwanted,
}

/// Whether case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Capitals and small letters match each other.
    Ignored,
    /// Every letter matches only itself.
    Kept,
}

/// A syntax error in a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct QueryError {
    /// The part of the query that is wrong, in bytes.
    pub span: Range<usize>,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

impl Query {
    /// Parses a query; ages and days are relative to `now`.
    pub fn parse(text: &str, now: &Zoned) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for token in tokens(text) {
            let token = token?;
            if let Some((filter, value)) = token.filter() {
                if token.polarity == Polarity::Unwanted {
                    return Err(QueryError {
                        span: token.span,
                        reason: format!(
                            "{}: cannot be turned around with !; name what you want",
                            filter.name()
                        ),
                    });
                }
                let value = Range {
                    start: token.span.end - value.len(),
                    end: token.span.end,
                };
                let whole = token.span.clone();
                query
                    .filters
                    .add(filter, &text[value.clone()], now)
                    .map_err(|reason| QueryError {
                        span: if value.is_empty() { whole } else { value },
                        reason,
                    })?;
            } else if let Some(atom) = token.atom() {
                query.atoms.push(atom);
            }
        }
        Ok(query)
    }

    /// Parses a query that is being typed: a quotation without an end goes on to the end.
    pub fn parse_unfinished(text: &str, now: &Zoned) -> Result<Self, QueryError> {
        Self::parse(text, now)
            .or_else(|wrong| Self::parse(&format!("{text}\""), now).map_err(|_| wrong))
    }

    /// Returns each filter of a query, and the query without it.
    pub fn without_each_filter(text: &str) -> Vec<(String, String)> {
        let filters = tokens(text).filter_map(|token| {
            let token = token.ok()?;
            token.filter()?;
            let span = token.span.clone();
            let rest = format!("{}{}", &text[..span.start], &text[span.end..]);
            Some((text[span].to_owned(), rest))
        });
        filters.collect()
    }

    /// Parses a sentence: `"phrases"` and filters; everything else is words.
    pub fn of_prose(text: &str, now: &Zoned) -> Self {
        let mut query = Self::default();
        for token in token::prose(text) {
            if let Some((filter, value)) = token.filter()
                && query.filters.add(filter, value, now).is_ok()
            {
                continue;
            }
            query.atoms.extend(token.prose_atom());
        }
        query
    }

    /// Returns whether the query has neither atoms nor filters.
    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty() && self.filters == Filters::default()
    }
}

impl Case {
    /// Returns whether case matters for a typed text: it does if it has a capital.
    pub fn of(text: &str) -> Self {
        if text.chars().any(char::is_uppercase) {
            Self::Kept
        } else {
            Self::Ignored
        }
    }
}

#[cfg(test)]
pub(crate) fn noon() -> Zoned {
    jiff::civil::date(2026, 3, 15)
        .at(12, 0, 0, 0)
        .to_zoned(jiff::tz::TimeZone::UTC)
        .expect("a time that exists")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::log::{Agent, Role};

    fn parse(text: &str) -> Query {
        Query::parse(text, &noon()).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn shown(text: &str) -> Vec<String> {
        let atoms = parse(text).atoms;
        let atoms = atoms.iter().map(|atom| {
            let not = if atom.polarity == Polarity::Unwanted {
                "not "
            } else {
                ""
            };
            let kept = if atom.case == Case::Kept { " kept" } else { "" };
            format!("{not}{:?} {}{kept}", atom.mode, atom.text)
        });
        atoms.collect()
    }

    #[test]
    fn a_quotation_that_is_being_typed_is_a_phrase_already() {
        let unfinished = |text| Query::parse_unfinished(text, &noon());
        assert_eq!(unfinished("tab \"key cha"), Ok(parse("tab \"key cha\"")));
        assert_eq!(unfinished("tab \"key\""), Ok(parse("tab \"key\"")));
        let wrong = unfinished("\"key cha\" since:never").expect_err("no such age");
        assert!(wrong.reason.starts_with("since:"), "{wrong}");
    }

    #[test]
    fn every_mark_says_how_a_word_matches() {
        for (text, expected) in [
            ("auth flow", &["Fuzzy auth", "Fuzzy flow"][..]),
            ("\"auth flow\" x", &["Exact auth flow", "Fuzzy x"]),
            (
                "'auth ^start end$",
                &["Word auth", "Start start", "End end"],
            ),
            ("^whole$", &["Line whole"]),
            (
                "!no !\"no way\" !'word",
                &["not Exact no", "not Exact no way", "not Word word"],
            ),
            ("Auth auth", &["Fuzzy Auth kept", "Fuzzy auth"]),
            (
                "std::io http://x a:b",
                &["Fuzzy std::io", "Fuzzy http://x", "Fuzzy a:b"],
            ),
            (
                "don't $5 a^b !",
                &["Fuzzy don't", "Fuzzy $5", "Fuzzy a^b", "Fuzzy !"],
            ),
            ("ÉCOLE 数据库", &["Fuzzy ÉCOLE kept", "Fuzzy 数据库"]),
            ("  \t ", &[]),
            ("\"\" ''", &["Word '"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn filters_narrow_down_where_to_look() {
        let filters = parse(
            "x type:feedback in:logs agent:codex role:user store:shop project:web since:2026-01-31 before:2d",
        )
        .filters;
        assert_eq!(filters.types, ["feedback"]);
        assert_eq!(filters.areas, [SearchArea::Logs]);
        assert_eq!(filters.agents, [Agent::Codex]);
        assert_eq!(filters.roles, [Role::User]);
        assert_eq!(filters.stores, ["shop"]);
        assert_eq!(filters.projects, ["web"]);
        assert_eq!(filters.since, Some(1_769_817_600_000));
        assert_eq!(
            filters.before,
            Some(noon().timestamp().as_millisecond() - 2 * 86_400_000)
        );
    }

    #[test]
    fn each_filter_can_be_left_out() {
        let left = Query::without_each_filter("in:logs type:user \"a in:b\" tea");
        let expected = [
            ("in:logs", " type:user \"a in:b\" tea"),
            ("type:user", "in:logs  \"a in:b\" tea"),
        ];
        assert_eq!(
            left,
            expected.map(|(filter, rest)| (filter.to_owned(), rest.to_owned()))
        );
    }

    #[test]
    fn what_is_not_understood_is_named_where_it_stands() {
        for (text, at, reason) in [
            (
                "x role:boss",
                "boss",
                "role: is one of user, assistant, system, tool",
            ),
            ("agent:", "agent:", "agent: needs one of claude-code, codex"),
            ("in:attic x", "attic", "in: is one of memories, logs, tools"),
            ("since:soon", "soon", "since: is a day such as 2026-01-31"),
            ("since:2026-02-30", "2026-02-30", "since: is a day such as"),
            (
                "a \"open phrase",
                "\"open phrase",
                "the quotation has no end",
            ),
            ("!role:user", "!role:user", "role: cannot be turned around"),
        ] {
            let wrong = Query::parse(text, &noon()).expect_err(text);
            assert_eq!(&text[wrong.span.clone()], at);
            assert!(wrong.reason.starts_with(reason), "{}", wrong.reason);
        }
    }

    #[test]
    fn a_sentence_is_taken_as_words_whatever_marks_it_holds() {
        let query = Query::of_prose(
            "What's \"the plan\" for !x ^y in: role:boss role:user \"",
            &noon(),
        );
        let texts: Vec<&str> = query.atoms.iter().map(|atom| atom.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "What's",
                "the plan",
                "for",
                "!x",
                "^y",
                "in:",
                "role:boss",
                "\""
            ]
        );
        assert_eq!(query.atoms[1].mode, MatchMode::Exact);
        assert_eq!(query.filters.roles, [Role::User]);
    }

    #[test]
    fn a_megabyte_is_read_in_one_go() {
        let long = "a \u{202e}!\u{0}^".repeat(150_000);
        assert!(parse(&long).atoms.len() > 100_000);
        assert_eq!(
            Query::of_prose(&"\"".repeat(1_000_001), &noon()).filters,
            Filters::default()
        );
    }

    proptest! {
        #[test]
        fn every_text_is_understood_or_named_at_a_place_inside_it(text in "([ a-z\"'!^$:]|in:|role:|\\PC){0,40}") {
            match Query::parse(&text, &noon()) {
                Ok(query) => for atom in query.atoms {
                    prop_assert!(text[atom.span].contains(&atom.text));
                },
                Err(wrong) => {
                    prop_assert!(text.get(wrong.span.clone()).is_some_and(|part| !part.is_empty()));
                }
            }
            Query::of_prose(&text, &noon());
        }

        #[test]
        fn plain_words_come_back_as_they_were(words in proptest::collection::vec("[a-zA-Z0-9é数]{1,9}", 0..6)) {
            let query = parse(&words.join("  "));
            let texts: Vec<String> = query.atoms.into_iter().map(|atom| atom.text).collect();
            prop_assert_eq!(texts, words);
        }

        #[test]
        fn a_quoted_phrase_is_one_atom(phrase in "[a-z!^$':]{1,5} [a-z!^$': ]{0,9}") {
            let query = parse(&format!("\"{phrase}\""));
            prop_assert_eq!(query.atoms.len(), 1);
            prop_assert_eq!(&query.atoms[0].text, &phrase);
            prop_assert_eq!(query.atoms[0].mode, MatchMode::Exact);
        }
    }
}
