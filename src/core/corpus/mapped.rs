//! Memory maps of files that another process may truncate.
//!
//! Reading a page beyond the end of a file that shrank raises a signal (SIGBUS), which would end
//! the program. A handler puts a page of zeros in its place, and the map reports that it shrank;
//! whoever uses it then rebuilds the cache. Faults outside these maps are passed on to the handler
//! that was installed before.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
#[cfg(unix)]
use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use memmap2::{Mmap, MmapOptions};

/// The bytes of a file.
#[derive(Debug)]
pub(super) struct Mapped {
    // Dropped before the map, so that the handler never sees a range that is not mapped.
    guard: guard::Guard,
    map: Mmap,
    #[cfg(unix)]
    file: File,
    #[cfg(unix)]
    unreleased: Mutex<Unreleased>,
}

impl Mapped {
    /// Maps the first `length` bytes of a file.
    pub(super) fn new(file: File, length: u64) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if file.metadata()?.len() < length as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Sound as long as no process changes these bytes. Only tome writes packs, in its own cache
        // directory: bytes before a manifest's length are never written again, and a pack that is
        // no longer used is unlinked. If another program truncates one, the guard takes over.
        #[allow(unsafe_code)]
        let map = unsafe { MmapOptions::new().len(length).map(&file) }?;
        let guard = guard::Guard::new(&map)?;
        Ok(Self {
            guard,
            map,
            #[cfg(unix)]
            file,
            #[cfg(unix)]
            unreleased: Mutex::default(),
        })
    }

    /// Returns a range without mapping its pages, `None` if it is out of bounds or the file no
    /// longer has it. For a few bytes far from others: reading one of them in the map also loads
    /// the pages around it, which takes longer, and memory.
    #[cfg(unix)]
    pub(super) fn read(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        use std::os::unix::fs::FileExt as _;
        let mut bytes = vec![0; self.map.get(range.clone())?.len()];
        let at = range.start as u64;
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(Cow::Owned(bytes))
    }

    /// Returns a range; `None` if it is out of bounds.
    #[cfg(not(unix))]
    pub(super) fn read(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        self.map.get(range).map(Cow::Borrowed)
    }

    /// Whether bytes were read that the file no longer has; they are zeros.
    pub(super) fn has_shrunk(&self) -> bool {
        self.guard.has_shrunk()
    }

    /// Releases the memory of a range that was read, once it is worthwhile; it can be read again.
    #[cfg(unix)]
    pub(super) fn release(&self, range: Range<usize>) {
        // Reading a byte also loads the pages around it.
        const AROUND: usize = 64 * 1024;
        let mut unreleased = self
            .unreleased
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(range) = unreleased.add(range) else {
            return;
        };
        drop(unreleased);
        let from = range.start - range.start % AROUND;
        let to = range.end.next_multiple_of(AROUND).min(self.map.len());
        // Sound, because the map is of a file, shared and read-only: released pages are read from
        // the file again. If the system refuses, the memory stays in use.
        #[allow(unsafe_code)]
        let _ = unsafe {
            self.map
                .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from)
        };
    }

    /// Does nothing: this system releases memory by itself.
    #[cfg(not(unix))]
    pub(super) fn release(&self, _: Range<usize>) {}
}

/// What was read of a map and can be released. Releasing costs time on all cores, so it is done for
/// as much as possible together; a small file stays in memory.
#[cfg(unix)]
#[derive(Debug, Default)]
struct Unreleased(Range<usize>);

#[cfg(unix)]
impl Unreleased {
    /// Bytes that are worth it.
    const ENOUGH: usize = 2 * 1024 * 1024;

    /// Adds a range, and returns one that is to be released now.
    fn add(&mut self, range: Range<usize>) -> Option<Range<usize>> {
        if range.is_empty() {
            return None;
        }
        if range.len() >= Self::ENOUGH {
            return Some(range);
        }
        if self.0.is_empty() {
            self.0 = range;
            return None;
        }
        let both = self.0.start.min(range.start)..self.0.end.max(range.end);
        if both.len() > self.0.len() + range.len() + Self::ENOUGH {
            // What is between them may be in use.
            return Some(mem::replace(&mut self.0, range));
        }
        self.0 = both;
        (self.0.len() >= Self::ENOUGH).then(|| mem::take(&mut self.0))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(unix)]
#[allow(unsafe_code)]
mod guard {
    //! The signal handler and the ranges that it guards.

    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use memmap2::Mmap;

    /// A guarded range of addresses; free if `start` is 0, reserved if `end` is 0.
    struct Range {
        start: AtomicUsize,
        end: AtomicUsize,
        has_shrunk: AtomicBool,
    }

    /// How many maps can be guarded at a time: thirteen for each open corpus.
    const RANGES: usize = 256;
    static GUARDED: [Range; RANGES] = [const {
        Range {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            has_shrunk: AtomicBool::new(false),
        }
    }; RANGES];
    /// The handler that was installed before; `None` if ours could not be installed.
    static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();
    static PAGE: AtomicUsize = AtomicUsize::new(4096);

    /// Guards a map until it is dropped.
    #[derive(Debug)]
    pub(super) struct Guard(usize);

    impl Guard {
        /// Returns an error if the map cannot be guarded.
        pub(super) fn new(map: &Mmap) -> io::Result<Self> {
            if BEFORE.get_or_init(install).is_none() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let from = map.as_ptr() as usize;
            for (at, range) in GUARDED.iter().enumerate() {
                let taken =
                    range
                        .start
                        .compare_exchange(0, from, Ordering::AcqRel, Ordering::Relaxed);
                if taken.is_ok() {
                    range.has_shrunk.store(false, Ordering::Relaxed);
                    let page = PAGE.load(Ordering::Relaxed);
                    let end = (from + map.len()).next_multiple_of(page);
                    range.end.store(end, Ordering::Release);
                    return Ok(Self(at));
                }
            }
            Err(io::ErrorKind::OutOfMemory.into())
        }

        pub(super) fn has_shrunk(&self) -> bool {
            GUARDED[self.0].has_shrunk.load(Ordering::Acquire)
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            GUARDED[self.0].end.store(0, Ordering::Release);
            GUARDED[self.0].start.store(0, Ordering::Release);
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
    extern "C" fn handle(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // Sound: the system passes a valid `info`. The page is replaced only inside a map that is
        // ours, is read-only and is not unmapped while its range is registered.
        unsafe {
            let at = (*info).si_addr() as usize;
            let page = PAGE.load(Ordering::Relaxed);
            for range in &GUARDED {
                let end = range.end.load(Ordering::Acquire);
                if range.start.load(Ordering::Acquire) <= at && at < end {
                    range.has_shrunk.store(true, Ordering::Release);
                    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                    let start = (at - at % page) as *mut libc::c_void;
                    let zeros = libc::mmap(start, page, libc::PROT_READ, flags, -1, 0);
                    if zeros != libc::MAP_FAILED {
                        return;
                    }
                }
            }
            // Not ours: the instruction is repeated and reaches the handler before ours. The cell
            // is empty only while the handler is being installed, when nothing is mapped yet.
            let default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            let before = BEFORE.get().and_then(Option::as_ref).unwrap_or(&default);
            libc::sigaction(libc::SIGBUS, before, ptr::null_mut());
        }
    }
}

#[cfg(not(unix))]
mod guard {
    //! On this system, a file that is mapped cannot be truncated.

    /// Guards nothing.
    #[derive(Debug)]
    pub(super) struct Guard;

    impl Guard {
        pub(super) fn new(_: &memmap2::Mmap) -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn has_shrunk(&self) -> bool {
            false
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    #[test]
    fn a_file_that_shrinks_under_its_map_reads_as_zeros_and_is_reported() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("pack");
        std::fs::write(&path, vec![7; 100_000]).expect("a file");
        let file = File::options().read(true).write(true).open(&path);
        let file = file.expect("opens");
        let mapped = |length| Mapped::new(file.try_clone().expect("is copied"), length);
        let other = mapped(10).expect("maps");
        let map = mapped(100_000).expect("maps");
        assert!(mapped(100_001).is_err());
        assert_eq!(map.read(99_998..100_000).as_deref(), Some(&[7, 7][..]));
        assert_eq!(map.read(99_998..100_001), None);
        assert_eq!((map[0], map[99_999], map.has_shrunk()), (7, 7, false));
        file.set_len(10).expect("shrinks");
        assert_eq!(map.read(99_998..100_000), None);
        assert_eq!(map[99_999], 0);
        assert!(map.iter().skip(10).all(|byte| *byte == 0));
        assert_eq!((map[0], map.has_shrunk()), (7, true));
        assert!(!other.has_shrunk());
        drop(map);
        // A range that is used again starts without a report.
        file.set_len(100_000).expect("grows");
        assert!(!mapped(100_000).expect("maps").has_shrunk());
    }

    #[test]
    fn what_is_small_is_released_together() {
        let mut unreleased = Unreleased::default();
        assert_eq!(unreleased.add(0..MB), None);
        assert_eq!(unreleased.add(5..5), None);
        assert_eq!(unreleased.add(MB + 9..MB + 99), None);
        assert_eq!(unreleased.add(MB..2 * MB), Some(0..2 * MB));
        assert_eq!(unreleased.add(MB..MB + 9), None);
    }

    #[test]
    fn what_is_far_apart_or_large_is_released_alone() {
        let mut unreleased = Unreleased::default();
        assert_eq!(unreleased.add(0..9), None);
        assert_eq!(unreleased.add(9 * MB..9 * MB + 9), Some(0..9));
        assert_eq!(unreleased.add(0..5 * MB), Some(0..5 * MB));
        assert_eq!(unreleased.add(0..9), Some(9 * MB..9 * MB + 9));
    }
}
