//! Instruction files, in a project and in the home directory.

use std::path::Path;

use super::{Candidate, Origin, name_of};
use crate::core::disk::trust::{Refusal, TrustBoundary, real_path};
use crate::core::memory::layout::{Layout, instructions};

/// Adds the instruction files of one folder of the project. A link inside the trust boundary is
/// added for the folder of its target.
pub(super) fn project_instructions(
    folder: &Path,
    border: &TrustBoundary,
    found: &mut Vec<Candidate>,
    refused: &mut Vec<Refusal>,
) {
    let why = "instructions of this project";
    let real_folder = real_path(folder);
    let mut is_here = false;
    for name in instructions::NAMES {
        let file = folder.join(name);
        if file.symlink_metadata().is_err() {
            continue;
        }
        if let Err(refusal) = border.check(&file) {
            refused.push(refusal);
            continue;
        }
        let real = real_path(&file);
        if !real.is_file() {
            continue;
        }
        if real.starts_with(&real_folder) {
            is_here = true;
        } else if let Some(parent) = real.parent()
            && instructions::NAMES
                .iter()
                .any(|name| real == parent.join(name))
        {
            found.push(candidate(
                parent,
                &instructions_name(parent),
                why,
                Origin::Project,
            ));
        }
    }
    if is_here {
        found.push(candidate(
            folder,
            &instructions_name(folder),
            why,
            Origin::Project,
        ));
    }
}

/// Adds the instruction files of a folder outside the project, such as the home directory.
pub(super) fn home_instructions(folder: &Path, name: &str, found: &mut Vec<Candidate>) {
    // A name with a folder is one of an agent's own directory, which is a place of its own.
    let is_there = |name: &&str| !name.contains('/') && folder.join(name).is_file();
    if instructions::NAMES.iter().any(is_there) {
        let why = "instructions for all projects";
        found.push(candidate(folder, name, why, Origin::Home));
    }
}

fn candidate(folder: &Path, name: &str, why: &str, origin: Origin) -> Candidate {
    Candidate {
        name: name.to_owned(),
        root: folder.to_owned(),
        layout: Some(Layout::Instructions),
        why: why.to_owned(),
        is_explicit: false,
        origin,
    }
}

fn instructions_name(folder: &Path) -> String {
    format!("{}-instructions", name_of(folder))
}
