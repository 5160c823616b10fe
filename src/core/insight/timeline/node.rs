//! The nodes of the timeline: their ids, titles, bounds and parents. Days begin in the zone of the
//! timeline.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;

/// The id of a node, such as `toc:week:2024:W03`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeId {
    /// `toc:year:2024`.
    Year(i16),
    /// `toc:month:2024:01`.
    Month(i16, i8),
    /// `toc:week:2024:W03`, an ISO week.
    Week(i16, i8),
    /// `toc:day:2024-01-15`.
    Day(Date),
    /// `toc:segment:2024-01-15:<ULID>`.
    Segment(Date, String),
}

/// The level of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// A year.
    Year,
    /// A month.
    Month,
    /// An ISO week.
    Week,
    /// A day.
    Day,
    /// A part of a session.
    Segment,
}

impl Level {
    /// Returns the level's name, as in ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Week => "week",
            Self::Day => "day",
            Self::Segment => "segment",
        }
    }
}

/// Returns the name of a zone, or its distance from UTC.
pub(super) fn zone_name(zone: &TimeZone) -> String {
    let name = zone.iana_name().map(str::to_owned);
    name.unwrap_or_else(|| {
        if *zone == TimeZone::UTC {
            "UTC".to_owned()
        } else {
            zone.to_offset(jiff::Timestamp::UNIX_EPOCH).to_string()
        }
    })
}

impl NodeId {
    /// Returns the node of the day of a time in milliseconds since 1970, in a zone; a time that no calendar
    /// has counts as 1970.
    pub fn day_of(time: i64, zone: &TimeZone) -> Self {
        let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
        Self::Day(time.to_zoned(zone.clone()).date())
    }

    /// Returns its level.
    pub fn level(&self) -> Level {
        match self {
            Self::Year(_) => Level::Year,
            Self::Month(..) => Level::Month,
            Self::Week(..) => Level::Week,
            Self::Day(_) => Level::Day,
            Self::Segment(..) => Level::Segment,
        }
    }

    /// Returns the node that it is part of: of a day its ISO week, of a week the month of its
    /// Thursday.
    pub fn parent(&self) -> Option<Self> {
        match self {
            Self::Year(_) => None,
            Self::Month(year, _) => Some(Self::Year(*year)),
            Self::Week(year, week) => {
                let thursday = ISOWeekDate::new(*year, *week, Weekday::Thursday).ok()?;
                let thursday = thursday.date();
                Some(Self::Month(thursday.year(), thursday.month()))
            }
            Self::Day(day) => {
                let week = day.iso_week_date();
                Some(Self::Week(week.year(), week.week()))
            }
            Self::Segment(day, _) => Some(Self::Day(*day)),
        }
    }

    /// Returns the nodes above a segment or a day, each with the one that it is part of: its day,
    /// the ISO week of that, and the month and the year in which the day lies. A week at the turn of
    /// a month is part of both.
    pub(super) fn above(&self) -> Vec<(Self, Option<Self>)> {
        let (Self::Segment(day, _) | Self::Day(day)) = self else {
            return Vec::new();
        };
        let week = day.iso_week_date();
        let all = [
            Self::Day(*day),
            Self::Week(week.year(), week.week()),
            Self::Month(day.year(), day.month()),
            Self::Year(day.year()),
        ];
        let parents = all.iter().skip(1).cloned().map(Some).chain([None]);
        all.iter().cloned().zip(parents).collect()
    }

    /// Returns its title; a segment is titled by what happened in it.
    pub fn title(&self) -> Option<String> {
        Some(match self {
            Self::Year(year) => year.to_string(),
            Self::Month(year, month) => {
                let first = Date::new(*year, *month, 1).ok()?;
                first.strftime("%B %Y").to_string()
            }
            Self::Week(year, week) => format!("Week {week} of {year}"),
            Self::Day(day) => day.strftime("%A, %B %-d, %Y").to_string(),
            Self::Segment(..) => return None,
        })
    }

    /// Returns its first and its last millisecond in a zone, whose days have 23 to 25 hours; `None`
    /// for a segment, whose events say it.
    pub fn bounds(&self, zone: &TimeZone) -> Option<(i64, i64)> {
        let (first, last) = self.days()?;
        let start = |day: Date| {
            let start = day.to_zoned(zone.clone()).ok()?;
            Some(start.timestamp().as_millisecond())
        };
        Some((start(first)?, start(last.tomorrow().ok()?)? - 1))
    }

    /// Returns its first and its last day; `None` for a segment, and for a month or a week that no
    /// year has.
    pub fn days(&self) -> Option<(Date, Date)> {
        Some(match self {
            Self::Year(year) => (Date::new(*year, 1, 1).ok()?, Date::new(*year, 12, 31).ok()?),
            Self::Month(year, month) => {
                let first = Date::new(*year, *month, 1).ok()?;
                (first, first.last_of_month())
            }
            Self::Week(year, week) => {
                let monday = ISOWeekDate::new(*year, *week, Weekday::Monday).ok()?;
                let sunday = ISOWeekDate::new(*year, *week, Weekday::Sunday).ok()?;
                (monday.date(), sunday.date())
            }
            Self::Day(day) => (*day, *day),
            Self::Segment(..) => return None,
        })
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Year(year) => write!(f, "toc:year:{year:04}"),
            Self::Month(year, month) => write!(f, "toc:month:{year:04}:{month:02}"),
            Self::Week(year, week) => write!(f, "toc:week:{year:04}:W{week:02}"),
            Self::Day(day) => write!(f, "toc:day:{day}"),
            Self::Segment(day, id) => write!(f, "toc:segment:{day}:{id}"),
        }
    }
}

/// The text is no id of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the id of a node; use toc:year:2024, toc:month:2024:01, toc:week:2024:W03, toc:day:2024-01-15 or toc:segment:2024-01-15:ID"
)]
pub struct NoNodeId;

impl FromStr for NodeId {
    type Err = NoNodeId;

    fn from_str(text: &str) -> Result<Self, NoNodeId> {
        parse(text).ok_or(NoNodeId)
    }
}

fn parse(text: &str) -> Option<NodeId> {
    let (level, rest) = text.strip_prefix("toc:")?.split_once(':')?;
    let digits = |text: &str, length: usize| {
        let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i16>().ok()).flatten()
    };
    let year_and = |rest: &str| {
        let (year, part) = rest.split_once([':', '-'])?;
        Some((digits(year, 4)?, part.to_owned()))
    };
    let found = match level {
        "year" => NodeId::Year(digits(rest, 4)?),
        "month" => {
            let (year, month) = year_and(rest)?;
            NodeId::Month(year, i8::try_from(digits(&month, 2)?).ok()?)
        }
        "week" => {
            let (year, week) = year_and(rest)?;
            let week = digits(week.strip_prefix('W')?, 2)?;
            NodeId::Week(year, i8::try_from(week).ok()?)
        }
        "day" => NodeId::Day(day(rest)?),
        "segment" => {
            let (on, id) = rest.split_once(':')?;
            let id = ulid::Ulid::from_string(id).ok()?;
            return Some(NodeId::Segment(day(on)?, id.to_string()));
        }
        _ => return None,
    };
    // The last day of all has no end.
    found.bounds(&TimeZone::UTC).map(|_| found)
}

fn day(text: &str) -> Option<Date> {
    let is_plain = text.len() == "2024-01-15".len();
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> NodeId {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn ids_read_back_and_both_forms_are_accepted() {
        for text in [
            "toc:year:2024",
            "toc:month:2024:01",
            "toc:week:2024:W03",
            "toc:week:2020:W53",
            "toc:day:2024-01-15",
            "toc:segment:2024-01-15:01HM5ZQ8Z0ABCDEFGHJKMNPQRS",
        ] {
            assert_eq!(id(text).to_string(), text);
        }
        assert_eq!(id("toc:month:2024-01"), id("toc:month:2024:01"));
        assert_eq!(id("toc:week:2024-W03"), id("toc:week:2024:W03"));
        for text in [
            "",
            "toc",
            "toc:year:24",
            "toc:year:２０２４",
            "toc:month:2024:13",
            "toc:month:2024:1",
            "toc:week:2024:03",
            "toc:week:2021:W53",
            "toc:week:2024:W00",
            "toc:day:2024-02-30",
            "toc:day:2024-01-15T10:00",
            "toc:segment:2024-01-15:x",
            "year:2024",
        ] {
            assert_eq!(text.parse::<NodeId>(), Err(NoNodeId), "{text}");
        }
    }

    #[test]
    fn a_day_belongs_to_its_iso_week_and_a_week_to_the_month_of_its_thursday() {
        for (day, week, month, year) in [
            ("2024-01-15", "2024:W03", "2024:01", "2024"),
            ("2024-12-29", "2024:W52", "2024:12", "2024"),
            ("2024-12-30", "2025:W01", "2025:01", "2025"),
            ("2025-01-01", "2025:W01", "2025:01", "2025"),
            ("2026-03-29", "2026:W13", "2026:03", "2026"),
            ("2026-03-31", "2026:W14", "2026:04", "2026"),
            ("2021-01-03", "2020:W53", "2020:12", "2020"),
        ] {
            let day = id(&format!("toc:day:{day}"));
            let parent = day.parent().expect("a week");
            assert_eq!(parent.to_string(), format!("toc:week:{week}"));
            let parent = parent.parent().expect("a month");
            assert_eq!(parent.to_string(), format!("toc:month:{month}"));
            let parent = parent.parent().expect("a year");
            assert_eq!(parent.to_string(), format!("toc:year:{year}"));
            assert_eq!(parent.parent(), None);
        }
    }

    #[test]
    fn title_and_bounds_come_from_the_id() {
        let day = 24 * 60 * 60 * 1000;
        for (text, title, days) in [
            ("toc:year:2024", "2024", 366),
            ("toc:month:2024:01", "January 2024", 31),
            ("toc:month:2024:12", "December 2024", 31),
            ("toc:week:2024:W03", "Week 3 of 2024", 7),
            ("toc:day:2024-01-15", "Monday, January 15, 2024", 1),
            ("toc:day:2026-03-05", "Thursday, March 5, 2026", 1),
        ] {
            let node = id(text);
            assert_eq!(node.title().as_deref(), Some(title));
            let (from, to) = node.bounds(&TimeZone::UTC).expect("bounds");
            assert_eq!(to - from + 1, days * day, "{text}");
        }
        assert_eq!(
            id("toc:week:2024:W03").bounds(&TimeZone::UTC),
            Some((1_705_276_800_000, 1_705_881_599_999))
        );
        let day_of = |time: i64| NodeId::day_of(time, &TimeZone::UTC);
        assert_eq!(day_of(1_705_276_800_000), id("toc:day:2024-01-15"));
        assert_eq!(day_of(1_705_276_799_999), id("toc:day:2024-01-14"));
        assert_eq!(day_of(i64::MAX), NodeId::Day(jiff::civil::date(1970, 1, 1)));
    }

    #[test]
    fn a_day_is_one_of_its_zone_also_when_the_clock_changes() {
        // Central Europe, by its rule, so that no table of zones is needed.
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        let hour = 3_600_000;
        for (text, hours) in [
            ("toc:day:2026-03-29", 23),
            ("toc:day:2026-10-25", 25),
            ("toc:day:2026-07-01", 24),
            ("toc:week:2026:W13", 7 * 24 - 1),
            ("toc:year:2026", 365 * 24),
        ] {
            let node = id(text);
            let (from, to) = node.bounds(&zone).expect("bounds");
            assert_eq!(to - from + 1, hours * hour, "{text}");
            if let NodeId::Day(_) = node {
                for time in (from..to).step_by(600_000).chain([from, to]) {
                    assert_eq!(NodeId::day_of(time, &zone), node, "{time}");
                }
                assert_ne!(NodeId::day_of(from - 1, &zone), node);
                assert_ne!(NodeId::day_of(to + 1, &zone), node);
            }
        }
    }
}
