//! What a search sees of the corpus: logs, blocks and the messages in them.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::block::{self, Row};
use super::bytes::checksum;
use super::catalogue::{self, BlockRow, LogRow};
use super::pack::Pack;
use super::state::State;
use super::{Corpus, Part, filter};
use crate::core::log::{Agent, Head, Kind, Origin, Role, Skipped};
use crate::core::text::Term;

/// A log of the corpus.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) row: &'a LogRow,
}

/// A block of the corpus, not looked into yet.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) row: &'a BlockRow,
    pub(super) part: Part,
    pub(super) number: usize,
}

/// The text of a block and its messages.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    pub(super) corpus: &'a Corpus,
    text: &'a str,
    rows: &'a [u8],
    names: &'a [u8],
}

/// A message of the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The log's place in [`Corpus::logs`].
    pub log: usize,
    /// The record's line in the log, from 1.
    pub line: u64,
    /// Who speaks.
    pub role: Role,
    /// What it is made of.
    pub kind: Kind,
    /// Written or injected.
    pub origin: Origin,
    /// When, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The text, at most [`LONGEST`](super::LONGEST) bytes of it.
    pub text: &'a str,
    /// How many bytes the text has in the log.
    pub length: u64,
    /// What stands for the record's id, see [`key`](super::key); copies in other logs share it.
    pub id: Option<u64>,
    /// What stands for the reply's id, which the records of one reply share.
    pub reply: Option<u64>,
    /// The tool's name.
    pub tool: Option<&'a str>,
    /// The session it belongs to, where one log holds several.
    pub session: Option<&'a str>,
}

/// What has been found to be whole, as bits of [`Corpus::checked`].
const TEXT_IS_WHOLE: u8 = 1;
const FILTER_IS_WHOLE: u8 = 2;

impl<'a> Log<'a> {
    /// Returns whose log it is.
    pub fn agent(&self) -> Option<Agent> {
        Agent::all().find(|agent| *agent as u32 == self.row.agent)
    }

    /// Returns the file, or the database that holds it.
    pub fn path(&self) -> PathBuf {
        path_of(self.corpus.catalogue.string(self.row.path))
    }

    /// Returns the session's id, from the file's name or the database's key.
    pub fn id(&self) -> &'a str {
        self.text(self.row.id).unwrap_or_default()
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> Option<&'a str> {
        self.text(self.row.cwd)
    }

    /// Returns the title: the log's own, or what an index beside it says.
    pub fn title(&self) -> Option<&'a str> {
        self.text(self.row.title)
    }

    /// Returns the earliest and the latest time of any message.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.row.first.zip(self.row.last)
    }

    /// Returns how many prompts a person wrote.
    pub fn turns(&self) -> u64 {
        u64::from(self.row.turns)
    }

    /// Returns the size and the time of change that it was listed with.
    pub fn stamp(&self) -> (u64, Option<i64>) {
        (self.row.size, self.row.modified)
    }

    /// Returns how many bytes of text it has in a part.
    pub fn text_bytes(&self, part: Part) -> u64 {
        self.row.text[part.number()]
    }

    /// Returns all that the log says of itself, and what gave no message.
    pub fn facts(&self) -> Option<(Head, Skipped)> {
        let facts = State::of(self.corpus, self.row).and_then(|state| state.facts());
        if facts.is_none() {
            self.corpus.report_damage();
        }
        facts
    }

    fn text(&self, span: catalogue::Span) -> Option<&'a str> {
        let text = std::str::from_utf8(self.corpus.catalogue.string(span)).ok()?;
        (!text.is_empty()).then_some(text)
    }
}

impl<'a> Block<'a> {
    /// Returns its number among the blocks of its part.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns how many bytes of text it has.
    pub fn text_bytes(&self) -> usize {
        self.row.shape.text as usize
    }

    /// Returns the shown logs that have messages in it, without looking into it.
    pub fn logs(&self) -> impl Iterator<Item = usize> + use<'a> {
        let corpus = self.corpus;
        let owners = corpus.catalogue.owners(self.row).iter();
        owners.filter_map(|owner| corpus.owned_by(*owner))
    }

    /// Tells whether a message in it may hold the term: a stem for words, a folded word
    /// for tool text. There are no wrong answers of no.
    pub fn may_contain(&self, term: Term) -> bool {
        let shape = &self.row.shape;
        let pack = Pack::Filters(self.part);
        let filter = self
            .corpus
            .maps
            .get(pack, self.row.filter_at, u64::from(shape.filter));
        let whole = |filter: &&[u8]| self.is_whole(FILTER_IS_WHOLE, filter, shape.filter_checksum);
        filter
            .filter(whole)
            .is_none_or(|filter| filter::may_contain(filter, term))
    }

    /// Looks into the block; `None` where it is damaged.
    pub fn read(&self) -> Option<Content<'a>> {
        let shape = &self.row.shape;
        let pack = Pack::Blocks(self.part);
        let content = self
            .corpus
            .maps
            .get(pack, self.row.at, shape.bytes())
            .filter(|bytes| self.is_whole(TEXT_IS_WHOLE, bytes, shape.checksum))
            .and_then(|bytes| shape.divide(bytes));
        let Some((text, rows, names)) = content else {
            self.corpus.report_damage();
            return None;
        };
        Some(Content {
            corpus: self.corpus,
            text,
            rows,
            names,
        })
    }

    /// Tells whether the bytes are what was written; found out once for each block.
    fn is_whole(&self, what: u8, bytes: &[u8], sum: u64) -> bool {
        let checked = &self.corpus.checked[self.part.number()][self.number];
        if checked.load(Ordering::Relaxed) & what != 0 {
            return true;
        }
        let is_whole = checksum(bytes) == sum;
        if is_whole {
            checked.fetch_or(what, Ordering::Relaxed);
        } else {
            self.corpus.report_damage();
        }
        is_whole
    }
}

impl<'a> Content<'a> {
    /// Returns the text of all messages, each followed by a newline of ours; messages of
    /// logs that are not shown are in it, too.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns how many messages there are, shown or not.
    pub fn count(&self) -> usize {
        self.rows.len() / block::ROW
    }

    /// Returns the number of the message that this byte of the text belongs to.
    pub fn at(&self, offset: usize) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = (low + high) / 2;
            match self.row_at(middle) {
                Some(row) if (row.end as usize) < offset => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// Returns where the text of a message lies in [`Content::text`].
    pub fn range(&self, number: usize) -> Option<std::ops::Range<usize>> {
        let start = match number {
            0 => 0,
            _ => self.row_at(number - 1)?.end as usize + 1,
        };
        Some(start..self.row_at(number)?.end as usize)
    }

    /// Returns a message; `None` where its log is not shown.
    pub fn message(&self, number: usize) -> Option<Message<'a>> {
        let (row, message) = self.row(number)?;
        let log = self.corpus.owned_by(row.owner)?;
        Some(Message { log, ..message })
    }

    /// Returns the messages of the shown logs, each with its number.
    pub fn messages(&self) -> impl Iterator<Item = (usize, Message<'a>)> + use<'a> {
        let content = *self;
        (0..self.count()).filter_map(move |number| Some((number, content.message(number)?)))
    }

    /// Returns a row and its message, shown or not.
    pub(super) fn row(&self, number: usize) -> Option<(Row, Message<'a>)> {
        let row = self.row_at(number)?;
        Some((row, row.message(self.slice(number)?, self.names)?))
    }

    fn row_at(&self, number: usize) -> Option<Row> {
        let from = number.checked_mul(block::ROW)?;
        Row::read(self.rows.get(from..from + block::ROW)?)
    }

    fn slice(&self, number: usize) -> Option<&'a str> {
        self.text.get(self.range(number)?)
    }
}

impl Message<'_> {
    /// Tells whether the end of the text was too much to keep.
    pub fn is_cut(&self) -> bool {
        self.length > self.text.len() as u64
    }
}

/// Returns the path that was kept as these bytes.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns the path that was kept as these bytes.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::new(String::from_utf8_lossy(bytes).as_ref()))
}
