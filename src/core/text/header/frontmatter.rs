//! Frontmatter: `---`, lines of `key: value`, `---`, at the very start of a file.
//!
//! Real headers break YAML parsers (colons and `#` in plain text, tabs), and agents read them line
//! by line, so they are read and spliced here the same way. Keys are at the top level or one level
//! down under `metadata:`; block and folded values are joined for display.

use std::collections::HashSet;
use std::ops::Range;

use super::{Line, lines, newline, splice};

/// The frontmatter of one text, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    fields: Vec<Field>,
    /// The start of the closing fence.
    fence: usize,
    /// The start of the body, right after the closing fence.
    body: usize,
}

/// One `key: value` line, with the continuation lines of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    key: String,
    /// The key that this one is nested under.
    parent: Option<String>,
    /// Whether the line is not indented.
    at_margin: bool,
    /// The value for display: unquoted, joined to one line.
    value: String,
    /// The bytes of the value, continuation lines included, the last line ending excluded.
    span: Range<usize>,
}

const BOM: char = '\u{feff}';

impl Frontmatter {
    /// Parses the frontmatter of `text`; `None` if there is none or it is never closed.
    pub fn parse(text: &str) -> Option<Self> {
        let start = if text.starts_with(BOM) {
            BOM.len_utf8()
        } else {
            0
        };
        let mut rest = lines(text, start);
        if rest.next()?.text.trim_end() != "---" {
            return None;
        }
        let mut reader = Reader {
            text,
            fields: Vec::new(),
            parent: None,
            quotation: Quotation::default(),
        };
        for line in rest {
            if line.text.trim_end() == "---" {
                return Some(Self {
                    fields: reader.finish(),
                    fence: line.span.start,
                    body: line.end,
                });
            }
            reader.read(&line);
        }
        None
    }

    /// Whether it has no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The start of the body.
    pub fn body(&self) -> usize {
        self.body
    }

    /// The first key that is repeated at the top level.
    pub fn repeated(&self) -> Option<&str> {
        let mut seen = HashSet::new();
        // Neither an item of a list nor a comment is a key.
        let is_key = |field: &&Field| field.at_margin && !field.key.starts_with(['-', '#']);
        let mut keys = self.fields.iter().filter(is_key);
        let field = keys.find(|field| !seen.insert(&field.key))?;
        Some(&field.key)
    }

    /// The value of a top-level key; the last one if it is repeated.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.find(key, None).map(|field| field.value.as_str())
    }

    /// The value of a top-level key or, failing that, of one under `metadata:`.
    pub fn get_anywhere(&self, key: &str) -> Option<&str> {
        self.anywhere(key).map(|field| field.value.as_str())
    }

    fn anywhere(&self, key: &str) -> Option<&Field> {
        self.find(key, None)
            .or_else(|| self.find(key, Some("metadata")))
    }

    fn find(&self, key: &str, parent: Option<&str>) -> Option<&Field> {
        self.fields
            .iter()
            .rev()
            .find(|field| field.key == key && field.parent.as_deref() == parent)
    }

    /// `text` with `key` set to `value`: in place if the key exists, else as a new last line. Only
    /// `type` is also looked up under `metadata:`.
    pub fn set(&self, text: &str, key: &str, value: &str) -> String {
        let value = crate::core::text::one_line(value);
        let field = match key {
            "type" => self.anywhere(key),
            _ => self.find(key, None),
        };
        match field {
            Some(field) => {
                let old = &text[field.span.clone()];
                let written = match old.chars().next() {
                    Some(quote @ ('"' | '\'')) if old.len() > 1 && old.ends_with(quote) => {
                        quoted(&value, quote)
                    }
                    _ => scalar(&value),
                };
                // An empty value may have no blank after its colon.
                let gap = text[..field.span.start].ends_with(':') && !written.is_empty();
                let written = if gap { format!(" {written}") } else { written };
                splice(text, field.span.clone(), &written)
            }
            None => splice(
                text,
                self.fence..self.fence,
                &format!("{key}: {}{}", scalar(&value), newline(text)),
            ),
        }
    }
}

/// Reads a frontmatter line by line. Each byte of a value is examined a fixed number of times,
/// however many lines it continues over.
struct Reader<'a> {
    text: &'a str,
    fields: Vec<Field>,
    /// The key without a value that indented keys are nested under.
    parent: Option<String>,
    /// The quotes of the last field's value, as far as it was read.
    quotation: Quotation,
}

impl Reader<'_> {
    /// Parses one line: a key, a nested key, or the continuation of a value.
    fn read(&mut self, line: &Line<'_>) {
        let indented = line.text.starts_with([' ', '\t']);
        let colon = line.text.find(':');
        if !indented {
            self.parent = None;
        }
        let end = line.span.start + line.text.trim_end().len();
        if indented && self.continues(colon.is_none()) {
            if let Some(last) = self.fields.last_mut() {
                // Blank lines at the end of a value are not part of it.
                if end > line.span.start {
                    self.quotation.read(&self.text[last.span.end..end]);
                    last.span.end = end;
                }
            }
            return;
        }
        let Some(colon) = colon else { return };
        let key = line.text[..colon].trim();
        if key.is_empty() {
            return;
        }
        let after = &line.text[colon + 1..];
        let start = line.span.start + colon + 1 + (after.len() - after.trim_start().len());
        // The value of `key:   ` is empty and right after the colon; the blanks stay behind it.
        let span = if after.trim().is_empty() {
            let at = line.span.start + colon + 1;
            at..at
        } else {
            start..end
        };
        self.quotation = Quotation::default();
        self.quotation.read(&self.text[span.clone()]);
        let nested_under = if indented { self.parent.clone() } else { None };
        if !indented && display(&self.text[span.clone()]).is_empty() {
            self.parent = Some(key.to_owned());
        }
        self.fields.push(Field {
            key: key.to_owned(),
            parent: nested_under,
            at_margin: !indented,
            value: String::new(),
            span,
        });
    }

    /// Whether an indented line continues the value of the field before it: a block or an
    /// unclosed quoted text, a plain value of a key that is not indented, or, if the line is
    /// `bare` (without a key), any value.
    fn continues(&self, bare: bool) -> bool {
        self.fields.last().is_some_and(|last| {
            let raw = &self.text[last.span.clone()];
            let block = raw.starts_with(['|', '>']);
            !raw.is_empty() && (block || self.quotation.is_open || last.at_margin || bare)
        })
    }

    /// Returns the fields with their values.
    fn finish(mut self) -> Vec<Field> {
        for field in &mut self.fields {
            field.value = display(&self.text[field.span.clone()]);
        }
        self.fields
    }
}

/// The quotes of a value that is read piece by piece.
#[derive(Debug, Clone, Copy, Default)]
struct Quotation {
    has_started: bool,
    /// The quote that the value starts with.
    mark: Option<char>,
    /// Whether the closing quote is missing.
    is_open: bool,
    is_escaped: bool,
}

impl Quotation {
    fn read(&mut self, piece: &str) {
        for c in piece.chars() {
            if !self.has_started {
                self.has_started = true;
                self.mark = Some(c).filter(|c| matches!(c, '"' | '\''));
                self.is_open = self.mark.is_some();
                continue;
            }
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' if self.mark == Some('"') => self.is_escaped = true,
                c if self.mark == Some(c) => self.is_open = !self.is_open,
                _ => {}
            }
        }
    }
}

/// A value for display: unquoted, block markers dropped, on one line.
fn display(raw: &str) -> String {
    let mut parts = raw.lines().map(str::trim).filter(|part| !part.is_empty());
    let mut joined = match parts.next() {
        Some(first) if raw.contains('\n') && first.starts_with(['|', '>']) && first.len() <= 3 => {
            String::new()
        }
        Some(first) => first.to_owned(),
        None => return String::new(),
    };
    for part in parts {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(part);
    }
    unquoted(&joined)
}

fn unquoted(value: &str) -> String {
    let inner = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    if let Some(inside) = inner('"') {
        let mut out = String::with_capacity(inside.len());
        let mut chars = inside.chars();
        while let Some(c) = chars.next() {
            match (c, chars.clone().next()) {
                ('\\', Some(next @ ('"' | '\\'))) => {
                    out.push(next);
                    chars.next();
                }
                ('\\', Some('n' | 't')) => {
                    out.push(' ');
                    chars.next();
                }
                ('\\', Some(kind @ ('u' | 'U' | 'x'))) => match code_point(kind, chars.as_str()) {
                    Some((decoded, length)) => {
                        out.push(decoded);
                        chars = chars.as_str()[length..].chars();
                    }
                    None => out.push(c),
                },
                _ => out.push(c),
            }
        }
        return out;
    }
    match inner('\'') {
        Some(inside) => inside.replace("''", "'"),
        None => value.to_owned(),
    }
}

/// The character of an escape such as `u00e9`, and how long the escape is. A pair of surrogates, as
/// JSON writes it, is one character.
fn code_point(kind: char, escape: &str) -> Option<(char, usize)> {
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        _ => 8,
    };
    let number = |from: usize| u32::from_str_radix(escape.get(from..from + digits)?, 16).ok();
    let first = number(1)?;
    let end = 1 + digits;
    if (0xd800..0xdc00).contains(&first) && escape.get(end..end + 2) == Some("\\u") {
        let second = number(end + 2).filter(|low| (0xdc00..0xe000).contains(low))?;
        let whole = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return Some((char::from_u32(whole)?, end + 2 + digits));
    }
    Some((char::from_u32(first)?, end))
}

/// A value for YAML: quoted where it would be a list, a comment, a mark or no YAML as it is.
pub fn scalar(value: &str) -> String {
    const MARKS: &str = "[]{}&*!|>'\"%@`,#?";
    let is_plain = !value.starts_with(|first: char| MARKS.contains(first))
        && value != "-"
        && !value.starts_with("- ")
        && !value.contains(": ")
        && !value.contains(" #")
        && !value.ends_with(':');
    if is_plain {
        value.to_owned()
    } else {
        quoted(value, '"')
    }
}

fn quoted(value: &str, quote: char) -> String {
    match quote {
        '"' => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
        _ => format!("'{}'", value.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Frontmatter {
        Frontmatter::parse(text).expect("has frontmatter")
    }

    #[test]
    fn the_three_dialects_give_name_description_and_type() {
        let a = "---\nname: No fallbacks\ndescription: d\ntype: feedback\n---\n\nx\n";
        let b = "---\nname: n\ndescription: d\ntype: project\noriginSessionId: 1-2\n---\nx";
        let c = "---\nname: slug\ndescription: \"a: b # c\"\nmetadata: \n  node_type: memory\n  type: feedback\n  modified: 2026-08-03T22:34:12.076Z\n---\nx";
        for (text, name, description, kind) in [
            (a, "No fallbacks", "d", "feedback"),
            (b, "n", "d", "project"),
            (c, "slug", "a: b # c", "feedback"),
        ] {
            let head = parsed(text);
            assert_eq!(head.get("name"), Some(name));
            assert_eq!(head.get("description"), Some(description));
            assert_eq!(head.get_anywhere("type"), Some(kind));
            assert!(text[head.body()..].trim() == "x");
        }
        assert_eq!(
            parsed(c).get_anywhere("modified"),
            Some("2026-08-03T22:34:12.076Z")
        );
    }

    #[test]
    fn escapes_of_characters_are_decoded_for_display() {
        for (written, shown) in [
            (r#""caf\u00e9 \x41""#, "café A"),
            (r#""\ud83d\ude00 \U0001F600""#, "😀 😀"),
            (r#""\u00 \ud83d \u""#, r"\u00 \ud83d \u"),
            (r"'caf\u00e9'", r"caf\u00e9"),
            (r"caf\u00e9", r"caf\u00e9"),
        ] {
            let text = format!("---\nname: {written}\n---\n");
            assert_eq!(parsed(&text).get("name"), Some(shown), "{written}");
        }
    }

    #[test]
    fn odd_headers_are_read_as_far_as_they_go() {
        let cases: &[(&str, &str, Option<&str>)] = &[
            ("\u{feff}---\r\nname: bom\r\n---\r\nx", "name", Some("bom")),
            ("---\nname: a\nname: b\n---\n", "name", Some("b")),
            (
                "---\n\tname: tabbed\n  : bad [\n---\n",
                "name",
                Some("tabbed"),
            ),
            ("---\nurl: http://x:1\n---\n", "url", Some("http://x:1")),
            ("---\nd: 'it''s'\n---\n", "d", Some("it's")),
            ("---\nd: \"say \\\"hi\\\"\"\n---\n", "d", Some("say \"hi\"")),
            (
                "---\nd: >-\n  one\n  two\nt: x\n---\n",
                "d",
                Some("one two"),
            ),
            ("---\nd: one\n  two\n---\n", "d", Some("one two")),
            (
                "---\nd: 'one\n  two: three'\n---\n",
                "d",
                Some("one two: three"),
            ),
            ("---\nd: \"a \\\"\n  b\"\n---\n", "d", Some("a \" b")),
            (
                "---\nd: see\n  https://x\n---\n",
                "d",
                Some("see https://x"),
            ),
            ("---\nauthor:\n  name: Bob\n---\n", "name", None),
            ("---\nname:\n---\n", "name", Some("")),
        ];
        for (text, key, value) in cases {
            assert_eq!(parsed(text).get(key), *value, "{text:?}");
        }
        for text in [
            "",
            "x",
            "---\nname: open\n",
            " ---\n---\n",
            "----\n---\n",
            "\n---\n---\n",
        ] {
            assert_eq!(Frontmatter::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn setting_a_value_changes_its_bytes_alone() {
        let cases: &[(&str, &str, &str, &str)] = &[
            (
                "---\ntype: a\nx: 1\n---\nb",
                "type",
                "user",
                "---\ntype: user\nx: 1\n---\nb",
            ),
            (
                "---\r\nname: 'a'  \r\n---\r\nb",
                "name",
                "it's",
                "---\r\nname: 'it''s'  \r\n---\r\nb",
            ),
            (
                "---\nmetadata: \n  type: a \n---\n",
                "type",
                "user",
                "---\nmetadata: \n  type: user \n---\n",
            ),
            ("---\nname:\n---\n", "name", "n", "---\nname: n\n---\n"),
            (
                "---\r\n---\r\n",
                "updated",
                "d",
                "---\r\nupdated: d\r\n---\r\n",
            ),
            (
                "---\nd: >\n  one\n  two\nz: 1\n---\n",
                "d",
                "x",
                "---\nd: x\nz: 1\n---\n",
            ),
            (
                "---\nd: a\n---\n",
                "d",
                "two\nlines",
                "---\nd: two lines\n---\n",
            ),
        ];
        for (before, key, value, after) in cases {
            assert_eq!(parsed(before).set(before, key, value), *after);
        }
    }

    #[test]
    fn a_quoted_value_stays_quoted_and_keeps_every_character() {
        for (before, value, after) in [
            (
                "---\nname: \"a\"\n---\n",
                "say \"hi\" \\ bye",
                "---\nname: \"say \\\"hi\\\" \\\\ bye\"\n---\n",
            ),
            // A single quotation mark quotes nothing.
            ("---\nname: \"\n---\n", "a", "---\nname: a\n---\n"),
            ("---\nname: 'a\n---\n", "b", "---\nname: b\n---\n"),
        ] {
            let set = parsed(before).set(before, "name", value);
            assert_eq!(set, after);
            assert_eq!(parsed(&set).get("name"), Some(value));
        }
    }

    #[test]
    fn only_the_type_is_set_below_metadata() {
        let text = "---\nmetadata:\n  name: theirs\n  type: a\n---\n";
        assert_eq!(
            parsed(text).set(text, "name", "mine"),
            "---\nmetadata:\n  name: theirs\n  type: a\nname: mine\n---\n"
        );
    }

    #[test]
    fn a_quote_inside_a_nested_value_neither_ends_nor_opens_it() {
        for value in [r#""b \" c""#, r"'b\'", "'it''s'", r#""back \\""#] {
            let text = format!("---\nmetadata:\n  a: {value}\n  type: user\n---\n");
            assert_eq!(parsed(&text).get_anywhere("type"), Some("user"), "{text}");
        }
        let open = "---\nmetadata:\n  a: \"b\n    type: c\"\n  x: y\n---\n";
        assert_eq!(parsed(open).get_anywhere("type"), None);
        assert_eq!(parsed(open).get_anywhere("x"), Some("y"));
    }

    #[test]
    fn only_a_bare_mark_starts_a_block() {
        for (text, value) in [
            (
                "---\nd: > to be read\n  at once\n---\n",
                "> to be read at once",
            ),
            ("---\nd: |-\n  one\n\n  two\n---\n", "one two"),
            ("---\nd: |2-\n  one\n---\n", "one"),
            ("---\nd: >\n---\n", ">"),
            ("---\nd: \"one\\ntwo\\tthree\"\n---\n", "one two three"),
        ] {
            assert_eq!(parsed(text).get("d"), Some(value), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "(---\r?\n)?[ -~\r\n:\"'|>\\t]{0,80}(---\n)?.{0,10}") {
            if let Some(head) = Frontmatter::parse(&text) {
                prop_assert!(head.body() <= text.len());
                for field in &head.fields {
                    prop_assert!(text.get(field.span.clone()).is_some());
                }
            }
        }

        #[test]
        fn a_value_that_was_set_reads_back(
            text in "---\r?\n([a-z]{1,3}: ?[a-z\"' #:]{0,8}\r?\n|  [a-z]{1,3}: [a-z]{0,4}\r?\n){0,5}---\r?\n.{0,10}",
            value in "[!-~é]([ -~é]{0,20}[!-~é])?",
        ) {
            if let Some(head) = Frontmatter::parse(&text) {
                let set = head.set(&text, "name", &value);
                let again = Frontmatter::parse(&set).expect("still a header");
                prop_assert_eq!(again.get("name"), Some(value.as_str()));
                prop_assert_eq!(&set[again.body()..], &text[head.body()..]);
            }
        }
    }
}
