//! What sync keeps in its directory beside the clone: the remote, the stores that were chosen, what
//! the person allowed, and a table of what blobs contain.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tree::{SharedStore, SharedTree};
use crate::core::disk::foreign::read_capped;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::memory::layout::Layout;
use crate::core::{Error, Result};

const FILE: &str = "sync.json";
const TABLE: &str = "blobs";
const CHECKED: &str = "checked";
const LARGEST: u64 = 64 << 20;

/// The rules by which contents are checked.
const RULES: &str = env!("TOME_CORE");

/// The state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SyncState {
    /// The remote; empty if there is none.
    pub(super) url: String,
    /// Its branch.
    pub(super) branch: String,
    /// The name of this machine.
    pub(super) machine: String,
    /// The stores that were switched on or off, by their roots.
    pub(super) stores: BTreeMap<PathBuf, Chosen>,
    /// The key that the store at a root had last.
    pub(super) keys: BTreeMap<PathBuf, String>,
    /// The ids of what is sent or taken in although it was held back.
    pub(super) allowed: BTreeSet<String>,
    /// How the last sync ended.
    pub(super) last: Option<LastSync>,
}

/// What a person chose for a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chosen {
    pub(super) is_on: bool,
    /// Its name and layout, for a store that has no file yet.
    pub(super) name: String,
    pub(super) layout: Layout,
    /// The name of a project without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
}

/// How a sync ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSync {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// What went wrong, in a line.
    pub failure: Option<String>,
    /// How many files of the stores it held back, by their roots.
    pub held_back: BTreeMap<PathBuf, usize>,
}

impl SyncState {
    /// The state in a directory; empty if there is none.
    pub(super) fn load(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let bytes = match read_capped(&path, LARGEST) {
            Ok(bytes) => bytes,
            Err(Error::NotFound { .. }) => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        serde_json::from_slice(&bytes).map_err(|e| Error::io(&path, e.into()))
    }

    pub(super) fn save(&self, dir: &Path) -> Result<()> {
        private::create_dir(dir).map_err(|e| Error::io(dir, e))?;
        let json = serde_json::to_vec_pretty(self).map_err(|e| Error::io(dir, e.into()))?;
        private::write_whole(dir, FILE, &json)
    }
}

/// The text of a table; empty if it cannot be read, because what it has can be found out again.
fn table(dir: &Path, name: &str) -> String {
    let bytes = read_capped(&dir.join(name), LARGEST).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// What blobs contain: a table, so that they need not be read. A blob has one content for ever, so
/// that lines are only added.
#[derive(Debug, Default)]
pub(super) struct KnownBlobs {
    pub(super) revisions: HashMap<String, Revision>,
    /// How many lines the file has.
    lines: usize,
}

impl KnownBlobs {
    /// The table; what is not known is read again.
    pub(super) fn load(dir: &Path) -> Self {
        let text = table(dir, TABLE);
        let row = |line: &str| {
            let (id, revision) = line.split_once(' ')?;
            Some((id.to_owned(), revision.parse().ok()?))
        };
        // A line that a crash cut is none.
        let revisions: HashMap<String, Revision> = text.lines().filter_map(row).collect();
        Self {
            lines: text.lines().count(),
            revisions,
        }
    }

    /// Adds what was found out to the file, and writes it anew when most of it is about blobs that
    /// are in no tree any more.
    pub(super) fn add(
        &self,
        dir: &Path,
        new: &HashMap<String, Revision>,
        trees: [&SharedTree; 2],
    ) -> io::Result<()> {
        const FEW: usize = 1000;
        let shared = || {
            let stores = trees.into_iter().flat_map(|tree| tree.stores.values());
            stores.flat_map(SharedStore::ids)
        };
        let mut text = String::new();
        let mut line = |id: &str, revision: &Revision| {
            text.push_str(id);
            text.push(' ');
            text.push_str(&revision.to_string());
            text.push('\n');
        };
        if self.lines > FEW && self.lines > 2 * shared().count() {
            let ids: HashSet<&String> = shared().collect();
            for id in ids {
                let revision = new.get(id).or_else(|| self.revisions.get(id));
                revision.into_iter().for_each(|revision| line(id, revision));
            }
            return private::replace_unflushed(&dir.join(TABLE), |file| {
                file.write_all(text.as_bytes())
            });
        }
        let new = new
            .iter()
            .filter(|(id, _)| !self.revisions.contains_key(*id));
        new.for_each(|(id, revision)| line(id, revision));
        if text.is_empty() {
            return Ok(());
        }
        let mut file = private::open_append(&dir.join(TABLE))?;
        // Behind a line that was cut a new one begins.
        file.write_all(format!("\n{text}").as_bytes())
    }
}

/// Why contents are held back, or that they are not, as this program's rules say. What is open, because
/// it is held back or waits for review, would be checked again with every sync.
#[derive(Debug, Default)]
pub(super) struct CheckedContents {
    known: HashMap<Revision, Option<String>>,
    /// Those that this sync asked for: others are forgotten.
    asked: HashMap<Revision, Option<String>>,
}

impl CheckedContents {
    /// What is known; what is not is checked again.
    pub(super) fn load(dir: &Path) -> Self {
        let text = table(dir, CHECKED);
        let row = |line: &str| {
            let (why, revision) = line.split_once('\t')?;
            let why = Some(why.to_owned()).filter(|why| !why.is_empty());
            Some((revision.parse().ok()?, why))
        };
        let rows = text.split_once('\n').filter(|(rules, _)| *rules == RULES);
        let rows = rows.into_iter().flat_map(|(_, rows)| rows.lines());
        Self {
            known: rows.filter_map(row).collect(),
            asked: HashMap::new(),
        }
    }

    /// Why a content is held back, if that is known.
    pub(super) fn why(&mut self, content: &Revision) -> Option<Option<String>> {
        let why = self.known.get(content).or_else(|| self.asked.get(content));
        let why = why?.clone();
        self.asked.insert(*content, why.clone());
        Some(why)
    }

    pub(super) fn note(&mut self, content: Revision, why: Option<&str>) {
        self.asked.insert(content, why.map(str::to_owned));
    }

    pub(super) fn save(&self, dir: &Path) -> io::Result<()> {
        if self.asked == self.known {
            return Ok(());
        }
        private::replace_unflushed(&dir.join(CHECKED), |file| {
            let mut file = BufWriter::new(file);
            writeln!(file, "{RULES}")?;
            for (content, why) in &self.asked {
                // Of a line that is cut the revision is none.
                writeln!(file, "{}\t{content}", why.as_deref().unwrap_or_default())?;
            }
            file.flush()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_checked_is_known_until_nobody_asks_and_never_from_a_line_that_is_cut() {
        let dir = tempfile::tempdir().expect("a directory");
        let contents = [&b"one"[..], b"two", b"three"].map(Revision::of);
        let [one, two, three] = &contents;
        let mut checked = CheckedContents::load(dir.path());
        checked.note(*one, Some("it holds a secret"));
        checked.note(*two, None);
        checked.save(dir.path()).expect("it is written");

        let mut again = CheckedContents::load(dir.path());
        assert_eq!(again.why(one), Some(Some("it holds a secret".to_owned())));
        assert_eq!((again.why(two), again.why(three)), (Some(None), None));
        let mut some = CheckedContents::load(dir.path());
        some.why(two);
        some.save(dir.path()).expect("it is written");
        assert_eq!(CheckedContents::load(dir.path()).why(one), None);

        let file = dir.path().join(CHECKED);
        let whole = std::fs::read_to_string(&file).expect("the file");
        for end in 0..whole.len() - 1 {
            std::fs::write(&file, &whole[..end]).expect("it is cut");
            assert_eq!(CheckedContents::load(dir.path()).why(two), None, "{end}");
        }
        std::fs::write(&file, whole.replace(RULES, "others")).expect("other rules");
        assert_eq!(CheckedContents::load(dir.path()).why(two), None);
    }
}
