//! Claude Code: transcripts of sessions and of their subagents.
//!
//! One record a line, one block of a reply a record: the lines of a reply share
//! `message.id`. A fork copies records with their `uuid`, so copies can be told.

use std::path::{Path, PathBuf};

use super::content::{self, Speaker};
use super::decode::{Decode, Seen, Sink, Source, Stamp};
use super::json::{Object, Raw};
use super::{Agent, Format, Head, LogFile, Naming, Origin, Places, Resume, Role, place};

pub(super) const FORMAT: Format = Format {
    agent: Agent::ClaudeCode,
    name: "claude-code",
    locate,
    decode: Decode::Records(record),
    resume,
};

/// Records that hold no words.
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
    "progress",
    "result",
    "started",
];

fn locate(places: &Places) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for root in &places.claude {
        for project in place::entries(&root.join("projects")) {
            for path in place::entries(&project) {
                if let Some(id) = place::stem(&path, ".jsonl") {
                    logs.extend(place::found(Agent::ClaudeCode, path, id));
                } else {
                    logs.extend(subagents(&path));
                }
            }
        }
    }
    logs
}

/// Returns the logs of the agents that the session in this directory started.
fn subagents(session: &Path) -> Vec<LogFile> {
    let parent = place::name(session);
    place::files_under(&session.join("subagents"))
        .into_iter()
        .filter_map(|path| {
            let id = place::stem(&path, ".jsonl").filter(|id| id.starts_with("agent-"))?;
            let mut log = place::found(Agent::ClaudeCode, path, id)?;
            log.parent = Some(parent.clone());
            log.title = description(&log.path.with_extension("meta.json"));
            Some(log)
        })
        .collect()
}

/// Returns what a subagent was started for, from the file beside its log.
fn description(meta: &Path) -> Option<String> {
    let bytes = place::bytes(meta).ok()?;
    let (meta, _) = super::json::object(bytes.trim_ascii_start()).ok()?;
    meta.text("description").or_else(|| meta.text("agentType"))
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() || log.id.starts_with("agent-") {
        return None;
    }
    Some(Resume {
        program: "claude",
        args: vec!["--resume".to_owned(), log.id.clone()],
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Seen {
    match record.word("type") {
        Some("user") => user(record, sink),
        Some("assistant") => assistant(record, sink),
        Some("system") => system(record, sink),
        Some("attachment") => attachment(record, sink),
        Some("queue-operation") => queue(record, sink),
        Some("summary") => summary(record, sink),
        Some("ai-title") => entitle(Naming::Ai, record.text("aiTitle"), sink),
        Some("custom-title") => entitle(Naming::Custom, record.text("customTitle"), sink),
        Some(other) if WORDLESS.contains(&other) => {}
        _ => return Seen::Unknown,
    }
    Seen::Known
}

fn user(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    let Some(content) = content_of(record, sink) else {
        return;
    };
    if record.is_true("isCompactSummary") {
        sink.notice(content::flat(content));
        return;
    }
    let speaker = match is_injected(record) {
        true => Speaker::Program,
        false => Speaker::Person,
    };
    content::take(content, speaker, sink);
}

/// Tells whether the record's own fields say that no person typed it.
fn is_injected(record: &Object<'_>) -> bool {
    record.is_true("isMeta")
        // A subagent is asked by the agent that started it.
        || record.is_true("isSidechain")
        // The body of a skill that a tool call loaded.
        || record.get("sourceToolUseID").is_some()
        || record.is("promptSource", "system")
        || record
            .object("origin")
            .is_some_and(|origin| origin.get("kind").is_some() && !origin.is("kind", "human"))
}

fn assistant(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    let message = record.object("message").unwrap_or_default();
    let is_local = message.is("model", "<synthetic>") || record.is_true("isApiErrorMessage");
    if !is_local {
        note(&mut sink.head().model, message.get("model"));
    }
    let Some(content) = content_of(record, sink) else {
        return;
    };
    if is_local {
        sink.notice(content::flat(content));
    } else {
        content::take(content, Speaker::Model, sink);
    }
}

/// Returns the message's content and stamps its id; some records hold it bare.
fn content_of<'a>(record: &Object<'a>, sink: &mut Sink<'_>) -> Option<Raw<'a>> {
    let raw = record.get("message")?;
    let Some(message) = raw.object() else {
        return Some(raw);
    };
    sink.stamp.reply = message.text("id");
    message.get("content")
}

fn system(record: &Object<'_>, sink: &mut Sink<'_>) {
    envelope(record, sink);
    if record.is("subtype", "api_error") {
        // Only the message: the rest holds headers that name the account.
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
            if sink.is_double(Source::Conversation, Role::User, &text) {
                return;
            }
            let is_person = attachment
                .object("origin")
                .is_none_or(|origin| origin.is("kind", "human"));
            match is_person && !attachment.is("commandMode", "task-notification") {
                true => sink.prompt(text),
                false => sink.say(Role::User, Origin::Injected, text),
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

/// Follows prompts that were typed while Claude worked.
///
/// One that is taken out of the queue at the end of a turn (`dequeue`) comes again as a
/// record of its own. One that is taken out within a turn (`remove`) did not before
/// version 2.1.98, so it is used here, and its later copy is left out.
fn queue(record: &Object<'_>, sink: &mut Sink<'_>) {
    sink.stamp.time = record.time("timestamp");
    match record.word("operation") {
        Some("enqueue") => {
            let text = record.text("content").unwrap_or_default();
            sink.carry.queue.push_back(text);
        }
        Some("dequeue") => drop(sink.carry.queue.pop_front()),
        Some("remove") => {
            let text = sink.carry.queue.pop_front().unwrap_or_default();
            if !text.is_empty() && !sink.is_double(Source::Account, Role::User, &text) {
                sink.prompt(text);
            }
        }
        Some("popAll") => sink.carry.queue.clear(),
        _ => {}
    }
}

/// Takes a summary as title if it is of this session: old files begin with those of others.
fn summary(record: &Object<'_>, sink: &mut Sink<'_>) {
    let Some(text) = record.text("summary") else {
        return;
    };
    match record.text("leafUuid") {
        Some(leaf) if sink.carry.head.session.is_none() => {
            sink.carry.summaries.push((leaf, text));
        }
        _ => sink.head().entitle(Naming::Summary, text),
    }
}

fn entitle(naming: Naming, title: Option<String>, sink: &mut Sink<'_>) {
    sink.head().entitle(naming, title.unwrap_or_default());
}

/// Stamps what follows, and learns what the record says of its session.
fn envelope(record: &Object<'_>, sink: &mut Sink<'_>) {
    sink.stamp = Stamp {
        time: record.time("timestamp"),
        id: record.text("uuid"),
        ..Stamp::default()
    };
    let carry = &mut *sink.carry;
    if !carry.summaries.is_empty()
        && let Some((_, text)) = carry
            .summaries
            .iter()
            .find(|(leaf, _)| Some(leaf) == sink.stamp.id.as_ref())
    {
        carry.head.entitle(Naming::Summary, text.clone());
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

/// Keeps the value, at no cost where it is the one already kept.
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
