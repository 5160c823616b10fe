//! The directory of the index: tantivy's own, with maps that survive a file that shrinks, and
//! without a wait that has no end.
//!
//! Reading a page beyond the end of a mapped file that another process cut raises a signal (SIGBUS),
//! which would end the program. A handler puts a page of zeros in its place and notes it; whoever
//! reads the index then builds it anew. Faults outside these maps are passed on to the handler that
//! was installed before.

use std::fs;
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use memmap2::Mmap;
use tantivy::HasLen;
use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::core::Error;
use crate::core::disk::foreign::{LARGEST_LOG, open_regular, read_capped};
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

    /// Makes a file readable by its owner only, because logs are private.
    fn restrict(&self, path: &Path) {
        // The folder is private, too.
        drop(private::restrict(&self.root.join(path)));
    }

    /// Returns whether bytes were read that their file no longer has; they are zeros.
    pub(super) fn shrunk(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shrunk)
    }

    fn map(&self, path: &Path) -> io::Result<MappedFile> {
        let file = open_regular(&self.root.join(path)).map_err(|error| match error {
            Error::NotFound { .. } => io::ErrorKind::NotFound.into(),
            other => io::Error::other(other),
        })?;
        if file.metadata()?.len() == 0 {
            return Ok(MappedFile(OwnedBytes::empty()));
        }
        // Sound as long as no process changes these bytes. Only tome writes in its own cache
        // directory, a file of the index is never written again, and one that is no longer used is
        // unlinked. If another program cuts one, the guard takes over.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }?;
        let guard = guard::Guard::new(&map, &self.shrunk)?;
        Ok(MappedFile(OwnedBytes::new(GuardedMap {
            _guard: guard,
            map,
        })))
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.map(path) {
            Ok(file) => Ok(Arc::new(file)),
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
        self.restrict(path);
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

    /// A lock that is waited for protects files that are being opened from being deleted, for a
    /// moment. A stopped process can hold it for good: then it is done without, and a file that
    /// vanishes meanwhile is an error like any other.
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        const PATIENCE: Duration = Duration::from_secs(2);
        const STEP: Duration = Duration::from_millis(5);
        let started = Instant::now();
        // Opening something else, such as a pipe, may block.
        let file = self.root.join(&lock.filepath);
        if fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
            drop(fs::remove_file(&file));
        }
        let attempt = Lock {
            filepath: lock.filepath.clone(),
            is_blocking: false,
        };
        loop {
            match self.files.acquire_lock(&attempt) {
                Err(LockError::LockBusy) if lock.is_blocking => {}
                other => {
                    self.restrict(&lock.filepath);
                    return other;
                }
            }
            if started.elapsed() > PATIENCE {
                return Ok(DirectoryLock::from(Box::new(())));
            }
            std::thread::sleep(STEP);
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

#[derive(Debug)]
struct MappedFile(OwnedBytes);

impl HasLen for MappedFile {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl FileHandle for MappedFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.0.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.0.slice(range))
    }
}

struct GuardedMap {
    // Dropped before the map, so that the handler never sees a range that is not mapped.
    _guard: guard::Guard,
    map: Mmap,
}

impl Deref for GuardedMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

// Sound: the bytes of a map stay where they are when the value is moved.
#[allow(unsafe_code)]
unsafe impl stable_deref_trait::StableDeref for GuardedMap {}

#[allow(unsafe_code)]
mod guard {
    //! The signal handler and the ranges that it guards.

    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};

    use memmap2::Mmap;

    /// A guarded range of addresses; free if `start` is 0, reserved if `end` is 0.
    struct GuardedRange {
        start: AtomicUsize,
        end: AtomicUsize,
        /// What is set when a page is replaced.
        shrunk: AtomicPtr<AtomicBool>,
    }

    /// How many maps can be guarded at a time: about eight for each segment of an open index.
    const RANGES: usize = 4096;
    static GUARDED: [GuardedRange; RANGES] = [const {
        GuardedRange {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            shrunk: AtomicPtr::new(ptr::null_mut()),
        }
    }; RANGES];
    /// Ranges from this one on have never been used.
    static USED: AtomicUsize = AtomicUsize::new(0);
    /// The handler that was installed before; `None` if ours could not be installed.
    static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();
    static PAGE: AtomicUsize = AtomicUsize::new(4096);

    /// Guards a map until it is dropped.
    #[derive(Debug)]
    pub(super) struct Guard {
        range: usize,
        /// The range points to it.
        _shrunk: Arc<AtomicBool>,
    }

    impl Guard {
        /// Returns an error if the map cannot be guarded.
        pub(super) fn new(map: &Mmap, shrunk: &Arc<AtomicBool>) -> io::Result<Self> {
            if BEFORE.get_or_init(install).is_none() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let from = map.as_ptr() as usize;
            for (at, range) in GUARDED.iter().enumerate() {
                let free = (0, from, Ordering::AcqRel, Ordering::Relaxed);
                let taken = range.start.compare_exchange(free.0, free.1, free.2, free.3);
                if taken.is_ok() {
                    USED.fetch_max(at + 1, Ordering::AcqRel);
                    let page = PAGE.load(Ordering::Relaxed);
                    let end = (from + map.len()).next_multiple_of(page);
                    let flag = Arc::as_ptr(shrunk).cast_mut();
                    range.shrunk.store(flag, Ordering::Release);
                    range.end.store(end, Ordering::Release);
                    return Ok(Self {
                        range: at,
                        _shrunk: Arc::clone(shrunk),
                    });
                }
            }
            Err(io::ErrorKind::OutOfMemory.into())
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            GUARDED[self.range].end.store(0, Ordering::Release);
            GUARDED[self.range].start.store(0, Ordering::Release);
        }
    }

    /// Installs the handler and returns the one before.
    fn install() -> Option<libc::sigaction> {
        // Sound: all structures are valid for these calls, and `handle` has the type that
        // `SA_SIGINFO` demands and calls only what a signal handler may call.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE);
            PAGE.store(usize::try_from(page).ok()?, Ordering::Relaxed);
            let mut ours = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                handle;
            ours.sa_sigaction = handler as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut ours.sa_mask);
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            match libc::sigaction(libc::SIGBUS, &ours, before.as_mut_ptr()) {
                0 => Some(before.assume_init()),
                _ => None,
            }
        }
    }

    /// Replaces the page that cannot be read by zeros, if it is in a guarded range.
    extern "C" fn handle(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // Sound: the system passes a valid `info`. The page is replaced only inside a map that is
        // ours, is read-only and is not unmapped while its range is registered.
        unsafe {
            let at = (*info).si_addr() as usize;
            let page = PAGE.load(Ordering::Relaxed);
            for range in &GUARDED[..USED.load(Ordering::Acquire).min(RANGES)] {
                let end = range.end.load(Ordering::Acquire);
                if range.start.load(Ordering::Acquire) <= at && at < end {
                    if let Some(shrunk) = range.shrunk.load(Ordering::Acquire).as_ref() {
                        shrunk.store(true, Ordering::Release);
                    }
                    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                    let start = (at - at % page) as *mut libc::c_void;
                    let zeros = libc::mmap(start, page, libc::PROT_READ, flags, -1, 0);
                    if zeros != libc::MAP_FAILED {
                        return;
                    }
                }
            }
            // Not ours: the handler before is called, or the default action is taken.
            let before = BEFORE.get().and_then(Option::as_ref);
            match before.filter(|before| before.sa_flags & libc::SA_SIGINFO != 0) {
                Some(before) if before.sa_sigaction > libc::SIG_IGN => {
                    let handler: extern "C" fn(
                        libc::c_int,
                        *mut libc::siginfo_t,
                        *mut libc::c_void,
                    ) = std::mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                }
                _ => take_default(),
            }
            // What another process sent does not come again by itself, unlike a fault. Without this
            // the program would go on, and without the guard.
            if (*info).si_code <= 0 {
                take_default();
                libc::raise(signal);
            }
        }
    }

    /// Lets the signal end the program.
    fn take_default() {
        // Sound: a zeroed action is the default one, and the call takes it by reference.
        unsafe {
            let default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            libc::sigaction(libc::SIGBUS, &default, ptr::null_mut());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_file_that_shrinks_under_its_map_reads_as_zeros_and_is_noted() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("file");
        std::fs::write(&path, vec![7; 100_000]).expect("a file");
        let directory = CacheDirectory::open(temp.path()).expect("opens");
        let file = directory.open_read(Path::new("file")).expect("is mapped");
        let bytes = file.read_bytes().expect("is read");
        assert_eq!((bytes[0], bytes[99_999]), (7, 7));
        let open = File::options().write(true).open(&path).expect("opens");
        open.set_len(10).expect("shrinks");
        assert_eq!((bytes[0], bytes[99_999]), (7, 0));
        assert!(directory.shrunk().load(Ordering::Acquire));
    }

    #[test]
    fn a_lock_that_is_never_released_is_not_waited_for_without_an_end() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let directory = CacheDirectory::open(temp.path()).expect("opens");
        let lock = |is_blocking| Lock {
            filepath: "lock".into(),
            is_blocking,
        };
        let _held = directory.acquire_lock(&lock(false)).expect("is free");
        assert!(directory.acquire_lock(&lock(false)).is_err());
        assert!(directory.acquire_lock(&lock(true)).is_ok());
    }
}
