//! The health of the history: unreadable lines, and versions that are damaged or missing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::History;
use super::journal::Line;
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// The result of checking a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// The number of changes in the journal.
    pub changes: usize,
    /// When the oldest change was made, in milliseconds since 1970.
    pub oldest: Option<i64>,
    /// The number of versions that the changes refer to.
    pub versions: usize,
    /// The size of the whole history in bytes.
    pub bytes: u64,
    /// The number of lines in the journal that cannot be read.
    pub broken_lines: usize,
    /// The versions that cannot be restored.
    pub damaged: Vec<Damage>,
}

/// A version that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The version.
    pub revision: Revision,
    /// The file that contains it, or should.
    pub place: PathBuf,
    /// The memory that it is a version of.
    pub memory: PathBuf,
    /// The id of the last change that refers to it.
    pub change: String,
}

impl History {
    /// The number of lines in the journal that cannot be read, broken by a crash or another
    /// program.
    pub fn broken_lines(&self) -> Result<usize> {
        let mut broken = 0;
        self.each_line(|line, _| {
            broken += usize::from(matches!(line, Line::Broken | Line::TooLong))
        })?;
        Ok(broken)
    }

    /// Checks the whole history; every version is read.
    pub fn health(&self) -> Result<Health> {
        let mut health = Health {
            bytes: size_of(&self.dir),
            ..Health::default()
        };
        let mut records = Vec::new();
        self.each_line(|line, _| match line {
            Line::Change(record) => records.push(*record),
            Line::Broken | Line::TooLong => health.broken_lines += 1,
            _ => {}
        })?;
        health.changes = records.len();
        health.oldest = records.iter().map(|record| record.time).min();
        let mut seen = HashSet::new();
        records.extend(self.intents().into_iter().map(|intent| intent.record));
        for record in records.iter().rev() {
            for file in &record.files {
                let revisions = [file.before, file.after].into_iter().flatten();
                for revision in revisions.filter(|revision| seen.insert(*revision)) {
                    match self.version(&revision) {
                        Ok(_) => {}
                        Err(Error::Damaged { path, .. }) => health.damaged.push(Damage {
                            revision,
                            place: path,
                            memory: file.root.join(&file.path),
                            change: record.id.clone(),
                        }),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        health.versions = seen.len();
        Ok(health)
    }
}

/// The total size of the files below a directory.
pub(super) fn size_of(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}
