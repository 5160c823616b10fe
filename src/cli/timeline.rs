//! `tome toc`, `tome events`, `tome grip`, `tome teleport`: what happened, from years down to lines.

use serde_json::{Value, json};

use super::args::{EventsArgs, GripArgs, TeleportArgs, TocArgs};
use super::corpus::LogCorpus;
use super::print::{Printer, TextStyle as Paint};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::insight::promote::grip_in_memories;
use crate::core::insight::timeline::grip::{Grip, GripState};
use crate::core::insight::timeline::json::{event_json, grip_json, node_json};
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::{
    Node, Records, Timeline, directory, events_between, expand, log_named, sessions_of, summarizer,
};
use crate::core::search::MemoryTexts;
use crate::core::text::display::safe_line;
use crate::core::text::time::{self, Edge};

impl World {
    /// Returns a timeline without logs, with the cache and the summarizer of the settings.
    fn no_timeline(&self) -> Timeline {
        let summarizer = summarizer(&self.settings.timeline);
        Timeline::empty(&directory(&self.cache), summarizer)
    }

    /// Returns the timeline of the sessions in scope.
    fn timeline(&self, logs: &LogCorpus<'_>, records: Records) -> Timeline {
        let wanted = in_scope(logs);
        self.no_timeline()
            .refresh(&logs.corpus, |log| wanted[log], records)
    }

    /// Finds a grip: in the timeline of the sessions in scope, or in a memory that was promoted.
    pub(super) fn find_grip(&self, logs: &LogCorpus<'_>, id: &str) -> Option<Grip> {
        let in_memories = || {
            let stores = self.memory_stores().ok()?;
            grip_in_memories(&MemoryTexts::read(&stores).ok()?, id)
        };
        let in_timeline = || self.timeline(logs, Records::Use).grip(id);
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

pub(super) fn toc(args: &TocArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let records = if args.rebuild {
        Records::Rebuild
    } else {
        Records::Use
    };
    if let Some(id) = &args.log {
        let node = world.read_corpus(|logs| {
            let number = log_named(&logs.corpus, id)?;
            let none = world.no_timeline();
            let timeline = none.refresh(&logs.corpus, |log| log == number, records);
            Ok::<_, Error>(timeline.sessions().pop())
        })??;
        return print_node(node.as_ref(), id, printer);
    }
    if let Some(id) = &args.node {
        let node: NodeId = id
            .parse()
            .map_err(|e| Failure::Usage(format!("{id}: {e}")))?;
        let found = world.read_corpus(|logs| world.timeline(logs, records).node(&node))?;
        return print_node(found.as_ref(), id, printer);
    }
    let nodes = world.read_corpus(|logs| {
        let timeline = world.timeline(logs, records);
        match args.level {
            Some(level) => timeline.nodes(level.into()),
            None => timeline.root(),
        }
    })?;
    if printer.is_json() {
        let nodes: Vec<Value> = nodes.iter().map(node_json).collect();
        printer.list("nodes", nodes)?;
    } else {
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                printer.line("")?;
            }
            show(node, printer)?;
        }
    }
    Ok(if nodes.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

fn print_node(node: Option<&Node>, id: &str, printer: &mut Printer) -> CommandResult {
    match node {
        Some(node) if printer.is_json() => printer.object(json!({ "node": node_json(node) }))?,
        Some(node) => show(node, printer)?,
        None if printer.is_json() => printer.object(json!({ "node": null }))?,
        None => super::print::print_error(&safe_line(&format!("nothing happened in {id}"))),
    }
    Ok(match node {
        Some(_) => Outcome::Done,
        None => Outcome::Nothing,
    })
}

fn short_stamp(time: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

fn show(node: &Node, printer: &mut Printer) -> Result<(), Failure> {
    const MOST_FILES: usize = 8;
    let title = printer.paint(Paint::Strong, &node.title);
    printer.styled_line(&title)?;
    let mut place = format!("{} – {}  ", short_stamp(node.from), short_stamp(node.to));
    match (&node.log, node.lines) {
        (Some(log), Some((first, last))) => place.push_str(&format!("{log}#L{first}-{last}")),
        _ => place.push_str(&node.id),
    }
    printer.styled_line(&printer.paint(Paint::Quiet, &place))?;
    if node.log.is_some() {
        printer.styled_line(&printer.paint(Paint::Quiet, &node.id))?;
    }
    if let Some(note) = &node.note {
        printer.line(&format!("  {note}"))?;
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
        let lines = printer.paint(Paint::Quiet, &lines.join(" "));
        let text = printer.paint(Paint::Plain, &bullet.text);
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
        let id = printer.paint(Paint::Quiet, id);
        let title = printer.paint(Paint::Plain, title);
        printer.styled_line(&format!("  {id}  {title}"))?;
    }
    Ok(())
}

pub(super) fn events(args: &EventsArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let from = world.parse_time(args.from.as_deref(), Edge::Start)?;
    let to = world.parse_time(args.to.as_deref(), Edge::End)?;
    let span = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
    let (rows, has_more) = world.read_corpus(|logs| {
        let wanted = in_scope(logs);
        let (found, has_more) = events_between(&logs.corpus, |log| wanted[log], span, args.limit);
        let rows: Vec<Value> = found
            .iter()
            .map(|found| event_json(found.agent, &found.log, &found.event))
            .collect();
        (rows, has_more)
    })?;
    let is_empty = rows.is_empty();
    if printer.is_json() {
        printer.object(json!({ "events": rows, "has_more": has_more }))?;
    } else {
        show_events(&rows, printer)?;
        if has_more {
            printer.line("There are more; raise --limit, or start later with --from.")?;
        }
    }
    Ok(if is_empty {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

/// Prints an event on a line of its own.
fn show_events(rows: &[Value], printer: &mut Printer) -> Result<(), Failure> {
    const LONGEST: usize = 160;
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let line = safe_line(text("text"));
        let short: String = line.chars().take(LONGEST).collect();
        let dots = if short.len() < line.len() { "…" } else { "" };
        let time = short_stamp(row["timestamp"].as_i64().unwrap_or(0));
        let place = format!("{time}  {}  {}", text("citation"), text("event_type"));
        let place = printer.paint(Paint::Quiet, &place);
        let short = printer.paint(Paint::Plain, &format!("{short}{dots}"));
        printer.styled_line(&format!("{place}  {short}"))?;
    }
    Ok(())
}

pub(super) fn grip(args: &GripArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let found = world.read_whole_corpus(|logs| {
        let grip = world.find_grip(logs, &args.id);
        let expanded = grip.as_ref().map(|grip| {
            let expanded = expand(&logs.corpus, grip, args.before, args.after);
            (grip, expanded.state, grip_json(Some((grip, &expanded))))
        });
        expanded.map(|(grip, state, shown)| (grip.clone(), state, shown))
    })?;
    let Some((grip, state, shown)) = found else {
        if printer.is_json() {
            printer.object(grip_json(None))?;
        } else {
            let unknown = format!("no grip {} is known; tome toc --json lists them", args.id);
            super::print::print_error(&safe_line(&unknown));
        }
        return Ok(Outcome::Nothing);
    };
    if printer.is_json() {
        printer.object(shown)?;
        return Ok(Outcome::Done);
    }
    let heading = format!("{}  {}", grip.citation(), short_stamp(grip.timestamp));
    printer.styled_line(&printer.paint(Paint::Strong, &heading))?;
    printer.line(&format!("  {}", grip.excerpt))?;
    match state {
        GripState::Current => {}
        GripState::Changed => {
            printer.line(
                "The log has other text in these lines now; the words above are the kept ones.",
            )?;
        }
        GripState::Gone => {
            printer.line("The log is gone; the words above are what was kept of it.")?;
        }
    }
    if state == GripState::Current {
        printer.line("")?;
        for part in ["before", "excerpt", "after"] {
            let rows = shown[part].as_array();
            show_events(rows.map_or(&[], Vec::as_slice), printer)?;
        }
    }
    Ok(Outcome::Done)
}

pub(super) fn teleport(args: &TeleportArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        return Err(Failure::Usage("query parameter is required".to_owned()));
    }
    let found = world.read_corpus(|logs| {
        let timeline = world.timeline(logs, Records::Use);
        timeline.teleport(&query, args.limit)
    })?;
    if printer.is_json() {
        let results: Vec<Value> = found
            .iter()
            .map(|found| json!({ "node": found.node, "grips": found.grips, "score": found.score }))
            .collect();
        printer.object(json!({ "query": query, "results": results }))?;
    } else {
        for found in &found {
            printer.line(&format!("{}  {}", found.node, found.grips.join(" ")))?;
        }
    }
    Ok(if found.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}
