//! Finds what has changed since the last manifest.
//!
//! A listed log counts as unchanged if its size and modification time are those in the
//! manifest: its file is not opened. Whether a changed log has only grown is checked when
//! it is read.

use std::collections::HashSet;
use std::ffi::OsStr;

use super::manifest::{LogRow, Manifest};
use super::{ReadResults, log_view};
use crate::core::log::LogFile;
use crate::core::text::{NumberMap, NumberSet};

/// A log to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    /// Its index in the list.
    pub(super) listed: usize,
    /// Its old row.
    pub(super) row: Option<usize>,
    /// Whether its results are read.
    pub(super) with_results: bool,
}

/// What must be done to bring the corpus up to date with a list of logs.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The rows of unchanged logs; those that are not listed come last.
    pub(super) keep: Vec<usize>,
    /// The number of rows in `keep` that are listed.
    pub(super) listed: usize,
    /// The logs to read.
    pub(super) read: Vec<Task>,
    /// The number of rows of logs that no longer exist.
    gone: usize,
}

impl Plan {
    /// Compares the manifest with the logs that were found.
    ///
    /// A log that is not listed is kept if its file exists, so that a caller that lists only
    /// some of the logs does not discard the others.
    pub(super) fn new(manifest: Option<&Manifest>, logs: &[LogFile], results: ReadResults) -> Self {
        let mut plan = Self::default();
        let known = manifest.map_or(&[][..], |manifest| &manifest.logs);
        let have_all = !known.is_empty() && known.iter().all(|row| row.has_results);
        let task = |listed: usize, row: Option<(usize, &LogRow)>| Task {
            listed,
            row: row.map(|(row, _)| row),
            with_results: results == ReadResults::Now
                || row.map_or(have_all, |(_, row)| row.has_results),
        };
        let mut rows = KnownRows::new(manifest);
        // Those without a row; a log with one is listed twice if its row is taken already.
        let mut new = NumberSet::default();
        for (at, log) in logs.iter().enumerate() {
            let key = (
                log.agent as u32,
                log.path.as_os_str().as_encoded_bytes(),
                log.id.as_bytes(),
            );
            match rows.take(key) {
                Taken::Now(row, old) => {
                    let task = task(at, Some((row, old)));
                    if old.stamp() == (log.size, log.modified)
                        && task.with_results == old.has_results
                    {
                        plan.keep.push(row);
                    } else {
                        plan.read.push(task);
                    }
                }
                Taken::Never if new.insert(key) => plan.read.push(task(at, None)),
                Taken::Before | Taken::Never => {}
            }
        }
        plan.listed = plan.keep.len();
        let mut listed: Option<HashSet<&[u8]>> = None;
        for (row, path) in rows.left() {
            let listed = listed.get_or_insert_with(|| {
                let paths = logs.iter().map(|log| log.path.as_os_str());
                paths.map(OsStr::as_encoded_bytes).collect()
            });
            if !listed.contains(path) && log_view::path_of(path).exists() {
                plan.keep.push(row);
            } else {
                plan.gone += 1;
            }
        }
        plan
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.read.is_empty() && self.gone == 0
    }

    /// Returns the rows of the listed logs; changed logs are in their old state.
    pub(super) fn shown_rows(&self) -> Vec<usize> {
        let old = self.read.iter().filter_map(|task| task.row);
        self.keep[..self.listed]
            .iter()
            .copied()
            .chain(old)
            .collect()
    }
}

/// The agent, the path and the id of a log.
type LogKey<'a> = (u32, &'a [u8], &'a [u8]);

/// The rows of a manifest, which are taken by the logs that they are of.
///
/// Most rows are in the order of the list, so that the next one is mostly that of the next log.
struct KnownRows<'a> {
    manifest: Option<&'a Manifest>,
    is_taken: Vec<bool>,
    /// The first row that may not be taken, and the one behind that which was taken last.
    next: [usize; 2],
    /// All rows by their keys, once they are needed.
    by_key: Option<NumberMap<LogKey<'a>, usize>>,
}

/// The row of a log.
enum Taken<'a> {
    Now(usize, &'a LogRow),
    /// Another log of the same key has it.
    Before,
    Never,
}

impl<'a> KnownRows<'a> {
    fn new(manifest: Option<&'a Manifest>) -> Self {
        Self {
            manifest,
            is_taken: vec![false; manifest.map_or(0, |manifest| manifest.logs.len())],
            next: [0; 2],
            by_key: None,
        }
    }

    fn take(&mut self, key: LogKey<'_>) -> Taken<'a> {
        let Some(manifest) = self.manifest else {
            return Taken::Never;
        };
        while self.is_taken.get(self.next[0]) == Some(&true) {
            self.next[0] += 1;
        }
        let is_next = |row: &&usize| {
            self.is_taken.get(**row) == Some(&false) && key_of(manifest, **row) == key
        };
        let next = self.next.iter().find(is_next).copied();
        let by_key = || {
            let by_key = self.by_key.get_or_insert_with(|| {
                let rows = 0..manifest.logs.len();
                rows.map(|row| (key_of(manifest, row), row)).collect()
            });
            by_key.get(&key).copied()
        };
        let Some(row) = next.or_else(by_key) else {
            return Taken::Never;
        };
        if std::mem::replace(&mut self.is_taken[row], true) {
            return Taken::Before;
        }
        self.next[1] = row + 1;
        Taken::Now(row, &manifest.logs[row])
    }

    /// Returns the rows that are not taken, each with the path of its log.
    fn left(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let rows = self.manifest.into_iter().flat_map(|manifest| {
            let rows = manifest.logs.iter().enumerate();
            rows.map(|(at, row)| (at, manifest.string(row.path)))
        });
        rows.filter(|(row, _)| !self.is_taken[*row])
    }
}

/// Returns the key of the log with this row.
fn key_of(manifest: &Manifest, row: usize) -> LogKey<'_> {
    let row = &manifest.logs[row];
    (
        row.agent,
        manifest.string(row.path),
        manifest.string(row.id),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::corpus::pack::Generation;
    use crate::core::log::{Agent, LogStart};

    fn log(name: &str, size: u64) -> LogFile {
        LogFile {
            agent: Agent::Pi,
            path: name.into(),
            id: name.to_owned(),
            parent: None,
            title: None,
            size,
            modified: Some(1),
            start: LogStart::default(),
        }
    }

    fn manifest(logs: &[LogFile]) -> Manifest {
        let mut manifest = Manifest::new(Generation {
            number: 1,
            indexes: [1; 3],
            mark: 0,
        });
        for log in logs {
            let path = manifest.keep(log.path.as_os_str().as_encoded_bytes());
            let id = manifest.keep(log.id.as_bytes());
            manifest.logs.push(LogRow {
                agent: log.agent as u32,
                path,
                id,
                size: log.size,
                modified: log.modified,
                has_results: log.size != HEAVY,
                ..LogRow::default()
            });
        }
        manifest
    }

    /// Logs of this size are in the manifest without their results.
    const HEAVY: u64 = 3;

    proptest::proptest! {
        #[test]
        fn a_log_has_its_row_whatever_the_order_is(
            known in proptest::collection::hash_map("[a-f]", 1..=HEAVY, 0..7),
            listed in proptest::collection::vec(("[a-f]", 1..=HEAVY), 0..9),
            is_now in proptest::bool::ANY,
        ) {
            let results = if is_now { ReadResults::Now } else { ReadResults::Later };
            let known: Vec<LogFile> = known.iter().map(|(name, size)| log(name, *size)).collect();
            let listed: Vec<LogFile> = listed.iter().map(|(name, size)| log(name, *size)).collect();
            let plan = Plan::new(Some(&manifest(&known)), &listed, results);
            let is_light = |log: &LogFile| log.size == HEAVY;
            let have_all = !known.is_empty() && !known.iter().any(is_light);
            let mut seen = HashSet::new();
            let (mut keep, mut read) = (Vec::new(), Vec::new());
            for (at, log) in listed.iter().enumerate().filter(|(_, log)| seen.insert(&log.id)) {
                match known.iter().position(|row| row.id == log.id) {
                    Some(row) if known[row].size == log.size && !(is_now && is_light(log)) => {
                        keep.push(row);
                    }
                    row => read.push(Task {
                        listed: at,
                        row,
                        with_results: is_now || row.map_or(have_all, |row| !is_light(&known[row])),
                    }),
                }
            }
            // None of these files exists.
            proptest::prop_assert_eq!(plan.gone, known.iter().filter(|row| !seen.contains(&row.id)).count());
            proptest::prop_assert_eq!((plan.keep, plan.read), (keep, read));
        }
    }
}
