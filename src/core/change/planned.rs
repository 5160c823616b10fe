//! Planned files: the files of a store as they would be, while a change is being planned.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};

use super::{Change, ChangeVerb, Edit, Moment};
use crate::core::layout::TouchedFile;
use crate::core::memory::{FileKind, Memory};
use crate::core::sandbox::Attributes;
use crate::core::store::Store;
use crate::core::{Error, Result};

/// The store with planned edits laid over it; nothing is written.
#[derive(Debug)]
pub struct PlannedFiles<'a> {
    store: &'a Store,
    moment: &'a Moment,
    slots: BTreeMap<String, PlannedFile>,
    renamed: Vec<(String, String)>,
    before: OnceCell<Vec<Memory>>,
    /// Each file as it was when the plan first looked: what is written must follow from the
    /// very bytes that the commit will check for.
    seen: RefCell<HashMap<String, Option<Vec<u8>>>>,
}

#[derive(Debug)]
struct PlannedFile {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    derived: bool,
    /// The mode and time that a new file shall have.
    attributes: Attributes,
}

impl<'a> PlannedFiles<'a> {
    /// Nothing planned yet over `store`.
    pub fn new(store: &'a Store, moment: &'a Moment) -> Self {
        Self {
            store,
            moment,
            slots: BTreeMap::new(),
            renamed: Vec::new(),
            before: OnceCell::new(),
            seen: RefCell::new(HashMap::new()),
        }
    }

    /// The bytes of a file on the disk, read once.
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

    /// When it is planned.
    pub fn moment(&self) -> &Moment {
        self.moment
    }

    /// The bytes of a file as they are planned it.
    pub fn bytes(&self, file: &str) -> Result<Option<Vec<u8>>> {
        match self.slots.get(file) {
            Some(slot) => Ok(slot.after.clone()),
            None => self.on_disk(file),
        }
    }

    /// The text of a file as they are planned it; an error where it is not text.
    pub fn text(&self, file: &str) -> Result<Option<String>> {
        let file = self.store.root().resolve(file)?;
        let bytes = self.bytes(&file)?;
        let text = bytes.map(|bytes| self.store.decoded(&file, bytes));
        text.transpose()
    }

    /// Whether they are planned the file.
    pub fn contains(&self, file: &str) -> bool {
        match self.slots.get(file) {
            Some(slot) => slot.after.is_some(),
            None => self.store.root().has(file),
        }
    }

    /// When a file on the disk was last changed, in milliseconds since 1970.
    pub fn modified(&self, file: &str) -> Option<i64> {
        self.store
            .root()
            .find_file(file)
            .map(|found| found.modified)
    }

    /// The name on the disk of a file that the draft gives another.
    pub fn renamed_from(&self, file: &str) -> Option<&str> {
        let mut renamed = self.renamed.iter();
        let (from, _) = renamed.find(|(_, to)| to == file)?;
        Some(from)
    }

    /// Sets the content of a file; `None` removes it.
    pub fn set(&mut self, file: &str, after: Option<Vec<u8>>) -> Result<()> {
        self.set_file(file, after, false)
    }

    /// Sets the content of a file that follows from others.
    pub fn set_derived(&mut self, file: &str, text: String) -> Result<()> {
        self.set_file(file, Some(text.into_bytes()), true)
    }

    /// Removes a file that follows from others.
    pub fn remove_derived(&mut self, file: &str) -> Result<()> {
        self.set_file(file, None, true)
    }

    fn set_file(&mut self, file: &str, after: Option<Vec<u8>>, derived: bool) -> Result<()> {
        let file = self.store.root().resolve(file)?;
        if let Some(slot) = self.slots.get_mut(&file) {
            slot.after = after;
            slot.attributes.modified = None;
            return Ok(());
        }
        let before = self.on_disk(&file)?;
        let slot = PlannedFile {
            before,
            after,
            derived,
            attributes: Attributes::default(),
        };
        self.slots.insert(file, slot);
        Ok(())
    }

    /// Gives a file another name, bytes unchanged.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let bytes = self.bytes(from)?;
        self.set(from, None)?;
        self.set(to, bytes)?;
        self.keep_attributes(to, self.store.root().attributes(from));
        self.renamed.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    /// Gives a new file the mode and time of the one that it comes from.
    pub fn keep_attributes(&mut self, file: &str, attributes: Attributes) {
        if let Some(slot) = self.slots.get_mut(file) {
            slot.attributes = attributes;
        }
    }

    /// The memories as they are on the disk.
    pub fn memories_before(&self) -> Result<&[Memory]> {
        if self.before.get().is_none() {
            let listed = self.store.list()?;
            // Nobody else can have set it: a draft is not shared.
            drop(self.before.set(listed));
        }
        Ok(self.before.get().map_or(&[], Vec::as_slice))
    }

    /// The memories as they would be.
    pub fn memories_after(&self) -> Result<Vec<Memory>> {
        let rules = self.store.rules();
        let mut memories = self.memories_before()?.to_vec();
        for (file, slot) in self.slots.iter().filter(|(_, slot)| !slot.derived) {
            let reference = rules.reference_of(file);
            memories.retain(|memory| memory.path != reference);
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

    /// One memory as it is on the disk.
    pub fn memory_before(&self, file: &str) -> Result<Memory> {
        let bytes = match self.slots.get(file) {
            Some(slot) => slot.before.clone(),
            None => self.on_disk(file)?,
        };
        self.read(file, bytes)
    }

    /// One memory as it would be.
    pub fn memory_after(&self, file: &str) -> Result<Memory> {
        self.read(file, self.bytes(file)?)
    }

    fn read(&self, file: &str, bytes: Option<Vec<u8>>) -> Result<Memory> {
        let rules = self.store.rules();
        let bytes = bytes.ok_or_else(|| Error::not_found(rules.reference_of(file)))?;
        Ok(rules.read(file, &String::from_utf8_lossy(&bytes)))
    }

    /// What was done to the files that do not follow from others.
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

    /// Lets the layout's index follow what was done.
    pub fn update_index(&mut self) -> Result<()> {
        let touched = self.touched();
        if touched.is_empty() {
            return Ok(());
        }
        let rules = self.store.rules();
        rules.update_index(self, &touched)
    }

    /// The edits, what was asked for first and what follows from it last.
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

    /// The planned change.
    pub fn into_change(self, verb: ChangeVerb, message: String) -> Change {
        Change {
            verb,
            message,
            edits: self.into_edits(),
            of: None,
        }
    }
}
