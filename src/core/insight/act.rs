//! What a tool call is about to do, or did: the commands that it runs as words, the files that it
//! touches, and the text that it writes.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::core::log::touch::{
    FileTouch, FileUse, TextEdit, file_touches, shell_commands, text_edit,
};
use crate::core::memory::config::expand;

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Act {
    /// The commands that it runs, each as its words from the program on.
    pub commands: Vec<Vec<String>>,
    /// The files that it touches.
    pub touches: Vec<FileTouch>,
    /// The texts that it writes.
    pub written: Vec<WrittenText>,
}

/// A text that a call writes into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenText {
    /// The file, as the call names it.
    pub path: String,
    /// What it replaces; empty if that is not known.
    pub old: String,
    /// The new text.
    pub new: String,
}

impl Act {
    /// Reads a call of `tool`; its input is in lines `key: value`, as the decoders of logs give it.
    pub fn of(tool: &str, input: &str) -> Self {
        let commands = shell_commands(tool, input);
        let touches = file_touches(tool, input);
        let mut written = Vec::new();
        let writes = |touch: &&FileTouch| touch.usage == FileUse::Write;
        for touch in touches.iter().filter(writes) {
            let mut add = |old: String, new: String| {
                let path = touch.path.clone();
                written.push(WrittenText { path, old, new });
            };
            match text_edit(tool, input, &touch.path) {
                TextEdit::Whole(text) | TextEdit::Added(_, text) => add(String::new(), text),
                TextEdit::Replaced(all) => all.into_iter().for_each(|one| add(one.old, one.new)),
                TextEdit::Unknown => {}
            }
        }
        Self {
            commands,
            touches,
            written,
        }
    }

    /// The call as it is made in a directory: with absolute paths, also of what is below the home
    /// directory.
    pub fn made_in(mut self, cwd: &Path, home: &Path) -> Self {
        for touch in self.touches.iter_mut().filter(|touch| !touch.is_in_store) {
            let path = expand(&touch.path, home, cwd);
            let path: PathBuf = path.components().collect();
            touch.path = path.to_string_lossy().into_owned();
        }
        self
    }

    /// Whether it runs nothing and touches nothing.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.touches.is_empty()
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Compiles a pattern. Word borders are those of ASCII: the fast matchers know no others.
pub(super) fn pattern(written: &str) -> Result<Regex, regex::Error> {
    Regex::new(
        &written
            .replace(r"\b", r"(?-u:\b)")
            .replace(r"\w", "[0-9A-Za-z_]"),
    )
}
