//! The manifest: which logs are in the packs, how far they were read, where blocks are stored.
//!
//! One small file that is replaced whole. Its rows are decoded when it is opened; its strings
//! stay bytes. State that only a build needs is stored in the states pack.

mod log_row;

use std::fs;
use std::io::Write;
use std::path::Path;

use super::block::BlockShape;
use super::bytes::{ByteReader, ByteWriter, checksum};
use super::index::SegmentRow;
use super::mapped::Mapped;
use super::pack::{Generation, HEADER, Lengths, PACKS};
use super::{PARTS, Part};
use crate::core::foreign::{LARGEST_WHOLE, open_capped};
use crate::core::log::Agent;
use crate::core::{Error, Result, private};

pub(super) use log_row::{LogRow, ReadPosition};

/// Incremented when the stored format or the decoding of logs changes.
const VERSION: u64 = 12;
const MAGIC: &[u8; 8] = b"tomecat\0";
const NAME: &str = "catalogue";
/// The sizes of a block's and a segment's row and of a run, in bytes.
const BLOCK: usize = 60;
const SEGMENT: usize = 44;
const RUN: usize = 8;

/// A range of the manifest's strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct StringSpan {
    at: u32,
    length: u32,
}

/// One block: where it is stored, its shape and the owners of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockRow {
    pub(super) text_at: u64,
    /// Where the head of its table and the rows are stored.
    pub(super) head_at: u64,
    pub(super) table_at: u64,
    /// The span of the index that it is in, counted over all segments. What other spans say about
    /// a block of this number was about one that this one replaced.
    pub(super) span: u32,
    pub(super) shape: BlockShape,
    /// The range of its runs.
    runs: (u32, u32),
}

/// Consecutive messages of one owner in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnerRun {
    pub(super) owner: u32,
    /// The number of its first message.
    pub(super) first: u32,
}

/// The whole manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) generation: Generation,
    pub(super) lengths: Lengths,
    pub(super) next_owner: u32,
    /// Bytes of text written to each part, garbage included.
    pub(super) written: [u64; PARTS],
    pub(super) logs: Vec<LogRow>,
    pub(super) blocks: [Vec<BlockRow>; PARTS],
    /// The segments of each part's index.
    pub(super) segments: [Vec<SegmentRow>; PARTS],
    runs: Vec<OwnerRun>,
    strings: Vec<u8>,
}

impl Manifest {
    /// Returns an empty manifest.
    pub(super) fn new(generation: Generation) -> Self {
        Self {
            generation,
            lengths: [HEADER; PACKS.len()],
            next_owner: 1,
            written: [0; PARTS],
            logs: Vec::new(),
            blocks: Default::default(),
            segments: Default::default(),
            runs: Vec::new(),
            strings: Vec::new(),
        }
    }

    /// Returns the manifest for the next build, with the same blocks but without logs.
    pub(super) fn successor(&self) -> Self {
        Self {
            logs: Vec::with_capacity(self.logs.len()),
            strings: Vec::with_capacity(self.strings.len()),
            ..self.clone()
        }
    }

    /// Returns a string.
    pub(super) fn string(&self, span: StringSpan) -> &[u8] {
        let from = span.at as usize;
        self.strings
            .get(from..from + span.length as usize)
            .unwrap_or_default()
    }

    /// Stores a string.
    pub(super) fn keep(&mut self, string: &[u8]) -> StringSpan {
        let at = self.strings.len();
        self.strings.extend_from_slice(string);
        StringSpan {
            at: u32::try_from(at).unwrap_or(u32::MAX),
            length: u32::try_from(string.len()).unwrap_or(0),
        }
    }

    /// Returns the row of a log of another manifest, with its strings stored in this one.
    pub(super) fn adopt(&mut self, other: &Self, row: &LogRow) -> LogRow {
        LogRow {
            path: self.keep(other.string(row.path)),
            id: self.keep(other.string(row.id)),
            cwd: self.keep(other.string(row.cwd)),
            title: self.keep(other.string(row.title)),
            ..*row
        }
    }

    /// Adds a block, which is not indexed yet, and returns its number.
    pub(super) fn add(
        &mut self,
        part: Part,
        [text_at, head_at, table_at]: [u64; 3],
        shape: BlockShape,
        runs: &[OwnerRun],
    ) -> u32 {
        let from = self.runs.len() as u32;
        self.runs.extend_from_slice(runs);
        self.written[part.number()] += u64::from(shape.text);
        let blocks = &mut self.blocks[part.number()];
        blocks.push(BlockRow {
            text_at,
            head_at,
            table_at,
            span: u32::MAX,
            shape,
            runs: (from, runs.len() as u32),
        });
        blocks.len() as u32 - 1
    }

    /// Adds a segment with a new span of these blocks.
    pub(super) fn add_segment(&mut self, part: Part, segment: SegmentRow, blocks: &[u32]) {
        let span = self.spans(part) as u32;
        for block in blocks {
            if let Some(block) = self.blocks[part.number()].get_mut(*block as usize) {
                block.span = span;
            }
        }
        self.segments[part.number()].push(segment);
    }

    /// Returns the number of spans of a part's index.
    pub(super) fn spans(&self, part: Part) -> usize {
        spans_of(&self.segments[part.number()])
    }

    /// Whether a span has the current block of this number.
    pub(super) fn is_indexed_by(&self, part: Part, span: usize, block: u32) -> bool {
        let block = self.blocks[part.number()].get(block as usize);
        block.is_some_and(|block| block.span as usize == span)
    }

    /// Returns the owners of the messages in a block.
    pub(super) fn runs(&self, block: &BlockRow) -> &[OwnerRun] {
        let (from, count) = block.runs;
        self.runs
            .get(from as usize..from as usize + count as usize)
            .unwrap_or_default()
    }

    /// Returns the bytes of text in each part that belong to a log.
    pub(super) fn live(&self) -> [u64; PARTS] {
        std::array::from_fn(|part| self.logs.iter().map(|log| log.text[part]).sum())
    }

    /// Replaces the manifest on disk.
    pub(super) fn save(&self, cache: &Path) -> Result<()> {
        let path = cache.join(NAME);
        let written = private::replace_unflushed(&path, |file| file.write_all(&self.encode()));
        written.map_err(|error| Error::io(path, error))
    }

    /// Reads the manifest; `None` if it is missing, damaged or of another version.
    pub(super) fn load(cache: &Path) -> Option<Self> {
        let file = open_capped(&cache.join(NAME), LARGEST_WHOLE).ok()?;
        // Decoding it as it is mapped is faster than reading it into memory first.
        let length = file.metadata().ok()?.len();
        Self::decode(&Mapped::new(file, length).ok()?)
    }

    /// Deletes the manifest, so that the next build starts from scratch.
    pub(super) fn discard(cache: &Path) {
        // A cache that cannot be changed cannot be rebuilt either.
        let _ = fs::remove_file(cache.join(NAME));
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter(Vec::with_capacity(
            self.logs.len() * (log_row::SIZE + 200)
                + self.blocks.iter().map(Vec::len).sum::<usize>() * BLOCK,
        ));
        out.u64(fingerprint());
        out.u64(self.generation.number);
        out.u64(self.generation.mark);
        let indexes = self.generation.indexes.iter();
        indexes.for_each(|number| out.u64(*number));
        self.lengths.iter().for_each(|length| out.u64(*length));
        self.written.iter().for_each(|bytes| out.u64(*bytes));
        out.u32(self.next_owner);
        out.u32(self.logs.len() as u32);
        for (blocks, segments) in self.blocks.iter().zip(&self.segments) {
            out.u32(blocks.len() as u32);
            out.u32(segments.len() as u32);
        }
        out.u32(self.runs.len() as u32);
        out.u32(self.strings.len() as u32);
        self.logs.iter().for_each(|log| log.write(&mut out));
        self.blocks
            .iter()
            .flatten()
            .for_each(|block| block.write(&mut out));
        let segments = self.segments.iter().flatten();
        segments.for_each(|segment| segment.write(&mut out));
        for run in &self.runs {
            out.u32(run.owner);
            out.u32(run.first);
        }
        out.0.extend_from_slice(&self.strings);
        let mut whole = ByteWriter(Vec::with_capacity(out.0.len() + 16));
        whole.0.extend_from_slice(MAGIC);
        whole.u64(checksum(&out.0));
        whole.0.extend_from_slice(&out.0);
        whole.0
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = ByteReader(bytes);
        if input.bytes(8)? != MAGIC || input.u64()? != checksum(input.0) {
            return None;
        }
        if input.u64()? != fingerprint() {
            return None;
        }
        let mut new = Self::new(Generation {
            number: input.u64()?,
            mark: input.u64()?,
            indexes: [input.u64()?, input.u64()?, input.u64()?],
        });
        for length in &mut new.lengths {
            *length = input.u64()?;
        }
        for bytes in &mut new.written {
            *bytes = input.u64()?;
        }
        new.next_owner = input.u32()?;
        let logs = input.u32()? as usize;
        let mut counts = [(0, 0); PARTS];
        for count in &mut counts {
            *count = (input.u32()? as usize, input.u32()? as usize);
        }
        let (runs, strings) = (input.u32()? as usize, input.u32()? as usize);
        new.logs = rows(&mut input, (logs, log_row::SIZE), LogRow::read)?;
        for (part, (count, _)) in counts.into_iter().enumerate() {
            new.blocks[part] = rows(&mut input, (count, BLOCK), BlockRow::read)?;
        }
        for (part, (_, count)) in counts.into_iter().enumerate() {
            new.segments[part] = rows(&mut input, (count, SEGMENT), SegmentRow::read)?;
        }
        new.runs = rows(&mut input, (runs, RUN), |row| {
            Some(OwnerRun {
                owner: row.u32()?,
                first: row.u32()?,
            })
        })?;
        new.strings = input.bytes(strings)?.to_vec();
        Some(new)
    }
}

/// Reads this many rows of this size.
fn rows<T>(
    input: &mut ByteReader<'_>,
    (count, size): (usize, usize),
    read: impl Fn(&mut ByteReader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut bytes = ByteReader(input.bytes(count.checked_mul(size)?)?);
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        rows.push(read(&mut bytes)?);
    }
    Some(rows)
}

/// Returns the number of spans of some segments.
pub(super) fn spans_of(segments: &[SegmentRow]) -> usize {
    segments.iter().map(|segment| segment.spans as usize).sum()
}

impl BlockRow {
    fn write(&self, out: &mut ByteWriter) {
        out.u64(self.text_at);
        out.u64(self.head_at);
        out.u64(self.table_at);
        let shape = &self.shape;
        for number in [
            self.span,
            shape.text,
            shape.stored,
            shape.rows,
            shape.names,
            self.runs.0,
            self.runs.1,
        ] {
            out.u32(number);
        }
        out.u64(shape.checksum);
    }

    fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let mut row = ByteReader(from.bytes(BLOCK)?);
        let (text_at, head_at, table_at, span) = (row.u64()?, row.u64()?, row.u64()?, row.u32()?);
        let (text, stored, rows, names) = (row.u32()?, row.u32()?, row.u32()?, row.u32()?);
        Some(Self {
            text_at,
            head_at,
            table_at,
            span,
            runs: (row.u32()?, row.u32()?),
            shape: BlockShape {
                text,
                stored,
                rows,
                names,
                checksum: row.u64()?,
            },
        })
    }
}

impl SegmentRow {
    fn write(&self, out: &mut ByteWriter) {
        out.u64(self.at);
        out.u64(self.body);
        for number in [
            self.header,
            self.spans,
            self.blocks,
            self.shards,
            self.postings,
        ] {
            out.u32(number);
        }
        out.u64(self.checksum);
    }

    fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let mut row = ByteReader(from.bytes(SEGMENT)?);
        Some(Self {
            at: row.u64()?,
            body: row.u64()?,
            header: row.u32()?,
            spans: row.u32()?,
            blocks: row.u32()?,
            shards: row.u32()?,
            postings: row.u32()?,
            checksum: row.u64()?,
        })
    }
}

/// Returns a hash that differs between versions of the cache.
fn fingerprint() -> u64 {
    let mut words = ByteWriter::default();
    words.u64(VERSION);
    words
        .0
        .extend_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
    for agent in Agent::all() {
        words.u32(agent as u32);
        words.0.extend_from_slice(agent.name().as_bytes());
    }
    checksum(&words.0)
}
