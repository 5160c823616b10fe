//! What the threads of a search find in some blocks, gathered so that little is held of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::MessageAt;
use super::rank::{MOST_RANKED, Promising, is_better, keep_best};
use crate::core::corpus::Part;
use crate::core::search::limits::Limits;

/// A message that the index knows: the block, the number in it.
pub(super) type IndexedMessage = (u32, u16);

/// A block to search.
#[derive(Clone, Copy)]
pub(super) struct BlockToSearch<'a> {
    pub(super) number: usize,
    /// The messages that may match; `None` for all.
    pub(super) messages: Option<&'a [IndexedMessage]>,
}

/// The matches in one block, or in some messages.
pub(super) struct BlockMatches {
    /// Lines that are not better than this one are not among the best.
    least: Option<Promising>,
    promising: Vec<Promising>,
    messages: Vec<MessageAt>,
    total: usize,
}

/// The matches in several blocks.
pub(super) struct Gathered(Mutex<GatheredMatches>);

struct GatheredMatches {
    total: usize,
    /// The least of the best so far.
    least: Option<Promising>,
    promising: Vec<Promising>,
    /// By a number that orders them; `None` if there are too many to remember.
    messages: Option<Vec<(usize, Vec<MessageAt>)>>,
    /// How many more messages are remembered.
    room: usize,
}

impl<'a> BlockToSearch<'a> {
    /// Returns all blocks of a part that has this many.
    pub(super) fn all(count: usize) -> Vec<Self> {
        let all = (0..count).map(|number| Self {
            number,
            messages: None,
        });
        all.collect()
    }

    /// Returns the blocks of these messages, which are in order.
    pub(super) fn with(part: Part, indexed: &'a [IndexedMessage]) -> Vec<Self> {
        let blocks = indexed.chunk_by(|a, b| a.0 == b.0);
        let blocks = blocks.map(|messages| Self {
            number: messages[0].0 as usize,
            messages: part.has_concordance().then_some(messages),
        });
        blocks.collect()
    }
}

impl BlockMatches {
    /// Takes a matching line of a message.
    pub(super) fn add(&mut self, at: MessageAt, line: Promising) {
        self.total += 1;
        if self.least.is_none_or(|least| is_better(&line, &least)) {
            self.promising.push(line);
        }
        if self.messages.last() != Some(&at) {
            self.messages.push(at);
        }
    }
}

impl Gathered {
    /// Remembers at most `room` messages, or none, and lines that are better than the least of the
    /// best so far.
    pub(super) fn new(room: Option<usize>, least: Option<Promising>) -> Self {
        Self(Mutex::new(GatheredMatches {
            total: 0,
            least,
            promising: Vec::new(),
            messages: room.map(|_| Vec::new()),
            room: room.unwrap_or(0),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, GatheredMatches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the matches of a block that has not been searched yet.
    pub(super) fn no_matches(&self) -> BlockMatches {
        BlockMatches {
            least: self.lock().least,
            promising: Vec::new(),
            messages: Vec::new(),
            total: 0,
        }
    }

    /// Adds matches, and a number that orders them; drops lines that cannot be among the best.
    pub(super) fn add(&self, (at, mut found): (usize, BlockMatches), limits: &Limits) {
        keep_best(&mut found.promising, MOST_RANKED);
        let mut all = self.lock();
        all.total += found.total;
        all.promising.extend(found.promising);
        limits.hold(all.promising.len());
        if all.promising.len() > limits.lines {
            all.least = keep_best(&mut all.promising, MOST_RANKED).or(all.least);
        }
        match all.room.checked_sub(found.messages.len()) {
            Some(room) => {
                all.room = room;
                if let Some(messages) = &mut all.messages {
                    messages.push((at, found.messages));
                }
            }
            None => all.messages = None,
        }
    }

    /// Returns how many lines match, the best of them, and the messages that have them, in order.
    pub(super) fn finish(self) -> (usize, Vec<Promising>, Option<Vec<MessageAt>>) {
        let all = self.0.into_inner();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        let messages = all.messages.map(|mut messages| {
            messages.sort_unstable_by_key(|(at, _)| *at);
            messages.into_iter().flat_map(|(_, found)| found).collect()
        });
        (all.total, all.promising, messages)
    }
}
