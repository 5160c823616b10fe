//! Hooks: whatever an agent sends, it is not blocked, and its events are stored.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, RunOutput, ends, has, json_of, lacks, merged, run_with_input, starts};

const CLAUDE: &str = "{\"continue\":true}\n";

fn send_hook(home: &Home, agent: &str, output: &Value) -> Value {
    let output = home.run_with_input(&["hook", agent], output.to_string());
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    json_of(&output.out)
}

/// Tells the hook of an agent of an event; returns its reply.
fn tell_hook(home: &Home, agent: &str, event: &str, more: Value) -> Value {
    send_hook(home, agent, &payload(home, event, more))
}

/// Tells the hook of Claude Code of an event; returns its reply.
fn tell(home: &Home, event: &str, more: Value) -> Value {
    tell_hook(home, "claude-code", event, more)
}

/// Sends a payload to the hook of Claude Code; returns its reply.
fn send(home: &Home, payload: &Value) -> Value {
    send_hook(home, "claude-code", payload)
}

/// Starts the hook of Claude Code, and returns its standard input.
fn start_hook(home: &Home) -> (Child, ChildStdin) {
    let mut command = home.command("hook claude-code");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("runs");
    let stdin = child.stdin.take().expect("piped");
    (child, stdin)
}

fn payload(home: &Home, event: &str, more: Value) -> Value {
    let payload = json!({ "hook_event_name": event, "session_id": "s1", "cwd": home.project(), "transcript_path": "/t" });
    merged(payload, more)
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
            send(&home, &payload(&home, event, more)),
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
    let stores = home.ok("stores");
    has(&stores, ["what hooks captured in this project"]);
    has(home.ok("list --store events"), ["7 events"]);
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
fn captured_events_answer_in_their_project_with_their_own_ids_and_only_where_no_log_does() {
    let home = Home::new();
    let said = json!({ "prompt": "please repair the striped zebra lock of the history" });
    tell(&home, "UserPromptSubmit", said);
    let answer =
        json!({ "last_assistant_message": "The zebra lock is removed after a crash now." });
    tell(&home, "Stop", answer);
    let asked = |args: &[&str]| -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        json_of(&home.run(&args).out)
    };
    has(home.ok("recall zebra"), ["striped"]);
    has(home.ok("toc --level day"), ["zebra"]);
    let stored: Vec<Value> = events(&home)
        .iter()
        .map(|one| one["event_id"].clone())
        .collect();
    let told = asked(&["events"]);
    let told = told["events"].as_array().expect("events");
    let ids: Vec<Value> = told.iter().map(|one| one["event_id"].clone()).collect();
    assert_eq!(ids, stored);
    assert_eq!(told[0]["agent"], "claude-code");
    let found = asked(&["teleport", "zebra"]);
    let grip = found["results"][0]["grips"][0].as_str().expect("a grip");
    let id = asked(&["grip", grip])["grip"]["event_id_start"].clone();
    assert!(stored.contains(&id), "{id}");
    // It is a session like those that have a log.
    let other = json!({ "session_id": "s2", "prompt": "paint the buttons, please" });
    tell_hook(&home, "codex", "UserPromptSubmit", other);
    let rows = |args: &[&str]| -> Vec<(String, String)> {
        let logs = asked(&[&["logs"], args].concat())["logs"].clone();
        let field = |row: &Value, name: &str| row[name].as_str().expect(name).to_owned();
        let rows = logs.as_array().expect("logs").iter();
        rows.map(|row| (field(row, "id"), field(row, "agent")))
            .collect()
    };
    let pair = |id: &str, agent: &str| (id.to_owned(), agent.to_owned());
    let both = [pair("s2", "codex"), pair("s1", "claude-code")];
    assert_eq!(rows(&[]), both);
    assert_eq!(rows(&["--all"]), both);
    assert_eq!(rows(&["--agent", "codex"]), both[..1]);
    assert_eq!(rows(&["striped", "zebra"]), both[1..]);
    let shown = asked(&["log", "s1"]);
    assert_eq!(shown["agent"], "claude-code");
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(2));
    for time in [&shown["head"]["first"], &shown["head"]["last"]] {
        assert!(
            time.as_str().is_some_and(|time| time.ends_with('Z')),
            "{shown}"
        );
    }
    home.fails("log s");
    let node = asked(&["toc", "--log", "s1"])["node"].clone();
    assert_eq!(node["id"], "log:claude-code:s1");
    has(node["bullets"].to_string(), ["zebra lock"]);
    lacks(node.to_string(), ["buttons"]);
    home.fails("toc --log s");
    let day = asked(&["toc", "--level", "day"])["nodes"][0].clone();
    assert_eq!(day["projects"][0]["sessions"], 2, "{day}");
    assert_eq!(asked(&["toc", "--status"])["sessions"], 2);
    // What the user said is the user's when it is promoted.
    let cited = told[0]["citation"].as_str().expect("a citation");
    home.memory("MEMORY.md", "# Memory\n");
    home.ok(&["promote", cited, "--name", "zebra", "--type", "project"]);
    has(home.read_memory("zebra.md"), ["> (you, "]);
    std::fs::remove_dir_all(home.project().join(".memory")).expect("removed");
    // Somewhere else nothing of it is told.
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let other = home.command("recall zebra").current_dir(elsewhere).output();
    assert_eq!(other.expect("runs").status.code(), Some(1));
    // The log of the session tells it from now on.
    let said = "please repair the striped zebra lock of the history";
    home.claude_log("s1", &[("user", said)]);
    let told = asked(&["events"]);
    let told = told["events"].as_array().expect("events");
    assert_eq!(told.len(), 2, "{told:?}");
    let citation = told[0]["citation"].as_str().expect("a citation");
    has(citation, ["claude-code:s1#L1@"]);
    has(home.ok(&["read", citation]), [said]);
    assert_eq!(told[1]["session_id"], "s2");
    let hits = home.ok("recall striped zebra");
    starts(&hits, "Found 1 result");
    let mut sessions = rows(&[]);
    sessions.sort();
    assert_eq!(sessions, [pair("s1", "claude-code"), pair("s2", "codex")]);
}

#[test]
fn where_there_is_nothing_one_sentence_says_what_to_do() {
    let home = Home::new();
    for args in ["toc", "toc --level day", "events", "teleport zebra", "logs"] {
        let output = home.run(args);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{args:?}");
        let said = "no session of an agent is known in this project; --all";
        assert!(output.err.contains(said), "{args:?}: {}", output.err);
        assert_eq!(output.err.lines().count(), 1, "{args:?}: {}", output.err);
        let all = home.run(&format!("{args} --all"));
        assert!(
            all.err.contains("tome doctor says where"),
            "{args:?}: {}",
            all.err
        );
    }
    let said = json!({ "prompt": "please repair the striped zebra lock of the history" });
    tell(&home, "UserPromptSubmit", said);
    for (args, told) in [
        (
            "toc toc:day:2001-01-01",
            "nothing happened in toc:day:2001-01-01; tome toc",
        ),
        ("events --to 2001-01-01", "nothing happened then; tome toc"),
        (
            "teleport giraffe",
            "no part of a session is about that; tome recall",
        ),
        ("logs giraffe", "no session is about that; try other words"),
    ] {
        let output = home.finds_nothing(args);
        assert!(output.err.contains(told), "{args:?}: {}", output.err);
    }
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
    tell(&home, "PostToolUse", more);
    let kept = events(&home);
    assert_eq!(kept.len(), 1);
    let text = kept[0].to_string();
    has(&text, ["‹masked›"]);
    lacks(&text, ["16C7e42F292c"]);
}

#[test]
fn secrets_are_masked_by_their_keys_and_colours_are_left_out() {
    let home = Home::new();
    let input = json!({
        "url": "https://a.example", "api_key": ["short"], "headers": { "Authorization": { "v": "letmein" } },
        "db_password": 4711, "token": "shhh", "max_tokens": 8000, "pageToken": "next",
    });
    let more = json!({
        "tool_name": "fetch", "tool_input": input,
        "tool_response": { "stdout": "\u{1b}[31mred zebra\u{1b}[0m" },
    });
    tell(&home, "PostToolUse", more);
    let copilot = json!({
        "cwd": home.project(), "transcript_path": "/c/session-state/abc-1/events.jsonl",
        "toolName": "fetch", "toolArgs": input.to_string(),
    });
    let args = "hook copilot --event postToolUse";
    let output = home.run_with_input(args, copilot.to_string());
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    let kept = events(&home);
    assert_eq!(kept.len(), 2);
    for event in &kept {
        let text = event["text"].as_str().expect("text");
        has(text, ["https://a.example", "8000", "next"]);
        lacks(text, ["short", "letmein", "4711", "shhh"]);
    }
    ends(kept[0]["text"].as_str().expect("text"), "\nred zebra");
    assert_eq!(kept[1]["session_id"], "abc-1");
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
        let output = home.run_with_input(&["hook", "claude-code"], input);
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
        ("hook gemini", "{}\n"),
        ("hook copilot", "{}\n"),
        ("hook opencode", "{}\n"),
        ("hook codex", CLAUDE),
        ("hook no-such-agent", "{}\n"),
        ("hook", "{}\n"),
        ("hook claude-code --no-such-flag", CLAUDE),
        ("hook claude-code --config /no/such/file", CLAUDE),
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
    send(&home, &huge);
    let pretty = format!(
        "{:#}\n\n",
        payload(&home, "UserPromptSubmit", json!({ "prompt": "two\nlines" }))
    );
    let output = home.run_with_input("hook claude-code", pretty);
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
    let (child, stdin) = start_hook(&home);
    let output = RunOutput::of(&child.wait_with_output().expect("ends"));
    drop(stdin);
    assert_eq!((output.code, output.out.as_str()), (0, CLAUDE));
    // A generous limit: the point is that it ends at all.
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_whole_document_on_an_open_standard_input_is_heard() {
    let home = Home::new();
    let (child, mut stdin) = start_hook(&home);
    let prompt = json!({ "prompt": "held } open" });
    let prompt = payload(&home, "UserPromptSubmit", prompt);
    writeln!(stdin, "{prompt:#}").expect("heard");
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
        tell(&home, "PostToolUse", edit);
    }
    let reply = send(&home, &stop);
    let reason = reply["reason"].as_str().expect("a reason");
    starts(
        reason,
        "This session did real work: 10 tools were used; files changed: src/part0.rs, src/part1.rs, src/part2.rs. ",
    );
    has(reason, ["Storing in coder memory"]);
    assert_eq!(send(&home, &stop), json!({ "continue": true }));
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
                        let prompt = json!({ "prompt": format!("{worker}-{n}") });
                        let (child, mut stdin) = start_hook(home);
                        let prompt = payload(home, "UserPromptSubmit", prompt);
                        write!(stdin, "{prompt}").expect("heard");
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
    home.ok("stores");
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
    home.memory(
        "MEMORY.md",
        "# Memory\n\n- [Zebra](zebra.md) — has stripes\n",
    );
    home.memory("zebra.md", "x");
    for (agent, path) in [
        ("claude-code", "/hookSpecificOutput/additionalContext"),
        ("codex", "/hookSpecificOutput/additionalContext"),
        ("opencode", "/additionalContext"),
    ] {
        let reply = tell_hook(&home, agent, "SessionStart", json!({ "source": "startup" }));
        let context = reply
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{agent}: {reply}"));
        has(context, ["has stripes", "Current memory index"]);
    }
    let resumed = tell(&home, "SessionStart", json!({ "source": "resume" }));
    assert_eq!(resumed, json!({ "continue": true }));
    let long: String = (0..400)
        .map(|n| format!("- [M{n}](m{n}.md) — a line of the index that is not short at all\n"))
        .collect();
    home.memory("MEMORY.md", format!("# Memory\n\n{long}"));
    let reply = tell(&home, "SessionStart", json!({ "source": "startup" }));
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
    tell(&home, "UserPromptSubmit", json!({ "prompt": "plan" }));
    for _ in 0..5 {
        assert_eq!(send(&home, &task()), quiet);
    }
    assert_eq!(send(&home, &stop(false)), quiet);
    tell(&home, "UserPromptSubmit", json!({ "prompt": "plan more" }));
    for _ in 0..5 {
        assert_eq!(send(&home, &task()), quiet);
    }
    let reply = send(&home, &task());
    let context = reply["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("text");
    ends(context, "With recalled memory, please replan if needed");
    has(context, ["Recalling from coder memory"]);
    assert_eq!(send(&home, &task()), quiet);
    assert_eq!(send(&home, &stop(true)), quiet);
    let reminder = send(&home, &stop(false));
    assert_eq!(reminder["decision"], "block");
    has(
        reminder["reason"].as_str().expect("text"),
        ["Storing in coder memory"],
    );
    assert_eq!(send(&home, &stop(false)), quiet);
    // Older Claude Code and Codex plan with a list; the guide is referred to if it exists.
    home.file(".sonph-code-memory/memory-recall-guide.md", "guide");
    for (agent, tool, key) in [
        ("claude-code", "TodoWrite", "todos"),
        ("codex", "update_plan", "plan"),
    ] {
        for (steps, fires) in [(5, false), (6, true)] {
            let session = format!("{agent}{steps}");
            let plan = json!({ "session_id": session, "tool_name": tool, "tool_input": { key: vec!["step"; steps] } });
            let reply = tell_hook(&home, agent, "PostToolUse", plan);
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
    tell(&home, "UserPromptSubmit", json!({ "prompt": "private" }));
    assert_eq!(events(&home), [Value::Null; 0]);
}

/// A payload of an agent, and the time that it names.
struct Sample {
    agent: &'static str,
    event: Option<&'static str>,
    payload: Value,
    millisecond: i64,
}

/// What five agents send: with and without a directory, with a time as text and as a number, named
/// in the payload or by the command.
fn samples(home: &Home) -> Vec<Sample> {
    let read = json!({ "tool_name": "Read", "tool_input": { "file_path": "/p/a.rs" } });
    let with_cwd = json!({ "cwd": home.project() });
    let said = |text: &str| json!({ "message": text });
    let asked = said("Explain it");
    let answered = said("It has two folders.");
    let by_name: [(&str, Vec<(&str, Value)>); 4] = [
        (
            "claude-code",
            vec![
                ("SessionStart", json!({})),
                ("UserPromptSubmit", said("What is here?")),
                ("PreToolUse", read.clone()),
                ("PostToolUse", read.clone()),
                ("AssistantResponse", said("Three folders.")),
                ("SubagentStart", said("Reviewing")),
                ("SubagentStop", said("Reviewed")),
                ("Stop", json!({})),
                ("SessionEnd", json!({})),
            ],
        ),
        (
            // Without a directory.
            "codex",
            vec![
                ("SessionStart", json!({})),
                ("UserPromptSubmit", asked.clone()),
                ("PreToolUse", read.clone()),
                ("PostToolUse", read.clone()),
                ("Stop", json!({})),
            ],
        ),
        (
            "gemini",
            vec![
                ("SessionStart", json!({})),
                ("BeforeAgent", json!({ "prompt": "Explain it" })),
                ("BeforeTool", read.clone()),
                ("AfterTool", read.clone()),
                (
                    "AfterAgent",
                    json!({ "prompt_response": "It has two folders." }),
                ),
                ("SessionEnd", json!({})),
            ],
        ),
        (
            // With a directory now and then.
            "opencode",
            vec![
                ("SessionStart", with_cwd.clone()),
                ("UserPromptSubmit", merged(asked, with_cwd.clone())),
                ("PostToolUse", read),
                ("AssistantResponse", answered),
                ("Stop", with_cwd.clone()),
            ],
        ),
    ];
    let day = 1_771_754_400_000; // 2026-02-22T10:00:00Z
    let mut samples = Vec::new();
    for (minute, (agent, events)) in (0_i64..).zip(by_name) {
        for (second, (event, more)) in (0_i64..).zip(events) {
            let time = format!("2026-02-22T10:{minute:02}:{second:02}Z");
            let session = format!("{agent}-1");
            let named =
                json!({ "hook_event_name": event, "session_id": session, "timestamp": time });
            let mut payload = merged(named, more);
            if ["claude-code", "gemini"].contains(&agent) {
                payload = merged(payload, with_cwd.clone());
            }
            samples.push(Sample {
                agent,
                event: None,
                payload,
                millisecond: day + 60_000 * minute + 1000 * second,
            });
        }
    }
    let tool = json!({ "toolName": "Read", "toolArgs": "{\"path\":\"/p/a.rs\"}" });
    for (second, (event, more)) in (0_i64..).zip([
        ("sessionStart", json!({})),
        ("userPromptSubmitted", json!({ "prompt": "Explain it" })),
        ("preToolUse", tool.clone()),
        ("postToolUse", tool),
        ("sessionEnd", json!({ "reason": "user_exit" })),
    ]) {
        // Without a session, and without the name of the event.
        let millisecond = 1_709_640_000_000 + 1000 * second;
        let named = json!({ "cwd": home.project(), "timestamp": millisecond });
        samples.push(Sample {
            agent: "copilot",
            event: Some(event),
            payload: merged(named, more),
            millisecond,
        });
    }
    samples
}

/// Every captured event of every store.
fn all_events(home: &Home) -> Vec<Value> {
    let all = home.path().join(".local/share/tome/events");
    let folders = std::fs::read_dir(all).into_iter().flatten().flatten();
    let mut events = Vec::new();
    for folder in folders {
        let text = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap_or_default();
        let lines = text.lines();
        events.extend(lines.map(|line| serde_json::from_str::<Value>(line).expect("an event")));
    }
    events
}

#[test]
fn every_valid_payload_of_five_agents_is_kept_with_its_time_and_no_other() {
    let home = Home::new();
    let samples = samples(&home);
    assert_eq!(samples.len(), 30);
    for sample in &samples {
        let mut args = vec!["hook", sample.agent];
        args.extend(sample.event.iter().flat_map(|event| ["--event", *event]));
        let output = home.run_with_input(&args, sample.payload.to_string());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    }
    for (agent, malformed) in [
        ("claude-code", "{not valid json at all -- this is broken\n"),
        ("codex", "{\"hook_event_name\":\"Stop\",\"session_id\":"),
        ("gemini", "[\"SessionStart\"]"),
        (
            "opencode",
            "{\"hook_event_name\":\"Stop\",\"session_id\":\"\"}",
        ),
        ("copilot", "{\"cwd\":\"/p\",\"timestamp\":1709640000000}"),
    ] {
        let output = home.run_with_input(&["hook", agent], malformed.as_bytes());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    }
    let mut kept: Vec<(String, i64)> = all_events(&home)
        .iter()
        .map(|event| {
            let agent = event["agent"].as_str().expect("an agent").to_owned();
            (agent, event["timestamp"].as_i64().expect("a time"))
        })
        .collect();
    let mut expected: Vec<(String, i64)> = samples
        .iter()
        .map(|sample| (sample.agent.to_owned(), sample.millisecond))
        .collect();
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected);
    let sessions = |agent: &str| -> Vec<String> {
        let events = all_events(&home).into_iter();
        let own = events.filter(|event| event["agent"] == agent);
        let mut ids: Vec<String> = own
            .map(|event| event["session_id"].as_str().expect("a session").to_owned())
            .collect();
        ids.dedup();
        ids
    };
    let copilot = sessions("copilot");
    assert_eq!(copilot.len(), 1, "one derived session: {copilot:?}");
    starts(&copilot[0], "copilot-");
    for event in all_events(&home) {
        let is_bare = ["session_start", "assistant_stop", "session_end"];
        let kind = event["event_type"].as_str().expect("a type");
        assert!(is_bare.contains(&kind) || event["text"] != "", "{event}");
    }
}

#[test]
fn an_event_that_two_registrations_send_is_kept_once() {
    let home = Home::new();
    let tool = |id: &str| {
        payload(
            &home,
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": "ls" } }),
        )
    };
    let prompt = payload(&home, "UserPromptSubmit", json!({ "prompt": "go" }));
    for event in [
        &prompt,
        &prompt,
        &tool("1"),
        &tool("2"),
        &tool("1"),
        &tool("2"),
        &prompt,
    ] {
        send_hook(&home, "codex", event);
    }
    let texts: Vec<String> = events(&home)
        .iter()
        .map(|event| event["text"].as_str().expect("text").to_owned())
        .collect();
    let call = "{\"command\":\"ls\"}";
    assert_eq!(texts, ["go", call, call, "go"]);
    // Copilot CLI runs the hooks of Claude Code beside its own.
    let home = Home::new();
    let prompt = json!({ "sessionId": "c", "cwd": home.project(), "timestamp": 1_709_640_000_000_i64, "prompt": "go" });
    let args = "hook copilot --event userPromptSubmitted";
    home.run_with_input(args, prompt.to_string());
    let both = |event: &str, more: Value| {
        let named = json!({ "session_id": "c", "timestamp": "2024-03-05T12:00:00.000Z" });
        let claude = payload(&home, event, merged(named, more));
        let mut command = home.command("hook claude-code");
        run_with_input(command.env("COPILOT_CLI", "1"), claude.to_string()).out
    };
    assert_eq!(both("UserPromptSubmit", json!({ "prompt": "go" })), CLAUDE);
    let end = json!({ "sessionId": "c", "cwd": home.project(), "timestamp": 1_709_640_000_000_i64, "reason": "complete" });
    let args = "hook copilot --event sessionEnd";
    home.run_with_input(args, end.to_string());
    assert_eq!(both("SessionEnd", json!({ "reason": "complete" })), CLAUDE);
    let events = events(&home);
    let kinds: Vec<&Value> = events.iter().map(|event| &event["event_type"]).collect();
    assert_eq!(kinds, ["user_message", "session_end"], "{events:?}");
    assert!(events.iter().all(|event| event["agent"] == "copilot"));
}

/// A turn with a plan of six steps; returns the replies to the plan and to its end.
fn planned_turn(home: &Home, agent: &str, set: (&str, &str), more: &Value) -> [Value; 2] {
    let session = format!("{agent}-{}-{}", set.0, set.1);
    let (plan, stop) = match agent {
        "gemini" => ("AfterTool", "AfterAgent"),
        _ => ("PostToolUse", "Stop"),
    };
    let events = [
        (
            plan,
            json!({ "tool_name": "TodoWrite", "tool_input": { "todos": vec!["step"; 6] } }),
        ),
        (stop, json!({ "stop_hook_active": false })),
    ];
    events.map(|(event, fields)| {
        let fields = merged(fields, json!({ "session_id": session }));
        let payload = payload(home, event, merged(fields, more.clone()));
        let mut hook = home.command(&["hook", agent]);
        json_of(&run_with_input(hook.env(set.0, set.1), payload.to_string()).out)
    })
}

#[test]
fn nobody_is_reminded_where_nobody_is_there() {
    let home = Home::new();
    home.file(
        "exec.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{\"originator\":\"codex_exec\",\"source\":\"exec\"}}\n",
    );
    home.file(
        "tui.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{\"originator\":\"codex-tui\",\"source\":\"cli\"}}\n",
    );
    let quiet = json!({ "continue": true });
    for set in [
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
    ] {
        let replies = planned_turn(&home, "claude-code", set, &json!({}));
        assert_eq!(replies, [quiet.clone(), quiet.clone()], "{set:?}");
    }
    let exec = json!({ "transcript_path": home.path().join("exec.jsonl") });
    let replies = planned_turn(&home, "codex", ("A", "exec"), &exec);
    assert_eq!(replies, [quiet.clone(), quiet]);
    // With a user, the end of the turn reminds.
    let tui = json!({ "transcript_path": home.path().join("tui.jsonl") });
    for (agent, set) in [
        ("codex", ("A", "tui")),
        ("claude-code", ("CLAUDE_CODE_ENTRYPOINT", "cli")),
    ] {
        let [plan, stop] = planned_turn(&home, agent, set, &tui);
        has(plan.to_string(), ["please replan"]);
        assert_eq!(stop["decision"], "block", "{stop}");
    }
    // Where nothing tells, it waits for the next prompt.
    let [plan, stop] = planned_turn(&home, "gemini", ("A", "x"), &json!({}));
    has(plan.to_string(), ["please replan"]);
    assert_eq!(stop, json!({}));
    let next = json!({ "session_id": "gemini-A-x", "prompt": "next" });
    let first = send_hook(
        &home,
        "gemini",
        &payload(&home, "BeforeAgent", next.clone()),
    );
    let second = send_hook(
        &home,
        "gemini",
        &payload(
            &home,
            "BeforeAgent",
            json!({ "session_id": "gemini-A-x", "prompt": "more" }),
        ),
    );
    let said = format!("{first}{second}");
    has(&said, ["This session did real work"]);
    assert_eq!(
        said.matches("This session did real work").count(),
        1,
        "{said}"
    );
}

#[test]
fn a_plan_of_copilot_is_a_table_of_todos() {
    let home = Home::new();
    let rows: Vec<String> = (0..6).map(|n| format!("('t{n}', 'Step {n}')")).collect();
    let query = format!("INSERT INTO todos (id, title) VALUES {}", rows.join(", "));
    let plan = json!({ "sessionId": "c", "cwd": home.project(), "toolName": "sql", "toolArgs": { "query": query } });
    let args = "hook copilot --event postToolUse";
    let output = home.run_with_input(args, plan.to_string());
    has(&output.out, ["please replan"]);
}

#[test]
fn the_answer_of_copilot_is_read_from_its_transcript() {
    let home = Home::new();
    home.file(
        "t.jsonl",
        "{\"type\":\"assistant.message\",\"data\":{\"content\":\"The answer.\"}}\n",
    );
    let stop = json!({ "sessionId": "c", "cwd": home.project(), "transcriptPath": home.path().join("t.jsonl") });
    home.run_with_input("hook copilot --event agentStop", stop.to_string());
    assert_eq!(events(&home)[0]["text"], "The answer.");
    // It is written some time after the event.
    let home = Home::new();
    let path = home.path().join("t.jsonl");
    let stop = json!({ "sessionId": "c", "cwd": home.project(), "transcriptPath": path });
    let writing = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let answer = "{\"type\":\"assistant.message\",\"data\":{\"content\":\"Late.\"}}\n";
        std::fs::write(path, answer).expect("written");
    });
    home.run_with_input("hook copilot --event agentStop", stop.to_string());
    writing.join().expect("written");
    assert_eq!(events(&home)[0]["text"], "Late.");
    // An answer that is written after the turn has ended is stored with the next event.
    for (event, more) in [
        ("userPromptSubmitted", json!({ "prompt": "next" })),
        ("sessionEnd", json!({ "reason": "complete" })),
    ] {
        let home = Home::new();
        let send = |event: &str, more: Value| {
            let payload = json!({ "sessionId": "c", "cwd": home.project() });
            let args = ["hook", "copilot", "--event", event];
            home.run_with_input(&args, merged(payload, more).to_string())
        };
        send(
            "agentStop",
            json!({ "transcriptPath": home.path().join("t.jsonl") }),
        );
        home.file(
            "t.jsonl",
            "{\"type\":\"assistant.message\",\"data\":{\"content\":\"The answer.\"}}\n",
        );
        send(event, more);
        let events = events(&home);
        let kept: Vec<(&Value, &Value)> = events
            .iter()
            .map(|event| (&event["event_type"], &event["text"]))
            .collect();
        assert_eq!(kept.len(), 3, "{kept:?}");
        assert_eq!(
            kept[1],
            (&json!("assistant_message"), &json!("The answer."))
        );
    }
}

#[test]
fn gemini_gets_its_context_with_the_first_prompt_and_not_again() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n\n- [Z](z.md) — has stripes\n");
    home.memory("z.md", "x");
    let send = |event: &str, more: Value| {
        send_hook(&home, "gemini", &payload(&home, event, more)).to_string()
    };
    assert_eq!(send("SessionStart", json!({ "source": "startup" })), "{}");
    has(
        send("BeforeAgent", json!({ "prompt": "one" })),
        ["has stripes"],
    );
    assert_eq!(send("BeforeAgent", json!({ "prompt": "two" })), "{}");
    assert_eq!(send("SessionStart", json!({ "source": "resume" })), "{}");
    assert_eq!(send("BeforeAgent", json!({ "prompt": "three" })), "{}");
    // Codex keeps the context in its transcript, too.
    let resumed = payload(&home, "SessionStart", json!({ "source": "resume" }));
    assert_eq!(
        send_hook(&home, "codex", &resumed),
        json!({ "continue": true })
    );
}

#[test]
fn a_session_starts_with_the_overview_of_the_last_one_and_the_list_of_facts() {
    let home = Home::new();
    let slug = home.project().display().to_string().replace('/', "-");
    for (session, text) in [
        ("old", "# Working Memory\n\nold task\n"),
        ("s1", "# Working Memory\n\nthis task\n"),
        ("new", "# Working Memory\n\nnew task\n"),
    ] {
        let folder = format!(".ai/sessions/-{slug}--/{session}");
        home.file(&format!("{folder}/working-memory/overview.md"), text);
        std::thread::sleep(Duration::from_millis(10));
    }
    home.file(
        "project/data/memory/facts/user.md",
        "# User\n\n> Summary: who the user is\n",
    );
    let context = |session: &str| {
        let start = payload(
            &home,
            "SessionStart",
            json!({ "source": "startup", "session_id": session }),
        );
        let reply = send(&home, &start);
        let text = reply["hookSpecificOutput"]["additionalContext"].as_str();
        text.unwrap_or_else(|| panic!("{reply}")).to_owned()
    };
    let text = context("another");
    has(&text, ["Available memory:\n- facts/user.md", "new task"]);
    lacks(&text, ["old task"]);
    // A session that is resumed has its own.
    let text = context("s1");
    has(&text, ["this task"]);
    lacks(&text, ["new task"]);
}
