//! Codex: rollouts, plain and compressed, current and in the bare form of mid-2025.
//!
//! A rollout has each message twice: as sent to the model (`response_item`) and as recorded
//! by the program (`event_msg`). Whichever comes first is used.

use std::collections::HashMap;
use std::path::Path;

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink, TextSource, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, TitleSource, fork, location,
    origin,
};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Codex,
    name: "codex",
    locate,
    decode: Decode::Records(record),
    resume,
};

/// Types of records without text.
const WORDLESS: &[&str] = &[
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "security_risk_score",
    "world_state",
];

/// How the result of the call that started a subagent begins in the subagent's own log, where it
/// ends the copy of the parent's conversation.
pub(super) const SPAWNED: &str = "You are the newly spawned agent.";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    let forks = fork::homes_of(locations, Agent::Codex);
    for home in locations.codex.iter().chain(&forks) {
        let titles = titles(&home.join("session_index.jsonl"));
        let directories = ["sessions", "archived_sessions"];
        let mut rollouts: Vec<LogFile> = directories
            .iter()
            .flat_map(|directory| {
                location::logs_under(Agent::Codex, home.join(directory), &stem_of)
            })
            .collect();
        // A log and its compressed or archived copy, which have the same name, count once.
        let is_compressed = |log: &LogFile| location::is_compressed(&log.path);
        rollouts.sort_by(|a, b| {
            let plain_first = || is_compressed(a).cmp(&is_compressed(b));
            a.id.cmp(&b.id).then_with(plain_first)
        });
        rollouts.dedup_by(|later, first| later.id == first.id);
        for log in rollouts {
            let id = id_of(&log.id);
            let title = titles.get(&id).cloned();
            logs.push(LogFile { id, title, ..log });
        }
    }
    logs
}

fn stem_of(name: &str) -> Option<String> {
    let plain = name.strip_suffix(".zst").unwrap_or(name);
    plain.strip_suffix(".jsonl").map(str::to_owned)
}

/// Returns the id at the end of `rollout-<time>-<id>`.
fn id_of(stem: &str) -> String {
    const TIME: usize = "2026-01-02T03-04-05-".len();
    stem.strip_prefix("rollout-")
        .and_then(|rest| rest.get(TIME..))
        .filter(|id| !id.is_empty())
        .unwrap_or(stem)
        .to_owned()
}

/// Returns the names that the user gave to sessions; the last line of each session counts.
fn titles(index: &Path) -> HashMap<String, String> {
    let bytes = location::bytes(index).unwrap_or_default();
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let (entry, _) = json::object(line.trim_ascii()).ok()?;
            Some((entry.text("id")?, entry.text("thread_name")?))
        })
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    let id = head.session.clone().unwrap_or_else(|| log.id.clone());
    // The id is a plain argument: one that starts with `-` would be taken for an option.
    if id.starts_with('-') {
        return None;
    }
    Some(Resume::by(
        fork::program(Agent::Codex, "codex", &log.path)?,
        vec!["resume".to_owned(), id],
        head,
    ))
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp.time = record.time("timestamp");
    let Some(payload) = record.object("payload") else {
        return bare(record, sink);
    };
    match record.word("type") {
        Some("session_meta") => meta(&payload, sink),
        Some("turn_context") => context(&payload, sink),
        Some("response_item") => return item(&payload, sink),
        Some("event_msg") => event(&payload, sink),
        Some("compacted") => sink.notice(payload.text("message").unwrap_or_default()),
        Some(other) if WORDLESS.contains(&other) => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Decodes a record of the old form, which has no payload.
fn bare(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    if record.get("type").is_some() {
        return item(record, sink);
    }
    if record.get("record_type").is_some() {
        return Recognized::Known;
    }
    if record.get("id").is_none() {
        return Recognized::Unknown;
    }
    meta(record, sink);
    let instructions = record.text("instructions").unwrap_or_default();
    sink.say(Role::System, Origin::Injected, instructions);
    Recognized::Known
}

/// Reads the metadata of the first header; later ones are of the sessions that it copies.
fn meta(payload: &Object<'_>, sink: &mut Sink<'_>) {
    let head = sink.head();
    if head.session.is_some() {
        // A subagent may begin with a copy of the conversation of its parent.
        sink.carry.is_copying = head.parent.is_some() && payload.text("id") == head.parent;
        return;
    }
    head.session = payload.text("id");
    head.cwd = payload.text("cwd");
    head.version = payload.text("cli_version");
    head.branch = payload.object("git").and_then(|git| git.text("branch"));
    head.fork_of = payload.text("forked_from_id");
    let spawned = || {
        let source = payload.object("source")?;
        source.get("subagent")?;
        let spawn = source.object("subagent").unwrap_or_default();
        let spawn = spawn.object("thread_spawn").unwrap_or_default();
        let parent = spawn.text("parent_thread_id");
        // A reviewer does not say for whom.
        Some(
            parent
                .or_else(|| payload.text("forked_from_id"))
                .unwrap_or_default(),
        )
    };
    head.parent = payload.text("parent_thread_id").or_else(spawned);
}

fn context(payload: &Object<'_>, sink: &mut Sink<'_>) {
    let head = sink.head();
    head.note_model(payload.text("model"));
    head.cwd = head.cwd.take().or_else(|| payload.text("cwd"));
}

fn item(item: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(sink.stamp.time, item.text("id"));
    match item.word("type") {
        Some("message") => message(item, sink),
        // Sent by another agent; what this one says is a message.
        Some("agent_message") => {
            let text = content::flat(item.get("content"));
            sink.add(Speaker::Agent, text);
        }
        Some("reasoning") => {
            for part in item.items("summary").chain(item.items("content")) {
                let text = part.object().and_then(|part| part.text("text"));
                think(TextSource::Conversation, text.unwrap_or_default(), sink);
            }
        }
        Some(kind @ ("function_call" | "custom_tool_call" | "tool_search_call")) => {
            let input = item.get("arguments").or_else(|| item.get("input"));
            let tool = item.text("name").unwrap_or_else(|| kind.to_owned());
            sink.call_tool(ToolUse::new(
                item.text("call_id"),
                Some(tool),
                content::outline(input),
            ));
        }
        Some(kind @ ("local_shell_call" | "web_search_call" | "image_generation_call")) => {
            sink.call_tool(ToolUse::new(
                item.text("call_id"),
                Some(kind.trim_end_matches("_call").to_owned()),
                item.get("action").map_or_else(String::new, Raw::outline),
            ));
        }
        Some("function_call_output" | "custom_tool_call_output" | "tool_search_output") => {
            let tools = || item.get("tools").map(Raw::outline);
            let output = item.get("output");
            let has_failed = output.is_some_and(has_failed);
            let output = output.map(|output| {
                if has_failed {
                    content::flat(output)
                } else {
                    content::output(output, sink)
                }
            });
            let output = output.or_else(tools);
            let output = unpack(output.unwrap_or_default());
            if output.starts_with(SPAWNED) {
                sink.carry.is_copying = false;
            }
            sink.tool_result(ToolUse {
                id: item.text("call_id"),
                subagent: spawned(&output),
                text: output,
                has_failed,
                ..ToolUse::default()
            });
        }
        Some("compaction" | "context_compaction" | "compaction_summary" | "ghost_snapshot") => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

fn message(item: &Object<'_>, sink: &mut Sink<'_>) {
    let role = match item.word("role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let parts = item.items("content").map(content::flat);
    for text in item.text("content").into_iter().chain(parts) {
        if text == content::IMAGE {
            sink.show(role, &text);
        } else if role == Role::System {
            sink.say(role, Origin::Injected, text);
        } else {
            say(TextSource::Conversation, role, text, sink);
        }
    }
}

/// Adds text, unless the other source has already given it. Memories that a reply cites are calls.
fn say(source: TextSource, role: Role, text: String, sink: &mut Sink<'_>) {
    if role == Role::User {
        if !text.trim().is_empty() && !sink.is_duplicate(source, role, &text) {
            match typed_of_saved(&text) {
                Some((before, typed, after)) => {
                    sink.add(Speaker::Program, before.trim().to_owned());
                    sink.prompt(typed.to_owned());
                    sink.add(Speaker::Program, after.trim().to_owned());
                }
                None => sink.prompt(text),
            }
        }
        return;
    }
    let (text, cited) = split_citations(&text);
    if !text.trim().is_empty() && !sink.is_duplicate(source, role, &text) {
        sink.say(role, Origin::Written, text);
    }
    for citation in cited {
        // One of the sources may leave them out.
        if !sink.is_duplicate(source, Role::Tool, &citation) {
            sink.call(Some(MEMORY_CITATION.to_owned()), citation);
        }
    }
}

/// Returns what stands before, in and behind the arguments of a saved prompt that was called by its
/// name; `None` if the text is none. Such a text begins with the file's header, or with the line break
/// below it; what is typed never does. The arguments are mostly in a first fence.
fn typed_of_saved(text: &str) -> Option<(&str, &str, &str)> {
    const FENCE: &str = "\n```text\n";
    let has_header = text.starts_with("---\n") && text.contains("$ARGUMENTS");
    let is_list = || {
        origin::LISTS
            .iter()
            .any(|list| text.trim_start().starts_with(list))
    };
    if !has_header && (!text.starts_with('\n') || is_list()) {
        return None;
    }
    let (before, rest) = text.split_once(FENCE).unwrap_or((text, ""));
    let (typed, after) = rest.split_once("\n```").unwrap_or(("", rest));
    let is_first = before.trim().lines().count() == 1 && typed != "$ARGUMENTS";
    Some(if is_first && !has_header {
        (before, typed, after)
    } else {
        (text, "", "")
    })
}

/// The tool that memories which a reply cites are shown as.
const MEMORY_CITATION: &str = "memory_citation";

/// Returns a reply without the block in which it cites memories, and each of them as the arguments
/// of a call. The block is for the program: `FILE:FIRST-LAST|note=[…]` on each line.
fn split_citations(reply: &str) -> (String, Vec<String>) {
    const OPEN: &str = "<oai-mem-citation>";
    const CLOSE: &str = "</oai-mem-citation>";
    let citation = |line: &str| {
        let (place, note) = line.trim().split_once("|note=")?;
        let (path, lines) = place.rsplit_once(':')?;
        let note = note.trim_start_matches('[').trim_end_matches(']');
        Some(format!("path: {path}\nlines: {lines}\nnote: {note}"))
    };
    let (mut text, mut cited) = (String::new(), Vec::new());
    let mut rest = reply;
    while let Some((before, behind)) = rest.split_once(OPEN) {
        // A reply that was cut off has no end of the block.
        let (block, after) = behind.split_once(CLOSE).unwrap_or((behind, ""));
        text.push_str(before.trim_end());
        cited.extend(block.lines().filter_map(citation));
        rest = after;
    }
    text.push_str(rest);
    (text, cited)
}

fn think(source: TextSource, text: String, sink: &mut Sink<'_>) {
    if !text.trim().is_empty() && !sink.is_duplicate(source, Role::System, &text) {
        sink.think(text);
    }
}

fn event(payload: &Object<'_>, sink: &mut Sink<'_>) {
    let text = |key| payload.text(key).unwrap_or_default();
    match payload.word("type") {
        Some("user_message") => say(TextSource::Account, Role::User, text("message"), sink),
        Some("agent_message") => say(TextSource::Account, Role::Assistant, text("message"), sink),
        Some("agent_reasoning") => think(TextSource::Account, text("text"), sink),
        Some("item_completed") => {
            if let Some(item) = payload.object("item") {
                completed(&item, sink);
            }
        }
        Some("thread_name_updated") => {
            let name = payload.text("thread_name").or_else(|| payload.text("name"));
            sink.head()
                .set_title(TitleSource::Custom, name.unwrap_or_default());
        }
        Some("turn_aborted") => sink.notice(format!("Turn aborted: {}", text("reason"))),
        Some("error" | "stream_error" | "warning") => sink.notice(text("message")),
        // Everything else repeats the items or counts tokens.
        _ => {}
    }
}

/// Decodes an item of the paginated form, which replaced the events.
fn completed(item: &Object<'_>, sink: &mut Sink<'_>) {
    let role = match item.word("type") {
        Some("UserMessage" | "userMessage" | "user_message") => Role::User,
        Some("AgentMessage" | "agentMessage" | "agent_message") => Role::Assistant,
        _ => return,
    };
    let parts = item.items("content").map(content::flat);
    for text in item.text("text").into_iter().chain(parts) {
        say(TextSource::Account, role, text, sink);
    }
}

/// Whether an output is of a call that failed or was refused.
fn has_failed(output: Raw<'_>) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "apply_patch verification failed",
        "patch rejected",
        "exec_command failed",
        "rejected by user",
        "aborted by user",
    ];
    let bytes = output.bytes();
    let start = &bytes[..bytes.len().min(64)];
    let start = String::from_utf8_lossy(start.strip_prefix(b"\"").unwrap_or(start));
    // Older versions end with `"metadata":{"exit_code":1,…}}`, inside of a string.
    let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(128)..]);
    let code = start.strip_prefix("Exit code: ");
    let code = code.or_else(|| Some(end.rsplit_once("exit_code\\\":")?.1));
    BEGINNINGS.iter().any(|begin| start.starts_with(begin))
        || code.is_some_and(|code| !code.starts_with('0'))
}

/// Returns the id of the agent that a call has started, from its output.
fn spawned(output: &str) -> Option<String> {
    if !output.starts_with("{\"agent_id\"") {
        return None;
    }
    let (output, _) = json::object(output.as_bytes()).ok()?;
    output.text("agent_id")
}

/// Returns a tool's output without the JSON that older versions wrapped it in.
fn unpack(output: String) -> String {
    if output.starts_with("{\"output\"")
        && let Ok((wrapped, _)) = json::object(output.as_bytes())
        && let Some(inside) = wrapped.text("output")
    {
        return inside;
    }
    output
}

#[cfg(test)]
mod tests {
    use super::super::fixture::describe_messages;
    use super::super::read;
    use super::super::touch::file_touches;
    use super::*;
    use crate::core::fixture::Home;

    #[test]
    fn a_cited_memory_is_of_the_store() {
        let touched = file_touches(MEMORY_CITATION, "path: MEMORY.md\nlines: 1");
        let first = &touched[0];
        assert_eq!((&*first.path, first.is_in_store), ("MEMORY.md", true));
    }

    #[test]
    fn a_rollout_is_found_once_plain_compressed_or_archived() {
        let home = Home::new();
        let line = r#"{"type":"event_msg","payload":{"type":"user_message","message":"a"}}"#;
        let packed = zstd::encode_all(line.as_bytes(), 3).expect("it can be compressed");
        let day = ".codex/sessions/2026/08/01";
        let rollout = |id: &str| format!("rollout-2026-08-01T10-00-00-{id}.jsonl");
        home.write(&format!("{day}/{}", rollout("both")), line);
        home.write(&format!("{day}/{}.zst", rollout("both")), &packed);
        home.write(&format!("{day}/{}.zst", rollout("packed")), &packed);
        home.write(&format!("{day}/{}.zst.tmp", rollout("packed")), "");
        home.write(
            &format!(".codex/archived_sessions/{}", rollout("kept")),
            line,
        );
        home.write(
            ".codex/session_index.jsonl",
            "{\"id\":\"kept\",\"thread_name\":\"old\"}\nbroken\n{\"id\":\"kept\",\"thread_name\":\"new\"}\n",
        );
        let logs = home.locate();
        let found: Vec<_> = logs
            .iter()
            .map(|log| (log.id.as_str(), log.title.as_deref()))
            .collect();
        assert_eq!(
            found,
            [("kept", Some("new")), ("both", None), ("packed", None)]
        );
        for log in &logs {
            let transcript = read(log).expect("it is there");
            assert_eq!(
                describe_messages(&transcript.messages),
                ["1 user text: a"],
                "{log:?}"
            );
        }
        let resume = logs[0]
            .resume(&Head::default())
            .expect("it can be continued");
        assert_eq!(
            (resume.program, resume.args),
            ("codex", vec!["resume".to_owned(), "kept".to_owned()])
        );
    }
}
