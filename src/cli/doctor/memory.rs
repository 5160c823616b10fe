//! The doctor's checks of memories: the index and the links of a store, and memories that are left at
//! a former place of the project.

use std::collections::BTreeMap;

use super::super::index::{FEW, unseen_in_words};
use super::super::world::World;
use super::Checkup;
use crate::core::change::{ChangeRequest, plan};
use crate::core::insight::curate::check_store;
use crate::core::memory::config::expand;
use crate::core::memory::discover::{Discovered, FoundStore, Problem};
use crate::core::memory::layout::{IndexUpdate, Layout, index};
use crate::core::memory::store::Store;
use crate::core::text::display::first_few;

/// Returns the stores to check: with `--store` only those, by name or path.
pub(super) fn stores_to_check(world: &World, mut found: Discovered) -> Discovered {
    if world.common.store.is_empty() {
        return found;
    }
    let mut meant = Discovered::default();
    for asked in &world.common.store {
        let path = expand(asked, &world.environment.home, &world.environment.cwd);
        let root = path.canonicalize().unwrap_or_else(|_| path.clone());
        let is_meant = |found: &FoundStore| {
            found.store.name() == asked || found.store.root().path() == root.as_path()
        };
        if let Some(at) = found.stores.iter().position(is_meant) {
            meant.stores.push(found.stores.swap_remove(at));
            continue;
        }
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = name.unwrap_or_else(|| asked.into());
        match Store::open(&name, &path, world.common.layout) {
            Ok(store) => meant.stores.push(FoundStore {
                store,
                why: "given with --store".to_owned(),
            }),
            Err(error) => meant.problems.push(Problem { root: path, error }),
        }
    }
    meant
}

impl Checkup<'_> {
    /// Checks the index and the links of a store.
    pub(super) fn check_memories(&mut self, world: &World, store: &Store) {
        let has_links = matches!(
            store.layout(),
            Layout::Index | Layout::Facts | Layout::Session | Layout::Coder
        );
        if !has_links {
            return;
        }
        self.check_index(world, store);
        let root = store.root();
        let rules = ["broken-link", "index-dangling"];
        let found = check_store(store, &rules, world.moment.today).unwrap_or_default();
        let mut dead: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // Only links to files count: a memory that `[[name]]` means may be yet to be written.
        for finding in found.into_iter().filter(|f| f.subject.ends_with(".md")) {
            dead.entry(finding.path).or_default().push(finding.subject);
        }
        for (path, targets) in dead {
            let place = root.absolute(&store.rules().file_of(&path));
            let what = format!("has dead links: {}", first_few(FEW, &targets));
            let remedy = "correct or remove the link: `e` on it in `tome` edits it, `tome curate` \
                          shows where it is";
            self.add_problem(world.short_path(&place), &what, remedy);
        }
    }

    /// Reports memories that no session reads because the project was moved.
    pub(super) fn check_former_homes(&mut self, world: &World) {
        let homes = world.former_homes().into_iter();
        for home in homes.filter(|home| !home.is_there) {
            let former = world.short_path(&home.project);
            let what = format!(
                "has {} of this project from when it was {former} ({}); no session reads them",
                home.content(),
                home.proof
            );
            let remedy = format!("tome rehome {former} gathers them");
            self.add_problem(world.short_path(&home.root), &what, remedy);
        }
    }

    fn check_index(&mut self, world: &World, store: &Store) {
        let context = world.change_context(None);
        let root = store.root();
        let here = world.short_path(root.path());
        let change = match plan(store, &ChangeRequest::Index(IndexUpdate::Repair), &context) {
            Ok(change) => change,
            Err(error) => {
                self.add_problem(here, &error.to_string(), "correct it");
                return;
            }
        };
        for edit in &change.edits {
            let place = world.short_path(&root.absolute(&edit.path));
            // A missing index is not out of date.
            if edit.before.is_some() {
                let remedy = format!("tome index --store {here} updates it");
                let what = match store.layout() {
                    Layout::Facts => "the Summary line does not match its entries",
                    _ => "does not match the memories",
                };
                self.add_problem(place, what, remedy);
            }
        }
        if store.layout() != Layout::Index {
            return;
        }
        let place = world.short_path(&root.absolute(index::INDEX));
        let unlisted = index::unlisted(store).unwrap_or_default();
        let unlisted = unlisted.iter().filter(|memory| index::has_header(memory));
        let unlisted: Vec<String> = unlisted.map(|memory| memory.path.clone()).collect();
        if !unlisted.is_empty() {
            let what = format!(
                "has no list and does not link to: {}",
                first_few(FEW, &unlisted)
            );
            let remedy =
                "add a first line such as `- [name](file.md)` to it; `tome index` adds the others";
            self.add_problem(place.clone(), &what, remedy);
        }
        let text = store.text(index::INDEX).ok().flatten();
        let text = text.filter(|_| index::is_read_in_part(root.path()));
        let unseen = text.map(|text| index::unseen(&text)).unwrap_or_default();
        if let Some(what) = unseen_in_words(&unseen) {
            self.add_problem(
                place,
                &what,
                "shorten it, or delete memories that are stale",
            );
        }
    }
}
