//! The events of a session: what was said and done in it, read from the corpus.

use std::ops::Range;
use std::sync::Arc;

use ulid::Ulid;

use super::summarize::{TextAnalysis, commit_acts_of};
use crate::core::log::{Agent, MessageKind, Origin, Role};
use crate::core::search::index::{Corpus, CorpusMessage, MessageAt, Part};

/// A message of a log as the timeline uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
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
    pub tool: Option<String>,
    /// The session, in a log of several.
    pub session: Option<String>,
    /// What the summarizer knows about the text.
    pub analysis: TextAnalysis,
}

impl Event {
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
}

/// Whether a text says that the person interrupted the agent.
pub(super) fn is_interruption(text: &str) -> bool {
    text.starts_with("[Request interrupted by user")
}

/// The tool with which Claude Code lets the person choose; its result has questions and answers.
pub(super) const QUESTION_TOOL: &str = "AskUserQuestion";

/// Which texts of events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// All of them.
    All,
    /// Those of results are not, which are most of a log; except those of calls that make commits,
    /// and of questions.
    ButResults,
}

/// Events in order, of which some can be read without the rest.
pub trait EventList {
    /// Returns how many there are.
    fn count(&self) -> usize;

    /// Returns the line of an event.
    fn line(&self, at: usize) -> u64;

    /// Reads some of them; damaged ones are left out. Texts that are in memory are not left out.
    fn read(&self, range: Range<usize>, texts: Texts) -> impl Iterator<Item = Event>;
}

impl EventList for [Event] {
    fn count(&self) -> usize {
        self.len()
    }

    fn line(&self, at: usize) -> u64 {
        self[at].line
    }

    fn read(&self, range: Range<usize>, _: Texts) -> impl Iterator<Item = Event> {
        self[range].iter().cloned()
    }
}

/// The events of a log. Of each, little is in memory: a log may have millions.
#[derive(Debug)]
pub struct LogEvents<'a> {
    corpus: &'a Corpus,
    places: Vec<Place>,
}

/// Where an event is in the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    at: MessageAt,
    /// The line of its record.
    line: u64,
    /// The time in milliseconds since 1970 UTC.
    time: i64,
    is_result: bool,
}

impl<'a> LogEvents<'a> {
    /// Returns the events of a log, in its order; those of an events store by their times. Reasoning
    /// and injected text are none, except that a person interrupted the agent in the end, and neither is
    /// what a hook captured in a session that has a log of its own. An event without a time has that of the one before it.
    pub fn of(corpus: &'a Corpus, log: usize) -> Self {
        let own = corpus.log(log);
        let first = own.and_then(|log| log.span().map(|(first, _)| first).or(log.modified()));
        let mut last = first.unwrap_or(0);
        let mut places = Vec::new();
        let messages = corpus.messages(log, &Part::ALL);
        let is_end = |at: MessageAt| {
            let is_it = |message: &CorpusMessage<'_>| is_interruption(message.text);
            messages.last() == Some(&at) && corpus.message(at, is_it) == Some(true)
        };
        let is_captured = own.and_then(|log| log.agent()) == Some(Agent::Events);
        let told = |message: &CorpusMessage<'_>| corpus.is_told_by_log(message);
        let is_told = |at: MessageAt| is_captured && corpus.message(at, told) == Some(true);
        for at in messages.iter().copied() {
            let Some((time, (_, kind, origin))) = corpus.outline(at) else {
                continue;
            };
            let is_left_out = origin == Origin::Injected || kind == MessageKind::Thinking;
            if is_left_out && !is_end(at) || is_told(at) {
                continue;
            }
            last = time.unwrap_or(last);
            places.push(Place {
                at,
                line: corpus.line(at),
                time: last,
                is_result: kind == MessageKind::ToolResult,
            });
        }
        if is_captured {
            // Hooks of several sessions append in the order in which they get the lock.
            places.sort_by_key(|place| place.time);
        }
        Self { corpus, places }
    }

    /// Returns those of one session, of a store that has several.
    pub(super) fn of_session(self, session: &str) -> Self {
        let Self { corpus, mut places } = self;
        places.retain(|place| {
            let is_it = |message: &CorpusMessage<'_>| message.session == Some(session);
            corpus.message(place.at, is_it) == Some(true)
        });
        Self { corpus, places }
    }

    /// Returns the times of the events.
    pub(super) fn times(&self) -> impl Iterator<Item = i64> {
        self.places.iter().map(|place| place.time)
    }

    /// Reads the event of a message.
    pub(super) fn event(&self, at: MessageAt) -> Option<Event> {
        let place = self.places.iter().find(|place| place.at == at)?;
        place.read(self.corpus, Texts::All)
    }

    /// Returns where an event is.
    pub(super) fn place(&self, at: usize) -> Place {
        self.places[at]
    }
}

impl EventList for LogEvents<'_> {
    fn count(&self) -> usize {
        self.places.len()
    }

    fn line(&self, at: usize) -> u64 {
        self.places[at].line
    }

    fn read(&self, range: Range<usize>, texts: Texts) -> impl Iterator<Item = Event> {
        let places = self.places[range].iter();
        // Results come in the order of their calls: so many calls are without one, and so many
        // results are needed to see what became of a commit.
        let (mut open, mut awaited) = (0_usize, 0_usize);
        places.filter_map(move |place| {
            let texts = if awaited > 0 { Texts::All } else { texts };
            let event = place.read(self.corpus, texts)?;
            match event.kind {
                MessageKind::ToolCall => {
                    open += 1;
                    if !commit_acts_of(&event).is_empty() {
                        awaited = open;
                    }
                }
                MessageKind::ToolResult => {
                    (open, awaited) = (open.saturating_sub(1), awaited.saturating_sub(1));
                }
                _ if event.role == Role::User => (open, awaited) = (0, 0),
                _ => {}
            }
            Some(event)
        })
    }
}

impl Place {
    /// Reads the event; `None` if it is damaged.
    pub(super) fn read(&self, corpus: &Corpus, texts: Texts) -> Option<Event> {
        corpus.message(self.at, |message| {
            let is_read =
                texts == Texts::All || !self.is_result || message.tool == Some(QUESTION_TOOL);
            let text = if is_read { message.text } else { "" };
            Event {
                line: message.line,
                time: self.time,
                role: message.role,
                kind: message.kind,
                text: Arc::from(text),
                unread: message.text.len() - text.len(),
                tool: message.tool.map(str::to_owned),
                session: message.session.map(str::to_owned),
                analysis: TextAnalysis::default(),
            }
        })
    }
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
impl Event {
    /// Returns an event at the minute that is its line.
    pub(crate) fn test(line: u64, role: Role, text: &str) -> Self {
        Self::said(line, line as i64 * 60_000, role, text)
    }

    /// Returns a call of a tool.
    pub(crate) fn call(line: u64, tool: &str, text: &str) -> Self {
        Self {
            kind: MessageKind::ToolCall,
            tool: Some(tool.to_owned()),
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
