//! Reads what the rules check: the memories of some stores, the git histories of their projects and
//! the memories that were deleted.

use std::path::PathBuf;
use std::sync::Arc;

use super::git::{ProjectHistory, project_of};
use super::{Collection, CuratedStore, returned};
use crate::core::config::CurateSettings;
use crate::core::discover::Environment;
use crate::core::history::History;
use crate::core::store::Store;
use crate::core::{Error, Result};

/// What findings are computed from besides the stores.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The environment in which the stores were found.
    pub environment: Environment,
    /// The project that the user is in.
    pub project: Option<PathBuf>,
    /// The program that reads git histories.
    pub git: PathBuf,
    /// The history with the deleted memories.
    pub history: History,
    /// Which rules are off, and the limits of the others.
    pub settings: CurateSettings,
}

impl Sources {
    /// Reads the memories of the stores, to be checked at a date. A store that cannot be read is
    /// left out; the errors say why.
    pub fn collect<'a>(
        &self,
        stores: impl IntoIterator<Item = &'a Store>,
        today: jiff::civil::Date,
    ) -> Result<(Collection<'a>, Vec<Error>)> {
        let mut curated = Vec::new();
        let mut errors = Vec::new();
        let mut histories: Vec<Arc<ProjectHistory>> = Vec::new();
        let here = self.project.as_ref();
        let here = here.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        for store in stores {
            let mut read = match CuratedStore::read(store) {
                Ok(read) => read,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            read.project_root = project_of(store, &self.environment, here.as_deref());
            if let Some(root) = &read.project_root {
                let known = histories.iter().find(|history| history.root == *root);
                read.project = known.cloned().or_else(|| {
                    let history = Arc::new(ProjectHistory::read(&self.git, root)?);
                    histories.push(Arc::clone(&history));
                    Some(history)
                });
            }
            curated.push(read);
        }
        let graves = returned::graves(&self.history)?;
        let collection = Collection::new(curated, graves, today, self.settings.clone());
        Ok((collection, errors))
    }
}
