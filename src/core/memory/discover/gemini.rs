//! Gemini CLI's private memory of a project, in a directory that has a name of its own.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Candidate, DiscoveryScope, Environment, Project, name_of, subfolders};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_capped};
use crate::core::memory::layout::Layout;

/// The file in Gemini's directory that names the project of each working directory.
pub(in crate::core) const PROJECTS: &str = "projects.json";

/// Adds the private memory of the project; with `Everything`, those of all projects.
pub(super) fn gemini_memory(
    environment: &Environment,
    project: &Project,
    scope: DiscoveryScope,
    found: &mut Vec<Candidate>,
) {
    let home = &environment.gemini;
    let mut push = |name: String, root: PathBuf, why: &str| {
        // As for other agents, a linked directory is not followed here.
        if !root.is_symlink() {
            found.push(Candidate::new(name, root, Some(Layout::Index), why));
        }
    };
    for root in gemini_roots(home, &project.folders) {
        push("gemini".to_owned(), root, "Gemini's memory of this project");
    }
    if scope == DiscoveryScope::Everything {
        for folder in subfolders(&home.join("tmp")) {
            let name = format!("gemini@{}", name_of(&folder));
            push(name, folder.join("memory"), "Gemini's memory of a project");
        }
    }
}

/// The private memories of a project with these folders.
pub fn gemini_roots(home: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let known = read_capped(&home.join(PROJECTS), LARGEST_SETTINGS).unwrap_or_default();
    let roots = folders.iter();
    roots
        .filter_map(|folder| memory_folder(home, &known, folder))
        .collect()
}

/// The private memory of the project at `cwd`, given the content of [`PROJECTS`].
pub(in crate::core) fn memory_folder(home: &Path, known: &[u8], cwd: &Path) -> Option<PathBuf> {
    let known: Value = serde_json::from_slice(known).ok()?;
    let name = known["projects"][cwd.to_str()?].as_str()?;
    // A name is one part of a path.
    let is_plain = Path::new(name).file_name().is_some_and(|part| part == name);
    is_plain.then(|| home.join("tmp").join(name).join("memory"))
}
