//! Kept logs: the copy of a session of every agent tells what the original told, after that is gone.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use super::sessions::hash_of;
use super::support::Home;

use crate::support::{has, lacks};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Writes a database below the home.
fn database(home: &Home, path: &str, batch: &str) {
    let path = home.file(path, "");
    let connection = rusqlite::Connection::open(path).expect("a database");
    connection.execute_batch(batch).expect("tables and rows");
}

/// Writes a session of each agent, in the project, with a question about a zebra.
fn sessions(home: &Home) {
    let repo = home.project().display().to_string();
    let hash = hash_of(&repo);
    let uri = format!("file://{repo}");
    let file = |path: &str, text: &str| {
        let text = text.replace("REPO", &repo).replace("URI", &uri);
        home.file(&path.replace("HASH", &hash), text);
    };
    let claude = "11111111-2222-4333-8444-555555555555";
    file(
        &format!(".claude/projects/-repo/{claude}.jsonl"),
        &format!(
            "{{\"type\":\"user\",\"uuid\":\"u1\",\"sessionId\":\"{claude}\",\"cwd\":\"REPO\",\"timestamp\":\"2026-08-01T10:00:00Z\",\"message\":{{\"role\":\"user\",\"content\":\"claude zebra\"}}}}\n{{\"type\":\"ai-title\",\"aiTitle\":\"Claude title\"}}\n"
        ),
    );
    file(
        ".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-019dd4b9-496d-7581-a780-16f20aecff69.jsonl",
        "{\"timestamp\":\"2026-08-01T10:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"019dd4b9-496d-7581-a780-16f20aecff69\",\"cwd\":\"REPO\"}}\n{\"timestamp\":\"2026-08-01T10:00:01Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"codex zebra\"}}\n",
    );
    file(
        ".gemini/tmp/HASH/chats/session-g1.json",
        r#"{"sessionId":"g1","messages":[{"id":"k8","type":"user","content":"gemini zebra"}]}"#,
    );
    file(
        ".copilot/session-state/s/workspace.yaml",
        "id: s\nsummary: \"Copilot title\"\n",
    );
    file(
        ".copilot/session-state/s/events.jsonl",
        "{\"type\":\"session.start\",\"id\":\"0\",\"data\":{\"sessionId\":\"s\",\"context\":{\"cwd\":\"REPO\"}}}\n{\"type\":\"user.message\",\"id\":\"k1\",\"data\":{\"content\":\"copilot zebra\"}}\n",
    );
    let storage = ".local/share/opencode/storage";
    file(
        &format!("{storage}/session/p/ses_1.json"),
        r#"{"id":"ses_1","directory":"REPO","title":"Tree title"}"#,
    );
    file(
        &format!("{storage}/message/ses_1/msg_1.json"),
        r#"{"id":"msg_1","role":"user"}"#,
    );
    file(
        &format!("{storage}/part/msg_1/prt_1.json"),
        r#"{"type":"text","text":"tree zebra"}"#,
    );
    database(
        home,
        ".local/share/opencode/opencode.db",
        &format!(
            r#"CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT, version TEXT, time_updated INTEGER);
            CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
            INSERT INTO session VALUES ('ses_2', NULL, 'Database title', '{repo}', '1', 1785578400000);
            INSERT INTO message VALUES ('msg_2', 'ses_2', 1785578400000, '{{"role":"user"}}');
            INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_2', '{{"type":"text","text":"database zebra"}}');"#
        ),
    );
    file(
        "project/.aider.chat.history.md",
        "# aider chat started at 2026-08-01 10:00:00\n\n#### aider zebra  \n\nYes.\n",
    );
    file(
        ".pi/agent/sessions/--repo--/2026-08-01T10-00-00_pi1.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"pi1\",\"cwd\":\"REPO\"}\n{\"type\":\"message\",\"id\":\"k2\",\"message\":{\"role\":\"user\",\"content\":\"pi zebra\"}}\n",
    );
    file(
        ".factory/sessions/-repo/f1.jsonl",
        "{\"type\":\"session_start\",\"id\":\"f1\",\"title\":\"Factory title\",\"cwd\":\"REPO\"}\n{\"type\":\"message\",\"id\":\"k3\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"factory zebra\"}]}}\n",
    );
    file(
        ".cursor/projects/repo/agent-transcripts/c1/c1.jsonl",
        "{\"role\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"<user_query>cursor zebra</user_query>\"}]}}\n",
    );
    database(
        home,
        ".cursor/chats/h/c2/store.db",
        r#"CREATE TABLE meta (key TEXT, value TEXT); CREATE TABLE blobs (id TEXT, data BLOB);
        INSERT INTO blobs VALUES ('ab', '{"role":"user","content":"chat zebra"}');"#,
    );
    file(
        ".cursor/chats/h/c2/meta.json",
        r#"{"cwd":"REPO","title":"Chat title"}"#,
    );
    file(
        ".config/Code/User/workspaceStorage/w/chatSessions/v1.json",
        r#"{"sessionId":"v1","requests":[{"requestId":"r1","message":{"text":"vscode zebra"}}]}"#,
    );
    file(
        ".config/Code/User/workspaceStorage/w/workspace.json",
        r#"{"folder":"URI"}"#,
    );
    file(
        ".gemini/antigravity-cli/brain/a1/.system_generated/logs/transcript.jsonl",
        "{\"step_index\":0,\"source\":\"USER_EXPLICIT\",\"type\":\"USER_INPUT\",\"content\":\"antigravity zebra\"}\n",
    );
    file(
        ".gemini/antigravity-cli/history.jsonl",
        "{\"conversationId\":\"a1\",\"workspace\":\"REPO\"}\n",
    );
    file(
        ".cline/data/sessions/17_a/17_a.json",
        r#"{"session_id":"17_a","cwd":"REPO","metadata":{"title":"Cline title"}}"#,
    );
    file(
        ".cline/data/sessions/17_a/17_a.messages.json",
        r#"{"messages":[{"id":"k9","role":"user","content":[{"type":"text","text":"<user_input>cline zebra</user_input>"}]}]}"#,
    );
    let extension = ".config/Code/User/globalStorage/saoudrizwan.claude-dev";
    file(
        &format!("{extension}/state/taskHistory.json"),
        r#"[{"id":"18","task":"Task title","cwdOnTaskInitialization":"REPO"}]"#,
    );
    file(
        &format!("{extension}/tasks/18/api_conversation_history.json"),
        r#"[{"role":"user","content":[{"type":"text","text":"<task>task zebra</task>"}]}]"#,
    );
    file(
        ".qwen/projects/-repo/chats/q1.jsonl",
        "{\"uuid\":\"k4\",\"sessionId\":\"q1\",\"type\":\"user\",\"cwd\":\"REPO\",\"message\":{\"role\":\"user\",\"parts\":[{\"text\":\"qwen zebra\"}]}}\n",
    );
    file(
        ".kiro/sessions/cli/k1.json",
        r#"{"session_id":"k1","cwd":"REPO","title":"Kiro title"}"#,
    );
    file(
        ".kiro/sessions/cli/k1.jsonl",
        "{\"version\":\"v1\",\"kind\":\"Prompt\",\"data\":{\"message_id\":\"k5\",\"content\":[{\"kind\":\"text\",\"data\":\"kiro zebra\"}]}}\n",
    );
    file(
        ".kimi-code/sessions/p/session_1/state.json",
        r#"{"id":"session_1","cwd":"REPO","title":"Kimi title"}"#,
    );
    file(
        ".kimi-code/sessions/p/session_1/agents/main/wire.jsonl",
        "{\"type\":\"metadata\",\"protocol_version\":\"1.5\"}\n{\"type\":\"turn.prompt\",\"input\":[{\"type\":\"text\",\"text\":\"kimi zebra\"}],\"origin\":{\"kind\":\"user\"}}\n",
    );
    database(
        home,
        ".local/share/goose/sessions/sessions.db",
        &format!(
            r#"CREATE TABLE sessions (id TEXT, name TEXT, description TEXT, working_dir TEXT, updated_at TIMESTAMP);
            CREATE TABLE messages (id INTEGER, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);
            INSERT INTO sessions VALUES ('20260801_1', 'Goose title', 'd', '{repo}', '2026-08-01 10:00:00');
            INSERT INTO messages VALUES (1, 'm', '20260801_1', 'user', '[{{"type":"text","text":"goose zebra"}}]', 1785578400);"#
        ),
    );
    database(
        home,
        "project/.crush/crush.db",
        r#"CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, updated_at INTEGER);
        CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER);
        INSERT INTO sessions VALUES ('crush1', NULL, 'Crush title', 1785578400);
        INSERT INTO messages VALUES ('1', 'crush1', 'user', '[{"type":"text","data":{"text":"crush zebra"}}]', '', 1785578401);"#,
    );
    file(
        ".openclaw/agents/main/sessions/sessions.json",
        r#"{"agent:main:main":{"sessionId":"o1","label":"Claw title"}}"#,
    );
    file(
        ".openclaw/agents/main/sessions/o1.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"o1\",\"cwd\":\"REPO\"}\n{\"type\":\"message\",\"id\":\"k6\",\"message\":{\"role\":\"user\",\"content\":\"openclaw zebra\"}}\n",
    );
    database(
        home,
        ".hermes/state.db",
        &format!(
            "CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, started_at REAL, cwd TEXT, git_branch TEXT, model TEXT);
            CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, reasoning TEXT);
            INSERT INTO sessions VALUES ('h1', NULL, 'Hermes title', 1785578400.5, '{repo}', 'main', 'm');
            INSERT INTO messages (id, session_id, role, content, timestamp) VALUES (1, 'h1', 'user', 'hermes zebra', 1785578400.5);"
        ),
    );
    let vibe = ".vibe/logs/session/session_20260801_100000_abcd";
    file(
        &format!("{vibe}/meta.json"),
        r#"{"session_id":"abcd","environment":{"working_directory":"REPO"},"title":"Vibe title"}"#,
    );
    file(
        &format!("{vibe}/messages.jsonl"),
        "{\"role\":\"user\",\"content\":\"vibe zebra\",\"message_id\":\"k7\"}\n",
    );
    file(
        ".grok/sessions/p/g1/summary.json",
        r#"{"session_summary":"Grok title","info":{"cwd":"REPO"}}"#,
    );
    file(
        ".grok/sessions/p/g1/chat_history.jsonl",
        "{\"type\":\"user\",\"content\":\"grok zebra\"}\n",
    );
    file(
        ".local/share/amp/threads/T-1.json",
        r#"{"id":"T-1","title":"Amp title","env":{"initial":{"trees":[{"uri":"URI"}]}},"messages":[{"role":"user","content":[{"type":"text","text":"amp zebra"}]}]}"#,
    );
    let slug = format!("--{}--", repo.trim_start_matches('/').replace('/', "-"));
    file(
        &format!(".ai/sessions/{slug}/own1/messages.jsonl"),
        "{\"role\":\"user\",\"content\":\"session zebra\"}\n\
         {\"type\":\"compaction\",\"summaryFile\":\"working-memory/detail/c.md\"}\n\
         {\"type\":\"compaction\",\"summaryFile\":\"../../../secret.md\"}\n",
    );
    file(
        &format!(".ai/sessions/{slug}/own1/working-memory/detail/c.md"),
        "# Summary\n\nwhat was so far\n",
    );
}

/// What the doors tell of each session: as a list, as messages, as Markdown, and how it is continued.
fn told(home: &Home, agents: &[&str]) -> BTreeMap<String, [String; 4]> {
    let listed = json(&home.ok(&["logs", "--all", "--json", "--limit", "100"]));
    let mut told = BTreeMap::new();
    for log in listed["logs"].as_array().expect("a list") {
        let (agent, id) = (&log["agent"], log["id"].as_str().expect("an id"));
        if !agents.contains(&agent.as_str().expect("an agent")) {
            continue;
        }
        let row = format!("{} {} {}", log["title"], log["project"], log["turns"]);
        let mut messages = json(&home.ok(&["log", id, "--all", "--json"]));
        messages["path"] = Value::Null;
        let markdown = home.ok(&["log", id, "--all", "--markdown"]);
        let resume = home.run(&["resume", id, "--all"]).out;
        told.insert(
            format!("{agent} {id}"),
            [row, messages.to_string(), markdown, resume],
        );
    }
    told
}

#[test]
fn the_copy_of_a_session_of_every_agent_tells_what_the_original_told() {
    let home = Home::new();
    sessions(&home);
    let agents: Vec<&str> = tome::core::log::Agent::all()
        .map(tome::core::log::Agent::name)
        .filter(|name| *name != "events")
        .collect();
    let before = told(&home, &agents);
    for agent in &agents {
        let named = before
            .keys()
            .any(|name| name.starts_with(&format!("\"{agent}\"")));
        assert!(named, "no session of {agent}: {:?}", before.keys());
    }
    let found = |home: &Home| {
        // Those of the project: its sessions know it.
        let hits = json(&home.ok(&["recall", "zebra", "--json", "--limit", "50"]));
        let hits = hits["results"].as_array().expect("a list").clone();
        // A session that is a store is cited as its file.
        let cited = hits.iter().map(|hit| {
            let citation = hit["citation"].to_string();
            citation.replace("messages.jsonl", "session:own1")
        });
        let mut cited: Vec<String> = cited.collect();
        cited.sort();
        assert!(
            cited.len() + 1 >= before.len(),
            "all but a transcript of Cursor: {cited:?}"
        );
        cited
    };
    let cited = found(&home);
    for name in before.keys() {
        let id = name.rsplit(' ').next().expect("an id");
        home.ok(&["keep", id, "--all"]);
    }
    // Everything but what tome keeps and the project's own folder is deleted.
    for entry in fs::read_dir(home.path()).expect("a home").flatten() {
        let name = entry.file_name();
        if name == "project" {
            fs::remove_file(entry.path().join(".aider.chat.history.md")).expect("deleted");
            fs::remove_dir_all(entry.path().join(".crush")).expect("deleted");
        } else if name == ".local" {
            for agent in ["opencode", "goose", "amp"] {
                fs::remove_dir_all(entry.path().join("share").join(agent)).expect("deleted");
            }
        } else if name != ".cache" {
            fs::remove_dir_all(entry.path()).expect("deleted");
        }
    }
    let after = told(&home, &agents);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    for (name, before) in &before {
        for (part, (before, after)) in before.iter().zip(&after[name]).enumerate() {
            assert_eq!(before, after, "part {part} of {name}");
        }
    }
    assert_eq!(cited, found(&home));
}

#[test]
fn what_is_among_the_kept_logs_and_is_none_is_reported() {
    let home = Home::new();
    home.file(
        ".vibe/logs/session/a/messages.jsonl",
        "{\"role\":\"user\",\"content\":\"vibe zebra\"}\n",
    );
    home.ok(&["keep", "a", "--all"]);
    let kept = ".local/share/tome/kept";
    assert!(home.path().join(kept).is_dir(), "the folder of copies");
    let report = home.run(&["doctor"]).out;
    lacks(&report, ["kept logs"]);
    home.file(&format!("{kept}/gemini/old.json"), "{\"agent\":\"gemini\"}");
    let report = home.run(&["doctor"]).out;
    has(&report, ["gemini/old.json"]);
}

#[test]
fn a_keep_that_is_killed_leaves_the_earlier_copy_or_the_new_one() {
    const KILLS: u32 = 100;
    let id = "11111111-2222-3333-4444-555555555555";
    for in_database in [false, true] {
        let home = Home::in_memory();
        let database = home.path().join(".hermes/state.db");
        fs::create_dir_all(database.parent().expect("a folder")).expect("made");
        let writer = rusqlite::Connection::open(&database).expect("a database");
        let tables = format!(
            "PRAGMA journal_mode=WAL;
            CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, started_at REAL, cwd TEXT, git_branch TEXT, model TEXT);
            CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, reasoning TEXT, reasoning_content TEXT);
            INSERT INTO sessions VALUES ('{id}', NULL, 't', 1.0, '/repo', 'main', 'm');"
        );
        let mut lines = String::new();
        if in_database {
            writer.execute_batch(&tables).expect("tables");
        }
        let mut grow = |number: usize| {
            let text = format!("message {number} {}", "zebra ".repeat(2000));
            if in_database {
                let row = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?1, 'user', ?2, 1.0)";
                writer.execute(row, [id, &text]).expect("a row");
            } else {
                let message = serde_json::json!({ "role": "user", "content": text });
                let line = serde_json::json!({ "type": "user", "uuid": number.to_string(), "message": message });
                lines += &format!("{line}\n");
                home.file(&format!(".claude/projects/-p/{id}.jsonl"), &lines);
            }
        };
        let mut now = 1;
        grow(now);
        let started = Instant::now();
        home.ok(&["keep", id, "--all"]);
        let whole = started.elapsed();
        let folder = home.path().join(".local/share/tome/kept");
        fs::remove_dir_all(&folder).expect("deleted");
        let mut earlier = 0;
        for kill in 0..KILLS {
            let mut keep = home.command(&["keep", id, "--all"]);
            let mut keep = keep.stdout(Stdio::null()).spawn().expect("runs");
            std::thread::sleep(whole * (kill + 1) / KILLS);
            // It may have ended.
            drop(keep.kill());
            keep.wait().expect("ends");
            let copies = tome::core::log::keep::kept(&folder, &[]);
            assert!(copies.len() <= 1, "{copies:?}");
            let copied = copies.first().map_or(0, |copy| {
                let copy = tome::core::log::read(copy).expect("a copy is whole");
                copy.messages.len()
            });
            assert!(
                [earlier, now].contains(&copied),
                "{copied} of {earlier} or {now}"
            );
            earlier = copied;
            now += 1;
            grow(now);
        }
        home.ok(&["keep", id, "--all"]);
        assert_eq!(tome::core::log::keep::kept(&folder, &[]).len(), 1);
    }
}
