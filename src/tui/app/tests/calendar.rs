//! Tests of the timeline's calendar, and of the places to jump to.

use super::timeline::Walk;
use crate::tui::effect::{Effect, TimelineJob};
use crate::tui::keymap::KeyContext;

#[test]
fn the_calendar_is_walked_by_day_and_week_and_leads_to_the_day() {
    let mut walk = Walk::new();
    walk.press("<tab>k");
    assert!(walk.title().contains("Tue 3"), "{}", walk.title());
    walk.press("<left>");
    assert!(
        walk.title().contains("October ▸ Week 44 ▸ Tue 27"),
        "{}",
        walk.title()
    );
    walk.press("<right><cr>");
    assert!(
        walk.here().contains("Tuesday, 3 November"),
        "{}",
        walk.ui.text()
    );
    assert!(
        walk.ui.text().contains("Released 1.8"),
        "{}",
        walk.ui.text()
    );
    // A day without sessions leads to the one before it.
    walk.press("<tab>hh<cr>");
    assert!(
        walk.here().contains("Monday, 14 September"),
        "{}",
        walk.ui.text()
    );
    assert!(
        walk.ui
            .text()
            .contains("Nothing happened in Tuesday, October 20, 2026")
    );
    // The calendar ends today, and begins with the first session.
    walk.press("<tab>G");
    assert!(walk.title().contains("Wed 4"), "{}", walk.title());
    walk.press("j");
    assert!(walk.title().contains("Wed 4"), "{}", walk.title());
    walk.press("g");
    assert!(
        walk.title().contains("September ▸ Week 38 ▸ Mon 14"),
        "{}",
        walk.title()
    );
    walk.press("<esc>");
    assert_eq!(
        walk.ui.place(),
        KeyContext::Timeline,
        "first out of the calendar"
    );
}

#[test]
fn places_and_weeks_are_jumped_to() {
    let mut walk = Walk::new();
    walk.press("w");
    let text = walk.ui.text();
    let yesterday = text.lines().find(|line| line.contains("Yesterday"));
    assert!(
        yesterday.is_some_and(|line| line.contains("1 session")),
        "{text}"
    );
    let week = text.lines().find(|line| line.contains("Last week"));
    assert!(
        week.is_some_and(|line| line.contains("Week 44 of 2026 · nothing")),
        "{text}"
    );
    walk.press("<down><cr>");
    assert!(
        walk.here().contains("Tuesday, 3 November"),
        "{}",
        walk.ui.text()
    );
    walk.press("[");
    assert!(
        walk.here().contains("Monday, 14 September"),
        "{}",
        walk.ui.text()
    );
    walk.press("]");
    assert!(
        walk.here().contains("Tuesday, 3 November"),
        "{}",
        walk.ui.text()
    );
    walk.press("t");
    assert!(
        walk.here().contains("Wednesday, 4 November"),
        "{}",
        walk.ui.text()
    );
}

#[test]
fn a_click_on_a_day_goes_there_and_a_second_click_on_a_row_opens_it() {
    let mut walk = Walk::new();
    // The last column of the calendar is this week; Tuesday is in the second row.
    let (_, tuesday) = walk.ui.cell_of("Tu ");
    let text = walk.ui.text();
    let row: Vec<char> = text
        .lines()
        .nth(usize::from(tuesday))
        .expect("a row")
        .chars()
        .collect();
    let border = row
        .iter()
        .skip(1)
        .position(|c| *c == '│')
        .expect("a border");
    let last = row[..=border].iter().rposition(|c| "·░▒▓█".contains(*c));
    let column = u16::try_from(last.expect("a day")).expect("small");
    walk.ui.click((column, tuesday));
    assert!(
        walk.here().contains("Tuesday, 3 November"),
        "{}",
        walk.ui.text()
    );
    assert_eq!(walk.ui.click_on("Released 1.8"), []);
    assert!(walk.here().contains("Released 1.8"));
    let effects = walk.ui.click_on("Released 1.8");
    assert!(
        matches!(effects[..], [Effect::Timeline(TimelineJob::Expand(_))]),
        "{effects:?}"
    );
}
