//! Parses the JSON document that each agent sends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::event_text::{
    FileUse, TOOL, changed_files, event_text, file_use, input, input as given_input,
};
use crate::core::log::Agent;
use crate::core::log::json;
use crate::core::log::origin::{Speaker, parts};
use crate::core::memory::layout::events::usual_role;
use crate::core::text::secret::{MASKED, is_secret_key};

/// A parsed event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payload {
    /// The agent's own name for the event.
    pub(super) name: String,
    /// The meaning of the event for the turn.
    pub(super) stage: Stage,
    /// The event's type, as stored.
    pub(super) event_type: String,
    /// The role of the speaker.
    pub(super) role: &'static str,
    pub(super) session: String,
    /// The directory of the session; some agents leave it out of some events.
    pub(super) cwd: Option<PathBuf>,
    /// The agent's id of the turn, if it has one.
    pub(super) turn: Option<String>,
    /// When it happened, if the agent says so.
    pub(super) time: Option<Timestamp>,
    pub(super) text: String,
    pub(super) metadata: BTreeMap<String, String>,
    /// The call that is about to be made, at [`Stage::Call`]: the tool, and its input in lines
    /// `key: value`, as logs are decoded.
    pub(super) call: Option<(String, String)>,
    /// Whether the session continues a transcript that already contains the context.
    pub(super) is_replayed: bool,
}

/// What happened in the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// A session starts.
    Start,
    /// The user sent a prompt.
    Prompt,
    /// A tool is about to be called.
    Call,
    /// A plan with this number of steps was made.
    Plan(usize),
    /// This number of tasks was added to a plan.
    Tasks(usize),
    /// Files were changed; the paths are those that the event names.
    Edit(Vec<String>),
    /// Some other tool was used.
    Tool,
    /// The turn ended.
    Stop,
    /// The turn ended again, after a reply had prolonged it.
    StopAgain,
    /// The session ended.
    End,
    /// Anything else.
    Other,
}

/// The keys of the id of a subagent, which its own events have.
const AGENT_ID: &[&str] = &["agent_id", "agentId"];

/// Parses a payload; `None` if the input is not a valid one: it must name its event, and its
/// session or its directory.
pub(super) fn read(input: &[u8], agent: Agent, named: Option<&str>) -> Option<Payload> {
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(input) else {
        return None;
    };
    mask_by_key(&mut fields);
    let name = string_field(&fields, &["hook_event_name", "hookEventName"]).or(named)?;
    let session = string_field(&fields, &["session_id", "sessionId"]);
    let cwd = string_field(&fields, &["cwd"]).filter(|cwd| !cwd.is_empty());
    if name.is_empty() || session == Some("") || (session.is_none() && cwd.is_none()) {
        return None;
    }
    let (event_type, role) = kind(name);
    let by_subagent = string_field(&fields, AGENT_ID).is_some();
    let text = event_text(event_type, &fields);
    // Copilot CLI names a subagent as the session of its events.
    let parent = string_field(&fields, &["parentAgentId"]).filter(|id| !id.is_empty());
    let session = parent.filter(|_| by_subagent).or(session);
    // The prompt of a subagent is its task, in the words of the agent that started it.
    let (event_type, role) = match event_type {
        "user_message" if by_subagent => ("subagent_start", "assistant"),
        _ => (event_type, role),
    };
    let stage = match event_type {
        "session_start" => Stage::Start,
        // Agents also send notices and reminders, tome's own among them, as prompts.
        "user_message" if is_typed(&text) => Stage::Prompt,
        "PreToolUse" | "BeforeTool" | "preToolUse" => Stage::Call,
        "tool_result" | "assistant_stop" if by_subagent => Stage::Other,
        "tool_result" => tool_stage(&fields),
        "assistant_stop" => match fields.get("stop_hook_active") {
            Some(Value::Bool(true)) => Stage::StopAgain,
            _ => Stage::Stop,
        },
        "session_end" => Stage::End,
        _ => Stage::Other,
    };
    let role = match (event_type, &stage) {
        ("user_message", Stage::Other) => "system",
        _ => role,
    };
    let call = (stage == Stage::Call).then(|| {
        let tool = string_field(&fields, TOOL).unwrap_or_default();
        (tool.to_owned(), outline(&given_input(&fields)))
    });
    let source = string_field(&fields, &["source"]).unwrap_or_default();
    // Where OpenCode keeps no context of a session, the others find it in the transcript.
    let keeps_context = matches!(agent, Agent::ClaudeCode | Agent::Codex | Agent::Gemini);
    Some(Payload {
        name: name.to_owned(),
        stage,
        event_type: event_type.to_owned(),
        role,
        session: session.unwrap_or_default().to_owned(),
        cwd: cwd.map(PathBuf::from),
        turn: string_field(&fields, &["prompt_id", "turn_id"]).map(str::to_owned),
        time: fields.get("timestamp").and_then(time),
        text,
        metadata: metadata(&fields),
        call,
        is_replayed: keeps_context && matches!(source, "resume" | "fork"),
    })
}

/// Masks the values of fields that hold secrets by their names, at any depth.
pub(super) fn mask_by_key(fields: &mut Map<String, Value>) {
    for (key, value) in fields {
        mask_secrets(value, is_secret_key(key));
    }
}

/// Masks the secrets in a value: all texts and numbers of a field that holds secrets.
fn mask_secrets(value: &mut Value, is_secret: bool) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                mask_secrets(value, is_secret || is_secret_key(key));
            }
        }
        Value::Array(items) => {
            for item in items {
                mask_secrets(item, is_secret);
            }
        }
        Value::String(text) if text.is_empty() => {}
        Value::String(_) | Value::Number(_) if is_secret => *value = MASKED.into(),
        _ => {}
    }
}

/// Whether any part of a prompt was typed by the user.
fn is_typed(prompt: &str) -> bool {
    let parts = parts(prompt);
    parts.is_empty() || parts.iter().any(|(speaker, _)| *speaker == Speaker::Person)
}

/// A time, as text or as seconds or milliseconds since 1970.
fn time(value: &Value) -> Option<Timestamp> {
    /// Numbers from here on are milliseconds: as seconds they would be after the year 5000.
    const MILLISECONDS: f64 = 1e11;
    match value {
        Value::String(text) => text.parse().ok(),
        value => {
            let number = value.as_f64().filter(|number| *number > 0.0)?;
            let scale = if number < MILLISECONDS { 1000.0 } else { 1.0 };
            Timestamp::from_millisecond((number * scale) as i64).ok()
        }
    }
}

/// The type and the role of an event; an unknown one keeps its name.
fn kind(name: &str) -> (&str, &'static str) {
    let event_type = match name {
        "SessionStart" | "sessionStart" => "session_start",
        "UserPromptSubmit" | "BeforeAgent" | "userPromptSubmitted" => "user_message",
        "PostToolUse" | "AfterTool" | "postToolUse" => "tool_result",
        "AssistantResponse" => "assistant_message",
        "Stop" | "AfterAgent" | "agentStop" => "assistant_stop",
        "SubagentStart" | "subagentStart" => "subagent_start",
        "SubagentStop" | "subagentStop" => "subagent_stop",
        "SessionEnd" | "sessionEnd" => "session_end",
        other => return (other, "system"),
    };
    (event_type, usual_role(event_type).unwrap_or("system"))
}

/// A tool's input in lines `key: value`.
fn outline(input: &Value) -> String {
    let written = input.to_string();
    let read = json::value(written.as_bytes());
    read.map_or_else(|_| String::new(), |(value, _)| value.outline())
}

fn tool_stage(fields: &Map<String, Value>) -> Stage {
    let tool = string_field(fields, TOOL).unwrap_or_default();
    match tool.to_ascii_lowercase().as_str() {
        "todowrite" | "update_plan" | "write_todos" | "update_todo" => {
            let input = input(fields);
            let steps = ["todos", "plan", "steps"]
                .iter()
                .find_map(|key| input.get(*key));
            Stage::Plan(steps.map_or(0, count))
        }
        "taskcreate" => Stage::Tasks(1),
        // Copilot CLI keeps its plan in a table.
        "sql" => {
            let input = input(fields);
            let query = input.get("query").and_then(Value::as_str);
            match inserted_todos(query.unwrap_or_default()) {
                0 => Stage::Tool,
                count => Stage::Tasks(count),
            }
        }
        _ if file_use(tool) == Some(FileUse::Changes) => Stage::Edit(changed_files(&input(fields))),
        _ => Stage::Tool,
    }
}

/// The number of rows that a statement inserts into the table `todos`.
fn inserted_todos(query: &str) -> usize {
    let lower = query.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().take(5).collect();
    let is_todos = words.starts_with(&["insert"])
        && words.iter().any(|word| {
            word.split('(')
                .next()
                .unwrap_or_default()
                .trim_matches(['"', '`'])
                == "todos"
        });
    let Some(values) = lower.find("values").filter(|_| is_todos) else {
        return 0;
    };
    let (mut depth, mut in_text, mut rows) = (0_usize, false, 0);
    for byte in lower[values..].bytes() {
        match byte {
            // A quote in a text is doubled, which closes and opens it again.
            b'\'' => in_text = !in_text,
            b'(' if !in_text => {
                rows += usize::from(depth == 0);
                depth += 1;
            }
            b')' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    rows
}

/// The number of steps of a plan, which is a list or a checklist in a text.
fn count(steps: &Value) -> usize {
    match steps {
        Value::Array(steps) => steps.len(),
        Value::String(text) => {
            let is_step = |line: &&str| line.trim_start().starts_with("- [");
            text.lines().filter(is_step).count()
        }
        _ => 0,
    }
}

fn metadata(fields: &Map<String, Value>) -> BTreeMap<String, String> {
    let kept = [
        ("cwd", &["cwd"][..]),
        ("tool_name", TOOL),
        ("tool_use_id", &["tool_use_id"]),
        ("transcript_path", &["transcript_path", "transcriptPath"]),
        ("source", &["source"]),
        ("reason", &["reason"]),
        ("trigger", &["trigger"]),
        ("agent_id", AGENT_ID),
        ("agent_type", &["agent_type", "agentType", "agentName"]),
        ("model", &["model"]),
    ];
    kept.iter()
        .filter_map(|(name, keys)| {
            Some(((*name).to_owned(), string_field(fields, keys)?.to_owned()))
        })
        .collect()
}

pub(super) fn string_field<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| fields.get(*key)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(json: &str) -> Option<Payload> {
        read(json.as_bytes(), Agent::ClaudeCode, None)
    }

    #[test]
    fn each_agent_is_understood() {
        for (agent, named, json, event_type, text, stage) in [
            (
                Agent::ClaudeCode,
                None,
                r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/p","prompt":"hi"}"#,
                "user_message",
                "hi",
                Stage::Prompt,
            ),
            (
                Agent::Codex,
                None,
                r#"{"hook_event_name":"PostToolUse","cwd":"/p","tool_name":"update_plan","tool_input":{"plan":[{"step":"a"},{"step":"b"}]},"tool_response":"ok"}"#,
                "tool_result",
                "{\"plan\":[{\"step\":\"a\"},{\"step\":\"b\"}]}\nok",
                Stage::Plan(2),
            ),
            (
                Agent::Gemini,
                None,
                r#"{"hook_event_name":"AfterAgent","cwd":"/p","prompt":"q","prompt_response":"a"}"#,
                "assistant_stop",
                "a",
                Stage::Stop,
            ),
            (
                Agent::Copilot,
                Some("postToolUse"),
                r#"{"cwd":"/p","toolName":"bash","toolArgs":"{\"command\":\"ls\"}","toolResult":{"textResultForLlm":"x"}}"#,
                "tool_result",
                "{\"command\":\"ls\"}\nx",
                Stage::Tool,
            ),
            (
                Agent::Copilot,
                None,
                r#"{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/p","tool_name":"create","tool_input":{"path":"a.rs"},"tool_result":{"result_type":"success","text_result_for_llm":"x"}}"#,
                "tool_result",
                "a.rs",
                Stage::Edit(vec!["a.rs".to_owned()]),
            ),
            (
                Agent::Gemini,
                None,
                r#"{"hook_event_name":"AfterTool","cwd":"/p","tool_name":"write_todos","tool_input":{"todos":[{"description":"a"}]},"tool_response":{"llmContent":[{"text":"done"}],"returnDisplay":"x"}}"#,
                "tool_result",
                "{\"todos\":[{\"description\":\"a\"}]}\ndone",
                Stage::Plan(1),
            ),
            (
                Agent::Opencode,
                None,
                r#"{"hook_event_name":"PostToolUse","cwd":"/p","tool_name":"edit","tool_input":{"filePath":"a.rs"},"tool_response":{"output":"done"}}"#,
                "tool_result",
                "a.rs",
                Stage::Edit(vec!["a.rs".to_owned()]),
            ),
        ] {
            let payload = read(json.as_bytes(), agent, named).expect("a payload");
            assert_eq!(
                (
                    payload.event_type.as_str(),
                    payload.text.as_str(),
                    payload.stage
                ),
                (event_type, text, stage)
            );
        }
    }

    #[test]
    fn the_files_of_an_edit_are_known() {
        for (tool, input, files) in [
            (
                "Write",
                r#"{"file_path":"/p/a.rs","content":"x"}"#,
                &["/p/a.rs"][..],
            ),
            (
                "apply_patch",
                r#"{"command":"*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch"}"#,
                &["a.rs", "b.rs"],
            ),
            (
                "apply_patch",
                r#""*** Begin Patch\n*** Delete File: c.rs\n""#,
                &["c.rs"],
            ),
            ("replace", "{}", &[]),
        ] {
            let payload = payload(&format!(
                r#"{{"hook_event_name":"PostToolUse","cwd":"/p","tool_name":"{tool}","tool_input":{input}}}"#
            ));
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            assert_eq!(
                payload.map(|payload| payload.stage),
                Some(Stage::Edit(files)),
                "{tool}"
            );
        }
    }

    #[test]
    fn an_unknown_event_keeps_its_name_and_is_no_message() {
        let payload = payload("{\n  \"hook_event_name\": \"PreCompact\",\n  \"cwd\": \"/p\",\n  \"trigger\": \"auto\"\n}\n").expect("a payload");
        assert_eq!(
            (
                payload.event_type.as_str(),
                payload.role,
                payload.text.as_str()
            ),
            ("PreCompact", "system", "auto")
        );
        assert_eq!(payload.stage, Stage::Other);
    }

    #[test]
    fn what_is_no_payload_is_not_heard() {
        for json in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"hook_event_name":"Stop"}"#,
            r#"{"hook_event_name":"Stop","cwd":""}"#,
            r#"{"hook_event_name":"Stop","cwd":"/p","session_id":""}"#,
            r#"{"hook_event_name":"","cwd":"/p"}"#,
            r#"{"hook_event_name":3,"cwd":"/"}"#,
        ] {
            assert_eq!(payload(json), None, "{json}");
        }
    }

    #[test]
    fn a_prolonged_stop_is_told_from_a_first_one() {
        let stop = |active: bool| {
            payload(&format!(
                r#"{{"hook_event_name":"Stop","cwd":"/p","stop_hook_active":{active}}}"#
            ))
            .map(|payload| payload.stage)
        };
        assert_eq!(
            (stop(false), stop(true)),
            (Some(Stage::Stop), Some(Stage::StopAgain))
        );
    }

    #[test]
    fn a_time_is_read_in_the_forms_that_agents_send() {
        for (given, expected) in [
            ("\"2026-02-22T10:00:05Z\"", Some(1_771_754_405_000)),
            ("1709640001000", Some(1_709_640_001_000)),
            ("1709640001", Some(1_709_640_001_000)),
            ("\"soon\"", None),
            ("0", None),
        ] {
            let payload = payload(&format!(
                r#"{{"hook_event_name":"Stop","cwd":"/p","timestamp":{given}}}"#
            ));
            let time = payload.expect("a payload").time;
            assert_eq!(time.map(Timestamp::as_millisecond), expected, "{given}");
        }
    }

    #[test]
    fn a_notice_in_the_form_of_a_prompt_is_no_prompt() {
        let stage = |prompt: &str| {
            let prompt = Value::from(prompt);
            let read = payload(&format!(
                r#"{{"hook_event_name":"UserPromptSubmit","cwd":"/p","prompt":{prompt}}}"#
            ));
            let read = read.expect("a payload");
            (read.stage, read.role)
        };
        let notice = "<task-notification>done</task-notification>";
        assert_eq!(stage(notice), (Stage::Other, "system"));
        let reminder = format!(
            "{}one tool was used.",
            crate::core::log::origin::WORK_REMINDER
        );
        assert_eq!(stage(&reminder), (Stage::Other, "system"));
        assert_eq!(stage(&format!("{notice}\nthanks")), (Stage::Prompt, "user"));
        assert_eq!(stage(""), (Stage::Prompt, "user"));
    }

    #[test]
    fn the_prompt_of_a_subagent_is_the_agents_and_its_end_is_no_end_of_the_turn() {
        let codex = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/p","agent_id":"a","agent_type":"default","prompt":"look"}"#;
        let copilot = r#"{"sessionId":"a","cwd":"/p","prompt":"look","agentId":"a","agentType":"x","parentAgentId":"s"}"#;
        for (agent, event, json) in [
            (Agent::Codex, None, codex),
            (Agent::Copilot, Some("userPromptSubmitted"), copilot),
        ] {
            let prompt = read(json.as_bytes(), agent, event).expect("a payload");
            assert_eq!(prompt.session, "s");
            assert_eq!(
                (
                    prompt.event_type.as_str(),
                    prompt.role,
                    prompt.text.as_str()
                ),
                ("subagent_start", "assistant", "look")
            );
            assert_eq!(prompt.stage, Stage::Other);
        }
        let stop = read(copilot.as_bytes(), Agent::Copilot, Some("agentStop"));
        assert_eq!(stop.expect("a payload").stage, Stage::Other);
        let stop =
            r#"{"sessionId":"s","cwd":"/p","agentId":"a","parentAgentId":"s","response":"found"}"#;
        let stop = read(stop.as_bytes(), Agent::Copilot, Some("subagentStop")).expect("a payload");
        assert_eq!(
            (stop.event_type.as_str(), stop.text.as_str()),
            ("subagent_stop", "found")
        );
    }

    #[test]
    fn rows_of_the_table_of_todos_are_tasks() {
        for (query, rows) in [
            (
                "INSERT INTO todos (id, title) VALUES ('a', 'A (first)'), ('b', 'it''s (B)')",
                2,
            ),
            ("insert into todos(id) values ('a')", 1),
            (
                "INSERT OR REPLACE INTO \"todos\" (id) VALUES (lower('A'))",
                1,
            ),
            ("INSERT INTO todo_deps (a, b) VALUES ('a', 'b')", 0),
            ("UPDATE todos SET status = 'done'", 0),
            ("", 0),
        ] {
            assert_eq!(inserted_todos(query), rows, "{query}");
        }
    }
}
