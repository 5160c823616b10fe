//! The matches of a fuzzy search: a score, and the position of a line.

use super::super::blocks::OpenBlocks;
use super::super::copies::collapse;
use super::super::exact::copy_key;
use super::super::{HitSource, Sources};
use super::message;
use crate::core::corpus::Part;

/// A line that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// The score, in nucleo's scale.
    pub score: u32,
    /// The position of the line.
    pub spot: MatchSpot,
    /// The number of copies of the line in other logs, for which this match stands too.
    pub copies: usize,
}

/// The position of a matching line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchSpot {
    /// The title of the memory with this index.
    Title(usize),
    /// The index of the memory, and the line from 1.
    Line(usize, usize),
    /// A line of a message.
    Message {
        /// Words or tool text.
        part: Part,
        /// The block's number.
        block: u32,
        /// The message's number in the block.
        number: u32,
        /// The byte offset of the line in the message's text.
        offset: u32,
    },
}

impl MatchSpot {
    /// Returns the kind of source of the line.
    pub(super) fn source(self) -> HitSource {
        match self {
            Self::Title(_) | Self::Line(..) => HitSource::Detail,
            Self::Message { .. } => HitSource::Messages,
        }
    }
}

/// Keeps the first of the matches that are copies of one line of a message.
pub(super) fn collapse_copies(sources: Sources<'_>, matches: Vec<Match>) -> Vec<Match> {
    let pages = OpenBlocks::new(sources.corpus);
    // Lines of one message are not copies of each other, so the place in it is compared, too.
    let key = |found: &Match| match found.spot {
        MatchSpot::Message { offset, .. } => {
            Some((copy_key(&message(&pages, found.spot)?)?, offset))
        }
        _ => None,
    };
    collapse(matches, key, |found| &mut found.copies)
}
