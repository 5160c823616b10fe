//! Changes that are under way: each has its intent here until it is made or taken back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{History, Record, write_whole};
use crate::core::{Error, Result};

impl History {
    /// The changes that were begun on `roots` and not finished, oldest first.
    pub(in crate::core) fn pending(&self, roots: &[&Path]) -> Vec<Record> {
        let mut found = self.intents();
        found.retain(|record| record.touches(roots));
        found
    }

    /// The changes that were begun and not finished, oldest first.
    pub(in crate::core) fn intents(&self) -> Vec<Record> {
        let Ok(entries) = fs::read_dir(self.dir.join("pending")) else {
            return Vec::new();
        };
        let mut found: Vec<Record> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|e| e == "json"))
            // An intent is put in place whole; what cannot be read was taken away just now.
            .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    pub(in crate::core) fn pending_path(&self, id: &str) -> PathBuf {
        self.dir.join("pending").join(format!("{id}.json"))
    }

    /// Writes down what is about to be done, flushed.
    pub(in crate::core) fn intend(&self, record: &Record) -> Result<()> {
        self.check_schema()?;
        let dir = self.folder("pending")?;
        let bytes = super::journal::encoded(record, &self.pending_path(&record.id))?;
        write_whole(&dir, &format!("{}.json", record.id), &bytes)
    }

    /// Forgets an intent: it was carried out or taken back.
    pub(in crate::core) fn forget(&self, id: &str) -> Result<()> {
        let path = self.pending_path(id);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(&path, e)),
            _ => Ok(()),
        }
    }
}
