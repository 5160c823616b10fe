//! The errors of the core, grouped by what a caller can do about them.
//!
//! Every variant names the file. `Display` gives the general text; a layout with a text of its own
//! provides it in [`crate::core::memory::layout`].

use std::io;
use std::path::PathBuf;

use crate::core::disk::revision::Revision;

/// The result of a core operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a core operation; nothing was changed unless it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file, entry or version.
    #[error("{path} not found")]
    NotFound {
        /// The requested path, as the caller wrote it.
        path: String,
    },
    /// The path is absolute, climbs out of the root, or leads out through a link.
    #[error("Path escapes memory directory: {path}")]
    Escapes {
        /// The path as the caller wrote it.
        path: String,
    },
    /// The layout or the state of the file does not allow the operation.
    #[error("{path}: {reason}")]
    Refused {
        /// The file, as the caller named it.
        path: String,
        /// The reason, and what to do instead.
        reason: String,
    },
    /// The text to replace does not occur.
    #[error("String not found in {path}")]
    TextMissing {
        /// The file that was searched.
        path: String,
    },
    /// The text to replace occurs more than once.
    #[error("String appears multiple times in {path} — provide more context to make it unique")]
    TextRepeated {
        /// The file that was searched.
        path: String,
    },
    /// A memory type that the layout does not have.
    #[error("Invalid type '{given}'. Must be one of: {allowed}")]
    BadType {
        /// The type that the caller gave.
        given: String,
        /// The allowed names, comma-separated.
        allowed: String,
    },
    /// The file has changed since the caller read it.
    #[error(
        "{} {} since it was read; read it again and repeat the change (tome history -p shows what was changed, tome restore brings a whole version back)",
        .0.path,
        if .0.theirs.is_some() { "has changed" } else { "was deleted" }
    )]
    Conflict(Box<Conflict>),
    /// The content breaks the rules of its format.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what to do.
        message: String,
    },
    /// The file is not UTF-8 text; it is left as it is.
    #[error(
        "{}: not UTF-8 text (byte {offset}); convert it to UTF-8 to edit it as a whole",
        path.display()
    )]
    NotText {
        /// The file.
        path: PathBuf,
        /// The offset of the first invalid byte.
        offset: usize,
    },
    /// Another process holds the store's lock for too long.
    #[error(
        "{}: {holder} is changing it; waited {seconds} s. Try again when it is done, or end that process",
        store.display()
    )]
    Busy {
        /// The store, or the history's directory.
        store: PathBuf,
        /// The process that holds the lock, with its pid if known.
        holder: String,
        /// How long the lock was waited for.
        seconds: u64,
    },
    /// A version in the history cannot be read.
    #[error(
        "{}: version {} {state}, so nothing was done with it; `tome doctor` tells what else is",
        path.display(),
        short(revision)
    )]
    Damaged {
        /// The file that contains it, or should.
        path: PathBuf,
        /// The version.
        revision: Revision,
        /// What is wrong with it.
        state: &'static str,
    },
    /// The operating system returned an error.
    #[error("{}: {}", path.display(), format_io_error(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Both sides of a conflict, so that they can be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The file, relative to its store.
    pub path: String,
    /// The content that the caller read; `None` if the file did not exist.
    pub base: Option<Vec<u8>>,
    /// The content that the caller wants to write; `None` for a deletion.
    pub mine: Option<Vec<u8>>,
    /// The current content; `None` if the file was deleted.
    pub theirs: Option<Vec<u8>>,
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }

    /// What is wrong, without the file where the text would begin with it.
    pub fn reason(&self) -> String {
        match self {
            Self::Refused { reason, .. } => reason.clone(),
            Self::Io { source, .. } => format_io_error(source),
            other => other.to_string(),
        }
    }

    /// An [`Error::NotFound`] for `path`.
    pub fn not_found(path: impl Into<String>) -> Self {
        Self::NotFound { path: path.into() }
    }

    /// An [`Error::Refused`] for `path`.
    pub fn refused(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// The first 12 digits of a revision, enough to identify it.
fn short(revision: &Revision) -> String {
    revision.to_string()[..12].to_owned()
}

/// The system's message, replaced by advice for common errors.
fn format_io_error(source: &io::Error) -> String {
    use io::ErrorKind as Kind;
    let advice = match source.kind() {
        Kind::PermissionDenied => "permission denied; check the owner and mode",
        Kind::StorageFull | Kind::QuotaExceeded => {
            "no space left on the disk; free some and try again"
        }
        Kind::IsADirectory => "is a directory; name a file",
        Kind::NotADirectory => "a part of the path is a file, not a directory",
        Kind::ReadOnlyFilesystem => "the file system is read-only",
        Kind::InvalidFilename => "the name is too long or not valid; choose a shorter one",
        _ => return source.to_string(),
    };
    advice.to_owned()
}
