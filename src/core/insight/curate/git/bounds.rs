//! How much of a git history is read and held. A repository of a few megabytes can tell of
//! millions of paths.

/// The limits of one history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The bytes that are read of one output of git, and kept in the cache.
    pub(crate) read: usize,
    /// The bytes that are held of paths and commits.
    pub(crate) held: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read: 24 << 20,
            held: 80 << 20,
        }
    }
}

/// What of a history is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The tracked files. Nothing is known, because a path is gone only if it is not tracked.
    Files,
    /// The older part of the log.
    Log,
    /// Everything: git did not answer in time.
    Late,
}

/// What may still be held.
#[derive(Debug)]
pub(super) struct Budget(pub(super) usize);

/// The memory for a text apart from its bytes: its length and place, and its slot in a table.
const PER_TEXT: usize = 64;

impl Budget {
    /// Whether a text of this length may be held; if so, it counts.
    pub(super) fn hold(&mut self, length: usize) -> bool {
        let left = self.0.checked_sub(length + PER_TEXT);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Paths, sorted by their last characters: those with the same end are neighbours.
#[derive(Debug, Default)]
pub(super) struct PathEnds(Vec<Box<str>>);

impl PathEnds {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut all: Vec<Box<str>> = paths.map(Box::from).collect();
        all.sort_unstable_by(|a, b| a.bytes().rev().cmp(b.bytes().rev()));
        Self(all)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    pub(super) fn contains(&self, path: &str) -> bool {
        let found = self.0.binary_search_by(|known| {
            let known = known.bytes().rev();
            known.cmp(path.bytes().rev())
        });
        found.is_ok()
    }

    /// Whether a path is `end`, or ends with it after a `/`.
    pub(super) fn has_end(&self, end: &str) -> bool {
        let below = format!("/{end}");
        let at = self
            .0
            .partition_point(|known| known.bytes().rev().lt(below.bytes().rev()));
        self.contains(end) || self.0.get(at).is_some_and(|path| path.ends_with(&below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_by_its_end_after_a_separator() {
        let paths = [
            "src/a.rs",
            "lib/src/a.rs",
            "b.rs",
            "x/cb.rs",
            "src/lib/a.rs",
        ];
        let ends = PathEnds::new(paths.into_iter());
        for path in paths {
            assert!(ends.contains(path) && ends.has_end(path), "{path}");
        }
        assert!(ends.has_end("a.rs") && ends.has_end("lib/a.rs") && ends.has_end("cb.rs"));
        assert!(!ends.contains("a.rs") && !ends.contains("rs"));
        assert!(!ends.has_end("rc/a.rs") && !ends.has_end(".rs") && !ends.has_end("x"));
        assert!(!PathEnds::default().has_end("a"));
    }
}
