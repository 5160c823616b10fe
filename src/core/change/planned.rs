//! The files of a store as a planned change would leave them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};

use super::history::{FileChange, History, Record};
use super::{Change, ChangeContext, ChangeVerb, Edit};
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::{Attributes, Root};
use crate::core::memory::layout::{FileView, TouchedFile};
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// A store overlaid with planned edits; nothing is written.
#[derive(Debug)]
pub struct PlannedFiles<'a> {
    pub(super) store: &'a Store,
    pub(super) moment: &'a Moment,
    /// The revision that the file must still have, if the caller read it.
    pub(super) expected: Option<Revision>,
    history: Option<&'a History>,
    slots: BTreeMap<String, PlannedFile>,
    renamed: Vec<(String, String)>,
    before: OnceCell<Vec<Memory>>,
    /// Each file as the plan first read it: what is written must derive from the same bytes that
    /// the commit checks for.
    seen: RefCell<HashMap<String, Option<Vec<u8>>>>,
}

#[derive(Debug)]
struct PlannedFile {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    derived: bool,
    /// The mode and modification time for a new file.
    attributes: Attributes,
}

impl<'a> PlannedFiles<'a> {
    /// Nothing planned yet over `store`.
    pub fn new(store: &'a Store, moment: &'a Moment) -> Self {
        Self {
            store,
            moment,
            expected: None,
            history: None,
            slots: BTreeMap::new(),
            renamed: Vec::new(),
            before: OnceCell::new(),
            seen: RefCell::new(HashMap::new()),
        }
    }

    /// Nothing planned yet over `store`, in this context.
    pub fn of(store: &'a Store, context: &'a ChangeContext) -> Self {
        Self {
            expected: context.expected,
            history: context.history.as_ref(),
            ..Self::new(store, &context.moment)
        }
    }

    /// The bytes of a file on disk, read once.
    fn on_disk(&self, file: &str) -> Result<Option<Vec<u8>>> {
        if let Some(seen) = self.seen.borrow().get(file) {
            return Ok(seen.clone());
        }
        let bytes = self.store.root().read(file)?;
        self.seen
            .borrow_mut()
            .insert(file.to_owned(), bytes.clone());
        Ok(bytes)
    }

    /// The bytes of a file, planned edits included.
    pub fn bytes(&self, file: &str) -> Result<Option<Vec<u8>>> {
        match self.slots.get(file) {
            Some(slot) => Ok(slot.after.clone()),
            None => self.on_disk(file),
        }
    }

    /// Sets the content of a file; `None` removes it.
    pub fn set(&mut self, file: &str, after: Option<Vec<u8>>) -> Result<()> {
        self.set_file(file, after, false)
    }

    fn set_file(&mut self, file: &str, after: Option<Vec<u8>>, derived: bool) -> Result<()> {
        let file = self.store.root().resolve(file)?;
        if let Some(slot) = self.slots.get_mut(&file) {
            slot.after = after;
            slot.attributes.modified = None;
            return Ok(());
        }
        let before = match after {
            // What is deleted may be larger than any memory.
            None => self.store.root().read_whole(&file)?,
            Some(_) => self.on_disk(&file)?,
        };
        let slot = PlannedFile {
            before,
            after,
            derived,
            attributes: Attributes::default(),
        };
        self.slots.insert(file, slot);
        Ok(())
    }

    /// Renames a file; its bytes stay the same.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let bytes = self.bytes(from)?;
        self.set(from, None)?;
        self.set(to, bytes)?;
        self.keep_attributes(to, self.store.root().attributes(from));
        self.renamed.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    /// Gives a new file the mode and modification time of its source.
    pub fn keep_attributes(&mut self, file: &str, attributes: Attributes) {
        if let Some(slot) = self.slots.get_mut(file) {
            slot.attributes = attributes;
        }
    }

    fn read(&self, file: &str, bytes: Option<Vec<u8>>) -> Result<Memory> {
        let rules = self.store.rules();
        let bytes = bytes.ok_or_else(|| Error::not_found(rules.reference_of(file)))?;
        Ok(rules.read(file, &String::from_utf8_lossy(&bytes)))
    }

    /// What the plan does to files that are not generated.
    pub fn touched(&self) -> Vec<TouchedFile> {
        let mut touched: Vec<TouchedFile> = self
            .renamed
            .iter()
            .map(|(from, to)| TouchedFile::Renamed {
                from: from.clone(),
                to: to.clone(),
            })
            .collect();
        for (file, slot) in self.slots.iter().filter(|(_, slot)| !slot.derived) {
            if self
                .renamed
                .iter()
                .any(|(from, to)| from == file || to == file)
            {
                continue;
            }
            match (&slot.before, &slot.after) {
                (None, Some(_)) => touched.push(TouchedFile::Added(file.clone())),
                (Some(_), None) => touched.push(TouchedFile::Removed(file.clone())),
                (Some(old), Some(new)) if old != new => {
                    touched.push(TouchedFile::Edited(file.clone()))
                }
                _ => {}
            }
        }
        touched
    }

    /// Checks the planned edits, adds what makes the agent keep them, and updates the index.
    pub fn finish(&mut self) -> Result<()> {
        let rules = self.store.rules();
        let root = self.store.root();
        for (file, slot) in &self.slots {
            let text = |bytes: &Option<Vec<u8>>| {
                let bytes = bytes.as_deref()?;
                std::str::from_utf8(bytes).ok().map(str::to_owned)
            };
            if let Some(after) = text(&slot.after) {
                rules.check(root, file, text(&slot.before).as_deref(), &after)?;
            }
        }
        let companion = rules.companion(self, &self.touched())?;
        if let Some((file, text)) = companion {
            self.set(&file, Some(text.into_bytes()))?;
        }
        self.update_index()
    }

    /// Updates the layout's index for the planned edits.
    pub fn update_index(&mut self) -> Result<()> {
        let touched = self.touched();
        if touched.is_empty() {
            return Ok(());
        }
        let rules = self.store.rules();
        rules.update_index(self, &touched)
    }

    /// The edits: requested files first, generated ones last.
    pub fn into_edits(self) -> Vec<Edit> {
        let root = self.store.root().path();
        let layout = self.store.layout();
        let mut edits: Vec<Edit> = self
            .slots
            .into_iter()
            .filter(|(_, slot)| slot.before != slot.after)
            .map(|(path, slot)| Edit {
                root: root.to_owned(),
                layout,
                path,
                before: slot.before,
                after: slot.after,
                derived: slot.derived,
                emptied: Vec::new(),
                attributes: slot.attributes,
            })
            .collect();
        edits.sort_by_key(|edit| edit.derived);
        edits
    }

    /// The planned edits as a change.
    pub fn into_change(self, verb: ChangeVerb, message: String) -> Change {
        let step = self.store.rules().last_step(self.store.root());
        Change {
            verb,
            message: format!("{message}{step}"),
            edits: self.into_edits(),
            of: None,
            rejected: Vec::new(),
        }
    }
}

impl FileView for PlannedFiles<'_> {
    fn moment(&self) -> &Moment {
        self.moment
    }

    fn root(&self) -> &Root {
        self.store.root()
    }

    fn text(&self, file: &str) -> Result<Option<String>> {
        let file = self.store.root().resolve(file)?;
        let bytes = self.bytes(&file)?;
        let text = bytes.map(|bytes| self.store.decoded(&file, bytes));
        text.transpose()
    }

    fn shown_text(&self, file: &str) -> Result<String> {
        let bytes = self.bytes(file)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn contains(&self, file: &str) -> bool {
        match self.slots.get(file) {
            Some(slot) => slot.after.is_some(),
            None => self.store.root().has(file),
        }
    }

    fn was_generated(&self, file: &str, is_it: &mut dyn FnMut(&str, &str) -> bool) -> bool {
        let Some(history) = self.history else {
            return false;
        };
        let root = self.store.root().path();
        let text = |revision: Option<Revision>| match revision {
            Some(revision) => String::from_utf8(history.version(&revision).ok()?).ok(),
            None => Some(String::new()),
        };
        // These may bring back, or take along, words of others.
        let is_own = |record: &&Record| {
            use ChangeVerb::{Accept, Move, Redo, Restore, Undo};
            !matches!(record.verb, Accept | Move | Redo | Restore | Undo)
        };
        let records = history.records().unwrap_or_default();
        records.iter().rev().filter(is_own).any(|record| {
            let is_generated = |change: &&FileChange| {
                (change.derived || record.verb == ChangeVerb::Index)
                    && change.root == root
                    && change.path == file
            };
            let mut changes = record.files.iter().filter(is_generated);
            changes.any(|change| match (text(change.before), text(change.after)) {
                (Some(before), Some(after)) => is_it(&before, &after),
                _ => false,
            })
        })
    }

    fn renamed_from(&self, file: &str) -> Option<&str> {
        let mut renamed = self.renamed.iter();
        let (from, _) = renamed.find(|(_, to)| to == file)?;
        Some(from)
    }

    fn set_derived(&mut self, file: &str, text: String) -> Result<()> {
        self.set_file(file, Some(text.into_bytes()), true)
    }

    fn remove_derived(&mut self, file: &str) -> Result<()> {
        self.set_file(file, None, true)
    }

    fn memories_before(&self) -> Result<&[Memory]> {
        if self.before.get().is_none() {
            let listed = self.store.list()?;
            // The cell is empty: it is not shared with other threads.
            drop(self.before.set(listed));
        }
        Ok(self.before.get().map_or(&[], Vec::as_slice))
    }

    fn memories_after(&self) -> Result<Vec<Memory>> {
        let rules = self.store.rules();
        let planned = || self.slots.iter().filter(|(_, slot)| !slot.derived);
        let references = planned().map(|(file, _)| rules.reference_of(file));
        let references: HashSet<String> = references.collect();
        let before = self.memories_before()?.iter();
        let stays = before.filter(|memory| !references.contains(&memory.path));
        let mut memories: Vec<Memory> = stays.cloned().collect();
        for (file, slot) in planned() {
            let is_memory = rules.kind(file) != FileKind::Index;
            if let Some(bytes) = slot.after.as_ref().filter(|_| is_memory) {
                memories.push(rules.read(file, &String::from_utf8_lossy(bytes)));
            }
        }
        memories.sort_by_cached_key(|memory| {
            let file = rules.file_of(&memory.path);
            (rules.rank(&file), file)
        });
        Ok(memories)
    }

    fn memory_before(&self, file: &str) -> Result<Memory> {
        let bytes = match self.slots.get(file) {
            Some(slot) => slot.before.clone(),
            None => self.on_disk(file)?,
        };
        self.read(file, bytes)
    }

    fn memory_after(&self, file: &str) -> Result<Memory> {
        self.read(file, self.bytes(file)?)
    }
}
