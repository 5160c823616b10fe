//! Claude Code: transcripts of sessions and of their subagents.
//!
//! Each line is a record, and each block of a reply is a record of its own: the lines of a
//! reply share `message.id`. A fork copies records with their `uuid`, which identifies copies.

use std::path::Path;

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::{Object, Raw};
use super::sink::{Carry, RecordStamp, Sink, TextSource};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Message, MessageKind, Origin, Resume, Role,
    TitleSource, fork, location, origin,
};

pub(super) const FORMAT: Format = Format {
    agent: Agent::ClaudeCode,
    name: "claude-code",
    locate,
    decode: Decode::Records(record),
    resume,
};

/// Types of records without text.
const WORDLESS: &[&str] = &[
    "agent-name",
    "agent-setting",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "cost-state",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "result",
    "started",
];

/// Tools whose results have an account that is read, see [`take_details`].
const DETAILED: &[&str] = &["Agent", "AskUserQuestion", "Task"];

/// The maximum number of queued prompts, and of summaries, that are carried.
const KEPT: usize = 64;

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let forks = fork::homes_of(locations, Agent::ClaudeCode);
    let roots = locations.claude.iter().chain(&forks);
    let projects = roots.flat_map(|root| location::entries(&root.join("projects")));
    let mut logs = Vec::new();
    for project in projects {
        let (found, others) = location::logs_in(&project, Agent::ClaudeCode, ".jsonl");
        logs.extend(found);
        logs.extend(others.iter().flat_map(|session| subagents(session)));
    }
    logs
}

/// Returns the logs of the agents that the session in this directory started.
fn subagents(session: &Path) -> Vec<LogFile> {
    let parent = location::name(session);
    let id = |name: &str| {
        let id = name.strip_suffix(".jsonl");
        id.filter(|id| id.starts_with("agent-")).map(str::to_owned)
    };
    location::logs_under(Agent::ClaudeCode, session.join("subagents"), &id)
        .into_iter()
        .map(|log| LogFile {
            parent: Some(parent.clone()),
            title: description(&log.path.with_extension("meta.json")),
            ..log
        })
        .collect()
}

/// Returns the description of a subagent, or else its type, from the file beside its log.
fn description(meta: &Path) -> Option<String> {
    let text = |meta: &Object<'_>| meta.first_text(&["description", "agentType"]);
    location::with_object(meta, text)?
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.id.starts_with("agent-") {
        return None;
    }
    Resume::by_id("claude", "--resume", log, head)
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    match record.word("type") {
        Some("user" | "assistant") if is_again(record, sink) => {}
        Some("user") => user(record, sink),
        Some("assistant") => assistant(record, sink),
        Some("system") => system(record, sink),
        Some("attachment") => attachment(record, sink),
        Some("queue-operation") => queue(record, sink),
        Some("progress") => progress(record, sink),
        Some("summary") => summary(record, sink),
        Some("ai-title") => entitle(TitleSource::Ai, record.text("aiTitle"), sink),
        Some("custom-title") => entitle(TitleSource::Custom, record.text("customTitle"), sink),
        Some(other) if WORDLESS.contains(&other) => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Whether one of the last records is written again.
fn is_again(record: &Object<'_>, sink: &Sink<'_>) -> bool {
    let id = record.word("uuid").filter(|id| is_uuid(id));
    id.is_some_and(|id| sink.is_recent(id))
}

fn user(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    let message = message_of(record, sink);
    if record.is_true("isCompactSummary") {
        notice(record, message.as_ref(), sink);
        return;
    }
    let before = sink.count();
    take_content(record, message.as_ref(), speaker(record), sink);
    if !sink.carry.queue.is_empty() {
        // It is not said twice, but still leaves the queue when the log says so.
        let said: Vec<String> = sink
            .added_after(before)
            .iter()
            .filter(|message| message.role == Role::User)
            .map(|message| message.text.trim().to_owned())
            .collect();
        for (.., queued) in &mut sink.carry.queue {
            if said.iter().any(|said| said == queued.trim()) {
                queued.clear();
            }
        }
    }
    take_details(record, before, sink);
}

/// Returns who the record's fields say that it is of.
fn speaker(record: &Object<'_>) -> Speaker {
    if is_injected(record) {
        Speaker::Program
    } else if record.text("planContent").is_some() {
        Speaker::Model
    } else if record.is_true("isSidechain") {
        // A subagent is prompted by the agent that started it.
        Speaker::Agent
    } else {
        Speaker::Person
    }
}

/// Adds to the messages of a record what only the program's own account of a result holds: the
/// log of a subagent, and what the user typed in answer to questions. Names a session that begins
/// with a plan after it.
fn take_details(record: &Object<'_>, before: usize, sink: &mut Sink<'_>) {
    let added = sink.added_after(before);
    let plan = added
        .iter()
        .find(|message| message.role == Role::Assistant && message.origin == Origin::Written);
    let title = plan.and_then(|plan| {
        let mut lines = plan.text.lines();
        lines.find_map(|line| line.strip_prefix("# ").map(str::to_owned))
    });
    let is_detailed = |message: &Message| {
        let tool = message.tool.as_deref();
        message.kind == MessageKind::ToolResult && tool.is_some_and(|tool| DETAILED.contains(&tool))
    };
    let mut answers = Vec::new();
    if let Some(result) = added.iter_mut().find(|message| is_detailed(message))
        && let Some(account) = record.object("toolUseResult")
    {
        let agent = account.text("agentId");
        result.subagent = agent.map(|agent| format!("agent-{agent}"));
        answers = origin::typed_answers(&account);
    }
    for answer in answers {
        sink.say(Role::User, Origin::Written, answer);
    }
    if let Some(title) = title {
        entitle(TitleSource::Summary, Some(title), sink);
    }
}

/// Whether the record's fields mark it as put in by the program.
fn is_injected(record: &Object<'_>) -> bool {
    record.is_true("isMeta")
        // The body of a skill that a tool call loaded.
        || record.get("sourceToolUseID").is_some()
        || record.is("promptSource", "system")
        || record
            .object("origin")
            .is_some_and(|origin| origin.get("kind").is_some() && !origin.is("kind", "human"))
}

fn assistant(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    let message = message_of(record, sink);
    let model = message.as_ref().and_then(|message| message.get("model"));
    if model.is_some_and(|model| model.is("<synthetic>")) || record.is_true("isApiErrorMessage") {
        notice(record, message.as_ref(), sink);
        return;
    }
    note(&mut sink.head().model, model);
    take_content(record, message.as_ref(), Speaker::Model, sink);
}

/// Returns the message and stamps its id; `None` if `message` is the content itself, as in some
/// records.
fn message_of<'a>(record: &Object<'a>, sink: &mut Sink<'_>) -> Option<Object<'a>> {
    let message = record.object("message")?;
    sink.stamp.reply = message.text("id");
    Some(message)
}

/// Adds what the message of a record says.
fn take_content(
    record: &Object<'_>,
    message: Option<&Object<'_>>,
    speaker: Speaker,
    sink: &mut Sink<'_>,
) {
    match (message, record.get("message")) {
        (Some(message), _) => content::take_of(message, speaker, sink),
        (None, Some(content)) => content::take(content, speaker, sink),
        (None, None) => {}
    }
}

/// Adds the text of the message of a record as the program's.
fn notice(record: &Object<'_>, message: Option<&Object<'_>>, sink: &mut Sink<'_>) {
    let content = match message {
        Some(message) => message.get("content"),
        None => record.get("message"),
    };
    sink.notice(content::flat(content));
}

fn system(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    if record.is("subtype", "api_error") {
        // Only the message: the rest contains headers that identify the account.
        let error = record.object("error").unwrap_or_default();
        sink.notice(error.text("message").unwrap_or_default());
    } else {
        sink.notice(record.text("content").unwrap_or_default());
    }
}

fn attachment(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    let Some(attachment) = record.object("attachment") else {
        return;
    };
    match attachment.word("type") {
        Some("queued_command") => {
            let text = content::flat(attachment.get("prompt"));
            if sink.is_duplicate(TextSource::Conversation, Role::User, &text) {
                return;
            }
            let is_person = attachment
                .object("origin")
                .is_none_or(|origin| origin.is("kind", "human"));
            if is_person && !attachment.is("commandMode", "task-notification") {
                sink.prompt(text);
            } else {
                sink.say(Role::User, Origin::Injected, text);
            }
        }
        Some("hook_additional_context" | "hook_success" | "hook_system_message") => {
            let text = content::flat(attachment.get("content"));
            sink.say(Role::System, Origin::Injected, text);
        }
        Some("nested_memory") => {
            let memory = attachment.object("content").unwrap_or_default();
            let text = memory.text("content").unwrap_or_default();
            sink.say(Role::System, Origin::Injected, text);
        }
        Some("edited_text_file") => {
            let text = attachment.text("snippet").unwrap_or_default();
            sink.say(Role::System, Origin::Injected, text);
        }
        Some("file") => {
            let content = attachment.object("content").unwrap_or_default();
            let file = content.object("file").unwrap_or_default();
            sink.result(None, file.text("content").unwrap_or_default());
        }
        _ => {}
    }
}

/// Adds what a subagent said and did, which versions before 2.1.82 also wrote into the log of the
/// session that started it.
fn progress(record: &Object<'_>, sink: &mut Sink<'_>) {
    let data = record.object("data");
    let Some(data) = data.filter(|data| data.is("type", "agent_progress")) else {
        return;
    };
    let (Some(step), Some(agent)) = (data.object("message"), data.text("agentId")) else {
        return;
    };
    let Some(message) = step.object("message") else {
        return;
    };
    sink.stamp = RecordStamp {
        time: step.time("timestamp").or_else(|| record.time("timestamp")),
        id: step.text("uuid"),
        reply: message.text("id"),
        ..RecordStamp::default()
    };
    let before = sink.count();
    content::take_of(&message, Speaker::Agent, sink);
    let log = format!("agent-{agent}");
    for message in sink.added_after(before) {
        message.subagent = Some(log.clone());
    }
}

/// Tracks prompts that were queued while Claude worked.
///
/// One that leaves the queue at the end of a turn (`dequeue`) follows as a record of its own.
/// One that leaves it within a turn (`remove`) did not before version 2.1.98, so it is used
/// here, and its later copy is ignored.
fn queue(record: &Object<'_>, sink: &mut Sink<'_>) {
    sink.stamp.time = record.time("timestamp");
    match record.word("operation") {
        Some("enqueue") => {
            sink.queue(record.text("content").unwrap_or_default(), KEPT);
        }
        Some("dequeue") => drop(leave_queue(record, sink)),
        Some("remove") => {
            let text = leave_queue(record, sink);
            if !text.is_empty() && !sink.is_duplicate(TextSource::Account, Role::User, &text) {
                sink.prompt(text);
            }
        }
        Some("popAll") => sink.carry.queue.clear(),
        _ => {}
    }
}

/// Takes a prompt from the queue: the one that the record names, or else the first.
fn leave_queue(record: &Object<'_>, sink: &mut Sink<'_>) -> String {
    let queue = &mut sink.carry.queue;
    match record.text("content") {
        Some(text) => {
            if let Some(at) = queue.iter().position(|(.., queued)| *queued == text) {
                queue.remove(at);
            }
            text
        }
        None => queue.pop_front().unwrap_or_default().2,
    }
}

/// Adds the prompts that were still queued when the log ended.
pub(super) fn left_in_queue(carry: &mut Carry, out: &mut Vec<Message>) {
    for (line, time, text) in std::mem::take(&mut carry.queue) {
        let mut sink = Sink::new(carry, out, line);
        sink.stamp.time = time;
        if !text.is_empty() && !sink.is_duplicate(TextSource::Account, Role::User, &text) {
            sink.prompt(text);
        }
    }
}

/// Sets a summary as title if it is of this session: a file may hold those of others, too.
fn summary(record: &Object<'_>, sink: &mut Sink<'_>) {
    let Some(text) = record.text("summary") else {
        return;
    };
    match record.text("leafUuid") {
        Some(leaf) if !sink.is_recent(&leaf) => {
            sink.carry.summaries.truncate(KEPT - 1);
            sink.carry.summaries.push((leaf, text));
        }
        _ => sink.head().set_title(TitleSource::Summary, text),
    }
}

fn entitle(naming: TitleSource, title: Option<String>, sink: &mut Sink<'_>) {
    sink.head().set_title(naming, title.unwrap_or_default());
}

/// Sets the stamp, and reads the metadata of the session from the record.
fn envelope(record: &Object<'_>, sink: &mut Sink<'_>) {
    sink.stamp = RecordStamp::new(record.time("timestamp"), record.text("uuid"));
    if let Some(id) = sink.stamp.id.clone() {
        sink.remember(&id);
    }
    let carry = &mut *sink.carry;
    if !carry.summaries.is_empty()
        && let Some((_, text)) = carry
            .summaries
            .iter()
            .find(|(leaf, _)| Some(leaf) == sink.stamp.id.as_ref())
    {
        carry.head.set_title(TitleSource::Summary, text.clone());
    }
    let head = &mut carry.head;
    if head.cwd.is_none() {
        head.cwd = record.text("cwd");
    }
    note(&mut head.branch, record.get("gitBranch"));
    note(&mut head.version, record.get("version"));
    if head.session.is_none() {
        head.session = record.text("sessionId");
        if record.is_true("isSidechain") && carry.id.starts_with("agent-") {
            head.parent = head.parent.take().or_else(|| head.session.clone());
        } else if is_uuid(&carry.id) && head.session.as_ref() != Some(&carry.id) {
            head.fork_of = head.session.clone();
        }
    }
    if head.fork_of.is_none()
        && let Some(fork) = record.object("forkedFrom")
    {
        head.fork_of = fork.text("sessionId");
    }
}

/// Stores the value; does not decode it if it is unchanged.
fn note(kept: &mut Option<String>, value: Option<Raw<'_>>) {
    if let Some(value) = value
        && !kept.as_ref().is_some_and(|kept| value.is(kept))
    {
        *kept = value.text().filter(|text| !text.is_empty());
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::super::ReadMode;
    use super::super::fixture::log;
    use super::*;

    #[test]
    fn a_log_is_read_line_by_line_unless_it_is_compressed() {
        let plain = log(Agent::ClaudeCode, Path::new("a.jsonl"));
        assert!(matches!(plain.read_mode(), ReadMode::Lines(_)));
        let packed = log(Agent::ClaudeCode, Path::new("a.jsonl.zst"));
        assert!(matches!(packed.read_mode(), ReadMode::Whole));
    }
}
