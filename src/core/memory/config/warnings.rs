//! What is wrong in a TOML file that a person wrote. Each warning names the line, and the rest of
//! the file is used.

use std::fmt;
use std::path::Path;

use crate::core::text::toml_text::Unreadable;

/// A key or value that was ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file and line, or the variable.
    pub place: String,
    /// What is wrong and how to correct it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// The warnings of a file that is being read.
#[derive(Debug)]
pub struct FileWarnings<'a> {
    path: &'a Path,
    text: &'a str,
    /// Each with its line from 1.
    found: Vec<(usize, String)>,
}

impl<'a> FileWarnings<'a> {
    /// No warnings about the file with this text yet.
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        Self {
            path,
            text,
            found: Vec::new(),
        }
    }

    /// Adds a warning about what stands at this position in bytes.
    pub fn warn(&mut self, at: usize, message: String) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        self.found.push((line, message));
    }

    /// Adds that the text is not TOML.
    pub fn warn_unreadable(&mut self, unreadable: &Unreadable) {
        let why = &unreadable.why;
        self.warn(unreadable.at, format!("{why}; the file is not used"));
    }

    /// The warnings by line.
    pub fn finish(mut self) -> Vec<Warning> {
        self.found.sort();
        let warning = |(line, message)| Warning {
            place: format!("{}:{line}", self.path.display()),
            message,
        };
        self.found.into_iter().map(warning).collect()
    }
}
