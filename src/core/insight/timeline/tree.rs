//! The tree of nodes over the records of the logs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::grip::{Grip, cite};
use super::node::{Level, NodeId};
use super::record::{LogRecord, Record};
use super::rollup::{Question, RollUps};
use super::summarize::{Point, bullets, choose_keywords, choose_points};
use crate::core::text::display::safe_line;

/// The most files of a day, week, month or year.
const MOST_FILES: usize = 20;

/// A node of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// `toc:…`, or `log:AGENT:ID` for a session as a whole.
    pub id: String,
    /// `year`, `month`, `week`, `day`, `segment` or `log`.
    pub level: Cow<'static, str>,
    /// A hash of its content: a changed node has another.
    pub revision: String,
    /// The title.
    pub title: String,
    /// The first millisecond since 1970 UTC.
    pub from: i64,
    /// The last millisecond.
    pub to: i64,
    /// The log of a segment or a session, as `AGENT:ID`.
    pub log: Option<String>,
    /// Its first and its last line in the log.
    pub lines: Option<(u64, u64)>,
    /// What happened, in a few sentences.
    pub bullets: Vec<Bullet>,
    /// Words that tell it from others.
    pub keywords: Vec<String>,
    /// The files that were changed.
    pub files: Vec<String>,
    /// The projects in which something happened, those with the most sessions first.
    pub projects: Vec<ProjectActivity>,
    /// The ids and titles of its parts, in order.
    pub children: Vec<(String, String)>,
    /// Why its summary is not the one that was wanted, if it is not.
    pub note: Option<String>,
}

/// How much happened in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectActivity {
    /// The working directory of its sessions.
    pub project: String,
    /// The number of sessions.
    pub sessions: usize,
    /// The number of commits that they made.
    pub commits: usize,
}

/// A bullet of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bullet {
    /// The text.
    pub text: String,
    /// The ids of its grips.
    pub grips: Vec<String>,
    /// The lines that support it.
    pub citations: Vec<String>,
}

/// The nodes of some logs.
pub(super) struct Tree<'a> {
    segments: BTreeMap<NodeId, (&'a LogRecord, &'a Record)>,
    children: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// What a program said about the nodes above segments.
    rollups: &'a RollUps,
    made: RefCell<HashMap<NodeId, Rc<Content<'a>>>>,
}

/// What a node says.
struct Content<'a> {
    points: Vec<(&'a Point, &'a Grip)>,
    keywords: Vec<String>,
    files: Vec<String>,
    note: Option<&'a str>,
    /// The sessions and the number of commits of each project.
    projects: BTreeMap<&'a str, (BTreeSet<&'a str>, usize)>,
}

impl Content<'_> {
    fn commits(&self) -> usize {
        self.projects.values().map(|(_, commits)| commits).sum()
    }

    fn activity(&self) -> Vec<ProjectActivity> {
        let projects = self.projects.iter();
        let activity = projects.map(|(project, (sessions, commits))| ProjectActivity {
            project: safe_line(project),
            sessions: sessions.len(),
            commits: *commits,
        });
        let mut activity: Vec<ProjectActivity> = activity.collect();
        activity.sort_by_key(|one| std::cmp::Reverse((one.sessions, one.commits)));
        activity
    }
}

impl<'a> Tree<'a> {
    pub(super) fn of(logs: impl IntoIterator<Item = &'a LogRecord>, rollups: &'a RollUps) -> Self {
        let mut tree = Self {
            segments: BTreeMap::new(),
            children: BTreeMap::new(),
            rollups,
            made: RefCell::default(),
        };
        for log in logs {
            for segment in &log.segments {
                let id = segment.node();
                tree.segments.insert(id.clone(), (log, segment));
                let above = id.above();
                for (node, parent) in above {
                    if let Some(parent) = parent {
                        tree.children.entry(parent).or_default().insert(node);
                    }
                }
                if let Some(day) = id.parent() {
                    tree.children.entry(day).or_default().insert(id);
                }
            }
        }
        tree
    }

    /// Returns the ids of a level, oldest first.
    pub(super) fn ids(&self, level: Level) -> Vec<NodeId> {
        let all = self.segments.keys().chain(self.children.keys());
        let mut found: Vec<NodeId> = all.filter(|id| id.level() == level).cloned().collect();
        found.sort();
        found
    }

    /// Returns the ids of the nodes that have children.
    pub(super) fn parents(&self) -> impl Iterator<Item = &NodeId> {
        self.children.keys()
    }

    pub(super) fn node(&self, id: &NodeId) -> Option<Node> {
        if let Some((log, segment)) = self.segments.get(id) {
            return Some(of_record(log, segment, id.to_string(), "segment"));
        }
        let children = self.children.get(id)?;
        let content = self.content(id);
        let (from, to) = id.bounds()?;
        let children = children.iter().map(|child| {
            let title = child.title();
            let of_segment = || {
                self.segments
                    .get(child)
                    .map(|(_, record)| record.title.clone())
            };
            (
                child.to_string(),
                title.or_else(of_segment).unwrap_or_default(),
            )
        });
        Some(versioned(Node {
            id: id.to_string(),
            level: id.level().name().into(),
            revision: String::new(),
            title: id.title()?,
            from,
            to,
            log: None,
            lines: None,
            bullets: cited_bullets(&content.points, content.commits()),
            keywords: content.keywords.clone(),
            files: content.files.clone(),
            projects: content.activity(),
            children: children.collect(),
            note: content.note.map(str::to_owned),
        }))
    }

    /// Returns what the program was not asked yet about the nodes of a level.
    pub(super) fn questions(&self, level: Level) -> Vec<Question> {
        let ids = self.ids(level).into_iter();
        let questions = ids.filter_map(|id| {
            let said = said(&self.parts(&id));
            let key = self.rollups.key(&id, &said);
            let points = || {
                said.iter()
                    .map(|(point, grip)| ((*point).clone(), (*grip).clone()))
            };
            let is_new = !said.is_empty() && self.rollups.get(&key).is_none();
            is_new.then(|| Question {
                points: points().collect(),
                id,
                key,
            })
        });
        questions.collect()
    }

    /// Returns what the parts of a node say.
    fn parts(&self, id: &NodeId) -> Vec<Rc<Content<'a>>> {
        let children = self.children.get(id).into_iter().flatten();
        let parts = children.flat_map(|child| self.parts_of(id, child));
        parts.map(|part| self.content(part)).collect()
    }

    /// Returns the child, or, of a week that lies in two months, its days in this one.
    fn parts_of<'t>(&'t self, id: &NodeId, child: &'t NodeId) -> Vec<&'t NodeId> {
        let days = || self.children.get(child).into_iter().flatten();
        let is_here = |day: &&NodeId| match (id, day) {
            (NodeId::Month(year, month), NodeId::Day(day)) => {
                (day.year(), day.month()) == (*year, *month)
            }
            _ => true,
        };
        if days().all(|day| is_here(&day)) {
            vec![child]
        } else {
            days().filter(is_here).collect()
        }
    }

    /// Returns what a node says: of a segment its record, else a choice of what its children say.
    fn content(&self, id: &NodeId) -> Rc<Content<'a>> {
        if let Some(known) = self.made.borrow().get(id) {
            return Rc::clone(known);
        }
        let content = match self.segments.get(id) {
            Some((log, record)) => Content {
                projects: BTreeMap::from([(
                    log.cwd.as_deref().unwrap_or_default(),
                    (BTreeSet::from([log.session_of(record)]), record.commits),
                )]),
                points: record
                    .points
                    .iter()
                    .map(|(point, grip)| (point, grip))
                    .collect(),
                keywords: record.keywords.clone(),
                files: record.files.clone(),
                note: None,
            },
            None => self.together(id),
        };
        let content = Rc::new(content);
        self.made
            .borrow_mut()
            .insert(id.clone(), Rc::clone(&content));
        content
    }

    /// What a program said about the parts of a node, or else a choice of what they say.
    fn together(&self, id: &NodeId) -> Content<'a> {
        let parts = self.parts(id);
        if self.rollups.summarizer.is_empty() {
            return together(&parts);
        }
        let answer = self.rollups.get(&self.rollups.key(id, &said(&parts)));
        let content = together(&parts);
        match answer {
            Some(answer) if !answer.points.is_empty() => Content {
                points: answer
                    .points
                    .iter()
                    .map(|(point, grip)| (point, grip))
                    .collect(),
                keywords: match &answer.keywords[..] {
                    [] => content.keywords,
                    keywords => keywords.to_vec(),
                },
                ..content
            },
            answer => Content {
                note: answer.and_then(|answer| answer.note.as_deref()),
                ..content
            },
        }
    }
}

/// The points of the parts of a node.
fn said<'a>(parts: &[Rc<Content<'a>>]) -> Vec<(&'a Point, &'a Grip)> {
    let points = parts.iter().flat_map(|part| part.points.iter().copied());
    points.collect()
}

fn together<'a>(parts: &[Rc<Content<'a>>]) -> Content<'a> {
    let all = said(parts);
    let points: Vec<&Point> = all.iter().map(|(point, _)| *point).collect();
    let chosen: Vec<(&Point, &Grip)> = choose_points(&points)
        .into_iter()
        .map(|at| all[at])
        .collect();
    let said: Vec<&Point> = chosen.iter().map(|(point, _)| *point).collect();
    let keywords = choose_keywords(parts.iter().map(|part| &part.keywords[..]), &said);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in parts.iter().flat_map(|part| &part.files) {
        *counts.entry(file).or_default() += 1;
    }
    let mut files: Vec<(&str, usize)> = counts.into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let files = files.into_iter().take(MOST_FILES);
    let mut projects: BTreeMap<&str, (BTreeSet<&str>, usize)> = BTreeMap::new();
    for (project, (sessions, commits)) in parts.iter().flat_map(|part| &part.projects) {
        let known = projects.entry(project).or_default();
        known.0.extend(sessions);
        known.1 += commits;
    }
    Content {
        projects,
        points: chosen,
        keywords,
        files: files.map(|(file, _)| file.to_owned()).collect(),
        note: None,
    }
}

/// Returns the node of a session as a whole, with its segments as children.
pub(super) fn whole(log: &LogRecord) -> Option<Node> {
    let record = log.whole.as_ref()?;
    let mut node = of_record(
        log,
        record,
        format!("log:{}:{}", log.agent.name(), log.id),
        "log",
    );
    let children = log.segments.iter();
    node.children = children
        .map(|segment| (segment.node().to_string(), segment.title.clone()))
        .collect();
    Some(versioned(node))
}

pub(super) fn of_record(log: &LogRecord, record: &Record, id: String, level: &'static str) -> Node {
    let points: Vec<(&Point, &Grip)> = record
        .points
        .iter()
        .map(|(point, grip)| (point, grip))
        .collect();
    versioned(Node {
        id,
        level: level.into(),
        revision: String::new(),
        title: record.title.clone(),
        from: record.from,
        to: record.to,
        log: Some(format!("{}:{}", log.agent.name(), log.id)),
        lines: Some((record.first_line, record.last_line)),
        bullets: cited_bullets(&points, record.commits),
        keywords: record.keywords.clone(),
        files: record.files.clone(),
        projects: Vec::new(),
        children: Vec::new(),
        note: record.note.clone(),
    })
}

fn versioned(mut node: Node) -> Node {
    let mut hasher = blake3::Hasher::new();
    let bullets = node.bullets.iter().flat_map(|bullet| {
        std::iter::once(bullet.text.as_str()).chain(bullet.grips.iter().map(String::as_str))
    });
    let children = node
        .children
        .iter()
        .flat_map(|(id, title)| [id.as_str(), title]);
    let words = node.keywords.iter().chain(&node.files).map(String::as_str);
    let all = [node.title.as_str()]
        .into_iter()
        .chain(bullets)
        .chain(words);
    for text in all.chain(children) {
        hasher.update(text.as_bytes());
        hasher.update(b"\0");
    }
    node.revision = hasher.finalize().to_hex()[..12].to_owned();
    node
}

fn cited_bullets(points: &[(&Point, &Grip)], commits: usize) -> Vec<Bullet> {
    let texts: Vec<Point> = points.iter().map(|(point, _)| (*point).clone()).collect();
    let bullet = |grouped: super::summarize::BulletText| {
        let mut grips: Vec<&Grip> = grouped.points.iter().map(|at| points[*at].1).collect();
        let mut seen = HashSet::new();
        grips.retain(|grip| seen.insert(&grip.id));
        Bullet {
            text: grouped.text,
            grips: grips.iter().map(|grip| grip.id.clone()).collect(),
            citations: citations(&grips),
        }
    };
    bullets(&texts, commits).into_iter().map(bullet).collect()
}

/// Returns the citations of grips, each once; neighbouring lines of a log are one.
fn citations(grips: &[&Grip]) -> Vec<String> {
    let mut found: Vec<(&Grip, u64, u64)> = Vec::new();
    let mut seen = HashSet::new();
    for grip in grips {
        if !seen.insert((grip.agent, &grip.log, grip.first_line, grip.last_line)) {
            continue;
        }
        match found.last_mut() {
            Some((before, _, last))
                if (before.agent, &before.log) == (grip.agent, &grip.log)
                    && grip.first_line == *last + 1 =>
            {
                *last = grip.last_line;
            }
            _ => found.push((grip, grip.first_line, grip.last_line)),
        }
    }
    let cited = found.into_iter();
    cited
        .map(|(grip, first, last)| cite(grip.agent, &grip.log, first, last))
        .collect()
}
