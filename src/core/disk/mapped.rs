//! Maps of files that survive a file that shrinks.
//!
//! Reading a page beyond the end of a mapped file that another process cut raises a signal (SIGBUS),
//! which would end the program. A handler puts a page of zeros in its place and notes it; whoever
//! reads the map then knows that it is damaged. Faults outside these maps are passed on to the handler
//! that was installed before.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;

use crate::core::Error;
use crate::core::disk::foreign::open_regular;

/// A file that is mapped into memory.
#[derive(Debug)]
pub(crate) struct MappedFile {
    // Dropped before the map, so that the handler never sees a range that is not mapped.
    _guard: Guard,
    map: Mmap,
}

impl MappedFile {
    /// Maps a file that no process changes, such as one of a cache that is written once; `None` if it is
    /// empty. If another program cuts it all the same, what is missing reads as zeros, and `shrunk` is
    /// set.
    pub(crate) fn map(path: &Path, shrunk: &Arc<AtomicBool>) -> io::Result<Option<Self>> {
        let file = open_regular(path).map_err(|error| match error {
            Error::NotFound { .. } => io::ErrorKind::NotFound.into(),
            other => io::Error::other(other),
        })?;
        if file.metadata()?.len() == 0 {
            return Ok(None);
        }
        // Sound as long as no process changes these bytes, see above.
        let map = unsafe { Mmap::map(&file) }?;
        let guard = Guard::new(&map, shrunk)?;
        Ok(Some(Self { _guard: guard, map }))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

// Sound: the bytes of a map stay where they are when the value is moved.
unsafe impl stable_deref_trait::StableDeref for MappedFile {}

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
struct Guard {
    range: usize,
    /// The range points to it.
    _shrunk: Arc<AtomicBool>,
}

impl Guard {
    /// Returns an error if the map cannot be guarded.
    fn new(map: &Mmap, shrunk: &Arc<AtomicBool>) -> io::Result<Self> {
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
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
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
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
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
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(before.sa_sigaction);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrinks_under_its_map_reads_as_zeros_and_is_noted() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("file");
        std::fs::write(&path, vec![7; 100_000]).expect("a file");
        let shrunk = Arc::default();
        let map = MappedFile::map(&path, &shrunk).expect("is mapped");
        let bytes = map.expect("is not empty");
        assert_eq!((bytes[0], bytes[99_999]), (7, 7));
        let open = std::fs::File::options()
            .write(true)
            .open(&path)
            .expect("opens");
        open.set_len(10).expect("shrinks");
        assert_eq!((bytes[0], bytes[99_999]), (7, 0));
        assert!(shrunk.load(Ordering::Acquire));
    }
}
