//! The timeline: what happened, from years down to the lines of a log, and a calendar to walk in.

mod calendar;
mod rows;
mod view;
mod walk;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::civil::Date;
use ratatui::Frame;
use ratatui::layout::Position;

use self::calendar::Calendar;
use self::rows::{Entry, Rows};
use super::find::FindPane;
use super::log::{LogPane, OpenAt, copy_to_clipboard};
use super::{Pane, Step, push, say_trouble};
use crate::core::insight::timeline::node::{Level, NodeId};
use crate::core::insight::timeline::outline::Outline;
use crate::core::log::Agent;
use crate::core::memory::library::LogSummary;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, TimelineJob};
use crate::tui::event::{Event, GripText};
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;
use crate::tui::overlay::chooser::Chooser;
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::list::{Cursor, Move};

/// The part of the pane that gets the arrows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    #[default]
    Tree,
    Calendar,
}

/// The tree of nodes with their bullets, and the calendar.
#[derive(Debug, Default)]
pub(crate) struct TimelinePane {
    outline: Arc<Outline>,
    /// How many logs are still to be summarized; `None` until the first nodes have arrived.
    left: Option<usize>,
    part: Part,
    /// The nodes that are open although they would be folded, and those that are folded.
    folds: HashMap<NodeId, bool>,
    /// The grips whose lines are shown, each below a bullet of a node.
    expanded: HashSet<(NodeId, String)>,
    /// The lines of grips that have arrived.
    texts: HashMap<String, Arc<GripText>>,
    rows: Rows,
    /// The line of the rows that is selected: the first of its entry.
    cursor: Cursor,
    day: Date,
    /// The current day where the user is.
    today: Date,
}

impl TimelinePane {
    /// Opens the timeline; the returned steps ask for its nodes.
    pub(crate) fn open(cx: &PaneContext<'_>) -> Vec<Step> {
        let today = today(cx);
        let pane = Self {
            day: today,
            today,
            ..Self::default()
        };
        push(pane)
    }

    fn entry(&self) -> Option<&Entry> {
        self.rows.entry_at(self.cursor.selected)
    }

    fn calendar(&self) -> Calendar<'_> {
        Calendar {
            outline: &self.outline,
            day: self.day,
            today: self.today,
        }
    }

    /// Takes the nodes, with the cursor on the same entry as before.
    fn take(&mut self, outline: &Arc<Outline>, left: usize, cx: &PaneContext<'_>) {
        let is_first = self.outline.is_empty();
        let before = self.rows.keys();
        self.outline = Arc::clone(outline);
        self.left = Some(left);
        self.lay_out(cx);
        if is_first {
            // What happened today is under the cursor; later it stays where it is.
            if let Some(day) = self.nearest(self.today) {
                self.go_to(&NodeId::Day(day), cx);
            }
        } else {
            self.cursor.follow(&before, &self.rows.keys(), Entry::eq);
            self.settle_cursor(cx);
        }
    }

    fn is_open(&self, id: &NodeId) -> bool {
        let usual = || rows::is_open_at_first(&self.outline, id);
        self.folds.get(id).copied().unwrap_or_else(usual)
    }

    fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let width = usize::from(view::Areas::of(self.part, cx).rows().width);
        self.rows = Rows::new(self, cx, width);
    }

    /// Lays out after a change of what is open, with the cursor on the same entry.
    fn lay_out_again(&mut self, cx: &PaneContext<'_>) {
        let before = self.rows.keys();
        self.lay_out(cx);
        self.cursor.follow(&before, &self.rows.keys(), Entry::eq);
        self.settle_cursor(cx);
    }

    /// Moves the cursor to the first line of its entry and shows as much of the entry as fits.
    fn settle_cursor(&mut self, cx: &PaneContext<'_>) {
        let height = view::Areas::of(self.part, cx).height();
        let entry = self.rows.lines_of(self.cursor.selected);
        let count = self.rows.lines.len();
        let mut end = entry.end;
        // The lines of a bullet are shown with it.
        while matches!(self.rows.entry_at(end), Some(Entry::Grip { .. })) {
            end = self.rows.lines_of(end).end;
        }
        self.cursor.selected = end.saturating_sub(1);
        self.cursor.fit(height, count);
        self.cursor.selected = entry.start;
        self.cursor.fit(height, count);
        let node = self.entry().map(Entry::node);
        if let Some(NodeId::Day(day) | NodeId::Segment(day, _)) = node {
            self.day = *day;
        }
    }

    /// Opens the log of a grip at its lines.
    fn open_log(&self, grip: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(grip) = self.outline.grip(grip) else {
            return Vec::new();
        };
        match log_of(cx, grip.agent, &grip.log) {
            Some(log) => {
                let start = OpenAt {
                    line: Some(grip.first_line),
                    words: MarkedWords::new([grip.opening().as_str()]),
                    ..OpenAt::default()
                };
                LogPane::open(log, start)
            }
            None => say_trouble("The log is gone; its words are what was kept of it"),
        }
    }

    /// The citation of what is under the cursor.
    fn cite(&self) -> Vec<Step> {
        let citation = match self.entry() {
            Some(Entry::Node(id)) => Some(id.to_string()),
            Some(Entry::Bullet { citations, .. }) => citations.first().cloned(),
            Some(Entry::Grip { id, .. }) => self.outline.grip(id).map(|grip| grip.citation()),
            None => None,
        };
        citation.map_or_else(Vec::new, copy_to_clipboard)
    }

    /// Proposes a memory for the bullet or the lines under the cursor, or for all bullets of a node.
    fn promote(&self) -> Vec<Step> {
        let grips = match self.entry() {
            Some(Entry::Node(id)) => {
                let bullets = self.outline.node(id).map(|node| node.bullets);
                let bullets = bullets.unwrap_or_default().into_iter();
                bullets.flat_map(|bullet| bullet.grips).collect()
            }
            Some(Entry::Bullet { grips, .. }) => grips.clone(),
            Some(Entry::Grip { id, .. }) => vec![id.clone()],
            None => return Vec::new(),
        };
        vec![ask(TimelineJob::Propose(grips))]
    }

    fn choose_place(&self) -> Vec<Step> {
        let options = walk::options(&self.outline, self.today);
        let chooser = Chooser::new("go to", options);
        push(chooser)
    }

    fn switch_part(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.part = match self.part {
            Part::Tree => Part::Calendar,
            Part::Calendar => Part::Tree,
        };
        self.lay_out_again(cx);
        Vec::new()
    }

    fn back(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.part {
            Part::Calendar => self.switch_part(cx),
            Part::Tree => vec![ask(TimelineJob::Hide), Step::Close],
        }
    }
}

/// The current day where the user is.
fn today(cx: &PaneContext<'_>) -> Date {
    let now = jiff::Timestamp::from_millisecond(cx.now).unwrap_or_default();
    now.to_zoned(cx.user.zone.clone()).date()
}

fn ask(job: TimelineJob) -> Step {
    Step::Effect(Effect::Timeline(job))
}

pub(crate) fn log_of<'a>(cx: &PaneContext<'a>, agent: Agent, id: &str) -> Option<&'a LogSummary> {
    let groups = cx.library.logs.iter().filter(|group| group.agent == agent);
    let mut logs = groups.flat_map(|group| &group.logs);
    logs.find(|log| log.file.id == id)
}

impl Pane for TimelinePane {
    fn key_context(&self) -> KeyContext {
        KeyContext::Timeline
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let is_calendar = self.part == Part::Calendar;
        Some(match action {
            Action::Up if is_calendar => self.move_day(-1),
            Action::Down if is_calendar => self.move_day(1),
            Action::Top if is_calendar => self.move_day(-100_000),
            Action::Bottom if is_calendar => self.move_day(100_000),
            Action::Left => self.left(cx),
            Action::Right => self.right(cx),
            Action::Open => self.enter(cx),
            Action::NextPane => self.switch_part(cx),
            Action::NextWeek => self.week(Move::Down, cx),
            Action::PreviousWeek => self.week(Move::Up, cx),
            Action::When => self.choose_place(),
            Action::Find => FindPane::open(cx),
            Action::Copy => self.cite(),
            Action::Promote => self.promote(),
            Action::Back => self.back(cx),
            action => self.moved(Move::of(action)?, cx),
        })
    }

    fn wheel(&mut self, _at: Position, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = view::Areas::of(self.part, cx).height();
        self.cursor.scroll(lines, height, self.rows.lines.len());
        Vec::new()
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let areas = view::Areas::of(self.part, cx);
        if let Some(day) = self.calendar().day_at(areas.days(), at) {
            return self.go_to(&NodeId::Day(day), cx);
        }
        let count = self.rows.lines.len();
        let Some(line) = self.cursor.row_at(at, areas.rows(), count) else {
            return Vec::new();
        };
        self.part = Part::Tree;
        let is_here = self.rows.lines_of(self.cursor.selected).contains(&line);
        self.cursor.selected = line;
        self.settle_cursor(cx);
        if is_here { self.enter(cx) } else { Vec::new() }
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::TimelineMade { outline, left } => {
                self.take(outline, *left, cx);
                Vec::new()
            }
            Event::GripExpanded(text) => {
                let id = text.grip.id.clone();
                self.texts.insert(id, Arc::clone(text));
                self.lay_out_again(cx);
                Vec::new()
            }
            Event::GoTo(node) => self.go_to(node, cx),
            _ => Vec::new(),
        }
    }

    fn identity(&self) -> Option<String> {
        Some("timeline".to_owned())
    }

    fn resume(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.today = today(cx);
        vec![ask(TimelineJob::Show)]
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.today = today(cx);
        self.lay_out_again(cx);
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        let mut path = Vec::new();
        let mut node = match self.part {
            Part::Calendar => Some(NodeId::Day(self.day)),
            Part::Tree => self.entry().map(|entry| entry.node().clone()),
        };
        while let Some(id) = node {
            path.extend(rows::short_title(&id));
            node = id.parent();
        }
        path.reverse();
        Some(format!("timeline   {}", path.join(" ▸ ")))
    }

    fn facts(&self) -> Option<String> {
        let mut node = match self.part {
            Part::Calendar => NodeId::Day(self.day),
            Part::Tree => self.entry()?.node().clone(),
        };
        if node.level() == Level::Segment {
            node = node.parent()?;
        }
        let activity = self.outline.activity(&node);
        let mut facts = vec![
            count(activity.sessions, "session", "sessions"),
            count(activity.segments, "part", "parts"),
        ];
        match self.left {
            Some(left) if left > 0 => {
                facts.push(format!("{} to read", count(left, "log", "logs")));
            }
            _ => {}
        }
        Some(facts.join(" · "))
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Open
            | Action::Promote
            | Action::Copy
            | Action::PreviousWeek
            | Action::When
            | Action::NextPane => !self.outline.is_empty(),
            _ => true,
        }
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw(frame, cx);
    }
}
