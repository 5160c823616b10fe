//! Waits until no other program has a file open for writing.

#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, AsRawFd as _};

/// Waits until no other program has a file open for writing, at most a fifth of a second: a program
/// that opened it before it was displaced may not have written yet. Linux tells by refusing a lease;
/// elsewhere nothing is waited for.
#[cfg(target_os = "linux")]
pub(super) fn wait_for_writers(file: &impl AsFd) {
    use std::time::Duration;

    for _ in 0..40 {
        if !has_writers(file) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn wait_for_writers<T>(_: &T) {}

/// Which signal a lease sends; `libc` does not name it.
#[cfg(target_os = "linux")]
const F_SETSIG: i32 = 10;

/// Whether the system refuses a read lease because somebody has the file open for writing.
#[cfg(target_os = "linux")]
fn has_writers(file: &impl AsFd) -> bool {
    // Sound: the descriptor is open as long as `file` is, and the calls take plain numbers.
    #[allow(unsafe_code)]
    unsafe {
        let file = file.as_fd().as_raw_fd();
        // Who opens the file now makes the system send a signal; this one does nothing.
        libc::fcntl(file, F_SETSIG, libc::SIGURG);
        if libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
            libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
            return false;
        }
    }
    // A file of somebody else, or a file system without leases, refuses in other ways.
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn who_has_a_file_open_for_writing_is_seen() {
        use std::fs::File;

        use super::has_writers;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md");
        let writer = File::create(&path).expect("created");
        let reader = File::open(&path).expect("opened");
        assert!(has_writers(&reader));
        drop(writer);
        let other = File::open(&path).expect("opened");
        assert!(!has_writers(&reader), "a reader is none");
        drop(other);
    }
}
