//! Kept logs: the copy of a session of every agent tells what the original told, after that is gone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use tome::core::log::{Transcript, keep, read};

use crate::sessions::hash_of;
use crate::support::{Home, has, lacks, tree};

/// Writes a database below the home. Its agent has it open: all of it is in its write-ahead log.
fn database(home: &Home, path: &str, batch: &str) -> Connection {
    let path = home.file(path, "");
    let writer = Connection::open(path).expect("a database");
    let open = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;";
    writer.execute_batch(open).expect("a write-ahead log");
    writer.execute_batch(batch).expect("tables and rows");
    writer
}

/// A field of a protocol buffer.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len())
        .ok()
        .filter(|length| *length < 128);
    [&[number << 3 | 2, length.expect("a short value")], value].concat()
}

/// Writes a session of each agent, in the project, with a question about a zebra; returns the databases.
fn sessions(home: &Home) -> Vec<Connection> {
    let mut databases = Vec::new();
    let mut database = |path: &str, batch: &str| databases.push(database(home, path, batch));
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
        ".local/share/goose/sessions/sessions.db",
        &format!(
            r#"CREATE TABLE sessions (id TEXT, name TEXT, description TEXT, working_dir TEXT, updated_at TIMESTAMP);
            CREATE TABLE messages (id INTEGER, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);
            INSERT INTO sessions VALUES ('20260801_1', 'Goose title', 'd', '{repo}', '2026-08-01 10:00:00');
            INSERT INTO messages VALUES (1, 'm', '20260801_1', 'user', '[{{"type":"text","text":"goose zebra"}}]', 1785578400);"#
        ),
    );
    database(
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
    file(
        ".openhands/conversations/oh1/events/event-00000-a0000000-0000-4000-8000-000000000000.json",
        r#"{"kind":"MessageEvent","source":"user","llm_message":{"content":[{"type":"text","text":"openhands zebra"}]}}"#,
    );
    file(
        ".openhands/conversations/oh1/base_state.json",
        r#"{"workspace":{"working_dir":"REPO"}}"#,
    );
    database(
        ".local/share/zed/threads/threads.db",
        &format!(
            r#"CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB, parent_id TEXT, folder_paths TEXT, folder_paths_order TEXT);
            INSERT INTO threads VALUES ('z1', 'Zed title', '2026-08-01T10:00:00+00:00', 'json', '{{"messages":[{{"User":{{"id":"k10","content":[{{"Text":"zed zebra"}}]}}}}]}}', NULL, '{repo}', '0');"#
        ),
    );
    let query = field(
        2,
        &[
            field(1, b"warp zebra"),
            field(2, &field(1, &field(1, repo.as_bytes()))),
        ]
        .concat(),
    );
    let task: String = field(5, &query)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    database(
        ".local/state/warp-terminal/warp.sqlite",
        &format!(
            "CREATE TABLE agent_conversations (conversation_id TEXT, conversation_data TEXT, last_modified_at TIMESTAMP);
            CREATE TABLE agent_tasks (id INTEGER PRIMARY KEY, conversation_id TEXT, task BLOB);
            INSERT INTO agent_conversations VALUES ('w1', '{{}}', '2026-08-01 10:00:00');
            INSERT INTO agent_tasks VALUES (1, 'w1', x'{task}');"
        ),
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
    databases
}

/// What the doors tell of each session: as a list, as messages, as Markdown, and how it is continued.
fn told(home: &Home, agents: &[&str]) -> BTreeMap<String, [String; 4]> {
    let listed = home.json("logs --all --limit 100");
    let mut told = BTreeMap::new();
    for log in listed["logs"].as_array().expect("a list") {
        let (agent, id) = (&log["agent"], log["id"].as_str().expect("an id"));
        if !agents.contains(&agent.as_str().expect("an agent")) {
            continue;
        }
        let row = format!("{} {} {}", log["title"], log["project"], log["turns"]);
        let mut messages = home.json(&["log", id, "--all"]);
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
    let databases = sessions(&home);
    // Every agent is in the middle of writing.
    for database in &databases {
        let write = "BEGIN IMMEDIATE; CREATE TABLE half_written (id TEXT);";
        database.execute_batch(write).expect("written");
    }
    let lines = tree(&home.path()).into_keys();
    let lines = lines.filter(|path| path.ends_with(".jsonl"));
    let lines: Vec<File> = lines
        .map(|path| {
            let file = File::options().append(true).open(home.path().join(path));
            let mut file = file.expect("a log");
            file.write_all(b"{\"type\":\"half wri").expect("written");
            file
        })
        .collect();
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
        let hits = home.json("recall zebra --limit 50");
        let hits = hits["results"].as_array().expect("a list").clone();
        // A session that is a store is cited as its file.
        let cited = hits.iter().map(|hit| {
            let citation = hit["citation"].to_string();
            let citation = citation.replace("messages.jsonl", "session:own1");
            // The line of a store's file has no mark.
            match citation.split_once("@533148") {
                Some((citation, end)) => citation.to_owned() + end,
                None => citation,
            }
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
    // The agents go on, and everything but what tome keeps and the project's own folder is deleted.
    for database in &databases {
        database.execute_batch("COMMIT").expect("committed");
    }
    for file in &lines {
        file.set_len(0).expect("cut");
    }
    drop((databases, lines));
    for entry in fs::read_dir(home.path()).expect("a home").flatten() {
        let name = entry.file_name();
        if name == "project" {
            fs::remove_file(entry.path().join(".aider.chat.history.md")).expect("deleted");
            fs::remove_dir_all(entry.path().join(".crush")).expect("deleted");
        } else if name == ".local" {
            fs::remove_dir_all(entry.path().join("state")).expect("deleted");
            for agent in fs::read_dir(entry.path().join("share")).expect("a folder") {
                let agent = agent.expect("a folder");
                if agent.file_name() != "tome" {
                    fs::remove_dir_all(agent.path()).expect("deleted");
                }
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
    home.ok("keep a --all");
    let kept = ".local/share/tome/kept";
    assert!(home.path().join(kept).is_dir(), "the folder of copies");
    let report = home.run("doctor").out;
    lacks(&report, ["kept logs"]);
    home.file(&format!("{kept}/gemini/old.json"), "{\"agent\":\"gemini\"}");
    let report = home.run("doctor").out;
    has(&report, ["gemini/old.json"]);
}

/// The session that grows.
const GROWING: &str = "11111111-2222-3333-4444-555555555555";

/// Adds a message with this number to a session, as its agent does.
type Grow = Box<dyn FnMut(usize) + Send>;

/// The ways in which agents write.
const FORMS: [&str; 5] = ["lines", "one document", "many files", "rows", "values"];

/// Returns what writes a session in this way, which begins with the first message.
fn growing(home: &Home, form: &str) -> Grow {
    let text = |number: usize| format!("message {number} {}", "zebra ".repeat(2000));
    let mut grow: Grow = match form {
        "lines" => {
            let lines = home.file(&format!(".claude/projects/-p/{GROWING}.jsonl"), "");
            let mut lines = File::options().append(true).open(lines).expect("a log");
            Box::new(move |number| {
                let message = json!({ "role": "user", "content": text(number) });
                let id = number.to_string();
                let line = json!({ "type": "user", "uuid": id, "message": message });
                let line = format!("{line}\n");
                let (begin, rest) = line.split_at(line.len() / 2);
                lines.write_all(begin.as_bytes()).expect("written");
                lines.write_all(rest.as_bytes()).expect("written");
            })
        }
        "one document" => {
            let path = format!(".local/share/amp/threads/T-{GROWING}.json");
            let document = home.file(&path, "");
            let mut messages = Vec::new();
            Box::new(move |number| {
                let content = json!([{ "type": "text", "text": text(number) }]);
                messages.push(json!({ "role": "user", "content": content }));
                let whole = json!({ "messages": messages }).to_string();
                fs::write(&document, whole).expect("written in place");
            })
        }
        "many files" => {
            let folder = format!(".openhands/conversations/{GROWING}");
            home.file(&format!("{folder}/base_state.json"), "{}");
            let events = home.file(&format!("{folder}/events/.lock"), "");
            Box::new(move |number| {
                let message = json!({ "content": text(number) });
                let event =
                    json!({ "kind": "MessageEvent", "source": "user", "llm_message": message });
                let event_file = events.with_file_name(format!("event-{number:05}-a.json"));
                fs::write(event_file, event.to_string()).expect("written in place");
            })
        }
        "rows" => {
            let tables = format!(
                "CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, started_at REAL, cwd TEXT, git_branch TEXT, model TEXT);
                CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, reasoning TEXT, reasoning_content TEXT);
                INSERT INTO sessions VALUES ('{GROWING}', NULL, 't', 1.0, '/repo', 'main', 'm');"
            );
            let rows = database(home, ".hermes/state.db", &tables);
            Box::new(move |number| {
                let row = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?1, 'user', ?2, 1.0)";
                rows.execute(row, [GROWING, &text(number)]).expect("a row");
            })
        }
        _ => {
            let path = ".config/Cursor/User/globalStorage/state.vscdb";
            let table =
                "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);";
            let values = database(home, path, table);
            let mut headers = Vec::new();
            Box::new(move |number| {
                let put = |key: String, value: Value| {
                    let row = "INSERT INTO cursorDiskKV VALUES (?1, ?2)";
                    values
                        .execute(row, [key, value.to_string()])
                        .expect("a value");
                };
                let bubble = json!({ "type": 1, "text": text(number) });
                put(format!("bubbleId:{GROWING}:{number}"), bubble);
                headers.push(json!({ "bubbleId": number.to_string(), "type": 1 }));
                let session =
                    json!({ "composerId": GROWING, "fullConversationHeadersOnly": headers });
                put(format!("composerData:{GROWING}"), session);
            })
        }
    };
    grow(1);
    grow
}

/// The number of messages in the copy; they are the first ones.
fn copied(folder: &Path) -> usize {
    let copies = keep::kept(folder, &[]);
    assert!(copies.len() <= 1, "{copies:?}");
    let Some(copy) = copies.first() else { return 0 };
    let Transcript { messages, .. } = read(copy).expect("a copy is whole");
    for (number, message) in (1..).zip(&messages) {
        let begin = format!("message {number} ");
        assert!(
            message.text.starts_with(&begin),
            "{number}: {}",
            message.text
        );
    }
    messages.len()
}

#[test]
fn a_keep_beside_a_writer_has_all_that_was_there() {
    for form in FORMS {
        let home = Home::in_memory();
        let mut grow = growing(&home, form);
        let id = id_of(form);
        let folder = home.path().join(".local/share/tome/kept");
        let count = AtomicUsize::new(1);
        let is_over = AtomicBool::new(false);
        let mut kept = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    grow(count.load(Ordering::SeqCst) + 1);
                    count.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            for _ in 0..12 {
                let earlier = count.load(Ordering::SeqCst);
                let run = home.run(&["keep", &id, "--all"]);
                let now = count.load(Ordering::SeqCst) + 1;
                // A document may be half written whenever it is looked at.
                if run.code != 0 {
                    continue;
                }
                kept += 1;
                let copied = copied(&folder);
                let is_whole = (earlier..=now).contains(&copied);
                assert!(is_whole, "{form}: {copied} of {earlier} to {now}");
            }
            is_over.store(true, Ordering::SeqCst);
        });
        assert!(kept > 0, "{form}");
    }
}

#[test]
fn a_keep_that_is_killed_leaves_the_earlier_copy_or_the_new_one() {
    const KILLS: u32 = 50;
    for form in FORMS {
        let home = Home::in_memory();
        let mut grow = growing(&home, form);
        let id = id_of(form);
        let mut now = 1;
        let started = Instant::now();
        home.ok(&["keep", &id, "--all"]);
        let whole = started.elapsed();
        let folder = home.path().join(".local/share/tome/kept");
        fs::remove_dir_all(&folder).expect("deleted");
        let (mut earlier, mut interrupted) = (0, 0);
        for kill in 0..KILLS {
            let mut keep = home.command(&["keep", &id, "--all"]);
            let keep = keep.stdout(Stdio::null()).stderr(Stdio::null());
            let mut keep = keep.spawn().expect("runs");
            let wait = whole * (kill + 1) / KILLS;
            std::thread::sleep(wait / 2);
            // Its agent goes on meanwhile.
            grow(now + 1);
            std::thread::sleep(wait / 2);
            // It may have ended.
            drop(keep.kill());
            keep.wait().expect("ends");
            let copied = copied(&folder);
            let is_whole = [earlier, now, now + 1].contains(&copied);
            assert!(is_whole, "{form}: {copied} of {earlier} or {now}");
            interrupted += usize::from(copied == earlier);
            earlier = copied;
            now += 1;
        }
        assert!(interrupted > 0, "{form}");
        home.ok(&["keep", &id, "--all"]);
        assert_eq!(copied(&folder), now, "{form}");
    }
}

/// The id of the session that is written in this way.
fn id_of(form: &str) -> String {
    match form {
        "one document" => format!("T-{GROWING}"),
        _ => GROWING.to_owned(),
    }
}
