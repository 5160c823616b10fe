//! Merges memories: one of them stays with the text of all, the others are deleted, and links to
//! those lead to the one that stays.

use std::collections::HashSet;

use super::transfer::{between, inline_target};
use super::{Change, ChangeContext, ChangeVerb, PlannedFiles};
use crate::core::change::combine::Combination;
use crate::core::disk::revision::Revision;
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::memory::layout::listing;
use crate::core::memory::layout::{Fields, FileView as _, Layout, Operation, WriteInput};
use crate::core::memory::store::Store;
use crate::core::memory::{Memory, stem};
use crate::core::text::header::replaced;
use crate::core::text::link::{self, Link, LinkSyntax};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// A memory and the store that it is in.
pub type MemoryAt<'a> = (&'a Store, &'a str);

/// The texts of memories that are to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeTexts {
    /// The layout of the store of the memory that stays.
    pub layout: Layout,
    /// The whole text of the memory that stays.
    pub base: String,
    /// The header of the result: that of the memory that stays, with a description and tags of the
    /// others where it has none.
    pub head: String,
    /// The bodies, that of the memory that stays first. The links of the others are written as they
    /// must be in its file.
    pub bodies: Vec<String>,
    /// The revisions of the others.
    pub revisions: Vec<Revision>,
}

impl MergeTexts {
    /// Reads the memories.
    pub fn read(into: MemoryAt<'_>, others: &[MemoryAt<'_>], moment: &Moment) -> Result<Self> {
        let kept = Source::read(into)?;
        let mut bodies = vec![kept.body()];
        let mut revisions = Vec::new();
        let mut fields = Fields::default();
        for other in others {
            let other = Source::read(*other)?;
            bodies.push(other.body_at(&kept));
            revisions.push(Revision::of(other.text.as_bytes()));
            if kept.memory.summary.is_empty() && fields.description.is_none() {
                let given = Some(other.memory.summary.clone());
                fields.description = given.filter(|summary| !summary.is_empty());
            }
            for tag in &other.memory.tags {
                if !kept.memory.tags.contains(tag) && !fields.tags.contains(tag) {
                    fields.tags.push(tag.clone());
                }
            }
        }
        if !fields.tags.is_empty() {
            fields.tags.splice(0..0, kept.memory.tags.iter().cloned());
        }
        Ok(Self {
            layout: kept.store.layout(),
            head: kept.head(&fields, moment),
            base: kept.text,
            bodies,
            revisions,
        })
    }

    /// The text with this body.
    pub fn text(&self, body: &str) -> String {
        let gap = if self.head.is_empty() || self.head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{}{gap}{body}", self.head)
    }

    /// The body with everything that any of them says, each thing once: see [`Combination::union`].
    pub fn union(&self) -> String {
        let mut bodies = self.bodies.iter();
        let first = bodies.next().cloned().unwrap_or_default();
        bodies.fold(first, |all, body| {
            Combination::new(self.layout, &all, body).union()
        })
    }
}

/// A memory that is read to be merged.
struct Source<'a> {
    store: &'a Store,
    file: String,
    text: String,
    memory: Memory,
}

impl<'a> Source<'a> {
    fn read((store, path): MemoryAt<'a>) -> Result<Self> {
        let file = store.locate(path)?;
        let text = store.text(&file)?.ok_or_else(|| Error::not_found(path))?;
        let memory = store.rules().read(&file, &text);
        Ok(Self {
            store,
            file,
            text,
            memory,
        })
    }

    fn body(&self) -> String {
        self.store.rules().body(&self.text, &self.memory)
    }

    /// The body with links that are relative to the file of another memory.
    fn body_at(&self, kept: &Source<'_>) -> String {
        let body = self.body();
        let is_there = |file: &String| self.store.root().has(file);
        link::relinked(&body, |found| {
            let to = inline_target(found)?;
            let to = link::resolve_target(&self.file, to).filter(is_there)?;
            Some(if self.store.id() == kept.store.id() {
                link::relative_target(&kept.file, &to)
            } else {
                between((kept.store, &kept.file), (self.store, &to))
            })
        })
    }

    /// The header with these fields; as it is if the layout cannot add them.
    fn head(&self, fields: &Fields, moment: &Moment) -> String {
        let body = self.body();
        let own = || {
            let head = self.text.strip_suffix(&body);
            head.unwrap_or_default().to_owned()
        };
        if !matches!(self.store.layout(), Layout::Index | Layout::Session) {
            return own();
        }
        let input = WriteInput {
            file: &self.file,
            content: &body,
            fields,
            old: Some(&self.text),
        };
        let planned = PlannedFiles::new(self.store, moment);
        let composed = self.store.rules().compose(&planned, &input).ok();
        let composed = composed.and_then(|text| {
            if body.trim().is_empty() {
                return Some(text);
            }
            let end = text.trim_end().strip_suffix(body.trim_end())?.len();
            Some(text[..end].to_owned())
        });
        composed.unwrap_or_else(own)
    }
}

/// Plans that the memory `into` gets this text and that the others are deleted, as one change. The
/// others must have the revisions that the caller saw.
pub fn plan_merge(
    into: MemoryAt<'_>,
    others: &[(MemoryAt<'_>, Revision)],
    text: &str,
    context: &ChangeContext,
) -> Result<Change> {
    let (store, path) = into;
    let mut here = PlannedFiles::of(store, context);
    let file = here.target(Operation::Patch, path)?;
    let old = here.read_expected(&file)?;
    let old = old.ok_or_else(|| Error::not_found(path))?;
    let normal = store.rules().normalize(Some(&old), text.to_owned());
    here.set(&file, Some(normal.into_bytes()))?;
    let kept = Kept {
        store,
        title: here.memory_after(&file)?.title,
        file,
    };
    let mut stores = vec![MergedStore {
        planned: here,
        gone: Vec::new(),
    }];
    let mut names = Vec::new();
    for ((from, path), revision) in others {
        let at = stores
            .iter()
            .position(|known| known.store().id() == from.id());
        let at = at.unwrap_or_else(|| {
            stores.push(MergedStore {
                planned: PlannedFiles::of(from, context),
                gone: Vec::new(),
            });
            stores.len() - 1
        });
        stores[at].remove(path, *revision, &kept)?;
        names.push(*path);
    }
    if names.is_empty() {
        return Err(Error::refused(path, "name the memories to merge into it"));
    }
    let message = format!(
        "{} merged into {}: {}",
        if names.len() == 1 {
            "Memory"
        } else {
            "Memories"
        },
        store.rules().reference_of(&kept.file),
        names.join(", ")
    );
    let mut all = Change {
        verb: ChangeVerb::Merge,
        message,
        edits: Vec::new(),
        of: None,
        rejected: Vec::new(),
    };
    for mut merged in stores {
        merged.relink(&kept)?;
        merged.keep_hook(&kept)?;
        merged.planned.finish()?;
        all.edits.extend(merged.planned.into_edits());
    }
    // What stays is shown before what goes.
    all.edits
        .sort_by_key(|edit| (edit.derived, edit.after.is_none()));
    Ok(all)
}

/// The memory that stays.
struct Kept<'a> {
    store: &'a Store,
    file: String,
    title: String,
}

impl Kept<'_> {
    fn is_in(&self, store: &Store) -> bool {
        self.store.id() == store.id()
    }
}

/// A store that takes part in a merge.
struct MergedStore<'a> {
    planned: PlannedFiles<'a>,
    gone: Vec<Gone>,
}

/// A memory that is deleted.
struct Gone {
    file: String,
    reference: String,
    title: String,
}

impl<'a> MergedStore<'a> {
    fn store(&self) -> &'a Store {
        self.planned.store
    }

    fn remove(&mut self, path: &str, revision: Revision, kept: &Kept<'_>) -> Result<()> {
        if self.store().layout() == Layout::Instructions {
            return Err(Error::refused(
                path,
                "instructions are not merged away; edit them",
            ));
        }
        let file = self.planned.target(Operation::Delete, path)?;
        if kept.is_in(self.store()) && file == kept.file {
            return Err(Error::refused(path, "a memory is not merged with itself"));
        }
        if self.gone.iter().any(|gone| gone.file == file) {
            return Ok(());
        }
        let bytes = self.planned.bytes(&file)?;
        let bytes = bytes.ok_or_else(|| Error::not_found(path))?;
        if Revision::of(&bytes) != revision {
            return Err(Error::refused(
                path,
                "it was changed meanwhile; merge them again",
            ));
        }
        let title = self.planned.memory_before(&file)?.title;
        self.planned.set(&file, None)?;
        self.gone.push(Gone {
            reference: self.store().rules().reference_of(&file),
            file,
            title,
        });
        Ok(())
    }

    /// Points the links to deleted memories at the one that stays.
    fn relink(&mut self, kept: &Kept<'_>) -> Result<()> {
        if self.gone.is_empty() {
            return Ok(());
        }
        let rules = self.store().rules();
        let left = self.planned.memories_after()?;
        let mut names: HashSet<&str> = HashSet::new();
        for memory in &left {
            names.extend([memory.title.as_str(), stem(&memory.path)]);
        }
        let mut changed = Vec::new();
        for memory in &left {
            let file = rules.file_of(&memory.path);
            // A file that is not text has no links.
            let Ok(Some(text)) = self.planned.text(&file) else {
                continue;
            };
            let links = link::links(&text);
            let edits = links.iter().filter_map(|found| match found.form {
                LinkSyntax::Inline => {
                    let target = self.inline_target(&file, found, kept)?;
                    Some(found.pointed_at(&target))
                }
                LinkSyntax::Wiki if names.contains(&*found.target) => None,
                LinkSyntax::Wiki => self.wiki_edit(&file, &text, found, kept),
            });
            let edits: Vec<_> = edits.collect();
            if !edits.is_empty() {
                changed.push((file, replaced(&text, &edits)));
            }
        }
        for (file, text) in changed {
            self.store().root().writable(&file)?;
            self.planned.set(&file, Some(text.into_bytes()))?;
        }
        Ok(())
    }

    /// Gives the line of a hand-written index that stays the words of a deleted one, if those were
    /// written for the index and its own are only the memory's description.
    fn keep_hook(&mut self, kept: &Kept<'_>) -> Result<()> {
        if !kept.is_in(self.store()) || self.store().layout() != Layout::Index {
            return Ok(());
        }
        let Some(text) = self.planned.text(INDEX)?.filter(|text| !is_generated(text)) else {
            return Ok(());
        };
        let all = listing::bullets(&text);
        let written = |file: &str, title: &str| {
            let mut all = all.iter();
            let bullet = all.find(|bullet| listing::is_about(bullet, file, title))?;
            let summary = self.planned.memory_before(file).ok()?.summary;
            let hook = bullet.hook(&text);
            Some((bullet, !hook.is_empty() && hook != summary))
        };
        let gone = self.gone.iter();
        let mut gone = gone.filter_map(|gone| written(&gone.file, &gone.title));
        if let Some((line, false)) = written(&kept.file, &kept.title)
            && let Some((better, _)) = gone.find(|(_, is_written)| *is_written)
        {
            let edit = (line.hook_span(), better.hook(&text).to_owned());
            self.planned.set_derived(INDEX, replaced(&text, &[edit]))?;
        }
        Ok(())
    }

    /// The new target of a link with a path, if it leads to a deleted memory.
    fn inline_target(&self, file: &str, found: &Link<'_>, kept: &Kept<'_>) -> Option<String> {
        let is_here = kept.is_in(self.store());
        let resolved = link::resolve_target(file, &found.target);
        let is_relative = |gone: &Gone| Some(&gone.file) == resolved.as_ref();
        if self.gone.iter().any(is_relative) {
            return Some(if is_here {
                link::relative_target(file, &kept.file)
            } else {
                between((self.store(), file), (kept.store, &kept.file))
            });
        }
        let is_named = |gone: &Gone| gone.reference == *found.target;
        self.gone.iter().any(is_named).then(|| {
            if is_here {
                self.store().rules().reference_of(&kept.file)
            } else {
                between((self.store(), file), (kept.store, &kept.file))
            }
        })
    }

    /// The edit of a link by name. In another store the name means nothing: the link gets a path.
    fn wiki_edit(
        &self,
        file: &str,
        text: &str,
        found: &Link<'_>,
        kept: &Kept<'_>,
    ) -> Option<(std::ops::Range<usize>, String)> {
        let is_stem = |gone: &Gone| stem(&gone.reference) == &*found.target;
        let is_gone = |gone: &Gone| gone.title == *found.target || is_stem(gone);
        let gone = self.gone.iter().find(|gone| is_gone(gone))?;
        if !kept.is_in(self.store()) {
            let target = between((self.store(), file), (kept.store, &kept.file));
            let label = &text[found.label.clone()];
            let link = format!("[{label}]({})", link::address(&target));
            return Some((found.start..found.end, link));
        }
        let by_title = gone.title == *found.target && !kept.title.contains(['[', ']', '|', '#']);
        let reference = self.store().rules().reference_of(&kept.file);
        let name = if by_title {
            kept.title.as_str()
        } else {
            stem(&reference)
        };
        Some(found.pointed_at(name))
    }
}

#[cfg(test)]
mod tests;
