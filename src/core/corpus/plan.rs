//! What has changed since the last manifest.
//!
//! A log is taken for unchanged if it was listed with the same size and time of change:
//! no file is looked at here. Whether a changed one has only grown is found out when it
//! is read.

use std::collections::{HashMap, HashSet};

use super::manifest::Manifest;
use super::view;
use crate::core::log::LogFile;

/// A log to read: its place in the list and its old row.
pub(super) type Task = (usize, Option<usize>);

/// What must be done for the corpus to be of these logs.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The rows of logs that have not changed; those that were not listed come last.
    pub(super) keep: Vec<usize>,
    /// How many of them were listed.
    pub(super) listed: usize,
    /// The logs to read.
    pub(super) read: Vec<Task>,
    /// How many rows belong to logs that are gone.
    gone: usize,
}

impl Plan {
    /// Compares the manifest with the logs that were found.
    ///
    /// A log that was not listed is kept unless it is gone, so that a caller with half
    /// of the logs does not undo the work of one with all.
    pub(super) fn new(manifest: Option<&Manifest>, logs: &[LogFile]) -> Self {
        let mut plan = Self::default();
        let mut rows = HashMap::new();
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
        let mut seen = HashSet::with_capacity(logs.len());
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
            if !listed.contains(path) && view::path_of(path).exists() {
                plan.keep.push(*row);
            } else {
                plan.gone += 1;
            }
        }
        plan
    }

    /// Tells whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.read.is_empty() && self.gone == 0
    }

    /// Returns the rows that can be shown as they are, changed logs in their old state.
    pub(super) fn shown_rows(&self) -> Vec<usize> {
        let old = self.read.iter().filter_map(|(_, row)| *row);
        self.keep[..self.listed]
            .iter()
            .copied()
            .chain(old)
            .collect()
    }
}
