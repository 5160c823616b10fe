//! Copilot Chat in VS Code, and in the editors made from it: one file per session.
//!
//! `<User>/workspaceStorage/<hash>/chatSessions/<id>.json`, or without a folder
//! `<User>/globalStorage/emptyWindowChatSessions/<id>.json`. Since 2026 a file of lines `<id>.jsonl`
//! instead: the session at first, then changes to it. `workspace.json` tells the folder. Known from
//! the editor's source and from public readers and their tests.

mod replay;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::decode::Decode;
use super::json::{self, JsonItem, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, LogFile, LogLocations, Origin, Role, TitleSource, content, location, no_resume,
};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::CopilotChat,
    name: "copilot-chat",
    locate,
    decode: Decode::Into(read),
    resume: no_resume,
};

/// Kinds of parts of a response that hold no words of the model.
const WORDLESS: &[&str] = &[
    "autoModeResolution",
    "changesSummary",
    "clearToPreviousToolInvocation",
    "codeblockUri",
    "codeCitation",
    "command",
    "disabledClaudeHooks",
    "extensions",
    "externalEdits",
    "hook",
    "mcpServersStarting",
    "multiDiffData",
    "notebookEditGroup",
    "prepareToolInvocation",
    "progressTaskSerialized",
    "pullRequest",
    "questionCarousel",
    "references",
    "textEditGroup",
    "treeData",
    "undoStop",
    "usedContext",
    "workspaceEdit",
];

/// Returns the directories of sessions of an editor's `User` directory.
fn folders(user: &Path) -> Vec<PathBuf> {
    let workspaces = location::entries(&user.join("workspaceStorage"));
    let chats = workspaces
        .iter()
        .map(|workspace| workspace.join("chatSessions"));
    let windows = user.join("globalStorage/emptyWindowChatSessions");
    chats.chain([windows]).collect()
}

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for folder in locations.editors.iter().flat_map(|user| folders(user)) {
        let files = location::entries(&folder);
        let lines: HashSet<String> = files
            .iter()
            .filter_map(|path| location::stem(path, ".jsonl"))
            .collect();
        for path in files {
            let whole = location::stem(&path, ".json").filter(|id| !lines.contains(id));
            let id = location::stem(&path, ".jsonl").or(whole);
            logs.extend(id.and_then(|id| location::found(Agent::CopilotChat, path, id)));
        }
    }
    logs
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let bytes = match log.path.extension() {
        Some(ending) if ending == "jsonl" => replay::read(log, sink)?,
        _ => location::bytes(&log.path)?,
    };
    let bytes = bytes.trim_ascii();
    let Ok((session, _)) = json::object(bytes) else {
        sink.carry.skipped.broken += u64::from(!bytes.is_empty());
        return Ok(());
    };
    let head = sink.head();
    head.session = session.text("sessionId").or_else(|| Some(log.id.clone()));
    head.cwd = log
        .path
        .parent()
        .and_then(Path::parent)
        .and_then(location::folder_of_workspace);
    let title = session.text("customTitle").unwrap_or_default();
    head.set_title(TitleSource::Custom, title);
    head.extend_span(session.time("creationDate"));
    for (ordinal, item) in (1..).zip(session.items("requests").opened()) {
        sink.turn_to(ordinal);
        match item {
            JsonItem::Object(request) => take_request(&request, sink),
            JsonItem::Other(_) => sink.carry.skipped.not_object += 1,
        }
    }
    Ok(())
}

/// The calls of a request, by id: what the model sent and what it got back.
struct Rounds<'a> {
    calls: HashMap<String, Object<'a>>,
    results: Object<'a>,
}

impl<'a> Rounds<'a> {
    fn of(request: &Object<'a>) -> Self {
        let result = request.object("result").unwrap_or_default();
        let metadata = result.object("metadata").unwrap_or_default();
        let rounds = metadata.objects("toolCallRounds");
        let calls = rounds
            .flat_map(|round| round.objects("toolCalls").collect::<Vec<_>>())
            .filter_map(|call| Some((call.text("id")?, call)))
            .collect();
        Self {
            calls,
            results: metadata.object("toolCallResults").unwrap_or_default(),
        }
    }
}

fn take_request(request: &Object<'_>, sink: &mut Sink<'_>) {
    let id = request.text("requestId");
    sink.stamp = RecordStamp::of_reply(request.time("timestamp"), id);
    sink.head().note_model(request.text("modelId"));
    let prompt = request.get("message").map(|message| {
        let inside = message.object().and_then(|message| message.text("text"));
        inside.or_else(|| message.text()).unwrap_or_default()
    });
    sink.prompt(prompt.unwrap_or_default());
    let rounds = Rounds::of(request);
    let mut said = String::new();
    for item in request.items("response").opened() {
        match item {
            JsonItem::Object(part) => take_part(&part, &rounds, &mut said, sink),
            JsonItem::Other(text) => said.push_str(&text.text().unwrap_or_default()),
        }
    }
    say(&mut said, sink);
    let result = request.object("result").unwrap_or_default();
    let error = result.object("errorDetails").unwrap_or_default();
    sink.notice(error.text("message").unwrap_or_default());
}

/// Adds what the model said so far; the editor cuts a text at every link in it.
fn say(said: &mut String, sink: &mut Sink<'_>) {
    sink.say(Role::Assistant, Origin::Written, std::mem::take(said));
}

fn take_part(part: &Object<'_>, rounds: &Rounds<'_>, said: &mut String, sink: &mut Sink<'_>) {
    match part.word("kind") {
        None => said.push_str(&worded(part.get("value"))),
        Some("markdownContent" | "markdownVuln") => said.push_str(&worded(part.get("content"))),
        Some("inlineReference") => said.push_str(&reference(part)),
        Some("thinking") => {
            say(said, sink);
            sink.think(worded(part.get("value")));
        }
        Some("toolInvocationSerialized" | "toolInvocation") => {
            say(said, sink);
            tool(part, rounds, sink);
        }
        Some("progressMessage" | "warning" | "info") => {
            say(said, sink);
            sink.notice(worded(part.get("content")));
        }
        Some("confirmation" | "elicitationSerialized" | "elicitation2" | "elicitation") => {
            say(said, sink);
            let told = format!(
                "{}\n{}",
                worded(part.get("title")),
                worded(part.get("message"))
            );
            sink.notice(told.trim().to_owned());
        }
        Some(kind) if WORDLESS.contains(&kind) => {}
        Some(_) => sink.carry.skipped.unknown += 1,
    }
}

/// Returns a text that is a string, `{"value": …}`, or an array of those.
fn worded(value: Option<Raw<'_>>) -> String {
    let Some(value) = value else {
        return String::new();
    };
    let inside = value.object().and_then(|object| object.text("value"));
    let parts = value.items().filter_map(Raw::text).collect::<Vec<String>>();
    inside
        .or_else(|| value.text())
        .unwrap_or_else(|| parts.join("\n"))
}

/// Returns the name of what a link in a text points to.
fn reference(part: &Object<'_>) -> String {
    let target = part.object("inlineReference").unwrap_or_default();
    let location = target
        .object("location")
        .and_then(|place| place.object("uri"));
    let path = location.as_ref().unwrap_or(&target).text("path");
    let file = path.map(|path| location::name(Path::new(&path)));
    let name = part.text("name").or_else(|| target.text("name"));
    name.or(file).unwrap_or_default()
}

fn tool(part: &Object<'_>, rounds: &Rounds<'_>, sink: &mut Sink<'_>) {
    let id = part.text("toolCallId");
    let call = id.as_ref().and_then(|id| rounds.calls.get(id));
    let name = call
        .and_then(|call| call.text("name"))
        .or_else(|| part.text("toolId"));
    let sent = call
        .and_then(|call| call.get("arguments"))
        .map(content::outline);
    let data = part.object("toolSpecificData").unwrap_or_default();
    let details = part.object("resultDetails").unwrap_or_default();
    let command = data
        .object("commandLine")
        .and_then(|command| command.text("original"));
    let input = sent
        .or_else(|| command.or_else(|| data.text("command")))
        .or_else(|| {
            data.get("rawInput")
                .or_else(|| details.get("input"))
                .map(content::outline)
        })
        .unwrap_or_else(|| {
            let past = worded(part.get("pastTenseMessage"));
            if past.is_empty() {
                worded(part.get("invocationMessage"))
            } else {
                past
            }
        });
    sink.call_tool(ToolUse::new(id.clone(), name, input));
    let got = id.as_ref().and_then(|id| rounds.results.object(id));
    let mut output = String::new();
    match got {
        Some(result) => collect(result.get("content"), &mut output),
        None => collect(details.get("output"), &mut output),
    }
    sink.tool_result(ToolUse::new(id, None, output));
}

/// The number of levels of a result that are searched for text.
const DEPTH: usize = 32;

/// Collects the texts of a result: parts with a `value`, or a tree of nodes with `text`.
fn collect(value: Option<Raw<'_>>, out: &mut String) {
    let mut open: Vec<(Raw<'_>, usize)> = value.map(|value| (value, 0)).into_iter().collect();
    while let Some((value, depth)) = open.pop() {
        if let Some(text) = value.text() {
            out.push_str(&text);
        } else if depth < DEPTH {
            let inside: Vec<Raw<'_>> = match value.object() {
                Some(object) => ["text", "value", "node", "children"]
                    .iter()
                    .filter_map(|key| object.get(key))
                    .collect(),
                None => value.items().collect(),
            };
            open.extend(inside.into_iter().rev().map(|value| (value, depth + 1)));
        }
    }
}
