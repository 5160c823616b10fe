//! The tree of nodes over the records of the logs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::grip::{Grip, cite};
use super::json::json_time;
use super::node::{Level, NodeId, zone_name};
use super::project::{self, ProjectActivity, Projects, Told, project};
use super::record::{LogRecord, Record};
use super::rollup::{Question, RollUp, RollUps};
use super::summarize::{
    BulletText, Point, PointKind, bullets, choose_keywords, choose_points, joined,
};
use crate::core::log::Agent;
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
    #[serde(skip)]
    pub revision: String,
    /// The title.
    pub title: String,
    /// The first millisecond since 1970 UTC.
    #[serde(with = "json_time")]
    pub from: i64,
    /// The last millisecond.
    #[serde(with = "json_time")]
    pub to: i64,
    /// The log of a segment or a session, as `AGENT:ID`.
    pub log: Option<String>,
    /// Its first line in the log.
    pub first_line: Option<u64>,
    /// Its last line in the log.
    pub last_line: Option<u64>,
    /// What happened, in a few sentences.
    pub bullets: Vec<Bullet>,
    /// Words that tell it from others.
    pub keywords: Vec<String>,
    /// The files that were changed.
    pub files: Vec<String>,
    /// The projects in which something happened, those with the most sessions first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectActivity>,
    /// Its parts, in order.
    pub children: Vec<Child>,
    /// Why its summary is not the one that was wanted, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The zone in which its days begin; `None` for a segment or a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// A part of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
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
    logs: Vec<&'a LogRecord>,
    segments: BTreeMap<NodeId, (&'a LogRecord, &'a Record)>,
    children: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// What a program said about the nodes above segments.
    rollups: &'a RollUps,
    zone: &'a TimeZone,
    made: RefCell<HashMap<NodeId, Rc<Content<'a>>>>,
}

/// What a node says.
struct Content<'a> {
    told: Vec<Told<'a>>,
    keywords: Vec<String>,
    files: Vec<String>,
    projects: Projects<'a>,
    /// What a program said of it.
    answer: Option<&'a RollUp>,
}

impl<'a> Content<'a> {
    /// What the program said, or else what its sessions say.
    fn said(&self) -> Vec<(&'a Point, &'a Grip)> {
        match self.answer {
            Some(answer) if !answer.points.is_empty() => {
                let points = answer.points.iter();
                points.map(|(point, grip)| (point, grip)).collect()
            }
            _ => self.told.iter().map(|one| (one.point, one.grip)).collect(),
        }
    }
}

impl<'a> Tree<'a> {
    pub(super) fn of(
        logs: impl IntoIterator<Item = &'a LogRecord>,
        rollups: &'a RollUps,
        zone: &'a TimeZone,
    ) -> Self {
        let mut tree = Self {
            logs: logs.into_iter().collect(),
            segments: BTreeMap::new(),
            children: BTreeMap::new(),
            rollups,
            zone,
            made: RefCell::default(),
        };
        let copied = copied(&tree.logs);
        for log in tree.logs.clone() {
            for segment in &log.segments {
                if copied.contains(segment.id.as_str()) {
                    continue;
                }
                let id = segment.node(zone);
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

    /// Whether a segment is one of its nodes, and no copy of another one.
    pub(super) fn has(&self, segment: &NodeId) -> bool {
        self.segments.contains_key(segment)
    }

    /// Returns the ids of the nodes that have children.
    pub(super) fn parents(&self) -> impl Iterator<Item = &NodeId> {
        self.children.keys()
    }

    /// Returns a segment that no day has: a copy of another one, which its session has, or one by an id
    /// that was made in another zone, in which it was another day.
    fn elsewhere(&self, id: &NodeId) -> Option<(&'a LogRecord, &'a Record)> {
        self.logs
            .iter()
            .find_map(|log| Some((*log, log.segment(id)?)))
    }

    pub(super) fn node(&self, id: &NodeId) -> Option<Node> {
        let segment = self.segments.get(id).copied();
        if let Some((log, segment)) = segment.or_else(|| self.elsewhere(id)) {
            return Some(of_record(log, segment, id.to_string(), "segment"));
        }
        let children = self.children.get(id)?;
        let content = self.content(id);
        let (from, to) = id.bounds(self.zone)?;
        let mut projects = content.projects.activity();
        let answer = content.answer.filter(|answer| !answer.points.is_empty());
        let bullets = match answer {
            Some(_) => cited_bullets(&content.said(), 0),
            None => upper_bullets(&content.told, &projects, id.level()),
        };
        let keywords = answer.map(|answer| &answer.keywords);
        let keywords = keywords.filter(|keywords| !keywords.is_empty());
        for one in &mut projects {
            one.project = safe_line(&one.project);
        }
        let children = children.iter().map(|child| {
            let title = child.title();
            let of_segment = || {
                self.segments
                    .get(child)
                    .map(|(_, record)| record.title.clone())
            };
            Child {
                id: child.to_string(),
                title: title.or_else(of_segment).unwrap_or_default(),
            }
        });
        Some(versioned(Node {
            id: id.to_string(),
            level: id.level().name().into(),
            revision: String::new(),
            title: id.title()?,
            from,
            to,
            log: None,
            first_line: None,
            last_line: None,
            bullets,
            keywords: keywords.unwrap_or(&content.keywords).clone(),
            files: content.files.clone(),
            projects,
            children: children.collect(),
            note: content.answer.and_then(|answer| answer.note.clone()),
            zone: Some(zone_name(self.zone)),
        }))
    }

    /// Returns what the program was not asked yet about the nodes of a level.
    pub(super) fn questions(&self, level: Level) -> Vec<Question> {
        let ids = self.ids(level).into_iter();
        let questions = ids.filter_map(|id| {
            let said = self.asked(&id, &self.own_content(&id));
            let key = self.rollups.key(&id, &said);
            let is_new = !said.is_empty() && self.rollups.get(&key).is_none();
            let points = said.into_iter();
            is_new.then(|| Question {
                points: points
                    .map(|(point, grip)| (point.clone(), grip.clone()))
                    .collect(),
                id,
                key,
            })
        });
        questions.collect()
    }

    /// Returns what a program is asked to sum up: what the parts of a node say, chosen where it is
    /// much.
    fn asked(&self, id: &NodeId, own: &Content<'a>) -> Vec<(&'a Point, &'a Grip)> {
        const MOST: usize = 100;
        let said: Vec<(&Point, &Grip)> = match id.level() {
            Level::Day => own.said(),
            _ => self.parts(id).iter().flat_map(|part| part.said()).collect(),
        };
        if said.len() <= MOST {
            return said;
        }
        let points: Vec<&Point> = said.iter().map(|(point, _)| *point).collect();
        let chosen = choose_points(&points).into_iter();
        chosen.map(|at| said[at]).collect()
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

    /// Returns what a node says, with what the program said of it.
    fn content(&self, id: &NodeId) -> Rc<Content<'a>> {
        if let Some(known) = self.made.borrow().get(id) {
            return Rc::clone(known);
        }
        let mut content = self.own_content(id);
        if !self.rollups.summarizer.is_empty() {
            let asked = self.asked(id, &content);
            content.answer = self.rollups.get(&self.rollups.key(id, &asked));
        }
        let content = Rc::new(content);
        self.made
            .borrow_mut()
            .insert(id.clone(), Rc::clone(&content));
        content
    }

    /// Returns what the sessions of a node say: of a day what they say about it, else all that its
    /// parts say.
    fn own_content(&self, id: &NodeId) -> Content<'a> {
        if id.level() == Level::Day {
            let children = self.children.get(id).into_iter().flatten();
            let segments = children.filter_map(|child| self.segments.get(child));
            of_day(segments.copied())
        } else {
            together(&self.parts(id))
        }
    }
}

/// Returns the ids of segments that another log has as well: a session that was continued in a copy
/// of its log. Of segments that begin with the same event, the longest one counts.
pub(super) fn copied<'a>(logs: &[&'a LogRecord]) -> HashSet<&'a str> {
    let mut longest: HashMap<_, (&LogRecord, &Record)> = HashMap::new();
    let mut found = HashSet::new();
    for log in logs {
        for segment in &log.segments {
            let key = (log.agent, segment.from, segment.start.as_str());
            let Some((other, known)) = longest.get(&key).copied() else {
                longest.insert(key, (log, segment));
                continue;
            };
            // A log without times may begin several segments alike.
            if other.id == log.id {
                continue;
            }
            let lines = |one: &Record| one.last_line.saturating_sub(one.first_line);
            if lines(known) < lines(segment) {
                longest.insert(key, (log, segment));
                found.insert(known.id.as_str());
            } else {
                found.insert(segment.id.as_str());
            }
        }
    }
    found
}

/// Returns what the segments of a day say. The summary of a session as a whole knows what was undone
/// later; where it tells nothing of a day, the segments do.
fn of_day<'a>(segments: impl Iterator<Item = (&'a LogRecord, &'a Record)>) -> Content<'a> {
    let mut logs: BTreeMap<(Agent, &str), (&LogRecord, Vec<&'a Record>)> = BTreeMap::new();
    for (log, segment) in segments {
        let own = logs
            .entry((log.agent, &log.id))
            .or_insert((log, Vec::new()));
        own.1.push(segment);
    }
    let mut content = Content {
        told: Vec::new(),
        keywords: Vec::new(),
        files: Vec::new(),
        projects: Projects::default(),
        answer: None,
    };
    let mut keywords = Vec::new();
    let mut files = Vec::new();
    for (log, segments) in logs.values() {
        let project = project(log.cwd.as_deref());
        let is_here = |(_, grip): &&(Point, Grip)| {
            let holds = |one: &&Record| (one.first_line..=one.last_line).contains(&grip.first_line);
            segments.iter().any(holds)
        };
        let whole = log.whole.iter().flat_map(|whole| &whole.points);
        let mut points: Vec<&(Point, Grip)> = whole.filter(is_here).collect();
        let has_none = points.is_empty();
        let mut told: HashSet<&str> = points.iter().map(|(one, _)| one.text.as_str()).collect();
        // A session tells some of its commits, and a segment also those that were undone later.
        let commits = log.commits(segments);
        let rest = segments.iter().flat_map(|segment| &segment.points);
        points.extend(rest.filter(|(point, grip)| {
            let is_wanted = match point.kind {
                PointKind::Committed => commits.contains(&grip.first_line),
                PointKind::Requested => true,
                PointKind::Open => false,
                _ => has_none,
            };
            is_wanted && told.insert(&point.text)
        }));
        let told = points.into_iter();
        content.told.extend(told.map(|(point, grip)| Told {
            project,
            point,
            grip,
        }));
        files.extend(segments.iter().map(|segment| &segment.files[..]));
        let is_all = segments.len() == log.segments.len();
        match log.whole.as_ref().filter(|_| is_all) {
            Some(whole) => keywords.push(&whole.keywords[..]),
            None => keywords.extend(segments.iter().map(|segment| &segment.keywords[..])),
        }
        // A store of captured events has many sessions.
        for (at, segment) in segments.iter().enumerate() {
            let commits = if at == 0 { commits.len() } else { 0 };
            let session = log.session_of(segment);
            content.projects.add(project, session, commits);
        }
    }
    content.keywords = choose_keywords(keywords);
    content.files = most_frequent(files);
    content
}

fn together<'a>(parts: &[Rc<Content<'a>>]) -> Content<'a> {
    let mut projects = Projects::default();
    for part in parts {
        projects.extend(&part.projects);
    }
    let told = parts.iter().flat_map(|part| &part.told).copied();
    // What was open at the end of a day is told by the day.
    let told = told.filter(|one| one.point.kind != PointKind::Open);
    Content {
        projects,
        told: told.collect(),
        keywords: choose_keywords(parts.iter().map(|part| &part.keywords[..])),
        files: most_frequent(parts.iter().map(|part| &part.files[..])),
        answer: None,
    }
}

fn most_frequent<'a>(parts: impl IntoIterator<Item = &'a [String]>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in parts.into_iter().flatten() {
        *counts.entry(file).or_default() += 1;
    }
    let mut files: Vec<(&str, usize)> = counts.into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let files = files.into_iter().take(MOST_FILES);
    files.map(|(file, _)| file.to_owned()).collect()
}

/// Returns the node of a session as a whole, with its segments as children.
pub(super) fn whole(log: &LogRecord, zone: &TimeZone) -> Option<Node> {
    let record = log.whole.as_ref()?;
    let mut node = of_record(
        log,
        record,
        format!("log:{}:{}", log.agent.name(), log.id),
        "log",
    );
    let children = log.segments.iter();
    let children = children.map(|segment| Child {
        id: segment.node(zone).to_string(),
        title: segment.title.clone(),
    });
    node.children = children.collect();
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
        first_line: Some(record.first_line),
        last_line: Some(record.last_line),
        bullets: cited_bullets(&points, record.commits.len()),
        keywords: record.keywords.clone(),
        files: record.files.clone(),
        projects: Vec::new(),
        children: Vec::new(),
        note: record.note.clone(),
        zone: None,
    })
}

fn versioned(mut node: Node) -> Node {
    let words = (&node.keywords, &node.files);
    let said = serde_json::json!([node.title, node.bullets, words, node.children]);
    node.revision = blake3::hash(said.to_string().as_bytes()).to_hex()[..12].to_owned();
    node
}

fn cited_bullets(points: &[(&Point, &Grip)], commits: usize) -> Vec<Bullet> {
    let texts: Vec<Point> = points.iter().map(|(point, _)| (*point).clone()).collect();
    let grips: Vec<&Grip> = points.iter().map(|(_, grip)| *grip).collect();
    let bullets = bullets(&texts, commits).into_iter();
    bullets.map(|bullet| cited(bullet, &grips)).collect()
}

/// Returns the bullets of a day or above: by project. Of a day in one project they tell its commits,
/// and then of each session what was asked, decided, reported and left open.
fn upper_bullets(told: &[Told<'_>], projects: &[ProjectActivity], level: Level) -> Vec<Bullet> {
    const MOST_SESSIONS: usize = 5;
    let is_made = |one: &&Told<'_>| {
        let kind = one.point.kind;
        matches!(kind, PointKind::Committed | PointKind::Requested)
    };
    let (by_project, rest): (Vec<&Told<'_>>, Vec<&Told<'_>>) =
        if level == Level::Day && projects.len() == 1 {
            told.iter().partition(is_made)
        } else {
            (told.iter().collect(), Vec::new())
        };
    let grips: Vec<&Grip> = by_project.iter().map(|one| one.grip).collect();
    let mut found: Vec<Bullet> = Vec::new();
    if !by_project.is_empty() {
        let bullets = project::bullets(&by_project, projects).into_iter();
        found.extend(bullets.map(|bullet| cited(bullet, &grips)));
    }
    let sessions = rest.chunk_by(|one, next| one.grip.log == next.grip.log);
    found.extend(sessions.take(MOST_SESSIONS).map(of_session));
    found
}

/// Returns the bullet of a session in its day: one point of each kind, the first request and else the
/// last one.
fn of_session(told: &[&Told<'_>]) -> Bullet {
    let kinds = [
        PointKind::Asked,
        PointKind::Decided,
        PointKind::Reported,
        PointKind::Open,
        PointKind::Said,
    ];
    let of_kind = |kind: PointKind| {
        let mut own = told.iter().filter(move |one| one.point.kind == kind);
        match kind {
            PointKind::Asked => own.next(),
            _ => own.next_back(),
        }
    };
    let chosen: Vec<&&Told<'_>> = kinds.into_iter().filter_map(of_kind).collect();
    let points: Vec<Point> = chosen.iter().map(|one| one.point.clone()).collect();
    let bullet = BulletText {
        text: joined(&points),
        points: (0..points.len()).collect(),
    };
    let grips: Vec<&Grip> = chosen.iter().map(|one| one.grip).collect();
    cited(bullet, &grips)
}

fn cited(bullet: BulletText, grips: &[&Grip]) -> Bullet {
    let mut grips: Vec<&Grip> = bullet.points.iter().map(|at| grips[*at]).collect();
    let mut seen = HashSet::new();
    grips.retain(|grip| seen.insert(&grip.id));
    Bullet {
        text: bullet.text,
        grips: grips.iter().map(|grip| grip.id.clone()).collect(),
        citations: citations(&grips),
    }
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
