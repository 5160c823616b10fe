//! `tome toc`, `tome events`, `tome grip`, `tome teleport`: what happened, from years down to lines.

use std::collections::BTreeSet;
use std::io;

use serde_json::{Value, json};

use super::args::{EventsArgs, GripArgs, TeleportArgs, TocArgs};
use super::corpus::LogCorpus;
use super::print::{
    Answer, Cell, Json, Printer, Report, Reported, Text, TextStyle, exact_time, print_error,
    short_time, shortened,
};
use super::topics::told;
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::insight::promote::grip_in_memories;
use crate::core::insight::timeline::grip::{Grip, GripState};
use crate::core::insight::timeline::json::{
    EventRows, GripRows, LONGEST_OF_GRIP, told_calls, unknown_grip_json,
};
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::{
    Child, Node, Records, Teleport, Timeline, VersionedNode, directory, events_between, expand,
    sessions_of, summarizer,
};
use crate::core::memory::discover::DiscoveryScope;
use crate::core::memory::layout::events::TimeSpan;
use crate::core::memory::layout::format_size;
use crate::core::text::display::{first_few, safe, safe_line};
use crate::core::text::time::Edge;

impl World {
    /// Returns a timeline without logs, with the cache and the summarizer of the settings.
    fn empty_timeline(&self, logs: &LogCorpus<'_>) -> Timeline {
        let summarizer = summarizer(&self.settings.timeline);
        let timeline = Timeline::empty(&directory(&self.cache), summarizer);
        timeline.of_scope(logs.catalog.scope_name(), &self.settings.timeline.zone)
    }

    /// Returns the timeline of the sessions in scope.
    pub(super) fn timeline(&self, logs: &LogCorpus<'_>, records: Records) -> Timeline {
        let wanted = in_scope(logs);
        self.empty_timeline(logs)
            .refresh(&logs.corpus, |log| wanted[log], records)
    }

    /// Returns the timeline with its days, weeks, months and years summarized.
    fn rolled_up(&self, logs: &LogCorpus<'_>, records: Records) -> Timeline {
        let mut timeline = self.timeline(logs, records);
        timeline.roll_up(records, || false);
        timeline
    }

    /// Finds a grip: in a memory that was promoted, or else in the timeline of the sessions in scope.
    pub(super) fn find_grip(&self, logs: &LogCorpus<'_>, id: &str) -> Option<Grip> {
        // A grip is found without a store, too.
        let in_memories = || grip_in_memories(&self.stores_or(|_| {}).ok()?, id);
        let in_timeline = || self.timeline(logs, Records::Use).grip(&logs.corpus, id);
        in_memories().or_else(in_timeline)
    }

    /// The message if no session is in scope.
    pub(super) fn no_sessions(&self) -> String {
        match self.scope() {
            DiscoveryScope::Project => "no session of an agent is known in this project; --all shows those of every project, tome setup AGENT captures new ones",
            DiscoveryScope::Everything => "no session of an agent is known; tome doctor says where they are looked for, tome setup AGENT captures new ones",
        }
        .to_owned()
            + &self.moved_here().unwrap_or_default()
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
    if args.status {
        return status(world);
    }
    let records = if args.rebuild {
        Records::Rebuild
    } else {
        Records::Use
    };
    let session = args.node.as_deref().and_then(|id| id.strip_prefix("log:"));
    let nodes = world.read_corpus(|logs| {
        let (timeline, nodes) = if let Some(id) = args.log.as_deref().or(session) {
            let empty = world.empty_timeline(logs);
            match logs.numbered(id) {
                Ok(number) => {
                    let timeline = empty.refresh(&logs.corpus, |log| log == number, records);
                    let session = timeline.sessions().pop();
                    (timeline, session.into_iter().collect())
                }
                Err(unknown) => {
                    let session = empty.captured_session(&logs.corpus, id);
                    (empty, vec![session.ok_or(unknown)?])
                }
            }
        } else {
            let timeline = world.rolled_up(logs, records);
            let nodes = match (&args.node, args.level) {
                (Some(id), _) => {
                    let id: NodeId = id
                        .parse()
                        .map_err(|e| Failure::Usage(format!("{id}: {e}")))?;
                    timeline.node(&id).into_iter().collect()
                }
                (None, Some(level)) => timeline.nodes(level),
                (None, None) => timeline.root(),
            };
            (timeline, nodes)
        };
        let nodes: Vec<Node> = nodes;
        let newest = timeline.versions(nodes).into_iter();
        let wanted = newest.map(|newest| wanted_version(newest, args, &timeline));
        wanted.collect::<Result<Vec<VersionedNode>, Failure>>()
    })??;
    let asked = args.log.clone().or_else(|| args.node.clone());
    let nothing = match &asked {
        Some(id) => safe_line(&format!(
            "nothing happened in {id}; tome toc shows when something did"
        )),
        None => world.no_sessions(),
    };
    Ok(Box::new(TocReport {
        nodes,
        asked,
        nothing,
    }))
}

/// Returns the version of a node that was asked for.
fn wanted_version(
    newest: VersionedNode,
    args: &TocArgs,
    timeline: &Timeline,
) -> Result<VersionedNode, Failure> {
    let Some(version) = args.version.filter(|number| *number != newest.version) else {
        return Ok(newest);
    };
    let id = &newest.node.id;
    let Some(node) = timeline.former_version(id, version) else {
        let known = newest.kept.iter().chain([&newest.version]);
        let known: Vec<String> = known.map(usize::to_string).collect();
        return Err(Failure::Usage(format!(
            "{id}: no version {version} is kept; {} can be shown",
            known.join(", ")
        )));
    };
    Ok(VersionedNode {
        node,
        version,
        kept: newest.kept,
    })
}

/// How the timeline stands.
fn status(world: &World) -> Reported<'static> {
    let status = world.read_corpus(|logs| {
        let wanted = in_scope(logs);
        let empty = world.empty_timeline(logs);
        let (timeline, outdated) = empty.cached(&logs.corpus, |log| wanted[log]);
        timeline.status(&logs.corpus, outdated.len())
    })?;
    let command = &world.settings.timeline.command;
    let summarizer = match &command[..] {
        [] => "built in".to_owned(),
        command => safe_line(&command.join(" ")),
    };
    let nodes: serde_json::Map<String, Value> = status
        .nodes
        .iter()
        .map(|(level, count)| (level.name().to_owned(), json!(count)))
        .collect();
    let json = json!({
        "directory": status.directory,
        "summarizer": summarizer,
        "sessions": status.sessions,
        "outdated": status.outdated,
        "nodes": nodes,
        "events": status.events,
        "grips": status.grips,
        "former_grips": status.former_grips,
        "former_versions": status.former_versions,
        "summarized_offline": status.summarized_offline,
        "note": status.note,
        "bytes": status.bytes,
        "written": status.written.and_then(exact_time),
    });
    let levels: Vec<String> = status
        .nodes
        .iter()
        .map(|(level, count)| format!("{count} {}", level.name()))
        .collect();
    let outdated = match status.outdated {
        0 => "all up to date".to_owned(),
        count => format!("{count} out of date; tome toc brings them up to date"),
    };
    let written = status.written.map_or("never".to_owned(), short_stamp);
    let mut rows = vec![
        ("sessions", format!("{}, {outdated}", status.sessions)),
        ("nodes", levels.join(", ")),
        ("events", status.events.to_string()),
        (
            "grips",
            format!(
                "{}, and {} that nodes had once",
                status.grips, status.former_grips
            ),
        ),
        ("former versions", status.former_versions.to_string()),
        ("summarizer", summarizer),
    ];
    if let Some(note) = status.note {
        let count = status.summarized_offline;
        rows.push(("", format!("{count} segments: {note}")));
    }
    rows.extend([
        ("written", written),
        ("size", format_size(status.bytes)),
        ("where", world.short_path(&status.directory)),
    ]);
    let row =
        |(name, value): (&str, String)| vec![Cell::plain(name), Cell::new(TextStyle::Quiet, value)];
    let rows: Vec<Vec<Cell>> = rows.into_iter().map(row).collect();
    Answer::done(json, Text::Table(rows))
}

/// Nodes of the timeline, or the one that was asked for.
struct TocReport {
    nodes: Vec<VersionedNode>,
    asked: Option<String>,
    /// The message if nothing was found.
    nothing: String,
}

impl Report for TocReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let mut nodes = self.nodes.iter().map(|shown| json!(shown));
        Ok(match self.asked {
            Some(_) => json!({ "node": nodes.next() }).into(),
            None => Json::list("nodes", nodes),
        })
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for (at, shown) in self.nodes.iter().enumerate() {
            if at > 0 {
                printer.line("")?;
            }
            show_node(&shown.node, printer)?;
            if self.asked.is_some() && !shown.kept.is_empty() {
                let kept: Vec<String> = shown.kept.iter().map(usize::to_string).collect();
                let told = format!(
                    "  version {}; --version shows {}",
                    shown.version,
                    kept.join(", ")
                );
                printer.painted_line(TextStyle::Quiet, &told)?;
            }
        }
        // What holds for many nodes is told once.
        let notes = self
            .nodes
            .iter()
            .filter_map(|shown| shown.node.note.as_deref());
        for note in notes.collect::<BTreeSet<&str>>() {
            print_error(note);
        }
        if self.nodes.is_empty() {
            print_error(&self.nothing);
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.nodes.is_empty())
    }
}

fn short_stamp(time: i64) -> String {
    short_time(time).unwrap_or_default()
}

fn show_node(node: &Node, printer: &mut Printer) -> io::Result<()> {
    const MOST_FILES: usize = 8;
    printer.painted_line(TextStyle::Strong, &node.title)?;
    let mut place = format!("{} – {}  ", short_stamp(node.from), short_stamp(node.to));
    match (&node.log, node.first_line, node.last_line) {
        (Some(log), Some(first), Some(last)) => place.push_str(&format!("{log}#L{first}-{last}")),
        _ => place.push_str(&node.id),
    }
    printer.painted_line(TextStyle::Quiet, &place)?;
    if node.log.is_some() {
        printer.painted_line(TextStyle::Quiet, &node.id)?;
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
        let files = first_few(MOST_FILES, &node.files);
        printer.line(&format!("  files: {files}"))?;
    }
    for Child { id, title } in &node.children {
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
            .map(|found| json!(rows.row(found.agent, &found.log, &found.event)))
            .collect();
        (events, has_more)
    })?;
    let nothing = match (from, to) {
        (None, None) => world.no_sessions(),
        _ => "nothing happened then; tome toc shows when something did".to_owned(),
    };
    let json = json!({ "events": events, "has_more": has_more });
    Answer::found(!events.is_empty(), json, move |printer| {
        show_events(&events, 160, printer)?;
        if events.is_empty() {
            print_error(&nothing);
        }
        if has_more {
            printer.line("There are more; raise --limit, or start later with --from.")?;
        }
        Ok(())
    })
}

/// Prints each event on a line; the answer of a turn whole.
fn show_events(rows: &[Value], longest: usize, printer: &mut Printer) -> io::Result<()> {
    /// Results of tools are long, and seldom what is looked for.
    const LONGEST_OF_TOOL: usize = 160;
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let time = short_stamp(row["timestamp"].as_i64().unwrap_or(0));
        let place = format!("{time}  {}  {}", text("citation"), text("event_type"));
        if row["is_answer"] == true {
            printer.painted_line(TextStyle::Quiet, &place)?;
            show_text(text("text"), text("citation"), printer)?;
            show_calls(row, printer)?;
            continue;
        }
        let line = safe_line(text("text"));
        let longest = if text("event_type").starts_with("tool") {
            LONGEST_OF_TOOL
        } else {
            longest
        };
        let place = printer.paint(TextStyle::Quiet, &place);
        let short = printer.paint(TextStyle::Plain, &shortened(&line, longest));
        printer.styled_line(&format!("{place}  {short}"))?;
        show_calls(row, printer)?;
    }
    Ok(())
}

/// Prints how many tools were called behind an event.
fn show_calls(row: &Value, printer: &mut Printer) -> io::Result<()> {
    let calls = row["calls"].as_u64().unwrap_or(0);
    match told_calls(usize::try_from(calls).unwrap_or(usize::MAX)) {
        Some(calls) => printer.painted_line(TextStyle::Quiet, &format!("  {calls}")),
        None => Ok(()),
    }
}

/// Prints the lines of a text, and where the rest of a long one is.
fn show_text(text: &str, citation: &str, printer: &mut Printer) -> io::Result<()> {
    let short = text.char_indices().nth(LONGEST_OF_GRIP);
    let short = short.map_or(text, |(end, _)| &text[..end]);
    for line in safe(short).lines() {
        printer.line(&format!("  {line}"))?;
    }
    if short.len() < text.len() {
        printer.line(&format!("  … tome read {citation}"))?;
    }
    Ok(())
}

pub(super) fn grip(args: &GripArgs, world: &World) -> Reported<'static> {
    let found = world.read_whole_corpus(|logs| {
        let id = logs.catalog.marked(&args.id)?;
        let Some(grip) = world.find_grip(logs, &id) else {
            return Ok(None);
        };
        let expanded = expand(&logs.corpus, &grip, args.before, args.after);
        let json = GripRows::new(&logs.corpus, &grip, &expanded).json();
        Ok::<_, Error>(Some((grip, expanded.state, json)))
    })??;
    let Some((grip, state, json)) = found else {
        let unknown = format!("no grip {} is known; tome toc --json lists them", args.id);
        let unknown = Text::Error(safe_line(&unknown));
        return Answer::ending(Outcome::Nothing, unknown_grip_json(), unknown);
    };
    let rows = ["before", "excerpt", "after"];
    let rows = rows.map(|part| json[part].as_array().cloned().unwrap_or_default());
    Answer::found(true, json, move |printer| {
        show_grip(&grip, state, &rows, printer)
    })
}

/// Prints a grip: its messages and those around them, or what was kept of it.
fn show_grip(
    grip: &Grip,
    state: GripState,
    [before, excerpt, after]: &[Vec<Value>; 3],
    printer: &mut Printer,
) -> io::Result<()> {
    /// How much of the messages around it is printed.
    const LONGEST_AROUND: usize = 600;
    let heading = format!("{}  {}", grip.citation(), short_stamp(grip.timestamp));
    let state = match state {
        GripState::Current => {
            show_events(before, LONGEST_AROUND, printer)?;
            printer.painted_line(TextStyle::Strong, &heading)?;
            for row in excerpt {
                let text = row["text"].as_str().unwrap_or_default();
                let text = grip.shown(text, LONGEST_OF_GRIP);
                show_text(text, &grip.citation(), printer)?;
                show_calls(row, printer)?;
            }
            return show_events(after, LONGEST_AROUND, printer);
        }
        GripState::Changed => {
            "The log has other text in these lines now; the words above are the kept ones."
        }
        GripState::Gone => "The log is gone; the words above are what was kept of it.",
    };
    printer.painted_line(TextStyle::Strong, &heading)?;
    printer.line(&format!("  {}", grip.excerpt))?;
    printer.line(state)
}

pub(super) fn teleport(args: &TeleportArgs, world: &World) -> Reported<'static> {
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        return Err(Failure::usage("query parameter is required"));
    }
    let semantic = told(world.semantic());
    let (found, is_empty) = world.read_corpus(|logs| {
        let timeline = world.timeline(logs, Records::Use);
        let found = timeline.teleport(&logs.corpus, &query, args.limit, semantic.as_ref());
        (found, timeline.sessions().is_empty())
    })?;
    let nothing = if is_empty {
        world.no_sessions()
    } else {
        "no part of a session is about that; tome recall searches every message".to_owned()
    };
    let json = json!({ "query": query, "results": found });
    Answer::found(!found.is_empty(), json, move |printer| {
        if found.is_empty() {
            print_error(&nothing);
        }
        found.iter().try_for_each(|one| show_place(one, printer))
    })
}

/// Prints where a query leads.
fn show_place(found: &Teleport, printer: &mut Printer) -> io::Result<()> {
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
    printer.painted_line(TextStyle::Quiet, ids.trim_end())
}
