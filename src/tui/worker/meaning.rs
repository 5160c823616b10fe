//! What is near a query by its meaning, for the search worker.

use std::path::{Path, PathBuf};

use crate::core::insight::semantic::{NearHit, NoSemantic, Semantic};
use crate::core::insight::timeline::{Timeline, near, sessions_of};
use crate::core::search::Sources;
use crate::core::search::query::Query;
use crate::core::search::recall::{RecallRequest, Scope};

/// The embedding model of the settings, which is opened when it is first needed, and the bullets of
/// the timeline that are in its cache.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// The directory of the model and that of the corpus's cache, until the model is opened.
    unopened: Option<(PathBuf, PathBuf)>,
    semantic: Result<Semantic, NoSemantic>,
    empty_timeline: Timeline,
    timeline: Option<Timeline>,
}

impl Meaning {
    /// The model may be none.
    pub(crate) fn new(model: &Path, cache: &Path, empty_timeline: Timeline) -> Self {
        Self {
            unopened: Some((model.to_owned(), cache.to_owned())),
            semantic: Err(NoSemantic::Unset),
            empty_timeline,
            timeline: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn of(semantic: Semantic, empty_timeline: Timeline) -> Self {
        Self {
            unopened: None,
            semantic: Ok(semantic),
            empty_timeline,
            timeline: None,
        }
    }

    /// Forgets the bullets, because the logs have changed.
    pub(crate) fn forget(&mut self) {
        self.timeline = None;
    }

    /// Returns what is near a query, and once what there is to say about the model.
    pub(crate) fn near(
        &mut self,
        sources: Sources<'_>,
        query: &Query,
    ) -> (Vec<NearHit>, Option<String>) {
        let mut note = None;
        if let Some((model, cache)) = self.unopened.take() {
            self.semantic = Semantic::open(&model, &cache);
            note = match &self.semantic {
                Ok(semantic) => semantic.note(),
                Err(none) => none.note(),
            };
        }
        let Ok(semantic) = &self.semantic else {
            return (Vec::new(), note);
        };
        if let (None, Some(corpus)) = (&self.timeline, sources.corpus) {
            let sessions = sessions_of(corpus);
            let (timeline, _) = self.empty_timeline.cached(corpus, |log| sessions[log]);
            self.timeline = Some(timeline);
        }
        let request = RecallRequest {
            query,
            scope: Scope::All,
            limit: 0,
            without: None,
        };
        (
            near(sources, self.timeline.as_ref(), request, semantic),
            note,
        )
    }
}
