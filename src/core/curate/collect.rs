//! Gathers what the rules read: the memories of the stores, the git histories of their projects
//! and the memories that were deleted.

use std::path::Path;
use std::sync::Arc;

use super::git::{ProjectHistory, project_of};
use super::{Collection, CuratedStore, returned};
use crate::core::config::CurateSettings;
use crate::core::discover::Environment;
use crate::core::history::History;
use crate::core::store::Store;
use crate::core::{Error, Result};

/// Where a collection comes from, apart from its stores.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The directories of the user and of the agents.
    pub environment: &'a Environment,
    /// The root of the current project.
    pub project: Option<&'a Path>,
    /// The program that reads git histories.
    pub git: &'a Path,
    /// The history of changes, which knows what was deleted.
    pub history: &'a History,
    /// The date in the user's time zone.
    pub today: jiff::civil::Date,
    /// The limits of the rules.
    pub settings: &'a CurateSettings,
}

/// Reads the memories of the stores. A store that cannot be read has no memories in the
/// collection; its error is returned beside it.
pub fn collect<'a>(
    stores: &'a [Store],
    sources: &Sources<'_>,
) -> Result<(Collection<'a>, Vec<Error>)> {
    let mut curated = Vec::new();
    let mut errors = Vec::new();
    let mut histories: Vec<Arc<ProjectHistory>> = Vec::new();
    let here = sources.project;
    let here = here.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    for store in stores {
        let mut read = CuratedStore::read(store).unwrap_or_else(|error| {
            errors.push(error);
            CuratedStore::empty(store)
        });
        read.project_root = project_of(store, sources.environment, here.as_deref());
        if let Some(root) = &read.project_root {
            let known = histories.iter().find(|history| history.root == *root);
            read.project = known.cloned().or_else(|| {
                let history = Arc::new(ProjectHistory::read(sources.git, root)?);
                histories.push(Arc::clone(&history));
                Some(history)
            });
        }
        curated.push(read);
    }
    let graves = returned::graves(sources.history)?;
    let collection = Collection::new(curated, graves, sources.today, sources.settings.clone());
    Ok((collection, errors))
}
