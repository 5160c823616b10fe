//! What sync keeps in its directory beside the clone: the remote, the stores that were chosen, what
//! the person allowed, and a table of what blobs contain.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Write as _};
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
const LARGEST: u64 = 64 << 20;

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
        let bytes = read_capped(&dir.join(TABLE), LARGEST).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
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
