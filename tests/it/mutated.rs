//! Bytes that nobody wrote: every parser of foreign bytes gets mutations of valid texts.
//!
//! Bytes change, and pieces are removed, repeated, exchanged between texts, or taken from a list of
//! tokens that parsers care about. No input may cause a panic, and some properties hold of any.
//! `PROPTEST_CASES=100000 cargo test --release --test it mutated` looks longer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use proptest::prelude::*;
use proptest::sample::Index;

use tome::core::change::combine::Combination;
use tome::core::change::history::History;
use tome::core::insight::context::{self, Start, pieces};
use tome::core::insight::timeline;
use tome::core::log::{self, Agent, LogFile, LogLocations, ReadMode, json};
use tome::core::memory::catalog::{LogCatalog, LogScope};
use tome::core::memory::citation::Citation;
use tome::core::memory::config::{HookSettings, Settings, TimelineSettings};
use tome::core::memory::discover::Environment;
use tome::core::memory::layout::{Layout, listing};
use tome::core::memory::store::Store;
use tome::core::memory::texts::MemoryTexts;
use tome::core::search::query::Query;
use tome::core::search::recall::{RecallRequest, RecallResult, Scope, recall};
use tome::core::search::search;
use tome::core::text::header::frontmatter::Frontmatter;
use tome::core::text::header::{label, meta, summary};
use tome::core::text::time::Moment;
use tome::core::text::{clean, diff, display, grip_comment, hidden, link, secret};
use tome::hook::{ActionOptions, HookContext, HookMemory, Written, answer};
use tome::setup::{Actions, SettingsDirs, SetupMode, SetupRequest, SetupScope};
use tome::tui::highlight::Syntaxes;
use tome::tui::theme::{Terminal, Theme, ThemeFile};
use tome::tui::widget::markdown::{RenderOptions, render};

/// The largest input.
const LARGEST: usize = 1 << 16;

/// Pieces that decide what a parser does next.
#[rustfmt::skip]
const TOKENS: &[&[u8]] = &[
    b"---\n", b"\n", b"\r\n", b"\r", b"\0", b"\"", b"\\", b"\\u", b"\\ud800", b"{", b"}", b"[",
    b"]", b":", b",", b"null", b"true", b"-1", b"1e999", b"18446744073709551616", b"0000", b"{}",
    b"[]", b"\"\"", b"# ", b"## ", b"- ", b"> ", b"> Summary:", b"<!--", b"-->", b"```", b"~~~",
    b"[a](b.md)", b"[[a]]", b"](", b"<", b">", b"|", b"`", b"*", b"_", b"\t", b"    ",
    b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x80\xae",
    b"\xcc\x81", b"\xc2\xa0", b"\x1b[31m", b"\x1b]0;", b"2026-13-45", b"9999-12-31T23:59:60Z",
    b"<system-reminder>", b"</system-reminder>", b"\"type\":", b"\"content\":",
    b"\"role\":\"user\"", b"\"id\":", b"..", b"/", b"~", b"#L1-9", b"!", b"'", b"^", b"$",
];

/// One to eight changes of one of the texts.
fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edit = (0..7u8, any::<[Index; 4]>());
    let edits = prop::collection::vec(edit, 1..=8);
    (any::<Index>(), edits).prop_map(move |(seed, edits)| {
        let mut bytes = seed.get(&seeds).clone();
        for (kind, [at, a, b, c]) in edits {
            let at = at.index(bytes.len() + 1);
            // A random piece, mostly a short one.
            let piece = |of: &[u8]| {
                let from = a.index(of.len() + 1);
                let most = if b.index(4) == 0 { LARGEST } else { 32 };
                of[from..from + c.index((of.len() - from).min(most) + 1)].to_vec()
            };
            match kind {
                0 if at < bytes.len() => bytes[at] ^= 1 << a.index(8),
                1 => drop(bytes.drain(at..(at + a.index(64)).min(bytes.len()))),
                2 => {
                    let repeated = piece(&bytes).repeat([1, 2, 50][b.index(3)]);
                    drop(bytes.splice(at..at, repeated));
                }
                3 => {
                    let other: &Vec<u8> = a.get(&seeds);
                    drop(bytes.splice(at..at, piece(other)));
                }
                4 => bytes.truncate(at),
                _ => drop(bytes.splice(at..at, a.get(TOKENS).iter().copied())),
            }
            bytes.truncate(LARGEST);
        }
        bytes
    })
}

/// As [`mutated`], as text.
fn mutated_text(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = String> {
    mutated(seeds).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes `bytes` into a file of this name.
fn file(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("created");
    fs::write(&path, bytes).expect("written");
    path
}

/// The files of the embedded sample whose names end so.
fn sample(ending: &str) -> Vec<Vec<u8>> {
    fn visit(dir: &Path, ending: &str, out: &mut Vec<Vec<u8>>) {
        let mut entries: Vec<_> = fs::read_dir(dir).expect("a directory").flatten().collect();
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                visit(&path, ending, out);
            } else if path.to_string_lossy().ends_with(ending) {
                out.push(fs::read(path).expect("a file"));
            }
        }
    }
    let mut out = Vec::new();
    visit(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo"),
        ending,
        &mut out,
    );
    out
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn markdown() -> Vec<Vec<u8>> {
    sample(".md")
}

fn noon() -> jiff::Zoned {
    let noon = jiff::civil::date(2026, 3, 15).at(12, 0, 0, 0);
    noon.to_zoned(jiff::tz::TimeZone::UTC)
        .expect("a time that exists")
}

/// Logs of all forms: those of the sample, and a few lines of each agent that it lacks.
fn logs() -> Vec<Vec<u8>> {
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
fn log_of(agent: Agent, bytes: &[u8], dir: &Path) -> LogFile {
    let ending = match agent {
        Agent::Aider => "md",
        Agent::CopilotChat | Agent::Cline | Agent::Kiro => "json",
        _ => "jsonl",
    };
    LogFile {
        size: bytes.len() as u64,
        ..LogFile::new(agent, file(dir, &format!("log.{ending}"), bytes), "log")
    }
}

/// Reads a log as each agent's. One that is read by the line has the same messages when reading
/// stops after any line and continues with what was carried over.
fn read_log(bytes: &[u8], dir: &Path) {
    for agent in Agent::all() {
        let log = log_of(agent, bytes, dir);
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
const PAYLOADS: &[&str] = &[
    r#"{"session_id":"s","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"why?","timestamp":"2026-01-02T03:04:05Z"}"#,
    r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/p/a","old_string":"a","new_string":"b"},"tool_response":{"filePath":"/p/a","structuredPatch":[{"oldStart":1,"lines":["-a","+b"]}]}}"#,
    r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":{"todos":[{"content":"a","status":"pending"}]}}"#,
    r#"{"sessionId":"s","timestamp":1700000000000,"cwd":"/p","toolName":"bash","toolArgs":"{\"command\":\"ls\"}","toolResult":{"textResultForLlm":"a"}}"#,
    r#"{"session_id":"s","hook_event_name":"AfterModel","llm_response":{"candidates":[{"content":{"parts":["a"]}}]}}"#,
    r#"{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cd x && git push -f 'a' <<E\nx\nE"}}"#,
    r#"{"session_id":"s","cwd":"/p","hook_event_name":"BeforeTool","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a.rs\n-x\n+y"}}"#,
    r#"{"session_id":"s","hook_event_name":"SessionStart","source":"startup","transcript_path":"/nowhere"}"#,
];

/// Stores without content.
struct NoMemory;

impl HookMemory for NoMemory {
    fn context(&self, _: &Path, _: Agent, _: &str) -> String {
        String::new()
    }

    fn stores(&self, _: &Path) -> Vec<Store> {
        Vec::new()
    }

    fn all_stores(&self) -> Vec<Store> {
        Vec::new()
    }

    fn lessons(&self) -> PathBuf {
        PathBuf::new()
    }

    fn observe(&self, _: &Path, _: &Written<'_>) {}
}

fn moment() -> Moment {
    Moment {
        time: jiff::Timestamp::UNIX_EPOCH,
        today: jiff::civil::date(2026, 1, 1),
    }
}

/// Answers a payload as each agent's hook: always with a JSON object, or with nothing.
fn handle_hook(bytes: &[u8], dir: &Path) {
    let data = dir.join("data");
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
                home: dir,
                history: &history,
                moment: &moment(),
                settings,
                actions: ActionOptions {
                    guards: true,
                    confirm: true,
                },
                until: Instant::now(),
                memory: &NoMemory,
            },
        );
        let is_json = serde_json::from_str::<serde_json::Value>(&reply).is_ok();
        assert!(reply.is_empty() || is_json, "{agent:?}: {reply}");
    }
    // One directory for every run would grow.
    drop(fs::remove_dir_all(&data));
}

/// A journal of a change and of its undoing.
const JOURNAL: &str = r#"{"schema":1}
{"id":"01M7G6QADTF4PMK2Y5ZV3NWNQH","time":1794766514618,"who":"you","door":"cli","verb":"write","message":"Memory saved: a.md","files":[{"root":"/p","layout":"index","path":"a.md","after":"7d76a9e28cb4352e50c140f2606a5f25d2175fe885ec671365955420d049efc9","added":8},{"root":"/p","layout":"index","path":"MEMORY.md","before":"2bc35b3904d55857f531a9a1c044adb3769fc943dbb3e9c2e3719a3a4ef11bb4","after":"ae2e88ab376b47fdcf48d30479ec33a9e7fc1497d94bc95a9a11bee91b3409d8","derived":true,"modified":1794766514585615485,"mode":420,"added":2}]}
{"id":"01M7G6QAHJDRVKXYNRSGHKHVD1","time":1794766514738,"who":"you","door":"cli","verb":"undo","message":"Undone: Memory saved: a.md","of":"01M7G6QADTF4PMK2Y5ZV3NWNQH","files":[{"root":"/p","layout":"index","path":"a.md","before":"7d76a9e28cb4352e50c140f2606a5f25d2175fe885ec671365955420d049efc9","modified":1794766514641615482,"mode":420,"removed":8}]}
"#;

/// Settings of agents, as people write them.
const AGENT_SETTINGS: &[&str] = &[
    "{\n  // mine\n  \"hooks\": {\"Stop\": [{\"matcher\": \"*\", \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]},\n  \"mcpServers\": {\"x\": {\"command\": \"y\", \"args\": [1, true, null]}},\n}\n",
    "{\"mcp\":{\"tome\":{\"type\":\"local\",\"command\":[\"tome\",\"mcp\"]}},\"plugin\":[\"a\"]}",
    "# mine\nmodel = \"m\"\n[mcp_servers.x]\ncommand = \"y\" # why\nargs = [\"z\"]\n\n[hooks]\n[[hooks.Stop]]\nmatcher = \"*\"\n",
];

/// Registers tome with every agent whose settings have these bytes, and removes it again: the bytes
/// are the same afterwards. Where the original is lost, removing it does not panic.
fn register(bytes: &[u8], dir: &Path) {
    let root = dir;
    let at = |name: &str| root.join(name);
    let dirs = SettingsDirs {
        claude: at("claude"),
        claude_state: at("claude.json"),
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
    let files = files.map(|name| file(dir, name, bytes));
    for agent in tome::setup::AGENTS {
        for scope in [SetupScope::User, SetupScope::Project] {
            let act = |mode| {
                let program = "tome";
                let request = SetupRequest {
                    agent,
                    scope,
                    mode,
                    program,
                    actions: Actions::default(),
                };
                let plan = tome::setup::plan(&dirs, request)?;
                tome::setup::carry_out(&dirs, &plan, mode)
            };
            let is_installed = act(SetupMode::Install).is_ok();
            if !is_kept {
                drop(fs::remove_dir_all(&dirs.memory));
            }
            let is_removed = act(SetupMode::Remove).is_ok();
            if is_kept && is_installed && is_removed {
                for file in &files {
                    let now = fs::read(file).expect("a file");
                    assert!(now == bytes, "{agent:?} {scope:?}: {}", file.display());
                }
            }
        }
    }
    for folder in fs::read_dir(root).into_iter().flatten().flatten() {
        drop(fs::remove_dir_all(folder.path()));
    }
}

/// The files that agents load at their start: their own, and those of a project.
const LOADED: [&str; 10] = [
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
];

/// Reads what each agent loads at its start, where all of these files have these bytes.
fn read_context(bytes: &[u8], dir: &Path) {
    let home = dir.canonicalize().expect("canonical");
    for name in LOADED {
        file(&home, name, bytes);
    }
    let start = Start {
        environment: &Environment::of_home(&home, home.join("project"), home.join("data")),
        settings: &Settings::default(),
        managed: &home.join("managed"),
        copilot: &home.join(".copilot"),
        variables: &[],
        draft: None,
    };
    for agent in context::AGENTS {
        pieces(agent, &start).expect("a known agent");
    }
}

/// The words that are searched: of messages, of a call, of a result, and of none.
const QUERIES: [&str; 4] = ["rotate tokens", "cargo test", "\"test result\"", "absent"];

/// A log with a message of each part, and a long one.
fn log_of_each_part() -> String {
    let long = "the tokens rotate, ".repeat(600);
    format!(
        r#"{{"type":"message","id":"1","message":{{"role":"user","content":"how do we rotate tokens?"}}}}
{{"type":"message","id":"2","message":{{"role":"assistant","content":[{{"type":"text","text":"{long}"}},{{"type":"toolCall","id":"c","name":"bash","arguments":{{"command":"cargo test tokens"}}}}]}}}}
{{"type":"message","id":"3","message":{{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{{"type":"text","text":"test result: ok, rotate"}}]}}}}
"#
    )
}

/// Searches the logs in `dir` with the cache of this name.
fn answers(dir: &Path, cache: &str) -> Vec<RecallResult> {
    let catalog = LogCatalog {
        locations: LogLocations {
            stores: vec![dir.join("session")],
            ..LogLocations::default()
        },
        kept: None,
        cache: dir.join(cache),
        scope: LogScope::All,
        timeline: TimelineSettings::default(),
    };
    let answer = |words: &&str| {
        let query = Query::of_prose(words, &noon());
        let request = RecallRequest {
            query: &query,
            scope: Scope::All,
            limit: 5,
            without: None,
        };
        let found = search(MemoryTexts::default(), Some(&catalog), &(), |sources| {
            recall(sources, request)
        });
        found.expect("the logs are read").answer
    };
    QUERIES.iter().map(answer).collect()
}

/// Makes the whole cache and returns its answers.
fn whole_cache(dir: &Path) -> Vec<RecallResult> {
    file(dir, "session/messages.jsonl", log_of_each_part().as_bytes());
    answers(dir, "whole")
}

/// Returns the files of a cache, in order.
fn cache_files(root: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(root).sort_by_file_name();
    let files = files.into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files.map(walkdir::DirEntry::into_path).collect()
}

proptest! {
    #[test]
    fn logs_of_all_formats(bytes in mutated(logs())) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        read_log(&bytes, dir.path());
    }

    #[test]
    fn json_of_logs(bytes in mutated(logs())) {
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok((value, _)) = json::value(line) {
                drop((value.outline(), value.text()));
            }
        }
    }

    #[test]
    fn headers_and_lists_of_memories(text in mutated_text(markdown())) {
        drop(Frontmatter::parse(&text));
        drop(meta::Meta::parse(&text));
        drop((label::entries(&text), summary::entries(&text)));
        drop(summary::without_head(&text));
        drop((listing::bullets(&text), link::links(&text)));
    }

    #[test]
    fn queries(text in mutated_text(texts(&[
        "refr rot", "\"exact phrase\" !not 'word ^start end$", "type:project store:x in:logs agent:codex role:user",
        "project:shop since:30d before:2026-01-31",
    ]))) {
        drop(Query::of_prose(&text, &noon()));
        drop(Query::parse(&text, &noon()));
    }

    #[test]
    fn citations(text in mutated_text(texts(&["codex:0199e2bb#L12-14", "detail/x.md#L10-20", "s:episodes/2026-02.md#entry"]))) {
        drop(text.parse::<Citation>());
    }

    #[test]
    fn settings_keymaps_and_themes(text in mutated_text(texts(&[
        include_str!("../../assets/config.toml"), include_str!("../../assets/keymap.toml"), include_str!("../../assets/theme.toml"),
    ]))) {
        read_settings(&text);
        drop(tome::tui::keymap::check("keymap.toml", &text));
        let path = Path::new("theme.toml");
        drop(Theme::load(Terminal::default(), Some(ThemeFile { path, text: &text })));
    }

    #[test]
    fn payloads_of_hooks(bytes in mutated(texts(PAYLOADS))) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        handle_hook(&bytes, dir.path());
    }

    #[test]
    fn rendered_markdown(text in mutated_text(markdown())) {
        static SYNTAXES: LazyLock<Arc<Syntaxes>> = LazyLock::new(Syntaxes::load);
        let (theme, syntaxes) = (&Theme::default(), &SYNTAXES);
        drop(render(&text, 0..text.len(), RenderOptions { theme, syntaxes, width: 40 }));
    }

    #[test]
    fn masked_text_has_nothing_to_mask(text in mutated_text([logs(), markdown()].concat())) {
        mask_twice(&text);
    }

    #[test]
    fn cleaned_text_has_nothing_to_clean(text in mutated_text([logs(), markdown()].concat())) {
        let cleaned = clean(&text);
        prop_assert_eq!(clean(&cleaned), cleaned);
        let shown = display::escape_controls(&text);
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
        let visible = hidden::without_hidden(&text);
        prop_assert_eq!(hidden::without_hidden(&visible), visible);
    }

    #[test]
    fn differences(bytes in mutated(markdown())) {
        let changed: Vec<u8> = bytes.iter().rev().copied().collect();
        drop(diff::merge(&bytes, &bytes, &changed));
        drop(diff::unified("a", "b", &bytes, &changed));
    }

    #[test]
    fn settings_of_agents(bytes in mutated(texts(AGENT_SETTINGS))) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        register(&bytes, dir.path());
    }

    #[test]
    fn what_agents_load(bytes in mutated([markdown(), texts(&[
        "---\npaths: [\"src/**\", \"*.rs\"]\n---\n\n@AGENTS.md and `@not` @./b.md\n\n```\n@c\n```\n",
    ])].concat())) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        read_context(&bytes, dir.path());
    }

    #[test]
    fn grips(text in mutated_text(texts(&[
        "a\n\n<!-- grip:1700000000000-01abc claude-code:s#L2-4 2026-01-02T03:04:05Z\n> said\n-->\n\nb\n", "<!-- grip:1 -->\n<!-- x -->\n",
    ]))) {
        drop(timeline::comment::grips_in(&text));
        let left = grip_comment::without_grips(&text);
        prop_assert_eq!(grip_comment::without_grips(&left), left);
    }

    #[test]
    fn combinations(text in mutated_text(markdown())) {
        combine(&text);
    }

    #[test]
    fn journals(bytes in mutated(texts(&[JOURNAL]))) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        file(dir.path(), "journal.jsonl", &bytes);
        let history = History::open(dir.path());
        drop(history.records());
        drop(history.undoable(&[Path::new("/p")]));
        drop(history.health());
    }
}

/// A search with a damaged cache answers as if it were whole.
#[test]
fn files_of_the_cache() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let expected = whole_cache(dir);
    let totals: Vec<usize> = expected.iter().map(|answer| answer.total).collect();
    assert_eq!(totals, [3, 2, 1, 0], "the words of every part are found");
    let whole = dir.join("whole");
    let files = cache_files(&whole);
    let contents: Vec<Vec<u8>> = files
        .iter()
        .map(|file| fs::read(file).expect("reads"))
        .collect();
    proptest!(ProptestConfig::with_cases(150), |(damaged in any::<Index>(), bytes in mutated(contents))| {
        drop(fs::remove_dir_all(dir.join("damaged")));
        let damaged = damaged.index(files.len());
        for (number, path) in files.iter().enumerate() {
            let name = path.strip_prefix(&whole).expect("it is in the cache");
            let content = if number == damaged { bytes.clone() } else { fs::read(path).expect("reads") };
            file(&dir.join("damaged"), &name.to_string_lossy(), &content);
        }
        prop_assert_eq!(&answers(dir, "damaged"), &expected);
    });
}

fn read_settings(text: &str) {
    drop(Settings::default().read_file(Path::new("config.toml"), text));
}

fn mask_twice(text: &str) {
    let masked = secret::mask(text);
    assert_eq!(
        secret::mask(&masked),
        masked,
        "masked text has nothing to mask"
    );
}

/// Combines both halves of a text; what is the same is not doubled.
fn combine(text: &str) {
    let middle = text.chars().count() / 2;
    let at = text.char_indices().nth(middle).map_or(0, |(at, _)| at);
    let (left, right) = text.split_at(at);
    for layout in [Layout::Index, Layout::Facts, Layout::Coder, Layout::Session] {
        drop(Combination::new(layout, left, right).text(&[]));
        let same = Combination::new(layout, left, left);
        assert!(same.parts().len() <= 1, "{:?}", same.parts());
    }
}

#[test]
fn what_failed_once() {
    combine("s\nh\r\n\nysuccess");
    read_settings(&format!("x = {}", "{[,]=\n".repeat(9000)));
    let repeated = "token:%ntotoken:%ntok1616token";
    mask_twice(&format!(
        "{}token:1e999%nto{}token:%",
        repeated.repeat(3),
        &repeated.repeat(2)[10..]
    ));
    mask_twice(
        "token:%N616tokentokeotoken:%Ntok1616tokentoken:%Ntok1616tokentokenotoken:%Ntke/%token:/%token://eok1616t",
    );
}
