//! coder: the coder's own lessons, in folders by type and topic, with a tree of READMEs.

mod lesson;

use super::listing::{self, Bullet, Item};
use super::{Act, Rules, Touched, Upkeep, View, Writing};
use crate::core::change::Draft;
use crate::core::header::{label, newline};
use crate::core::link::{Form, resolved};
use crate::core::memory::{Kind, Memory, one_line, stem};
use crate::core::sandbox::{Found, Root};
use crate::core::store::Store;
use crate::core::{Error, Result};

pub use lesson::{Lesson, similar};

/// The folders that are types.
pub const TYPES: [&str; 3] = ["episodic", "procedural", "semantic"];

/// The guides that come with a store.
pub const GUIDES: [(&str, &str); 2] = [
    (
        "memory-recall-guide.md",
        include_str!("../../../assets/guides/memory-recall-guide.md"),
    ),
    (
        "memory-store-guide.md",
        include_str!("../../../assets/guides/memory-store-guide.md"),
    ),
];

/// The table of contents of a folder.
pub(crate) const README: &str = "README.md";

/// The coder layout.
#[derive(Debug)]
pub struct Coder;

impl Rules for Coder {
    fn allow(&self, act: Act, file: &str, _root: &Root) -> Result<()> {
        if self.kind(file) != Kind::Memory {
            return match act {
                Act::Patch => Ok(()),
                _ => Err(super::generated(file)),
            };
        }
        let parts: Vec<&str> = file.split('/').collect();
        let in_place = matches!(parts.as_slice(), [kind, _] | [kind, _, _] if TYPES.contains(kind));
        if in_place && file.ends_with(".md") {
            return Ok(());
        }
        Err(Error::refused(
            file,
            "lessons are kept as TYPE/FILE.md or TYPE/TOPIC/FILE.md, where TYPE is episodic, procedural or semantic",
        ))
    }

    fn files(&self, root: &Root) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for kind in TYPES {
            found.extend(root.markdown(kind, 1)?);
        }
        found.retain(|file| self.kind(&file.path) == Kind::Memory);
        Ok(found)
    }

    fn kind(&self, file: &str) -> Kind {
        let name = file.rsplit('/').next().unwrap_or(file);
        if name.contains("README") {
            Kind::Index
        } else if GUIDES.iter().any(|(guide, _)| *guide == file) {
            Kind::Guide
        } else {
            Kind::Memory
        }
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        memory.kind = self.kind(file);
        memory.category = file.split('/').next().map(str::to_owned);
        memory.entries = label::entries(text);
        if let [only] = memory.entries.as_slice() {
            memory.title.clone_from(&only.title);
            memory.summary.clone_from(&only.summary);
        } else {
            memory.summary = titles(&memory);
        }
        for tag in memory.entries.iter().flat_map(|entry| &entry.tags) {
            if !memory.tags.contains(tag) {
                memory.tags.push(tag.clone());
            }
        }
        memory
    }

    fn compose(&self, _draft: &Draft<'_>, writing: &Writing<'_>) -> Result<String> {
        entry(writing)
    }

    fn append(&self, _draft: &Draft<'_>, writing: &Writing<'_>) -> Result<String> {
        let entry = entry(writing)?;
        let old = writing.old.unwrap_or_default();
        if old.trim().is_empty() {
            return Ok(format!("{old}{entry}"));
        }
        let nl = newline(old);
        let end = if old.ends_with('\n') { "" } else { nl };
        Ok(format!("{old}{end}{nl}---{nl}{nl}{entry}"))
    }

    fn follow(&self, draft: &mut Draft<'_>, touched: &[Touched]) -> Result<()> {
        if draft.memories_before()?.is_empty() {
            for (guide, text) in GUIDES {
                if !draft.has(guide) {
                    draft.derive(guide, text.to_owned())?;
                }
            }
        }
        // The lists follow files that come and go; a file's own words may change beneath them.
        let moved = touched
            .iter()
            .any(|touch| !matches!(touch, Touched::Edited(_)));
        if moved {
            keep_lists(draft, Upkeep::Mend)?;
        }
        Ok(())
    }

    fn keep_index(&self, draft: &mut Draft<'_>, how: Upkeep) -> Result<()> {
        keep_lists(draft, how)
    }

    fn view(&self, store: &Store, view: View) -> Result<String> {
        let memories = store.list()?;
        let mut out = Vec::new();
        for folder in folders(&memories) {
            let depth = folder.matches('/').count();
            let name = folder.rsplit('/').next().unwrap_or(&folder);
            out.push(format!("{}{name}/", "  ".repeat(depth)));
            for memory in memories.iter().filter(|m| parent(&m.path) == folder) {
                let indent = "  ".repeat(depth + 1);
                let name = memory.path.rsplit('/').next().unwrap_or(&memory.path);
                match view {
                    View::Index => out.push(format!("{indent}{name} - {}", titles(memory))),
                    View::Files => {
                        out.push(format!("{indent}{name}  ({})", super::size(memory.size)))
                    }
                }
            }
        }
        Ok(out.join("\n"))
    }

    fn context(&self, store: &Store) -> Result<String> {
        let memories = store.list()?;
        if memories.is_empty() {
            return Ok(String::new());
        }
        let mut out = format!(
            "Coder memory holds lessons from earlier work in {}.\n",
            store.root().path().display()
        );
        for kind in TYPES {
            let of_kind = memories
                .iter()
                .filter(|m| m.category.as_deref() == Some(kind));
            let lessons: usize = of_kind.map(|m| m.entries.len().max(1)).sum();
            if lessons > 0 {
                out.push_str(&format!("- {kind}: {lessons}\n"));
            }
        }
        out.push_str("memory-recall-guide.md says how to recall them, memory-store-guide.md how to store one.");
        Ok(out)
    }
}

/// The text of one new entry; content that is made of entries already stays as it is.
fn entry(writing: &Writing<'_>) -> Result<String> {
    let fields = writing.fields;
    if let Some(kind) = &fields.category
        && writing.file.split('/').next() != Some(kind)
    {
        return Err(Error::refused(
            writing.file,
            format!("the folder says the type, and it is not {kind}; write under {kind}/ instead"),
        ));
    }
    if label::is_labelled(writing.content) {
        return Ok(writing.content.to_owned());
    }
    let title = fields.name.as_deref().unwrap_or(stem(writing.file));
    let first = writing.content.lines().find(|line| !line.trim().is_empty());
    let first = first.map(one_line).unwrap_or_default();
    let description = fields.description.as_deref().unwrap_or(&first);
    Ok(label::written(
        title,
        description,
        writing.content,
        &fields.tags,
    ))
}

fn titles(memory: &Memory) -> String {
    let titles: Vec<&str> = memory.entries.iter().map(|e| e.title.as_str()).collect();
    titles.join("; ")
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Every folder that holds a memory, and those above it, outer ones first.
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

/// Brings the README of every folder up to date.
fn keep_lists(draft: &mut Draft<'_>, how: Upkeep) -> Result<()> {
    let after = draft.memories_after()?;
    let mut all = folders(&after);
    for emptied in folders(draft.memories_before()?) {
        if !all.contains(&emptied) {
            all.push(emptied);
        }
    }
    for folder in &all {
        let page = Page {
            file: format!("{folder}/{README}"),
            children: children(folder, &after, &all),
            how,
        };
        let old = draft.text(&page.file)?;
        let topic = folder.contains('/');
        let wanted = page.children.len() > 1 || (topic && !page.children.is_empty());
        match old {
            None if wanted => {
                let text = page.listed(draft, &format!("# {folder}\n"));
                draft.derive(&page.file, text)?;
            }
            None => {}
            // A list that a person wrote more into is kept for what they wrote.
            Some(old) if !wanted && page.is_bare(&old) => draft.unlist(&page.file)?,
            Some(old) => {
                let text = page.listed(draft, &old);
                draft.derive(&page.file, text)?;
            }
        }
    }
    Ok(())
}

/// A file or folder that a README lists: target, title, hook.
type Child = (String, String, String);

/// The files and folders that a folder's README lists, each with its line.
fn children(folder: &str, memories: &[Memory], folders: &[String]) -> Vec<Child> {
    let mut children = Vec::new();
    for memory in memories.iter().filter(|m| parent(&m.path) == folder) {
        let name = memory.path.rsplit('/').next().unwrap_or(&memory.path);
        children.push((name.to_owned(), name.to_owned(), titles(memory)));
    }
    for sub in folders.iter().filter(|f| parent(f) == folder) {
        let name = sub.rsplit('/').next().unwrap_or(sub);
        let files = memories.iter().filter(|m| parent(&m.path) == sub).count();
        if files > 0 {
            let plural = if files == 1 { "" } else { "s" };
            let target = format!("{name}/{README}");
            children.push((target, format!("{name}/"), format!("{files} file{plural}")));
        }
    }
    children.sort();
    children
}

/// The README of a folder, about to be brought up to date.
struct Page {
    file: String,
    children: Vec<Child>,
    how: Upkeep,
}

impl Page {
    fn is_child(&self, target: &str) -> bool {
        let target = target.trim_start_matches("./");
        self.children
            .iter()
            .any(|(known, ..)| known == target || known.strip_suffix(README) == Some(target))
    }

    /// The path that a bullet means, where that is below the page's folder.
    fn below(&self, bullet: &Bullet) -> Option<String> {
        let path = resolved(&self.file, &bullet.target)?;
        let inside = path.strip_prefix(parent(&self.file))?.starts_with('/');
        (inside && bullet.form == Form::Inline).then_some(path)
    }

    /// `text` with a line for each child and none for what is gone.
    fn listed(&self, draft: &Draft<'_>, text: &str) -> String {
        let gone: Vec<Bullet> = listing::bullets(text)
            .into_iter()
            .filter(|bullet| {
                let child = self.is_child(&bullet.target);
                let dead = self
                    .below(bullet)
                    .is_some_and(|path| !child && (path.ends_with(README) || !draft.has(&path)));
                dead || (child && self.how == Upkeep::Rewrite)
            })
            .collect();
        let mut out = listing::without(text, &gone);
        for (target, title, hook) in &self.children {
            let listed = listing::bullets(&out).iter().any(|bullet| {
                let there = bullet.target.trim_start_matches("./");
                there == target || target.strip_suffix(README) == Some(there)
            });
            if !listed {
                let item = Item {
                    target,
                    title,
                    hook,
                    section: None,
                };
                out = listing::with(&out, &item);
            }
        }
        out
    }

    /// Whether the page holds nothing but its heading and lines that tome lists.
    fn is_bare(&self, text: &str) -> bool {
        let mut bullets = listing::bullets(text);
        bullets.retain(|bullet| self.below(bullet).is_some());
        let rest = listing::without(text, &bullets);
        let rest = rest.trim();
        rest.is_empty() || rest == format!("# {}", parent(&self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readmes_and_guides_are_not_lessons() {
        assert_eq!(Coder.kind("semantic/README.md"), Kind::Index);
        assert_eq!(Coder.kind("semantic/OLD-README-2.md"), Kind::Index);
        assert_eq!(Coder.kind("memory-recall-guide.md"), Kind::Guide);
        assert_eq!(Coder.kind("semantic/errors/retry.md"), Kind::Memory);
    }
}
