//! `tome logs`: the conversations that agents have logged, newest first, or those that match
//! a query, best first. Of what hooks captured, each session is one that has no log of its own.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Outcome;
use super::args::LogsArgs;
use super::corpus::{LogCorpus, ParsedLogFilter};
use super::print::{
    Answer, Cell, Reported, Text, TextStyle, counted, exact_time, format_age, print_error,
    shortened,
};
use super::recall::hit_json;
use super::world::World;
use crate::core::insight::sessions::{
    CapturedSession, Listing, captured_sessions, listings, logs_not_understood,
};
use crate::core::log::{Agent, Role};
use crate::core::memory::layout::format_size;
use crate::core::memory::library::Unlisted;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::Sources;
use crate::core::search::index::{Corpus, Log, Part};
use crate::core::search::query::Query;
use crate::core::search::recall::{RecallRequest, Scope, SessionHit, sessions};
use crate::core::text::display::safe;

pub(super) fn run(args: &LogsArgs, world: &World) -> Reported<'static> {
    let filter = world.parse_filter(&args.filter)?;
    let (logs, rows) = world.read_corpus(|logs| listing(logs, args, &filter, world))?;
    let text = match (rows.is_empty(), args.query.is_empty()) {
        (false, _) => Text::Table(rows),
        (true, true) => Text::Error(world.no_sessions()),
        (true, false) => {
            let words = "no session is about that; try other words, or --all";
            Text::Error(words.to_owned() + &world.moved_here().unwrap_or_default())
        }
    };
    Answer::ending(
        Outcome::found(!logs.is_empty()),
        json!({ "logs": logs }),
        text,
    )
}

/// Lists the logs that the filter allows, as JSON and as rows of a table.
fn listing(
    LogCorpus {
        catalog,
        files,
        corpus,
    }: &LogCorpus<'_>,
    args: &LogsArgs,
    filter: &ParsedLogFilter<'_>,
    world: &World,
) -> (Vec<Value>, Vec<Vec<Cell>>) {
    let speaks = args.role.map(|role| logs_with_role(corpus, role));
    let listings = listings(corpus);
    let logs: Vec<(usize, Log<'_>)> = corpus
        .logs()
        .enumerate()
        .filter(|(_, log)| filter.allows_some(catalog, log))
        .filter(|(number, _)| speaks.as_ref().is_none_or(|speaks| speaks[*number]))
        .filter(|(number, _)| args.every || listings[*number].unlisted.is_none())
        .collect();
    for unknown in logs_not_understood(catalog, corpus, files) {
        let path = world.short_path(&unknown.path);
        let name = unknown.agent.name();
        print_error(&safe(&format!(
            "warning: {path}: this log of {name} is not understood: {}",
            unknown.why
        )));
    }
    let by_number: HashMap<usize, Log<'_>> = logs.iter().copied().collect();
    let mut found: Vec<(Listed<'_>, Option<SessionHit>)> = Vec::new();
    for (number, log) in logs {
        if log.agent() == Some(Agent::Events) {
            let sessions = captured_sessions(corpus, &log).into_iter();
            let sessions = sessions.filter(|session| filter.allows_session(session));
            found.extend(sessions.map(|session| (Listed::Captured(number, log, session), None)));
        } else {
            found.push((Listed::Log(number, log), None));
        }
    }
    if args.query.is_empty() {
        found.sort_by_key(|(listed, _)| std::cmp::Reverse(listed.last()));
    } else {
        let query = Query::of_prose(&args.query.join(" "), &world.now);
        let request = RecallRequest {
            query: &query,
            scope: Scope::Messages,
            limit: args.limit,
            without: None,
        };
        let sources = Sources {
            memories: &MemoryTexts::default(),
            corpus: Some(corpus),
        };
        let best = sessions(sources, request, &|log| by_number.contains_key(&log));
        let best = best.into_iter().filter_map(|hit| {
            let (listed, _) = found.iter().find(|(listed, _)| listed.has(&hit))?;
            Some((listed.clone(), Some(hit)))
        });
        found = best.collect();
    }
    found.truncate(args.limit);
    let list = found.iter().map(|(listed, hit)| {
        let mut value = match listed {
            Listed::Log(number, log) => as_json(log, &listings[*number]),
            Listed::Captured(_, log, session) => session_as_json(log, session),
        };
        if let Some(hit) = hit {
            value["score"] = json!(hit.score);
            value["best"] = hit_json(&hit.best);
        }
        value
    });
    let ids: Vec<&str> = found.iter().map(|(listed, _)| listed.id()).collect();
    let letters = short_id_length(&ids);
    let rows = found.iter().map(|(listed, _)| row(listed, letters, world));
    (list.collect(), rows.collect())
}

/// A session in the list.
#[derive(Clone)]
enum Listed<'a> {
    /// One with a log, by its number.
    Log(usize, Log<'a>),
    /// One of a store of events.
    Captured(usize, Log<'a>, CapturedSession),
}

impl Listed<'_> {
    fn id(&self) -> &str {
        match self {
            Self::Log(_, log) => log.id(),
            Self::Captured(_, _, session) => &session.id,
        }
    }

    fn last(&self) -> i64 {
        match self {
            Self::Log(_, log) => log.last_activity(),
            Self::Captured(_, _, session) => session.last,
        }
    }

    /// Whether a message that matches a query is one of it.
    fn has(&self, hit: &SessionHit) -> bool {
        match self {
            Self::Log(number, _) => *number == hit.log,
            Self::Captured(number, _, session) => {
                *number == hit.log && hit.best.session.as_deref() == Some(&session.id)
            }
        }
    }
}

/// Returns for each log whether it has a message of this role.
fn logs_with_role(corpus: &Corpus, role: Role) -> Vec<bool> {
    corpus.logs().map(|log| log.messages_of(role) > 0).collect()
}

/// Returns how many leading characters distinguish these ids, at least `LEAST`.
fn short_id_length(ids: &[&str]) -> usize {
    const LEAST: usize = 13;
    const MOST: usize = 40;
    let differ = |letters: &usize| {
        let mut begun: Vec<String> = ids
            .iter()
            .map(|id| id.chars().take(*letters).collect())
            .collect();
        begun.sort_unstable();
        begun.windows(2).all(|pair| pair[0] != pair[1])
    };
    (LEAST..MOST).find(differ).unwrap_or(MOST)
}

fn row(listed: &Listed<'_>, letters: usize, world: &World) -> Vec<Cell> {
    const LONGEST: usize = 72;
    let (title, agent, cwd, turns, size) = match listed {
        Listed::Log(_, log) => (
            log.shown_title(),
            log.agent().map_or("", |agent| agent.name()),
            log.cwd(),
            log.turns(),
            log.size(),
        ),
        Listed::Captured(_, log, session) => (
            session.prompts.clone().unwrap_or_default().0,
            session.agent.as_str(),
            session.cwd.as_deref().or(log.cwd()),
            session.turns,
            session.size,
        ),
    };
    let id: String = listed.id().chars().take(letters).collect();
    let project = cwd.map(|cwd| world.short_path(cwd.as_ref()));
    let now = world.moment.time.as_millisecond();
    vec![
        Cell::new(TextStyle::Strong, id),
        Cell::plain(agent),
        Cell::number(TextStyle::Plain, format_age(listed.last(), now)),
        Cell::number(TextStyle::Quiet, counted(turns, "turn")),
        Cell::number(TextStyle::Quiet, format_size(size)),
        Cell::new(TextStyle::Quiet, project.unwrap_or_default()),
        Cell::plain(shortened(&title, LONGEST)),
    ]
}

/// Formats a session of which only hooks tell.
fn session_as_json(log: &Log<'_>, session: &CapturedSession) -> Value {
    let prompts = session.prompts.as_ref();
    json!({
        "agent": session.agent,
        "id": safe(&session.id),
        "path": safe(&log.path().to_string_lossy()),
        "captured": true,
        "project": session.cwd.as_deref().or(log.cwd()).map(safe),
        "first_prompt": prompts.map(|(first, _)| first),
        "last_prompt": prompts.map(|(_, last)| last),
        "turns": session.turns,
        "size": session.size,
        "first": exact_time(session.first),
        "last": exact_time(session.last),
    })
}

fn as_json(log: &Log<'_>, listing: &Listing) -> Value {
    let (head, skipped) = log.facts().unwrap_or_default();
    let span = log.span();
    let shown = |text: Option<String>| text.as_deref().map(safe);
    json!({
        "agent": log.agent().map(|agent| agent.name()),
        "id": safe(log.id()),
        "path": safe(&log.path().to_string_lossy()),
        "parent": shown(head.parent),
        "unlisted": listing.unlisted.map(Unlisted::name),
        "fork_of": shown(head.fork_of),
        "project": log.cwd().map(safe),
        "branch": shown(head.branch),
        "model": shown(head.model),
        "title": log.title().map(safe),
        "first_prompt": shown(head.first_prompt),
        "last_prompt": shown(head.last_prompt),
        "turns": log.turns(),
        "size": log.size(),
        "words": log.text_bytes(Part::Words),
        "tools": log.text_bytes(Part::Calls) + log.text_bytes(Part::Results),
        "first": span.and_then(|span| exact_time(span.0)),
        "last": span.and_then(|span| exact_time(span.1)),
        "skipped": skipped,
    })
}
