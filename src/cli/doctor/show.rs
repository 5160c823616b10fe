//! The report of a checkup: a table per section, or JSON.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::super::print::{
    Cell, Json, Printer, Report, TextStyle, counted, exact_time, format_age,
};
use super::super::world::World;
use super::super::{Failure, Outcome};
use super::{AgentRow, Checkup, Registered};
use crate::core::insight::checkup::{CacheState, Folder, FolderState};
use crate::core::memory::layout::format_size;

/// The version, as `tome --version` prints it.
const VERSION: &str = env!("TOME_VERSION");

impl Report for Checkup<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let folders = self.folders.iter().map(|(name, folder)| {
            let value = json!({
                "path": folder.path.to_string_lossy(),
                "state": folder.state.name(),
                "files": folder.files,
                "bytes": folder.bytes,
            });
            ((*name).to_owned(), value)
        });
        let folders: serde_json::Map<String, Value> = folders.collect();
        let cache = match self.cache {
            CacheState::Empty => json!({ "state": "empty" }),
            CacheState::Usable { logs } => json!({ "state": "usable", "logs": logs }),
            CacheState::Useless => json!({ "state": "useless" }),
        };
        let agents: Vec<Value> = self
            .agents
            .iter()
            .map(|row| {
                json!({
                    "agent": row.agent.name(),
                    "logs": row.logs,
                    "bytes": row.bytes,
                    "newest": row.newest.and_then(exact_time),
                    "registered": row.registered.map(Registered::name),
                })
            })
            .collect();
        let stores: Vec<Value> = self
            .stores
            .iter()
            .map(|row| {
                json!({
                    "name": row.name,
                    "layout": row.layout,
                    "root": row.root.to_string_lossy(),
                    "memories": row.memories,
                })
            })
            .collect();
        let terminal: serde_json::Map<String, Value> = self
            .terminal
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let problems: Vec<Value> = self
            .problems
            .iter()
            .map(|problem| {
                json!({ "place": problem.place, "problem": problem.what, "remedy": problem.remedy })
            })
            .collect();
        let settings = &self.world.settings;
        let sources = self.world.setting_sources.iter();
        let mut set: serde_json::Map<String, Value> = sources
            .map(|(key, source)| {
                let value = json!({ "value": settings.value(key), "from": source });
                ((*key).to_owned(), value)
            })
            .collect();
        set.insert(
            "timeline.command".to_owned(),
            json!(settings.timeline.command),
        );
        let json = json!({
            "version": VERSION,
            "os": std::env::consts::OS,
            "arch": std::env::consts::ARCH,
            "folders": folders,
            "changes": self.history.changes,
            "history": history(self),
            "open": self.open,
            "cache": cache,
            "agents": agents,
            "stores": stores,
            "settings": set,
            "terminal": terminal,
            "notes": self.notes,
            "problems": problems,
        });
        Ok(json.into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        printer.table(&[vec![
            Cell::new(TextStyle::Strong, format!("tome {VERSION}")),
            Cell::new(TextStyle::Quiet, system),
        ]])?;
        section(printer, "directories", folders(self))?;
        let known = self.agents.iter().filter(|row| row.is_known());
        title(printer, "agents")?;
        rows(printer, known.map(|row| agent(row, self.world)).collect())?;
        let silent: Vec<&str> = self
            .agents
            .iter()
            .filter(|row| !row.is_known())
            .map(|row| row.agent.name())
            .collect();
        if !silent.is_empty() {
            let line = format!("  no logs of {}", silent.join(", "));
            printer.painted_line(TextStyle::Quiet, &line)?;
        }
        if !self.stores.is_empty() {
            section(printer, "stores", stores(self))?;
        }
        section(printer, "settings", settings(self))?;
        let terminal = self.terminal.iter().map(|(name, value)| {
            vec![
                Cell::plain(*name),
                Cell::new(TextStyle::Quiet, value.clone()),
            ]
        });
        section(printer, "terminal", terminal.collect())?;
        if !self.notes.is_empty() {
            let notes = self.notes.iter();
            let notes = notes.map(|note| vec![Cell::plain(note.clone())]);
            section(printer, "notes", notes.collect())?;
        }
        printer.line("")?;
        match self.problems.len() {
            0 => {
                printer.painted_line(TextStyle::Strong, "All is well.")?;
            }
            number => {
                let heading = match number {
                    1 => "1 thing needs attention".to_owned(),
                    number => format!("{number} things need attention"),
                };
                printer.painted_line(TextStyle::Attention, &heading)?;
                for problem in &self.problems {
                    let place = printer.paint(TextStyle::Strong, &problem.place);
                    let what = printer.paint(TextStyle::Plain, &problem.what);
                    printer.styled_line(&format!("  {place}: {what}"))?;
                    let remedy = format!("    → {}", problem.remedy);
                    printer.painted_line(TextStyle::Quiet, &remedy)?;
                }
            }
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(self.problems.is_empty())
    }
}

fn section(printer: &mut Printer, name: &str, cells: Vec<Vec<Cell>>) -> io::Result<()> {
    title(printer, name)?;
    rows(printer, cells)
}

fn title(printer: &mut Printer, name: &str) -> io::Result<()> {
    printer.line("")?;
    printer.painted_line(TextStyle::Strong, name)
}

fn rows(printer: &mut Printer, rows: Vec<Vec<Cell>>) -> io::Result<()> {
    let indented: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|mut row| {
            row.insert(0, Cell::plain(""));
            row
        })
        .collect();
    printer.table(&indented)
}

fn folders(report: &Checkup<'_>) -> Vec<Vec<Cell>> {
    let rows = report.folders.iter();
    rows.map(|(name, folder)| {
        let (style, state) = match folder.state {
            FolderState::Usable => (TextStyle::Quiet, folder_size(folder)),
            FolderState::Missing => (TextStyle::Quiet, "does not exist yet".to_owned()),
            state => (
                TextStyle::Attention,
                state.problem().unwrap_or_default().to_owned(),
            ),
        };
        let more = match (*name, report.cache) {
            ("history", _) if report.history.changes > 0 => held_changes(report),
            ("cache", CacheState::Usable { logs }) => format!("the text of {logs} logs"),
            ("cache", CacheState::Useless) => "damaged or from another version".to_owned(),
            _ => String::new(),
        };
        vec![
            Cell::plain(*name),
            Cell::plain(report.world.short_path(&folder.path)),
            Cell::new(style, state),
            Cell::new(TextStyle::Quiet, more),
        ]
    })
    .collect()
}

/// The number of changes in the history, and the age of the oldest.
fn held_changes(report: &Checkup<'_>) -> String {
    let now = report.world.moment.time.as_millisecond();
    let changes = counted(report.history.changes, "change");
    match report.history.oldest {
        Some(oldest) => format!("{changes}, the oldest {}", format_age(oldest, now)),
        None => changes,
    }
}

fn folder_size(folder: &Folder) -> String {
    let files = counted(folder.files, "file");
    format!("{files}, {}", format_size(folder.bytes))
}

impl AgentRow {
    /// Whether the agent has logs, or tome is registered with it.
    fn is_known(&self) -> bool {
        let registered = self.registered.is_some_and(|is| is != Registered::No);
        self.logs > 0 || registered
    }
}

fn agent(row: &AgentRow, world: &World) -> Vec<Cell> {
    let now = world.moment.time.as_millisecond();
    let newest = row
        .newest
        .map(|time| format_age(time, now))
        .unwrap_or_default();
    let logs = counted(row.logs, "log");
    let registered = match row.registered {
        Some(Registered::No) => format!("not registered: tome setup {}", row.agent.name()),
        Some(registered) => registered.name().to_owned(),
        None => String::new(),
    };
    vec![
        Cell::plain(row.agent.name()),
        Cell::number(TextStyle::Plain, logs),
        Cell::number(TextStyle::Quiet, format_size(row.bytes)),
        Cell::number(TextStyle::Quiet, newest),
        Cell::new(TextStyle::Quiet, registered),
    ]
}

/// The settings with their values, and where those come from that are not the defaults.
fn settings(checkup: &Checkup<'_>) -> Vec<Vec<Cell>> {
    let world = checkup.world;
    let row = |(key, source): &(&'static str, String)| {
        let source = match source.as_str() {
            "default" => String::new(),
            source => world.short_path(Path::new(source)),
        };
        vec![
            Cell::plain(*key),
            Cell::plain(world.settings.value(key)),
            Cell::new(TextStyle::Quiet, source),
        ]
    };
    world.setting_sources.iter().map(row).collect()
}

fn stores(report: &Checkup<'_>) -> Vec<Vec<Cell>> {
    let rows = report.stores.iter();
    rows.map(|row| {
        vec![
            Cell::plain(row.name.clone()),
            Cell::new(TextStyle::Quiet, row.layout.name()),
            Cell::number(TextStyle::Plain, row.memories.to_string()),
            Cell::new(TextStyle::Quiet, report.world.short_path(&row.root)),
        ]
    })
    .collect()
}

fn history(report: &Checkup<'_>) -> Value {
    let health = &report.history;
    let damaged: Vec<Value> = health
        .damaged
        .iter()
        .map(|damage| {
            json!({
                "revision": damage.revision,
                "file": damage.place,
                "memory": damage.memory,
                "change": damage.change,
            })
        })
        .collect();
    json!({
        "changes": health.changes,
        "oldest": health.oldest.and_then(exact_time),
        "versions": health.versions,
        "bytes": health.bytes,
        "broken_lines": health.broken_lines,
        "damaged": damaged,
    })
}
