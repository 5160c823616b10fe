//! How values read, the same behind every door.

/// What stands for a character that would move the cursor, change colours or turn the direction
/// of reading; `None` for characters that may be shown.
pub fn stand_in(c: char) -> Option<char> {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('␡'),
        '\u{80}'..='\u{9f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => Some('\u{fffd}'),
        _ => None,
    }
}

/// Text with control characters made visible, so that none of them acts on a terminal; its lines
/// stay lines.
pub fn visible(text: &str) -> String {
    text.chars()
        .filter(|c| *c != '\r')
        .map(|c| match c {
            '\n' | '\t' => c,
            c => stand_in(c).unwrap_or(c),
        })
        .collect()
}

/// The time between `then` and `now`, both in milliseconds since 1970: `now`, `5m`, `2h`, `12d`,
/// `3mo`, `2y`. A time that lies ahead is `now`; an unknown one (0) is empty.
pub fn age(then: i64, now: i64) -> String {
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

/// A size in bytes for people: `812 B`, `1.2 KB`, `34 KB`, `1.8 MB`.
pub fn size(bytes: u64) -> String {
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
            visible("a\u{1b}[31mb\u{9b}c\u{202e}d\n\t\0\r"),
            "a␛[31mb\u{fffd}c\u{fffd}d\n\t␀"
        );
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
            assert_eq!(age(1_000_000_000_000, 1_000_000_000_000 + past), expected);
        }
        assert_eq!(age(0, 5), "");
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
            assert_eq!(size(bytes), expected);
        }
    }
}
