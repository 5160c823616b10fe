//! What a patch proposes for one file, and making it: the hunks that fit.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::decide::Selection;
use super::super::patch::{FilePatch, NO_FILE, PatchHunk};
use super::super::queue::{Item, ItemChange, ReviewHunk, short_hash};
use crate::core::Error;
use crate::core::change::{Author, Edit, PlannedFiles};
use crate::core::disk::sandbox::{Attributes, Root};
use crate::core::log::Agent;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;

/// What a patch file proposes for one file.
pub(super) struct Part {
    target: Target,
    /// Whether that file is in the same store.
    is_inside: bool,
    patch: FilePatch,
    /// The mode of a new file.
    pub(super) mode: Option<u32>,
    pub(super) item: Item,
}

/// The file that a patch is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) root: PathBuf,
    pub(super) layout: Layout,
    pub(super) path: String,
}

impl Part {
    pub(super) fn new(
        store: &Store,
        (file, modified): (&str, i64),
        target: Target,
        patch: FilePatch,
    ) -> Self {
        let mut part = Self {
            is_inside: target.root == store.root().path(),
            item: item(store, (file, modified), (&target, &patch)),
            target,
            patch,
            mode: None,
        };
        part.item.misfit = part.misfit();
        part
    }

    /// Whether each hunk is selected. A new file is proposed as a whole.
    pub(super) fn chosen(&self, selection: &Selection) -> Vec<bool> {
        let hunks = self.item.hunks.iter();
        let chosen: Vec<bool> = hunks
            .map(|hunk| selection.contains_hunk(&self.item, hunk))
            .collect();
        match self.item.change {
            ItemChange::Added => vec![chosen.contains(&true); chosen.len()],
            _ => chosen,
        }
    }

    /// What is left of the patch without the chosen hunks.
    pub(super) fn without(&self, chosen: &[bool]) -> Option<FilePatch> {
        let hunks = self.patch.hunks.iter().zip(chosen);
        let left: Vec<PatchHunk> = hunks
            .filter(|(_, is_chosen)| !**is_chosen)
            .map(|(hunk, _)| hunk.clone())
            .collect();
        (!left.is_empty()).then(|| FilePatch {
            hunks: left,
            ..self.patch.clone()
        })
    }

    /// Makes those of the chosen hunks that fit in the file that they are about. Returns which these
    /// are, and why the others are not.
    pub(super) fn make(
        &self,
        chosen: &[bool],
        planned: &mut PlannedFiles<'_>,
        elsewhere: &mut Vec<Edit>,
    ) -> (Vec<bool>, Option<Error>) {
        let none = || vec![false; chosen.len()];
        if !chosen.contains(&true) {
            return (none(), None);
        }
        let Target { root, layout, path } = &self.target;
        let mut edits = elsewhere.iter_mut();
        let known = edits.find(|edit| edit.root == *root && edit.path == *path);
        let now = match &known {
            _ if self.is_inside => planned.bytes(path),
            Some(edit) => Ok(edit.after.clone()),
            None => Root::open(root).and_then(|root| root.read(path)),
        };
        let now = match now {
            Ok(now) => now,
            Err(why) => return (none(), Some(why)),
        };
        let Made { hunks, text, why } = self.made(chosen, now.clone());
        if !hunks.contains(&true) {
            return (hunks, why);
        }
        let after = Some(text.into_bytes());
        if self.is_inside {
            return match planned.set(path, after) {
                Ok(()) => (hunks, why),
                Err(why) => (none(), Some(why)),
            };
        }
        match known {
            Some(edit) => edit.after = after,
            None => elsewhere.push(Edit {
                root: root.clone(),
                layout: *layout,
                path: path.clone(),
                after,
                before: now,
                derived: false,
                emptied: Vec::new(),
                attributes: Attributes {
                    mode: self.mode,
                    modified: None,
                },
            }),
        }
        (hunks, why)
    }

    /// Why the whole patch cannot be made as the file is now, if so.
    fn misfit(&self) -> Option<String> {
        let now = Root::open(&self.target.root).and_then(|root| root.read(&self.target.path));
        let why = match now {
            Ok(now) => self.made(&vec![true; self.patch.hunks.len()], now).why,
            Err(why) => Some(why),
        };
        why.map(|why| why.to_string())
    }

    fn made(&self, chosen: &[bool], now: Option<Vec<u8>>) -> Made {
        let mut made = Made {
            hunks: vec![false; chosen.len()],
            text: String::new(),
            why: None,
        };
        let outdated = |reason: &str| {
            let path = self.item.path.clone();
            Some(Error::refused(
                path,
                format!("{reason}; edit the memory by hand, and revert the proposal to remove it"),
            ))
        };
        if self.patch.old == NO_FILE && now.is_some() {
            made.why = outdated("it is proposed as a new file, but exists now");
            return made;
        }
        let Ok(text) = String::from_utf8(now.unwrap_or_default()) else {
            made.why = outdated("it is not text");
            return made;
        };
        made.text = text;
        let mut misfits = Vec::new();
        for (number, hunk) in self.patch.hunks.iter().enumerate() {
            match hunk.apply(&made.text) {
                _ if !chosen[number] => {}
                Some(text) => (made.text, made.hunks[number]) = (text, true),
                None => misfits.push(self.item.hunks[number].id.as_str()),
            }
        }
        let is_all = misfits.len() == chosen.len();
        made.why = match misfits.as_slice() {
            [] => None,
            _ if is_all => outdated("what is proposed does not fit its text any more"),
            [one] => outdated(&format!("hunk {one} does not fit its text any more")),
            several => {
                let several = several.join(", ");
                outdated(&format!("the hunks {several} do not fit its text any more"))
            }
        };
        made
    }
}

/// A text with hunks of a patch.
struct Made {
    /// Which of them fit and are in it.
    hunks: Vec<bool>,
    text: String,
    /// Why the others are not.
    why: Option<Error>,
}

fn item(
    store: &Store,
    (file, modified): (&str, i64),
    (target, patch): (&Target, &FilePatch),
) -> Item {
    let root = target.root.to_string_lossy();
    let store_root = store.root().path().to_string_lossy();
    let id = short_hash(
        [&store_root, file, &root, &target.path]
            .join("\0")
            .as_bytes(),
        8,
    );
    let hunks = patch.hunks.iter().enumerate().map(|(number, hunk)| {
        let key = format!("{number}\0{}", hunk.text);
        ReviewHunk {
            id: format!("{id}.{}", short_hash(key.as_bytes(), 6)),
            old: range(hunk.old),
            new: range(hunk.new),
            text: hunk.text.clone(),
            entry: None,
            citation: None,
            begins: (0, 0),
            replacements: Vec::new(),
        }
    });
    let is_inside = target.root == store.root().path();
    let mut item = Item {
        path: if is_inside {
            store.rules().reference_of(&target.path)
        } else {
            target.root.join(&target.path).display().to_string()
        },
        change: if patch.old == NO_FILE {
            ItemChange::Added
        } else {
            ItemChange::Changed
        },
        renamed_from: None,
        time: modified,
        author: Author {
            who: Agent::Gemini.name().to_owned(),
            ..Author::outside()
        },
        origin: None,
        deleted_before: None,
        notes: Vec::new(),
        hunks: hunks.collect(),
        file: file.to_owned(),
        current: Arc::default(),
        proposal: Some(file.to_owned()),
        sent: None,
        misfit: None,
        conflict: None,
        id,
    };
    item.bind();
    item
}

/// The lines of one side of a hunk, counted from 0.
fn range((start, count): (usize, usize)) -> std::ops::Range<usize> {
    let start = start.saturating_sub(usize::from(count > 0));
    start..start + count
}
