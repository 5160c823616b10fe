//! Splits a log into records, and recovers records from broken lines.
//!
//! A line ends only at 0x0A. If a line is not one JSON object, it is searched for objects:
//! several in a row, or one that begins inside a record that was cut short.

use std::path::{Path, PathBuf};

use memchr::memmem;

use super::json::{self, Object};
use super::sink::{Carry, Sink, name_early_results};
use super::{Agent, Head, LogFile, MOST_MESSAGES, Message, Skipped, Transcript, claude, location};
use crate::core::disk::foreign::{LONGEST_RECORD, Line, next_line};
use crate::core::{Error, Result};

/// How an agent's logs become messages.
#[derive(Clone, Copy)]
pub(super) enum Decode {
    /// Each record is decoded on its own.
    Records(Records),
    /// Each record is decoded on its own; what the records do not tell is in a file beside them.
    Described(Describe, Records),
    /// The log must be read whole.
    Into(ReadInto),
    /// Files of lines are as in [`Decode::Described`], databases and other files as in
    /// [`Decode::Into`].
    Mixed(Describe, Records, ReadInto),
}

/// Turns one record into messages.
pub(super) type Records = fn(&Object<'_>, &mut Sink<'_>) -> Recognized;

/// Sets what the files beside a log tell about it.
pub(super) type Describe = fn(&LogFile, &mut Head);

/// Reads a whole log into a sink, which hands on the messages of a record when it turns to the next.
pub(super) type ReadInto = fn(&LogFile, &mut Sink<'_>) -> Result<()>;

impl Decode {
    /// Returns the decoder of records, if some of the agent's logs are read by records.
    fn records(self) -> Option<Records> {
        match self {
            Self::Records(records) | Self::Described(_, records) | Self::Mixed(_, records, _) => {
                Some(records)
            }
            Self::Into(_) => None,
        }
    }

    /// Whether the log at `path` is read by records.
    pub(super) fn is_by_records(self, path: &Path) -> bool {
        match self {
            Self::Records(_) | Self::Described(..) => true,
            Self::Into(_) => false,
            Self::Mixed(..) => path.extension().is_some_and(|ending| ending == "jsonl"),
        }
    }

    /// Sets what the files beside a log tell about it.
    pub(super) fn describe(self, log: &LogFile, head: &mut Head) {
        if let Self::Described(describe, _) | Self::Mixed(describe, ..) = self {
            describe(log, head);
        }
    }
}

/// The [`Describe`] of logs with nothing beside them.
pub(super) fn nothing_beside(_: &LogFile, _: &mut Head) {}

/// Whether a record is of a known type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recognized {
    /// It was used, or is known to hold no text.
    Known,
    /// Its type is unknown, such as one that was introduced later.
    Unknown,
}

/// Decodes the lines of one log into messages, one by one.
#[derive(Debug, Clone)]
pub struct Decoder {
    agent: Agent,
    carry: Carry,
    wants_outputs: bool,
    directory: Option<PathBuf>,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a record.
    Whole,
    /// In the middle of a record.
    Cut,
}

/// The number of cut records after which the search on a line stops.
const STUBS: u64 = 64;
/// Beginnings of records that are recognized inside another record.
const STARTS: [&[u8]; 4] = [
    b"{\"parentUuid\"",
    b"{\"type\"",
    b"{\"uuid\"",
    b"{\"timestamp\"",
];

impl Decoder {
    /// Returns a decoder for the first line of `log`.
    pub fn new(log: &LogFile) -> Self {
        Self::resume(log, Carry::new(log))
    }

    /// Returns a decoder that continues from `carry`.
    pub fn resume(log: &LogFile, carry: Carry) -> Self {
        Self {
            agent: log.agent,
            carry,
            wants_outputs: true,
            directory: log.path.parent().map(Path::to_owned),
        }
    }

    /// Leaves outputs of tools empty where they hold nothing but what a tool wrote. All other
    /// messages are the same.
    pub fn without_outputs(self) -> Self {
        Self {
            wants_outputs: false,
            ..self
        }
    }

    /// Returns the state to store in order to continue later.
    pub fn carry(&self) -> &Carry {
        &self.carry
    }

    /// Decodes a line that has its line break; `number` counts from 1.
    pub fn line(&mut self, number: u64, line: &[u8], out: &mut Vec<Message>) {
        self.decode(number, line, out);
    }

    /// Decodes a last line without a line break: used if it ends with a complete record, else
    /// only counted as partial. A cache must read such a line again once it has grown.
    pub fn tail(&mut self, number: u64, line: &[u8], out: &mut Vec<Message>) {
        let before = out.len();
        let carry = self.carry.clone();
        if self.decode(number, line, out) == End::Cut {
            out.truncate(before);
            self.carry = carry;
            self.carry.skipped.partial += 1;
        }
    }

    /// Ends a log, of which more may follow later: gives what waits for another record. A cache must
    /// read that again once the log has grown.
    pub fn end(&mut self, out: &mut Vec<Message>) {
        if self.agent == Agent::ClaudeCode {
            claude::left_in_queue(&mut self.carry, out);
        }
    }

    /// Counts a record that was skipped because it is longer than [`LONGEST_RECORD`].
    pub fn skip_too_long(&mut self) {
        self.carry.skipped.too_long += 1;
    }

    fn decode(&mut self, number: u64, line: &[u8], out: &mut Vec<Message>) -> End {
        let Some(decode) = self.agent.format().decode.records() else {
            return End::Whole;
        };
        let mut rest = bare(number, line);
        let skipped = &mut self.carry.skipped;
        if rest.is_empty() {
            if line.contains(&0) {
                skipped.nul += 1;
            } else {
                skipped.blank += 1;
            }
            return End::Whole;
        }
        let bytes = rest;
        let before = out.len();
        let mut stubs = 0;
        let mut end = End::Whole;
        while !rest.is_empty() && stubs < STUBS {
            match json::object(rest) {
                Ok((record, after)) => {
                    let mut sink = Sink::new(&mut self.carry, out, number);
                    sink.wants_outputs = self.wants_outputs;
                    sink.directory = self.directory.as_deref();
                    let seen = decode(&record, &mut sink);
                    // After a cut record it may be a part of that record.
                    if seen == Recognized::Unknown && stubs == 0 {
                        self.carry.skipped.unknown += 1;
                    }
                    rest = after.trim_ascii_start();
                    end = End::Whole;
                }
                Err(_) if stubs == 0 && is_other_value(rest) => {
                    self.carry.skipped.not_object += 1;
                    break;
                }
                Err(_) => {
                    stubs += 1;
                    rest = next_start(&rest[1..]);
                    end = End::Cut;
                }
            }
        }
        self.carry.skipped.broken += stubs.min(1);
        // The whole line is checked only if a text has a replacement character.
        let is_mended = |message: &Message| message.text.contains(char::REPLACEMENT_CHARACTER);
        if out[before..].iter().any(is_mended) && std::str::from_utf8(bytes).is_err() {
            self.carry.skipped.not_utf8 += 1;
        }
        end
    }
}

/// Reads a log to its end; see [`read_each`]. Messages after the first [`MOST_MESSAGES`] are only
/// counted.
pub fn read(log: &LogFile) -> Result<Transcript> {
    let mut messages = Vec::new();
    let mut left_out = 0;
    let (head, mut skipped) = read_each(log, &mut |message| {
        if messages.len() < MOST_MESSAGES {
            messages.push(message);
        } else {
            left_out += 1;
        }
    })?;
    skipped.left_out += left_out;
    name_early_results(&mut messages);
    Ok(Transcript {
        head,
        messages,
        skipped,
    })
}

/// Reads a log to its end and calls `take` with each message, in order.
///
/// Fails only if the file cannot be opened or read; [`Error::NotFound`] if it has been deleted
/// since it was listed.
pub fn read_each(log: &LogFile, take: &mut dyn FnMut(Message)) -> Result<(Head, Skipped)> {
    let log = &*log.as_written();
    let carry = match log.agent.format().decode {
        decode if decode.is_by_records(&log.path) => read_lines(log, take),
        Decode::Into(read) | Decode::Mixed(_, _, read) => read_into(log, read, take),
        Decode::Records(_) | Decode::Described(..) => read_lines(log, take),
    }?;
    let mut head = carry.head;
    log.describe_copy(&mut head);
    Ok((head, carry.skipped))
}

fn read_into(log: &LogFile, read: ReadInto, take: &mut dyn FnMut(Message)) -> Result<Carry> {
    let mut carry = Carry::new(log);
    let mut messages = Vec::new();
    let mut sink = Sink::new(&mut carry, &mut messages, 0);
    sink.take = Some(take);
    read(log, &mut sink)?;
    sink.hand_on();
    Ok(carry)
}

fn read_lines(log: &LogFile, take: &mut dyn FnMut(Message)) -> Result<Carry> {
    let mut reader = location::open(&log.path)?;
    let mut decoder = Decoder::new(log);
    let mut messages = Vec::new();
    let mut has_messages = false;
    let mut line = Vec::new();
    for number in 1.. {
        match next_line(&mut reader, &mut line, LONGEST_RECORD) {
            Ok(Line::None) => break,
            Ok(Line::TooLong) => decoder.skip_too_long(),
            Ok(Line::Whole) if line.last() == Some(&b'\n') => {
                decoder.line(number, &line, &mut messages);
            }
            Ok(Line::Whole) => decoder.tail(number, &line, &mut messages),
            // The messages of a truncated compressed file are kept.
            Err(_) if location::is_compressed(&log.path) && has_messages => {
                decoder.carry.skipped.partial += 1;
                break;
            }
            Err(error) => return Err(Error::io(&log.path, error)),
        }
        has_messages |= !messages.is_empty();
        messages.drain(..).for_each(&mut *take);
    }
    decoder.end(&mut messages);
    messages.drain(..).for_each(take);
    Ok(decoder.carry)
}

/// Whether `bytes` are one JSON value that is not an object.
fn is_other_value(bytes: &[u8]) -> bool {
    bytes[0] != b'{' && json::value(bytes).is_ok_and(|(_, after)| after.trim_ascii().is_empty())
}

/// Returns `bytes` from the next possible start of a record; empty if there is none.
fn next_start(bytes: &[u8]) -> &[u8] {
    memmem::find_iter(bytes, b"{\"")
        .map(|at| &bytes[at..])
        .find(|rest| STARTS.iter().any(|start| rest.starts_with(start)))
        .unwrap_or_default()
}

/// Removes what may surround a record: byte order mark, whitespace, NUL bytes.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::fixture::{describe_messages, log, read_bytes};
    use super::*;
    use crate::core::fixture::Home;

    /// A record of Claude Code with this prompt.
    fn user(text: &str) -> String {
        format!(
            r#"{{"parentUuid":null,"type":"user","message":{{"role":"user","content":"{text}"}}}}"#
        )
    }

    fn read_claude(bytes: impl AsRef<[u8]>) -> Transcript {
        read_bytes(Agent::ClaudeCode, bytes)
    }

    /// Returns line and text of each message, and the counts of skipped lines.
    fn outcome(bytes: impl AsRef<[u8]>) -> (Vec<(u64, String)>, Skipped) {
        let transcript = read_claude(bytes);
        let messages = transcript.messages.into_iter();
        let texts = messages.map(|message| (message.line, message.text));
        (texts.collect(), transcript.skipped)
    }

    fn texts(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
        let owned = |(line, text): &(u64, &str)| (*line, (*text).to_owned());
        expected.iter().map(owned).collect()
    }

    #[test]
    fn parts_of_a_record_that_was_cut_are_no_records() {
        let block = r#"{"type":"text","text":"x"},"#;
        let cut = format!(
            r#"{{"type":"user","message":{{"content":[{}"#,
            block.repeat(1000)
        );
        let (messages, skipped) = outcome(format!("{cut}\n{}\n", user("b")));
        assert_eq!(messages, texts(&[(2, "b")]));
        assert_eq!((skipped.broken, skipped.total()), (1, 1));
    }

    #[test]
    fn a_tail_of_nul_bytes_is_counted_and_a_record_behind_nul_bytes_is_read() {
        let (messages, skipped) = outcome(format!("{}\n{}", user("a"), "\0".repeat(4096)));
        assert_eq!(messages, texts(&[(1, "a")]));
        assert_eq!((skipped.nul, skipped.total()), (1, 1));
        let (messages, skipped) = outcome(format!("\0\0\0{}\n", user("a")));
        assert_eq!(messages, texts(&[(1, "a")]));
        assert_eq!(skipped.total(), 0);
    }

    #[test]
    fn lone_surrogates_and_raw_control_characters_cost_no_text() {
        let (messages, _) = outcome(format!(
            "{}\n{}\n",
            user("a \\ud83c b"),
            user("c\x01\x1b[2md")
        ));
        assert_eq!(
            messages,
            texts(&[(1, "a \u{fffd} b"), (2, "c\x01\x1b[2md")])
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced_and_the_line_is_counted() {
        let mut bytes = user("a #b").into_bytes();
        let at = bytes
            .iter()
            .position(|byte| *byte == b'#')
            .expect("the mark");
        bytes[at] = 0xff;
        bytes.push(b'\n');
        let (messages, skipped) = outcome(bytes);
        assert_eq!(messages, texts(&[(1, "a \u{fffd}b")]));
        assert_eq!((skipped.not_utf8, skipped.total()), (1, 0));
    }

    #[test]
    fn a_mark_of_byte_order_and_windows_line_ends_do_not_matter() {
        let (messages, skipped) =
            outcome(format!("\u{feff}{}\r\n\r\n{}\r\n", user("a"), user("b")));
        assert_eq!(messages, texts(&[(1, "a"), (3, "b")]));
        assert_eq!((skipped.blank, skipped.total()), (1, 1));
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        let (messages, _) = outcome(format!("{}\n{}\n", user("a\u{2028}b\u{85}c"), user("d")));
        assert_eq!(messages, texts(&[(1, "a\u{2028}b\u{85}c"), (2, "d")]));
    }

    #[test]
    fn a_line_of_twelve_megabytes_is_read() {
        let long = "x".repeat(12 << 20);
        let (messages, _) = outcome(format!("{}\n{}\n", user(&long), user("b")));
        assert_eq!(messages[0].1.len(), long.len());
        assert_eq!(messages[1], (2, "b".to_owned()));
    }

    #[test]
    fn nesting_three_thousand_deep_hides_nothing() {
        let deep = format!("{}1{}", "{\"a\":[".repeat(3000), "]}".repeat(3000));
        let record = user("a").replacen('{', &format!("{{\"toolUseResult\":{deep},"), 1);
        let (messages, skipped) = outcome(format!("{record}\n"));
        assert_eq!(messages, texts(&[(1, "a")]));
        assert_eq!(skipped.total(), 0);
    }

    #[test]
    fn a_log_that_has_gone_since_it_was_listed_is_not_found() {
        let home = Home::new();
        for agent in Agent::all() {
            let gone = log(agent, &home.path().join("gone.jsonl"));
            let error = read(&gone).expect_err("there is no such file");
            assert!(
                matches!(error, Error::NotFound { .. }),
                "{agent:?}: {error}"
            );
        }
    }

    #[test]
    fn a_log_that_was_compressed_since_it_was_listed_is_read_and_the_other_way_round() {
        let home = Home::new();
        let bytes = format!("{}\n", user("a"));
        let packed = zstd::encode_all(bytes.as_bytes(), 3).expect("it can be compressed");
        home.write("one.jsonl.zst", &packed);
        home.write("two.jsonl", &bytes);
        for name in ["one.jsonl", "two.jsonl.zst", "one.jsonl.zst"] {
            let listed = log(Agent::ClaudeCode, &home.path().join(name));
            let transcript = read(&listed).expect("its other form is there");
            assert_eq!(
                describe_messages(&transcript.messages),
                ["1 user text: a"],
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_left_of_a_compressed_log_is_read() {
        let home = Home::new();
        let lines: String = (0..40_000)
            .map(|n| user(&format!("{n} {}", n * 7919)) + "\n")
            .collect();
        let packed = zstd::encode_all(lines.as_bytes(), 3).expect("it can be compressed");
        home.write("cut.jsonl.zst", &packed[..packed.len() - 100]);
        let cut = log(Agent::ClaudeCode, &home.path().join("cut.jsonl.zst"));
        let transcript = read(&cut).expect("most of it is there");
        assert!(transcript.messages.len() > 1000);
        assert_eq!(transcript.skipped.partial, 1);
    }

    #[test]
    fn a_decoder_goes_on_from_what_it_carried() {
        let lines: Vec<String> = ["a", "b", "c", "d"].iter().map(|text| user(text)).collect();
        let listed = log(Agent::ClaudeCode, std::path::Path::new("log.jsonl"));
        let mut whole = Decoder::new(&listed);
        let mut expected = Vec::new();
        let mut parts = Vec::new();
        let mut kept = serde_json::to_string(whole.carry()).expect("it can be kept");
        for (number, line) in (1..).zip(&lines) {
            whole.line(number, line.as_bytes(), &mut expected);
            let carry = serde_json::from_str(&kept).expect("it can be taken up again");
            let mut part = Decoder::resume(&listed, carry);
            part.line(number, line.as_bytes(), &mut parts);
            kept = serde_json::to_string(part.carry()).expect("it can be kept");
        }
        assert_eq!(parts, expected);
        assert_eq!(whole.carry().head.turns, 4);
        assert_eq!(
            serde_json::from_str::<Carry>(&kept).ok().as_ref(),
            Some(whole.carry())
        );
    }

    #[test]
    fn a_log_that_cannot_be_read_is_an_error_that_names_it() {
        let home = Home::new();
        fs::create_dir(home.path().join("log.jsonl")).expect("a directory");
        let directory = log(Agent::ClaudeCode, &home.path().join("log.jsonl"));
        let error = read(&directory).expect_err("a directory is no log");
        assert!(error.to_string().contains("log.jsonl"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_a_decoder_panic_and_the_next_line_is_read(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
            at in 0usize..90,
            cut in 0usize..40,
        ) {
            let line = r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":[{"type":"text","text":"\ud83d\n\"x"}]},"payload":{"type":"message"}}"#;
            let mut given = line.as_bytes().to_vec();
            let to = (at + cut).min(given.len());
            given.splice(at..to, bytes.into_iter().filter(|byte| *byte != b'\n'));
            for agent in Agent::all() {
                let listed = log(agent, std::path::Path::new("log.jsonl"));
                let mut decoder = Decoder::new(&listed);
                decoder.line(1, &given, &mut Vec::new());
                decoder.tail(2, &given, &mut Vec::new());
                if agent == Agent::ClaudeCode {
                    let mut next = Vec::new();
                    decoder.line(3, user("next").as_bytes(), &mut next);
                    assert_eq!(describe_messages(&next), ["3 user text: next"]);
                }
            }
        }
    }
}
