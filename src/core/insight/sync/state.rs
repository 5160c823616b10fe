//! What sync keeps in its directory beside the clone: the remote, the stores that were chosen, what
//! the person allowed, and a table of what was agreed on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::disk::foreign::read_capped;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::memory::layout::Layout;
use crate::core::{Error, Result};

const FILE: &str = "sync.json";
const TABLE: &str = "agreed";
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
    /// How many files it held back.
    pub held_back: usize,
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

/// What the blobs of a commit of the base contain: a table, so that they need not be read.
#[derive(Debug, Default)]
pub(super) struct Agreed(pub(super) HashMap<String, Revision>);

impl Agreed {
    /// The table, if it is of this commit.
    pub(super) fn load(dir: &Path, commit: &str) -> Option<Self> {
        let bytes = read_capped(&dir.join(TABLE), LARGEST).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        (lines.next()? == commit).then_some(())?;
        let row = |line: &str| {
            let (id, revision) = line.split_once(' ')?;
            Some((id.to_owned(), revision.parse().ok()?))
        };
        let rows: Option<HashMap<String, Revision>> = lines.map(row).collect();
        rows.map(Self)
    }

    /// Writes the table of a commit.
    pub(super) fn save(&self, dir: &Path, commit: &str) {
        let mut text = format!("{commit}\n");
        for (id, revision) in &self.0 {
            text.push_str(&format!("{id} {revision}\n"));
        }
        // Without it the blobs are read again.
        drop(private::replace_unflushed(&dir.join(TABLE), |file| {
            std::io::Write::write_all(file, text.as_bytes())
        }));
    }
}
