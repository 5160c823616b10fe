//! `tome why`: which session and message wrote a memory, and the user's words before that.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::WhyArgs;
use super::change;
use super::corpus::LogCorpus;
use super::print::{Answer, Printer, Reported, TextStyle, exact_time, print_note};
use super::world::World;
use crate::core::Error;
use crate::core::change::history::Record;
use crate::core::insight::review::{
    LineSource, Reason, calls_of_log, calls_touching, line_sources,
};
use crate::core::log::touch::FileUse;
use crate::core::memory::citation::CitedPart;
use crate::core::memory::store::Store;
use crate::core::text::display::{format_age, safe_line};

/// How many of the calls that wrote a whole file are shown.
const MOST: usize = 10;

pub(super) fn run<'a>(args: &'a WhyArgs, world: &'a World) -> Reported<'a> {
    if let Some(session) = &args.session {
        return touched_by(session, world);
    }
    let reference = args.reference.as_deref().unwrap_or_default();
    let (store, citation) = world.store_holding(reference)?;
    let document = store.read(&citation.path)?;
    let text = document.lossy();
    let path = store.rules().file_of(&citation.path);
    // The calls that wrote the memory, with the line if lines are asked about, and the recorded
    // changes that wrote lines.
    let mut reasons: Vec<(Option<usize>, Reason)> = Vec::new();
    let mut changes: Vec<(usize, Record)> = Vec::new();
    if let CitedPart::Lines(range) = &citation.part {
        let lines: Vec<&str> = text.lines().collect();
        let sources = world.read_whole_corpus(|logs| {
            line_sources(Some(&logs.corpus), &world.history, &store, &path, &lines)
        })?;
        let sources = (1..).zip(sources?);
        for (number, source) in sources.filter(|(number, _)| range.contains(number)) {
            match source.map(Arc::unwrap_or_clone) {
                Some(LineSource::Call(reason)) => reasons.push((Some(number), reason)),
                Some(LineSource::Change(record)) => changes.push((number, record)),
                None => {}
            }
        }
    } else if citation.part == CitedPart::Whole {
        let file = store.root().absolute(&path);
        let found = world.read_whole_corpus(|logs| writing_calls(logs, &file))?;
        reasons.extend(found.into_iter().map(|reason| (None, reason)));
    }
    let is_found = !reasons.is_empty() || !changes.is_empty();
    if !is_found {
        print_note("no log and no recorded change tells who wrote this");
    }
    let calls = reasons.iter().map(|(line, reason)| as_json(reason, *line));
    let told = changes
        .iter()
        .map(|(line, record)| json!({ "line": line, "change": change::record_json(record) }));
    let json = json!({
        "store": store.name(),
        "path": document.path,
        "calls": calls.collect::<Vec<Value>>(),
        "changes": told.collect::<Vec<Value>>(),
    });
    Answer::found(is_found, json, move |printer| {
        let now = world.moment.time.as_millisecond();
        for (line, reason) in &reasons {
            print_reason(printer, *line, reason, now)?;
        }
        for (line, record) in &changes {
            let origin = record.origin.as_ref();
            let session = origin.map(|origin| format!(", session {}", origin.session));
            printer.line(&format!(
                "line {line}: {} ({}{}), {}",
                record.message,
                record.author.who,
                session.unwrap_or_default(),
                format_age(record.time, now),
            ))?;
        }
        Ok(())
    })
}

/// The calls that wrote or deleted a file, newest first.
fn writing_calls(LogCorpus { corpus, .. }: &LogCorpus<'_>, file: &Path) -> Vec<Reason> {
    let calls = calls_touching(corpus, file);
    let changing = calls
        .iter()
        .rev()
        .filter(|call| call.usage != FileUse::Read);
    let shown = changing.take(MOST);
    shown.map(|call| Reason::of(corpus, call)).collect()
}

fn as_json(reason: &Reason, line: Option<usize>) -> Value {
    json!({
        "agent": reason.agent,
        "session": reason.session,
        "title": reason.title,
        "citation": reason.cite(reason.line),
        "time": reason.time.and_then(exact_time),
        "tool": reason.tool,
        "use": reason.usage.name(),
        "file": reason.file.display().to_string(),
        "line": line,
        "words": reason.words.as_ref().map(|words| json!({
            "citation": words.citation,
            "text": words.text,
        })),
    })
}

fn print_reason(
    printer: &mut Printer,
    line: Option<usize>,
    reason: &Reason,
    now: i64,
) -> io::Result<()> {
    const SHOWN: usize = 300;
    let line = line.map(|line| format!("line {line}: "));
    let line = line.unwrap_or_default();
    let citation = printer.paint(TextStyle::Strong, &reason.cite(reason.line));
    let age = format_age(reason.time.unwrap_or(0), now);
    let what = format!(
        "{} {}  {age}  {}",
        reason.tool,
        reason.usage.name(),
        reason.title
    );
    let what = printer.paint(TextStyle::Quiet, &what);
    printer.styled_line(&format!("{line}{citation}  {what}"))?;
    if let Some(words) = &reason.words {
        let said: String = safe_line(&words.text).chars().take(SHOWN).collect();
        printer.line(&format!("  you had said: {said}"))?;
        printer.painted_line(TextStyle::Quiet, &format!("  {}", words.citation))?;
    }
    Ok(())
}

/// Reports which memories a session touched.
fn touched_by<'a>(session: &'a str, world: &'a World) -> Reported<'a> {
    let stores = world.stores()?;
    let stores: Vec<&Store> = stores.iter().collect();
    let touched = world.read_whole_corpus(|logs| {
        let number = logs.numbered(session)?;
        let calls = calls_of_log(&logs.corpus, number, &stores);
        let reasons = calls.iter().map(|call| Reason::of(&logs.corpus, call));
        Ok::<Vec<Reason>, Error>(reasons.collect())
    })??;
    let files: Vec<Value> = touched.iter().map(|one| as_json(one, None)).collect();
    let json = json!({ "session": session, "files": files });
    Answer::found(!touched.is_empty(), json, move |printer| {
        for one in &touched {
            let name = world.short_path(&one.file);
            let what = printer.paint(TextStyle::Quiet, &one.cite(one.line));
            let usage = printer.paint(TextStyle::Strong, one.usage.name());
            let name = printer.paint(TextStyle::Plain, &name);
            printer.styled_line(&format!("{usage}  {name}  {what}"))?;
        }
        Ok(())
    })
}
