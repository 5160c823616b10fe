//! coder: the coder's own lessons, in folders by type and topic, with a tree of READMEs.
//!
//! New lessons go to `TYPE/FILE.md` or `TYPE/TOPIC/FILE.md`; files elsewhere in the tree are read
//! as well.

mod contents;
mod lesson;

use std::collections::HashSet;

use super::{IndexUpdate, Operation, Rules, TouchedFile, View, WriteInput};
use crate::core::disk::sandbox::Root;
use crate::core::memory::layout::FileView;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory, stem};
use crate::core::text::header::{fitted, label, newline, prose, summary};
use crate::core::text::one_line;
use crate::core::{Error, Result};

use contents::update_readmes;
pub use lesson::{SimilarLesson, similar_lessons};

/// The folders that are types.
pub const TYPES: [&str; 3] = ["episodic", "procedural", "semantic"];

/// The guides that come with a store.
pub const GUIDES: [(&str, &str); 2] = [
    (
        "memory-recall-guide.md",
        include_str!("../../../../assets/guides/memory-recall-guide.md"),
    ),
    (
        "memory-store-guide.md",
        include_str!("../../../../assets/guides/memory-store-guide.md"),
    ),
];

/// The table of contents of a folder.
pub(crate) const README: &str = "README.md";

/// The instructions of a skill that keeps its lessons beside them.
const SKILL: &str = "SKILL.md";

/// The coder layout.
#[derive(Debug)]
pub struct Coder;

impl Rules for Coder {
    fn allow(&self, operation: Operation, file: &str, root: &Root) -> Result<()> {
        if self.kind(file) != FileKind::Memory {
            return match operation {
                Operation::Patch => Ok(()),
                _ => Err(super::generated_file_error(file)),
            };
        }
        let parts: Vec<&str> = file.split('/').collect();
        let in_place = matches!(parts.as_slice(), [kind, _] | [kind, _, _] if TYPES.contains(kind));
        if file.ends_with(".md") && (in_place || root.has(file)) {
            return Ok(());
        }
        Err(Error::refused(
            file,
            "lessons are kept as TYPE/FILE.md or TYPE/TOPIC/FILE.md, where TYPE is episodic, procedural or semantic",
        ))
    }

    fn searched(&self) -> Option<(&'static str, usize)> {
        Some(("", 4))
    }

    fn is_listed(&self, _root: &Root, file: &str) -> bool {
        self.kind(file) == FileKind::Memory
    }

    fn kind(&self, file: &str) -> FileKind {
        let name = file.rsplit('/').next().unwrap_or(file);
        if name.contains("README") {
            FileKind::Index
        } else if is_guide(file) {
            FileKind::Guide
        } else {
            FileKind::Memory
        }
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        memory.kind = self.kind(file);
        memory.category = file.split_once('/').map(|(folder, _)| folder.to_owned());
        memory.entries = label::entries(text);
        match memory.entries.as_slice() {
            [only] => {
                memory.title.clone_from(&only.title);
                memory.summary.clone_from(&only.summary);
            }
            [] => {
                if let Some(title) = summary::title(text) {
                    title.clone_into(&mut memory.title);
                }
                let said = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
                let first = prose(text).find(|(_, line)| said(line.text));
                memory.summary = first
                    .map(|(_, line)| one_line(line.text))
                    .unwrap_or_default();
            }
            several => {
                let dates = several.iter().filter_map(|entry| entry.date.clone());
                memory.updated = dates.max();
                memory.summary = titles(&memory);
            }
        }
        let mut seen = HashSet::new();
        let tags = memory.entries.iter().flat_map(|entry| &entry.tags);
        let tags = tags.filter(|tag| seen.insert(tag.as_str())).cloned();
        memory.tags = tags.collect();
        memory
    }

    fn compose(&self, _planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        entry(input)
    }

    fn append(&self, _planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        let entry = entry(input)?;
        let old = input.old.unwrap_or_default();
        if old.trim().is_empty() {
            return Ok(format!("{old}{entry}"));
        }
        let nl = newline(old);
        let end = if old.ends_with('\n') { "" } else { nl };
        let entry = fitted(old, &entry);
        Ok(format!("{old}{end}{nl}---{nl}{nl}{entry}"))
    }

    fn update_index(&self, planned: &mut dyn FileView, _touched: &[TouchedFile]) -> Result<()> {
        if planned.memories_before()?.is_empty() {
            for (guide, text) in GUIDES {
                if !planned.contains(guide) {
                    planned.set_derived(guide, text.to_owned())?;
                }
            }
        }
        update_readmes(planned, IndexUpdate::Repair)
    }

    fn rebuild_index(&self, planned: &mut dyn FileView, how: IndexUpdate) -> Result<()> {
        update_readmes(planned, how)
    }

    fn view(&self, store: &Store, view: View) -> Result<String> {
        let memories = store.list()?;
        let row = |memory: &Memory, indent: &str| {
            let name = memory.path.rsplit('/').next().unwrap_or(&memory.path);
            match (view, titles(memory)) {
                (View::Files, _) => {
                    format!("{indent}{name}  ({})", super::format_size(memory.size))
                }
                (View::Index, none) if none.is_empty() => format!("{indent}{name}"),
                (View::Index, titles) => format!("{indent}{name} - {titles}"),
            }
        };
        let within = |folder: &str, indent: String| {
            let files = memories.iter().filter(|m| parent(&m.path) == folder);
            files.map(|m| row(m, &indent)).collect::<Vec<_>>()
        };
        let mut out = within("", String::new());
        for folder in folders(&memories) {
            let depth = folder.matches('/').count();
            let name = folder.rsplit('/').next().unwrap_or(&folder);
            out.push(format!("{}{name}/", "  ".repeat(depth)));
            out.extend(within(&folder, "  ".repeat(depth + 1)));
        }
        Ok(out.join("\n"))
    }

    fn contents(&self, store: &Store) -> Result<String> {
        let memories = store.list()?;
        if memories.is_empty() {
            return Ok(String::new());
        }
        let mut out = format!(
            "Coder memory holds lessons from earlier work in {}.\n",
            store.root().path().display()
        );
        for (kind, lessons) in lesson_counts(&memories) {
            out.push_str(&format!("- {kind}: {lessons}\n"));
        }
        out.push_str("memory-recall-guide.md says how to recall them, memory-store-guide.md how to store one.");
        Ok(out)
    }
}

/// How many lessons there are of each type that has any, and outside of the types.
pub fn lesson_counts(memories: &[Memory]) -> Vec<(&'static str, usize)> {
    let kind_of = |memory: &Memory| {
        let mut kinds = TYPES.into_iter();
        let kind = kinds.find(|kind| memory.category.as_deref() == Some(kind));
        kind.unwrap_or("elsewhere")
    };
    let kinds = TYPES.into_iter().chain(["elsewhere"]);
    let counts = kinds.map(|kind| {
        let of_kind = memories.iter().filter(|memory| kind_of(memory) == kind);
        (kind, of_kind.map(|m| m.entries.len().max(1)).sum())
    });
    counts.filter(|(_, lessons)| *lessons > 0).collect()
}

/// Whether a file beside the types explains the store: a guide, the skill that comes with it, or a
/// copy of the guide that was there before.
fn is_guide(file: &str) -> bool {
    let is_reference = file.starts_with("REFERENCE_") && !file.contains('/');
    is_reference || file == SKILL || GUIDES.iter().any(|(guide, _)| *guide == file)
}

/// The text of a new entry; content that already consists of entries is left as it is.
fn entry(input: &WriteInput<'_>) -> Result<String> {
    let fields = input.fields;
    if let Some(kind) = &fields.category
        && input.file.split('/').next() != Some(kind)
    {
        let reason = if TYPES.contains(&kind.as_str()) {
            format!("the folder says the type, and it is not {kind}; write under {kind}/ instead")
        } else {
            format!("type '{kind}' is not one of: {}", TYPES.join(", "))
        };
        return Err(Error::refused(input.file, reason));
    }
    if label::is_labelled(input.content) {
        return Ok(input.content.to_owned());
    }
    let title = fields.name.as_deref().unwrap_or(stem(input.file));
    let first = input.content.lines().find(|line| !line.trim().is_empty());
    let first = first.map(one_line).unwrap_or_default();
    let description = fields.description.as_deref().unwrap_or(&first);
    let kind = input.file.split('/').next().unwrap_or_default();
    let is_kind = |tag: &String| tag.trim_start_matches('#') == kind;
    let mut tags = fields.tags.clone();
    if TYPES.contains(&kind) && !tags.iter().any(is_kind) {
        tags.push(kind.to_owned());
    }
    Ok(label::format_entry(
        title,
        description,
        input.content,
        &tags,
    ))
}

/// The titles of a file's lessons, or the file's own title if it has no lessons.
fn titles(memory: &Memory) -> String {
    if memory.entries.is_empty() && memory.title != stem(&memory.path) {
        return one_line(&memory.title);
    }
    let titles: Vec<&str> = memory.entries.iter().map(|e| e.title.as_str()).collect();
    titles.join("; ")
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Every folder that contains a memory, and its parents, outermost first.
fn folders(memories: &[Memory]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for memory in memories {
        let mut folder = parent(&memory.path);
        while !folder.is_empty() {
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
            folder = parent(folder);
        }
    }
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readmes_and_guides_are_not_lessons() {
        assert_eq!(Coder.kind("semantic/README.md"), FileKind::Index);
        assert_eq!(Coder.kind("semantic/OLD-README-2.md"), FileKind::Index);
        for guide in [
            "memory-recall-guide.md",
            "SKILL.md",
            "REFERENCE_coder-memory-store.md",
        ] {
            assert_eq!(Coder.kind(guide), FileKind::Guide, "{guide}");
        }
        assert_eq!(Coder.kind("semantic/REFERENCE_x.md"), FileKind::Memory);
        assert_eq!(Coder.kind("semantic/errors/retry.md"), FileKind::Memory);
    }

    #[test]
    fn a_file_without_lessons_is_summed_up_by_its_first_line() {
        let memory = Coder.read("semantic/a.md", "# Title\n\n## Part\n\nThe first line.\n");
        assert_eq!(memory.title, "Title");
        assert_eq!(memory.summary, "The first line.");
        assert_eq!(memory.category.as_deref(), Some("semantic"));
    }

    #[test]
    fn a_lesson_without_a_description_is_described_by_its_first_line() {
        let fields = crate::core::memory::layout::Fields::default();
        let writing = WriteInput {
            file: "semantic/pool.md",
            content: "\n\nThe pool leaks.\nMore.\n",
            fields: &fields,
            old: None,
        };
        let text = entry(&writing).expect("composes");
        let found = label::entries(&text);
        assert_eq!(found[0].title, "pool");
        assert_eq!(found[0].summary, "The pool leaks.");
        assert!(
            found[0].content.ends_with("The pool leaks.\nMore."),
            "{text}"
        );
    }

    #[test]
    fn an_agent_is_told_how_many_lessons_there_are_of_each_type() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open("c", temp.path(), Some(super::super::Layout::Coder));
        let store = store.expect("a store");
        assert_eq!(Coder.context(&store).expect("reads"), "");
        for (path, text) in [
            ("semantic/a.md", "**Title:** A\n\n---\n\n**Title:** B\n"),
            ("episodic/b.md", "no lesson\n"),
            ("notes.md", "elsewhere\n"),
        ] {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let told = Coder.context(&store).expect("reads");
        assert!(
            told.contains("\n- episodic: 1\n- semantic: 2\n- elsewhere: 1\n"),
            "{told}"
        );
    }
}
