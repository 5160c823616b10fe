//! The documents of the index, one for each message: how they are indexed and stored.

use serde::{Deserialize, Serialize};
use tantivy::TantivyDocument;
use tantivy::schema::document::{DeserializeError, DocumentDeserialize, DocumentDeserializer};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, OwnedValue, STORED, Schema,
    TextFieldIndexing, TextOptions,
};

use super::{CorpusMessage, Part, tokenizer};
use crate::core::log::{self, MessageKind, Origin, Role};
use crate::core::text::clip;

/// The maximum size of a message's stored text, in bytes; see [`CorpusMessage::length`].
pub const LONGEST_MESSAGE: usize = 1024 * 1024;
/// The same for text that a program put in: instructions and reminders are in every session again.
const LONGEST_INJECTED: usize = 4096;
/// The maximum size of a stored tool or session name, in bytes.
const LONGEST_NAME: usize = 200;

/// The name of the fast field with the owner of each message.
pub(super) const OWNER: &str = "owner";
/// The name of the fast field with the place of each message in its log.
pub(super) const PLACE: &str = "place";
/// The name of the fast field with the time of each message; messages without one have none.
pub(super) const TIME: &str = "time";
/// The name of the fast field with role, kind and origin of each message.
pub(super) const MARKS: &str = "marks";
/// The name of the fast field with the identity of each message that has one.
pub(super) const IDENTITY: &str = "identity";

/// The fields of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The number that the messages of one log share; see `LogRow::owner`.
    pub(super) owner: Field,
    place: Field,
    time: Field,
    marks: Field,
    identity: Field,
    /// The text of each part and its words; a message has one of them.
    words: [Field; Part::ALL.len()],
    /// What else is stored of a message, with a checksum.
    more: Field,
}

impl Fields {
    /// Returns the schema of the index and its fields.
    pub(super) fn schema() -> (Schema, Self) {
        let text = |record: IndexRecordOption| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(tokenizer::WORDS)
                .set_index_option(record);
            TextOptions::default()
                .set_indexing_options(indexing)
                .set_stored()
        };
        let mut schema = Schema::builder();
        let fast = || NumericOptions::from(FAST);
        let fields = Self {
            owner: schema.add_u64_field(OWNER, FAST | INDEXED),
            place: schema.add_u64_field(PLACE, fast()),
            time: schema.add_i64_field(TIME, fast()),
            marks: schema.add_u64_field(MARKS, fast()),
            identity: schema.add_u64_field(IDENTITY, fast()),
            words: [
                schema.add_text_field("said", text(IndexRecordOption::WithFreqsAndPositions)),
                schema.add_text_field("called", text(IndexRecordOption::WithFreqs)),
                schema.add_text_field("result", text(IndexRecordOption::Basic)),
            ],
            more: schema.add_bytes_field("more", STORED),
        };
        (schema.build(), fields)
    }

    /// Returns the field with the words of a part.
    pub(super) fn words(&self, part: Part) -> Field {
        self.words[part.number()]
    }

    /// Returns the document of a message of this owner, at this place in its log.
    pub(super) fn document(
        &self,
        owner: u64,
        place: u64,
        message: &CorpusMessage<'_>,
    ) -> TantivyDocument {
        let part = Part::of(message.kind);
        let mut document = TantivyDocument::default();
        document.add_u64(self.owner, owner);
        document.add_u64(self.place, place);
        document.add_u64(self.marks, Marks::of(message).0);
        if let Some(time) = message.time {
            document.add_i64(self.time, time);
        }
        if let Some(identity) = message.identity {
            document.add_u64(self.identity, identity);
        }
        document.add_text(self.words(part), message.text);
        document.add_bytes(self.more, &StoredMessage::encode(message));
        document
    }
}

/// Role, kind and origin of a message, as a number. The kind decides which of two is greater, and
/// kinds of one part follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks(pub(super) u64);

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];
const KINDS: [MessageKind; 5] = [
    MessageKind::Text,
    MessageKind::Thinking,
    MessageKind::Notice,
    MessageKind::ToolCall,
    MessageKind::ToolResult,
];
const ORIGINS: [Origin; 3] = [Origin::Written, Origin::Injected, Origin::Agent];

impl Marks {
    fn of(message: &CorpusMessage<'_>) -> Self {
        fn number<T: PartialEq>(all: &[T], one: &T) -> u64 {
            all.iter().position(|other| other == one).unwrap_or(0) as u64
        }
        Self(
            number(&ROLES, &message.role)
                | number(&ORIGINS, &message.origin) << 4
                | number(&KINDS, &message.kind) << 8,
        )
    }

    /// Whether somebody said it: a person or an agent, not a program.
    pub(super) fn is_said(self) -> bool {
        self.decode()
            .is_some_and(|(_, kind, origin)| kind == MessageKind::Text && origin == Origin::Written)
    }

    pub(super) fn decode(self) -> Option<(Role, MessageKind, Origin)> {
        Some((
            *ROLES.get(self.0 as usize & 15)?,
            *KINDS.get(self.0 as usize >> 8)?,
            *ORIGINS.get(self.0 as usize >> 4 & 15)?,
        ))
    }
}

/// A message as it is stored: its text, and the other fields behind a checksum of all.
#[derive(Debug, Default)]
pub(super) struct StoredMessage {
    text: String,
    more: Vec<u8>,
}

/// The fields of a stored message beside its text.
#[derive(Serialize, Deserialize)]
struct MessageFields<'a> {
    line: u64,
    marks: u64,
    time: Option<i64>,
    length: u64,
    tool: Option<&'a str>,
    session: Option<&'a str>,
}

impl StoredMessage {
    /// Returns all fields but the text.
    fn encode(message: &CorpusMessage<'_>) -> Vec<u8> {
        let fields = MessageFields {
            line: message.line,
            marks: Marks::of(message).0,
            time: message.time,
            length: message.length,
            tool: message.tool.map(|name| clip(name, LONGEST_NAME)),
            session: message.session.map(|name| clip(name, LONGEST_NAME)),
        };
        // Plain values in memory: encoding them cannot fail.
        let mut bytes = postcard::to_stdvec(&fields).unwrap_or_default();
        let sum = checksum([bytes.as_slice(), message.text.as_bytes()]);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Returns the message, of the log with this index and with this identity; `None` if it is
    /// damaged.
    pub(super) fn message(&self, log: usize, identity: Option<u64>) -> Option<CorpusMessage<'_>> {
        let (fields, sum) = self.more.split_last_chunk()?;
        if checksum([fields, self.text.as_bytes()]) != u32::from_le_bytes(*sum) {
            return None;
        }
        let fields: MessageFields<'_> = postcard::from_bytes(fields).ok()?;
        let (role, kind, origin) = Marks(fields.marks).decode()?;
        Some(CorpusMessage {
            log,
            line: fields.line,
            role,
            kind,
            origin,
            time: fields.time,
            text: &self.text,
            length: fields.length,
            identity,
            tool: fields.tool,
            session: fields.session,
        })
    }
}

impl DocumentDeserialize for StoredMessage {
    fn deserialize<'de, D>(mut document: D) -> Result<Self, DeserializeError>
    where
        D: DocumentDeserializer<'de>,
    {
        let mut message = Self::default();
        while let Some((_, value)) = document.next_field::<OwnedValue>()? {
            match value {
                OwnedValue::Str(text) => message.text = text,
                OwnedValue::Bytes(more) => message.more = more,
                _ => return Err(DeserializeError::custom("no field of a message")),
            }
        }
        Ok(message)
    }
}

/// Returns the checksum of some bytes.
pub(super) fn checksum<const N: usize>(parts: [&[u8]; N]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

impl<'a> CorpusMessage<'a> {
    /// Returns the message as it is stored; `log` is left 0.
    pub(super) fn of(message: &'a log::Message) -> Self {
        Self {
            log: 0,
            line: message.line,
            role: message.role,
            kind: message.kind,
            origin: message.origin,
            time: message.time,
            text: match message.origin {
                Origin::Injected => clip(&message.text, LONGEST_INJECTED),
                Origin::Written | Origin::Agent => clip(&message.text, LONGEST_MESSAGE),
            },
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
    /// A shorter text may be said again.
    const SHORT: usize = 24;
    let mut hasher = blake3::Hasher::new();
    match &message.id {
        Some(id) => hasher.update(id.as_bytes()),
        None if message.text.len() >= SHORT => hasher
            .update(&[message.role as u8])
            .update(message.text.as_bytes()),
        None => return None,
    };
    let hash = hasher.finalize();
    hash.as_bytes()
        .first_chunk()
        .map(|first| u64::from_le_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_and_a_damaged_one_does_not() {
        for role in ROLES {
            for kind in KINDS {
                for origin in ORIGINS {
                    let message = CorpusMessage {
                        log: 3,
                        line: 7,
                        role,
                        kind,
                        origin,
                        time: Some(-5),
                        text: "naïve text",
                        length: 99,
                        identity: Some(1),
                        tool: Some("Bash"),
                        session: None,
                    };
                    let mut stored = StoredMessage {
                        text: message.text.to_owned(),
                        more: StoredMessage::encode(&message),
                    };
                    assert_eq!(stored.message(3, Some(1)), Some(message));
                    stored.more[1] ^= 1;
                    assert_eq!(stored.message(3, Some(1)), None);
                    stored.more[1] ^= 1;
                    stored.text.push('!');
                    assert_eq!(stored.message(3, Some(1)), None);
                }
            }
        }
    }
}
