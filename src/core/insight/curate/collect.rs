//! Gathers what the rules read: the memories of the stores, the git histories of their projects
//! and the memories that were deleted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dead_name::names;
use super::git::removed::lost_definitions;
use super::git::{Git, ProjectHistory, project_of};
use super::passage::Pieces;
use super::{Collection, CuratedStore, came_back};
use crate::core::change::history::History;
use crate::core::memory::config::CurateSettings;
use crate::core::memory::discover::Environment;
use crate::core::memory::store::Store;
use crate::core::{Error, Result};

/// Where a collection comes from, apart from its stores.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The directories of the user and of the agents.
    pub environment: &'a Environment,
    /// The root of the current project.
    pub project: Option<&'a Path>,
    /// The program that reads git histories.
    pub git: &'a Git,
    /// The history of changes, which knows what was deleted.
    pub history: &'a History,
    /// The date in the user's time zone.
    pub today: jiff::civil::Date,
    /// The limits of the rules.
    pub settings: &'a CurateSettings,
    /// The folder of cached results and git histories; `None` for no cache.
    pub cache: Option<&'a Path>,
}

impl Sources<'_> {
    /// The root of the project that each store is about.
    pub(super) fn projects_of(&self, stores: &[Store]) -> Vec<Option<PathBuf>> {
        let here = self.project;
        let here = here.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let project_of = |store| project_of(store, self.environment, here.as_deref());
        stores.iter().map(project_of).collect()
    }
}

/// Reads the memories of the stores, and meanwhile the git histories of their projects. A store
/// that cannot be read has no memories in the collection; its error is returned beside it.
pub fn collect<'a>(
    stores: &'a [Store],
    sources: &Sources<'_>,
) -> Result<(Collection<'a>, Vec<Error>)> {
    let projects = sources.projects_of(stores);
    let mut roots: Vec<&PathBuf> = projects.iter().flatten().collect();
    roots.sort_unstable();
    roots.dedup();
    let (git, cache) = (sources.git, sources.cache);
    // The log of a large project takes as long as everything else.
    let (read, histories, pieces) = std::thread::scope(|scope| {
        let roots = &roots;
        let histories = scope.spawn(move || {
            let read = |root: &&PathBuf| ProjectHistory::read(git, root, cache).map(Arc::new);
            roots.iter().map(read).collect::<Vec<_>>()
        });
        let mut errors = Vec::new();
        let mut read = |store: &'a Store| {
            CuratedStore::read(store).unwrap_or_else(|error| {
                errors.push(error);
                CuratedStore::empty(store)
            })
        };
        let read: Vec<CuratedStore<'a>> = stores.iter().map(&mut read).collect();
        let is_on = |rule: &str| !sources.settings.off.iter().any(|off| off == rule);
        let mut lost = Vec::new();
        if is_on("dead-path") {
            for root in roots {
                let about = read.iter().zip(&projects);
                let about = about.filter(|(_, project)| project.as_ref() == Some(*root));
                let documents = about.flat_map(|(store, _)| &store.documents);
                let wanted = documents
                    .flat_map(names)
                    .map(|(name, _)| name.to_owned())
                    .collect();
                lost.push((*root, lost_definitions(git, root, &wanted)));
            }
        }
        let pieces = is_on("duplicate").then(|| Pieces::of(&read));
        // A thread that panicked read no history.
        let histories = histories.join().unwrap_or_default();
        for (root, lost) in lost {
            let mut all = histories.iter().flatten();
            if let Some(history) = all.find(|history| history.root == *root) {
                history.set_lost(lost);
            }
        }
        ((read, errors), histories, pieces)
    });
    let (read, errors) = read;
    let mut curated = Vec::with_capacity(stores.len());
    for (mut read, root) in read.into_iter().zip(projects) {
        let known = |history: &&Arc<ProjectHistory>| Some(&history.root) == root.as_ref();
        read.project = histories.iter().flatten().find(known).cloned();
        read.project_root = root;
        read.is_index_remade = sources.environment.is_of_qwen(read.store.root().path());
        curated.push(read);
    }
    let deleted = came_back::still_deleted(sources.history)?;
    let mut collection = Collection::new(curated, deleted, sources.today, sources.settings.clone());
    collection.history = Some(sources.history.clone());
    Ok((collection.with_pieces(pieces), errors))
}
