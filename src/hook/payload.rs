//! Parses the JSON document that each agent sends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::core::log::Agent;

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
    pub(super) cwd: PathBuf,
    pub(super) text: String,
    pub(super) metadata: BTreeMap<String, String>,
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
    /// A plan with this number of steps was made.
    Plan(usize),
    /// One task of a plan was created.
    Task,
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

/// The maximum length of a stored text in bytes.
const LONGEST: usize = 1 << 20;

/// Parses a payload; `None` if the input is not a valid one.
pub(super) fn read(input: &[u8], agent: Agent, named: Option<&str>) -> Option<Payload> {
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let Ok(Value::Object(fields)) = serde_json::from_slice(input) else {
        return None;
    };
    let name = string_field(&fields, &["hook_event_name", "hookEventName"]).or(named)?;
    let (event_type, role) = kind(name);
    let by_subagent = string_field(&fields, &["agent_id"]).is_some();
    let stage = match event_type {
        "session_start" => Stage::Start,
        "user_message" => Stage::Prompt,
        "tool_result" if by_subagent => Stage::Other,
        "tool_result" => tool_stage(&fields),
        "assistant_stop" => match fields.get("stop_hook_active") {
            Some(Value::Bool(true)) => Stage::StopAgain,
            _ => Stage::Stop,
        },
        "session_end" => Stage::End,
        _ => Stage::Other,
    };
    let source = string_field(&fields, &["source"]).unwrap_or_default();
    Some(Payload {
        name: name.to_owned(),
        stage,
        event_type: event_type.to_owned(),
        role,
        session: string_field(&fields, &["session_id", "sessionId"])
            .unwrap_or_default()
            .to_owned(),
        cwd: PathBuf::from(string_field(&fields, &["cwd"]).filter(|cwd| !cwd.is_empty())?),
        text: cut(text(event_type, &fields)),
        metadata: metadata(&fields),
        is_replayed: agent == Agent::ClaudeCode && matches!(source, "resume" | "fork"),
    })
}

/// The type and the role of an event; an unknown one keeps its name.
fn kind(name: &str) -> (&str, &'static str) {
    match name {
        "SessionStart" | "sessionStart" => ("session_start", "system"),
        "UserPromptSubmit" | "BeforeAgent" | "userPromptSubmitted" => ("user_message", "user"),
        "PostToolUse" | "AfterTool" | "postToolUse" => ("tool_result", "tool"),
        "Stop" | "AfterAgent" | "agentStop" => ("assistant_stop", "assistant"),
        "SubagentStart" | "subagentStart" => ("subagent_start", "system"),
        "SubagentStop" | "subagentStop" => ("subagent_stop", "assistant"),
        "SessionEnd" | "sessionEnd" => ("session_end", "system"),
        other => (other, "system"),
    }
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
        "taskcreate" => Stage::Task,
        "edit" | "write" | "multiedit" | "notebookedit" | "apply_patch" | "replace"
        | "write_file" | "create" | "str_replace" | "patch" => Stage::Edit(changed(&input(fields))),
        _ => Stage::Tool,
    }
}

/// The files that an editing tool's input names.
fn changed(input: &Value) -> Vec<String> {
    let names = ["file_path", "filePath", "path", "notebook_path"];
    if let Some(file) = names.iter().find_map(|name| input.get(*name)?.as_str()) {
        return vec![file.to_owned()];
    }
    // A Codex patch names each file on a separate line.
    let patch = ["command", "input", "patch", "patchText"];
    let patch = patch.iter().find_map(|name| input.get(*name));
    let text = readable_text(patch.unwrap_or(input));
    let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let named = text.lines().filter_map(|line| {
        let file = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        Some(file.trim().to_owned())
    });
    named.collect()
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

const TOOL: &[&str] = &["tool_name", "toolName"];

/// A tool's input, which some agents send as JSON in a string.
fn input(fields: &Map<String, Value>) -> Value {
    let given = ["tool_input", "toolArgs", "tool_args"]
        .iter()
        .find_map(|key| fields.get(*key));
    match given {
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

fn text(event_type: &str, fields: &Map<String, Value>) -> String {
    if event_type == "tool_result" {
        let response = ["tool_response", "toolResult", "tool_result"];
        let response = response.iter().find_map(|key| fields.get(*key));
        let parts = [
            readable_text(&input(fields)),
            response.map(readable_text).unwrap_or_default(),
        ];
        return parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
    }
    let keys: &[&str] = match event_type {
        "user_message" => &["prompt", "message"],
        "assistant_stop" | "subagent_stop" => {
            &["last_assistant_message", "prompt_response", "message"]
        }
        _ => &[
            "message",
            "prompt",
            "compact_summary",
            "reason",
            "trigger",
            "source",
            "agent_type",
            "agentName",
            "error",
        ],
    };
    let found = keys
        .iter()
        .find_map(|key| fields.get(*key).filter(|value| !value.is_null()));
    found.map(readable_text).unwrap_or_default()
}

/// A value as readable text: the strings in it, or else its JSON.
fn readable_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .map(readable_text)
                .filter(|text| !text.is_empty())
                .collect();
            texts.join("\n")
        }
        Value::Object(fields) => {
            let known = [
                "stdout",
                "stderr",
                "text",
                "content",
                "output",
                "textResultForLlm",
                "text_result_for_llm",
                "llmContent",
                "message",
            ];
            let texts: Vec<String> = known
                .iter()
                .filter_map(|key| fields.get(*key))
                .map(readable_text)
                .filter(|text| !text.is_empty())
                .collect();
            match texts.is_empty() {
                true => value.to_string(),
                false => texts.join("\n"),
            }
        }
        other => other.to_string(),
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
        ("agent_id", &["agent_id"]),
        ("agent_type", &["agent_type", "agentName"]),
        ("model", &["model"]),
    ];
    kept.iter()
        .filter_map(|(name, keys)| {
            Some(((*name).to_owned(), string_field(fields, keys)?.to_owned()))
        })
        .collect()
}

fn string_field<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| fields.get(*key)?.as_str())
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let mut end = LONGEST;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
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
                "{\"path\":\"a.rs\"}\nx",
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
                "{\"filePath\":\"a.rs\"}\ndone",
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
}
