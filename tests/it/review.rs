//! Review on the command line: what agents wrote waits, with its session, until it is accepted or
//! reverted.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, has, json_of, starts, tree};

const SESSION: &str = "aaaa1111-2222-4333-8444-555555555555";

const NOTE: &str =
    "---\nname: Deploy\ndescription: how we deploy\ntype: project\n---\n\nDeploy with make ship\n";

/// A home with one memory, which tome has seen.
fn seen_home() -> Home {
    let home = Home::new();
    home.memory("deploy.md", NOTE);
    home.memory(
        "MEMORY.md",
        "# Mine\n\n- [Deploy](deploy.md) - how we deploy\n",
    );
    home.ok("list");
    home
}

/// Writes a memory as an agent does: the file, and the call in its log.
fn write_as_agent(home: &Home, text: &str) {
    change_as_agent(home, text, ("Write", json!({ "content": text })));
}

/// Changes a memory as an agent does with this tool, whose input has the path in addition.
fn change_as_agent(home: &Home, text: &str, (tool, mut input): (&str, Value)) {
    let file = home.memory("deploy.md", text);
    input["file_path"] = json!(file);
    let call = json!([{ "type": "tool_use", "id": "t1", "name": tool, "input": input }]);
    let said = json!("we deploy on Tuesdays now");
    home.claude_log(SESSION, &[("user", said), ("assistant", call)]);
}

fn items(home: &Home) -> Vec<Value> {
    let output = home.run("review --json");
    let value = json_of(&output.out);
    let items = value["items"].as_array().expect("items").clone();
    assert_eq!(output.code, i32::from(!items.is_empty()), "{output:?}");
    items
}

#[test]
fn what_an_agent_wrote_waits_with_its_session_and_can_be_taken_back() {
    let home = seen_home();
    assert_eq!(items(&home), Vec::<Value>::new());
    let before = tree(&home.path().join("project/.memory"));
    write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
    let after = tree(&home.path().join("project/.memory"));
    assert_eq!(home.run("review --count").out, "1\n");
    let found = items(&home);
    let author = &found[0]["author"];
    assert_eq!(author["agent"], "claude-code");
    assert_eq!(author["session"], SESSION);
    assert_eq!(author["citation"], format!("claude-code:{SESSION}#L2"));
    assert_eq!(found[0]["change"], "changed");
    assert_eq!(
        found[0]["hunks"][0]["text"],
        " ---\n \n Deploy with make ship\n+Only on Tuesdays\n"
    );
    let shown = home.json("stores");
    assert_eq!(shown["stores"][0]["waiting"], 1);
    home.ok(&["review", "--revert", SESSION]);
    assert_eq!(tree(&home.path().join("project/.memory")), before);
    assert_eq!(home.run("review --count").out, "0\n");
    home.ok("undo");
    assert_eq!(tree(&home.path().join("project/.memory")), after);
    assert_eq!(items(&home).len(), 1);
    home.ok("review --accept all");
    assert_eq!(items(&home), Vec::<Value>::new());
    assert_eq!(tree(&home.path().join("project/.memory")), after);
}

#[test]
fn a_session_whose_id_another_project_has_too_is_cited_with_its_mark() {
    let home = seen_home();
    write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
    let mut other = home.claude_record(SESSION, 0, "user", "of other things");
    other["cwd"] = json!("/elsewhere");
    let copy = format!(".claude/projects/-elsewhere/{SESSION}.jsonl");
    home.file(&copy, format!("{other}\n"));
    let why = home.json("why deploy.md#L8");
    for cited in [
        &items(&home)[0]["author"]["citation"],
        &why["calls"][0]["citation"],
    ] {
        let cited = cited.as_str().expect("a citation");
        has(cited, [&format!("{SESSION}@")]);
        has(home.ok(&["read", cited]), ["Only on Tuesdays"]);
    }
}

#[test]
fn what_an_agent_took_away_has_its_session() {
    let kept = NOTE.replace("Deploy with make ship\n", "");
    let edit = json!({ "old_string": "Deploy with make ship\n", "new_string": "" });
    for change in [("Edit", edit), ("Write", json!({ "content": kept }))] {
        let home = seen_home();
        let tool = change.0;
        change_as_agent(&home, &kept, change);
        let found = items(&home);
        assert_eq!(found[0]["change"], "changed", "{tool}");
        assert_eq!(found[0]["author"]["session"], SESSION, "{tool}");
    }
}

#[test]
fn why_names_the_words_in_the_session_that_started_a_subagent() {
    let home = seen_home();
    let file = home.memory("deploy.md", format!("{NOTE}Only on Tuesdays\n"));
    let said = [
        ("user", "ask when we deploy"),
        ("assistant", "I shall ask."),
        ("user", "thank you"),
        ("assistant", "Asked."),
        ("user", "said after it had begun"),
    ];
    home.claude_log(SESSION, &said);
    let input = json!({ "file_path": file, "old_string": "ship\n", "new_string": "ship\nOnly on Tuesdays\n" });
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Edit", "input": input }]);
    let records = [
        home.claude_record(SESSION, 3, "user", "find out when"),
        home.claude_record(SESSION, 5, "assistant", call),
    ];
    let lines = records.into_iter().map(|mut record| {
        record["isSidechain"] = json!(true);
        format!("{record}\n")
    });
    let path = format!(
        "{}/{SESSION}/subagents/agent-a1.jsonl",
        home.claude_folder()
    );
    home.file(&path, lines.collect::<String>());
    let call = home.json("why deploy.md#L8")["calls"][0].clone();
    assert_eq!(call["citation"], "claude-code:agent-a1#L2");
    assert_eq!(call["words"]["text"], "thank you");
    let citation = format!("claude-code:{SESSION}#L3");
    assert_eq!(call["words"]["citation"], citation);
}

#[test]
fn why_names_the_message_and_the_words_before_it() {
    let home = seen_home();
    write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
    let answer = home.json("why deploy.md#L8");
    let call = &answer["calls"][0];
    assert_eq!(call["citation"], format!("claude-code:{SESSION}#L2"));
    assert_eq!(call["words"]["text"], "we deploy on Tuesdays now");
    home.finds_nothing("why deploy.md#L1");
    let touched = home.json("why --session aaaa");
    assert_eq!(touched["files"][0]["use"], "write");
    // For people: a line, a whole memory, a session.
    let cited = format!("claude-code:{SESSION}#L2");
    let shown = home.ok("why deploy.md#L8");
    starts(&shown, &format!("line 8: {cited}"));
    let words = format!("you had said: we deploy on Tuesdays now\n  claude-code:{SESSION}#L1\n");
    has(&shown, [&words]);
    let shown = home.ok("why deploy.md");
    starts(&shown, &cited);
    has(&shown, [&words]);
    let shown = home.ok("why --session aaaa");
    let touched = format!("write  ~/project/.memory/deploy.md  {cited}\n");
    assert_eq!(shown, touched);
    let unknown = home.run("why --session bbbb");
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (2, "tome: log bbbb not found\n")
    );
    // Without the log, the history tells who wrote it.
    fs::remove_dir_all(home.path().join(".claude")).expect("removed");
    home.run("review");
    let answer = home.json("why deploy.md#L8");
    assert_eq!(answer["changes"][0]["change"]["who"], "outside");
    let shown = home.ok("why deploy.md#L8");
    starts(&shown, "line 8: ");
    has(&shown, ["(outside"]);
}

/// Writes the log of a session of Claude Code with these calls of `Edit` and `Write` on a memory: the
/// input, and whether it was refused. The sessions follow each other.
fn log_calls(home: &Home, session: &str, first_minute: usize, calls: &[(&str, Value, bool)]) {
    let file = home.path().join("project/.memory/deploy.md");
    let mut lines = Vec::new();
    for (number, (tool, input, is_refused)) in calls.iter().enumerate() {
        let mut input = input.clone();
        input["file_path"] = json!(file);
        let time = format!("2026-02-11T10:{:02}:05Z", first_minute + number);
        let record = |kind: &str, content: Value| {
            json!({ "type": kind, "uuid": format!("{session}{kind}{number}"), "timestamp": time,
                "cwd": home.project(), "sessionId": session, "message": { "role": kind, "content": content } })
            .to_string()
        };
        let id = format!("t{number}");
        lines.push(record(
            "assistant",
            json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]),
        ));
        let said = if *is_refused {
            "The user doesn't want to proceed with this tool use."
        } else {
            "done"
        };
        lines.push(record("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": said, "is_error": is_refused }])));
    }
    home.file(
        &format!(".claude/projects/-p/{session}.jsonl"),
        lines.join("\n") + "\n",
    );
}

#[test]
fn each_session_has_its_own_lines_of_a_file_and_only_they_are_taken_back() {
    let home = seen_home();
    let ship = "Deploy with make ship";
    let edit = |new: &str| json!({ "old_string": ship, "new_string": format!("{ship}\n{new}") });
    let refused = json!({ "old_string": ship, "new_string": "Deploy by hand, on any day" });
    log_calls(&home, "s1", 1, &[("Edit", edit("Only on Tuesdays"), false)]);
    log_calls(
        &home,
        "s2",
        11,
        &[
            ("Edit", refused, true),
            ("Edit", edit("Ask Grace first"), false),
        ],
    );
    // A copy of a session is the same session.
    let log = home.read(".claude/projects/-p/s1.jsonl");
    home.file(".claude/projects/-p/s3.jsonl", log + "\n");
    let text = format!("{NOTE}Ask Grace first\nOnly on Tuesdays\n");
    home.memory("deploy.md", &text);
    let found = items(&home);
    let mut told: Vec<(&str, &str)> = found
        .iter()
        .filter_map(|item| {
            Some((
                item["author"]["citation"].as_str()?,
                item["hunks"][0]["text"].as_str()?,
            ))
        })
        .collect();
    told.sort_unstable();
    let before = " ---\n \n Deploy with make ship\n";
    assert_eq!(
        told,
        [
            ("claude-code:s1#L1", "+Only on Tuesdays\n"),
            (
                "claude-code:s2#L3",
                format!("{before}+Ask Grace first\n").as_str()
            ),
        ]
    );
    home.ok("review --revert s2");
    assert_eq!(
        home.read_memory("deploy.md"),
        format!("{NOTE}Only on Tuesdays\n")
    );
    home.ok("undo");
    let item = found.iter().find(|item| item["author"]["session"] == "s1");
    let id = item.and_then(|item| item["id"].as_str()).expect("an id");
    home.ok(&["review", "--accept", id]);
    let left = items(&home);
    assert_eq!(
        (left.len(), &left[0]["author"]["session"]),
        (1, &json!("s2"))
    );
    // What the person writes by hand like a refused call is not of the call.
    home.memory("deploy.md", text + "Deploy by hand, on any day\n");
    let why = home.run("why deploy.md#L10 --json");
    let why = json_of(&why.out);
    assert_eq!(why["calls"], json!([]));
}

#[test]
fn a_hook_knows_the_session_without_a_log() {
    let home = Home::new();
    home.memory("deploy.md", NOTE);
    let send = |event: &str, more: Value| {
        let mut payload =
            json!({ "hook_event_name": event, "session_id": "s7", "cwd": home.project() });
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        let output = home.run_with_input("hook claude-code", payload.to_string());
        assert_eq!(output.code, 0, "{output:?}");
    };
    send("SessionStart", json!({ "source": "startup" }));
    let file = home.memory("deploy.md", format!("{NOTE}More and more\n"));
    let input = json!({ "file_path": file, "old_string": "", "new_string": "More and more" });
    send(
        "PostToolUse",
        json!({ "tool_name": "Edit", "tool_input": input }),
    );
    let found = items(&home);
    assert_eq!(found[0]["author"]["agent"], "claude-code");
    assert_eq!(found[0]["author"]["session"], "s7");
    // The log of the session names the message, that of another one does not.
    for (session, citation) in [("s6", Value::Null), ("s7", json!("claude-code:s7#L1"))] {
        let call = json!([{ "type": "tool_use", "id": "t", "name": "Edit", "input": input }]);
        home.claude_log(session, &[("assistant", call)]);
        assert_eq!(items(&home)[0]["author"]["citation"], citation, "{session}");
    }
}

#[test]
fn an_id_that_names_nothing_is_an_error_that_says_what_to_do() {
    let home = seen_home();
    has(
        home.fails("review --accept nosuch"),
        ["nosuch", "tome review"],
    );
    assert_eq!(home.ok("review --accept all"), "");
}

#[test]
fn a_kill_while_outside_writes_are_recorded_loses_and_doubles_none() {
    let home = seen_home();
    for round in 0..4 {
        home.memory("deploy.md", format!("{NOTE}Round {round}\n"));
        home.memory(&format!("new{round}.md"), "new\n");
        let mut kills = 0;
        for step in 1.. {
            let Some(paused) = home.paused_at(&["review"], step) else {
                break;
            };
            paused.kill();
            kills += 1;
        }
        assert!(kills >= 2, "killed {kills} times in round {round}");
        let found = items(&home);
        assert_eq!(found.len(), 2 + round, "{found:?}");
    }
    home.ok("review --revert all");
    assert_eq!(home.read_memory("deploy.md"), NOTE);
    assert_eq!(items(&home), Vec::<Value>::new());
}

#[test]
fn an_acceptance_is_undone_and_survives_a_kill() {
    let home = seen_home();
    write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
    let found = items(&home);
    has(home.ok("review --accept all"), ["Accepted: deploy.md"]);
    has(home.ok("undo"), ["Undone: Accepted: deploy.md"]);
    assert_eq!(items(&home), found);
    has(home.ok("redo"), ["Redone: Accepted"]);
    assert_eq!(items(&home), Vec::<Value>::new());
    home.ok("undo");
    // What was written just now is looked at once more when it is older, which is a step, too.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(items(&home), found);
    // Killed before its record is written it is not accepted, afterwards it is.
    for (step, left) in [(1, 1), (2, 0)] {
        let paused = home.paused_at(&["review", "--accept", "all"], step);
        paused.expect("a step").kill();
        assert_eq!(items(&home).len(), left, "step {step}");
    }
    let shown = home.ok("history --json");
    has(&shown, ["\"accept\""]);
}

#[test]
fn sessions_are_found_whichever_store_is_named() {
    let home = seen_home();
    write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
    let named = |args: &[&str]| {
        let args = [&["--store", "./.memory", "--json"], args].concat();
        serde_json::from_str::<Value>(&home.run(&args).out).expect("JSON")
    };
    assert_eq!(named(&["review"])["items"][0]["author"]["session"], SESSION);
    assert_eq!(
        named(&["why", "deploy.md#L8"])["calls"][0]["session"],
        SESSION
    );
    assert_eq!(
        named(&["why", "--session", "aaaa"])["files"][0]["use"],
        "write"
    );
}

#[test]
fn what_gemini_proposes_is_accepted_or_removed() {
    let home = Home::new();
    let memory = ".gemini/tmp/shop/memory";
    let index = home.file(&format!("{memory}/MEMORY.md"), "# Project Memory\n- one\n");
    let known = json!({ "projects": { home.project().to_str().expect("a path"): "shop" } });
    home.file(".gemini/projects.json", known.to_string());
    let inbox = format!("{memory}/.inbox/private/extraction.patch");
    let at = index.display();
    let patch = format!("--- {at}\n+++ {at}\n@@ -1,2 +1,3 @@\n # Project Memory\n - one\n+- two\n");
    home.file(&inbox, &patch);
    let bashrc = home.path().join(".bashrc").display().to_string();
    home.file(
        &format!("{memory}/.inbox/private/other.patch"),
        format!("--- /dev/null\n+++ {bashrc}\n@@ -0,0 +1,1 @@\n+x\n"),
    );
    home.ok("stores");
    assert_eq!(home.run("review --count").out, "1\n");
    has(
        &home.run("review").err,
        ["other.patch", &bashrc, "delete this file"],
    );
    home.file(&format!("{memory}/MEMORY.md"), "# Mine\n");
    let refused = home.run("review --accept all --json");
    assert_eq!(refused.code, 0, "what was written is accepted");
    has(&refused.err, ["not accepted: MEMORY.md: "]);
    let refused = home.finds_nothing("review --accept all --json");
    let answer = json_of(&refused.out);
    assert_eq!(answer["success"], false);
    assert_eq!(answer["not_accepted"].as_array().map(Vec::len), Some(1));
    fs::remove_file(home.path().join(&inbox)).expect("removes");
    home.file(&format!("{memory}/MEMORY.md"), "# Project Memory\n- one\n");
    home.ok("review --accept all");
    home.file(&inbox, &patch);
    let found = items(&home);
    assert_eq!(found[0]["proposal"], ".inbox/private/extraction.patch");
    assert_eq!(found[0]["author"]["agent"], "gemini");
    let id = found[0]["id"].as_str().expect("an id");
    home.ok(&["review", "--accept", id]);
    has(
        home.read(&format!("{memory}/MEMORY.md")),
        ["- one\n- two\n"],
    );
    assert!(!home.path().join(&inbox).exists());
    assert_eq!(home.run("review --count").out, "0\n");
    home.ok("undo");
    assert_eq!(home.read(&inbox), patch);
    assert_eq!(
        home.read(&format!("{memory}/MEMORY.md")),
        "# Project Memory\n- one\n"
    );
    home.ok(&["review", "--revert", id]);
    assert!(!home.path().join(&inbox).exists());
    assert_eq!(items(&home), Vec::<Value>::new());
}

#[test]
fn a_hook_does_not_follow_a_long_journal_and_other_commands_do() {
    let home = seen_home();
    home.ok("append deploy.md --content x");
    let data = ".local/share/tome/history";
    let journal = home.read(&format!("{data}/journal.jsonl"));
    let last = journal.lines().last().expect("a change").to_owned() + "\n";
    let many = last.repeat((4 << 20) / last.len() + 1);
    home.file(&format!("{data}/journal.jsonl"), journal + &many);
    let states = || tree(&home.path().join(data).join("review"));
    let before = states();
    let event = json!({ "session_id": "s", "cwd": home.project(),
        "hook_event_name": "SessionStart", "source": "startup" });
    home.run_with_input("hook claude-code", event.to_string());
    assert!(states() == before, "the hook left it alone");
    home.run("review --count");
    assert!(states() != before, "another command did not");
}

#[test]
fn an_id_holds_only_for_the_text_that_was_shown_with_it() {
    for decide in ["--accept", "--revert"] {
        let home = seen_home();
        write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
        let id = items(&home)[0]["id"].as_str().expect("an id").to_owned();
        let later = format!("{NOTE}Only on Tuesdays\nNever shown\n");
        write_as_agent(&home, &later);
        let output = home.run(&["review", decide, &id]);
        assert_eq!(output.code, 2, "{decide}: {output:?}");
        assert!(output.err.contains("look at it again"), "{output:?}");
        assert_eq!(home.read_memory("deploy.md"), later);
        assert_eq!(home.run("review --count").out, "1\n", "{decide}");
    }
}

#[test]
fn a_state_that_is_lost_is_made_again_or_told() {
    type Damage = fn(&std::path::Path);
    let damages: [(&str, Damage); 4] = [
        ("deleted", |file| fs::remove_file(file).expect("removed")),
        ("emptied", |file| fs::write(file, "").expect("written")),
        ("cut", |file| {
            let bytes = fs::read(file).expect("reads");
            fs::write(file, &bytes[..bytes.len() / 2]).expect("written");
        }),
        ("zeros", |file| fs::write(file, [0; 99]).expect("written")),
    ];
    for (about, damage) in damages {
        let home = seen_home();
        write_as_agent(&home, &format!("{NOTE}Only on Tuesdays\n"));
        assert_eq!(home.run("review --count").out, "1\n");
        let states = home.path().join(".local/share/tome/history/review");
        for name in tree(&states)
            .into_keys()
            .filter(|name| !name.ends_with('/'))
        {
            damage(&states.join(name));
        }
        let shown = home.run("review");
        let counted = home.run("review --count");
        let doctor = home.run("doctor");
        let is_told = [&shown.err, &shown.out, &doctor.out]
            .iter()
            .any(|text| text.contains("review") && text.contains("state"));
        let is_there = shown.out.contains("Only on Tuesdays") || counted.out == "1\n";
        assert!(
            is_there || is_told,
            "{about}: {shown:?} {counted:?} {doctor:?}"
        );
    }
}
