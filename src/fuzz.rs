//! Feeds every parser of foreign bytes with mutations of valid texts.
//!
//! A target is a parser with the texts that it starts from: the files of the embedded sample, texts
//! written here, and the kept inputs in `tests/fuzz/TARGET`, which once failed. Each run mutates them
//! at random: bytes change, pieces are removed, repeated, exchanged between texts, or taken from a
//! list of tokens that parsers care about. A panic fails, and so does a property that must hold of
//! any input. The failing input is made smaller and written to a file, whose name is printed.
//!
//! Damage to the blocks of the corpus is tested beside them, in `core::corpus`, and arguments of the
//! server's tools are in `tests/it/mcp.rs`.
//!
//! `cargo test` runs each target a few hundred times with the same seed. With
//! `TOME_FUZZ_SECONDS=3600` each runs so long, with a seed from the clock, which is printed.

#[allow(dead_code)]
#[path = "../benches/support/dice.rs"]
mod dice;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use dice::Dice;

use crate::core::change::Moment;
use crate::core::citation::Citation;
use crate::core::config::{HookSettings, Settings};
use crate::core::header::{frontmatter::Frontmatter, label, meta, summary};
use crate::core::history::History;
use crate::core::layout::listing;
use crate::core::log::{self, Agent, LogFile, LogStart, ReadMode, json};
use crate::core::query::{Query, noon};
use crate::core::{diff, display, hidden, link, secret};
use crate::hook::{HookContext, HookMemory, Written, answer};
use crate::tui::highlight::Syntaxes;
use crate::tui::theme::{Terminal, Theme, ThemeFile};
use crate::tui::widget::markdown::{RenderOptions, render};

/// How often a target runs in `cargo test`.
const RUNS: u32 = 150;

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

/// Changes inputs.
struct Mutator(Dice);

impl Mutator {
    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// A random piece of `bytes`, mostly a short one.
    fn piece<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let from = self.below(bytes.len() + 1);
        let most = match self.below(4) {
            0 => bytes.len() - from,
            _ => (bytes.len() - from).min(32),
        };
        &bytes[from..from + self.below(most + 1)]
    }

    /// Changes `input` in one to eight ways.
    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        for _ in 0..=self.below(8) {
            let at = self.below(input.len() + 1);
            match self.below(7) {
                0 if at < input.len() => input[at] ^= 1 << self.below(8),
                1 => {
                    let end = (at + self.below(64)).min(input.len());
                    input.drain(at..end);
                }
                2 => {
                    let piece = self.piece(input).to_vec();
                    let times = [1, 2, 50][self.below(3)];
                    input.splice(at..at, piece.repeat(times));
                }
                3 => {
                    let other = &seeds[self.below(seeds.len())];
                    let piece = self.piece(other);
                    input.splice(at..at, piece.iter().copied());
                }
                4 => input.truncate(at),
                _ => {
                    let token = TOKENS[self.below(TOKENS.len())];
                    input.splice(at..at, token.iter().copied());
                }
            }
            input.truncate(LARGEST);
        }
    }
}

/// What targets run with.
struct Scene {
    dir: tempfile::TempDir,
    theme: Theme,
    syntaxes: std::sync::Arc<Syntaxes>,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            theme: Theme::default(),
            syntaxes: Syntaxes::shared(),
        }
    }

    /// Writes `bytes` into a file of this name.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        std::fs::write(&path, bytes).expect("written");
        path
    }
}

type Run = fn(&[u8], &Scene);

/// Runs a target, see the module.
fn fuzz(name: &str, seeds: Vec<Vec<u8>>, run: Run) {
    let scene = Scene::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz")
        .join(name);
    let kept = std::fs::read_dir(kept).into_iter().flatten().flatten();
    let kept = kept.map(|entry| std::fs::read(entry.path()).expect("a kept input"));
    let seeds: Vec<Vec<u8>> = seeds.into_iter().chain(kept).collect();
    assert!(!seeds.is_empty(), "{name} has something to start from");
    let check = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| run(input, &scene))).is_ok();
    for seed in &seeds {
        assert!(
            check(seed),
            "{name}: fails without a mutation: {:?}",
            String::from_utf8_lossy(seed)
        );
    }

    let seconds = std::env::var("TOME_FUZZ_SECONDS").ok();
    let seconds: Option<u64> = seconds.map(|seconds| seconds.parse().expect("a number of seconds"));
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = match seconds {
        Some(_) => since_1970.expect("after 1970").as_secs(),
        None => 1,
    };
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(3600));
    let mut mutator = Mutator(Dice(seed));
    let mut runs = 0_u32;
    while Instant::now() < until && (seconds.is_some() || runs < RUNS) {
        runs += 1;
        let mut input = seeds[mutator.below(seeds.len())].clone();
        mutator.mutate(&mut input, &seeds);
        if !check(&input) {
            let smallest = smaller(input, &check);
            let file = std::env::temp_dir().join(format!("tome-fuzz-{name}"));
            std::fs::write(&file, &smallest).expect("written");
            panic!(
                "{name}: run {runs} of seed {seed} fails; the input is in {}",
                file.display()
            );
        }
    }
    if seconds.is_some() {
        let line = format!("{name}: {runs} runs of seed {seed}\n");
        std::io::stderr()
            .write_all(line.as_bytes())
            .expect("standard error is open");
    }
}

/// Removes pieces of a failing input as long as it fails without them.
fn smaller(mut input: Vec<u8>, check: &dyn Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut length = input.len() / 2;
    while length > 0 {
        let mut at = 0;
        while at < input.len() {
            let end = (at + length).min(input.len());
            let without = [&input[..at], &input[end..]].concat();
            match check(&without) {
                true => at = end,
                false => input = without,
            }
        }
        length /= 2;
    }
    input
}

/// The files of the embedded sample whose names end so.
fn sample(ending: &str) -> Vec<Vec<u8>> {
    fn visit(dir: &Path, ending: &str, out: &mut Vec<Vec<u8>>) {
        let mut entries: Vec<_> = std::fs::read_dir(dir)
            .expect("a directory")
            .flatten()
            .collect();
        entries.sort_by_key(std::fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                visit(&path, ending, out);
            } else if path.to_string_lossy().ends_with(ending) {
                out.push(std::fs::read(path).expect("a file"));
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
fn read_log(bytes: &[u8], scene: &Scene) {
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
            match line.strip_suffix(b"\n") {
                Some(line) => decoder.line(number, line, &mut messages),
                None => decoder.tail(number, line, &mut messages),
            }
            carry = Some(decoder.carry().clone());
        }
        assert_eq!(
            messages.len(),
            read.messages.len(),
            "{agent:?}: by the line, and at once"
        );
    }
}

/// A session as an agent's hook would report it.
const PAYLOADS: &[&str] = &[
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

fn moment() -> Moment {
    Moment {
        time: jiff::Timestamp::UNIX_EPOCH,
        today: jiff::civil::date(2026, 1, 1),
    }
}

/// Answers a payload as each agent's hook: always with a JSON object, or with nothing.
fn handle_hook(bytes: &[u8], scene: &Scene) {
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

fn markdown() -> Vec<Vec<u8>> {
    sample(".md")
}

/// Runs a function on the text of an input.
fn with_text(bytes: &[u8], run: impl FnOnce(&str)) {
    run(&String::from_utf8_lossy(bytes));
}

/// A journal of a change and of its undoing.
fn journal() -> Vec<Vec<u8>> {
    texts(&[r#"{"schema":1}
{"id":"01M7G6QADTF4PMK2Y5ZV3NWNQH","time":1794766514618,"who":"you","door":"cli","verb":"write","message":"Memory saved: a.md","files":[{"root":"/p","layout":"index","path":"a.md","after":"7d76a9e28cb4352e50c140f2606a5f25d2175fe885ec671365955420d049efc9","added":8},{"root":"/p","layout":"index","path":"MEMORY.md","before":"2bc35b3904d55857f531a9a1c044adb3769fc943dbb3e9c2e3719a3a4ef11bb4","after":"ae2e88ab376b47fdcf48d30479ec33a9e7fc1497d94bc95a9a11bee91b3409d8","derived":true,"modified":1794766514585615485,"mode":420,"added":2}]}
{"id":"01M7G6QAHJDRVKXYNRSGHKHVD1","time":1794766514738,"who":"you","door":"cli","verb":"undo","message":"Undone: Memory saved: a.md","of":"01M7G6QADTF4PMK2Y5ZV3NWNQH","files":[{"root":"/p","layout":"index","path":"a.md","before":"7d76a9e28cb4352e50c140f2606a5f25d2175fe885ec671365955420d049efc9","modified":1794766514641615482,"mode":420,"removed":8}]}
"#])
}

/// Names a test for each target.
macro_rules! targets {
    ($($name:ident: $seeds:expr, $run:expr;)*) => {
        $(
            #[test]
            fn $name() {
                fuzz(stringify!($name), $seeds, $run);
            }
        )*
    };
}

targets! {
    log_formats: logs(), read_log;
    json_scanner: logs(), |bytes, _| {
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok((value, _)) = json::value(line) {
                drop(value.outline());
                drop(value.text());
            }
        }
    };
    frontmatter: markdown(), |bytes, _| with_text(bytes, |text| drop(Frontmatter::parse(text)));
    meta_comment: markdown(), |bytes, _| with_text(bytes, |text| drop(meta::Meta::parse(text)));
    labels: markdown(), |bytes, _| with_text(bytes, |text| {
        drop(label::entries(text));
        drop(summary::entries(text));
        drop(summary::without_head(text));
    });
    index_lists: markdown(), |bytes, _| with_text(bytes, |text| {
        drop(listing::bullets(text));
        drop(link::links(text));
    });
    queries: texts(&[
        "refr rot", "\"exact phrase\" !not 'word ^start end$", "type:project store:x in:logs agent:codex role:user",
        "project:shop since:30d before:2026-01-31",
    ]), |bytes, _| with_text(bytes, |text| {
        let prose = Query::of_prose(text, &noon());
        // Long ones are not compared.
        assert!(prose.narrows(&prose) || text.len() > 100, "a query narrows itself");
        drop(Query::parse(text, &noon()));
    });
    citations: texts(&["codex:0199e2bb#L12-14", "detail/x.md#L10-20", "s:episodes/2026-02.md#entry"]), |bytes, _| {
        with_text(bytes, |text| drop(text.parse::<Citation>()));
    };
    settings: vec![include_bytes!("../assets/config.toml").to_vec()], |bytes, _| with_text(bytes, |text| {
        drop(Settings::default().read_file(Path::new("config.toml"), text));
    });
    keymaps: vec![include_bytes!("../assets/keymap.toml").to_vec()], |bytes, _| with_text(bytes, |text| {
        drop(crate::tui::keymap::check("keymap.toml", text));
    });
    themes: vec![include_bytes!("../assets/theme.toml").to_vec()], |bytes, _| with_text(bytes, |text| {
        let path = Path::new("theme.toml");
        drop(Theme::load(Terminal::default(), Some(ThemeFile { path, text })));
    });
    hook_payloads: texts(PAYLOADS), handle_hook;
    markdown_rendering: markdown(), |bytes, scene| with_text(bytes, |text| {
        let (theme, syntaxes) = (&scene.theme, &scene.syntaxes);
        drop(render(text, 0..text.len(), RenderOptions { theme, syntaxes, width: 40 }));
    });
    masking: [logs(), markdown()].concat(), |bytes, _| with_text(bytes, |text| {
        let masked = secret::mask(text);
        assert_eq!(secret::mask(&masked), masked, "masked text has nothing to mask");
    });
    cleaning: [logs(), markdown()].concat(), |bytes, _| with_text(bytes, |text| {
        let cleaned = log::clean(text);
        assert_eq!(log::clean(&cleaned), cleaned, "cleaned text has nothing to clean");
        let shown = display::escape_controls(text);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
        let visible = hidden::without_hidden(text);
        assert_eq!(hidden::without_hidden(&visible), visible, "nothing is hidden twice");
    });
    differences: markdown(), |bytes, _| {
        let changed: Vec<u8> = bytes.iter().rev().copied().collect();
        let merged = diff::merge(bytes, bytes, &changed);
        drop(merged);
        drop(diff::unified(("a", "b"), bytes, &changed));
    };
    journals: journal(), |bytes, scene| {
        scene.file("history/journal.jsonl", bytes);
        let history = History::open(&scene.dir.path().join("history"));
        drop(history.records());
        drop(history.undoable(&[Path::new("/p")]));
        drop(history.health());
    };
}
