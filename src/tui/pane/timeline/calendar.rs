//! The calendar: weeks as columns, days as rows, each day shaded by how much happened.

use jiff::civil::{Date, Weekday};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::core::insight::timeline::outline::Outline;
use crate::tui::theme::{Role, Theme};

/// The names of the days, and their width with the blank behind them.
const DAYS: [&str; 7] = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"];
const NAME: u16 = 3;

/// The rows: the months, then the days.
pub(super) const HEIGHT: u16 = 8;

/// The shades, from little to much.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];

/// The days on which something happened, and the selected one.
pub(super) struct Calendar<'a> {
    pub(super) outline: &'a Outline,
    pub(super) day: Date,
    pub(super) today: Date,
}

impl Calendar<'_> {
    /// The first and the last day that can be selected.
    pub(super) fn bounds(&self) -> (Date, Date) {
        let mut days = self.outline.days().map(|(day, _)| day);
        let first = days.next().unwrap_or(self.today);
        let last = days.next_back().unwrap_or(first);
        (first.min(self.today), last.max(self.today))
    }

    /// The Monday of the first week that is shown in this width. The last week is shown unless
    /// the selected one is too far from it.
    fn first_week(&self, area: Rect) -> Date {
        let columns = i32::from(area.width.saturating_sub(NAME).max(1));
        let last = monday(self.bounds().1);
        let own = monday(self.day);
        let first = weeks_before(last, columns - 1);
        if own >= first {
            first
        } else {
            weeks_before(own, columns / 2)
        }
    }

    /// The day at a cell.
    pub(super) fn day_at(&self, area: Rect, at: Position) -> Option<Date> {
        let days = Rect {
            x: area.x + NAME.min(area.width),
            width: area.width.saturating_sub(NAME),
            y: area.y + 1.min(area.height),
            height: area.height.saturating_sub(1).min(7),
        };
        let (first, last) = self.bounds();
        let day = days.contains(at).then(|| {
            let days = i32::from(at.x - days.x) * 7 + i32::from(at.y - days.y);
            self.first_week(area)
                .checked_add(jiff::Span::new().days(days))
        });
        let day = day?.ok()?;
        (first..=last).contains(&day).then_some(day)
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let monday = self.first_week(area);
        let columns = area.width.saturating_sub(NAME);
        let busiest = Shading::of(self.outline);
        let muted = theme.style(Role::Muted);
        let months = format!("{:1$}{2}", "", usize::from(NAME), months(monday, columns));
        frame.render_widget(Span::styled(months, muted), row(area, 0));
        let (_, last) = self.bounds();
        for (at, name) in (0..).zip(DAYS) {
            let mut spans = vec![Span::styled(format!("{name} "), muted)];
            for column in 0..columns {
                let day = days_after(monday, i32::from(column) * 7 + i32::from(at));
                let Some(day) = day.filter(|day| *day <= last) else {
                    break;
                };
                let (shade, style) = busiest.shade(day, theme);
                let style = if day == self.day {
                    theme.style(Role::Accent).patch(theme.style(Role::Cursor))
                } else {
                    style
                };
                spans.push(Span::styled(shade, style));
            }
            frame.render_widget(Line::from(spans), row(area, at + 1));
        }
    }
}

/// Names the months above the columns where they begin. The first one is left out if the next
/// begins too soon, the last one is shifted to the left if its name would be cut.
fn months(monday: Date, columns: u16) -> String {
    const WIDE: usize = 3;
    let columns = usize::from(columns);
    let mut starts: Vec<(usize, String)> = Vec::new();
    let mut known = None;
    for column in 0..columns {
        // A week is in the month of its Thursday, as in the tree.
        let days = i32::try_from(column * 7 + 3).unwrap_or(i32::MAX);
        let Some(thursday) = days_after(monday, days) else {
            break;
        };
        if known.replace(thursday.month()) != Some(thursday.month()) {
            starts.push((column, thursday.strftime("%b").to_string()));
        }
    }
    if matches!(starts.as_slice(), [(_, _), (next, _), ..] if *next <= WIDE) {
        starts.remove(0);
    }
    let mut line = String::new();
    for (column, name) in starts {
        let place = column.min(columns.saturating_sub(WIDE));
        if line.is_empty() || line.len() < place {
            line.push_str(&" ".repeat(place - line.len()));
            line.push_str(&name);
        }
    }
    line
}

/// How much happened on each day, compared with the others.
struct Shading<'a> {
    outline: &'a Outline,
    /// The numbers of segments up to which a day has each shade but the last.
    bounds: [usize; 3],
}

impl<'a> Shading<'a> {
    fn of(outline: &'a Outline) -> Self {
        let mut counts: Vec<usize> = outline.days().map(|(_, day)| day.segments).collect();
        counts.sort_unstable();
        let quarter = |part: usize| {
            let at = (counts.len() * part / 4).saturating_sub(1);
            counts.get(at).copied().unwrap_or(0)
        };
        Self {
            outline,
            bounds: [quarter(1), quarter(2), quarter(3)],
        }
    }

    fn shade(&self, day: Date, theme: &Theme) -> (&'static str, Style) {
        let id = crate::core::insight::timeline::node::NodeId::Day(day);
        let number = self.outline.activity(&id).segments;
        if number == 0 {
            return ("·", theme.style(Role::Rule));
        }
        let level = self.bounds.iter().filter(|bound| number > **bound).count();
        let role = if level < 2 { Role::Muted } else { Role::Text };
        (SHADES[level.min(3)], theme.style(role))
    }
}

fn row(area: Rect, at: u16) -> Rect {
    Rect {
        y: area.y + at.min(area.height.saturating_sub(1)),
        height: u16::from(at < area.height),
        ..area
    }
}

fn monday(day: Date) -> Date {
    let back = i32::from(day.weekday().since(Weekday::Monday));
    day.checked_sub(jiff::Span::new().days(back)).unwrap_or(day)
}

fn weeks_before(monday: Date, weeks: i32) -> Date {
    let span = jiff::Span::new().weeks(weeks.max(0));
    monday.checked_sub(span).unwrap_or(monday)
}

fn days_after(monday: Date, days: i32) -> Option<Date> {
    monday.checked_add(jiff::Span::new().days(days)).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn every_month_is_named_above_its_weeks() {
        let some = months(date(2026, 7, 20), 17);
        assert_eq!(
            some, "  Aug Sep Oct Nov",
            "of July there are two weeks only"
        );
        let year = months(date(2025, 11, 24), 52);
        let names: Vec<&str> = year.split_whitespace().collect();
        let all = "Dec Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov";
        assert_eq!(names.join(" "), all, "{year}");
        assert_eq!(
            year.find("Jan"),
            Some(5),
            "above the week of the first of January"
        );
        assert_eq!(months(date(2026, 11, 2), 2), "Nov");
        assert_eq!(months(date(2026, 11, 2), 0), "");
    }
}
