//! Events that hooks captured: a store for each project, in tome's data directory.

use std::path::{Path, PathBuf};

use super::{Candidate, DiscoveryScope, Environment, Project, name_of, subfolders};
use crate::core::disk::revision::Revision;
use crate::core::text::header::slug;

/// Adds the project's store of captured events; with `Everything`, those of all projects.
pub(super) fn captured_events(
    environment: &Environment,
    scope: DiscoveryScope,
    found: &mut Vec<Candidate>,
) {
    let mut push = |name: String, root: PathBuf, why: &str| {
        found.push(Candidate::new(name, root, None, why));
    };
    push(
        "events".to_owned(),
        events_root(&environment.data, &environment.cwd),
        "what hooks captured in this project",
    );
    if scope == DiscoveryScope::Everything {
        for folder in subfolders(&environment.data.join(EVENTS_FOLDER)) {
            let name = format!("events@{}", name_of(&folder));
            push(name, folder, "what hooks captured in another project");
        }
    }
}

/// The folder of the data directory with a store of events for each project.
const EVENTS_FOLDER: &str = "events";

/// Returns the root of the store of events for the project around `cwd`.
pub fn events_root(data: &Path, cwd: &Path) -> PathBuf {
    let project = Project::of(cwd);
    data.join(EVENTS_FOLDER)
        .join(events_slug(&project.shared_root))
}

/// Returns the root of the store of events of a session whose directory is not known.
pub fn session_events_root(data: &Path, session: &str) -> PathBuf {
    let name = format!("session/{session}");
    data.join(EVENTS_FOLDER).join(events_slug(Path::new(&name)))
}

/// Returns a readable name with a hash that distinguishes projects of the same name.
fn events_slug(project: &Path) -> String {
    const LONGEST: usize = 60;
    let hash = Revision::of(project.as_os_str().as_encoded_bytes()).to_string();
    let name: String = slug(&name_of(project)).chars().take(LONGEST).collect();
    format!("{name}-{}", &hash[..8])
        .trim_start_matches('-')
        .to_owned()
}
