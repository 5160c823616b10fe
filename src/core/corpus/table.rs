//! The table of a block: what is known of its messages without their text.

use std::ops::Range;

use super::block::{self, MessageAttributes, MessageRow};
use super::bytes::checksum;
use super::view::HEAD_IS_WHOLE;
use super::{Block, CorpusMessage};
use crate::core::log::{MessageKind, Origin, Role};

/// The messages of a block, without their text; what is read of them is verified.
#[derive(Debug, Clone, Copy)]
pub struct MessageTable<'a> {
    pub(super) block: Block<'a>,
    /// The outlines and the names.
    pub(super) head: &'a [u8],
    /// The rows from that of the message `first`: all of them, or some.
    pub(super) first: usize,
    pub(super) rows: &'a [u8],
    /// Whether all rows have been verified.
    pub(super) is_verified: bool,
}

/// The attributes of a message, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSummary {
    /// The log's index in [`Corpus::logs`](super::Corpus::logs).
    pub log: usize,
    /// The sender.
    pub role: Role,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The size of its stored text, in bytes.
    pub length: usize,
    /// The kind of content.
    pub kind: MessageKind,
    /// Written or injected.
    pub origin: Origin,
    /// Whether it is a question.
    pub is_question: bool,
}

/// What tells a message from others; see [`CorpusMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageMark {
    /// The record's line in the log, from 1.
    pub line: u64,
    /// The kind of content.
    pub kind: MessageKind,
    /// The size of the text in the log, in bytes.
    pub length: u64,
    /// The hash that copies of the message share.
    pub identity: Option<u64>,
}

/// The outlines of the messages of a block.
#[derive(Debug, Clone, Copy)]
pub struct MessageOutlines<'a>(&'a [u8]);

impl MessageOutlines<'_> {
    /// Returns the outline of a message.
    #[inline]
    pub fn get(&self, number: usize) -> Option<MessageOutline> {
        block::outline(self.0, number)
    }
}

/// What the score of a message depends on, apart from its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOutline {
    /// The size of its stored text, in bytes.
    pub length: usize,
    /// Its kind, its origin, and whether it is a question.
    pub attributes: MessageAttributes,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
}

impl<'a> MessageTable<'a> {
    /// Returns the number of messages, visible or not.
    pub fn count(&self) -> usize {
        self.block.count()
    }

    /// Returns the log of a message, if it is visible.
    pub fn log(&self, number: usize) -> Option<usize> {
        self.block.corpus.owned_by(self.row_at(number)?.owner)
    }

    /// Returns the attributes of a message, without its text; `None` if its log is not visible.
    pub fn summary(&self, number: usize) -> Option<MessageSummary> {
        let row = self.row_at(number)?;
        let (role, kind, origin) = row.attributes()?;
        Some(MessageSummary {
            log: self.block.corpus.owned_by(row.owner)?,
            role,
            time: row.time,
            length: (row.end as usize).checked_sub(self.start(number)?)?,
            kind,
            origin,
            is_question: row.is_question(),
        })
    }

    /// Returns the outline of a message, visible or not, without reading its row.
    pub fn outline(&self, number: usize) -> Option<MessageOutline> {
        self.outlines()?.get(number)
    }

    /// Returns the outlines of all messages; `None` if they are damaged.
    pub fn outlines(&self) -> Option<MessageOutlines<'a>> {
        self.head().map(|(outlines, _)| MessageOutlines(outlines))
    }

    /// Returns what tells a message from others, visible or not, without reading its outline.
    pub fn mark(&self, number: usize) -> Option<MessageMark> {
        let message = MessageRow::read(self.row(number)?, None)?.message("", &[])?;
        Some(MessageMark {
            line: message.line,
            kind: message.kind,
            length: message.length,
            identity: message.identity,
        })
    }

    /// Returns a message without its text; `None` if its log is not visible.
    pub fn textless(&self, number: usize) -> Option<CorpusMessage<'a>> {
        let row = self.row_at(number)?;
        let log = self.block.corpus.owned_by(row.owner)?;
        let message = row.message("", self.names()?)?;
        Some(CorpusMessage { log, ..message })
    }

    /// Returns the number of the message that this byte of the text belongs to.
    pub fn at(&self, offset: usize) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = (low + high) / 2;
            match self.row(middle).map(block::end_of) {
                Some(end) if end < offset => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// Returns the range of a message's text in that of the block.
    #[inline]
    pub fn range(&self, number: usize) -> Option<Range<usize>> {
        Some(self.start(number)?..block::end_of(self.row(number)?))
    }

    /// Returns where the text of a message begins in that of the block.
    fn start(&self, number: usize) -> Option<usize> {
        match number {
            0 => Some(0),
            _ => Some(block::end_of(self.row(number - 1)?) + 1),
        }
    }

    /// Returns a message with its text; `None` if its log is not visible or its text is damaged.
    pub(super) fn message<'t>(
        &self,
        number: usize,
        text: Option<&'t [u8]>,
    ) -> Option<CorpusMessage<'t>>
    where
        'a: 't,
    {
        let row = self.row_at(number)?;
        let log = self.block.corpus.owned_by(row.owner)?;
        let text = text
            .filter(|text| row.matches_text(text))
            .and_then(|text| std::str::from_utf8(text).ok());
        if text.is_none() {
            self.block.corpus.report_damage();
        }
        let message = row.message(text?, self.names()?)?;
        Some(CorpusMessage { log, ..message })
    }

    /// Returns a row; `None` if there is none or it is damaged.
    #[inline]
    pub(super) fn row(&self, number: usize) -> Option<&'a [u8]> {
        let from = number.checked_sub(self.first)?.checked_mul(block::ROW)?;
        let row = self.rows.get(from..from + block::ROW)?;
        let is_whole = self.is_verified || block::is_whole(row);
        if !is_whole {
            self.block.corpus.report_damage();
        }
        is_whole.then_some(row)
    }

    /// Returns the outlines and the names that rows refer to; `None` if they are damaged.
    fn head(&self) -> Option<(&'a [u8], &'a [u8])> {
        let shape = &self.block.row.shape;
        let is_whole = || checksum(self.head) == shape.checksum;
        let is_whole = self.block.is_known(HEAD_IS_WHOLE, is_whole);
        if !is_whole {
            self.block.corpus.report_damage();
            return None;
        }
        self.head.split_at_checked(shape.outlines())
    }

    pub(super) fn names(&self) -> Option<&'a [u8]> {
        self.head().map(|(_, names)| names)
    }

    pub(super) fn row_at(&self, number: usize) -> Option<MessageRow> {
        MessageRow::read(self.row(number)?, self.outline(number)?.time)
    }
}
