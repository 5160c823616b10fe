//! A log of errors inside tome itself, such as panics, in its data directory; and which panics are not
//! such errors, because they are expected and caught.

use std::cell::Cell;
use std::fs;
use std::io::Write as _;
use std::panic;
use std::path::{Path, PathBuf};

use crate::core::disk::private;
use crate::core::{Error, Result};

/// The size in bytes at which the log is truncated.
const LARGEST: u64 = 256 * 1024;

/// The log; its file is created when the first line is added.
#[derive(Debug, Clone)]
pub struct FaultLog {
    path: PathBuf,
}

impl FaultLog {
    /// Returns the log in this file.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line.
    pub fn add(&self, line: &str) -> Result<()> {
        // The file is private, because a line may quote the user's data.
        let is_full = fs::metadata(&self.path).is_ok_and(|meta| meta.len() > LARGEST);
        private::create_dir(self.path.parent().unwrap_or(Path::new(".")))
            .and_then(|()| {
                if is_full {
                    private::create_file(&self.path)
                } else {
                    private::open_append(&self.path)
                }
            })
            .and_then(|mut file| writeln!(file, "{line}"))
            .map_err(|e| Error::io(&self.path, e))
    }
}

thread_local! {
    static EXPECTED: Cell<usize> = const { Cell::new(0) };
}

/// While this value exists, panics of its thread are expected, see [`expect_panics`].
pub(in crate::core) struct ExpectedPanics(());

/// Declares that panics of this thread are expected until the returned value is dropped: the caller
/// catches them, because damaged files make a library panic.
pub(in crate::core) fn expect_panics() -> ExpectedPanics {
    EXPECTED.set(EXPECTED.get() + 1);
    ExpectedPanics(())
}

impl Drop for ExpectedPanics {
    fn drop(&mut self) {
        EXPECTED.set(EXPECTED.get() - 1);
    }
}

/// Whether a panic of this thread is expected and needs no report.
pub fn is_panic_expected() -> bool {
    EXPECTED.get() > 0
}

/// Keeps expected panics from being printed.
pub fn hide_expected_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !is_panic_expected() {
            before(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_grows_by_lines_and_not_without_bound() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let log = FaultLog::new(&temp.path().join("a/b.log"));
        log.add("one").expect("adds");
        log.add("two").expect("adds");
        let text = || fs::read_to_string(log.path()).expect("there");
        assert_eq!(text(), "one\ntwo\n");
        let long = "x".repeat(usize::try_from(LARGEST).expect("fits"));
        log.add(&long).expect("adds");
        log.add("three").expect("adds");
        assert_eq!(text(), "three\n");
    }
}
