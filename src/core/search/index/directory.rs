//! The directory of the index: tantivy's own, with maps that survive a file that shrinks, and without
//! its locks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::core::Error;
use crate::core::disk::foreign::{LARGEST_LOG, read_capped};
use crate::core::disk::mapped::MappedFile;
use crate::core::disk::private;

/// The directory of the index.
#[derive(Debug, Clone)]
pub(super) struct CacheDirectory {
    root: PathBuf,
    files: MmapDirectory,
    shrunk: Arc<AtomicBool>,
}

impl CacheDirectory {
    pub(super) fn open(root: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            root: root.to_owned(),
            files: MmapDirectory::open(root)?,
            shrunk: Arc::default(),
        })
    }

    /// Returns whether bytes were read that their file no longer has; they are zeros.
    pub(super) fn shrunk(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shrunk)
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match MappedFile::map(&self.root.join(path), &self.shrunk) {
            Ok(Some(map)) => Ok(Arc::new(OwnedBytes::new(map))),
            Ok(None) => Ok(Arc::new(OwnedBytes::empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let opened = self.files.open_write(path)?;
        // Logs are private; the folder is, too.
        drop(private::restrict(&self.root.join(path)));
        Ok(opened)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        read_capped(&self.root.join(path), LARGEST_LOG).map_err(|error| match error {
            Error::NotFound { .. } => OpenReadError::FileDoesNotExist(path.to_owned()),
            other => OpenReadError::wrap_io_error(io::Error::other(other), path.to_owned()),
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.files.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    /// The lock of the build keeps other writers away. Whoever opens files that are being deleted tries
    /// again, and need not wait for a process that was stopped.
    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}
