//! A block: the text of consecutive messages and a table of the messages.
//!
//! The text of each message is followed by a newline that belongs to no message, so that a
//! match in a block's text cannot span two messages. After the text comes a row of fixed
//! length for each message, then the names that rows refer to. Each row has the checksum of
//! its text, so that one message can be read without the others. The text of results is
//! compressed.

use zstd::bulk::Compressor;

use super::bytes::{ByteReader, ByteWriter, checksum, clip};
use super::index::IndexBuilder;
use super::{CorpusMessage, Part};
use crate::core::log::{self, MessageKind, Origin, Role};
use crate::core::text;

/// The size of a block's text, in bytes, at which it is sealed.
pub(super) const BLOCK: usize = 64 * 1024;
/// The number of messages at which a block is sealed.
const MESSAGES: usize = 4096;
/// The maximum size of a message's stored text, in bytes; see [`CorpusMessage::length`].
pub const LONGEST: usize = 1024 * 1024;
/// The maximum size of a stored tool or session name, in bytes.
const NAME: usize = 200;
/// The size of a row, in bytes.
pub(super) const ROW: usize = 50;

/// How much text is compressed: more takes longer and saves little.
const LEVEL: i32 = 1;

/// A block under construction.
pub(super) struct BlockBuilder {
    part: Part,
    text: String,
    rows: ByteWriter,
    names: Vec<String>,
    owners: Vec<u32>,
    compressor: Option<Compressor<'static>>,
}

/// A block ready to be written.
#[derive(Debug)]
pub(super) struct SealedBlock {
    pub(super) part: Part,
    /// Text, rows and names.
    pub(super) bytes: Vec<u8>,
    pub(super) shape: BlockShape,
    /// The owners of its messages, each once.
    pub(super) owners: Vec<u32>,
}

/// The sizes of a block's sections, and their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockShape {
    pub(super) text: u32,
    /// The size of the text as it is stored: less than `text` if it is compressed.
    pub(super) stored: u32,
    pub(super) rows: u32,
    pub(super) names: u32,
    /// The checksum of rows and names; texts have their own.
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
    id: u64,
    reply: u64,
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

    /// Whether the text of this part is compressed. Words and calls are searched by every query,
    /// which would take half as long again if they were.
    fn is_compressed(self) -> bool {
        self == Self::Results
    }
}

impl BlockBuilder {
    pub(super) fn new(part: Part) -> Self {
        Self {
            part,
            text: String::with_capacity(BLOCK + BLOCK / 2),
            rows: ByteWriter::default(),
            names: Vec::new(),
            owners: Vec::new(),
            compressor: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= BLOCK || self.rows.0.len() >= MESSAGES * ROW
    }

    /// Adds a message of the log with this owner number; returns its size in the block's text.
    pub(super) fn push(&mut self, owner: u32, message: &CorpusMessage<'_>) -> u64 {
        let before = self.text.len();
        let text = clip(message.text, LONGEST);
        self.text.push_str(text);
        let end = self.text.len() as u32;
        self.text.push('\n');
        if self.owners.last() != Some(&owner) && !self.owners.contains(&owner) {
            self.owners.push(owner);
        }
        let tool = self.name(message.tool);
        let session = self.name(message.session);
        let rows = &mut self.rows;
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
        rows.time(message.time);
        rows.u64(message.id.unwrap_or_default());
        rows.u64(message.reply.unwrap_or_default());
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
        index.add_block(&self.text, self.rows.0.chunks_exact(ROW).map(end_of));
        let text = self.text.len();
        let mut out = ByteWriter(match self.part.is_compressed() {
            true => self.compressed(),
            false => std::mem::take(&mut self.text).into_bytes(),
        });
        let stored = out.0.len();
        out.0.extend_from_slice(&self.rows.0);
        let before_names = out.0.len();
        for name in self.names.drain(..) {
            out.u16(name.len() as u16);
            out.0.extend_from_slice(name.as_bytes());
        }
        let shape = BlockShape {
            text: text as u32,
            rows: (self.rows.0.len() / ROW) as u32,
            stored: stored as u32,
            names: (out.0.len() - before_names) as u32,
            checksum: checksum(&out.0[stored..]),
        };
        self.rows.0.clear();
        SealedBlock {
            part: self.part,
            bytes: out.0,
            shape,
            owners: std::mem::take(&mut self.owners),
        }
    }

    /// Returns the text compressed, or as it is if that does not make it smaller.
    fn compressed(&mut self) -> Vec<u8> {
        if self.compressor.is_none() {
            self.compressor = Compressor::new(LEVEL).ok();
        }
        let compressor = self.compressor.as_mut();
        let packed = compressor.and_then(|one| one.compress(self.text.as_bytes()).ok());
        match packed.filter(|packed| packed.len() < self.text.len()) {
            Some(packed) => {
                self.text.clear();
                packed
            }
            None => std::mem::take(&mut self.text).into_bytes(),
        }
    }

    /// Reuses the memory of a block that has been written.
    pub(super) fn reuse(&mut self, mut sealed: SealedBlock) {
        if self.text.capacity() == 0 && sealed.bytes.capacity() <= 4 * BLOCK {
            sealed.bytes.clear();
            self.text = String::from_utf8(sealed.bytes).unwrap_or_default();
        }
    }
}

impl BlockShape {
    /// Returns the size of text, rows and names as they are stored, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.stored) + u64::from(self.rows) * ROW as u64 + u64::from(self.names)
    }

    /// Whether the text is stored compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.stored != self.text
    }

    /// Divides a block's bytes into stored text, rows and names; `None` if they are too few.
    pub(super) fn divide<'a>(&self, bytes: &'a [u8]) -> Option<[&'a [u8]; 3]> {
        let (text, rest) = bytes.split_at_checked(self.stored as usize)?;
        let (rows, names) = rest.split_at_checked(self.rows as usize * ROW)?;
        Some([text, rows, names])
    }
}

impl MessageRow {
    /// Reads one row.
    pub(super) fn read(row: &[u8]) -> Option<Self> {
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
            time: row.time()?,
            id: row.u64()?,
            reply: row.u64()?,
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
            id: (self.id != 0).then_some(self.id),
            reply: (self.reply != 0).then_some(self.reply),
            tool: name(names, self.tool),
            session: name(names, self.session),
        })
    }
}

/// Returns the text that was stored compressed; `None` if it is damaged.
pub(super) fn unpack(shape: &BlockShape, stored: &[u8]) -> Option<String> {
    let text = zstd::bulk::decompress(stored, shape.text as usize).ok()?;
    let is_whole = text.len() == shape.text as usize;
    String::from_utf8(text).ok().filter(|_| is_whole)
}

/// Returns the end of the message's text in that of the block.
pub(super) fn end_of(row: &[u8]) -> usize {
    ByteReader(row).u32().map_or(usize::MAX, |end| end as usize)
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
            id: message.id.as_deref().map(key),
            reply: message.reply.as_deref().map(key),
            tool: message.tool.as_deref(),
            session: message.session.as_deref(),
        }
    }
}

/// Returns the hash of a record's or reply's id that is stored in the corpus; never 0.
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
        let [text, rows, names] = sealed.shape.divide(&sealed.bytes).expect("it is whole");
        assert!(sealed.shape.stored < sealed.shape.text / 100);
        let text = unpack(&sealed.shape, text).expect("it is whole");
        let row = MessageRow::read(rows).expect("there is one row");
        let message = row
            .message(&text[..row.end as usize], names)
            .expect("it is sound");
        assert_eq!(message.text.len(), LONGEST);
        assert_eq!(message.length, 2 * LONGEST as u64);
        assert!(message.is_cut());
        assert_eq!(message.tool, Some("Bash"));
        assert_eq!(sealed.owners, [7]);
        assert!(builder.is_empty());
    }
}
