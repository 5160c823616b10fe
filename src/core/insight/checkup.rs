//! Checks of tome's own directories and its cache. Nothing is changed, except that a damaged
//! cache is discarded, as a search would do.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::core::search::index::Corpus;

/// One of tome's own directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The path.
    pub path: PathBuf,
    /// Whether it can be used.
    pub state: FolderState,
    /// The number of files in it, at any depth.
    pub files: u64,
    /// The total size of the files.
    pub bytes: u64,
}

/// Whether a directory can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    /// It can be read and written.
    Usable,
    /// It does not exist, and can be created.
    Missing,
    /// It does not exist, and cannot be created.
    Unmakable,
    /// The path is not a directory.
    NoFolder,
    /// It cannot be read.
    Unreadable,
    /// It cannot be written.
    ReadOnly,
}

impl FolderState {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::Missing => "missing",
            Self::Unmakable => "unmakable",
            Self::NoFolder => "no-folder",
            Self::Unreadable => "unreadable",
            Self::ReadOnly => "read-only",
        }
    }

    /// Returns what is wrong, if anything is.
    pub fn problem(self) -> Option<&'static str> {
        match self {
            Self::Usable | Self::Missing => None,
            Self::Unmakable => Some("is not there and cannot be made"),
            Self::NoFolder => Some("is no directory"),
            Self::Unreadable => Some("cannot be read"),
            Self::ReadOnly => Some("cannot be written"),
        }
    }
}

impl Folder {
    /// Checks the directory at `path`.
    pub fn at(path: &Path) -> Self {
        let found = fs::metadata(path);
        let (files, bytes) = contents(path);
        Self {
            path: path.to_owned(),
            state: match found {
                Ok(found) if !found.is_dir() => FolderState::NoFolder,
                Ok(_) if fs::read_dir(path).is_err() => FolderState::Unreadable,
                Ok(_) if !is_writable(path) => FolderState::ReadOnly,
                Ok(_) => FolderState::Usable,
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    let above = path.ancestors().find(|above| above.exists());
                    if above.is_some_and(|above| above.is_dir() && is_writable(above)) {
                        FolderState::Missing
                    } else {
                        FolderState::Unmakable
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::NotADirectory => FolderState::Unmakable,
                Err(_) => FolderState::Unreadable,
            },
            files,
            bytes,
        }
    }
}

/// Returns whether `path` may be written, without trying.
pub fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns the number and total size of the files below a directory.
fn contents(path: &Path) -> (u64, u64) {
    let files = walkdir::WalkDir::new(path).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    let sizes = files.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size))
}

/// The state of the cache of the logs' text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// There is no cache yet.
    Empty,
    /// It can be used.
    Usable {
        /// The number of logs in it.
        logs: usize,
    },
    /// It is damaged or from another version: the next use rebuilds it.
    Useless,
}

impl CacheState {
    /// Checks the cache in `dir`, including the checksum of every file.
    pub fn at(dir: &Path) -> Self {
        if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none()) || !dir.exists() {
            return Self::Empty;
        }
        let Some(corpus) = Corpus::open(dir) else {
            return Self::Useless;
        };
        if corpus.verify() {
            Self::Usable {
                logs: corpus.logs().len(),
            }
        } else {
            Self::Useless
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_counted_and_one_that_is_none_is_told() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(temp.path().join("a")).expect("a folder");
        fs::write(temp.path().join("a/b"), "12345").expect("a file");
        let folder = Folder::at(temp.path());
        assert_eq!(
            (folder.state, folder.files, folder.bytes),
            (FolderState::Usable, 1, 5)
        );
        for (path, state) in [
            ("a/b", FolderState::NoFolder),
            ("a/c/d", FolderState::Missing),
            ("a/b/c", FolderState::Unmakable),
        ] {
            assert_eq!(Folder::at(&temp.path().join(path)).state, state, "{path}");
        }
    }

    #[test]
    fn a_cache_is_empty_or_useless_before_it_was_built() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(CacheState::at(&temp.path().join("none")), CacheState::Empty);
        assert_eq!(CacheState::at(temp.path()), CacheState::Empty);
        fs::write(temp.path().join("catalogue"), "something else").expect("a file");
        assert_eq!(CacheState::at(temp.path()), CacheState::Useless);
        let temp = tempfile::tempdir().expect("a temporary directory");
        Corpus::refresh(
            temp.path(),
            &[],
            crate::core::search::index::ReadResults::Now,
            &(),
        )
        .expect("it can be built");
        assert_ne!(CacheState::at(temp.path()), CacheState::Useless);
    }
}
