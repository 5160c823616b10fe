//! The moment of a request, and the parser of times for `--since`, `since:`, `before:` and the tools of the MCP server.

use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp, Zoned};

/// The current time, passed in by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The time in UTC.
    pub time: jiff::Timestamp,
    /// The date in the user's time zone.
    pub today: jiff::civil::Date,
}

#[cfg(test)]
impl Moment {
    /// The moment of the changes of tests.
    pub(crate) fn test() -> Self {
        Self {
            time: jiff::Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(2026, 2, 12),
        }
    }
}

/// The accepted forms of a time, for messages and help.
pub const FORMS: &str = "a day such as 2026-01-31, today or yesterday, a time such as 2026-01-31T10:00:00Z, or an age such as 12h, 30d, 2w, 6m or 1y";

/// Which end of a day is used if only a day is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The first millisecond.
    Start,
    /// The last millisecond.
    End,
}

/// Parses a time to milliseconds since 1970 UTC; `None` if the text is no time.
///
/// Ages are relative to `now`; days and times without a zone are in its time zone. A number of
/// at least eleven digits is in milliseconds since 1970.
pub fn parse(text: &str, now: &Zoned, edge: Edge) -> Option<i64> {
    let text = text.trim();
    if let Some(day) = parse_day(text, now) {
        let start = |day: Date| Some(day.to_zoned(now.time_zone().clone()).ok()?.timestamp());
        return match edge {
            Edge::Start => Some(start(day)?.as_millisecond()),
            // The next day's start gives the end: not every day has 24 hours.
            Edge::End => Some(start(day.tomorrow().ok()?)?.as_millisecond() - 1),
        };
    }
    if text.len() >= 11 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    if let Some(age) = parse_age(text) {
        return Some(now.checked_sub(age).ok()?.timestamp().as_millisecond());
    }
    let local: DateTime = text.parse().ok()?;
    let zoned = local.to_zoned(now.time_zone().clone()).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

fn parse_day(text: &str, now: &Zoned) -> Option<Date> {
    match text {
        "today" => Some(now.date()),
        "yesterday" => now.date().yesterday().ok(),
        // The parser of days accepts a time of day, too, and drops it.
        text if text.len() > "2026-01-31".len() => None,
        text => text.parse().ok(),
    }
}

/// Parses an age such as `12h`, `30d`, `2w`, `6m` (months) or `1y`.
pub fn parse_age(text: &str) -> Option<Span> {
    let unit = text.chars().next_back()?;
    let number = &text[..text.len() - unit.len_utf8()];
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = number.parse().ok()?;
    let none = Span::new();
    match unit {
        'h' => none.try_hours(number).ok(),
        'd' => none.try_days(number).ok(),
        'w' => none.try_weeks(number).ok(),
        'm' => none.try_months(number).ok(),
        'y' => none.try_years(number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::query::noon;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn ages_count_back_from_now_and_days_begin_at_midnight() {
        let now = noon().timestamp().as_millisecond();
        for (value, expected) in [
            ("12h", now - 12 * HOUR),
            ("2w", now - 14 * 24 * HOUR),
            ("1m", now - 28 * 24 * HOUR),
            ("1y", now - 365 * 24 * HOUR),
            ("today", now - 12 * HOUR),
            ("yesterday", now - 36 * HOUR),
            ("2026-03-14", now - 36 * HOUR),
            ("2026-03-14T12:00:00Z", now - 24 * HOUR),
            ("2026-03-14T14:00:00+02:00", now - 24 * HOUR),
            ("2026-03-14T12:00", now - 24 * HOUR),
            ("1700000000000", 1_700_000_000_000),
        ] {
            assert_eq!(
                parse(value, &noon(), Edge::Start),
                Some(expected),
                "{value}"
            );
        }
        for value in [
            "",
            "d",
            "-3d",
            "+3d",
            "3",
            "3x",
            "soon",
            "2026-02-30",
            "99999999999999999999d",
            "9223372036854775807y",
            "99999999999999999999",
            "数",
        ] {
            assert_eq!(parse(value, &noon(), Edge::Start), None, "{value}");
        }
    }

    #[test]
    fn a_day_counts_to_its_end_where_the_end_is_meant() {
        let now = noon().timestamp().as_millisecond();
        assert_eq!(
            parse("today", &noon(), Edge::End),
            Some(now + 12 * HOUR - 1)
        );
        assert_eq!(parse("1d", &noon(), Edge::End), Some(now - 24 * HOUR));
    }
}
