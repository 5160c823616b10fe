//! `tome stats`: counts over the logs, per agent and project, and how large the cache is.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::args::StatsArgs;
use super::corpus::{LogCorpus, ParsedLogFilter};
use super::print::{Answer, Cell, Reported, TextStyle};
use super::world::World;
use crate::core::insight::checkup::Folder;
use crate::core::insight::sessions::listings;
use crate::core::search::index::{Corpus, Part};
use crate::core::text::display::format_size;

/// The counts of one agent in one project.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    sessions: u64,
    messages: u64,
    turns: u64,
    bytes: u64,
    words: u64,
    tools: u64,
}

impl Count {
    /// The bytes that are neither words nor text of tools.
    fn other(&self) -> u64 {
        self.bytes.saturating_sub(self.words + self.tools)
    }
}

pub(super) fn run(args: &StatsArgs, world: &World) -> Reported<'static> {
    let filter = world.parse_filter(&args.filter)?;
    let counts = world.read_corpus(|logs| counts(logs, &filter, world))?;
    let stats = counts.iter().map(|(key, count)| as_json(key, count));
    let cache = Folder::at(&world.cache);
    let json = json!({
        "stats": stats.collect::<Vec<Value>>(),
        "cache": { "path": cache.path.to_string_lossy(), "files": cache.files, "bytes": cache.bytes },
    });
    let size = format_size(cache.bytes);
    let cache = format!(
        "\nThe cache takes {size}: {}",
        world.short_path(&cache.path)
    );
    Answer::found(!counts.is_empty(), json, move |printer| {
        printer.table(&table(&counts))?;
        printer.line(&cache)
    })
}

/// Counts over the logs that the filter allows, per agent and project.
fn counts(
    LogCorpus {
        catalog, corpus, ..
    }: &LogCorpus<'_>,
    filter: &ParsedLogFilter<'_>,
    world: &World,
) -> BTreeMap<(&'static str, String), Count> {
    let messages = messages(corpus);
    let listings = listings(corpus);
    let mut counts: BTreeMap<(&str, String), Count> = BTreeMap::new();
    for (number, log) in corpus.logs().enumerate() {
        if !filter.allows(catalog, &log) {
            continue;
        }
        let project = log.cwd().map(|cwd| world.short_path(cwd.as_ref()));
        let agent = log.agent().map_or("", |agent| agent.name());
        let count = counts
            .entry((agent, project.unwrap_or_default()))
            .or_default();
        count.sessions += u64::from(listings[number].unlisted.is_none());
        count.messages += messages[number];
        count.turns += log.turns();
        count.bytes += log.size();
        count.words += log.text_bytes(Part::Words);
        count.tools += log.text_bytes(Part::Calls) + log.text_bytes(Part::Results);
    }
    counts
}

/// Counts the messages of each log; a message that a fork copied counts once, in the first log.
fn messages(corpus: &Corpus) -> Vec<u64> {
    let mut counts = vec![0; corpus.logs().len()];
    let mut homes: HashMap<u64, usize> = HashMap::new();
    for (log, count) in counts.iter_mut().enumerate() {
        for at in corpus.messages(log, &Part::ALL) {
            let identity = corpus.identity(at);
            let home = identity.map_or(log, |id| *homes.entry(id).or_insert(log));
            *count += u64::from(home == log);
        }
    }
    counts
}

fn table(counts: &BTreeMap<(&str, String), Count>) -> Vec<Vec<Cell>> {
    let titles = [
        "AGENT",
        "PROJECT",
        "SESSIONS",
        "TURNS",
        "MESSAGES",
        "SIZE",
        "WORDS",
        "TOOL TEXT",
        "OTHER",
    ];
    let mut rows = vec![Cell::titles(titles)];
    for ((agent, project), count) in counts {
        let share = |part: u64| format!("{} %", (part * 100).checked_div(count.bytes).unwrap_or(0));
        rows.push(vec![
            Cell::new(TextStyle::Strong, *agent),
            Cell::plain(project),
            Cell::number(TextStyle::Plain, count.sessions.to_string()),
            Cell::number(TextStyle::Plain, count.turns.to_string()),
            Cell::number(TextStyle::Plain, count.messages.to_string()),
            Cell::number(TextStyle::Plain, megabytes(count.bytes)),
            Cell::number(TextStyle::Quiet, share(count.words)),
            Cell::number(TextStyle::Quiet, share(count.tools)),
            Cell::number(TextStyle::Quiet, share(count.other())),
        ]);
    }
    rows
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes * 10 / (1 << 20);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

fn as_json((agent, project): &(&str, String), count: &Count) -> Value {
    json!({
        "agent": agent,
        "project": project,
        "sessions": count.sessions,
        "turns": count.turns,
        "messages": count.messages,
        "bytes": count.bytes,
        "words": count.words,
        "tools": count.tools,
        "other": count.other(),
    })
}
