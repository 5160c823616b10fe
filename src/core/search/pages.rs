//! Blocks that have been looked into, kept open while an answer is written down.
//!
//! Looking into a block checks that all of it is text; done for every single message,
//! that would cost more than the search.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::lane::At;
use crate::core::corpus::{Content, Corpus, Message, Part};

/// The blocks of a corpus that are open.
pub(super) struct Pages<'a> {
    corpus: Option<&'a Corpus>,
    /// The one that was looked into last, and mostly is the next, too.
    last: Cell<Option<((Part, usize), Content<'a>)>>,
    open: RefCell<HashMap<(Part, usize), Option<Content<'a>>>>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(corpus: Option<&'a Corpus>) -> Self {
        Self {
            corpus,
            last: Cell::default(),
            open: RefCell::default(),
        }
    }

    /// Returns a block's content; `None` where it is damaged.
    pub(super) fn content(&self, part: Part, block: usize) -> Option<Content<'a>> {
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

    /// Returns a message of a log that is shown.
    pub(super) fn message(&self, part: Part, at: At) -> Option<Message<'a>> {
        self.content(part, at.0)?.message(at.1)
    }
}
