//! The query language: what a person types to find something.
//!
//! Words match in any order. `"a phrase"` matches as it stands, `'word` a whole word,
//! `^start` and `end$` the ends of a line, `!` before any of these what must not be
//! there. `type: in: store: agent: role: project: since: before:` narrow down where to
//! look. Case matters as soon as a word has a capital; accents matter as soon as a word
//! has one. Anything that looks like a filter and has another name is a word.
//!
//! [`Query::parse`] is strict and says what it does not understand, and where;
//! [`Query::of_prose`] takes any sentence, for questions that agents ask.

pub mod complete;
mod filter;
mod token;

use std::ops::Range;

use jiff::Zoned;

pub use filter::{Filter, Filters, SearchArea};

use token::tokens;

/// A query that was understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// What to look for; all of it must match.
    pub atoms: Vec<Atom>,
    /// Where to look.
    pub filters: Filters,
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// The text, without its marks.
    pub text: String,
    /// How it matches.
    pub form: MatchMode,
    /// Whether it must be there.
    pub sense: Polarity,
    /// Whether case matters.
    pub case: Case,
    /// Where it stands in the query, in bytes.
    pub span: Range<usize>,
}

/// How an atom matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// Letters in this order, with anything between them.
    Fuzzy,
    /// As it stands, anywhere.
    Exact,
    /// As it stands, as a word of its own.
    Word,
    /// At the start of a line.
    Start,
    /// At the end of a line.
    End,
    /// A whole line.
    Line,
}

/// Whether an atom must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polarity {
    /// It must.
    Wanted,
    /// It must not.
    Unwanted,
}

/// Whether case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Capitals match small letters and the other way round.
    Ignored,
    /// Every letter matches itself alone.
    Kept,
}

/// Why a query is not understood, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct QueryError {
    /// The part of the query that is meant, in bytes.
    pub span: Range<usize>,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl Query {
    /// Reads a query; `now` is what ages and days are counted from.
    pub fn parse(text: &str, now: &Zoned) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for token in tokens(text) {
            let token = token?;
            if let Some((filter, value)) = token.filter() {
                if token.sense == Polarity::Unwanted {
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

    /// Reads a sentence: words, `"phrases"` and filters; whatever else it holds is words.
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

    /// Tells whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty() && self.filters == Filters::default()
    }

    /// Tells whether every line that this query matches is matched by `earlier`, too, so
    /// that its matches are all that must be looked at.
    pub fn narrows(&self, earlier: &Self) -> bool {
        self.filters == earlier.filters
            && earlier
                .atoms
                .iter()
                .all(|old| self.atoms.iter().any(|new| new.implies(old)))
    }
}

impl Atom {
    /// Tells whether what matches this atom matches the other.
    fn implies(&self, other: &Self) -> bool {
        if self.sense != other.sense {
            return false;
        }
        // What is looked for without regard to case must not have been looked for with it.
        let case_fits = other.case == Case::Ignored || self.case == Case::Kept;
        let holds = |longer: &str, shorter: &str| match other.case {
            Case::Ignored => longer.to_lowercase().contains(&shorter.to_lowercase()),
            Case::Kept => longer.contains(shorter),
        };
        match (self.sense, self.form, other.form) {
            _ if self.text == other.text && self.form == other.form => self.case == other.case,
            (Polarity::Wanted, _, MatchMode::Fuzzy) => case_fits && holds(&self.text, &other.text),
            (Polarity::Wanted, MatchMode::Exact, MatchMode::Exact) => {
                case_fits && holds(&self.text, &other.text)
            }
            _ => false,
        }
    }
}

impl Case {
    /// Returns the case that a typed text asks for: a capital makes it matter.
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
            let not = if atom.sense == Polarity::Unwanted {
                "not "
            } else {
                ""
            };
            let kept = if atom.case == Case::Kept { " kept" } else { "" };
            format!("{not}{:?} {}{kept}", atom.form, atom.text)
        });
        atoms.collect()
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
        assert_eq!(query.atoms[1].form, MatchMode::Exact);
        assert_eq!(query.filters.roles, [Role::User]);
    }

    #[test]
    fn a_longer_query_narrows_a_shorter_one() {
        for (earlier, later, narrows) in [
            ("au", "auth", true),
            ("au", "auth flow", true),
            ("", "a", true),
            ("auth", "au", false),
            ("au", "Auth", true),
            ("Au", "auth", false),
            ("!a", "!ab", false),
            ("!a", "!a b", true),
            ("'au", "'auth", false),
            ("au", "auth in:logs", false),
            ("\"a b\"", "\"a bc\"", true),
            ("^a", "^ab", false),
        ] {
            assert_eq!(
                parse(later).narrows(&parse(earlier)),
                narrows,
                "{earlier} → {later}"
            );
        }
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
            prop_assert_eq!(query.atoms[0].form, MatchMode::Exact);
        }
    }
}
