//! The timeline as it is walked through: every node at hand, and how much happened each day.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::civil::Date;

use super::grip::Grip;
use super::node::{Level, NodeId};
use super::record::LogRecord;
use super::tree::{self, Tree};
use super::{Node, Timeline, grip_in};

/// All nodes of a timeline. Those of days and above are made once; those of segments on demand.
#[derive(Debug, Default)]
pub struct Outline {
    upper: BTreeMap<NodeId, Node>,
    /// The segments, each by its log and its place there.
    segments: BTreeMap<NodeId, (Arc<LogRecord>, usize)>,
    activity: BTreeMap<NodeId, Activity>,
}

/// How much happened in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// The number of sessions.
    pub sessions: usize,
    /// The number of segments, which are about equally long.
    pub segments: usize,
}

impl Outline {
    /// Makes the nodes of a timeline.
    pub fn of(timeline: &Timeline) -> Self {
        let records: Vec<&Arc<LogRecord>> = timeline.records().collect();
        let tree = Tree::of(
            records.iter().map(|log| log.as_ref()),
            &timeline.rollups,
            &timeline.zone,
        );
        let is_told = |id: &NodeId| tree.has(id);
        let upper = tree.parents();
        let upper = upper.filter_map(|id| Some((id.clone(), tree.node(id)?)));
        let mut outline = Self {
            upper: upper.collect(),
            ..Self::default()
        };
        for log in &records {
            let mut seen = HashSet::new();
            for (at, segment) in log.segments.iter().enumerate() {
                let id = segment.node(&timeline.zone);
                if !is_told(&id) {
                    continue;
                }
                for (node, _) in id.above() {
                    let is_new = seen.insert((node.clone(), log.session_of(segment)));
                    let activity = outline.activity.entry(node).or_default();
                    activity.segments += 1;
                    activity.sessions += usize::from(is_new);
                }
                outline.segments.insert(id, (Arc::clone(log), at));
            }
        }
        outline
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the years, newest first.
    pub fn years(&self) -> Vec<NodeId> {
        let years = self.upper.keys();
        let years = years.filter(|id| id.level() == Level::Year);
        years.rev().cloned().collect()
    }

    /// Returns a node; `None` if nothing happened in it.
    pub fn node(&self, id: &NodeId) -> Option<Node> {
        if let Some(node) = self.upper.get(id) {
            return Some(node.clone());
        }
        let (log, at) = self.segments.get(id)?;
        let segment = log.segments.get(*at)?;
        Some(tree::of_record(log, segment, id.to_string(), "segment"))
    }

    /// Returns the working directory of the log of a segment.
    pub fn directory(&self, id: &NodeId) -> Option<&str> {
        self.segments.get(id)?.0.cwd.as_deref()
    }

    /// Returns the parts of a node: days and above newest first, segments in the order of their
    /// times.
    pub fn children(&self, id: &NodeId) -> Vec<NodeId> {
        let Some(node) = self.upper.get(id) else {
            return Vec::new();
        };
        let ids = node
            .children
            .iter()
            .filter_map(|child| child.id.parse().ok());
        let mut ids: Vec<NodeId> = ids.collect();
        if id.level() != Level::Day {
            ids.reverse();
        }
        ids
    }

    /// Returns the node that one is part of; of a week at the turn of a month, one in which something
    /// happened in it.
    pub fn parent(&self, id: &NodeId) -> Option<NodeId> {
        let usual = id.parent()?;
        let has_it = |parent: &NodeId| self.children(parent).contains(id);
        if has_it(&usual) {
            return Some(usual);
        }
        let days = self.children(id).into_iter();
        let mut months = days.filter_map(|day| match day {
            NodeId::Day(day) => Some(NodeId::Month(day.year(), day.month())),
            _ => None,
        });
        months.find(has_it).or(Some(usual))
    }

    /// Returns how much happened in a day, week, month or year.
    pub fn activity(&self, id: &NodeId) -> Activity {
        self.activity.get(id).copied().unwrap_or_default()
    }

    /// Returns the days on which something happened, oldest first.
    pub fn days(&self) -> impl DoubleEndedIterator<Item = (Date, Activity)> {
        let days = self.activity.iter();
        days.filter_map(|(id, activity)| match id {
            NodeId::Day(day) => Some((*day, *activity)),
            _ => None,
        })
    }

    /// Returns a grip of one of the logs.
    pub fn grip(&self, id: &str) -> Option<Grip> {
        let firsts = self.segments.values().filter(|(_, at)| *at == 0);
        firsts.map(|(log, _)| log).find_map(|log| grip_in(log, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::insight::timeline::event::Event;
    use crate::core::insight::timeline::record::Source;
    use crate::core::insight::timeline::summarize::Offline;
    use crate::core::log::{Agent, Role};

    const DAY: i64 = 24 * 60 * 60 * 1000;

    /// A timeline of two logs: one on two days, one on the second of them.
    fn timeline() -> Timeline {
        let log = |id: &str, days: &[i64]| {
            let events: Vec<Event> = days
                .iter()
                .zip(1..)
                .map(|(day, line)| Event {
                    time: day * DAY,
                    ..Event::test(
                        line,
                        Role::User,
                        &format!("please fix the lock of client {id}"),
                    )
                })
                .collect();
            let source = Source {
                agent: Agent::Codex,
                id,
                cwd: Some("/w"),
                stamp: ((1, None, None), 1, 0),
                summarizer: &Offline,
            };
            LogRecord::make(source, &events[..], None)
        };
        Timeline::of_records([log("a", &[10, 40]), log("b", &[40])])
    }

    #[test]
    fn every_node_is_reached_from_the_years_and_is_that_of_the_timeline() {
        let timeline = timeline();
        let outline = Outline::of(&timeline);
        let mut found = Vec::new();
        let mut left = outline.years();
        while let Some(id) = left.pop() {
            assert_eq!(outline.node(&id), timeline.node(&id), "{id}");
            left.extend(outline.children(&id));
            found.push(id);
        }
        let of = |level| found.iter().filter(|id| id.level() == level).count();
        let levels = [
            Level::Year,
            Level::Month,
            Level::Week,
            Level::Day,
            Level::Segment,
        ];
        assert_eq!(levels.map(of), [1, 2, 2, 2, 3]);
    }

    #[test]
    fn a_day_counts_its_sessions_and_segments() {
        let outline = Outline::of(&timeline());
        let days: Vec<(String, usize, usize)> = outline
            .days()
            .map(|(day, activity)| (day.to_string(), activity.sessions, activity.segments))
            .collect();
        let expected = [("1970-01-11", 1, 1), ("1970-02-10", 2, 2)];
        assert_eq!(days, expected.map(|(day, a, b)| (day.to_owned(), a, b)));
        let year = outline.activity(&NodeId::Year(1970));
        assert_eq!((year.sessions, year.segments), (2, 3));
    }

    #[test]
    fn a_grip_of_any_bullet_is_found() {
        let outline = Outline::of(&timeline());
        let node = outline.node(&NodeId::Year(1970)).expect("a year");
        let grips: Vec<&String> = node.bullets.iter().flat_map(|one| &one.grips).collect();
        assert!(!grips.is_empty());
        for id in grips {
            assert_eq!(outline.grip(id).map(|grip| grip.id), Some(id.clone()));
        }
        assert_eq!(outline.grip("grip:1:none"), None);
    }

    /// A log in which a commit is made every minute.
    fn commits(id: &str, subjects: &[&str]) -> LogRecord {
        let call = |(subject, line): (&&str, u64)| {
            Event::call(line, "Bash", &format!("command: git commit -m '{subject}'"))
        };
        let mut events: Vec<Event> = subjects.iter().zip(1..).map(call).collect();
        let last = events.len() as u64 + 1;
        events.push(Event::test(last, Role::User, "thanks"));
        let source = Source {
            agent: Agent::Codex,
            id,
            cwd: Some("/w/tome"),
            stamp: ((1, None, None), 1, 0),
            summarizer: &Offline,
        };
        LogRecord::make(source, &events[..], None)
    }

    #[test]
    fn a_session_that_goes_on_in_a_copy_of_its_log_is_told_once() {
        let first = ["Add a cache", "Keep the lock"];
        let more = ["Add a cache", "Keep the lock", "Move the parser"];
        let other = ["Trim all names"];
        let logs = [
            commits("a", &first),
            commits("b", &more),
            commits("c", &other),
        ];
        let timeline = Timeline::of_records(logs);
        let year = timeline.node(&NodeId::Year(1970)).expect("a year");
        assert_eq!(
            year.bullets[0].text,
            "tome (2 sessions, 4 commits): Add a cache; Keep the lock; Move the parser; Trim all names"
        );
        let outline = Outline::of(&timeline);
        assert_eq!(outline.activity(&NodeId::Year(1970)).sessions, 2);
    }

    #[test]
    fn what_is_not_told_is_counted() {
        let subjects: Vec<String> = (0..40)
            .map(|at| format!("Move part{at} of reader{at} to writer{at}"))
            .collect();
        let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
        let timeline = Timeline::of_records([commits("a", &subjects)]);
        let year = timeline.node(&NodeId::Year(1970)).expect("a year");
        let text = &year.bullets[0].text;
        let told = text.matches("Move part").count();
        assert!(text.starts_with("tome (1 session, 40 commits): "), "{text}");
        assert!(
            text.ends_with(&format!("; and {} more commits", 40 - told)),
            "{text}"
        );
        let session = timeline.session(Agent::Codex, "a").expect("a session");
        let text = &session.bullets[0].text;
        assert!(text.starts_with("40 commits, "), "{text}");
    }
}
