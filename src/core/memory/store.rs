//! A store: a root directory with one layout.

mod reader;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::{FoundFile, Root, check};
use crate::core::memory::layout::listing::{bullets, says_more};
use crate::core::memory::layout::{INDEX, Layout, Rules};
use crate::core::memory::{FileKind, Memory, stem};
use crate::core::text::display::visible_line;
use crate::core::text::header::Entry;
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// A root and its layout, opened for reading. Writing is done by [`crate::core::change`].
#[derive(Debug, Clone)]
pub struct Store {
    name: String,
    id: StoreId,
    root: Root,
    layout: Layout,
    /// Files that are listed in another store.
    elsewhere: Vec<String>,
}

/// Identifies a store independently of its name. Names are made unique at each discovery, so a
/// name such as `x-2` may refer to another store after the next one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreId {
    root: Arc<Path>,
    layout: Layout,
}

impl StoreId {
    /// The store of this layout at this canonical root.
    pub fn new(root: &Path, layout: Layout) -> Self {
        Self {
            root: Arc::from(root),
            layout,
        }
    }

    /// The canonical root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

/// A file as it was read. A change that passes its revision on fails if the file has another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The reference of the file in the store.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
    /// The hash of the content.
    pub revision: Revision,
}

impl Document {
    /// The content as text for display; invalid UTF-8 is replaced.
    pub fn lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

impl Store {
    /// Opens the store at `path`. Without a `layout`, it is detected from the files.
    pub fn open(name: &str, path: &Path, layout: Option<Layout>) -> Result<Self> {
        let root = Root::open(path)?;
        let layout = match layout {
            Some(layout) => layout,
            None => detected(&root)?,
        };
        Ok(Self {
            name: name.to_owned(),
            id: StoreId::new(root.path(), layout),
            root,
            layout,
            elsewhere: Vec::new(),
        })
    }

    /// The identity of the store, independent of its name.
    pub fn id(&self) -> &StoreId {
        &self.id
    }

    /// The same store with another name.
    pub fn with_name(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// The name of the store, as used in references.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same store without files that another one lists.
    pub fn without(self, elsewhere: Vec<String>) -> Self {
        Self { elsewhere, ..self }
    }

    /// The files that are listed.
    pub fn files(&self) -> Result<Vec<FoundFile>> {
        let mut files = self.rules().files(&self.root)?;
        files.retain(|file| !self.elsewhere.contains(&file.path));
        Ok(files)
    }

    /// The directory.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The rules of the layout.
    pub fn rules(&self) -> &'static dyn Rules {
        self.layout.rules()
    }

    /// Every memory, in the layout's order. A file that cannot be read is listed with its problem.
    pub fn list(&self) -> Result<Vec<Memory>> {
        self.read_all(|_| None, |memory, _| memory)
    }

    /// As [`Store::list`], for display: memories that have no description get the one of their line
    /// in the index.
    pub fn described(&self) -> Result<Vec<Memory>> {
        let mut memories = self.list()?;
        if self.layout == Layout::Index
            && let Ok(Some(index)) = self.text(INDEX)
        {
            describe(&mut memories, &index);
        }
        Ok(memories)
    }

    /// The index file of an index store, if it says more than which memories there are.
    pub fn index_memory(&self) -> Option<Memory> {
        let file = Some(INDEX).filter(|_| self.layout == Layout::Index);
        let found = self.root.find_file(file?)?;
        let text = self.text(INDEX).ok()??;
        let memory = Memory {
            modified: found.modified,
            ..self.rules().read(INDEX, &text)
        };
        says_more(&text).then_some(memory)
    }

    /// The entries of a memory that are listed below it: of a file that is memory as a whole only by
    /// them, as an index and a file of several.
    pub fn shown_entries<'m>(&self, memory: &'m Memory) -> &'m [Entry] {
        let has_several = self.layout == Layout::Entries || memory.entries.len() > 1;
        match memory.kind {
            FileKind::Index | FileKind::Instructions => &memory.entries,
            FileKind::Memory if has_several => &memory.entries,
            _ => &[],
        }
    }

    /// As [`Store::list`], but takes a memory from `known` if the size and the time of its file are
    /// the same, unless `changed` returns true for its path below the root.
    pub fn list_again(
        &self,
        known: &[Memory],
        changed: impl Fn(&str) -> bool + Sync,
    ) -> Result<Vec<Memory>> {
        let known: HashMap<&str, &Memory> = known
            .iter()
            .map(|memory| (memory.path.as_str(), memory))
            .collect();
        let unchanged = |file: &FoundFile| {
            let old = known.get(self.rules().reference_of(&file.path).as_str())?;
            let is_same = old.size == file.size && old.modified == file.modified;
            (is_same && !changed(&file.path)).then(|| (*old).clone())
        };
        self.read_all(unchanged, |memory, _| memory)
    }

    /// The file at the path that a caller gives, checked to be inside the root.
    pub fn locate(&self, path: &str) -> Result<String> {
        check(path)?;
        let placed = self.rules().file_of(path);
        // Instructions may be in a home directory, whose other files are no memories.
        if !self.rules().is_readable(&placed) {
            return Err(Error::not_found(path));
        }
        self.root.resolve(&placed).map_err(|error| match error {
            // Report the path as the caller gave it.
            Error::Escapes { .. } => Error::Escapes { path: path.into() },
            other => other,
        })
    }

    /// Whether there is a file at the path that a caller gives.
    pub fn holds(&self, path: &str) -> bool {
        let file = self.locate(path);
        file.is_ok_and(|file| self.root.has(&file))
    }

    /// The path of the memory that is shown as `shown`: with line breaks and other control characters
    /// replaced by visible ones.
    pub fn path_shown_as(&self, shown: &str) -> Option<String> {
        let is_replaced = |c: char| ('\u{2400}'..='\u{2421}').contains(&c);
        if !shown.contains(is_replaced) {
            return None;
        }
        let paths = self.list().ok()?.into_iter().map(|memory| memory.path);
        let mut paths = paths.filter(|path| visible_line(path) == shown);
        paths.next()
    }

    /// Reads the file at the path that a caller gives.
    pub fn read(&self, path: &str) -> Result<Document> {
        let file = self.locate(path)?;
        let found = self.root.read(&file)?;
        let bytes = found.ok_or_else(|| Error::not_found(path))?;
        Ok(Document {
            path: self.rules().reference_of(&file),
            revision: Revision::of(&bytes),
            bytes,
        })
    }

    /// The text of a file below the root; `None` if there is no such file.
    pub fn text(&self, file: &str) -> Result<Option<String>> {
        let file = self.root.resolve(file)?;
        let bytes = self.root.read(&file)?;
        bytes.map(|bytes| self.decoded(&file, bytes)).transpose()
    }

    /// The bytes of a file as text, or an error with the offset of the first invalid byte.
    pub fn decoded(&self, file: &str, bytes: Vec<u8>) -> Result<String> {
        String::from_utf8(bytes).map_err(|e| Error::NotText {
            path: self.root.absolute(file),
            offset: e.utf8_error().valid_up_to(),
        })
    }
}

/// Gives memories without a description the one of their line in the index.
fn describe(memories: &mut [Memory], index: &str) {
    let bullets = bullets(index);
    for memory in memories.iter_mut().filter(|one| one.summary.is_empty()) {
        let is_its = |target: &str| target.trim_start_matches("./") == memory.path;
        let line = bullets.iter().find(|bullet| is_its(&bullet.target));
        let hook = line.map_or("", |line| line.hook(index));
        if hook != stem(&memory.path) {
            memory.summary = one_line(hook);
        }
    }
}

/// The only layout that matches the files of `root`.
fn detected(root: &Root) -> Result<Layout> {
    let at = root.path().display().to_string();
    match Layout::detect(root).as_slice() {
        [one] => Ok(*one),
        [] if root.exists() => Err(Error::refused(
            at,
            "no memory layout is recognised here; name it with --layout or in the settings",
        )),
        [] => Err(Error::not_found(at)),
        several => {
            let names: Vec<&str> = several.iter().map(|layout| layout.name()).collect();
            Err(Error::refused(
                at,
                format!(
                    "this could be {}; say which with --layout or in the settings",
                    names.join(" or ")
                ),
            ))
        }
    }
}
