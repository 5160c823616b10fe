//! `tome why`: which session and message wrote a memory, and the user's words before that.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::WhyArgs;
use super::corpus::LogCorpus;
use super::print::{Printer, TextStyle, print_note};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::change::history::Record;
use crate::core::insight::review::{
    LineSource, Reason, calls_of_log, calls_touching, line_sources,
};
use crate::core::log::touch::FileUse;
use crate::core::memory::citation::CitedPart;
use crate::core::text::display::{format_age, safe_line};

/// How many of the calls that wrote a whole file are shown.
const MOST: usize = 10;

pub(super) fn run(args: &WhyArgs, world: &World, printer: &mut Printer) -> CommandResult {
    if let Some(session) = &args.session {
        return show_session(session, world, printer);
    }
    let reference = args.reference.as_deref().unwrap_or_default();
    let (store, citation) = world.store_holding(reference)?;
    let document = store.read(&citation.path)?;
    let text = document.lossy();
    let path = store.rules().file_of(&citation.path);
    let (mut reasons, mut changes) = (Vec::new(), Vec::new());
    if let CitedPart::Lines(range) = &citation.part {
        let all = (1..).zip(text.lines());
        let (numbers, lines): (Vec<usize>, Vec<&str>) =
            all.filter(|(number, _)| range.contains(number)).unzip();
        let file = (store.root().path(), path.as_str());
        let sources = world.read_whole_corpus(|logs| {
            line_sources(Some(&logs.corpus), &world.history, file, &lines)
        })?;
        for (number, source) in numbers.into_iter().zip(sources?) {
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
    if printer.is_json() {
        let list = reasons.iter().map(|(line, reason)| as_json(reason, *line));
        let recorded: Vec<Value> = changes
            .iter()
            .map(|(line, record)| json!({ "line": line, "change": super::change::as_json(record) }))
            .collect();
        printer.object(json!({
            "store": store.name(),
            "path": document.path,
            "calls": list.collect::<Vec<Value>>(),
            "changes": recorded,
        }))?;
    } else {
        print_reasons(world, printer, &reasons)?;
        print_changes(world, printer, &changes)?;
    }
    Ok(if reasons.is_empty() && changes.is_empty() {
        print_note("no log and no recorded change tells who wrote this");
        Outcome::Nothing
    } else {
        Outcome::Done
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
    let time = reason
        .time
        .and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    json!({
        "agent": reason.agent,
        "session": reason.session,
        "title": reason.title,
        "citation": reason.cite(reason.line),
        "time": time.map(|time| time.to_string()),
        "tool": reason.tool,
        "use": reason.usage.name(),
        "file": reason.file.display().to_string(),
        "line": line,
        "words": reason.words.as_ref().map(|(line, text)| json!({
            "citation": reason.cite(*line),
            "text": text,
        })),
    })
}

fn print_reasons(
    world: &World,
    printer: &mut Printer,
    reasons: &[(Option<usize>, Reason)],
) -> Result<(), Failure> {
    let now = world.moment.time.as_millisecond();
    for (line, reason) in reasons {
        let line = line.map(|line| format!("line {line}: "));
        let line = line.unwrap_or_default();
        let citation = printer.paint(TextStyle::Strong, &reason.cite(reason.line));
        let age = format_age(reason.time.unwrap_or(0), now);
        let what = printer.paint(
            TextStyle::Quiet,
            &format!(
                "{} {}  {age}  {}",
                reason.tool,
                reason.usage.name(),
                reason.title
            ),
        );
        printer.styled_line(&format!("{line}{citation}  {what}"))?;
        if let Some((line, words)) = &reason.words {
            const SHOWN: usize = 300;
            let words: String = safe_line(words).chars().take(SHOWN).collect();
            printer.line(&format!("  you had said: {words}"))?;
            let at = printer.paint(TextStyle::Quiet, &format!("  {}", reason.cite(*line)));
            printer.styled_line(&at)?;
        }
    }
    Ok(())
}

fn print_changes(
    world: &World,
    printer: &mut Printer,
    changes: &[(usize, Record)],
) -> Result<(), Failure> {
    let now = world.moment.time.as_millisecond();
    for (line, record) in changes {
        let session = record
            .origin
            .as_ref()
            .map(|origin| format!(", session {}", origin.session));
        printer.line(&format!(
            "line {line}: {} ({}{}), {}",
            record.message,
            record.author.who,
            session.unwrap_or_default(),
            format_age(record.time, now),
        ))?;
    }
    Ok(())
}

/// Shows which memories a session touched.
fn show_session(session: &str, world: &World, printer: &mut Printer) -> CommandResult {
    let stores = world.stores()?;
    let roots: Vec<&Path> = stores.iter().map(|store| store.root().path()).collect();
    let found = world.read_whole_corpus(|LogCorpus { corpus, .. }| {
        let mut logs = corpus.logs().enumerate();
        let (number, _) = logs.find(|(_, log)| log.id().starts_with(session))?;
        let calls = calls_of_log(corpus, number, &roots);
        Some(
            calls
                .iter()
                .map(|call| Reason::of(corpus, call))
                .collect::<Vec<Reason>>(),
        )
    })?;
    let Some(touched) = found else {
        return Err(Error::not_found(format!("session {session}")).into());
    };
    if printer.is_json() {
        let list: Vec<Value> = touched.iter().map(|one| as_json(one, None)).collect();
        printer.object(json!({ "session": session, "files": list }))?;
    } else {
        for one in &touched {
            let name = world.short_path(&one.file);
            let what = printer.paint(TextStyle::Quiet, &one.cite(one.line));
            let usage = printer.paint(TextStyle::Strong, one.usage.name());
            let name = printer.paint(TextStyle::Plain, &name);
            printer.styled_line(&format!("{usage}  {name}  {what}"))?;
        }
    }
    Ok(if touched.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}
