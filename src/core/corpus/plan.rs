//! Finds what has changed since the last manifest.
//!
//! A listed log counts as unchanged if its size and modification time are those in the
//! manifest: its file is not opened. Whether a changed log has only grown is checked when
//! it is read.

use std::collections::HashSet;

use super::log_view;
use super::manifest::Manifest;
use crate::core::log::LogFile;
use crate::core::text::{NumberMap, NumberSet};

/// A log to read: its index in the list and its old row.
pub(super) type Task = (usize, Option<usize>);

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
    pub(super) fn new(manifest: Option<&Manifest>, logs: &[LogFile]) -> Self {
        let mut plan = Self::default();
        let mut rows = NumberMap::default();
        if let Some(manifest) = manifest {
            rows.reserve(manifest.logs.len());
            for (at, row) in manifest.logs.iter().enumerate() {
                let key = (
                    row.agent,
                    manifest.string(row.path),
                    manifest.string(row.id),
                );
                rows.insert(key, (at, row));
            }
        }
        let mut seen = NumberSet::default();
        seen.reserve(logs.len());
        for (at, log) in logs.iter().enumerate() {
            let path = log.path.as_os_str().as_encoded_bytes();
            let key = (log.agent as u32, path, log.id.as_bytes());
            if !seen.insert(key) {
                continue;
            }
            match rows.remove(&key) {
                Some((row, old)) if (old.size, old.modified) == (log.size, log.modified) => {
                    plan.keep.push(row);
                }
                old => plan.read.push((at, old.map(|(row, _)| row))),
            }
        }
        plan.listed = plan.keep.len();
        let listed: HashSet<&[u8]> = match rows.is_empty() {
            true => HashSet::new(),
            false => seen.iter().map(|(_, path, _)| *path).collect(),
        };
        for ((_, path, _), (row, _)) in &rows {
            if !listed.contains(path) && log_view::path_of(path).exists() {
                plan.keep.push(*row);
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
        let old = self.read.iter().filter_map(|(_, row)| *row);
        self.keep[..self.listed]
            .iter()
            .copied()
            .chain(old)
            .collect()
    }
}
