//! What one log says about memories, whatever memories there are: the files that its calls touch
//! and that may be memories, what tome's tools named, and what the person corrected or wished for.
//!
//! The facts of a log are a file of their own in the cache, as the records of the timeline are, and
//! are made anew only when the log has changed.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::core::insight::correction::{Turn, confidence, own_words};
use crate::core::insight::timeline::record::{Stamp, load, save};
use crate::core::insight::timeline::stamp;
use crate::core::insight::timeline::summarize::is_wish;
use crate::core::log::touch::{FileTouch, file_touches};
use crate::core::log::{Agent, MessageKind, Origin, Role, call_mark};
use crate::core::search::index::{Corpus, CorpusMessage, Part};
use crate::core::text::clip;
use crate::core::text::display::safe;

/// The form of the facts and the rules by which they are found; others are not read.
const FORMAT: u32 = 2;

/// The most touches, names and messages that are kept of a log.
const MOST: usize = 2_000;

/// How many bytes of what the person said are kept.
const LONGEST: usize = 600;

/// How many bytes of the agent's words around it are held.
const AROUND: usize = 400;

/// The tool by which memories that a reply cites are shown, and tome's own that names memories.
const CITES: &str = "memory_citation";
const RECALLS: &str = "recall_memory";

/// The commands that take back what was done.
const UNDOING: [&str; 5] = [
    "git revert",
    "git reset",
    "git restore",
    "git checkout --",
    "git stash",
];

/// What a log says about memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LogFacts {
    format: u32,
    stamp: Stamp,
    /// The line of the person's first message.
    pub(super) first: Option<u64>,
    pub(super) touches: Vec<Touch>,
    pub(super) named: Vec<Named>,
    pub(super) said: Vec<Said>,
}

/// A call that touches a file which may be a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Touch {
    /// The line of the call.
    pub(super) line: u64,
    /// When it was made, in milliseconds since 1970.
    pub(super) time: Option<i64>,
    /// Whether a reply cites the file, and does not open it.
    pub(super) is_citation: bool,
    /// The first and the last line that it cites.
    pub(super) cited: Option<(usize, usize)>,
    /// The file, and what happens to it.
    pub(super) file: FileTouch,
}

/// A memory that tome's recall named to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Named {
    /// The line of the result.
    pub(super) line: u64,
    /// The citation.
    pub(super) citation: String,
}

/// What the person said about how the agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// The line of the message.
    pub(super) line: u64,
    /// When it was said, in milliseconds since 1970.
    pub(super) time: Option<i64>,
    /// The person's own words, without secrets.
    pub(super) text: String,
    /// The confidence that it is a correction, in percent; 0 for a wish.
    pub(super) confidence: u8,
}

impl LogFacts {
    /// Reads the facts of a log in this state from the cache.
    pub(super) fn load(path: &Path, stamp: Stamp) -> Option<Self> {
        load::<Self>(path).filter(|facts| facts.format == FORMAT && facts.stamp == stamp)
    }

    /// Keeps them.
    pub(super) fn save(&self, path: &Path) {
        save(path, self);
    }

    /// Goes through a log.
    pub(super) fn of(corpus: &Corpus, number: usize) -> Option<Self> {
        let log = corpus.log(number)?;
        let (head, _) = log.facts().unwrap_or_default();
        let mut reading = Reading {
            failed: head.failed.into_iter().collect(),
            ..Reading::of(stamp(&log))
        };
        // A store of events has many sessions at once.
        if log.agent() == Some(Agent::Events) {
            return Some(reading.facts);
        }
        for at in corpus.messages(number, &Part::ALL) {
            let Some((_, (role, kind, origin))) = corpus.outline(at) else {
                continue;
            };
            let is_wanted = match kind {
                MessageKind::ToolCall => true,
                // Results are most of a log, and only those of a recall are needed.
                MessageKind::ToolResult => reading.result_is_wanted(),
                // What a program says tells whether the agent was interrupted.
                MessageKind::Text => origin == Origin::Written || role == Role::System,
                MessageKind::Notice => true,
                MessageKind::Thinking => false,
            };
            if is_wanted {
                // A damaged message is recorded by the corpus.
                let _ = corpus.message(at, |message| reading.add(message));
            }
        }
        reading.end_turn();
        Some(reading.facts)
    }
}

/// A message of the person whose answer is awaited.
struct OpenTurn {
    line: u64,
    time: Option<i64>,
    said: String,
    reply: String,
    has_acted: bool,
    is_interruption: bool,
    is_undone: bool,
    answer: String,
}

struct Reading {
    facts: LogFacts,
    failed: HashSet<u64>,
    /// How many calls are without a result, and up to which of these results are read.
    open: usize,
    awaited: usize,
    turn: Option<OpenTurn>,
    reply: String,
    has_acted: bool,
    is_interrupted: bool,
}

impl Reading {
    fn of(stamp: Stamp) -> Self {
        Self {
            facts: LogFacts {
                format: FORMAT,
                stamp,
                first: None,
                touches: Vec::new(),
                named: Vec::new(),
                said: Vec::new(),
            },
            failed: HashSet::new(),
            open: 0,
            awaited: 0,
            turn: None,
            reply: String::new(),
            has_acted: false,
            is_interrupted: false,
        }
    }

    /// Counts a result; whether it is that of a recall. Results come in the order of their calls.
    fn result_is_wanted(&mut self) -> bool {
        let is_wanted = self.awaited > 0;
        self.open = self.open.saturating_sub(1);
        self.awaited = self.awaited.saturating_sub(1);
        is_wanted
    }

    fn add(&mut self, message: &CorpusMessage<'_>) {
        match (message.kind, message.role) {
            (MessageKind::ToolCall, _) => self.call(message),
            (MessageKind::ToolResult, _) => self.result(message),
            (MessageKind::Notice, _) | (_, Role::System) => {
                let is_stop = |mark: &str| message.text.starts_with(mark);
                self.is_interrupted |= is_stop("[Request interrupted") || is_stop("Turn aborted");
            }
            (_, Role::User) => self.said(message),
            (_, Role::Tool) => {}
            (_, Role::Assistant) => {
                if let Some(turn) = self.turn.as_mut().filter(|turn| turn.answer.is_empty()) {
                    turn.answer = clip(message.text, AROUND).to_owned();
                }
                let from = message.text.len().saturating_sub(AROUND);
                let from = (from..).find(|at| message.text.is_char_boundary(*at));
                self.reply = message.text[from.unwrap_or_default()..].to_owned();
            }
        }
    }

    fn call(&mut self, message: &CorpusMessage<'_>) {
        let tool = message.tool.unwrap_or_default();
        self.open += 1;
        if tool.ends_with(RECALLS) {
            self.awaited = self.open;
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.is_undone |= UNDOING.iter().any(|command| message.text.contains(command));
        }
        let is_citation = tool.ends_with(CITES);
        self.has_acted |= !is_citation;
        if !message.text.contains(".md") && !tool.contains("memory") {
            return;
        }
        let mut touches = file_touches(tool, message.text);
        touches.retain(|touch| touch.is_in_store || may_be_memory(&touch.path));
        if touches.is_empty() || self.failed.contains(&call_mark(message.line, message.text)) {
            return;
        }
        let cited = is_citation.then(|| cited_lines(message.text)).flatten();
        let room = MOST.saturating_sub(self.facts.touches.len());
        let touches = touches.into_iter().take(room).map(|file| Touch {
            line: message.line,
            time: message.time,
            is_citation,
            cited,
            file,
        });
        self.facts.touches.extend(touches);
    }

    fn result(&mut self, message: &CorpusMessage<'_>) {
        let lines = message.text.lines().map(str::trim);
        let named = lines.filter_map(|line| line.strip_prefix("Citation: "));
        let room = MOST.saturating_sub(self.facts.named.len());
        self.facts
            .named
            .extend(named.take(room).map(|citation| Named {
                line: message.line,
                citation: citation.to_owned(),
            }));
    }

    fn said(&mut self, message: &CorpusMessage<'_>) {
        self.end_turn();
        self.facts.first.get_or_insert(message.line);
        (self.open, self.awaited) = (0, 0);
        self.turn = Some(OpenTurn {
            line: message.line,
            time: message.time,
            said: message.text.to_owned(),
            reply: std::mem::take(&mut self.reply),
            has_acted: std::mem::take(&mut self.has_acted),
            is_interruption: std::mem::take(&mut self.is_interrupted),
            is_undone: false,
            answer: String::new(),
        });
    }

    /// Judges the message whose answer was awaited.
    fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        let confidence = confidence(&Turn {
            said: &turn.said,
            reply: &turn.reply,
            has_acted: turn.has_acted,
            is_interruption: turn.is_interruption,
            is_undone: turn.is_undone,
            answer: &turn.answer,
        });
        let words = own_words(&turn.said);
        let is_kept = confidence.is_some() || is_wish(&words);
        if is_kept && self.facts.said.len() < MOST {
            self.facts.said.push(Said {
                line: turn.line,
                time: turn.time,
                text: clip(&safe(&words), LONGEST).to_owned(),
                confidence: confidence.unwrap_or(0),
            });
        }
    }
}

/// Returns the lines that a citation names: `lines: 12-14`.
fn cited_lines(call: &str) -> Option<(usize, usize)> {
    let lines = call.lines().find_map(|line| line.strip_prefix("lines: "))?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

/// Whether a file may be a memory, by its name.
fn may_be_memory(path: &str) -> bool {
    path.ends_with(".md") || path.ends_with(".mdc")
}
