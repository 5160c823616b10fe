//! From a wish to a change: what each file would hold.

use super::teach::Principle;
use super::{Change, Draft, Moment, Verb};
use crate::core::citation::Citation;
use crate::core::error::Conflict;
use crate::core::header::splice;
use crate::core::layout::{Act, Fields, Layout, Patch, Upkeep, Writing, index};
use crate::core::link::{self, Form};
use crate::core::memory::{Revision, stem};
use crate::core::store::Store;
use crate::core::{Error, Result};

/// What somebody wants done to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Make a memory, or replace all of it.
    Write {
        /// Which file.
        path: String,
        /// Its content; the layout adds the header.
        content: String,
        /// What goes into the header.
        fields: Fields,
    },
    /// Replace parts of a memory.
    Patch {
        /// Which file.
        path: String,
        /// The parts, applied in order, all or none.
        patches: Vec<Patch>,
    },
    /// Add to the end of a memory.
    Append {
        /// Which file; made when missing.
        path: String,
        /// What to add.
        entry: String,
        /// What goes into the header.
        fields: Fields,
    },
    /// Save a text as a whole, header included, as an editor does.
    Edit {
        /// Which file.
        path: String,
        /// The new text.
        text: String,
    },
    /// Remove memories.
    Delete {
        /// Which files.
        paths: Vec<String>,
    },
    /// Give a memory another name; links to it follow.
    Rename {
        /// The name now.
        from: String,
        /// The name then.
        to: String,
    },
    /// Add to one lesson of a file; what it says stays.
    Extend {
        /// Which lesson.
        lesson: Citation,
        /// What it is to say, too.
        content: String,
        /// Its new description, and tags that it is to have, too.
        fields: Fields,
    },
    /// Make a principle of lessons that teach the same; each points to the other.
    Generalize {
        /// The principle's file; made when missing.
        path: String,
        /// The principle.
        content: String,
        /// What goes into its header.
        fields: Fields,
        /// The lessons.
        from: Vec<Citation>,
    },
    /// Bring the index up to date.
    Index(Upkeep),
}

/// The circumstances of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// When it is asked.
    pub moment: Moment,
    /// The revision of the file that the caller has seen, where it must still be that.
    pub expected: Option<Revision>,
}

/// Plans what `wish` does to `store`; writes nothing.
pub fn plan(store: &Store, wish: &Wish, asking: &Asking) -> Result<Change> {
    let mut draft = Draft::new(store, &asking.moment);
    let planner = Planner { store, asking };
    let (verb, message) = match wish {
        Wish::Write {
            path,
            content,
            fields,
        } => {
            let file = planner.target(Act::Write, path)?;
            let old = planner.seen(&draft, &file)?;
            let writing = Writing {
                file: &file,
                content,
                fields,
                old: old.as_deref(),
            };
            let text = store.rules().compose(&draft, &writing)?;
            draft.set(&file, Some(text.into_bytes()))?;
            (
                Verb::Write,
                format!("Memory saved: {}", planner.refer(&file)),
            )
        }
        Wish::Append {
            path,
            entry,
            fields,
        } => {
            let file = planner.target(Act::Append, path)?;
            let old = planner.seen(&draft, &file)?;
            let writing = Writing {
                file: &file,
                content: entry,
                fields,
                old: old.as_deref(),
            };
            let text = store.rules().append(&draft, &writing)?;
            draft.set(&file, Some(text.into_bytes()))?;
            (
                Verb::Append,
                format!("Memory updated: {}", planner.refer(&file)),
            )
        }
        Wish::Patch { path, patches } => {
            let file = planner.target(Act::Patch, path)?;
            let old = planner.seen(&draft, &file)?;
            let old = old.ok_or_else(|| Error::not_found(planner.refer(&file)))?;
            let text = store.rules().patch(&draft, &file, &old, patches)?;
            draft.set(&file, Some(text.into_bytes()))?;
            (
                Verb::Patch,
                format!("Memory updated: {}", planner.refer(&file)),
            )
        }
        Wish::Edit { path, text } => {
            let file = planner.target(Act::Patch, path)?;
            let old = planner.seen(&draft, &file)?;
            // What was saved as it was opened stays as it is, derived parts included.
            let text = if old.as_ref() == Some(text) {
                text.clone()
            } else {
                store.rules().settle(text.clone())
            };
            draft.set(&file, Some(text.into_bytes()))?;
            (
                Verb::Edit,
                format!("Memory saved: {}", planner.refer(&file)),
            )
        }
        Wish::Delete { paths } => (Verb::Delete, planner.delete(&mut draft, paths)?),
        Wish::Rename { from, to } => (Verb::Rename, planner.rename(&mut draft, from, to)?),
        Wish::Extend {
            lesson,
            content,
            fields,
        } => (
            Verb::Patch,
            planner.extend(&mut draft, lesson, (content, fields))?,
        ),
        Wish::Generalize {
            path,
            content,
            fields,
            from,
        } => {
            let principle = Principle {
                path,
                content,
                fields,
            };
            (
                Verb::Append,
                planner.generalize(&mut draft, &principle, from)?,
            )
        }
        Wish::Index(how) => {
            store.rules().keep_index(&mut draft, *how)?;
            (Verb::Index, "Index up to date".to_owned())
        }
    };
    if verb == Verb::Index {
        // Here the index is what was asked for: taking it back must give back its very bytes.
        let mut change = draft.into_change(verb, message);
        change
            .edits
            .iter_mut()
            .for_each(|edit| edit.derived = false);
        return Ok(change);
    }
    draft.follow()?;
    Ok(draft.into_change(verb, message))
}

pub(super) struct Planner<'a> {
    pub(super) store: &'a Store,
    pub(super) asking: &'a Asking,
}

impl Planner<'_> {
    /// The file that a caller's path means, if `act` is allowed on it.
    pub(super) fn target(&self, act: Act, path: &str) -> Result<String> {
        let file = self.store.locate(path)?;
        let placed = self.store.rules().place(path);
        if matches!(act, Act::Delete | Act::Rename) && self.store.root().is_link(&placed) {
            let target = self.refer(&file);
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
        self.store.rules().allow(act, &file, self.store.root())?;
        self.store.root().writable(&file)?;
        Ok(file)
    }

    pub(super) fn refer(&self, file: &str) -> String {
        self.store.rules().refer(file)
    }

    /// The text of the file, which must be the one that the caller has seen.
    pub(super) fn seen(&self, draft: &Draft<'_>, file: &str) -> Result<Option<String>> {
        self.check(draft, file)?;
        draft.text(file)
    }

    fn check(&self, draft: &Draft<'_>, file: &str) -> Result<()> {
        let Some(expected) = self.asking.expected else {
            return Ok(());
        };
        let theirs = draft.bytes(file)?;
        if theirs.as_deref().map(Revision::of) == Some(expected) {
            return Ok(());
        }
        Err(Error::Conflict(Box::new(Conflict {
            path: self.refer(file),
            base: None,
            mine: None,
            theirs,
        })))
    }

    fn delete(&self, draft: &mut Draft<'_>, paths: &[String]) -> Result<String> {
        let mut gone = Vec::new();
        for path in paths {
            let file = self.target(Act::Delete, path)?;
            self.check(draft, &file)?;
            if draft.bytes(&file)?.is_none() {
                return Err(Error::not_found(path.as_str()));
            }
            draft.set(&file, None)?;
            gone.push(self.refer(&file));
        }
        Ok(format!("Memory deleted: {}", gone.join(", ")))
    }

    fn rename(&self, draft: &mut Draft<'_>, from: &str, to: &str) -> Result<String> {
        let old = self.target(Act::Rename, from)?;
        let new = self.target(Act::Rename, to)?;
        self.check(draft, &old)?;
        if draft.bytes(&old)?.is_none() {
            return Err(Error::not_found(from));
        }
        if self.store.root().has(&new) {
            return Err(Error::refused(to, "there is a memory of that name already"));
        }
        let title = draft.memory_before(&old)?.title;
        draft.rename(&old, &new)?;
        self.relink(
            draft,
            &Renaming {
                old: &old,
                new: &new,
                title: &title,
            },
        )?;
        let (old, new) = (self.refer(&old), self.refer(&new));
        Ok(format!("Memory renamed: {old} → {new}"))
    }

    /// Points the links of every memory to the new name.
    fn relink(&self, draft: &mut Draft<'_>, renaming: &Renaming<'_>) -> Result<()> {
        let files: Vec<String> = draft
            .memories_before()?
            .iter()
            .map(|memory| self.store.rules().place(&memory.path))
            .collect();
        for file in files {
            let file = if file == renaming.old {
                renaming.new.to_owned()
            } else {
                file
            };
            // A file that cannot be read as text has no links that could be followed.
            let Ok(Some(text)) = draft.text(&file) else {
                continue;
            };
            let linked = self.relinked(&file, &text, renaming);
            if linked != text {
                self.store.root().writable(&file)?;
                draft.set(&file, Some(linked.into_bytes()))?;
            }
        }
        Ok(())
    }

    fn relinked(&self, file: &str, text: &str, renaming: &Renaming<'_>) -> String {
        let mut out = text.to_owned();
        // A file that moved itself wrote its links from where it was.
        let itself = file == renaming.new;
        let stood = if itself { renaming.old } else { file };
        for found in link::links(text).into_iter().rev() {
            let target = match found.form {
                Form::Inline => {
                    let meant = link::resolved(stood, &found.target);
                    if meant.as_deref() == Some(renaming.old) {
                        Some(link::relative(file, renaming.new))
                    } else if found.target == self.refer(renaming.old) {
                        Some(self.refer(renaming.new))
                    } else {
                        let meant = meant.filter(|path| itself && self.store.root().has(path));
                        let moved = meant.map(|path| link::relative(file, &path));
                        moved.filter(|target| *target != found.target)
                    }
                }
                // Wiki links mean the name, which stays; only one by the file's stem must follow.
                Form::Wiki => (found.target == stem(renaming.old)
                    && renaming.title != found.target)
                    .then(|| stem(renaming.new).to_owned()),
            };
            if let Some(target) = target {
                out = splice(&out, found.span, &target);
            }
        }
        out
    }
}

struct Renaming<'a> {
    old: &'a str,
    new: &'a str,
    title: &'a str,
}

/// Plans taking a memory from one store to another. Between stores of one layout the bytes go
/// as they are; otherwise the body and what the header says are written anew.
pub fn plan_move(from: (&Store, &str), to: (&Store, &str), asking: &Asking) -> Result<Change> {
    let (source, old) = from;
    let (target, new) = to;
    let leaving = Planner {
        store: source,
        asking,
    };
    let arriving = Planner {
        store: target,
        asking,
    };
    let old_file = leaving.target(Act::Delete, old)?;
    let new_file = arriving.target(Act::Write, new)?;
    if target.root().has(&new_file) {
        return Err(Error::refused(
            new,
            "there is a memory of that name already",
        ));
    }
    let mut gone = Draft::new(source, &asking.moment);
    let mut come = Draft::new(target, &asking.moment);
    leaving.check(&gone, &old_file)?;
    let bytes = gone.bytes(&old_file)?;
    let bytes = bytes.ok_or_else(|| Error::not_found(old))?;
    let bytes = if source.layout() == target.layout() {
        bytes
    } else {
        let text = source.decoded(&old_file, bytes)?;
        let memory = source.rules().read(&old_file, &text);
        let fields = Fields {
            name: Some(memory.title.clone()),
            description: Some(memory.summary.clone()).filter(|summary| !summary.is_empty()),
            category: category(target, &memory.category),
            tags: memory.tags.clone(),
        };
        let body = source.rules().body(&text, &memory);
        let writing = Writing {
            file: &new_file,
            content: &body,
            fields: &fields,
            old: None,
        };
        target.rules().compose(&come, &writing)?.into_bytes()
    };
    gone.set(&old_file, None)?;
    come.set(&new_file, Some(bytes))?;
    come.keep_attributes(&new_file, source.root().attributes(&old_file));
    gone.follow()?;
    come.follow()?;
    let message = format!(
        "Memory moved: {} → {}:{}",
        leaving.refer(&old_file),
        target.name(),
        arriving.refer(&new_file)
    );
    let mut change = come.into_change(Verb::Move, message);
    change.edits.extend(gone.into_edits());
    change.edits.sort_by_key(|edit| edit.derived);
    Ok(change)
}

/// The type that a memory has in its new store: its own where that is known there.
fn category(target: &Store, own: &Option<String>) -> Option<String> {
    let known = |name: &String| index::TYPES.iter().any(|(known, _)| known == name);
    match target.layout() {
        Layout::Index => Some(
            own.clone()
                .filter(known)
                .unwrap_or_else(|| "project".to_owned()),
        ),
        _ => None,
    }
}
