//! Cline: one JSON file of messages per session, of its command line and of its editor extension.
//!
//! The command line writes `~/.cline/data/sessions/<id>/<id>.messages.json`, with the title and the
//! directory in `<id>.json`; known from sessions that version 3.0 wrote. The extension, and those
//! made from it (Roo Code, Kilo Code), write `tasks/<id>/api_conversation_history.json` in their
//! directory of the editor's global storage, with titles in `state/taskHistory.json`; known from
//! the extension's source and from tasks of 2026.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::asked::{around, take_asked};
use super::content::{self, Speaker};
use super::decode::Decode;
use super::json::{self, JsonItem, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, TitleSource, location,
};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Cline,
    name: "cline",
    locate,
    decode: Decode::Into(read),
    resume,
};

/// The ending of the command line's files.
const MESSAGES: &str = ".messages.json";
/// The file of a task of the extension.
const HISTORY: &str = "api_conversation_history.json";
/// The directories of the extension, and of those made from it, in an editor's global storage.
const EXTENSIONS: &[&str] = &[
    "saoudrizwan.claude-dev",
    "rooveterinaryinc.roo-cline",
    "kilocode.kilo-code",
];
/// Tags around what the user wrote.
const ASKED: &[&str] = &["user_input", "task", "feedback", "user_message", "answer"];
/// The end of the line before what the user said about a call.
const FEEDBACK: &str = "feedback:";
/// Tools whose results are what the user said.
const TALKING: &[&str] = &[
    "ask_followup_question",
    "attempt_completion",
    "condense",
    "new_task",
    "plan_mode_respond",
];
/// Tools that the extension's model may call in its text.
const TOOLS: &[&str] = &[
    "access_mcp_resource",
    "apply_diff",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "execute_command",
    "fetch_instructions",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "web_fetch",
    "write_to_file",
];

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    let mut tasks = Vec::new();
    for root in &locations.cline {
        let data = root.join("data");
        for session in location::entries(&data.join("sessions")) {
            logs.extend(session_logs(&session));
        }
        tasks.push(data);
    }
    for editor in &locations.editors {
        let storage = editor.join("globalStorage");
        tasks.extend(EXTENSIONS.iter().map(|name| storage.join(name)));
    }
    for root in tasks {
        for task in location::entries(&root.join("tasks")) {
            let id = location::name(&task);
            let log = location::found(Agent::Cline, task.join(HISTORY), id);
            logs.extend(log.map(|log| LogFile {
                title: listed_task(&log.path, "task"),
                ..log
            }));
        }
    }
    logs
}

/// Returns the log of a session of the command line, and those of its subagents.
fn session_logs(session: &Path) -> Vec<LogFile> {
    let main = location::name(session);
    location::entries(session)
        .into_iter()
        .filter_map(|path| {
            let id = location::stem(&path, MESSAGES)?;
            let mut log = location::found(Agent::Cline, path, id)?;
            location::with_object(&manifest(&log), |manifest| {
                log.title = title(manifest);
                log.parent = manifest.text("parent_session_id");
            });
            if log.id != main {
                log.parent = Some(main.clone());
            }
            Some(log)
        })
        .collect()
}

/// Returns the path of the file beside the messages that tells about the session.
fn manifest(log: &LogFile) -> PathBuf {
    log.path.with_file_name(format!("{}.json", log.id))
}

fn title(manifest: &Object<'_>) -> Option<String> {
    manifest.object("metadata")?.text("title")
}

/// Returns a field of a task in the list of `<root>/tasks/<id>/<file>`.
fn listed_task(path: &Path, field: &str) -> Option<String> {
    let task = path.parent()?;
    let root = task.parent()?.parent()?;
    let bytes = location::bytes(&root.join("state/taskHistory.json")).ok()?;
    let (list, _) = json::value(bytes.trim_ascii()).ok()?;
    let id = location::name(task);
    let mut listed = list.items().filter_map(Raw::object);
    listed.find(|item| item.is("id", &id))?.text(field)
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if location::name(&log.path) == HISTORY {
        return None;
    }
    Resume::by_id("cline", "--id", log, head)
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let bytes = location::bytes(&log.path)?;
    let bytes = bytes.trim_ascii();
    let Ok((value, _)) = json::value(bytes) else {
        sink.carry.skipped.broken += u64::from(!bytes.is_empty());
        return Ok(());
    };
    let head = sink.head();
    head.session = Some(log.id.clone());
    let (messages, is_task) = match value.object() {
        Some(session) => {
            let origin = session.object("origin").unwrap_or_default();
            head.version = origin.text("version");
            location::with_object(&manifest(log), |manifest| {
                head.cwd = manifest.text("cwd");
                head.set_title(TitleSource::Ai, title(manifest).unwrap_or_default());
            });
            (session.items("messages"), false)
        }
        None => {
            head.cwd = listed_task(&log.path, "cwdOnTaskInitialization");
            (value.items(), true)
        }
    };
    let mut calls = OpenCalls::default();
    for (ordinal, item) in (1..).zip(messages.opened()) {
        sink.turn_to(ordinal);
        match item {
            JsonItem::Object(message) if is_task => take_step(ordinal, &message, &mut calls, sink),
            JsonItem::Object(message) => take_message(&message, sink),
            JsonItem::Other(_) => sink.carry.skipped.not_object += 1,
        }
    }
    Ok(())
}

/// Stamps the messages of a record and notes its model.
fn stamp(message: &Object<'_>, sink: &mut Sink<'_>) {
    let id = message.text("id");
    sink.stamp = RecordStamp::of_reply(message.time("ts"), id);
    let model = message.object("modelInfo").unwrap_or_default();
    let model = model.text("id").or_else(|| model.text("modelId"));
    sink.head().note_model(model);
}

/// Adds a message of the command line.
fn take_message(message: &Object<'_>, sink: &mut Sink<'_>) {
    stamp(message, sink);
    let Some(content) = message.get("content") else {
        return;
    };
    match message.word("role") {
        Some("assistant") => content::take(content, Speaker::Model, sink),
        Some("user") => {
            for item in parts(content) {
                match text_of(item) {
                    Some(text) if take_asked(&text, ASKED, sink) => {}
                    _ => content::take(item, Speaker::Person, sink),
                }
            }
        }
        Some("system") => {
            sink.say(Role::System, Origin::Injected, content::flat(content));
        }
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Returns the parts of a content: itself, or the items of an array.
fn parts(content: Raw<'_>) -> Vec<Raw<'_>> {
    let items: Vec<Raw<'_>> = content.items().collect();
    if items.is_empty() {
        vec![content]
    } else {
        items
    }
}

/// Returns the text of a part that is one.
fn text_of(part: Raw<'_>) -> Option<String> {
    let block = part.object().filter(|block| block.is("type", "text"));
    part.text().or_else(|| block?.text("text"))
}

/// The calls of the extension's model that have no result yet, each as its id and its tool.
#[derive(Default)]
struct OpenCalls(VecDeque<(String, String)>);

impl OpenCalls {
    /// Takes the id of the first call of a tool.
    fn take(&mut self, tool: &str) -> Option<String> {
        let at = self.0.iter().position(|(_, called)| called == tool)?;
        self.0.remove(at).map(|(id, _)| id)
    }

    /// Takes the tool of a call.
    fn tool_of(&mut self, id: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == id)?;
        self.0.remove(at).map(|(_, tool)| tool)
    }
}

/// Adds a message of the extension.
fn take_step(ordinal: u64, message: &Object<'_>, calls: &mut OpenCalls, sink: &mut Sink<'_>) {
    stamp(message, sink);
    let Some(content) = message.get("content") else {
        return;
    };
    match message.word("role") {
        Some("assistant") => {
            calls.0.clear();
            for part in parts(content) {
                match text_of(part) {
                    Some(text) => take_reply(ordinal, &text, calls, sink),
                    None => {
                        let call = part.object().filter(|block| block.is("type", "tool_use"));
                        let call = call.and_then(|call| call.text("id").zip(call.text("name")));
                        calls.0.extend(call);
                        content::take(part, Speaker::Model, sink);
                    }
                }
            }
        }
        Some("user") if content.text().is_some_and(|text| !has_tags(&text)) => {
            sink.prompt(content.text().unwrap_or_default());
        }
        Some("user") => {
            for part in parts(content) {
                match (text_of(part), part.object()) {
                    (Some(text), _) => take_text(&text, calls, sink),
                    (None, Some(result)) if result.is("type", "tool_result") => {
                        take_result(&result, calls, sink);
                    }
                    _ => content::take(part, Speaker::Person, sink),
                }
            }
        }
        Some("system") => {
            sink.say(Role::System, Origin::Injected, content::flat(content));
        }
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Whether a text is one that the extension made.
fn has_tags(text: &str) -> bool {
    text.trim_start().starts_with(['<', '[']) || asked(text).is_some()
}

/// Adds what a model without tool calls said, which writes them into its text.
fn take_reply(ordinal: u64, text: &str, calls: &mut OpenCalls, sink: &mut Sink<'_>) {
    let mut rest = text;
    while let Some((before, tool, input, after)) = written_call(rest) {
        sink.say(Role::Assistant, Origin::Written, before.trim().to_owned());
        let id = format!("{ordinal}.{}", calls.0.len());
        calls.0.push_back((id.clone(), tool.to_owned()));
        let call = ToolUse::new(Some(id), Some(tool.to_owned()), outline(input));
        sink.call_tool(call);
        rest = after;
    }
    let said = if rest.len() == text.len() {
        rest
    } else {
        rest.trim()
    };
    sink.say(Role::Assistant, Origin::Written, said.to_owned());
}

/// Returns the first call in a text, with what is before and after it.
fn written_call(text: &str) -> Option<(&str, &'static str, &str, &str)> {
    let calls = TOOLS.iter().filter_map(|tool| {
        let start = format!("<{tool}>");
        let at = text.find(&start)?;
        let is_on_its_own_line = at == 0 || text[..at].ends_with('\n');
        let inside = &text[at + start.len()..];
        let end = inside.rfind(&format!("</{tool}>"))?;
        let after = &inside[end + start.len() + 1..];
        is_on_its_own_line.then_some((&text[..at], *tool, &inside[..end], after))
    });
    calls.min_by_key(|(before, ..)| before.len())
}

/// Formats the parameters `<name>value</name>` of a call like those of other calls.
fn outline(input: &str) -> String {
    let mut named = serde_json::Map::new();
    let mut rest = input;
    while let Some((_, after)) = rest.split_once('<')
        && let Some((name, inside)) = after.split_once('>')
        && let Some((value, after)) = inside.split_once(&format!("</{name}>"))
    {
        named.insert(name.to_owned(), value.trim_matches('\n').into());
        rest = after;
    }
    let bytes = serde_json::to_vec(&named).unwrap_or_default();
    match json::value(&bytes) {
        Ok((value, _)) if !named.is_empty() => value.outline(),
        _ => input.trim().to_owned(),
    }
}

/// Adds a text in the user's place. Only what is in a tag is of the user.
fn take_text(text: &str, calls: &mut OpenCalls, sink: &mut Sink<'_>) {
    if let Some((tool, output)) = result_in_text(text) {
        let result = ToolUse::new(calls.take(tool), Some(tool.to_owned()), String::new());
        add_result(result, output, sink);
        return;
    }
    note_folder(text, sink);
    match asked(text) {
        Some([before, asked, after]) => {
            sink.say(Role::System, Origin::Injected, before.trim().to_owned());
            sink.say(Role::User, Origin::Written, asked.trim().to_owned());
            sink.say(Role::System, Origin::Injected, after.trim().to_owned());
        }
        None => sink.say(Role::System, Origin::Injected, text.to_owned()),
    }
}

/// Adds a result that names its call.
fn take_result(result: &Object<'_>, calls: &mut OpenCalls, sink: &mut Sink<'_>) {
    let id = result.text("tool_use_id");
    let tool = id.as_deref().and_then(|id| calls.tool_of(id));
    let text = content::flat(result.get("content"));
    let output = result_in_text(&text).map_or(text.as_str(), |(_, output)| output);
    let has_failed = result.is_true("is_error");
    add_result(
        ToolUse::new(id, tool, String::new()).failing(has_failed),
        output,
        sink,
    );
}

/// Adds a result with this output, and what the user said in it: the answer to a question, or why
/// the call was refused.
fn add_result(result: ToolUse, output: &str, sink: &mut Sink<'_>) {
    let output = output.trim();
    let failures = ["The user denied", "The tool execution failed", "Error"];
    let has_failed = result.has_failed || failures.iter().any(|begin| output.starts_with(begin));
    // A file may hold the same tags.
    let talks = result
        .tool
        .as_ref()
        .is_some_and(|tool| TALKING.contains(&tool.as_str()));
    let answer =
        asked(output).filter(|[before, ..]| talks || before.trim_end().ends_with(FEEDBACK));
    let [before, answer, after] = answer.unwrap_or([output, "", ""]);
    let mut text = before.trim().to_owned();
    if !after.trim().is_empty() {
        text.push_str(after);
    }
    sink.tool_result(ToolUse { text, ..result }.failing(has_failed));
    sink.say(Role::User, Origin::Written, answer.trim().to_owned());
}

/// Splits a text at the tag of what the user wrote, which stands first or after a line that announces
/// it.
fn asked(text: &str) -> Option<[&str; 3]> {
    let tags = ASKED.iter().filter_map(|tag| around(text, tag));
    let first = tags.min_by_key(|[before, ..]| before.len());
    first.filter(|[before, ..]| {
        let before = before.trim_end();
        before.is_empty() || before.ends_with(':')
    })
}

/// Sets the folder of the task from what the program tells the model.
fn note_folder(text: &str, sink: &mut Sink<'_>) {
    const PLACES: [(&str, &str); 3] = [
        ("# Current Working Directory (", ") Files"),
        ("# Current Workspace Directory (", ") Files"),
        ("The current working directory is now '", "'"),
    ];
    if sink.head().cwd.is_some() {
        return;
    }
    let found = PLACES.iter().find_map(|(begin, end)| {
        let (_, after) = text.split_once(begin)?;
        Some(after.split_once(end)?.0.to_owned())
    });
    sink.head().cwd = found;
}

/// Splits `[tool for 'x'] Result:` from the output, as models without tool calls get it.
fn result_in_text(text: &str) -> Option<(&str, &str)> {
    let (call, output) = text.strip_prefix('[')?.split_once("] Result:")?;
    let tool = call.split(' ').next().unwrap_or(call);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!tool.is_empty() && tool.chars().all(is_name)).then_some((tool, output))
}
