//! The events of a session: what was said and done in it, read from the corpus.

use std::borrow::Cow;

use ulid::Ulid;

use super::summarize::TextAnalysis;
use crate::core::corpus::{Corpus, Log, Part};
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
    /// The text.
    pub text: Cow<'a, str>,
    /// The tool's name, for calls and results.
    pub tool: Option<&'a str>,
    /// The session, in a log of several.
    pub session: Option<&'a str>,
    /// What the summarizer knows about the text.
    pub analysis: TextAnalysis,
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
    pub fn events<'a>(&self, corpus: &'a Corpus, log: usize) -> Vec<Event<'a>> {
        let Some((blocks, own)) = self.by_log.get(log).zip(corpus.log(log)) else {
            return Vec::new();
        };
        let mut found: Vec<(Option<i64>, Event<'a>)> = Vec::new();
        for (part, numbers) in Part::ALL.into_iter().zip(blocks) {
            for number in numbers {
                let content = corpus.block(part, *number).and_then(|block| block.scan());
                let Some(content) = content else { continue };
                let table = content.table();
                let messages = (0..table.count())
                    .filter(|at| table.log(*at) == Some(log))
                    .filter_map(|at| content.message_and_text(at));
                for (message, text) in messages {
                    if message.origin == Origin::Injected || message.kind == MessageKind::Thinking {
                        continue;
                    }
                    let event = Event {
                        line: message.line,
                        time: 0,
                        role: message.role,
                        kind: message.kind,
                        text,
                        tool: message.tool,
                        session: message.session,
                        analysis: TextAnalysis::default(),
                    };
                    found.push((message.time, event));
                }
            }
        }
        // Of one record, the text stands before the calls.
        found.sort_by_key(|(_, event)| event.line);
        with_times(found, &own)
    }
}

/// Gives every event a time: its own, or that of the one before it.
fn with_times<'a>(found: Vec<(Option<i64>, Event<'a>)>, log: &Log<'_>) -> Vec<Event<'a>> {
    let first = log.span().map(|(first, _)| first).or(log.stamp().1);
    let mut last = first.unwrap_or(0);
    let timed = found.into_iter().map(|(time, event)| {
        last = time.unwrap_or(last);
        Event {
            time: last,
            ..event
        }
    });
    let mut events: Vec<Event<'a>> = timed.collect();
    if log.agent() == Some(Agent::Events) {
        // Hooks of several sessions append in the order in which they get the lock.
        events.sort_by_key(|event| event.time);
    }
    events
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
        Self {
            line,
            time: line as i64 * 60_000,
            role,
            kind: MessageKind::Text,
            text: Cow::Borrowed(text),
            tool: None,
            session: None,
            analysis: TextAnalysis::default(),
        }
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
