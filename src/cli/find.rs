//! `tome find`: the same hits as the finder of the UI.

use serde_json::{Value, json};

use super::args::FindArgs;
use super::corpus::IncludeLogs;
use super::print::{Answer, Cell, Reported, Text, TextStyle};
use super::recall::hit_json;
use super::world::World;
use super::{Failure, Outcome};
use crate::core::insight::ledger::{date_by_git, directory};
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::Hit;
use crate::core::search::find::{Closeness, FindRequest, find};
use crate::core::search::query::{Query, QueryError};
use crate::core::text::display::visible_line;

pub(super) fn run(args: &FindArgs, world: &World) -> Reported<'static> {
    let text = args.query.join(" ");
    let query = Query::parse(&text, &world.now).map_err(|wrong| query_failure(&text, &wrong))?;
    if query.is_empty() {
        return Err(Failure::usage("query parameter is required"));
    }
    let request = FindRequest {
        query: &query,
        limit: args.limit,
    };
    // Logs can match even when there is no store.
    let stores = world.stores_or(|_| {})?;
    let mut memories = MemoryTexts::read(&stores)?;
    date_by_git(&mut memories, world.git(), &directory(&world.cache));
    let (total, hits, has_logs) = world.search(&stores, memories, IncludeLogs::Yes, |sources| {
        let found = find(sources, request, &());
        let matches = found.without_copies();
        let hits = matches.iter().filter_map(|(one, copies)| {
            let mut hit = found.hit(sources, one)?;
            hit.copies = *copies;
            Some((one.closeness, hit))
        });
        let hits: Vec<(Closeness, Hit)> = hits.collect();
        (found.total, hits, sources.has_logs())
    })?;
    if hits.is_empty() {
        world.say_nothing_found(&stores, has_logs);
    }
    let results: Vec<Value> = hits.iter().map(found_json).collect();
    let rows: Vec<Vec<Cell>> = hits.iter().map(|(_, hit)| row(hit)).collect();
    Answer::ending(
        Outcome::found(!hits.is_empty()),
        json!({ "query": text, "total": total, "results": results }),
        Text::Table(rows),
    )
}

/// Returns a hit with how it matches: by words, by words with a slip, or by letters only.
fn found_json((closeness, hit): &(Closeness, Hit)) -> Value {
    let mut value = hit_json(hit);
    value["match"] = json!(closeness.name());
    value
}

fn row(hit: &Hit) -> Vec<Cell> {
    vec![
        Cell::new(TextStyle::Strong, visible_line(&hit.citation.to_string())),
        Cell::plain(match hit.copies {
            0 => hit.text.clone(),
            copies => format!("{} (and {copies} copies)", hit.text),
        }),
    ]
}

/// Formats an error in the query, with the wrong part marked below it.
fn query_failure(text: &str, wrong: &QueryError) -> Failure {
    // A long query is not repeated, only the reason.
    const LONGEST: usize = 200;
    if text.len() > LONGEST || text.contains(char::is_control) {
        return Failure::Usage(wrong.reason.clone());
    }
    use unicode_width::UnicodeWidthStr as _;
    let before = " ".repeat(text[..wrong.span.start].width());
    let mark = "^".repeat(text[wrong.span.clone()].width().max(1));
    Failure::Usage(format!("{}\n  {text}\n  {before}{mark}", wrong.reason))
}
