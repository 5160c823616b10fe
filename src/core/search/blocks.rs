//! Blocks that are kept open while hits are built.
//!
//! Opening a block validates all of its text; done for every single message, that would
//! take longer than the search.

use std::cell::RefCell;
use std::collections::HashMap;

use super::walker::MessagePosition;
use crate::core::corpus::{BlockContent, Corpus, CorpusMessage, Part};

/// The open blocks of a corpus.
pub(super) struct OpenBlocks<'a> {
    corpus: Option<&'a Corpus>,
    /// The block that was used last, which mostly is the next one, too.
    last: RefCell<Option<((Part, usize), BlockContent<'a>)>>,
    /// All others that are mapped; of decompressed blocks the corpus keeps a few.
    open: RefCell<HashMap<(Part, usize), Option<BlockContent<'a>>>>,
}

impl<'a> OpenBlocks<'a> {
    pub(super) fn new(corpus: Option<&'a Corpus>) -> Self {
        Self {
            corpus,
            last: RefCell::default(),
            open: RefCell::default(),
        }
    }

    /// Returns a block's content; `None` if it is damaged.
    pub(super) fn content(&self, part: Part, block: usize) -> Option<BlockContent<'a>> {
        let key = (part, block);
        let last = self.last.borrow();
        if let Some((_, content)) = last.as_ref().filter(|(known, _)| *known == key) {
            return Some(content.clone());
        }
        drop(last);
        let known = self.open.borrow().get(&key).cloned();
        let content = known.unwrap_or_else(|| {
            let content = self.corpus?.block(part, block)?.read();
            if content.as_ref().is_none_or(BlockContent::is_mapped) {
                self.open.borrow_mut().insert(key, content.clone());
            }
            content
        })?;
        self.last.replace(Some((key, content.clone())));
        Some(content)
    }

    /// Passes the message at this position to `take`.
    pub(super) fn message<T>(
        &self,
        part: Part,
        at: MessagePosition,
        take: impl FnOnce(&CorpusMessage<'_>) -> T,
    ) -> Option<T> {
        self.content(part, at.0)?.message(at.1).as_ref().map(take)
    }
}
