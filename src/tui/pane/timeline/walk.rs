//! Moving in the timeline: by rows, by days and weeks, to a node, and to places such as last week.

use std::sync::Arc;

use jiff::civil::Date;

use super::rows::Entry;
use super::{Part, TimelinePane, ask, view};
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::outline::Outline;
use crate::tui::chrome::count;
use crate::tui::effect::TimelineJob;
use crate::tui::event::Event;
use crate::tui::model::PaneContext;
use crate::tui::overlay::chooser::ChooserOption;
use crate::tui::pane::{Step, Toast};
use crate::tui::widget::list::Move;

impl TimelinePane {
    /// Returns the last day up to `day` on which something happened, or else the first one.
    pub(super) fn nearest(&self, day: Date) -> Option<Date> {
        let days = || self.outline.days().map(|(day, _)| day);
        let last = days().rev().find(|known| *known <= day);
        last.or_else(|| days().next())
    }

    pub(super) fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = view::Areas::of(self.part, cx).height();
        let here = self.rows.lines_of(self.cursor.selected);
        let count = self.rows.lines.len();
        match to {
            Move::Up => self.cursor.selected = here.start.saturating_sub(1),
            Move::Down => self.cursor.selected = here.end.min(count.saturating_sub(1)),
            to => self.cursor.step(to, height, count),
        }
        self.settle_cursor(cx);
        Vec::new()
    }

    pub(super) fn move_day(&mut self, days: i32) -> Vec<Step> {
        let span = jiff::Span::new().days(days);
        let target = self.day.checked_add(span).unwrap_or(self.day);
        let (first, last) = self.calendar().bounds();
        self.day = target.clamp(first, last);
        Vec::new()
    }

    /// Opens a node and everything that it is part of, and moves the cursor to it. If nothing
    /// happened in it, the nearest day before it is shown.
    pub(super) fn go_to(&mut self, id: &NodeId, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut target = id.clone();
        if self.outline.node(&target).is_none() {
            let Some(day) = self.nearest(last_day(id)) else {
                return Vec::new();
            };
            target = NodeId::Day(day);
            let (wanted, found) = (id.title(), target.title());
            if let (Some(wanted), Some(found)) = (wanted, found) {
                let text = format!("Nothing happened in {wanted}; this is {found}");
                steps.push(Step::Toast(Toast::done(text)));
            }
        }
        let mut above = Some(target.clone());
        while let Some(node) = above {
            above = self.outline.parent(&node);
            self.folds.insert(node, true);
        }
        self.part = Part::Tree;
        self.lay_out(cx);
        let height = view::Areas::of(self.part, cx).height();
        if let Some(line) = self.rows.line_of(&target) {
            let last_top = self.rows.lines.len().saturating_sub(height);
            self.cursor.selected = line;
            self.cursor.top = line.saturating_sub(1).min(last_top);
        }
        self.settle_cursor(cx);
        steps
    }

    fn fold(&mut self, id: &NodeId, is_open: bool, cx: &PaneContext<'_>) -> Vec<Step> {
        self.folds.insert(id.clone(), is_open);
        self.lay_out_again(cx);
        Vec::new()
    }

    /// Opens what is under the cursor: a node folds or unfolds, a bullet shows its lines, and then
    /// its log.
    pub(super) fn enter(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.part == Part::Calendar {
            return self.go_to(&NodeId::Day(self.day), cx);
        }
        match self.entry().cloned() {
            Some(Entry::Node(id)) => {
                let is_open = self.is_open(&id);
                self.fold(&id, !is_open, cx)
            }
            Some(Entry::Bullet { node, grips, .. }) => {
                if self.is_expanded(&node, &grips) {
                    return grips
                        .first()
                        .map_or_else(Vec::new, |id| self.open_log(id, cx));
                }
                let shown = grips.iter().map(|id| (node.clone(), id.clone()));
                self.expanded.extend(shown);
                self.lay_out_again(cx);
                vec![ask(TimelineJob::Expand(grips))]
            }
            Some(Entry::Grip { id, .. }) => self.open_log(&id, cx),
            None => Vec::new(),
        }
    }

    /// Unfolds, or goes in.
    pub(super) fn right(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.entry().cloned() {
            _ if self.part == Part::Calendar => self.move_day(7),
            Some(Entry::Node(id)) if !self.is_open(&id) => self.fold(&id, true, cx),
            Some(Entry::Node(_)) => self.moved(Move::Down, cx),
            Some(Entry::Bullet { node, grips, .. }) if self.is_expanded(&node, &grips) => {
                self.moved(Move::Down, cx)
            }
            Some(Entry::Bullet { .. }) => self.enter(cx),
            Some(Entry::Grip { .. }) | None => Vec::new(),
        }
    }

    /// Folds, or goes out.
    pub(super) fn left(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.entry().cloned() {
            _ if self.part == Part::Calendar => self.move_day(-7),
            Some(Entry::Node(id)) if self.is_open(&id) => self.fold(&id, false, cx),
            Some(Entry::Node(id)) => self.select(self.outline.parent(&id), cx),
            Some(Entry::Bullet { node, grips, .. }) => {
                let shown = self.expanded.len();
                self.expanded
                    .retain(|(of, id)| *of != node || !grips.contains(id));
                if self.expanded.len() == shown {
                    self.select(Some(node), cx)
                } else {
                    self.lay_out_again(cx);
                    Vec::new()
                }
            }
            Some(Entry::Grip { node, id }) => {
                self.expanded.remove(&(node, id));
                self.lay_out_again(cx);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Whether the lines of all grips of a bullet are shown.
    fn is_expanded(&self, node: &NodeId, grips: &[String]) -> bool {
        let is_shown = |id: &String| self.expanded.contains(&(node.clone(), id.clone()));
        grips.iter().all(is_shown)
    }

    fn select(&mut self, node: Option<NodeId>, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(line) = node.and_then(|node| self.rows.line_of(&node)) {
            self.cursor.selected = line;
            self.settle_cursor(cx);
        }
        Vec::new()
    }

    /// Goes to the next or the previous week in which something happened.
    pub(super) fn week(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let week = |day: &Date| NodeId::Day(*day).parent();
        let own = week(&self.day);
        let outline = Arc::clone(&self.outline);
        let mut days = outline.days().map(|(day, _)| day);
        let is_other = |day: &Date| week(day) != own;
        let found = match step {
            Move::Up => days.rev().find(|day| *day < self.day && is_other(day)),
            _ => days.find(|day| *day > self.day && is_other(day)),
        };
        found.map_or_else(Vec::new, |day| self.go_to(&NodeId::Day(day), cx))
    }
}

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
            step: Step::Broadcast(Box::new(Event::GoTo(id))),
        })
    };
    places.into_iter().filter_map(option).collect()
}

pub(super) fn last_day(id: &NodeId) -> Date {
    match id {
        NodeId::Day(day) | NodeId::Segment(day, _) => *day,
        other => other.days().map_or_else(Date::default, |(_, last)| last),
    }
}
