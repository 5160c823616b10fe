//! `tome stores`: the stores that were found, and why.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};

use super::print::{Cell, Json, Printer, Report, Reported, TextStyle, print_error};
use super::world::{World, or_left_out};
use super::{Failure, Outcome};
use crate::core::insight::sync::shared_among;
use crate::core::memory::discover::{
    Discovered, FoundStore, SearchedPlace, first_store, searched_places,
};
use crate::core::memory::layout::{FileLimit, Layout};
use crate::core::memory::store::{Store, StoreId};

pub(super) fn run(world: &World) -> Reported<'_> {
    let mut found = world.discovered()?;
    if !world.common.store.is_empty() {
        let asked = world.stores()?;
        found.stores = asked
            .into_iter()
            .map(|store| FoundStore {
                store,
                why: "given with --store".to_owned(),
            })
            .collect();
    }
    let stores = found.stores.iter().map(|found| &found.store);
    let synced = shared_among(&world.sync_dir(), &world.settings, stores)?;
    Ok(Box::new(StoresReport {
        world,
        found,
        synced,
    }))
}

struct StoresReport<'a> {
    world: &'a World,
    found: Discovered,
    /// Those that other machines have, too, and how many files of each are held back.
    synced: HashMap<StoreId, usize>,
}

impl Report for StoresReport<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let mut list = Vec::new();
        for FoundStore { store, why } in &self.found.stores {
            let memories = or_left_out(store, store.list())?.unwrap_or_default();
            let waiting = self.world.observe(store, &memories);
            list.push(json!({
                "name": store.name(),
                "layout": store.layout(),
                "root": store.root().path().to_string_lossy(),
                "memories": memories.len(),
                "waiting": waiting,
                "why": why,
                "limits": store.rules().limits(store.root()),
                "synced": self.synced.contains_key(store.id()),
                "held": self.synced.get(store.id()),
            }));
        }
        let problems = self.found.problems.iter();
        let problems = problems
            .map(|problem| json!({ "root": problem.root.to_string_lossy(), "error": problem.error.to_string() }));
        let refused = self.found.refusals.iter().map(|refusal| {
            json!({
                "place": refusal.place.to_string_lossy(),
                "target": refusal.target.to_string_lossy(),
                "error": refusal.to_string(),
            })
        });
        let json = json!({
            "stores": list,
            "problems": problems.collect::<Vec<Value>>(),
            "refused": refused.collect::<Vec<Value>>(),
            "cwd": self.world.environment.cwd.to_string_lossy(),
        });
        Ok(json.into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for refusal in &self.found.refusals {
            print_error(&refusal.to_string());
        }
        for problem in &self.found.problems {
            print_error(&problem.error.to_string());
        }
        if self.found.stores.is_empty() {
            self.world.print_searched_places();
            return Ok(());
        }
        let titles = [
            "NAME",
            "LAYOUT",
            "MEMORIES",
            "TO REVIEW",
            "ROOT",
            "FOUND AS",
            "LIMITS",
        ];
        let mut rows = vec![Cell::titles(titles)];
        rows.extend(self.found.stores.iter().map(|found| self.row(found)));
        printer.table(&rows)
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.found.stores.is_empty())
    }
}

impl StoresReport<'_> {
    fn row(&self, FoundStore { store, why }: &FoundStore) -> Vec<Cell> {
        let (count, waiting) = match store.list() {
            Ok(memories) => (
                Cell::number(TextStyle::Plain, memories.len().to_string()),
                self.world.observe(store, &memories),
            ),
            Err(_) => (Cell::number(TextStyle::Attention, "unreadable"), 0),
        };
        let waiting = match waiting {
            0 => Cell::number(TextStyle::Quiet, "–"),
            count => Cell::number(TextStyle::Attention, count.to_string()),
        };
        let note = match self.synced.get(store.id()) {
            None => String::new(),
            Some(0) => ", synced".to_owned(),
            Some(held_back) => format!(", synced, {held_back} held back"),
        };
        vec![
            Cell::new(TextStyle::Strong, store.name()),
            Cell::plain(store.layout().name()),
            count,
            waiting,
            Cell::plain(self.world.short_path(store.root().path())),
            Cell::new(TextStyle::Quiet, format!("{why}{note}")),
            Cell::new(TextStyle::Quiet, limits(store)),
        ]
    }
}

/// How much the agent reads or keeps of its files: `MEMORY.md 200 lines, 25 KB`.
fn limits(store: &Store) -> String {
    let mut said = String::new();
    let mut last = "";
    for FileLimit { file, most, unit } in store.rules().limits(store.root()) {
        if !said.is_empty() {
            said.push_str(", ");
        }
        if file != last {
            said.push_str(&format!("{file} "));
        }
        said.push_str(&match unit {
            "bytes" => format!("{} KB", most / 1000),
            _ => format!("{most} {unit}"),
        });
        last = file;
    }
    said
}

impl World {
    /// Prints where stores and logs were searched for, and how to create a store.
    pub(super) fn print_searched_places(&self) {
        print_error("no store here; places searched:");
        for SearchedPlace { owner, locations } in
            searched_places(&self.environment, &self.settings, &self.locations)
        {
            print_error(&format!("  {owner:<13} {}", locations.join("  ")));
        }
        if let Ok(Some(first)) = first_store(&self.environment, &self.settings, Layout::Index) {
            let root = self.short_path(first.store.root().path());
            print_error(&format!("`tome write NAME.md --type user` creates {root}"));
        }
        print_error(
            "`tome stores --all` searches every project, a [[store]] in the settings adds one; \
             `tome --demo` opens a sample",
        );
    }

    /// Formats a path with the home directory as `~`.
    pub(super) fn short_path(&self, path: &std::path::Path) -> String {
        match path.strip_prefix(&self.environment.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}
