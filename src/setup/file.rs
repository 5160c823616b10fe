//! Settings files: read whole, replaced whole, and what they were remembered.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Step;
use crate::core::memory::Revision;
use crate::core::{Error, Result};

/// The text of a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|e| Error::NotText {
                path: path.to_owned(),
                offset: e.utf8_error().valid_up_to(),
            }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(path, e)),
    }
}

/// Replaces a file, mode kept and links followed; `None` takes it away with the folders that
/// are empty then.
pub(super) fn write(path: &Path, text: Option<&str>) -> Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    let Some(text) = text else {
        fs::remove_file(&target).map_err(|e| Error::io(&target, e))?;
        // The folder that was made for it; one that holds more is kept by the system.
        drop(fs::remove_dir(folder));
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temp = folder.join(format!(".{name}.tome-{}", std::process::id()));
    let written = fs::File::create(&temp).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&target) {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&temp, &target));
    replaced.map_err(|e| {
        // What could not be put in place is not left lying about.
        drop(fs::remove_file(&temp));
        Error::io(&target, e)
    })
}

/// What a file was before tome was put in.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    before: Option<String>,
    after: Revision,
}

/// Remembers what a file is before a step is taken.
pub(super) fn remember(memory: &Path, step: &Step) -> Result<()> {
    let note = note(memory, &step.path);
    let after = Revision::of(step.after.as_deref().unwrap_or_default().as_bytes());
    // A second step on top of the first must not forget what was there at the very start.
    let before = match recalled(memory, &step.path, step.before.as_deref()) {
        Some(first) => first,
        None => step.before.clone(),
    };
    let remembered = Remembered {
        path: step.path.clone(),
        before,
        after,
    };
    fs::create_dir_all(memory).map_err(|e| Error::io(memory, e))?;
    let bytes = serde_json::to_vec(&remembered).map_err(|e| Error::io(&note, e.into()))?;
    fs::write(&note, bytes).map_err(|e| Error::io(&note, e))
}

/// What a file was before tome was put in, if nobody has changed it since.
pub(super) fn recalled(memory: &Path, path: &Path, now: Option<&str>) -> Option<Option<String>> {
    let bytes = fs::read(note(memory, path)).ok()?;
    let remembered: Remembered = serde_json::from_slice(&bytes).ok()?;
    let same = remembered.after == Revision::of(now?.as_bytes());
    (same && remembered.path == path).then_some(remembered.before)
}

pub(super) fn forget(memory: &Path, path: &Path) {
    // What was never remembered is forgotten already.
    drop(fs::remove_file(note(memory, path)));
}

fn note(memory: &Path, path: &Path) -> PathBuf {
    let name = Revision::of(path.as_os_str().as_encoded_bytes()).to_string();
    memory.join(format!("{}.json", &name[..16]))
}
