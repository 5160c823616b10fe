//! The file of a store's state, `review/HASH.json` in the history's directory, and what the journal
//! has since it was written.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::state::State;
use crate::core::change::history::{FilePosition, History, Record};
use crate::core::disk::foreign::read_capped;
use crate::core::disk::private;
use crate::core::memory::store::StoreId;
use crate::core::{Error, Result};

/// The schema of the file.
const SCHEMA: u32 = 4;

/// The largest state that is read.
const LARGEST: u64 = 1 << 28;

/// With more changes of other stores in the journal since, a state is saved again, so that they
/// need not be read each time.
const MOST_BEHIND: usize = 200;

/// The changes of the journal that a saved state does not have yet.
pub(super) struct Missing {
    /// Those of the state's store.
    pub(super) records: Vec<Record>,
    /// The position after them.
    pub(super) position: FilePosition,
    /// Whether the state should be saved again.
    pub(super) is_behind: bool,
}

impl Missing {
    /// What the journal has of the store at a root since a position.
    pub(super) fn of(history: &History, root: &Path, since: FilePosition) -> Result<Self> {
        let (mut records, position) = history.records_since(since)?;
        let is_far = records.len() > MOST_BEHIND;
        records.retain(|record| record.touches(&[root]));
        Ok(Self {
            is_behind: is_far || !records.is_empty(),
            records,
            position,
        })
    }
}

/// The saved state of a store. A damaged one is as good as none: it is made again from the journal.
pub(super) fn read(history: &History, store: &StoreId) -> Result<Option<State>> {
    let bytes = match read_capped(&file_of(history, store), LARGEST) {
        Err(Error::NotFound { .. }) => return Ok(None),
        bytes => bytes?,
    };
    let saved = serde_json::from_slice::<(u32, State)>(&bytes).ok();
    let saved = saved.filter(|(schema, _)| *schema == SCHEMA);
    Ok(saved.map(|(_, state)| state))
}

/// Writes the state of a store, whose lock the caller holds.
pub(super) fn save(state: &State, history: &History, store: &StoreId) -> Result<()> {
    let path = file_of(history, store);
    history.folder("review")?;
    let written = private::replace(&path, |file| {
        let mut out = BufWriter::new(file);
        serde_json::to_writer(&mut out, &(SCHEMA, state))?;
        out.flush()
    });
    written.map_err(|e| Error::io(&path, e))
}

/// The file of a store's state. Two stores may have one root: instructions beside memories.
fn file_of(history: &History, store: &StoreId) -> PathBuf {
    let mut name = blake3::Hasher::new();
    name.update(store.root().as_os_str().as_encoded_bytes());
    name.update(b"\0");
    let name = name.update(store.layout().name().as_bytes()).finalize();
    let name = format!("{}.json", &name.to_hex()[..32]);
    history.dir().join("review").join(name)
}
