//! The rows of the tree: nodes, their bullets, and the lines that support a bullet.

use std::ops::Range;

use jiff::tz::TimeZone;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::TimelinePane;
use crate::core::insight::timeline::grip::GripState;
use crate::core::insight::timeline::json::told_calls;
use crate::core::insight::timeline::node::{Level, NodeId};
use crate::core::insight::timeline::outline::Outline;
use crate::core::insight::timeline::{Bullet, Node};
use crate::core::log::Role as Sender;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{count, two_ends};
use crate::tui::event::{GripMessage, GripText};
use crate::tui::model::PaneContext;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::markdown::MEASURE;

/// Up to so many segments of a day are open at first.
const FEW: usize = 4;

/// The most rows of a message that is the grip's own.
const MOST_ROWS: usize = 12;

/// Something that can be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Node(NodeId),
    Bullet {
        node: NodeId,
        grips: Vec<String>,
        citations: Vec<String>,
    },
    /// The lines of a grip.
    Grip {
        node: NodeId,
        id: String,
    },
}

impl Entry {
    /// The node that it is part of.
    pub(super) fn node(&self) -> &NodeId {
        match self {
            Self::Node(node) | Self::Bullet { node, .. } | Self::Grip { node, .. } => node,
        }
    }
}

/// The entries, and the lines that they are drawn in.
#[derive(Debug, Default)]
pub(super) struct Rows {
    entries: Vec<Entry>,
    /// Each with the entry that it belongs to.
    pub(super) lines: Vec<(usize, Line<'static>)>,
}

impl Rows {
    pub(super) fn new(pane: &TimelinePane, cx: &PaneContext<'_>, width: usize) -> Self {
        let mut builder = Builder {
            pane,
            theme: cx.theme,
            zone: &cx.user.zone,
            width,
            rows: Self::default(),
        };
        for year in pane.outline.years() {
            builder.node(&year, 0);
        }
        builder.rows
    }

    pub(super) fn entry_at(&self, line: usize) -> Option<&Entry> {
        let (entry, _) = self.lines.get(line)?;
        self.entries.get(*entry)
    }

    pub(super) fn lines_of(&self, line: usize) -> Range<usize> {
        let Some((entry, _)) = self.lines.get(line) else {
            return 0..0;
        };
        let start = self.lines.partition_point(|(of, _)| of < entry);
        let end = self.lines.partition_point(|(of, _)| of <= entry);
        start..end
    }

    pub(super) fn line_of(&self, node: &NodeId) -> Option<usize> {
        let is_it = |entry: &Entry| matches!(entry, Entry::Node(id) if id == node);
        let entry = self.entries.iter().position(is_it)?;
        self.lines.iter().position(|(of, _)| *of == entry)
    }

    /// The entry of each line, to find it again after a change.
    pub(super) fn keys(&self) -> Vec<Entry> {
        let lines = self.lines.iter();
        lines.map(|(of, _)| self.entries[*of].clone()).collect()
    }
}

/// Whether a node is open before anyone has folded it: a segment of a day with few of them.
pub(super) fn is_open_at_first(outline: &Outline, id: &NodeId) -> bool {
    let day = id.parent().filter(|_| id.level() == Level::Segment);
    day.is_some_and(|day| outline.activity(&day).segments <= FEW)
}

/// The short title of a node, for a path: `November`, `Wed 4`.
pub(super) fn short_title(id: &NodeId) -> Option<String> {
    Some(match id {
        NodeId::Year(year) => year.to_string(),
        NodeId::Month(..) => id.title()?.split(' ').next()?.to_owned(),
        NodeId::Week(_, week) => format!("Week {week}"),
        NodeId::Day(day) => day.strftime("%a %-d").to_string(),
        NodeId::Segment(..) => return None,
    })
}

struct Builder<'a> {
    pane: &'a TimelinePane,
    theme: &'a Theme,
    /// The zone of the days, in which times are shown.
    zone: &'a TimeZone,
    width: usize,
    rows: Rows,
}

impl Builder<'_> {
    fn push(&mut self, entry: Entry, lines: Vec<Line<'static>>) {
        let at = self.rows.entries.len();
        self.rows.entries.push(entry);
        self.rows
            .lines
            .extend(lines.into_iter().map(|line| (at, line)));
    }

    fn node(&mut self, id: &NodeId, depth: usize) {
        let Some(node) = self.pane.outline.node(id) else {
            return;
        };
        let is_open = self.pane.is_open(id);
        let line = self.heading(id, &node, depth, is_open);
        self.push(Entry::Node(id.clone()), vec![line]);
        if !is_open {
            return;
        }
        let children = self.pane.outline.children(id);
        // The bullets of few open segments say it themselves, and those of an only part.
        let is_day = id.level() == Level::Day;
        let most = if is_day { FEW } else { 1 };
        let is_said_below = (1..=most).contains(&children.len())
            && children.iter().all(|child| self.pane.is_open(child));
        if !is_said_below {
            for bullet in &node.bullets {
                self.bullet(id, bullet, depth + 1);
            }
        }
        for child in children {
            self.node(&child, depth + 1);
        }
    }

    fn heading(&self, id: &NodeId, node: &Node, depth: usize, is_open: bool) -> Line<'static> {
        let theme = self.theme;
        let muted = theme.style(Role::Muted);
        let fold = if is_open { "▾ " } else { "▸ " };
        let mut left = vec![Span::raw(indent(depth)), theme.span(fold, Role::Muted)];
        let right = if id.level() == Level::Segment {
            left.push(Span::styled(
                format!("{}  ", clock(node.from, self.zone)),
                muted,
            ));
            let title = escape_line(&node.title);
            let used: usize = left.iter().map(Span::width).sum();
            let wanted = cells::width(&title).min(LEAST_TITLE);
            let room = self.width.saturating_sub(used + wanted + 3);
            left.push(Span::raw(title));
            let agent = node.log.as_deref().and_then(|log| log.split(':').next());
            // A log of Windows may be read elsewhere.
            let project = self.pane.outline.directory(id);
            let project = project.and_then(|path| path.rsplit(['/', '\\']).next());
            let facts: Vec<&str> = [agent, project].into_iter().flatten().collect();
            let facts = facts.join(" · ");
            // What happened needs the room more: then the project alone is named.
            if cells::width(&facts) <= room {
                cells::cut(&facts, (self.width / 3).max(12))
            } else {
                cells::cut(project.unwrap_or(&facts), (self.width / 4).max(12))
            }
        } else {
            let is_today = *id == NodeId::Day(self.pane.today);
            let role = if is_today { Role::Accent } else { Role::Strong };
            left.push(theme.span(title(id), role));
            let sessions = self.pane.outline.activity(id).sessions;
            count(sessions, "session", "sessions")
        };
        let right = Span::styled(format!("  {right} "), muted);
        two_ends(left, vec![right], self.width, Style::new())
    }

    fn bullet(&mut self, node: &NodeId, bullet: &Bullet, depth: usize) {
        let theme = self.theme;
        // The log of a segment is known; that of a bullet above may be any.
        let place = bullet
            .citations
            .first()
            .filter(|_| node.level() == Level::Segment);
        let place = place.and_then(|citation| citation.rsplit('#').next());
        let place = place.map_or_else(String::new, |place| format!("  {place} "));
        let lead = indent(depth);
        let used = cells::width(&lead) + 2 + cells::width(&place).max(1);
        let room = self.width.saturating_sub(used).clamp(8, MEASURE);
        let text = escape_line(&bullet.text);
        let mut lines = Vec::new();
        for (at, range) in cells::wrap(&text, room).into_iter().enumerate() {
            let (mark, place) = match at {
                0 => ("• ", place.clone()),
                _ => ("  ", String::new()),
            };
            let left = vec![
                Span::raw(lead.clone()),
                theme.span(mark, Role::Marker),
                Span::raw(text[range].trim_end().to_owned()),
            ];
            let place = theme.span(place, Role::Muted);
            lines.push(two_ends(left, vec![place], self.width, Style::new()));
        }
        let entry = Entry::Bullet {
            node: node.clone(),
            grips: bullet.grips.clone(),
            citations: bullet.citations.clone(),
        };
        self.push(entry, lines);
        for id in &bullet.grips {
            if self.pane.expanded.contains(&(node.clone(), id.clone())) {
                let text = self.pane.texts.get(id);
                let lines = self.grip(text.map(AsRef::as_ref), depth + 1);
                let entry = Entry::Grip {
                    node: node.clone(),
                    id: id.clone(),
                };
                self.push(entry, lines);
            }
        }
    }

    /// The lines of a grip: the message itself, and those around it in short.
    fn grip(&self, text: Option<&GripText>, depth: usize) -> Vec<Line<'static>> {
        let Some(text) = text else {
            return vec![self.quoted(depth, "reading…", Role::Muted)];
        };
        let mut lines = Vec::new();
        let kept = match text.state {
            GripState::Current => None,
            GripState::Changed => Some("The log has other text in these lines now. It was:"),
            GripState::Gone => Some("The log is gone. What was kept of it:"),
        };
        if let Some(why) = kept {
            lines.push(self.quoted(depth, why, Role::Warn));
            lines.extend(self.wrapped(depth, &text.grip.excerpt, Role::Text));
            return lines;
        }
        let calls = |message: &GripMessage| {
            told_calls(message.calls).map(|calls| self.quoted(depth, &calls, Role::Muted))
        };
        let short = |message: &GripMessage| {
            let said = format!("{}  {}", self.sender(message), escape_line(&message.text));
            let said = self.quoted(depth, &said, Role::Muted);
            std::iter::once(said).chain(calls(message))
        };
        lines.extend(text.before.iter().flat_map(short));
        for message in &text.excerpt {
            let who = format!(
                "{}  {}  L{}",
                self.sender(message),
                clock(message.time, self.zone),
                message.line
            );
            lines.push(self.quoted(depth, &who, Role::Strong));
            lines.extend(self.wrapped(depth, &message.text, Role::Text));
            lines.extend(calls(message));
        }
        lines.extend(text.after.iter().flat_map(short));
        lines
    }

    fn sender(&self, message: &GripMessage) -> String {
        match (&message.tool, message.role) {
            (Some(tool), _) => escape_line(tool),
            (None, Sender::User) => "you".to_owned(),
            (None, Sender::Assistant) => "agent".to_owned(),
            (None, Sender::Tool) => "tool".to_owned(),
            (None, Sender::System) => "notice".to_owned(),
        }
    }

    /// A line of a quotation, cut to the width.
    fn quoted(&self, depth: usize, text: &str, role: Role) -> Line<'static> {
        let lead = indent(depth);
        let room = self.width.saturating_sub(cells::width(&lead) + 3);
        Line::from(vec![
            Span::raw(lead),
            self.theme.span("│ ", Role::Rule),
            self.theme.span(cells::cut(text, room.min(MEASURE)), role),
        ])
    }

    /// A text of several lines, wrapped; lines beyond the most are only counted.
    fn wrapped(&self, depth: usize, text: &str, role: Role) -> Vec<Line<'static>> {
        let used = cells::width(&indent(depth)) + 3;
        let room = self.width.saturating_sub(used).clamp(8, MEASURE);
        let mut all: Vec<String> = Vec::new();
        for line in text.trim().lines() {
            all.extend(cells::wrapped(line, room));
        }
        let left = all.len().saturating_sub(MOST_ROWS);
        all.truncate(MOST_ROWS);
        let mut lines: Vec<Line<'static>> = all
            .iter()
            .map(|row| self.quoted(depth, row, role))
            .collect();
        if left > 0 {
            let more = format!("… {} more", count(left, "line", "lines"));
            lines.push(self.quoted(depth, &more, Role::Muted));
        }
        lines
    }
}

/// The columns that a title has at least before the agent is left out.
const LEAST_TITLE: usize = 30;

/// The blanks before a row; the first column is that of the cursor.
fn indent(depth: usize) -> String {
    " ".repeat(1 + 2 * depth)
}

fn title(id: &NodeId) -> String {
    match id {
        NodeId::Week(_, week) => {
            let Some((from, to)) = id.days() else {
                return format!("Week {week}");
            };
            let from = from.strftime("%-d %b").to_string();
            let to = to.strftime("%-d %b").to_string();
            format!("Week {week}   {from} – {to}")
        }
        NodeId::Day(day) => day.strftime("%A, %-d %B").to_string(),
        id => short_title(id).unwrap_or_default(),
    }
}

/// The time of day.
fn clock(time: i64, zone: &TimeZone) -> String {
    let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
    let time = time.to_zoned(zone.clone());
    time.strftime("%H:%M").to_string()
}
