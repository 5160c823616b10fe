//! `tome recall` and `tome find`: the exact output, and JSON.

use crate::support::{Home, has, lacks, starts};

fn session(home: &Home) -> String {
    home.file(
        "s/1/working-memory/overview.md",
        "# Working Memory\n\nauthentication is in the overview\n",
    );
    home.file(
        "s/1/working-memory/detail/auth-design.md",
        "# Auth\n\n<!-- META:\n- created: 2026-01-01T00:00:00Z\n- keywords: []\n-->\n\n\n\nDecided to use JWT tokens for authentication\n",
    );
    let lines = [
        r#"{"type":"session","version":1,"id":"1","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}"#,
        "",
        r#"{"type":"message","id":"a","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":[{"type":"text","text":"How does authentication\nwork?"}]}}"#,
        "broken",
        r#"{"type":"message","id":"b","timestamp":"2026-01-01T00:00:02Z","message":{"role":"assistant","content":[{"type":"text","text":"With OAuth2"},{"type":"toolCall","name":"read","arguments":{"path":"hidden_needle.rs"}}]}}"#,
    ];
    home.file("s/1/messages.jsonl", lines.join("\n") + "\n");
    home.path().join("s/1").display().to_string()
}

#[test]
fn recall_prints_exactly_what_its_readers_expect() {
    let home = Home::new();
    let store = session(&home);
    assert_eq!(
        home.ok(&["recall", "--store", &store, "authentication"]),
        "Found 3 result(s) for: \"authentication\"\n\
         \n\
         [1] Source: detail\n    \
             File: detail/auth-design.md:10\n    \
             Content: Decided to use JWT tokens for authentication\n    \
             Citation: detail/auth-design.md#L10\n\
         \n\
         [2] Source: messages\n    \
             Line: 3\n    \
             Content: How does authentication work?\n    \
             Citation: messages.jsonl#L3\n\
         \n\
         [3] Source: detail\n    \
             File: overview.md:3\n    \
             Content: authentication is in the overview\n    \
             Citation: overview.md#L3\n"
    );
    let nothing = home.run(&["recall", "--store", &store, "zebra"]);
    assert_eq!(
        (nothing.code, nothing.out.as_str()),
        (1, "No results found for: \"zebra\"\n")
    );
}

#[test]
fn tool_text_is_searched_when_the_words_do_not_give_enough() {
    let home = Home::new();
    let store = session(&home);
    let out = home.ok(&["recall", "--store", &store, "hidden_needle"]);
    has(&out, ["Citation: messages.jsonl#L5\n"]);
}

#[test]
fn wrong_arguments_are_named_with_what_is_allowed() {
    let home = Home::new();
    let store = session(&home);
    let output = |args: &[&str]| {
        let mut all = vec!["recall", "--store", &store];
        all.extend(args);
        let output = home.run(&all);
        assert_eq!(output.code, 2, "{output:?}");
        output.err
    };
    assert_eq!(output(&[" "]), "tome: query parameter is required\n");
    has(output(&["x", "--scope", "some"]), ["all, detail, messages"]);
    has(output(&["x", "--limit", "-1"]), ["-1 is not in 0..=100000"]);
    let odd = home.run(&["find", "--store", &store, "x role:boss"]);
    assert_eq!(
        (odd.code, odd.err.as_str()),
        (
            2,
            "tome: role: is one of user, assistant, system, tool\n  x role:boss\n         ^^^^\n"
        )
    );
}

#[test]
fn json_has_where_and_who() {
    let home = Home::new();
    let store = session(&home);
    let json = home.json(&format!(
        " recall --store {store} --scope messages 'how oauth2 works'"
    ));
    assert_eq!(json["schema"], 1);
    assert_eq!(json["query"], "how oauth2 works");
    let first = &json["results"][0];
    assert_eq!(first["source"], "messages");
    assert_eq!(first["line_number"], 5);
    assert_eq!(first["role"], "assistant");
    assert_eq!(first["session"], "1");
    assert_eq!(first["timestamp"], "2026-01-01T00:00:02Z");
    assert_eq!(json["results"][1]["citation"], "messages.jsonl#L3");
}

#[test]
fn without_a_store_the_logs_of_the_project_are_searched_and_no_others() {
    let home = Home::new();
    let line = |cwd: &str, text: &str| {
        format!(
            r#"{{"type":"user","cwd":"{cwd}","sessionId":"u","uuid":"{text}","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"{text} pelican"}}}}"#
        ) + "\n"
    };
    let here = home.project().join("src").display().to_string();
    home.file(
        ".claude/projects/-p/11111111-1111-1111-1111-111111111111.jsonl",
        line(&here, "ours"),
    );
    home.file(
        ".claude/projects/-q/22222222-2222-2222-2222-222222222222.jsonl",
        line("/elsewhere", "theirs"),
    );
    let out = home.ok("recall pelican");
    has(&out, ["ours pelican"]);
    lacks(&out, ["theirs"]);
    has(
        &out,
        ["Citation: claude-code:11111111-1111-1111-1111-111111111111#L1"],
    );
    // A citation opens the message, of whichever project.
    assert_eq!(
        home.ok("read claude-code:11111111-1111-1111-1111-111111111111#L1"),
        "[L1 user]\nours pelican\n"
    );
    let theirs = "claude-code:22222222-2222-2222-2222-222222222222#L1";
    has(home.ok(&["read", theirs]), ["theirs pelican"]);
    has(home.ok("recall --all pelican"), ["theirs pelican"]);
    has(home.ok("find plcn"), ["ours pelican"]);
}

#[test]
fn a_deleted_or_spoilt_cache_changes_no_answer() {
    let home = Home::new();
    let store = session(&home);
    let ask = || home.ok(&["recall", "--store", &store, "how does authentication work"]);
    let before = ask();
    let cache = home.path().join(".cache/tome/corpus");
    let files = walkdir::WalkDir::new(&cache).into_iter().flatten();
    for entry in files.filter(|file| file.file_type().is_file()) {
        std::fs::remove_file(entry.path()).expect("deleted");
        std::fs::write(entry.path(), b"spoilt").expect("written");
    }
    assert_eq!(ask(), before);
    std::fs::remove_dir_all(&cache).expect("deleted");
    assert_eq!(ask(), before);
    std::fs::remove_dir_all(&cache).expect("deleted");
    std::fs::write(&cache, b"in the way").expect("written");
    let without = home.run(&["recall", "--store", &store, "how does authentication work"]);
    assert_eq!((without.code, without.out), (0, before));
    starts(&without.err, "tome: warning: ");
    has(&without.err, ["read anew"]);
}

#[test]
fn lessons_are_recalled_in_full_with_type_path_and_why() {
    let home = Home::new();
    home.file(
        "lessons/semantic/errors/retry.md",
        "**Title:** Retry with backoff\n**Description:** Wait longer each time\n\n**Content:** Retries need jitter. They need a limit.\n\n**Tags:** #http #success\n\n---\n\n**Title:** Logging\n**Description:** d\n\n**Content:** One line each.\n\n**Tags:** #log\n",
    );
    let store = home.path().join("lessons").display().to_string();
    assert_eq!(
        home.ok(&["recall", "--store", &store, "how should retries wait"]),
        "[1] Type: semantic\n    \
             Path: semantic/errors/retry.md\n    \
             Why: title: retries; description: wait\n    \
             Citation: semantic/errors/retry.md#retry-with-backoff\n\
         \n\
         **Title:** Retry with backoff\n**Description:** Wait longer each time\n\n**Content:** Retries need jitter. They need a limit.\n\n**Tags:** #http #success\n"
    );
    let none = home.run(&["recall", "--store", &store, "kubernetes"]);
    assert_eq!(
        (none.code, none.out.as_str()),
        (
            1,
            "No universal patterns matched your query in coder memory.\n"
        )
    );
}

#[test]
fn what_the_readme_of_a_folder_says_of_a_lesson_counts_and_is_said() {
    let home = Home::new();
    let lesson = |title: &str, content: &str| {
        format!(
            "**Title:** {title}\n**Description:** d\n\n**Content:** {content}\n\n**Tags:** #success\n"
        )
    };
    home.file("lessons/semantic/net/retry.md", lesson("Backoff", "Wait."));
    home.file("lessons/semantic/net/pool.md", lesson("Pools", "Share."));
    home.file(
        "lessons/semantic/other.md",
        lesson("Other", "Idempotent calls."),
    );
    home.file(
        "lessons/semantic/net/README.md",
        "# semantic/net\n\n- [retry.md](retry.md) — idempotent requests\n- [pool.md](pool.md) — sockets\n",
    );
    home.file(
        "lessons/semantic/README.md",
        "# semantic\n\n- [net/](net/README.md) — flaky links\n- [other.md](other.md) — misc\n",
    );
    let store = home.path().join("lessons").display().to_string();
    let why = |query: &str| -> Vec<String> {
        let out = home.run(&["recall", "--store", &store, query]).out;
        let lines = out.lines().map(str::trim);
        lines
            .filter(|line| line.starts_with("Path:") || line.starts_with("Why:"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        why("idempotent"),
        [
            "Path: semantic/net/retry.md",
            "Why: README: idempotent",
            "Path: semantic/net/README.md",
            "Why: README: idempotent",
            "Path: semantic/other.md",
            "Why: content: idempotent"
        ]
    );
    assert_eq!(
        why("flaky"),
        [
            "Path: semantic/net/pool.md",
            "Why: README: flaky",
            "Path: semantic/net/retry.md",
            "Why: README: flaky",
            "Path: semantic/README.md",
            "Why: README: flaky"
        ]
    );
    // What it says of no lesson is found where it stands.
    home.file(
        "lessons/semantic/net/README.md",
        "# semantic/net\n\n- [retry.md](retry.md) — wait\n\nAsk the zebrafinch team.\n",
    );
    assert_eq!(
        home.ok(&["recall", "--store", &store, "zebrafinch"]),
        "[1] Type: semantic\n    \
             Path: semantic/net/README.md\n    \
             Why: README: zebrafinch\n    \
             Citation: semantic/net/README.md#L5\n\
         \n\
         Ask the zebrafinch team.\n"
    );
}

#[test]
fn the_limit_is_that_of_the_settings_where_none_is_given() {
    let home = Home::new();
    for number in 0..9 {
        home.memory(&format!("note_{number}.md"),
            format!("---\nname: note {number}\ndescription: zebra {number}\ntype: project\n---\n\nzebra number {number}\n"),
        );
    }
    home.memory("MEMORY.md", "# Memory\n");
    let count = |args: &[&str], limit: Option<&str>| {
        let args = [&["recall", "zebra", "--json"], args].concat();
        let mut command = home.command(&args);
        command.envs(limit.map(|limit| ("TOME_RECALL_LIMIT", limit)));
        let output = command.output().expect("runs");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        found["results"].as_array().map(Vec::len)
    };
    assert_eq!(count(&[], None), Some(5));
    assert_eq!(count(&[], Some("2")), Some(2));
    assert_eq!(count(&["--limit", "3"], Some("2")), Some(3));
    home.file(".config/tome/config.toml", "[recall]\nlimit = 4\n");
    assert_eq!(count(&[], None), Some(4));
    assert_eq!(count(&[], Some("2")), Some(2));
    let mut client = crate::mcp::Client::start(&home, "");
    let told = client.ok("recall_memory", serde_json::json!({ "query": "zebra" }));
    starts(&told, "Found 4 ");
}
