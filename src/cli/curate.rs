//! `tome curate`: what is stale, doubled, dead or dangerous, with evidence; and its fixes.

mod sarif;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{CurateArgs, CurateFormat};
use super::change::{ChangeOptions, carry_out};
use super::corpus::LogCorpus;
use super::print::{Cell, Printer, TextStyle, print_error, print_note};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::insight::curate::collect::{Sources, collect};
use crate::core::insight::curate::fix::plan_fixes;
use crate::core::insight::curate::logs::{SessionLogs, reads_logs};
use crate::core::insight::curate::run::{Request, findings};
use crate::core::insight::curate::waiver::{self, Waiver};
use crate::core::insight::curate::{Finding, RULES, Severity, check, rule};
use crate::core::log::LogFile;
use crate::core::memory::store::Store;
use crate::core::search::catalog::{LogCatalog, LogScope};

/// The program that reads git histories.
const GIT: &str = "git";

pub(super) fn run(args: &CurateArgs, world: &World, printer: &mut Printer) -> CommandResult {
    if args.rules {
        return print_rules(world, printer);
    }
    let asked = args.rule.iter().chain(&world.settings.curate.off);
    if let Some(id) = asked.into_iter().find(|id| rule(id).is_none()) {
        let known: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        return Err(Failure::Usage(format!(
            "no rule '{id}'; there are {}",
            known.join(", ")
        )));
    }
    let stores = world.stores()?;
    if args.fix {
        return fix_all(args, world, printer, &stores);
    }
    let mut findings = found(args, world, &stores)?;
    waiver::apply(&mut findings, &waiver::read(&world.data_dir)?);
    if let [id, words] = args.waive.as_slice() {
        return waive(world, printer, &findings, (id, Some(words.trim())));
    }
    if let Some(id) = &args.unwaive {
        return waive(world, printer, &findings, (id, None));
    }
    match args.format {
        Some(CurateFormat::Sarif) => {
            let project = world.locations.projects.last();
            let log = sarif::log(&stores, &findings, project.map(|path| path.as_path()));
            printer.line(&log.to_string())?;
        }
        Some(CurateFormat::Json) => print_json(printer, &stores, &findings)?,
        None if printer.is_json() => print_json(printer, &stores, &findings)?,
        _ => print_text(printer, &stores, &findings)?,
    }
    let is_open = findings.iter().any(|finding| finding.waived.is_none());
    Ok(if is_open {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

impl World {
    /// The folder of cached findings and git histories.
    pub(super) fn curate_cache(&self) -> PathBuf {
        self.cache.with_file_name("curate")
    }
}

/// Where findings come from, apart from the stores and the logs.
fn sources<'a>(world: &'a World, cache: &'a Path) -> Sources<'a> {
    Sources {
        environment: &world.environment,
        project: world.locations.projects.last().map(PathBuf::as_path),
        git: Path::new(GIT),
        history: &world.history,
        today: world.moment.today,
        settings: &world.settings.curate,
        cache: Some(cache),
    }
}

/// The findings, from the cache where nothing has changed; prints what was not looked at.
fn found(args: &CurateArgs, world: &World, stores: &[Store]) -> Result<Vec<Finding>, Failure> {
    let cache = world.curate_cache();
    let logs = session_logs(args, world);
    let request = Request {
        only: &args.rule,
        logs: &logs.files,
        now: world.moment.time.as_millisecond(),
    };
    let curated = findings(stores, &sources(world, &cache), &request, || {
        logs.read(world, stores)
    })?;
    for note in &curated.notes {
        print_note(note);
    }
    Ok(curated.findings)
}

/// The logs that the rules read.
struct Logs {
    catalog: LogCatalog,
    files: Vec<LogFile>,
}

/// Every log, or none where no rule that runs reads logs.
fn session_logs(args: &CurateArgs, world: &World) -> Logs {
    let catalog = LogCatalog {
        locations: world.locations.clone(),
        kept: Some(world.kept.clone()),
        cache: world.cache.clone(),
        timeline: world.settings.timeline.clone(),
        scope: LogScope::All,
    };
    let files = if reads_logs(&world.settings.curate, &args.rule) {
        catalog.files()
    } else {
        Vec::new()
    };
    Logs { catalog, files }
}

impl Logs {
    /// What the logs say about the memories; nothing where there are no logs.
    fn read(&self, world: &World, stores: &[Store]) -> crate::core::Result<Option<SessionLogs>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let (claude, kept) = (&world.environment.claude, &world.kept);
        let read = |logs: &LogCorpus<'_>| SessionLogs::read(&logs.corpus, stores, claude, kept);
        world.read_logs(&self.catalog, &self.files, read).map(Some)
    }
}

fn print_rules(world: &World, printer: &mut Printer) -> CommandResult {
    let is_off = |id: &str| world.settings.curate.off.iter().any(|off| off == id);
    if printer.is_json() {
        let rules = RULES.iter().map(|rule| {
            json!({
                "id": rule.id,
                "severity": rule.severity,
                "about": rule.about,
                "off": is_off(rule.id),
            })
        });
        printer.object(json!({ "rules": rules.collect::<Vec<Value>>() }))?;
        return Ok(Outcome::Done);
    }
    let rows: Vec<Vec<Cell>> = RULES
        .iter()
        .map(|rule| {
            let severity = if is_off(rule.id) {
                "off"
            } else {
                rule.severity.name()
            };
            vec![
                Cell::new(TextStyle::Strong, rule.id),
                Cell::plain(severity),
                Cell::new(TextStyle::Quiet, rule.about),
            ]
        })
        .collect();
    printer.table(&rows)?;
    Ok(Outcome::Done)
}

fn waive(
    world: &World,
    printer: &mut Printer,
    findings: &[Finding],
    (id, words): (&str, Option<&str>),
) -> CommandResult {
    let Some(finding) = findings.iter().find(|finding| finding.id == id) else {
        return Err(
            Error::not_found(format!("finding {id} (`tome curate` prints the ids)")).into(),
        );
    };
    if words.is_some_and(str::is_empty) {
        return Err(Failure::Usage(
            "say why the finding is kept: --waive ID WORDS".to_owned(),
        ));
    }
    let by = (&world.author(), world.moment.today);
    waiver::record(&world.data_dir, finding, by, words)?;
    let done = match words {
        Some(_) => "Waived",
        None => "Open again",
    };
    if printer.is_json() {
        printer.object(json!({ "success": true, "finding": finding.id }))?;
    } else {
        printer.line(&format!("{done}: {} {}", finding.path, finding.message))?;
    }
    Ok(Outcome::Done)
}

/// Corrects what needs no decision. The memories are read anew: a fix changes parts of the texts
/// that the rules read.
fn fix_all(
    args: &CurateArgs,
    world: &World,
    printer: &mut Printer,
    stores: &[Store],
) -> CommandResult {
    let cache = world.curate_cache();
    let logs = session_logs(args, world).read(world, stores)?;
    let (collection, errors) = collect(stores, &sources(world, &cache))?;
    let collection = collection.with_logs(logs);
    for error in errors {
        print_error(&error.to_string());
    }
    let mut findings = check(&collection, &args.rule);
    waiver::apply(&mut findings, &waiver::read(&world.data_dir)?);
    let mut left = 0;
    let mut is_any = false;
    let mut changes: Vec<Value> = Vec::new();
    for (number, store) in collection.stores.iter().enumerate() {
        let open = |finding: &&Finding| finding.store == Some(number) && finding.waived.is_none();
        let own: Vec<&Finding> = findings.iter().filter(open).collect();
        left += own.iter().filter(|finding| finding.fix.is_none()).count();
        if own.iter().all(|finding| finding.fix.is_none()) {
            continue;
        }
        is_any = true;
        let options = ChangeOptions {
            dry_run: args.dry_run,
            layout: Some(store.store.layout()),
            extra: Value::Null,
        };
        let plan = || plan_fixes(&[(store.store, own.clone())], &world.moment);
        if printer.is_json() {
            // One object for all stores.
            changes.push(json!({ "store": store.store.name(), "diff": plan()?.diff() }));
            if args.dry_run {
                continue;
            }
            let by = (&world.author(), &world.moment);
            let root = store.store.root().path();
            crate::core::change::plan_and_commit(&world.history, &[root], by, plan)?;
            continue;
        }
        let root = store.store.root().path();
        carry_out(world, printer, options, &[root], plan)?;
    }
    if printer.is_json() {
        printer.object(json!({ "changes": changes, "left": left }))?;
    } else if !is_any {
        print_note("nothing can be corrected without a decision");
    }
    if left > 0 && !printer.is_json() {
        print_note(&format!(
            "{left} findings need a decision: tome curate lists them"
        ));
    }
    Ok(match left {
        0 => Outcome::Done,
        _ => Outcome::Nothing,
    })
}

fn print_json(
    printer: &mut Printer,
    stores: &[Store],
    findings: &[Finding],
) -> Result<(), Failure> {
    let rows = findings.iter().map(|finding| {
        let waived = finding.waived.as_ref().map(waiver_json);
        json!({
            "id": finding.id,
            "rule": finding.rule,
            "severity": finding.severity,
            "store": finding.store.map(|store| stores[store].name()),
            "path": finding.path,
            "line": finding.line,
            "subject": finding.subject,
            "message": finding.message,
            "evidence": finding.evidence,
            "fix": finding.fix.as_ref().map(|fix| &fix.words),
            "waived": waived,
        })
    });
    let rows: Vec<Value> = rows.collect();
    printer.list("findings", rows)?;
    Ok(())
}

fn waiver_json(waiver: &Waiver) -> Value {
    json!({
        "date": waiver.date,
        "who": waiver.who,
        "words": waiver.words,
    })
}

/// How many pieces of evidence are printed.
const SHOWN: usize = 4;

fn print_text(
    printer: &mut Printer,
    stores: &[Store],
    findings: &[Finding],
) -> Result<(), Failure> {
    let open: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.waived.is_none())
        .collect();
    for (number, finding) in open.iter().enumerate() {
        if number > 0 {
            printer.line("")?;
        }
        let store = finding
            .store
            .map(|store| format!("{}:", stores[store].name()));
        let line = finding.line.map(|line| format!("#L{line}"));
        let place = format!(
            "{}{}{}",
            store.unwrap_or_default(),
            finding.path,
            line.unwrap_or_default()
        );
        let role = match finding.severity {
            Severity::Error => TextStyle::Removed,
            Severity::Warning => TextStyle::Attention,
            Severity::Note => TextStyle::Quiet,
        };
        let heading = format!(
            "{} {}  {}  {}",
            printer.paint(role, finding.severity.name()),
            printer.paint(TextStyle::Plain, finding.rule),
            printer.paint(TextStyle::Strong, &place),
            printer.paint(TextStyle::Quiet, &finding.id),
        );
        printer.styled_line(&heading)?;
        printer.line(&format!("  {}", finding.message))?;
        for piece in finding.evidence.iter().take(SHOWN) {
            let place = match (&piece.commit, &piece.citation, &piece.path) {
                (Some(commit), _, Some(path)) => format!("{commit} {path}"),
                (Some(place), _, _) | (None, Some(place), _) | (None, None, Some(place)) => {
                    place.clone()
                }
                _ => String::new(),
            };
            let text = format!("    {place}  {}", piece.text);
            let text = printer.paint(TextStyle::Quiet, text.trim_end());
            printer.styled_line(&text)?;
        }
        if let Some(fix) = &finding.fix {
            let text = printer.paint(TextStyle::Added, &format!("    --fix {}", fix.words));
            printer.styled_line(&text)?;
        }
    }
    let waived = findings.len() - open.len();
    let count = match (open.len(), waived) {
        (0, 0) => "nothing to curate".to_owned(),
        (open, 0) => format!("{open} findings"),
        (open, waived) => format!("{open} findings, {waived} waived"),
    };
    print_note(&format!(
        "{count}; tome curate --fix corrects what it can, --waive ID WORDS keeps one"
    ));
    Ok(())
}
