//! The targets that need files or more than a call, and the texts that they start from.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Scene, sample, texts};
use crate::core::change::history::History;
use crate::core::insight::context;
use crate::core::insight::context::fixture::pieces_in;
use crate::core::log::{self, Agent, LogFile, LogStart, ReadMode};
use crate::core::memory::config::HookSettings;
use crate::core::text::time::Moment;
use crate::hook::{HookContext, HookMemory, Written, answer};
use crate::setup::{SettingsDirs, SetupMode, SetupRequest, SetupScope};

/// Logs of all forms: those of the sample, and a few lines of each agent that it lacks.
pub(super) fn logs() -> Vec<Vec<u8>> {
    let mut seeds = sample(".jsonl");
    seeds.extend(sample(".json"));
    seeds.extend(texts(&[
        "# aider chat started at 2026-01-02 03:04:05\n\n#### why?\n\nBecause.\n\n> Applied edit to a.rs\n",
        r#"{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"/p"}},"timestamp":"2026-01-02T03:04:05Z"}
{"type":"user.message","data":{"content":"why?"},"timestamp":"2026-01-02T03:04:05Z"}
{"type":"tool.execution_start","data":{"toolCallId":"1","toolName":"bash","arguments":{"command":"ls"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"1","result":{"content":"a"}}}
"#,
        r#"{"role":"user","content":[{"type":"text","text":"<user_query>why?</user_query>"}]}
{"role":"assistant","content":[{"type":"tool-call","toolCallId":"1","toolName":"Shell","args":{"command":"ls"}}]}
"#,
        r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"why?"}]},"timestamp":"2026-01-02T03:04:05Z"}
{"type":"message","message":{"role":"toolResult","toolCallId":"1","toolName":"bash","content":[{"type":"text","text":"a"}]}}
"#,
        r#"{"version":3,"requests":[{"message":{"text":"why?"},"response":[{"value":"Because."},{"kind":"toolInvocationSerialized","toolId":"t"}],"timestamp":1}]}"#,
        r#"[{"role":"user","content":[{"type":"text","text":"<task>why?</task>"}],"ts":1},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"read_file","input":{"path":"a"}}]}]"#,
        r#"{"uuid":"1","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"why?"}]},"cwd":"/p"}
{"type":"assistant","message":{"parts":[{"functionCall":{"id":"1","name":"ls","args":{}}}]}}
{"type":"tool_result","message":{"parts":[{"functionResponse":{"id":"1","name":"ls","response":{"output":"a"}}}]}}
"#,
    ]));
    seeds
}

/// A log with these bytes.
fn log_of(agent: Agent, bytes: &[u8], scene: &Scene) -> LogFile {
    let ending = match agent {
        Agent::Aider => "md",
        Agent::CopilotChat | Agent::Cline | Agent::Kiro => "json",
        _ => "jsonl",
    };
    LogFile {
        agent,
        path: scene.file(&format!("log.{ending}"), bytes),
        id: "log".to_owned(),
        parent: None,
        title: None,
        size: bytes.len() as u64,
        modified: None,
        start: LogStart::default(),
    }
}

/// Reads a log as each agent's. One that is read by the line has the same messages when reading
/// stops after any line and continues with what was carried over.
pub(super) fn read_log(bytes: &[u8], scene: &Scene) {
    for agent in Agent::all() {
        let log = log_of(agent, bytes, scene);
        let read = log::read(&log);
        let ReadMode::Lines(_) = log.read_mode() else {
            continue;
        };
        let Ok(read) = read else { continue };
        let mut carry = None;
        let mut messages = Vec::new();
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let mut decoder = match carry.take() {
                Some(carry) => log::Decoder::resume(&log, carry),
                None => log::Decoder::new(&log),
            };
            decode_line(&mut decoder, (number, line), &mut messages);
            carry = Some(decoder.carry().clone());
        }
        assert_eq!(
            messages.len(),
            read.messages.len(),
            "{agent:?}: by the line, and at once"
        );
        let mut decoder = log::Decoder::new(&log).without_outputs();
        let mut others = Vec::new();
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            decode_line(&mut decoder, (number, line), &mut others);
        }
        for all in [&mut messages, &mut others] {
            all.retain(|message| message.kind != log::MessageKind::ToolResult);
        }
        assert_eq!(
            others, messages,
            "{agent:?}: without outputs, and with them"
        );
    }
}

fn decode_line(
    decoder: &mut log::Decoder,
    (number, line): (u64, &[u8]),
    out: &mut Vec<log::Message>,
) {
    match line.strip_suffix(b"\n") {
        Some(line) => decoder.line(number, line, out),
        None => decoder.tail(number, line, out),
    }
}

/// A session as an agent's hook would report it.
pub(super) const PAYLOADS: &[&str] = &[
    r#"{"session_id":"s","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"why?","timestamp":"2026-01-02T03:04:05Z"}"#,
    r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/p/a","old_string":"a","new_string":"b"},"tool_response":{"filePath":"/p/a","structuredPatch":[{"oldStart":1,"lines":["-a","+b"]}]}}"#,
    r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":{"todos":[{"content":"a","status":"pending"}]}}"#,
    r#"{"sessionId":"s","timestamp":1700000000000,"cwd":"/p","toolName":"bash","toolArgs":"{\"command\":\"ls\"}","toolResult":{"textResultForLlm":"a"}}"#,
    r#"{"session_id":"s","hook_event_name":"AfterModel","llm_response":{"candidates":[{"content":{"parts":["a"]}}]}}"#,
    r#"{"session_id":"s","hook_event_name":"SessionStart","source":"startup","transcript_path":"/nowhere"}"#,
];

/// Stores without content.
struct NoMemory;

impl HookMemory for NoMemory {
    fn context(&self, _: &Path, _: Agent, _: &str) -> String {
        String::new()
    }

    fn lessons(&self) -> PathBuf {
        PathBuf::new()
    }

    fn observe(&self, _: &Path, _: &Written<'_>) {}
}

pub(super) fn moment() -> Moment {
    Moment {
        time: jiff::Timestamp::UNIX_EPOCH,
        today: jiff::civil::date(2026, 1, 1),
    }
}

/// Answers a payload as each agent's hook: always with a JSON object, or with nothing.
pub(super) fn handle_hook(bytes: &[u8], scene: &Scene) {
    let data = scene.dir.path().join("data");
    let history = History::open(&data.join("history"));
    let settings = HookSettings {
        capture: true,
        context: true,
        reminders: true,
    };
    for agent in [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::Gemini,
        Agent::Copilot,
        Agent::Opencode,
    ] {
        let reply = answer(
            bytes,
            &HookContext {
                agent,
                caller: agent,
                is_attended: true,
                event: None,
                data: &data,
                history: &history,
                moment: &moment(),
                settings,
                until: Instant::now(),
                memory: &NoMemory,
            },
        );
        let is_json = serde_json::from_str::<serde_json::Value>(&reply).is_ok();
        assert!(reply.is_empty() || is_json, "{agent:?}: {reply}");
    }
    // One directory for every run would grow.
    drop(std::fs::remove_dir_all(&data));
}

/// A journal of a change and of its undoing.
pub(super) fn journal() -> Vec<Vec<u8>> {
    texts(&[r#"{"schema":1}
{"id":"01M7G6QADTF4PMK2Y5ZV3NWNQH","time":1794766514618,"who":"you","door":"cli","verb":"write","message":"Memory saved: a.md","files":[{"root":"/p","layout":"index","path":"a.md","after":"7d76a9e28cb4352e50c140f2606a5f25d2175fe885ec671365955420d049efc9","added":8},{"root":"/p","layout":"index","path":"MEMORY.md","before":"2bc35b3904d55857f531a9a1c044adb3769fc943dbb3e9c2e3719a3a4ef11bb4","after":"ae2e88ab376b47fdcf48d30479ec33a9e7fc1497d94bc95a9a11bee91b3409d8","derived":true,"modified":1794766514585615485,"mode":420,"added":2}]}
{"id":"01M7G6QAHJDRVKXYNRSGHKHVD1","time":1794766514738,"who":"you","door":"cli","verb":"undo","message":"Undone: Memory saved: a.md","of":"01M7G6QADTF4PMK2Y5ZV3NWNQH","files":[{"root":"/p","layout":"index","path":"a.md","before":"7d76a9e28cb4352e50c140f2606a5f25d2175fe885ec671365955420d049efc9","modified":1794766514641615482,"mode":420,"removed":8}]}
"#])
}

/// Settings of agents, as people write them.
pub(super) const AGENT_SETTINGS: &[&str] = &[
    "{\n  // mine\n  \"hooks\": {\"Stop\": [{\"matcher\": \"*\", \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]},\n  \"mcpServers\": {\"x\": {\"command\": \"y\", \"args\": [1, true, null]}},\n}\n",
    "{\"mcp\":{\"tome\":{\"type\":\"local\",\"command\":[\"tome\",\"mcp\"]}},\"plugin\":[\"a\"]}",
    "# mine\nmodel = \"m\"\n[mcp_servers.x]\ncommand = \"y\" # why\nargs = [\"z\"]\n\n[hooks]\n[[hooks.Stop]]\nmatcher = \"*\"\n",
];

/// Registers tome with every agent whose settings have these bytes, and removes it again: the bytes
/// are the same afterwards. Where the original is lost, removing it does not panic.
pub(super) fn register(bytes: &[u8], scene: &Scene) {
    let root = scene.dir.path();
    let at = |name: &str| root.join(name);
    let dirs = SettingsDirs {
        claude: at("claude"),
        codex: at("codex"),
        gemini: at("gemini"),
        copilot: at("copilot"),
        opencode: at("opencode"),
        project: at("project"),
        memory: at("kept"),
    };
    let files = [
        "claude/settings.json",
        "codex/config.toml",
        "codex/hooks.json",
        "gemini/settings.json",
        "copilot/mcp-config.json",
        "opencode/opencode.json",
        "project/.mcp.json",
    ];
    let is_kept = bytes.len().is_multiple_of(2);
    let files = files.map(|name| scene.file(name, bytes));
    for agent in crate::setup::AGENTS {
        for scope in [SetupScope::User, SetupScope::Project] {
            let act = |mode| {
                let program = "tome";
                let request = SetupRequest {
                    agent,
                    scope,
                    mode,
                    program,
                };
                let plan = crate::setup::plan(&dirs, request)?;
                crate::setup::carry_out(&dirs, &plan, mode)
            };
            let is_installed = act(SetupMode::Install).is_ok();
            if !is_kept {
                drop(std::fs::remove_dir_all(&dirs.memory));
            }
            let is_removed = act(SetupMode::Remove).is_ok();
            if is_kept && is_installed && is_removed {
                for file in &files {
                    let now = std::fs::read(file).expect("a file");
                    assert!(now == bytes, "{agent:?} {scope:?}: {}", file.display());
                }
            }
        }
    }
    for folder in std::fs::read_dir(root).into_iter().flatten().flatten() {
        drop(std::fs::remove_dir_all(folder.path()));
    }
}

/// Reads what each agent loads at its start, where its own files and a project's have these bytes.
pub(super) fn read_context(bytes: &[u8], scene: &Scene) {
    let home = scene.dir.path().canonicalize().expect("canonical");
    for name in [
        ".claude/CLAUDE.md",
        ".claude/rules/a.md",
        ".codex/AGENTS.md",
        ".gemini/GEMINI.md",
        ".copilot/copilot-instructions.md",
        ".config/opencode/AGENTS.md",
        "project/CLAUDE.md",
        "project/AGENTS.md",
        "project/GEMINI.md",
        "project/.github/instructions/a.instructions.md",
    ] {
        scene.file(name, bytes);
    }
    for agent in context::AGENTS {
        drop(pieces_in(&home, agent, "project", None));
    }
}
