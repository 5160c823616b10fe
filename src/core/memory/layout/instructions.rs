//! instructions: the files that agents read at every start, such as `CLAUDE.md`.
//!
//! They are found by their names; other files of the directory are ignored.

use super::{Operation, Rules, WriteInput};
use crate::core::disk::sandbox::{FoundFile, Root};
use crate::core::memory::layout::FileView;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::text::header::section::by_heading;
use crate::core::text::header::summary;
use crate::core::{Error, Result};

/// The instruction files that are listed, below any directory.
pub const NAMES: [&str; 7] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "GEMINI.md",
    "QWEN.md",
    ".claude/CLAUDE.md",
    ".qwen/QWEN.local.md",
];

/// Whether a path below a directory is that of an instruction file: one of [`NAMES`], or one that
/// only one agent reads. The latter can be edited but are not listed.
pub fn is_instruction_file(path: &str) -> bool {
    let is_below = |folder: &str, ending: &str| {
        path.strip_prefix(folder).is_some_and(|name| {
            let is_plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
            is_plain && name.len() > ending.len() && name.ends_with(ending)
        })
    };
    NAMES.contains(&path)
        || matches!(
            path,
            "AGENTS.override.md"
                | ".github/copilot-instructions.md"
                | ".copilot/copilot-instructions.md"
        )
        || is_below(".claude/rules/", ".md")
        || is_below(".github/instructions/", ".instructions.md")
}

/// The instruction files of one directory.
#[derive(Debug)]
pub struct Instructions;

impl Rules for Instructions {
    fn allow(&self, operation: Operation, file: &str, _root: &Root) -> Result<()> {
        if !is_instruction_file(file) {
            return Err(Error::refused(
                file,
                format!("not an instruction file; those are {}", NAMES.join(", ")),
            ));
        }
        match operation {
            Operation::Rename => Err(Error::refused(
                file,
                "agents look for this name; it cannot be another",
            )),
            _ => Ok(()),
        }
    }

    fn is_readable(&self, file: &str) -> bool {
        is_instruction_file(file)
    }

    fn files(&self, root: &Root) -> Result<Vec<FoundFile>> {
        Ok(NAMES
            .iter()
            .filter_map(|name| root.find_file(name))
            .collect())
    }

    fn kind(&self, _file: &str) -> FileKind {
        FileKind::Instructions
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        memory.kind = FileKind::Instructions;
        file.clone_into(&mut memory.title);
        memory.summary = summary::title(text).unwrap_or_default().to_owned();
        memory.entries = by_heading(text, 2..=3);
        memory
    }

    fn compose(&self, _planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        Ok(input.content.to_owned())
    }

    fn contents(&self, store: &Store) -> Result<String> {
        let mut parts = Vec::new();
        for memory in store.list()? {
            if let Some(text) = store.text(&memory.path)? {
                parts.push(text.trim_end().to_owned());
            }
        }
        Ok(parts.join("\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::View;
    use super::*;
    use crate::core::memory::layout::Layout;

    #[test]
    fn nothing_else_of_the_directory_can_be_read() {
        let home = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in [("GEMINI.md", "mine"), ("oauth_creds.json", "secret")] {
            std::fs::write(home.path().join(name), text).expect("written");
        }
        let store = Store::open("s", home.path(), Some(Layout::Instructions)).expect("opens");
        assert_eq!(store.read("GEMINI.md").expect("reads").bytes, b"mine");
        for name in [
            "oauth_creds.json",
            "./oauth_creds.json",
            "x/../oauth_creds.json",
        ] {
            assert!(store.read(name).is_err(), "{name}");
            assert!(store.locate(name).is_err(), "{name}");
        }
    }

    #[test]
    fn only_files_of_the_known_names_are_instructions() {
        let home = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(home.path().join(".claude")).expect("a folder");
        for (path, text) in [
            ("AGENTS.md", "# Agents\n\nBe brief.\n"),
            (".claude/CLAUDE.md", "Be kind.\n\n"),
            ("QWEN.md", "## Style\n\nBe short.\n"),
            ("README.md", "# Readme\n"),
        ] {
            std::fs::write(home.path().join(path), text).expect("written");
        }
        let store = Store::open("i", home.path(), Some(Layout::Instructions)).expect("a store");
        let rows = Instructions.view(&store, View::Files).expect("lists");
        assert_eq!(
            rows,
            ".claude/CLAUDE.md    (10B)\nAGENTS.md  Agents  (20B)\nQWEN.md    (20B)\n  #style"
        );
        assert_eq!(store.list().expect("lists")[2].entries[0].slug, "style");
        assert_eq!(
            Instructions.context(&store).expect("reads"),
            "Be kind.\n\n# Agents\n\nBe brief.\n\n## Style\n\nBe short."
        );
        let allowed = |operation: Operation, path: &str| {
            Instructions.allow(operation, path, store.root()).is_ok()
        };
        for operation in [
            Operation::Write,
            Operation::Patch,
            Operation::Append,
            Operation::Delete,
        ] {
            assert!(allowed(operation, "CLAUDE.md"), "{operation:?}");
            assert!(!allowed(operation, "README.md"), "{operation:?}");
            assert!(allowed(operation, ".claude/rules/rust.md"), "{operation:?}");
            assert!(
                !allowed(operation, ".claude/rules/../x.md"),
                "{operation:?}"
            );
            assert!(!allowed(operation, ".claude/rules/.md"), "{operation:?}");
        }
        assert!(!allowed(Operation::Rename, "CLAUDE.md"));
    }
}
