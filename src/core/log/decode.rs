//! From bytes to messages: framing, recovery of broken lines, and what is carried on.
//!
//! A line ends at 0x0A and nowhere else. Where a line is not one JSON object, the
//! objects in it are looked for: several in a row, or one that begins inside a record
//! that was cut short.

use std::collections::VecDeque;
use std::io::BufRead;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::json::{self, Object};
use super::{Agent, Head, Kind, LogFile, Message, Origin, Role, Skipped, Transcript, Whole, place};
use crate::core::{Error, Result};

/// How an agent's logs become messages.
#[derive(Clone, Copy)]
pub(super) enum Decode {
    /// Each record stands for itself.
    Records(Records),
    /// Only the whole log makes sense.
    Whole(Whole),
}

/// Turns one record into messages.
pub(super) type Records = fn(&Object<'_>, &mut Sink<'_>) -> Seen;

/// Whether a record is of a type that the agent's file knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was used, or is known to hold no words.
    Known,
    /// It is of a type that came later.
    Unknown,
}

/// What a decoder knows after the lines so far; enough to go on from there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Carry {
    /// The log's id, as found on disk.
    pub id: String,
    /// What the log says of itself so far.
    pub head: Head,
    /// What gave no message so far.
    pub skipped: Skipped,
    /// Prompts that wait to be handed to the model.
    pub(super) queue: VecDeque<String>,
    /// Summaries that may be of this log, by the record that they end with.
    pub(super) summaries: Vec<(String, String)>,
    doubles: Doubles,
    recent: VecDeque<u64>,
    turn: u64,
}

/// Texts that are to come a second time from the other of two sources.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Doubles {
    waiting: VecDeque<(u64, i32)>,
}

/// One of two sources that tell the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The conversation as the model gets it.
    Conversation,
    /// The program's own account of it.
    Account,
}

/// Turns the lines of one log into messages, as they come.
#[derive(Debug, Clone)]
pub struct Decoder {
    agent: Agent,
    carry: Carry,
}

/// Where a record's messages go, and what they have in common.
pub(super) struct Sink<'a> {
    /// What is carried from record to record.
    pub(super) carry: &'a mut Carry,
    /// What the record's messages have in common.
    pub(super) stamp: Stamp,
    out: &'a mut Vec<Message>,
    line: u64,
}

/// What the messages of one record have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamp {
    pub(super) time: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) reply: Option<String>,
    pub(super) session: Option<String>,
}

/// How much of a prompt a head keeps, in characters.
const PROMPT: usize = 300;
/// How many texts are remembered for their second coming.
const WAITING: usize = 64;
/// How many ids are remembered in order to know a repeated one.
const RECENT: usize = 512;
/// How a record that was written into the middle of another begins.
const STARTS: [&[u8]; 4] = [
    b"{\"parentUuid\"",
    b"{\"type\"",
    b"{\"uuid\"",
    b"{\"timestamp\"",
];

impl Carry {
    /// Returns what is known before the first line of `log`.
    pub(super) fn new(log: &LogFile) -> Self {
        let head = Head {
            parent: log.parent.clone(),
            ..Head::default()
        };
        Self {
            id: log.id.clone(),
            head,
            ..Self::default()
        }
    }

    /// Returns the log that has been read to its end.
    pub(super) fn into_transcript(self, messages: Vec<Message>) -> Transcript {
        Transcript {
            head: self.head,
            messages,
            skipped: self.skipped,
        }
    }
}

impl Decoder {
    /// Returns a decoder for the first line of `log`.
    pub fn new(log: &LogFile) -> Self {
        Self::resume(log, Carry::new(log))
    }

    /// Returns a decoder that goes on after the lines that led to `carry`.
    pub fn resume(log: &LogFile, carry: Carry) -> Self {
        Self {
            agent: log.agent,
            carry,
        }
    }

    /// Returns what to keep in order to go on later.
    pub fn carry(&self) -> &Carry {
        &self.carry
    }

    /// Decodes a line that is complete; `number` counts from 1.
    pub fn line(&mut self, number: u64, line: &[u8], out: &mut Vec<Message>) {
        self.decode(number, line, out);
    }

    /// Decodes a last line that has no end yet: used if it is whole, else counted as
    /// partial. A cache holds such a line back until it has its end.
    pub fn tail(&mut self, number: u64, line: &[u8], out: &mut Vec<Message>) {
        let before = self.carry.skipped;
        self.decode(number, line, out);
        let skipped = &mut self.carry.skipped;
        if skipped.broken > before.broken {
            skipped.broken -= 1;
            skipped.partial += 1;
        }
    }

    fn decode(&mut self, number: u64, line: &[u8], out: &mut Vec<Message>) {
        let Decode::Records(decode) = self.agent.format().decode else {
            return;
        };
        let mut rest = bare(number, line);
        let skipped = &mut self.carry.skipped;
        if rest.is_empty() {
            if line.contains(&0) {
                skipped.nul += 1;
            } else {
                skipped.blank += 1;
            }
            return;
        }
        if std::str::from_utf8(rest).is_err() {
            skipped.not_utf8 += 1;
        }
        while !rest.is_empty() {
            match json::object(rest) {
                Ok((record, after)) => {
                    let mut sink = Sink::new(&mut self.carry, out, number);
                    if decode(&record, &mut sink) == Seen::Unknown {
                        self.carry.skipped.unknown += 1;
                    }
                    rest = after.trim_ascii_start();
                }
                Err(_) => rest = self.recover(rest),
            }
        }
    }

    /// Counts what `rest` begins with and returns what may be a record behind it.
    fn recover<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        if rest[0] != b'{'
            && let Ok((_, after)) = json::value(rest)
            && after.trim_ascii().is_empty()
        {
            self.carry.skipped.not_object += 1;
            return b"";
        }
        self.carry.skipped.broken += 1;
        let inside = &rest[1..];
        STARTS
            .iter()
            .filter_map(|start| memmem::find(inside, start))
            .min()
            .map_or(b"".as_slice(), |at| &inside[at..])
    }
}

impl<'a> Sink<'a> {
    /// Returns a sink for the record on `line`.
    pub(super) fn new(carry: &'a mut Carry, out: &'a mut Vec<Message>, line: u64) -> Self {
        Self {
            carry,
            stamp: Stamp::default(),
            out,
            line,
        }
    }

    /// Goes on to the record on `line`.
    pub(super) fn turn_to(&mut self, line: u64) {
        self.line = line;
        self.stamp = Stamp::default();
    }

    /// Returns what the log says of itself.
    pub(super) fn head(&mut self) -> &mut Head {
        &mut self.carry.head
    }

    /// Takes words of the person or in the person's place, split where both are in one.
    pub(super) fn prompt(&mut self, text: String) {
        if let Some(command) = super::origin::command(&text) {
            self.say(Role::User, Origin::Written, command);
            return;
        }
        let (injected, written) = super::origin::split(&text);
        if injected.is_empty() {
            self.say(Role::User, Origin::Written, text);
            return;
        }
        let written = written.to_owned();
        self.say(Role::User, Origin::Injected, injected.to_owned());
        self.say(Role::User, Origin::Written, written);
    }

    /// Takes words; blank ones are no message.
    pub(super) fn say(&mut self, role: Role, origin: Origin, text: String) {
        if text.trim().is_empty() {
            return;
        }
        if (role, origin) == (Role::User, Origin::Written) {
            self.count_turn(&text);
        }
        self.push(role, Kind::Text, text).origin = origin;
    }

    /// Takes reasoning; a signature without words is no message.
    pub(super) fn think(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.push(Role::Assistant, Kind::Thinking, text);
        }
    }

    /// Takes a tool's name and input.
    pub(super) fn call(&mut self, tool: Option<String>, input: String) {
        if tool.is_some() || !input.trim().is_empty() {
            self.push(Role::Assistant, Kind::ToolCall, input).tool = tool;
        }
    }

    /// Takes what a tool gave back.
    pub(super) fn result(&mut self, tool: Option<String>, output: String) {
        if !output.trim().is_empty() {
            self.push(Role::Tool, Kind::ToolResult, output).tool = tool;
        }
    }

    /// Takes a note of the program.
    pub(super) fn notice(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.push(Role::System, Kind::Notice, text).origin = Origin::Injected;
        }
    }

    /// Tells whether `text` has already come from the other source.
    pub(super) fn is_double(&mut self, source: Source, role: Role, text: &str) -> bool {
        let key = key(role as u8, text.trim());
        self.carry.doubles.is_double(key, source)
    }

    /// Tells whether a record with this id came not long ago.
    pub(super) fn is_repeated(&mut self, id: &str) -> bool {
        let key = key(0, id);
        let recent = &mut self.carry.recent;
        if recent.contains(&key) {
            return true;
        }
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back(key);
        false
    }

    fn push(&mut self, role: Role, kind: Kind, text: String) -> &mut Message {
        let stamp = self.stamp.clone();
        self.carry.head.reach(stamp.time);
        self.out.push(Message {
            line: self.line,
            role,
            kind,
            origin: Origin::Written,
            time: stamp.time,
            text,
            id: stamp.id,
            reply: stamp.reply,
            tool: None,
            session: stamp.session,
        });
        let last = self.out.len() - 1;
        &mut self.out[last]
    }

    /// Counts a record's written words once, however many blocks they fill.
    fn count_turn(&mut self, text: &str) {
        let prompt: String = text.trim().chars().take(PROMPT).collect();
        let head = &mut self.carry.head;
        if head.first_prompt.is_none() {
            head.first_prompt = Some(prompt.clone());
        }
        head.last_prompt = Some(prompt);
        if self.carry.turn != self.line {
            self.carry.turn = self.line;
            head.turns += 1;
        }
    }
}

impl Doubles {
    /// Tells whether `key` waits for `source`; if not, it waits for the other one.
    fn is_double(&mut self, key: u64, source: Source) -> bool {
        let step = match source {
            Source::Conversation => 1,
            Source::Account => -1,
        };
        let Some(at) = self.waiting.iter().position(|(known, _)| *known == key) else {
            if self.waiting.len() == WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back((key, step));
            return false;
        };
        let balance = &mut self.waiting[at].1;
        let double = balance.signum() == -step;
        *balance += step;
        if *balance == 0 {
            self.waiting.remove(at);
        }
        double
    }
}

/// Returns a short hash that is the same in every run.
fn key(salt: u8, text: &str) -> u64 {
    let digest = blake3::Hasher::new()
        .update(&[salt])
        .update(text.as_bytes())
        .finalize();
    let mut key = [0; 8];
    key.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_le_bytes(key)
}

/// Reads a log to its end.
///
/// Fails only where the file cannot be opened or read at all; a log that has gone since
/// it was listed is [`Error::NotFound`].
pub fn read(log: &LogFile) -> Result<Transcript> {
    match log.agent.format().decode {
        Decode::Whole(whole) => whole(log),
        Decode::Records(_) => read_lines(log),
    }
}

fn read_lines(log: &LogFile) -> Result<Transcript> {
    let mut reader = place::open(&log.path)?;
    let mut decoder = Decoder::new(log);
    let mut messages = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) if line.last() == Some(&b'\n') => decoder.line(number, &line, &mut messages),
            Ok(_) => decoder.tail(number, &line, &mut messages),
            // What is left of a compressed file that was cut short is still worth having.
            Err(_) if place::is_compressed(&log.path) && !messages.is_empty() => {
                decoder.carry.skipped.partial += 1;
                break;
            }
            Err(error) => return Err(Error::io(&log.path, error)),
        }
    }
    Ok(decoder.carry.into_transcript(messages))
}

/// Takes off what may surround a record: a mark of byte order, blanks, NUL bytes.
fn bare(number: u64, line: &[u8]) -> &[u8] {
    let line = match number {
        1 => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line),
        _ => line,
    };
    let is_filler = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let Some(from) = line.iter().position(|byte| !is_filler(byte)) else {
        return b"";
    };
    let to = line.iter().rposition(|byte| !is_filler(byte));
    &line[from..=to.unwrap_or(from)]
}
