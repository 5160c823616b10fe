//! OpenHands: a folder per conversation, `~/.openhands/conversations/<id>`, with its state in
//! `base_state.json` and a file per event in `events/`; those of subagents are in its `subagents/`.
//!
//! Known from the program's own source and from conversations that it wrote.

use std::fs;
use std::path::{Path, PathBuf};

use super::decode::Decode;
use super::json::{self, Object};
use super::origin::Speaker;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, LogFile, LogLocations, Origin, Resume, Role, content, location};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Openhands,
    name: "openhands",
    locate,
    decode: Decode::Into(read),
    resume: |log, head| Resume::by_id("openhands", "--resume", log, head),
};

/// How messages begin that the program sends in the user's place.
const SENT: &[&str] = &[
    "Resuming a goal that was paused or interrupted.",
    "The goal is NOT yet complete (audit iteration ",
    "The task appears incomplete (iteration ",
    "Your previous response was blocked by the model's content filter.",
];
/// The tool with which the model ends its work.
const FINISH: &str = "finish";
/// The reason of a refusal for which the user gave none.
const NO_REASON: &str = "User rejected the action";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.openhands.iter();
    let folders = roots.flat_map(|root| location::entries(&root.join("conversations")));
    let conversations = folders.flat_map(|folder| {
        let parent = location::name(&folder);
        let subagents = location::entries(&folder.join("subagents"));
        let subagents = subagents.into_iter().filter_map(move |folder| {
            let log = conversation(&folder)?;
            let parent = Some(parent.clone());
            Some(LogFile { parent, ..log })
        });
        conversation(&folder).into_iter().chain(subagents)
    });
    conversations.collect()
}

fn conversation(folder: &Path) -> Option<LogFile> {
    let state = folder.join("base_state.json");
    let mut log = location::found(Agent::Openhands, state, location::name(folder))?;
    // The state may be older than the last event, which is not written at once.
    let last = files(&log).pop().and_then(|event| fs::metadata(event).ok());
    log.modified = log.modified.max(last.as_ref().and_then(location::modified));
    Some(log)
}

/// Returns the files of a conversation's events, in their order.
pub(super) fn files(log: &LogFile) -> Vec<PathBuf> {
    let mut events = location::entries(&log.path.with_file_name("events"));
    let number = |path: &PathBuf| -> Option<u64> {
        let name = location::stem(path, ".json")?;
        name.strip_prefix("event-")?.split('-').next()?.parse().ok()
    };
    events.retain(|path| number(path).is_some());
    events.sort_by_key(number);
    events
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let state = location::bytes(&log.path)?;
    let head = sink.head();
    head.session = Some(log.id.clone());
    match json::object(state.trim_ascii()) {
        Ok((state, _)) => {
            let workspace = state.object("workspace").unwrap_or_default();
            head.cwd = workspace.text("working_dir");
            let agent = state.object("agent").unwrap_or_default();
            head.model = agent.object("llm").and_then(|llm| llm.text("model"));
        }
        Err(_) => sink.carry.skipped.broken += 1,
    }
    for (ordinal, path) in (1..).zip(files(log)) {
        sink.turn_to(ordinal);
        let bytes = location::bytes(&path).unwrap_or_default();
        match json::object(bytes.trim_ascii()) {
            Ok((event, _)) => take_event(&event, sink),
            Err(_) => sink.carry.skipped.broken += 1,
        }
    }
    Ok(())
}

fn take_event(event: &Object<'_>, sink: &mut Sink<'_>) {
    sink.stamp = RecordStamp {
        time: event.time("timestamp"),
        id: event.text("id"),
        reply: event.text("llm_response_id"),
        ..RecordStamp::default()
    };
    let text = |key| event.text(key).unwrap_or_default();
    let result =
        |output: String| ToolUse::new(event.text("tool_call_id"), event.text("tool_name"), output);
    match event.word("kind") {
        Some("MessageEvent") => take_message(event, sink),
        Some("ActionEvent") => take_action(event, sink),
        Some("ObservationEvent") if matches!(event.word("tool_name"), Some(FINISH | "think")) => {}
        Some("ObservationEvent") => {
            let observation = event.object("observation").unwrap_or_default();
            let output = match observation.get("content") {
                Some(content) => content::flat(content),
                None => content::outline(event.get("observation")),
            };
            sink.tool_result(result(output).failing(observation.is_true("is_error")));
            take_extension(event, sink);
        }
        Some("UserRejectObservation") => {
            let reason = text("rejection_reason");
            let is_persons = !event.is("rejection_source", "hook") && reason != NO_REASON;
            let (told, said) = match is_persons {
                true => (NO_REASON.to_owned(), reason),
                false => (reason, String::new()),
            };
            sink.tool_result(result(told).failing(true));
            sink.prompt(said);
        }
        Some("AgentErrorEvent") => sink.tool_result(result(text("error")).failing(true)),
        Some("ACPToolCallEvent") => {
            let id = event.text("tool_call_id");
            let input = content::outline(event.get("raw_input"));
            sink.call_tool(ToolUse::new(id.clone(), event.text("title"), input));
            let output = content::outline(event.get("raw_output"));
            let result = ToolUse::new(id, None, output);
            sink.tool_result(result.failing(event.is_true("is_error")));
        }
        Some("Condensation" | "CondensationSummaryEvent") => sink.notice(text("summary")),
        Some("ConversationErrorEvent") => sink.notice(text("detail")),
        // A prompt of the system is the same in every conversation.
        Some(
            "SystemPromptEvent"
            | "CondensationRequest"
            | "ConversationStateUpdateEvent"
            | "HookExecutionEvent"
            | "InterruptEvent"
            | "LLMCompletionLogEvent"
            | "PauseEvent"
            | "StreamingDeltaEvent"
            | "TokenEvent",
        ) => {}
        _ => sink.carry.skipped.unknown += 1,
    }
}

fn take_message(event: &Object<'_>, sink: &mut Sink<'_>) {
    let message = event.object("llm_message").unwrap_or_default();
    sink.think(message.text("reasoning_content").unwrap_or_default());
    let text = content::flat(message.get("content"));
    let is_sent = SENT.iter().any(|begin| text.starts_with(begin));
    match event.word("source") {
        Some("agent") => sink.say(Role::Assistant, Origin::Written, text),
        // Another agent delegates to this one.
        Some("user") if event.get("sender").is_some() => sink.prompt_by(Speaker::Agent, text),
        Some("user") if !is_sent => sink.prompt(text),
        _ => sink.add(Speaker::Program, text),
    }
    take_extension(event, sink);
}

/// Adds what the program put behind a message or a result, such as rules and skills.
fn take_extension(event: &Object<'_>, sink: &mut Sink<'_>) {
    let extension = event.get("extended_content");
    sink.add(Speaker::Program, content::flat(extension));
}

fn take_action(event: &Object<'_>, sink: &mut Sink<'_>) {
    sink.think(event.text("reasoning_content").unwrap_or_default());
    let thought = content::flat(event.get("thought"));
    sink.say(Role::Assistant, Origin::Written, thought);
    let action = event.object("action").unwrap_or_default();
    match event.word("tool_name") {
        // What it says at the end is its answer.
        Some(FINISH) => {
            let answer = action.text("message").unwrap_or_default();
            return sink.say(Role::Assistant, Origin::Written, answer);
        }
        Some("think") => return sink.think(action.text("thought").unwrap_or_default()),
        _ => {}
    }
    let call = event.object("tool_call").unwrap_or_default();
    let input = call.get("arguments").or_else(|| event.get("action"));
    sink.call_tool(ToolUse::new(
        event.text("tool_call_id"),
        event.text("tool_name"),
        content::outline(input),
    ));
}
