//! Read access to the logs of the corpus.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::manifest::{self, LogRow};
use super::state::LogState;
use super::{Corpus, Part};
use crate::core::log::{Agent, Head, Skipped};

/// A log of the corpus.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) row: &'a LogRow,
}

impl<'a> Log<'a> {
    /// Returns the agent or layout of the log.
    pub fn agent(&self) -> Option<Agent> {
        Agent::all().find(|agent| *agent as u32 == self.row.agent)
    }

    /// Returns the file, or the database that holds it.
    pub fn path(&self) -> PathBuf {
        path_of(self.path_bytes())
    }

    /// Returns the bytes of its path.
    pub(in crate::core) fn path_bytes(&self) -> &'a [u8] {
        self.corpus.manifest.string(self.row.path)
    }

    /// Returns the session's id, from the file's name or the database's key.
    pub fn id(&self) -> &'a str {
        self.text(self.row.id).unwrap_or_default()
    }

    /// Returns the working directory; if the log has only its hash, that of another log with it.
    pub fn cwd(&self) -> Option<&'a str> {
        self.text(self.row.cwd).or_else(|| match self.agent()? {
            agent @ Agent::Gemini => self.corpus.projects().project(agent, &self.path()),
            _ => None,
        })
    }

    /// Returns the title: the log's own, or that of an index beside it.
    pub fn title(&self) -> Option<&'a str> {
        self.text(self.row.title)
    }

    /// Returns the earliest and the latest time of any message.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.row.first.zip(self.row.last)
    }

    /// Returns the number of prompts that the user wrote.
    pub fn turns(&self) -> u64 {
        u64::from(self.row.turns)
    }

    /// Returns the size and the modification time that it was listed with.
    pub fn stamp(&self) -> (u64, Option<i64>) {
        self.row.stamp()
    }

    /// Returns the size of its text in a part, in bytes.
    pub fn text_bytes(&self, part: Part) -> u64 {
        self.row.text[part.number()]
    }

    /// Returns the metadata of the log and the counts of skipped lines; `None` if damaged.
    pub fn facts(&self) -> Option<(Head, Skipped)> {
        let facts = LogState::of(self.corpus, self.row).and_then(|state| state.facts());
        if facts.is_none() {
            self.corpus.report_damage();
        }
        facts
    }

    fn text(&self, span: manifest::StringSpan) -> Option<&'a str> {
        let text = std::str::from_utf8(self.corpus.manifest.string(span)).ok()?;
        (!text.is_empty()).then_some(text)
    }
}

/// Returns the path that was stored as these bytes.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns the path that was stored as these bytes.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::new(String::from_utf8_lossy(bytes).as_ref()))
}
