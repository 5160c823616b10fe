//! `tome curate`: what is stale, doubled, dead or dangerous, with evidence; and its fixes.

mod sarif;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::CurateArgs;
use super::change::{ChangeOptions, ChangeReport};
use super::corpus::LogCorpus;
use super::print::{
    Answer, Cell, Json, Printer, Report, Reported, Text, TextStyle, print_error, print_note,
};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::insight::curate::collect::{Sources, collect};
use crate::core::insight::curate::fix::{fixable, plan_fixes};
use crate::core::insight::curate::logs::SessionLogs;
use crate::core::insight::curate::run::{Request, findings};
use crate::core::insight::curate::waiver;
use crate::core::insight::curate::{Finding, RULES, Severity, check, reads_logs, rule};
use crate::core::log::LogFile;
use crate::core::memory::catalog::{LogCatalog, LogScope};
use crate::core::memory::store::Store;
use crate::core::text::display::visible_line;

pub(super) fn run(args: &CurateArgs, world: &World) -> Reported<'static> {
    if args.rules {
        return rules(world);
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
        return fix_all(args, world, &stores);
    }
    let mut findings = found(args, world, &stores)?;
    waiver::apply(&mut findings, &waiver::read(&world.data_dir)?);
    if let [id, words] = args.waive.as_slice() {
        return waive(world, &findings, id, Some(words.trim()));
    }
    if let Some(id) = &args.unwaive {
        return waive(world, &findings, id, None);
    }
    Ok(Box::new(CurateReport {
        project: world.locations.projects.last().cloned(),
        is_sarif: args.format.is_some(),
        stores,
        findings,
    }))
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
        git: world.git(),
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
        print_error(note);
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
    let catalog = world.catalog_in(world.locations.clone(), LogScope::All);
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
        let read = |logs: &LogCorpus<'_>| {
            let ledger = world.ledger(&logs.corpus, stores)?;
            let logs = SessionLogs::read(&logs.corpus, claude, kept);
            Ok(logs.with_ledger(ledger))
        };
        world.read_logs(&self.catalog, &self.files, read)?.map(Some)
    }
}

fn rules(world: &World) -> Reported<'static> {
    let is_off = |id: &str| world.settings.curate.off.iter().any(|off| off == id);
    let rules = RULES.iter().map(|rule| {
        json!({
            "id": rule.id,
            "severity": rule.severity,
            "about": rule.about,
            "off": is_off(rule.id),
        })
    });
    let rows = RULES.iter().map(|rule| {
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
    });
    let json = json!({ "rules": rules.collect::<Vec<Value>>() });
    Answer::done(json, Text::Table(rows.collect()))
}

/// Records why a finding is kept; without words, opens it again.
fn waive(world: &World, findings: &[Finding], id: &str, words: Option<&str>) -> Reported<'static> {
    let Some(finding) = findings.iter().find(|finding| finding.id == id) else {
        return Err(
            Error::not_found(format!("finding {id} (`tome curate` prints the ids)")).into(),
        );
    };
    if words.is_some_and(str::is_empty) {
        return Err(Failure::usage(
            "say why the finding is kept: --waive ID WORDS",
        ));
    }
    let (author, today) = (world.author(), world.moment.today);
    waiver::record(&world.data_dir, finding, &author, today, words)?;
    let done = match words {
        Some(_) => "Waived",
        None => "Open again",
    };
    let line = format!("{done}: {} {}", finding.path, finding.message);
    let json = json!({ "success": true, "finding": finding.id });
    Answer::done(json, Text::Line(line))
}

/// Corrects what needs no decision. The memories are read anew: a fix changes parts of the texts
/// that the rules read.
fn fix_all(args: &CurateArgs, world: &World, stores: &[Store]) -> Reported<'static> {
    let cache = world.curate_cache();
    let logs = session_logs(args, world).read(world, stores)?;
    let (collection, errors) = collect(stores, &sources(world, &cache))?;
    let collection = collection.with_logs(logs);
    for error in errors {
        print_error(&error.to_string());
    }
    let mut findings = check(&collection, &args.rule);
    for note in collection.left_out() {
        print_error(&note);
    }
    waiver::apply(&mut findings, &waiver::read(&world.data_dir)?);
    let mut report = FixReport {
        changes: Vec::new(),
        left: 0,
        failure: None,
    };
    for (number, store) in collection.stores.iter().enumerate() {
        let store = store.store;
        let open = |finding: &&Finding| finding.store == number && finding.waived.is_none();
        let all = findings.iter().filter(open);
        report.left += all.clone().count();
        let (own, refused) = fixable(store, all);
        refused.iter().for_each(|line| print_error(line));
        report.left -= own.len();
        if own.is_empty() {
            continue;
        }
        let options = ChangeOptions {
            dry_run: args.dry_run,
            layout: Some(store.layout()),
            ..ChangeOptions::default()
        };
        let plan = || plan_fixes(&[(store, own.clone())], &world.moment);
        match ChangeReport::of(world, options, &[store.root().path()], plan) {
            Ok(change) => report.changes.push((store.name().to_owned(), change)),
            Err(failure) => {
                report.failure = Some(failure);
                break;
            }
        }
    }
    Ok(Box::new(report))
}

struct FixReport {
    /// The stores that are changed, by name.
    changes: Vec<(String, ChangeReport)>,
    /// How many findings need a decision.
    left: usize,
    failure: Option<Failure>,
}

impl Report for FixReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let changes = self.changes.iter();
        let changes =
            changes.map(|(store, report)| json!({ "store": store, "diff": report.change.diff() }));
        Ok(json!({ "changes": changes.collect::<Vec<Value>>(), "left": self.left }).into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for (_, report) in &self.changes {
            report.print_messages();
            report.print(printer)?;
        }
        if self.failure.is_some() {
            return Ok(());
        }
        if self.changes.is_empty() {
            print_note("nothing can be corrected without a decision");
        }
        if self.left > 0 {
            print_note(&format!(
                "{} findings need a decision: tome curate lists them",
                self.left
            ));
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(self.left == 0)
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

struct CurateReport {
    project: Option<PathBuf>,
    is_sarif: bool,
    stores: Vec<Store>,
    findings: Vec<Finding>,
}

impl Report for CurateReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let findings = self.findings.iter().map(|finding| {
            json!({
                "id": finding.id,
                "rule": finding.rule,
                "severity": finding.severity,
                "store": self.stores[finding.store].name(),
                "path": finding.path,
                "entry": finding.entry,
                "line": finding.line,
                "subject": finding.subject,
                "message": finding.message,
                "evidence": finding.evidence,
                "fix": finding.fix.as_ref().map(|fix| &fix.words),
                "waived": finding.waived.as_ref().map(|waiver| {
                    json!({ "date": waiver.date, "who": waiver.who, "words": waiver.words })
                }),
            })
        });
        Ok(Json::list("findings", findings))
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        if self.is_sarif {
            let log = sarif::log(&self.stores, &self.findings, self.project.as_deref());
            return printer.line(&log.to_string());
        }
        let open = self.findings.iter();
        let open: Vec<&Finding> = open.filter(|finding| finding.waived.is_none()).collect();
        for (number, finding) in open.iter().enumerate() {
            if number > 0 {
                printer.line("")?;
            }
            self.print_finding(finding, printer)?;
        }
        let waived = self.findings.len() - open.len();
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

    fn outcome(&self) -> Outcome {
        let is_open = |finding: &Finding| finding.waived.is_none();
        Outcome::found(!self.findings.iter().any(is_open))
    }
}

impl CurateReport {
    fn print_finding(&self, finding: &Finding, printer: &mut Printer) -> io::Result<()> {
        /// How many lines of evidence are printed.
        const SHOWN: usize = 6;
        let store = self.stores[finding.store].name();
        let line = finding.line.map(|line| format!("#L{line}"));
        let entry = finding.entry.as_ref().map(|entry| format!(" #{entry}"));
        let place = format!(
            "{store}:{}{}{}",
            finding.path,
            line.unwrap_or_default(),
            entry.unwrap_or_default()
        );
        let role = match finding.severity {
            Severity::Error => TextStyle::Removed,
            Severity::Warning => TextStyle::Attention,
            Severity::Note => TextStyle::Quiet,
        };
        let place = visible_line(&place);
        let heading = format!(
            "{} {}  {}  {}",
            printer.paint(role, finding.severity.name()),
            printer.paint(TextStyle::Plain, finding.rule),
            printer.paint(TextStyle::Strong, &place),
            printer.paint(TextStyle::Quiet, &finding.id),
        );
        printer.styled_line(&heading)?;
        printer.line(&format!("  {}", visible_line(&finding.message)))?;
        let mut lines = Vec::new();
        for piece in &finding.evidence {
            let place = match (&piece.commit, &piece.citation, &piece.path) {
                (Some(commit), _, Some(path)) => format!("{commit} {path}"),
                (Some(place), _, _) | (None, Some(place), _) | (None, None, Some(place)) => {
                    place.clone()
                }
                _ => String::new(),
            };
            let place = visible_line(&place);
            let mut text = piece.text.lines();
            lines.push(format!("    {place}  {}", text.next().unwrap_or_default()));
            lines.extend(text.map(|line| format!("      {line}")));
        }
        for line in lines.iter().take(SHOWN) {
            printer.painted_line(TextStyle::Quiet, line.trim_end())?;
        }
        if let Some(more) = lines.len().checked_sub(SHOWN + 1) {
            let more = format!("    … {} more", more + 1);
            printer.painted_line(TextStyle::Quiet, &more)?;
        }
        if let Some(fix) = &finding.fix {
            printer.painted_line(
                TextStyle::Added,
                &format!("    --fix {}", visible_line(&fix.words)),
            )?;
        }
        Ok(())
    }
}
