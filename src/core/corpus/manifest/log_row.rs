//! The rows of the manifest that are about logs.

use super::super::PARTS;
use super::super::bytes::{ByteReader, ByteWriter};
use super::StringSpan;

/// The size of a row, in bytes.
pub(super) const SIZE: usize = 196;

/// One log: how it was listed, how far it was read, and its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct LogRow {
    pub(in super::super) agent: u32,
    /// The owner number of the log's messages in the packs.
    pub(in super::super) owner: u32,
    /// The owner number of its last line while that has no line break; 0 for none.
    pub(in super::super) tail_owner: u32,
    pub(in super::super) turns: u32,
    pub(in super::super) path: StringSpan,
    pub(in super::super) id: StringSpan,
    pub(in super::super) cwd: StringSpan,
    pub(in super::super) title: StringSpan,
    pub(in super::super) size: u64,
    pub(in super::super) modified: Option<i64>,
    pub(in super::super) inode: u64,
    pub(in super::super) progress: ReadPosition,
    /// Offset and length of its state.
    pub(in super::super) state: (u64, u64),
    pub(in super::super) first: Option<i64>,
    pub(in super::super) last: Option<i64>,
    /// Bytes of text in each part, including the last line.
    pub(in super::super) text: [u64; PARTS],
    /// Bytes of text of the last line without a line break.
    pub(in super::super) tail_text: [u64; PARTS],
    /// Whether the results of its tools were read.
    pub(in super::super) has_results: bool,
}

/// How far a log was read, and the hashes that identify what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct ReadPosition {
    /// The number of bytes read; 0 for a log that is read whole.
    pub(in super::super) bytes: u64,
    pub(in super::super) lines: u64,
    pub(in super::super) head_length: u64,
    pub(in super::super) head_hash: u64,
    pub(in super::super) tail_hash: u64,
}

impl LogRow {
    /// Returns the size and the modification time that it was listed with.
    pub(in super::super) fn stamp(&self) -> (u64, Option<i64>) {
        (self.size, self.modified)
    }

    pub(super) fn write(&self, out: &mut ByteWriter) {
        [self.agent, self.owner, self.tail_owner, self.turns]
            .iter()
            .for_each(|number| out.u32(*number));
        for span in [self.path, self.id, self.cwd, self.title] {
            out.u32(span.at);
            out.u32(span.length);
        }
        out.u64(self.size);
        out.time(self.modified);
        out.u64(self.inode);
        let done = &self.progress;
        for number in [
            done.bytes,
            done.lines,
            done.head_length,
            done.head_hash,
            done.tail_hash,
            self.state.0,
            self.state.1,
        ] {
            out.u64(number);
        }
        out.time(self.first);
        out.time(self.last);
        for number in self.text.iter().chain(&self.tail_text) {
            out.u64(*number);
        }
        out.u32(u32::from(self.has_results));
    }

    pub(super) fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let mut row = ByteReader(from.bytes(SIZE)?);
        let row = &mut row;
        let span = |row: &mut ByteReader<'_>| {
            Some(StringSpan {
                at: row.u32()?,
                length: row.u32()?,
            })
        };
        Some(Self {
            agent: row.u32()?,
            owner: row.u32()?,
            tail_owner: row.u32()?,
            turns: row.u32()?,
            path: span(row)?,
            id: span(row)?,
            cwd: span(row)?,
            title: span(row)?,
            size: row.u64()?,
            modified: row.time()?,
            inode: row.u64()?,
            progress: ReadPosition {
                bytes: row.u64()?,
                lines: row.u64()?,
                head_length: row.u64()?,
                head_hash: row.u64()?,
                tail_hash: row.u64()?,
            },
            state: (row.u64()?, row.u64()?),
            first: row.time()?,
            last: row.time()?,
            text: [row.u64()?, row.u64()?, row.u64()?],
            tail_text: [row.u64()?, row.u64()?, row.u64()?],
            has_results: row.u32()? != 0,
        })
    }
}
