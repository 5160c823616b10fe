//! Formats values for output, the same for all interfaces.

use std::borrow::Cow;

use crate::core::text::hidden::is_hidden;
use crate::core::text::secret::mask;
use crate::core::text::{clean, one_line};

/// Returns a visible replacement for a hidden character; `None` for visible ones.
pub fn visible_char(c: char) -> Option<char> {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('␡'),
        c if is_hidden(c) => Some('\u{fffd}'),
        _ => None,
    }
}

/// Returns text of a log that is safe to show: without control characters, hidden characters
/// and secrets.
pub fn safe(text: &str) -> String {
    mask(&clean(text))
}

/// Like [`safe`], on one line.
pub fn safe_line(text: &str) -> String {
    one_line(&safe(text))
}

/// Returns JSON with hidden characters escaped as `\uXXXX`, so that a reader sees them. Such
/// characters occur in strings only.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Replaces control characters by visible ones, so that none of them affects a terminal;
/// newlines and tabs stay.
pub fn escape_controls(text: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain) {
        return text.to_owned();
    }
    text.chars()
        .filter(|c| *c != '\r')
        .map(|c| match c {
            '\n' | '\t' => c,
            c => visible_char(c).unwrap_or(c),
        })
        .collect()
}

/// Replaces every control character by a visible one, so that the text stays on its line.
pub fn visible_line(text: &str) -> String {
    text.chars().map(|c| visible_char(c).unwrap_or(c)).collect()
}

/// Formats the time between `then` and `now`, both in milliseconds since 1970: `now`, `5m`,
/// `2h`, `12d`, `3mo`, `2y`. A time in the future is `now`; an unknown one (0) is empty.
pub fn format_age(then: i64, now: i64) -> String {
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    if then == 0 {
        return String::new();
    }
    match now.saturating_sub(then) {
        past if past < MINUTE => "now".to_owned(),
        past if past < HOUR => format!("{}m", past / MINUTE),
        past if past < DAY => format!("{}h", past / HOUR),
        past if past < 30 * DAY => format!("{}d", past / DAY),
        past if past < 365 * DAY => format!("{}mo", past / (30 * DAY)),
        past => format!("{}y", past / (365 * DAY)),
    }
}

/// Formats how long ago something was: `now`, `5m ago`; an unknown time is empty.
pub fn format_ago(then: i64, now: i64) -> String {
    match format_age(then, now) {
        age if age.is_empty() || age == "now" => age,
        age => format!("{age} ago"),
    }
}

/// Names the first few, and says how many more there are: `a, b and 3 more`.
pub fn first_few(most: usize, names: &[impl AsRef<str>]) -> String {
    let first = names.iter().take(most).map(AsRef::as_ref);
    let first = first.collect::<Vec<&str>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Formats a size in bytes: `812 B`, `1.2 KB`, `34 KB`, `1.8 MB`.
pub fn format_size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in ["KB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    if unit == "B" || value >= 9.95 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(
            escape_controls("a\u{1b}[31mb\u{9b}c\u{202e}d\n\t\0\r"),
            "a␛[31mb\u{fffd}c\u{fffd}d\n\t␀"
        );
    }

    #[test]
    fn hidden_characters_are_seen_in_json_and_are_the_same_when_it_is_read() {
        let text = "a\u{202e}b\u{e0041}c\u{7f}\u{ad}é";
        let json = serde_json::to_string(text).expect("JSON");
        let json = visible_json(&json);
        assert_eq!(json, "\"a\\u202eb\\udb40\\udc41c\\u007f\\u00adé\"");
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
    }

    #[test]
    fn what_nobody_sees_has_something_in_its_place() {
        for c in [
            '\u{61c}',
            '\u{ad}',
            '\u{180e}',
            '\u{3164}',
            '\u{e0041}',
            '\u{200b}',
        ] {
            assert_eq!(visible_char(c), Some('\u{fffd}'), "{c:?}");
        }
        for c in ['a', '\u{200d}', '\u{200c}', '\u{fe0f}', 'ä', '한'] {
            assert_eq!(visible_char(c), None, "{c:?}");
        }
    }

    #[test]
    fn a_text_is_safe_without_sequences_and_secrets() {
        assert_eq!(
            safe("\u{1b}]52;c;eA==\u{7}PASSWORD=hunter22"),
            "PASSWORD=‹masked›"
        );
        // A secret is found despite a hidden character in it.
        assert_eq!(safe("PASS\u{200b}WORD=hunter22"), "PASSWORD=‹masked›");
        assert_eq!(safe_line("a\nb"), "a b");
    }

    #[test]
    fn ages_are_short() {
        let (minute, hour, day) = (60_000, 3_600_000, 86_400_000);
        for (past, expected) in [
            (-5, "now"),
            (59_999, "now"),
            (minute, "1m"),
            (59 * minute, "59m"),
            (2 * hour, "2h"),
            (12 * day, "12d"),
            (45 * day, "1mo"),
            (364 * day, "12mo"),
            (800 * day, "2y"),
        ] {
            assert_eq!(
                format_age(1_000_000_000_000, 1_000_000_000_000 + past),
                expected
            );
        }
        assert_eq!(format_age(0, 5), "");
    }

    #[test]
    fn sizes_have_two_digits_that_count() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (1_240, "1.2 KB"),
            (9_960, "10 KB"),
            (999_600, "1.0 MB"),
            (1_800_000_000, "1.8 GB"),
        ] {
            assert_eq!(format_size(bytes), expected);
        }
    }
}
