//! The blocks that were decompressed last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Part;

/// How many blocks are kept, and the size of a block above which it is not.
const MOST: usize = 16;
const LARGEST: usize = 256 * 1024;

/// A block of a part.
type Key = (Part, usize);

/// The texts of a few blocks, which are mostly read again soon.
#[derive(Debug, Default)]
pub(super) struct UnpackedBlocks(Mutex<VecDeque<(Key, Arc<str>)>>);

impl UnpackedBlocks {
    pub(super) fn get(&self, key: Key) -> Option<Arc<str>> {
        let known = self.lock();
        let found = known.iter().find(|(known, _)| *known == key);
        found.map(|(_, text)| Arc::clone(text))
    }

    pub(super) fn put(&self, key: Key, text: &Arc<str>) {
        if text.len() > LARGEST {
            return;
        }
        let mut known = self.lock();
        known.truncate(MOST - 1);
        known.push_front((key, Arc::clone(text)));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Key, Arc<str>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
