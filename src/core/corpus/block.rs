//! A block: the text of consecutive messages and a table of the messages.
//!
//! The text of each message is followed by a newline that belongs to no message, so that a
//! match in a block's text cannot span two messages. The table is stored apart: its head has a short
//! outline of each message with its time, and the names that rows refer to; its rows are of fixed
//! length, one for each message. Each row has a checksum of its own and that of its text, so that
//! one message can be read and verified without the others; the head is verified as a whole.
//! The text is compressed in frames, see `frames`.

use super::bytes::{ByteReader, ByteWriter, checksum, clip};
use super::frames::FrameWriter;
use super::index::IndexBuilder;
use super::manifest::OwnerRun;
use super::{CorpusMessage, MessageOutline, Part};
use crate::core::log::{self, MessageKind, Origin, Role};
use crate::core::text;

/// The number of messages at which a block is sealed.
pub const MOST_MESSAGES: usize = 4096;
/// The maximum size of a message's stored text, in bytes; see [`CorpusMessage::length`].
pub const LONGEST: usize = 1024 * 1024;
/// The maximum size of a stored tool or session name, in bytes.
const NAME: usize = 200;
/// The size of a row, in bytes, and the offset of its checksum.
pub(super) const ROW: usize = ROW_SUM + 4;
const ROW_SUM: usize = 34;
/// The size of an outline, in bytes.
const OUTLINE: usize = 12;

/// A block under construction.
pub(super) struct BlockBuilder {
    part: Part,
    text: String,
    outlines: ByteWriter,
    rows: ByteWriter,
    names: Vec<String>,
    runs: Vec<OwnerRun>,
    frames: FrameWriter,
}

/// A block ready to be written.
#[derive(Debug)]
pub(super) struct SealedBlock {
    pub(super) part: Part,
    /// The text as it is stored.
    pub(super) text: Vec<u8>,
    /// The outlines and the names.
    pub(super) head: Vec<u8>,
    pub(super) rows: Vec<u8>,
    pub(super) shape: BlockShape,
    /// The owners of its messages.
    pub(super) runs: Vec<OwnerRun>,
}

/// The sizes of a block's sections, and their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockShape {
    pub(super) text: u32,
    /// The size of the text as it is stored: less than `text` if it is compressed.
    pub(super) stored: u32,
    pub(super) rows: u32,
    pub(super) names: u32,
    /// The checksum of outlines and names; rows and texts have their own.
    pub(super) checksum: u64,
}

/// The row of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageRow {
    pub(super) end: u32,
    pub(super) owner: u32,
    line: u32,
    length: u32,
    flags: u16,
    tool: u16,
    session: u16,
    sum: u32,
    pub(super) time: Option<i64>,
    identity: u64,
}

impl Part {
    /// Returns the part in which a message of this kind is stored.
    pub fn of(kind: MessageKind) -> Self {
        match kind {
            MessageKind::ToolCall => Self::Calls,
            MessageKind::ToolResult => Self::Results,
            MessageKind::Text | MessageKind::Thinking | MessageKind::Notice => Self::Words,
        }
    }

    /// Returns the size of a block's text, in bytes, at which it is sealed.
    ///
    /// Results are searched seldom, and larger blocks make their index and themselves smaller.
    pub(super) fn block_size(self) -> usize {
        match self {
            Self::Words | Self::Calls => 64 * 1024,
            Self::Results => 256 * 1024,
        }
    }

    /// Returns how many bytes of text are compressed together; one message is read by
    /// decompressing the frames that it is in.
    pub(super) fn frame_size(self) -> usize {
        match self {
            Self::Words | Self::Calls => 4 * 1024,
            Self::Results => 256 * 1024,
        }
    }

    /// Returns how much its text is compressed: results are most of the text, and are not read in
    /// the first run.
    fn level(self) -> i32 {
        match self {
            Self::Words | Self::Calls => 1,
            Self::Results => 3,
        }
    }
}

impl BlockBuilder {
    pub(super) fn new(part: Part) -> Self {
        Self {
            part,
            text: String::with_capacity(part.block_size() + part.block_size() / 2),
            outlines: ByteWriter::default(),
            rows: ByteWriter::default(),
            names: Vec::new(),
            runs: Vec::new(),
            frames: FrameWriter::new(part.level()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= self.part.block_size() || self.rows.0.len() >= MOST_MESSAGES * ROW
    }

    /// Adds a message of the log with this owner number; returns its size in the block's text.
    pub(super) fn push(&mut self, owner: u32, message: &CorpusMessage<'_>) -> u64 {
        let before = self.text.len();
        let text = clip(message.text, LONGEST);
        self.text.push_str(text);
        let end = self.text.len() as u32;
        self.text.push('\n');
        if self.runs.last().is_none_or(|last| last.owner != owner) {
            let first = (self.rows.0.len() / ROW) as u32;
            self.runs.push(OwnerRun { owner, first });
        }
        let tool = self.name(message.tool);
        let session = self.name(message.session);
        let rows = &mut self.rows;
        let from = rows.0.len();
        rows.u32(end);
        rows.u32(owner);
        rows.u32(u32::try_from(message.line).unwrap_or(u32::MAX));
        rows.u32(u32::try_from(message.length).unwrap_or(u32::MAX));
        let mut flags = encode_flags(message.role, message.kind, message.origin);
        flags |= u16::from(text::is_question(text)) << QUESTION;
        rows.u16(flags);
        rows.u16(tool);
        rows.u16(session);
        rows.u32(sum_of(text.as_bytes()));
        rows.u64(message.identity.unwrap_or_default());
        rows.u32(sum_of(&rows.0[from..]));
        self.outlines.u32(outline_of(flags, text.len()));
        self.outlines.time(message.time);
        (self.text.len() - before) as u64
    }

    /// Adds a name if it is new and returns its number, from 1; 0 is none.
    fn name(&mut self, name: Option<&str>) -> u16 {
        let Some(name) = name.map(|name| clip(name, NAME)) else {
            return 0;
        };
        // Numbers fit into 16 bits: each of at most 4096 rows adds at most two names.
        let known = self.names.iter().rposition(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        at as u16 + 1
    }

    /// Seals the block and adds its words to the index; the builder is empty afterwards.
    pub(super) fn seal(&mut self, index: &mut IndexBuilder) -> SealedBlock {
        let rows = self.rows.0.chunks_exact(ROW);
        index.add_block(&self.text, rows.clone().map(end_of), rows.len());
        let text = self.text.len();
        let frames = self
            .frames
            .compress(self.text.as_bytes(), self.part.frame_size());
        let stored = frames.unwrap_or_else(|| self.text.as_bytes().to_vec());
        self.text.clear();
        // One very long message does not keep its memory.
        self.text.shrink_to(2 * self.part.block_size());
        let mut out = std::mem::take(&mut self.outlines);
        let before_names = out.0.len();
        for name in self.names.drain(..) {
            out.u16(name.len() as u16);
            out.0.extend_from_slice(name.as_bytes());
        }
        let shape = BlockShape {
            text: text as u32,
            rows: (self.rows.0.len() / ROW) as u32,
            stored: stored.len() as u32,
            names: (out.0.len() - before_names) as u32,
            checksum: checksum(&out.0),
        };
        SealedBlock {
            part: self.part,
            text: stored,
            head: out.0,
            rows: std::mem::take(&mut self.rows.0),
            shape,
            runs: std::mem::take(&mut self.runs),
        }
    }
}

impl BlockShape {
    /// Returns the size of the head of the table, in bytes.
    pub(super) fn head(&self) -> u64 {
        self.outlines() as u64 + u64::from(self.names)
    }

    /// Returns the size of the rows of the table, in bytes.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.rows) * ROW as u64
    }

    /// Whether the text is stored compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.stored != self.text
    }

    /// Returns the bytes of the outlines.
    pub(super) fn outlines(&self) -> usize {
        self.rows as usize * OUTLINE
    }
}

impl MessageRow {
    /// Reads the row of a message of this time.
    pub(super) fn read(row: &[u8], time: Option<i64>) -> Option<Self> {
        let mut row = ByteReader(row);
        let (end, owner, line, length) = (row.u32()?, row.u32()?, row.u32()?, row.u32()?);
        let (flags, tool, session, sum) = (row.u16()?, row.u16()?, row.u16()?, row.u32()?);
        Some(Self {
            end,
            owner,
            line,
            length,
            flags,
            tool,
            session,
            sum,
            time,
            identity: row.u64()?,
        })
    }

    /// Whether the text matches the row's checksum.
    pub(super) fn matches_text(&self, text: &[u8]) -> bool {
        self.sum == sum_of(text)
    }

    /// Returns the role, kind and origin of the message.
    pub(super) fn attributes(&self) -> Option<(Role, MessageKind, Origin)> {
        decode_flags(self.flags)
    }

    /// Whether the message is a question.
    pub(super) fn is_question(&self) -> bool {
        self.flags >> QUESTION & 1 == 1
    }

    /// Returns the message of this row, with its text; `log` is left 0.
    pub(super) fn message<'a>(&self, text: &'a str, names: &'a [u8]) -> Option<CorpusMessage<'a>> {
        let (role, kind, origin) = decode_flags(self.flags)?;
        Some(CorpusMessage {
            log: 0,
            line: u64::from(self.line),
            role,
            kind,
            origin,
            time: self.time,
            text,
            length: u64::from(self.length),
            identity: (self.identity != 0).then_some(self.identity),
            tool: name(names, self.tool),
            session: name(names, self.session),
        })
    }
}

/// The bits of an outline for the size of the text; the flags are above them.
const LENGTH_BITS: u32 = 21;

/// Returns the outline of a message with these flags and a text of this size, without its time.
fn outline_of(flags: u16, length: usize) -> u32 {
    let attributes = u32::from(flags >> 4 & 0xff);
    let length = length.min(LONGEST) as u32;
    u32::from(flags >> QUESTION & 1) << 31 | attributes << LENGTH_BITS | length
}

/// Reads the outline of a message from those of its block.
#[inline]
pub(super) fn outline(outlines: &[u8], number: usize) -> Option<MessageOutline> {
    let from = number.checked_mul(OUTLINE)?;
    let mut reader = ByteReader(outlines.get(from..from + OUTLINE)?);
    let (outline, time) = (reader.u32()?, reader.time()?);
    Some(MessageOutline {
        length: (outline & ((1 << LENGTH_BITS) - 1)) as usize,
        attributes: MessageAttributes((outline >> LENGTH_BITS & 0xff | outline >> 31 << 8) as u16),
        time,
    })
}

/// What kind of message it is, of what origin, and whether it is a question: a small number, so that
/// what follows from them can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageAttributes(u16);

impl MessageAttributes {
    /// Numbers are below this.
    pub const COUNT: usize = 1 << 9;

    /// Returns all that can be, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u16).map(Self)
    }

    /// Returns the number.
    #[inline]
    pub fn number(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the kind, the origin and whether it is a question, if there are such messages.
    pub fn decode(self) -> Option<(MessageKind, Origin, bool)> {
        let kind = *KINDS.get(usize::from(self.0 & 15))?;
        let origin = *ORIGINS.get(usize::from(self.0 >> 4 & 15))?;
        Some((kind, origin, self.0 >> 8 == 1))
    }
}

/// Returns whether a row is undamaged.
pub(super) fn is_whole(row: &[u8]) -> bool {
    let (row, sum) = row.split_at(row.len().min(ROW_SUM));
    ByteReader(sum).u32() == Some(sum_of(row))
}

/// Returns the end of the message's text in that of the block.
#[inline]
pub(super) fn end_of(row: &[u8]) -> usize {
    ByteReader(row).u32().map_or(usize::MAX, |end| end as usize)
}

/// Returns the owner of the message.
pub(super) fn owner_of(row: &[u8]) -> Option<u32> {
    let mut row = ByteReader(row);
    row.u32()?;
    row.u32()
}

fn sum_of(text: &[u8]) -> u32 {
    checksum(text) as u32
}

fn name(names: &[u8], number: u16) -> Option<&str> {
    let mut names = ByteReader(names);
    let mut name = None;
    for _ in 0..number {
        let length = names.u16()?;
        name = Some(names.bytes(usize::from(length))?);
    }
    std::str::from_utf8(name?).ok()
}

impl<'a> CorpusMessage<'a> {
    /// Returns the message as stored in a block; `log` is left 0.
    pub(super) fn of(message: &'a log::Message) -> Self {
        Self {
            log: 0,
            line: message.line,
            role: message.role,
            kind: message.kind,
            origin: message.origin,
            time: message.time,
            text: &message.text,
            length: message.text.len() as u64,
            identity: identity_of(message),
            tool: message.tool.as_deref(),
            session: message.session.as_deref(),
        }
    }
}

/// Returns the hash that copies of the message in other logs share; see
/// [`CorpusMessage::identity`].
fn identity_of(message: &log::Message) -> Option<u64> {
    const SHORT: usize = 24;
    let text = || {
        let role = checksum(&[message.role as u8]);
        let is_long = message.text.len() >= SHORT;
        is_long.then(|| checksum(message.text.as_bytes()) ^ role)
    };
    message.id.as_deref().map(key).or_else(text)
}

/// Returns the hash of a record's id that is stored in the corpus; never 0.
pub fn key(id: &str) -> u64 {
    checksum(id.as_bytes()).max(1)
}

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];
const KINDS: [MessageKind; 5] = [
    MessageKind::Text,
    MessageKind::Thinking,
    MessageKind::ToolCall,
    MessageKind::ToolResult,
    MessageKind::Notice,
];
const ORIGINS: [Origin; 3] = [Origin::Written, Origin::Injected, Origin::Agent];
/// The bit that marks a question.
const QUESTION: u16 = 12;

fn encode_flags(role: Role, kind: MessageKind, origin: Origin) -> u16 {
    fn of<T: PartialEq>(all: &[T], one: &T) -> u16 {
        all.iter().position(|other| other == one).unwrap_or(0) as u16
    }
    of(&ROLES, &role) | of(&KINDS, &kind) << 4 | of(&ORIGINS, &origin) << 8
}

fn decode_flags(flags: u16) -> Option<(Role, MessageKind, Origin)> {
    Some((
        *ROLES.get(usize::from(flags & 15))?,
        *KINDS.get(usize::from(flags >> 4 & 15))?,
        *ORIGINS.get(usize::from(flags >> 8 & 15))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::frames::{Decompressors, Frames};
    use super::*;

    #[test]
    fn every_role_kind_and_origin_comes_back() {
        for role in ROLES {
            for kind in KINDS {
                for origin in ORIGINS {
                    assert_eq!(
                        decode_flags(encode_flags(role, kind, origin)),
                        Some((role, kind, origin))
                    );
                }
            }
        }
        assert_eq!(decode_flags(u16::MAX), None);
    }

    #[test]
    fn an_outline_has_the_attributes_of_its_message() {
        for kind in KINDS {
            for origin in ORIGINS {
                for is_question in [false, true] {
                    let flags = encode_flags(Role::User, kind, origin);
                    let flags = flags | u16::from(is_question) << QUESTION;
                    let mut stored = ByteWriter::default();
                    stored.u32(outline_of(flags, 77));
                    stored.time(Some(5));
                    let read = outline(&stored.0, 0).expect("it is whole");
                    assert_eq!((read.length, read.time), (77, Some(5)));
                    let attributes = read.attributes.decode();
                    assert_eq!(attributes, Some((kind, origin, is_question)));
                    assert!(
                        MessageAttributes::all().nth(read.attributes.number())
                            == Some(read.attributes)
                    );
                }
            }
        }
    }

    #[test]
    fn an_absurd_message_is_cut_at_a_character_and_says_so() {
        let message = log::Message {
            line: 3,
            role: Role::Tool,
            kind: MessageKind::ToolResult,
            origin: Origin::Written,
            time: None,
            text: "é".repeat(LONGEST),
            id: None,
            reply: None,
            tool: Some("Bash".to_owned()),
            session: None,
            call: None,
            subagent: None,
        };
        let mut builder = BlockBuilder::new(Part::Results);
        builder.push(7, &CorpusMessage::of(&message));
        assert!(builder.is_full());
        let sealed = builder.seal(&mut IndexBuilder::new(Part::Results));
        let (outlines, names) = sealed.head.split_at(sealed.shape.outlines());
        let outlined = outline(outlines, 0).expect("there is one");
        assert_eq!(
            (outlined.length, outlined.attributes.decode()),
            (
                LONGEST,
                Some((MessageKind::ToolResult, Origin::Written, false))
            )
        );
        assert!(sealed.shape.stored < sealed.shape.text / 100);
        let stored = sealed.text.as_slice();
        let frames = Frames::new(
            Part::Results.frame_size(),
            sealed.shape.text as usize,
            &stored,
        );
        let text = frames
            .read_all(&Decompressors::default())
            .expect("it is whole");
        let text = String::from_utf8(text).expect("it was text");
        let row = MessageRow::read(&sealed.rows, outlined.time).expect("there is one row");
        let message = row
            .message(&text[..row.end as usize], names)
            .expect("it is sound");
        assert_eq!(message.text.len(), LONGEST);
        assert_eq!(message.length, 2 * LONGEST as u64);
        assert!(message.is_cut());
        assert_eq!(message.tool, Some("Bash"));
        assert_eq!(sealed.runs, [OwnerRun { owner: 7, first: 0 }]);
        assert!(builder.is_empty());
    }
}
