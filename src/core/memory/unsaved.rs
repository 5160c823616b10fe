//! Text that was typed and not saved: kept in the data directory, so that a crash loses nothing.
//!
//! While a process has a text open it holds a lock beside it; a text without a lock was left
//! by a process that died, and is offered again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::core::disk::foreign::{LARGEST_WHOLE, read_capped};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::StoreId;
use crate::core::{Error, Result};

/// A text that is not saved to its file yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsaved {
    /// The store's root.
    pub root: PathBuf,
    /// The store's layout.
    pub layout: Layout,
    /// The file's reference inside the store.
    pub path: String,
    /// The file's content when it was opened; `None` for a new file.
    pub base: Option<String>,
    /// The text as edited.
    pub text: String,
    /// When the text was kept, in milliseconds since 1970.
    pub time: i64,
}

impl Unsaved {
    /// Returns the store of the file.
    pub fn store(&self) -> StoreId {
        StoreId::new(&self.root, self.layout)
    }

    /// Whether both texts belong to the same file.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (&self.root, self.layout, &self.path) == (&other.root, other.layout, &other.path)
    }

    fn name(&self) -> String {
        let place = format!("{}\n{}", self.root.display(), self.path);
        Revision::of(place.as_bytes()).to_string()[..32].to_owned()
    }
}

/// The unsaved texts in tome's data directory.
#[derive(Debug)]
pub struct UnsavedStore {
    dir: PathBuf,
    locks: HashMap<String, File>,
}

impl UnsavedStore {
    /// Opens the texts in `dir`, which is created with the first text.
    pub fn open(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            locks: HashMap::new(),
        }
    }

    /// Writes a text, replacing an earlier one for the same file.
    pub fn keep(&mut self, text: &Unsaved) -> Result<()> {
        let name = text.name();
        if !self.locks.contains_key(&name) {
            private::create_dir(&self.dir).map_err(|e| Error::io(&self.dir, e))?;
            if let Some(lock) = self.lock(&name)? {
                self.locks.insert(name.clone(), lock);
            }
        }
        let file = format!("{name}.json");
        let bytes =
            serde_json::to_vec(text).map_err(|e| Error::io(self.dir.join(&file), e.into()))?;
        private::write_whole(&self.dir, &file, &bytes)
    }

    /// Deletes a text that was saved or discarded. A missing file is ignored.
    pub fn forget(&mut self, text: &Unsaved) -> Result<()> {
        let name = text.name();
        self.locks.remove(&name);
        for ending in ["json", "lock"] {
            let path = self.dir.join(format!("{name}.{ending}"));
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Error::io(path, e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the texts of processes that have ended, oldest first.
    pub fn abandoned(&self) -> Vec<Unsaved> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let mut found: Vec<Unsaved> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|e| e == "json"))
            .filter_map(|entry| {
                let bytes = read_capped(&entry.path(), LARGEST_WHOLE).ok()?;
                serde_json::from_slice(&bytes).ok()
            })
            .filter(|text: &Unsaved| matches!(self.lock(&text.name()), Ok(Some(_))))
            .collect();
        found.sort_by_key(|text| text.time);
        found
    }

    /// Locks a text; `None` if a running process holds the lock.
    fn lock(&self, name: &str) -> Result<Option<File>> {
        let path = self.dir.join(format!("{name}.lock"));
        let file = private::open_write(&path).map_err(|e| Error::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(e)) => Err(Error::io(&path, e)),
        }
    }
}

/// The beginning of the names of the folders of [`EditorCopy`].
const LOAN: &str = "loan-";

/// How long the copy of a process that was killed is kept, because it may have the only edits.
const ABANDONED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Removes the copies in `dir` that killed processes left long ago.
fn sweep(dir: &Path, now: SystemTime) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let files = fs::read_dir(&path).into_iter().flatten().flatten();
        let is_old = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age > ABANDONED);
        let times = files.chain([entry]).map(|file| file.metadata()?.modified());
        let is_loan = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(LOAN));
        if is_loan
            && path.is_dir()
            && times
                .collect::<io::Result<Vec<_>>>()
                .is_ok_and(|times| times.into_iter().all(is_old))
        {
            // The next copy tries again.
            drop(fs::remove_dir_all(path));
        }
    }
}

/// A copy of a text for an external editor, outside every store; deleted when dropped.
#[derive(Debug)]
pub struct EditorCopy {
    dir: PathBuf,
    file: PathBuf,
}

impl EditorCopy {
    /// Creates the copy in `dir`, with the file name of the original.
    pub fn create(dir: &Path, name: &str, text: &str) -> Result<Self> {
        let name = name.rsplit('/').next().unwrap_or(name);
        let own = private::create_unique_dir(dir, LOAN).map_err(|e| Error::io(dir, e))?;
        let file = own.join(name);
        let made = private::create_file(&file).and_then(|mut made| {
            made.write_all(text.as_bytes())?;
            made.metadata()?.modified()
        });
        sweep(dir, made.map_err(|e| Error::io(&file, e))?);
        Ok(Self { dir: own, file })
    }

    /// Keeps the copy and returns its path, which no later copy has.
    pub fn keep(self) -> PathBuf {
        let bytes = read_capped(&self.file, LARGEST_WHOLE).unwrap_or_default();
        let name = format!("kept-{}", &Revision::of(&bytes).to_string()[..12]);
        let place = self.dir.with_file_name(name);
        match fs::rename(&self.dir, &place) {
            Ok(()) => place.join(self.file.file_name().unwrap_or_default()),
            Err(_) => {
                let file = self.file.clone();
                std::mem::forget(self);
                file
            }
        }
    }

    /// Returns the path of the copy.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Returns the text as the editor left it.
    pub fn text(&self) -> Result<String> {
        let bytes = read_capped(&self.file, LARGEST_WHOLE)?;
        String::from_utf8(bytes).map_err(|e| Error::NotText {
            path: self.file.clone(),
            offset: e.utf8_error().valid_up_to(),
        })
    }
}

impl Drop for EditorCopy {
    fn drop(&mut self) {
        // A copy that cannot be removed is in tome's own directory and does no harm.
        drop(fs::remove_dir_all(&self.dir));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Unsaved {
        Unsaved {
            root: PathBuf::from("/r"),
            layout: Layout::Index,
            path: "a.md".to_owned(),
            base: None,
            text: text.to_owned(),
            time: 1,
        }
    }

    #[test]
    fn a_text_is_offered_only_when_nobody_has_it_open() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let mut one = UnsavedStore::open(temp.path());
        one.keep(&text("x")).expect("keeps");
        one.keep(&text("xy")).expect("keeps");
        let other = UnsavedStore::open(temp.path());
        assert_eq!(other.abandoned(), []);
        drop(one);
        assert_eq!(other.abandoned(), [text("xy")]);
        let mut third = UnsavedStore::open(temp.path());
        third.forget(&text("")).expect("forgets");
        assert_eq!(third.abandoned(), []);
    }

    #[test]
    fn nobody_else_can_look_into_what_is_not_saved() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path().join("unsaved");
        let copy = EditorCopy::create(&dir, "a.md", "x").expect("makes");
        let mut unsaved_store = UnsavedStore::open(&dir);
        unsaved_store.keep(&text("x")).expect("keeps");
        assert_eq!(fs::read_dir(&dir).expect("reads").count(), 3);
        assert!(private::open_below(&dir).is_empty());
        drop(copy);
    }

    #[test]
    fn copies_for_editors_are_unique_and_those_left_long_ago_are_swept() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let left = |name: &str, days: u64| {
            let path = temp.path().join(name);
            fs::create_dir(&path).expect("a folder");
            let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            for path in [path.join("a.md"), path] {
                if path.extension().is_some() {
                    fs::write(&path, "x").expect("a file");
                }
                let opened = File::open(&path).and_then(|file| file.set_modified(time));
                opened.expect("a time");
            }
        };
        left("loan-1", 31);
        left("loan-2", 29);
        left("other", 31);
        let one = EditorCopy::create(temp.path(), "a.md", "x").expect("makes");
        let two = EditorCopy::create(temp.path(), "a.md", "y").expect("makes");
        assert_ne!(one.path(), two.path());
        assert_eq!(one.text().expect("reads"), "x");
        let there = |name: &str| temp.path().join(name).exists();
        assert_eq!(
            ["loan-1", "loan-2", "other"].map(there),
            [false, true, true]
        );
    }

    #[test]
    fn an_editor_copy_is_removed_when_dropped() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let copy = EditorCopy::create(temp.path(), "detail/a.md", "x").expect("makes");
        assert!(copy.path().ends_with("a.md"));
        fs::write(copy.path(), "y").expect("edits");
        assert_eq!(copy.text().expect("reads"), "y");
        let path = copy.path().to_owned();
        drop(copy);
        assert!(!path.exists());
    }

    #[test]
    fn a_copy_that_is_kept_survives_the_next_one() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let copy = EditorCopy::create(temp.path(), "a.md", "x").expect("makes");
        fs::write(copy.path(), b"\xff not text").expect("edits");
        assert!(copy.text().is_err());
        let kept = copy.keep();
        drop(EditorCopy::create(temp.path(), "a.md", "y").expect("makes"));
        assert_eq!(fs::read(&kept).expect("kept"), b"\xff not text");
    }
}
