//! What a commit of the shared repository has: the files of stores, behind a border.
//!
//! A remote is as foreign as a cloned project. Of its files only plain ones below `stores/KEY/` with
//! plain names are read; everything else is a line of the report.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::repo::{FileOp, Told, TreeEntry};
use crate::core::text::display::visible_line;
use crate::core::text::hidden::is_hidden;

/// The folder of the stores, and what a store has beside its files: what was deleted, the lines of a
/// hand-written index, the text around them, and what the store is.
pub(super) const STORES: &str = "stores";
pub(super) const DELETED: &str = ".deleted";
pub(super) const LINES: &str = ".lines";
pub(super) const INDEX_TEXT: &str = ".index";
pub(super) const ABOUT: &str = ".about";

/// Says that a hand-written index is generated now.
pub(super) const TEXT_DELETED: &str = ".deleted/.index";

/// The most files that a store may have, with tombstones and lines.
const MOST_OF_A_STORE: usize = 40_000;

/// The most stores.
const MOST_STORES: usize = 2000;

/// What a commit has of one store: blobs, by the files below the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SharedStore {
    pub(super) files: BTreeMap<String, String>,
    pub(super) deleted: BTreeMap<String, String>,
    pub(super) lines: BTreeMap<String, String>,
    pub(super) index: Option<String>,
    pub(super) about: Option<String>,
    /// What is there and is not taken: it is not replaced either.
    pub(super) refused: BTreeSet<String>,
}

/// A store that the repository does not have.
pub(super) static EMPTY: SharedStore = SharedStore {
    files: BTreeMap::new(),
    deleted: BTreeMap::new(),
    lines: BTreeMap::new(),
    index: None,
    about: None,
    refused: BTreeSet::new(),
};

impl SharedStore {
    /// The blob at a path below the folder of the store.
    pub(super) fn get(&self, path: &str) -> Option<&String> {
        match path.split_once('/') {
            Some((DELETED, file)) => self.deleted.get(file),
            Some((LINES, file)) => self.lines.get(file),
            _ if path == INDEX_TEXT => self.index.as_ref(),
            _ => self.files.get(path),
        }
    }

    /// Every blob of it.
    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        let lists = self.files.values().chain(self.deleted.values());
        lists.chain(self.lines.values()).chain(&self.index)
    }
}

/// What is not taken in: how often for a reason, and the first names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Refusals(BTreeMap<Cow<'static, str>, (usize, Vec<String>)>);

impl Refusals {
    pub(super) fn add(&mut self, reason: impl Into<Cow<'static, str>>, name: &str) {
        const SHOWN: usize = 3;
        let (count, names) = self.0.entry(reason.into()).or_default();
        *count += 1;
        if names.len() < SHOWN {
            let short: String = name.chars().take(80).collect();
            names.push(visible_line(&short));
        }
    }

    /// A line for each reason.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(reason, (count, names)): (&Cow<'_, str>, &(usize, Vec<String>))| {
            let more = match count - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("left alone: {}{more} ({reason})", names.join(", "))
        };
        self.0.iter().map(line).collect()
    }
}

/// What a commit has.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedTree {
    pub(super) stores: BTreeMap<String, SharedStore>,
    /// The stores that are there and are not taken at all.
    pub(super) refused: BTreeSet<String>,
    pub(super) refusals: Refusals,
}

impl SharedTree {
    /// What a list of files has.
    pub(super) fn parse(list: &str) -> Told<Self> {
        let mut tree = Self::default();
        for line in list.split_terminator('\0') {
            let entry = TreeEntry::parse(line);
            let entry = entry.ok_or_else(|| "git's list is not understood".to_owned())?;
            if let Err(reason) = tree.take(&entry) {
                tree.refusals.add(reason, entry.path);
                tree.refuse(entry.path);
            }
        }
        for (key, store) in &mut tree.stores {
            if store.files.len() + store.deleted.len() + store.lines.len() > MOST_OF_A_STORE {
                tree.refusals
                    .add("the store has more than 40,000 files", key);
                *store = SharedStore::default();
                tree.refused.insert(key.clone());
            }
        }
        Ok(tree)
    }

    /// Whether a file is as a proposal would have it, as far as it is read.
    pub(super) fn has(&self, path: &str, op: &FileOp) -> bool {
        let mut parts = path.splitn(3, '/').skip(1);
        let (Some(key), Some(file)) = (parts.next(), parts.next()) else {
            return true;
        };
        let id = self.stores.get(key).and_then(|store| store.get(file));
        match op {
            FileOp::Blob(proposed) => file == ABOUT || id == Some(proposed),
            FileOp::Write(_) | FileOp::Remove => id.is_none(),
        }
    }

    /// Remembers what is not taken.
    fn refuse(&mut self, path: &str) {
        let below = path
            .strip_prefix(STORES)
            .and_then(|path| path.strip_prefix('/'));
        let Some((key, file)) = below.map(|path| path.split_once('/').unwrap_or((path, ""))) else {
            return;
        };
        if file.is_empty() {
            self.refused.insert(key.to_owned());
            return;
        }
        if !self.stores.contains_key(key) && self.stores.len() >= MOST_STORES {
            self.refused.insert(key.to_owned());
        } else if is_key(key) {
            let store = self.stores.entry(key.to_owned()).or_default();
            store.refused.insert(file.to_owned());
        }
    }

    fn take(&mut self, entry: &TreeEntry<'_>) -> Result<(), &'static str> {
        match entry.mode {
            "100644" => {}
            "120000" => return Err("a link, which is not followed"),
            "160000" => return Err("a submodule, which is not fetched"),
            "100755" => return Err("a program, which is no memory"),
            _ => return Err("no plain file"),
        }
        let name = entry.path.rsplit('/').next().unwrap_or(entry.path);
        if name.starts_with(".git") {
            return Err("settings of git, which are not followed");
        }
        let Some(below) = entry
            .path
            .strip_prefix(STORES)
            .and_then(|path| path.strip_prefix('/'))
        else {
            // Files of the people who keep the repository, such as a README.
            return Ok(());
        };
        let (key, path) = below.split_once('/').ok_or("no file of a store")?;
        if !self.stores.contains_key(key) {
            if !is_key(key) {
                return Err("no name of a store");
            }
            if self.stores.len() >= MOST_STORES {
                return Err("there are more than 2,000 stores");
            }
            self.stores.insert(key.to_owned(), SharedStore::default());
        }
        let Some(store) = self.stores.get_mut(key) else {
            return Err("no file of a store");
        };
        let id = entry.id.to_owned();
        let (place, file) = match path.split_once('/') {
            Some((DELETED, file)) => (&mut store.deleted, file),
            Some((LINES, file)) => (&mut store.lines, file),
            _ if path == INDEX_TEXT => {
                store.index = Some(id);
                return Ok(());
            }
            _ if path == ABOUT => {
                store.about = Some(id);
                return Ok(());
            }
            _ => (&mut store.files, path),
        };
        if path != TEXT_DELETED {
            check_name(file)?;
        }
        place.insert(file.to_owned(), id);
        Ok(())
    }
}

/// Whether a name can be the folder of a store.
pub(super) fn is_key(key: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    !key.starts_with(['.', '-']) && !key.is_empty() && key.len() <= 100 && key.chars().all(is_plain)
}

/// Checks that a file may have this name on every machine.
pub(super) fn check_name(file: &str) -> Result<(), &'static str> {
    const LONGEST: usize = 240;
    const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
    if file.len() > LONGEST || file.split('/').count() > 6 {
        return Err("the name is too long");
    }
    let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
    if file.chars().any(|c| {
        !is_plain(c) && (c.is_control() || is_hidden(c) || c == char::REPLACEMENT_CHARACTER)
    }) {
        return Err("the name has invisible characters");
    }
    if file.contains(['\\', ':', '*', '?', '"', '<', '>', '|']) {
        return Err("the name has characters that not every system has");
    }
    let starts = |text: &str, start: &str| {
        let first = text.as_bytes().get(..start.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(start.as_bytes()))
    };
    for part in file.split('/') {
        let stem = part.split('.').next().unwrap_or_default();
        let is_port = || stem.len() == 4 && stem.ends_with(|c: char| c.is_ascii_digit());
        let is_device = DEVICES.iter().any(|name| stem.eq_ignore_ascii_case(name))
            || ["com", "lpt"]
                .iter()
                .any(|port| starts(stem, port) && is_port());
        if part.is_empty()
            || part.starts_with(['.', ' '])
            || part.ends_with(['.', ' '])
            || is_device
        {
            return Err("the name is hidden, or no name everywhere");
        }
        if starts(part, "git~") {
            return Err("settings of git, which are not followed");
        }
    }
    Ok(())
}

/// Of names that are the same on some disks, all but one: the one that is here, or the first.
pub(super) fn clashing<'a>(
    names: impl Iterator<Item = &'a String>,
    is_here: impl Fn(&str) -> bool,
    here: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let mut taken: HashMap<String, &str> = HashMap::new();
    for name in here {
        taken.entry(name.to_lowercase()).or_insert(name);
    }
    let mut out = Vec::new();
    for name in names {
        let first = taken.entry(name.to_lowercase()).or_insert(name);
        if *first != name && !is_here(name) {
            out.push(name.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_stores_are_taken() {
        let tree_of = |entries: &[(&str, &str)]| {
            let line = |(mode, path): &(&str, &str)| format!("{mode} blob 1\t{path}\0");
            let list: String = entries.iter().map(line).collect();
            SharedTree::parse(&list).expect("a list")
        };
        let good = [
            ("100644", "stores/claude/a.md"),
            ("100644", "stores/claude/facts/ä b.md"),
            ("100644", "stores/claude/.deleted/b.md"),
            ("100644", "stores/claude/.lines/a.md"),
            ("100644", "stores/claude/.index"),
            ("100644", "stores/claude/.about"),
            ("100644", "README.md"),
        ];
        let tree = tree_of(&good);
        assert_eq!(tree.refusals, Refusals::default());
        let store = &tree.stores["claude"];
        assert_eq!(
            (store.files.len(), store.deleted.len(), store.lines.len()),
            (2, 1, 1)
        );
        let bad = [
            ("120000", "stores/claude/link.md"),
            ("160000", "stores/claude/module"),
            ("100755", "stores/claude/run.md"),
            ("100644", ".gitattributes"),
            ("100644", "stores/claude/.gitattributes"),
            ("100644", "stores/claude/.git/config"),
            ("100644", "stores/claude/../../x.md"),
            ("100644", "stores/claude/GIT~1/config"),
            ("100644", "stores/claude/.hidden.md"),
            ("100644", "stores/claude/a\nb.md"),
            ("100644", "stores/claude/a\u{202e}b.md"),
            ("100644", "stores/claude/C:x.md"),
            ("100644", "stores/claude/a\\b.md"),
            ("100644", "stores/claude/nul.md"),
            ("100644", "stores/claude/com1"),
            ("100644", "stores/claude//etc/x.md"),
            ("100644", "stores/cl aude/a.md"),
            ("100644", "stores/a.md"),
            ("100644", "stores/.deleted/a.md"),
        ];
        for one in bad {
            let tree = tree_of(&[one]);
            assert_eq!(tree.refusals.lines().len(), 1, "{one:?}");
            assert!(
                tree.stores.values().all(|store| store.files.is_empty()),
                "{one:?}"
            );
        }
        let many = (0..50_000).map(|n| format!("100644 blob 1\tstores/x/{n}.md\0"));
        let tree = SharedTree::parse(&many.collect::<String>()).expect("a list");
        assert!(tree.stores["x"].files.is_empty() && tree.refusals.lines().len() == 1);
        let many = (0..3000).map(|n| format!("100644 blob 1\tstores/s{n}/x.md\0"));
        let tree = SharedTree::parse(&many.collect::<String>()).expect("a list");
        assert_eq!((tree.stores.len(), tree.refusals.lines().len()), (2000, 1));
    }

    #[test]
    fn of_names_that_clash_one_is_taken() {
        let names = ["A.md", "a.md", "b.md", "C.md"].map(str::to_owned);
        let here = ["a.md", "c.md"].map(str::to_owned);
        let is_here = |name: &str| here.iter().any(|known| known == name);
        assert_eq!(
            clashing(names.iter(), is_here, here.iter()),
            ["A.md", "C.md"]
        );
        assert_eq!(clashing(names.iter(), |_| false, [].iter()), ["a.md"]);
    }
}
