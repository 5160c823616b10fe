//! `tome recall`: what memories and logs say about something, the best first.

use serde_json::{Value, json};

use super::args::{RecallArgs, ScopeName};
use super::gather::Logs;
use super::print::Printer;
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::layout::Layout;
use crate::core::query::Query;
use crate::core::search::lesson::{self, Lesson};
use crate::core::search::recall::{Answer, Ask, Scope, recall};
use crate::core::search::{Hit, Shelf, Source};

pub(super) fn run(args: &RecallArgs, world: &World, printer: &mut Printer) -> Ended {
    let text = args.query.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::Asked("query parameter is required".to_owned()));
    }
    let query = Query::of_prose(&text, &world.now);
    let stores = world.stores()?;
    if !stores.is_empty() && stores.iter().all(|store| store.layout() == Layout::Coder) {
        let lessons = lesson::lessons(&Shelf::read(&stores)?, &query);
        return print_lessons(&text, &lessons, printer);
    }
    let ask = Ask {
        query: &query,
        scope: match args.scope {
            ScopeName::All => Scope::All,
            ScopeName::Detail => Scope::Detail,
            ScopeName::Messages => Scope::Messages,
        },
        limit: args.limit as usize,
    };
    let logs = match ask.scope {
        Scope::Detail => Logs::Unwanted,
        Scope::All | Scope::Messages => Logs::Wanted,
    };
    let answer = world.search(&stores, logs, |sources| recall(sources, ask))?;
    if printer.is_json() {
        let results: Vec<Value> = answer.hits.iter().map(as_json).collect();
        printer.object(json!({ "query": text, "total": answer.total, "results": results }))?;
    } else {
        print(&text, &answer, printer)?;
    }
    Ok(match answer.hits.is_empty() {
        true => Outcome::Nothing,
        false => Outcome::Done,
    })
}

fn print(text: &str, answer: &Answer, printer: &mut Printer) -> Result<(), Failure> {
    if answer.hits.is_empty() {
        printer.line(&format!("No results found for: \"{text}\""))?;
        return Ok(());
    }
    printer.line(&format!(
        "Found {} result(s) for: \"{text}\"",
        answer.hits.len()
    ))?;
    for (at, hit) in answer.hits.iter().enumerate() {
        printer.line("")?;
        printer.line(&format!("[{}] Source: {}", at + 1, hit.source.name()))?;
        // A log of a session needs no name; any other is one of many.
        let is_session = hit.citation.path == crate::core::layout::session::MESSAGES;
        if hit.source == Source::Messages && is_session {
            printer.line(&format!("    Line: {}", hit.line))?;
        } else {
            printer.line(&format!("    File: {}:{}", hit.path, hit.line))?;
        }
        printer.line(&format!("    Content: {}", hit.text))?;
        printer.line(&format!("    Citation: {}", hit.citation))?;
    }
    Ok(())
}

/// One hit as JSON; `find` prints the same.
pub(super) fn as_json(hit: &Hit) -> Value {
    let mut value = json!({
        "source": hit.source.name(),
        "store": hit.store,
        "file_path": hit.path,
        "line_number": hit.line,
        "text": hit.text,
        "citation": hit.citation.to_string(),
        "score": hit.score,
    });
    let time = hit
        .time
        .and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    let optional = [
        ("type", hit.category.clone().map(Value::from)),
        ("role", hit.role.map(|role| json!(role))),
        ("agent", hit.agent.map(|agent| json!(agent.name()))),
        ("session", hit.session.clone().map(Value::from)),
        ("timestamp", time.map(|time| Value::from(time.to_string()))),
    ];
    for (key, given) in optional {
        if let Some(given) = given {
            value[key] = given;
        }
    }
    value
}

fn print_lessons(text: &str, lessons: &[Lesson], printer: &mut Printer) -> Ended {
    if printer.is_json() {
        let results: Vec<Value> = lessons
            .iter()
            .map(|lesson| {
                json!({
                    "source": Source::Detail.name(),
                    "type": lesson.category,
                    "file_path": lesson.citation.path,
                    "title": lesson.title,
                    "why": lesson.why,
                    "text": lesson.text,
                    "citation": lesson.citation.to_string(),
                })
            })
            .collect();
        printer.object(json!({ "query": text, "total": results.len(), "results": results }))?;
    } else if lessons.is_empty() {
        printer.line(lesson::NONE)?;
    } else {
        for (at, lesson) in lessons.iter().enumerate() {
            if at > 0 {
                printer.line("")?;
            }
            printer.line(&format!("[{}] Type: {}", at + 1, lesson.category))?;
            printer.line(&format!("    Path: {}", lesson.citation.path))?;
            printer.line(&format!("    Why: {}", lesson.why))?;
            printer.line(&format!("    Citation: {}", lesson.citation))?;
            printer.line("")?;
            printer.line(&lesson.text)?;
        }
    }
    Ok(match lessons.is_empty() {
        true => Outcome::Nothing,
        false => Outcome::Done,
    })
}
