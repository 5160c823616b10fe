//! Settings files: reads and replaces them as a whole, and keeps their originals.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::FileStep;
use crate::core::disk::foreign::{LARGEST_SETTINGS, LARGEST_WHOLE, read_capped, read_text};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// The text of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    read_text(path, LARGEST_SETTINGS)
}

/// Replaces a file, keeping its mode and following links; `None` deletes it.
pub(super) fn write(path: &Path, text: Option<&str>) -> Result<()> {
    let target = target(path);
    let folder = target.parent().unwrap_or(Path::new("."));
    let Some(text) = text else {
        return fs::remove_file(&target).map_err(|e| Error::io(&target, e));
    };
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let old = fs::metadata(&target).ok();
    let written = private::replace_foreign(&target, |file| {
        file.write_all(text.as_bytes())?;
        match &old {
            Some(old) => file.set_permissions(old.permissions()),
            None => Ok(()),
        }
    });
    written.map_err(|e| Error::io(&target, e))
}

/// The file that a path leads to, links followed. The target of a link need not exist.
fn target(path: &Path) -> PathBuf {
    const MOST_LINKS: usize = 32;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(real) = fs::canonicalize(&target) {
            return real;
        }
        let Ok(next) = fs::read_link(&target) else {
            return target;
        };
        target = match target.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    path.to_owned()
}

/// A file as it was before tome was installed.
#[derive(Debug, Serialize, Deserialize)]
struct SavedOriginal {
    path: PathBuf,
    before: Option<String>,
    after: Revision,
    /// The folders that were created for it, innermost first.
    #[serde(default)]
    folders: Vec<PathBuf>,
}

/// Stores the original of a file before a step.
pub(super) fn remember(memory: &Path, step: &FileStep) -> Result<()> {
    let note = note_path(memory, &step.path);
    let after = Revision::of(step.after.as_deref().unwrap_or_default().as_bytes());
    // A second step must keep the original from before the first one.
    let before = match original_text(memory, &step.path, step.before.as_deref()) {
        Some(first) => first,
        None => step.before.clone(),
    };
    let mut folders = read_note(memory, &step.path).map_or_else(Vec::new, |known| known.folders);
    let file = target(&step.path);
    let above = file.ancestors().skip(1);
    folders.extend(
        above
            .take_while(|folder| !folder.exists())
            .map(Path::to_owned),
    );
    let remembered = SavedOriginal {
        path: step.path.clone(),
        before,
        after,
        folders,
    };
    private::create_dir(memory).map_err(|e| Error::io(memory, e))?;
    let bytes = serde_json::to_vec(&remembered).map_err(|e| Error::io(&note, e.into()))?;
    private::replace(&note, |file| file.write_all(&bytes)).map_err(|e| Error::io(&note, e))
}

/// The original of a file, if it has not been changed since tome was installed.
pub(super) fn original_text(
    memory: &Path,
    path: &Path,
    now: Option<&str>,
) -> Option<Option<String>> {
    let remembered = read_note(memory, path)?;
    let same = remembered.after == Revision::of(now?.as_bytes());
    same.then_some(remembered.before)
}

/// Forgets the original of a file; returns the folders that were created for it.
pub(super) fn forget(memory: &Path, path: &Path) -> Vec<PathBuf> {
    let folders = read_note(memory, path).map_or_else(Vec::new, |known| known.folders);
    // The note is missing if nothing was stored.
    drop(fs::remove_file(note_path(memory, path)));
    folders
}

/// The folders of the files whose originals are kept.
pub fn written_folders(memory: &Path) -> BTreeSet<PathBuf> {
    let notes = fs::read_dir(memory).into_iter().flatten().flatten();
    let originals = notes.filter_map(|note| saved_original(&note.path()));
    let folders = originals.filter_map(|one| Some(target(&one.path).parent()?.to_owned()));
    folders.collect()
}

fn read_note(memory: &Path, path: &Path) -> Option<SavedOriginal> {
    saved_original(&note_path(memory, path)).filter(|remembered| remembered.path == path)
}

fn saved_original(note: &Path) -> Option<SavedOriginal> {
    let bytes = read_capped(note, LARGEST_WHOLE).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn note_path(memory: &Path, path: &Path) -> PathBuf {
    let name = Revision::of(path.as_os_str().as_encoded_bytes()).to_string();
    memory.join(format!("{}.json", &name[..16]))
}
