//! What may be wrong with a history: changes that nobody finished, lines that nobody can read.

use std::fs;
use std::io;
use std::path::Path;

use super::{History, Record};
use crate::core::{Error, Result};

impl History {
    /// The changes that a process left behind which is gone, of whatever store, oldest first. The
    /// next one that opens their stores finishes them or takes them back.
    pub fn interrupted(&self) -> Result<Vec<Record>> {
        let mut found = Vec::new();
        for record in self.intents() {
            let roots: Vec<&Path> = record
                .files
                .iter()
                .map(|file| file.root.as_path())
                .collect();
            if self.try_lock(&roots)?.is_some() && self.pending_path(&record.id).exists() {
                found.push(record);
            }
        }
        Ok(found)
    }

    /// How many lines of the journal cannot be read: a dying machine or another program broke them.
    pub fn broken_lines(&self) -> Result<usize> {
        let path = self.journal_path();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(e) => return Err(Error::io(&path, e)),
        };
        let lines = text.split(|byte| *byte == b'\n');
        let broken = lines.filter(|line| {
            !line.trim_ascii().is_empty() && serde_json::from_slice::<Record>(line).is_err()
        });
        Ok(broken.count())
    }
}
