//! Instruction files, in a project and in the home directory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Candidate, FoundStore, Origin, name_of};
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

/// Leaves out of a folder's instructions those in an agent's directory that is a store of its own:
/// a home directory is a project, too.
pub(super) fn list_once(stores: &mut Vec<FoundStore>) {
    let of_instructions = |found: &&FoundStore| found.store.layout() == Layout::Instructions;
    let roots: HashSet<PathBuf> = stores
        .iter()
        .filter(of_instructions)
        .map(|found| found.store.root().path().to_owned())
        .collect();
    stores.retain_mut(|found| {
        let store = &found.store;
        if store.layout() != Layout::Instructions {
            return true;
        }
        let is_elsewhere = |name: &&str| {
            let file = real_path(&store.root().absolute(name));
            let is_named = instructions::NAMES.iter().any(|name| file.ends_with(name));
            let folder = file.parent();
            name.contains('/') && is_named && folder.is_some_and(|folder| roots.contains(folder))
        };
        let elsewhere: Vec<String> = instructions::NAMES
            .iter()
            .copied()
            .filter(is_elsewhere)
            .map(str::to_owned)
            .collect();
        if elsewhere.is_empty() {
            return true;
        }
        found.store = found.store.clone().without(elsewhere);
        found.store.files().is_ok_and(|files| !files.is_empty())
    });
}

fn candidate(folder: &Path, name: &str, why: &str, origin: Origin) -> Candidate {
    Candidate::new(name, folder.to_owned(), Some(Layout::Instructions), why).of(origin)
}

fn instructions_name(folder: &Path) -> String {
    format!("{}-instructions", name_of(folder))
}
