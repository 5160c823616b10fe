//! Claude Code: transcripts of sessions and of their subagents.
//!
//! Each line is a record, and each block of a reply is a record of its own: the lines of a
//! reply share `message.id`. A fork copies records with their `uuid`, which identifies copies.

use std::path::{Path, PathBuf};

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::{Object, Raw};
use super::sink::{RecordStamp, Sink, TextSource};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Message, MessageKind, Origin, Resume, Role,
    TitleSource, fork, location, option, origin,
};
use crate::core::disk::parallel::on_all_cores;

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
    /// How many projects are worth threads, and how many each then lists at a time.
    const WORTH_THREADS: usize = 8;
    const TOGETHER: usize = 2;
    let forks = fork::homes_of(locations, Agent::ClaudeCode);
    let roots = locations.claude.iter().chain(&forks);
    let projects = roots.flat_map(|root| location::entries(&root.join("projects")));
    let projects: Vec<PathBuf> = projects.collect();
    let together = match projects.len() {
        0..WORTH_THREADS => WORTH_THREADS,
        _ => TOGETHER,
    };
    let chunks: Vec<&[PathBuf]> = projects.chunks(together).collect();
    let logs = on_all_cores(chunks.len(), |chunk| {
        let logs = chunks[chunk].iter().flat_map(|project| {
            let (mut found, others) = location::logs_in(project, Agent::ClaudeCode, ".jsonl");
            found.extend(others.iter().flat_map(|session| subagents(session)));
            found
        });
        logs.collect::<Vec<LogFile>>()
    });
    super::joined(logs)
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
    let bytes = location::bytes(meta).ok()?;
    let (meta, _) = super::json::object(bytes.trim_ascii_start()).ok()?;
    meta.text("description").or_else(|| meta.text("agentType"))
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() || log.id.starts_with("agent-") {
        return None;
    }
    Some(Resume {
        program: fork::program(Agent::ClaudeCode, "claude", &log.path)?,
        args: option("--resume", &log.id),
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
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
    sink.notice(content.map_or_else(String::new, content::flat));
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
            let text = attachment
                .get("prompt")
                .map_or_else(String::new, content::flat);
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
            let text = attachment
                .get("content")
                .map_or_else(String::new, content::flat);
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
            let text = record.text("content").unwrap_or_default();
            if sink.carry.queue.len() == KEPT {
                sink.carry.queue.pop_front();
            }
            sink.carry.queue.push_back(text);
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
            if let Some(at) = queue.iter().position(|queued| *queued == text) {
                queue.remove(at);
            }
            text
        }
        None => queue.pop_front().unwrap_or_default(),
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
    sink.stamp = RecordStamp {
        time: record.time("timestamp"),
        id: record.text("uuid"),
        ..RecordStamp::default()
    };
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
    use super::super::fixture::{Home, describe_messages, log, read_bytes};
    use super::super::{MessageKind, Transcript, read};
    use super::*;

    const SESSION: &str = "11111111-2222-4333-8444-555555555555";

    fn read_claude(lines: &[&str]) -> Transcript {
        read_bytes(Agent::ClaudeCode, lines.join("\n"))
    }

    #[test]
    fn every_kind_of_record_gives_what_it_holds() {
        let transcript = read_claude(&[
            r#"{"type":"user","uuid":"u1","timestamp":"2026-08-01T10:00:00.000Z","cwd":"/repo","gitBranch":"main","version":"2.1.219","sessionId":"s","message":{"role":"user","content":"fix the parser"},"toolUseResult":{"stdout":"not this"}}"#,
            r#"{"message":{"id":"m1","model":"opus","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"xx"}]},"type":"assistant","uuid":"u2"}"#,
            r#"{"message":{"id":"m1","model":"opus","role":"assistant","content":[{"type":"text","text":"on it"}]},"type":"assistant","uuid":"u3"}"#,
            r#"{"message":{"id":"m1","model":"opus","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls \"a\""}}]},"type":"assistant","uuid":"u4"}"#,
            r#"{"type":"user","uuid":"u5","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"one"},{"type":"image","source":{"data":"AAAA"}},{"type":"text","text":"two"}]}]}}"#,
            r#"{"type":"assistant","uuid":"u6","message":{"id":"m2","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}"#,
            r#"{"type":"system","subtype":"compact_boundary","content":"Conversation compacted","uuid":"u7"}"#,
            r#"{"type":"user","isCompactSummary":true,"uuid":"u8","message":{"content":"This session is being continued"}}"#,
            r#"{"type":"system","subtype":"api_error","uuid":"u9","error":{"message":"overloaded","headers":{"anthropic-organization-id":"private"}}}"#,
            r#"{"type":"progress","data":{"type":"agent_progress","message":"not this either"}}"#,
            r#"{"type":"system","subtype":"turn_duration","durationMs":5}"#,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 user text: fix the parser",
                "2 assistant thinking: hm",
                "3 assistant text: on it",
                "4 assistant tool-call Bash: command: ls \"a\"",
                "5 tool tool-result Bash: one\n[image]\ntwo",
                "6 system notice*: API Error",
                "7 system notice*: Conversation compacted",
                "8 system notice*: This session is being continued",
                "9 system notice*: overloaded",
            ]
        );
        let head = transcript.head;
        assert_eq!(head.cwd.as_deref(), Some("/repo"));
        assert_eq!(head.branch.as_deref(), Some("main"));
        assert_eq!(head.model.as_deref(), Some("opus"));
        assert_eq!(head.version.as_deref(), Some("2.1.219"));
        assert_eq!(head.turns, 1);
        assert_eq!(transcript.skipped.total(), 0);
    }

    #[test]
    fn a_reply_streamed_over_three_lines_can_be_merged_by_its_id() {
        let line = |uuid: &str, text: &str| {
            format!(
                r#"{{"type":"assistant","uuid":"{uuid}","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        let lines = [line("u1", "a"), line("u2", "b"), line("u3", "c")];
        let messages = read_bytes(Agent::ClaudeCode, lines.join("\n")).messages;
        let ids: Vec<_> = messages
            .iter()
            .filter_map(|message| message.id.as_deref())
            .collect();
        assert_eq!(ids, ["u1", "u2", "u3"]);
        assert!(
            messages
                .iter()
                .all(|message| message.reply.as_deref() == Some("m"))
        );
    }

    #[test]
    fn what_no_person_typed_is_marked() {
        let transcript = read_claude(&[
            r#"{"type":"user","isMeta":true,"message":{"content":"meta"}}"#,
            r#"{"type":"user","sourceToolUseID":"t","message":{"content":[{"type":"text","text":"skill"}]}}"#,
            r#"{"type":"user","origin":{"kind":"task-notification"},"message":{"content":"done"}}"#,
            r#"{"type":"user","origin":{"kind":"human"},"promptSource":"typed","message":{"content":"mine"}}"#,
            r#"{"type":"user","isSidechain":true,"message":{"content":"task"}}"#,
            r#"{"type":"user","message":{"content":"<local-command-stdout>out</local-command-stdout>"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"<system-reminder>r</system-reminder>\nand mine"}]}}"#,
            r#"{"type":"user","message":{"content":"<command-name>/go</command-name><command-args>far</command-args>"}}"#,
            r#"{"type":"attachment","attachment":{"type":"hook_additional_context","content":["from a","hook"]}}"#,
            r#"{"type":"attachment","attachment":{"type":"nested_memory","path":"p","content":{"content":"rules"}}}"#,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 system text*: meta",
                "2 system text*: skill",
                "3 system text*: done",
                "4 user text: mine",
                "5 assistant text^: task",
                "6 system text*: <local-command-stdout>out</local-command-stdout>",
                "7 system text*: <system-reminder>r</system-reminder>",
                "7 user text: and mine",
                "8 user text: /go far",
                "9 system text*: from a\nhook",
                "10 system text*: rules",
            ]
        );
        assert_eq!(transcript.head.turns, 3);
    }

    #[test]
    fn an_accepted_plan_is_the_models_and_names_the_session() {
        let transcript = read_claude(&[
            r##"{"type":"user","planContent":"# Parser","message":{"content":"Implement the following plan:\n\n# Parser\n\nSplit it."}}"##,
            r##"{"type":"user","planContent":"# Other","message":{"content":"Do this:\n\n# Other"}}"##,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 assistant text: Implement the following plan:\n\n# Parser\n\nSplit it.",
                "2 assistant text: Do this:\n\n# Other",
            ]
        );
        assert_eq!(transcript.head.turns, 0);
        assert!(!transcript.head.is_empty());
        assert_eq!(transcript.head.title.as_deref(), Some("Other"));
    }

    #[test]
    fn what_a_user_says_inside_of_tool_results_is_the_users() {
        let transcript = read_claude(&[
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Edit","input":{}},{"type":"tool_use","id":"t2","name":"AskUserQuestion","input":{}}]}}"#,
            r#"{"type":"user","toolUseResult":"Error","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot that file"}]}}"#,
            r#"{"type":"user","toolUseResult":{"questions":[{"question":"Which?","options":[{"label":"A"}]}],"answers":{"Which?":"neither"}},"message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"User has answered your questions"}]}}"#,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages)[2..],
            [
                "2 tool tool-result Edit: The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:",
                "2 user text: not that file",
                "3 tool tool-result AskUserQuestion: User has answered your questions",
                "3 user text: neither",
            ]
        );
        assert_eq!(transcript.head.turns, 2);
    }

    #[test]
    fn a_result_knows_its_call_and_an_empty_one_stays() {
        let transcript = read_claude(&[
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}},{"type":"tool_use","id":"t2","name":"Task","input":{}}]}}"#,
            r#"{"type":"user","toolUseResult":{"agentId":"a1","status":"completed"},"message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"done"}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":""}]}}"#,
        ]);
        let of = |message: &Message| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            [&message.tool, &message.call, &message.subagent].map(text)
        };
        assert_eq!(of(&transcript.messages[2]), ["Task", "t2", "agent-a1"]);
        assert_eq!(of(&transcript.messages[3]), ["Bash", "t1", ""]);
        assert_eq!(transcript.messages[3].text, "");
        let early = read_claude(&[
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"files"}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#,
        ]);
        assert_eq!(of(&early.messages[0]), ["Bash", "t1", ""]);
    }

    #[test]
    fn a_queued_prompt_is_read_once_wherever_it_stands() {
        let transcript = read_claude(&[
            r#"{"type":"queue-operation","operation":"enqueue","content":"comes as a record"}"#,
            r#"{"type":"queue-operation","operation":"dequeue"}"#,
            r#"{"type":"user","uuid":"u","message":{"content":"comes as a record"}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"comes nowhere else"}"#,
            r#"{"type":"queue-operation","operation":"remove"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"comes as attachment"}"#,
            r#"{"type":"queue-operation","operation":"remove"}"#,
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"comes as attachment"}}"#,
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"only attached"}]}}"#,
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"done","commandMode":"task-notification"}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"taken back"}"#,
            r#"{"type":"queue-operation","operation":"popAll"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"first in"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"first out"}"#,
            r#"{"type":"queue-operation","operation":"remove","content":"first out"}"#,
            r#"{"type":"queue-operation","operation":"remove"}"#,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "3 user text: comes as a record",
                "5 user text: comes nowhere else",
                "7 user text: comes as attachment",
                "9 user text: only attached",
                "10 system text*: done",
                "15 user text: first out",
                "16 user text: first in",
            ]
        );
    }

    #[test]
    fn content_of_any_shape_is_taken() {
        let transcript = read_claude(&[
            r#"{"type":"user","message":{"content":null}}"#,
            r#"{"type":"user","message":{"content":17}}"#,
            r#"{"type":"user","message":{"content":{"type":"text","text":"an object"}}}"#,
            r#"{"type":"user","message":{"content":["bare",null,3,{"type":"text"},{"type":"new","text":"kind"}]}}"#,
            r#"{"type":"user","message":"no object"}"#,
            r#"{"type":"user"}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result"},{"type":"tool_result","content":{"text":"odd"}}]}}"#,
            r#"{"type":"assistant","message":{"content":"a string"}}"#,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "3 user text: an object",
                "4 user text: bare",
                "4 user text: kind",
                "5 user text: no object",
                "7 tool tool-result: odd",
                "8 assistant text: a string",
            ]
        );
    }

    #[test]
    fn records_that_are_their_own_parents_are_read_in_the_order_of_the_file() {
        let transcript = read_claude(&[
            r#"{"type":"user","uuid":"a","parentUuid":"a","message":{"content":"self"}}"#,
            r#"{"type":"user","uuid":"b","parentUuid":"c","message":{"content":"first"}}"#,
            r#"{"type":"user","uuid":"c","parentUuid":"b","message":{"content":"second"}}"#,
        ]);
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 user text: self",
                "2 user text: first",
                "3 user text: second"
            ]
        );
    }

    #[test]
    fn times_that_are_missing_or_malformed_are_no_times() {
        let transcript = read_claude(&[
            r#"{"type":"user","timestamp":"not a time","message":{"content":"a"}}"#,
            r#"{"type":"user","timestamp":"","message":{"content":"b"}}"#,
            r#"{"type":"user","timestamp":"2026-08-01T10:00:00Z","message":{"content":"c"}}"#,
        ]);
        let times: Vec<_> = transcript
            .messages
            .iter()
            .map(|message| message.time)
            .collect();
        assert_eq!(times, [None, None, Some(1_785_578_400_000)]);
    }

    #[test]
    fn a_custom_title_beats_a_made_one_and_that_a_summary() {
        let summary = r#"{"type":"summary","summary":"of this one","leafUuid":"u"}"#;
        let foreign = r#"{"type":"summary","summary":"of another","leafUuid":"elsewhere"}"#;
        let user = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"content":"a"}}"#;
        let made = r#"{"type":"ai-title","aiTitle":"made"}"#;
        let given = r#"{"type":"custom-title","customTitle":"given"}"#;
        let title = |lines: &[&str]| read_claude(lines).head.title;
        assert_eq!(
            title(&[summary, foreign, user]).as_deref(),
            Some("of this one")
        );
        assert_eq!(title(&[foreign, user]), None);
        assert_eq!(title(&[user, foreign]), None);
        assert_eq!(title(&[user, summary]).as_deref(), Some("of this one"));
        assert_eq!(
            title(&[given, user, made, summary]).as_deref(),
            Some("given")
        );
        assert_eq!(title(&[user, made, summary]).as_deref(), Some("made"));
    }

    #[test]
    fn sessions_and_subagents_of_both_layouts_are_found() {
        let home = Home::new();
        let project = ".claude/projects/-repo";
        home.write(&format!("{project}/{SESSION}.jsonl"), "");
        home.write(
            &format!("{project}/agent-12345678.jsonl"),
            format!(r#"{{"type":"user","isSidechain":true,"sessionId":"{SESSION}","message":{{"content":"a"}}}}"#),
        );
        home.write(&format!("{project}/{SESSION}/subagents/agent-a1.jsonl"), "");
        home.write(
            &format!("{project}/{SESSION}/subagents/agent-a1.meta.json"),
            r#"{"agentType":"general-purpose","description":"look around"}"#,
        );
        home.write(
            &format!("{project}/{SESSION}/subagents/workflows/wf/agent-b2.jsonl"),
            "",
        );
        home.write(
            &format!("{project}/{SESSION}/subagents/workflows/wf/journal.jsonl"),
            "",
        );
        home.write(&format!("{project}/memory/MEMORY.md"), "");
        let logs = home.locate();
        let found: Vec<_> = logs
            .iter()
            .map(|log| (log.id.as_str(), log.parent.as_deref(), log.title.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                ("agent-a1", Some(SESSION), Some("look around")),
                ("agent-b2", Some(SESSION), None),
                (SESSION, None, None),
                ("agent-12345678", None, None),
            ]
        );
        let flat = read(&logs[3]).expect("it is there").head;
        assert_eq!(flat.parent.as_deref(), Some(SESSION));
        assert_eq!(logs[0].resume(&Head::default()), None);
        assert_eq!(logs[3].resume(&flat), None);
    }

    #[test]
    fn what_a_subagent_did_is_told_with_its_log() {
        let step = |kind: &str, content: &str| {
            format!(
                r#"{{"type":"progress","data":{{"type":"agent_progress","agentId":"a1","message":{{"type":"{kind}","uuid":"{kind}","message":{{"role":"{kind}","content":[{content}]}}}}}}}}"#
            )
        };
        let lines = [
            step("user", r#"{"type":"text","text":"look"}"#),
            step(
                "assistant",
                r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}"#,
            ),
            step(
                "user",
                r#"{"type":"tool_result","tool_use_id":"t1","content":"files"}"#,
            ),
            r#"{"type":"progress","data":{"type":"bash_progress","output":"x"}}"#.to_owned(),
        ];
        let transcript = read_bytes(Agent::ClaudeCode, lines.join("\n"));
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 assistant text^: look",
                "2 assistant tool-call Bash: command: ls",
                "3 tool tool-result Bash: files",
            ]
        );
        let mut logs = transcript
            .messages
            .iter()
            .map(|message| message.subagent.as_deref());
        assert!(logs.all(|log| log == Some("agent-a1")));
        assert_eq!(transcript.head.turns, 0);
    }

    #[test]
    fn a_record_that_is_written_again_is_read_once() {
        let record =
            format!(r#"{{"type":"user","uuid":"{SESSION}","message":{{"content":"one"}}}}"#);
        let other = r#"{"type":"user","message":{"content":"other"}}"#;
        let lines = [record.as_str(), other, &record].join("\n");
        let said = describe_messages(&read_bytes(Agent::ClaudeCode, lines).messages);
        assert_eq!(said, ["1 user text: one", "2 user text: other"]);
    }

    #[test]
    fn a_copy_names_the_session_that_it_was_made_from() {
        let home = Home::new();
        let copy = "99999999-2222-4333-8444-555555555555";
        home.write(
            &format!(".claude/projects/-repo/{copy}.jsonl"),
            format!(r#"{{"type":"user","uuid":"u","cwd":"/repo","sessionId":"{SESSION}","message":{{"content":"a"}}}}"#),
        );
        let logs = home.locate();
        let transcript = read(&logs[0]).expect("it is there");
        assert_eq!(transcript.head.fork_of.as_deref(), Some(SESSION));
        assert_eq!(transcript.messages[0].id.as_deref(), Some("u"));
        assert_eq!(transcript.messages[0].kind, MessageKind::Text);
        let resume = logs[0]
            .resume(&transcript.head)
            .expect("it can be continued");
        assert_eq!(resume.args, ["--resume", copy]);
        assert_eq!(resume.cwd, Some(PathBuf::from("/repo")));
        let marked = read_claude(&[
            r#"{"type":"user","forkedFrom":{"sessionId":"old","messageUuid":"m"},"message":{"content":"a"}}"#,
        ]);
        assert_eq!(marked.head.fork_of.as_deref(), Some("old"));
    }

    #[test]
    fn a_log_is_read_line_by_line_unless_it_is_compressed() {
        use super::super::ReadMode;
        let plain = log(Agent::ClaudeCode, Path::new("a.jsonl"));
        assert!(matches!(plain.read_mode(), ReadMode::Lines(_)));
        let packed = log(Agent::ClaudeCode, Path::new("a.jsonl.zst"));
        assert!(matches!(packed.read_mode(), ReadMode::Whole));
    }
}
