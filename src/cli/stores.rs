//! `tome stores`: the stores that were found, and why.

use serde_json::{Value, json};

use super::print::{Cell, Printer, TextStyle, print_error};
use super::world::World;
use super::{CommandResult, Outcome};
use crate::core::memory::discover::{
    Discovered, FoundStore, SearchedPlace, first_store, searched_places,
};
use crate::core::memory::layout::Layout;

pub(super) fn run(world: &World, printer: &mut Printer) -> CommandResult {
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
    if printer.is_json() {
        printer.object(as_json(world, &found)?)?;
    } else {
        for refusal in &found.refusals {
            print_error(&refusal.to_string());
        }
        for problem in &found.problems {
            print_error(&problem.error.to_string());
        }
        if found.stores.is_empty() {
            world.print_searched_places();
        } else {
            table(world, printer, &found.stores)?;
        }
    }
    Ok(if found.stores.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

fn table(
    world: &World,
    printer: &mut Printer,
    stores: &[FoundStore],
) -> Result<(), super::Failure> {
    let mut rows = vec![
        [
            "NAME",
            "LAYOUT",
            "MEMORIES",
            "TO REVIEW",
            "ROOT",
            "FOUND AS",
        ]
        .map(|title| Cell::new(TextStyle::Quiet, title))
        .to_vec(),
    ];
    for FoundStore { store, why } in stores {
        let (count, role, waiting) = match store.list() {
            Ok(memories) => {
                let waiting = world.observe(store, &memories);
                (memories.len().to_string(), TextStyle::Plain, waiting)
            }
            Err(_) => ("unreadable".to_owned(), TextStyle::Attention, 0),
        };
        let waiting = match waiting {
            0 => Cell::number(TextStyle::Quiet, "–".to_owned()),
            count => Cell::number(TextStyle::Attention, count.to_string()),
        };
        rows.push(vec![
            Cell::new(TextStyle::Strong, store.name()),
            Cell::plain(store.layout().name()),
            Cell::number(role, count),
            waiting,
            Cell::plain(world.short_path(store.root().path())),
            Cell::new(TextStyle::Quiet, why),
        ]);
    }
    Ok(printer.table(&rows)?)
}

fn as_json(world: &World, found: &Discovered) -> Result<Value, super::Failure> {
    let mut list = Vec::new();
    for FoundStore { store, why } in &found.stores {
        let memories = store.list()?;
        let waiting = world.observe(store, &memories);
        list.push(json!({
            "name": store.name(),
            "layout": store.layout(),
            "root": store.root().path(),
            "memories": memories.len(),
            "waiting": waiting,
            "why": why,
        }));
    }
    let problems: Vec<Value> = found
        .problems
        .iter()
        .map(|problem| json!({ "root": problem.root, "error": problem.error.to_string() }))
        .collect();
    let refused: Vec<Value> = found
        .refusals
        .iter()
        .map(|refusal| json!({ "place": refusal.place, "target": refusal.target, "error": refusal.to_string() }))
        .collect();
    Ok(json!({
        "stores": list,
        "problems": problems,
        "refused": refused,
        "cwd": world.environment.cwd,
    }))
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
