//! `tome why`: which session and message wrote a memory, and the user's words before that.

use std::path::Path;

use serde_json::{Value, json};

use super::args::WhyArgs;
use super::corpus::LogCorpus;
use super::print::{Printer, TextStyle, print_note};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::catalog::log_title;
use crate::core::citation::CitedPart;
use crate::core::corpus::Corpus;
use crate::core::display::{format_age, safe_line};
use crate::core::history::Record;
use crate::core::log::touch::FileUse;
use crate::core::review::{
    TouchingCall, calls_of_log, calls_touching, introduced_by, recorded_change, words_before,
};
use crate::core::secret::mask;

/// How many of the calls that wrote a whole file are shown.
const MOST: usize = 10;

/// A call with what is shown of it.
struct Reason {
    agent: &'static str,
    session: String,
    title: String,
    citation: String,
    time: Option<i64>,
    tool: String,
    usage: FileUse,
    file: String,
    words: Option<(String, String)>,
    /// The line of the memory that it brought in.
    line: Option<usize>,
}

pub(super) fn run(args: &WhyArgs, world: &World, printer: &mut Printer) -> CommandResult {
    if let Some(session) = &args.session {
        return show_session(session, world, printer);
    }
    let reference = args.reference.as_deref().unwrap_or_default();
    let (store, citation) = world.store_holding(reference)?;
    let document = store.read(&citation.path)?;
    let text = document.lossy();
    let path = store.rules().file_of(&citation.path);
    let file = store.root().absolute(&path);
    let lines: Vec<(usize, &str)> = match &citation.part {
        CitedPart::Lines(range) => {
            let all = (1..).zip(text.lines());
            all.filter(|(number, _)| range.contains(number)).collect()
        }
        _ => Vec::new(),
    };
    let is_whole = citation.part == CitedPart::Whole;
    let reasons = world.read_corpus(|logs| reasons(logs, &file, (&lines, is_whole)))?;
    let mut changes: Vec<(usize, Record)> = Vec::new();
    for (number, line) in &lines {
        if reasons.iter().all(|reason| reason.line != Some(*number)) {
            let found = recorded_change(&world.history, (store.root().path(), &path), line)?;
            changes.extend(found.map(|record| (*number, record)));
        }
    }
    if printer.is_json() {
        let list: Vec<Value> = reasons.iter().map(as_json).collect();
        let recorded: Vec<Value> = changes
            .iter()
            .map(|(line, record)| json!({ "line": line, "change": super::change::as_json(record) }))
            .collect();
        printer.object(json!({
            "store": store.name(),
            "path": document.path,
            "calls": list,
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

/// The calls that wrote the file, newest first; with lines, those that brought them in.
fn reasons(
    LogCorpus { corpus, .. }: &LogCorpus<'_>,
    file: &Path,
    (lines, is_whole): (&[(usize, &str)], bool),
) -> Vec<Reason> {
    let calls = calls_touching(corpus, file);
    if is_whole {
        let changing = calls
            .iter()
            .rev()
            .filter(|call| call.usage != FileUse::Read);
        return changing
            .take(MOST)
            .map(|call| reason(corpus, call, None))
            .collect();
    }
    lines
        .iter()
        .filter_map(|(number, line)| {
            Some(reason(corpus, introduced_by(&calls, line)?, Some(*number)))
        })
        .collect()
}

fn reason(corpus: &Corpus, call: &TouchingCall, line: Option<usize>) -> Reason {
    let log = corpus.log(call.log);
    let agent = log
        .and_then(|log| log.agent())
        .map_or("", |agent| agent.name());
    let session = log.map(|log| log.id().to_owned()).unwrap_or_default();
    let cite = |line: u64| format!("{agent}:{session}#L{line}");
    Reason {
        agent,
        title: log.map(|log| log_title(&log)).unwrap_or_default(),
        citation: cite(call.line),
        time: call.time,
        tool: call.tool.clone(),
        usage: call.usage,
        file: call.path.display().to_string(),
        words: words_before(corpus, call.log, call.line)
            .map(|(line, words)| (cite(line), mask(&words))),
        line,
        session,
    }
}

fn as_json(reason: &Reason) -> Value {
    let time = reason
        .time
        .and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    json!({
        "agent": reason.agent,
        "session": reason.session,
        "title": reason.title,
        "citation": reason.citation,
        "time": time.map(|time| time.to_string()),
        "tool": reason.tool,
        "use": usage_name(reason.usage),
        "file": reason.file,
        "line": reason.line,
        "words": reason.words.as_ref().map(|(citation, text)| json!({
            "citation": citation,
            "text": text,
        })),
    })
}

fn usage_name(usage: FileUse) -> &'static str {
    match usage {
        FileUse::Read => "read",
        FileUse::Write => "write",
        FileUse::Delete => "delete",
    }
}

fn print_reasons(world: &World, printer: &mut Printer, reasons: &[Reason]) -> Result<(), Failure> {
    let now = world.moment.time.as_millisecond();
    for reason in reasons {
        let line = reason
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        let citation = printer.paint(TextStyle::Strong, &reason.citation);
        let age = format_age(reason.time.unwrap_or(0), now);
        let what = printer.paint(
            TextStyle::Quiet,
            &format!(
                "{} {}  {age}  {}",
                reason.tool,
                usage_name(reason.usage),
                reason.title
            ),
        );
        printer.styled_line(&format!("{line}{citation}  {what}"))?;
        if let Some((citation, words)) = &reason.words {
            const SHOWN: usize = 300;
            let words: String = safe_line(words).chars().take(SHOWN).collect();
            printer.line(&format!("  you had said: {words}"))?;
            let at = printer.paint(TextStyle::Quiet, &format!("  {citation}"));
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
    let found = world.read_corpus(|LogCorpus { corpus, .. }| {
        let mut logs = corpus.logs().enumerate();
        let (number, _) = logs.find(|(_, log)| log.id().starts_with(session))?;
        let calls = calls_of_log(corpus, number, &roots);
        Some(
            calls
                .iter()
                .map(|call| reason(corpus, call, None))
                .collect::<Vec<Reason>>(),
        )
    })?;
    let Some(touched) = found else {
        return Err(Error::not_found(format!("session {session}")).into());
    };
    if printer.is_json() {
        let list: Vec<Value> = touched.iter().map(as_json).collect();
        printer.object(json!({ "session": session, "files": list }))?;
    } else {
        for one in &touched {
            let name = world.short_path(Path::new(&one.file));
            let what = printer.paint(TextStyle::Quiet, &one.citation);
            let usage = printer.paint(TextStyle::Strong, usage_name(one.usage));
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
