//! Selects stores by `--store`, `--all` and references.

use std::path::{Path, PathBuf};

use super::Failure;
use super::world::World;
use crate::core::Error;
use crate::core::change::events::collect;
use crate::core::change::recover_interrupted;
use crate::core::disk::sandbox::Root;
use crate::core::disk::trust::real_path;
use crate::core::memory::citation::Citation;
use crate::core::memory::config::expand;
use crate::core::memory::discover::{
    Discovered, FoundStore, discover, first_store, is_empty, is_first,
};
use crate::core::memory::layout::{Layout, Operation, instructions};
use crate::core::memory::store::Store;

impl World {
    /// Discovers stores from the current directory, after recovering interrupted changes.
    pub(super) fn discovered(&self) -> Result<Discovered, Failure> {
        let mut found = discover(&self.environment, &self.settings, self.scope());
        if let Some(layout) = self.common.layout {
            choose_layout(&mut found, layout);
        }
        let roots: Vec<&Path> = found.stores.iter().map(|f| f.store.root().path()).collect();
        self.recover_interrupted(&roots);
        // Only hooks write pending events, and only in tome's own data directory.
        let data = real_path(&self.environment.data);
        let stores = found.stores.iter().map(|found| &found.store);
        let captured = stores.filter(|store| {
            store.layout() == Layout::Events && store.root().path().starts_with(&data)
        });
        for store in captured {
            collect(store, &self.history)?;
        }
        Ok(found)
    }

    /// Recovers changes whose process died. A failure is only a warning, because reading still
    /// works; the next change of that store reports it as an error.
    fn recover_interrupted(&self, roots: &[&Path]) {
        if let Err(error) = recover_interrupted(&self.history, roots) {
            super::print::print_error(&format!(
                "warning: an interrupted change was not recovered: {error}"
            ));
        }
    }

    /// Returns the roots whose history is in scope: of the selected stores, and of former ones.
    pub(super) fn history_roots(&self) -> Result<Vec<PathBuf>, Failure> {
        let records = self.history.records()?;
        let recorded = records
            .iter()
            .flat_map(|record| &record.files)
            .map(|file| &file.root);
        let mut roots: Vec<PathBuf> = if self.common.store.is_empty() {
            let project = self.locations.projects.last();
            let here = |root: &&PathBuf| {
                self.common.all || project.is_some_and(|project| root.starts_with(project))
            };
            let found = self.discovered()?.stores.into_iter();
            let found = found.map(|found| found.store.root().path().to_owned());
            found.chain(recorded.filter(here).cloned()).collect()
        } else {
            let mut named = Vec::new();
            for asked in &self.common.store {
                named.push(match self.store_named(asked, None) {
                    Ok(store) => store.root().path().to_owned(),
                    // A directory whose last memory was deleted is not a store, but has a history.
                    Err(_) => {
                        let path = expand(asked, &self.environment.home, &self.environment.cwd);
                        Root::open(&path)?.path().to_owned()
                    }
                });
            }
            named
        };
        roots.sort();
        roots.dedup();
        Ok(roots)
    }

    /// Returns the selected stores.
    pub(super) fn stores(&self) -> Result<Vec<Store>, Failure> {
        self.stores_or(|_| say_no_store())
    }

    /// Returns the selected stores; calls `nothing` if none was found.
    pub(super) fn stores_or(&self, nothing: impl Fn(&Self)) -> Result<Vec<Store>, Failure> {
        if self.common.store.is_empty() {
            let found = self.discovered()?;
            for problem in &found.problems {
                super::print::print_error(&problem.error.to_string());
            }
            if found.stores.is_empty() && found.problems.is_empty() {
                nothing(self);
            }
            return Ok(found.stores.into_iter().map(|found| found.store).collect());
        }
        let mut stores = Vec::new();
        for asked in &self.common.store {
            stores.push(self.store_named(asked, None)?);
        }
        Ok(stores)
    }

    /// Returns the selected stores, without instruction files unless `--store` names them.
    pub(super) fn memory_stores(&self) -> Result<Vec<Store>, Failure> {
        let mut stores = self.stores()?;
        if self.common.store.is_empty() {
            stores.retain(|store| store.layout() != Layout::Instructions);
        }
        Ok(stores)
    }

    /// Opens the store with this name or at this path. A store that does not exist yet gets the
    /// layout of its `first` file.
    pub(super) fn store_named(&self, asked: &str, first: Option<&str>) -> Result<Store, Failure> {
        let looks_like_a_path = asked.contains(['/', '\\']) || asked == "." || asked == "..";
        if !looks_like_a_path {
            let found = self.discovered()?;
            let mut all = found.stores.into_iter().map(|found| found.store);
            if let Some(store) = all.find(|store| store.name() == asked) {
                return Ok(self.of_first_file(store, first)?);
            }
        }
        let path = expand(asked, &self.environment.home, &self.environment.cwd);
        let setting = self.settings.stores.iter().find(|setting| {
            expand(&setting.path, &self.environment.home, &self.environment.cwd) == path
        });
        let layout = self
            .common
            .layout
            .or(setting.and_then(|setting| setting.layout));
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = name.as_deref().unwrap_or(asked);
        let store = match Store::open(name, &path, layout) {
            Err(Error::NotFound { .. } | Error::Refused { .. })
                if (looks_like_a_path || path.is_dir())
                    && is_empty(&path)
                    && first.and_then(Layout::of_first_file).is_some() =>
            {
                Store::open(name, &path, first.and_then(Layout::of_first_file))?
            }
            Err(Error::NotFound { .. }) if !looks_like_a_path => {
                let known = self.discovered()?;
                let known: Vec<&str> = known.stores.iter().map(|f| f.store.name()).collect();
                return Err(Failure::Usage(format!(
                    "no store '{asked}'; {}",
                    if known.is_empty() {
                        "none was found here, give a directory".to_owned()
                    } else {
                        format!("there are {}", known.join(", "))
                    }
                )));
            }
            opened => opened?,
        };
        self.recover_interrupted(&[store.root().path()]);
        Ok(store)
    }

    /// Reopens an empty store whose layout is not configured with the layout of its `first` file.
    fn of_first_file(&self, store: Store, first: Option<&str>) -> Result<Store, Error> {
        let root = store.root().path();
        let is_configured = self.common.layout.is_some()
            || self
                .settings
                .stores
                .iter()
                .any(|setting| setting.name == store.name() && setting.layout.is_some());
        match first.and_then(Layout::of_first_file) {
            Some(layout) if !is_configured && is_empty(root) => {
                Store::open(store.name(), root, Some(layout))
            }
            _ => Ok(store),
        }
    }

    /// Returns the store that a reference to an existing file refers to.
    pub(super) fn store_holding(&self, reference: &str) -> Result<(Store, Citation), Failure> {
        let (mut stores, mut citation) = self.candidate_stores(reference, None)?;
        // A name that looks like a citation of a part is that of a file, if there is one.
        let file = citation.as_file();
        if stores.iter().any(|store| store.holds(&file.path)) {
            citation = file;
        }
        if stores.len() == 1 {
            return Ok((stores.remove(0), citation));
        }
        let mut refused = None;
        let mut holders: Vec<Store> = Vec::new();
        for store in stores {
            match store.locate(&citation.path) {
                Ok(file) if store.root().has(&file) => holders.push(store),
                Ok(_) => {}
                Err(error) => refused = Some(error),
            }
        }
        match (holders.len(), refused) {
            (1, _) => Ok((holders.remove(0), citation)),
            (0, Some(error)) => Err(error.into()),
            (0, None) => Err(Error::not_found(citation.path).into()),
            _ => Err(ambiguous_store(&holders, &citation.path)),
        }
    }

    /// Returns the store that a reference to an existing or new file refers to.
    pub(super) fn store_for_new(&self, reference: &str) -> Result<(Store, Citation), Failure> {
        if let Ok((store, citation)) = self.store_holding(reference)
            && store.holds(&citation.path)
        {
            return Ok((store, citation));
        }
        if let Some(first) = self.first_store(reference)? {
            return Ok(first);
        }
        let (mut stores, citation) = self.candidate_stores(reference, Some(reference))?;
        if stores.len() > 1 {
            stores.retain(|store| {
                let allowed = store
                    .locate(&citation.path)
                    .and_then(|file| store.rules().allow(Operation::Append, &file, store.root()));
                store.layout() != Layout::Instructions && allowed.is_ok()
            });
        }
        match stores.len() {
            1 => Ok((stores.remove(0), citation)),
            0 => Err(Failure::Usage(format!(
                "no store here accepts {}; give one with --store",
                citation.path
            ))),
            _ => Err(ambiguous_store(&stores, &citation.path)),
        }
    }

    /// Returns the store that the file would create as the first memory of its layout, if the
    /// reference names no store.
    fn first_store(&self, reference: &str) -> Result<Option<(Store, Citation)>, Failure> {
        let Ok(citation) = reference.parse::<Citation>();
        let is_named = citation.store.is_some() || !self.common.store.is_empty();
        if is_named || instructions::NAMES.contains(&citation.path.as_str()) {
            return Ok(None);
        }
        let layout = Layout::of_first_file(&citation.path);
        let Some(layout) = self.common.layout.or(layout) else {
            return Ok(None);
        };
        let found = self.discovered()?;
        let stores: Vec<&Store> = found.stores.iter().map(|found| &found.store).collect();
        if !is_first(layout, &stores) {
            return Ok(None);
        }
        let first = first_store(&self.environment, &self.settings, layout)?;
        Ok(first.map(|found| (found.store, citation)))
    }

    /// Returns the stores that a reference can refer to, and the parsed reference.
    fn candidate_stores(
        &self,
        reference: &str,
        first: Option<&str>,
    ) -> Result<(Vec<Store>, Citation), Failure> {
        let Ok(citation) = reference.parse::<Citation>();
        if let Some(name) = &citation.store {
            let path = first.map(|_| citation.path.as_str());
            return match self.store_named(name, path) {
                Ok(store) => Ok((vec![store], citation)),
                Err(Failure::Usage(text)) => {
                    let plain = Citation::of_path(reference);
                    let mut stores = self.chosen_stores(first)?;
                    stores.retain(|store| store.holds(&plain.path));
                    // A path may have a colon.
                    if stores.is_empty() {
                        Err(Failure::Usage(format!(
                            "{text}; put the store before a name with a colon"
                        )))
                    } else {
                        Ok((stores, plain))
                    }
                }
                Err(failure) => Err(failure),
            };
        }
        let stores = self.chosen_stores(first)?;
        if stores.is_empty() {
            return Err(Failure::usage(
                "no store was found here; give one with --store (tome stores --all lists them all)",
            ));
        }
        let shown = stores.iter().find_map(|store| {
            let path = store.path_shown_as(&citation.path)?;
            Some((store.clone(), path))
        });
        Ok(match shown {
            Some((store, path)) => (vec![store], Citation { path, ..citation }),
            None => (stores, citation),
        })
    }

    /// Returns the stores that a reference without the name of one can refer to.
    fn chosen_stores(&self, first: Option<&str>) -> Result<Vec<Store>, Failure> {
        match self.common.store.as_slice() {
            [one] => Ok(vec![self.store_named(one, first)?]),
            // The caller reports that there is none.
            _ => self.stores_or(|_| {}),
        }
    }
}

/// Prints that there is no store.
pub(super) fn say_no_store() {
    let words =
        "no store here; `tome stores` lists the places searched, `tome --demo` opens a sample";
    super::print::print_error(words);
}

/// Opens directories of ambiguous layout with the layout given by `--layout`, if it fits.
fn choose_layout(found: &mut Discovered, layout: Layout) {
    found.problems.retain(|problem| {
        let name = problem
            .root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let fits =
            Root::open(&problem.root).is_ok_and(|root| Layout::detect(&root).contains(&layout));
        match Store::open(&name.unwrap_or_default(), &problem.root, Some(layout)) {
            Ok(store) if fits => {
                let why = "opened with --layout".to_owned();
                found.stores.push(FoundStore { store, why });
                false
            }
            _ => true,
        }
    });
}

fn ambiguous_store(stores: &[Store], path: &str) -> Failure {
    let names: Vec<String> = stores
        .iter()
        .map(|store| format!("{}:{path}", store.name()))
        .collect();
    Failure::Usage(format!(
        "{path} could be in more than one store; use {}",
        names.join(" or ")
    ))
}
