//! The documents of the index, one for each message: how they are indexed and stored.

use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing,
    TextOptions,
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
    /// The size of a text that is not stored whole.
    pub(super) length: Field,
    pub(super) tool: Field,
    pub(super) session: Field,
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
            length: schema.add_u64_field("length", STORED),
            tool: schema.add_text_field("tool", STORED),
            session: schema.add_text_field("session", STORED),
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
        if message.length > message.text.len() as u64 {
            document.add_u64(self.length, message.length);
        }
        for (field, name) in [(self.tool, message.tool), (self.session, message.session)] {
            if let Some(name) = name {
                document.add_text(field, clip(name, LONGEST_NAME));
            }
        }
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
