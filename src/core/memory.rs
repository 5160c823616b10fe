//! Memories: what one is, in which layouts and stores they are kept, and where those are found.

pub mod catalog;
pub mod citation;
pub mod config;
pub mod demo;
pub mod discover;
pub mod layout;
pub mod library;
pub mod store;
pub mod template;
pub mod texts;
pub mod unsaved;

use std::ops::Range;

use serde::Serialize;

use crate::core::text::file_name;
use crate::core::text::header::Entry;

/// The role of a file in its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A curated memory.
    Memory,
    /// The note that is always in the agent's context.
    Overview,
    /// What an agent makes its memories from and writes again by itself.
    Source,
    /// A list of the memories, which tome keeps up to date.
    Index,
    /// Instructions for agents that come with the layout.
    Guide,
    /// A raw conversation; never written.
    Log,
    /// A file of standing instructions, such as `CLAUDE.md`.
    Instructions,
}

/// One memory, parsed for display; it is never written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The reference inside its store, such as `detail/auth.md`.
    pub path: String,
    /// The role of the file in its layout.
    pub kind: FileKind,
    /// The name, or the file's stem if it has none.
    pub title: String,
    /// The description or summary on one line; may be empty.
    pub summary: String,
    /// The type as written, such as `feedback`.
    pub category: Option<String>,
    /// Keywords or tags, without `#`.
    pub tags: Vec<String>,
    /// When it was created, as written in the file.
    pub created: Option<String>,
    /// When it was last changed, as written in the file.
    pub updated: Option<String>,
    /// The range of the body in the text.
    pub body: Range<usize>,
    /// The size of the file in bytes.
    pub size: u64,
    /// When the file was last changed, in milliseconds since 1970; 0 when unknown.
    pub modified: i64,
    /// The entries, if the file contains several.
    pub entries: Vec<Entry>,
    /// Why the file could not be read or parsed, if so.
    pub problem: Option<String>,
}

impl Memory {
    /// A memory of which only the path and size are known.
    pub fn bare(path: &str, size: u64) -> Self {
        Self {
            path: path.to_owned(),
            kind: FileKind::Memory,
            title: stem(path).to_owned(),
            summary: String::new(),
            category: None,
            tags: Vec::new(),
            created: None,
            updated: None,
            body: 0..usize::try_from(size).unwrap_or(0),
            size,
            modified: 0,
            entries: Vec::new(),
            problem: None,
        }
    }

    /// When it was last changed, in milliseconds since 1970: as its header says, or else as the file
    /// system says; 0 when unknown.
    pub fn time(&self) -> i64 {
        self.stated_time().unwrap_or(self.modified)
    }

    /// When it was last changed as its header says, which survives copies and clones.
    pub fn stated_time(&self) -> Option<i64> {
        const HOUR: i64 = 3_600_000;
        let text = self.updated.as_deref()?.trim();
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Some(time.as_millisecond());
        }
        let day: jiff::civil::Date = text.get(..10)?.parse().ok()?;
        let day = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        let day = day.as_millisecond();
        // The file tells the hour, if it was written on that day, wherever that was.
        let is_of_day = (day - 14 * HOUR..day + 36 * HOUR).contains(&self.modified);
        Some(if is_of_day { self.modified } else { day })
    }
}

/// The name of a file without folders and without its last extension.
pub fn stem(path: &str) -> &str {
    let name = file_name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_of_a_dot_file_is_its_name() {
        assert_eq!(stem("a/b.c.md"), "b.c");
        assert_eq!(stem(".hidden"), ".hidden");
        assert_eq!(stem("plain"), "plain");
    }
}
