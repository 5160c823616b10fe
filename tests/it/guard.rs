//! Before an action: guards, the gate before memories, and the line of a memory that is about it.

use serde_json::{Value, json};

use crate::support::{Home, has, json_of};

const RULES: &str = "# Rules\n\nBe kind.\n\n- Never run `git push --force` on shared branches.\n- Do not edit `dist/` by hand.\n- Commit messages must be in the imperative.\n";

/// A project with rules, a memory and a log of a session that forced a push.
fn place() -> Home {
    let home = Home::new();
    home.file("project/.git/HEAD", "ref: refs/heads/main\n");
    home.file("project/AGENTS.md", RULES);
    let calls = [
        ("t0", "git commit -m 'never git push --force'"),
        ("t1", "cd sub && git push -f origin main"),
        ("t2", "cargo test"),
    ];
    let calls = calls.map(|(id, command)| {
        let input = json!({ "command": command });
        let call = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": input }]);
        ("assistant", call)
    });
    home.claude_log("s0", &calls);
    home
}

/// Sends a call to the hook of an agent and returns the reply.
fn before(home: &Home, agent: &str, flags: &[&str], tool: &str, input: Value) -> Value {
    let event = match agent {
        "gemini" => "BeforeTool",
        _ => "PreToolUse",
    };
    let payload = match agent {
        "copilot" => {
            json!({ "sessionId": "s1", "cwd": home.project(), "toolName": tool, "toolArgs": input.to_string() })
        }
        _ => {
            json!({ "hook_event_name": event, "session_id": "s1", "cwd": home.project(), "tool_name": tool, "tool_input": input })
        }
    };
    let named = ["--event", "preToolUse"];
    let named = if agent == "copilot" { &named[..] } else { &[] };
    let args = [&["hook", agent], flags, named].concat();
    let output = home.run_with_input(&args, payload.to_string());
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    json_of(&output.out)
}

#[test]
fn a_guard_is_made_tried_and_then_asks_in_every_agent_that_can() {
    let home = place();
    let shell = |agent: &str, command: &str| {
        let tool = match agent {
            "gemini" => "run_shell_command",
            "claude-code" | "codex" => "Bash",
            _ => "bash",
        };
        before(
            &home,
            agent,
            &["--guards"],
            tool,
            json!({ "command": command }),
        )
    };
    let nothing = json!({ "continue": true });
    let made = home.ok("guard AGENTS.md");
    has(&made, ["command git push --force", "path dist/"]);
    assert_eq!(
        shell("claude-code", "git push -f"),
        nothing,
        "not tried yet"
    );
    let tried = home.ok("guard --backtest");
    has(
        &tried,
        [
            "1 of 3 calls (33.33 %)",
            "claude-code:s0#L2  git push -f origin main",
        ],
    );
    // What was tried on nothing stays off.
    has(&tried, ["off: the logs have no call"]);
    has(home.ok("guard"), ["off: not tried yet"]);
    let read = r#"{"type":"tool_use","id":"t9","name":"Read","input":{"file_path":"/p/a.js"}}"#;
    home.file(
        ".claude/projects/-p/s9.jsonl",
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"s9\",\"uuid\":\"u9\",\"cwd\":\"/p\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"message\":{{\"role\":\"assistant\",\"content\":[{read}]}}}}\n"
        ),
    );
    let tried = home.ok("guard --backtest");
    has(&tried, ["0 of 1 calls (0.00 %)"]);
    has(
        home.ok("guard"),
        ["on, would have asked about 1 of 3 calls"],
    );

    let asked = shell("claude-code", "cd x && git push -f");
    let asks = &asked["hookSpecificOutput"];
    assert_eq!(asks["permissionDecision"], "ask", "{asked}");
    let reason = asks["permissionDecisionReason"].as_str().expect("a reason");
    has(reason, ["Never run `git push --force` on shared branches."]);
    assert_eq!(shell("gemini", "git push --force")["decision"], "ask");
    assert_eq!(
        shell("copilot", "git push --force")["permissionDecision"],
        "ask"
    );
    let told = shell("codex", "git push --force");
    let words = told["hookSpecificOutput"]["additionalContext"].as_str();
    assert!(
        words.is_some_and(|words| words.contains("Never run")),
        "{told}"
    );
    let told = shell("opencode", "git push --force");
    assert!(told["additionalContext"].as_str().is_some(), "{told}");
    for silent in [
        "git push",
        "git commit -m \"never git push --force\"",
        "echo 'git push --force'",
        "cargo test",
    ] {
        assert_eq!(shell("claude-code", silent), nothing, "{silent}");
    }
    let edit = json!({ "file_path": home.project().join("dist/a.js"), "old_string": "a", "new_string": "b" });
    let asked = before(&home, "claude-code", &["--guards"], "Edit", edit.clone());
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask");
    assert_eq!(
        before(&home, "claude-code", &[], "Edit", edit),
        nothing,
        "not set up"
    );

    // Another text is another rule.
    home.file(
        "project/AGENTS.md",
        RULES.replace("on shared branches", "ever"),
    );
    assert_eq!(shell("claude-code", "git push -f"), nothing);
    has(
        home.ok("guard"),
        ["off: the memory says something else now"],
    );
    home.file("project/AGENTS.md", RULES);
    // What cannot be read stops nobody.
    let file = ".local/share/tome/guards.json";
    let text = home.read(file);
    home.file(file, "{");
    assert_eq!(shell("claude-code", "git push -f"), nothing);
    home.file(file, text);
    home.ok("guard AGENTS.md --remove");
    home.finds_nothing("guard");
    assert_eq!(shell("claude-code", "git push -f"), nothing);
}

#[test]
fn what_a_memory_does_not_say_plainly_the_person_says() {
    let home = place();
    let output = home.finds_nothing("guard AGENTS.md#L3");
    has(&output.err, ["--command WORDS"]);
    home.ok("guard AGENTS.md#L3 --command 'cargo test*' --edit (?i)todo");
    let list = home.json("guard");
    assert_eq!(
        list["guards"][0]["rule"],
        json!({ "command": "cargo test*" })
    );
    assert_eq!(list["guards"][0]["words"], "Be kind.");
    assert_eq!(list["guards"][0]["state"], "untried");
    let id = list["guards"][1]["id"].as_str().expect("an id");
    home.ok(&["guard", id, "--remove"]);
    has(home.ok("guard --backtest AGENTS.md"), ["1 of 3 calls"]);
    // What a memory says twice is one rule.
    let twice = "- Never run `rm -rf`.\n- Again: never run `rm -rf`!\n";
    home.file("project/AGENTS.md", twice);
    let made = home.ok("guard AGENTS.md");
    assert_eq!(made.matches("command rm -rf").count(), 1, "{made}");
    home.file("project/AGENTS.md", RULES);
    for wrong in [&["--edit", "("][..], &["--command", "a; b"]] {
        let output = home.run(&[&["guard", "AGENTS.md#L3"], wrong].concat());
        assert_eq!(output.code, 2, "{output:?}");
    }
}

#[test]
fn an_agent_that_writes_a_memory_is_confirmed() {
    let home = place();
    home.memory("MEMORY.md", "# Memory\n\n- [Zoo](zoo.md) — zoo\n");
    home.memory(
        "zoo.md",
        "---\nname: Zoo\ndescription: zoo\ntype: project\n---\n\nx\n",
    );
    let asks = |tool: &str, input: Value| {
        let reply = before(&home, "claude-code", &["--confirm-writes"], tool, input);
        reply["hookSpecificOutput"]["permissionDecision"] == "ask"
    };
    let write = |path: &str| json!({ "file_path": home.project().join(path), "content": "x" });
    assert!(asks("Write", write("AGENTS.md")));
    assert!(asks("Write", write(".memory/new.md")));
    assert!(asks(
        "Bash",
        json!({ "command": "echo x >> .memory/zoo.md" })
    ));
    let patch = "*** Begin Patch\n*** Update File: .memory/zoo.md\n@@\n-x\n+y\n*** End Patch";
    assert!(asks("apply_patch", json!({ "command": patch })));
    // Whatever names it, of whatever project, and the folder that has it.
    let other = ".claude/projects/-other/memory";
    home.file(&format!("{other}/MEMORY.md"), "- [A](a.md) — a\n");
    home.file(&format!("{other}/a.md"), "x\n");
    for command in [
        format!("echo x >> ~/{other}/a.md"),
        format!("cd $HOME/{other} && truncate -s 0 a.md"),
        format!("rm -r \"${{HOME}}/{other}\""),
        "rm -r .memory".to_owned(),
    ] {
        assert!(asks("Bash", json!({ "command": command })), "{command}");
    }
    assert!(!asks(
        "Bash",
        json!({ "command": "rm -r src; echo x > ~/a.md" })
    ));
    assert!(!asks("Write", write("README.md")));
    assert!(!asks(
        "Read",
        json!({ "file_path": home.project().join("AGENTS.md") })
    ));
    assert!(!asks("Bash", json!({ "command": "cat AGENTS.md" })));
    assert!(!asks(
        "mcp__tome__memory_write",
        json!({ "path": "zoo.md", "content": "x" })
    ));
}

#[test]
fn a_question_shows_no_secret_and_nothing_invisible() {
    let home = place();
    // Joined at run time, so that this file has no complete one.
    let token = ["ghp", "_4f1c2aa0b9d8e7f6a5b4c3d2e1f00f1e2d3c"].concat();
    let split = token.replace("d8e7", "d8\u{200b}e7");
    for (number, secret) in [&token, &split].into_iter().enumerate() {
        home.file(
            "project/AGENTS.md",
            format!("# Rules\n\n- Never run `git push --force` with\u{202e} {secret}.\n"),
        );
        home.ok("guard AGENTS.md");
        home.ok("guard --backtest");
        for agent in ["claude-code", "gemini", "copilot", "codex"] {
            let tool = ["Bash", "run_shell_command", "bash"];
            let tool = tool[usize::from(agent == "gemini") + 2 * usize::from(agent == "copilot")];
            let input = json!({ "command": format!("git push --force https://x:{token}@host") });
            let asked = before(&home, agent, &["--guards"], tool, input).to_string();
            assert!(
                asked.contains("git push --force"),
                "{agent} {number}: {asked}"
            );
            assert!(!asked.contains(&token[8..]), "{agent} {number}: {asked}");
            assert!(
                !asked.contains(['\u{200b}', '\u{202e}']),
                "{agent}: {asked}"
            );
            for word in ["\"allow\"", "\"deny\"", "updatedInput", "\"block\""] {
                assert!(!asked.contains(word), "{agent}: {asked}");
            }
        }
    }
}
