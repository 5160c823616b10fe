//! The places to jump to: today, yesterday, last week.

use jiff::civil::Date;

use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::outline::Outline;
use crate::tui::chrome::count;
use crate::tui::overlay::chooser::{Choice, ChooserOption};

/// Returns the places with what happened in each.
pub(super) fn options(outline: &Outline, today: Date) -> Vec<ChooserOption> {
    let before = |days: i32| {
        let span = jiff::Span::new().days(days);
        today.checked_sub(span).unwrap_or(today)
    };
    let week = |day: Date| NodeId::Day(day).parent();
    let month = |day: Date| NodeId::Month(day.year(), day.month());
    let last_month = today.first_of_month().yesterday().unwrap_or(today);
    let places = [
        ("Today", Some(NodeId::Day(today))),
        ("Yesterday", Some(NodeId::Day(before(1)))),
        ("This week", week(today)),
        ("Last week", week(before(7))),
        ("This month", Some(month(today))),
        ("Last month", Some(month(last_month))),
        ("Last year", Some(NodeId::Year(today.year() - 1))),
    ];
    let option = |(label, id): (&str, Option<NodeId>)| {
        let id = id?;
        let sessions = match outline.activity(&id).sessions {
            0 => "nothing".to_owned(),
            number => count(number, "session", "sessions"),
        };
        Some(ChooserOption {
            label: label.to_owned(),
            detail: format!("{} · {sessions}", id.title()?),
            choice: Choice::GoTo(id),
        })
    };
    places.into_iter().filter_map(option).collect()
}

/// Returns the last day of a node.
pub(super) fn last_day(id: &NodeId) -> Date {
    let last = match id {
        NodeId::Day(day) | NodeId::Segment(day, _) => return *day,
        other => other.bounds().map_or(0, |(_, last)| last),
    };
    match NodeId::day_of(last) {
        NodeId::Day(day) => day,
        _ => Date::default(),
    }
}
