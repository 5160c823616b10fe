//! Which logs are sessions, what hangs below them, and what is told of logs that are not
//! understood.

use std::fs;

use serde_json::Value;

use crate::support::{Home, has, json_of, lacks, starts};

const FIRST: &str = "11111111-2222-4333-8444-555555555555";
const FORK: &str = "22222222-2222-4333-8444-555555555555";

/// A record of Claude Code in the project, at a minute of an hour.
fn record(home: &Home, (kind, id, minute): (&str, &str, u32), content: &str, more: &str) -> String {
    let cwd = home.project();
    let cwd = cwd.display();
    format!(
        "{{\"type\":\"{kind}\",\"uuid\":\"{id}\",\"sessionId\":\"{FIRST}\",\"timestamp\":\"2026-02-11T10:{minute:02}:05.250Z\",\"cwd\":\"{cwd}\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}}{more}}}\n"
    )
}

/// A session with a subagent, a newer fork of it, an empty log, and Codex's subagent.
fn sessions(home: &Home) {
    let project = ".claude/projects/-p";
    let call =
        "[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Task\",\"input\":{\"prompt\":\"look\"}}]";
    let result = "[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"all is blue\"}]";
    let said = record(
        home,
        ("user", "u1", 1),
        "\"which colour has the shed behind the house\"",
        "",
    );
    let called = record(home, ("assistant", "u2", 2), call, "");
    let answered = record(
        home,
        ("user", "u3", 3),
        result,
        ",\"toolUseResult\":{\"agentId\":\"a1\"}",
    );
    home.file(
        &format!("{project}/{FIRST}.jsonl"),
        format!("{said}{called}{answered}"),
    );
    let again = record(home, ("user", "u4", 30), "\"and the door\"", "");
    home.file(&format!("{project}/{FORK}.jsonl"), said + &again);
    home.file(
        &format!("{project}/33333333-2222-4333-8444-555555555555.jsonl"),
        "",
    );
    home.file(
        &format!("{project}/agent-a1.jsonl"),
        record(
            home,
            ("user", "s1", 2),
            "\"look\"",
            ",\"isSidechain\":true,\"agentId\":\"a1\"",
        ),
    );
    let cwd = home.project();
    let cwd = cwd.display();
    home.file(
        ".codex/sessions/2026/02/11/rollout-2026-02-11T10-00-00-0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee.jsonl",
        format!("{{\"timestamp\":\"2026-02-11T10:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee\",\"cwd\":\"{cwd}\",\"source\":{{\"subagent\":{{\"thread_spawn\":{{\"parent_thread_id\":\"p\"}}}}}}}}}}\n{{\"timestamp\":\"2026-02-11T10:00:01.000Z\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"user_message\",\"message\":\"by the parent\"}}}}\n"),
    );
}

#[test]
fn subagents_empty_logs_and_older_copies_do_not_fill_the_list() {
    let home = Home::new();
    sessions(&home);
    let listed = home.json("logs");
    let ids: Vec<&str> = listed["logs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|log| log["id"].as_str())
        .collect();
    assert_eq!(ids, [FORK], "{listed}");
    let every = home.json("logs --every --all");
    let mut kinds: Vec<&str> = every["logs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|log| log["unlisted"].as_str().unwrap_or("session"))
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["copy", "empty", "session", "subagent", "subagent"]);
    let stats = home.json("stats");
    let counted: u64 = stats["stats"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| row["sessions"].as_u64())
        .sum();
    assert_eq!(counted, 1, "{stats}");
}

#[test]
fn a_call_names_its_tool_its_time_and_the_log_of_its_subagent_in_every_form() {
    let home = Home::new();
    sessions(&home);
    let log = home.json(&["log", FIRST, "--tools"]);
    let messages = log["messages"].as_array().expect("a list");
    assert_eq!(messages[0]["time"], "2026-02-11T10:01:05.25Z");
    for message in &messages[1..] {
        assert_eq!(message["tool"], "Task", "{message}");
        assert_eq!(message["call"], "t1", "{message}");
        assert_eq!(message["subagent"], "agent-a1", "{message}");
    }
    let plain = home.ok(&["log", FIRST, "--tools"]);
    for part in [
        "▸ Task (log agent-a1)",
        "◂ Task (log agent-a1)",
        "all is blue",
    ] {
        assert!(plain.contains(part), "{part:?} in {plain}");
    }
    let markdown = home.ok(&["log", FIRST, "--tools", "--markdown"]);
    has(&markdown, ["`◂ Task (log agent-a1)`"]);
    let task = home.ok("log agent-a1");
    starts(&task, "agent  2026-02-11");
}

#[test]
fn a_message_that_a_fork_copied_is_one_hit_with_a_count() {
    let home = Home::new();
    sessions(&home);
    for verb in ["recall", "find"] {
        let found = home.json(&[verb, "colour shed"]);
        let hits = found["results"].as_array().expect("a list");
        let copies: Vec<_> = hits
            .iter()
            .filter(|hit| {
                hit["text"]
                    .as_str()
                    .is_some_and(|text| text.contains("shed"))
            })
            .map(|hit| hit["copies"].as_u64())
            .collect();
        assert_eq!(copies, [Some(1)], "{verb}: {found}");
    }
}

#[test]
fn a_message_without_an_id_is_recognized_in_a_copy_by_its_text() {
    let home = Home::new();
    let cwd = home.project();
    let cwd = cwd.display();
    for id in [
        "0199aaaa-0000-7ccc-8ddd-eeeeeeeeeeee",
        "0199bbbb-0000-7ccc-8ddd-eeeeeeeeeeee",
    ] {
        home.file(
            &format!(".codex/sessions/2026/02/11/rollout-2026-02-11T10-00-00-{id}.jsonl"),
            format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"cwd\":\"{cwd}\"}}}}\n{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"user_message\",\"message\":\"paint the shed behind the house\"}}}}\n{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"user_message\",\"message\":\"shed\"}}}}\n"),
        );
    }
    let found = home.json("recall shed");
    let copies: Vec<_> = found["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|hit| hit["copies"].as_u64().unwrap_or(0))
        .collect();
    // A short text may be said twice.
    assert_eq!(copies.iter().sum::<u64>(), 1, "{found}");
    assert_eq!(copies.len(), 3, "{found}");
}

#[test]
fn a_log_that_is_not_understood_is_named_by_logs_and_by_doctor() {
    let home = Home::new();
    sessions(&home);
    home.file(
        ".claude/projects/-p/44444444-2222-4333-8444-555555555555.jsonl",
        "{\"kind\":\"novel\"}\n",
    );
    home.file(".local/share/opencode/opencode.db", "not a database");
    let listed = home.run("logs");
    assert_eq!(listed.code, 0);
    let doctor = home.finds_nothing("doctor");
    for told in [&listed.err, &doctor.out] {
        for name in ["44444444", "opencode.db"] {
            let lines: Vec<&str> = told.lines().filter(|line| line.contains(name)).collect();
            assert_eq!(lines.len(), 1, "{name} in {told}");
        }
        lacks(told, [FIRST]);
    }
}

#[test]
fn a_log_of_gemini_is_of_the_project_whose_path_has_its_hash() {
    let home = Home::new();
    sessions(&home);
    let hash = "6e8a4c2a30a7b4b4d5a6b1a9ad3c7a07b9a9f5f3d3a8e4a2c1f0b7d6e5c4b3a2";
    let log = "{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello there\"}\n";
    home.file(
        &format!(".gemini/tmp/{hash}/chats/session-other.jsonl"),
        log,
    );
    let own = hash_of(&home.project().display().to_string());
    home.file(&format!(".gemini/tmp/{own}/chats/session-own.jsonl"), log);
    let listed = home.json("logs --agent gemini");
    let logs = listed["logs"].as_array().expect("a list");
    assert_eq!(logs.len(), 1, "{listed}");
    assert_eq!(logs[0]["id"], "session-own");
    assert_eq!(
        logs[0]["project"].as_str(),
        Some(home.project().display().to_string().as_str())
    );
}

#[test]
fn a_session_with_hooks_and_a_log_of_another_name_is_told_once() {
    let home = Home::new();
    let own = hash_of(&home.project().display().to_string());
    let head = "{\"sessionId\":\"5e6f7a8b-0000-4000-8000-000000000002\",\"kind\":\"main\"}\n";
    let said = "{\"id\":\"1\",\"type\":\"user\",\"content\":\"paint the zebra\"}\n";
    home.file(
        &format!(".gemini/tmp/{own}/chats/session-own.jsonl"),
        format!("{head}{said}"),
    );
    let prompt = serde_json::json!({
        "hook_event_name": "BeforeAgent",
        "session_id": "5e6f7a8b-0000-4000-8000-000000000002",
        "cwd": home.project(),
        "prompt": "paint the zebra",
    });
    home.run_with_input(&["hook", "gemini"], prompt.to_string());
    let listed = home.json("logs");
    let ids: Vec<&Value> = listed["logs"].as_array().expect("a list").iter().collect();
    assert_eq!(ids.len(), 1, "{listed}");
    assert_eq!(ids[0]["id"], "session-own");
    let found = home.json("recall zebra");
    assert_eq!(
        found["results"].as_array().expect("a list").len(),
        1,
        "{found}"
    );
}

/// The SHA-256 of a text, as Gemini CLI names a project's directory.
pub(crate) fn hash_of(text: &str) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn chats_of_aider_in_other_projects_are_sessions_of_their_own_with_all() {
    let home = Home::new();
    let chat = |day: u32| format!("# aider chat started at 2026-08-0{day} 10:00:00\n\n#### hi\n\n");
    let chats: String = (1..=3).map(chat).collect();
    home.file("src/shop/.aider.chat.history.md", &chats);
    home.finds_nothing("logs --json");
    let listed = home.json("logs --all");
    let ids: Vec<&str> = listed["logs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|log| log["id"].as_str())
        .collect();
    assert_eq!(ids.len(), 3, "{listed}");
    let third = home.ok("log shop-2026-08-02 --all --json");
    assert_eq!(json_of(&third)["messages"][0]["line"], 7);
}

#[test]
fn a_branch_of_a_session_is_marked_and_an_overview_that_is_many_replies_old_is_reminded_of() {
    let home = Home::new();
    let slug = home.project().display().to_string().replace('/', "-");
    let folder = format!(".ai/sessions/-{slug}--/s1");
    let overview = format!("{folder}/working-memory/overview.md");
    let session = |replies: usize| {
        home.file(&overview, "# Working Memory\n");
        let said = |id: usize, parent: usize, role: &str| {
            format!(
                "{{\"type\":\"message\",\"id\":\"m{id}\",\"parentId\":\"m{parent}\",\"timestamp\":\"2999-01-01T00:00:00Z\",\"message\":{{\"role\":\"{role}\",\"content\":\"text {id}\"}}}}\n"
            )
        };
        let answers: String = (1..=replies)
            .map(|id| said(id, id - 1, "assistant"))
            .collect();
        let log = said(0, 0, "user") + &answers + &said(99, 1, "user");
        let log = home.file(&format!("{folder}/messages.jsonl"), log);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        let log = std::fs::File::options()
            .append(true)
            .open(log)
            .expect("opens");
        log.set_modified(later).expect("a time");
    };
    session(10);
    lacks(home.ok("context"), ["UPDATE NEEDED"]);
    session(11);
    has(home.ok("context"), ["This overview is 11 replies old."]);
    has(
        home.ok("log s1"),
        ["text 11\n", "Branch: goes on from line 2\n", "text 99"],
    );
}

#[test]
fn a_project_that_was_renamed_is_told_of_its_former_sessions_and_how_they_are_shown() {
    let home = Home::new();
    fs::remove_dir_all(home.project().join(".git")).expect("removed");
    home.git("init -q .").expect("a repository");
    let said = home.git("commit --allow-empty -m begin").expect("a commit");
    let log = |id: &str, cwd: &str, text: &str| {
        let message = serde_json::json!({ "role": "user", "content": text });
        let line =
            serde_json::json!({ "type": "user", "uuid": id, "cwd": cwd, "message": message });
        let path = format!(".claude/projects/{}/{id}.jsonl", cwd.replace('/', "-"));
        home.file(&path, format!("{line}\n"));
    };
    log("a", "/gone/other", "zebra elsewhere");
    log("b", "/gone/former", &format!("zebra here: {said}"));
    let hint = "1 log of /gone/former, which is gone: moved here? tome logs --project /gone/former";
    for door in [
        "logs",
        "logs zebra",
        "toc",
        "events",
        "teleport zebra",
        "recall zebra",
        "find zebra",
    ] {
        has(home.run(door).err, [hint]);
    }
    has(home.ok("logs --project /gone/former"), ["zebra here"]);
}
