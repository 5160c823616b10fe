//! Collects the messages of a log, with the state that is carried from line to line.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::head::says_something;
use super::json::Object;
use super::origin::{self, Speaker};
use super::{Head, LogFile, Message, MessageKind, Origin, Role, Skipped, content, touch};
use crate::core::text::clip;

/// The state of a decoder after the lines so far; enough to continue from there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Carry {
    /// The log's id, as found on disk.
    pub id: String,
    /// The metadata so far.
    pub head: Head,
    /// The counts of skipped lines and records so far.
    pub skipped: Skipped,
    /// Prompts that are queued for the model, each with its line and its time.
    pub(super) queue: VecDeque<(u64, Option<i64>, String)>,
    /// Summaries that may be of this log, each after the id of the last record that it covers.
    pub(super) summaries: Vec<(String, String)>,
    /// Whether the records are copies of another session's, which this one continues.
    pub(super) is_copying: bool,
    doubles: Duplicates,
    recent: VecDeque<u64>,
    ids: VecDeque<u64>,
    /// The ids of the last records that say what they go on from, each with its line.
    chain: VecDeque<(u64, u64)>,
    /// Calls without a result so far.
    calls: VecDeque<OpenCall>,
    /// The hashes of the ids of calls that failed and stand behind their result.
    failed_early: VecDeque<u64>,
    turn: u64,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenCall {
    /// The hash of its id; 0 if it has none.
    id: u64,
    tool: String,
    /// See [`call_mark`].
    mark: u64,
    /// Whether it may have written files before it failed, as a script does.
    is_script: bool,
}

/// Texts that one of two sources has given and the other has not yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Duplicates {
    waiting: VecDeque<(u64, i32)>,
}

/// One of two sources of the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSource {
    /// The conversation as sent to the model.
    Conversation,
    /// The program's own record of it.
    Account,
}

/// Collects the messages of a record.
pub(super) struct Sink<'a> {
    /// The state that is carried from record to record.
    pub(super) carry: &'a mut Carry,
    /// The fields that the record's messages share.
    pub(super) stamp: RecordStamp,
    /// Whether the text of tools' outputs is wanted.
    pub(super) wants_outputs: bool,
    /// The directory of the log.
    pub(super) directory: Option<&'a Path>,
    /// Who is handed the messages of a record when the next begins; nobody if all go to `out`.
    pub(super) take: Option<&'a mut dyn FnMut(Message)>,
    out: &'a mut Vec<Message>,
    line: u64,
}

/// The fields that the messages of one record share.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordStamp {
    pub(super) time: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) reply: Option<String>,
    pub(super) session: Option<String>,
}

/// A tool call, or the result of one.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolUse {
    /// The id that the call and its result share.
    pub(super) id: Option<String>,
    /// The tool's name; that of the call, if a result has none.
    pub(super) tool: Option<String>,
    /// The input or the output.
    pub(super) text: String,
    /// The id of the log of the subagent that the call started; of a result only.
    pub(super) subagent: Option<String>,
    /// Whether the call failed or was refused; of a result only.
    pub(super) has_failed: bool,
}

/// The number of characters of a prompt that [`Head`] keeps.
const PROMPT: usize = 300;
/// The number of texts that are kept to recognize duplicates.
const WAITING: usize = 64;
/// The number of ids that are kept to recognize repeated records.
const RECENT: usize = 512;
/// The number of ids that are kept to recognize what refers to the end of a conversation.
const IDS: usize = 32;
/// The number of bytes of a call's input that tell it from the others of its line.
const LONGEST_MARKED: usize = 4096;
/// The number of calls that are kept until their results come.
const CALLS: usize = 128;

impl RecordStamp {
    pub(super) fn new(time: Option<i64>, id: Option<String>) -> Self {
        Self {
            time,
            id,
            ..Self::default()
        }
    }

    /// Like [`RecordStamp::new`], of a record whose id is also that of its reply.
    pub(super) fn of_reply(time: Option<i64>, id: Option<String>) -> Self {
        Self {
            reply: id.clone(),
            ..Self::new(time, id)
        }
    }
}

impl ToolUse {
    /// Returns a call of `tool` with its input, or a result with the output.
    pub(super) fn new(id: Option<String>, tool: Option<String>, text: String) -> Self {
        Self {
            id,
            tool,
            text,
            ..Self::default()
        }
    }

    /// Returns a call whose name and arguments stand in a `function`, or in the call itself.
    pub(super) fn of_function(call: &Object<'_>) -> Self {
        let function = call.object("function");
        let function = function.as_ref().unwrap_or(call);
        let input = content::outline(function.get("arguments"));
        Self::new(call.text("id"), function.text("name"), input)
    }

    /// Marks the result of a call that failed or was refused.
    pub(super) fn failing(self, has_failed: bool) -> Self {
        Self { has_failed, ..self }
    }
}

impl Carry {
    /// Returns the state before the first line of `log`.
    pub(super) fn new(log: &LogFile) -> Self {
        let mut head = Head {
            parent: log.parent.clone(),
            ..Head::default()
        };
        log.agent.format().decode.describe(log, &mut head);
        log.describe_copy(&mut head);
        Self {
            id: log.id.clone(),
            head,
            ..Self::default()
        }
    }
}

/// Sets the tool of results that stand before their call, as Claude Code writes some.
pub(super) fn name_early_results(messages: &mut [Message]) {
    let is_nameless = |message: &Message| {
        message.kind == MessageKind::ToolResult && message.tool.is_none() && message.call.is_some()
    };
    if !messages.iter().any(is_nameless) {
        return;
    }
    let calls = messages.iter();
    let calls: HashMap<String, String> = calls
        .filter(|message| message.kind == MessageKind::ToolCall)
        .filter_map(|message| message.call.clone().zip(message.tool.clone()))
        .collect();
    for result in messages.iter_mut().filter(|message| is_nameless(message)) {
        let call = result.call.as_ref();
        result.tool = call.and_then(|call| calls.get(call).cloned());
    }
}

impl<'a> Sink<'a> {
    /// Returns a sink for the record on `line`.
    pub(super) fn new(carry: &'a mut Carry, out: &'a mut Vec<Message>, line: u64) -> Self {
        Self {
            carry,
            stamp: RecordStamp::default(),
            wants_outputs: true,
            directory: None,
            take: None,
            out,
            line,
        }
    }

    /// Moves to the record on `line` and clears the stamp.
    pub(super) fn turn_to(&mut self, line: u64) {
        self.hand_on();
        self.line = line;
        self.stamp = RecordStamp::default();
    }

    /// Hands on the messages so far.
    pub(super) fn hand_on(&mut self) {
        if let Some(take) = &mut self.take {
            self.out.drain(..).for_each(take);
        }
    }

    /// Returns the metadata of the log.
    pub(super) fn head(&mut self) -> &mut Head {
        &mut self.carry.head
    }

    /// Adds text in the user's role, split into what the user and others said.
    pub(super) fn prompt(&mut self, text: String) {
        self.prompt_by(self.sender(), text);
    }

    /// Returns who says what is asked here: a subagent is prompted by the agent that started it.
    pub(super) fn sender(&self) -> Speaker {
        let is_task = self.carry.head.parent.is_some() && !self.carry.is_copying;
        if is_task {
            Speaker::Agent
        } else {
            Speaker::Person
        }
    }

    /// Like [`Sink::prompt`], but what a user would have said is of `sender`.
    pub(super) fn prompt_by(&mut self, sender: Speaker, text: String) {
        for (speaker, said) in origin::parts(&text) {
            let is_senders = speaker == Speaker::Person;
            self.add(if is_senders { sender } else { speaker }, said);
        }
    }

    /// Adds text by whoever said it; the user's is not split further.
    pub(super) fn add(&mut self, speaker: Speaker, text: String) {
        match speaker {
            Speaker::Person => self.say(Role::User, Origin::Written, text),
            Speaker::Model => self.say(Role::Assistant, Origin::Written, text),
            Speaker::Agent => self.say(Role::Assistant, Origin::Agent, text),
            Speaker::Program => self.say(Role::System, Origin::Injected, text),
        }
    }

    /// Adds text, unless it is blank.
    pub(super) fn say(&mut self, role: Role, origin: Origin, text: String) {
        if text.trim().is_empty() {
            return;
        }
        // Only what the user wrote has the user's role.
        let role = match (role, origin) {
            (Role::User, Origin::Injected) => Role::System,
            (Role::User, Origin::Agent) => Role::Assistant,
            _ => role,
        };
        match (role, origin) {
            (Role::User, _) => self.count_turn(&text),
            (_, Origin::Agent) => self.note_task(&text),
            (Role::Assistant, _) => self.note_opening(&text),
            _ => {}
        }
        self.push(role, MessageKind::Text, text).origin = origin;
    }

    /// Adds reasoning, unless it is blank, as for a signature without text.
    pub(super) fn think(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.push(Role::Assistant, MessageKind::Thinking, text);
        }
    }

    /// Adds a tool call without an id.
    pub(super) fn call(&mut self, tool: Option<String>, input: String) {
        self.call_tool(ToolUse::new(None, tool, input));
    }

    /// Adds a tool call.
    pub(super) fn call_tool(&mut self, call: ToolUse) {
        if call.tool.is_none() && call.text.trim().is_empty() {
            return;
        }
        let id = call.id.as_deref().map_or(0, |id| key(0, id));
        let mark = call_mark(self.line, &call.text);
        if let Some(at) = self
            .carry
            .failed_early
            .iter()
            .position(|early| *early == id)
        {
            self.carry.failed_early.remove(at);
            self.carry.head.failed.push(mark);
        } else if let Some(tool) = call.tool.clone() {
            if self.carry.calls.len() == CALLS {
                self.carry.calls.pop_front();
            }
            self.carry.calls.push_back(OpenCall {
                id,
                mark,
                is_script: touch::is_script(&tool, &call.text),
                tool,
            });
        }
        let message = self.push(Role::Assistant, MessageKind::ToolCall, call.text);
        message.tool = call.tool;
        message.call = call.id;
    }

    /// Adds the output of a tool without the id of its call, unless it is blank.
    pub(super) fn result(&mut self, tool: Option<String>, output: String) {
        self.tool_result(ToolUse::new(None, tool, output));
    }

    /// Adds the result of a tool call, and what the user said in it. A blank one says that the
    /// call has ended, if its call is known.
    pub(super) fn tool_result(&mut self, mut result: ToolUse) {
        if result.id.is_none() && result.text.trim().is_empty() {
            return;
        }
        let id = result.id.as_deref().map_or(0, |id| key(0, id));
        let calls = &mut self.carry.calls;
        // Without an id, a result is of the last call.
        let at = calls.iter().rposition(|call| call.id == id);
        if let Some(call) = at.and_then(|at| calls.remove(at)) {
            if result.has_failed && (!call.is_script || origin::is_refused(&result.text)) {
                self.carry.head.failed.push(call.mark);
            }
            if result.id.is_some() {
                result.tool = result.tool.or(Some(call.tool));
            }
        } else if result.has_failed && id != 0 {
            if self.carry.failed_early.len() == CALLS {
                self.carry.failed_early.pop_front();
            }
            self.carry.failed_early.push_back(id);
        }
        let refusal = origin::refusal(&result.text);
        let split = refusal.map(|(words, reason)| (words.to_owned(), reason.to_owned()));
        let (text, reason) = split.unwrap_or((result.text, String::new()));
        let message = self.push(Role::Tool, MessageKind::ToolResult, text);
        message.tool = result.tool;
        message.call = result.id;
        message.subagent = result.subagent;
        self.say(Role::User, Origin::Written, reason);
    }

    /// Returns the messages that were added after the first `count`.
    pub(super) fn added_after(&mut self, count: usize) -> &mut [Message] {
        self.out.get_mut(count..).unwrap_or_default()
    }

    /// Returns the number of messages so far.
    pub(super) fn count(&self) -> usize {
        self.out.len()
    }

    /// Adds a note of the agent's program, unless it is blank.
    pub(super) fn notice(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.push(Role::System, MessageKind::Notice, text).origin = Origin::Injected;
        }
    }

    /// Adds words for what is no text, such as an image or a branch.
    pub(super) fn show(&mut self, role: Role, what: &str) {
        self.push(role, MessageKind::Notice, what.to_owned());
    }

    /// Queues a prompt, of which at most so many are kept.
    pub(super) fn queue(&mut self, text: String, most: usize) {
        if self.carry.queue.len() == most {
            self.carry.queue.pop_front();
        }
        let queued = (self.line, self.stamp.time, text);
        self.carry.queue.push_back(queued);
    }

    /// Whether the other source has already given `text`.
    pub(super) fn is_duplicate(&mut self, source: TextSource, role: Role, text: &str) -> bool {
        let key = key(role as u8, text.trim());
        self.carry.doubles.is_duplicate(key, source)
    }

    /// Whether one of the last few records had this id.
    pub(super) fn is_recent(&self, id: &str) -> bool {
        self.carry.ids.contains(&key(0, id))
    }

    /// Remembers the id of a record for [`Sink::is_recent`].
    pub(super) fn remember(&mut self, id: &str) {
        if self.carry.ids.len() == IDS {
            self.carry.ids.pop_front();
        }
        self.carry.ids.push_back(key(0, id));
    }

    /// Remembers a record and marks a branch: one that goes on from another record than the last.
    pub(super) fn go_on(&mut self, id: &str, parent: Option<&str>) {
        let parent = parent.map(|parent| key(0, parent));
        let chain = &mut self.carry.chain;
        let is_last = chain.back().map(|(last, _)| *last) == parent;
        let from = chain.iter().find(|(known, _)| Some(*known) == parent);
        let from = from.filter(|_| !is_last).map(|(_, line)| *line);
        if chain.len() == RECENT {
            chain.pop_front();
        }
        chain.push_back((key(0, id), self.line));
        if let Some(line) = from {
            self.show(Role::System, &format!("Branch: goes on from line {line}"));
        }
    }

    /// Whether one of the recent records had this id; remembers it if not.
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

    fn push(&mut self, role: Role, kind: MessageKind, text: String) -> &mut Message {
        let stamp = self.stamp.clone();
        let head = &mut self.carry.head;
        head.extend_span(stamp.time);
        if role == Role::Assistant && matches!(kind, MessageKind::Text | MessageKind::ToolCall) {
            head.replies += 1;
        }
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
            call: None,
            subagent: None,
        });
        let last = self.out.len() - 1;
        &mut self.out[last]
    }

    /// Counts a record's written text as one turn, however many blocks it has. A copy of what was
    /// said in another session is no turn of this one.
    fn count_turn(&mut self, text: &str) {
        if self.carry.is_copying {
            return;
        }
        let prompt = beginning(text);
        let head = &mut self.carry.head;
        let is_first = head
            .first_prompt
            .as_ref()
            .is_none_or(|first| !says_something(first) && says_something(&prompt));
        if is_first {
            head.first_prompt = Some(prompt.clone());
            head.opening = None;
        }
        head.last_prompt = Some(prompt);
        if self.carry.turn != self.line {
            self.carry.turn = self.line;
            head.turns += 1;
        }
    }

    /// Keeps the agent's first words behind prompts that say nothing.
    fn note_opening(&mut self, text: &str) {
        let head = &mut self.carry.head;
        let prompt = head
            .first_prompt
            .as_deref()
            .filter(|_| head.opening.is_none());
        if prompt.is_some_and(|prompt| !says_something(prompt)) {
            head.opening = Some(beginning(text));
        }
    }

    /// Keeps a subagent's task as its first prompt.
    fn note_task(&mut self, text: &str) {
        let head = &mut self.carry.head;
        if head.parent.is_some() && head.first_prompt.is_none() {
            head.first_prompt = Some(beginning(text));
        }
    }
}

/// Returns as much of a prompt as [`Head`] keeps.
fn beginning(prompt: &str) -> String {
    prompt.trim().chars().take(PROMPT).collect()
}

impl Duplicates {
    /// Whether `key` is expected from `source`; if not, expects it from the other source.
    fn is_duplicate(&mut self, key: u64, source: TextSource) -> bool {
        let step = match source {
            TextSource::Conversation => 1,
            TextSource::Account => -1,
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

/// Returns the number by which [`Head::failed`] knows a call: of its line in the log and its input.
pub fn call_mark(line: u64, input: &str) -> u64 {
    key(0, clip(input, LONGEST_MARKED)) ^ line
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Agent;
    use super::super::fixture::log;
    use super::*;

    /// How many calls of a log of Claude Code or Codex failed.
    fn failed(agent: Agent, lines: &[&str]) -> usize {
        let home = crate::core::fixture::Home::new();
        home.write("log.jsonl", lines.join("\n"));
        let read = super::super::read(&log(agent, &home.path().join("log.jsonl")));
        read.expect("it can be read").head.failed.len()
    }

    #[test]
    fn calls_that_failed_or_were_refused_are_known() {
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"NAME","input":{"file_path":"/m/a.md"}}]}}"#;
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":FAILED,"content":"TEXT"}]}}"#;
        let refused = "The user doesn't want to proceed with this tool use.";
        for (name, is_error, text, count) in [
            ("Edit", "false", "done", 0),
            ("Edit", "true", "String to replace not found", 1),
            ("Write", "true", refused, 1),
            // A script may have written before it failed.
            ("Bash", "true", "Exit code 1", 0),
            ("Bash", "true", refused, 1),
        ] {
            let call = call.replace("NAME", name);
            let result = result.replace("FAILED", is_error).replace("TEXT", text);
            for lines in [[call.as_str(), &result], [&result, &call]] {
                // Of a result before its call, only the file tools are asked.
                if lines[0] == call || name != "Bash" {
                    let found = failed(Agent::ClaudeCode, &lines);
                    assert_eq!(found, count, "{name} {text}");
                }
            }
        }
        let call = r#"{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":"*** Begin Patch\n*** Add File: a.md\n+x\n*** End Patch"}}"#;
        for (output, count) in [
            (r#""Exit code: 0\nOutput:\nSuccess""#, 0),
            (r#""Exit code: 1\nOutput:\nno""#, 1),
            (
                r#""{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}""#,
                0,
            ),
            (r#""{\"output\":\"no\",\"metadata\":{\"exit_code\":1}}""#, 1),
            (r#""apply_patch verification failed: no such lines""#, 1),
        ] {
            let result = format!(
                r#"{{"type":"response_item","payload":{{"type":"custom_tool_call_output","call_id":"c","output":{output}}}}}"#
            );
            assert_eq!(failed(Agent::Codex, &[call, &result]), count, "{output}");
        }
    }

    /// Returns the state after one prompt.
    fn decoded(prompt: &str) -> Carry {
        let mut carry = Carry::new(&log(Agent::Session, Path::new("log.jsonl")));
        let mut messages = Vec::new();
        Sink::new(&mut carry, &mut messages, 1).prompt(prompt.to_owned());
        carry
    }

    #[test]
    fn a_head_keeps_no_more_than_a_line_of_a_prompt() {
        let head = decoded(&"é".repeat(5000)).head;
        assert_eq!(
            head.first_prompt.map(|prompt| prompt.chars().count()),
            Some(PROMPT)
        );
    }

    #[test]
    fn a_text_from_two_sources_is_a_double_each_time_it_comes_again() {
        use TextSource::{Account, Conversation};
        let mut doubles = Duplicates::default();
        let steps = [
            (Conversation, false),
            (Conversation, false),
            (Account, true),
            (Account, true),
            (Account, false),
            (Conversation, true),
        ];
        for (number, (source, expected)) in steps.into_iter().enumerate() {
            assert_eq!(doubles.is_duplicate(7, source), expected, "step {number}");
        }
        assert!(doubles.waiting.is_empty());
    }

    #[test]
    fn a_record_of_several_blocks_is_one_turn() {
        let mut carry = Carry::default();
        let mut messages = Vec::new();
        let mut sink = Sink::new(&mut carry, &mut messages, 1);
        sink.prompt("one".to_owned());
        sink.prompt("two".to_owned());
        sink.turn_to(2);
        sink.prompt("3".to_owned());
        sink.prompt("  \n".to_owned());
        assert_eq!(messages.len(), 3);
        assert_eq!(carry.head.turns, 2);
        assert_eq!(carry.head.first_prompt.as_deref(), Some("one"));
        assert_eq!(carry.head.last_prompt.as_deref(), Some("3"));
    }

    #[test]
    fn a_session_is_named_by_the_first_prompt_that_says_something() {
        for (prompts, first) in [
            (&["y", "c"][..], "y"),
            (
                &["y", "/add src/a.rs", "fix the parser", "and test it"],
                "fix the parser",
            ),
            (
                &["/review the last two", "fix the parser"],
                "/review the last two",
            ),
            (&["ok", "你好啊"], "你好啊"),
            (&["[Image #1]", "why is it red"], "why is it red"),
            (&["continue", "Go on!", "fix the parser"], "fix the parser"),
            (
                &["yes please do that", "继续", "Continue with the parser"],
                "Continue with the parser",
            ),
        ] {
            let mut carry = Carry::default();
            let mut messages = Vec::new();
            let mut sink = Sink::new(&mut carry, &mut messages, 1);
            prompts
                .iter()
                .for_each(|prompt| sink.prompt((*prompt).to_owned()));
            assert_eq!(carry.head.first_prompt.as_deref(), Some(first));
        }
    }

    #[test]
    fn a_session_whose_prompts_say_nothing_is_named_by_the_agents_first_words() {
        let mut carry = decoded("y");
        let mut messages = Vec::new();
        let mut sink = Sink::new(&mut carry, &mut messages, 2);
        sink.add(Speaker::Model, "Reading the parser.".to_owned());
        sink.add(Speaker::Model, "Done.".to_owned());
        sink.prompt("ok".to_owned());
        assert_eq!(sink.head().name(None), Some("Reading the parser."));
        assert_eq!(sink.head().name(Some("listed")), Some("listed"));
        sink.prompt("now fix the lexer".to_owned());
        assert_eq!(sink.head().name(None), Some("now fix the lexer"));
    }

    #[test]
    fn a_result_has_the_name_of_its_calls_tool() {
        let mut carry = Carry::default();
        let mut messages = Vec::new();
        let mut sink = Sink::new(&mut carry, &mut messages, 1);
        let one = |id: &str, tool: Option<&str>, text: &str| ToolUse {
            id: Some(id.to_owned()),
            tool: tool.map(str::to_owned),
            text: text.to_owned(),
            ..ToolUse::default()
        };
        sink.call_tool(one("a", Some("read"), "in"));
        sink.call_tool(one("b", Some("write"), "in"));
        sink.tool_result(one("b", None, "out b"));
        sink.tool_result(one("a", None, "out a"));
        sink.tool_result(one("c", None, "out c"));
        let tools: Vec<_> = messages[2..]
            .iter()
            .map(|message| message.tool.as_deref())
            .collect();
        assert_eq!(tools, [Some("write"), Some("read"), None]);
    }

    #[test]
    fn an_id_is_repeated_until_it_is_long_past() {
        let mut carry = Carry::default();
        let mut messages = Vec::new();
        let mut sink = Sink::new(&mut carry, &mut messages, 1);
        assert!(!sink.is_repeated("a"));
        assert!(sink.is_repeated("a"));
        for number in 0..RECENT {
            sink.is_repeated(&number.to_string());
        }
        assert!(!sink.is_repeated("a"));
    }
}
