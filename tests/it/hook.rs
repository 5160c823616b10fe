//! Hooks: whatever an agent sends, it is not blocked, and its events are stored.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, RunOutput};

const CLAUDE: &str = "{\"continue\":true}\n";

fn send_hook(home: &Home, agent: &str, output: &Value) -> Value {
    let output = home.run_with_input(&["hook", agent], output.to_string().as_bytes());
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    serde_json::from_str(&output.out).unwrap_or_else(|e| panic!("{output:?}: {e}"))
}

fn payload(home: &Home, event: &str, more: Value) -> Value {
    let mut payload = json!({ "hook_event_name": event, "session_id": "s1", "cwd": home.project(), "transcript_path": "/t" });
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more);
    }
    payload
}

/// The captured events of the only store.
fn events(home: &Home) -> Vec<Value> {
    let Some(file) = events_file(home) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(file).expect("events");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("whole lines"))
        .collect()
}

fn events_file(home: &Home) -> Option<PathBuf> {
    let all = home.path().join(".local/share/tome/events");
    let mut folders = std::fs::read_dir(all).ok()?.flatten();
    folders
        .next()
        .map(|folder| folder.path().join("events.jsonl"))
        .filter(|file| file.exists())
}

#[test]
fn what_happens_is_kept_as_events() {
    let home = Home::new();
    for (event, more) in [
        ("SessionStart", json!({ "source": "startup" })),
        ("UserPromptSubmit", json!({ "prompt": "find the zebra" })),
        (
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_input": { "command": "echo zebra" }, "tool_response": { "stdout": "zebra", "stderr": "" } }),
        ),
        (
            "Stop",
            json!({ "stop_hook_active": false, "last_assistant_message": "There it is." }),
        ),
        ("PreCompact", json!({ "trigger": "auto" })),
        ("Unheard", json!({ "message": "of" })),
        ("SessionEnd", json!({ "reason": "other" })),
    ] {
        assert_eq!(
            send_hook(&home, "claude-code", &payload(&home, event, more)),
            json!({ "continue": true })
        );
    }
    let kept: Vec<(String, String, String)> = events(&home)
        .iter()
        .map(|event| {
            let field = |name: &str| event[name].as_str().expect(name).to_owned();
            (field("event_type"), field("role"), field("text"))
        })
        .collect();
    let kept: Vec<(&str, &str, &str)> = kept
        .iter()
        .map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str()))
        .collect();
    assert_eq!(
        kept,
        [
            ("session_start", "system", "startup"),
            ("user_message", "user", "find the zebra"),
            ("tool_result", "tool", "{\"command\":\"echo zebra\"}\nzebra"),
            ("assistant_stop", "assistant", "There it is."),
            ("PreCompact", "system", "auto"),
            ("Unheard", "system", "of"),
            ("session_end", "system", "other"),
        ]
    );
    let stores = home.ok(&["stores"]);
    assert!(
        stores.contains("what hooks captured in this project"),
        "{stores}"
    );
    assert!(home.ok(&["list", "--store", "events"]).contains("7 events"));
    let file = events_file(&home).expect("kept");
    assert!(
        home.ok(&[
            "log",
            "--store",
            file.parent().expect("a folder").to_str().expect("text"),
            file.parent()
                .and_then(|f| f.file_name())
                .and_then(|n| n.to_str())
                .expect("text")
        ])
        .contains("find the zebra")
    );
}

#[test]
fn no_field_of_an_event_keeps_a_secret() {
    let home = Home::new();
    let secret = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let more = json!({
        "session_id": format!("s {secret}"),
        "tool_name": format!("mcp__{secret}"),
        "tool_use_id": secret,
        "transcript_path": format!("/t/{secret}.jsonl"),
        "tool_input": { "file_path": format!("/p/{secret}.md") },
        "tool_response": secret,
    });
    send_hook(&home, "claude-code", &payload(&home, "PostToolUse", more));
    let kept = events(&home);
    assert_eq!(kept.len(), 1);
    let text = kept[0].to_string();
    assert!(text.contains("‹masked›"), "{text}");
    assert!(!text.contains("16C7e42F292c"), "{text}");
}

#[test]
fn whatever_comes_the_agent_goes_on() {
    let home = Home::new();
    let huge = format!(
        "{{\"hook_event_name\":\"UserPromptSubmit\",\"cwd\":{},\"prompt\":\"{}\"",
        json!(home.project()),
        "x".repeat(10 << 20)
    );
    for input in [
        "",
        " ",
        "{",
        "nonsense",
        "[1]",
        "null",
        "{}",
        "{\"hook_event_name\":\"Stop\"}",
        "\u{0}\u{1}",
        huge.as_str(),
    ] {
        let output = home.run_with_input(&["hook", "claude-code"], input.as_bytes());
        assert_eq!(
            (output.code, output.out.as_str()),
            (0, CLAUDE),
            "{:.40}",
            input
        );
    }
    assert_eq!(
        home.run_with_input(&["hook", "claude-code"], b"\xff\xfe{")
            .out,
        CLAUDE
    );
    for (args, out) in [
        (&["hook", "gemini"][..], "{}\n"),
        (&["hook", "copilot"], "{}\n"),
        (&["hook", "opencode"], "{}\n"),
        (&["hook", "codex"], CLAUDE),
        (&["hook", "no-such-agent"], "{}\n"),
        (&["hook"], "{}\n"),
        (&["hook", "claude-code", "--no-such-flag"], CLAUDE),
        (
            &["hook", "claude-code", "--config", "/no/such/file"],
            CLAUDE,
        ),
    ] {
        // With invalid arguments, the input is not read.
        let output = home.run(args);
        assert_eq!((output.code, output.out.as_str()), (0, out), "{args:?}");
    }
    assert_eq!(events(&home), [Value::Null; 0]);
}

#[test]
fn a_huge_and_a_pretty_printed_document_are_heard() {
    let home = Home::new();
    let huge = payload(
        &home,
        "UserPromptSubmit",
        json!({ "prompt": "é".repeat(5 << 20) }),
    );
    send_hook(&home, "claude-code", &huge);
    let pretty = format!(
        "{:#}\n\n",
        payload(&home, "UserPromptSubmit", json!({ "prompt": "two\nlines" }))
    );
    let output = home.run_with_input(&["hook", "claude-code"], pretty.as_bytes());
    assert_eq!(output.out, CLAUDE);
    let events = events(&home);
    assert_eq!(events.len(), 2);
    assert!(
        events[0]["text"]
            .as_str()
            .is_some_and(|text| text.len() > 1 << 20)
    );
    assert_eq!(events[1]["text"], "two\nlines");
}

#[test]
fn an_open_standard_input_is_not_waited_for() {
    let home = Home::new();
    let started = Instant::now();
    let mut child = home
        .command(&["hook", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let stdin = child.stdin.take();
    let output = RunOutput::of(&child.wait_with_output().expect("ends"));
    drop(stdin);
    assert_eq!((output.code, output.out.as_str()), (0, CLAUDE));
    // A generous limit: the point is that it ends at all.
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_whole_document_on_an_open_standard_input_is_heard() {
    use std::io::Write as _;
    let home = Home::new();
    let mut child = home
        .command(&["hook", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut stdin = child.stdin.take().expect("piped");
    let output = payload(
        &home,
        "UserPromptSubmit",
        json!({ "prompt": "held } open" }),
    );
    stdin
        .write_all(format!("{output:#}\n").as_bytes())
        .expect("heard");
    stdin.flush().expect("heard");
    let output = RunOutput::of(&child.wait_with_output().expect("ends"));
    drop(stdin);
    assert_eq!((output.code, output.out.as_str()), (0, CLAUDE));
    assert_eq!(events(&home)[0]["text"], "held } open");
}

#[test]
fn the_end_of_real_work_offers_storing_once_with_what_was_touched() {
    let home = Home::new();
    let stop = payload(&home, "Stop", json!({ "stop_hook_active": false }));
    for number in 0..10 {
        let file = format!("src/part{}.rs", number % 3);
        let edit = json!({ "tool_name": "Edit", "tool_input": { "file_path": file }, "tool_response": {} });
        send_hook(&home, "claude-code", &payload(&home, "PostToolUse", edit));
    }
    let reply = send_hook(&home, "claude-code", &stop);
    let reason = reply["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("This session did real work: 10 tools were used; files changed: src/part0.rs, src/part1.rs, src/part2.rs. "),
        "{reason}"
    );
    assert!(reason.contains("Storing in coder memory"), "{reason}");
    assert_eq!(
        send_hook(&home, "claude-code", &stop),
        json!({ "continue": true })
    );
}

#[test]
fn two_hundred_hooks_at_once_lose_nothing() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for worker in 0..20 {
            let home = &home;
            scope.spawn(move || {
                let children: Vec<_> = (0..10)
                    .map(|n| {
                        let output = payload(
                            home,
                            "UserPromptSubmit",
                            json!({ "prompt": format!("{worker}-{n}") }),
                        );
                        let mut child = home
                            .command(&["hook", "claude-code"])
                            .stdin(Stdio::piped())
                            .stdout(Stdio::piped())
                            .spawn()
                            .expect("runs");
                        use std::io::Write as _;
                        let mut input = child.stdin.take().expect("piped");
                        input
                            .write_all(output.to_string().as_bytes())
                            .expect("heard");
                        child
                    })
                    .collect();
                for child in children {
                    let output = RunOutput::of(&child.wait_with_output().expect("ends"));
                    assert_eq!((output.code, output.out.as_str()), (0, CLAUDE));
                }
            });
        }
    });
    // The next command appends the events that were set aside.
    home.ok(&["stores"]);
    let mut texts: Vec<String> = events(&home)
        .iter()
        .map(|event| event["text"].as_str().expect("text").to_owned())
        .collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 200);
}

#[test]
fn a_session_starts_with_what_the_stores_have() {
    let home = Home::new();
    home.file(
        "project/.memory/MEMORY.md",
        "# Memory\n\n- [Zebra](zebra.md) — has stripes\n",
    );
    home.file("project/.memory/zebra.md", "x");
    for (agent, path) in [
        ("claude-code", "/hookSpecificOutput/additionalContext"),
        ("codex", "/hookSpecificOutput/additionalContext"),
        ("gemini", "/hookSpecificOutput/additionalContext"),
        ("opencode", "/additionalContext"),
    ] {
        let reply = send_hook(
            &home,
            agent,
            &payload(&home, "SessionStart", json!({ "source": "startup" })),
        );
        let context = reply
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{agent}: {reply}"));
        assert!(
            context.contains("has stripes") && context.contains("Current memory index"),
            "{context}"
        );
    }
    let resumed = send_hook(
        &home,
        "claude-code",
        &payload(&home, "SessionStart", json!({ "source": "resume" })),
    );
    assert_eq!(resumed, json!({ "continue": true }));
    let long: String = (0..400)
        .map(|n| format!("- [M{n}](m{n}.md) — a line of the index that is not short at all\n"))
        .collect();
    home.file("project/.memory/MEMORY.md", format!("# Memory\n\n{long}"));
    let reply = send_hook(
        &home,
        "claude-code",
        &payload(&home, "SessionStart", json!({ "source": "startup" })),
    );
    let context = reply["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("text");
    assert!(context.chars().count() < 10_000 && context.contains("lines truncated"));
}

#[test]
fn a_long_plan_is_reminded_of_recalling_and_storing() {
    let home = Home::new();
    let task = || {
        payload(
            &home,
            "PostToolUse",
            json!({ "tool_name": "TaskCreate", "tool_input": {}, "tool_response": {} }),
        )
    };
    let stop = |active: bool| payload(&home, "Stop", json!({ "stop_hook_active": active }));
    let quiet = json!({ "continue": true });
    send_hook(
        &home,
        "claude-code",
        &payload(&home, "UserPromptSubmit", json!({ "prompt": "plan" })),
    );
    for _ in 0..5 {
        assert_eq!(send_hook(&home, "claude-code", &task()), quiet);
    }
    assert_eq!(send_hook(&home, "claude-code", &stop(false)), quiet);
    send_hook(
        &home,
        "claude-code",
        &payload(&home, "UserPromptSubmit", json!({ "prompt": "plan more" })),
    );
    for _ in 0..5 {
        assert_eq!(send_hook(&home, "claude-code", &task()), quiet);
    }
    let reply = send_hook(&home, "claude-code", &task());
    let context = reply["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("text");
    assert!(
        context.ends_with("With recalled memory, please replan if needed"),
        "{context}"
    );
    assert!(context.contains("Recalling from coder memory"), "{context}");
    assert_eq!(send_hook(&home, "claude-code", &task()), quiet);
    assert_eq!(send_hook(&home, "claude-code", &stop(true)), quiet);
    let reminder = send_hook(&home, "claude-code", &stop(false));
    assert_eq!(reminder["decision"], "block");
    assert!(
        reminder["reason"]
            .as_str()
            .expect("text")
            .contains("Storing in coder memory")
    );
    assert_eq!(send_hook(&home, "claude-code", &stop(false)), quiet);
    // Older Claude Code and Codex plan with a list; the guide is referred to if it exists.
    home.file(".sonph-code-memory/memory-recall-guide.md", "guide");
    for (agent, tool, key) in [
        ("claude-code", "TodoWrite", "todos"),
        ("codex", "update_plan", "plan"),
    ] {
        for (steps, fires) in [(5, false), (6, true)] {
            let session = format!("{agent}{steps}");
            let plan = json!({ "session_id": session, "tool_name": tool, "tool_input": { key: vec!["step"; steps] } });
            let reply = send_hook(&home, agent, &payload(&home, "PostToolUse", plan));
            assert_eq!(
                reply
                    .to_string()
                    .contains("memory-recall-guide.md says how"),
                fires,
                "{reply}"
            );
        }
    }
    let off = home.run_with_input(
        &["hook", "claude-code"],
        payload(&home, "PostToolUse", json!({ "session_id": "off" }))
            .to_string()
            .as_bytes(),
    );
    assert_eq!(off.out, CLAUDE);
}

#[test]
fn settings_turn_capture_off() {
    let home = Home::new();
    home.file(".config/tome/config.toml", "[hook]\ncapture = false\n");
    send_hook(
        &home,
        "claude-code",
        &payload(&home, "UserPromptSubmit", json!({ "prompt": "private" })),
    );
    assert_eq!(events(&home), [Value::Null; 0]);
}
