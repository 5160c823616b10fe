//! `tome recall`: searches memories and logs, the best hits first.

use serde_json::{Value, json};

use super::args::RecallArgs;
use super::corpus::IncludeLogs;
use super::print::{Answer, Reported, Text, exact_time};
use super::topics::told;
use super::world::World;
use super::{Failure, Outcome};
use crate::core::insight::semantic::{NoSemantic, merge};
use crate::core::memory::layout::Layout;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::lesson::{self, Lesson};
use crate::core::search::query::Query;
use crate::core::search::recall::{DEFAULT_LIMIT, RecallRequest, Scope, recall};
use crate::core::search::{Hit, HitSource, format};

/// How many hits by words are merged with those by meaning.
const RANKED: usize = 100;

pub(super) fn run(args: &RecallArgs, world: &World) -> Reported<'static> {
    let text = args.query.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::usage("query parameter is required"));
    }
    let query = Query::of_prose(&text, &world.now);
    // Logs can match even when there is no store.
    let stores = world.stores_or(|_| {})?;
    let are_lessons =
        !stores.is_empty() && stores.iter().all(|store| store.layout() == Layout::Coder);
    if are_lessons {
        let lessons = lesson::lessons(&MemoryTexts::read(&stores)?, &query);
        if !lessons.is_empty() {
            return lessons_found(&text, &lessons);
        }
    }
    let request = RecallRequest {
        query: &query,
        scope: args.scope,
        limit: match args.limit {
            0 => world.settings.recall_limit,
            limit => limit as usize,
        },
        without: None,
    };
    let logs = match request.scope {
        Scope::Detail => IncludeLogs::No,
        Scope::All | Scope::Messages => IncludeLogs::Yes,
    };
    let semantic = match args.semantic.then(|| world.semantic()) {
        Some(Err(none @ (NoSemantic::Unset | NoSemantic::NotBuilt))) => {
            return Err(Failure::Usage(none.to_string()));
        }
        Some(found) => told(found),
        None => None,
    };
    let by_words = RecallRequest {
        // What is ranked behind what is shown can be near the question, too.
        limit: if semantic.is_some() {
            request.limit.max(RANKED)
        } else {
            request.limit
        },
        ..request
    };
    let memories = MemoryTexts::read(&stores)?;
    let (mut answer, has_logs) = world.search(&stores, memories, logs, |sources| {
        (recall(sources, by_words), sources.has_logs())
    })?;
    if let Some(semantic) = &semantic {
        let near = world.near(&stores, request, semantic)?;
        let limit = if request.limit == 0 {
            DEFAULT_LIMIT
        } else {
            request.limit
        };
        answer = merge(answer, near, limit);
    }
    if answer.hits.is_empty() && are_lessons {
        return lessons_found(&text, &[]);
    }
    if answer.hits.is_empty() {
        world.say_nothing_found(&stores, has_logs);
    }
    let results: Vec<Value> = answer.hits.iter().map(hit_json).collect();
    Answer::ending(
        Outcome::found(!answer.hits.is_empty()),
        json!({ "query": text, "total": answer.total, "results": results }),
        Text::Line(format::format_hits(&text, &answer.hits)),
    )
}

/// Returns a hit as JSON, in the form that `find` prints too.
pub(super) fn hit_json(hit: &Hit) -> Value {
    let mut value = json!({
        "source": hit.source.name(),
        "store": hit.store,
        "file_path": hit.path,
        "line_number": hit.line,
        "text": hit.text,
        "citation": hit.citation.to_string(),
        "score": hit.score,
    });
    let optional = [
        ("type", hit.category.clone().map(Value::from)),
        ("role", hit.role.map(|role| json!(role))),
        ("agent", hit.agent.map(|agent| json!(agent.name()))),
        ("session", hit.session.clone().map(Value::from)),
        ("timestamp", hit.time.and_then(exact_time).map(Value::from)),
        ("copies", (hit.copies > 0).then(|| hit.copies.into())),
    ];
    for (key, given) in optional {
        if let Some(given) = given {
            value[key] = given;
        }
    }
    value
}

fn lessons_found(text: &str, lessons: &[Lesson]) -> Reported<'static> {
    let results: Vec<Value> = lessons
        .iter()
        .map(|lesson| {
            json!({
                "source": HitSource::Detail.name(),
                "type": lesson.category,
                "file_path": lesson.citation.path,
                "title": lesson.title,
                "why": lesson.why,
                "text": lesson.text,
                "citation": lesson.citation.to_string(),
            })
        })
        .collect();
    let words = if lessons.is_empty() {
        lesson::NONE.to_owned()
    } else {
        format::format_lessons(lessons)
    };
    Answer::ending(
        Outcome::found(!lessons.is_empty()),
        json!({ "query": text, "total": results.len(), "results": results }),
        Text::Line(words),
    )
}
