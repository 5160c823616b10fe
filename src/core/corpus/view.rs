//! Read access to the blocks of the corpus and their messages.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::block::{self, MessageRow};
use super::frames::{Frames, Stored};
use super::manifest::BlockRow;
use super::pack::{Pack, PackRange};
use super::{Corpus, MessageTable, Part};
use crate::core::log::{MessageKind, Origin, Role};

/// A block of the corpus; its content is read on request.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) row: &'a BlockRow,
    pub(super) part: Part,
    pub(super) number: usize,
}

/// The messages of a block with their text as bytes, which are verified one by one.
#[derive(Debug, Clone)]
pub struct BlockBytes<'a> {
    table: MessageTable<'a>,
    text: Text<'a, [u8]>,
}

/// The whole text of a block and its messages.
#[derive(Debug, Clone)]
pub struct BlockContent<'a> {
    table: MessageTable<'a>,
    text: Text<'a, str>,
}

/// The text of a block: mapped, or decompressed and shared by all that read it.
#[derive(Debug)]
enum Text<'a, T: ?Sized> {
    Mapped(&'a T),
    Unpacked(Arc<String>),
}

impl<T: ?Sized> Clone for Text<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Mapped(text) => Self::Mapped(text),
            Self::Unpacked(text) => Self::Unpacked(Arc::clone(text)),
        }
    }
}

impl<T: ?Sized> Deref for Text<'_, T>
where
    String: AsRef<T>,
{
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Mapped(text) => text,
            Self::Unpacked(text) => String::as_ref(text),
        }
    }
}

/// A message of the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusMessage<'a> {
    /// The log's index in [`Corpus::logs`].
    pub log: usize,
    /// The record's line in the log, from 1.
    pub line: u64,
    /// The sender.
    pub role: Role,
    /// The kind of content.
    pub kind: MessageKind,
    /// Written or injected.
    pub origin: Origin,
    /// The time, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The text, at most [`LONGEST`](super::LONGEST) bytes of it.
    pub text: &'a str,
    /// The size of the text in the log, in bytes.
    pub length: u64,
    /// A hash that copies of the message in other logs share: of the record's id, or of role and
    /// text if the record has none. A short text without an id may be said again and has no
    /// identity.
    pub identity: Option<u64>,
    /// The tool's name.
    pub tool: Option<&'a str>,
    /// The session it belongs to, if the log holds several.
    pub session: Option<&'a str>,
}

/// What has been verified, as bits of [`Corpus::checked`].
pub(super) const HEAD_IS_WHOLE: u8 = 1;
/// The text and all rows.
const TEXT_IS_WHOLE: u8 = 2;

impl<'a> Block<'a> {
    /// Returns its number among the blocks of its part.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the span of the index that has its words.
    pub fn span(&self) -> Option<usize> {
        let span = self.row.span as usize;
        (span < self.corpus.spans(self.part)).then_some(span)
    }

    /// Returns the number of its messages, visible or not, without reading it.
    pub fn count(&self) -> usize {
        self.row.shape.rows as usize
    }

    /// Returns the size of its text, in bytes.
    pub fn text_bytes(&self) -> usize {
        self.row.shape.text as usize
    }

    /// Returns the visible logs that have messages in it, without reading it.
    pub fn logs(&self) -> impl Iterator<Item = usize> + use<'a> {
        let corpus = self.corpus;
        let runs = corpus.manifest.runs(self.row).iter();
        runs.filter_map(|run| corpus.owned_by(run.owner))
    }

    /// Returns the consecutive messages of one log each, and the log if it is visible, without
    /// reading the block.
    pub fn runs(&self) -> impl Iterator<Item = (Option<usize>, Range<usize>)> + use<'a> {
        let (corpus, count) = (self.corpus, self.count());
        let runs = corpus.manifest.runs(self.row);
        runs.iter().enumerate().map(move |(at, run)| {
            let end = runs.get(at + 1).map_or(count, |next| next.first as usize);
            (corpus.owned_by(run.owner), run.first as usize..end)
        })
    }

    /// Returns the log of a message, if it is visible, without reading the block.
    pub fn log(&self, message: usize) -> Option<usize> {
        self.run_at(message)?.0
    }

    /// Returns the consecutive messages of one log that this one is among, and the log if it is
    /// visible, without reading the block.
    pub fn run_at(&self, message: usize) -> Option<(Option<usize>, Range<usize>)> {
        let runs = self.corpus.manifest.runs(self.row);
        let after = runs.partition_point(|run| run.first as usize <= message);
        let run = runs.get(after.checked_sub(1)?)?;
        let end = runs
            .get(after)
            .map_or(self.row.shape.rows, |next| next.first);
        let messages = run.first as usize..end as usize;
        Some((self.corpus.owned_by(run.owner), messages))
    }

    /// Opens the table of its messages, whose rows are verified when they are read; `None` if it
    /// is damaged.
    pub fn table(&self) -> Option<MessageTable<'a>> {
        let (row, shape, maps) = (self.row, &self.row.shape, &self.corpus.maps);
        let head = maps.get(Pack::Outlines(self.part), row.head_at, shape.head());
        let rows = maps.get(Pack::Tables(self.part), row.table_at, shape.rows());
        let table = head.zip(rows).map(|(head, rows)| MessageTable {
            block: *self,
            head,
            first: 0,
            rows,
            is_verified: self.is_checked(TEXT_IS_WHOLE),
        });
        if table.is_none() {
            self.corpus.report_damage();
        }
        table
    }

    /// Opens the table and verifies all text; `None` if either is damaged.
    pub fn scan(&self) -> Option<BlockBytes<'a>> {
        let (stored, table) = (self.stored()?, self.table()?);
        let text = match self.row.shape.is_compressed() {
            true => self.unpacked(stored).map(Text::Unpacked),
            false => Some(Text::Mapped(stored)),
        };
        let content = text
            .map(|text| BlockBytes { table, text })
            .filter(|content| self.is_known(TEXT_IS_WHOLE, || content.is_whole()));
        if content.is_none() {
            self.corpus.report_damage();
        }
        let mut content = content?;
        content.table.is_verified = true;
        Some(content)
    }

    /// Reads and verifies the whole block; `None` if it is damaged.
    pub fn read(&self) -> Option<BlockContent<'a>> {
        let BlockBytes { table, text } = self.scan()?;
        let text = match text {
            Text::Mapped(text) => std::str::from_utf8(text).ok().map(Text::Mapped),
            Text::Unpacked(text) => Some(Text::Unpacked(text)),
        };
        if text.is_none() {
            self.corpus.report_damage();
        }
        Some(BlockContent { table, text: text? })
    }

    /// Reads one message and as little else as possible; `None` if its log is not visible or it
    /// is damaged.
    pub fn message<T>(
        &self,
        number: usize,
        take: impl FnOnce(&CorpusMessage<'_>) -> T,
    ) -> Option<T> {
        if number >= self.count() {
            return None;
        }
        let first = number.saturating_sub(1);
        let rows = self.rows(first..number + 1);
        if rows.is_none() {
            self.corpus.report_damage();
        }
        let rows = rows?;
        let table = MessageTable {
            first,
            rows: &rows,
            ..self.table()?
        };
        let range = table.range(number)?;
        // A log that is not visible is no reason to read its text.
        table.log(number)?;
        let pack = self.corpus.maps.pack(Pack::Texts(self.part))?;
        let (at, length) = (self.row.text_at, self.row.shape.stored);
        let stored = PackRange::new(pack, at, length.into());
        let take = |text: &[u8]| Some(take(&table.message(number, Some(text))?));
        let taken = match self.row.shape.is_compressed() {
            true => {
                let frames = self.frames(&stored);
                let key = (self.part, self.number);
                self.corpus.unpacked.range((key, frames), range, take)
            }
            false => stored.get(range).map(|text| take(&text)),
        };
        if taken.is_none() {
            self.corpus.report_damage();
        }
        taken?
    }

    /// Returns some of the rows of its table.
    fn rows(&self, numbers: Range<usize>) -> Option<Cow<'a, [u8]>> {
        let pack = self.corpus.maps.pack(Pack::Tables(self.part))?;
        let rows = PackRange::new(pack, self.row.table_at, self.row.shape.rows());
        rows.get(numbers.start * block::ROW..numbers.end * block::ROW)
    }

    /// Returns the text as it is stored.
    fn stored(&self) -> Option<&'a [u8]> {
        let length = u64::from(self.row.shape.stored);
        let pack = Pack::Texts(self.part);
        let bytes = self.corpus.maps.get(pack, self.row.text_at, length);
        if bytes.is_none() {
            self.corpus.report_damage();
        }
        bytes
    }

    /// Returns the decompressed text; `None` if it is damaged.
    fn unpacked(&self, stored: &[u8]) -> Option<Arc<String>> {
        let key = (self.part, self.number);
        self.corpus.unpacked.block(key, self.frames(&stored))
    }

    fn frames<'s>(&self, stored: &'s dyn Stored) -> Frames<'s> {
        Frames::new(self.part.frame_size(), self.text_bytes(), stored)
    }

    /// Whether a section of the block is undamaged; checked until it succeeds once.
    pub(super) fn is_known(&self, what: u8, is_whole: impl FnOnce() -> bool) -> bool {
        if self.is_checked(what) {
            return true;
        }
        let is_whole = is_whole();
        if is_whole {
            let checked = &self.corpus.checked[self.part.number()][self.number];
            checked.fetch_or(what, Ordering::Relaxed);
        }
        is_whole
    }

    /// Whether a section of the block has been found to be undamaged.
    fn is_checked(&self, what: u8) -> bool {
        let checked = &self.corpus.checked[self.part.number()][self.number];
        checked.load(Ordering::Relaxed) & what != 0
    }
}

impl<'a> BlockBytes<'a> {
    /// Returns the table of the messages.
    pub fn table(&self) -> MessageTable<'a> {
        self.table
    }

    /// Returns the text of all messages, each followed by an additional newline.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// Returns a message; `None` if its log is not visible or its text is damaged.
    pub fn message(&self, number: usize) -> Option<CorpusMessage<'_>> {
        let text = self.text.get(self.table.range(number)?);
        self.table.message(number, text)
    }

    fn is_whole(&self) -> bool {
        let mut from = 0;
        for number in 0..self.table.count() {
            let Some(row) = self.table.row_at(number) else {
                return false;
            };
            let end = row.end as usize;
            let text = self.text.get(from..end);
            if !text.is_some_and(|text| row.matches_text(text))
                || self.text.get(end) != Some(&b'\n')
            {
                return false;
            }
            from = end + 1;
        }
        from == self.text.len()
    }
}

impl BlockContent<'_> {
    /// Returns the text of all messages, visible or not, each followed by an additional
    /// newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its text is mapped, so that keeping it takes no memory of its own.
    pub fn is_mapped(&self) -> bool {
        matches!(self.text, Text::Mapped(_))
    }

    /// Returns the number of messages, visible or not.
    pub fn count(&self) -> usize {
        self.table.count()
    }

    /// Returns the number of the message that this byte of the text belongs to.
    pub fn at(&self, offset: usize) -> usize {
        self.table.at(offset)
    }

    /// Returns the range of a message's text in [`BlockContent::text`].
    pub fn range(&self, number: usize) -> Option<Range<usize>> {
        self.table.range(number)
    }

    /// Returns a message; `None` if its log is not visible.
    pub fn message(&self, number: usize) -> Option<CorpusMessage<'_>> {
        let (row, message) = self.row(number)?;
        let log = self.table.block.corpus.owned_by(row.owner)?;
        Some(CorpusMessage { log, ..message })
    }

    /// Returns the log of a message, if it is visible.
    pub fn log(&self, number: usize) -> Option<usize> {
        let owner = block::owner_of(self.table.row(number)?)?;
        self.table.block.corpus.owned_by(owner)
    }

    /// Returns the messages of the visible logs, each with its number.
    pub fn messages(&self) -> impl Iterator<Item = (usize, CorpusMessage<'_>)> {
        (0..self.count()).filter_map(|number| Some((number, self.message(number)?)))
    }

    /// Returns a row and its message, visible or not.
    pub(super) fn row(&self, number: usize) -> Option<(MessageRow, CorpusMessage<'_>)> {
        let row = self.table.row_at(number)?;
        let text = self.text.get(self.range(number)?)?;
        Some((row, row.message(text, self.table.names()?)?))
    }
}

impl CorpusMessage<'_> {
    /// Whether the text was cut to [`LONGEST`](super::LONGEST) bytes.
    pub fn is_cut(&self) -> bool {
        self.length > self.text.len() as u64
    }
}
