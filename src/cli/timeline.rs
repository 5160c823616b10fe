//! `tome toc`, `tome events`, `tome grip`, `tome teleport`: what happened, from years down to lines.

use std::io;

use serde_json::{Value, json};

use super::args::{EventsArgs, GripArgs, TeleportArgs, TocArgs};
use super::corpus::LogCorpus;
use super::print::{Answer, Json, Printer, Report, Reported, Text, TextStyle, print_error};
use super::topics::told;
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::insight::promote::grip_in_memories;
use crate::core::insight::timeline::grip::{Grip, GripState};
use crate::core::insight::timeline::json::{
    EventRows, grip_json, node_json, teleport_json, unknown_grip_json,
};
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::{
    Node, Records, Teleport, Timeline, directory, events_between, expand, log_named, sessions_of,
    summarizer,
};
use crate::core::memory::layout::events::TimeSpan;
use crate::core::search::MemoryTexts;
use crate::core::text::display::safe_line;
use crate::core::text::time::{self, Edge};

impl World {
    /// Returns a timeline without logs, with the cache and the summarizer of the settings.
    fn empty_timeline(&self) -> Timeline {
        let summarizer = summarizer(&self.settings.timeline);
        Timeline::empty(&directory(&self.cache), summarizer)
    }

    /// Returns the timeline of the sessions in scope.
    pub(super) fn timeline(&self, logs: &LogCorpus<'_>, records: Records) -> Timeline {
        let wanted = in_scope(logs);
        self.empty_timeline()
            .refresh(&logs.corpus, |log| wanted[log], records)
    }

    /// Finds a grip: in a memory that was promoted, or else in the timeline of the sessions in scope.
    pub(super) fn find_grip(&self, logs: &LogCorpus<'_>, id: &str) -> Option<Grip> {
        let in_memories = || {
            let stores = self.memory_stores().ok()?;
            grip_in_memories(&MemoryTexts::read(&stores).ok()?, id)
        };
        let in_timeline = || self.timeline(logs, Records::Use).grip(&logs.corpus, id);
        in_memories().or_else(in_timeline)
    }

    /// Parses a time of the command line.
    fn parse_time(&self, text: Option<&str>, edge: Edge) -> Result<Option<i64>, Failure> {
        let Some(text) = text else { return Ok(None) };
        let unclear = || Failure::Usage(format!("'{text}' is not a time; use {}", time::FORMS));
        let time = time::parse(text, &self.now, edge).ok_or_else(unclear)?;
        Ok(Some(time))
    }
}

/// Returns for each log whether it is a session in scope.
fn in_scope(logs: &LogCorpus<'_>) -> Vec<bool> {
    let sessions = sessions_of(&logs.corpus);
    let own = logs.corpus.logs().zip(sessions);
    own.map(|(log, is_session)| is_session && logs.catalog.contains(&log))
        .collect()
}

pub(super) fn toc(args: &TocArgs, world: &World) -> Reported<'static> {
    let records = if args.rebuild {
        Records::Rebuild
    } else {
        Records::Use
    };
    let nodes = if let Some(id) = &args.log {
        world.read_corpus(|logs| {
            let number = log_named(&logs.corpus, id)?;
            let empty = world.empty_timeline();
            let timeline = empty.refresh(&logs.corpus, |log| log == number, records);
            Ok::<_, Error>(timeline.sessions().pop().into_iter().collect())
        })??
    } else if let Some(id) = &args.node {
        let node: NodeId = id
            .parse()
            .map_err(|e| Failure::Usage(format!("{id}: {e}")))?;
        let found = world.read_corpus(|logs| world.timeline(logs, records).node(&node))?;
        found.into_iter().collect()
    } else {
        world.read_corpus(|logs| {
            let timeline = world.timeline(logs, records);
            match args.level {
                Some(level) => timeline.nodes(level.into()),
                None => timeline.root(),
            }
        })?
    };
    let asked = args.log.clone().or_else(|| args.node.clone());
    Ok(Box::new(TocReport { nodes, asked }))
}

/// Nodes of the timeline, or the one that was asked for.
struct TocReport {
    nodes: Vec<Node>,
    asked: Option<String>,
}

impl Report for TocReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let mut nodes = self.nodes.iter().map(node_json);
        Ok(match self.asked {
            Some(_) => json!({ "node": nodes.next() }).into(),
            None => Json::list("nodes", nodes),
        })
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for (at, node) in self.nodes.iter().enumerate() {
            if at > 0 {
                printer.line("")?;
            }
            show(node, printer)?;
        }
        if let (Some(id), []) = (&self.asked, self.nodes.as_slice()) {
            print_error(&safe_line(&format!("nothing happened in {id}")));
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.nodes.is_empty())
    }
}

fn short_stamp(time: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// How much happened in each project.
fn activity(node: &Node) -> String {
    const MOST_PROJECTS: usize = 5;
    let plural = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let projects = node.projects.iter().take(MOST_PROJECTS);
    let told = projects.map(|one| {
        let name = one.project.rsplit('/').next().unwrap_or_default();
        let name = if name.is_empty() { "elsewhere" } else { name };
        let mut told = format!("{name}: {}", plural(one.sessions, "session"));
        if one.commits > 0 {
            told.push_str(&format!(", {}", plural(one.commits, "commit")));
        }
        told
    });
    let mut told: Vec<String> = told.collect();
    let more = node.projects.len().saturating_sub(MOST_PROJECTS);
    if more > 0 {
        told.push(format!("{more} more projects"));
    }
    told.join(" · ")
}

fn show(node: &Node, printer: &mut Printer) -> io::Result<()> {
    const MOST_FILES: usize = 8;
    printer.painted_line(TextStyle::Strong, &node.title)?;
    let mut place = format!("{} – {}  ", short_stamp(node.from), short_stamp(node.to));
    match (&node.log, node.lines) {
        (Some(log), Some((first, last))) => place.push_str(&format!("{log}#L{first}-{last}")),
        _ => place.push_str(&node.id),
    }
    printer.painted_line(TextStyle::Quiet, &place)?;
    if node.log.is_some() {
        printer.painted_line(TextStyle::Quiet, &node.id)?;
    }
    if let Some(note) = &node.note {
        printer.line(&format!("  {note}"))?;
    }
    if !node.projects.is_empty() {
        printer.painted_line(TextStyle::Quiet, &format!("  {}", activity(node)))?;
    }
    for bullet in &node.bullets {
        // The log of a segment or a session is named above.
        let lines: Vec<&str> = bullet
            .citations
            .iter()
            .map(|citation| match node.log {
                Some(_) => citation.rsplit('#').next().unwrap_or(citation),
                None => citation,
            })
            .collect();
        let lines = printer.paint(TextStyle::Quiet, &lines.join(" "));
        let text = printer.paint(TextStyle::Plain, &bullet.text);
        printer.styled_line(&format!("  • {text}  {lines}"))?;
    }
    if !node.keywords.is_empty() {
        printer.line(&format!("  keywords: {}", node.keywords.join(", ")))?;
    }
    if !node.files.is_empty() {
        let shown: Vec<&str> = node
            .files
            .iter()
            .take(MOST_FILES)
            .map(String::as_str)
            .collect();
        let more = match node.files.len().saturating_sub(MOST_FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        printer.line(&format!("  files: {}{more}", shown.join(", ")))?;
    }
    for (id, title) in &node.children {
        let id = printer.paint(TextStyle::Quiet, id);
        let title = printer.paint(TextStyle::Plain, title);
        printer.styled_line(&format!("  {id}  {title}"))?;
    }
    Ok(())
}

pub(super) fn events(args: &EventsArgs, world: &World) -> Reported<'static> {
    let from = world.parse_time(args.from.as_deref(), Edge::Start)?;
    let to = world.parse_time(args.to.as_deref(), Edge::End)?;
    let span = TimeSpan {
        from: from.unwrap_or(i64::MIN),
        to: to.unwrap_or(i64::MAX),
        limit: args.limit,
    };
    let (events, has_more) = world.read_corpus(|logs| {
        let wanted = in_scope(logs);
        let (found, has_more) = events_between(&logs.corpus, |log| wanted[log], span);
        let rows = EventRows::new(&logs.corpus);
        let events: Vec<Value> = found
            .iter()
            .map(|found| rows.row(found.agent, &found.log, &found.event))
            .collect();
        (events, has_more)
    })?;
    Ok(Box::new(EventsReport { events, has_more }))
}

struct EventsReport {
    events: Vec<Value>,
    has_more: bool,
}

impl Report for EventsReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        Ok(json!({ "events": self.events, "has_more": self.has_more }).into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        show_events(&self.events, printer)?;
        if self.has_more {
            printer.line("There are more; raise --limit, or start later with --from.")?;
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.events.is_empty())
    }
}

/// Prints each event on a line.
fn show_events(rows: &[Value], printer: &mut Printer) -> io::Result<()> {
    const LONGEST: usize = 160;
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let line = safe_line(text("text"));
        let short: String = line.chars().take(LONGEST).collect();
        let dots = if short.len() < line.len() { "…" } else { "" };
        let time = short_stamp(row["timestamp"].as_i64().unwrap_or(0));
        let place = format!("{time}  {}  {}", text("citation"), text("event_type"));
        let place = printer.paint(TextStyle::Quiet, &place);
        let short = printer.paint(TextStyle::Plain, &format!("{short}{dots}"));
        printer.styled_line(&format!("{place}  {short}"))?;
    }
    Ok(())
}

pub(super) fn grip(args: &GripArgs, world: &World) -> Reported<'static> {
    let found = world.read_whole_corpus(|logs| {
        let grip = world.find_grip(logs, &args.id)?;
        let expanded = expand(&logs.corpus, &grip, args.before, args.after);
        Some(GripReport {
            json: grip_json(&logs.corpus, &grip, &expanded),
            state: expanded.state,
            grip,
        })
    })?;
    match found {
        Some(report) => Ok(Box::new(report)),
        None => {
            let unknown = format!("no grip {} is known; tome toc --json lists them", args.id);
            let unknown = Text::Error(safe_line(&unknown));
            Answer::ending(Outcome::Nothing, unknown_grip_json(), unknown)
        }
    }
}

struct GripReport {
    grip: Grip,
    state: GripState,
    json: Value,
}

impl Report for GripReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        Ok(self.json.clone().into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let grip = &self.grip;
        let heading = format!("{}  {}", grip.citation(), short_stamp(grip.timestamp));
        printer.painted_line(TextStyle::Strong, &heading)?;
        printer.line(&format!("  {}", grip.excerpt))?;
        match self.state {
            GripState::Current => {
                printer.line("")?;
                for part in ["before", "excerpt", "after"] {
                    let rows = self.json[part].as_array();
                    show_events(rows.map_or(&[], Vec::as_slice), printer)?;
                }
                Ok(())
            }
            GripState::Changed => printer.line(
                "The log has other text in these lines now; the words above are the kept ones.",
            ),
            GripState::Gone => {
                printer.line("The log is gone; the words above are what was kept of it.")
            }
        }
    }
}

pub(super) fn teleport(args: &TeleportArgs, world: &World) -> Reported<'static> {
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        return Err(Failure::Usage("query parameter is required".to_owned()));
    }
    let semantic = told(world.semantic());
    let found = world.read_corpus(|logs| {
        let timeline = world.timeline(logs, Records::Use);
        timeline.teleport(&query, args.limit, semantic.as_ref())
    })?;
    Ok(Box::new(TeleportReport { query, found }))
}

/// Where a query leads.
struct TeleportReport {
    query: String,
    found: Vec<Teleport>,
}

impl Report for TeleportReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let results: Vec<Value> = self.found.iter().map(teleport_json).collect();
        Ok(json!({ "query": self.query, "results": results }).into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for found in &self.found {
            let project = found
                .project
                .as_deref()
                .and_then(|cwd| cwd.rsplit('/').next());
            let time = printer.paint(TextStyle::Quiet, &short_stamp(found.from));
            let project = printer.paint(TextStyle::Quiet, project.unwrap_or_default());
            let title = printer.paint(TextStyle::Strong, &found.title);
            printer.styled_line(&format!("{time}  {project}  {title}"))?;
            if let Some(line) = &found.line {
                printer.line(&format!("  {line}"))?;
            }
            let ids = format!("  {}  {}", found.node, found.grips.join(" "));
            printer.painted_line(TextStyle::Quiet, ids.trim_end())?;
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.found.is_empty())
    }
}
