//! The texts that were decompressed last, which are mostly read again soon.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::Part;
use super::frames::{Decompressors, Frames};

/// How many whole blocks are kept, and the size of a block above which it is not.
const MOST: usize = 8;
const LARGEST: usize = 512 * 1024;
/// How many ranges of frames are kept: each thread that reads has one of its own.
const MOST_FRAMES: usize = 4;
/// How many bytes of conversation text are kept in addition. Find reads all of it at every
/// keystroke, several times, and it is a fiftieth of the logs.
const WORDS: usize = 32 << 20;

/// A block of a part.
type Key = (Part, usize);

/// Frames of a block that were read: which ones, and their text.
type ReadFrames = (Key, Range<usize>, Arc<Vec<u8>>);

/// Decompresses texts and keeps the last ones.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    decompressors: Decompressors,
    /// Whole blocks, the last one first.
    blocks: Mutex<VecDeque<(Key, Arc<String>)>>,
    /// Blocks of conversation text, and their bytes.
    words: Mutex<(HashMap<usize, Arc<String>>, usize)>,
    /// The frames that were read last, of which more messages may follow; the last one first.
    frames: Mutex<VecDeque<ReadFrames>>,
}

impl Unpacked {
    /// Returns the text of a block; `None` if it is damaged.
    pub(super) fn block(&self, key: Key, frames: Frames<'_>) -> Option<Arc<String>> {
        if let Some(text) = self.known(key) {
            return Some(text);
        }
        let text = String::from_utf8(frames.read_all(&self.decompressors)?).ok()?;
        let text = Arc::new(text);
        self.keep(key, &text);
        Some(text)
    }

    fn keep(&self, key: Key, text: &Arc<String>) {
        if text.len() > LARGEST {
            return;
        }
        if key.0 == Part::Words {
            let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            if words.1 + text.len() <= WORDS {
                words.1 += text.len();
                words.0.insert(key.1, Arc::clone(text));
                return;
            }
        }
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.truncate(MOST - 1);
        blocks.push_front((key, Arc::clone(text)));
    }

    /// Passes a range of the text of a block to `take`; `None` if it is damaged.
    pub(super) fn range<T>(
        &self,
        (key, frames): (Key, Frames<'_>),
        range: Range<usize>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        if let Some(text) = self.known(key) {
            return text.as_bytes().get(range).map(take);
        }
        let held = frames.holding(&range);
        let from = frames.start(held.start);
        let text = self.held(key, frames, held)?;
        let range = range.start - from..range.end - from;
        text.get(range).map(take)
    }

    /// Returns the text of these frames.
    fn held(&self, key: Key, frames: Frames<'_>, held: Range<usize>) -> Option<Arc<Vec<u8>>> {
        let lock = || self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(known, range, _): &&ReadFrames| (*known, range) == (key, &held);
        if let Some((_, _, text)) = lock().iter().find(is_it) {
            return Some(Arc::clone(text));
        }
        let text = Arc::new(frames.read(held.clone(), &self.decompressors)?);
        if text.len() <= LARGEST {
            let mut last = lock();
            last.truncate(MOST_FRAMES - 1);
            last.push_front((key, held, Arc::clone(&text)));
        }
        Some(text)
    }

    fn known(&self, key: Key) -> Option<Arc<String>> {
        if key.0 == Part::Words {
            let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(text) = words.0.get(&key.1) {
                return Some(Arc::clone(text));
            }
        }
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = blocks.iter().find(|(known, _)| *known == key);
        found.map(|(_, text)| Arc::clone(text))
    }
}
