//! Reads TOML that anybody may have written.
//!
//! The parser of `toml` and `toml_edit` limits how deep it recurses, but in a broken text it also
//! counts closing brackets that close nothing: such a text can overflow the stack, which ends the
//! program. So the depth of brackets is checked first.

use toml::de::{DeTable, Error};
use toml_edit::{DocumentMut, TomlError};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// How deep brackets may nest; nobody writes settings so deep.
const DEEPEST: usize = 64;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The position, in bytes.
    pub at: usize,
    /// What is wrong, in one line.
    pub why: String,
}

/// Returns the values of a text, with their positions.
pub fn values(text: &str) -> Result<DeTable<'_>, Unreadable> {
    read(text, |text| {
        DeTable::parse(text).map(toml::Spanned::into_inner)
    })
}

/// Returns a text as a type of its own.
pub fn typed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Unreadable> {
    read(text, toml::from_str)
}

/// Returns a text as a document that can be changed: comments and order are kept.
pub fn document(text: &str) -> Result<DocumentMut, Unreadable> {
    check_depth(text)?;
    text.parse().map_err(|error: TomlError| Unreadable {
        at: error.span().map_or(0, |span| span.start),
        why: first_line(error.message()),
    })
}

fn read<'a, T>(
    text: &'a str,
    parse: impl FnOnce(&'a str) -> Result<T, Error>,
) -> Result<T, Unreadable> {
    check_depth(text)?;
    parse(text).map_err(|error| Unreadable {
        at: error.span().map_or(0, |span| span.start),
        why: first_line(error.message()),
    })
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or("not TOML").to_owned()
}

/// Fails where brackets nest deeper than [`DEEPEST`]. One that closes nothing is passed over.
fn check_depth(text: &str) -> Result<(), Unreadable> {
    let mut open = Vec::new();
    for token in Source::new(text).lex() {
        let closing = match token.kind() {
            TokenKind::LeftSquareBracket => TokenKind::RightSquareBracket,
            TokenKind::LeftCurlyBracket => TokenKind::RightCurlyBracket,
            kind => {
                open.pop_if(|closing| *closing == kind);
                continue;
            }
        };
        open.push(closing);
        if open.len() > DEEPEST {
            return Err(Unreadable {
                at: token.span().start(),
                why: "brackets nest too deep".to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_nest_too_deep_are_told_and_never_overflow_the_stack() {
        let nested =
            |depth: usize| format!("a = 1\nx = {}{}\n", "[".repeat(depth), "]".repeat(depth));
        assert!(values(&nested(DEEPEST)).is_ok());
        let why = "brackets nest too deep".to_owned();
        let deep = Unreadable {
            at: 10 + DEEPEST,
            why,
        };
        assert_eq!(values(&nested(DEEPEST + 1)).err(), Some(deep.clone()));
        assert_eq!(document(&nested(100_000)).err(), Some(deep));
        for piece in ["{[,]=\n", "{a=", "[{", "x={[,]=}\n", "[,]={", "}{", "]["] {
            let text = format!("x = {}", piece.repeat(100_000));
            assert!(values(&text).is_err(), "{piece}");
            assert!(document(&text).is_err(), "{piece}");
            assert!(typed::<toml::Table>(&text).is_err(), "{piece}");
        }
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_nest() {
        let text = format!("# {0}\nx = \"{0}\"\n[a]\n[[b]]\n", "[{".repeat(1000));
        assert!(values(&text).is_ok());
        assert_eq!(document(&text).expect("TOML").to_string(), text);
        let broken = values("a = 1\nb = \n").expect_err("no value");
        assert_eq!(broken.at, 10, "{broken:?}");
    }
}
