//! A JSON scanner that forgives: values are spans of bytes, decoded only when asked.
//!
//! Logs are mostly text that nobody asks for (copies of tool results, images,
//! signatures), so the scanner finds where a value ends and leaves its inside alone.
//! It has no recursion, takes lone surrogates, raw control characters and bytes that
//! are not UTF-8 inside strings, and of a key given twice the last value.

use jiff::Timestamp;
use memchr::{memchr, memchr_iter};

/// A value as it stands in the line.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(&'a [u8]);

/// The fields of an object, in order.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    fields: Vec<(&'a [u8], Raw<'a>)>,
}

/// The values of an array; empty for anything else.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Where the text stopped being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// How long a string may be to be searched byte by byte.
const SHORT: usize = 16;
/// How deep [`Raw::outline`] goes before it gives the JSON as it is.
const OUTLINE_DEPTH: usize = 12;

/// Splits one value off the front of `bytes`, which must begin with it.
pub fn value(bytes: &[u8]) -> Result<(Raw<'_>, &[u8]), Broken> {
    let end = end_of_value(bytes, 0)?;
    Ok((Raw(&bytes[..end]), &bytes[end..]))
}

/// Splits one object off the front of `bytes`, with its fields found on the way.
pub fn object(bytes: &[u8]) -> Result<(Object<'_>, &[u8]), Broken> {
    if bytes.first() != Some(&b'{') {
        return Err(Broken);
    }
    let mut fields = Vec::with_capacity(24);
    let mut at = skip_space(bytes, 1);
    if bytes.get(at) == Some(&b'}') {
        return Ok((Object { fields }, &bytes[at + 1..]));
    }
    loop {
        if bytes.get(at) != Some(&b'"') {
            return Err(Broken);
        }
        let key_end = end_of_string(bytes, at)?;
        let key = &bytes[at + 1..key_end - 1];
        at = skip_space(bytes, key_end);
        if bytes.get(at) != Some(&b':') {
            return Err(Broken);
        }
        at = skip_space(bytes, at + 1);
        let end = end_of_value(bytes, at)?;
        fields.push((key, Raw(&bytes[at..end])));
        at = skip_space(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => return Ok((Object { fields }, &bytes[at + 1..])),
            _ => return Err(Broken),
        }
    }
}

impl<'a> Object<'a> {
    /// Returns the value of `key`; `null` counts as absent.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.fields
            .iter()
            .rev()
            .find(|(name, _)| *name == key.as_bytes())
            .map(|(_, value)| *value)
            .filter(|value| value.0 != b"null")
    }

    /// Returns the decoded string under `key`.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.text()
    }

    /// Returns the object under `key`.
    pub fn object(&self, key: &str) -> Option<Object<'a>> {
        self.get(key)?.object()
    }

    /// Returns the values of the array under `key`.
    pub fn items(&self, key: &str) -> Items<'a> {
        self.get(key).map_or(Items::EMPTY, Raw::items)
    }

    /// Returns the moment under `key`, see [`Raw::time`].
    pub fn time(&self, key: &str) -> Option<i64> {
        self.get(key)?.time()
    }

    /// Tells whether `key` holds exactly this string.
    pub fn is(&self, key: &str, text: &str) -> bool {
        self.get(key).is_some_and(|value| value.is(text))
    }

    /// Tells whether `key` holds `true`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.0 == b"true")
    }

    /// Returns the string under `key` where it needs no decoding: type names and the like.
    pub fn word(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.word()
    }

    /// Returns the fields in the order of the text, a key given twice twice.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], Raw<'a>)> + '_ {
        self.fields.iter().copied()
    }
}

impl<'a> Raw<'a> {
    /// Returns the bytes of the value.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the fields, if it is an object.
    pub fn object(self) -> Option<Object<'a>> {
        object(self.0).ok().map(|(object, _)| object)
    }

    /// Returns the values, if it is an array.
    pub fn items(self) -> Items<'a> {
        if self.is_array() {
            Items {
                bytes: self.0,
                at: 1,
            }
        } else {
            Items::EMPTY
        }
    }

    /// Tells whether it is a string.
    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Tells whether it is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Tells whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Tells whether it is exactly this string, written without escapes.
    pub fn is(self, text: &str) -> bool {
        self.inside()
            .is_some_and(|inside| inside == text.as_bytes())
    }

    /// Returns the string where it needs no decoding.
    pub fn word(self) -> Option<&'a str> {
        let inside = self.inside()?;
        if memchr(b'\\', inside).is_some() {
            return None;
        }
        std::str::from_utf8(inside).ok()
    }

    /// Returns the decoded string; what cannot be decoded becomes U+FFFD.
    pub fn text(self) -> Option<String> {
        let inside = self.inside()?;
        match memchr(b'\\', inside) {
            None => Some(lossy(inside.to_vec())),
            Some(first) => Some(lossy(unescape(inside, first))),
        }
    }

    /// Returns the whole number.
    pub fn int(self) -> Option<i64> {
        let digits = std::str::from_utf8(self.0).ok()?;
        digits.parse().ok().or_else(|| {
            let float: f64 = digits.parse().ok()?;
            (float.is_finite() && float.abs() < 9e15).then_some(float as i64)
        })
    }

    /// Returns the moment in milliseconds since 1970 UTC: an ISO 8601 string with an
    /// offset, or a number of seconds or milliseconds.
    pub fn time(self) -> Option<i64> {
        /// Seconds stay below this until the year 5138; milliseconds passed it in 1973.
        const SECONDS: i64 = 100_000_000_000;
        if let Some(word) = self.word() {
            let moment: Timestamp = word.parse().ok()?;
            return Some(moment.as_millisecond());
        }
        let number = self.int()?;
        Some(if number.abs() < SECONDS {
            number * 1000
        } else {
            number
        })
    }

    /// Returns the value as a person would note it: `key: value` lines, strings decoded.
    pub fn outline(self) -> String {
        let mut out = String::new();
        self.outline_into(&mut out, 0);
        out
    }

    fn outline_into(self, out: &mut String, depth: usize) {
        if let Some(text) = self.text() {
            out.push_str(&text);
        } else if depth >= OUTLINE_DEPTH || !(self.is_array() || self.is_object()) {
            out.push_str(&String::from_utf8_lossy(self.0));
        } else if let Some(object) = self.object() {
            for (key, value) in object.fields() {
                begin_line(out, depth);
                out.push_str(&String::from_utf8_lossy(key));
                out.push(':');
                value.outline_under(out, depth);
            }
        } else {
            for value in self.items() {
                begin_line(out, depth);
                out.push('-');
                value.outline_under(out, depth);
            }
        }
    }

    fn outline_under(self, out: &mut String, depth: usize) {
        if !(self.is_array() || self.is_object()) {
            out.push(' ');
        } else if !out.is_empty() {
            out.push('\n');
        }
        self.outline_into(out, depth + 1);
    }

    fn inside(self) -> Option<&'a [u8]> {
        match self.0 {
            [b'"', inside @ .., b'"'] => Some(inside),
            _ => None,
        }
    }
}

impl Items<'_> {
    const EMPTY: Items<'static> = Items { bytes: b"", at: 0 };
}

impl<'a> Iterator for Items<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let mut at = skip_space(self.bytes, self.at);
        if self.bytes.get(at) == Some(&b',') {
            at = skip_space(self.bytes, at + 1);
        }
        if matches!(self.bytes.get(at), None | Some(b']')) {
            return None;
        }
        let end = end_of_value(self.bytes, at).ok()?;
        self.at = end;
        Some(Raw(&self.bytes[at..end]))
    }
}

/// Starts a line of an outline, unless one has just been started.
fn begin_line(out: &mut String, depth: usize) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Finds the end of the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let inside = &bytes[at + 1..];
    // Keys and type names end within a few bytes, too few to set up a search for.
    for (length, byte) in inside.iter().take(SHORT).enumerate() {
        match byte {
            b'"' => return Ok(at + length + 2),
            b'\\' => break,
            _ => {}
        }
    }
    // Quotes are rarer than backslashes in text, so quotes are looked for, and the
    // backslashes before one are counted: an even number leaves it a quote.
    for quote in memchr_iter(b'"', inside) {
        let escapes = inside[..quote]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if escapes % 2 == 0 {
            return Ok(at + quote + 2);
        }
    }
    Err(Broken)
}

/// Finds the end of the value that begins at `at`, with a count in place of recursion.
fn end_of_value(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    match bytes.get(at) {
        Some(b'"') => end_of_string(bytes, at),
        Some(b'{' | b'[') => end_of_nest(bytes, at),
        Some(byte) if is_bare(*byte) => {
            let rest = &bytes[at..];
            let length = rest.iter().position(|byte| !is_bare(*byte));
            Ok(at + length.unwrap_or(rest.len()))
        }
        _ => Err(Broken),
    }
}

fn end_of_nest(bytes: &[u8], mut at: usize) -> Result<usize, Broken> {
    let mut depth = 0usize;
    loop {
        match bytes.get(at) {
            Some(b'"') => {
                at = end_of_string(bytes, at)?;
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            Some(b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') => {}
            Some(byte) if is_bare(*byte) => {}
            // A letter of no literal: two records have run into each other.
            _ => return Err(Broken),
        }
        at += 1;
    }
}

/// Tells whether the byte can stand in a number or in `true`, `false`, `null`.
fn is_bare(byte: u8) -> bool {
    matches!(
        byte,
        b'0'..=b'9'
            | b'-'
            | b'+'
            | b'.'
            | b'E'
            | b'a'
            | b'e'
            | b'f'
            | b'l'
            | b'n'
            | b'r'
            | b's'
            | b't'
            | b'u'
    )
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Decodes the escapes of a string's inside, of which `first` is the first.
fn unescape(inside: &[u8], first: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    let mut next = Some(first);
    while let Some(backslash) = next {
        out.extend_from_slice(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        rest = unescape_one(rest, &mut out);
        next = match rest.first() {
            Some(b'\\') => Some(0),
            _ => memchr(b'\\', rest),
        };
    }
    out.extend_from_slice(rest);
    out
}

/// Decodes the escape whose backslash has just been read, and returns what follows it.
fn unescape_one<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((&kind, after)) = rest.split_first() else {
        out.push(b'\\');
        return rest;
    };
    match kind {
        b'n' => out.push(b'\n'),
        b't' => out.push(b'\t'),
        b'r' => out.push(b'\r'),
        b'b' => out.push(8),
        b'f' => out.push(12),
        b'u' => return unescape_unicode(after, out),
        // `"`, `\` and `/`, and whatever a careless writer put here.
        _ => out.push(kind),
    }
    after
}

fn unescape_unicode<'a>(after: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(unit) = hex(after) else {
        out.extend_from_slice(b"\\u");
        return after;
    };
    let mut rest = &after[4..];
    let mut code = unit;
    if (0xD800..0xDC00).contains(&unit)
        && let Some(low) = rest.strip_prefix(b"\\u").and_then(hex)
        && (0xDC00..0xE000).contains(&low)
    {
        code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        rest = &rest[6..];
    }
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(..4)?).ok()?;
    // `from_str_radix` takes a sign, JSON does not.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Object<'_> {
        let (object, after) = object(text.as_bytes()).expect("an object");
        assert!(after.is_empty());
        object
    }

    #[test]
    fn fields_are_found_whatever_their_order_and_null_is_absent() {
        let object = parse(r#"{ "a" : 1 , "b":{"c":[1,{"d":"}"}]},"e":null,"f":true,"g":"x" }"#);
        assert_eq!(object.get("a").and_then(Raw::int), Some(1));
        assert_eq!(object.object("b").map(|b| b.items("c").count()), Some(2));
        assert!(object.get("e").is_none());
        assert!(object.is_true("f"));
        assert!(object.is("g", "x"));
        assert!(object.get("missing").is_none());
    }

    #[test]
    fn of_a_key_given_twice_the_last_counts() {
        assert_eq!(
            parse(r#"{"a":"x","a":"y"}"#).text("a").as_deref(),
            Some("y")
        );
    }

    #[test]
    fn escapes_are_decoded_and_what_is_no_character_is_replaced() {
        let cases = [
            (r#""plain""#, "plain"),
            (r#""a\n\t\"\\\/b""#, "a\n\t\"\\/b"),
            (r#""\u00e9\ud83d\ude00""#, "é😀"),
            (r#""lone \ud83c end""#, "lone \u{fffd} end"),
            (r#""low \ude00""#, "low \u{fffd}"),
            (r#""high high \ud83d\ud83d\ude00""#, "high high \u{fffd}😀"),
            (r#""cut \u12""#, "cut \\u12"),
            (r#""sign \u+123""#, "sign \\u+123"),
            (r#""odd \q""#, "odd q"),
            (r#""\u0000nul""#, "\0nul"),
            (r#""ends in a backslash \\""#, "ends in a backslash \\"),
        ];
        for (given, expected) in cases {
            let (raw, _) = value(given.as_bytes()).expect("a value");
            assert_eq!(raw.text().as_deref(), Some(expected), "{given}");
        }
    }

    #[test]
    fn raw_control_characters_and_bytes_that_are_not_utf8_stay_inside_their_string() {
        let (raw, after) = value(b"\"a\x01\tb\xff\"rest").expect("a value");
        assert_eq!(raw.text().as_deref(), Some("a\x01\tb\u{fffd}"));
        assert_eq!(after, b"rest");
    }

    #[test]
    fn what_does_not_close_or_runs_into_another_record_is_broken() {
        let cases = [
            r#"{"a":1"#,
            r#"{"a":"x"#,
            r#"{"a":{"b":1}"#,
            r#"{"a""#,
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"type":"x","nu{"parentUuid":null}"#,
            r#"{"m":{"c":"cut {"parentUuid":null,"type":"user"}}"#,
            "[1]",
            "",
        ];
        for text in cases {
            assert!(object(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let deep = format!(
            "{{\"a\":{}1{},\"b\":2}}",
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        let object = parse(&deep);
        assert_eq!(object.get("b").and_then(Raw::int), Some(2));
        let outline = object.get("a").map(Raw::outline).unwrap_or_default();
        assert!(outline.contains("[[[1]]]"));
    }

    #[test]
    fn moments_are_read_from_text_seconds_and_milliseconds() {
        let cases = [
            (r#""2026-08-01T10:00:00.123Z""#, Some(1_785_578_400_123)),
            (r#""2026-08-01T12:00:00+02:00""#, Some(1_785_578_400_000)),
            ("1785578400", Some(1_785_578_400_000)),
            ("1785578400123", Some(1_785_578_400_123)),
            ("1785578400123.5", Some(1_785_578_400_123)),
            (r#""yesterday""#, None),
            (r#""""#, None),
            ("{}", None),
        ];
        for (given, expected) in cases {
            let (raw, _) = value(given.as_bytes()).expect("a value");
            assert_eq!(raw.time(), expected, "{given}");
        }
    }

    #[test]
    fn an_outline_reads_like_notes() {
        let text =
            r#"{"command":"ls\n-l","n":3,"todos":[{"text":"a","done":true},"b"],"empty":{}}"#;
        let (raw, _) = value(text.as_bytes()).expect("a value");
        assert_eq!(
            raw.outline(),
            "command: ls\n-l\nn: 3\ntodos:\n  -\n    text: a\n    done: true\n  - b\nempty:\n"
        );
    }
}
