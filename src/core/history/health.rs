//! What may be wrong with a history: lines that nobody can read.

use std::fs;
use std::io;

use super::{History, Record};
use crate::core::{Error, Result};

impl History {
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
