//! Cline: one JSON file of messages per session, of its command line and of its editor extension.
//!
//! The command line writes `~/.cline/data/sessions/<id>/<id>.messages.json`, with the title and the
//! directory in `<id>.json`; known from sessions that version 3.0 wrote. The extension, and those
//! made from it (Roo Code, Kilo Code), write `tasks/<id>/api_conversation_history.json` in their
//! directory of the editor's global storage, with titles in `state/taskHistory.json`; known from
//! the extension's source and from public readers.

use std::path::{Path, PathBuf};

use super::asked::take_asked;
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
            let log = location::found(Agent::Cline, path, id)?;
            let parent = (log.id != main).then(|| main.clone());
            let manifest = Manifest::beside(&log);
            Some(LogFile {
                parent: parent.or(manifest.parent),
                title: manifest.title,
                ..log
            })
        })
        .collect()
}

/// What the file beside the messages tells.
#[derive(Default)]
struct Manifest {
    title: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
}

impl Manifest {
    fn beside(log: &LogFile) -> Self {
        let path = log.path.with_file_name(format!("{}.json", log.id));
        let bytes = location::bytes(&path).unwrap_or_default();
        let Ok((manifest, _)) = json::object(bytes.trim_ascii()) else {
            return Self::default();
        };
        let metadata = manifest.object("metadata").unwrap_or_default();
        Self {
            title: metadata.text("title"),
            cwd: manifest.text("cwd"),
            parent: manifest.text("parent_session_id"),
        }
    }
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
    if log.parent.is_some() || location::name(&log.path) == HISTORY {
        return None;
    }
    Some(Resume {
        program: "cline",
        args: super::option("--id", &log.id),
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
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
    let messages = match value.object() {
        Some(session) => {
            let origin = session.object("origin").unwrap_or_default();
            head.version = origin.text("version");
            let manifest = Manifest::beside(log);
            head.cwd = manifest.cwd;
            head.set_title(TitleSource::Ai, manifest.title.unwrap_or_default());
            session.items("messages")
        }
        None => {
            head.cwd = listed_task(&log.path, "cwdOnTaskInitialization");
            value.items()
        }
    };
    for (ordinal, item) in (1..).zip(messages.opened()) {
        sink.turn_to(ordinal);
        match item {
            JsonItem::Object(message) => take_message(&message, sink),
            JsonItem::Other(_) => sink.carry.skipped.not_object += 1,
        }
    }
    Ok(())
}

fn take_message(message: &Object<'_>, sink: &mut Sink<'_>) {
    let id = message.text("id");
    sink.stamp = RecordStamp {
        time: message.time("ts"),
        reply: id.clone(),
        id,
        ..RecordStamp::default()
    };
    let model = message.object("modelInfo").unwrap_or_default();
    let model = model.text("id").or_else(|| model.text("modelId"));
    let head = sink.head();
    head.model = model.or(head.model.take());
    let Some(content) = message.get("content") else {
        return;
    };
    match message.word("role") {
        Some("assistant") => content::take(content, Speaker::Model, sink),
        Some("user") => take_prompt(content, sink),
        Some("system") => {
            sink.say(Role::System, Origin::Injected, content::flat(content));
        }
        _ => sink.carry.skipped.unknown += 1,
    }
}

fn take_prompt(content: Raw<'_>, sink: &mut Sink<'_>) {
    let texts = content
        .text()
        .into_iter()
        .chain(content.items().filter_map(Raw::text));
    let texts: Vec<String> = texts.collect();
    for text in texts {
        take_text(&text, sink);
    }
    for block in content
        .items()
        .filter_map(|item| item.object().map(|block| (item, block)))
    {
        match block {
            (_, block) if block.is("type", "text") => {
                take_text(&block.text("text").unwrap_or_default(), sink);
            }
            (item, _) => content::take(item, Speaker::Person, sink),
        }
    }
}

/// Adds a text in the user's place: a prompt, the result of a tool, or what the program added.
fn take_text(text: &str, sink: &mut Sink<'_>) {
    if let Some((tool, output)) = result_in_text(text) {
        let output = output.trim();
        let failures = ["The user denied", "The tool execution failed", "Error"];
        let has_failed = failures.iter().any(|begin| output.starts_with(begin));
        let result = ToolUse::new(None, Some(tool.to_owned()), output.to_owned());
        sink.tool_result(result.failing(has_failed));
    } else if text.trim_start().starts_with("<environment_details>") {
        sink.say(Role::System, Origin::Injected, text.to_owned());
    } else if !take_asked(text, ASKED, sink) {
        sink.prompt(text.to_owned());
    }
}

/// Splits `[tool for 'x'] Result:` from the output, as models without tool calls get it.
fn result_in_text(text: &str) -> Option<(&str, &str)> {
    let (call, output) = text.strip_prefix('[')?.split_once("] Result:")?;
    let tool = call.split(' ').next().unwrap_or(call);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!tool.is_empty() && tool.chars().all(is_name)).then_some((tool, output))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};
    use super::super::read;

    #[test]
    fn a_session_of_the_command_line_is_read() {
        let home = Home::new();
        let folder = ".cline/data/sessions/17_a";
        home.write(
            &format!("{folder}/17_a.json"),
            r#"{"version":1,"session_id":"17_a","cwd":"/repo","metadata":{"title":"find it"}}"#,
        );
        home.write(
            &format!("{folder}/agent_b.messages.json"),
            r#"{"messages":[]}"#,
        );
        home.write(
            &format!("{folder}/17_a.messages.json"),
            r#"{"version":1,"sessionId":"17_a","origin":{"version":"3.0"},"messages":[
              {"id":"1","role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">find it</user_input>"}],"ts":1785578400000},
              {"id":"2","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Let me look."},{"type":"tool_use","id":"c1","name":"run_commands","input":{"commands":["ls"]}}],"ts":1785578401000,"modelInfo":{"id":"sonnet"}},
              {"id":"3","role":"user","content":[{"type":"tool_result","tool_use_id":"c1","name":"run_commands","content":[{"query":"ls","result":"files\n","success":true}]}],"ts":1785578402000},
              {"id":"4","role":"novel","content":[]},
              7],
              "system_prompt":"You are"}"#,
        );
        let logs = home.locate();
        let told: Vec<_> = logs
            .iter()
            .map(|log| (log.id.as_str(), log.parent.as_deref(), log.title.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("17_a", None, Some("find it")),
                ("agent_b", Some("17_a"), None)
            ]
        );
        let transcript = read(&logs[0]).expect("it can be read");
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 user text: find it",
                "2 assistant thinking: hm",
                "2 assistant text: Let me look.",
                "2 assistant tool-call run_commands: commands:\n  - ls",
                "3 tool tool-result run_commands: files\n",
            ]
        );
        let head = &transcript.head;
        assert_eq!(
            [&head.cwd, &head.model, &head.version].map(Option::as_deref),
            [Some("/repo"), Some("sonnet"), Some("3.0")]
        );
        assert_eq!(
            (transcript.skipped.unknown, transcript.skipped.not_object),
            (1, 1)
        );
        let resume = logs[0].resume(head).expect("it can be continued");
        assert_eq!(resume.args, ["--id", "17_a"]);
        assert_eq!(logs[1].resume(head), None);
    }

    #[test]
    fn a_task_of_the_extension_is_read() {
        let home = Home::new();
        let root = ".config/Code/User/globalStorage/saoudrizwan.claude-dev";
        home.write(
            &format!("{root}/state/taskHistory.json"),
            r#"[{"id":"16","task":"other"},{"id":"17","task":"find it","cwdOnTaskInitialization":"/repo"}]"#,
        );
        home.write(
            &format!("{root}/tasks/17/api_conversation_history.json"),
            r#"[
              {"role":"user","content":[{"type":"text","text":"<task>\nfind it\n</task>"},{"type":"text","text":"<environment_details>\nopen tabs\n</environment_details>"}],"ts":1785578400000},
              {"role":"assistant","content":"<read_file><path>a</path></read_file>"},
              {"role":"user","content":[{"type":"text","text":"[read_file for 'a'] Result:\n\nfiles"},{"type":"image","source":{}}]},
              {"role":"user","content":"a plain prompt"}]"#,
        );
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 user text: find it",
                "1 system text*: <environment_details>\nopen tabs\n</environment_details>",
                "2 assistant text: <read_file><path>a</path></read_file>",
                "3 tool tool-result read_file: files",
                "3 user notice: [image]",
                "4 user text: a plain prompt",
            ]
        );
        assert_eq!(transcript.head.cwd.as_deref(), Some("/repo"));
        let log = &home.locate()[0];
        assert_eq!(log.title.as_deref(), Some("find it"));
        assert_eq!(log.resume(&transcript.head), None);
    }

    #[test]
    fn a_file_that_is_cut_short_is_counted() {
        let home = Home::new();
        let path = ".cline/data/tasks/1/api_conversation_history.json";
        home.write(path, r#"[{"role":"user","con"#);
        assert_eq!(home.read().skipped.broken, 1);
        home.write(path, "");
        assert_eq!(home.read().skipped.total(), 0);
    }
}
