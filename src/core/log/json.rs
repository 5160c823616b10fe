//! A lenient JSON scanner: values are spans of bytes, decoded only on request.
//!
//! Logs are mostly text that is not needed (copies of tool results, images, signatures),
//! so the scanner finds where a value ends and does not decode it. It does not recurse,
//! accepts lone surrogates, raw control characters and invalid UTF-8 inside strings, and
//! uses the last value of a repeated key.

mod scan;
mod text;

use std::rc::Rc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memchr::memchr;

use scan::{end_of_value, fields, skip_space};

/// A value, as bytes of the line.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(&'a [u8]);

/// The fields of an object, in order.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    fields: Vec<(&'a [u8], Raw<'a>)>,
    /// A value that was parsed along with it, after its key.
    opened: Option<(&'a [u8], Opened<'a>)>,
}

/// A value that was parsed along with the object that it is in.
#[derive(Debug, Clone)]
enum Opened<'a> {
    Object(Rc<Object<'a>>),
    Items(Rc<[JsonItem<'a>]>),
}

/// A value of an array; objects are parsed into fields.
#[derive(Debug, Clone)]
pub enum JsonItem<'a> {
    /// An object.
    Object(Object<'a>),
    /// Anything else.
    Other(Raw<'a>),
}

/// The values of an array; empty for anything else.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The error for text that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// Keys whose values nearly every record is read for, if they are objects; parsed along with the
/// record.
const OPENED: [&[u8]; 2] = [b"message", b"payload"];
/// The key of the array in these objects whose items are parsed, too, and the largest number of
/// items: those of a longer array are parsed one after another, so that they do not fill the memory.
const OPENED_ITEMS: &[u8] = b"content";
const MOST_OPENED: usize = 64;
/// The expected number of fields of an object.
const FIELDS: usize = 24;
/// The depth from which [`Raw::outline`] writes plain JSON.
const OUTLINE_DEPTH: usize = 12;

/// Splits one value off the front of `bytes`, which must begin with it.
pub fn value(bytes: &[u8]) -> Result<(Raw<'_>, &[u8]), Broken> {
    let end = end_of_value(bytes, 0)?;
    Ok((Raw(&bytes[..end]), &bytes[end..]))
}

/// Splits one object off the front of `bytes`, and parses its fields.
pub fn object(bytes: &[u8]) -> Result<(Object<'_>, &[u8]), Broken> {
    let mut object = Object::new();
    let end = object.parse(bytes, 0, &mut |object, key, at| {
        if !OPENED.contains(&key) {
            return Err(Broken);
        }
        let mut inner = Object::new();
        let end = inner.parse(bytes, at, &mut |inner, key, at| {
            if key != OPENED_ITEMS {
                return Err(Broken);
            }
            let (items, end) = items_at(bytes, at)?;
            inner.opened = Some((key, Opened::Items(items.into())));
            Ok(end)
        })?;
        object.opened = Some((key, Opened::Object(Rc::new(inner))));
        Ok(end)
    })?;
    Ok((object, &bytes[end..]))
}

/// Parses the items of the array at `at`, if there are few; returns where it ends, too.
fn items_at(bytes: &[u8], at: usize) -> Result<(Vec<JsonItem<'_>>, usize), Broken> {
    if bytes.get(at) != Some(&b'[') {
        return Err(Broken);
    }
    let mut items = Vec::new();
    let mut at = skip_space(bytes, at + 1);
    while bytes.get(at) != Some(&b']') {
        if items.len() == MOST_OPENED {
            return Err(Broken);
        }
        let mut object = Object::default();
        let end = match object.parse(bytes, at, &mut |_, _, _| Err(Broken)) {
            Ok(end) => {
                items.push(JsonItem::Object(object));
                end
            }
            Err(_) => {
                let end = end_of_value(bytes, at)?;
                items.push(JsonItem::Other(Raw(&bytes[at..end])));
                end
            }
        };
        at = skip_space(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b']') => {}
            _ => return Err(Broken),
        }
    }
    Ok((items, at + 1))
}

impl<'a> Object<'a> {
    fn new() -> Self {
        Self {
            fields: Vec::with_capacity(FIELDS),
            opened: None,
        }
    }

    /// Parses the fields of the object at `at`; returns where it ends. `open` may parse the value
    /// of a key, so that it is scanned only once, and then returns where the value ends.
    fn parse(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        open: &mut impl FnMut(&mut Self, &'a [u8], usize) -> Result<usize, Broken>,
    ) -> Result<usize, Broken> {
        fields(bytes, at, &mut |key, at| {
            // The last value of a repeated key counts, even if it is not parsed.
            self.opened.take_if(|(opened, _)| *opened == key);
            let end = open(self, key, at).or_else(|_| end_of_value(bytes, at))?;
            self.fields.push((key, Raw(&bytes[at..end])));
            Ok(end)
        })
    }

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
        match &self.opened {
            Some((opened, Opened::Object(object))) if *opened == key.as_bytes() => {
                Some(Object::clone(object))
            }
            _ => self.get(key)?.object(),
        }
    }

    /// Returns the values of the array under `key`, if they were parsed along with this object.
    pub fn opened_items(&self, key: &str) -> Option<&[JsonItem<'a>]> {
        match &self.opened {
            Some((opened, Opened::Items(items))) if *opened == key.as_bytes() => Some(items),
            _ => None,
        }
    }

    /// Returns the values of the array under `key`.
    pub fn items(&self, key: &str) -> Items<'a> {
        self.get(key).map_or(Items::EMPTY, Raw::items)
    }

    /// Returns the text of the first of these keys that has one.
    pub fn first_text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// Returns the objects among the items of an array, each parsed.
    pub fn objects(&self, key: &str) -> impl Iterator<Item = Object<'a>> + use<'a> {
        self.items(key).filter_map(Raw::object)
    }

    /// Returns the time under `key`, see [`Raw::time`].
    pub fn time(&self, key: &str) -> Option<i64> {
        self.get(key)?.time()
    }

    /// Whether `key` holds exactly this string.
    pub fn is(&self, key: &str, text: &str) -> bool {
        self.get(key).is_some_and(|value| value.is(text))
    }

    /// Whether `key` holds `true`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.0 == b"true")
    }

    /// Returns the string under `key` if it needs no decoding, such as a type name.
    pub fn word(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.word()
    }

    /// Returns the fields in the order of the text, repeated keys included.
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

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether it is exactly this string, written without escapes.
    pub fn is(self, text: &str) -> bool {
        self.inside()
            .is_some_and(|inside| inside == text.as_bytes())
    }

    /// Returns the string if it needs no decoding.
    pub fn word(self) -> Option<&'a str> {
        let inside = self.inside()?;
        if memchr(b'\\', inside).is_some() {
            return None;
        }
        std::str::from_utf8(inside).ok()
    }

    /// Returns the decoded string; invalid parts become U+FFFD.
    pub fn text(self) -> Option<String> {
        let inside = self.inside()?;
        Some(text::decode(inside))
    }

    /// Returns the number as an integer, cut at the decimal point.
    pub fn int(self) -> Option<i64> {
        let digits = std::str::from_utf8(self.0).ok()?;
        digits.parse().ok().or_else(|| {
            let float: f64 = digits.parse().ok()?;
            (float.is_finite() && float.abs() < 9e15).then_some(float as i64)
        })
    }

    /// Returns the time in milliseconds since 1970 UTC, from an ISO 8601 string, which is read as UTC
    /// without an offset, or a number of seconds or milliseconds.
    pub fn time(self) -> Option<i64> {
        /// Smaller numbers are seconds: they reach this in 5138, milliseconds did in 1973.
        const SECONDS: i64 = 100_000_000_000;
        if let Some(word) = self.word() {
            let moment = word.parse::<Timestamp>().or_else(|_| {
                let local: DateTime = word.parse()?;
                Ok::<_, jiff::Error>(local.to_zoned(TimeZone::UTC)?.timestamp())
            });
            return Some(moment.ok()?.as_millisecond());
        }
        let number = self.int()?;
        Some(if number.abs() < SECONDS {
            number * 1000
        } else {
            number
        })
    }

    /// Formats the value as indented `key: value` lines, with strings decoded.
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

impl<'a> Items<'a> {
    /// Returns the values with objects parsed, so that each is scanned only once.
    pub fn opened(mut self) -> impl Iterator<Item = JsonItem<'a>> {
        std::iter::from_fn(move || {
            let rest = self.rest()?;
            if let Ok((object, after)) = object(rest) {
                self.at = self.bytes.len() - after.len();
                return Some(JsonItem::Object(object));
            }
            self.next().map(JsonItem::Other)
        })
    }

    /// Returns the bytes from the next value on; `None` at the end.
    fn rest(&self) -> Option<&'a [u8]> {
        let mut at = skip_space(self.bytes, self.at);
        if self.bytes.get(at) == Some(&b',') {
            at = skip_space(self.bytes, at + 1);
        }
        match self.bytes.get(at) {
            None | Some(b']') => None,
            Some(_) => Some(&self.bytes[at..]),
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let (value, after) = value(self.rest()?).ok()?;
        self.at = self.bytes.len() - after.len();
        Some(value)
    }
}

/// Starts an indented line of an outline; adds a line break unless there is one.
fn begin_line(out: &mut String, depth: usize) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    for _ in 0..depth {
        out.push_str("  ");
    }
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
    fn the_items_of_a_short_content_are_parsed_along_with_the_record() {
        for count in [0, 1, MOST_OPENED, MOST_OPENED + 1] {
            let items = vec![r#"{"a":"]"}, 7"#; count.div_ceil(2)].join(",");
            let text = format!(r#"{{"message":{{"content":[{items}],"id":"m"}},"uuid":"u"}}"#);
            let record = parse(&text);
            let message = record.object("message").expect("an object");
            assert_eq!(message.text("id").as_deref(), Some("m"));
            let all = message.items("content").count();
            let parsed = message.opened_items("content").map(<[JsonItem<'_>]>::len);
            assert_eq!(parsed, (all <= MOST_OPENED).then_some(all));
        }
        let repeated = parse(r#"{"message":{"content":[1],"content":"x"}}"#);
        let message = repeated.object("message").expect("an object");
        assert!(message.opened_items("content").is_none());
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
    fn a_message_is_the_last_of_its_name_whatever_it_is() {
        let twice = parse(r#"{"message":{"a":1},"message":{"a":2},"payload":3}"#);
        let message = twice.object("message").expect("an object");
        assert_eq!(message.get("a").and_then(Raw::int), Some(2));
        assert!(twice.object("payload").is_none());
        let text = parse(r#"{"message":{"a":1},"message":"text"}"#);
        assert!(text.object("message").is_none());
        assert_eq!(text.text("message").as_deref(), Some("text"));
        let nested = parse(r#"{"message":{"message":{"a":3}}}"#);
        let inner = nested
            .object("message")
            .and_then(|outer| outer.object("message"));
        assert_eq!(
            inner.and_then(|inner| inner.get("a")).and_then(Raw::int),
            Some(3)
        );
    }

    #[test]
    fn an_array_gives_its_values_whole_or_taken_apart() {
        let list = parse(r#"{"a":[ {"b":1} ,"c",[2], {"d" 3}, {} ]}"#);
        assert_eq!(list.items("a").count(), 5);
        let kinds: Vec<bool> = list
            .items("a")
            .opened()
            .map(|item| matches!(item, JsonItem::Object(_)))
            .collect();
        assert_eq!(kinds, [true, false, false, false, true]);
        assert_eq!(parse(r#"{"a":[]}"#).items("a").opened().count(), 0);
        assert_eq!(parse(r#"{"a":{}}"#).items("a").opened().count(), 0);
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
