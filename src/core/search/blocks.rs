//! Blocks that are kept open while hits are built.
//!
//! Opening a block validates all of its text; done for every single message, that would
//! take longer than the search.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::walker::MessagePosition;
use crate::core::corpus::{BlockContent, Corpus, CorpusMessage, Part};

/// The open blocks of a corpus.
pub(super) struct OpenBlocks<'a> {
    corpus: Option<&'a Corpus>,
    /// The block that was used last, which mostly is the next one, too.
    last: Cell<Option<((Part, usize), BlockContent<'a>)>>,
    open: RefCell<HashMap<(Part, usize), Option<BlockContent<'a>>>>,
}

impl<'a> OpenBlocks<'a> {
    pub(super) fn new(corpus: Option<&'a Corpus>) -> Self {
        Self {
            corpus,
            last: Cell::default(),
            open: RefCell::default(),
        }
    }

    /// Returns a block's content; `None` if it is damaged.
    pub(super) fn content(&self, part: Part, block: usize) -> Option<BlockContent<'a>> {
        if let Some((_, content)) = self.last.get().filter(|(key, _)| *key == (part, block)) {
            return Some(content);
        }
        let read = || self.corpus?.block(part, block)?.read();
        let content = *self
            .open
            .borrow_mut()
            .entry((part, block))
            .or_insert_with(read);
        self.last
            .set(content.map(|content| ((part, block), content)));
        content
    }

    /// Returns the message at this position.
    pub(super) fn message(&self, part: Part, at: MessagePosition) -> Option<CorpusMessage<'a>> {
        self.content(part, at.0)?.message(at.1)
    }
}
