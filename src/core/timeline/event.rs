//! The events of a session: what was said and done in it, read from the corpus.

use std::ops::Range;
use std::sync::Arc;

use ulid::Ulid;

use super::summarize::TextAnalysis;
use crate::core::corpus::{BlockBytes, Corpus, Log, MessageTable, Part};
use crate::core::log::{Agent, MessageKind, Origin, Role};

/// A message of a log as the timeline uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// The record's line in the log, from 1.
    pub line: u64,
    /// The time in milliseconds since 1970 UTC; that of the message before it if it has none.
    pub time: i64,
    /// The sender.
    pub role: Role,
    /// The kind of content.
    pub kind: MessageKind,
    /// The text; copies of the event share it.
    pub text: Arc<str>,
    /// The size of the text if it was not read, in bytes.
    pub unread: usize,
    /// The tool's name, for calls and results.
    pub tool: Option<&'a str>,
    /// The session, in a log of several.
    pub session: Option<&'a str>,
    /// What the summarizer knows about the text.
    pub analysis: TextAnalysis,
}

impl<'a> Event<'a> {
    /// Returns what somebody said.
    pub fn said(line: u64, time: i64, role: Role, text: &str) -> Self {
        Self {
            line,
            time,
            role,
            kind: MessageKind::Text,
            text: text.into(),
            unread: 0,
            tool: None,
            session: None,
            analysis: TextAnalysis::default(),
        }
    }

    /// Returns the size of its text, in bytes.
    pub fn length(&self) -> usize {
        self.text.len() + self.unread
    }

    /// Returns it without what the summarizer has found out about its text.
    pub(super) fn without_analysis(self) -> Self {
        Self {
            analysis: TextAnalysis::default(),
            ..self
        }
    }
}

/// Which texts of events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// All of them.
    All,
    /// Those of results are not, which are most of a log.
    ButResults,
}

/// Events in order, of which some can be read without the rest.
pub trait EventList<'a> {
    /// Returns how many there are.
    fn count(&self) -> usize;

    /// Returns the line of an event.
    fn line(&self, at: usize) -> u64;

    /// Reads some of them; damaged ones are left out. Texts that are in memory are not left out.
    fn read(&self, range: Range<usize>, texts: Texts) -> impl Iterator<Item = Event<'a>>;
}

impl<'a> EventList<'a> for [Event<'a>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn line(&self, at: usize) -> u64 {
        self[at].line
    }

    fn read(&self, range: Range<usize>, _: Texts) -> impl Iterator<Item = Event<'a>> {
        self[range].iter().cloned()
    }
}

/// Which blocks hold the messages of each log.
#[derive(Debug)]
pub struct LogBlocks {
    by_log: Vec<[Vec<usize>; Part::ALL.len()]>,
}

impl LogBlocks {
    /// Lists the blocks of every visible log.
    pub fn of(corpus: &Corpus) -> Self {
        let mut by_log = vec![<[Vec<usize>; Part::ALL.len()]>::default(); corpus.logs().len()];
        for (number, part) in Part::ALL.into_iter().enumerate() {
            for block in corpus.blocks(part) {
                for log in block.logs() {
                    let blocks = &mut by_log[log][number];
                    if blocks.last() != Some(&block.number()) {
                        blocks.push(block.number());
                    }
                }
            }
        }
        Self { by_log }
    }

    /// Returns the events of a log, in its order; those of an events store by their times.
    /// Reasoning and injected text are none.
    pub fn events<'a>(&self, corpus: &'a Corpus, log: usize) -> LogEvents<'a> {
        let mut found = LogEvents {
            corpus,
            blocks: Vec::new(),
            messages: 0,
            entries: Vec::new(),
        };
        if let Some((blocks, own)) = self.by_log.get(log).zip(corpus.log(log)) {
            for (part, numbers) in Part::ALL.into_iter().zip(blocks) {
                // Blocks of small logs are shared, and read again for the next one.
                let is_large = numbers.len() > FEW_BLOCKS;
                for number in numbers {
                    found.add_block(part, *number, log);
                    if is_large {
                        corpus.release(part, *number..*number + 1);
                    }
                }
            }
            found.sort(&own);
        }
        found
    }
}

/// The events of a log. Of each, little is in memory: a log may have millions.
#[derive(Debug)]
pub struct LogEvents<'a> {
    corpus: &'a Corpus,
    /// The blocks of its messages, each with the number of messages before it.
    blocks: Vec<(Part, usize, u32)>,
    /// The messages of these blocks.
    messages: u32,
    entries: Vec<Entry>,
}

/// An event of a log.
#[derive(Debug, Clone, Copy)]
struct Entry {
    time: i64,
    /// The line, or the largest number for a line beyond it.
    line: u32,
    /// The number of its message in the blocks.
    message: u32,
}

/// The memory of a log with more blocks of a part is released while it is read.
const FEW_BLOCKS: usize = 16;

/// The time of a message that has none, until it gets that of the one before it.
const NO_TIME: i64 = i64::MIN;

impl LogEvents<'_> {
    /// Adds the messages of a block that are events of the log.
    fn add_block(&mut self, part: Part, number: usize, log: usize) {
        let table = self.corpus.block(part, number);
        let Some(table) = table.and_then(|block| block.table()) else {
            return;
        };
        let first = self.messages;
        let count = u32::try_from(table.count()).unwrap_or(u32::MAX);
        let Some(after) = first.checked_add(count) else {
            return;
        };
        self.messages = after;
        self.blocks.push((part, number, first));
        for (at, message) in (0..table.count()).zip(first..after) {
            let is_own = table.log(at) == Some(log);
            let Some(found) = is_own.then(|| table.textless(at)).flatten() else {
                continue;
            };
            if found.origin != Origin::Injected && found.kind != MessageKind::Thinking {
                self.entries.push(Entry {
                    time: found.time.unwrap_or(NO_TIME),
                    line: u32::try_from(found.line).unwrap_or(u32::MAX),
                    message,
                });
            }
        }
    }

    /// Puts the events in order, and gives each a time: its own, or that of the one before it.
    fn sort(&mut self, log: &Log<'_>) {
        // Of one record, the text stands before the calls.
        self.entries
            .sort_unstable_by_key(|entry| (entry.line, entry.message));
        let first = log.span().map(|(first, _)| first).or(log.stamp().1);
        let mut last = first.unwrap_or(0);
        for entry in &mut self.entries {
            if entry.time == NO_TIME {
                entry.time = last;
            }
            last = entry.time;
        }
        if log.agent() == Some(Agent::Events) {
            // Hooks of several sessions append in the order in which they get the lock.
            self.entries.sort_by_key(|entry| entry.time);
        }
    }

    /// Returns the times of the events.
    pub(super) fn times(&self) -> impl Iterator<Item = i64> {
        self.entries.iter().map(|entry| entry.time)
    }

    /// Returns where an event is.
    pub(super) fn place(&self, at: usize) -> Place {
        let Entry { time, message, .. } = self.entries[at];
        let block = self.blocks.partition_point(|block| block.2 <= message) - 1;
        let (part, block, first) = self.blocks[block];
        Place {
            part,
            block,
            message: (message - first) as usize,
            time,
        }
    }
}

impl<'a> EventList<'a> for LogEvents<'a> {
    fn count(&self) -> usize {
        self.entries.len()
    }

    fn line(&self, at: usize) -> u64 {
        self.entries[at].line.into()
    }

    fn read(&self, range: Range<usize>, texts: Texts) -> impl Iterator<Item = Event<'a>> {
        let mut reader = EventReader::of(self.corpus, texts);
        range.filter_map(move |at| reader.read(&self.place(at)))
    }
}

/// Where an event is in the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    part: Part,
    block: usize,
    /// The number of its message in the block.
    message: usize,
    /// The time in milliseconds since 1970 UTC.
    time: i64,
}

/// Reads events. It holds one block of each part, since those of a log stand beside each other.
pub(super) struct EventReader<'a> {
    corpus: &'a Corpus,
    texts: Texts,
    open: [Option<OpenBlock<'a>>; Part::ALL.len()],
}

/// A block that is being read.
struct OpenBlock<'a> {
    number: usize,
    table: MessageTable<'a>,
    /// `None` if its texts are not read.
    content: Option<BlockBytes<'a>>,
}

impl<'a> EventReader<'a> {
    pub(super) fn of(corpus: &'a Corpus, texts: Texts) -> Self {
        Self {
            corpus,
            texts,
            open: [const { None }; Part::ALL.len()],
        }
    }

    /// Reads an event; `None` if it is damaged.
    pub(super) fn read(&mut self, place: &Place) -> Option<Event<'a>> {
        let block = self.open(place.part, place.block)?;
        let message = block.table.textless(place.message)?;
        let (text, unread) = match &block.content {
            Some(content) => (content.message(place.message)?.text, 0),
            None => ("", block.table.range(place.message)?.len()),
        };
        Some(Event {
            line: message.line,
            time: place.time,
            role: message.role,
            kind: message.kind,
            text: Arc::from(text),
            unread,
            tool: message.tool,
            session: message.session,
            analysis: TextAnalysis::default(),
        })
    }

    /// Opens a block in place of the one of its part that is open.
    fn open(&mut self, part: Part, number: usize) -> Option<&OpenBlock<'a>> {
        let open = &mut self.open[part.number()];
        if open.as_ref().map(|block| block.number) != Some(number) {
            if let Some(before) = open.take() {
                self.corpus.release(part, before.number..before.number + 1);
            }
            let block = self.corpus.block(part, number)?;
            let is_read = self.texts == Texts::All || part != Part::Results;
            *open = Some(match is_read {
                true => {
                    let content = block.scan()?;
                    OpenBlock {
                        number,
                        table: content.table(),
                        content: Some(content),
                    }
                }
                false => OpenBlock {
                    number,
                    table: block.table()?,
                    content: None,
                },
            });
        }
        open.as_ref()
    }
}

/// Returns the beginning of a text: at most `most` bytes, in whole characters.
pub(super) fn begin(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the id of something that is known by its time and by `name`: the same for the same
/// input.
pub fn stable_id(time: i64, name: &str) -> Ulid {
    let hash = blake3::hash(name.as_bytes());
    let random = hash.as_bytes().first_chunk().map_or(0, |bytes: &[u8; 10]| {
        let mut wide = [0; 16];
        wide[6..].copy_from_slice(bytes);
        u128::from_be_bytes(wide)
    });
    Ulid::from_parts(u64::try_from(time).unwrap_or(0), random)
}

#[cfg(test)]
impl<'a> Event<'a> {
    /// Returns an event at the minute that is its line.
    pub(crate) fn test(line: u64, role: Role, text: &'a str) -> Self {
        Self::said(line, line as i64 * 60_000, role, text)
    }

    /// Returns a call of a tool.
    pub(crate) fn call(line: u64, tool: &'a str, text: &'a str) -> Self {
        Self {
            kind: MessageKind::ToolCall,
            tool: Some(tool),
            ..Self::test(line, Role::Assistant, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_time_and_name_alone() {
        let id = stable_id(1_700_000_000_000, "codex:a#1");
        assert_eq!(id, stable_id(1_700_000_000_000, "codex:a#1"));
        assert_ne!(id, stable_id(1_700_000_000_000, "codex:a#2"));
        assert_eq!(id.timestamp_ms(), 1_700_000_000_000);
        assert_eq!(stable_id(-5, "x").timestamp_ms(), 0);
    }
}
