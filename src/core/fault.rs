//! A log of errors inside tome itself, such as panics, in its data directory.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Error, Result};

/// The size at which the log starts anew.
const LARGEST: u64 = 256 * 1024;

/// The log; its file is made when something is added.
#[derive(Debug, Clone)]
pub struct FaultLog {
    path: PathBuf,
}

impl FaultLog {
    /// The log in this file.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    pub fn add(&self, line: &str) -> Result<()> {
        let is_full = fs::metadata(&self.path).is_ok_and(|meta| meta.len() > LARGEST);
        let mut folder = DirBuilder::new();
        folder.recursive(true);
        let mut file = OpenOptions::new();
        file.create(true);
        match is_full {
            true => file.write(true).truncate(true),
            false => file.append(true),
        };
        #[cfg(unix)]
        {
            // What was worked on may be quoted in it.
            use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
            folder.mode(0o700);
            file.mode(0o600);
        }
        let parent = self.path.parent().unwrap_or(Path::new("."));
        folder
            .create(parent)
            .and_then(|()| file.open(&self.path))
            .and_then(|mut file| writeln!(file, "{line}"))
            .map_err(|e| Error::io(&self.path, e))
    }
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
