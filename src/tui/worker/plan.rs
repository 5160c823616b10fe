//! Planning: turns a request of the app into a change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::core::change::history::History;
use crate::core::change::{
    self, BrokenLinks, Change, ChangeContext, ChangeRequest, ChangeVerb, Direction, MergeTexts,
    RestoredFile, Transfer, plan, plan_moves, replay,
};
use crate::core::disk::error::Conflict;
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::Root;
use crate::core::insight::curate::fix::{fixable, plan_fixes};
use crate::core::insight::rehome::plan_rehome;
use crate::core::insight::review::{Selection, plan_reverts};
use crate::core::memory::layout::{Fields, Layout};
use crate::core::memory::library::Library;
use crate::core::memory::store::{Store, StoreId};
use crate::core::memory::template::{TemplateInput, template};
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};
use crate::tui::effect::{NewMemory, Request, UndoDirection};
use crate::tui::model::{MergeTask, MergedAway};

/// Plans changes to the stores of a library.
pub(super) struct Planner<'a> {
    pub(super) library: &'a Library,
    pub(super) history: &'a History,
    /// The time of the planned changes.
    pub(super) moment: Moment,
    /// The directories that were changed in this run, of stores and others: what was done there can
    /// be undone.
    pub(super) changed_roots: &'a [PathBuf],
}

impl<'a> Planner<'a> {
    pub(super) fn store(&self, id: &StoreId) -> Result<&'a Store> {
        let snapshot = self.library.store_by_id(id);
        let missing = || Error::not_found(format!("the store at {}", id.root().display()));
        snapshot
            .map(|snapshot| &*snapshot.store)
            .ok_or_else(missing)
    }

    /// Returns the reviewed change if its files are unchanged; otherwise plans the request again.
    /// A new plan for unchanged files could still differ, because plans write the time into them.
    pub(super) fn plan_again(&self, request: &Request, reviewed: &Change) -> Result<Change> {
        if is_current(reviewed)? {
            Ok(reviewed.clone())
        } else {
            self.plan(request)
        }
    }

    /// Plans the change that a request asks for; nothing is written.
    pub(super) fn plan(&self, request: &Request) -> Result<Change> {
        let context = self.change_context();
        match request {
            Request::Change {
                store,
                change_request,
            } => plan(self.store(store)?, change_request, &context),
            Request::Save(text) => self.plan_save(text, context),
            Request::Delete(stores) => self.plan_delete(stores, &context),
            Request::Move {
                memories,
                to,
                links,
            } => {
                let target = self.store(to)?;
                let mut transfers = Vec::new();
                for (store, path) in memories {
                    let source = self.store(store)?;
                    let place = path_in_store(source, target, path);
                    transfers.push(Transfer {
                        source,
                        path,
                        place,
                    });
                }
                plan_moves(&transfers, target, *links, &context)
            }
            Request::Rehome { from, to } => {
                let open = |root: &Path| Store::open("claude", root, Some(Layout::Index));
                let rehoming = plan_rehome(&open(from)?, &open(to)?, &context)?;
                let change = rehoming.map(|rehoming| rehoming.change);
                let path = from.display().to_string();
                change.ok_or_else(|| Error::refused(path, "nothing to do: it has no memories"))
            }
            Request::Undo(id) => {
                let record = self.history.find(id)?;
                replay(self.history, &record, Direction::Back, &context.moment)
            }
            Request::Redo(id) => {
                let record = self.history.find(id)?;
                replay(self.history, &record, Direction::Forward, &context.moment)
            }
            Request::Restore { id, only } => {
                let record = self.history.find(id)?;
                let only = only.as_ref().map(|(root, path)| RestoredFile {
                    root: Some(root),
                    path,
                });
                change::restore(self.history, &record, only, &context.moment)
            }
            Request::Latest(which) => self.plan_latest(*which, &context),
            Request::Merge { text, others } => self.plan_merge(text, others, context),
            Request::Generalize { text, from } => {
                let change_request = ChangeRequest::Generalize {
                    path: text.path.clone(),
                    content: text.text.clone(),
                    fields: Fields::default(),
                    from: from.iter().filter_map(|path| path.parse().ok()).collect(),
                };
                plan(self.store(&text.store())?, &change_request, &context)
            }
            Request::Fix(chosen) => {
                let mut stores = Vec::new();
                for (store, findings) in chosen {
                    let store = self.store(store)?;
                    stores.push((store, fixable(store, findings).0));
                }
                if stores.iter().all(|(_, findings)| findings.is_empty()) {
                    // The plan reports why none can be fixed.
                    stores.clear();
                    for (store, findings) in chosen {
                        stores.push((self.store(store)?, findings.iter().collect()));
                    }
                }
                plan_fixes(&stores, &self.moment)
            }
            Request::Revert(chosen) => {
                let mut stores = Vec::new();
                for (store, _) in chosen {
                    stores.push(self.store(store)?);
                }
                let ids = chosen.iter().flat_map(|(_, ids)| ids.iter().cloned());
                let selection = Selection::Ids(ids.collect());
                plan_reverts(self.history, &stores, &selection, &self.moment)
            }
        }
    }

    fn change_context(&self) -> ChangeContext {
        ChangeContext {
            moment: self.moment.clone(),
            expected: None,
            history: Some(self.history.clone()),
        }
    }

    /// Plans the creation of a memory from its template.
    pub(super) fn compose(&self, new: &NewMemory) -> Result<Change> {
        let store = self.store(&new.store)?;
        let input = TemplateInput {
            name: &new.name,
            about: &new.about,
            text: new.text.as_deref(),
        };
        let made = template(store, &new.kind, input, self.moment.today);
        if store.holds(&made.path) {
            return Err(name_taken_error(&made.path));
        }
        let change_request = ChangeRequest::Write {
            path: made.path,
            content: made.content,
            fields: made.fields,
        };
        plan(store, &change_request, &self.change_context())
    }

    /// Reads memories that are to become one; the first one stays.
    pub(super) fn gather(&self, memories: &[(StoreId, String)]) -> Result<MergeTask> {
        let mut found = Vec::new();
        for (store, path) in memories {
            found.push((self.store(store)?, path.as_str()));
        }
        let (Some(into), [first, others @ ..]) = (found.first(), memories) else {
            return Err(Error::refused("merge", "there is nothing to merge"));
        };
        Ok(MergeTask {
            texts: MergeTexts::read(*into, &found[1..], &self.moment)?,
            into: first.clone(),
            others: others.to_vec(),
        })
    }

    fn plan_merge(
        &self,
        text: &Unsaved,
        others: &[MergedAway],
        mut context: ChangeContext,
    ) -> Result<Change> {
        let base = text.base.as_ref();
        context.expected = base.map(|base| Revision::of(base.as_bytes()));
        let mut seen = Vec::new();
        for (store, path, revision) in others {
            seen.push(((self.store(store)?, path.as_str()), *revision));
        }
        let into = (self.store(&text.store())?, text.path.as_str());
        change::plan_merge(into, &seen, &text.text, &context)
    }

    fn plan_save(&self, text: &Unsaved, mut context: ChangeContext) -> Result<Change> {
        let opened;
        let store = match self.library.store_by_id(&text.store()) {
            Some(snapshot) => &*snapshot.store,
            None => {
                opened = Store::open("", &text.root, Some(text.layout))?;
                &opened
            }
        };
        let base = text.base.as_ref();
        context.expected = base.map(|base| Revision::of(base.as_bytes()));
        let change_request = ChangeRequest::Edit {
            path: text.path.clone(),
            text: text.text.clone(),
        };
        let conflict = |theirs: Option<Vec<u8>>| {
            Error::Conflict(Box::new(Conflict {
                path: text.path.clone(),
                base: base.map(|base| base.clone().into_bytes()),
                mine: Some(text.text.clone().into_bytes()),
                theirs,
            }))
        };
        let change = plan(store, &change_request, &context).map_err(|error| match error {
            // The planner knows only the hash of the opened version.
            Error::Conflict(met) => conflict(met.theirs),
            other => other,
        })?;
        let main = change.edits.iter().find(|edit| !edit.derived);
        match main.and_then(|edit| edit.before.clone()) {
            Some(theirs) if base.is_none() => Err(conflict(Some(theirs))),
            _ => Ok(change),
        }
    }

    /// Plans one change that deletes memories of several stores, whose files are disjoint.
    fn plan_delete(
        &self,
        stores: &[(StoreId, Vec<String>)],
        context: &ChangeContext,
    ) -> Result<Change> {
        let mut all = Change {
            verb: ChangeVerb::Delete,
            message: String::new(),
            edits: Vec::new(),
            of: None,
            rejected: Vec::new(),
        };
        for (store, paths) in stores {
            let change_request = ChangeRequest::Delete {
                paths: paths.clone(),
            };
            all.edits
                .extend(plan(self.store(store)?, &change_request, context)?.edits);
        }
        all.edits.sort_by_key(|edit| edit.derived);
        let paths: Vec<&str> = stores
            .iter()
            .flat_map(|(_, paths)| paths.iter().map(String::as_str))
            .collect();
        all.message = match paths.as_slice() {
            [one] => format!("Memory deleted: {one}"),
            several => format!("{} memories deleted: {}", several.len(), several.join(", ")),
        };
        Ok(all)
    }

    /// Returns the consequences of a change that its diff does not show, above all the links that
    /// it breaks.
    pub(super) fn notes(&self, request: &Request, change: Option<&Change>) -> Vec<String> {
        let leaving: Vec<(StoreId, Vec<String>)> = match request {
            Request::Delete(stores) => stores.clone(),
            Request::Move { memories, .. } => {
                let mut stores: BTreeMap<StoreId, Vec<String>> = BTreeMap::new();
                for (store, path) in memories {
                    stores.entry(store.clone()).or_default().push(path.clone());
                }
                stores.into_iter().collect()
            }
            Request::Fix(chosen) => {
                let refused = chosen.iter().filter_map(|(store, findings)| {
                    let store = self.store(store).ok()?;
                    Some(fixable(store, findings).1)
                });
                return refused.flatten().collect();
            }
            _ => return Vec::new(),
        };
        let mut linking: Vec<String> = Vec::new();
        for (store, paths) in &leaving {
            // If the links cannot be read, the plan reports the reason.
            let found = self
                .store(store)
                .and_then(|store| change::memories_linking_to(store, paths));
            linking.extend(found.unwrap_or_default());
        }
        let follows = |path: &String| {
            let mut edits = change.into_iter().flat_map(|change| &change.edits);
            edits.any(|edit| !edit.derived && edit.reference() == *path)
        };
        let (following, broken): (Vec<String>, Vec<String>) =
            linking.into_iter().partition(follows);
        let mut notes = Vec::new();
        match broken.as_slice() {
            [] => {}
            [one] => notes.push(format!("A link in {one} will lead nowhere")),
            several => notes.push(format!("Links in {} will lead nowhere", several.join(", "))),
        }
        if let Request::Move { links, .. } = request {
            match links {
                BrokenLinks::Follow if !following.is_empty() => {
                    notes.push(format!("Links in {} follow", following.join(", ")));
                }
                BrokenLinks::Leave => notes.push("Links stay as they are".to_owned()),
                BrokenLinks::Follow => {}
            }
        }
        notes
    }

    fn plan_latest(&self, which: UndoDirection, context: &ChangeContext) -> Result<Change> {
        let stores = self.library.stores.iter();
        let others = self.changed_roots.iter().map(PathBuf::as_path);
        let roots: Vec<&Path> = stores
            .map(|snapshot| snapshot.store.root().path())
            .chain(others)
            .collect();
        let (record, direction, nothing) = match which {
            UndoDirection::Undo => (
                self.history.undoable(&roots)?,
                Direction::Back,
                "nothing to undo here",
            ),
            UndoDirection::Redo => (
                self.history.redoable(&roots)?,
                Direction::Forward,
                "nothing to redo here",
            ),
        };
        match record {
            Some(record) => replay(self.history, &record, direction, &context.moment),
            None => Err(Error::refused("history", nothing)),
        }
    }
}

/// Whether every file has the content that the change was planned for.
fn is_current(change: &Change) -> Result<bool> {
    for edit in &change.edits {
        if Root::open(&edit.root)?.read_whole(&edit.path)? != edit.before {
            return Ok(false);
        }
    }
    Ok(true)
}

fn name_taken_error(path: &str) -> Error {
    Error::refused(path, "there is a memory of that name already")
}

/// Returns the path of a memory in another store: unchanged if the layout is the same.
fn path_in_store(from: &Store, to: &Store, path: &str) -> String {
    use crate::core::memory::{stem, template};
    // An entry is added to the file of that name, or becomes a memory of its own.
    let (file, entry) = match path.rsplit_once('#').filter(|_| !from.root().has(path)) {
        Some((file, slug)) => (file, Some(slug)),
        None => (path, None),
    };
    if from.layout() == to.layout() {
        return file.to_owned();
    }
    let kinds = template::kinds(to);
    let kind = kinds.first().copied().unwrap_or_default();
    template::path(to.layout(), kind, entry.unwrap_or(stem(path)))
}
