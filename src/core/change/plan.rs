//! From a wish to a change: what each file would hold.

use super::teach::Principle;
use super::{Change, Draft, Moment, Verb};
use crate::core::citation::Citation;
use crate::core::error::Conflict;
use crate::core::header::replaced;
use crate::core::layout::{Act, Fields, Layout, Matching, Patch, Upkeep, Writing};
use crate::core::link::{self, Form, Link};
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
        /// What each may match.
        matching: Matching,
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
    let (verb, message) = planner.apply(&mut draft, wish)?;
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
    /// Does to the draft what somebody wants; answers what it is, and what to tell of it.
    fn apply(&self, draft: &mut Draft<'_>, wish: &Wish) -> Result<(Verb, String)> {
        Ok(match wish {
            Wish::Write {
                path,
                content,
                fields,
            } => (Verb::Write, self.write(draft, path, (content, fields))?),
            Wish::Append {
                path,
                entry,
                fields,
            } => (Verb::Append, self.append(draft, path, (entry, fields))?),
            Wish::Patch {
                path,
                patches,
                matching,
            } => (Verb::Patch, self.patch(draft, path, (patches, *matching))?),
            Wish::Edit { path, text } => (Verb::Edit, self.edit(draft, path, text)?),
            Wish::Delete { paths } => (Verb::Delete, self.delete(draft, paths)?),
            Wish::Rename { from, to } => (Verb::Rename, self.rename(draft, from, to)?),
            Wish::Extend {
                lesson,
                content,
                fields,
            } => {
                let message = self.extend(draft, lesson, (content, fields))?;
                (Verb::Patch, message)
            }
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
                (Verb::Append, self.generalize(draft, &principle, from)?)
            }
            Wish::Index(how) => {
                self.store.rules().keep_index(draft, *how)?;
                (Verb::Index, "Index up to date".to_owned())
            }
        })
    }

    fn write(
        &self,
        draft: &mut Draft<'_>,
        path: &str,
        (content, fields): (&str, &Fields),
    ) -> Result<String> {
        let file = self.target(Act::Write, path)?;
        let old = self.seen(draft, &file)?;
        let writing = Writing {
            file: &file,
            content,
            fields,
            old: old.as_deref(),
        };
        let text = self.store.rules().compose(draft, &writing)?;
        draft.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory saved: {}", self.refer(&file)))
    }

    fn append(
        &self,
        draft: &mut Draft<'_>,
        path: &str,
        (entry, fields): (&str, &Fields),
    ) -> Result<String> {
        let file = self.target(Act::Append, path)?;
        let old = self.seen(draft, &file)?;
        let writing = Writing {
            file: &file,
            content: entry,
            fields,
            old: old.as_deref(),
        };
        let text = self.store.rules().append(draft, &writing)?;
        draft.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory updated: {}", self.refer(&file)))
    }

    fn patch(
        &self,
        draft: &mut Draft<'_>,
        path: &str,
        (patches, matching): (&[Patch], Matching),
    ) -> Result<String> {
        let file = self.target(Act::Patch, path)?;
        let old = self.seen(draft, &file)?;
        let old = old.ok_or_else(|| Error::not_found(self.refer(&file)))?;
        let rules = self.store.rules();
        let text = rules.patch(draft, (&file, &old), patches, matching)?;
        draft.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory updated: {}", self.refer(&file)))
    }

    fn edit(&self, draft: &mut Draft<'_>, path: &str, text: &str) -> Result<String> {
        let file = self.target(Act::Patch, path)?;
        let old = self.seen(draft, &file)?;
        // What was saved as it was opened stays as it is, derived parts included.
        let text = match old.as_deref() == Some(text) {
            true => text.to_owned(),
            false => {
                let rules = self.store.rules();
                rules.settle(old.as_deref(), text.to_owned())
            }
        };
        draft.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory saved: {}", self.refer(&file)))
    }

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
        if file.contains(char::is_control) && !self.store.root().has(&file) {
            return Err(Error::refused(
                path,
                "a line break or control character in a name breaks the lists that name the file; choose another name",
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

    pub(super) fn check(&self, draft: &Draft<'_>, file: &str) -> Result<()> {
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
        let edits: Vec<_> = link::links(text)
            .iter()
            .filter_map(|found| {
                let target = self.new_target(file, found, renaming)?;
                Some(found.pointed_at(&target))
            })
            .collect();
        replaced(text, &edits)
    }

    /// Where a link of `file` must lead after the renaming, if that is elsewhere.
    fn new_target(&self, file: &str, found: &Link<'_>, renaming: &Renaming<'_>) -> Option<String> {
        if found.form == Form::Wiki {
            // Wiki links mean the name, which stays; only one by the file's stem must follow.
            let is_stem = found.target == stem(renaming.old) && renaming.title != found.target;
            return is_stem.then(|| stem(renaming.new).to_owned());
        }
        // A file that moved itself wrote its links from where it was.
        let itself = file == renaming.new;
        let stood = if itself { renaming.old } else { file };
        let meant = link::resolved(stood, &found.target);
        if meant.as_deref() == Some(renaming.old) {
            return Some(link::relative(file, renaming.new));
        }
        if found.target == self.refer(renaming.old) {
            return Some(self.refer(renaming.new));
        }
        let meant = meant.filter(|path| itself && self.store.root().has(path));
        let moved = meant.map(|path| link::relative(file, &path));
        moved.filter(|target| *target != found.target)
    }
}

struct Renaming<'a> {
    old: &'a str,
    new: &'a str,
    title: &'a str,
}
