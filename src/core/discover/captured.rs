//! What hooks have captured: a store of events for each project, in tome's data directory.

use std::path::{Path, PathBuf};

use super::{Candidate, DiscoveryScope, Environment, Origin, Project, name_of, subfolders};
use crate::core::memory::{Revision, slug};

/// What hooks have captured of the project's sessions.
pub(super) fn captured_events(
    environment: &Environment,
    scope: DiscoveryScope,
    found: &mut Vec<Candidate>,
) {
    let mut push = |name: String, root: PathBuf, why: &str| {
        found.push(Candidate {
            name,
            root,
            layout: None,
            why: why.to_owned(),
            is_explicit: false,
            origin: Origin::Home,
        });
    };
    push(
        "events".to_owned(),
        events_root(&environment.data, &environment.cwd),
        "what hooks captured in this project",
    );
    if scope == DiscoveryScope::Everything {
        for folder in subfolders(&environment.data.join(EVENTS_FOLDER)) {
            let name = format!("events-{}", name_of(&folder));
            push(name, folder, "what hooks captured in another project");
        }
    }
}

/// The folder of the data directory that holds a store of events for each project.
const EVENTS_FOLDER: &str = "events";

/// Where the events of the project around `cwd` are kept, in tome's data directory.
pub fn events_root(data: &Path, cwd: &Path) -> PathBuf {
    let project = Project::of(cwd);
    data.join(EVENTS_FOLDER)
        .join(events_slug(&project.shared_root))
}

/// A name that people recognise, and a hash that tells projects of one name apart.
fn events_slug(project: &Path) -> String {
    const LONGEST: usize = 60;
    let hash = Revision::of(project.as_os_str().as_encoded_bytes()).to_string();
    let name: String = slug(&name_of(project)).chars().take(LONGEST).collect();
    format!("{name}-{}", &hash[..8])
        .trim_start_matches('-')
        .to_owned()
}
