//! A look at what tome keeps for itself: its directories and its cache. Changes nothing, but a
//! cache that turns out to be damaged is forgotten, as it would be by a search.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::corpus::{Corpus, Part};

/// A directory of tome's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it can be used.
    pub state: FolderState,
    /// How many files are in it, at any depth.
    pub files: u64,
    /// How large they are together.
    pub bytes: u64,
}

/// Whether a directory can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    /// It can be read and written.
    Usable,
    /// It is not there yet, and can be made.
    Missing,
    /// It is not there, and cannot be made.
    Unmakable,
    /// Something else has its name.
    NoFolder,
    /// It cannot be read.
    Unreadable,
    /// It cannot be written.
    ReadOnly,
}

impl FolderState {
    /// A word for it.
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

    /// What is wrong with it, where something is.
    pub fn trouble(self) -> Option<&'static str> {
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
    /// Looks at the directory at `path`.
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
                    match above.is_some_and(|above| above.is_dir() && is_writable(above)) {
                        true => FolderState::Missing,
                        false => FolderState::Unmakable,
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

/// Returns whether something can be written at `path`, without trying.
pub fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// How many files are below a directory, and how large they are.
fn contents(path: &Path) -> (u64, u64) {
    let files = walkdir::WalkDir::new(path).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    let sizes = files.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size))
}

/// What the cache of the logs' text is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// There is none yet.
    Empty,
    /// It can be used.
    Usable {
        /// How many logs it holds.
        logs: usize,
    },
    /// It is of another version, or damaged: it is made anew when it is needed next.
    Useless,
}

impl CacheState {
    /// Looks at the cache in `dir`, every block of it.
    pub fn at(dir: &Path) -> Self {
        if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none()) || !dir.exists() {
            return Self::Empty;
        }
        let Some(corpus) = Corpus::open(dir) else {
            return Self::Useless;
        };
        let sound = Part::ALL.iter().all(|part| {
            let mut blocks = corpus.blocks(*part);
            blocks.all(|block| block.read().is_some())
        });
        match sound {
            true => Self::Usable {
                logs: corpus.logs().len(),
            },
            false => Self::Useless,
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
            crate::core::corpus::BuildOptions {
                threads: 1,
                busy: crate::core::corpus::WhenBusy::Wait,
            },
            &(),
        )
        .expect("it can be built");
        assert_ne!(CacheState::at(temp.path()), CacheState::Useless);
    }
}
