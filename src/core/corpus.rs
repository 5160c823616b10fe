//! The corpus: the decoded text of every log, cached, mapped and grown as logs grow.
//!
//! # On disk
//!
//! In the cache directory that a door hands in: one catalogue, small and replaced whole;
//! and five packs that are only appended to and are mapped, not loaded. Words (what
//! people and agents said, thought and were told) and tool text (calls and results) lie
//! in packs of their own, in blocks of about 64 KB that messages are never cut by. The
//! filters of all blocks lie together, so that a search that passes over most blocks
//! touches nothing of them. Packs that are half garbage are copied into new ones.
//!
//! # What can be relied on
//!
//! A log that has grown costs its new bytes; one that was rewritten, cut short or
//! replaced is read again; one that is gone is no longer shown. A last line without
//! an end counts as far as it is a whole record, and is read again when it has grown.
//! Of a message longer than [`LONGEST`] bytes the beginning is kept, see
//! [`Message::is_cut`].
//!
//! Nothing that stands in the cache is trusted: what was damaged, cut or written by
//! another version is read anew from the logs. Deleting the cache, at any time, costs time and
//! nothing else.
//!
//! A corpus shows the logs as they were when it was made, whatever is built meanwhile.
//! Pages that have been looked at stay resident until it is dropped; opening it again
//! costs a millisecond.

mod block;
mod bytes;
mod catalogue;
mod filter;
mod hand;
mod pack;
mod plan;
mod refresh;
mod source;
mod state;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::core::log::{Agent, Head, Kind, LogFile, Origin, Role, Skipped};
use crate::core::text::Term;
use crate::core::{Error, Result};

pub use block::{LONGEST, key};

use block::Row;
use bytes::checksum;
use catalogue::{BlockRow, Catalogue, LogRow};
use pack::{Maps, Pack};
use state::State;

/// The two kinds of text, which are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// What was said, thought, noted or injected; filters know the stems of its words.
    Words,
    /// What tools were given and gave back; filters know its folded words.
    Tools,
}

/// What to do when another builder is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// Wait for it.
    Wait,
    /// Take the last complete corpus, if there is one, else wait.
    TakeLast,
}

/// How a corpus is to be brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// How many threads may be used where there is much to read.
    pub threads: usize,
    /// What to do when another builder is at work.
    pub busy: Busy,
}

/// How far a build has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many logs are to be read.
    pub logs: usize,
    /// How many have been read.
    pub logs_done: usize,
    /// About how many bytes are to be read.
    pub bytes: u64,
    /// How many have been read.
    pub bytes_done: u64,
}

/// Watches a build, from the threads that do it.
pub trait Progress: Sync {
    /// Hears how far it has come, before each log.
    fn advance(&self, tally: Tally);

    /// Tells whether to stop; what has been read so far is kept.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Progress for () {
    fn advance(&self, _: Tally) {}
}

/// The text of all logs at one moment.
#[derive(Debug)]
pub struct Corpus {
    cache: PathBuf,
    catalogue: Catalogue,
    maps: Maps,
    /// The rows of the logs that are shown, in the order of [`Corpus::logs`].
    shown: Vec<usize>,
    /// Which of the shown logs an owner stands for, sorted by owner.
    owners: Vec<(u32, usize)>,
    checked: [Vec<AtomicU8>; 2],
    is_damaged: AtomicBool,
    unread: Vec<Error>,
}

/// A log of the corpus.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    corpus: &'a Corpus,
    row: &'a LogRow,
}

/// A block of the corpus, not looked into yet.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    corpus: &'a Corpus,
    row: &'a BlockRow,
    part: Part,
    number: usize,
}

/// The text of a block and its messages.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    corpus: &'a Corpus,
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
    /// The text, at most [`LONGEST`] bytes of it.
    pub text: &'a str,
    /// How many bytes the text has in the log.
    pub length: u64,
    /// What stands for the record's id, see [`key`]; copies in other logs share it.
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

impl Part {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Words, Self::Tools];

    fn number(self) -> usize {
        match self {
            Self::Words => 0,
            Self::Tools => 1,
        }
    }
}

impl Corpus {
    /// Opens the corpus as the last build left it; `None` where there is none to use.
    pub fn open(cache: &Path) -> Option<Self> {
        // Packs may be replaced between the reading of the catalogue and their opening.
        const TRIES: usize = 3;
        (0..TRIES).find_map(|_| {
            let catalogue = Catalogue::load(cache)?;
            let maps = Maps::open(cache, catalogue.generation, catalogue.lengths)?;
            let all: Vec<usize> = (0..catalogue.logs.len()).collect();
            Some(Self::new(cache, catalogue, maps).showing(&all))
        })
    }

    /// Returns the corpus of these logs, after reading what has changed in them.
    ///
    /// Costs no more than opening where nothing has changed. A log that cannot be read
    /// is left out, see [`Corpus::unread`]; a log that is cached but not listed is not
    /// shown, and stays cached as long as it exists.
    pub fn refresh(
        cache: &Path,
        logs: &[LogFile],
        effort: Effort,
        progress: &dyn Progress,
    ) -> Result<Self> {
        refresh::refresh(cache, logs, effort, progress)
    }

    fn new(cache: &Path, catalogue: Catalogue, maps: Maps) -> Self {
        let unchecked = |count: usize| (0..count).map(|_| AtomicU8::new(0)).collect();
        Self {
            cache: cache.to_owned(),
            checked: [0, 1].map(|part| unchecked(catalogue.blocks[part].len())),
            catalogue,
            maps,
            shown: Vec::new(),
            owners: Vec::new(),
            is_damaged: AtomicBool::new(false),
            unread: Vec::new(),
        }
    }

    /// Shows the logs of these rows, in this order, and no others.
    fn showing(mut self, rows: &[usize]) -> Self {
        self.shown = rows.to_vec();
        self.owners = Vec::with_capacity(rows.len());
        for (log, row) in rows.iter().enumerate() {
            let row = &self.catalogue.logs[*row];
            let owners = [row.owner, row.tail_owner].into_iter();
            self.owners
                .extend(owners.filter(|owner| *owner != 0).map(|owner| (owner, log)));
        }
        self.owners.sort_unstable();
        self
    }

    /// Says which logs could not be read.
    fn without(mut self, unread: Vec<Error>) -> Self {
        self.unread = unread;
        self
    }

    /// Returns the logs, in the order of their indices in messages.
    pub fn logs(&self) -> impl ExactSizeIterator<Item = Log<'_>> {
        self.shown.iter().map(|row| Log {
            corpus: self,
            row: &self.catalogue.logs[*row],
        })
    }

    /// Returns one log by its index in messages.
    pub fn log(&self, log: usize) -> Option<Log<'_>> {
        let row = self.catalogue.logs.get(*self.shown.get(log)?)?;
        Some(Log { corpus: self, row })
    }

    /// Returns the blocks of a part; a log's messages come in the order of the log.
    pub fn blocks(&self, part: Part) -> impl ExactSizeIterator<Item = Block<'_>> {
        let rows = self.catalogue.blocks[part.number()].iter();
        rows.enumerate().map(move |(number, row)| Block {
            corpus: self,
            row,
            part,
            number,
        })
    }

    /// Returns one block by its number.
    pub fn block(&self, part: Part, number: usize) -> Option<Block<'_>> {
        let row = self.catalogue.blocks[part.number()].get(number)?;
        Some(Block {
            corpus: self,
            row,
            part,
            number,
        })
    }

    /// Returns the logs that the last refresh could not read.
    pub fn unread(&self) -> &[Error] {
        &self.unread
    }

    /// Tells whether damage was met; the next refresh then reads everything again.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    fn content(&self, part: Part, number: usize) -> Option<Content<'_>> {
        self.block(part, number)?.read()
    }

    /// Notes damage, and takes the catalogue away so that the next refresh repairs it.
    fn report_damage(&self) {
        if !self.is_damaged.swap(true, Ordering::Relaxed) {
            Catalogue::discard(&self.cache);
        }
    }

    /// Returns the shown log that an owner stands for.
    fn owned_by(&self, owner: u32) -> Option<usize> {
        let at = self
            .owners
            .binary_search_by_key(&owner, |(owner, _)| *owner);
        at.ok().map(|at| self.owners[at].1)
    }
}

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
        let row = self.row_at(number)?;
        let log = self.corpus.owned_by(row.owner)?;
        let message = row.message(self.slice(number)?, self.names)?;
        Some(Message { log, ..message })
    }

    /// Returns the messages of the shown logs, each with its number.
    pub fn messages(&self) -> impl Iterator<Item = (usize, Message<'a>)> + use<'a> {
        let content = *self;
        (0..self.count()).filter_map(move |number| Some((number, content.message(number)?)))
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
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns the path that was kept as these bytes.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::new(String::from_utf8_lossy(bytes).as_ref()))
}
