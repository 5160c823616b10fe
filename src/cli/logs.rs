//! `tome logs`: the conversations that agents have logged, newest first, or those that match
//! a query, best first.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Outcome;
use super::args::LogsArgs;
use super::corpus::{LogCorpus, ParsedLogFilter};
use super::print::{Answer, Cell, Reported, Text, TextStyle, format_age};
use super::recall::as_json as hit_as_json;
use super::world::World;
use crate::core::log::Role;
use crate::core::memory::layout::format_size;
use crate::core::memory::library::Unlisted;
use crate::core::search::catalog::{
    Listing, last_activity, listings, log_title, logs_not_understood,
};
use crate::core::search::index::{Corpus, Log, Part};
use crate::core::search::query::Query;
use crate::core::search::recall::{RecallRequest, Scope, SessionHit, sessions};
use crate::core::search::{MemoryTexts, Sources};
use crate::core::text::display::safe;

pub(super) fn run(args: &LogsArgs, world: &World) -> Reported<'static> {
    let filter = world.parse_filter(&args.filter)?;
    let (logs, rows) = world.read_corpus(|logs| listing(logs, args, &filter, world))?;
    Answer::ending(
        Outcome::found(!rows.is_empty()),
        json!({ "logs": logs }),
        Text::Table(rows),
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
    let speaks = args.role.map(|role| logs_with_role(corpus, role.into()));
    let listings = listings(corpus);
    let mut logs: Vec<(usize, Log<'_>)> = corpus
        .logs()
        .enumerate()
        .filter(|(_, log)| filter.allows(catalog, log))
        .filter(|(number, _)| speaks.as_ref().is_none_or(|speaks| speaks[*number]))
        .filter(|(number, _)| args.every || listings[*number].unlisted.is_none())
        .collect();
    for unknown in logs_not_understood(catalog, corpus, files) {
        let path = world.short_path(&unknown.path);
        let name = unknown.agent.name();
        super::print::print_error(&safe(&format!(
            "warning: {path}: this log of {name} is not understood: {}",
            unknown.why
        )));
    }
    let mut best: Vec<SessionHit> = Vec::new();
    if args.query.is_empty() {
        logs.sort_by_key(|(_, log)| std::cmp::Reverse(last_activity(log)));
        logs.truncate(args.limit);
    } else {
        let query = Query::of_prose(&args.query.join(" "), &world.now);
        let by_number: HashMap<usize, Log<'_>> = logs.into_iter().collect();
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
        best = sessions(sources, request, &|log| by_number.contains_key(&log));
        best.truncate(args.limit);
        let found = best
            .iter()
            .filter_map(|hit| by_number.get_key_value(&hit.log));
        logs = found.map(|(number, log)| (*number, *log)).collect();
    }
    let list = logs.iter().enumerate().map(|(place, (number, log))| {
        let mut value = as_json(log, &listings[*number]);
        if let Some(hit) = best.get(place) {
            value["score"] = json!(hit.score);
            value["best"] = hit_as_json(&hit.best);
        }
        value
    });
    let ids: Vec<&str> = logs.iter().map(|(_, log)| log.id()).collect();
    let letters = short_id_length(&ids);
    let rows = logs.iter().map(|(_, log)| row(log, letters, world));
    (list.collect(), rows.collect())
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

fn row(log: &Log<'_>, letters: usize, world: &World) -> Vec<Cell> {
    const LONGEST: usize = 72;
    let title = log_title(log);
    let mut short: String = title.chars().take(LONGEST).collect();
    if short.len() < title.len() {
        short.push('…');
    }
    let id: String = log.id().chars().take(letters).collect();
    let project = log.cwd().map(|cwd| world.short_path(cwd.as_ref()));
    let now = world.moment.time.as_millisecond();
    vec![
        Cell::new(TextStyle::Strong, id),
        Cell::plain(log.agent().map_or("", |agent| agent.name())),
        Cell::number(TextStyle::Plain, format_age(last_activity(log), now)),
        Cell::number(
            TextStyle::Quiet,
            match log.turns() {
                1 => "1 turn".to_owned(),
                turns => format!("{turns} turns"),
            },
        ),
        Cell::number(TextStyle::Quiet, format_size(log.stamp().0)),
        Cell::new(TextStyle::Quiet, project.unwrap_or_default()),
        Cell::plain(short),
    ]
}

fn as_json(log: &Log<'_>, listing: &Listing) -> Value {
    let (head, skipped) = log.facts().unwrap_or_default();
    let time = |ms: Option<i64>| {
        let time = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        time.map(|time| time.to_string())
    };
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
        "size": log.stamp().0,
        "words": log.text_bytes(Part::Words),
        "tools": log.text_bytes(Part::Calls) + log.text_bytes(Part::Results),
        "first": time(span.map(|span| span.0)),
        "last": time(span.map(|span| span.1)),
        "skipped": skipped,
    })
}
