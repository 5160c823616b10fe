//! Changes in progress: each has an intent here until it is committed or rolled back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{History, Record};
use crate::core::disk::foreign::{LARGEST_WHOLE, read_capped};
use crate::core::disk::private::write_whole;
use crate::core::{Error, Result};

impl History {
    /// The unfinished changes of the stores at `roots`, oldest first.
    pub(in crate::core) fn pending(&self, roots: &[&Path]) -> Vec<Record> {
        let found = self.intents().into_iter().map(|intent| intent.record);
        found.filter(|record| record.touches(roots)).collect()
    }

    /// The unfinished changes, oldest first.
    pub fn intents(&self) -> Vec<Unfinished> {
        let Ok(entries) = fs::read_dir(self.dir.join("pending")) else {
            return Vec::new();
        };
        let mut found: Vec<Unfinished> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|e| e == "json"))
            // Intents are written atomically; one that cannot be read was removed just now.
            .filter_map(|entry| {
                let bytes = read_capped(&entry.path(), LARGEST_WHOLE).ok()?;
                serde_json::from_slice(&bytes).ok()
            })
            .collect();
        found.sort_by(|a, b| a.record.id.cmp(&b.record.id));
        found
    }

    pub(in crate::core) fn pending_path(&self, id: &str) -> PathBuf {
        self.dir.join("pending").join(format!("{id}.json"))
    }

    /// Writes the intent of a change before it starts, and flushes it.
    pub(in crate::core) fn record_intent(&self, record: &Record) -> Result<()> {
        self.check_schema()?;
        let dir = self.folder("pending")?;
        let bytes = super::journal::encode(record, &self.pending_path(&record.id))?;
        write_whole(&dir, &format!("{}.json", record.id), &bytes)
    }

    /// Removes an intent whose change was committed or rolled back.
    pub(in crate::core) fn forget(&self, id: &str) -> Result<()> {
        let path = self.pending_path(id);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(&path, e)),
            _ => Ok(()),
        }
    }

    /// Writes an intent again, with the reasons why it could not be rolled back.
    pub(in crate::core) fn keep_unfinished(&self, unfinished: &Unfinished) -> Result<()> {
        let dir = self.folder("pending")?;
        let path = self.pending_path(&unfinished.record.id);
        let bytes = serde_json::to_vec(unfinished).map_err(|e| Error::io(&path, e.into()))?;
        write_whole(&dir, &format!("{}.json", unfinished.record.id), &bytes)
    }
}

/// A change that was begun and is neither committed nor rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The change; after a failed rollback, with the remaining files only.
    #[serde(flatten)]
    pub record: Record,
    /// Each file that could not be rolled back, with the reason.
    #[serde(default)]
    pub problems: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_that_is_gone_is_forgotten_and_one_that_cannot_go_is_an_error() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        history.forget("gone").expect("nothing to do");
        std::fs::create_dir_all(history.pending_path("stuck")).expect("a folder");
        let error = history.forget("stuck").expect_err("not a file");
        assert!(error.to_string().contains("stuck.json"), "{error}");
    }
}
