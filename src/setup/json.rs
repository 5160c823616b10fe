//! JSON with comments and trailing commas, parsed by `jsonc-parser` and edited by splicing, so that
//! the rest keeps its bytes.
//!
//! The parser's own editing is not used: it breaks a one-line object into several lines, and ends
//! added lines with `\n` in a file of `\r\n`, so that removing the addition would not restore the
//! original bytes.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

/// A value and its position in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// The members of an object or the items of a list, by position.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Text(String),
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) value: Node,
}

/// A member of an object, with its name, or an item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    span: Range<usize>,
    /// The position of the comma after it.
    comma: Option<usize>,
}

impl Node {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Object(members) => members
                .iter()
                .rev()
                .find(|m| m.name == name)
                .map(|m| &m.value),
            _ => None,
        }
    }

    pub(super) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    pub(super) fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A syntax error and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Parses a text; `None` if it contains only blanks and comments.
pub(super) fn parse(text: &str) -> Result<Option<Node>, JsonError> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::Off,
        tokens: true,
    };
    // Agents accept comments and trailing commas beyond plain JSON.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(bare, &collect, &options).map_err(|error| JsonError {
        line: error.line_display(),
        message: error.kind().to_string(),
    })?;
    let tokens = parsed.tokens.unwrap_or_default();
    let reader = Reader {
        tokens: &tokens,
        offset: text.len() - bare.len(),
    };
    Ok(parsed.value.map(|value| reader.node(&value)))
}

/// Converts the parser's syntax tree into nodes.
struct Reader<'a> {
    tokens: &'a [TokenAndRange<'a>],
    /// The length of the skipped byte order mark.
    offset: usize,
}

impl Reader<'_> {
    fn node(&self, value: &ast::Value<'_>) -> Node {
        let (kind, parts) = match value {
            ast::Value::Object(object) => {
                let members = object.properties.iter().map(|property| Member {
                    name: property.name.as_str().to_owned(),
                    value: self.node(&property.value),
                });
                let parts = object.properties.iter().map(|property| self.part(property));
                (Kind::Object(members.collect()), parts.collect())
            }
            ast::Value::Array(array) => {
                let items = array.elements.iter().map(|item| self.node(item));
                let parts = array.elements.iter().map(|item| self.part(item));
                (Kind::Array(items.collect()), parts.collect())
            }
            ast::Value::StringLit(text) => {
                (Kind::Text(text.value.clone().into_owned()), Vec::new())
            }
            ast::Value::NumberLit(_) | ast::Value::BooleanLit(_) | ast::Value::NullKeyword(_) => {
                (Kind::Other, Vec::new())
            }
        };
        Node {
            span: value.start() + self.offset..value.end() + self.offset,
            kind,
            parts,
        }
    }

    fn part(&self, ranged: &impl jsonc_parser::common::Ranged) -> Part {
        let after = self
            .tokens
            .partition_point(|token| token.start() < ranged.end());
        let next = self.tokens.get(after);
        let comma = next.filter(|next| next.token == Token::Comma);
        Part {
            span: ranged.start() + self.offset..ranged.end() + self.offset,
            comma: comma.map(|comma| comma.start() + self.offset),
        }
    }
}

/// `text` with a member (`name` and `value`) or an item added at the end of an object or list.
pub(super) fn with_part(text: &str, node: &Node, name: Option<&str>, value: &Value) -> String {
    let mut out = text.to_owned();
    let parts = &node.parts;
    let inside = &text[node.span.start + 1..node.span.end - 1];
    let over_lines =
        inside.contains('\n') || (parts.is_empty() && text.contains('\n')) || text.trim() == "{}";
    let outer = indent_of(text, node.span.start);
    let unit = unit_of(text);
    let Some(Part { span: last, comma }) = parts.last() else {
        let inner = format!("{outer}{unit}");
        let part = written(name, value, over_lines.then_some((&inner, &unit)));
        // A comment stays before the new part.
        let comment = inside.trim_end();
        let body = if over_lines {
            let new = ended(text, format!("\n{inner}{part}\n{outer}"));
            format!("{comment}{new}")
        } else {
            format!("{comment}{part}")
        };
        out.replace_range(node.span.start + 1..node.span.end - 1, &body);
        return out;
    };
    let on_own_line = text[..last.start]
        .rsplit(['\n', '{', '[', ','])
        .next()
        .is_some_and(|lead| lead.trim().is_empty())
        && text[node.span.start..last.start].trim_end().len() < last.start - node.span.start
        && text[node.span.start..last.start].contains('\n');
    let inner = indent_of(text, last.start);
    let part = written(name, value, on_own_line.then_some((&inner, &unit)));
    let lead = if on_own_line {
        format!("\n{inner}")
    } else {
        " ".to_owned()
    };
    let after = last.end;
    let from = comma.map_or(after, |comma| comma + 1);
    // A comment on the same line belongs to the existing part.
    let to = if on_own_line {
        line_comment_end(text, from)
    } else {
        from
    };
    let end = if comma.is_some() { "," } else { "" };
    out.insert_str(to, &ended(text, format!("{lead}{part}{end}")));
    if comma.is_none() {
        out.insert(after, ',');
    }
    out
}

/// `new` with the line endings of `text`.
fn ended(text: &str, new: String) -> String {
    if text.contains("\r\n") {
        new.replace('\n', "\r\n")
    } else {
        new
    }
}

/// `text` without the part at `index` of an object or list.
pub(super) fn without_part(text: &str, node: &Node, index: usize) -> String {
    let start = node.parts[index].span.start;
    let tight = without(text, node, index, text[..start].trim_end().len());
    // The blanks before it may end a line comment.
    match parse(&tight) {
        Ok(_) => tight,
        Err(_) => without(text, node, index, start),
    }
}

/// `text` without the part at `index` and the blanks before it, from `lead` on.
fn without(text: &str, node: &Node, index: usize, lead: usize) -> String {
    let Part { span: part, comma } = &node.parts[index];
    let mut out = text.to_owned();
    match comma {
        Some(comma) => out.replace_range(lead..comma + 1, ""),
        None if index > 0 => {
            out.replace_range(lead..part.end, "");
            if let Some(comma) = node.parts[index - 1].comma {
                out.remove(comma);
            }
        }
        None if lead == node.span.start + 1 => {
            let tail = text[part.end..].len() - text[part.end..].trim_start().len();
            out.replace_range(lead..part.end + tail, "");
        }
        None => out.replace_range(lead..part.end, ""),
    }
    out
}

/// The end of a comment on the rest of the line; `from` if there is none.
fn line_comment_end(text: &str, from: usize) -> usize {
    let line = text[from..].split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let bare = line.trim_start();
    let is_comment =
        bare.starts_with("//") || (bare.starts_with("/*") && bare.trim_end().ends_with("*/"));
    if is_comment { from + line.len() } else { from }
}

/// The indentation of the line that contains `at`.
fn indent_of(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..at]
        .chars()
        .take_while(|c| *c == ' ' || *c == '\t')
        .collect()
}

/// One step of indentation, as first used in the text.
fn unit_of(text: &str) -> String {
    let mut lines = text.lines().skip(1);
    let first = lines.find_map(|line| {
        let blanks: String = line
            .chars()
            .take_while(|c| *c == ' ' || *c == '\t')
            .collect();
        (!blanks.is_empty() && blanks.len() < line.len()).then_some(blanks)
    });
    first.unwrap_or_else(|| "  ".to_owned())
}

fn written(name: Option<&str>, value: &Value, lines: Option<(&String, &String)>) -> String {
    let value = match lines {
        Some((inner, unit)) => pretty(value, inner, unit),
        None => value.to_string(),
    };
    match name {
        Some(name) => format!("{}: {value}", Value::from(name)),
        None => value,
    }
}

/// A value over lines, each after the first indented by `lead` and more.
fn pretty(value: &Value, lead: &str, unit: &str) -> String {
    let deeper = format!("{lead}{unit}");
    let joined = |parts: Vec<String>| parts.join(&format!(",\n{deeper}"));
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let parts = fields.iter().map(|(name, value)| {
                format!(
                    "{}: {}",
                    Value::from(name.as_str()),
                    pretty(value, &deeper, unit)
                )
            });
            format!("{{\n{deeper}{}\n{lead}}}", joined(parts.collect()))
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let parts = items.iter().map(|item| pretty(item, &deeper, unit));
            format!("[\n{deeper}{}\n{lead}]", joined(parts.collect()))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(Value::to_string).collect();
            format!("[{}]", parts.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn root(text: &str) -> Node {
        parse(text).expect("JSON").expect("something")
    }

    #[test]
    fn a_part_goes_in_and_comes_out_again() {
        for text in [
            "{\n  \"a\": 1\n}\n",
            "{\n\t\"a\": 1, // why\n\t\"b\": [1, 2] /* two */\n}\n",
            "{\n  \"a\": 1,\n}\n",
            "{ \"a\": 1 }",
            "{\"a\":1}",
            "// head\n{\r\n    \"a\": { \"b\": \"c // no comment\" }\r\n}\r\n",
        ] {
            let put = with_part(text, &root(text), Some("new"), &json!({ "x": [1] }));
            let node = root(&put);
            assert!(node.at(&["new", "x"]).is_some(), "{put}");
            assert!(node.get("a").is_some(), "{put}");
            let count = node.parts.len();
            assert_eq!(without_part(&put, &node, count - 1), text, "{put}");
        }
    }

    #[test]
    fn a_new_part_is_worded_like_its_neighbours() {
        let text = "{\n    \"a\": 1 // why\n}\n";
        assert_eq!(
            with_part(text, &root(text), Some("b"), &json!({ "c": ["d"] })),
            "{\n    \"a\": 1, // why\n    \"b\": {\n        \"c\": [\"d\"]\n    }\n}\n"
        );
        assert_eq!(
            with_part("{}", &root("{}"), Some("b"), &json!(1)),
            "{\n  \"b\": 1\n}"
        );
    }

    #[test]
    fn what_is_no_json_is_told_with_its_line() {
        for (text, line) in [
            ("{\n\"a\" 1}", 2),
            ("{\"a\":}", 1),
            ("[1 2]", 1),
            ("{} x", 1),
            ("\"a", 1),
            ("{/*", 1),
        ] {
            assert_eq!(parse(text).expect_err(text).line, line, "{text}");
        }
        assert_eq!(parse(" // nothing\n"), Ok(None));
    }

    /// An object with comments, blanks and trailing commas wherever they are allowed.
    fn object() -> impl Strategy<Value = String> {
        let blank = prop_oneof![
            Just(""),
            Just(" "),
            Just("\n  "),
            Just(" // c\n"),
            Just("/* , */"),
            Just("\r\n\t"),
            Just("\n\n\t// \"a\": {\n")
        ];
        let value = prop_oneof![
            Just("1"),
            Just("null"),
            Just("\"a // b\""),
            Just("[ ]"),
            Just("{ }"),
            Just("[1,\n2, // c\n]")
        ];
        let blanks = prop::array::uniform4(blank.clone());
        let members = prop::collection::vec((value, blanks), 0..5);
        (members, blank, any::<bool>()).prop_map(|(members, end, trailing)| {
            let part = |(at, (value, [a, b, c, d])): (usize, &(&str, [&str; 4]))| {
                format!("{a}\"m{at}\"{b}:{c}{value}{d}")
            };
            let parts: Vec<String> = members.iter().enumerate().map(part).collect();
            let comma = if trailing && !parts.is_empty() {
                ","
            } else {
                ""
            };
            format!("{{{}{comma}{end}}}\n", parts.join(","))
        })
    }

    proptest! {
        #[test]
        fn any_object_takes_a_part_and_keeps_its_own(text in object()) {
            let before = root(&text);
            let put = with_part(&text, &before, Some("new"), &json!({ "x": [{ "y": 1 }] }));
            let node = root(&put);
            prop_assert!(node.at(&["new", "x"]).is_some(), "{put}");
            prop_assert_eq!(node.parts.len(), before.parts.len() + 1, "{}", put);
            let again = without_part(&put, &node, node.parts.len() - 1);
            let left: Vec<String> = root(&again).parts.into_iter().map(|part| again[part.span].to_owned()).collect();
            let own: Vec<String> = before.parts.into_iter().map(|part| text[part.span].to_owned()).collect();
            prop_assert_eq!(left, own, "{}", again);
        }
    }
}
