//! From a request to a change: plans the content of each file.

use super::entry::with_stand_ins;
use super::history::History;
use super::{Change, ChangeVerb, PlannedFiles};
use crate::core::disk::error::Conflict;
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::check;
use crate::core::memory::citation::Citation;
use crate::core::memory::layout::{
    Fields, FileView as _, IndexUpdate, Layout, Matching, Operation, Patch, WriteInput, patched,
};
use crate::core::memory::stem;
use crate::core::memory::store::Store;
use crate::core::memory::template::name_following;
use crate::core::text::header::frontmatter::Frontmatter;
use crate::core::text::header::section::{own_span, replace_entry};
use crate::core::text::header::splice;
use crate::core::text::link::{self, Link, LinkSyntax, relinked};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// A requested change to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeRequest {
    /// Create a memory, or replace its whole content.
    Write {
        /// The file.
        path: String,
        /// Its content; the layout adds the header.
        content: String,
        /// Values for the header.
        fields: Fields,
    },
    /// Replace parts of a memory.
    Patch {
        /// The file.
        path: String,
        /// The replacements, applied in order, all or none.
        patches: Vec<Patch>,
        /// How the text to replace is matched.
        matching: Matching,
    },
    /// Add to the end of a memory.
    Append {
        /// The file; created if missing.
        path: String,
        /// The text to add.
        entry: String,
        /// Values for the header.
        fields: Fields,
    },
    /// Save a text as a whole, header included, as an editor does.
    Edit {
        /// The file.
        path: String,
        /// The new text.
        text: String,
    },
    /// Remove memories.
    Delete {
        /// The files.
        paths: Vec<String>,
    },
    /// Rename a memory and update the links to it.
    Rename {
        /// The current name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Add to one lesson of a file; its text stays.
    Extend {
        /// The lesson.
        lesson: Citation,
        /// The text to add.
        content: String,
        /// A new description, and tags to add.
        fields: Fields,
    },
    /// Derive a principle from lessons that teach the same; they link to each other.
    Generalize {
        /// The principle's file; created if missing.
        path: String,
        /// The principle.
        content: String,
        /// Values for the principle's header.
        fields: Fields,
        /// The lessons.
        from: Vec<Citation>,
    },
    /// Update the index.
    Index(IndexUpdate),
}

/// When a change is requested, and which revision it expects.
#[derive(Debug, Clone)]
pub struct ChangeContext {
    /// The time of the request.
    pub moment: Moment,
    /// The revision that the file must still have, if the caller read it.
    pub expected: Option<Revision>,
    /// The earlier changes, by which tome knows the words that it gave an index; others stay.
    pub history: Option<History>,
}

#[cfg(test)]
impl ChangeContext {
    /// The context of the changes of tests.
    pub(crate) fn test() -> Self {
        Self {
            moment: Moment::test(),
            expected: None,
            history: None,
        }
    }
}

/// Plans what `request` does to `store`; writes nothing.
pub fn plan(store: &Store, request: &ChangeRequest, context: &ChangeContext) -> Result<Change> {
    let mut planned = PlannedFiles::of(store, context);
    let (verb, message) = planned.apply(request)?;
    if verb == ChangeVerb::Index {
        // Here the index itself is requested: an undo must restore its exact bytes.
        let mut change = planned.into_change(verb, message);
        change
            .edits
            .iter_mut()
            .for_each(|edit| edit.derived = false);
        return Ok(change);
    }
    planned.finish()?;
    Ok(planned.into_change(verb, message))
}

impl PlannedFiles<'_> {
    /// Plans `request`; returns the kind of change and the message to print.
    fn apply(&mut self, request: &ChangeRequest) -> Result<(ChangeVerb, String)> {
        Ok(match request {
            ChangeRequest::Write {
                path,
                content,
                fields,
            } => (ChangeVerb::Write, self.write(path, content, fields)?),
            ChangeRequest::Append {
                path,
                entry,
                fields,
            } => (ChangeVerb::Append, self.append(path, entry, fields)?),
            ChangeRequest::Patch {
                path,
                patches,
                matching,
            } => (ChangeVerb::Patch, self.patch(path, patches, *matching)?),
            ChangeRequest::Edit { path, text } => (ChangeVerb::Edit, self.edit(path, text)?),
            ChangeRequest::Delete { paths } => (ChangeVerb::Delete, self.delete(paths)?),
            ChangeRequest::Rename { from, to } => {
                (ChangeVerb::Rename, self.rename_memory(from, to)?)
            }
            ChangeRequest::Extend {
                lesson,
                content,
                fields,
            } => {
                let message = self.extend(lesson, content, fields)?;
                (ChangeVerb::Patch, message)
            }
            ChangeRequest::Generalize {
                path,
                content,
                fields,
                from,
            } => {
                let message = self.generalize(path, content, fields, from)?;
                (ChangeVerb::Append, message)
            }
            ChangeRequest::Index(how) => {
                self.store.rules().rebuild_index(self, *how)?;
                (ChangeVerb::Index, "Index up to date".to_owned())
            }
        })
    }

    fn write(&mut self, path: &str, content: &str, fields: &Fields) -> Result<String> {
        if let Some(at) = self.entry_at(path)? {
            let content = with_stand_ins(content.as_bytes());
            let text = replace_entry(&at.text, &at.entry, &content);
            self.set_text(&at, text)?;
            return Ok(format!("Memory saved: {path}"));
        }
        let file = self.target(Operation::Write, path)?;
        let old = self.read_expected(&file)?;
        let input = WriteInput {
            file: &file,
            content,
            fields,
            old: old.as_deref(),
        };
        let text = self.store.rules().compose(self, &input)?;
        self.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory saved: {}", self.reference_of(&file)))
    }

    fn append(&mut self, path: &str, entry: &str, fields: &Fields) -> Result<String> {
        if let Some(at) = self.entry_at(path)? {
            self.append_to_entry(&at, entry)?;
            return Ok(format!("Memory updated: {path}"));
        }
        let file = self.target(Operation::Append, path)?;
        let old = self.read_expected(&file)?;
        let input = WriteInput {
            file: &file,
            content: entry,
            fields,
            old: old.as_deref(),
        };
        let text = self.store.rules().append(self, &input)?;
        self.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory updated: {}", self.reference_of(&file)))
    }

    fn patch(&mut self, path: &str, patches: &[Patch], matching: Matching) -> Result<String> {
        if let Some(at) = self.entry_at(path)? {
            let span = own_span(&at.text, &at.entry);
            let patches: Vec<Patch> = patches
                .iter()
                .map(|patch| Patch {
                    old: with_stand_ins(patch.old.as_bytes()),
                    new: with_stand_ins(patch.new.as_bytes()),
                })
                .collect();
            let new = patched(path, &at.text[span.clone()], &patches, matching)?;
            self.set_text(&at, splice(&at.text, span, &new))?;
            return Ok(format!("Memory updated: {path}"));
        }
        let file = self.target(Operation::Patch, path)?;
        let old = self.read_expected(&file)?;
        let old = old.ok_or_else(|| Error::not_found(self.reference_of(&file)))?;
        let rules = self.store.rules();
        let text = rules.patch(self, &file, &old, patches, matching)?;
        self.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory updated: {}", self.reference_of(&file)))
    }

    fn edit(&mut self, path: &str, text: &str) -> Result<String> {
        let file = self.target(Operation::Patch, path)?;
        let old = self.read_expected(&file)?;
        // A text that was saved unchanged stays as it is, derived parts included.
        let text = if old.as_deref() == Some(text) {
            text.to_owned()
        } else {
            let rules = self.store.rules();
            rules.normalize(old.as_deref(), text.to_owned())
        };
        self.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory saved: {}", self.reference_of(&file)))
    }

    /// The file at a caller's path, if `operation` is allowed on it.
    pub(super) fn target(&self, operation: Operation, path: &str) -> Result<String> {
        check(path)?;
        let rules = self.store.rules();
        let placed = rules.file_of(path);
        if !rules.is_readable(&placed) {
            // The layout tells which files there can be.
            rules.allow(operation, &placed, self.store.root())?;
        }
        let file = self.store.locate(path)?;
        if matches!(operation, Operation::Delete | Operation::Rename)
            && self.store.root().is_link(&placed)
        {
            let target = self.reference_of(&file);
            return Err(Error::refused(
                path,
                format!("this is a link to {target}; name that file, or remove the link by hand"),
            ));
        }
        let hidden = file.split('/').any(|part| part.starts_with('.'));
        if hidden && self.store.layout() != Layout::Instructions {
            return Err(Error::refused(
                path,
                "a hidden file is never listed; choose a name that does not start with a dot",
            ));
        }
        self.store
            .rules()
            .allow(operation, &file, self.store.root())?;
        self.store.root().writable(&file)?;
        Ok(file)
    }

    pub(super) fn reference_of(&self, file: &str) -> String {
        self.store.rules().reference_of(file)
    }

    /// The text of the file, which must have the revision that the caller expects.
    pub(super) fn read_expected(&self, file: &str) -> Result<Option<String>> {
        self.check_expected(file)?;
        self.text(file)
    }

    pub(super) fn check_expected(&self, file: &str) -> Result<()> {
        let Some(expected) = self.expected else {
            return Ok(());
        };
        let theirs = self.bytes(file)?;
        if theirs.as_deref().map(Revision::of) == Some(expected) {
            return Ok(());
        }
        Err(Error::Conflict(Box::new(Conflict {
            path: self.reference_of(file),
            base: None,
            mine: None,
            theirs,
        })))
    }

    fn delete(&mut self, paths: &[String]) -> Result<String> {
        let mut gone = Vec::new();
        let mut entries = Vec::new();
        for path in paths {
            if let Some(at) = self.entry_at(path)? {
                entries.push(at);
                gone.push(path.clone());
                continue;
            }
            let file = self.target(Operation::Delete, path)?;
            self.check_expected(&file)?;
            if !self.contains(&file) {
                return Err(Error::not_found(path.as_str()));
            }
            self.set(&file, None)?;
            gone.push(self.reference_of(&file));
        }
        entries.retain(|at| self.contains(&at.file));
        self.remove_entries(entries)?;
        Ok(format!("Memory deleted: {}", gone.join(", ")))
    }

    fn rename_memory(&mut self, from: &str, to: &str) -> Result<String> {
        if let Some(at) = self.entry_at(from)? {
            if !to.ends_with(".md") {
                self.retitle(&at, to)?;
                return Ok(format!("Memory renamed: {from} → {to}"));
            }
            if self.store.locate(to)? == at.file {
                return Err(Error::refused(
                    to,
                    "the entry is in this file; give a title to rename it",
                ));
            }
            self.receive_entry(self.store.layout(), &at, to)?;
            self.remove_entries(vec![at])?;
            return Ok(format!("Memory moved: {from} → {to}"));
        }
        let old = self.target(Operation::Rename, from)?;
        let new = self.target(Operation::Rename, to)?;
        self.check_expected(&old)?;
        if self.bytes(&old)?.is_none() {
            return Err(Error::not_found(from));
        }
        if self.store.root().has(&new) {
            let listed = self.memories_before()?.iter();
            let mut files = listed.map(|memory| self.store.rules().file_of(&memory.path));
            let is_listed = files.any(|file| file == new);
            let why = if !is_listed && new.to_lowercase() == old.to_lowercase() {
                "to this disk both names are one; rename it to something else first"
            } else {
                "there is a memory of that name already"
            };
            return Err(Error::refused(to, why));
        }
        let title = self.memory_before(&old)?.title;
        self.rename(&old, &new)?;
        let text = self.text(&new).ok().flatten();
        let head = text.as_deref().and_then(Frontmatter::parse);
        let name = head.as_ref().and_then(|head| head.get("name"));
        let name = name.and_then(|name| name_following(name, &old, &new));
        if let (Some(text), Some(head), Some(name)) = (&text, &head, &name) {
            self.set(&new, Some(head.set(text, "name", name).into_bytes()))?;
        }
        self.relink(&Renaming {
            old: &old,
            new: &new,
            title: &title,
            name: name.as_deref(),
        })?;
        let (old, new) = (self.reference_of(&old), self.reference_of(&new));
        Ok(format!("Memory renamed: {old} → {new}"))
    }

    /// Updates the links of every memory to the new name.
    fn relink(&mut self, renaming: &Renaming<'_>) -> Result<()> {
        let files: Vec<String> = self
            .memories_before()?
            .iter()
            .map(|memory| self.store.rules().file_of(&memory.path))
            .collect();
        for file in files {
            let file = if file == renaming.old {
                renaming.new.to_owned()
            } else {
                file
            };
            // A file that is not text has no links.
            let Ok(Some(text)) = self.text(&file) else {
                continue;
            };
            let linked = relinked(&text, |found| self.new_target(&file, found, renaming));
            if linked != text {
                self.store.root().writable(&file)?;
                self.set(&file, Some(linked.into_bytes()))?;
            }
        }
        Ok(())
    }

    /// The new target of a link in `file` after the renaming, if it changes.
    fn new_target(&self, file: &str, found: &Link<'_>, renaming: &Renaming<'_>) -> Option<String> {
        if found.form == LinkSyntax::Wiki {
            // Wiki links use the title; if it stays, only one that uses the file's stem changes.
            if let Some(name) = renaming.name.filter(|_| found.target == renaming.title) {
                return Some(name.to_owned());
            }
            let is_stem = found.target == stem(renaming.old) && renaming.title != found.target;
            return is_stem.then(|| stem(renaming.new).to_owned());
        }
        // The links of the renamed file itself are relative to its old path.
        let itself = file == renaming.new;
        let stood = if itself { renaming.old } else { file };
        let target_path = link::resolve_target(stood, &found.target);
        if target_path.as_deref() == Some(renaming.old) {
            return Some(link::relative_target(file, renaming.new));
        }
        if found.target == self.reference_of(renaming.old) {
            return Some(self.reference_of(renaming.new));
        }
        let target_path = target_path.filter(|path| itself && self.store.root().has(path));
        let moved = target_path.map(|path| link::relative_target(file, &path));
        moved.filter(|target| *target != found.target)
    }
}

struct Renaming<'a> {
    old: &'a str,
    new: &'a str,
    title: &'a str,
    /// The title after it, if that follows the file's name.
    name: Option<&'a str>,
}
